//! Address caching capacity and learning rate, to the address and within the stated resolution.

use super::bed::{SWITCH, config, only, record, run_behind, run_with, sizes};
use method::chassis::ChassisTest;
use method::rfc2889::{AddressResult, MeshResult};
use method::{Event, Finding, SuiteConfig, TestKind};
use traffic::modifier::sub_seed;
use trial::{InvalidReason, Tester, TesterDescription, TesterError, Trial, TrialResult, Validity};
use units::{Duration, FrameRate};

fn addresses(toml: &str, config: SuiteConfig) -> AddressResult {
    only(&run_with(toml, config).0)
}

fn caching(max: u64) -> SuiteConfig {
    let mut config = config(&[ChassisTest::AddressCaching]);
    config.chassis.addresses.max_addresses = max;
    config.chassis.addresses.initial_addresses = 100;
    config.chassis.addresses.ageing_s = 60.0;
    config.chassis.addresses.learning_fps = 50_000;
    config.chassis.addresses.test_fps = 50_000;
    config
}

/// A table that a test of addresses has filled floods what comes next: eight ports that learn nothing have an
/// eighth of what they carry. Whatever the order of tests, the mesh is that of a device that has forgotten.
#[test]
fn a_full_table_is_left_to_age_before_the_next_test() {
    const MESH: ChassisTest = ChassisTest::FullyMeshed;
    for (first, second) in
        [(ChassisTest::AddressCaching, MESH), (MESH, ChassisTest::AddressCaching)]
    {
        let mut both = config(&[first, second]);
        both.chassis.addresses = caching(1_100).chassis.addresses;
        let toml = format!("ports = 8\n{SWITCH}[learning]\nentries = 1024\nageing = \"60s\"\n");
        let (results, events) = run_with(&toml, both);
        let mesh = results.iter().find(|outcome| outcome.test == TestKind::Chassis(MESH));
        let mesh: MeshResult = record(mesh.expect("a mesh"));
        assert_eq!(mesh.throughput.finding, Finding::AtTheoreticalMaximum, "{:?}", mesh.throughput);
        assert_eq!(mesh.frmol().unwrap().flood_count, 0);
        assert!(!told_of_flood(&events));
    }
}

/// Told a wrong ageing time, the tester meets a table that is still full; of a device that floods it says so.
#[test]
fn a_device_that_floods_announced_addresses_is_told_of() {
    let mut both = config(&[ChassisTest::AddressCaching, ChassisTest::FullyMeshed]);
    both.chassis.addresses = caching(1_100).chassis.addresses;
    both.chassis.addresses.ageing_s = 10.0;
    let toml = format!("ports = 8\n{SWITCH}[learning]\nentries = 1024\nageing = \"600s\"\n");
    let (_, events) = run_with(&toml, both);
    assert!(told_of_flood(&events));
}

fn told_of_flood(events: &[Event]) -> bool {
    let told = |event: &Event| matches!(event, Event::Warning(why) if why.contains("flooded"));
    events.iter().any(told)
}

/// The wait before each trial is most of the test.
#[test]
fn the_estimate_has_the_waits_for_ageing() {
    for test in [ChassisTest::AddressCaching, ChassisTest::AddressLearning] {
        let mut config = config(&[test]);
        config.chassis.addresses.ageing_s = 60.0;
        config.chassis.addresses.rate_addresses = 200;
        let toml = format!(
            "ports = 3\n{SWITCH}[learning]\nageing = \"60s\"\nper-address = \"1ms\"\nbacklog = 5\n"
        );
        let (_, events) = run_with(&toml, config);
        let estimate_s = events.iter().find_map(|event| match event {
            Event::RunStarted(started) => Some(started.estimate.as_secs_f64()),
            _ => None,
        });
        let waited = |event: &&Event| matches!(event, Event::TrialStarted(trial) if trial.label.contains("learned"));
        let waited_s = events.iter().filter(waited).count() as f64 * 61.0;
        let share = estimate_s.unwrap() / waited_s;
        assert!((0.5..3.0).contains(&share), "{test}: {estimate_s:?} s of {waited_s} s");
    }
}

