//! Makes trials of patterns: streams between ports, learning frames, loads.

use super::{Bursts, ChassisConditions, ChassisTest, Turn};
use crate::bench::{Asked, Bench, Ran, measured};
use crate::modifiers;
use crate::registry::Known;
use crate::subject::{Ceiling, ceiling_of};
use crate::traffic::{Attachment, Forwarding, Traffic};
use crate::{LatencyDefinition, RunError, SelfTestSize, SuiteConfig, TestKind, Topology};
use std::cell::Cell;
use traffic::modifier::{Field, Modifier, Pattern, sub_seed};
use traffic::template::FrameTemplate;
use trial::{
    BitTimes, Expectation, Fingerprint, Insertion, InvalidReason, PortDescription, PortId,
    PortLoad, PortSent, Prelude, Role, Schedule, Stream, StreamFrame, StreamId, Tagging,
    TesterDescription, Trial, TrialResult, ValidityLimits, Waits,
};
use units::{Duration, FrameRate, FrameSize};
use wire::decode::summarize;
use wire::ethernet::MacAddr;
use wire::learning;
use wire::signature::Key;

/// The ports of a test, and what its frames are like.
#[derive(Clone, Copy, Debug)]
pub struct TestSetup<'a> {
    /// All ports.
    pub chassis: &'a Topology,
    /// What frames are made of.
    pub(crate) traffic: &'a Traffic,
    /// What to do.
    pub config: &'a SuiteConfig,
    /// What the tester says of itself.
    pub description: &'a TesterDescription,
    /// FCS included.
    pub size: FrameSize,
    /// So many of the ports take part, from the first.
    pub ports: usize,
    /// The highest load of a port that the tester reaches by itself, where that was measured.
    pub(crate) tester: Option<Ceiling>,
    /// What tests before found out with frames of this size.
    pub(crate) known: &'a Known,
    /// What tests before found out of the device's tables.
    pub(crate) tables: &'a TablesKnown,
}

/// What tests find out of the device's tables that tests after them want to know.
#[derive(Clone, Debug, Default)]
pub(crate) struct TablesKnown {
    /// The most multicast groups that the device forwards.
    pub groups: Cell<Option<u64>>,
    /// Groups that were used so that no test should use them again.
    pub groups_used: Cell<u64>,
    /// The most Ethernet addresses that it learns.
    pub addresses: Cell<Option<u64>>,
}

/// What a port is to send: streams in turn, by a schedule.
pub(crate) struct Sent {
    pub from: usize,
    pub schedule: Schedule,
    pub order: Vec<StreamId>,
    pub insertions: Vec<Insertion>,
}

/// A trial that is being put together.
pub(crate) struct Draft {
    key: Key,
    streams: Vec<Stream>,
    sent: Vec<Sent>,
    prelude: Vec<Prelude>,
    tagging: Option<Tagging>,
    count_flows: bool,
    /// By which share the offered load may be below the intended, where that is more than the run's own limit.
    shortfall: f64,
}

/// Different frames of a stream whose addresses are drawn at random.
const DISTINCT_FRAMES: u64 = 64;
/// Of our own further addresses: locally administered, and no port's.
const FURTHER_ADDRESSES: u64 = 0x0600_0000_0000;
/// Room for the further addresses of a port.
const ADDRESSES_OF_PORT: u64 = 1 << 32;

