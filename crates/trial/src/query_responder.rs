//! Hosts that have joined multicast groups, and how they answer a querier: the group member part of IGMP and
//! the listener part of MLD (RFC 3918 section 3.1.1 has the tester's ports answer during a trial).
//!
//! What a frame of the tester's says of groups, its host stands by: a host that has reported a group is a
//! member until it leaves, over as many trials as there are. One responder serves one port. It is pure: time
//! is an argument.
//!
//! Hosts of IGMP version 1 cannot say that they leave: they leave by silence (RFC 1112 appendix I), so they never
//! answer here, and report again where they stay.
//!
//! Every other host answers for itself, whatever it hears others report: a switch that snoops needs the report of
//! every port (RFC 4541 section 2.1.1).

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use units::{Duration, Instant};
use wire::ethernet::MacAddr;
use wire::group_message::{self, GroupMessage, Message};
use wire::igmp::{self, RecordKind};
use wire::{mld, vlan};

/// Queries that came to a port, and the answers of its hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct QueryCounts {
    /// IGMP and MLD queries that arrived.
    pub queries: u64,
    /// Report frames in answer that left.
    pub reports: u64,
    /// Those that were still to leave when this was counted.
    pub due: u64,
}

impl QueryCounts {
    /// What was counted since an earlier look.
    pub fn since(self, before: QueryCounts) -> QueryCounts {
        QueryCounts {
            queries: self.queries.saturating_sub(before.queries),
            reports: self.reports.saturating_sub(before.reports),
            due: self.due,
        }
    }
}

/// Answers IGMP and MLD queries for the hosts of one port.
#[derive(Clone, Debug)]
pub struct QueryResponder {
    hosts: BTreeMap<Host, Membership>,
    /// What hosts will have said by when, in order.
    to_come: VecDeque<(Instant, GroupMessage)>,
    /// By the moment when each is due; the number tells apart what is due at once.
    pending: BTreeMap<(Instant, u64), Answer>,
    number: u64,
    counts: QueryCounts,
    random: Xoshiro256PlusPlus,
}

/// Who speaks: an address in a VLAN.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Host {
    mac: MacAddr,
    address: IpAddr,
    vlans: Vec<u16>,
}

#[derive(Clone, Debug)]
struct Membership {
    /// That of its last report.
    version: u8,
    groups: BTreeMap<IpAddr, Filter>,
}

/// Which sources a host wants of a group (RFC 3376 section 3.1).
#[derive(Clone, Debug, Default)]
struct Filter {
    /// It wants all but those listed.
    exclude: bool,
    sources: BTreeSet<IpAddr>,
}

/// What is to be said when its time has come.
#[derive(Clone, Debug)]
struct Answer {
    host: Host,
    version: u8,
    groups: Vec<IpAddr>,
    /// To a query of single sources, these.
    sources: Vec<IpAddr>,
    /// To a query for every group.
    is_general: bool,
}

/// A query, whatever its family.
struct Query {
    version: u8,
    /// `None` for every group.
    group: Option<IpAddr>,
    sources: Vec<IpAddr>,
    answer_within: Duration,
}

/// Of IGMP version 1 (RFC 1112 appendix I).
const FIRST_VERSION_RESPONSE: Duration = Duration::from_secs(10);
/// Groups in a report that fills an MTU of 1500: (1500 - 24 - 8) / 8, (1500 - 40 - 8 - 8) / 20.
const IGMPV3_RECORDS: usize = 183;
const MLDV2_RECORDS: usize = 72;

