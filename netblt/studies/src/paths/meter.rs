//! What is written down while flows run: counts in bins of time. Ratios are for others to derive.

use units::{Duration, Instant};

/// What happened at the queue of a bottleneck in one bin.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkMeter {
    /// Carried, losses behind the queue included.
    pub bytes: u64,
    /// Packets that came to the queue.
    pub packets: u64,
    /// Dropped because the queue was full.
    pub dropped: u64,
    /// Shortest wait that a packet met; none if none came.
    pub least_wait: Option<Duration>,
    /// Longest wait that a packet met.
    pub most_wait: Duration,
}

/// What a flow got through in one bin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowMeter {
    /// Data packets that brought something new to the receiver.
    pub new_packets: u64,
}

/// The record of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Meters {
    /// Width of a bin.
    pub bin: Duration,
    /// The queue that data goes through.
    pub link: Vec<LinkMeter>,
    /// By flow, then by bin.
    pub flows: Vec<Vec<FlowMeter>>,
}

const NOTHING: LinkMeter =
    LinkMeter { bytes: 0, packets: 0, dropped: 0, least_wait: None, most_wait: Duration::ZERO };

impl Meters {
    pub(super) fn new(bin: Duration, length: Duration, flows: usize) -> Meters {
        let bins = length.as_ps().div_ceil(bin.as_ps()) as usize;
        Meters {
            bin,
            link: vec![NOTHING; bins],
            flows: vec![vec![FlowMeter::default(); bins]; flows],
        }
    }
    fn index(&self, now: Instant) -> usize {
        ((now.as_ps() / self.bin.as_ps()) as usize).min(self.link.len() - 1)
    }
    pub(super) fn carried(&mut self, now: Instant, bytes: usize, waited: Duration) {
        let index = self.index(now);
        let bin = &mut self.link[index];
        bin.bytes += bytes as u64;
        bin.packets += 1;
        bin.least_wait = Some(bin.least_wait.map_or(waited, |least| least.min(waited)));
        bin.most_wait = bin.most_wait.max(waited);
    }
    pub(super) fn dropped(&mut self, now: Instant) {
        let index = self.index(now);
        self.link[index].packets += 1;
        self.link[index].dropped += 1;
    }
    pub(super) fn delivered(&mut self, now: Instant, flow: usize, packets: u64) {
        let index = self.index(now);
        self.flows[flow][index].new_packets += packets;
    }

    /// Bins that begin in a span of time.
    fn bins(&self, from: Duration, to: Duration) -> std::ops::Range<usize> {
        let index =
            |at: Duration| (at.as_ps().div_ceil(self.bin.as_ps()) as usize).min(self.link.len());
        index(from)..index(to).max(index(from))
    }
    /// New data packets of a flow in a span.
    pub fn packets(&self, flow: usize, from: Duration, to: Duration) -> u64 {
        self.flows[flow][self.bins(from, to)].iter().map(|bin| bin.new_packets).sum()
    }
    /// Packets that came to the queue in a span, and those of them that it dropped.
    pub fn drops(&self, from: Duration, to: Duration) -> (u64, u64) {
        let bins = &self.link[self.bins(from, to)];
        (bins.iter().map(|bin| bin.packets).sum(), bins.iter().map(|bin| bin.dropped).sum())
    }
    /// The shortest wait at the queue within a span; zero if nothing came to it.
    pub fn least_wait(&self, from: Duration, to: Duration) -> Duration {
        let bins = &self.link[self.bins(from, to)];
        bins.iter().filter_map(|bin| bin.least_wait).min().unwrap_or(Duration::ZERO)
    }
    /// The longest wait at the queue within a span.
    pub fn most_wait(&self, from: Duration, to: Duration) -> Duration {
        let bins = &self.link[self.bins(from, to)];
        bins.iter().map(|bin| bin.most_wait).max().unwrap_or(Duration::ZERO)
    }
}
