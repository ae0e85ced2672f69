//! The body of checks that every tester must pass, on real ports back to back.

mod bed;

use ports::PortType;
use trial::conformance::{self, Capacity};
use units::{FrameRate, FrameSize};

fn conforms(port_type: PortType, largest: FrameSize) {
    let testbed = bed::loopback(largest.bytes() - 18);
    let mut tester = bed::tester(&testbed, port_type, largest);
    let capacity = Capacity { rate: FrameRate::from_fps(20_000), largest };
    conformance::check(&mut tester, &bed::paths(&testbed), capacity);
}

#[test]
fn af_packet_conforms_back_to_back() {
    conforms(PortType::AfPacket, FrameSize::MAX_ETHERNET);
}

#[test]
fn af_packet_conforms_with_jumbo_frames() {
    conforms(PortType::AfPacket, FrameSize::from_bytes(9018));
}

#[test]
fn af_xdp_conforms_back_to_back() {
    conforms(PortType::AfXdp, FrameSize::MAX_ETHERNET);
}

#[test]
fn af_xdp_conforms_with_jumbo_frames() {
    conforms(PortType::AfXdp, FrameSize::from_bytes(9018));
}

#[test]
fn xdp_conforms_back_to_back() {
    conforms(PortType::Xdp, FrameSize::MAX_ETHERNET);
}