impl QueryResponder {
    /// One without hosts. Its delays are random, and the same for the same seed.
    pub fn new(seed: u64) -> Self {
        QueryResponder {
            hosts: BTreeMap::new(),
            to_come: VecDeque::new(),
            pending: BTreeMap::new(),
            number: 0,
            counts: QueryCounts::default(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// A frame of the tester's leaves: its host stands by what it says of groups.
    pub fn note_sent(&mut self, now: Instant, frame: &[u8]) {
        self.advance(now);
        if let Some(said) = group_message::parse(frame) {
            self.apply(said);
        }
    }

    /// Frames that a trial sends, and when, in order of their departures. What was planned before and has
    /// not left by now never will.
    pub fn plan(&mut self, now: Instant, frames: impl IntoIterator<Item = (Instant, Vec<u8>)>) {
        self.advance(now);
        let said = |(at, frame): (Instant, Vec<u8>)| Some((at, group_message::parse(&frame)?));
        self.to_come = frames.into_iter().filter_map(said).collect();
    }

    /// A frame has arrived: where it is a query, its answers become due.
    pub fn hear(&mut self, now: Instant, frame: &[u8]) {
        self.advance(now);
        let Some(heard) = group_message::parse(frame) else { return };
        let Some(query) = Query::of(&heard.message) else { return };
        self.counts.queries += 1;
        let is_ipv4 = heard.from.is_ipv4();
        let answers = |(host, membership): &(&Host, &Membership)| {
            host.address.is_ipv4() == is_ipv4 && !(is_ipv4 && membership.version == 1)
        };
        let hosts = self.hosts.iter().filter(answers).map(|(host, _)| host.clone());
        let hosts: Vec<Host> = hosts.collect();
        for host in hosts {
            match query.group {
                None => self.answer_all(now, host, &query),
                Some(group) => self.answer_of(now, host, group, &query),
            }
        }
    }

    /// When the next answer is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.pending.keys().next().map(|(due, _)| *due)
    }

    /// The next answer that is due, as a frame without FCS.
    pub fn answer(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.advance(now);
        while self.next_due()? <= now {
            let (_, answer) = self.pending.pop_first()?;
            if let Some(frame) = self.frame(&answer) {
                self.counts.reports += 1;
                return Some(frame);
            }
        }
        None
    }

    /// Queries and answers so far.
    pub fn counts(&self) -> QueryCounts {
        QueryCounts { due: self.pending.len() as u64, ..self.counts }
    }

    /// Takes in what hosts have said by now.
    fn advance(&mut self, now: Instant) {
        while self.to_come.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, said)) = self.to_come.pop_front() {
                self.apply(said);
            }
        }
    }

    fn apply(&mut self, said: GroupMessage) {
        let host = Host { mac: said.mac, address: said.from, vlans: said.vlans };
        let (version, changes) = changes_of(said.message);
        if changes.is_empty() {
            return;
        }
        let new = || Membership { version, groups: BTreeMap::new() };
        let membership = self.hosts.entry(host.clone()).or_insert_with(new);
        membership.version = version;
        for (group, kind, sources) in changes {
            let filter = membership.groups.entry(group).or_default();
            filter.change(kind, sources);
            if filter.is_empty() {
                membership.groups.remove(&group);
            }
        }
        if membership.groups.is_empty() {
            self.hosts.remove(&host);
        }
    }

    /// A general query: the answers are spread over the time that the querier allows, each at a random
    /// moment of its share (RFC 2236 section 3, RFC 3376 section 5.2). One that is answered sooner already
    /// needs no more.
    fn answer_all(&mut self, now: Instant, host: Host, query: &Query) {
        let general = |answer: &Answer| answer.is_general && answer.host == host;
        let pending = self.pending.iter().filter(|(_, answer)| general(answer));
        let last = pending.map(|((due, _), _)| *due).max();
        if last.is_some_and(|due| due <= now + query.answer_within) {
            return;
        }
        self.pending.retain(|_, answer| !general(answer));
        let Some(membership) = self.hosts.get(&host) else { return };
        let version = membership.version.min(query.version);
        let groups: Vec<IpAddr> = membership.groups.keys().copied().collect();
        let chunks: Vec<&[IpAddr]> = groups.chunks(groups_per_report(&host, version)).collect();
        let share = query.answer_within.as_ps() / chunks.len().max(1) as u64;
        let share = Duration::from_ps(share);
        for (place, chunk) in chunks.iter().enumerate() {
            let due = now + share * place as u64 + self.random_part_of(share);
            let (host, groups) = (host.clone(), chunk.to_vec());
            self.put(due, Answer { host, version, groups, sources: vec![], is_general: true });
        }
    }

    fn answer_of(&mut self, now: Instant, host: Host, group: IpAddr, query: &Query) {
        let Some(membership) = self.hosts.get(&host) else { return };
        if !membership.groups.contains_key(&group) {
            return;
        }
        let version = membership.version.min(query.version);
        let (groups, sources) = (vec![group], query.sources.clone());
        let answer = Answer { host, version, groups, sources, is_general: false };
        let is_same = |other: &Answer| {
            !other.is_general
                && (&other.host, &other.groups, &other.sources)
                    == (&answer.host, &answer.groups, &answer.sources)
        };
        let mut same = self.pending.iter().filter(|(_, other)| is_same(other));
        if same.any(|((due, _), _)| *due <= now + query.answer_within) {
            return;
        }
        self.pending.retain(|_, other| !is_same(other));
        let due = now + self.random_part_of(query.answer_within);
        self.put(due, answer);
    }

    fn put(&mut self, due: Instant, answer: Answer) {
        self.number += 1;
        self.pending.insert((due, self.number), answer);
    }

    fn random_part_of(&mut self, span: Duration) -> Duration {
        Duration::from_ps(self.random.next_u64() % span.as_ps().max(1))
    }

    /// What is still true of an answer; `None` where nothing is.
    fn frame(&self, answer: &Answer) -> Option<Vec<u8>> {
        let membership = self.hosts.get(&answer.host)?;
        let wanted = |group: &IpAddr| Some((*group, membership.groups.get(group)?));
        let groups: Vec<(IpAddr, &Filter)> = answer.groups.iter().filter_map(wanted).collect();
        let records = groups.iter().filter_map(|(group, filter)| {
            let (kind, sources) = filter.state(&answer.sources)?;
            Some((*group, kind, sources))
        });
        let frame = match (answer.host.address, answer.version) {
            (IpAddr::V4(address), 3) => {
                let records: Vec<_> = records.filter_map(igmp_record).collect();
                (!records.is_empty())
                    .then(|| igmp::Repr::V3Report { records }.frame((answer.host.mac, address)))
            }
            (IpAddr::V6(address), 2) => {
                let records: Vec<_> = records.filter_map(mld_record).collect();
                (!records.is_empty())
                    .then(|| mld::Repr::V2Report { records }.frame((answer.host.mac, address)))
            }
            (IpAddr::V4(address), version) => {
                let (IpAddr::V4(group), _) = *groups.first()? else { return None };
                let report = match version {
                    1 => igmp::Repr::V1Report { group },
                    _ => igmp::Repr::V2Report { group },
                };
                Some(report.frame((answer.host.mac, address)))
            }
            (IpAddr::V6(address), _) => {
                let (IpAddr::V6(group), _) = *groups.first()? else { return None };
                Some(mld::Repr::Report { group }.frame((answer.host.mac, address)))
            }
        };
        frame.map(|frame| vlan::tag(frame, &answer.host.vlans))
    }
}

