//! The control side of a port of DPDK, opposite a real kernel's ARP and neighbour discovery.

use super::control::{asking_router, hosts};
use crate::bed::{self, devices};
use ports::{LiveOptions, LiveTester, PortType, open_ports};
use std::net::IpAddr;
use trial::conformance::{Load, run_accounted};
use units::{Duration, FrameRate, FrameSize};
use wire::ethernet::MacAddr;
use wire::signature::Key;

/// Ports of DPDK on the interfaces of a test bed.
fn open(testbed: &bed::Bed) -> Vec<ports::OpenPort> {
    let requests = testbed.ports().iter().map(|port| {
        let device = format!("net_af_packet{},iface={}", port.port, port.interface);
        devices::request(port.port, &device, FrameSize::MAX_ETHERNET)
    });
    let requests: Vec<_> = requests.collect();
    testbed.tester().run(|| open_ports(&requests)).expect("enter").expect("open the ports")
}

/// The router asks during the trial; the answer leaves through the port that is sending.
#[test]
fn a_router_finds_the_hosts_while_a_trial_runs() {
    let testbed = asking_router();
    let ports = open(&testbed);
    let paths = bed::paths(&testbed);
    let load = |key, ms| Load {
        paths: &paths,
        streams_each: 1,
        sizes: &[FrameSize::MIN_ETHERNET],
        rate: FrameRate::from_fps(1_000),
        duration: Duration::from_ms(ms),
        key: Key::from_seed(key),
    };
    let mut tester = LiveTester::new(ports, LiveOptions::default()).expect("a tester");
    assert!(tester.ports().iter().all(|port| port.describe().port_type == PortType::DPDK.name()));
    let silent = run_accounted(&mut tester, &load(1, 200).trial("nobody answers"));
    assert_eq!(silent.forwarded_frames(), 0);
    assert!(silent.counters[1].control_frames > 0, "the router asks for the host");
    assert_eq!(silent.received[1].foreign, 0, "questions are no foreign frames");
    for port in [0, 1] {
        tester.ports()[port].play(hosts(&testbed, port));
    }
    let answered = run_accounted(&mut tester, &load(2, 3_000).trial("the tester answers"));
    assert!(answered.forwarded_frames() > 0, "{:?}", answered.counters);
    let again = run_accounted(&mut tester, &load(3, 200).trial("neighbours known"));
    assert_eq!(again.lost_frames(), 0);
}

/// Between trials, both families.
#[test]
fn the_kernels_addresses_are_resolved_in_both_families() {
    let testbed = asking_router();
    let ports = open(&testbed);
    let port = &testbed.ports()[0];
    let (mac, device) = (MacAddr(port.mac), MacAddr(port.device_mac.expect("a router has one")));
    let (ipv4, ipv6) = (port.addresses.ipv4, port.addresses.ipv6);
    ports[0].play(hosts(&testbed, 0));
    let resolve = |from: IpAddr, gateway: IpAddr| ports[0].resolve((mac, from), gateway);
    assert_eq!(resolve(ipv4.host.into(), ipv4.device.into()), Ok(device));
    assert_eq!(resolve(ipv6.host.into(), ipv6.device.into()), Ok(device));
}
