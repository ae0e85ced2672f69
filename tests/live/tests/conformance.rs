//! The one body of checks that every tester must pass, on every port type through every device,
//! each valid trial compared with what the kernel counted; and on the simulator.

use live::{Audited, Bed, IpVersion, JUMBO, can_run};
use ports::PortType;
use sim::{QueueLimit, SimPort, SimTester, StoreAndForward};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use testbed::DeviceKind;
use trial::PortId;
use trial::conformance::{self, Capacity, Path};
use units::{FrameRate, FrameSize, LineRate};
use wire::ethernet::MacAddr;

/// What the virtual links are taken for.
const LINE: LineRate = LineRate::from_gbps(10);
/// Carried without loss by any kernel, on a processor shared with others.
const RATE: FrameRate = FrameRate::from_fps(20_000);
/// The largest frame of the xdp port.
const XDP_LARGEST: FrameSize = FrameSize::from_bytes(3_404);

fn conforms(device: DeviceKind, port_type: PortType, versions: &[IpVersion], largest: FrameSize) {
    if !can_run(&format!("conformance of {port_type} ports through {device:?}")) {
        return;
    }
    let bed = Bed::of(device, largest);
    let mut tester = Audited::new(bed.live(port_type, largest, LINE), &bed);
    for version in versions {
        let before = tester.audited();
        let capacity = Capacity { rate: RATE, largest };
        conformance::check(&mut tester, &bed.paths(*version), capacity);
        assert!(tester.audited() >= before + 8, "every check had its audit");
    }
}

#[test]
fn xdp_back_to_back() {
    conforms(DeviceKind::Loopback, PortType::Xdp, &[IpVersion::V4], XDP_LARGEST);
}

#[test]
fn xdp_through_a_router() {
    let versions = [IpVersion::V4, IpVersion::V6];
    conforms(DeviceKind::LinuxRouter, PortType::Xdp, &versions, FrameSize::MAX_ETHERNET);
}

#[test]
fn xdp_through_a_bridge() {
    conforms(DeviceKind::LinuxBridge, PortType::Xdp, &[IpVersion::V4], FrameSize::MAX_ETHERNET);
}

#[test]
fn af_xdp_back_to_back() {
    conforms(DeviceKind::Loopback, PortType::AfXdp, &[IpVersion::V4], JUMBO);
}

#[test]
fn af_xdp_through_a_router() {
    let versions = [IpVersion::V4, IpVersion::V6];
    conforms(DeviceKind::LinuxRouter, PortType::AfXdp, &versions, FrameSize::MAX_ETHERNET);
}

#[test]
fn af_xdp_through_a_bridge() {
    conforms(DeviceKind::LinuxBridge, PortType::AfXdp, &[IpVersion::V4], FrameSize::MAX_ETHERNET);
}

#[test]
fn af_packet_back_to_back() {
    conforms(DeviceKind::Loopback, PortType::AfPacket, &[IpVersion::V4], JUMBO);
}

#[test]
fn af_packet_through_a_router() {
    let versions = [IpVersion::V4, IpVersion::V6];
    conforms(DeviceKind::LinuxRouter, PortType::AfPacket, &versions, FrameSize::MAX_ETHERNET);
}

#[test]
fn af_packet_through_a_bridge() {
    let largest = FrameSize::MAX_ETHERNET;
    conforms(DeviceKind::LinuxBridge, PortType::AfPacket, &[IpVersion::V4], largest);
}

/// The same body, in virtual time: through a device of just the capacity that is asked for, on
/// links that take their time and on links that do not.
#[test]
fn the_simulator() {
    let capacity = Capacity { rate: RATE, largest: JUMBO };
    let hosts: [[IpAddr; 2]; 2] = [
        [Ipv4Addr::new(198, 18, 1, 2).into(), Ipv4Addr::new(198, 19, 1, 2).into()],
        [
            Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2).into(),
            Ipv6Addr::new(0x2001, 2, 0, 0x8000, 0, 0, 0, 2).into(),
        ],
    ];
    for port in [SimPort::physical(LINE), SimPort::nominal(LINE)] {
        for hosts in hosts {
            let path = |from: u16, to: u16| Path {
                from: PortId(from),
                to: PortId(to),
                source: (MacAddr([2, 0, 0, 0, from as u8, 2]), hosts[usize::from(from)]),
                destination: (MacAddr([2, 0, 0, 0, to as u8, 2]), hosts[usize::from(to)]),
            };
            let device = StoreAndForward::with_capacity(RATE, QueueLimit::Frames(4));
            let mut tester = SimTester::new(&[port; 2], device);
            conformance::check(&mut tester, &[path(0, 1), path(1, 0)], capacity);
        }
    }
}
