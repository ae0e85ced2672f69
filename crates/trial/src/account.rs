//! The account of one stream on one receiving port.

use crate::{Histogram, SeenSet};
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

/// A time without arrivals between two arrivals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Silence {
    /// Arrival of the last frame before it.
    pub from: Instant,
    /// Arrival of the first frame after it.
    pub to: Instant,
}

impl Silence {
    /// How long it lasted.
    pub fn duration(&self) -> Duration {
        self.to.since(self.from)
    }
}

/// Differences of latency between frames that follow each other in sequence; undefined across a
/// lost or reordered frame (RFC 3393, RFC 5481 section 4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct DelayVariation {
    /// How many differences.
    pub count: u64,
    /// Sum of their absolute values in ticks; divided by `count` it is the mean jitter of
    /// RFC 4689 section 3.2.5.
    pub sum_abs_ticks: u128,
    /// The most negative IPDV in ticks: D(i) - D(i-1).
    pub min_ticks: i64,
    /// The most positive one.
    pub max_ticks: i64,
}

impl DelayVariation {
    /// Takes in the latencies of two neighbours.
    #[inline]
    pub fn record(&mut self, previous_ticks: u64, ticks: u64) {
        let difference = ticks as i64 - previous_ticks as i64;
        if self.count == 0 {
            (self.min_ticks, self.max_ticks) = (difference, difference);
        }
        self.count += 1;
        self.sum_abs_ticks += u128::from(difference.unsigned_abs());
        self.min_ticks = self.min_ticks.min(difference);
        self.max_ticks = self.max_ticks.max(difference);
    }

    /// Adds what was counted elsewhere.
    pub fn merge(&mut self, other: &DelayVariation) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        self.count += other.count;
        self.sum_abs_ticks += other.sum_abs_ticks;
        self.min_ticks = self.min_ticks.min(other.min_ticks);
        self.max_ticks = self.max_ticks.max(other.max_ticks);
    }

    /// Mean of |D(i) - D(i-1)|, in ticks.
    pub fn mean_abs_ticks(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_abs_ticks as f64 / self.count as f64)
    }
}

/// What arrived of one stream on one port. Every arrival with a good signature is in exactly one
/// of `unique`, `duplicates`, `late` and `corrupted`.
///
/// Of a stream that does not belong on the port only the number of its frames is of interest: repeats are
/// in `unique` there, and order, latency and gaps are not looked at. A mesh of many ports has a hundred times
/// as many such accounts as others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamAccount {
    /// Different frames that arrived in time.
    pub unique: u64,
    /// Their bytes, FCS included.
    pub unique_bytes: u64,
    /// Arrivals of a sequence number that had arrived on this port before
    /// (RFC 4689 section 3.3.5).
    pub duplicates: u64,
    /// Arrivals after the drain time had passed; they are lost to the trial.
    pub late: u64,
    /// Signature good, but the transport checksum bad, the sequence number one that was not sent, or
    /// the transmit time outside of the trial.
    pub corrupted: u64,
    /// Unique frames whose length was not the one sent.
    pub wrong_length: u64,
    /// Unique frames with a number below one that arrived before (RFC 4737 section 3.3:
    /// s < NextExp; loss alone never counts).
    pub reordered: u64,
    /// The largest reordering extent in frames (RFC 4737 section 4.2.2): how many different frames lie
    /// between a reordered frame and the earliest one that overtook it.
    pub reorder_extent_max_frames: u64,
    /// First arrival.
    pub first_at: Option<Instant>,
    /// Last arrival in time.
    pub last_at: Option<Instant>,
    /// The longest time without an arrival, between two arrivals.
    pub longest_silence: Option<Silence>,
    /// Latency of unique frames, from the stamp in the frame to the arrival.
    pub latency: Histogram,
    /// Differences of latency in sequence.
    pub variation: DelayVariation,
    /// Time between neighbouring arrivals.
    pub arrival_gaps: Histogram,
    /// Unique frames by the second of their arrival, counted from the trial's start.
    pub per_second: Vec<u64>,
    /// Tagged frames that arrived: (index of the tag, latency).
    pub tagged: Vec<(u64, Duration)>,
}

