//! How long a test will take, by virtual time: trials and waits, for progress bars. Searches are
//! reckoned at their usual number of trials.

use crate::harvard::y1989;
use crate::reach::BURSTS_OFFERED;
use crate::search::mlrsearch::SearchGoal;
use crate::{SearchPolicy, SuiteConfig, TestKind, selftest};
use std::iter::Sum;
use units::{Duration, FrameRate};

/// What tests will take.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct Foretold {
    /// Trials with the waits asked for, in seconds.
    pub planned_s: f64,
    /// So many: each lasts longer by what the device, or the tester, needs beyond those waits.
    pub trials: f64,
    /// What is known to the end, as the same was made before.
    pub known_s: f64,
}

impl Foretold {
    /// By an estimate, which has the waits once for each trial.
    pub(crate) fn by(config: &SuiteConfig, estimate: impl Fn(&SuiteConfig) -> Duration) -> Self {
        let mut longer = config.clone();
        longer.trial.settle_s += 1.0;
        let planned_s = estimate(config).as_secs_f64();
        let trials = estimate(&longer).as_secs_f64() - planned_s;
        Foretold { planned_s, trials, known_s: 0.0 }
    }

    pub(crate) fn known(took: Duration) -> Self {
        Foretold { known_s: took.as_secs_f64(), ..Foretold::default() }
    }

    /// Where each trial takes so much longer than planned, or less.
    pub(crate) fn in_all(&self, beyond_s: f64) -> Duration {
        seconds((self.planned_s + self.trials * beyond_s).max(0.0) + self.known_s)
    }

    pub(crate) fn scaled(&self, by: f64) -> Self {
        let Foretold { planned_s, trials, known_s } = *self;
        Foretold { planned_s: planned_s * by, trials: trials * by, known_s: known_s * by }
    }
}

impl Sum for Foretold {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Foretold::default(), |sum, next| Foretold {
            planned_s: sum.planned_s + next.planned_s,
            trials: sum.trials + next.trials,
            known_s: sum.known_s + next.known_s,
        })
    }
}

/// Of the tester's own test, for one frame size.
pub(crate) fn self_test(config: &SuiteConfig) -> Duration {
    let trials = (selftest::FLOODS + selftest::FLOORS) as f64;
    seconds(trials * (config.self_test.trial_duration_s + after(config)))
}

