//! The tester's measurement of itself, and what a device's result within its limits reads.

use super::bed::*;
use method::rfc2544::ThroughputResult;
use method::rfc2544::{MaximumOf, frame_loss, throughput};
use method::{
    Bench, Event, Finding, Forwarding, Modifier, RunError, SearchPolicy, SelfTestSize, Subject,
    SuiteConfig, TestKind, Traffic, Verdict, self_test_size,
};
use sim::{Limits, Patch, QueueLimit, SimTester, StoreAndForward};
use trial::Tester;
use units::{Duration, FrameRate};
use wire::signature::RunKey;

fn self_test(config: &SuiteConfig, tester: &mut dyn Tester) -> SelfTestSize {
    let topology = topology(Forwarding::Routed).looped();
    let traffic = Traffic::new(config, &topology, &config.frame_sizes[0], Modifier::None).unwrap();
    let mut events = vec![];
    let mut bench = Bench::new(tester, &mut events, 3, RunKey::from_seed(1));
    self_test_size(&mut bench, config, &traffic).unwrap()
}

fn short() -> SuiteConfig {
    let mut config = config();
    config.self_test.trial_duration_s = 0.1;
    config.self_test.resolution_percent = 1.0;
    config
}

fn tester_of(fps: u64) -> SimTester<Patch> {
    let limits = Limits { max_rate: Some(FrameRate::from_fps(fps)), ..Limits::default() };
    let delay = Duration::from_ns(300);
    SimTester::new(&[VIRTUAL.propagation(delay), VIRTUAL.propagation(delay)], Patch::default())
        .limits(limits)
}

#[test]
fn the_testers_own_maximum_and_floor_are_found() {
    let known = self_test(&short(), &mut tester_of(60_000));
    let rate = known.maximum.rate.unwrap().fps();
    assert!((59_300.0..=60_100.0).contains(&rate), "{rate}");
    let floor = known.floor_low.unwrap();
    assert_eq!((floor.min, floor.max), (Duration::from_ns(600), Duration::from_ns(600)));
    assert_eq!(floor.jitter_mean_ns, Some(0.0));
    assert!((known.high_rate.fps() / rate - 0.9).abs() < 1e-6);
}

#[test]
fn a_tester_that_reaches_the_line_is_no_limit() {
    let known = self_test(&short(), &mut SimTester::new(&[GIGABIT; 2], Patch::default()));
    assert_eq!(known.maximum.finding, Finding::AtTheoreticalMaximum);
}

/// Above 90,000 frames a second the stations of a ring claim it, and hardly a frame leaves.
#[test]
fn a_tester_that_breaks_down_under_too_high_a_load_is_asked_for_less() {
    let law = |offered: sim::Offered| sim::Response {
        reached: (offered.rate.fps() > 90_000.0).then_some(FrameRate::from_fps(2_000)),
        ..sim::Response::default()
    };
    let known = self_test(&short(), &mut sim::ClosedForm::new(&[VIRTUAL; 2], law));
    let rate = known.maximum.rate.unwrap().fps();
    assert!((89_000.0..=90_001.0).contains(&rate), "{rate} {known:?}");
}

/// What the tester loses on the way in bounds it as well.
#[test]
fn a_tester_that_loses_what_it_receives_is_bounded_by_that() {
    let law = |offered: sim::Offered| sim::Response {
        dropped_by_tester: (offered.rate.fps() as u64).saturating_sub(90_000),
        ..sim::Response::default()
    };
    let known = self_test(&short(), &mut sim::ClosedForm::new(&[VIRTUAL; 2], law));
    let rate = known.maximum.rate.unwrap().fps();
    assert!((89_000.0..=90_001.0).contains(&rate), "{rate}");
}

/// Near the tester's own limit a coarse self-test is content sooner.
#[test]
fn the_resolution_of_the_self_test_decides_how_close_it_looks() {
    let found = |resolution_percent: f64| {
        let law = |offered: sim::Offered| sim::Response {
            dropped_by_tester: (offered.rate.fps() as u64).saturating_sub(90_000),
            ..sim::Response::default()
        };
        let mut config = short();
        config.self_test.resolution_percent = resolution_percent;
        let known = self_test(&config, &mut sim::ClosedForm::new(&[VIRTUAL; 2], law));
        known.maximum.rate.unwrap().fps()
    };
    let (fine, coarse) = (found(0.1), found(20.0));
    assert!((89_910.0 - 1.0..=90_001.0).contains(&fine), "{fine}");
    assert!((72_000.0..=90_001.0).contains(&coarse), "{coarse}");
    assert!((fine - coarse).abs() > 90.0, "{fine} {coarse}");
}

fn with_self_test<R>(
    config: &SuiteConfig,
    known: &SelfTestSize,
    device: StoreAndForward,
    work: impl FnOnce(&mut Bench<'_>, &Subject<'_>) -> Result<R, RunError>,
) -> R {
    let topology = topology(Forwarding::Routed);
    let traffic = Traffic::new(config, &topology, &config.frame_sizes[0], Modifier::None).unwrap();
    let limits = Limits { max_rate: Some(FrameRate::from_fps(60_000)), ..Limits::default() };
    let mut tester = SimTester::new(&[VIRTUAL; 2], device).limits(limits);
    let description = tester.describe().clone();
    let subject = Subject::new(config, &traffic, &description, Some(known)).unwrap();
    let mut events = vec![];
    let mut bench = Bench::new(&mut tester, &mut events, 3, RunKey::from_seed(1));
    work(&mut bench, &subject).unwrap()
}