fn groups_per_report(host: &Host, version: u8) -> usize {
    match (host.address.is_ipv4(), version) {
        (true, 3) => IGMPV3_RECORDS,
        (false, 2) => MLDV2_RECORDS,
        _ => 1,
    }
}

type Change = (IpAddr, RecordKind, Vec<IpAddr>);

/// What a report or a leave changes, as records of the newest versions; a query changes nothing.
fn changes_of(message: Message) -> (u8, Vec<Change>) {
    let one = |group: IpAddr, kind| vec![(group, kind, vec![])];
    let (joins, leaves) = (RecordKind::TO_EXCLUDE, RecordKind::TO_INCLUDE);
    match message {
        Message::Igmp(igmp::Repr::V1Report { group }) => (1, one(group.into(), joins)),
        Message::Igmp(igmp::Repr::V2Report { group }) => (2, one(group.into(), joins)),
        Message::Igmp(igmp::Repr::Leave { group }) => (2, one(group.into(), leaves)),
        Message::Igmp(igmp::Repr::V3Report { records }) => {
            let change = |r: igmp::Record| (r.group.into(), r.kind, addresses(r.sources));
            (3, records.into_iter().map(change).collect())
        }
        Message::Mld(mld::Repr::Report { group }) => (1, one(group.into(), joins)),
        Message::Mld(mld::Repr::Done { group }) => (1, one(group.into(), leaves)),
        Message::Mld(mld::Repr::V2Report { records }) => {
            let change = |r: mld::Record| (r.group.into(), r.kind, addresses(r.sources));
            (2, records.into_iter().map(change).collect())
        }
        Message::Igmp(igmp::Repr::Query { .. } | igmp::Repr::V3Query(_))
        | Message::Mld(mld::Repr::Query { .. } | mld::Repr::V2Query(_)) => (0, vec![]),
    }
}

