//! How long tests will take, by the tester's time, for progress bars: trials and waits, as planned and then as trials
//! turn out. Searches are reckoned at their usual number of trials.

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
    /// How many of them the device, or the tester, can make longer than planned.
    pub trials: f64,
    /// Tests that are made once more: what they took before, in seconds.
    pub known_s: f64,
}

impl Foretold {
    /// By an estimate, which has the waits asked for once for each trial.
    pub(crate) fn by(config: &SuiteConfig, estimate: impl Fn(&SuiteConfig) -> Duration) -> Self {
        let mut longer = config.clone();
        longer.trial.settle_s += 1.0;
        let planned_s = estimate(config).as_secs_f64();
        // Each trial takes a second more. Trials with waits of their own do not, and no device makes those longer.
        let trials = estimate(&longer).as_secs_f64() - planned_s;
        Foretold { planned_s, trials, known_s: 0.0 }
    }

    pub(crate) fn known(took: Duration) -> Self {
        Foretold { known_s: took.as_secs_f64(), ..Foretold::default() }
    }

    /// Where each trial takes so much longer than planned, or less: what one test saves of its waits others may not have.
    pub(crate) fn in_all(&self, beyond_s: f64) -> Duration {
        let to_make_s = self.planned_s + self.trials * beyond_s;
        seconds(to_make_s.max(LEAST * self.planned_s) + self.known_s)
    }

    /// With so large a part of its trials.
    pub(crate) fn scaled(self, by: f64) -> Self {
        Foretold { planned_s: self.planned_s * by, trials: self.trials * by, ..self }
    }
}

/// No test is foretold to take less than this part of what is planned.
const LEAST: f64 = 0.5;

impl Sum for Foretold {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Foretold::default(), |sum, next| Foretold {
            planned_s: sum.planned_s + next.planned_s,
            trials: sum.trials + next.trials,
            known_s: sum.known_s + next.known_s,
        })
    }
}

/// How long a run has taken and will take.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Estimate {
    /// What the test under way will take in all.
    test: Foretold,
    /// What the tests after it will take.
    later: Foretold,
    /// What the test under way has taken.
    pub spent: Duration,
    /// What passed between its trials beside their waits: a tester has to make and take down each.
    pub between: Duration,
    /// What was planned for the trials that it has made, in seconds.
    pub made_s: f64,
    /// What the whole run has taken.
    pub elapsed: Duration,
    /// What trials of the device took beyond what was planned, in seconds, and how many there were.
    beyond: (f64, u32),
}

impl Estimate {
    /// A test of this share begins; others of so long in all come after it.
    pub(crate) fn begin_test(&mut self, share: Foretold, later: Foretold) {
        let Estimate { elapsed, beyond, .. } = *self;
        *self = Estimate { test: share, later, elapsed, beyond, ..Estimate::default() };
    }

    pub(crate) fn pass(&mut self, span: Duration) {
        self.spent += span;
        self.elapsed += span;
    }

    /// Takes down what a trial took and was planned to take. Ports joined back to back show nothing of the device.
    pub(crate) fn learn(&mut self, test: TestKind, planned: Duration, took: Duration) {
        let planned_s = planned.as_secs_f64();
        self.made_s += planned_s;
        if test != TestKind::SelfTest {
            let (beyond_s, trials) = self.beyond;
            self.beyond = (beyond_s + took.as_secs_f64() - planned_s, trials + 1);
        }
    }

    /// What the test under way has taken.
    pub(crate) fn took(&self) -> Duration {
        self.spent + self.between
    }

    /// What a trial takes beyond what is planned, by those before: the first alone says little.
    pub(crate) fn beyond_s(&self) -> f64 {
        let (seconds, trials) = self.beyond;
        seconds / f64::from(trials + 1)
    }

    /// What is left, so much at least of it in the test under way.
    pub(crate) fn remaining(&self, at_least: Duration) -> Duration {
        let (took, beyond_s) = (self.took(), self.beyond_s());
        let test = self.test.in_all(beyond_s).saturating_sub(took);
        let goes_on = seconds(GOES_ON * took.as_secs_f64());
        test.max(goes_on).max(at_least) + self.later.in_all(beyond_s)
    }
}

/// Nobody knows when a search ends: until it has, so large a part of what it has taken is held to be left.
const GOES_ON: f64 = 0.25;

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
