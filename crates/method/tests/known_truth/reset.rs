//! Reset: an outage of known length, by frames lost and by timestamps.

use super::bed::*;
use method::rfc2544::{ResetResult, reset, throughput};
use method::{ResetKind, SuiteConfig};
use sim::{DeviceUnderTest, Impaired, Outage, QueueLimit, SimTester, StoreAndForward};
use trial::{Tester, TesterDescription, TesterError, Trial, TrialResult};
use units::{Duration, FrameRate};

fn measure(config: &SuiteConfig, device: impl DeviceUnderTest, kind: ResetKind) -> ResetResult {
    measure_by(config, &mut SimTester::new(&[VIRTUAL; 2], device), kind)
}

fn measure_by(config: &SuiteConfig, tester: &mut dyn Tester, kind: ResetKind) -> ResetResult {
    let work = |bench: &mut method::Bench<'_>, subject: &method::Subject<'_>| {
        let found = throughput(bench, subject)?;
        reset(bench, subject, &found, kind)
    };
    run(config, tester, work).0
}

fn device(restart_ms: u64, link_recovery_ms: u64) -> impl DeviceUnderTest {
    let capacity = FrameRate::from_fps(20_000);
    let server = StoreAndForward::with_capacity(capacity, QueueLimit::Frames(5));
    Impaired::new(
        server,
        Outage::new(Duration::from_ms(restart_ms), Duration::from_ms(link_recovery_ms)),
    )
}

fn is_about(found: Option<Duration>, truth: Duration) {
    let found = found.expect("measured");
    // What was in the queue is lost, too: 6 frames at 20,000 a second, and a frame interval.
    let slack = Duration::from_us(600);
    assert!(found + slack >= truth && found <= truth + slack, "{found} instead of {truth}");
}

#[test]
fn both_methods_find_a_software_reset() {
    let result = measure(&config(), device(730, 0), ResetKind::Software);
    let truth = Duration::from_ms(730);
    is_about(result.mean_by_loss, truth);
    is_about(result.mean_by_timestamps, truth);
    assert_eq!(result.trials[0].action_took, Some(truth));
    assert!(!result.trials[0].no_loss);
}

/// Down for 1 s, and 300 ms until frames pass again.
#[test]
fn a_link_reset_lasts_until_frames_pass_again() {
    let mut config = config();
    config.reset.repetitions = 2;
    config.reset.link_down_s = 1.0;
    let result = measure(&config, device(0, 300), ResetKind::Link);
    assert_eq!(result.trials.len(), 2);
    is_about(result.mean_by_timestamps, Duration::from_ms(1_300));
    assert_eq!(result.trials[0].action_took, Some(Duration::from_secs(1)));
}

#[test]
fn a_device_without_interruption_has_no_loss() {
    let result = measure(&config(), device(0, 0), ResetKind::Software);
    assert!(result.trials[0].no_loss);
    assert_eq!(result.mean_lost_frames, Some(0.0));
}

/// A tester that cannot act upon its device, as between two interfaces.
struct Idle<T>(T);

impl<T: Tester> Tester for Idle<T> {
    fn describe(&self) -> &TesterDescription {
        self.0.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        self.0.run(&Trial { action: None, ..trial.clone() })
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.0.pause(span)
    }
}

/// No loss without a reset says nothing of a reset.
#[test]
fn a_reset_that_nobody_made_has_no_time() {
    for kind in [ResetKind::Link, ResetKind::Software] {
        let mut tester = Idle(SimTester::new(&[VIRTUAL; 2], device(730, 300)));
        let result = measure_by(&config(), &mut tester, kind);
        let why = result.not_measured.as_deref().expect("a reason");
        assert!(why.contains("was not made"), "{why}");
        assert_eq!((result.mean_by_loss, result.mean_by_timestamps), (None, None));
        assert_eq!(result.outcome().figures.iter().find_map(|figure| figure.value), None);
    }
}

#[test]
fn a_device_that_stays_away_has_no_time_by_timestamps() {
    let result = measure(&config(), device(60_000, 0), ResetKind::Software);
    assert_eq!(result.mean_by_timestamps, None);
    assert!(result.notes.iter().any(|note| note.contains("did not forward again")));
}
