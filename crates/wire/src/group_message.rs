//! IGMP and MLD messages within frames: what hosts and queriers say of multicast groups, whatever the family.

use crate::ethernet::{self, EtherType, MacAddr};
use crate::ipv4::Protocol;
use crate::ipv6::{self, Extension, ExtensionView};
use crate::{icmpv6, igmp, ipv4, mld, vlan};
use std::net::IpAddr;

/// A frame that carries such a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupMessage {
    /// Its VLANs, the outermost first.
    pub vlans: Vec<u16>,
    /// The hardware address of the sender.
    pub mac: MacAddr,
    /// The address of the sender.
    pub from: IpAddr,
    /// What it says.
    pub message: Message,
}

/// A message of either family.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// Of IPv4.
    Igmp(igmp::Repr),
    /// Of IPv6.
    Mld(mld::Repr),
}

const TAGS_MAX: usize = 2;
/// Words of an IPv4 header: that of IGMP version 1, and that with the router alert option alone.
const HEADER_WORDS: std::ops::RangeInclusive<u8> = 5..=6;

/// Whether a frame without FCS is an IGMP or MLD query, by the fields that tell it from other frames alone: a
/// check that is cheap enough for every frame that arrives.
#[inline]
pub fn is_query(frame: &[u8]) -> bool {
    let is_query = match vlan::behind_tags(frame, TAGS_MAX) {
        Some((EtherType::IPV4, packet)) => is_igmp_query(packet),
        Some((EtherType::IPV6, packet)) => is_mld_query(packet),
        _ => None,
    };
    is_query == Some(true)
}

#[inline]
fn is_igmp_query(packet: &[u8]) -> Option<bool> {
    let header = ipv4::View::peek(packet).filter(|header| header.protocol() == Protocol::IGMP)?;
    let is_known = header.version() == 4 && HEADER_WORDS.contains(&header.header_words());
    Some(is_known && *packet.get(header.header_len())? == igmp::QUERY)
}

/// Behind the shortest hop-by-hop header.
#[inline]
fn is_mld_query(packet: &[u8]) -> Option<bool> {
    let header = ipv6::View::peek(packet)?;
    let is_hop_by_hop = header.next_header() == Protocol::HOP_BY_HOP;
    let options = ExtensionView::peek(&packet[ipv6::HEADER_LEN..]).filter(|_| is_hop_by_hop)?;
    let is_icmp = options.next_header() == Protocol::ICMPV6 && options.more_units() == 0;
    Some(is_icmp && *options.payload().first()? == mld::QUERY)
}

/// Reads a frame without FCS; `None` where it carries no such message, or one that nobody may believe: with a
/// bad checksum, or from off the link (RFC 2710 section 3, RFC 3810 section 5).
pub fn parse(frame: &[u8]) -> Option<GroupMessage> {
    let (header, mut packet) = ethernet::Repr::parse(frame).ok()?;
    let mut ether_type = header.ether_type;
    let mut vlans = vec![];
    while ether_type.is_vlan() && vlans.len() < TAGS_MAX {
        let (tag, rest) = vlan::Repr::parse(packet).ok()?;
        vlans.push(tag.id);
        (ether_type, packet) = (tag.ether_type, rest);
    }
    let (from, message) = match ether_type {
        EtherType::IPV4 => igmp_of(packet)?,
        EtherType::IPV6 => mld_of(packet)?,
        _ => return None,
    };
    Some(GroupMessage { vlans, mac: header.src, from, message })
}

fn igmp_of(packet: &[u8]) -> Option<(IpAddr, Message)> {
    let (header, payload) = ipv4::Repr::parse(packet).ok()?;
    if header.protocol != Protocol::IGMP {
        return None;
    }
    Some((header.src.into(), Message::Igmp(igmp::Repr::parse(payload).ok()?.0)))
}