/// The test port's own address takes a place: one less than the table has is found.
#[test]
fn the_capacity_is_found_to_the_address() {
    for seed in (0..6).chain(crate::new_seeds::new_seeds()) {
        let entries = 2 + sub_seed(seed, 0) % 4_000;
        let toml =
            format!("ports = 4\n{SWITCH}[learning]\nentries = {entries}\nageing = \"60s\"\n");
        let found = addresses(&toml, caching(5_000));
        assert_eq!(found.found, Some(entries - 1), "{toml}");
        assert_eq!((found.failed, found.at_least), (Some(entries), false));
        let failing = found.trials.iter().filter(|trial| trial.learned == Some(false));
        // What does not fit floods, to the monitoring port too.
        for trial in failing {
            assert_eq!(trial.flood_monitor_port, trial.addresses - (entries - 1));
            assert_eq!(trial.received, trial.offered, "a flooded frame comes through as well");
        }
    }
}

#[test]
fn a_table_larger_than_what_was_tried_is_a_bound() {
    let found = addresses(&format!("ports = 3\n{SWITCH}"), caching(300));
    assert_eq!((found.found, found.failed, found.at_least), (Some(299), None, true));
}

/// An address whose bucket is full is not learned: the capacity found is the longest run of
/// addresses that all find a place, below the number of places.
#[test]
fn a_hash_has_less_room_than_places() {
    let toml =
        format!("ports = 3\n{SWITCH}[learning]\nbuckets = 64\nplaces = 4\nageing = \"60s\"\n");
    let found = addresses(&toml, caching(1_000)).found.unwrap();
    assert!((4..255).contains(&found), "{found}");
}

/// A switch that learns any number and loses each so manieth frame: what is not learned since its frame was lost is
/// flooded, and what is lost is lost. None of it is a full table; what passed before stands as a bound.
#[test]
fn loss_is_no_full_table() {
    for every in [37, 150, 500, 777] {
        let toml = format!("ports = 3\n{SWITCH}[impair]\ndrop-every = {every}\n");
        let result = addresses(&toml, caching(5_000));
        assert_eq!(result.failed, None, "{every}: {result:?}");
        match result.found {
            Some(found) => {
                assert!(result.at_least && result.invalid.is_empty(), "{every}: {found}");
                assert!(result.ended.is_some_and(|why| why.contains("full table")), "{every}");
            }
            None => assert!(result.invalid[0].contains("full table"), "{every}: {result:?}"),
        }
    }
}

/// What is taught in the test of the rate has room in the table that the test before has found.
#[test]
fn the_learning_rate_is_that_of_addresses_that_the_device_can_hold() {
    let mut both = config(&[ChassisTest::AddressCaching, ChassisTest::AddressLearning]);
    both.chassis.addresses = caching(5_000).chassis.addresses;
    both.chassis.addresses.rate_addresses = 1_000;
    let toml = format!("ports = 3\n{SWITCH}[learning]\nentries = 100\nageing = \"60s\"\n");
    let (results, _) = run_with(&toml, both);
    let rate: AddressResult = record(&results[1]);
    assert!(rate.trials.iter().all(|trial| trial.addresses == 99), "{:?}", rate.trials);
    assert!(rate.at_least, "it learns as fast as frames come: {:?}", rate.found);
}

/// A tester that is 0.5 % slow in every trial from the tenth on, and one that is half as slow again as it should be.
struct Slow<T> {
    tester: T,
    trials: u32,
    share: f64,
}

impl<T: Tester> Tester for Slow<T> {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        let mut result = self.tester.run(trial)?;
        self.trials += 1;
        if self.trials >= 10 {
            let sent = &result.sent[0];
            let reason = InvalidReason::Shortfall {
                port: sent.report.port,
                intended: sent.intended_rate,
                offered: sent.intended_rate.scaled(self.share),
                unsent_frames: 0,
            };
            result.validity = Validity::Invalid(vec![reason]);
        }
        Ok(result)
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.tester.pause(span)
    }
}