impl<'a> TestSetup<'a> {
    /// All ports of `traffic`, of a tester that knows itself from `self_test`. An error where the tester cannot
    /// carry such traffic even by itself.
    pub(crate) fn new(
        config: &'a SuiteConfig,
        traffic: &'a Traffic,
        description: &'a TesterDescription,
        self_test: Option<&SelfTestSize>,
        (known, tables): (&'a Known, &'a TablesKnown),
    ) -> Result<Self, String> {
        let (chassis, size) = (traffic.topology(), traffic.size().smallest());
        let ports = chassis.ports.len();
        let rack = TestSetup {
            chassis,
            traffic,
            config,
            description,
            size,
            ports,
            tester: None,
            known,
            tables,
        };
        let own = self_test.map(|own| ceiling_of(rack.theoretical_max(), own)).transpose()?;
        Ok(TestSetup { tester: own.map(|(ceiling, _)| ceiling), ..rack })
    }
    /// The same with fewer ports.
    pub(crate) fn with_ports(&self, ports: usize) -> TestSetup<'a> {
        TestSetup { ports, ..*self }
    }
    pub(crate) fn port(&self, index: usize) -> &'a Attachment {
        &self.chassis.ports[index]
    }
    pub(crate) fn described(&self, index: usize) -> &'a PortDescription {
        let id = self.port(index).port;
        let described = self.description.ports.iter().find(|port| port.id == id);
        described.unwrap_or(&self.description.ports[0])
    }
    /// The medium's maximum for the size: the maximum offered load of a port.
    pub(crate) fn theoretical_max(&self) -> FrameRate {
        self.described(0).line_rate.max_frame_rate(self.size)
    }
    pub(crate) fn rate_of(&self, percent: f64) -> FrameRate {
        match percent {
            100.0 => self.theoretical_max(),
            percent => self.theoretical_max().scaled(percent / 100.0),
        }
    }
    /// In which form latencies from a port to another are stated, of frames of this size.
    pub(crate) fn latency_definition(
        &self,
        (from, sent): (usize, FrameSize),
        (to, received): (usize, FrameSize),
    ) -> LatencyDefinition {
        let (from, to) = (self.described(from), self.described(to));
        if !from.line_rate_is_physical || !to.line_rate_is_physical {
            return LatencyDefinition::of_virtual_links();
        }
        LatencyDefinition::of_lines(BitTimes {
            sending: sent.serialization_time(from.line_rate),
            receiving: received.serialization_time(to.line_rate),
        })
    }
    /// Bursts of the configured length, or a constant load.
    pub(crate) fn schedule(&self, rate: FrameRate, duration: Duration) -> Schedule {
        let (line, frames) = (self.described(0).line_rate, self.config.burst_frames);
        Bursts { line, size: self.size, frames, rate }.schedule(duration)
    }
    pub(crate) fn waits(&self) -> Waits {
        self.config.trial.waits()
    }

    pub(crate) fn conditions(&self, test: ChassisTest) -> ChassisConditions {
        self.conditions_of(test, Duration::from_secs_f64(self.config.trial.duration_s))
    }

    /// The same of a test whose trials have a length of their own.
    pub(crate) fn conditions_of(
        &self,
        test: ChassisTest,
        trial_duration: Duration,
    ) -> ChassisConditions {
        let port = self.described(0);
        ChassisConditions {
            test,
            frame_size: self.size.bytes(),
            ports: self.ports,
            line_rate: port.line_rate,
            line_rate_is_physical: port.line_rate_is_physical,
            theoretical_max: self.theoretical_max(),
            burst_frames: self.config.burst_frames,
            addresses_per_port: self.config.chassis.addresses_per_port,
            frame_format: self.frame_format(test),
            trial_duration,
            traffic: self.traffic.departures_in_words(),
            modifier: Some(self.traffic.modifier()).filter(|with| *with != crate::Modifier::None),
            tester_max: self.tester.map(|tester| tester.rate),
        }
    }

    /// The first test frame in words: to a group in the tests of RFC 3918, to the second port elsewhere.
    fn frame_format(&self, test: ChassisTest) -> String {
        let signature = (Key::from_seed(0), StreamId(0));
        let bytes = if ChassisTest::RFC3918.contains(&test) {
            let version = self.config.chassis.multicast.version;
            let template = version.template(self.port(0), 0);
            let signature = (signature.0, signature.1.0);
            template.prepare(self.size, Some(signature)).ok().map(|prepared| prepared.frame(0))
        } else {
            let to = (self.ports > 1).then_some(1);
            let frames = self.frames(0, to, signature).ok();
            frames.and_then(|frames| frames.into_iter().next()).map(|frame| frame.bytes)
        };
        bytes.map_or_else(String::new, |bytes| summarize(&bytes).to_string())
    }

    /// Address number `number` of a port; number 0 is its own.
    pub(crate) fn address(&self, port: usize, number: u64) -> MacAddr {
        match number {
            0 => self.port(port).mac,
            _ => {
                let own = port as u64 * ADDRESSES_OF_PORT / 256;
                let number = number.wrapping_mul(self.config.chassis.address_step)
                    % (ADDRESSES_OF_PORT / 256);
                MacAddr::from_u64(FURTHER_ADDRESSES + own + number)
            }
        }
    }

    /// Signed frames of one pair of ports, or to all: between addresses that, where a port has several, are
    /// drawn at random (RFC 2889 section 5.1.3).
    pub(crate) fn frames(
        &self,
        from: usize,
        to: Option<usize>,
        (key, id): (Key, StreamId),
    ) -> Result<Vec<StreamFrame>, RunError> {
        let addresses = self.config.chassis.addresses_per_port;
        let drawn = |port: usize, what: u64| {
            let seed = sub_seed(self.config.seed, (from as u64) << 32 | (what << 16));
            let address = |index| self.address(port, sub_seed(seed, index) % addresses).to_u64();
            Pattern::List((0..DISTINCT_FRAMES).map(address).collect())
        };
        let of_many = |template: FrameTemplate, field, port, what| match addresses {
            1 => template,
            _ => template.modifier(Modifier::new(field, drawn(port, what))),
        };
        let change = |template| {
            let template = of_many(template, Field::EthSrc, from, 0);
            let Some(to) = to else {
                let all = Pattern::List(vec![MacAddr::BROADCAST.to_u64()]);
                return template.modifier(Modifier::new(Field::EthDst, all));
            };
            of_many(template, Field::EthDst, to, 1 + to as u64)
        };
        Ok(self.traffic.frames_between((from, to.unwrap_or(from)), (key, id.0), &change)?)
    }

    /// Signed frames from one port to another, one for each of so many further addresses of `owner`, which
    /// stand in this field.
    pub(crate) fn frames_of_addresses(
        &self,
        path: (usize, usize),
        (field, owner, addresses): (Field, usize, u64),
        (key, id): (Key, StreamId),
    ) -> Result<Vec<StreamFrame>, RunError> {
        let all = (1..=addresses).map(|number| self.address(owner, number).to_u64()).collect();
        let list = Modifier::new(field, Pattern::List(all));
        let template = self.traffic.template_between(path).modifier(list);
        let prepared = template.prepare(self.size, Some((key, id.0)))?;
        let frame = |n| StreamFrame { bytes: prepared.frame(n), form: prepared.form() };
        Ok((0..addresses).map(frame).collect())
    }

    pub(crate) fn fingerprint(&self, from: usize) -> Fingerprint {
        self.traffic.fingerprint_of(self.port(from))
    }

    /// Runs a trial made by `build`; one in which the tester fell short is repeated.
    pub(crate) fn run(
        &self,
        bench: &mut Bench<'_>,
        test: ChassisTest,
        label: &str,
        intended: FrameRate,
        build: &dyn Fn(&mut Draft) -> Result<(), RunError>,
    ) -> Result<Ran, RunError> {
        let is_constant = self.config.burst_frames == 1;
        let check = |result: &TrialResult| out_of_step(result, is_constant);
        self.run_checked(bench, test, (label, intended, self.waits()), &check, build)
    }

    pub(crate) fn run_with(
        &self,
        bench: &mut Bench<'_>,
        test: ChassisTest,
        label: &str,
        intended: FrameRate,
        waits: Waits,
        build: &dyn Fn(&mut Draft) -> Result<(), RunError>,
    ) -> Result<Ran, RunError> {
        self.run_checked(bench, test, (label, intended, waits), &|_| None, build)
    }

    /// The same of a trial that may decide nothing though the tester kept up.
    pub(crate) fn run_checked(
        &self,
        bench: &mut Bench<'_>,
        test: ChassisTest,
        (label, intended, waits): (&str, FrameRate, Waits),
        check: &dyn Fn(&TrialResult) -> Option<InvalidReason>,
        build: &dyn Fn(&mut Draft) -> Result<(), RunError>,
    ) -> Result<Ran, RunError> {
        bench.run_asked(&Asked {
            test: TestKind::Chassis(test),
            frame_size: self.traffic.frame_size(),
            intended,
            bounds: None,
            check,
            build: &|key| {
                let mut draft = Draft::new(key);
                build(&mut draft)?;
                Ok(draft.into_trial(self, label, waits))
            },
            judge: &measured,
        })
    }
}

