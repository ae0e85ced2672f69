//! What one port needs to know of a trial.

use crate::{Expectation, Fingerprint, FrameSet, PortId, Role, Schedule, StreamId};
use serde::{Deserialize, Serialize};
use units::Duration;
use wire::signature::{Form, Key};

/// When an extra frame takes the place of a test frame (RFC 2544 section 11: in the same stream,
/// in place of a test frame).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The frames numbered `first`, `first + every`, ... of the port (from 0).
    Frames {
        /// Number of the first.
        first: u64,
        /// Distance, at least 1.
        every: u64,
    },
    /// The first frame due at or after `first`, `first + every`, ... from the start.
    Interval {
        /// From the start of the trial.
        first: Duration,
        /// Distance, above zero.
        every: Duration,
    },
}

impl Trigger {
    /// More often than this it cannot fire in a schedule.
    pub fn fires_max(&self, schedule: &Schedule) -> u64 {
        let frames = schedule.frames();
        let Some(last) = frames.checked_sub(1) else { return 0 };
        match *self {
            Trigger::Frames { first, every } => frames.saturating_sub(first).div_ceil(every.max(1)),
            Trigger::Interval { first, every } => {
                // Frames that are inserted among others of several lengths may move the end by a cycle.
                let last = schedule.departure(last + schedule.cycle_frames());
                let times = last.saturating_sub(first).as_ps().checked_div(every.as_ps());
                if first > last { 0 } else { times.map_or(frames, |times| times.saturating_add(1)) }
            }
        }
    }
}

/// An extra stream whose frames replace test frames now and then.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Insertion {
    /// The extra stream; a period of two makes states "A" and "B" alternate (section 11.3).
    pub stream: StreamId,
    /// When.
    pub trigger: Trigger,
}

/// A port sends by at most so many queues.
pub const QUEUES_MAX: u16 = 16;

/// By which of several queues the frames of a stream leave: the frames of a flow by the same, so that they keep their
/// order. What order frames of different queues have is chance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ByQueues {
    /// Queues in use, from 2 to [`QUEUES_MAX`].
    pub queues: u16,
    /// Slot of the port's frames that the stream's first frame has.
    pub first_slot: u64,
    /// Frames after which the stream's slots begin anew, at least 1.
    pub period: u64,
}

impl ByQueues {
    /// By which queue a frame of the stream leaves, from 0.
    #[inline]
    pub fn queue_of(&self, sequence: u64) -> usize {
        let slot = self.first_slot + sequence % self.period.max(1);
        (slot % u64::from(self.queues.max(1))) as usize
    }
}

/// Of how many of a port's queues so many frames in its set make use: a frame leaves by one.
pub fn queues_used(queues: usize, slots: usize) -> usize {
    queues.min(usize::from(QUEUES_MAX)).min(slots).max(1)
}

/// Everything a port needs to transmit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TransmitPlan {
    /// The port.
    pub port: PortId,
    /// Of the trial's signatures.
    pub key: Key,
    /// The frames.
    pub set: FrameSet,
    /// Which stream of the set takes the next departure, over and over (indices into
    /// `set.streams()`): round robin, with repetitions as weights.
    pub order: Vec<usize>,
    /// Indices into `set.streams()` with their triggers; the first that fires wins the departure.
    pub insertions: Vec<(usize, Trigger)>,
    /// When frames leave.
    pub schedule: Schedule,
    /// A frame that leaves later than this after it was due counts as late.
    pub late_after: Duration,
    /// The most lateness that the transmitter makes up for; what exceeds it moves all later
    /// departures.
    pub credit: Duration,
}

/// Single frames whose latency is kept one by one (RFC 2544 section 26.2, RFC 8219 section 7.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tagging {
    /// Of which stream.
    pub stream: StreamId,
    /// Sequence number of the first tagged frame.
    pub first: u64,
    /// Distance to the next, at least 1.
    pub every: u64,
    /// How many in all.
    pub count: u64,
}

impl Tagging {
    /// Which of the tagged frames a sequence number is, from 0.
    pub fn index_of(&self, sequence: u64) -> Option<u64> {
        let from_first = sequence.checked_sub(self.first)?;
        let index = from_first / self.every;
        (from_first % self.every == 0 && index < self.count).then_some(index)
    }
}

