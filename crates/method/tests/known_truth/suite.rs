//! The whole run: the order of events, and the time that the quick profile takes.

use super::bed::*;
use method::rfc2544::{FrameLossResult, ThroughputResult};
use method::{
    Event, Finding, Forwarding, Profile, RunError, SinkError, Suite, SuiteConfig, TestKind,
};
use sim::{ClosedForm, Limits, Outage, Patch, QueueLimit, SimTester, StoreAndForward, laws};
use trial::{PortId, Tester, TesterDescription, TesterError, Trial, TrialResult};
use units::{Duration, FrameRate, Instant};

pub fn suite(config: SuiteConfig) -> Suite {
    super::bed::suite(config, Forwarding::Routed)
}

pub fn all_tests(mut config: SuiteConfig) -> SuiteConfig {
    use TestKind::*;
    config.tests = vec![Throughput, Latency, FrameLoss, BackToBack, Recovery, Reset];
    config
}

pub fn router() -> SimTester<sim::Impaired<StoreAndForward, Outage>> {
    let server =
        StoreAndForward::with_capacity(FrameRate::from_fps(20_000), QueueLimit::Frames(100));
    let outage = Outage::new(Duration::from_ms(100), Duration::from_ms(50));
    SimTester::new(&[VIRTUAL; 2], sim::Impaired::new(server, outage))
}

pub fn looped() -> SimTester<Patch> {
    let limits = Limits { max_rate: Some(FrameRate::from_fps(60_000)), ..Limits::default() };
    SimTester::new(&[VIRTUAL; 2], Patch::default()).limits(limits)
}

#[test]
fn a_run_says_everything_in_order() {
    let mut config = all_tests(config());
    config.frame_sizes = vec![size(64), size(128)];
    let mut events: Vec<Event> = vec![];
    let finished = suite(config)
        .run(&mut router(), Some(&mut looped()), &mut events)
        .expect("the run ends by itself");
    assert!(finished.invalid_tests.is_empty(), "{:?}", finished.invalid_tests);
    assert!(matches!(events.first(), Some(Event::RunStarted(_))));
    assert_eq!(events.last(), Some(&Event::RunFinished(finished.clone())));
    let order: Vec<(TestKind, String)> = events
        .iter()
        .filter_map(|event| match event {
            Event::TestStarted(test) => Some((test.test, test.frame_size.clone())),
            _ => None,
        })
        .collect();
    use TestKind::*;
    let mut expected = vec![];
    // The tester is measured with a size when the first test needs it, so that results come early.
    for size in ["64", "128"] {
        expected.extend([(SelfTest, size.to_string()), (Throughput, size.to_string())]);
    }
    for test in [Latency, FrameLoss, BackToBack, Recovery] {
        expected.extend([(test, "64".to_string()), (test, "128".to_string())]);
    }
    // Only at the smallest size, once for the link and once for the software.
    expected.extend([(Reset, "64".to_string()), (Reset, "64".to_string())]);
    assert_eq!(order, expected);
    let started = events.iter().filter(|e| matches!(e, Event::TrialStarted(_))).count() as u64;
    assert_eq!(started, finished.trials);
    for outcome in outcomes(&events).iter().filter(|outcome| outcome.test == Throughput) {
        let found = outcome.record::<ThroughputResult>().unwrap().throughput;
        assert_eq!(found.finding, Finding::Measured);
        let rate = found.rate.unwrap().fps();
        assert!((19_790.0..=20_101.0).contains(&rate), "{rate}");
        assert!(!outcome.conditions.deviations.is_empty(), "short trials must be told");
    }
}

/// The estimate of what is left goes down, and is not far off the virtual time that passes.
#[test]
fn the_estimate_is_of_the_right_size() {
    let mut tester = ClosedForm::new(&[VIRTUAL; 2], laws::sharp_knee(40_000.0));
    let tests = vec![TestKind::Throughput, TestKind::Latency, TestKind::FrameLoss];
    let config = SuiteConfig { tests, ..SuiteConfig::default() };
    let mut events: Vec<Event> = vec![];
    suite(config).run(&mut tester, None, &mut events).unwrap();
    let Event::RunStarted(started) = &events[0] else { panic!() };
    let took = tester.now().since(Instant::ZERO).as_secs_f64();
    let ratio = started.estimate.as_secs_f64() / took;
    assert!((0.7..1.4).contains(&ratio), "{} for {took} s", started.estimate);
}

