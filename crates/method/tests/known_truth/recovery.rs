//! System recovery: the time a known queue needs to empty.

use super::bed::*;
use method::rfc2544::{RecoveryOutcome, RecoveryResult, recovery, throughput};
use method::{Bench, Modifier, RunError, Subject, SuiteConfig};
use sim::{Fate, Impaired};
use sim::{Patch, QueueLimit, Rule, SimTester, StoreAndForward};
use trial::PortId;
use units::{Duration, FrameRate, Instant};

fn both(bench: &mut Bench<'_>, subject: &Subject<'_>) -> Result<RecoveryResult, RunError> {
    let found = throughput(bench, subject)?;
    recovery(bench, subject, &found)
}

/// A device that, once frames come faster than `limit`, loses every 10th frame until it has seen
/// slow frames for `penalty`.
struct Sulking {
    limit: FrameRate,
    penalty: Duration,
    last: Option<Instant>,
    offended_at: Option<Instant>,
    count: u64,
}

impl Rule for Sulking {
    fn decide(&mut self, now: Instant, _port: PortId, frame: &[u8]) -> Fate {
        // Learning frames are no load.
        if frame[12..14] == [8, 6] {
            return Fate::Pass;
        }
        let gap = self.last.map(|last| now.since(last));
        self.last = Some(now);
        if gap.is_some_and(|gap| gap < self.limit.interval()) {
            self.offended_at = Some(now);
        }
        let sulks = self.offended_at.is_some_and(|at| now.since(at) < self.penalty);
        self.count += 1;
        if sulks && self.count.is_multiple_of(10) { Fate::Drop } else { Fate::Pass }
    }
}

fn sulking(penalty: Duration) -> Impaired<Patch, Sulking> {
    let limit = FrameRate::from_fps(20_000);
    let rule = Sulking { limit, penalty, last: None, offended_at: None, count: 0 };
    Impaired::new(Patch::default(), rule)
}

/// Half of 110 % of 20,000 is 11,000: every 10th of them is lost for 250 ms, the last one at
/// most 10 intervals before the end.
#[test]
fn the_time_to_recover_is_found() {
    let mut config = config();
    config.search.resolution_percent = 0.2;
    config.recovery.repetitions = 3;
    let penalty = Duration::from_ms(250);
    let (result, _) = run(&config, &mut SimTester::new(&[VIRTUAL; 2], sulking(penalty)), both);
    assert_eq!(result.trials.len(), 3);
    let slack = Duration::from_ms(1);
    for trial in &result.trials {
        let RecoveryOutcome::Recovered { time } = trial.outcome else { panic!("{trial:?}") };
        assert!(time <= penalty && penalty <= time + slack, "{time}");
    }
    let mean = result.mean.unwrap();
    assert!(mean <= penalty && penalty <= mean + slack);
}

/// With a modifier the stream's numbers are not the port's: the time must still be right.
#[test]
fn modifiers_do_not_shift_the_time() {
    let mut config = with_modifier(config(), Modifier::Broadcast);
    config.search.resolution_percent = 0.2;
    let penalty = Duration::from_ms(250);
    let (result, _) = run(&config, &mut SimTester::new(&[VIRTUAL; 2], sulking(penalty)), both);
    let RecoveryOutcome::Recovered { time } = result.trials[0].outcome else { panic!() };
    assert!(time <= penalty && penalty <= time + Duration::from_ms(1), "{time}");
}

/// A plain queue loses nothing once the load is halved: recovery takes no time.
#[test]
fn a_plain_queue_recovers_at_once() {
    let device = StoreAndForward::with_capacity(FrameRate::from_fps(9_000), QueueLimit::Frames(50));
    let (result, _) = run(&config(), &mut SimTester::new(&[VIRTUAL; 2], device), both);
    assert_eq!(result.mean, Some(Duration::ZERO));
    assert!(result.trials[0].lost_frames > 500, "110 % of 9,000 for a second");
}

#[test]
fn a_device_that_does_not_recover_is_told() {
    let device = sulking(Duration::from_secs(100));
    let mut config = config();
    // The search must not offend it: it ends below its limit by being told where to begin.
    config.search.max_trials_per_load = 1;
    let (result, _) = run(&config, &mut SimTester::new(&[VIRTUAL; 2], device), |bench, subject| {
        let mut found = throughput(bench, subject)?;
        found.throughput.finding = method::Finding::Measured;
        found.throughput.rate = Some(FrameRate::from_fps(20_000));
        recovery(bench, subject, &found)
    });
    assert!(matches!(result.trials[0].outcome, RecoveryOutcome::NotRecovered { .. }));
    // The loss lasts to the end of the observation, give or take a frame.
    let observed = Duration::from_secs_f64(config.recovery.observe_s);
    let mean = result.mean.expect("a bound");
    assert!(mean <= observed && mean + Duration::from_ms(1) > observed, "{mean} of {observed}");
    assert!(result.is_lower_bound);
}

#[test]
fn without_overload_there_is_nothing_to_recover_from() {
    let mut config: SuiteConfig = config();
    config.trial.duration_s = 0.02;
    config.search.trial_duration_s = 0.02;
    let (result, _) = run(&config, &mut SimTester::new(&[GIGABIT; 2], Patch::default()), both);
    assert!(result.not_measured.unwrap().contains("no overload is possible"));
}
