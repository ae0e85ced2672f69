//! The body of checks that every tester must pass, on real ports: back to back, and through
//! devices of the kernel.

mod bed;

use ports::PortType;
use testbed::DeviceKind;
use trial::conformance::{self, Capacity};
use units::{FrameRate, FrameSize};

const JUMBO: FrameSize = FrameSize::from_bytes(9018);

fn conforms(device: DeviceKind, port_type: PortType, largest: FrameSize) {
    let testbed = bed::build(device, largest.bytes() - 18);
    let mut tester = bed::tester(&testbed, port_type, largest);
    let capacity = Capacity { rate: FrameRate::from_fps(20_000), largest };
    conformance::check(&mut tester, &bed::paths(&testbed), capacity);
}

#[test]
fn af_packet_back_to_back() {
    conforms(DeviceKind::Loopback, PortType::AfPacket, FrameSize::MAX_ETHERNET);
}

#[test]
fn af_packet_back_to_back_with_jumbo_frames() {
    conforms(DeviceKind::Loopback, PortType::AfPacket, JUMBO);
}

#[test]
fn af_packet_through_a_router() {
    conforms(DeviceKind::LinuxRouter, PortType::AfPacket, FrameSize::MAX_ETHERNET);
}

#[test]
fn af_packet_through_a_bridge() {
    conforms(DeviceKind::LinuxBridge, PortType::AfPacket, FrameSize::MAX_ETHERNET);
}

#[test]
fn af_xdp_back_to_back() {
    conforms(DeviceKind::Loopback, PortType::AfXdp, FrameSize::MAX_ETHERNET);
}

#[test]
fn af_xdp_back_to_back_with_jumbo_frames() {
    conforms(DeviceKind::Loopback, PortType::AfXdp, JUMBO);
}

#[test]
fn af_xdp_through_a_router() {
    conforms(DeviceKind::LinuxRouter, PortType::AfXdp, FrameSize::MAX_ETHERNET);
}

#[test]
fn af_xdp_through_a_bridge() {
    conforms(DeviceKind::LinuxBridge, PortType::AfXdp, FrameSize::MAX_ETHERNET);
}

#[test]
fn xdp_back_to_back() {
    conforms(DeviceKind::Loopback, PortType::Xdp, FrameSize::MAX_ETHERNET);
}

#[test]
fn xdp_through_a_router() {
    conforms(DeviceKind::LinuxRouter, PortType::Xdp, FrameSize::MAX_ETHERNET);
}

#[test]
fn xdp_through_a_bridge() {
    conforms(DeviceKind::LinuxBridge, PortType::Xdp, FrameSize::MAX_ETHERNET);
}
