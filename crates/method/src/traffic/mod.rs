//! What a test sends: from the user's choice of traffic and the device's addresses to streams.

mod config;
mod flows;
mod paths;
mod refusal;
mod replay;
mod topology;
mod updates;

pub use config::{Destinations, IPV6_PREFIXES, TrafficConfig};
pub use flows::{Flows, Vary};
use paths::Path;
use replay::Replay;
pub use replay::Rewrites;
pub use topology::{Attachment, Forwarding, Topology};

use crate::encapsulation::{self, Encapsulated};
use crate::ipv6_traffic::{self, VersionMix};
use crate::modifiers;
use crate::protocol::Protocol;
use crate::{Direction, Modifier, Pattern, RunError, SuiteConfig, Turn};
use trial::{
    DeviceAction, Expectation, Fingerprint, InvalidReason, PortLoad, Prelude, Role, Schedule,
    Stream, StreamFrame, StreamId, Tagging, Trial, TrialResult, ValidityLimits, Waits,
};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::decode::summarize;
use wire::ethernet::MacAddr;
use wire::keepalive;
use wire::modifier::{self as vary, Field, Ipv6Bits, sub_seed};
use wire::signature::{Form, Key};
use wire::size::SizePattern;
use wire::template::{BuildError, FrameTemplate};

/// What a trial adds to the traffic.
#[derive(Clone, Debug)]
pub struct TrialShape {
    /// In words; part of the trial's identity.
    pub label: String,
    /// Of each transmitting port.
    pub schedule: Schedule,
    /// After sending.
    pub waits: Waits,
    /// Frames whose latency is kept one by one.
    pub tags: Option<Tags>,
    /// Something done to the device.
    pub action: Option<(Duration, DeviceAction)>,
    /// Of the ports of the traffic beside, where they send at another pace.
    pub beside: Option<Schedule>,
}

/// Frames of one test stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tags {
    /// Which stream, from 0.
    pub stream: usize,
    /// The first of its frames.
    pub first: u64,
    /// From one of them to the next.
    pub every: u64,
    /// How many.
    pub count: u64,
}

/// Number of the stream from the first port to the second; the other way is one more.
pub(crate) const FORWARD: StreamId = StreamId(1);
/// Frames of a keep-alive of several leave at this rate.
const KEEP_ALIVE_FPS: u64 = 1_000;

/// The traffic of one test at one frame size.
#[derive(Clone, Debug)]
pub struct Traffic {
    config: TrafficConfig,
    topology: Topology,
    size: SizePattern,
    direction: Direction,
    pattern: Pattern,
    /// The pattern's turns of these ports.
    turns: Vec<Turn>,
    modifier: Modifier,
    seed: u64,
    learning_wait: Duration,
    routing_wait: Duration,
    limits: ValidityLimits,
    verify_checksums: bool,
    first_stream: StreamId,
    /// Sent at the same time through other ports of the device.
    beside: Option<Box<Traffic>>,
    keep_alives: bool,
    /// Captured frames in place of built ones.
    replay: Option<Replay>,
    /// Said to the device before each trial, beside the learning frames.
    announced: Vec<Prelude>,
}

impl Traffic {
    /// The traffic of `suite` at one size; refuses what cannot be built.
    pub fn new(
        suite: &SuiteConfig,
        topology: &Topology,
        size: &SizePattern,
        modifier: Modifier,
    ) -> Result<Traffic, RunError> {
        let traffic = Traffic {
            config: suite.traffic.clone(),
            topology: topology.clone(),
            size: size.clone(),
            direction: suite.direction,
            pattern: suite.pattern,
            turns: paths::turns(suite, topology)?,
            modifier,
            seed: suite.seed,
            learning_wait: Duration::from_secs_f64(suite.trial.learning_wait_s),
            routing_wait: Duration::from_secs_f64(suite.trial.routing_wait_s),
            limits: suite.trial.limits,
            verify_checksums: suite.trial.verify_checksums,
            first_stream: FORWARD,
            beside: None,
            keep_alives: suite.trial.keep_alives,
            replay: None,
            announced: vec![],
        };
        traffic.check()?;
        traffic.streams(Key::from_seed(0))?;
        Ok(traffic)
    }

