//! Noisy devices of known truth: the chance that a trial of 1 s loses a frame, by load.
//!
//! The truth for a goal with an exceed ratio of one half is the load at which that chance is one
//! half. A search is judged by its mean number of trials and by its mean relative bias, that of
//! the middle of its bounds, each with a standard error over the seeds.

use super::reference::Reference;
use super::scenario::{Counts, goal};
use method::search::mlrsearch::{MlrSearch, SearchGoal, TimedLoad, TrialOutput, Tried};
use method::search::{Range, Search};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use units::Duration;

/// Low enough for the noisiest of the devices.
const RANGE: Range = Range { min: 100, max: 14_880_952 };

/// How a device loses frames.
#[derive(Clone, Copy, Debug)]
pub enum Law {
    /// Each frame is lost with a chance of one in so many, and all beyond `fps`. A trial of n
    /// frames loses none with a chance of exp(-n / one_in).
    RandomLoss { one_in: f64, fps: f64 },
    /// The capacity of each trial is drawn from a normal distribution with this relative standard
    /// deviation: the chance of loss is its distribution function, and one half at `fps`.
    Jitter { fps: f64, deviation: f64 },
    /// All beyond `fps` is lost, and 3 frames in this share of the trials below.
    Knee { fps: f64, share: f64 },
}

pub struct Device {
    pub name: &'static str,
    pub law: Law,
}

/// What the searches came to on one device.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Judged {
    pub name: String,
    pub trials: Mean,
    pub bias: Mean,
}

/// A mean and its standard error.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Mean {
    pub mean: f64,
    pub error: f64,
}

/// Searches for each device.
pub const SEEDS: u64 = 400;

pub fn devices() -> Vec<Device> {
    let device = |name, law| Device { name, law };
    let jitter = |fps, deviation| Law::Jitter { fps, deviation };
    let knee = |fps, share| Law::Knee { fps, share };
    let random = |one_in, fps| Law::RandomLoss { one_in, fps };
    vec![
        device("random loss, 1 in 2000", random(2e3, 1e9)),
        device("random loss, 1 in 50,000", random(5e4, 1e9)),
        device("random loss, 1 in 1,000,000", random(1e6, 2e6)),
        device("random loss, 1 in 5,000,000", random(5e6, 1e6)),
        device("jitter 0.2 %", jitter(1e6, 0.002)),
        device("jitter 0.5 %", jitter(3e5, 0.005)),
        device("jitter 1 %", jitter(7e6, 0.01)),
        device("jitter 2 %", jitter(1e6, 0.02)),
        device("jitter 5 %", jitter(4e4, 0.05)),
        device("jitter 10 %", jitter(1e6, 0.1)),
        device("knee, 10 % of trials lossy", knee(1e6, 0.1)),
        device("knee, 20 % of trials lossy", knee(2e5, 0.2)),
        device("knee, 30 % of trials lossy", knee(7_654_321.0, 0.3)),
        device("knee, 40 % of trials lossy", knee(1e6, 0.4)),
    ]
}

/// 1 s, 21 s, half of which may exceed, no loss, 0.5 %.
pub fn ndr() -> SearchGoal {
    let second = Duration::from_secs(1);
    SearchGoal {
        loss_ratio: 0.0,
        exceed_ratio: 0.5,
        initial_duration: second,
        final_duration: second,
        duration_sum: Duration::from_secs(21),
        width: 0.005,
    }
}

impl Law {
    /// Where a trial of 1 s loses frames with a chance of one half.
    fn truth(self) -> f64 {
        match self {
            Law::RandomLoss { one_in, fps } => (one_in * 2f64.ln()).min(fps),
            Law::Jitter { fps, .. } | Law::Knee { fps, .. } => fps,
        }
    }

    fn lost(self, random: &mut Xoshiro256PlusPlus, load_fps: f64, seconds: f64) -> f64 {
        let beyond = |fps: f64| ((load_fps - fps) * seconds).max(0.0).floor();
        match self {
            Law::RandomLoss { one_in, fps } => {
                poisson(random, load_fps * seconds / one_in).max(beyond(fps))
            }
            Law::Jitter { fps, deviation } => beyond(fps * (1.0 + deviation * normal(random))),
            Law::Knee { fps, share } => {
                beyond(fps).max(if uniform(random) < share { 3.0 } else { 0.0 })
            }
        }
    }
}

