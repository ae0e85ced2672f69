//! Two configurations of a device, A and B, compared in interleaved trials of one run.
//!
//! A machine drifts: its clock rate, its caches, its neighbours. Two runs one after the other
//! measure the drift with the difference. Here trials alternate in blocks of A B B A or B A A B,
//! drawn by a seed, so that what drifts steadily cancels within a block and the rest falls on
//! either side by chance. Each block gives one ratio B/A, that of the better trial of either side,
//! since a neighbour on the machine only ever slows a trial; the result is the interval of their
//! middle ([`interval`]).
//!
//! * **Rate**: the rate at which frames leave the device under a load of 1.3 times what the faster
//!   of the two carries (2.5 times where one has tokens), the same for both: frames over the time
//!   from the first to the last arrival, so that what a queue still holds when the sender ends
//!   counts at the rate at which it is emptied. A side that carries all that the tester can send has no rate but a bound; the
//!   ratio is a bound then too or, where both sides are so fast, unknown.
//! * **Latency**: median and 99th percentile at half of what the slower carries, the same for both.
//! * **Cost**: processor time of the device's own threads for each frame forwarded in the latter
//!   trials, where the device has such threads. It needs no tester that is faster than the device.
//!
//! The interval is looked at after [`LOOKS`] blocks only, each time with an equal part of the
//! error allowed. By Bonferroni's inequality the interval reported misses the truth with no more
//! than the error stated, whatever the rule by which the run stopped at a look.

mod criterion;
mod event;
mod interval;
mod loads;
mod metric;
mod outcome;
mod run;
mod trials;

pub use criterion::{Criterion, Fails, Judged, Met};
pub use event::{Purpose, VERSUS_FORMAT, VersusEvent, VersusLook, VersusStarted, VersusTrial};
pub use interval::Interval;
pub use metric::Metric;
pub use outcome::{Bound, Ratio, VersusResult};

use crate::Traffic;
use serde::{Deserialize, Serialize};
use std::fmt;
use trial::{Tester, TesterError, Waits};
use units::{Duration, FrameRate};
use wire::signature::RunKey;

/// After how many blocks the result is looked at.
pub const LOOKS: [usize; 6] = [8, 12, 18, 27, 40, 60];

/// One of the two configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The first: the base of all ratios.
    A,
    /// The second.
    B,
}

/// Two configurations to choose from, before each trial.
pub trait Pair {
    /// Switches to a side, where that takes anything, and gives its tester.
    fn tester(&mut self, side: Side) -> Result<&mut dyn Tester, TesterError>;
    /// Time since the run began.
    fn elapsed(&self) -> Duration;
    /// Processor time that the device's own threads have used so far; `None` where it has none, which
    /// holds for the whole run.
    fn device_time(&mut self, _side: Side) -> Option<Duration> {
        None
    }
}

/// How a comparison is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersusConfig {
    /// Chance that an interval holds the truth, at least.
    pub confidence: f64,
    /// Half width of the rate's interval at which the run ends, as a share; without criteria.
    pub precision: f64,
    /// The run ends before a block that would exceed it.
    pub most_time: Duration,
    /// Length of a trial.
    pub trial: Duration,
    /// After each trial.
    pub waits: Waits,
    /// Draws the order within blocks.
    pub seed: u64,
    /// What the signatures are made with; of the seed where none is given.
    pub run_key: Option<RunKey>,
    /// The run ends when all of them are decided.
    pub criteria: Vec<Criterion>,
}

/// A comparison to be made.
pub struct Versus<'a> {
    /// How.
    pub config: &'a VersusConfig,
    /// The traffic of A and of B.
    pub traffic: [&'a Traffic; 2],
    /// No load is above it.
    pub ceiling: FrameRate,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if *self == Side::A { "A" } else { "B" })
    }
}
