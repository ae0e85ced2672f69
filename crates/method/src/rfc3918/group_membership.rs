//! The group membership of a test: who sends, who listens, to which groups; and the proof that they do.
//!
//! Joins and data go by trials of their own: reports paced, then a frame to each group that must come
//! out at each port (RFC 3918 section 3: "the source port MUST send frames to all groups to verify the
//! joins"), which also fills the device's caches. Hosts answer the device's queries (section 3.1.1: the tester
//! does, for all that they have joined); where it asks nothing, memberships are reported again before they
//! run out.

use super::throughput::{GroupLoads, load};
use super::{MulticastConfig, Tunnel, Version};
use crate::bench::{Bench, Ran};
use crate::chassis::{ChassisTest, Draft, TestSetup, highest_load_of, shortfall_words};
use crate::{Forwarding, RunError};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use trial::{
    Expectation, PortId, QueryCounts, Role, Schedule, Segment, Stream, StreamFrame, StreamId,
    TransmitReport, TrialResult, Waits,
};
use units::{Duration, FrameRate, FrameSize};
use wire::learning;

/// Under which conditions of multicasting a result was taken (RFC 3918's reporting formats).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MulticastConditions {
    /// What hosts spoke.
    pub version: Version,
    /// Groups.
    pub groups: u64,
    /// Where frames went in.
    pub source: PortId,
    /// Where they were to come out.
    pub egress: Vec<PortId>,
    /// How they went in.
    pub tunnel_in: Tunnel,
    /// How they were to come out.
    pub tunnel_out: Tunnel,
    /// Size of the frames as sent, FCS included.
    pub sent_size_bytes: u32,
    /// Size of the frames as received, mean; `None` where none was.
    pub received_size_bytes: Option<f64>,
    /// Reports of each port, in frames a second.
    pub report_rate: FrameRate,
    /// Whether joins took effect; `None` in runs saved before that was kept.
    #[serde(default)]
    pub joins: Option<Joins>,
    /// Queries that came to the listening ports in the trials, and what hosts answered; `None` in runs saved
    /// before they did.
    #[serde(default)]
    pub queries: Option<QueryCounts>,
}

/// What is known of joins.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Joins {
    /// Nothing was tried.
    Untried,
    /// A frame to every group came out at every port.
    Proved,
    /// It did not.
    NotProved {
        /// Why, the first time.
        why: String,
    },
    /// No proof comes before the trials: they measure when or whether joins take effect.
    Measured,
}

/// What came of each group at a port, exact.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GroupFlows {
    /// Which port.
    pub port: PortId,
    /// Groups of which every frame came.
    pub complete: u64,
    /// Groups of which some came.
    pub partial: u64,
    /// Groups of which none came.
    pub silent: u64,
    /// The first group of which not every frame came.
    pub first_missed: Option<String>,
}

/// Frames to a group before it is given up, however long each was waited for: a router may spend the
/// first on setting up its way.
const PROBES: u32 = 3;

/// Why some hosts do not answer queries.
pub(crate) const SILENT_FIRST_VERSION: &str =
    "hosts of IGMPv1, which leave by silence, answer no queries";
pub(crate) const SILENT_BEHIND_TUNNELS: &str = "hosts behind a tunnel hear no queries";

/// How often hosts say the same where the tester did not send all of it.
const SAID_AT_MOST: u32 = 5;

/// Who sends, who listens, and to what.
pub(crate) struct GroupMembership<'r, 'a> {
    pub rack: &'r TestSetup<'a>,
    pub test: ChassisTest,
    pub version: Version,
    pub source: usize,
    pub egress: Vec<usize>,
    /// Number of its first group: groups are numbered from there.
    pub first: u64,
    pub tunnel_in: Tunnel,
    pub tunnel_out: Tunnel,
    /// Groups that were joined so far, from the first.
    joined: Cell<u64>,
    /// When, by the bench's clock.
    joined_at: Cell<Duration>,
    /// What came of it.
    joins: RefCell<Joins>,
    /// Queries at the listening ports, and answers to them, in all trials.
    queries: Cell<QueryCounts>,
    /// Every listening port was asked for members in the last trial.
    asked: Cell<bool>,
    /// Somebody was told that the device did not ask in time.
    told_unasked: Cell<bool>,
}