/// Ports that did not send at the same time, or not at the intended rate, offered another load than
/// the pattern's: "all ports start within 1 % of the trial duration" (RFC 2889 appendix B.2).
fn out_of_step(result: &TrialResult, is_constant: bool) -> Option<InvalidReason> {
    let intended = |sent: &PortSent| sent.intended_rate.departure(sent.report.intended_frames);
    let duration = result.sent.iter().map(intended).max()?;
    let skew = result.start_skew();
    if skew.as_secs_f64() > MOST_SKEW * duration.as_secs_f64() {
        return Some(InvalidReason::StartSkew { skew });
    }
    let (offered, intended) = (result.offered_rate(), result.intended_rate());
    let too_fast = offered.fps() > intended.fps() * (1.0 + MOST_SKEW);
    (is_constant && too_fast).then_some(InvalidReason::TooFast { intended, offered })
}

const MOST_SKEW: f64 = 0.01;

impl Draft {
    fn new(key: Key) -> Self {
        let (streams, sent, prelude) = (vec![], vec![], vec![]);
        Draft { key, streams, sent, prelude, tagging: None, count_flows: false, shortfall: 0.0 }
    }

    /// One more stream of any kind.
    pub(crate) fn add(&mut self, stream: Stream) -> StreamId {
        self.streams.push(stream);
        self.streams[self.streams.len() - 1].id
    }

