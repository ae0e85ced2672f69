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
            account.add_queue(account_of(queue, seconds));
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

/// What one queue saw.
fn account_of(queue: &Account, seconds: &Seconds) -> StreamAccount {
    let at = |ns: u64| (queue.arrivals_in_time > 0).then(|| Instant::from_ns(ns));
    let silence = || Silence {
        from: Instant::from_ns(queue.silence_from_ns),
        to: Instant::from_ns(queue.silence_to_ns),
    };
    StreamAccount {
        unique: queue.unique,
        unique_bytes: queue.unique_bytes,
        duplicates: queue.duplicates,
        late: queue.late,
        corrupted: queue.corrupted,
        wrong_length: queue.wrong_length,
        reordered: queue.reordered,
        reorder_extent_max_frames: queue.extent_max,
        first_at: at(queue.first_ns),
        last_at: at(queue.last_ns),
        longest_silence: (queue.gaps.count > 0).then(silence),
        latency: queue.latencies.to_histogram(TICK),
        variation: variation(queue),
        arrival_gaps: queue.gaps.to_histogram(TICK),
        per_second: seconds.0.clone(),
        tagged: vec![],
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