impl<'r, 'a> GroupMembership<'r, 'a> {
    /// The first port sends, all others listen.
    pub fn new(rack: &'r TestSetup<'a>, test: ChassisTest) -> Result<Self, RunError> {
        GroupMembership::with_egress(rack, test, (1..rack.ports).collect())
    }

    /// The first port sends, these listen.
    pub fn with_egress(
        rack: &'r TestSetup<'a>,
        test: ChassisTest,
        egress: Vec<usize>,
    ) -> Result<Self, RunError> {
        if egress.is_empty() || egress.iter().any(|port| *port >= rack.ports) {
            return Err(RunError::Config(format!("{test} needs more than {} ports", rack.ports)));
        }
        Ok(GroupMembership {
            rack,
            test,
            version: rack.config.chassis.multicast.version,
            source: 0,
            egress,
            first: 0,
            tunnel_in: Tunnel::None,
            tunnel_out: Tunnel::None,
            joined: Cell::new(0),
            joined_at: Cell::new(Duration::ZERO),
            joins: RefCell::new(Joins::Untried),
            queries: Cell::default(),
            asked: Cell::new(false),
            told_unasked: Cell::new(false),
        })
    }

    pub fn config(&self) -> &'r MulticastConfig {
        &self.rack.config.chassis.multicast
    }
    pub fn ports(&self) -> Vec<PortId> {
        self.egress.iter().map(|port| self.rack.port(*port).port).collect()
    }
    /// Of frames as they are sent.
    pub fn sent_size(&self) -> FrameSize {
        FrameSize::from_bytes(self.rack.size.bytes() + self.tunnel_in.overhead_bytes())
    }
    /// Of frames as they come out.
    pub fn received_size(&self) -> FrameSize {
        FrameSize::from_bytes(self.rack.size.bytes() + self.tunnel_out.overhead_bytes())
    }
    pub fn rate_of(&self, percent: f64) -> FrameRate {
        let line = self.rack.described(self.source).line_rate;
        line.max_frame_rate(self.sent_size()).scaled(percent / 100.0)
    }

    /// Load of the source in a trial, as offered.
    pub fn ingress(&self, result: &TrialResult) -> Option<FrameRate> {
        let id = self.rack.port(self.source).port;
        let source = result.sent.iter().find(|sent| sent.report.port == id)?;
        source.report.sent_rate()
    }

    pub fn conditions(&self, groups: u64, result: Option<&TrialResult>) -> MulticastConditions {
        let mean = |result: &TrialResult| {
            let (mut bytes, mut frames) = (0, 0);
            for received in result.expected_accounts() {
                bytes += received.account.unique_bytes;
                frames += received.account.unique;
            }
            (frames > 0).then(|| bytes as f64 / frames as f64)
        };
        MulticastConditions {
            version: self.version,
            groups,
            source: self.rack.port(self.source).port,
            egress: self.ports(),
            tunnel_in: self.tunnel_in,
            tunnel_out: self.tunnel_out,
            sent_size_bytes: self.sent_size().bytes(),
            received_size_bytes: result.and_then(mean),
            report_rate: FrameRate::from_fps(self.config().report_fps),
            joins: Some(self.joins()),
            queries: Some(self.queries.get()),
        }
    }

    fn joins(&self) -> Joins {
        match self.test {
            ChassisTest::GroupJoinDelay
            | ChassisTest::GroupLeaveDelay
            | ChassisTest::BurdenedJoinDelay
            | ChassisTest::GroupCapacity => Joins::Measured,
            _ => self.joins.borrow().clone(),
        }
    }

    /// A failure is remembered, whatever comes later: some trial was made without the joins.
    fn remember(&self, verified: &Result<(), String>) {
        let mut joins = self.joins.borrow_mut();
        match verified {
            Err(why) if !matches!(*joins, Joins::NotProved { .. }) => {
                *joins = Joins::NotProved { why: why.clone() };
            }
            Ok(()) if *joins == Joins::Untried => *joins = Joins::Proved,
            _ => {}
        }
    }

    /// Every port makes itself known to the device: addresses of unicast frames and of tunnels.
    pub fn introduce(&self, draft: &mut Draft) {
        let wait = Duration::from_secs_f64(self.rack.config.chassis.learning_interval_s);
        for index in 0..self.rack.ports {
            let port = self.rack.port(index);
            let frames = match self.rack.chassis.forwarding {
                Forwarding::Routed => vec![
                    learning::arp_request(port.mac, port.host_ipv4, port.device_ipv4),
                    learning::neighbor_solicitation(port.mac, port.host_ipv6, port.device_ipv6),
                ],
                _ => vec![learning::bridge(port.mac)],
            };
            let frames = frames.into_iter().map(|frame| self.rack.traffic.tagged(frame)).collect();
            draft.say(self.rack, index, frames, wait);
        }
    }

    /// The stream of the source to so many groups in turn, and its number.
    pub fn data(&self, draft: &mut Draft, groups: u64) -> Result<StreamId, RunError> {
        self.data_of(draft, 0, groups)
    }

    /// The same of groups from another first one on.
    pub fn data_of(
        &self,
        draft: &mut Draft,
        first: u64,
        groups: u64,
    ) -> Result<StreamId, RunError> {
        let (key, id) = (draft.key(), draft.next_id());
        let source = self.rack.port(self.source);
        let frame = |n: u64| {
            let template = self.version.template(source, self.first + first + n);
            let template = template.tagged(&self.rack.config.traffic.vlans);
            let template = self.rack.traffic.with_random_ports(template, 0);
            let prepared = template.prepare(self.rack.size, Some((key, id.0)))?;
            let bytes = self.tunnel_in.wrap(source, prepared.frame(n));
            Ok(StreamFrame { bytes, form: prepared.form() })
        };
        let frames = (0..groups).map(frame).collect::<Result<_, RunError>>()?;
        Ok(draft.stream(self.rack, self.source, &self.egress, frames))
    }

    /// Frames of a host that no receiver counts.
    pub fn unsigned(&self, draft: &mut Draft, port: usize, frames: Vec<Vec<u8>>) -> StreamId {
        let id = draft.next_id();
        let tunnel = if port == self.source { self.tunnel_in } else { self.tunnel_out };
        let host = self.rack.port(port);
        let frame = |bytes| {
            let bytes = self.rack.traffic.tagged(tunnel.wrap(host, bytes));
            StreamFrame { bytes, form: None }
        };
        draft.add(Stream {
            id,
            name: format!("membership of {}", host.port),
            role: Role::Modifier,
            from: host.port,
            expect: Expectation::Unchecked,
            frames: frames.into_iter().map(frame).collect(),
            fingerprint: None,
            given_up: vec![],
            bad_fcs: false,
            grows_by_bytes: 0,
        })
    }

    /// Has every listening port join the first so many groups, unless it has, and proves it. In words
    /// why not, where a join never takes effect.
    pub fn ready(
        &self,
        bench: &mut Bench<'_>,
        groups: u64,
        next_trial: Duration,
    ) -> Result<Result<(), String>, RunError> {
        let membership = Duration::from_secs_f64(self.config().membership_s);
        if let Some(why) = self.silence().filter(|_| next_trial >= membership) {
            return Err(RunError::Config(format!(
                "a trial of {next_trial} is longer than memberships last ({membership}), and {why}: make \
                 memberships last longer on the device and here (multicast.membership_s), or trials shorter"
            )));
        }
        let age = bench.clock().elapsed.saturating_sub(self.joined_at.get());
        let mut from = self.joined.get().min(groups);
        // Where the device asks, hosts answer; where it does not, they report again in time.
        let is_kept = self.asked.get() && self.silence().is_none();
        if age + next_trial >= membership && !is_kept {
            from = 0;
        }
        if from == groups {
            return Ok(Ok(()));
        }
        if let Some(why) = self.too_many(groups) {
            return Err(RunError::Config(why));
        }
        let unsaid = self.say(bench, (from, groups), true)?;
        if !unsaid.is_empty() {
            let failed = Err(format!("hosts could not join: {}", unsaid.join("; ")));
            self.remember(&failed);
            return Ok(failed);
        }
        if from == 0 {
            self.joined_at.set(bench.clock().elapsed);
        }
        self.joined.set(self.joined.get().max(groups));
        let verified = self.verify(bench, groups)?;
        self.remember(&verified);
        Ok(verified)
    }

    /// The same before a trial that is made whether or not they are ready.
    pub fn ready_or_warn(
        &self,
        bench: &mut Bench<'_>,
        groups: u64,
        next_trial: Duration,
    ) -> Result<(), RunError> {
        match self.ready(bench, groups, next_trial)? {
            Ok(()) => Ok(()),
            Err(why) => bench.emit(crate::Event::Warning(why)),
        }
    }

    /// Why hosts do not answer queries; `None` where they do.
    fn silence(&self) -> Option<&'static str> {
        match (self.version, self.tunnel_in, self.tunnel_out) {
            (Version::Igmpv1, ..) => Some(SILENT_FIRST_VERSION),
            (_, Tunnel::None, Tunnel::None) => None,
            _ => Some(SILENT_BEHIND_TUNNELS),
        }
    }

    /// Keeps what the device asked in a trial, and tells once of a trial so long that the device had to ask and
    /// did not.
    pub fn heard(&self, bench: &mut Bench<'_>, ran: &Ran, trial: Duration) -> Result<(), RunError> {
        let ports = self.ports();
        let here = ran.result.counters.iter().filter(|counters| ports.contains(&counters.port));
        let mut all = self.queries.get();
        let mut unasked = None;
        for counters in here {
            let QueryCounts { queries, reports, due } = counters.group_queries;
            all.queries += queries;
            all.reports += reports;
            all.due += due;
            unasked = unasked.or((queries == 0).then_some(counters.port));
        }
        self.queries.set(all);
        self.asked.set(unasked.is_none());
        let is_long = trial >= Duration::from_secs_f64(self.config().membership_s);
        let Some(port) = unasked.filter(|_| is_long && !self.told_unasked.replace(true)) else {
            return Ok(());
        };
        bench.emit(crate::Event::Warning(format!(
            "{port}: no query came in a trial of {trial}, and memberships last {} s: the device may have \
             forgotten members; enable its querier, or let trials be shorter than multicast.membership_s",
            self.config().membership_s
        )))
    }

    /// Why memberships of so many groups would run out before all are reported and proven; `None` where
    /// there is time.
    pub fn too_many(&self, groups: u64) -> Option<String> {
        let config = self.config();
        let host = self.rack.port(self.egress[0]);
        let reports = self.version.reports(host, 0, groups).len() as u64;
        let seconds =
            reports as f64 / config.report_fps as f64 + groups as f64 / config.verify_fps as f64;
        (seconds >= config.membership_s / 2.0).then(|| {
            format!(
                "{groups} groups take {seconds:.0} s to be reported and proven, and memberships last {} s: \
                 set multicast.report_fps or multicast.verify_fps higher",
                config.membership_s
            )
        })
    }

    /// Sends a frame to each group until each comes out everywhere, or nothing more can be hoped for.
    fn verify(&self, bench: &mut Bench<'_>, groups: u64) -> Result<Result<(), String>, RunError> {
        let began = bench.clock().elapsed;
        let until = began + Duration::from_secs_f64(self.config().join_timeout_s);
        let mut probes = 0;
        loop {
            probes += 1;
            let ran = self.probe(bench, groups)?;
            let invalid = shortfall_words(&ran);
            if !invalid.is_empty() {
                return Ok(Err(format!("joins could not be verified: {}", invalid.join("; "))));
            }
            let flows = self.flows(&ran.result, groups);
            if flows.iter().all(|port| port.complete == groups) {
                return Ok(Ok(()));
            }
            if probes >= PROBES && bench.clock().elapsed >= until {
                let waited = bench.clock().elapsed.saturating_sub(began);
                return Ok(Err(self.never_joined(&flows, groups, waited)));
            }
            bench.pause(Duration::from_secs_f64(self.config().join_timeout_s / 10.0))?;
        }
    }

    fn never_joined(&self, flows: &[GroupFlows], groups: u64, waited: Duration) -> String {
        let missing = flows.iter().filter(|port| port.complete < groups);
        let ports = missing.map(|port| {
            let first = port.first_missed.as_deref().unwrap_or("none");
            format!(
                "{} lacks {} of {groups} (the first is {first})",
                port.port,
                groups - port.complete
            )
        });
        format!(
            "a join never took effect: {:.1} s after the reports not every group is forwarded: {}",
            waited.as_secs_f64(),
            ports.collect::<Vec<_>>().join(", ")
        )
    }

    /// One frame to each group, slowly.
    pub fn probe(&self, bench: &mut Bench<'_>, groups: u64) -> Result<Ran, RunError> {
        self.probe_beside(bench, groups, None)
    }

    /// The same, and then a frame to a group, by its number, that nobody has joined: of a device that floods such
    /// groups a frame that comes out does not tell that somebody's join was taken in.
    pub fn probe_beside(
        &self,
        bench: &mut Bench<'_>,
        groups: u64,
        nobodys: Option<u64>,
    ) -> Result<Ran, RunError> {
        let rate = self.slow(self.config().verify_fps);
        let label =
            format!("{}, {}: a frame to each of {groups} groups", self.test, self.rack.size);
        self.rack.run(bench, self.test, &label, rate, &|draft| {
            self.introduce(draft);
            let id = self.data(draft, groups)?;
            let mut order = vec![id; if nobodys.is_some() { groups as usize } else { 1 }];
            if let Some(group) = nobodys {
                order.push(self.data_of(draft, group, 1)?);
                draft.as_modifier();
                draft.unchecked();
            }
            draft.count_flows();
            let frames = groups + u64::from(nobodys.is_some());
            draft.send(self.source, once(rate, frames), order);
            Ok(())
        })
    }

    /// Whether the frame to nobody's group came out at a listening port.
    pub fn floods(&self, ran: &Ran) -> bool {
        let Some(nobodys) = ran.result.streams.get(1) else { return false };
        let ports = self.ports();
        let here = ran.result.received.iter().filter(|received| ports.contains(&received.port));
        let mut accounts = here.flat_map(|here| &here.streams);
        accounts.any(|received| received.stream == nobodys.id && received.account.unique > 0)
    }

    /// A rate that is never beyond the medium's.
    fn slow(&self, fps: u64) -> FrameRate {
        FrameRate::from_fps(fps).min(self.rate_of(100.0))
    }

    /// Every listening port joins or leaves the groups of this range, and the device is given time. A tester
    /// that was held up and did not send all of it says all of it again; in words if it never succeeds: what
    /// the device has never heard tells nothing of it.
    pub fn say(
        &self,
        bench: &mut Bench<'_>,
        range: (u64, u64),
        joins: bool,
    ) -> Result<Vec<String>, RunError> {
        let mut unsaid = vec![];
        for _ in 0..SAID_AT_MOST {
            let ran = self.say_once(bench, range, joins)?;
            let short = ran.result.sent.iter().map(|sent| &sent.report);
            let short = short.filter(|report| report.sent_frames < report.intended_frames);
            let words = |report: &TransmitReport| {
                let TransmitReport { port, sent_frames, intended_frames, .. } = report;
                let what = if joins { "reports" } else { "leaves" };
                format!("{port}: only {sent_frames} of {intended_frames} {what} left the tester")
            };
            unsaid = short.map(words).collect();
            if unsaid.is_empty() {
                break;
            }
        }
        Ok(unsaid)
    }

    fn say_once(
        &self,
        bench: &mut Bench<'_>,
        (from, to): (u64, u64),
        joins: bool,
    ) -> Result<Ran, RunError> {
        let config = self.config();
        let settle = if joins { config.join_settle_s } else { config.leave_settle_s };
        let verb = if joins { "join" } else { "leave" };
        let label =
            format!("{}, {}: ports {verb} groups {from} to {to}", self.test, self.rack.size);
        let rate = self.slow(config.report_fps);
        let waits = Waits::fixed(Duration::ZERO, Duration::from_secs_f64(settle));
        let (from, to) = (self.first + from, self.first + to);
        self.rack.run_with(bench, self.test, &label, rate, waits, &|draft| {
            self.introduce(draft);
            for port in &self.egress {
                let host = self.rack.port(*port);
                let frames = match joins {
                    true => self.version.reports(host, from, to),
                    false => self.version.leaves(host, from, to),
                };
                let count = frames.len() as u64;
                let id = self.unsigned(draft, *port, frames);
                draft.send(*port, once(rate, count), vec![id]);
            }
            Ok(())
        })
    }

    /// Every port leaves what it has joined; hosts that cannot are waited for until the device has
    /// forgotten them.
    pub fn leave_all(&self, bench: &mut Bench<'_>) -> Result<(), RunError> {
        let joined = self.joined.replace(0);
        if joined == 0 {
            return Ok(());
        }
        self.leave(bench, (0, joined))
    }

    pub fn leave(&self, bench: &mut Bench<'_>, range: (u64, u64)) -> Result<(), RunError> {
        match self.version.has_leave() {
            true => self.say(bench, range, false).map(|_| ()),
            false => bench.pause(Duration::from_secs_f64(self.config().membership_s + 1.0)),
        }
    }

    /// The load of a delay's trials, in percent of the medium: that which is configured, or else the
    /// aggregated multicast throughput (sections 5 and 6 recommend it), found now where no test has.
    pub fn load_percent(&self, bench: &mut Bench<'_>) -> Result<Result<f64, String>, RunError> {
        let known = &self.rack.known.multicast_percent;
        if let Some(percent) = self.config().load_percent.or(known.get()) {
            return Ok(Ok(percent));
        }
        let groups = self.config().groups;
        if let Err(why) = self.ready(bench, groups, Duration::ZERO)? {
            return Ok(Err(why));
        }
        let send =
            |bench: &mut Bench<'_>, percent, duration| load(bench, self, groups, percent, duration);
        let mut loads = GroupLoads { stage: self, send: &send, last: None };
        let mut config = self.rack.config.clone();
        config.throughput.loss_tolerances_percent = vec![];
        let found = highest_load_of(bench, &config, &mut loads)?;
        let Some(percent) = found.load_percent else {
            let why = found.invalid_reasons().join("; ");
            return Ok(Err(format!("no load is forwarded without loss: {why}")));
        };
        known.set(Some(percent));
        Ok(Ok(percent))
    }

    /// What came of each group at each port, of the first stream of a trial.
    pub fn flows(&self, result: &TrialResult, groups: u64) -> Vec<GroupFlows> {
        let Some(stream) = result.streams.first() else { return vec![] };
        let of_port = |port: PortId| {
            let here = result.received.iter().filter(|received| received.port == port);
            let account = here.flat_map(|h| &h.streams).find(|r| r.stream == stream.id);
            let mut flows =
                GroupFlows { port, complete: 0, partial: 0, silent: 0, first_missed: None };
            let counts = account.into_iter().flat_map(|account| account.flows.counts());
            for (group, count) in (0..groups).zip(counts) {
                let sent = trial::sent_of_flow(stream.sent, groups, group);
                let is_complete = count >= sent;
                flows.complete += u64::from(is_complete);
                flows.partial += u64::from(!is_complete && count > 0);
                flows.silent += u64::from(!is_complete && count == 0);
                if !is_complete && flows.first_missed.is_none() {
                    flows.first_missed = Some(self.version.group(self.first + group));
                }
            }
            flows
        };
        self.ports().into_iter().map(of_port).collect()
    }
}

/// Each frame of a stream once.
pub(super) fn once(rate: FrameRate, frames: u64) -> Schedule {
    Schedule { segments: vec![Segment::constant(rate, frames)] }
}
