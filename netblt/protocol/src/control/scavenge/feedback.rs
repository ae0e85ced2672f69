//! What comes back of what was sent: for every buffer that arrived without a loss, when its last
//! packet left and when its OK came. From these alone follow the round trip, the queue on the way,
//! and the rate at which the path serves this transfer.

use std::collections::VecDeque;

/// A buffer that arrived at the first attempt. Times are seconds since the control began.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// When its last packet left.
    pub left_s: f64,
    /// Data packets that had left before its first one, of all buffers.
    pub before: u64,
    /// Data packets that had left by then, of all buffers.
    pub packets: u64,
    /// When its OK came.
    pub back_s: f64,
}

impl Sample {
    pub fn round_trip_s(&self) -> f64 {
        self.back_s - self.left_s
    }
}

/// The samples of the latest while.
#[derive(Clone, Debug, Default)]
pub struct Feedback {
    samples: VecDeque<Sample>,
}

/// Samples that a rate is computed from at least, as far as there are any.
pub const LEAST: usize = 3;
/// So many are kept, however old.
const KEPT: usize = 8;
/// Samples that are kept at most.
const MOST: usize = 4096;

impl Feedback {
    /// Samples come in the order of `left_s`; one out of order tells nothing new and is dropped.
    pub fn push(&mut self, sample: Sample, keep_s: f64) -> bool {
        let newer = |last: &Sample| sample.left_s >= last.left_s && sample.packets > last.packets;
        if !self.samples.back().is_none_or(newer) {
            return false;
        }
        self.samples.push_back(sample);
        let old = |first: &Sample| first.back_s < sample.back_s - keep_s;
        while self.samples.len() > MOST
            || self.samples.len() > KEPT && self.samples.front().is_some_and(old)
        {
            self.samples.pop_front();
        }
        true
    }
    pub fn newest(&self) -> Option<Sample> {
        self.samples.back().copied()
    }

    /// How fast the newest buffer followed the one before, if that left just before it too.
    pub fn newest_pair(&self) -> Option<Service> {
        let mut newest = self.samples.iter().rev();
        let (newer, older) = (newest.next()?, newest.next()?);
        let mut pair = Stretch::default();
        pair.add(older, newer);
        (newer.before == older.packets).then(|| pair.service()).flatten()
    }

    /// Newest first, as far back as `span_s` before the newest came, but `least` at the least.
    fn recent(&self, span_s: f64, least: usize) -> impl Iterator<Item = &Sample> {
        let until = self.samples.back().map_or(0.0, |last| last.back_s) - span_s;
        let within = move |(k, sample): &(usize, &Sample)| *k < least || sample.back_s >= until;
        self.samples.iter().rev().enumerate().take_while(within).map(|(_, sample)| sample)
    }

    /// Shortest round trip of the last `span_s`, and of `least` samples: what stands in the queue, without what
    /// passes.
    pub fn shortest_s(&self, span_s: f64, least: usize) -> Option<f64> {
        self.recent(span_s, least).map(Sample::round_trip_s).min_by(f64::total_cmp)
    }

    /// Packets a second that came through during the last `span_s`, between samples whose round trip
    /// is at least `round_trip_s`: with a queue before it, a bottleneck sends without pause, and the
    /// distance of what arrives is its rate.
    ///
    /// Best between buffers that left one after the other, since nothing was dropped between them.
    /// Where those are rare, packets lost between two buffers are counted as served: a path that
    /// loses packets by itself does so behind its bottleneck.
    pub fn service(&self, span_s: f64, round_trip_s: f64) -> Option<Service> {
        let (mut near, mut far) = (Stretch::default(), Stretch::default());
        let mut newer: Option<&Sample> = None;
        let busy = |sample: &&Sample| sample.round_trip_s() >= round_trip_s;
        for sample in self.recent(span_s, LEAST).take_while(busy) {
            if let Some(newer) = newer {
                far.add(sample, newer);
                if newer.before == sample.packets && newer.back_s >= sample.back_s {
                    near.add(sample, newer);
                }
            }
            newer = Some(sample);
        }
        let best = if near.pairs >= LEAST - 1 { near } else { far };
        best.service()
    }
}

/// How fast packets came through.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// By the distance at which they arrived.
    pub pps: f64,
    /// By the distance at which they had left.
    pub sent_pps: f64,
}

#[derive(Clone, Copy, Default)]
struct Stretch {
    pairs: usize,
    packets: u64,
    came_s: f64,
    left_s: f64,
}

impl Stretch {
    fn add(&mut self, older: &Sample, newer: &Sample) {
        self.pairs += 1;
        self.packets += newer.packets - older.packets;
        self.came_s += newer.back_s - older.back_s;
        self.left_s += newer.left_s - older.left_s;
    }
    fn service(&self) -> Option<Service> {
        (self.came_s > 0.0 && self.packets > 0).then(|| Service {
            pps: self.packets as f64 / self.came_s,
            sent_pps: self.packets as f64 / self.left_s.max(1e-9),
        })
    }
}