/// A router of a fifth of the tester's speed, 4 M frames a second, as on a virtual machine. Each
/// live trial costs some time besides: 0.1 s here.
#[test]
fn the_quick_profile_ends_within_a_hundred_seconds() {
    let config = SuiteConfig::of(Profile::Quick);
    let tester_max = 4_000_000.0;
    let law = || laws::slow_tester(tester_max, laws::sharp_knee(900_000.0));
    let ports = [sim::SimPort::nominal(units::LineRate::from_gbps(10)); 2];
    let mut looped = ClosedForm::new(&ports, laws::slow_tester(tester_max, laws::never_lossy()));
    let mut device = ClosedForm::new(&ports, law());
    let mut events: Vec<Event> = vec![];
    let finished = suite(config).run(&mut device, Some(&mut looped), &mut events).unwrap();
    let virtual_s = (looped.now().since(Instant::ZERO).as_secs_f64())
        + device.now().since(Instant::ZERO).as_secs_f64();
    let total = virtual_s + 0.1 * finished.trials as f64;
    assert!(total < 100.0, "{total} s, of which {virtual_s} s by plan, {} trials", finished.trials);
    assert_eq!(outcomes(&events).len(), 4 * 3, "four tests, three sizes");
}

/// Beside a device on the same machine the tester offers less than by itself. The search learns from
/// what it really offered, so that the device is bracketed and no trial is invalid; steps of the load
/// start at what it can offer.
#[test]
fn a_device_that_slows_the_tester_is_measured_within_its_reach() {
    let (alone, beside, capacity) = (4_000_000.0, 1_200_000.0, 900_000.0);
    let ports = [sim::SimPort::nominal(units::LineRate::from_gbps(10)); 2];
    let mut looped = ClosedForm::new(&ports, laws::slow_tester(alone, laws::never_lossy()));
    let law = laws::slow_tester(beside, laws::sharp_knee(capacity));
    let mut device = ClosedForm::new(&ports, law);
    let tests = vec![TestKind::Throughput, TestKind::FrameLoss];
    let config = SuiteConfig { tests, ..SuiteConfig::of(Profile::Quick) };
    let mut events: Vec<Event> = vec![];
    suite(config).run(&mut device, Some(&mut looped), &mut events).unwrap();
    let outcomes = outcomes(&events);
    for outcome in outcomes.iter().filter(|outcome| outcome.conditions.frame_size == "64") {
        match outcome.test {
            TestKind::Throughput => {
                let found = outcome.record::<ThroughputResult>().unwrap().throughput;
                assert_eq!(found.finding, method::Finding::Measured);
                assert!(found.rate.unwrap().fps() <= capacity);
                assert!(found.upper.unwrap().fps() > capacity);
                assert_eq!(found.invalid_trials, 0);
            }
            TestKind::FrameLoss => {
                let result: FrameLossResult = outcome.record().unwrap();
                let reach = result.conditions.tester_reach.expect("less than alone").fps();
                assert!((0.95 * beside..=beside).contains(&reach), "{reach}");
                assert!(result.points.iter().all(|point| point.invalid.is_empty()));
                let loss = (1.0 - capacity / reach) * 100.0;
                assert!((result.points[0].loss_percent - loss).abs() < 0.01);
            }
            other => panic!("{other}"),
        }
    }
}

/// Fails at its `last` trial.
struct Breaking<T> {
    tester: T,
    trials_left: u32,
}

impl<T: Tester> Tester for Breaking<T> {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        if self.trials_left == 0 {
            let (port, detail) = ("veth7".to_string(), "gone".to_string());
            return Err(TesterError::PortGone { port, detail });
        }
        self.trials_left -= 1;
        self.tester.run(trial)
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.tester.pause(span)
    }
}

#[test]
fn a_tester_that_breaks_ends_the_run_and_nothing_is_lost() {
    let mut tester = Breaking { tester: router(), trials_left: 5 };
    let mut events: Vec<Event> = vec![];
    let error = suite(config()).run(&mut tester, None, &mut events).unwrap_err();
    assert!(matches!(error, RunError::Tester(TesterError::PortGone { .. })));
    let records = events.iter().filter(|e| matches!(e, Event::TrialFinished(_))).count();
    assert_eq!(records, 5);
    let Some(Event::RunFinished(finished)) = events.last() else { panic!() };
    assert!(finished.stopped_by.as_ref().unwrap().contains("veth7"));
}

#[test]
fn a_full_disk_ends_the_run() {
    struct Full(u32);
    impl method::EventSink for Full {
        fn emit(&mut self, _event: &Event) -> Result<(), SinkError> {
            self.0 = self.0.checked_sub(1).ok_or_else(|| SinkError("disk full".into()))?;
            Ok(())
        }
    }
    let error = suite(config()).run(&mut router(), None, &mut Full(7)).unwrap_err();
    assert_eq!(error.to_string(), "cannot save the run: disk full");
}

