//! Of which packets a capture is composed: which way they went, to whom, by which protocols.

use super::{Census, Path, Share};
use crate::capture::{Direction, Frame};
use std::collections::BTreeMap;
use std::fmt;
use units::Duration;

/// To whom a frame is addressed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cast {
    /// To one.
    Unicast,
    /// To a group.
    Multicast,
    /// To all.
    Broadcast,
    /// Too short to have an address.
    Nobody,
}

/// Frames of one way and one kind of addressee.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Lane {
    /// Which way they went, where the capture tells.
    pub direction: Option<Direction>,
    /// To whom.
    pub cast: Cast,
}

/// The counts.
#[derive(Clone, Debug, Default)]
pub struct Composition {
    lanes: BTreeMap<Lane, Census>,
    all: Census,
}

impl Composition {
    /// Counts a frame of a capture.
    pub fn count(&mut self, frame: &Frame<'_>) {
        let lane = Lane { direction: frame.direction, cast: Cast::of(&frame.bytes) };
        // Rates are not told: frames of several captures have no time in common.
        let at = Duration::ZERO;
        self.lanes.entry(lane).or_default().count(at, &frame.bytes, frame.len_bytes);
        self.all.count(at, &frame.bytes, frame.len_bytes);
    }

    /// All frames.
    pub fn all(&self) -> &Census {
        &self.all
    }

    /// Frames by way, addressee and protocols; the most of each way and addressee first.
    pub fn kinds(&self) -> impl Iterator<Item = (Lane, Path, Share)> {
        self.lanes.iter().flat_map(|(lane, census)| {
            census.composition().into_iter().map(|(path, share)| (*lane, path, share))
        })
    }
}

impl Cast {
    /// Of a frame, by its first bytes.
    pub fn of(frame: &[u8]) -> Cast {
        match frame.first_chunk::<6>() {
            None => Cast::Nobody,
            Some([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]) => Cast::Broadcast,
            Some([first, ..]) if first & 1 == 1 => Cast::Multicast,
            Some(_) => Cast::Unicast,
        }
    }
}

impl fmt::Display for Cast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Cast::Unicast => "unicast",
            Cast::Multicast => "multicast",
            Cast::Broadcast => "broadcast",
            Cast::Nobody => "cut off",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;
    use std::net::Ipv4Addr;
    use wire::ethernet::MacAddr;
    use wire::{igmp, learning};

    fn frame(bytes: Vec<u8>, direction: Option<Direction>) -> Frame<'static> {
        let len_bytes = bytes.len();
        Frame { bytes: Cow::Owned(bytes), len_bytes, time_ns: None, direction }
    }

    #[test]
    fn frames_are_told_apart_by_way_addressee_and_protocols() {
        let host = (MacAddr([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(198, 18, 1, 2));
        let group = Ipv4Addr::new(239, 192, 0, 1);
        let join = igmp::Repr::v3_join(group).frame(host);
        let hello = learning::gratuitous_arp(host.0, host.1);
        let mut composition = Composition::default();
        composition.count(&frame(join.clone(), Some(Direction::Outbound)));
        composition.count(&frame(join.clone(), Some(Direction::Outbound)));
        composition.count(&frame(join, Some(Direction::Inbound)));
        composition.count(&frame(hello, Some(Direction::Outbound)));
        composition.count(&frame(vec![2; 5], None));
        let kinds: Vec<_> = composition
            .kinds()
            .map(|(lane, path, share)| (lane.direction, lane.cast, path.to_string(), share.frames))
            .collect();
        let (inbound, outbound) = (Some(Direction::Inbound), Some(Direction::Outbound));
        let igmp = || "IPv4 / IGMP".to_string();
        assert_eq!(
            kinds,
            [
                (None, Cast::Nobody, "unreadable".to_string(), 1),
                (inbound, Cast::Multicast, igmp(), 1),
                (outbound, Cast::Multicast, igmp(), 2),
                (outbound, Cast::Broadcast, "ARP".to_string(), 1),
            ]
        );
        assert_eq!(composition.all().total().frames, 5);
    }
}
