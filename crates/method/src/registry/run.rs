//! How a test of the registry is run.

use crate::bench::Bench;
use crate::chassis::TestSetup;
use crate::harvard::{Setting, Sources};
use crate::reach::Reach;
use crate::rfc2544::ThroughputResult;
use crate::subject::Subject;
use crate::{Outcome, RunError, SuiteConfig, TestKind};
use std::cell::Cell;
use units::{Duration, FrameRate};

/// How a test is run.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// Between two ports, or pairs.
    Pair(PairTest),
    /// Between many ports.
    Many(ManyTest),
}

/// A test between two ports.
#[derive(Clone, Copy, Debug)]
pub struct PairTest {
    /// Makes the trials of one frame size, and says what they come to.
    pub run: RunPair,
    /// What that takes by virtual time, where no load is higher than this.
    pub estimate: fn(&SuiteConfig, FrameRate) -> Duration,
    /// How many outcomes it has for a frame size; `run` is called for each, with its number from 0.
    pub parts: fn(&SuiteConfig) -> usize,
    /// Whether it is made with the smallest frames only.
    pub is_of_smallest: bool,
    /// Whether the suite first finds out what the tester can offer to the device.
    pub seeks_reach: fn(&SuiteConfig) -> bool,
}

/// See [`PairTest::run`].
pub type RunPair = fn(&mut Bench<'_>, &Subject<'_>, &mut Known, usize) -> Result<Outcome, RunError>;

impl PairTest {
    /// Of every frame size, with one outcome each.
    pub const fn new(run: RunPair, estimate: fn(&SuiteConfig, FrameRate) -> Duration) -> Self {
        PairTest { run, estimate, parts: |_| 1, is_of_smallest: false, seeks_reach: |_| true }
    }
}

/// What tests have found for a frame size that later tests build on.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// RFC 2544 section 26.1.
    pub throughput: Option<ThroughputResult>,
    /// Aggregated multicast throughput, in percent of the medium (RFC 3918 section 4.3).
    pub(crate) multicast_percent: Cell<Option<f64>>,
    /// Of the router tests of 1989: the highest rate without loss, and what the tester can offer.
    pub(crate) max_rate: Option<FrameRate>,
    pub(crate) reach: Option<Reach>,
    /// Of those of 1990: how the device is set up, and what each source offers.
    pub(crate) setting: Option<Setting>,
    pub(crate) sources: Option<Sources>,
}

impl Known {
    /// The throughput, of a test that needs it.
    ///
    /// # Errors
    /// If the test does not list it among its needs.
    pub fn throughput(&self) -> Result<&ThroughputResult, RunError> {
        let missing =
            || RunError::Config("the test needs the throughput and does not say so".into());
        self.throughput.as_ref().ok_or_else(missing)
    }
}

/// A test between many ports.
#[derive(Clone, Copy, Debug)]
pub struct ManyTest {
    /// Makes the trials of one frame size; no outcome where they come to nothing.
    pub run: RunMany,
    /// Whether it is made with the smallest frames only: addresses have no size.
    pub is_of_smallest: bool,
    /// What a frame size takes by virtual time; `None` where a guess will do.
    pub estimate: Option<fn(&SuiteConfig) -> Duration>,
}

/// See [`ManyTest::run`].
pub type RunMany = fn(&mut Bench<'_>, &TestSetup<'_>, TestKind) -> Result<Vec<Outcome>, RunError>;

impl Run {
    /// Whether it is made with the smallest frames only.
    pub(crate) fn is_of_smallest(&self) -> bool {
        match self {
            Run::Pair(pair) => pair.is_of_smallest,
            Run::Many(many) => many.is_of_smallest,
        }
    }
    /// How many outcomes it has for a frame size.
    pub(crate) fn parts(&self, config: &SuiteConfig) -> usize {
        if let Run::Pair(pair) = self { (pair.parts)(config) } else { 1 }
    }
    /// What a frame size takes by virtual time. Of many ports mostly a guess: a search of ten trials and the
    /// loads of the table.
    pub(crate) fn estimate(&self, config: &SuiteConfig, ceiling: FrameRate) -> Duration {
        match self {
            Run::Pair(pair) => return (pair.estimate)(config, ceiling),
            Run::Many(ManyTest { estimate: Some(estimate), .. }) => return estimate(config),
            Run::Many(_) => {}
        }
        let trial = &config.trial;
        let waits = trial.learning_wait_s + trial.drain_s + trial.settle_s;
        let trials = 10.0 + config.chassis.loads_percent.len() as f64;
        Duration::from_secs_f64(trials * (trial.duration_s + waits))
    }
}

impl ManyTest {
    pub(super) const fn new(run: RunMany) -> Self {
        ManyTest { run, is_of_smallest: false, estimate: None }
    }
    pub(super) const fn of_smallest(self) -> Self {
        ManyTest { is_of_smallest: true, ..self }
    }
    pub(super) const fn taking(self, estimate: fn(&SuiteConfig) -> Duration) -> Self {
        ManyTest { estimate: Some(estimate), ..self }
    }
}