/// At least 0 and below 1.
fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Box and Muller.
fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let radius = (-2.0 * (1.0 - uniform(random)).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(random)).cos()
}

/// Knuth's product of uniform numbers; above 500 the normal distribution.
fn poisson(random: &mut Xoshiro256PlusPlus, mean: f64) -> f64 {
    if mean > 500.0 {
        return (mean + mean.sqrt() * normal(random)).round().max(0.0);
    }
    let (mut count, mut product) = (0.0, uniform(random));
    while product > (-mean).exp() {
        count += 1.0;
        product *= uniform(random);
    }
    count
}

/// A device under a search.
pub struct Bed {
    law: Law,
    random: Xoshiro256PlusPlus,
    pub trials: u64,
}

impl Bed {
    pub fn new(law: Law, seed: u64) -> Self {
        Bed { law, random: Xoshiro256PlusPlus::seed_from_u64(seed), trials: 0 }
    }

    pub fn trial(&mut self, load_fps: f64, seconds: f64) -> Counts {
        self.trials += 1;
        let frames = (load_fps * seconds).floor() as u64;
        let lost = self.law.lost(&mut self.random, load_fps, seconds) as u64;
        Counts { intended: frames, sent: frames, received: frames - lost.min(frames) }
    }
}

/// Trials of one search, and the middle of its bounds.
type Search1 = (u64, f64);

pub fn judge(device: &Device, mut search: impl FnMut(u64) -> Search1) -> Judged {
    let searches: Vec<Search1> = (0..SEEDS).map(&mut search).collect();
    let truth = device.law.truth();
    Judged {
        name: device.name.into(),
        trials: Mean::of(searches.iter().map(|(trials, _)| *trials as f64)),
        bias: Mean::of(searches.iter().map(|(_, middle)| middle / truth - 1.0)),
    }
}

pub fn own(device: &Device, seed: u64) -> Search1 {
    let mut bed = Bed::new(device.law, seed);
    let mut search = MlrSearch::new(RANGE, &[ndr()]);
    while let Some(asked) = search.next_load() {
        let TimedLoad { load, duration, .. } = asked;
        let counts = bed.trial(load as f64, duration.as_secs_f64());
        let lost_frames = counts.sent - counts.received;
        let tried = Tried { duration, expected_frames: counts.sent, lost_frames };
        search.record(asked, TrialOutput::Measured(tried));
        assert!(bed.trials < 10_000, "{}: no end", device.name);
    }
    let result = &search.results()[0];
    let lower = result.lower.expect("a lower bound") as f64;
    (bed.trials, middle(Some(lower), result.upper.map(|(load, _)| load as f64)))
}

/// The reference's, with the better of its settings.
pub fn reference(reference: &mut Reference, device: &Device) -> Judged {
    let settings = [1, 2].map(|preceding| {
        judge(device, |seed| {
            let mut bed = Bed::new(device.law, seed);
            let goals = vec![goal(&ndr())];
            let bounds = reference.bounds(RANGE, &goals, preceding, |load, duration| {
                bed.trial(load, duration.as_secs_f64())
            });
            (bed.trials, middle(bounds[0].lower, bounds[0].upper))
        })
    });
    let [one, two] = settings;
    if one.trials.mean < two.trials.mean { one } else { two }
}

fn middle(lower: Option<f64>, upper: Option<f64>) -> f64 {
    let lower = lower.unwrap_or(RANGE.min as f64);
    (lower + upper.unwrap_or(RANGE.max as f64)) / 2.0
}

impl Mean {
    fn of(values: impl Iterator<Item = f64>) -> Mean {
        let values: Vec<f64> = values.collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Mean { mean, error: (squares / (count - 1.0) / count).sqrt() }
    }

    /// Three standard errors of the difference.
    pub fn slack(self, other: Mean) -> f64 {
        3.0 * self.error.hypot(other.error)
    }
}
