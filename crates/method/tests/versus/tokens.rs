//! Policers and shapers: the tokens that they begin with are no part of what they carry.

use super::{config, ratio};
use crate::known_truth::bed::{VIRTUAL, size, topology};
use crate::known_truth::shapers::Shaper;
use method::versus::{Metric, Pair, Side, Versus, VersusResult};
use method::{Forwarding, Modifier, Profile, SuiteConfig, Traffic};
use sim::{DeviceUnderTest, Impaired, Patch, Policer, SimTester};
use trial::{Tester, TesterError};
use units::{Duration, FrameRate, Instant};

/// A limit in frames a second, and how many frames may pass beyond it.
type Limit = (f64, u64);

/// Two devices in virtual time.
struct Limited<D>([SimTester<D>; 2]);

impl<D: DeviceUnderTest> Pair for Limited<D> {
    fn tester(&mut self, side: Side) -> Result<&mut dyn Tester, TesterError> {
        Ok(&mut self.0[side as usize])
    }
    fn elapsed(&self) -> Duration {
        let time = |tester: &SimTester<D>| tester.now().since(Instant::ZERO);
        time(&self.0[0]) + time(&self.0[1])
    }
}

fn compare(limits: [Limit; 2]) -> VersusResult {
    compared(limits.map(|(fps, burst_frames)| {
        Impaired::new(Patch::default(), Policer::new(fps, burst_frames))
    }))
}

fn compared<D: DeviceUnderTest>(devices: [D; 2]) -> VersusResult {
    let suite = SuiteConfig::of(Profile::Quick);
    let traffic =
        Traffic::new(&suite, &topology(Forwarding::Routed), &size(64), Modifier::None).unwrap();
    let mut config = config(1, &[]);
    config.trial = Duration::from_ms(100);
    let versus =
        Versus { config: &config, traffic: [&traffic; 2], ceiling: FrameRate::from_fps(148_809) };
    let testers = devices.map(|device| SimTester::new(&[VIRTUAL; 2], device));
    versus.run(&mut Limited(testers), &mut |_| Ok(())).unwrap()
}

/// A trial of 100 ms has 1,000 frames at 10,000 frames/s: with as many tokens twice as many come out.
#[test]
fn tokens_do_not_make_a_policer_faster() {
    for limits in [
        [(20_000.0, 20), (10_000.0, 1_000)],
        [(20_000.0, 1_000), (18_000.0, 1_000)],
        [(20_000.0, 20), (19_600.0, 20)],
        [(20_000.0, 20), (20_000.0, 1_000)],
    ] {
        let truth = limits[1].0 / limits[0].0;
        let result = compare(limits);
        let rate = ratio(&result, Metric::Rate).interval.expect("a rate");
        // A frame more or less of the 500 and more that come out after the tokens.
        let is_near = |found: f64| (found / truth - 1.0).abs() < 0.004;
        assert!(is_near(rate.low) && is_near(rate.high), "{limits:?}: {rate:?}, not {truth}");
    }
}

/// A bucket with a queue (`tc qdisc tbf`) of a tenth of a trial's frames: at 1.3 times what the faster one carries it
/// would lose its first frame near the end, and be judged with its tokens, while the slower one is judged without.
#[test]
fn a_bucket_with_a_queue_makes_neither_side_faster() {
    for (bucket, queue) in [(18, 90), (60, 60), (200, 10), (2, 110)] {
        let limits = [3_571.0, 2_857.0];
        let result = compared(limits.map(|fps| Shaper::new(fps, bucket, queue)));
        let rate = ratio(&result, Metric::Rate).interval;
        let rate = rate.unwrap_or_else(|| panic!("{bucket} {queue}: {result:?}"));
        let is_near = |found: f64| (found / 0.8 - 1.0).abs() < 0.015;
        assert!(is_near(rate.low) && is_near(rate.high), "{bucket} {queue}: {rate:?}, not 0.8");
    }
}