    /// The same with its streams numbered from `first` on.
    pub(crate) fn numbered(self, first: StreamId) -> Traffic {
        Traffic { first_stream: first, ..self }
    }

    /// The same with `other`, of the same sizes, sent at the same time through other ports.
    pub(crate) fn beside(mut self, mut other: Traffic) -> Traffic {
        other.first_stream = StreamId(FORWARD.0 + self.streams_of_test() as u16);
        self.beside = Some(Box::new(other));
        self
    }

    /// As it was asked for: `64`, or the name of an IMIX.
    pub fn frame_size(&self) -> String {
        if self.replay.is_some() {
            let smallest = self.size.sizes().min().unwrap_or(FrameSize::MIN_ETHERNET);
            return format!("{} to {}", smallest.bytes(), self.size.largest().bytes());
        }
        String::from(self.size.clone())
    }
    /// The smallest and the largest frame that the protocols of `suite` allow between these ports.
    pub fn frame_limits(suite: &SuiteConfig, topology: &Topology) -> (FrameSize, FrameSize) {
        let protocols = suite.traffic.protocols();
        let templates =
            protocols.iter().map(|kind| suite.traffic.template(*kind, topology, (0, 1)));
        let limits = templates.map(|template| (template.min_size(), template.max_size()));
        let kind = topology.encapsulated.as_ref().map(|encapsulated| encapsulated.kind);
        let least = kind.map_or(FrameSize::MIN_ETHERNET, |kind| {
            FrameSize::from_bytes(encapsulation::smallest_native_bytes(kind))
        });
        limits.fold((least, FrameSize::from_bytes(65_535)), |all, one| {
            (all.0.max(one.0), all.1.min(one.1))
        })
    }
    /// The sizes.
    pub fn size(&self) -> &SizePattern {
        &self.size
    }
    /// To whom frames go.
    pub(crate) fn destinations(&self) -> Destinations {
        self.config.destinations
    }
    /// Which ports send.
    pub fn direction(&self) -> Direction {
        self.direction
    }
    /// What is mixed in.
    pub fn modifier(&self) -> Modifier {
        self.modifier
    }
    /// The sending ports.
    pub fn senders(&self) -> Vec<&Attachment> {
        let mut senders: Vec<_> = self.own_senders().collect();
        senders.extend(self.beside.iter().flat_map(|beside| beside.senders()));
        senders
    }
    /// Protocol and stream format, in words.
    pub fn describe(&self) -> String {
        if let Some(replay) = &self.replay {
            return replay.describe();
        }
        let config = &self.config;
        let mut words = vec![self.protocol_in_words()];
        words.push(match (config.destinations, self.topology.forwarding) {
            (Destinations::One, _) if self.pattern.is_pair() => "one address pair".into(),
            (Destinations::One, _) => "one address pair a stream".into(),
            (Destinations::Random | Destinations::Both, Forwarding::Routed) => {
                let of =
                    self.config.ipv6_prefixes.first().map(|length| format!(" (IPv6: /{length})"));
                format!("random over {} networks{}", self.hosts_known(), of.unwrap_or_default())
            }
            (Destinations::Random | Destinations::Both, _) => {
                "random destination MAC addresses".into()
            }
        });
        if let Some(flows) = &config.flows {
            let vary: Vec<String> = flows.vary.iter().map(ToString::to_string).collect();
            words.push(format!("{} flows by {}", flows.count, vary.join(" and ")));
        }
        words.extend(self.updates_in_words());
        words.extend(self.options_in_words());
        words.extend(self.pattern_in_words());
        if let Some(Encapsulated { kind, .. }) = &self.topology.encapsulated {
            let grows = kind.grows_by_bytes();
            words.push(format!("{kind} behind the second port ({grows:+} bytes a frame)"));
        }
        words.join(", ")
    }

    fn protocol_in_words(&self) -> String {
        match self.config.ipv6_percent {
            None => self.config.protocol.name().to_string(),
            Some(percent) => {
                format!("UDP over IPv4 and IPv6, {} to {percent} frames", 100 - percent)
            }
        }
    }