    /// The stream just made may come out anywhere or nowhere.
    pub(crate) fn unchecked(&mut self) {
        if let Some(stream) = self.streams.last_mut() {
            stream.expect = Expectation::Unchecked;
        }
    }

    /// The result is stated from what was offered, and counts where that is less than intended by no more than this
    /// share.
    pub(crate) fn may_offer_less(&mut self, share: f64) {
        self.shortfall = share;
    }

    /// The latency of these frames is kept one by one.
    pub(crate) fn tag(&mut self, tagging: Tagging) {
        self.tagging = Some(tagging);
    }

    /// Each frame of a stream's period is counted as a flow of its own.
    pub(crate) fn count_flows(&mut self) {
        self.count_flows = true;
    }

    pub(crate) fn key(&self) -> Key {
        self.key
    }

    /// The number of the next stream.
    pub(crate) fn next_id(&self) -> StreamId {
        StreamId(self.streams.len() as u16 + 1)
    }

    /// One more stream, of frames signed for [`next_id`](Self::next_id).
    pub(crate) fn stream(
        &mut self,
        rack: &TestSetup<'_>,
        from: usize,
        to: &[usize],
        frames: Vec<StreamFrame>,
    ) -> StreamId {
        let id = self.next_id();
        let ports: Vec<PortId> = to.iter().map(|to| rack.port(*to).port).collect();
        let to: Vec<String> = ports.iter().map(|port| port.0.to_string()).collect();
        self.streams.push(Stream {
            id,
            name: format!("{} to {}", rack.port(from).port.0, to.join(",")),
            role: Role::Test,
            from: rack.port(from).port,
            expect: Expectation::Ports(ports),
            frames,
            fingerprint: Some(rack.fingerprint(from)),
            given_up: vec![],
            bad_fcs: false,
            grows_by_bytes: 0,
        });
        id
    }

    /// The stream just made leaves with a bad FCS.
    pub(crate) fn with_bad_fcs(&mut self) {
        if let Some(stream) = self.streams.last_mut() {
            stream.bad_fcs = true;
        }
    }