impl StreamAccount {
    /// Nothing arrived yet.
    pub fn new(tick: Duration) -> Self {
        StreamAccount {
            unique: 0,
            unique_bytes: 0,
            duplicates: 0,
            late: 0,
            corrupted: 0,
            wrong_length: 0,
            reordered: 0,
            reorder_extent_max_frames: 0,
            first_at: None,
            last_at: None,
            longest_silence: None,
            latency: Histogram::new(tick),
            variation: DelayVariation::default(),
            arrival_gaps: Histogram::new(tick),
            per_second: vec![],
            tagged: vec![],
        }
    }

    /// Every arrival, of whatever kind.
    pub fn arrivals(&self) -> u64 {
        self.unique + self.duplicates + self.late + self.corrupted
    }

    /// Adds what another receive queue of the port counted. What depends on order (reordering, silence, gaps, variation)
    /// is what each queue saw on its own.
    pub fn add_queue(&mut self, other: StreamAccount) {
        self.unique += other.unique;
        self.unique_bytes += other.unique_bytes;
        self.duplicates += other.duplicates;
        self.late += other.late;
        self.corrupted += other.corrupted;
        self.wrong_length += other.wrong_length;
        self.reordered += other.reordered;
        let extent = &mut self.reorder_extent_max_frames;
        *extent = other.reorder_extent_max_frames.max(*extent);
        self.first_at = [self.first_at, other.first_at].into_iter().flatten().min();
        self.last_at = self.last_at.max(other.last_at);
        let longest = |silence: &Silence| silence.duration();
        let silences = [other.longest_silence, self.longest_silence];
        self.longest_silence = silences.into_iter().flatten().max_by_key(longest);
        self.latency.merge(&other.latency);
        self.variation.merge(&other.variation);
        self.arrival_gaps.merge(&other.arrival_gaps);
        self.per_second.resize(self.per_second.len().max(other.per_second.len()), 0);
        self.per_second.iter_mut().zip(other.per_second).for_each(|(to, from)| *to += from);
        if !other.tagged.is_empty() {
            self.tagged.extend(other.tagged);
            self.tagged.sort_by_key(|(index, _)| *index);
        }
    }

    /// Takes arrivals with numbers from `sent` on, which were not sent, for corrupted ones: known only
    /// at the end. What was told of them in histograms stays. Frame `n` had length `n mod len` of
    /// `lengths_bytes` without FCS.
    pub fn disown(&mut self, seen: &SeenSet, sent: u64, lengths_bytes: &[u32]) {
        for (from, to) in seen.runs().filter(|(_, to)| *to > sent) {
            let from = from.max(sent);
            self.unique = self.unique.saturating_sub(to - from);
            self.corrupted += to - from;
            let bytes: u64 = (from..to).map(|sequence| frame_bytes(lengths_bytes, sequence)).sum();
            self.unique_bytes = self.unique_bytes.saturating_sub(bytes);
        }
    }

    /// Highest mean rate over `seconds` neighbouring whole seconds, in frames a second.
    pub fn peak_rate_fps(&self, seconds: usize) -> Option<f64> {
        let sums = self.per_second.windows(seconds.max(1)).map(|window| window.iter().sum::<u64>());
        sums.max().map(|frames| frames as f64 / seconds.max(1) as f64)
    }
}

/// Length with FCS of frame `sequence` of a stream whose frames have these without, in turn; 0 where none are known.
pub(crate) fn frame_bytes(lengths_bytes: &[u32], sequence: u64) -> u64 {
    match lengths_bytes {
        [] => 0,
        lengths => u64::from(lengths[(sequence % lengths.len() as u64) as usize]) + 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5481 section 4.1: IPDV is signed; jitter is its absolute value.
    #[test]
    fn delay_variation_keeps_signs_and_magnitude() {
        let mut variation = DelayVariation::default();
        for pair in [10u64, 14, 9, 9].windows(2) {
            variation.record(pair[0], pair[1]);
        }
        assert_eq!((variation.min_ticks, variation.max_ticks), (-5, 4));
        assert_eq!(variation.mean_abs_ticks(), Some(3.0));
    }

    #[test]
    fn peak_rate_is_over_whole_windows() {
        let mut account = StreamAccount::new(Duration::from_ns(1));
        account.per_second = vec![10, 30, 20];
        assert_eq!(account.peak_rate_fps(1), Some(30.0));
        assert_eq!(account.peak_rate_fps(2), Some(25.0));
        assert_eq!(account.peak_rate_fps(10), None);
    }
}
