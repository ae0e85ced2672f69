//! Hosts that listen to groups: which groups there are, and what hosts of each version say of them.

use crate::Attachment;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use traffic::template::FrameTemplate;
use traffic::test_frame;
use wire::ethernet::{self, MacAddr};
use wire::igmp::{self, RecordKind};
use wire::{gre, ipv4, ipv6, mld, vxlan};

/// What hosts speak.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// RFC 1112: hosts cannot say that they leave.
    Igmpv1,
    /// RFC 2236.
    Igmpv2,
    /// RFC 3376.
    #[default]
    Igmpv3,
    /// RFC 2710, for IPv6.
    Mldv1,
    /// RFC 3810.
    Mldv2,
}

/// How frames enter the device or leave it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tunnel {
    /// As they are.
    #[default]
    None,
    /// As packets within GRE over IPv4 (RFC 2784).
    Gre,
    /// As frames within VXLAN over IPv4 (RFC 7348).
    Vxlan,
}

/// The first of the groups: of organization-local scope (RFC 2365 section 6.2), different from one
/// another in the 23 bits that their hardware addresses keep.
const FIRST_IPV4: Ipv4Addr = Ipv4Addr::new(239, 192, 0, 1);
/// Transient, of organization-local scope (RFC 4291 section 2.7).
const FIRST_IPV6: Ipv6Addr = Ipv6Addr::new(0xff18, 0, 0, 0, 0, 0, 1, 1);
/// Groups in a report of version 3 that fills an MTU of 1500: (1500 - 24 - 8) / 8.
const IGMPV3_RECORDS: u64 = 183;
/// Of MLD version 2: (1500 - 40 - 8 - 8) / 20.
const MLDV2_RECORDS: u64 = 72;
/// Network identifier of the VXLAN tunnel at port 0; one more at each further port.
const FIRST_VXLAN: u32 = 100;

impl Version {
    /// Whether groups are of IPv6.
    pub const fn is_ipv6(self) -> bool {
        matches!(self, Version::Mldv1 | Version::Mldv2)
    }
    /// Whether hosts say that they leave.
    pub const fn has_leave(self) -> bool {
        !matches!(self, Version::Igmpv1)
    }
    /// A group as people read it.
    pub(super) fn group(self, number: u64) -> String {
        match self.is_ipv6() {
            true => group_v6(number).to_string(),
            false => group_v4(number).to_string(),
        }
    }

    /// What a host at a port says to join the groups `from` up to before `to`, as frames.
    pub(super) fn reports(self, host: &Attachment, from: u64, to: u64) -> Vec<Vec<u8>> {
        self.say(host, from, to, true)
    }
    /// And to leave them; nothing where hosts cannot.
    pub(super) fn leaves(self, host: &Attachment, from: u64, to: u64) -> Vec<Vec<u8>> {
        self.say(host, from, to, false)
    }

    fn say(self, host: &Attachment, from: u64, to: u64, joins: bool) -> Vec<Vec<u8>> {
        let v4 = (host.mac, host.host_ipv4);
        let v6 = (host.mac, ipv6::link_local(host.mac));
        let kind = if joins { RecordKind::TO_EXCLUDE } else { RecordKind::TO_INCLUDE };
        match self {
            Version::Igmpv1 if !joins => vec![],
            Version::Igmpv3 => packets(from, to, IGMPV3_RECORDS, |from, to| {
                let record = |n| igmp::Record { kind, group: group_v4(n), sources: vec![] };
                igmp::Repr::V3Report { records: (from..to).map(record).collect() }.frame(v4)
            }),
            Version::Mldv2 => packets(from, to, MLDV2_RECORDS, |from, to| {
                let record = |n| mld::Record { kind, group: group_v6(n), sources: vec![] };
                mld::Repr::V2Report { records: (from..to).map(record).collect() }.frame(v6)
            }),
            _ => packets(from, to, 1, |n, _| match (self, joins) {
                (Version::Igmpv1, _) => igmp::Repr::V1Report { group: group_v4(n) }.frame(v4),
                (Version::Mldv1, true) => mld::Repr::Report { group: group_v6(n) }.frame(v6),
                (Version::Mldv1, false) => mld::Repr::Done { group: group_v6(n) }.frame(v6),
                (_, true) => igmp::Repr::V2Report { group: group_v4(n) }.frame(v4),
                (_, false) => igmp::Repr::Leave { group: group_v4(n) }.frame(v4),
            }),
        }
    }

