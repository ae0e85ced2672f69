//! The state and the counters of an interface, of rtnetlink's answer.

use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkInfo, LinkMessage, Stats64};
use serde::{Deserialize, Serialize};

/// What an interface is like at a moment.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct InterfaceState {
    /// Administratively up.
    pub up: bool,
    /// Has a carrier.
    pub carrier: bool,
    /// How often it has lost or gained its carrier.
    pub carrier_changes: u64,
    /// Largest packet in bytes: a frame may be 18 bytes larger, 4 more for each VLAN tag.
    pub mtu_bytes: u32,
    /// Hardware address.
    pub mac: [u8; 6],
    /// Number of the other end of a virtual link, in that end's namespace.
    pub peer: Option<u32>,
    /// The same, if it is in the same namespace.
    pub peer_here: Option<u32>,
    /// Kind of virtual interface, such as `veth`.
    pub kind: Option<String>,
    /// Its own counters.
    pub counters: InterfaceCounters,
}

/// An interface's own counters (`ip -s link`, IFLA_STATS64). Bytes are without FCS.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct InterfaceCounters {
    /// Frames received.
    pub rx_frames: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Frames dropped on reception.
    pub rx_dropped: u64,
    /// Frames that the driver counts as missed for want of room.
    #[serde(default)]
    pub rx_missed: u64,
    /// Frames received with an error.
    pub rx_errors: u64,
    /// Those among them that arrived damaged (bad FCS, wrong length or framing).
    #[serde(default)]
    pub rx_damaged: u64,
    /// Frames sent.
    pub tx_frames: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Frames dropped instead of being sent.
    pub tx_dropped: u64,
    /// Frames whose sending failed.
    pub tx_errors: u64,
}

impl InterfaceCounters {
    /// What was counted since an earlier reading.
    pub fn since(&self, earlier: &Self) -> Self {
        InterfaceCounters {
            rx_frames: self.rx_frames.saturating_sub(earlier.rx_frames),
            rx_bytes: self.rx_bytes.saturating_sub(earlier.rx_bytes),
            rx_dropped: self.rx_dropped.saturating_sub(earlier.rx_dropped),
            rx_missed: self.rx_missed.saturating_sub(earlier.rx_missed),
            rx_errors: self.rx_errors.saturating_sub(earlier.rx_errors),
            rx_damaged: self.rx_damaged.saturating_sub(earlier.rx_damaged),
            tx_frames: self.tx_frames.saturating_sub(earlier.tx_frames),
            tx_bytes: self.tx_bytes.saturating_sub(earlier.tx_bytes),
            tx_dropped: self.tx_dropped.saturating_sub(earlier.tx_dropped),
            tx_errors: self.tx_errors.saturating_sub(earlier.tx_errors),
        }
    }

    /// Frames received but dropped for want of room.
    pub fn rx_without_room(&self) -> u64 {
        self.rx_dropped + self.rx_missed
    }

    /// Frames not received by a fault of the interface's own. A frame that arrived damaged is not among
    /// them: whoever sent it has lost it.
    pub fn rx_own_errors(&self) -> u64 {
        self.rx_errors.saturating_sub(self.rx_damaged)
    }
}

impl From<&Stats64> for InterfaceCounters {
    fn from(stats: &Stats64) -> Self {
        InterfaceCounters {
            rx_frames: stats.rx_packets,
            rx_bytes: stats.rx_bytes,
            rx_dropped: stats.rx_dropped,
            rx_missed: stats.rx_missed_errors,
            rx_errors: stats.rx_errors,
            rx_damaged: stats.rx_crc_errors + stats.rx_length_errors + stats.rx_frame_errors,
            tx_frames: stats.tx_packets,
            tx_bytes: stats.tx_bytes,
            tx_dropped: stats.tx_dropped,
            tx_errors: stats.tx_errors,
        }
    }
}

impl InterfaceState {
    /// Of the kernel's answer.
    pub fn of(link: &LinkMessage) -> Self {
        let mut state = InterfaceState {
            up: link.header.flags.contains(LinkFlags::Up),
            carrier: link.header.flags.contains(LinkFlags::Running),
            ..Default::default()
        };
        let mut peer_is_here = true;
        for attribute in &link.attributes {
            match attribute {
                LinkAttribute::Mtu(mtu) => state.mtu_bytes = *mtu,
                LinkAttribute::Address(mac) => {
                    state.mac = mac.as_slice().try_into().unwrap_or_default();
                }
                LinkAttribute::CarrierChanges(changes) => state.carrier_changes = (*changes).into(),
                LinkAttribute::Link(index) => state.peer = Some(*index),
                LinkAttribute::LinkNetNsId(_) => peer_is_here = false,
                LinkAttribute::Stats64(stats) => state.counters = stats.into(),
                LinkAttribute::LinkInfo(infos) => state.kind = infos.iter().find_map(kind_of),
                _ => {}
            }
        }
        state.peer_here = state.peer.filter(|_| peer_is_here);
        state
    }
}

/// The kind of virtual interface, where this says it.
pub(crate) fn kind_of(info: &LinkInfo) -> Option<String> {
    match info {
        LinkInfo::Kind(kind) => Some(kind.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_frames_are_the_senders_loss_and_overruns_the_testers() {
        let mut stats = Stats64::default();
        (stats.rx_errors, stats.rx_crc_errors, stats.rx_length_errors) = (10, 4, 1);
        (stats.rx_frame_errors, stats.rx_over_errors) = (2, 3);
        assert_eq!(InterfaceCounters::from(&stats).rx_own_errors(), 3);
    }
}
