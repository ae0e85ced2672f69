//! A trial that is looked at while it runs: what was counted up to a moment, and whether to go on.
//!
//! Looking stops nothing. Counts of different ports may be a few milliseconds apart, and frames that are
//! under way are in what was sent alone; the [`TrialResult`](crate::TrialResult) at the end is exact.

use crate::{Histogram, PortId, StreamId, TransmitReport};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use units::Duration;

/// Whoever looks at a trial while it runs.
pub trait Observer {
    /// Time from one sample to the next; `None` for no samples.
    fn every(&self) -> Option<Duration>;
    /// Takes in what was counted so far.
    fn observe(&mut self, sample: &Sample);
    /// Whether sending is to end now. Asked every few milliseconds, and then until it says so. What has left
    /// by then is waited for and accounted for as at the end of the schedule.
    fn ends(&mut self) -> bool;
}

/// A trial that nobody looks at.
pub struct Unobserved;

impl Observer for Unobserved {
    fn every(&self) -> Option<Duration> {
        None
    }
    fn observe(&mut self, _sample: &Sample) {}
    fn ends(&mut self) -> bool {
        false
    }
}

/// What was counted up to a moment.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    /// Since the start of the schedule.
    pub elapsed: Duration,
    /// Of each port that transmits, in the order of ports.
    pub sent: Vec<SentSoFar>,
    /// Of each stream at each port where it should arrive, and of others that arrived.
    pub received: Vec<ReceivedSoFar>,
}

/// What a port has sent so far.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SentSoFar {
    /// The port.
    pub port: PortId,
    /// Frames handed to the interface, by stream.
    pub of_stream: Vec<(StreamId, u64)>,
}

impl SentSoFar {
    /// Of each port once, from what its queues say. They take the same walk: each knows of the others' frames, and as
    /// many have left as the hindmost says.
    pub fn of_ports(of_queues: impl IntoIterator<Item = SentSoFar>) -> Vec<SentSoFar> {
        let mut ports: Vec<SentSoFar> = vec![];
        for queue in of_queues {
            let Some(port) = ports.last_mut().filter(|port| port.port == queue.port) else {
                ports.push(queue);
                continue;
            };
            for ((_, sent), (_, walked)) in port.of_stream.iter_mut().zip(queue.of_stream) {
                *sent = walked.min(*sent);
            }
        }
        ports
    }
}

/// What has arrived so far of a stream at a port.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReceivedSoFar {
    /// The port.
    pub port: PortId,
    /// The stream.
    pub stream: StreamId,
    /// Whether it should arrive there.
    pub expected: bool,
    /// Different frames.
    pub unique: u64,
    /// Frames that had arrived before.
    pub duplicates: u64,
    /// Frames that later ones overtook.
    pub reordered: u64,
    /// One more than the highest number that has arrived.
    pub next_expected: u64,
    /// Latency of these frames; empty where they bear no time.
    pub latency: Histogram,
}

impl ReceivedSoFar {
    /// Of each port and stream once, from what its receive queues say, in the order of ports.
    pub fn of_ports(of_queues: impl IntoIterator<Item = ReceivedSoFar>) -> Vec<ReceivedSoFar> {
        let mut all: BTreeMap<(PortId, StreamId), ReceivedSoFar> = BTreeMap::new();
        for queue in of_queues {
            match all.entry((queue.port, queue.stream)) {
                Entry::Vacant(place) => drop(place.insert(queue)),
                Entry::Occupied(mut port) => port.get_mut().add_queue(&queue),
            }
        }
        all.into_values().collect()
    }

    fn add_queue(&mut self, other: &ReceivedSoFar) {
        self.unique += other.unique;
        self.duplicates += other.duplicates;
        self.reordered += other.reordered;
        self.next_expected = self.next_expected.max(other.next_expected);
        self.latency.merge(&other.latency);
    }
}

impl SentSoFar {
    /// What a transmitter says.
    pub fn of(report: &TransmitReport) -> Self {
        SentSoFar { port: report.port, of_stream: report.sent_of_stream.clone() }
    }
}

impl Sample {
    /// Frames sent of a stream.
    pub fn sent_of(&self, stream: StreamId) -> u64 {
        let all = self.sent.iter().flat_map(|port| &port.of_stream);
        all.filter(|(id, _)| *id == stream).map(|(_, frames)| frames).sum()
    }

    /// Frames missing of what should have arrived, as far as that is known: later ones overtook them, or
    /// they had been sent at the sample `before` and are still not here. Those may only be late: so the
    /// number may fall again.
    pub fn missing(&self, before: Option<&Sample>) -> u64 {
        let expected = self.received.iter().filter(|received| received.expected);
        let missing = expected.map(|received| {
            let was_sent = before.map_or(0, |before| before.sent_of(received.stream));
            received.next_expected.max(was_sent).saturating_sub(received.unique)
        });
        missing.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(sent: u64, (unique, next_expected): (u64, u64)) -> Sample {
        let (port, stream) = (PortId(1), StreamId(1));
        let latency = Histogram::new(Duration::from_ns(1));
        Sample {
            elapsed: Duration::ZERO,
            sent: vec![SentSoFar { port: PortId(0), of_stream: vec![(stream, sent)] }],
            received: vec![ReceivedSoFar {
                port,
                stream,
                expected: true,
                unique,
                duplicates: 0,
                reordered: 0,
                next_expected,
                latency,
            }],
        }
    }

    #[test]
    fn frames_under_way_are_not_missing_until_the_next_sample() {
        let first = sample(100, (90, 90));
        assert_eq!(first.missing(None), 0, "ten are under way");
        assert_eq!(sample(100, (88, 90)).missing(None), 2, "overtaken");
        let second = sample(200, (90, 90));
        assert_eq!(second.missing(Some(&first)), 10, "sent before the first sample");
        assert_eq!(sample(200, (198, 199)).missing(Some(&first)), 1);
    }

    #[test]
    fn receive_queues_of_a_port_are_one() {
        let queues = [(40, 79), (41, 82)].map(|counts| sample(100, counts).received.remove(0));
        let [one] = &ReceivedSoFar::of_ports(queues)[..] else { panic!() };
        assert_eq!((one.unique, one.next_expected), (81, 82));
    }

    #[test]
    fn what_belongs_elsewhere_is_missed_nowhere() {
        let mut stray = sample(100, (3, 90));
        stray.received[0].expected = false;
        assert_eq!(stray.missing(Some(&sample(100, (0, 0)))), 0);
    }
}