    /// A frame from a host to a group.
    pub(crate) fn template(self, host: &Attachment, group: u64) -> FrameTemplate {
        match self.is_ipv6() {
            true => {
                let group = group_v6(group);
                let to = (MacAddr::of_ipv6_group(group), group);
                test_frame::template_ipv6((host.mac, host.host_ipv6), to)
            }
            false => {
                let group = group_v4(group);
                let to = (MacAddr::of_ipv4_group(group), group);
                test_frame::template((host.mac, host.host_ipv4), to)
            }
        }
    }
}

impl Tunnel {
    /// By how many bytes it makes a frame longer.
    pub(super) const fn overhead_bytes(self) -> u32 {
        match self {
            Tunnel::None => 0,
            Tunnel::Gre => (ipv4::HEADER_LEN + gre::HEADER_LEN) as u32,
            Tunnel::Vxlan => vxlan::OVERHEAD_IPV4 as u32,
        }
    }

    /// A frame that a host sends into the tunnel to the device's port.
    pub(super) fn wrap(self, host: &Attachment, frame: Vec<u8>) -> Vec<u8> {
        let ends = ((host.mac, host.host_ipv4), (host.device_mac, host.device_ipv4));
        match self {
            Tunnel::None => frame,
            Tunnel::Gre => gre::frame_over_ipv4(ends.0, ends.1, &frame).unwrap_or(frame),
            Tunnel::Vxlan => {
                let network = FIRST_VXLAN + u32::from(host.port.0);
                vxlan::frame_over_ipv4(ends.0, ends.1, network, &frame)
            }
        }
    }
}

/// Group number `number` of IPv4: 239.192.0.1 and those after it.
pub fn group_v4(number: u64) -> Ipv4Addr {
    Ipv4Addr::from_bits(FIRST_IPV4.to_bits() + number as u32)
}

fn group_v6(number: u64) -> Ipv6Addr {
    Ipv6Addr::from_bits(FIRST_IPV6.to_bits() + u128::from(number))
}

/// Frames of so many groups each.
fn packets(from: u64, to: u64, most: u64, frame: impl Fn(u64, u64) -> Vec<u8>) -> Vec<Vec<u8>> {
    let starts = (from..to).step_by(most as usize);
    starts.map(|start| frame(start, (start + most).min(to))).map(padded).collect()
}

fn padded(mut frame: Vec<u8>) -> Vec<u8> {
    frame.resize(frame.len().max(ethernet::MIN_LEN_WITHOUT_FCS), 0);
    frame
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Version::Igmpv1 => "IGMPv1",
            Version::Igmpv2 => "IGMPv2",
            Version::Igmpv3 => "IGMPv3",
            Version::Mldv1 => "MLDv1",
            Version::Mldv2 => "MLDv2",
        })
    }
}

impl fmt::Display for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Tunnel::None => "none",
            Tunnel::Gre => "GRE over IPv4",
            Tunnel::Vxlan => "VXLAN over IPv4",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// 24 bytes of IP with router alert, 8 of the report, 183 records: 1,496 of an MTU of 1500.
    #[test]
    fn reports_of_the_newest_versions_fill_the_mtu() {
        assert_eq!(24 + 8 + 8 * IGMPV3_RECORDS, 1_496);
        assert_eq!(40 + 8 + 8 + 20 * MLDV2_RECORDS, 1_496);
    }

    /// RFC 1112 section 6.4: groups alike in their low 23 bits could not be told apart by a switch.
    #[test]
    fn no_two_groups_share_a_hardware_address() {
        let v4: BTreeSet<_> = (0..200_000).map(|n| MacAddr::of_ipv4_group(group_v4(n))).collect();
        let v6: BTreeSet<_> = (0..200_000).map(|n| MacAddr::of_ipv6_group(group_v6(n))).collect();
        assert_eq!((v4.len(), v6.len()), (200_000, 200_000));
    }
}
