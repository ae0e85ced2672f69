//! Multicast listener discovery, versions 1 (RFC 2710) and 2 (RFC 3810): what IGMP is to IPv4.
//!
//! Its messages are ICMPv6 messages; [`icmpv6::verify`] checks their checksum. They come from a
//! link-local address with hop limit 1, behind a hop-by-hop header with the router alert option.

use crate::DecodeError;
use crate::bytes::require;
use crate::ethernet::{self, EtherType, MacAddr};
use crate::group_records::{
    self, QUERY_TAIL_LEN, SourceQuery, emit_records, parse_records, report_len,
};
use crate::icmpv6;
use crate::ipv4::Protocol;
use crate::ipv6::{self, Extension};
use crate::view::view;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv6Addr;

const V1_LEN: usize = 24;
const FLAGS: usize = 24;
const V2_QUERY_LEN: usize = FLAGS + QUERY_TAIL_LEN;

pub(crate) const QUERY: u8 = 130;
const REPORT: u8 = 131;
const DONE: u8 = 132;
const V2_REPORT: u8 = 143;

const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
/// Where reports of version 2 go (RFC 3810 section 5.2.14).
const ALL_V2_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);
/// RFC 2711: routers on the way shall look at the packet, which is MLD's; and padding.
const ROUTER_ALERT: [u8; 6] = [0x05, 0x02, 0, 0, 0x01, 0];
const WHAT: &str = "MLD message";

/// A group in a version 2 report.
pub type Record = group_records::Record<Ipv6Addr>;
/// A query of version 2.
pub type V2Query = SourceQuery<Ipv6Addr, u16>;

view! {
    /// A message as bytes, up to the group; not of a version 2 report, which has none there.
    pub struct View(WHAT, V1_LEN);
    /// Type.
    kind / set_kind: u8 = 0;
    /// The checksum.
    checksum / set_checksum: u16 = 2;
    /// Of a query: the time in which to answer.
    max_response / set_max_response: u16 = 4;
    /// The group.
    group / set_group: Ipv6Addr = 8;
}

/// A message of multicast listener discovery.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repr {
    /// Who listens? Version 1.
    Query {
        /// Time in which to answer, in milliseconds.
        max_response_ms: u16,
        /// The group asked for; `::` for every group.
        group: Ipv6Addr,
    },
    /// Who listens? Version 2.
    V2Query(V2Query),
    /// I listen, version 1.
    Report {
        /// To this group.
        group: Ipv6Addr,
    },
    /// I listen no longer, version 1.
    Done {
        /// To this group.
        group: Ipv6Addr,
    },
    /// What I listen to, and how that changed: version 2.
    V2Report {
        /// Group by group.
        records: Vec<Record>,
    },
}

/// Whether an ICMPv6 message is one of these.
pub fn is_mld(message: &[u8]) -> bool {
    matches!(message.first(), Some(&(QUERY | REPORT | DONE | V2_REPORT)))
}

