//! Results of a run held against each other: devices that stay as they are contradict nothing; one that others take
//! the processor from is found out, and its results are repeated, and settled or widened.

use super::bed::{config, outcomes, size, suite};
use super::composed::addresses;
use crate::truth;
use method::consistency::{Consistency, Contradiction, Ending};
use method::harvard::y1989::Test1989;
use method::outcome::Relation;
use method::{
    Event, Figure, Forwarding, Method, Outcome, Profile, Recorded, ResumingTester, SuiteConfig,
    TestKind, TrialRecord,
};
use sim::{BUILT_IN, Description, SimTester};
use traffic::modifier::sub_seed;
use trial::{DeviceSetup, Tester, TesterDescription, TesterError, Trial, TrialResult};
use units::Instant;

/// 5,000 frames a second, 20 of which wait.
const ROUTER: &str = r#"
    line-rate = "10M"
    route = ["ipv4"]
    [input]
    frames = 20
    [filter]
    per-frame = "10us"
    per-rule = "1us"
    [cpu]
    cost = { per-frame = "200us" }
"#;
const RATES: [Test1989; 6] = [
    Test1989::MaxRate,
    Test1989::RawRate,
    Test1989::Overload25,
    Test1989::Flood,
    Test1989::Filtering,
    Test1989::ManyRoutes,
];

fn of_1989() -> SuiteConfig {
    let mut config = config();
    config.method = Method::Harvard1989;
    config.harvard_1989.tests = RATES.to_vec();
    config.harvard_1989.rate_stream_s = 0.5;
    config.frame_sizes = vec![size(64)];
    config.trial.settle_s = 0.2;
    config
}

fn of_rfc2544() -> SuiteConfig {
    let mut config = SuiteConfig::of(Profile::Quick);
    config.tests = vec![TestKind::Throughput, TestKind::FrameLoss];
    config.frame_sizes = vec![size(64), size(512), size(1_518)];
    config
}

fn run(text: &str, config: SuiteConfig) -> Vec<Event> {
    let description =
        Description::from_toml(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    run_on(&description, config)
}

fn run_on(description: &Description, config: SuiteConfig) -> Vec<Event> {
    let is_routed = !description.route.is_empty() || !description.bridge;
    let forwarding = if is_routed { Forwarding::Routed } else { Forwarding::Bridged };
    let device = description.device(&addresses()).expect("a device");
    let mut tester = SimTester::new(&description.ports(), device);
    let mut events: Vec<Event> = vec![];
    suite(config, forwarding).run(&mut tester, None, &mut events).expect("a run");
    events
}

fn checked(events: &[Event]) -> &Consistency {
    let found = events.iter().rev().find_map(|event| match event {
        Event::ConsistencyChecked(found) => Some(&**found),
        _ => None,
    });
    found.expect("results that were compared")
}

/// What a report of the run states.
fn stated(events: &[Event]) -> Vec<Outcome> {
    let mut results = outcomes(events);
    checked(events).revise(&mut results);
    results
}

fn figure<'a>(results: &'a [Outcome], test: TestKind, size: &str, name: &str) -> &'a Figure {
    let outcome = results.iter().find(|o| o.test == test && o.conditions.frame_size == size);
    let figures = &outcome.unwrap_or_else(|| panic!("no {test} of {size}")).figures;
    figures.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn repeated(events: &[Event]) -> Vec<(TestKind, String)> {
    let repeated = events.iter().filter_map(|event| match event {
        Event::TestRepeated(again) => Some((again.test, again.frame_size.clone())),
        _ => None,
    });
    repeated.collect()
}

/// When the first trial of a test began, in a run on the device without disturbance.
pub(super) fn begin(events: &[Event], test: TestKind, frame_size: &str) -> Instant {
    let first = events.iter().find_map(|event| match event {
        Event::TrialFinished(trial) if trial.test == test && trial.frame_size == frame_size => {
            Some(trial.result.started_at)
        }
        _ => None,
    });
    first.unwrap_or_else(|| panic!("no trial of {test}"))
}

