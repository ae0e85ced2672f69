//! Frame size as RFC 1242 section 3.5 counts it: FCS included, preamble and gap not.

use crate::{Duration, LineRate};
use serde::{Deserialize, Serialize};
use std::fmt;

const FCS_BYTES: u32 = 4;

/// Octets of a frame from the first after the preamble through the end of the FCS
/// (RFC 1242 section 3.5). A "64-byte frame" is 60 bytes handed to an interface and 4 of FCS.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FrameSize(u32);

impl FrameSize {
    /// The smallest Ethernet frame.
    pub const MIN_ETHERNET: FrameSize = FrameSize(64);
    /// Preamble and start-of-frame delimiter, in bytes of the medium.
    pub const PREAMBLE_BYTES: u32 = 8;
    /// The minimum legal inter-frame gap of 96 bit times, in bytes of the medium.
    pub const GAP_BYTES: u32 = 12;
    /// The largest untagged Ethernet frame without jumbo support.
    pub const MAX_ETHERNET: FrameSize = FrameSize(1518);
    /// RFC 2544 section 9.1: the sizes to be used on Ethernet.
    pub const RFC2544_ETHERNET: [FrameSize; 7] = [
        FrameSize(64),
        FrameSize(128),
        FrameSize(256),
        FrameSize(512),
        FrameSize(1024),
        FrameSize(1280),
        FrameSize(1518),
    ];

    /// A size in bytes, FCS included.
    pub const fn from_bytes(bytes_with_fcs: u32) -> Self {
        FrameSize(bytes_with_fcs)
    }
    /// The size of a frame of which `bytes` are handed to an interface, which adds the FCS.
    pub const fn from_bytes_without_fcs(bytes: u32) -> Self {
        FrameSize(bytes + FCS_BYTES)
    }
    /// Bytes with FCS: the number that tests print.
    pub const fn bytes(self) -> u32 {
        self.0
    }
    /// Bytes handed to an interface, or stored in a capture: without FCS.
    pub const fn bytes_without_fcs(self) -> usize {
        self.0.saturating_sub(FCS_BYTES) as usize
    }
    /// Bytes of medium that the frame takes: with preamble and the minimum gap.
    pub const fn bytes_on_medium(self) -> u32 {
        self.0 + Self::PREAMBLE_BYTES + Self::GAP_BYTES
    }
    /// Time from one frame's start to the next at the minimum legal gap.
    pub fn time_at_line_rate(self, line: LineRate) -> Duration {
        line.time_of_bytes(self.bytes_on_medium().into())
    }
    /// Time from the frame's first bit to its last, without preamble and gap: the `S` of the
    /// latency conversions between FIFO, LIFO, FILO and LILO.
    pub fn serialization_time(self, line: LineRate) -> Duration {
        line.time_of_bytes(self.0.into())
    }
}

impl fmt::Display for FrameSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
impl fmt::Debug for FrameSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_64_byte_frame_is_60_bytes_to_the_interface_and_84_on_the_medium() {
        let size = FrameSize::MIN_ETHERNET;
        assert_eq!(size.bytes_without_fcs(), 60);
        assert_eq!(size.bytes_on_medium(), 84);
        assert_eq!(FrameSize::from_bytes_without_fcs(60), size);
    }

    #[test]
    fn frame_time_at_100g_is_exact() {
        let line = LineRate::from_gbps(100);
        assert_eq!(FrameSize::MIN_ETHERNET.time_at_line_rate(line), Duration::from_ps(6_720));
    }
}
