//! What the tests share: a chassis, a configuration of short trials, and a run.

use method::chassis::ChassisTest;
use method::{
    Attachment, Event, Forwarding, LegacyAddresses, Outcome, Profile, Suite, SuiteConfig, Topology,
};
use serde::de::DeserializeOwned;
use sim::{Addresses, Description, DeviceUnderTest, SimTester};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use traffic::size::SizePattern;
use trial::{PortId, Tester};
use units::FrameSize;
use wire::ethernet::MacAddr;

pub fn chassis(ports: usize) -> Topology {
    let attachment = |index: u16| Attachment {
        port: PortId(index),
        mac: MacAddr([2, 0, 0, 0, index as u8, 2]),
        host_ipv4: Ipv4Addr::new(198, 18, 0, 2 + index as u8),
        host_ipv6: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2 + index),
        device_mac: MacAddr::ZERO,
        device_ipv4: Ipv4Addr::new(198, 18, 0, 1),
        device_ipv6: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1),
        network_hosts_ipv4: vec![],
        network_hosts_ipv6: vec![],
        network_prefix_ipv4: 24,
        prefix_hosts_ipv6: Default::default(),
        legacy: LegacyAddresses::plan(PortId(index)),
    };
    Topology::of(Forwarding::Bridged, (0..ports as u16).map(attachment).collect())
}

/// Each port on a network of its own, of a device that routes.
pub fn routed(ports: usize) -> Topology {
    let mut chassis = chassis(ports);
    chassis.forwarding = Forwarding::Routed;
    for (port, interface) in chassis.ports.iter_mut().zip(Addresses::plan(ports).interfaces) {
        let (v4, v6) = (interface.ipv4.0, interface.ipv6.0);
        (port.device_mac, port.device_ipv4, port.device_ipv6) = (interface.mac, v4, v6);
        port.host_ipv4 = Ipv4Addr::from_bits(v4.to_bits() + 1);
        port.host_ipv6 = Ipv6Addr::from_bits(v6.to_bits() + 1);
    }
    chassis
}

/// One frame size after the other.
pub fn sizes(bytes: &[u32]) -> Vec<SizePattern> {
    bytes.iter().map(|bytes| SizePattern::Fixed(FrameSize::from_bytes(*bytes))).collect()
}

/// Trials of 10 ms, waits of little, one size.
pub fn config(tests: &[ChassisTest]) -> SuiteConfig {
    let mut config = SuiteConfig::of_many_ports(Profile::Quick, tests);
    config.frame_sizes = sizes(&[64]);
    config.trial.duration_s = 0.01;
    config.trial.learning_wait_s = 0.01;
    config.trial.drain_s = 0.1;
    config.trial.settle_s = 0.0;
    config.search.trial_duration_s = 0.01;
    config
}

/// A run on such ports.
pub fn suite(config: SuiteConfig, topology: Topology) -> Suite {
    let (program, device, environment) = ("test".into(), "test".into(), BTreeMap::new());
    Suite { program, device, environment, config, topology, self_test: None, more: &[] }
}

/// Runs a configuration on a device; results and all events.
pub fn run_with(toml: &str, config: SuiteConfig) -> (Vec<Outcome>, Vec<Event>) {
    run_behind(toml, config, |tester| tester)
}

/// The same with something between the methods and the tester of the device.
pub fn run_behind<T: Tester>(
    toml: &str,
    config: SuiteConfig,
    wrap: impl FnOnce(SimTester<Box<dyn DeviceUnderTest>>) -> T,
) -> (Vec<Outcome>, Vec<Event>) {
    let device = Description::from_toml(toml).unwrap();
    let mut tester = wrap(device.tester(&Addresses::plan(device.ports)).unwrap());
    let topology = match device.route.is_empty() {
        true => chassis(device.ports),
        false => routed(device.ports),
    };
    let mut events: Vec<Event> = vec![];
    suite(config, topology).run(&mut tester, None, &mut events).unwrap();
    let outcome = |event: &Event| match event {
        Event::TestFinished(outcome) => Some((**outcome).clone()),
        _ => None,
    };
    (events.iter().filter_map(outcome).collect(), events)
}

/// The one result of one test on a device.
pub fn run(toml: &str, test: ChassisTest) -> Outcome {
    let (mut results, events) = run_with(toml, config(&[test]));
    assert_eq!(
        results.len(),
        1,
        "{:?}",
        events.iter().filter(|e| matches!(e, Event::Warning(_))).collect::<Vec<_>>()
    );
    results.remove(0)
}

/// The record of the one outcome among these.
pub fn only<T: DeserializeOwned>(outcomes: &[Outcome]) -> T {
    let [outcome] = outcomes else { panic!("{outcomes:?}") };
    record(outcome)
}

/// What a test says of itself.
pub fn record<T: DeserializeOwned>(outcome: &Outcome) -> T {
    outcome.record().expect("the test's record")
}

pub const SWITCH: &str = "line-rate = \"100M\"\nbridge = true\n";
