//! Frame sizes of a chassis side by side.

use super::bed::*;
use super::multicast::multicast;
use method::chassis::ChassisTest;
use method::rfc3918::{ScaledGroupsResult, Version};
use method::{Event, Lane, SuiteConfig};
use sim::{Addresses, Description};

fn run_on(toml: &str, config: SuiteConfig, threads: usize) -> Vec<Event> {
    let device = Description::from_toml(toml).unwrap();
    let topology = match device.route.is_empty() {
        true => chassis(device.ports),
        false => routed(device.ports),
    };
    let mut make = |_: &str| {
        let tester = device.tester(&Addresses::plan(device.ports)).unwrap();
        Ok(Lane { device: Box::new(tester), looped: None })
    };
    let mut events: Vec<Event> = vec![];
    suite(config, topology).run_side_by_side(&mut make, threads, &mut events).unwrap();
    events
}

fn two_sizes(tests: &[ChassisTest]) -> SuiteConfig {
    let mut config = config(tests);
    config.frame_sizes = sizes(&[128, 64]);
    config
}

fn results(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::TestFinished(_))).count()
}

#[test]
fn events_are_the_same_however_many_threads() {
    let tests = [ChassisTest::FullyMeshed, ChassisTest::AddressCaching, ChassisTest::Congestion];
    let alone = run_on(&format!("{SWITCH}ports = 4\n"), two_sizes(&tests), 1);
    assert_eq!(results(&alone), 5, "addresses have no size");
    for threads in [2, 5] {
        let config = two_sizes(&tests);
        assert_eq!(run_on(&format!("{SWITCH}ports = 4\n"), config, threads), alone);
    }
}

/// The number of groups is found with the smallest frames; tests of the other sizes go by it.
#[test]
fn what_one_size_finds_out_others_use() {
    let toml =
        "ports = 4\nline-rate = \"1G\"\nbridge = true\n[multicast]\ngroups = 25\nleave = \"1ms\"";
    let mut config =
        multicast(&[ChassisTest::GroupCapacity, ChassisTest::ScaledGroups], Version::Igmpv3);
    config.frame_sizes = sizes(&[128, 84]);
    let alone = run_on(toml, config.clone(), 1);
    let capacity = |event: &Event| match event {
        Event::TestFinished(outcome) => Some(outcome.record::<ScaledGroupsResult>().ok()?.capacity),
        _ => None,
    };
    let known: Vec<Option<u64>> = alone.iter().filter_map(capacity).collect();
    assert_eq!(known, [Some(25); 2]);
    assert_eq!(run_on(toml, config, 2), alone);
}
