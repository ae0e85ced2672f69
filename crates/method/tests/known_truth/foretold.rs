//! What a run foretells of its own length, beside what it takes in virtual time.

use super::bed::{config, size, suite};
use super::composed::addresses;
use super::consistency::{begin, busy};
use method::harvard::y1989::Test1989;
use method::{Event, Forwarding, Method, SuiteConfig, TestKind, TrialRecord};
use sim::{Description, SimTester};
use trial::Tester;
use units::{Duration, Instant};

/// At its start a run foretells its length by no more than this factor too little or too much.
const AT_START: f64 = 2.0;
/// The same at any moment of its second half.
const FROM_HALF_ON: f64 = 1.3;

/// It forwards one frame in a hundred of what the line carries: a search by steps of the gap takes twice as many
/// trials as with a device near the line's rate.
const SLOW: &str = r#"
    line-rate = "100M"
    route = ["ipv4"]
    [input]
    frames = 20
    [filter]
    per-frame = "10us"
    per-rule = "1us"
    [cpu]
    cost = { per-frame = "700us" }
"#;

fn quick(tests: &[Test1989], sizes: &[u32]) -> SuiteConfig {
    let mut config = config();
    config.method = Method::Harvard1989;
    config.harvard_1989.tests = tests.to_vec();
    config.harvard_1989.rate_stream_s = 0.4;
    config.harvard_1989.table_limit = 64;
    config.harvard_1989.idle_s = 2.0;
    config.frame_sizes = sizes.iter().map(|bytes| size(*bytes)).collect();
    config
}

fn run(text: &str, config: SuiteConfig) -> Vec<Event> {
    let description = Description::from_toml(text).expect("a description");
    let routed = !description.route.is_empty();
    let forwarding = if routed { Forwarding::Routed } else { Forwarding::Bridged };
    let device = description.device(&addresses()).expect("a device");
    let mut tester = SimTester::new(&description.ports(), device);
    let mut events: Vec<Event> = vec![];
    suite(config, forwarding).run(&mut tester, None, &mut events).expect("a run");
    assert_eq!(tester.describe().ports.len(), 2);
    events
}

/// When the trial and its waits were over.
fn end_of(trial: &TrialRecord) -> Instant {
    trial.result.started_at + trial.duration + trial.result.drained_after
}

/// What had passed when each test began, and what was to pass then by what the run told.
fn told(events: &[Event]) -> Vec<(Duration, Duration)> {
    let mut now = Instant::ZERO;
    let mut told = vec![];
    for event in events {
        match event {
            Event::RunStarted(run) => told.push((Duration::ZERO, run.estimate)),
            Event::TestStarted(test) => told.push((now.since(Instant::ZERO), test.remaining)),
            Event::TrialFinished(trial) => now = end_of(trial),
            _ => {}
        }
    }
    told
}

fn length(events: &[Event]) -> Duration {
    let last = events.iter().rev().find_map(|event| match event {
        Event::TrialFinished(trial) => Some(end_of(trial)),
        _ => None,
    });
    last.expect("a trial").since(Instant::ZERO)
}

fn assert_is_foretold(events: &[Event], what: &str) {
    let took = length(events).as_secs_f64();
    let within = |factor: f64| 1.0 / factor..=factor;
    let told = told(events);
    let at_start = told[0].1.as_secs_f64() / took;
    assert!(within(AT_START).contains(&at_start), "{what}: {at_start} of {took} s at the start");
    let second_half = told.iter().filter(|(gone, _)| gone.as_secs_f64() >= took / 2.0);
    let mut seen = 0;
    for (gone, left) in second_half {
        let foretold = (gone.as_secs_f64() + left.as_secs_f64()) / took;
        assert!(
            within(FROM_HALF_ON).contains(&foretold),
            "{what}: {foretold} of {took} s at {gone}"
        );
        seen += 1;
    }
    assert!(seen > 0, "{what}: no test began in the second half");
}

/// Searches that take more trials than with most devices, and all others of the suite.
#[test]
fn a_run_of_1989_foretells_its_length() {
    let mut by_filters = Test1989::ALL.to_vec();
    let all = run(SLOW, quick(&by_filters, &[64, 256, 1_518]));
    assert_is_foretold(&all, "all tests");
    by_filters.retain(|test| matches!(test, Test1989::MaxRate | Test1989::Filtering));
    let searches = run(SLOW, quick(&by_filters, &[64, 128, 256, 512, 1_024, 1_518]));
    assert_is_foretold(&searches, "searches");
    let bridge =
        "line-rate = \"100M\"\n[input]\nframes = 20\n[cpu]\ncost = { per-frame = \"20us\" }";
    assert_is_foretold(&run(bridge, quick(&Test1989::ALL, &[64, 256, 1_518])), "a bridge");
}

/// Others take three quarters of the device's processor until the raw rate is measured: the search for the max rate is
/// made again, with all that rests on it.
#[test]
fn repetitions_are_added_to_what_is_left_when_they_are_decided() {
    let tests = [
        Test1989::MaxRate,
        Test1989::RawRate,
        Test1989::Overload25,
        Test1989::Flood,
        Test1989::Filtering,
    ];
    let calm = run(SLOW, quick(&tests, &[64]));
    let until = begin(&calm, TestKind::Harvard1989(Test1989::RawRate), "64");
    let busy = busy(SLOW, Instant::ZERO, Some(until));
    let events = run(&busy, quick(&tests, &[64]));
    let first = events.iter().position(|event| matches!(event, Event::TestRepeated(_)));
    let (before, after) = events.split_at(first.expect("a repetition"));
    let took = length(&events).as_secs_f64() - length(before).as_secs_f64();
    let mut left = vec![];
    for event in after {
        match event {
            Event::TestStarted(test) => left.push(test.remaining),
            Event::TrialStarted(trial) => left.push(trial.remaining),
            _ => {}
        }
    }
    let first = left.first().expect("a test").as_secs_f64();
    assert!((0.5..=2.0).contains(&(first / took)), "{first} s foretold of {took} s");
    assert!(left.iter().all(|left| *left > Duration::ZERO), "{left:?}");
    let (first, last) = (left[0], left[left.len() - 1]);
    assert!(last < first, "{last} after {first}");
}
