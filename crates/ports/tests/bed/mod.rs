//! A pair of veth interfaces in a namespace of their own, and a tester on them.
#![allow(dead_code, reason = "each test file uses a part")]

use ports::{LiveOptions, LiveTester, OpenPort, PortRequest, PortType, open_port};
use std::net::Ipv4Addr;
use testbed::{DeviceKind, Testbed, TestbedConfig};
use trial::conformance::Path;
use trial::{PortId, TesterError};
use units::{FrameSize, LineRate};
use wire::ethernet::MacAddr;

/// Two ports back to back.
pub fn loopback(mtu_bytes: u32) -> Testbed {
    build(DeviceKind::Loopback, mtu_bytes)
}

/// Two ports with a device between them, or none.
pub fn build(device: DeviceKind, mtu_bytes: u32) -> Testbed {
    let config = TestbedConfig { mtu_bytes, ..TestbedConfig::of(device) };
    Testbed::build(&config).expect("a test bed; these tests run as root")
}

/// Opens every port of a test bed.
pub fn open(
    testbed: &Testbed,
    port_type: PortType,
    largest: FrameSize,
) -> Result<Vec<OpenPort>, TesterError> {
    let requests = testbed.ports().iter().map(|port| PortRequest {
        id: PortId(port.port as u16),
        interface: port.interface.clone(),
        nominal_rate: LineRate::from_gbps(10),
        largest_frame: largest,
        port_type,
    });
    let requests: Vec<_> = requests.collect();
    testbed.tester().run(|| requests.iter().map(open_port).collect()).expect("enter the namespace")
}

/// A tester on every port of a test bed.
pub fn tester(testbed: &Testbed, port_type: PortType, largest: FrameSize) -> LiveTester {
    let ports = open(testbed, port_type, largest).expect("open the ports");
    LiveTester::new(ports, LiveOptions::default()).expect("a tester")
}

/// From port 0 to port 1 and back.
pub fn paths(testbed: &Testbed) -> Vec<Path> {
    [(0, 1), (1, 0)].map(|(from, to)| path(testbed, from, to)).to_vec()
}

fn path(testbed: &Testbed, from: usize, to: usize) -> Path {
    let host = |port: usize| -> Ipv4Addr { testbed.ports()[port].addresses.ipv4.host };
    Path {
        from: PortId(from as u16),
        to: PortId(to as u16),
        source: (MacAddr(testbed.ports()[from].mac), host(from)),
        destination: (MacAddr(testbed.next_hop_mac(from, to)), host(to)),
    }
}