/// The device with others on its processor from one moment to another, or for ever.
pub(super) fn busy(device: &str, from: Instant, until: Option<Instant>) -> String {
    let ns = |at: Instant| at.as_ps() / 1_000;
    let lasts = until.map(|until| format!("lasts = \"{}ns\"\n", ns(until) - ns(from)));
    format!(
        "{device}\n[[cpu.busy]]\nfrom = \"{}ns\"\ntimes-slower = 4\n{}",
        ns(from),
        lasts.unwrap_or_default()
    )
}

fn of(test: Test1989) -> TestKind {
    TestKind::Harvard1989(test)
}

/// Its truth: 5,000 a second at most.
#[test]
fn what_has_passed_is_repeated_and_settled() {
    let healthy = run(ROUTER, of_1989());
    assert_eq!(checked(&healthy).contradictions, []);
    assert!(checked(&healthy).pairs_compared >= 5, "{:?}", checked(&healthy));
    // Others are at work during the search for the max rate.
    let until = begin(&healthy, of(Test1989::RawRate), "64");
    let events = run(&busy(ROUTER, Instant::ZERO, Some(until)), of_1989());
    let found = checked(&events);
    assert!(!found.contradictions.is_empty(), "{found:?}");
    assert!(found.contradictions.iter().all(|found| found.ending == Ending::Settled), "{found:#?}");
    let first = outcomes(&events);
    let at_first = figure(&first, of(Test1989::MaxRate), "64", "max rate");
    assert!(at_first.value.unwrap() < 1_400.0, "{at_first:?}");
    let results = stated(&events);
    let max_rate = figure(&results, of(Test1989::MaxRate), "64", "max rate");
    // 5,000, and what the 20 places swallow in half a second.
    assert!((4_950.0..=5_045.0).contains(&max_rate.value.unwrap()), "{max_rate:?}");
    assert!(max_rate.is_revised() && max_rate.relation == Relation::Equal);
    // A quarter more than the max rate is another load now, so that test is made again.
    let over = figure(&results, of(Test1989::Overload25), "64", "offered");
    assert!(over.value.unwrap() > 6_000.0, "{over:?}");
    assert!(repeated(&events).contains(&(of(Test1989::Overload25), "64".into())));
}

/// It carried 5,000 frames a second at first and 1,250 ever after.
#[test]
fn what_stays_is_named_and_widened() {
    let healthy = run(ROUTER, of_1989());
    let from = begin(&healthy, of(Test1989::RawRate), "64");
    let events = run(&busy(ROUTER, from, None), of_1989());
    let found = checked(&events);
    let widened = found.contradictions.iter().find(|found| found.ending == Ending::Widened);
    let widened = widened.unwrap_or_else(|| panic!("{found:#?}"));
    assert_eq!(widened.relation, "raw-rate-1989");
    assert!(
        widened.in_words().contains("Device, host or tester changed"),
        "{}",
        widened.in_words()
    );
    let results = stated(&events);
    for (test, name) in [(Test1989::MaxRate, "max rate"), (Test1989::RawRate, "raw rate")] {
        let figure = figure(&results, of(test), "64", name);
        let (low, high) = figure.claim().unwrap();
        assert!(low < 1_400.0 && high > 4_900.0, "{figure:?}");
        assert!(figure.relation == Relation::Between && figure.is_revised());
    }
}

/// The suite of RFC 2544: while 64 bytes are searched for others are at work.
#[test]
fn throughputs_of_sizes_contradict_each_other_and_are_settled() {
    let healthy = run(ROUTER, of_rfc2544());
    assert_eq!(checked(&healthy).contradictions, []);
    let until = begin(&healthy, TestKind::Throughput, "512");
    let events = run(&busy(ROUTER, Instant::ZERO, Some(until)), of_rfc2544());
    let found = checked(&events);
    assert!(
        found
            .contradictions
            .iter()
            .any(|it| it.relation == "lossless-load" || it.relation == "frames-by-size"),
        "{found:#?}"
    );
    let results = stated(&events);
    let of_64 = figure(&results, TestKind::Throughput, "64", "throughput");
    let (low, high) = of_64.interval().unwrap();
    assert!(low <= 5_000.0 && 5_000.0 <= high * 1.001, "{of_64:?}");
    assert!(of_64.is_revised());
}

