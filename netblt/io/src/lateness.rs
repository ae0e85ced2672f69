//! How late bursts leave, to the microsecond: what the waits of this machine are worth.

use serde::Serialize;
use units::Duration;

/// Longer lateness counts as this; in microseconds.
const MOST_US: usize = 9_999;

/// Lateness of wake-ups after which something was sent.
#[derive(Clone, Debug)]
pub struct Lateness {
    /// Wake-ups, by whole microseconds of lateness.
    counts: Vec<u64>,
    all: u64,
}

/// Of all bursts that were waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct LatenessSummary {
    /// How many were waited for. Those that were late before the wait began are none of them.
    pub bursts: u64,
    /// Half of them were at most so late.
    pub median_us: u64,
    /// Ninety-nine in a hundred.
    pub p99_us: u64,
}

impl Lateness {
    /// Nothing has left.
    pub fn new() -> Self {
        Lateness { counts: vec![0; MOST_US + 1], all: 0 }
    }
    /// Something left so late.
    pub fn record(&mut self, late: Duration) {
        let us = (late.as_ns() / 1000) as usize;
        self.counts[us.min(MOST_US)] += 1;
        self.all += 1;
    }
    /// None if nothing was waited for.
    pub fn summary(&self) -> Option<LatenessSummary> {
        let (median_us, p99_us) = (self.percentile(50)?, self.percentile(99)?);
        Some(LatenessSummary { bursts: self.all, median_us, p99_us })
    }
    /// The smallest lateness that so many in a hundred do not exceed.
    fn percentile(&self, of_100: u64) -> Option<u64> {
        let rank = (self.all * of_100).div_ceil(100).max(1);
        let mut below = 0;
        let found = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        found.map(|us| us as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_ranks() {
        let mut lateness = Lateness::new();
        assert_eq!(lateness.summary(), None);
        for us in (1..=200).rev() {
            lateness.record(Duration::from_us(us) + Duration::from_ns(999));
        }
        let summary = lateness.summary().unwrap();
        assert_eq!((summary.bursts, summary.median_us, summary.p99_us), (200, 100, 198));
        lateness.record(Duration::from_secs(1));
        assert_eq!(lateness.percentile(100), Some(9_999));
    }
}
