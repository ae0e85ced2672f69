//! IGMP versions 1 (RFC 1112), 2 (RFC 2236) and 3 (RFC 3376): hosts join and leave multicast groups, and
//! routers ask which are wanted.

use crate::DecodeError;
use crate::bytes::{ipv4_at, put, put_u16, require, u16_at};
use crate::checksum::{self, Sum};
use crate::ethernet::{self, EtherType, MacAddr};
use crate::ipv4::{self, Protocol};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv4Addr;

const TYPE: usize = 0;
const CODE: usize = 1;
const CHECKSUM: usize = 2;
const GROUP: usize = 4;
const HEADER_LEN: usize = 8;
const FLAGS: usize = 8;
const INTERVAL_CODE: usize = 9;
const SOURCE_COUNT: usize = 10;
const V3_QUERY_LEN: usize = 12;
const RECORD_COUNT: usize = 6;
const RECORD_LEN: usize = 8;
const SOURCE_LEN: usize = 4;

const QUERY: u8 = 0x11;
const V1_REPORT: u8 = 0x12;
const V2_REPORT: u8 = 0x16;
const LEAVE: u8 = 0x17;
const V3_REPORT: u8 = 0x22;
const SUPPRESS: u8 = 0x08;
const ROBUSTNESS_MASK: u8 = 0x07;

const ALL_HOSTS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
const ALL_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 2);
/// Where reports of version 3 go (RFC 3376 section 4.2.14).
const ALL_V3_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 22);
/// RFC 2113: routers on the way shall look at the packet.
const ROUTER_ALERT: [u8; 4] = [0x94, 0x04, 0, 0];
/// Internetwork control (RFC 3376 section 4: type of service C0).
const V3_DSCP: u8 = 48;
const WHAT: &str = "IGMP message";

/// What a record of a version 3 report (or of MLD's version 2) says of a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordKind(pub u8);

impl RecordKind {
    /// Listens to the sources listed.
    pub const IS_INCLUDE: RecordKind = RecordKind(1);
    /// Listens to all but the sources listed.
    pub const IS_EXCLUDE: RecordKind = RecordKind(2);
    /// From now on listens to the sources listed only: with none, leaves the group.
    pub const TO_INCLUDE: RecordKind = RecordKind(3);
    /// From now on listens to all but the sources listed: with none, joins the group.
    pub const TO_EXCLUDE: RecordKind = RecordKind(4);
    /// Listens to these sources as well.
    pub const ALLOW_SOURCES: RecordKind = RecordKind(5);
    /// Listens to these sources no longer.
    pub const BLOCK_SOURCES: RecordKind = RecordKind(6);
}

/// A group in a version 3 report. Auxiliary data is passed over and never written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// What is said of it.
    pub kind: RecordKind,
    /// The group.
    pub group: Ipv4Addr,
    /// The sources that it is said of.
    pub sources: Vec<Ipv4Addr>,
}