#[test]
fn a_pace_that_is_a_little_slower_takes_nothing_back() {
    let toml = format!("ports = 3\n{SWITCH}[learning]\nentries = 1024\nageing = \"60s\"\n");
    let found = |share| {
        let slow = |tester| Slow { tester, trials: 0, share };
        only::<AddressResult>(&run_behind(&toml, caching(5_000), slow).0)
    };
    assert_eq!((found(0.995).found, found(0.995).failed), (Some(1_023), Some(1_024)));
    let slower = found(0.66);
    let (low, high) = (slower.found.unwrap(), slower.failed.unwrap());
    assert!(low <= 1_023 && high >= 1_024 && slower.invalid.is_empty(), "{low} {high}");
    assert!(slower.ended.is_some());
}

#[test]
fn addresses_that_would_age_out_before_their_turn_are_refused() {
    let mut config = caching(5_000);
    config.chassis.addresses.learning_fps = 1;
    let (results, events) = run_with(&format!("ports = 3\n{SWITCH}"), config);
    assert!(results.is_empty());
    let warned = |event: &Event| matches!(event, Event::Warning(why) if why.contains("ageing"));
    assert!(events.iter().any(warned), "{events:?}");
}

/// Without room to wait, an address must come no sooner than the one before it is learned.
#[test]
fn the_learning_rate_is_found_within_its_resolution() {
    for seed in (0..6).chain(crate::new_seeds::new_seeds()) {
        let per_address_us = 15 + sub_seed(seed, 0) % 3_000;
        let backlog = if seed % 2 == 0 { 0 } else { sub_seed(seed, 1) % 50 };
        let toml = format!(
            "ports = 3\n{SWITCH}[learning]\nageing = \"60s\"\nper-address = \"{per_address_us}us\"\n\
             backlog = {backlog}\n"
        );
        let mut config = config(&[ChassisTest::AddressLearning]);
        config.chassis.addresses.rate_addresses = 200;
        config.chassis.addresses.ageing_s = 60.0;
        config.chassis.addresses.rate_resolution_fps = 10;
        config.chassis.addresses.test_fps = 10_000;
        let result = addresses(&toml, config);
        let (found, failed) = (result.found.unwrap(), result.failed.unwrap());
        assert!(failed - found <= 10);
        let learns = |fps: u64| all_learned(fps, per_address_us * 1_000_000, backlog, 200);
        assert!(learns(found) && !learns(failed), "{found} {failed}: {toml}");
        if backlog == 0 {
            let truth = 1e6 / per_address_us as f64;
            assert!((found as f64) <= truth && (failed as f64) > truth, "{found} {failed} {truth}");
        }
    }
}

/// 1,518 bytes on 10 Mb/s: 812 frames a second at most. The default of 100,000 is not to be had, and a switch
/// that learns from each frame at once learns as fast as they can come.
#[test]
fn no_more_addresses_are_asked_for_than_the_medium_carries() {
    let toml = format!("ports = 3\n{SWITCH}line-rate = \"10M\"\n[learning]\nageing = \"60s\"\n");
    let toml = toml.replace("line-rate = \"100M\"\n", "");
    let mut config = config(&[ChassisTest::AddressLearning]);
    config.frame_sizes = sizes(&[1_518]);
    config.chassis.addresses.rate_addresses = 200;
    config.chassis.addresses.ageing_s = 60.0;
    config.chassis.addresses.test_fps = 10_000;
    let result = addresses(&toml, config);
    assert_eq!((result.found, result.at_least), (Some(812), true), "{result:?}");
    assert!(result.invalid.is_empty(), "{:?}", result.invalid);
}

/// By arithmetic: when address k comes, those before it that are not learned yet must not be more
/// than one being learned and `backlog` waiting.
fn all_learned(fps: u64, per_address_ps: u64, backlog: u64, addresses: u64) -> bool {
    let at = |k: u64| FrameRate::from_fps(fps).departure(k).as_ps();
    let mut done = 0;
    (0..addresses).all(|k| {
        let left = u64::saturating_sub(done, at(k)).div_ceil(per_address_ps);
        done = done.max(at(k)) + per_address_ps;
        left <= backlog
    })
}
