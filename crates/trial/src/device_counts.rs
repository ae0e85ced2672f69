//! What the device itself counted over a trial, beside what the tester counted; and how a device is
//! configured between trials.

use crate::PortId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv4Addr;

/// What a device's counter counts, so that it can be laid beside the tester's count. Names in
/// brackets are those of the MIBs (RFC 2863, RFC 4293, RFC 3635).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Frames received without error (ifInUcastPkts and its like, added up).
    FramesIn,
    /// Frames sent (ifOutUcastPkts and its like, added up).
    FramesOut,
    /// Bytes received, with or without FCS (ifInOctets).
    OctetsIn,
    /// Bytes sent, with or without FCS (ifOutOctets).
    OctetsOut,
    /// Frames with a bad FCS (dot3StatsFCSErrors).
    CrcErrors,
    /// Frames that are no whole number of bytes (dot3StatsAlignmentErrors).
    AlignmentErrors,
    /// Frames below 64 bytes.
    Runts,
    /// Frames above the largest legal size (dot3StatsFrameTooLongs).
    Giants,
    /// Frames with any error (ifInErrors).
    ErrorsIn,
    /// Frames lost for want of room before they were forwarded (ifInDiscards).
    DiscardsIn,
    /// Frames lost for want of room at the output (ifOutDiscards).
    DiscardsOut,
    /// Packets forwarded (ipForwDatagrams).
    Forwarded,
    /// Routes in its table that it was told of: how many there are, not how many more.
    Routes,
    /// Something else.
    Other,
}

impl Counted {
    /// Whether it counts one kind of broken frames.
    pub const fn is_error(self) -> bool {
        matches!(
            self,
            Counted::CrcErrors
                | Counted::AlignmentErrors
                | Counted::Runts
                | Counted::Giants
                | Counted::ErrorsIn
        )
    }
}

/// One counter of the device over one trial, from before its prelude to the end of its settling.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DeviceCount {
    /// By which way it was read: `device` (the simulator's), `SNMP`, `netlink`.
    pub source: String,
    /// The tester's port to which the device's port is attached; `None` for the whole device.
    pub port: Option<PortId>,
    /// What the device calls it.
    pub name: String,
    /// What it counts.
    pub counted: Counted,
    /// How many.
    pub count: u64,
}

/// What a device counts was counted between two readings; counters that appear in one reading
/// only are left out.
pub fn counted_between(before: &[DeviceCount], after: &[DeviceCount]) -> Vec<DeviceCount> {
    let same = |a: &DeviceCount, b: &DeviceCount| {
        (a.source == b.source) && (a.port == b.port) && (a.name == b.name)
    };
    let since = |now: &DeviceCount| {
        let then = before.iter().find(|then| same(then, now))?;
        let count = match now.counted {
            Counted::Routes => now.count,
            _ => now.count.wrapping_sub(then.count),
        };
        Some(DeviceCount { count, ..now.clone() })
    };
    after.iter().filter_map(since).collect()
}

/// How a device is configured.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct DeviceSetup {
    /// Its list of packet filters, in order; the first that matches decides, and what none
    /// matches is not forwarded. Empty for no filtering at all.
    pub filters: Vec<PacketFilter>,
}

/// A condition on IPv4 packets and what is done with those that meet it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PacketFilter {
    /// Forwarded, or dropped.
    pub permit: bool,
    /// Source.
    pub from: Ipv4Addr,
    /// Destination.
    pub to: Ipv4Addr,
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Counted::FramesIn => "frames in",
            Counted::FramesOut => "frames out",
            Counted::OctetsIn => "octets in",
            Counted::OctetsOut => "octets out",
            Counted::CrcErrors => "CRC errors",
            Counted::AlignmentErrors => "alignment errors",
            Counted::Runts => "runts",
            Counted::Giants => "giants",
            Counted::ErrorsIn => "errors in",
            Counted::DiscardsIn => "discards in",
            Counted::DiscardsOut => "discards out",
            Counted::Forwarded => "packets forwarded",
            Counted::Routes => "routes learned",
            Counted::Other => "other",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_matched_by_source_port_and_name() {
        let count = |source: &str, port, count| DeviceCount {
            source: source.into(),
            port: Some(PortId(port)),
            name: "in-frames".into(),
            counted: Counted::FramesIn,
            count,
        };
        let before = [count("SNMP", 0, 7), count("netlink", 0, 3), count("SNMP", 1, 1)];
        let after = [count("SNMP", 1, 11), count("netlink", 0, 5), count("netlink", 1, 9)];
        let since = counted_between(&before, &after);
        assert_eq!(since, [count("SNMP", 1, 10), count("netlink", 0, 2)]);
        let routes = |count| [DeviceCount { counted: Counted::Routes, count, ..since[0].clone() }];
        assert_eq!(counted_between(&routes(30), &routes(20)), routes(20), "as they stand");
    }
}
