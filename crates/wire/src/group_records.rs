//! What IGMP version 3 (RFC 3376) and MLD version 2 (RFC 3810) say alike, each of addresses of its own
//! family: queries for sources, and records of groups with their sources.

use crate::DecodeError;
use crate::bytes::require;
use crate::view::{Field, field, view};
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, Ipv6Addr};

/// What follows a query's group: flags, interval code, number of sources.
pub(crate) const QUERY_TAIL_LEN: usize = 4;
/// The same in both.
pub(crate) const REPORT_LEN: usize = 8;
/// A record before its group: kind, length of auxiliary data, number of sources.
const RECORD_HEAD_LEN: usize = 4;
/// Auxiliary data is counted in words of so many bytes.
const AUXILIARY_WORD: usize = 4;

/// An address of a group or a source.
pub trait GroupAddress: Copy + Field {}
impl GroupAddress for Ipv4Addr {}
impl GroupAddress for Ipv6Addr {}

/// What a record of a report says of a group.
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

field! { RecordKind(u8) }

view! {
    /// What follows the group of a query that can name sources, as bytes; its payload are these.
    pub struct TailView("group query", QUERY_TAIL_LEN);
    /// Other routers are not to restart their timers.
    suppress / set_suppress: bool = 0 as u8[3..4];
    /// Times that a message is sent in case one is lost, 3 bits.
    robustness / set_robustness: u8 = 0 as u8[0..3];
    /// The querier's query interval.
    interval_code / set_interval_code: u8 = 1;
    /// Number of sources.
    source_count / set_source_count: u16 = 2;
}

view! {
    /// A report as bytes; its payload are records.
    pub struct ReportView("group report", REPORT_LEN);
    /// Number of records.
    record_count / set_record_count: u16 = 6;
}

view! {
    /// A record before its group, as bytes.
    pub struct RecordView("group record", RECORD_HEAD_LEN);
    /// What is said of the group.
    kind / set_kind: RecordKind = 0;
    /// Words of auxiliary data.
    auxiliary_words / set_auxiliary_words: u8 = 1;
    /// Number of sources.
    source_count / set_source_count: u16 = 2;
}

/// A group in a report. Auxiliary data is passed over and never written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record<A> {
    /// What is said of it.
    pub kind: RecordKind,
    /// The group.
    pub group: A,
    /// The sources that it is said of.
    pub sources: Vec<A>,
}

/// A query that can name sources; `C` holds the code of its response time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SourceQuery<A, C> {
    /// Time in which to answer: IGMP counts tenths of a second, as
    /// [`time_of_code`](crate::igmp::time_of_code) reads it, MLD milliseconds, as
    /// [`response_time_ms`](crate::mld::response_time_ms) does.
    pub max_response_code: C,
    /// The group asked for; unspecified for every group.
    pub group: A,
    /// Other routers are not to restart their timers.
    pub suppress: bool,
    /// Times that a message is sent in case one is lost, 3 bits.
    pub robustness: u8,
    /// The querier's query interval, in seconds, as [`time_of_code`](crate::igmp::time_of_code)
    /// reads it.
    pub interval_code: u8,
    /// The sources asked for; none for all.
    pub sources: Vec<A>,
}

impl<A: GroupAddress, C> SourceQuery<A, C> {
    /// A query with this `tail`, which has at least [`QUERY_TAIL_LEN`] bytes.
    pub(crate) fn parse(
        what: &'static str,
        max_response_code: C,
        group: A,
        tail: &[u8],
    ) -> Result<Self, DecodeError> {
        let view = TailView::new_unchecked(tail);
        Ok(SourceQuery {
            max_response_code,
            group,
            suppress: view.suppress(),
            robustness: view.robustness(),
            interval_code: view.interval_code(),
            sources: parse_sources(what, view.payload(), view.source_count())?,
        })
    }
    /// Bytes that [`emit_tail`](Self::emit_tail) writes.
    pub(crate) fn tail_len(&self) -> usize {
        QUERY_TAIL_LEN + A::LEN * self.sources.len()
    }
    /// Writes what follows the group.
    pub(crate) fn emit_tail(&self, tail: &mut [u8]) {
        tail[..QUERY_TAIL_LEN].fill(0);
        let mut view = TailView::new_unchecked(tail);
        view.set_suppress(self.suppress);
        view.set_robustness(self.robustness);
        view.set_interval_code(self.interval_code);
        view.set_source_count(self.sources.len() as u16);
        emit_sources(&self.sources, view.payload_mut());
    }
}

impl<A: GroupAddress> Record<A> {
    const LEN: usize = RECORD_HEAD_LEN + A::LEN;

    /// Joins `group`, whatever the source.
    pub(crate) fn join(group: A) -> Self {
        Record { kind: RecordKind::TO_EXCLUDE, group, sources: vec![] }
    }
    /// Leaves `group`.
    pub(crate) fn leave(group: A) -> Self {
        Record { kind: RecordKind::TO_INCLUDE, group, sources: vec![] }
    }
    fn len(&self) -> usize {
        Self::LEN + A::LEN * self.sources.len()
    }
}

/// Reads the records of a report, which has at least [`REPORT_LEN`] bytes.
pub(crate) fn parse_records<A: GroupAddress>(
    what: &'static str,
    report: &[u8],
) -> Result<Vec<Record<A>>, DecodeError> {
    let report = ReportView::new_unchecked(report);
    let mut rest = report.payload();
    let mut records = Vec::new();
    for _ in 0..report.record_count() {
        require(what, rest, Record::<A>::LEN)?;
        let view = RecordView::new_unchecked(rest);
        let sources = parse_sources(what, &rest[Record::<A>::LEN..], view.source_count())?;
        let record = Record { kind: view.kind(), group: A::read(rest, RECORD_HEAD_LEN), sources };
        let len = record.len() + AUXILIARY_WORD * usize::from(view.auxiliary_words());
        require(what, rest, len)?;
        records.push(record);
        rest = &rest[len..];
    }
    Ok(records)
}

/// Bytes of a report of these records.
pub(crate) fn report_len<A: GroupAddress>(records: &[Record<A>]) -> usize {
    REPORT_LEN + records.iter().map(Record::len).sum::<usize>()
}

/// Writes the records of a report, and how many they are.
pub(crate) fn emit_records<A: GroupAddress>(records: &[Record<A>], report: &mut [u8]) {
    let mut report = ReportView::new_unchecked(report);
    report.set_record_count(records.len() as u16);
    let mut rest = report.payload_mut();
    for record in records {
        let (place, after) = rest.split_at_mut(record.len());
        let mut view = RecordView::new_unchecked(&mut *place);
        view.set_kind(record.kind);
        view.set_auxiliary_words(0);
        view.set_source_count(record.sources.len() as u16);
        record.group.write(place, RECORD_HEAD_LEN);
        emit_sources(&record.sources, &mut place[Record::<A>::LEN..]);
        rest = after;
    }
}

fn parse_sources<A: GroupAddress>(
    what: &'static str,
    bytes: &[u8],
    count: u16,
) -> Result<Vec<A>, DecodeError> {
    let len = A::LEN * usize::from(count);
    require(what, bytes, len)?;
    Ok(bytes[..len].chunks_exact(A::LEN).map(|source| A::read(source, 0)).collect())
}

fn emit_sources<A: GroupAddress>(sources: &[A], bytes: &mut [u8]) {
    let places = bytes.chunks_exact_mut(A::LEN);
    places.zip(sources).for_each(|(place, source)| source.write(place, 0));
}
