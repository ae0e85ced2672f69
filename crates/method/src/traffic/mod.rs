//! What a test sends: from the user's choice of traffic and the device's addresses to streams.

mod config;
mod flows;
mod frames;
mod in_words;
mod paths;
mod prelude;
mod refusal;
mod replay;
mod test_bed;
mod topology;
mod updates;
mod variation;

pub use config::{Destinations, IPV6_PREFIXES, TrafficConfig};
pub use flows::{Flows, Vary};
use paths::Path;
use replay::Replay;
pub use replay::Rewrites;
pub use test_bed::{OriginalBed, Placed, PlacedPort, TestBed};
pub use topology::{Attachment, Forwarding, Topology};

use crate::encapsulation;
use crate::ipv6_traffic;
use crate::modifiers;
use crate::protocol::Protocol;
use crate::{Direction, Modifier, Pattern, RunError, SuiteConfig, Turn};
use traffic::size::SizePattern;
use traffic::template::FrameTemplate;
use trial::{
    DeviceAction, InvalidReason, PortLoad, Prelude, Schedule, StreamId, Tagging, Trial,
    TrialResult, ValidityLimits, Waits,
};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::signature::{Form, Key};

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
        traffic.checked()
    }

    fn checked(self) -> Result<Traffic, RunError> {
        self.check()?;
        self.streams(Key::from_seed(0))?;
        Ok(self)
    }

    /// The same with frames of another size.
    pub(crate) fn of_size(&self, size: &SizePattern) -> Result<Traffic, RunError> {
        Traffic { size: size.clone(), ..self.clone() }.checked()
    }

    /// The same with frames of another protocol.
    pub(crate) fn of_protocol(&self, protocol: Protocol) -> Result<Traffic, RunError> {
        let config = TrafficConfig { protocol, ..self.config.clone() };
        Traffic { config, ..self.clone() }.checked()
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

    /// Whether every router has to look into each frame, so that nothing but an observation is asked
    /// for.
    pub(crate) fn is_observation(&self) -> bool {
        ipv6_traffic::is_observation(&self.config.extension_headers)
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
}