fn addresses<A: Into<IpAddr>>(sources: Vec<A>) -> Vec<IpAddr> {
    sources.into_iter().map(Into::into).collect()
}

fn igmp_record((group, kind, sources): Change) -> Option<igmp::Record> {
    let IpAddr::V4(group) = group else { return None };
    let sources = sources.into_iter().filter_map(|source| match source {
        IpAddr::V4(source) => Some(source),
        IpAddr::V6(_) => None,
    });
    Some(igmp::Record { kind, group, sources: sources.collect() })
}

fn mld_record((group, kind, sources): Change) -> Option<mld::Record> {
    let IpAddr::V6(group) = group else { return None };
    let sources = sources.into_iter().filter_map(|source| match source {
        IpAddr::V6(source) => Some(source),
        IpAddr::V4(_) => None,
    });
    Some(mld::Record { kind, group, sources: sources.collect() })
}

impl Filter {
    /// RFC 3376 section 4.2.12; kinds that it does not know change nothing.
    fn change(&mut self, kind: RecordKind, sources: Vec<IpAddr>) {
        let sources = sources.into_iter();
        match kind {
            RecordKind::IS_INCLUDE | RecordKind::TO_INCLUDE => {
                *self = Filter { exclude: false, sources: sources.collect() };
            }
            RecordKind::IS_EXCLUDE | RecordKind::TO_EXCLUDE => {
                *self = Filter { exclude: true, sources: sources.collect() };
            }
            RecordKind::ALLOW_SOURCES | RecordKind::BLOCK_SOURCES => {
                let adds = (kind == RecordKind::ALLOW_SOURCES) != self.exclude;
                for source in sources {
                    match adds {
                        true => self.sources.insert(source),
                        false => self.sources.remove(&source),
                    };
                }
            }
            _ => {}
        }
    }

    /// Whether nothing is wanted any more.
    fn is_empty(&self) -> bool {
        !self.exclude && self.sources.is_empty()
    }

    /// What a current-state record says (RFC 3376 section 5.2): all of it, or of the sources that were asked
    /// for those that are wanted.
    fn state(&self, asked: &[IpAddr]) -> Option<(RecordKind, Vec<IpAddr>)> {
        if asked.is_empty() {
            let kind = if self.exclude { RecordKind::IS_EXCLUDE } else { RecordKind::IS_INCLUDE };
            return Some((kind, self.sources.iter().copied().collect()));
        }
        let wanted = |source: &&IpAddr| self.sources.contains(*source) != self.exclude;
        let wanted: Vec<IpAddr> = asked.iter().filter(wanted).copied().collect();
        (!wanted.is_empty()).then_some((RecordKind::IS_INCLUDE, wanted))
    }
}

impl Query {
    fn of(message: &Message) -> Option<Query> {
        let tenths = |count: u16| Duration::from_ms(u64::from(count) * 100);
        let query = |version, group: IpAddr, sources, answer_within| Query {
            version,
            group: (!group.is_unspecified()).then_some(group),
            sources,
            answer_within,
        };
        Some(match message {
            Message::Igmp(igmp::Repr::Query { max_response_tenths: 0, group }) => {
                query(1, (*group).into(), vec![], FIRST_VERSION_RESPONSE)
            }
            Message::Igmp(igmp::Repr::Query { max_response_tenths, group }) => {
                query(2, (*group).into(), vec![], tenths((*max_response_tenths).into()))
            }
            Message::Igmp(igmp::Repr::V3Query(asked)) => {
                let within = tenths(igmp::time_of_code(asked.max_response_code));
                query(3, asked.group.into(), addresses(asked.sources.clone()), within)
            }
            Message::Mld(mld::Repr::Query { max_response_ms, group }) => {
                query(1, (*group).into(), vec![], Duration::from_ms((*max_response_ms).into()))
            }
            Message::Mld(mld::Repr::V2Query(asked)) => {
                let ms = mld::response_time_ms(asked.max_response_code);
                let within = Duration::from_ms(ms.into());
                query(2, asked.group.into(), addresses(asked.sources.clone()), within)
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
