//! What tests of many ports send beside the plain test frame, on switches whose truth follows from arithmetic.

use super::bed::*;
use method::chassis::ChassisTest;
use method::rfc2889::MeshResult;
use method::{Event, Finding, Modifier, Protocol, SearchPolicy, SuiteConfig};
use sim::{Addresses, Description};
use std::cell::RefCell;
use trial::{Role, Tester, TesterDescription, TesterError, Trial, TrialResult};
use units::Duration;

/// 4 ports, and 50,000 frames a second of each, whatever their size.
const PROCESSOR: &str = "line-rate = \"100M\"\nbridge = true\nports = 4\n[input]\nframes = 2\n\
                         [cpu]\nservers = \"per-port\"\ncost = { per-frame = \"20us\" }\n";
/// 4 ports that carry all of the medium, with hardly a buffer.
const MEDIUM: &str = "line-rate = \"100M\"\nbridge = true\nports = 4\n[output]\nframes = 4\n";

/// Remembers what was sent.
struct Watched<'w, T> {
    tester: T,
    trials: &'w RefCell<Vec<Trial>>,
}

impl<T: Tester> Tester for Watched<'_, T> {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        self.trials.borrow_mut().push(trial.clone());
        self.tester.run(trial)
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.tester.pause(span)
    }
}

fn mesh(test: ChassisTest, size: u32) -> SuiteConfig {
    let mut config = config(&[test]);
    config.frame_sizes = sizes(&[size]);
    config.trial.duration_s = 0.2;
    config.search.trial_duration_s = 0.2;
    config.search.resolution_percent = 0.5;
    config.chassis.loads_percent = vec![100.0];
    config
}

/// The record, and every trial.
fn watched(toml: &str, config: SuiteConfig) -> (MeshResult, Vec<Trial>) {
    let trials = RefCell::new(vec![]);
    let (outcomes, _) = run_behind(toml, config, |tester| Watched { tester, trials: &trials });
    (only(&outcomes), trials.into_inner())
}

/// Whether a device that carries 50,000 frames a second was found to.
fn is_of_processor(result: &MeshResult) -> bool {
    let rate = result.throughput.rate.unwrap().fps();
    (49_500.0..=50_000.0).contains(&rate)
}

/// Tags stand in test frames and in those by which the switch learns; the rate is that of frames without.
#[test]
fn tagged_frames_that_are_longer_by_the_tag_have_the_rate_of_untagged_ones() {
    let (untagged, _) = watched(PROCESSOR, mesh(ChassisTest::FullyMeshed, 64));
    assert!(is_of_processor(&untagged), "{:?}", untagged.throughput);
    let tags: [(&[u16], &[u8]); 2] = [
        (&[100], &[0x81, 0x00, 0, 100]),
        (&[300, 100], &[0x88, 0xa8, 0x01, 0x2c, 0x81, 0x00, 0, 100]),
    ];
    for (vlans, bytes) in tags {
        let size = 64 + bytes.len() as u32;
        let mut config = mesh(ChassisTest::FullyMeshed, size);
        config.traffic.vlans = vlans.to_vec();
        let (tagged, trials) = watched(PROCESSOR, config);
        assert!(is_of_processor(&tagged), "{:?}", tagged.throughput);
        let rates = [&untagged, &tagged].map(|result| result.throughput.rate.unwrap().fps());
        assert!((rates[0] / rates[1] - 1.0).abs() < 0.01, "{rates:?}");
        for trial in &trials {
            let sent = trial.streams.iter().flat_map(|stream| &stream.frames);
            let learned = trial.prelude.iter().flat_map(|prelude| &prelude.frames);
            let mut all = sent.map(|frame| &frame.bytes).chain(learned);
            assert!(all.all(|frame| frame[12..].starts_with(bytes)), "{vlans:?}");
            let mut lengths = trial.streams.iter().flat_map(|stream| &stream.frames);
            assert!(lengths.all(|frame| frame.bytes.len() as u32 + 4 == size));
        }
        let format = &tagged.conditions.traffic;
        assert!(format.iter().any(|words| words.starts_with("VLAN")), "{format:?}");
    }
}

#[test]
fn ipv6_and_random_ports_are_sent_and_carried() {
    let mut config = mesh(ChassisTest::FullyMeshed, 128);
    config.traffic.protocol = Protocol::UdpIpv6;
    config.traffic.random_ports = true;
    let (result, trials) = watched(PROCESSOR, config);
    assert!(is_of_processor(&result), "{:?}", result.throughput);
    let stream = &trials[0].streams[0];
    assert!(stream.frames.iter().all(|frame| frame.bytes[12..14] == [0x86, 0xdd]));
    // UDP ports are behind 14 bytes of Ethernet and 40 of IPv6.
    let mut ports: Vec<_> = stream.frames.iter().map(|frame| &frame.bytes[54..58]).collect();
    ports.sort();
    ports.dedup();
    assert!(ports.len() > 1_000, "{} pairs of ports", ports.len());
}

