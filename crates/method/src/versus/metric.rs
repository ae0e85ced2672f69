//! What is compared, and what a value of it is worth.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Forwarding rate under overload, frames a second.
    Rate,
    /// Median latency at a moderate load, nanoseconds.
    LatencyP50,
    /// 99th percentile of it.
    LatencyP99,
    /// Processor time of the device's threads for a frame forwarded at that load, nanoseconds.
    Cost,
}

impl Metric {
    /// As criteria name it.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Rate => "rate",
            Metric::LatencyP50 => "latency_p50",
            Metric::LatencyP99 => "latency_p99",
            Metric::Cost => "cost",
        }
    }
    /// The best of a side's trials in a block: what disturbs a trial only ever makes it worse.
    pub(super) fn best(self, values: &[f64]) -> f64 {
        match self {
            Metric::Rate => values.iter().copied().fold(0.0, f64::max),
            _ => values.iter().copied().fold(f64::INFINITY, f64::min),
        }
    }
    /// Of its values.
    pub fn unit(self) -> &'static str {
        if self == Metric::Rate { "fps" } else { "ns" }
    }
}

impl FromStr for Metric {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let all = [Metric::Rate, Metric::LatencyP50, Metric::LatencyP99, Metric::Cost];
        let unknown =
            || format!("no metric `{name}`: there are rate, latency_p50, latency_p99, cost");
        all.into_iter().find(|metric| metric.name() == name).ok_or_else(unknown)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
