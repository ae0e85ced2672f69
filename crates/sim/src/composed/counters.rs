//! What a device counts, exactly; and which of it a device shows.

use serde::{Deserialize, Serialize};
use std::fmt;
use trial::Counted;

/// A counter of a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counter {
    /// Frames received without error (ifInUcastPkts and ifInNUcastPkts of RFC 1213).
    InFrames,
    /// Their bytes, FCS included.
    InBytes,
    /// Frames sent.
    OutFrames,
    /// Their bytes, FCS included.
    OutBytes,
    /// Frames with a bad FCS (dot3StatsFCSErrors).
    CrcErrors,
    /// Frames that are no whole number of bytes (dot3StatsAlignmentErrors). No simulated link
    /// makes any: a device that counts some counts something else here.
    AlignmentErrors,
    /// Frames below 64 bytes.
    Runts,
    /// Frames above the largest legal size (dot3StatsFrameTooLongs).
    Giants,
    /// Frames lost for want of room before they were forwarded (ifInDiscards).
    InDiscards,
    /// Frames lost for want of room at the output (ifOutDiscards).
    OutDiscards,
    /// Packets with a bad header or checksum (ipInHdrErrors).
    HeaderErrors,
    /// Packets whose time to live or hops were used up.
    HopsExceeded,
    /// Packets to a network without a route (ipOutNoRoutes).
    NoRoutes,
    /// Packets to a host whose hardware address is not known.
    NoNeighbours,
    /// Packets that a filter did not permit.
    Filtered,
    /// Frames for others, or of a protocol that the device does not forward.
    NotForwarded,
    /// Frames lost by a misbehaviour.
    Misbehaved,
    /// Reports of multicast groups for which there was no room.
    GroupsRefused,
    /// Frames that left without a collision, after they had waited for a half-duplex link
    /// (dot3StatsDeferredTransmissions). This counter and the next four are those of its MAC.
    DeferredFrames,
    /// Frames that left after one collision (dot3StatsSingleCollisionFrames).
    SingleCollisionFrames,
    /// Frames that left after more (dot3StatsMultipleCollisionFrames).
    MultipleCollisionFrames,
    /// Collisions more than a slot time into a frame (dot3StatsLateCollisions).
    LateCollisions,
    /// Frames given up after 16 attempts (dot3StatsExcessiveCollisions).
    ExcessiveCollisions,
}

impl Counter {
    /// All of them.
    pub const ALL: [Counter; 23] = [
        Counter::InFrames,
        Counter::InBytes,
        Counter::OutFrames,
        Counter::OutBytes,
        Counter::CrcErrors,
        Counter::AlignmentErrors,
        Counter::Runts,
        Counter::Giants,
        Counter::InDiscards,
        Counter::OutDiscards,
        Counter::HeaderErrors,
        Counter::HopsExceeded,
        Counter::NoRoutes,
        Counter::NoNeighbours,
        Counter::Filtered,
        Counter::NotForwarded,
        Counter::Misbehaved,
        Counter::GroupsRefused,
        Counter::DeferredFrames,
        Counter::SingleCollisionFrames,
        Counter::MultipleCollisionFrames,
        Counter::LateCollisions,
        Counter::ExcessiveCollisions,
    ];
}

impl Counter {
    /// Whether each frame that it counts is lost there, within the device.
    pub const fn is_drop(self) -> bool {
        !matches!(
            self,
            Counter::InFrames
                | Counter::InBytes
                | Counter::OutFrames
                | Counter::OutBytes
                | Counter::GroupsRefused
        ) && !self.is_of_medium()
    }

    /// Whether the MAC of a half-duplex link counts it, and not the device behind it.
    pub(crate) const fn is_of_medium(self) -> bool {
        matches!(
            self,
            Counter::DeferredFrames
                | Counter::SingleCollisionFrames
                | Counter::MultipleCollisionFrames
                | Counter::LateCollisions
                | Counter::ExcessiveCollisions
        )
    }

    /// What it counts, in the tester's terms.
    pub const fn counted(self) -> Counted {
        match self {
            Counter::InFrames => Counted::FramesIn,
            Counter::InBytes => Counted::OctetsIn,
            Counter::OutFrames => Counted::FramesOut,
            Counter::OutBytes => Counted::OctetsOut,
            Counter::CrcErrors => Counted::CrcErrors,
            Counter::AlignmentErrors => Counted::AlignmentErrors,
            Counter::Runts => Counted::Runts,
            Counter::Giants => Counted::Giants,
            Counter::InDiscards => Counted::DiscardsIn,
            Counter::OutDiscards => Counted::DiscardsOut,
            _ => Counted::Other,
        }
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// All counts of one port.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters([u64; Counter::ALL.len()]);

impl Counters {
    #[inline]
    pub(crate) fn add(&mut self, counter: Counter, by: u64) {
        self.0[counter as usize] += by;
    }
    pub(crate) fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_its_place_and_its_name() {
        for (place, counter) in Counter::ALL.into_iter().enumerate() {
            assert_eq!(counter as usize, place);
        }
        assert_eq!(Counter::CrcErrors.to_string(), "crc-errors");
    }
}
