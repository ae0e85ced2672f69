//! How long a test will take, by virtual time: trials and waits, for progress bars. Searches are
//! reckoned at their usual number of trials.

use crate::search::mlrsearch::SearchGoal;
use crate::{SearchPolicy, SuiteConfig, TestKind, selftest};
use units::{Duration, FrameRate};

/// Of one test for one frame size whose highest load is `ceiling`.
pub(crate) fn of(config: &SuiteConfig, test: TestKind, ceiling: FrameRate) -> Duration {
    let trial = &config.trial;
    let after = trial.drain_s + trial.settle_s;
    let waits = trial.learning_wait_s + after;
    let seconds = match test {
        // A chassis estimates for itself.
        TestKind::Chassis(_) => 0.0,
        TestKind::SelfTest => {
            (selftest::FLOODS + selftest::FLOORS) as f64
                * (config.self_test.trial_duration_s + after)
        }
        TestKind::Throughput if config.search.policy == SearchPolicy::Mlrsearch => {
            goals(config, waits)
        }
        TestKind::Throughput => {
            let steps = steps(100.0 / config.search.resolution_percent);
            let verified = if config.search.max_trials_per_load > 1 { 1.4 } else { 1.0 };
            let searching = steps * verified * (config.search.trial_duration_s + waits);
            let last = f64::from(config.throughput.final_trials) * (trial.duration_s + waits);
            let goals = config.throughput.loss_tolerances_percent.len() as f64;
            (searching + last) * (1.0 + 0.3 * goals)
        }
        TestKind::Latency => {
            f64::from(config.latency.repetitions) * (config.latency.stream_s + waits)
        }
        TestKind::Pdv => f64::from(config.pdv.repetitions) * (config.pdv.stream_s + waits),
        TestKind::Ipdv => f64::from(config.ipdv.repetitions) * (config.ipdv.stream_s + waits),
        TestKind::FrameLoss => {
            (100.0 / config.frame_loss.step_percent) * 0.8 * (trial.duration_s + waits)
        }
        TestKind::BackToBack => back_to_back(config, ceiling),
        TestKind::Recovery => {
            let recovery = &config.recovery;
            let trial = recovery.overload_s + recovery.observe_s + waits;
            f64::from(recovery.repetitions) * trial
        }
        TestKind::Harvard1989(test) => {
            let trials = if test.needs_search() { 12.0 } else { 4.0 };
            trials * (config.harvard_1989.rate_stream_s + waits)
        }
        TestKind::Reset => {
            let reset = &config.reset;
            f64::from(reset.repetitions) * (reset.before_s + reset.after_s + waits)
        }
        TestKind::Delay => config.harvard.delay_stream_s + waits,
        TestKind::MaxRate | TestKind::DualMaxRate => {
            let steps = 2.0 * steps(1e9 / ceiling.fps().max(1.0) / config.harvard.gap_step_ns);
            steps * (config.harvard.max_rate_stream_s + waits)
        }
        TestKind::RawRate | TestKind::DualStream => config.harvard.raw_rate_stream_s + waits,
    };
    Duration::from_secs_f64(seconds)
}

fn back_to_back(config: &SuiteConfig, ceiling: FrameRate) -> f64 {
    let burst = &config.back_to_back;
    let frames = burst.limit_s * ceiling.fps();
    let relative = burst.resolution_percent / 100.0;
    let steps = steps(frames / (burst.step_frames as f64).max(frames * relative).max(1.0));
    let waits = config.trial.learning_wait_s + burst.wait_s + config.trial.settle_s;
    // Bursts halve: together they are twice the first, and are drained as long again.
    f64::from(burst.repetitions) * (steps * 1.4 * waits + 4.0 * burst.limit_s)
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
fn steps(resolutions: f64) -> f64 {
    resolutions.max(1.0).log2().ceil() + 1.0
}