/// What a receiving port should know of one stream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ExpectedStream {
    /// Its number in the signature.
    pub id: StreamId,
    /// Why it is there.
    pub role: Role,
    /// Whether it should arrive on this port; otherwise its frames are misdirected here.
    pub here: bool,
    /// Whether its absence is no loss and its presence nowhere misdirection.
    pub unchecked: bool,
    /// Sequence numbers are below this; one above it is corruption.
    pub frames_max: u64,
    /// Length without FCS of frame `n` is entry `n mod len`; one entry where all are alike.
    pub lengths_bytes: Vec<u32>,
    /// Flows that are counted one by one: frame `n` belongs to flow `n mod flows`. 0 for none.
    pub flows: u64,
    /// Which single frames' latencies to keep.
    pub tagging: Option<Tagging>,
    /// How a corrupted frame of it looks.
    pub fingerprint: Option<Fingerprint>,
    /// Where its port sends by several queues: its order is judged within what one of them sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_queues: Option<ByQueues>,
}

impl ExpectedStream {
    /// Whether its frames are strays on this port: how many came is counted, and no more.
    pub fn is_stray(&self) -> bool {
        !self.here && !self.unchecked
    }

    /// Length of one of its frames, FCS included.
    pub(crate) fn frame_bytes(&self, sequence: u64) -> u64 {
        crate::account::frame_bytes(&self.lengths_bytes, sequence)
    }
}

/// Everything a port needs to receive and account.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReceivePlan {
    /// The port.
    pub port: PortId,
    /// Of the trial's signatures.
    pub key: Key,
    /// The signature forms in use, each at most once.
    pub forms: Vec<Form>,
    /// Every signed stream of the trial, whether it should arrive here or not.
    pub streams: Vec<ExpectedStream>,
    /// Whether the transport checksum of each frame is verified too, so that a corrupted payload
    /// is found and not only a corrupted signature.
    pub verify_payload: bool,
    /// By so much the clocks behind stamps and arrival times may disagree. A stamp from further outside of the
    /// trial was not written in it.
    pub clock_slack: Duration,
}

impl TransmitPlan {
    /// Of how many of a port's queues the plan makes use: slot `n` of its frames leaves by queue `n` modulo that number,
    /// and one flow by one.
    pub fn queues_of(&self, queues: usize) -> usize {
        queues_used(queues, self.set.slots().len())
    }

    /// The same of each stream, for those who receive it; `None` where one queue sends it all.
    pub fn by_queues(&self, stream: StreamId, queues: usize) -> Option<ByQueues> {
        let used = self.queues_of(queues);
        let stream = self.set.streams().iter().find(|entry| entry.id == stream)?;
        (used > 1).then_some(ByQueues {
            queues: used as u16,
            first_slot: stream.first_slot as u64,
            period: stream.period as u64,
        })
    }

    /// Whether its parts fit each other. A plan made of a trial does; one that was read from elsewhere may not.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self) -> Result<(), String> {
        self.set.check()?;
        self.schedule.check()?;
        let streams = self.set.streams().len();
        let inserted = self.insertions.iter().map(|(stream, _)| stream);
        if self.order.iter().chain(inserted).any(|stream| *stream >= streams) {
            return Err(format!("a departure is of none of the {streams} streams"));
        }
        if self.order.is_empty() && self.schedule.frames() > 0 {
            return Err("a load without streams".into());
        }
        Ok(())
    }
}

impl ReceivePlan {
    /// Whether its parts fit each other, as [`TransmitPlan::check`].
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self) -> Result<(), String> {
        if self.streams.len() >= usize::from(u16::MAX) {
            return Err(format!("{} streams, and 65,534 are the most", self.streams.len()));
        }
        if let Some(stream) = self.streams.iter().find(|stream| stream.lengths_bytes.is_empty()) {
            return Err(format!("stream {} has no length", stream.id.0));
        }
        let queues = self.streams.iter().filter_map(|stream| stream.by_queues);
        match queues.map(|by| by.queues).find(|queues| *queues > QUEUES_MAX) {
            Some(queues) => Err(format!("{queues} queues, and {QUEUES_MAX} are the most")),
            None => Ok(()),
        }
    }
}

impl Expectation {
    /// Whether frames should arrive on this port.
    pub fn includes(&self, port: PortId) -> bool {
        matches!(self, Expectation::Ports(ports) if ports.contains(&port))
    }
}
