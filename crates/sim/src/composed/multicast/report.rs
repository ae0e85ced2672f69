//! What hosts say of groups: IGMP and MLD, of every version, as changes of the table.

use super::table::Change;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::ethernet::{EtherType, HEADER_LEN};
use wire::igmp::{self, RecordKind};
use wire::ipv4::Protocol;
use wire::ipv6::{self, Extension};
use wire::{icmpv6, ipv4, mld, vlan};

/// An IP frame, as far as groups are concerned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum GroupFrame {
    /// Data for a group.
    Data { group: u128, source: u128, hops: u8 },
    /// A host's message: of which version, and what it says of which groups.
    Said { version: Version, changes: Vec<(u128, Change)> },
    /// A query, or a message that nobody may believe.
    Ignored,
}

/// Of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Version {
    Igmp(u8),
    Mld(u8),
}

/// Reads a frame that is sent to a group; `None` where it is not the business of multicasting: not IP,
/// or for the local network only (224.0.0.0/24, RFC 5771 section 4; scope 2 or less, RFC 4291
/// section 2.7).
///
/// VLAN tags are passed over: this is a switch that knows of no VLANs.
pub(super) fn read(ether_type: EtherType, frame: &[u8]) -> Option<GroupFrame> {
    let (mut ether_type, mut packet) = (ether_type, frame.get(HEADER_LEN..)?);
    while matches!(ether_type, EtherType::VLAN | EtherType::SERVICE_VLAN) {
        let (tag, rest) = vlan::Repr::parse(packet).ok()?;
        (ether_type, packet) = (tag.ether_type, rest);
    }
    match ether_type {
        EtherType::IPV4 => read_ipv4(packet),
        EtherType::IPV6 => read_ipv6(packet),
        _ => None,
    }
}

fn read_ipv4(packet: &[u8]) -> Option<GroupFrame> {
    let (header, payload) = ipv4::Repr::parse(packet).ok()?;
    if !header.dst.is_multicast() {
        return None;
    }
    if header.protocol == Protocol::IGMP {
        let message = igmp::Repr::parse(payload);
        return Some(message.map_or(GroupFrame::Ignored, |(message, _)| of_igmp(message)));
    }
    let is_local = header.dst.octets()[..3] == [224, 0, 0];
    (!is_local).then(|| GroupFrame::Data {
        group: number(header.dst),
        source: number(header.src),
        hops: header.ttl,
    })
}

fn read_ipv6(packet: &[u8]) -> Option<GroupFrame> {
    let (header, mut payload) = ipv6::Repr::parse(packet).ok()?;
    if !header.dst.is_multicast() {
        return None;
    }
    let mut protocol = header.next_header;
    if protocol == Protocol::HOP_BY_HOP {
        let (_, next, rest) = Extension::parse(protocol, payload).ok()?;
        (protocol, payload) = (next, rest);
    }
    if protocol == Protocol::ICMPV6 && mld::is_mld(payload) {
        // RFC 2710 section 3, RFC 3810 section 5.2.13: anything else may come from elsewhere.
        let is_local = header.src.is_unicast_link_local() && header.hop_limit == 1;
        let is_good = icmpv6::verify(header.src, header.dst, payload).is_ok();
        let message = (is_local && is_good).then(|| mld::Repr::parse(payload).ok()).flatten();
        return Some(message.map_or(GroupFrame::Ignored, |(message, _)| of_mld(message)));
    }
    let scope = header.dst.octets()[1] & 0xf;
    (scope > 2).then(|| GroupFrame::Data {
        group: header.dst.to_bits(),
        source: header.src.to_bits(),
        hops: header.hop_limit,
    })
}

fn of_igmp(message: igmp::Repr) -> GroupFrame {
    let said = |version, group: Ipv4Addr, change| GroupFrame::Said {
        version: Version::Igmp(version),
        changes: vec![(number(group), change)],
    };
    match message {
        igmp::Repr::V1Report { group } => said(1, group, Change::Report { is_first_version: true }),
        igmp::Repr::V2Report { group } => {
            said(2, group, Change::Report { is_first_version: false })
        }
        igmp::Repr::Leave { group } => said(2, group, Change::Leave),
        igmp::Repr::V3Report { records } => {
            let sources = |list: Vec<Ipv4Addr>| list.into_iter().map(number).collect();
            let changes = records.into_iter().filter_map(|record| {
                Some((number(record.group), change_of(record.kind, sources(record.sources))?))
            });
            GroupFrame::Said { version: Version::Igmp(3), changes: changes.collect() }
        }
        igmp::Repr::Query { .. } | igmp::Repr::V3Query(_) => GroupFrame::Ignored,
    }
}

fn of_mld(message: mld::Repr) -> GroupFrame {
    let said = |group: Ipv6Addr, change| GroupFrame::Said {
        version: Version::Mld(1),
        changes: vec![(group.to_bits(), change)],
    };
    match message {
        mld::Repr::Report { group } => said(group, Change::Report { is_first_version: false }),
        mld::Repr::Done { group } => said(group, Change::Leave),
        mld::Repr::V2Report { records } => {
            let sources = |list: Vec<Ipv6Addr>| list.into_iter().map(Ipv6Addr::to_bits).collect();
            let changes = records.into_iter().filter_map(|record| {
                Some((record.group.to_bits(), change_of(record.kind, sources(record.sources))?))
            });
            GroupFrame::Said { version: Version::Mld(2), changes: changes.collect() }
        }
        mld::Repr::Query { .. } | mld::Repr::V2Query(_) => GroupFrame::Ignored,
    }
}

/// RFC 3376 section 4.2.12; records of other kinds are passed over.
fn change_of(kind: RecordKind, sources: Vec<u128>) -> Option<Change> {
    Some(match kind {
        RecordKind::IS_INCLUDE | RecordKind::TO_INCLUDE => {
            Change::Filter { exclude: false, sources }
        }
        RecordKind::IS_EXCLUDE | RecordKind::TO_EXCLUDE => {
            Change::Filter { exclude: true, sources }
        }
        RecordKind::ALLOW_SOURCES => Change::Allow(sources),
        RecordKind::BLOCK_SOURCES => Change::Block(sources),
        _ => return None,
    })
}

fn number(address: Ipv4Addr) -> u128 {
    address.to_ipv6_mapped().to_bits()
}
