//! `--fail-if 'loss > 0.1%'`: what traffic must not come to.

use super::Totals;
use crate::versus::{Fails, Met};
use std::fmt;
use std::str::FromStr;
use units::text::{Load, Share, Span};
use units::{Duration, FrameRate};

/// A bound on what became of the traffic.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TrafficCriterion {
    /// Whether it fails below the bound, or above it.
    pub fails: Fails,
    /// The bound, with what it is of.
    pub bound: TrafficBound,
}

/// What a criterion is of, with its bound.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TrafficBound {
    /// Lost frames, as a share of those sent.
    Loss(f64),
    /// Lost frames.
    Lost(u64),
    /// Frames out of order.
    Reordered(u64),
    /// Frames that came twice.
    Duplicates(u64),
    /// Frames that came damaged.
    Corrupted(u64),
    /// Median of latency, 99th percentile or maximum.
    Latency(LatencyOf, Duration),
    /// Frames a second that came out.
    Rate(FrameRate),
}

/// Which latency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LatencyOf {
    /// Median.
    P50,
    /// 99th percentile.
    P99,
    /// Maximum.
    Max,
}

const NAMES: [&str; 9] = [
    "loss",
    "lost",
    "reordered",
    "duplicates",
    "corrupted",
    "latency_p50",
    "latency_p99",
    "latency_max",
    "rate",
];

impl TrafficCriterion {
    /// Whether the traffic came to that. What was not measured, or by a tester that fell short, decides
    /// nothing.
    pub fn met(&self, totals: &Totals) -> Met {
        if !totals.invalid.is_empty() {
            return Met::Undecided;
        }
        let count = |value: u64, bound: u64| Some((value as f64, bound as f64));
        let compared = match self.bound {
            TrafficBound::Loss(bound) if totals.sent > 0 => Some((totals.loss_ratio(), bound)),
            TrafficBound::Loss(_) => None,
            TrafficBound::Lost(bound) => count(totals.lost, bound),
            TrafficBound::Reordered(bound) => count(totals.reordered, bound),
            TrafficBound::Duplicates(bound) => count(totals.duplicates, bound),
            TrafficBound::Corrupted(bound) => count(totals.corrupted, bound),
            TrafficBound::Latency(of, bound) => {
                let latency = totals.latency.as_ref().and_then(|latency| match of {
                    LatencyOf::P50 => latency.percentile(50.0),
                    LatencyOf::P99 => latency.percentile(99.0),
                    LatencyOf::Max => latency.max(),
                });
                latency.map(|latency| (latency.as_ns_f64(), bound.as_ns_f64()))
            }
            TrafficBound::Rate(bound) => Some((totals.received_rate().fps(), bound.fps())),
        };
        if let (TrafficBound::Latency(..), Some((value, bound))) = (&self.bound, compared)
            && (value - bound).abs() <= totals.clock_error.as_ns_f64()
            && totals.clock_error > Duration::ZERO
        {
            // It may be on either side.
            return Met::Undecided;
        }
        match (compared, self.fails) {
            (None, _) => Met::Undecided,
            (Some((value, bound)), Fails::Above) if value > bound => Met::Failed,
            (Some((value, bound)), Fails::Below) if value < bound => Met::Failed,
            (Some(_), _) => Met::Passed,
        }
    }
}

