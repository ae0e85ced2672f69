//! The control side of a port, opposite a real kernel's ARP and neighbour discovery.

use crate::bed;
use crate::bed::Bed;
use ports::{Host, LiveOptions, LiveTester, OpenPort, PortType};
use std::net::IpAddr;
use testbed::{DeviceKind, Neighbours, TestbedConfig};
use trial::conformance::{Load, run_accounted};
use units::{Duration, FrameRate, FrameSize};
use wire::ethernet::MacAddr;
use wire::signature::Key;

/// A router that must ask for the hosts' hardware addresses.
pub fn asking_router() -> Bed {
    let device = TestbedConfig::of(DeviceKind::LinuxRouter);
    bed::build_config(&TestbedConfig { neighbours: Neighbours::Dynamic, ..device })
}

/// The hosts of one port: everything on its networks but the device.
pub fn hosts(testbed: &Bed, port: usize) -> Vec<Host> {
    let (ipv4, ipv6) = (testbed.ports()[port].addresses.ipv4, testbed.ports()[port].addresses.ipv6);
    vec![Host {
        mac: MacAddr(testbed.ports()[port].mac),
        tags: vec![],
        networks: vec![
            (ipv4.host.into(), ipv4.prefix_length),
            (ipv6.host.into(), ipv6.prefix_length),
        ],
        except: vec![ipv4.device.into(), ipv6.device.into()],
    }]
}

fn open(testbed: &Bed, port_type: PortType) -> Vec<OpenPort> {
    bed::open(testbed, port_type, FrameSize::MAX_ETHERNET).expect("open the ports")
}

fn forwards_once_neighbours_are_known(port_type: PortType) {
    let testbed = asking_router();
    let ports = open(&testbed, port_type);
    let load = |paths, key| Load {
        paths,
        streams_each: 1,
        sizes: &[FrameSize::MIN_ETHERNET],
        rate: FrameRate::from_fps(1_000),
        duration: Duration::from_ms(200),
        key,
    };
    let paths = bed::paths(&testbed);
    let silent = load(&paths[..1], Key::from_seed(1)).trial("nobody answers");
    let answered = load(&paths[..1], Key::from_seed(2)).trial("the tester answers");
    let there = hosts(&testbed, 1);
    let mut tester = LiveTester::new(ports, LiveOptions::default()).expect("a tester");

    let result = run_accounted(&mut tester, &silent);
    assert_eq!(result.forwarded_frames(), 0);
    assert!(result.counters[1].control_frames > 0, "the router asks for the host");
    assert_eq!(result.received[1].foreign, 0, "questions are no foreign frames");

    // The router may have given up asking for now; Linux asks again with the next frame, and
    // holds back few frames while it asks.
    tester.ports()[1].play(there);
    let result = run_accounted(&mut tester, &answered);
    assert!(result.forwarded_frames() > 0, "{:?}", result.counters);
    let again =
        run_accounted(&mut tester, &load(&paths[..1], Key::from_seed(3)).trial("neighbours known"));
    assert_eq!(again.lost_frames(), 0);
}

#[test]
fn a_router_finds_the_hosts_over_af_packet() {
    forwards_once_neighbours_are_known(PortType::AF_PACKET);
}

#[test]
fn a_router_finds_the_hosts_over_af_xdp() {
    forwards_once_neighbours_are_known(PortType::AF_XDP);
}

#[test]
fn a_router_finds_the_hosts_over_xdp() {
    forwards_once_neighbours_are_known(PortType::XDP);
}

#[test]
fn the_kernels_addresses_are_resolved_in_both_families() {
    let testbed = asking_router();
    for port_type in PortType::of_interfaces() {
        let ports = open(&testbed, port_type);
        let port = &testbed.ports()[0];
        let mac = MacAddr(port.mac);
        let expected = MacAddr(port.device_mac.expect("a router has one"));
        let (ipv4, ipv6) = (port.addresses.ipv4, port.addresses.ipv6);
        // The kernel answers a neighbour only after it has found it in turn: play the host.
        ports[0].play(hosts(&testbed, 0));
        let resolve = |from: IpAddr, gateway: IpAddr| ports[0].resolve((mac, from), gateway);
        assert_eq!(resolve(ipv4.host.into(), ipv4.device.into()), Ok(expected), "{port_type}");
        assert_eq!(resolve(ipv6.host.into(), ipv6.device.into()), Ok(expected), "{port_type}");
    }
}

#[test]
fn a_gateway_that_is_not_there_is_an_error_that_says_whom_it_asked() {
    let testbed = asking_router();
    let ports = open(&testbed, PortType::AF_PACKET);
    let port = &testbed.ports()[0];
    let from = (MacAddr(port.mac), IpAddr::from(port.addresses.ipv4.host));
    let nobody: IpAddr = "198.18.1.77".parse().expect("an address");
    let error = ports[0].resolve(from, nobody).unwrap_err().to_string();
    assert!(error.contains("198.18.1.77") && error.contains("nobody answered"), "{error}");
}