    /// The stream just made has frames of no use as test frames: counted, but no loss.
    pub(crate) fn as_modifier(&mut self) {
        if let Some(stream) = self.streams.last_mut() {
            stream.role = Role::Modifier;
        }
    }

    /// A port sends these streams in turn.
    pub(crate) fn send(&mut self, from: usize, schedule: Schedule, order: Vec<StreamId>) {
        self.sent.push(Sent { from, schedule, order, insertions: vec![] });
    }

    /// Frames of the modifier take the place of some that the port just named sends (RFC 2544 section 11).
    pub(crate) fn modify(&mut self, rack: &TestSetup<'_>) -> Result<(), RunError> {
        let Some(from) = self.sent.last().map(|sent| sent.from) else { return Ok(()) };
        let to = (from + 1) % rack.ports;
        let next_hop = match rack.chassis.forwarding {
            Forwarding::Routed => rack.port(from).device_mac,
            _ => rack.port(to).mac,
        };
        let of_stream = (self.key(), self.next_id());
        let modifier = modifiers::stream(rack.traffic, (rack.port(from), next_hop), of_stream)?;
        if let (Some((stream, insertion)), Some(sent)) = (modifier, self.sent.last_mut()) {
            sent.insertions.push(insertion);
            self.streams.push(stream);
        }
        Ok(())
    }

    /// A port's whole turn of destinations.
    pub(crate) fn turn(
        &mut self,
        rack: &TestSetup<'_>,
        turn: &Turn,
        schedule: Schedule,
    ) -> Result<(), RunError> {
        let mut order = vec![];
        for to in &turn.to {
            let one = if let [one] = to[..] { Some(one) } else { None };
            let frames = rack.frames(turn.from, one, (self.key(), self.next_id()))?;
            order.push(self.stream(rack, turn.from, to, frames));
        }
        self.send(turn.from, schedule, order);
        self.modify(rack)
    }

    /// Every address of every port makes itself known, slowly, before anything else is sent
    /// (RFC 2889 section 3).
    pub(crate) fn learn_all(&mut self, rack: &TestSetup<'_>) {
        for port in 0..rack.ports {
            self.learn(rack, port, rack.config.chassis.addresses_per_port);
        }
        let wait = Duration::from_secs_f64(rack.config.trial.learning_wait_s);
        if let Some(last) = self.prelude.last_mut() {
            last.wait = last.wait.max(wait);
        }
    }

    /// So many addresses of a port make themselves known.
    pub(crate) fn learn(&mut self, rack: &TestSetup<'_>, port: usize, addresses: u64) {
        let wait = Duration::from_secs_f64(rack.config.chassis.learning_interval_s);
        for number in 0..addresses {
            let frames = vec![rack.traffic.tagged(learning::bridge(rack.address(port, number)))];
            self.prelude.push(Prelude { port: rack.port(port).port, frames, wait });
        }
    }

    /// These frames leave a port before anything else, as fast as they can.
    pub(crate) fn say(
        &mut self,
        rack: &TestSetup<'_>,
        port: usize,
        frames: Vec<Vec<u8>>,
        wait: Duration,
    ) {
        self.prelude.push(Prelude { port: rack.port(port).port, frames, wait });
    }

    fn into_trial(self, rack: &TestSetup<'_>, label: &str, waits: Waits) -> Trial {
        let load = |sent: Sent| PortLoad {
            port: rack.port(sent.from).port,
            schedule: sent.schedule,
            order: sent.order,
            insertions: sent.insertions,
        };
        let limits = rack.config.trial.limits;
        Trial {
            label: label.into(),
            key: self.key,
            streams: self.streams,
            loads: self.sent.into_iter().map(load).collect(),
            prelude: self.prelude,
            waits,
            tagging: self.tagging,
            count_flows: self.count_flows,
            verify_payload: rack.config.trial.verify_checksums,
            action: None,
            captures: vec![],
            limits: ValidityLimits { shortfall: limits.shortfall.max(self.shortfall), ..limits },
        }
    }
}
