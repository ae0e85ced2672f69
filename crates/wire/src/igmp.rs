//! IGMP versions 1 (RFC 1112), 2 (RFC 2236) and 3 (RFC 3376): hosts join and leave multicast groups, and
//! routers ask which are wanted.

use crate::DecodeError;
use crate::bytes::require;
use crate::checksum;
use crate::ethernet::{self, EtherType, MacAddr};
use crate::group_records::{
    self, QUERY_TAIL_LEN, SourceQuery, emit_records, parse_records, report_len,
};
use crate::ipv4::{self, Protocol};
use crate::view::view;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv4Addr;

/// Bytes up to the group, and of versions 1 and 2 all.
pub const HEADER_LEN: usize = 8;
const FLAGS: usize = 8;
const V3_QUERY_LEN: usize = FLAGS + QUERY_TAIL_LEN;

pub(crate) const QUERY: u8 = 0x11;
const V1_REPORT: u8 = 0x12;
const V2_REPORT: u8 = 0x16;
const LEAVE: u8 = 0x17;
const V3_REPORT: u8 = 0x22;

const ALL_HOSTS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
const ALL_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 2);
/// Where reports of version 3 go (RFC 3376 section 4.2.14).
const ALL_V3_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 22);
/// RFC 2113: routers on the way shall look at the packet.
const ROUTER_ALERT: [u8; 4] = [0x94, 0x04, 0, 0];
/// Internetwork control (RFC 3376 section 4: type of service C0).
const V3_DSCP: u8 = 48;
const WHAT: &str = "IGMP message";

pub use crate::group_records::{RecordKind, RecordView, ReportView, TailView};
/// A group in a version 3 report.
pub type Record = group_records::Record<Ipv4Addr>;
/// A query of version 3.
pub type V3Query = SourceQuery<Ipv4Addr, u8>;

view! {
    /// A message as bytes, up to the group.
    pub struct View(WHAT, HEADER_LEN);
    /// Type.
    kind / set_kind: u8 = 0;
    /// Of a query: the time in which to answer.
    code / set_code: u8 = 1;
    /// The checksum.
    checksum / set_checksum: u16 = 2;
    /// The group; of a version 3 report other fields.
    group / set_group: Ipv4Addr = 4;
}

checksum::of_whole_message!(View, WHAT);

/// An IGMP message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repr {
    /// Who listens? Versions 1 and 2.
    Query {
        /// Time in which to answer, in tenths of a second; 0 is version 1.
        max_response_tenths: u8,
        /// The group asked for; 0 for every group.
        group: Ipv4Addr,
    },
    /// Who listens? Version 3.
    V3Query(V3Query),
    /// I listen, version 1.
    V1Report {
        /// To this group.
        group: Ipv4Addr,
    },
    /// I listen, version 2.
    V2Report {
        /// To this group.
        group: Ipv4Addr,
    },
    /// I listen no longer.
    Leave {
        /// To this group.
        group: Ipv4Addr,
    },
    /// What I listen to, and how that changed: version 3.
    V3Report {
        /// Group by group.
        records: Vec<Record>,
    },
}

