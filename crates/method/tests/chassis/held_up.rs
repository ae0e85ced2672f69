//! Join and leave delays of a tester that offers less than it was asked for.

use super::bed::{record, run_behind};
use super::multicast::multicast;
use crate::known_truth::bed::run_held_up;
use method::chassis::ChassisTest;
use method::rfc3918::{DelayOutcome, GroupDelayResult, Version};
use trial::{
    DeviceSetup, InvalidReason, Tester, TesterDescription, TesterError, Trial, TrialResult,
};
use units::Duration;

/// A join of 300 us, 200 us more for a group that nobody had; a leave of 400 us.
const SNOOPS: &str = "ports = 4\nline-rate = \"100M\"\nbridge = true\n[multicast]\njoin = \"300us\"\n\
                      new-group = \"200us\"\nleave = \"400us\"\n";
/// Frames of 84 bytes at a tenth of 100 Mb/s: 104 bytes with preamble and gap, times 8, times 10.
const INTERVAL_NS: f64 = 83_200.0;
/// A frame of 84 bytes at 100 Mb/s, preamble and gap included, and a microsecond.
const A_FRAME_NS: f64 = 9_320.0;

/// The source of a delay trial offers this share of its load, and there may be another reason against each trial.
struct HeldUp<T> {
    tester: T,
    share: f64,
    reason: Option<InvalidReason>,
}

impl<T: Tester> Tester for HeldUp<T> {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        if !trial.label.contains("delay, 84 bytes") {
            return self.tester.run(trial);
        }
        // What is said on the other ports is said in time.
        let mut result = run_held_up(&mut self.tester, trial, &[self.share, 1.0])?;
        self.reason.iter().for_each(|reason| result.invalidate(reason.clone()));
        Ok(result)
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.tester.pause(span)
    }
    fn configure(&mut self, setup: &DeviceSetup) -> Result<(), TesterError> {
        self.tester.configure(setup)
    }
}

fn delays(test: ChassisTest, share: f64, reason: Option<InvalidReason>) -> GroupDelayResult {
    let config = multicast(&[test], Version::Igmpv2);
    let held_up = |tester| HeldUp { tester, share, reason };
    let (results, events) = run_behind(SNOOPS, config, held_up);
    record(results.first().unwrap_or_else(|| panic!("{events:?}")))
}

fn measured_ns(result: &GroupDelayResult, method: Option<char>) -> Vec<f64> {
    let ports = result.sets.iter().filter(|set| set.method == method).flat_map(|set| &set.ports);
    let delay = |outcome: &DelayOutcome| match outcome {
        DelayOutcome::Measured { delay } => delay.as_ns_f64(),
        other => panic!("{other:?}"),
    };
    ports.map(|port| delay(&port.outcome)).collect()
}

/// A delay is told to the frames that left: where they are fewer, it is told more coarsely by as much, and still is.
#[test]
fn a_few_frames_less_make_a_delay_coarser_and_no_less_valid() {
    for share in [0.997, 0.96] {
        let coarse_ns = INTERVAL_NS / share;
        let joins = delays(ChassisTest::GroupJoinDelay, share, None);
        assert_eq!(joins.invalid, [""; 0], "{share}");
        let stated_ns = joins.resolution.as_ns_f64();
        assert!((stated_ns / coarse_ns - 1.0).abs() < 1e-3, "{share}: {stated_ns} ns");
        for (method, truth_ns, ports) in [('A', 500_000.0, 1), ('B', 300_000.0, 2)] {
            let measured = measured_ns(&joins, Some(method));
            assert_eq!(measured.len(), ports, "{share}, {method}");
            let most = truth_ns + coarse_ns + A_FRAME_NS;
            assert!(measured.iter().all(|ns| (truth_ns..=most).contains(ns)), "{measured:?}");
        }
        let leaves = delays(ChassisTest::GroupLeaveDelay, share, None);
        assert_eq!(leaves.invalid, [""; 0], "{share}");
        let measured = measured_ns(&leaves, None);
        let within = (400_000.0 - coarse_ns)..=(400_000.0 + A_FRAME_NS);
        assert!(
            measured.len() == 3 && measured.iter().all(|ns| within.contains(ns)),
            "{measured:?}"
        );
    }
    let exact = delays(ChassisTest::GroupJoinDelay, 1.0, None);
    assert!(
        (exact.resolution.as_ns_f64() / INTERVAL_NS - 1.0).abs() < 1e-6,
        "{}",
        exact.resolution
    );
}

/// Beyond 5 % it is another load, and whatever else speaks against a trial still does.
#[test]
fn a_tester_far_too_slow_and_other_reasons_leave_no_delay() {
    let short = delays(ChassisTest::GroupJoinDelay, 0.94, None);
    assert!(short.sets.is_empty() && short.invalid[0].contains("offered"), "{:?}", short.invalid);
    let skew = Duration::from_ms(7);
    let skewed =
        delays(ChassisTest::GroupLeaveDelay, 0.997, Some(InvalidReason::StartSkew { skew }));
    assert!(skewed.sets.is_empty() && !skewed.invalid.is_empty(), "{skewed:?}");
    assert!(!skewed.invalid.iter().any(|why| why.contains("offered")), "{:?}", skewed.invalid);
}
