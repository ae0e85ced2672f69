//! Real devices forward real frames.

use crate::common::{RawPort, can_build, udp4, udp6, wait};
use std::time::Duration;
use testbed::{DeviceKind, Neighbours, Testbed, TestbedConfig};

const SOON: Duration = Duration::from_secs(2);

fn is_udp(frame: &[u8]) -> bool {
    (frame[12..14] == [0x08, 0x00] && frame[23] == 17)
        || (frame[12..14] == [0x86, 0xdd] && frame[20] == 17)
}

/// One frame each way over every adjacent pair of ports; returns what arrived.
fn exchange(testbed: &Testbed, frame: impl Fn(usize, usize) -> Vec<u8>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let pair = [RawPort::open(testbed, 0), RawPort::open(testbed, 1)];
    [(0, 1), (1, 0)]
        .map(|(from, to)| {
            let sent = frame(from, to);
            pair[from].send(&sent).expect("send");
            // The sender sees its own frame too (PACKET_OUTGOING), hence the other socket.
            let got = pair[to].receive(SOON, |f| is_udp(f) && f[0..6] == testbed.ports()[to].mac);
            (sent, got.unwrap_or_else(|| panic!("no frame from port {from} on port {to}")))
        })
        .to_vec()
}

#[test]
fn loopback_carries_frames_unchanged() {
    if !can_build("loopback_carries_frames_unchanged") {
        return;
    }
    let testbed = Testbed::build(&TestbedConfig::of(DeviceKind::Loopback)).expect("build");
    for (sent, got) in exchange(&testbed, |from, to| udp4(&testbed, from, to, 18)) {
        assert_eq!(sent, got);
    }
    testbed.destroy().expect("destroy");
}

#[test]
fn bridge_carries_frames_unchanged() {
    if !can_build("bridge_carries_frames_unchanged") {
        return;
    }
    let testbed = Testbed::build(&TestbedConfig::of(DeviceKind::LinuxBridge)).expect("build");
    for (sent, got) in exchange(&testbed, |from, to| udp4(&testbed, from, to, 18)) {
        assert_eq!(sent, got);
    }
    testbed.destroy().expect("destroy");
}

#[test]
fn router_forwards_ipv4_and_ipv6() {
    if !can_build("router_forwards_ipv4_and_ipv6") {
        return;
    }
    let testbed = Testbed::build(&TestbedConfig::of(DeviceKind::LinuxRouter)).expect("build");
    for (sent, got) in exchange(&testbed, |from, to| udp4(&testbed, from, to, 18)) {
        assert_eq!(got[22], sent[22] - 1, "TTL is decremented by one");
        assert_eq!(got[26..], sent[26..], "addresses and payload are kept");
    }
    for (sent, got) in exchange(&testbed, |from, to| udp6(&testbed, from, to, 18)) {
        assert_eq!(got[21], sent[21] - 1, "hop limit is decremented by one");
        assert_eq!(got[22..], sent[22..], "addresses and payload are kept");
    }
    testbed.destroy().expect("destroy");
}

#[test]
fn a_router_of_many_ports_forwards_between_all_neighbours() {
    if !can_build("a_router_of_many_ports_forwards_between_all_neighbours") {
        return;
    }
    const PORTS: usize = 16;
    let testbed = Testbed::build(&TestbedConfig { ports: PORTS, ..TestbedConfig::default() });
    let testbed = testbed.expect("build");
    let ports: Vec<_> = (0..PORTS).map(|port| RawPort::open(&testbed, port)).collect();
    for from in 0..PORTS {
        let to = (from + 1) % PORTS;
        ports[from].send(&udp4(&testbed, from, to, 18)).expect("send");
        let got = ports[to].receive(SOON, |f| is_udp(f) && f[0..6] == testbed.ports()[to].mac);
        let got = got.unwrap_or_else(|| panic!("no frame from port {from} on port {to}"));
        assert_eq!(got[26..30], testbed.ports()[from].addresses.ipv4.host.octets());
    }
    testbed.destroy().expect("destroy");
}

#[test]
fn jumbo_frames_pass_where_the_mtu_allows_them() {
    if !can_build("jumbo_frames_pass_where_the_mtu_allows_them") {
        return;
    }
    let config = TestbedConfig { mtu_bytes: 9000, ..TestbedConfig::default() };
    let testbed = Testbed::build(&config).expect("build");
    for (sent, got) in exchange(&testbed, |from, to| udp4(&testbed, from, to, 9000 - 28)) {
        assert_eq!(sent.len(), 9014);
        assert_eq!(got.len(), 9014);
    }
    testbed.destroy().expect("destroy");
}

#[test]
fn a_router_with_dynamic_neighbours_asks_by_arp() {
    if !can_build("a_router_with_dynamic_neighbours_asks_by_arp") {
        return;
    }
    let config = TestbedConfig { neighbours: Neighbours::Dynamic, ..TestbedConfig::default() };
    let testbed = Testbed::build(&config).expect("build");
    let ports = [RawPort::open(&testbed, 0), RawPort::open(&testbed, 1)];
    ports[0].send(&udp4(&testbed, 0, 1, 18)).expect("send");
    let request = ports[1].receive(SOON, |f| f[12..14] == [0x08, 0x06]).expect("an ARP request");
    assert_eq!(request[38..42], testbed.ports()[1].addresses.ipv4.host.octets());
    ports[0].send(&udp6(&testbed, 0, 1, 18)).expect("send");
    let solicited = |f: &[u8]| f[12..14] == [0x86, 0xdd] && f[20] == 58 && f[54] == 135;
    let request = ports[1].receive(SOON, solicited).expect("a neighbour solicitation");
    assert_eq!(request[62..78], testbed.ports()[1].addresses.ipv6.host.octets());
    testbed.destroy().expect("destroy");
}

/// An idle router with static neighbours says nothing after it was built: foreign frames would be
/// counted against it.
#[test]
fn the_tester_ports_are_silent() {
    if !can_build("the_tester_ports_are_silent") {
        return;
    }
    for device in [DeviceKind::LinuxRouter, DeviceKind::LinuxBridge, DeviceKind::Loopback] {
        let testbed = Testbed::build(&TestbedConfig::of(device)).expect("build");
        // A router announces its own multicast groups when a port comes up.
        wait(Duration::from_millis(100));
        let ports = [RawPort::open(&testbed, 0), RawPort::open(&testbed, 1)];
        for port in &ports {
            let heard = port.receive(Duration::from_millis(500), |_| true);
            assert_eq!(heard, None, "{device:?} spoke unasked");
        }
        testbed.destroy().expect("destroy");
    }
}
