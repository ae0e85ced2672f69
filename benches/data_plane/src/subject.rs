//! What is measured: other people's tools, netanvil's ports, and its loop that builds frames.

use crate::bed::Sink;
use ports::PortType;
use serde::Serialize;
use std::fmt;

/// Frame sizes that are measured, FCS included.
pub const SIZES_BYTES: [u32; 2] = [64, 1518];

/// Something measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// netsniff-ng's generator.
    Trafgen,
    /// xdp-tools' generator.
    XdpTrafficgen,
    /// DPDK's testpmd over net_af_packet.
    TestpmdAfPacket,
    /// DPDK's testpmd over net_af_xdp.
    TestpmdAfXdp,
    /// netanvil's `af_packet` port.
    AfPacket,
    /// netanvil's `af_xdp` port.
    AfXdp,
    /// netanvil's `xdp` port.
    Xdp,
    /// netanvil's loop that builds frames, without a port.
    FrameBuilding,
}

impl Subject {
    /// All generators, other tools first.
    pub const GENERATORS: [Subject; 7] = [
        Subject::Trafgen,
        Subject::XdpTrafficgen,
        Subject::TestpmdAfPacket,
        Subject::TestpmdAfXdp,
        Subject::AfPacket,
        Subject::AfXdp,
        Subject::Xdp,
    ];

    /// The port type, if it is netanvil's.
    pub fn port_type(self) -> Option<PortType> {
        match self {
            Subject::AfPacket => Some(PortType::AF_PACKET),
            Subject::AfXdp => Some(PortType::AF_XDP),
            Subject::Xdp => Some(PortType::XDP),
            _ => None,
        }
    }

    /// Whether it also receives and counts.
    pub fn receives(self) -> bool {
        !matches!(self, Subject::Trafgen | Subject::XdpTrafficgen | Subject::FrameBuilding)
    }

    /// The size of the frames it really sends when frames of `size_bytes` are asked for.
    pub fn sent_size_bytes(self, size_bytes: u32) -> Option<u32> {
        match self {
            // Version 1.3 sends UDP over IPv6 without payload, and nothing else.
            Subject::XdpTrafficgen => (size_bytes == 64).then_some(66),
            _ => Some(size_bytes),
        }
    }

    /// Far ends that it is measured against. Frames sent by XDP reach a veth only if its far end
    /// has a program.
    pub fn sinks(self) -> &'static [Sink] {
        match self {
            Subject::XdpTrafficgen | Subject::Xdp => &[Sink::Program],
            _ => &[Sink::Stack, Sink::Program],
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Subject::Trafgen => "trafgen",
            Subject::XdpTrafficgen => "xdp-trafficgen",
            Subject::TestpmdAfPacket => "testpmd net_af_packet",
            Subject::TestpmdAfXdp => "testpmd net_af_xdp",
            Subject::AfPacket => "netanvil af_packet",
            Subject::AfXdp => "netanvil af_xdp",
            Subject::Xdp => "netanvil xdp",
            Subject::FrameBuilding => "netanvil frame building",
        })
    }
}