fn mld_of(packet: &[u8]) -> Option<(IpAddr, Message)> {
    let (header, mut payload) = ipv6::Repr::parse(packet).ok()?;
    let mut protocol = header.next_header;
    if protocol == Protocol::HOP_BY_HOP {
        (_, protocol, payload) = Extension::parse(protocol, payload).ok()?;
    }
    let is_local = header.src.is_unicast_link_local() && header.hop_limit == 1;
    if protocol != Protocol::ICMPV6 || !mld::is_mld(payload) || !is_local {
        return None;
    }
    icmpv6::verify(header.src, header.dst, payload).ok()?;
    Some((header.src.into(), Message::Mld(mld::Repr::parse(payload).ok()?.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::igmp::V3Query;
    use crate::mld::V2Query;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const MAC: MacAddr = MacAddr([2, 0, 0x5e, 0x20, 0, 1]);
    const ROUTER: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 1);

    fn router_v6() -> Ipv6Addr {
        ipv6::link_local(MAC)
    }

    fn queries() -> Vec<Vec<u8>> {
        let v3 = V3Query {
            max_response_code: 100,
            group: Ipv4Addr::UNSPECIFIED,
            suppress: false,
            robustness: 2,
            interval_code: 125,
            sources: vec![],
        };
        let v2 = V2Query {
            max_response_code: 10_000,
            group: Ipv6Addr::UNSPECIFIED,
            suppress: false,
            robustness: 2,
            interval_code: 125,
            sources: vec![],
        };
        let first = igmp::Repr::Query { max_response_tenths: 0, group: Ipv4Addr::UNSPECIFIED };
        let second =
            igmp::Repr::Query { max_response_tenths: 10, group: Ipv4Addr::new(239, 1, 2, 3) };
        let mld = mld::Repr::Query { max_response_ms: 1_000, group: Ipv6Addr::UNSPECIFIED };
        let igmp = [first, second, igmp::Repr::V3Query(v3)].map(|query| query.frame((MAC, ROUTER)));
        let mld = [mld, mld::Repr::V2Query(v2)].map(|query| query.frame((MAC, router_v6())));
        igmp.into_iter().chain(mld).collect()
    }

    #[test]
    fn queries_of_every_version_are_known_with_tags_and_without() {
        for query in queries() {
            for vlans in [&[][..], &[100], &[100, 7]] {
                let tagged = vlan::tag(query.clone(), vlans);
                assert!(is_query(&tagged), "{tagged:02x?}");
                let read = parse(&tagged).expect("a message");
                assert_eq!((read.vlans, read.mac), (vlans.to_vec(), MAC));
            }
        }
    }

    #[test]
    fn reports_and_data_are_no_queries() {
        let group = Ipv4Addr::new(239, 1, 2, 3);
        let report = igmp::Repr::V2Report { group }.frame((MAC, ROUTER));
        assert!(!is_query(&report) && parse(&report).is_some());
        let group = "ff15::1:3".parse().unwrap();
        let report = mld::Repr::Report { group }.frame((MAC, router_v6()));
        assert!(!is_query(&report) && parse(&report).is_some());
        let arp = crate::learning::arp_request(MAC, ROUTER, ROUTER);
        assert!(!is_query(&arp) && parse(&arp).is_none());
    }

    /// RFC 2710 section 3: a source that is not link-local; RFC 3810 section 5.1: a bad checksum.
    #[test]
    fn what_nobody_may_believe_is_not_read() {
        let query = mld::Repr::Query { max_response_ms: 1_000, group: Ipv6Addr::UNSPECIFIED };
        assert_eq!(parse(&query.frame((MAC, "2001:db8::1".parse().unwrap()))), None);
        for mut query in queries() {
            let is_ipv6 = query[12] == 0x86;
            *query.get_mut(if is_ipv6 { 66 } else { 41 }).unwrap() ^= 1;
            assert_eq!(parse(&query), None, "{query:02x?}");
        }
    }

    #[test]
    fn no_bytes_make_it_panic() {
        for query in queries() {
            for len in 0..query.len() {
                let _ = (is_query(&query[..len]), parse(&query[..len]));
            }
        }
    }
}
