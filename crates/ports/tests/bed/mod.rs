//! A pair of veth interfaces in a namespace of their own, and a tester on them.
#![allow(dead_code, reason = "each test file uses a part")]

pub mod busy;
pub mod control;
#[cfg(dpdk_shim)]
pub mod devices;
#[cfg(dpdk_shim)]
pub mod testpmd;
pub mod turn;
pub mod undecided;

use ports::{
    Interface, LiveOptions, LiveTester, OpenPort, PortRequest, PortType, open_port_with_room,
};
use std::fs::File;
use std::net::IpAddr;
use std::ops::Deref;
use testbed::{DeviceKind, Testbed, TestbedConfig};
use trial::conformance::Path;
use trial::{PortDescription, PortId, TesterError};
use units::{FrameSize, LineRate};
use wire::ethernet::MacAddr;

/// A test bed for one test at a time on this machine: live tests at once would take each other's
/// cores.
pub struct Bed {
    testbed: Testbed,
    _turn: Option<File>,
}

impl Deref for Bed {
    type Target = Testbed;
    fn deref(&self) -> &Testbed {
        &self.testbed
    }
}

/// Two ports back to back.
pub fn loopback(mtu_bytes: u32) -> Bed {
    build(DeviceKind::Loopback, mtu_bytes)
}

/// Two ports with a device between them, or none.
pub fn build(device: DeviceKind, mtu_bytes: u32) -> Bed {
    build_config(&TestbedConfig { mtu_bytes, ..TestbedConfig::of(device) })
}

/// Any test bed.
pub fn build_config(config: &TestbedConfig) -> Bed {
    let turn = turn::wait();
    Bed { _turn: Some(turn), ..build_within_turn(config) }
}

/// Any test bed, for a process whose parent has the turn.
pub fn build_within_turn(config: &TestbedConfig) -> Bed {
    let testbed = Testbed::build(config).expect("a test bed; these tests run as root");
    Bed { testbed, _turn: None }
}

/// Opens every port of a test bed.
pub fn open(
    testbed: &Bed,
    port_type: PortType,
    largest: FrameSize,
) -> Result<Vec<OpenPort>, TesterError> {
    open_with_room(testbed, port_type, largest, None)
}

/// As [`open`], with room for so many received frames.
pub fn open_with_room(
    testbed: &Bed,
    port_type: PortType,
    largest: FrameSize,
    receive_frames: Option<usize>,
) -> Result<Vec<OpenPort>, TesterError> {
    open_each(requests(testbed, port_type, largest, 1), testbed, receive_frames)
}

/// As [`open`], with so many queues.
pub fn open_queues(
    testbed: &Bed,
    port_type: PortType,
    largest: FrameSize,
    queues: u16,
) -> Result<Vec<OpenPort>, TesterError> {
    open_each(requests(testbed, port_type, largest, queues), testbed, None)
}

fn requests(
    testbed: &Bed,
    port_type: PortType,
    largest: FrameSize,
    queues: u16,
) -> Vec<PortRequest> {
    let requests = testbed.ports().iter().map(|port| PortRequest {
        id: PortId(port.port as u16),
        interface: port.interface.clone(),
        nominal_rate: LineRate::from_gbps(10),
        largest_frame: largest,
        port_type,
        queues,
    });
    requests.collect()
}

fn open_each(
    requests: Vec<PortRequest>,
    testbed: &Bed,
    receive_frames: Option<usize>,
) -> Result<Vec<OpenPort>, TesterError> {
    let open = |request| open_port_with_room(request, receive_frames);
    testbed.tester().run(|| requests.iter().map(open).collect()).expect("enter the namespace")
}

/// A description for a port that a test opens itself.
pub fn description(interface: &Interface) -> PortDescription {
    PortDescription {
        id: PortId(0),
        name: interface.name().into(),
        port_type: String::new(),
        reason: String::new(),
        capabilities: Default::default(),
        line_rate: LineRate::from_gbps(10),
        line_rate_is_physical: false,
        max_frame_size_bytes: 1518,
        mac: String::new(),
        driver: String::new(),
    }
}

/// A tester on every port of a test bed.
pub fn tester(testbed: &Bed, port_type: PortType, largest: FrameSize) -> LiveTester {
    let ports = open(testbed, port_type, largest).expect("open the ports");
    LiveTester::new(ports, LiveOptions::default()).expect("a tester")
}

/// From port 0 to port 1 and back.
pub fn paths(testbed: &Bed) -> Vec<Path> {
    [(0, 1), (1, 0)].map(|(from, to)| path(testbed, from, to)).to_vec()
}

fn path(testbed: &Bed, from: usize, to: usize) -> Path {
    let host = |port: usize| -> IpAddr { testbed.ports()[port].addresses.ipv4.host.into() };
    Path::udp(
        PortId(from as u16),
        PortId(to as u16),
        (MacAddr(testbed.ports()[from].mac), host(from)),
        (MacAddr(testbed.next_hop_mac(from, to)), host(to)),
    )
}
