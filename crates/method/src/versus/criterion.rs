//! `--fail-if 'rate < 0.97'`: what a comparison must not come to.

use super::{Interval, Metric};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A bound on a ratio B/A.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// Of which ratio.
    pub metric: Metric,
    /// Whether the comparison fails below the bound, or above it.
    pub fails: Fails,
    /// The bound.
    pub bound: f64,
}

/// On which side of its bound a criterion fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fails {
    /// Below.
    Below,
    /// Above.
    Above,
}

/// What a criterion came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Met {
    /// The whole interval is on the good side.
    Passed,
    /// The whole interval is on the bad side.
    Failed,
    /// The interval holds the bound, or there is none.
    Undecided,
}

/// A criterion with what it came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The criterion.
    pub criterion: Criterion,
    /// What it came to.
    pub met: Met,
}

impl Criterion {
    /// What follows from where the ratio lies.
    pub fn met(&self, interval: Option<Interval>) -> Met {
        let Some(Interval { low, high, .. }) = interval else { return Met::Undecided };
        let (good, bad) = match self.fails {
            Fails::Below => (low >= self.bound, high < self.bound),
            Fails::Above => (high <= self.bound, low > self.bound),
        };
        match (good, bad) {
            (true, _) => Met::Passed,
            (_, true) => Met::Failed,
            _ => Met::Undecided,
        }
    }
}

impl FromStr for Criterion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = || format!("`{text}`: write a criterion as 'rate < 0.97'");
        let at = text.find(['<', '>']).ok_or_else(help)?;
        let (metric, rest) = text.split_at(at);
        let fails = if rest.starts_with('<') { Fails::Below } else { Fails::Above };
        let bound: f64 = rest[1..].trim().parse().map_err(|_| help())?;
        if !(bound.is_finite() && bound > 0.0) {
            return Err(format!("`{text}`: a ratio is above 0"));
        }
        Ok(Criterion { metric: metric.trim().parse()?, fails, bound })
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.fails == Fails::Below { '<' } else { '>' };
        write!(f, "{} {sign} {}", self.metric, self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_criterion_is_decided_by_the_whole_interval() {
        let criterion: Criterion = "rate < 0.97".parse().unwrap();
        let met = |low, high| criterion.met(Some(Interval { low, ratio: low, high }));
        assert_eq!(met(0.97, 0.99), Met::Passed);
        assert_eq!(met(0.96, 0.99), Met::Undecided);
        assert_eq!(met(0.94, 0.96), Met::Failed);
        assert_eq!(criterion.met(None), Met::Undecided);
        let latency: Criterion = " latency_p99>1.2 ".parse().unwrap();
        assert_eq!(latency.met(Some(Interval { low: 1.3, ratio: 1.4, high: 1.5 })), Met::Failed);
        assert_eq!(latency.to_string(), "latency_p99 > 1.2");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["rate", "rate = 1", "speed < 1", "rate < 0", "rate < x", "rate <= 1"] {
            assert!(text.parse::<Criterion>().is_err(), "{text}");
        }
    }
}