/// Every hundredth frame of each port goes to all (RFC 2544 section 11.1), and costs the switch as much as
/// another: the rate is that without.
#[test]
fn every_hundredth_frame_is_a_broadcast_and_no_loss() {
    let mut config = mesh(ChassisTest::FullyMeshed, 64);
    config.modifiers = vec![Modifier::None, Modifier::Broadcast];
    let (outcomes, events) = run_with(PROCESSOR, config);
    let [plain, modified] = &outcomes[..] else { panic!("{} outcomes", outcomes.len()) };
    for outcome in [plain, modified] {
        let found: MeshResult = record(outcome);
        assert!(is_of_processor(&found), "{:?}", found.throughput);
    }
    assert_eq!(plain.conditions.modifier, None);
    assert_eq!(modified.conditions.modifier, Some(Modifier::Broadcast));
    let results = events.iter().filter_map(|event| match event {
        Event::TrialFinished(record) => Some(&record.result),
        _ => None,
    });
    let broadcasts = |result: &TrialResult| {
        let added = result.streams.iter().filter(|stream| stream.role == Role::Modifier);
        added.map(|stream| stream.sent).sum::<u64>()
    };
    let of_sent = |result: &TrialResult| {
        result.sent.iter().map(|sent| sent.report.sent_frames / 100).sum::<u64>()
    };
    let (with, without): (Vec<&TrialResult>, Vec<_>) =
        results.partition(|result| broadcasts(result) > 0);
    assert!(with.len() > 3 && without.len() > 3, "{} and {}", with.len(), without.len());
    assert!(with.iter().all(|result| broadcasts(result) == of_sent(result)));
}

/// A test whose frames are not those of a modifier says so, and is not made with it.
#[test]
fn tests_without_modifiers_are_not_made_with_them() {
    let mut config = config(&[ChassisTest::BroadcastLatency]);
    config.modifiers = vec![Modifier::None, Modifier::Broadcast];
    let (outcomes, events) = run_with(MEDIUM, config);
    assert_eq!(outcomes.len(), 1);
    let is_told =
        |event: &Event| matches!(event, Event::Warning(why) if why.contains("no modifiers"));
    assert!(events.iter().any(is_told));
}

/// Three ports to one: its medium is full at a third of theirs. With 5 % of loss the load is 1 / (3 x 0.95).
#[test]
fn every_search_finds_the_loads_with_and_without_loss() {
    let policies = [
        SearchPolicy::Bisect,
        SearchPolicy::Step,
        SearchPolicy::Tst009,
        SearchPolicy::Adaptive,
        SearchPolicy::Mlrsearch,
    ];
    for policy in policies {
        let mut config = mesh(ChassisTest::ManyToOne, 64);
        config.search.policy = policy;
        config.throughput.loss_tolerances_percent = vec![5.0];
        let (result, _) = watched(MEDIUM, config);
        let found = |what: &method::chassis::Throughput, truth: f64| {
            let (low, high) = (what.load_percent.unwrap(), what.upper_percent.unwrap());
            // Four frames of buffer, of 5,000 in 0.2 s.
            assert!(low <= truth * 1.002 && high >= truth * 0.998, "{policy}: {low} to {high} %");
            assert!(high - low < 0.012 * high, "{policy}: {low} to {high} %");
        };
        found(&result.throughput, 100.0 / 3.0);
        let [(percent, tolerant)] = &result.throughput.with_tolerance[..] else { panic!() };
        assert_eq!(*percent, 5.0, "{policy}");
        found(tolerant, 100.0 / 2.85);
    }
}

/// A tester that sends 30,000 frames a second of each port, before a switch that carries more.
#[test]
fn a_tester_that_is_slower_than_the_medium_is_told_from_the_device() {
    let weak = format!("{MEDIUM}[tester]\nframes-per-second = 30_000\n");
    let device = Description::from_toml(&weak).unwrap();
    let plan = Addresses::plan(device.ports);
    let mut tester = device.tester(&plan).unwrap();
    let cables = Description { ports: device.ports, ..device.looped() };
    let mut looped = cables.tester(&plan).unwrap();
    let mut config = mesh(ChassisTest::FullyMeshed, 64);
    config.chassis.loads_percent = vec![10.0];
    let mut events: Vec<Event> = vec![];
    suite(config, chassis(4)).run(&mut tester, Some(&mut looped), &mut events).unwrap();
    let finished = events.iter().rev().find_map(|event| match event {
        Event::TestFinished(outcome) => Some(outcome),
        _ => None,
    });
    let outcome = finished.expect("an outcome");
    let found = record::<MeshResult>(outcome).throughput;
    assert!(matches!(found.finding, Finding::AtLeast { .. }), "{:?}", found.finding);
    let own = outcome.conditions.tester_max.expect("it was measured").fps();
    assert!((28_000.0..=31_000.0).contains(&own), "{own}");
    assert!(found.rate.unwrap().fps() <= own);
}
