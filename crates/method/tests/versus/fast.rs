//! Devices that are faster than the tester: no rate is stated that was not seen, bounds hold, and the cost
//! of a frame decides.

use super::{SHARED, normal, topology, uniform};
use method::versus::{
    Bound, Met, Metric, Pair, Side, Versus, VersusConfig, VersusEvent, VersusResult,
};
use method::{Modifier, Profile, SuiteConfig, Traffic};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::{ClosedForm, Law, Offered, Response, SimPort};
use std::cell::Cell;
use std::rc::Rc;
use traffic::size::SizePattern;
use trial::{Tester, TesterError};
use units::{Duration, FrameRate, FrameSize, LineRate};

/// The most that this tester sends.
const TESTER_FPS: f64 = 500_000.0;

/// A side's device.
#[derive(Clone, Copy)]
struct Device {
    capacity_fps: f64,
    cost_ns: f64,
}

struct Fast<L> {
    tester: ClosedForm<L>,
    devices: [Device; 2],
    now: Rc<Cell<Device>>,
    used_ns: Rc<Cell<f64>>,
    has_threads: bool,
}

impl<L: Law> Pair for Fast<L> {
    fn tester(&mut self, side: Side) -> Result<&mut dyn Tester, TesterError> {
        self.now.set(self.devices[side as usize]);
        Ok(&mut self.tester)
    }
    fn elapsed(&self) -> Duration {
        self.tester.now().since(units::Instant::ZERO)
    }
    fn device_time(&mut self, _side: Side) -> Option<Duration> {
        self.has_threads.then(|| Duration::from_ns(self.used_ns.get() as u64))
    }
}

/// Rates and costs scatter as on a shared machine; each frame that is forwarded costs time.
fn law(now: Rc<Cell<Device>>, used_ns: Rc<Cell<f64>>, seed: u64) -> impl Law {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    move |offered: Offered| {
        let slow = (SHARED.scatter * normal(&mut random)).exp()
            * if uniform(&mut random) < SHARED.disturbed { 1.5 } else { 1.0 };
        let device = now.get();
        let sent = offered.rate.fps().min(TESTER_FPS);
        let share = (device.capacity_fps / slow / sent).min(1.0);
        let carried = (offered.frames as f64 * share).floor();
        used_ns.set(used_ns.get() + carried * device.cost_ns * slow);
        Response {
            lost: offered.frames - carried as u64,
            reached: (sent < offered.rate.fps()).then(|| FrameRate::from_fps_f64(sent)),
            latency: Duration::from_us(50),
            ..Response::default()
        }
    }
}

fn compare(
    devices: [Device; 2],
    has_threads: bool,
    seed: u64,
    criteria: &[&str],
) -> Result<(VersusResult, u64), method::RunError> {
    let suite = SuiteConfig::of(Profile::Quick);
    let size = SizePattern::Fixed(FrameSize::from_bytes(64));
    let traffic = Traffic::new(&suite, &topology(), &size, Modifier::None).unwrap();
    let (now, used_ns) = (Rc::new(Cell::new(devices[0])), Rc::new(Cell::new(0.0)));
    let port = SimPort::nominal(LineRate::from_gbps(10));
    let tester = ClosedForm::new(&[port; 2], law(now.clone(), used_ns.clone(), seed));
    let config: VersusConfig = super::config(seed, criteria);
    let versus = Versus {
        config: &config,
        traffic: [&traffic; 2],
        ceiling: FrameRate::from_fps(14_880_952),
    };
    let mut pair = Fast { tester, devices, now, used_ns, has_threads };
    let mut told = 0;
    let result = versus.run(&mut pair, &mut |event| {
        told += u64::from(matches!(event, VersusEvent::VersusTrial(_)));
        Ok(())
    })?;
    Ok((result, told))
}

fn device(capacity_fps: f64, cost_ns: f64) -> Device {
    Device { capacity_fps, cost_ns }
}

/// Each side carries all that there is: no ratio of rates, and a cost 5 % higher is found, in 100 runs.
#[test]
fn cost_decides_where_the_tester_is_the_slower_one() {
    for seed in 0..100 {
        let devices = [device(2e6, 500.0), device(1.9e6, 525.0)];
        let criteria = ["cost > 1.02", "rate < 0.99"];
        let (result, told) = compare(devices, true, seed, &criteria).unwrap();
        assert_eq!(result.criteria[0].met, Met::Failed, "{seed}: {result:?}");
        assert_eq!(result.criteria[1].met, Met::Undecided, "{seed}: {result:?}");
        let rate = result.ratio(Metric::Rate).unwrap();
        assert_eq!((rate.at_least, rate.range()), ([true, true], None));
        assert!([rate.a, rate.b].iter().all(|fps| fps.unwrap() <= TESTER_FPS * 1.001), "{rate:?}");
        assert_eq!((result.flood, told), (None, result.trials));
    }
}

#[test]
fn equal_costs_are_equal() {
    for seed in 0..100 {
        let devices = [device(2e6, 500.0); 2];
        let (result, _) = compare(devices, true, seed, &["cost > 1.03", "cost < 0.97"]).unwrap();
        assert!(
            result.criteria.iter().all(|judged| judged.met == Met::Passed),
            "{seed}: {result:?}"
        );
    }
}

/// B carries more than the tester sends, A does not: the ratio is at least what was seen, and at most the
/// truth; and the other way round.
#[test]
fn one_side_beyond_the_tester_gives_a_bound() {
    for seed in 0..50 {
        let (slow, fast) = (device(300_000.0, 3_000.0), device(900_000.0, 1_000.0));
        let (result, _) = compare([slow, fast], true, seed, &["rate < 0.97"]).unwrap();
        let rate = result.ratio(Metric::Rate).unwrap();
        let Some(Bound::AtLeast(low)) = rate.bound else { panic!("{rate:?}") };
        assert!((1.5..=3.0).contains(&low), "{rate:?}");
        assert_eq!((result.criteria[0].met, rate.at_least), (Met::Passed, [false, true]));

        let (result, _) = compare([fast, slow], true, seed, &["rate < 0.97"]).unwrap();
        let rate = result.ratio(Metric::Rate).unwrap();
        let Some(Bound::AtMost(high)) = rate.bound else { panic!("{rate:?}") };
        assert!((1.0 / 3.0..0.7).contains(&high), "{rate:?}");
        assert_eq!((result.criteria[0].met, rate.at_least), (Met::Failed, [true, false]));
    }
}

#[test]
fn cost_without_threads_is_refused_at_once() {
    let error = compare([device(2e6, 1.0); 2], false, 1, &["cost > 1.02"]).unwrap_err();
    assert!(error.to_string().contains("threads"), "{error}");
}