/// The same run again is the same, and so is what it states.
#[test]
fn a_run_with_repetitions_is_the_same_each_time() {
    let text = busy(ROUTER, Instant::ZERO, Some(Instant::from_ps(9_000_000_000_000)));
    let lines = |events: &[Event]| {
        let lines = events.iter().map(|event| serde_json::to_string(event).unwrap());
        lines.collect::<Vec<_>>()
    };
    assert_eq!(lines(&run(&text, of_1989())), lines(&run(&text, of_1989())));
}

/// What is repeated comes last, and once it is decided it is counted in what the run says that is left.
#[test]
fn repetitions_come_after_all_tests_and_are_counted() {
    let healthy = run(ROUTER, of_1989());
    let until = begin(&healthy, of(Test1989::RawRate), "64");
    let events = run(&busy(ROUTER, Instant::ZERO, Some(until)), of_1989());
    let first = events.iter().position(|event| matches!(event, Event::TestRepeated(_)));
    let (before, after) = events.split_at(first.expect("a repetition"));
    let finished = |events: &[Event]| {
        events.iter().filter(|event| matches!(event, Event::TestFinished(_))).count()
    };
    assert_eq!((finished(before), finished(after)), (RATES.len(), 0));
    for event in after {
        if let Event::TestStarted(test) = event {
            assert!(test.remaining > units::Duration::ZERO, "{test:?}");
        }
    }
    assert!(matches!(events[events.len() - 2], Event::ConsistencyChecked(_)));
    assert!(matches!(events[events.len() - 1], Event::RunFinished(_)));
}

/// Every built-in device between two of its ports, but that which varies from trial to trial by design.
#[test]
fn built_in_devices_contradict_nothing() {
    let mut compared = 0;
    for built_in in BUILT_IN.iter().filter(|built_in| built_in.name != "noisy") {
        let mut description = Description::from_toml(built_in.toml).unwrap();
        description.ports = 2;
        // At a gigabit a second the same costs ten times the frames.
        description.line_rate.0 = description.line_rate.0.min(100_000_000);
        if let Some(card) = &mut description.card {
            card.ports = card.ports.min(2);
        }
        let mut all = vec![of_rfc2544()];
        if description.route.contains(&sim::Protocol::Ipv4) {
            all.push(SuiteConfig { frame_sizes: of_rfc2544().frame_sizes, ..of_1989() });
        }
        for config in all {
            let events = run_on(&description, config);
            let found = checked(&events);
            let words = found.contradictions.iter().map(Contradiction::in_words);
            assert_eq!(words.collect::<Vec<_>>(), [""; 0], "{}", built_in.name);
            compared += found.pairs_compared;
        }
    }
    assert!(compared > 200, "{compared}");
}

/// 200 devices of the search for wrong numbers, of seeds that are the same each time, and a new one.
#[test]
fn random_devices_contradict_nothing() {
    let (mut compared, mut contradictions) = (0, vec![]);
    for seed in (0..200).chain(crate::new_seeds::new_seeds()) {
        let device = truth::Device::new(seed);
        let events = truth::events(&device, &[device.frame_bytes, 1_518]);
        let found = events.iter().find_map(|event| match event {
            Event::ConsistencyChecked(found) => Some(found),
            _ => None,
        });
        // Of a device that came to no number nothing is compared.
        let Some(found) = found else { continue };
        let words = found.contradictions.iter().map(Contradiction::in_words);
        contradictions.extend(words.map(|words| format!("seed {seed}: {words}")));
        compared += found.pairs_compared;
    }
    assert_eq!(contradictions, [""; 0]);
    assert!(compared > 400, "{compared}");
}