impl Repr {
    /// Joins a group, whatever the source, in version 2.
    pub fn v2_join(group: Ipv6Addr) -> Repr {
        Repr::V2Report { records: vec![Record::join(group)] }
    }
    /// Leaves a group, in version 2.
    pub fn v2_leave(group: Ipv6Addr) -> Repr {
        Repr::V2Report { records: vec![Record::leave(group)] }
    }
    /// Reads a whole message; its checksum is [verified](icmpv6::verify) apart.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let head = icmpv6::View::new_checked(bytes)?;
        if !is_mld(bytes) {
            return Err(DecodeError::malformed(WHAT, "another message of ICMPv6"));
        }
        if head.kind() == V2_REPORT {
            return Ok((Repr::V2Report { records: parse_records(WHAT, bytes)? }, &[]));
        }
        let view = View::new_checked(bytes)?;
        let (max_response, group) = (view.max_response(), view.group());
        let repr = match (view.kind(), bytes.len()) {
            (REPORT, _) => Repr::Report { group },
            (DONE, _) => Repr::Done { group },
            (_, V1_LEN) => Repr::Query { max_response_ms: max_response, group },
            _ => {
                require(WHAT, bytes, V2_QUERY_LEN)?;
                Repr::V2Query(V2Query::parse(WHAT, max_response, group, &bytes[FLAGS..])?)
            }
        };
        Ok((repr, &[]))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub fn header_len(&self) -> usize {
        match self {
            Repr::V2Query(query) => FLAGS + query.tail_len(),
            Repr::V2Report { records } => report_len(records),
            _ => V1_LEN,
        }
    }
    /// Writes the message with checksum 0, to be [filled](icmpv6::fill_checksum).
    /// Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        bytes[..icmpv6::HEADER_LEN].fill(0);
        let mut head = |kind: u8, max_response: u16, group: &Ipv6Addr| {
            let mut view = View::new_unchecked(&mut *bytes);
            view.set_kind(kind);
            view.set_max_response(max_response);
            view.set_group(*group);
        };
        match self {
            Repr::Query { max_response_ms, group } => head(QUERY, *max_response_ms, group),
            Repr::Report { group } => head(REPORT, 0, group),
            Repr::Done { group } => head(DONE, 0, group),
            Repr::V2Query(query) => {
                head(QUERY, query.max_response_code, &query.group);
                query.emit_tail(&mut bytes[FLAGS..]);
            }
            Repr::V2Report { records } => {
                icmpv6::View::new_unchecked(&mut *bytes).set_kind(V2_REPORT);
                emit_records(records, bytes);
            }
        }
    }
    /// Where the message goes.
    pub fn destination(&self) -> Ipv6Addr {
        match self {
            Repr::Query { group, .. } | Repr::V2Query(V2Query { group, .. })
                if group.is_unspecified() =>
            {
                ALL_NODES
            }
            Repr::Query { group, .. }
            | Repr::V2Query(V2Query { group, .. })
            | Repr::Report { group } => *group,
            Repr::Done { .. } => ALL_ROUTERS,
            Repr::V2Report { .. } => ALL_V2_ROUTERS,
        }
    }
    /// The message as a frame without FCS. Receivers demand a link-local source.
    pub fn frame(&self, src: (MacAddr, Ipv6Addr)) -> Vec<u8> {
        let dst = self.destination();
        let mut message = vec![0; self.header_len()];
        self.emit(&mut message);
        icmpv6::fill_checksum(src.1, dst, &mut message);
        let alert = Extension::HopByHop { options: ROUTER_ALERT.to_vec() };
        let mut payload = vec![0; alert.header_len()];
        alert.emit(Protocol::ICMPV6, &mut payload);
        payload.extend_from_slice(&message);
        let header = ipv6::Repr {
            hop_limit: 1,
            ..ipv6::Repr::new(src.1, dst, Protocol::HOP_BY_HOP, payload.len() as u16)
        };
        let ether_type = EtherType::IPV6;
        let ethernet = ethernet::Repr { dst: MacAddr::of_ipv6_group(dst), src: src.0, ether_type };
        ethernet.frame(&header.packet(&payload))
    }
}

/// What a version 2 query's maximum response code stands for, in milliseconds: itself below 32768,
/// above it a floating-point number of three bits of exponent and twelve of mantissa (RFC 3810
/// section 5.1.3).
pub const fn response_time_ms(code: u16) -> u32 {
    if code < 0x8000 {
        return code as u32;
    }
    let (exponent, mantissa) = (code >> 12 & 7, code & 0xfff);
    (mantissa as u32 | 0x1000) << (exponent + 3)
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repr::Query { group, .. } if group.is_unspecified() => f.write_str("MLDv1 query"),
            Repr::Query { group, .. } => write!(f, "MLDv1 query for {group}"),
            Repr::V2Query(query) if query.group.is_unspecified() => f.write_str("MLDv2 query"),
            Repr::V2Query(query) => write!(f, "MLDv2 query for {}", query.group),
            Repr::Report { group } => write!(f, "MLDv1 report of {group}"),
            Repr::Done { group } => write!(f, "MLDv1 done of {group}"),
            Repr::V2Report { records } => write!(f, "MLDv2 report of {} records", records.len()),
        }
    }
}

#[cfg(test)]
mod tests;