/// Of a test of Harvard for one frame size, with sources that send no faster than this.
pub(crate) fn of_campaign(config: &SuiteConfig, test: TestKind, ceiling: FrameRate) -> Duration {
    let waits = waits(config);
    seconds(match test {
        TestKind::Harvard1989(test) => return y1989::foretold(config, test),
        TestKind::Delay => config.harvard.delay_stream_s + waits,
        TestKind::MaxRate | TestKind::DualMaxRate => {
            let steps = 2.0 * steps(1e9 / ceiling.fps().max(1.0) / config.harvard.gap_step_ns);
            steps * (config.harvard.max_rate_stream_s + waits)
        }
        TestKind::RawRate | TestKind::DualStream => config.harvard.raw_rate_stream_s + waits,
        _ => 0.0,
    })
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// After a trial.
fn after(config: &SuiteConfig) -> f64 {
    config.trial.drain_s + config.trial.settle_s
}

/// Before a trial and after it.
pub(crate) fn waits(config: &SuiteConfig) -> f64 {
    before(config) + after(config)
}

fn before(config: &SuiteConfig) -> f64 {
    let routing = if config.traffic.routing_updates { config.trial.routing_wait_s } else { 0.0 };
    routing + config.trial.learning_wait_s
}

/// So many trials of so long a stream.
fn repeated(config: &SuiteConfig, repetitions: u32, stream_s: f64) -> Duration {
    seconds(f64::from(repetitions) * (stream_s + waits(config)))
}

pub(crate) fn throughput(config: &SuiteConfig, _: FrameRate) -> Duration {
    let waits = waits(config);
    if config.search.policy == SearchPolicy::Mlrsearch {
        return seconds(goals(config, waits));
    }
    let steps = steps(100.0 / config.search.resolution_percent);
    let verified = if config.search.max_trials_per_load > 1 { 1.4 } else { 1.0 };
    let searching = steps * verified * (config.search.trial_duration_s + waits);
    // The adaptive search confirms the load that failed, too.
    let ends = if config.search.policy == SearchPolicy::Adaptive { 2.0 } else { 1.0 };
    let last = f64::from(config.throughput.final_trials) * (config.trial.duration_s + waits) * ends;
    let goals = config.throughput.loss_tolerances_percent.len() as f64;
    seconds((searching + last) * (1.0 + 0.3 * goals))
}

pub(crate) fn latency(config: &SuiteConfig, _: FrameRate) -> Duration {
    // The last at half load.
    repeated(config, config.latency.repetitions + 1, config.latency.stream_s)
}

pub(crate) fn pdv(config: &SuiteConfig, _: FrameRate) -> Duration {
    repeated(config, config.pdv.repetitions, config.pdv.stream_s)
}

pub(crate) fn ipdv(config: &SuiteConfig, _: FrameRate) -> Duration {
    repeated(config, config.ipdv.repetitions, config.ipdv.stream_s)
}

pub(crate) fn frame_loss(config: &SuiteConfig, _: FrameRate) -> Duration {
    // Devices that lose frames at any load need all loads, those that lose none the first two.
    let steps = 100.0 / config.frame_loss.step_percent;
    seconds(steps * 0.6 * (config.trial.duration_s + waits(config)))
}

pub(crate) fn recovery(config: &SuiteConfig, _: FrameRate) -> Duration {
    let recovery = &config.recovery;
    repeated(config, recovery.repetitions, recovery.overload_s + recovery.observe_s)
}

pub(crate) fn reset(config: &SuiteConfig, _: FrameRate) -> Duration {
    repeated(config, config.reset.repetitions, config.reset.before_s + config.reset.after_s)
}

pub(crate) fn back_to_back(config: &SuiteConfig, ceiling: FrameRate) -> Duration {
    let burst = &config.back_to_back;
    let frames = burst.limit_s * ceiling.fps();
    // The burst found may be any up to the longest: the geometric mean of 1 and that.
    let relative = burst.resolution_percent / 100.0 * frames.sqrt();
    let steps = steps(frames / (burst.step_frames as f64).max(relative).max(1.0));
    let repetitions = f64::from(burst.repetitions);
    // Before the first search the tester shows what bursts it can send. Where a burst comes out whole, nothing more is
    // waited for.
    let trials = BURSTS_OFFERED + repetitions * steps;
    let waits = trials * (before(config) + config.trial.settle_s);
    // Bursts halve: together they are twice the first, and are drained as long again.
    seconds(waits + repetitions * (steps * 0.5 * burst.wait_s + 4.0 * burst.limit_s))
}

/// Two trials to come near, and two bounds to make sure of, which most goals share with the next.
fn goals(config: &SuiteConfig, waits: f64) -> f64 {
    let tolerances = &config.throughput.loss_tolerances_percent;
    let goals = config.search.goals(tolerances, config.trial.duration_s);
    let bound = |goal: &SearchGoal| {
        let trial_s = goal.final_duration.as_secs_f64();
        let share = if goal.exceed_ratio > 0.0 { 0.6 } else { 1.0 };
        (goal.duration_sum.as_secs_f64() * share / trial_s).ceil() * (trial_s + waits)
    };
    let near = goals.first().map_or(0.0, |goal| goal.initial_duration.as_secs_f64() + waits);
    2.0 * near + goals.iter().map(bound).sum::<f64>() + goals.first().map_or(0.0, bound)
}

/// Trials of a binary search over so many steps.
pub(crate) fn steps(resolutions: f64) -> f64 {
    resolutions.max(1.0).log2().ceil() + 1.0
}
