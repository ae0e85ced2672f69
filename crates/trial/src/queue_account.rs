//! What the receive queues of one port counted, each on its own while the trial ran, put together at the end.

use crate::{
    ExpectedStream, FlowCounts, Leftovers, Missing, PortId, PortReceived, ReceivePlan, SeenSet,
    StreamAccount, StreamId, StreamReceived,
};
use units::Duration;

/// What a [`Receiver`](crate::Receiver) counted.
#[derive(Clone, Debug, Default)]
pub struct QueueAccount {
    /// By stream of the plan; none where nothing arrived.
    pub(crate) streams: Vec<Option<Box<QueueStream>>>,
    pub(crate) foreign: u64,
    pub(crate) foreign_bytes: u64,
    pub(crate) corrupted: u64,
    pub(crate) forged: u64,
    pub(crate) leftovers: Leftovers,
}

/// The same of one stream.
#[derive(Clone, Debug)]
pub(crate) struct QueueStream {
    pub account: StreamAccount,
    pub seen: SeenSet,
}

impl QueueAccount {
    /// Adds what another receive queue counted by the same plan. A number that arrived at both is a duplicate; what was
    /// told of it in histograms and seconds stays. What depends on order (reordering, silence, gaps, variation) is what
    /// each queue saw on its own.
    pub fn add_queue(&mut self, other: QueueAccount, plan: &ReceivePlan) {
        self.streams.resize_with(self.streams.len().max(other.streams.len()), || None);
        let streams = self.streams.iter_mut().zip(other.streams).zip(&plan.streams);
        for ((stream, other), expected) in streams {
            match (stream, other) {
                (Some(stream), Some(other)) => stream.add_queue(*other, expected),
                (stream @ None, other) => *stream = other,
                (Some(_), None) => {}
            }
        }
        self.foreign += other.foreign;
        self.foreign_bytes += other.foreign_bytes;
        self.corrupted += other.corrupted;
        self.forged += other.forged;
        self.leftovers.merge(&other.leftovers);
    }

    /// Closes the account, which was counted in ticks of that length. `sent_of` gives how many frames of a stream were
    /// sent in the trial.
    pub fn close(
        self,
        plan: &ReceivePlan,
        tick: Duration,
        sent_of: impl Fn(StreamId) -> u64,
    ) -> PortReceived {
        let received = plan.streams.iter().zip(self.streams).filter_map(|(expected, counted)| {
            let counted = match counted {
                Some(counted) => *counted,
                None if expected.is_stray() => return None,
                None => QueueStream::new(tick),
            };
            Some(counted.close(plan.port, expected, sent_of(expected.id)))
        });
        PortReceived {
            streams: received.collect(),
            foreign: self.foreign,
            foreign_bytes: self.foreign_bytes,
            corrupted: self.corrupted,
            forged: self.forged,
            leftovers: self.leftovers,
            ..PortReceived::nothing(plan.port)
        }
    }
}

impl QueueStream {
    fn new(tick: Duration) -> Self {
        QueueStream { account: StreamAccount::new(tick), seen: SeenSet::default() }
    }

    fn add_queue(&mut self, other: QueueStream, expected: &ExpectedStream) {
        self.account.add_queue(other.account);
        for (from, to) in self.seen.add(&other.seen) {
            self.account.unique = self.account.unique.saturating_sub(to - from);
            self.account.duplicates += to - from;
            let bytes: u64 = (from..to).map(|sequence| expected.frame_bytes(sequence)).sum();
            self.account.unique_bytes = self.account.unique_bytes.saturating_sub(bytes);
        }
    }

    fn close(mut self, port: PortId, expected: &ExpectedStream, sent: u64) -> StreamReceived {
        self.account.disown(&self.seen, sent, &expected.lengths_bytes);
        let missing = match expected.here {
            true => self.seen.missing_below(sent),
            false => Missing::default(),
        };
        StreamReceived {
            port,
            stream: expected.id,
            expected: expected.here,
            unchecked: expected.unchecked,
            missing,
            flows: match expected.is_stray() {
                true => FlowCounts::default(),
                false => FlowCounts::of(&self.seen, expected.flows, sent),
            },
            account: self.account,
        }
    }
}