    /// What is not as it is where nothing is said.
    pub(crate) fn departures_in_words(&self) -> Vec<String> {
        let config = &self.config;
        let is_usual = config.ipv6_percent.is_none() && config.protocol == Protocol::default();
        let protocol = (!is_usual).then(|| self.protocol_in_words());
        protocol.into_iter().chain(self.options_in_words()).collect()
    }

    fn options_in_words(&self) -> Vec<String> {
        let (config, mut words) = (&self.config, vec![]);
        let mut add = |on: bool, what: &str| words.extend(on.then(|| what.to_string()));
        add(config.random_ports, "random ports (RFC 4814)");
        add(config.random_macs, "random source MAC addresses (RFC 4814)");
        let headers: Vec<_> = config.extension_headers.iter().map(|header| header.name()).collect();
        add(!headers.is_empty(), &format!("IPv6 extension headers: {}", headers.join(" + ")));
        let vlans: Vec<String> = config.vlans.iter().map(u16::to_string).collect();
        add(!vlans.is_empty(), &format!("VLAN {}", vlans.join(" in ")));
        words
    }
    /// Whether every router has to look into each frame, so that nothing but an observation is asked
    /// for.
    pub(crate) fn is_observation(&self) -> bool {
        ipv6_traffic::is_observation(&self.config.extension_headers)
    }
    /// Packet filters on the device, in words.
    pub fn filters(&self) -> &str {
        &self.config.filters
    }
    /// What frames of this size cannot measure.
    pub fn given_up(&self) -> Vec<String> {
        if self.replay.is_some() {
            return vec![];
        }
        let mut given_up: Vec<String> = vec![];
        for size in self.size.sizes() {
            for what in self.templates(0).iter().flat_map(|template| template.given_up(size)) {
                if !given_up.iter().any(|known| known == what) {
                    given_up.push(what.to_string());
                }
            }
        }
        given_up
    }
    /// Whether frames of every size have room for the time of their departure.
    pub(crate) fn has_transmit_times(&self) -> bool {
        let templates = self.templates(0);
        let form = |size| templates.iter().map(move |template| template.form_for(size));
        self.size.sizes().flat_map(form).all(|form| form.is_some_and(|f| f != Form::Compact))
    }
    /// The medium's maximum for this size, mixes included: rate / ((N + 20) x 8) on average
    /// (RFC 2544 section 20).
    pub fn theoretical_max(&self, line: LineRate) -> FrameRate {
        let longest = |size: FrameSize| FrameSize::from_bytes(self.longest_bytes(size));
        let on_medium = |size| u64::from(longest(size).bytes_on_medium()) * 8;
        let bits: u64 = self.size.sizes().map(on_medium).sum();
        FrameRate::new(line.bps() * self.size.period(), bits)
    }

    /// What a frame takes where it is longest: at the second port, if a tunnel begins there.
    pub(crate) fn longest_bytes(&self, size: FrameSize) -> u32 {
        let kind = self.topology.encapsulated.as_ref().map(|encapsulated| encapsulated.kind);
        kind.map_or(size.bytes(), |kind| kind.longest_bytes(size.bytes()))
    }
    /// By how many bytes a sender's frames are longer when they arrive than they were sent.
    /// What a frame that the first port sends measures as it arrives at the second.
    pub(crate) fn size_received(&self, sent: FrameSize) -> FrameSize {
        FrameSize::from_bytes(sent.bytes().saturating_add_signed(self.grows_by_bytes(0)))
    }
    fn grows_by_bytes(&self, index: usize) -> i32 {
        let grows = self.topology.encapsulated.as_ref().map_or(0, |e| e.kind.grows_by_bytes());
        if index == 0 { grows } else { -grows }
    }
    /// Whether a device that encapsulates or translates has let frames come out of another size than
    /// that makes them: then the trial says nothing of it.
    pub(crate) fn misshapen(&self, result: &TrialResult) -> Option<InvalidReason> {
        let encapsulated = self.topology.encapsulated.as_ref()?;
        let wrong: u64 = result.expected_accounts().map(|r| r.account.wrong_length).sum();
        (wrong > 0).then(|| InvalidReason::Other {
            what: format!(
                "{wrong} frames came out with another size than {} makes them",
                encapsulated.kind
            ),
        })
    }