impl Repr {
    /// Joins a group, whatever the source, in version 3.
    pub fn v3_join(group: Ipv4Addr) -> Repr {
        Repr::V3Report { records: vec![Record::join(group)] }
    }
    /// Leaves a group, in version 3.
    pub fn v3_leave(group: Ipv4Addr) -> Repr {
        Repr::V3Report { records: vec![Record::leave(group)] }
    }
    /// Reads a whole message and checks its checksum, which covers what follows it as well.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let view = View::new_checked(bytes)?;
        view.verify_checksum()?;
        let (code, group) = (view.code(), view.group());
        let repr = match (view.kind(), bytes.len()) {
            (QUERY, HEADER_LEN) => Repr::Query { max_response_tenths: code, group },
            (QUERY, _) => {
                require(WHAT, bytes, V3_QUERY_LEN)?;
                Repr::V3Query(V3Query::parse(WHAT, code, group, &bytes[FLAGS..])?)
            }
            (V1_REPORT, _) => Repr::V1Report { group },
            (V2_REPORT, _) => Repr::V2Report { group },
            (LEAVE, _) => Repr::Leave { group },
            (V3_REPORT, _) => Repr::V3Report { records: parse_records(WHAT, bytes)? },
            _ => return Err(DecodeError::malformed(WHAT, "of a type that is not read")),
        };
        Ok((repr, &[]))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub fn header_len(&self) -> usize {
        match self {
            Repr::V3Query(query) => FLAGS + query.tail_len(),
            Repr::V3Report { records } => report_len(records),
            _ => HEADER_LEN,
        }
    }
    /// Writes the message with its checksum. Panics unless `bytes` has
    /// [`header_len`](Repr::header_len) bytes.
    pub fn emit(&self, bytes: &mut [u8]) {
        bytes[..HEADER_LEN].fill(0);
        let mut head = |kind: u8, code: u8, group: Ipv4Addr| {
            let mut view = View::new_unchecked(&mut *bytes);
            view.set_kind(kind);
            view.set_code(code);
            view.set_group(group);
        };
        match self {
            Repr::Query { max_response_tenths, group } => head(QUERY, *max_response_tenths, *group),
            Repr::V1Report { group } => head(V1_REPORT, 0, *group),
            Repr::V2Report { group } => head(V2_REPORT, 0, *group),
            Repr::Leave { group } => head(LEAVE, 0, *group),
            Repr::V3Query(query) => {
                head(QUERY, query.max_response_code, query.group);
                query.emit_tail(&mut bytes[FLAGS..]);
            }
            Repr::V3Report { records } => {
                head(V3_REPORT, 0, Ipv4Addr::UNSPECIFIED);
                emit_records(records, bytes);
            }
        }
        View::new_unchecked(bytes).fill_checksum();
    }
    /// Where the message goes.
    pub fn destination(&self) -> Ipv4Addr {
        match self {
            Repr::Query { group, .. } | Repr::V3Query(V3Query { group, .. })
                if group.is_unspecified() =>
            {
                ALL_HOSTS
            }
            Repr::Query { group, .. }
            | Repr::V3Query(V3Query { group, .. })
            | Repr::V1Report { group }
            | Repr::V2Report { group } => *group,
            Repr::Leave { .. } => ALL_ROUTERS,
            Repr::V3Report { .. } => ALL_V3_ROUTERS,
        }
    }
    /// The message as a frame without FCS: TTL 1, from version 2 on with the router alert option.
    pub fn frame(&self, src: (MacAddr, Ipv4Addr)) -> Vec<u8> {
        let mut message = vec![0; self.header_len()];
        self.emit(&mut message);
        let is_v1 =
            matches!(self, Repr::V1Report { .. } | Repr::Query { max_response_tenths: 0, .. });
        let is_v3 = matches!(self, Repr::V3Query(_) | Repr::V3Report { .. });
        let dst = self.destination();
        let ip = ipv4::Repr {
            ttl: 1,
            dscp: if is_v3 { V3_DSCP } else { 0 },
            options: if is_v1 { vec![] } else { ROUTER_ALERT.to_vec() },
            ..ipv4::Repr::new(src.1, dst, Protocol::IGMP, message.len() as u16)
        };
        let ether_type = EtherType::IPV4;
        let ethernet = ethernet::Repr { dst: MacAddr::of_ipv4_group(dst), src: src.0, ether_type };
        ethernet.frame(&ip.packet(&message))
    }
}

/// What a code of a version 3 query stands for: itself below 128, above it a small floating-point
/// number of three bits of exponent and four of mantissa (RFC 3376 sections 4.1.1 and 4.1.7).
pub const fn time_of_code(code: u8) -> u16 {
    if code < 128 {
        return code as u16;
    }
    let (exponent, mantissa) = (code >> 4 & 7, code & 0xf);
    (mantissa as u16 | 0x10) << (exponent + 3)
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repr::Query { max_response_tenths: 0, .. } => f.write_str("IGMPv1 query"),
            Repr::Query { group, .. } if group.is_unspecified() => f.write_str("IGMPv2 query"),
            Repr::Query { group, .. } => write!(f, "IGMPv2 query for {group}"),
            Repr::V3Query(query) if query.group.is_unspecified() => f.write_str("IGMPv3 query"),
            Repr::V3Query(query) => write!(f, "IGMPv3 query for {}", query.group),
            Repr::V1Report { group } => write!(f, "IGMPv1 report of {group}"),
            Repr::V2Report { group } => write!(f, "IGMPv2 report of {group}"),
            Repr::Leave { group } => write!(f, "IGMPv2 leave of {group}"),
            Repr::V3Report { records } => write!(f, "IGMPv3 report of {} records", records.len()),
        }
    }
}

#[cfg(test)]
mod tests;
