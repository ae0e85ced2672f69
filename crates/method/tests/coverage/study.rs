//! Searches for the throughput of a device, over many seeds.

use super::device::Device;
use crate::known_truth::bed;
use method::rfc2544::throughput;
use method::{Finding, GoalConfig, Profile, RateFound, SearchPolicy, SuiteConfig};
use sim::ClosedForm;

/// A way to search.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub name: &'static str,
    pub profile: Profile,
    pub policy: SearchPolicy,
    /// Adaptive: the chance of error asked for, in percent.
    pub error_percent: f64,
    /// MLRsearch: whether a load is decided by the majority of 21 trials.
    pub is_majority: bool,
}

/// What it came to on a device, over the seeds.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    pub runs: u32,
    /// Runs that stated both bounds.
    pub stated: u32,
    /// Runs among them whose bounds hold the truth.
    pub held: u32,
    /// Runs that stated a confidence.
    pub confident: u32,
    /// Runs among them whose bounds hold the truth.
    pub confident_held: u32,
    /// The sum of one over the error stated, over the runs among them that missed.
    pub charge: f64,
    /// Relative, of the middle of the bounds.
    pub bias: f64,
    /// Its standard error.
    pub bias_error: f64,
    /// The median, relative to the truth.
    pub width: f64,
    pub trials: f64,
    /// Most trials of a run.
    pub most_trials: u32,
}

impl Way {
    pub fn config(self) -> SuiteConfig {
        let mut config = SuiteConfig::of(self.profile);
        config.frame_sizes = vec![bed::size(64)];
        config.throughput.loss_tolerances_percent = vec![];
        config.search.policy = self.policy;
        config.search.error_percent = self.error_percent;
        if self.is_majority {
            let trial_s = config.trial.duration_s;
            config.search.goals = vec![GoalConfig {
                exceed_percent: 50.0,
                initial_trial_s: Some(trial_s),
                duration_sum_s: Some(21.0 * trial_s),
                ..GoalConfig::default()
            }];
        }
        config
    }

    fn search(self, device: &Device, seed: u64) -> RateFound {
        let law = device.law(seed);
        let mut tester = ClosedForm::new(&[bed::VIRTUAL; 2], law);
        let (result, _) = bed::run(&self.config(), &mut tester, throughput);
        result.throughput
    }

    pub fn judge(self, device: &Device, seeds: std::ops::Range<u64>) -> Tally {
        let truth = device.truth_fps(self.config().trial.duration_s);
        let mut tally = Tally::default();
        let (mut errors, mut widths) = (vec![], vec![]);
        for seed in seeds {
            let found = self.search(device, seed);
            tally.runs += 1;
            tally.trials += f64::from(found.trials);
            tally.most_trials = tally.most_trials.max(found.trials);
            let is_stated = matches!(found.finding, Finding::Measured | Finding::Between { .. });
            let (Some(rate), Some(upper), true) = (found.rate, found.upper, is_stated) else {
                continue;
            };
            let (low, high) = (rate.fps(), upper.fps());
            let holds = low <= truth && truth <= high;
            tally.stated += 1;
            tally.held += u32::from(holds);
            if let Some(confidence) = found.confidence {
                tally.confident += 1;
                tally.confident_held += u32::from(holds);
                tally.charge += if holds { 0.0 } else { 1.0 / (1.0 - confidence) };
            }
            errors.push((low + high) / 2.0 / truth - 1.0);
            widths.push((high - low) / truth);
        }
        let runs = f64::from(tally.runs);
        let count = errors.len() as f64;
        tally.trials /= runs;
        tally.bias = errors.iter().sum::<f64>() / count;
        let squares: f64 = errors.iter().map(|error| (error - tally.bias).powi(2)).sum();
        tally.bias_error = (squares / (count - 1.0) / count).sqrt();
        widths.sort_by(f64::total_cmp);
        tally.width = widths.get(widths.len() / 2).copied().unwrap_or(f64::NAN);
        tally
    }
}