/// A query of version 3.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct V3Query {
    /// Time in which to answer, in tenths of a second, as [`time_of_code`] reads it.
    pub max_response_code: u8,
    /// The group asked for; 0 for every group.
    pub group: Ipv4Addr,
    /// Other routers are not to restart their timers.
    pub suppress: bool,
    /// Times that a message is sent in case one is lost, 3 bits.
    pub robustness: u8,
    /// The querier's query interval, in seconds, as [`time_of_code`] reads it.
    pub interval_code: u8,
    /// The sources asked for; none for all.
    pub sources: Vec<Ipv4Addr>,
}

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
        let record = Record { kind: RecordKind::TO_EXCLUDE, group, sources: vec![] };
        Repr::V3Report { records: vec![record] }
    }
    /// Leaves a group, in version 3.
    pub fn v3_leave(group: Ipv4Addr) -> Repr {
        let record = Record { kind: RecordKind::TO_INCLUDE, group, sources: vec![] };
        Repr::V3Report { records: vec![record] }
    }
    /// Reads a whole message and checks its checksum, which covers what follows it as well.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        require(WHAT, bytes, HEADER_LEN)?;
        checksum::verify(WHAT, Sum::ZERO, bytes, CHECKSUM)?;
        let group = ipv4_at(bytes, GROUP);
        let repr = match (bytes[TYPE], bytes.len()) {
            (QUERY, HEADER_LEN) => Repr::Query { max_response_tenths: bytes[CODE], group },
            (QUERY, _) => Repr::V3Query(parse_v3_query(bytes)?),
            (V1_REPORT, _) => Repr::V1Report { group },
            (V2_REPORT, _) => Repr::V2Report { group },
            (LEAVE, _) => Repr::Leave { group },
            (V3_REPORT, _) => Repr::V3Report { records: parse_records(bytes)? },
            _ => return Err(DecodeError::malformed(WHAT, "of a type that is not read")),
        };
        Ok((repr, &[]))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub fn header_len(&self) -> usize {
        let record = |record: &Record| RECORD_LEN + SOURCE_LEN * record.sources.len();
        match self {
            Repr::V3Query(query) => V3_QUERY_LEN + SOURCE_LEN * query.sources.len(),
            Repr::V3Report { records } => HEADER_LEN + records.iter().map(record).sum::<usize>(),
            _ => HEADER_LEN,
        }
    }
    /// Writes the message with its checksum. Panics unless `bytes` has
    /// [`header_len`](Repr::header_len) bytes.
    pub fn emit(&self, bytes: &mut [u8]) {
        bytes[..HEADER_LEN].fill(0);
        let mut head = |kind: u8, code: u8, group: Ipv4Addr| {
            (bytes[TYPE], bytes[CODE]) = (kind, code);
            put(bytes, GROUP, &group.octets());
        };
        match self {
            Repr::Query { max_response_tenths, group } => head(QUERY, *max_response_tenths, *group),
            Repr::V1Report { group } => head(V1_REPORT, 0, *group),
            Repr::V2Report { group } => head(V2_REPORT, 0, *group),
            Repr::Leave { group } => head(LEAVE, 0, *group),
            Repr::V3Query(query) => {
                head(QUERY, query.max_response_code, query.group);
                emit_v3_query(query, bytes);
            }
            Repr::V3Report { records } => {
                head(V3_REPORT, 0, Ipv4Addr::UNSPECIFIED);
                emit_records(records, bytes);
            }
        }
        put_u16(bytes, CHECKSUM, checksum::checksum(bytes));
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

fn parse_v3_query(bytes: &[u8]) -> Result<V3Query, DecodeError> {
    require(WHAT, bytes, V3_QUERY_LEN)?;
    Ok(V3Query {
        max_response_code: bytes[CODE],
        group: ipv4_at(bytes, GROUP),
        suppress: bytes[FLAGS] & SUPPRESS != 0,
        robustness: bytes[FLAGS] & ROBUSTNESS_MASK,
        interval_code: bytes[INTERVAL_CODE],
        sources: parse_sources(&bytes[V3_QUERY_LEN..], u16_at(bytes, SOURCE_COUNT))?,
    })
}

fn parse_records(bytes: &[u8]) -> Result<Vec<Record>, DecodeError> {
    let mut rest = &bytes[HEADER_LEN..];
    let mut records = Vec::new();
    for _ in 0..u16_at(bytes, RECORD_COUNT) {
        require(WHAT, rest, RECORD_LEN)?;
        let sources = parse_sources(&rest[RECORD_LEN..], u16_at(rest, 2))?;
        let len = RECORD_LEN + SOURCE_LEN * (sources.len() + usize::from(rest[1]));
        require(WHAT, rest, len)?;
        records.push(Record { kind: RecordKind(rest[0]), group: ipv4_at(rest, 4), sources });
        rest = &rest[len..];
    }
    Ok(records)
}

fn parse_sources(bytes: &[u8], count: u16) -> Result<Vec<Ipv4Addr>, DecodeError> {
    let len = SOURCE_LEN * usize::from(count);
    require(WHAT, bytes, len)?;
    Ok(bytes[..len].chunks_exact(SOURCE_LEN).map(|source| ipv4_at(source, 0)).collect())
}

fn emit_v3_query(query: &V3Query, bytes: &mut [u8]) {
    let suppress = if query.suppress { SUPPRESS } else { 0 };
    bytes[FLAGS] = suppress | (query.robustness & ROBUSTNESS_MASK);
    bytes[INTERVAL_CODE] = query.interval_code;
    put_u16(bytes, SOURCE_COUNT, query.sources.len() as u16);
    emit_sources(&query.sources, &mut bytes[V3_QUERY_LEN..]);
}

fn emit_records(records: &[Record], bytes: &mut [u8]) {
    put_u16(bytes, RECORD_COUNT, records.len() as u16);
    let mut at = HEADER_LEN;
    for record in records {
        (bytes[at], bytes[at + 1]) = (record.kind.0, 0);
        put_u16(bytes, at + 2, record.sources.len() as u16);
        put(bytes, at + 4, &record.group.octets());
        at += RECORD_LEN;
        emit_sources(&record.sources, &mut bytes[at..]);
        at += SOURCE_LEN * record.sources.len();
    }
}

fn emit_sources(sources: &[Ipv4Addr], bytes: &mut [u8]) {
    let places = bytes.chunks_exact_mut(SOURCE_LEN);
    places.zip(sources).for_each(|(place, source)| put(place, 0, &source.octets()));
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
