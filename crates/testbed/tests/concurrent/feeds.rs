//! Routes that come by BGP, OSPF and RIP from a speaker in a namespace of its own: all of them are in the
//! kernel's table before the test bed is handed over, and each leads to its port.

use crate::common::{RawPort, can_build, udp4_to};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use testbed::{Feed, Testbed, TestbedConfig, routed_host};

/// Behind each of two ports.
const ROUTES: u32 = 500;

fn fed(feed: Feed) -> TestbedConfig {
    TestbedConfig { feed: Some(feed), routes_per_port: ROUTES, ..TestbedConfig::default() }
}

/// One frame to every tenth host behind port 1, the last one too: each comes out there, once, and as many were
/// forwarded.
fn reaches_its_hosts(testbed: &Testbed) {
    let device = testbed.device().expect("a device");
    let forwarded = || device.counters().expect("counters").ip["IpForwDatagrams"];
    let before = forwarded();
    let ports = [RawPort::open(testbed, 0), RawPort::open(testbed, 1)];
    let hosts = (0..ROUTES).rev().step_by(10).map(|host| match routed_host(1, host).address {
        IpAddr::V4(address) => address,
        IpAddr::V6(_) => panic!("not IPv4"),
    });
    let hosts: Vec<Ipv4Addr> = hosts.collect();
    for host in &hosts {
        ports[0].send(&udp4_to(testbed, 0, 1, *host, 18)).expect("send");
    }
    let to_any =
        |frame: &[u8]| frame.len() > 34 && hosts.iter().any(|h| frame[30..34] == h.octets());
    for host in &hosts {
        let frame = ports[1].receive(Duration::from_secs(5), to_any).expect("a frame");
        assert_eq!(frame[30..34], host.octets());
    }
    assert_eq!(ports[1].receive(Duration::from_millis(20), to_any), None);
    assert_eq!(forwarded() - before, hosts.len() as u64);
}

/// Fed by this protocol, and once more where a link was down; an OSPF neighbour takes seconds to be found again.
fn routes_are_there(feed: Feed, resets: bool) {
    let testbed = Testbed::build(&fed(feed)).expect("build");
    let device = testbed.device().expect("a device");
    let load = device.route_load().expect("routes were fed");
    println!("{load}");
    let daemons = load.fed.expect("fed");
    assert_eq!((load.routes, daemons.by), (1_000, feed));
    assert!(daemons.router_bytes.is_some_and(|bytes| bytes > 100_000), "{load}");
    assert!(daemons.speaker_bytes.is_some_and(|bytes| bytes > 100_000), "{load}");
    assert_eq!(device.learned_routes().expect("count"), 1_000);
    reaches_its_hosts(&testbed);
    if resets {
        device.link_reset(1, units::Duration::from_ms(20)).expect("reset");
        assert_eq!(device.learned_routes().expect("count"), 1_000, "{feed} after the reset");
        reaches_its_hosts(&testbed);
    }
    testbed.destroy().expect("removed");
}

#[test]
fn routes_by_bgp_are_there_and_come_back_after_a_link_was_down() {
    if can_build("routes_by_bgp_are_there_and_come_back_after_a_link_was_down") {
        routes_are_there(Feed::Bgp, true);
    }
}

#[test]
fn routes_by_ospf_are_there() {
    if can_build("routes_by_ospf_are_there") {
        routes_are_there(Feed::Ospf, false);
    }
}

#[test]
fn routes_by_rip_are_there_and_come_back_after_a_link_was_down() {
    if can_build("routes_by_rip_are_there_and_come_back_after_a_link_was_down") {
        routes_are_there(Feed::Rip, true);
    }
}

#[test]
fn configured_routes_come_back_after_a_link_was_down() {
    if !can_build("configured_routes_come_back_after_a_link_was_down") {
        return;
    }
    let config = TestbedConfig { routes_per_port: ROUTES, ..TestbedConfig::default() };
    let testbed = Testbed::build(&config).expect("build");
    let device = testbed.device().expect("a device");
    device.link_reset(1, units::Duration::from_ms(20)).expect("reset");
    reaches_its_hosts(&testbed);
}
