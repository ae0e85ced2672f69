//! Which ports of the topology exchange frames, and in what order: the pattern of a suite as streams.

use super::{Attachment, Forwarding, Topology, Traffic};
use crate::{Pattern, RunError, SuiteConfig, Turn};
use trial::StreamId;

/// Numbers of streams that a signature of any form has room for.
const STREAMS_MAX: usize = 4_095;
/// Keep-alives are numbered from here on, or beyond all other streams.
const KEEP_ALIVE: u16 = 100;
/// So many numbers are left between the first test stream and the first modifier at least.
const ROOM_FOR_TEST_STREAMS: usize = 10;

/// One test stream: a place in the order of its sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Path {
    /// Its ports, as the topology numbers them.
    pub from: usize,
    pub to: usize,
}

/// The ports of `suite` in its pattern.
pub(super) fn turns(suite: &SuiteConfig, topology: &Topology) -> Result<Vec<Turn>, RunError> {
    let (pattern, ports) = (suite.pattern, topology.ports.len());
    let refuse = |what: String| Err(RunError::Config(what));
    let name = match pattern {
        Pattern::Pair => return Ok(pattern.turns_of(suite.direction, ports)),
        Pattern::Pairs => "pairs",
        Pattern::MultiPort => "multi_port",
        other => {
            return refuse(format!(
                "{other}: these tests have the patterns pair, pairs and multi_port"
            ));
        }
    };
    // Ports joined back to back by one cable are measured alone.
    let least = if topology.forwarding == Forwarding::Looped { 2 } else { pattern.fewest_ports() };
    if ports < least || !ports.is_multiple_of(2) {
        return refuse(format!(
            "the pattern {name} takes an even number of ports, {least} or more, and the device has {ports}: \
             build it with --port-count 4, name four interfaces by --ports, or write `ports = 4` in the \
             file of a simulated one"
        ));
    }
    if pattern == Pattern::MultiPort && topology.forwarding == Forwarding::Looped {
        return refuse("ports joined back to back reach one other each: --pattern pairs".into());
    }
    if topology.encapsulated.is_some() {
        return refuse(format!("a tunnel has one pair of ports: leave out --pattern {name}"));
    }
    let turns = pattern.turns_of(suite.direction, ports);
    let streams: usize = turns.iter().map(|turn| turn.to.len() + 1).sum();
    if streams > STREAMS_MAX {
        return refuse(format!(
            "{streams} streams: a test has up to {STREAMS_MAX}; use fewer ports"
        ));
    }
    Ok(turns)
}

impl Traffic {
    /// Who sends to whom.
    pub fn pattern(&self) -> Pattern {
        self.pattern
    }
    /// The test streams in the order of their numbers.
    pub(super) fn paths(&self) -> impl Iterator<Item = Path> {
        let turns = self.turns.iter();
        turns.flat_map(|turn| turn.to.iter().map(|to| Path { from: turn.from, to: to[0] }))
    }
    /// How many.
    pub(crate) fn streams_of_test(&self) -> usize {
        self.turns.iter().map(|turn| turn.to.len()).sum()
    }
    pub(super) fn path(&self, stream: usize) -> Path {
        self.paths().nth(stream).expect("a stream of this traffic")
    }
    /// A stream's place in the turns of its sender, and how many turns that has.
    pub(crate) fn turn_of(&self, stream: StreamId) -> (u64, u64) {
        let number = usize::from(stream.0.saturating_sub(self.first_stream.0));
        let own = self.streams_by_sender();
        let turn = own.iter().rfind(|(first, _)| *first <= number);
        turn.map_or((0, 1), |(first, turns)| ((number - first) as u64, *turns as u64))
    }
    /// Each sender's streams: the first of them, and how many.
    pub(super) fn streams_by_sender(&self) -> Vec<(usize, usize)> {
        let mut first = 0;
        let of = |turn: &Turn| {
            let own = (first, turn.to.len());
            first += turn.to.len();
            own
        };
        self.turns.iter().map(of).collect()
    }
    /// By how many streams a sender's frames are shared.
    pub(crate) fn streams_a_sender(&self) -> usize {
        self.turns.first().map_or(1, |turn| turn.to.len())
    }
    /// Where a test stream begins.
    pub(crate) fn from(&self, stream: usize) -> &Attachment {
        &self.topology.ports[self.path(stream).from]
    }
    /// Where it ends.
    pub(crate) fn to(&self, stream: usize) -> &Attachment {
        &self.topology.ports[self.path(stream).to]
    }
    /// Ports at which test frames arrive, each once.
    pub(crate) fn receivers(&self) -> Vec<&Attachment> {
        self.receiving().into_iter().map(|port| &self.topology.ports[port]).collect()
    }
    pub(super) fn receiving(&self) -> Vec<usize> {
        let mut ports: Vec<usize> = vec![];
        self.paths().for_each(|path| {
            if !ports.contains(&path.to) {
                ports.push(path.to);
            }
        });
        ports
    }
    pub(super) fn own_senders(&self) -> impl Iterator<Item = &Attachment> {
        self.turns.iter().map(|turn| &self.topology.ports[turn.from])
    }

    /// For people: the two of a pair by their direction, others by their ports.
    pub(super) fn stream_name(&self, stream: usize) -> String {
        match self.pattern {
            Pattern::Pair => ["forward", "reverse"][stream].into(),
            _ => format!("{} to {}", self.from(stream).port.0, self.to(stream).port.0),
        }
    }
    /// The number of a sender's modifiers.
    pub(crate) fn modifier_id(&self, sender: usize) -> StreamId {
        let first = self.streams_of_test().max(ROOM_FOR_TEST_STREAMS);
        StreamId(super::FORWARD.0 + (first + sender) as u16)
    }
    /// The number of the keep-alives out of a port.
    pub(super) fn keep_alive_id(&self, port: u16) -> StreamId {
        let beyond = self.modifier_id(self.turns.len());
        StreamId(KEEP_ALIVE.max(beyond.0) + port)
    }

    /// How many ports, where more than two take part.
    pub(super) fn pattern_in_words(&self) -> Option<String> {
        let ports = self.topology.ports.len();
        match self.pattern {
            Pattern::Pair => None,
            Pattern::Pairs => Some(format!("{} pairs of ports", ports / 2)),
            pattern => Some(format!("{ports} ports, {}", pattern.in_words(self.direction))),
        }
    }
}
