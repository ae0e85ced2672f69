//! What came of each pair of ports.

use serde::{Deserialize, Serialize};
use trial::{PortId, Role, TrialResult};
use units::Duration;

/// Counts of each pair of ports in one trial, exact, and the frames that came out elsewhere.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PortMatrix {
    /// In words: which trial.
    pub about: String,
    /// How many ports.
    pub ports: usize,
    /// Length of the trial as sent.
    pub duration: Duration,
    /// Pairs between which something was sent.
    pub pairs: Vec<PairCount>,
    /// Frames of the tester that came out at each port and did not belong there.
    pub flooded: Vec<u64>,
}

/// One pair of ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PairCount {
    /// Where frames went in.
    pub from: PortId,
    /// Where they were to come out.
    pub to: PortId,
    /// How many went in.
    pub sent: u64,
    /// How many different ones came out there in time.
    pub received: u64,
    /// Mean latency of those, where frames carry a time.
    pub latency_mean: Option<Duration>,
    /// The largest latency.
    pub latency_max: Option<Duration>,
}

impl PairCount {
    /// Of a trial, in the order of its streams.
    pub fn all_of(result: &TrialResult) -> Vec<PairCount> {
        let mut pairs = vec![];
        for stream in result.streams.iter().filter(|stream| stream.role == Role::Test) {
            for to in &stream.expected_ports {
                let at_port = result.received.iter().filter(|port| port.port == *to);
                let mut accounts = at_port.flat_map(|port| &port.streams);
                let account = accounts.find(|received| received.stream == stream.id);
                let latency = account.map(|received| &received.account.latency);
                pairs.push(PairCount {
                    from: stream.from,
                    to: *to,
                    sent: stream.sent,
                    received: account.map_or(0, |received| received.account.unique),
                    latency_mean: latency.and_then(|latency| latency.mean()),
                    latency_max: latency.and_then(|latency| latency.max()),
                });
            }
        }
        pairs
    }

    /// Share of frames that were lost, 0 to 1.
    pub fn loss_ratio(&self) -> f64 {
        self.sent.saturating_sub(self.received) as f64 / self.sent.max(1) as f64
    }
}

impl PortMatrix {
    /// Of a trial with `ports` ports.
    pub fn of(result: &TrialResult, ports: usize, about: impl Into<String>) -> PortMatrix {
        let flooded = (0..ports as u16).map(|port| {
            let here = result.received.iter().find(|received| received.port == PortId(port));
            here.map_or(0, |received| received.flood_count())
        });
        PortMatrix {
            about: about.into(),
            ports,
            duration: span(result),
            pairs: PairCount::all_of(result),
            flooded: flooded.collect(),
        }
    }

    /// The pair from one port to another.
    pub fn pair(&self, from: u16, to: u16) -> Option<&PairCount> {
        self.pairs.iter().find(|pair| (pair.from.0, pair.to.0) == (from, to))
    }
}

/// From the first departure of all to the last.
fn span(result: &TrialResult) -> Duration {
    let reports = || result.sent.iter().map(|sent| &sent.report);
    let first = reports().filter_map(|report| report.first_departure).min();
    let last = reports().filter_map(|report| report.last_departure).max();
    last.zip(first).map_or(Duration::ZERO, |(last, first)| last.since(first))
}