/// Without a self-test the reader is warned; a tester that cannot carry anything by itself gives
/// no device results at all.
#[test]
fn what_is_not_known_of_the_tester_is_told() {
    let mut events: Vec<Event> = vec![];
    suite(config()).run(&mut router(), None, &mut events).unwrap();
    assert!(events.iter().any(|e| matches!(e, Event::Warning(text) if text.contains("self-test"))));

    let mut broken = ClosedForm::new(&[VIRTUAL; 2], laws::always_lossy(0.1));
    let mut events: Vec<Event> = vec![];
    let finished = suite(config()).run(&mut router(), Some(&mut broken), &mut events).unwrap();
    assert_eq!(finished.invalid_tests.len(), 4, "{:?}", finished.invalid_tests);
    assert!(!events.iter().any(|event| matches!(event, Event::TestFinished(_))));
}

#[test]
fn frames_larger_than_a_port_takes_are_refused_before_anything_is_sent() {
    struct Small(SimTester<Patch>, TesterDescription);
    impl Tester for Small {
        fn describe(&self) -> &TesterDescription {
            &self.1
        }
        fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
            self.0.run(trial)
        }
        fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
            self.0.pause(span)
        }
    }
    let tester = SimTester::new(&[VIRTUAL; 2], Patch::default());
    let mut description = tester.describe().clone();
    description.ports[1].max_frame_size_bytes = 1_518;
    assert_eq!(description.ports[1].id, PortId(1));
    let mut config = config();
    config.frame_sizes = vec![size(64), size(9_216)];
    let mut events: Vec<Event> = vec![];
    let mut tester = Small(tester, description);
    let error = suite(config).run(&mut tester, None, &mut events).unwrap_err().to_string();
    assert!(error.contains("at most 1518 bytes") && error.contains("MTU"), "{error}");
    assert_eq!(events.len(), 1, "only the end is told");
}

/// Events survive being saved and read again, to the last bit.
#[test]
fn every_event_reads_back_as_it_was_saved() {
    let mut events: Vec<Event> = vec![];
    suite(all_tests(config())).run(&mut router(), Some(&mut looped()), &mut events).unwrap();
    for event in &events {
        let saved = serde_json::to_string(event).unwrap();
        let read: Event = serde_json::from_str(&saved).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), saved);
    }
}

/// RFC 2544 section 12 asks for the tests to be repeated with random destinations: one run has both, and
/// judges each by what it sent.
#[test]
fn both_kinds_of_destinations_are_two_rounds() {
    let mut config = config();
    config.traffic.destinations = method::Destinations::Both;
    (config.tests, config.frame_sizes) = (vec![TestKind::FrameLoss], vec![size(64), size(128)]);
    let mut events: Vec<Event> = vec![];
    suite(config).run(&mut router(), Some(&mut looped()), &mut events).unwrap();
    let results = events.iter().filter_map(|event| match event {
        Event::TestFinished(outcome) => Some(&outcome.conditions),
        _ => None,
    });
    let of = |section: &str, conditions: &method::TestConditions| {
        let is = |judged: &&method::clauses::Judged| {
            judged.document == "RFC 2544" && judged.section == section
        };
        conditions.clauses.iter().find(is).map(|judged| judged.verdict)
    };
    use method::clauses::Verdict::{Departed, Met, NotApplicable};
    let (mut told, mut update) = (vec![], vec![]);
    for conditions in results {
        told.push((conditions.frame_size.as_str(), conditions.traffic.contains("256 networks")));
        assert_eq!(of("12", conditions), Some(Met));
        update.push(of("13", conditions).unwrap());
    }
    assert_eq!(told, [("64", false), ("128", false), ("64", true), ("128", true)]);
    assert_eq!(update, [NotApplicable, NotApplicable, Departed, Departed]);
}

/// What nobody registered would be left out, and a section of it would be read by nobody.
#[test]
fn what_nobody_registered_is_refused() {
    let refused = |config: SuiteConfig| {
        let mut tester = ClosedForm::new(&[VIRTUAL; 2], laws::never_lossy());
        let mut events: Vec<Event> = vec![];
        let error = suite(config).run(&mut tester, None, &mut events).unwrap_err();
        assert!(!events.iter().any(|event| matches!(event, Event::TrialStarted(_))));
        error.to_string()
    };
    let mut with_section = config();
    with_section.own.insert("longest-burst".into(), serde_json::json!({ "longest_frames": 5 }));
    assert!(refused(with_section).contains("own.longest-burst: no test is registered"));
    let own = TestKind::Own(method::OwnTest::new("longest burst"));
    for test in [own, TestKind::RawRate] {
        let refused = refused(SuiteConfig { tests: vec![test], ..config() });
        assert!(refused.contains(&format!("{test} is no test of this suite")), "{refused}");
    }
}
