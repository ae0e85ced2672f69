//! Policers: the tokens that they begin with are no part of what they carry.

use super::{config, ratio};
use crate::known_truth::bed::{VIRTUAL, size, topology};
use method::versus::{Metric, Pair, Side, Versus, VersusResult};
use method::{Forwarding, Modifier, Profile, SuiteConfig, Traffic};
use sim::{DeviceUnderTest, Impaired, Patch, Policer, SimTester};
use trial::{Tester, TesterError};
use units::{Duration, FrameRate, Instant};

/// A limit in frames a second, and how many frames may pass beyond it.
type Limit = (f64, u64);

/// Two devices in virtual time.
struct Policers<D>([SimTester<D>; 2]);

impl<D: DeviceUnderTest> Pair for Policers<D> {
    fn tester(&mut self, side: Side) -> Result<&mut dyn Tester, TesterError> {
        Ok(&mut self.0[side as usize])
    }
    fn elapsed(&self) -> Duration {
        let time = |tester: &SimTester<D>| tester.now().since(Instant::ZERO);
        time(&self.0[0]) + time(&self.0[1])
    }
}

fn compare(limits: [Limit; 2]) -> VersusResult {
    let suite = SuiteConfig::of(Profile::Quick);
    let traffic =
        Traffic::new(&suite, &topology(Forwarding::Routed), &size(64), Modifier::None).unwrap();
    let tester = |(fps, burst_frames): Limit| {
        SimTester::new(
            &[VIRTUAL; 2],
            Impaired::new(Patch::default(), Policer::new(fps, burst_frames)),
        )
    };
    let mut config = config(1, &[]);
    config.trial = Duration::from_ms(100);
    let versus =
        Versus { config: &config, traffic: [&traffic; 2], ceiling: FrameRate::from_fps(148_809) };
    versus.run(&mut Policers(limits.map(tester)), &mut |_| Ok(())).unwrap()
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