impl FromStr for TrafficCriterion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = || format!("`{text}`: write a criterion as 'loss > 0.1%'");
        let at = text.find(['<', '>']).ok_or_else(help)?;
        let (name, rest) = text.split_at(at);
        let fails = if rest.starts_with('<') { Fails::Below } else { Fails::Above };
        let (name, value) = (name.trim(), rest[1..].trim());
        let count = || value.replace(',', "").parse::<u64>().map_err(|_| help());
        let latency = |of| match value.parse::<f64>() {
            Ok(_) => Err(format!("`{text}`: a latency has a unit: {name} > {value}us")),
            Err(_) => Ok(TrafficBound::Latency(of, value.parse::<Span>()?.0)),
        };
        let bound = match name {
            "loss" => TrafficBound::Loss(value.parse::<Share>()?.0),
            "lost" => TrafficBound::Lost(count()?),
            "reordered" => TrafficBound::Reordered(count()?),
            "duplicates" => TrafficBound::Duplicates(count()?),
            "corrupted" => TrafficBound::Corrupted(count()?),
            "latency_p50" => latency(LatencyOf::P50)?,
            "latency_p99" => latency(LatencyOf::P99)?,
            "latency_max" => latency(LatencyOf::Max)?,
            "rate" => match value.parse()? {
                Load::Frames(rate) => TrafficBound::Rate(rate),
                _ => return Err(format!("`{text}`: write the rate in frames: rate < 1Mpps")),
            },
            _ => {
                let names = NAMES.join(", ");
                return Err(format!("`{text}`: no criterion is of `{name}`; there are {names}"));
            }
        };
        Ok(TrafficCriterion { fails, bound })
    }
}

impl fmt::Display for TrafficCriterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.fails == Fails::Below { '<' } else { '>' };
        match self.bound {
            TrafficBound::Loss(bound) => write!(f, "loss {sign} {}%", bound * 100.0),
            TrafficBound::Lost(bound) => write!(f, "lost {sign} {bound}"),
            TrafficBound::Reordered(bound) => write!(f, "reordered {sign} {bound}"),
            TrafficBound::Duplicates(bound) => write!(f, "duplicates {sign} {bound}"),
            TrafficBound::Corrupted(bound) => write!(f, "corrupted {sign} {bound}"),
            TrafficBound::Latency(of, bound) => {
                let of = match of {
                    LatencyOf::P50 => "p50",
                    LatencyOf::P99 => "p99",
                    LatencyOf::Max => "max",
                };
                write!(f, "latency_{of} {sign} {}", Span(bound))
            }
            TrafficBound::Rate(bound) => write!(f, "rate {sign} {}", Load::Frames(bound)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trial::InvalidReason;

    fn met(text: &str, totals: &Totals) -> Met {
        text.parse::<TrafficCriterion>().unwrap().met(totals)
    }

    #[test]
    fn a_criterion_is_decided_by_the_counts() {
        let totals = Totals { sent: 1_000, received: 999, lost: 1, ..Totals::default() };
        assert_eq!(met("loss > 0.1%", &totals), Met::Passed);
        assert_eq!(met("loss > 0.09%", &totals), Met::Failed);
        assert_eq!(met("lost > 0", &totals), Met::Failed);
        assert_eq!(met("reordered > 0", &totals), Met::Passed);
        assert_eq!(met("latency_p99 > 1ms", &totals), Met::Undecided, "none was measured");
        let what = InvalidReason::Other { what: "held up".into() };
        let invalid = Totals { invalid: vec![what], ..totals };
        assert_eq!(met("lost > 0", &invalid), Met::Undecided, "the tester fell short");
        assert_eq!(met("loss > 1%", &Totals::default()), Met::Undecided, "nothing was sent");
    }

    #[test]
    fn criteria_are_read_and_printed() {
        for text in ["loss > 0.1%", "lost > 5", "latency_p99 > 100us", "rate < 1.5 Mpps"] {
            assert_eq!(text.parse::<TrafficCriterion>().unwrap().to_string(), text);
        }
        let refused = |text: &str| text.parse::<TrafficCriterion>().unwrap_err();
        assert!(refused("latency_p99 > 100").contains("100us"));
        assert!(refused("speed > 1").contains("latency_max"));
        assert!(refused("rate < 10G").contains("in frames"));
        for text in ["loss", "loss = 1%", "loss > 101%", "lost > -1", "rate < 1"] {
            refused(text);
        }
    }
}