    /// A whole trial.
    pub(crate) fn trial(&self, key: Key, shape: &TrialShape) -> Result<Trial, RunError> {
        let mut streams = self.streams(key)?;
        let mut loads = vec![];
        for (index, (first, own)) in self.streams_by_sender().into_iter().enumerate() {
            let from = (self.from(first), self.next_hop(first));
            let modifier = modifiers::stream(self, from, (key, self.modifier_id(index)))?;
            let updates = self.updates_among(self.path(first).from, &shape.schedule);
            let mut insertions = vec![];
            for (stream, insertion) in modifier.into_iter().chain(updates) {
                streams.push(stream);
                insertions.push(insertion);
            }
            loads.push(PortLoad {
                port: self.from(first).port,
                schedule: shape.schedule.clone(),
                order: (first..first + own).map(|stream| self.stream_id(stream)).collect(),
                insertions,
            });
        }
        for (stream, load) in self.said_again(&shape.schedule) {
            streams.push(stream);
            loads.push(load);
        }
        let tagging = |Tags { stream, first, every, count }| {
            let stream = self.stream_id(stream);
            Tagging { stream, first, every, count }
        };
        let trial = Trial {
            label: shape.label.clone(),
            key,
            streams,
            loads,
            prelude: self.prelude(),
            waits: shape.waits,
            tagging: shape.tags.map(tagging),
            count_flows: false,
            verify_payload: self.verify_checksums,
            action: shape.action.clone(),
            captures: vec![],
            limits: self.limits,
        };
        match &self.beside {
            Some(beside) => beside.join(trial, key, shape),
            None => Ok(trial),
        }
    }

    /// Adds this traffic to the trial of another.
    fn join(&self, mut trial: Trial, key: Key, shape: &TrialShape) -> Result<Trial, RunError> {
        let schedule = shape.beside.as_ref().unwrap_or(&shape.schedule).clone();
        let own = self.trial(key, &TrialShape { schedule, ..shape.clone() })?;
        trial.streams.extend(own.streams);
        trial.loads.extend(own.loads);
        trial.prelude.extend(own.prelude);
        Ok(trial)
    }

    pub(crate) fn stream_id(&self, index: usize) -> StreamId {
        StreamId(self.first_stream.0 + index as u16)
    }

    /// The test streams: for each sending port one to each port that it sends to.
    fn streams(&self, key: Key) -> Result<Vec<Stream>, RunError> {
        (0..self.streams_of_test()).map(|index| self.stream(index, key)).collect()
    }

    fn stream(&self, index: usize, key: Key) -> Result<Stream, RunError> {
        self.stream_as(index, key, self.stream_id(index))
    }

    /// A sender's stream by another number, for trials with streams of several traffics.
    pub(crate) fn stream_as(
        &self,
        index: usize,
        key: Key,
        id: StreamId,
    ) -> Result<Stream, RunError> {
        Ok(Stream {
            id,
            name: self.stream_name(index),
            role: Role::Test,
            from: self.from(index).port,
            expect: Expectation::Ports(vec![self.to(index).port]),
            frames: self.test_frames(index, (key, id.0))?,
            fingerprint: self.replay.is_none().then(|| self.fingerprint(index)),
            given_up: self.given_up(),
            bad_fcs: false,
            grows_by_bytes: self.grows_by_bytes(index),
        })
    }

    /// One period of a sender's frames. Where both versions of IP take turns, each has every size.
    fn test_frames(
        &self,
        index: usize,
        signature: (Key, u16),
    ) -> Result<Vec<StreamFrame>, BuildError> {
        if let Some(replay) = &self.replay {
            return Ok(self.replayed(replay, index, signature));
        }
        let templates = self.templates(index);
        let frames = templates.iter().map(|template| self.frames_of(template, signature, index));
        Ok(self.mixed(frames.collect::<Result<_, _>>()?))
    }

    /// The frames of each protocol, in turn where there are two.
    fn mixed(&self, frames: Vec<Vec<StreamFrame>>) -> Vec<StreamFrame> {
        let (Some(percent), [ipv4, ipv6]) = (self.config.ipv6_percent, &frames[..]) else {
            return frames.into_iter().next().unwrap_or_default();
        };
        let (mix, sizes) = (VersionMix::new(percent), self.size.period());
        let rounds = ipv4.len().max(ipv6.len()) as u64 / sizes;
        let frame = |at: u64| {
            let of = if mix.is_ipv6(at / sizes) { ipv6 } else { ipv4 };
            of[at as usize % of.len()].clone()
        };
        (0..rounds.next_multiple_of(mix.period()) * sizes).map(frame).collect()
    }