fn device(fps: u64) -> StoreAndForward {
    StoreAndForward::with_capacity(FrameRate::from_fps(fps), QueueLimit::Frames(20))
}

#[test]
fn a_device_beyond_the_tester_reads_at_least_and_one_below_is_measured() {
    let mut config = short();
    config.trial.duration_s = 0.2;
    config.search.trial_duration_s = 0.2;
    let known = self_test(&config, &mut tester_of(60_000));
    let fast = with_self_test(&config, &known, device(120_000), throughput);
    assert!(matches!(fast.throughput.finding, Finding::AtLeast { .. }));
    assert_eq!(fast.throughput.rate, known.maximum.rate);
    assert_eq!(fast.throughput.invalid_trials, 0, "nothing beyond the known maximum is tried");
    assert_eq!(fast.conditions.tester_max, known.maximum.rate);
    // Just below the tester's maximum, which is no bound of the search.
    let near = with_self_test(&config, &known, device(59_500), throughput).throughput;
    assert_eq!(near.finding, Finding::Measured);
    let (rate, upper) = (near.rate.unwrap().fps(), near.upper.unwrap().fps());
    assert!(rate <= 59_600.0 && upper > 59_500.0, "{rate} {upper}");
    let slow = with_self_test(&config, &known, device(30_000), throughput);
    assert_eq!(slow.throughput.finding, Finding::Measured);
}

#[test]
fn frame_loss_goes_from_the_testers_maximum_and_says_so() {
    let mut config = short();
    config.trial.duration_s = 0.2;
    let known = self_test(&config, &mut tester_of(60_000));
    let result = with_self_test(&config, &known, device(30_000), frame_loss);
    assert_eq!(result.maximum_of, MaximumOf::Tester);
    assert!(result.points.iter().all(|point| point.invalid.is_empty()));
    assert!(result.points[0].loss_percent > 40.0);
    assert!(result.notes[0].contains("the tester's own maximum"));
}

/// A tester that reaches more or less from trial to trial: three of five trials reach 40,000, one less,
/// one more. The suite's own quick limits would let the one that offers 95 % pass for a whole one.
#[test]
fn the_self_test_gives_quantiles_and_no_trial_that_fell_short_passes() {
    let law = |offered: sim::Offered| {
        let reached = [40_000, 25_000, 40_000, 0, 40_000][offered.trial as usize % 5];
        let reached = FrameRate::from_fps(reached);
        let reached = if reached.is_zero() { offered.rate.scaled(0.95) } else { reached };
        sim::Response { reached: Some(reached), ..sim::Response::default() }
    };
    let mut config = SuiteConfig::of(method::Profile::Quick);
    config.tests = vec![TestKind::FrameLoss];
    config.frame_sizes = vec![size(64)];
    let mut looped = sim::ClosedForm::new(&[VIRTUAL; 2], law);
    let mut device = sim::ClosedForm::new(&[VIRTUAL; 2], sim::laws::sharp_knee(20_000.0));
    let mut events: Vec<Event> = vec![];
    super::suite::suite(config).run(&mut device, Some(&mut looped), &mut events).unwrap();
    let known = events.iter().find_map(|event| match event {
        Event::SelfTestFinished(known) => Some(known.sizes[0].clone()),
        _ => None,
    });
    let known = known.expect("a self-test");
    let reached = known.reached.unwrap();
    let fps = |rate: FrameRate| rate.fps().round() as u64;
    // 95 % of 148,810.
    assert_eq!((fps(reached.p10), fps(reached.p50), fps(reached.p90)), (25_000, 40_000, 141_369));
    assert_eq!((reached.trials, known.maximum.rate), (5, Some(reached.p50)));
    assert_eq!(known.maximum.failed_trials_at_rate, 0, "no frame was lost");
    let mut short = 0;
    for event in &events {
        let Event::TrialFinished(record) = event else { continue };
        if record.test == TestKind::SelfTest
            && record.result.offered_rate() < record.intended.scaled(0.999)
        {
            short += 1;
            assert_ne!(record.verdict, Verdict::Passed, "{}", record.result.label);
            assert!(!record.result.is_valid(), "{}: the reason is stated", record.result.label);
        }
    }
    assert!(short >= 5, "{short}");
}

/// A self-test that was unlucky: half of what the tester can. The search looks up again.
#[test]
fn a_search_is_not_bounded_by_an_unlucky_self_test() {
    let mut config = short();
    config.trial.duration_s = 0.2;
    config.search.trial_duration_s = 0.2;
    config.search.policy = SearchPolicy::Bisect;
    config.tests = vec![TestKind::Throughput];
    let mut events: Vec<Event> = vec![];
    let limits = Limits { max_rate: Some(FrameRate::from_fps(60_000)), ..Limits::default() };
    let mut tester = SimTester::new(&[VIRTUAL; 2], device(45_000)).limits(limits);
    let mut unlucky = tester_of(30_000);
    super::suite::suite(config).run(&mut tester, Some(&mut unlucky), &mut events).unwrap();
    let found = super::bed::outcomes(&events)[0].record::<ThroughputResult>().unwrap().throughput;
    assert_eq!(found.finding, Finding::Measured);
    let (rate, upper) = (found.rate.unwrap().fps(), found.upper.unwrap().fps());
    // 20 frames of queue in 0.2 s: 100 a second.
    assert!(rate <= 45_110.0 && upper > 45_000.0, "{rate}..{upper}");
    assert!(upper - rate <= 0.012 * upper, "{rate}..{upper}");
}