/// Routers with filters of any cost and buffers of any size, before the tests of 1989.
#[test]
fn random_routers_of_1989_contradict_nothing() {
    let (mut compared, mut contradictions) = (0, vec![]);
    for seed in (0..30).chain(crate::new_seeds::new_seeds()) {
        let draw = |what: u64, from: u64, to: u64| from + sub_seed(seed, what) % (to - from);
        let text = ROUTER
            .replace("200us", &format!("{}ns", draw(1, 80_000, 900_000)))
            .replace("frames = 20", &format!("frames = {}", draw(2, 1, 200)))
            .replace("\"10us\"", &format!("\"{}ns\"", draw(3, 0, 90_000)))
            .replace("\"1us\"", &format!("\"{}ns\"", draw(4, 0, 20_000)));
        let sizes = vec![size(64), size(draw(5, 65, 1_000) as u32), size(1_518)];
        let events = run(&text, SuiteConfig { frame_sizes: sizes, ..of_1989() });
        let found = checked(&events);
        let words = found.contradictions.iter().map(Contradiction::in_words);
        contradictions.extend(words.map(|words| format!("seed {seed}: {text}: {words}")));
        compared += found.pairs_compared;
    }
    assert_eq!(contradictions, [""; 0]);
    assert!(compared > 600, "{compared}");
}

/// A tester whose device is new in each trial, so that its answer depends on the question alone, and four times slower
/// in the first so many.
struct SlowAtFirst {
    made: usize,
    slow: usize,
    description: TesterDescription,
}

impl SlowAtFirst {
    /// After so many trials.
    fn after(made: usize, slow: usize) -> Self {
        let description = Self::tester(ROUTER).describe().clone();
        SlowAtFirst { made, slow, description }
    }

    fn tester(text: &str) -> SimTester<Box<dyn sim::DeviceUnderTest>> {
        let description = Description::from_toml(text).expect("a description");
        let device = description.device(&addresses()).expect("a device");
        SimTester::new(&description.ports(), device)
    }
}

impl Tester for SlowAtFirst {
    fn describe(&self) -> &TesterDescription {
        &self.description
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        self.made += 1;
        let text = ROUTER.replace("200us", if self.made <= self.slow { "800us" } else { "200us" });
        Self::tester(&text).run(trial)
    }
    fn pause(&mut self, _span: units::Duration) -> Result<(), TesterError> {
        Ok(())
    }
    fn configure(&mut self, _setup: &DeviceSetup) -> Result<(), TesterError> {
        Ok(())
    }
}

fn trials(events: &[Event]) -> Vec<TrialRecord> {
    let records = events.iter().filter_map(|event| match event {
        Event::TrialFinished(record) => Some((**record).clone()),
        _ => None,
    });
    records.collect()
}

/// Cut off before the repetitions, amid them and after them.
#[test]
fn a_run_that_is_resumed_comes_to_the_same_end() {
    let mut config = of_1989();
    config.harvard_1989.tests = vec![Test1989::MaxRate, Test1989::RawRate, Test1989::Filtering];
    let suite = suite(config, Forwarding::Routed);
    let run = |slow| {
        let mut events: Vec<Event> = vec![];
        suite.run(&mut SlowAtFirst::after(0, slow), None, &mut events).expect("a run");
        events
    };
    let of_max_rate = |record: &&TrialRecord| record.test == of(Test1989::MaxRate);
    let slow = trials(&run(usize::MAX)).iter().filter(of_max_rate).count();
    let whole = run(slow);
    assert!(!checked(&whole).contradictions.is_empty());
    let repeats = whole.iter().position(|event| matches!(event, Event::TestRepeated(_))).unwrap();
    for cut in [repeats, repeats + 6, whole.len() - 2] {
        let known = trials(&whole[..cut]);
        let made = known.len();
        let mut recorded = Recorded::from_iter(known);
        let mut tester = ResumingTester::new(SlowAtFirst::after(made, slow), &mut recorded);
        let mut events: Vec<Event> = vec![];
        suite.run(&mut tester, None, &mut events).expect("a run");
        assert_eq!(events, whole, "cut at {cut}");
        assert_eq!((recorded.replayed(), recorded.discarded()), (made as u64, 0));
    }
}
