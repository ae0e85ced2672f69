//! What came of a comparison.

use super::{Interval, Judged, Metric};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::{Duration, FrameRate};

/// What came of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersusResult {
    /// By metric.
    pub ratios: Vec<Ratio>,
    /// What became of each criterion.
    pub criteria: Vec<Judged>,
    /// Chance that an interval holds the truth, at least.
    pub confidence: f64,
    /// Blocks made.
    pub blocks: usize,
    /// Trials made.
    pub trials: u64,
    /// Trials among them that said nothing and were made again.
    pub invalid_trials: u64,
    /// Why trials were invalid, and how many for each reason.
    pub invalid_reasons: BTreeMap<String, u64>,
    /// The load of rate trials; `None` where neither side was saturated, or none was wanted.
    pub flood: Option<FrameRate>,
    /// The load of the other trials; `None` where none was found.
    pub moderate: Option<FrameRate>,
    /// How long the run took.
    pub elapsed: Duration,
}

/// The ratio B/A of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Which.
    pub metric: Metric,
    /// Median of A's trials; `None` where there is none.
    pub a: Option<f64>,
    /// Median of B's trials.
    pub b: Option<f64>,
    /// Whether `a` and `b` are bounds: the side carried all that the tester sent.
    pub at_least: [bool; 2],
    /// Where the ratio lies; `None` where too few blocks have a value, or the ratio is only bounded.
    pub interval: Option<Interval>,
    /// What is known in place of an interval where one side is only bounded.
    pub bound: Option<Bound>,
    /// Ratios of the blocks, in their order.
    pub blocks: Vec<f64>,
    /// Why there is no interval.
    pub why: Option<String>,
}

/// A bound on a ratio, with the confidence of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// From below.
    AtLeast(f64),
    /// From above.
    AtMost(f64),
}

impl Ratio {
    /// Where the ratio lies, an end without bound included: 0 or infinity.
    pub fn range(&self) -> Option<Interval> {
        let of_bound = |bound| match bound {
            Bound::AtLeast(low) => Interval { low, ratio: low, high: f64::INFINITY },
            Bound::AtMost(high) => Interval { low: 0.0, ratio: high, high },
        };
        self.interval.or(self.bound.map(of_bound))
    }
}

impl VersusResult {
    /// The ratio of a metric, where it was measured.
    pub fn ratio(&self, metric: Metric) -> Option<&Ratio> {
        self.ratios.iter().find(|ratio| ratio.metric == metric)
    }
}
