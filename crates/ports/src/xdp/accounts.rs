//! From what the receive program counted, queue by queue, to the account of a stream.

use super::layout::{Account, SECONDS, Stray, TaggedEntry};
use super::shared::SharedArray;
use crate::clock::TICK;
use std::mem::offset_of;
use std::sync::atomic::Ordering::Relaxed;
use trial::{
    DelayVariation, ExpectedStream, FlowCounts, Missing, PortId, SeenSet, Silence, StreamAccount,
    StreamReceived,
};
use units::{Duration, Instant};

/// Frames by the second of their arrival. The program keeps the last seconds only; they are
/// fetched while it counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Seconds(Vec<u64>);

impl Seconds {
    /// Brings what was fetched up to date with entry `index` of the accounts.
    pub fn fetch(&mut self, accounts: &SharedArray<Account>, index: usize) {
        let unique = accounts.word(index, offset_of!(Account, unique)).load(Relaxed);
        if unique == 0 {
            return;
        }
        let now = accounts.word(index, offset_of!(Account, second)).load(Relaxed) as usize;
        let from = self.0.len().saturating_sub(1).max((now + 1).saturating_sub(SECONDS));
        self.0.resize(self.0.len().max(now + 1), 0);
        for second in from..=now {
            let offset = offset_of!(Account, seconds) + second % SECONDS * 8;
            self.0[second] = accounts.word(index, offset).load(Relaxed);
        }
    }
}

/// One stream, as all receive queues saw it.
pub(super) struct StreamQueues<'a> {
    pub accounts: Vec<Box<Account>>,
    pub seconds: Vec<&'a Seconds>,
    /// Bits of the frames that arrived on any queue.
    pub seen: Vec<u64>,
    pub tagged: Vec<TaggedEntry>,
}

/// A stream that does not belong here, as all receive queues saw it; None if none of it came.
pub(super) fn strays_received(
    port: PortId,
    stream: &ExpectedStream,
    queues: impl Iterator<Item = Stray>,
) -> Option<StreamReceived> {
    let mut account = StreamAccount::new(TICK);
    for stray in queues {
        account.unique += stray.arrivals;
        account.unique_bytes += stray.bytes;
        account.late += stray.late;
        account.corrupted += stray.corrupted;
        if stray.arrivals > 0 {
            let span = (Instant::from_ns(stray.first_ns), Instant::from_ns(stray.last_ns));
            widen(&mut account, span);
        }
    }
    (account.arrivals() > 0).then(|| StreamReceived {
        port,
        stream: stream.id,
        expected: false,
        unchecked: false,
        missing: Missing::default(),
        flows: FlowCounts::default(),
        account,
    })
}

fn widen(account: &mut StreamAccount, (first, last): (Instant, Instant)) {
    account.first_at = Some(account.first_at.map_or(first, |earlier| earlier.min(first)));
    account.last_at = account.last_at.max(Some(last));
}

impl StreamQueues<'_> {
    /// Closes the account of a stream of which `sent` frames were sent.
    pub fn into_received(self, port: PortId, stream: &ExpectedStream, sent: u64) -> StreamReceived {
        let seen = SeenSet::from_words(&self.seen);
        let missing = match stream.here {
            true => seen.missing_below(sent),
            false => Missing::default(),
        };
        let tagged = self.tagged.iter();
        let tagged = tagged.map(|entry| (entry.index, Duration::from_ns(entry.ticks))).collect();
        let mut account = StreamAccount { tagged, ..StreamAccount::new(TICK) };
        for (queue, seconds) in self.accounts.iter().zip(self.seconds) {
            merge(&mut account, queue, seconds);
        }
        account.disown(&seen, sent, &stream.lengths_bytes);
        StreamReceived {
            port,
            stream: stream.id,
            expected: stream.here,
            unchecked: stream.unchecked,
            missing,
            flows: FlowCounts::of(&seen, stream.flows, sent),
            account,
        }
    }
}

/// Adds one queue's counts. What depends on order (reordering, silence, gaps, variation) is what
/// each queue saw on its own.
fn merge(account: &mut StreamAccount, queue: &Account, seconds: &Seconds) {
    account.unique += queue.unique;
    account.unique_bytes += queue.unique_bytes;
    account.duplicates += queue.duplicates;
    account.late += queue.late;
    account.corrupted += queue.corrupted;
    account.wrong_length += queue.wrong_length;
    account.reordered += queue.reordered;
    account.reorder_extent_max_frames = account.reorder_extent_max_frames.max(queue.extent_max);
    account.latency.merge(&queue.latencies.to_histogram(TICK));
    account.arrival_gaps.merge(&queue.gaps.to_histogram(TICK));
    account.variation.merge(&variation(queue));
    add_seconds(&mut account.per_second, &seconds.0);
    if queue.arrivals_in_time == 0 {
        return;
    }
    widen(account, (Instant::from_ns(queue.first_ns), Instant::from_ns(queue.last_ns)));
    if queue.gaps.count > 0 {
        let from = Instant::from_ns(queue.silence_from_ns);
        let silence = Silence { from, to: Instant::from_ns(queue.silence_to_ns) };
        if account.longest_silence.is_none_or(|longest| silence.duration() > longest.duration()) {
            account.longest_silence = Some(silence);
        }
    }
}

fn variation(queue: &Account) -> DelayVariation {
    DelayVariation {
        count: queue.variations,
        sum_abs_ticks: queue.variation_sum.into(),
        min_ticks: queue.variation_min,
        max_ticks: queue.variation_max,
    }
}

fn add_seconds(to: &mut Vec<u64>, from: &[u64]) {
    to.resize(to.len().max(from.len()), 0);
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}