    /// One period of a sender's template, as it looks at that sender's port.
    fn frames_of(
        &self,
        template: &FrameTemplate,
        signature: (Key, u16),
        index: usize,
    ) -> Result<Vec<StreamFrame>, BuildError> {
        let behind = self.topology.encapsulated.as_ref().filter(|_| index == 1);
        // What is translated has its native size at the first port; what is wrapped has it within.
        let grows = behind.map_or(0, |encapsulated| encapsulated.kind.grows_by_bytes().min(0));
        let mut frames = self.frames_longer_by(grows, template, Some(signature))?;
        if let Some(encapsulated) = behind {
            for frame in &mut frames {
                frame.bytes = encapsulated.wrap(std::mem::take(&mut frame.bytes));
            }
        }
        Ok(frames)
    }

    /// One period of a template: as many frames as its modifiers and the sizes make different,
    /// and where anything is random no more than configured.
    pub(crate) fn frames(
        &self,
        template: &FrameTemplate,
        signature: Option<(Key, u16)>,
    ) -> Result<Vec<StreamFrame>, BuildError> {
        self.frames_longer_by(0, template, signature)
    }

    fn frames_longer_by(
        &self,
        bytes: i32,
        template: &FrameTemplate,
        signature: Option<(Key, u16)>,
    ) -> Result<Vec<StreamFrame>, BuildError> {
        let mut prepared = std::collections::BTreeMap::new();
        for size in self.size.sizes() {
            let built = FrameSize::from_bytes(size.bytes().saturating_add_signed(bytes));
            prepared.insert(size, template.prepare(built, signature)?);
        }
        let sizes = self.size.period();
        let varied = template.period().min(self.config.distinct_frames.max(1));
        // A mix keeps its proportions: whole periods of it only.
        let frames = match self.config.flows {
            Some(_) => self.ready_frames(template.period()),
            None if varied > 1 => varied.div_ceil(sizes) * sizes,
            None => sizes,
        };
        let frame = |index| {
            let prepared = &prepared[&self.size.size_at(index)];
            StreamFrame { bytes: prepared.frame(index), form: prepared.form() }
        };
        Ok((0..frames).map(frame).collect())
    }

    /// The ports and the device.
    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }
    pub(crate) fn forwarding(&self) -> Forwarding {
        self.topology.forwarding
    }
    pub(crate) fn protocol(&self) -> Protocol {
        self.config.protocol
    }
    /// The forward frames as they are without anything random.
    pub(crate) fn plain_template(&self) -> FrameTemplate {
        let Path { from, to } = self.path(0);
        self.config.template(self.config.protocol, &self.topology, (from, to))
    }
    /// To which MAC address a stream's frames go.
    pub(crate) fn next_hop(&self, index: usize) -> MacAddr {
        match self.topology.forwarding {
            Forwarding::Routed => self.from(index).device_mac,
            Forwarding::Bridged | Forwarding::Looped => self.to(index).mac,
        }
    }

    /// Of each protocol that a stream's frames are made of.
    fn templates(&self, index: usize) -> Vec<FrameTemplate> {
        self.templates_of(index, self.path(index))
    }

    fn templates_of(&self, index: usize, path: Path) -> Vec<FrameTemplate> {
        let template = |protocol| {
            let protocol = self.protocol_at(index, protocol);
            let plain = self.config.template(protocol, &self.topology, (path.from, path.to));
            let is_translated = protocol != self.config.protocol && index == 1;
            let plain = if is_translated { plain.unfragmentable() } else { plain };
            self.vary(plain, protocol, (index, path))
        };
        self.config.protocols().into_iter().map(template).collect()
    }

    /// A frame from a port to another, whatever the pattern.
    pub(crate) fn template_between(&self, (from, to): (usize, usize)) -> FrameTemplate {
        let index = from * self.topology.ports.len() + to;
        let plain = self.config.template(self.config.protocol, &self.topology, (from, to));
        self.with_random_ports(plain, index)
    }

    /// The frames from a port to another, whatever the pattern, changed as a test needs them.
    pub(crate) fn frames_between(
        &self,
        (from, to): (usize, usize),
        signature: (Key, u16),
        change: &dyn Fn(FrameTemplate) -> FrameTemplate,
    ) -> Result<Vec<StreamFrame>, BuildError> {
        let index = from * self.topology.ports.len() + to;
        let templates = self.templates_of(index, Path { from, to }).into_iter();
        let frames = templates.map(|template| self.frames(&change(template), Some(signature)));
        Ok(self.mixed(frames.collect::<Result<_, _>>()?))
    }

    /// The first frame of each kind and direction, header by header: addresses, ports, TTL (RFC 2544 section
    /// 8). Streams of more than one pair of ports are like the first, between other addresses.
    pub(crate) fn formats(&self) -> Vec<String> {
        if self.replay.is_some() {
            return vec!["frames of a capture".into()];
        }
        let streams = 0..if self.pattern.is_pair() { self.streams_of_test() } else { 1 };
        let templates = streams.flat_map(|index| self.templates(index));
        let frames = templates.filter_map(|template| {
            let prepared = template.prepare(self.size.size_at(0), None).ok()?;
            Some(summarize(&prepared.frame(0)).to_string())
        });
        frames.collect()
    }

    /// Adds what changes from frame to frame.
    fn vary(
        &self,
        template: FrameTemplate,
        protocol: Protocol,
        (index, path): (usize, Path),
    ) -> FrameTemplate {
        let count = self.config.distinct_frames.max(1);
        let seed = |purpose: u64| sub_seed(self.seed, 16 * index as u64 + purpose);
        let port = self.topology.ports[path.from].port.0 + 1;
        let mut template = match protocol.is_ip() {
            true => self.with_random_ports(template, index),
            false => template,
        };
        if self.config.random_macs {
            let macs = vary::Modifier::random_macs(Field::EthSrc, seed(3), port, count);
            template = template.modifier(macs);
        }
        template = self.vary_flows(template, protocol, (index, path));
        if self.config.destinations == Destinations::Random {
            for modifier in self.random_destinations(path, protocol, (seed(4), count)) {
                template = template.modifier(modifier);
            }
        }
        template
    }

    /// With UDP ports at random, where that is asked for (RFC 4814 section 4.5).
    pub(crate) fn with_random_ports(&self, template: FrameTemplate, index: usize) -> FrameTemplate {
        if !self.config.random_ports {
            return template;
        }
        let seed = sub_seed(self.seed, 16 * index as u64);
        let modifiers = vary::Modifier::random_udp_ports(seed, self.config.distinct_frames.max(1));
        modifiers.into_iter().fold(template, FrameTemplate::modifier)
    }

    fn random_destinations(
        &self,
        path: Path,
        protocol: Protocol,
        (seed, count): (u64, u64),
    ) -> Vec<vary::Modifier> {
        use vary::Modifier;
        if self.topology.forwarding != Forwarding::Routed {
            let port = self.topology.ports[path.to].port.0 + 1;
            return vec![Modifier::random_macs(Field::EthDst, seed, port, count)];
        }
        let hosts = self.hosts(protocol, &self.topology.ports[path.to]);
        let draw = |i: u64| hosts[(sub_seed(seed, i) % hosts.len() as u64) as usize];
        let list =
            |part: fn(u128) -> u64| vary::Pattern::List((0..count).map(draw).map(part).collect());
        match protocol {
            Protocol::UdpIpv4 => vec![Modifier::new(Field::Ipv4Dst, list(|host| host as u64))],
            _ => vec![
                Modifier::new(
                    Field::Ipv6Dst(Ipv6Bits { lowest: 64, count: 64 }),
                    list(|host| (host >> 64) as u64),
                ),
                Modifier::new(Field::Ipv6Dst(Ipv6Bits::LOW_64), list(|host| host as u64)),
            ],
        }
    }

    /// Destination networks that every protocol has, behind every port that receives.
    fn hosts_known(&self) -> usize {
        let receivers = self.receivers();
        let known = |protocol| {
            receivers.iter().map(move |port| self.hosts(protocol, port).len()).collect::<Vec<_>>()
        };
        self.config.protocols().into_iter().flat_map(known).min().unwrap_or(0)
    }

    /// A host in each destination network behind a port, as numbers.
    fn hosts(&self, protocol: Protocol, port: &Attachment) -> Vec<u128> {
        match protocol {
            Protocol::UdpIpv6 => {
                let hosts = match self.config.ipv6_prefixes.first() {
                    None | Some(64) => &port.network_hosts_ipv6[..],
                    Some(length) => {
                        port.prefix_hosts_ipv6.get(length).map_or(&[][..], |hosts| hosts)
                    }
                };
                hosts.iter().map(|a| a.to_bits()).collect()
            }
            _ => port.network_hosts_ipv4.iter().map(|a| a.to_bits().into()).collect(),
        }
    }

    /// What frames are made of at a port: behind a translator it is another protocol.
    fn protocol_at(&self, index: usize, protocol: Protocol) -> Protocol {
        match &self.topology.encapsulated {
            Some(encapsulated) if index == 1 => encapsulated.kind.protocol_behind(protocol),
            _ => protocol,
        }
    }

    /// The same of a port between which and the others nothing is encapsulated.
    pub(crate) fn fingerprint_of(&self, port: &Attachment) -> Fingerprint {
        let untagged = self.config.protocol.fingerprint(port);
        let tags = 4 * self.config.vlans.len() as u16;
        Fingerprint { offset_bytes: untagged.offset_bytes + tags, ..untagged }
    }

    /// A frame with the tags of test frames: of what a host says in the same VLAN.
    pub(crate) fn tagged(&self, frame: Vec<u8>) -> Vec<u8> {
        wire::vlan::tag(frame, &self.config.vlans)
    }

    /// Our source address as it arrives: no frame of the device's own bears it.
    fn fingerprint(&self, index: usize) -> Fingerprint {
        let tags = 4 * self.config.vlans.len() as u16;
        let arrives_as = match &self.topology.encapsulated {
            Some(_) => self.protocol_at(1 - index, self.config.protocol),
            None => self.config.protocol,
        };
        let untagged = arrives_as.fingerprint(self.from(index));
        let tunnel = self.topology.encapsulated.as_ref().filter(|_| index == 0);
        let shift = tunnel.map_or(0, |encapsulated| encapsulated.shift_bytes());
        Fingerprint { offset_bytes: untagged.offset_bytes + tags + shift, ..untagged }
    }

    /// The tester as the device knows it at a port: outside of any tunnel.
    fn outside(&self, index: usize) -> &Attachment {
        match &self.topology.encapsulated {
            Some(encapsulated) if index == 1 => &encapsulated.outer,
            _ => &self.topology.ports[index],
        }
    }
    /// In the VLAN of the test frames.
    fn keep_alive(&self, index: usize) -> keepalive::KeepAlive {
        let outside = self.outside(index);
        let mut alive = match &self.topology.encapsulated {
            // The ends of a tunnel have both versions of IP.
            Some(_) if index == 1 => Protocol::UdpIpv4.keep_alive(outside),
            _ => self.config.keep_alive(outside),
        };
        alive.frames = alive.frames.into_iter().map(|frame| self.tagged(frame)).collect();
        alive
    }

    /// The same after these frames, which are sent before each trial.
    pub(crate) fn announcing(mut self, announced: Vec<Prelude>) -> Traffic {
        self.announced = announced;
        self
    }

    /// Routing updates, where they are asked for, and learning frames, sent into the receiving ports (RFC
    /// 2544 section 23 a and b): each in the name of
    /// the end host there, so that the device knows where it is.
    pub(crate) fn prelude(&self) -> Vec<Prelude> {
        if self.topology.forwarding == Forwarding::Looped {
            return vec![];
        }
        let learning = |port: usize| Prelude {
            port: self.topology.ports[port].port,
            frames: self.keep_alive(port).frames,
            wait: Duration::ZERO,
        };
        let mut prelude = self.routing_prelude();
        prelude.extend(self.receiving().into_iter().map(learning));
        if let Some(last) = prelude.last_mut() {
            last.wait = self.learning_wait;
        }
        prelude.extend(self.announced.iter().cloned());
        prelude
    }
}
