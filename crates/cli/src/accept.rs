//! Acceptance criteria: `throughput>=100000`, `throughput@64>=14880`, `latency-p99@64<=50us`.

use crate::options::Span;
use method::rfc2544::LossPoint;
use method::{Finding, RateFound, TestResult};
use report::Report;
use report::quantity::{self, Quantity, Relation};
use std::str::FromStr;
use units::{Duration, FrameRate};

/// One criterion. It is met if every result it speaks of meets it, and there is at least one.
#[derive(Clone, PartialEq, Debug)]
pub struct Criterion {
    text: String,
    name: &'static str,
    figure: Figure,
    frame_size: Option<String>,
    at_least: bool,
    /// In frames a second, percent, frames or seconds, as the figure has it.
    bound: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Figure {
    Throughput,
    Loss,
    Burst,
    LatencyMean,
    LatencyP99,
    LatencyMax,
    Recovery,
    Reset,
    /// Of tests of many ports alone.
    OfMany(Unit),
}

/// What a bound counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    /// Frames, addresses, groups; a second or not; or a plain ratio.
    Number,
    Percent,
    Time,
}

/// Names on the command line; the unit of their bounds.
const FIGURES: [(&str, Figure); 22] = [
    ("throughput", Figure::Throughput),
    ("loss", Figure::Loss),
    ("back-to-back", Figure::Burst),
    ("latency", Figure::LatencyMean),
    ("latency-p99", Figure::LatencyP99),
    ("latency-max", Figure::LatencyMax),
    ("recovery", Figure::Recovery),
    ("reset", Figure::Reset),
    ("forwarding-rate", Figure::OfMany(Unit::Number)),
    ("uncongested-loss", Figure::OfMany(Unit::Percent)),
    ("congested-loss", Figure::OfMany(Unit::Percent)),
    ("flood-count", Figure::OfMany(Unit::Number)),
    ("addresses", Figure::OfMany(Unit::Number)),
    ("learning-rate", Figure::OfMany(Unit::Number)),
    ("errored-frames", Figure::OfMany(Unit::Number)),
    ("requests", Figure::OfMany(Unit::Number)),
    ("scaling-factor", Figure::OfMany(Unit::Number)),
    ("lost-packets", Figure::OfMany(Unit::Number)),
    ("groups", Figure::OfMany(Unit::Number)),
    ("join-delay", Figure::OfMany(Unit::Time)),
    ("leave-delay", Figure::OfMany(Unit::Time)),
    ("min-max-latency", Figure::OfMany(Unit::Time)),
];

impl FromStr for Criterion {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let names: Vec<&str> = FIGURES.iter().map(|(name, _)| *name).collect();
            format!(
                "`{text}` is no criterion; write FIGURE>=NUMBER, FIGURE<=NUMBER or FIGURE@SIZE>=NUMBER \
                 with one of {}",
                names.join(", ")
            )
        };
        let split = text.split_once(">=").map(|(left, right)| (left, true, right));
        let split = split.or(text.split_once("<=").map(|(left, right)| (left, false, right)));
        let (left, at_least, right) = split.ok_or_else(wrong)?;
        let (name, frame_size) = match left.trim().split_once('@') {
            Some((name, size)) => (name, Some(size.to_owned())),
            None => (left.trim(), None),
        };
        let (name, figure) = *FIGURES.iter().find(|(known, _)| *known == name).ok_or_else(wrong)?;
        let bound = figure.parse_bound(right.trim()).ok_or_else(wrong)?;
        Ok(Criterion { text: text.into(), name, figure, frame_size, at_least, bound })
    }
}

impl Figure {
    fn parse_bound(self, text: &str) -> Option<f64> {
        match self {
            Figure::Throughput | Figure::Burst | Figure::OfMany(Unit::Number) => text.parse().ok(),
            Figure::Loss | Figure::OfMany(Unit::Percent) => {
                text.trim_end_matches('%').trim().parse().ok()
            }
            _ => text.parse::<Span>().ok().map(|span| span.0.as_secs_f64()),
        }
    }

    /// What a result says of it.
    fn of(self, result: &TestResult) -> Said {
        let seconds = |span: Duration| span.as_secs_f64();
        Said::of(match (self, result) {
            (Figure::Throughput, TestResult::Throughput(r)) => return Said::of_rate(&r.throughput),
            (Figure::Loss, TestResult::FrameLoss(r)) => {
                let valid = |point: &&LossPoint| point.invalid.is_empty();
                r.points.iter().filter(valid).map(|p| p.loss_percent).reduce(f64::max)
            }
            (Figure::Burst, TestResult::BackToBack(r)) => {
                r.summary.as_ref().map(|summary| summary.frames.mean)
            }
            (Figure::LatencyMean, TestResult::Latency(r)) => {
                r.rfc2544.as_ref().map(|latency| seconds(latency.mean))
            }
            (Figure::LatencyP99, TestResult::Latency(r)) => {
                r.all_frames.as_ref().map(|all| seconds(all.p99))
            }
            (Figure::LatencyMax, TestResult::Latency(r)) => {
                r.all_frames.as_ref().map(|all| seconds(all.max))
            }
            (Figure::Recovery, TestResult::Recovery(r)) => {
                r.mean.filter(|_| !r.is_lower_bound).map(seconds)
            }
            (Figure::Reset, TestResult::Reset(r)) => {
                r.mean_by_loss.or(r.mean_by_timestamps).map(seconds)
            }
            _ => return Said::Nothing,
        })
    }
}

/// What a result says of a figure.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Said {
    /// It is of another test.
    Nothing,
    /// It is of this test and came to nothing.
    Invalid,
    /// It lies from the one to the other; alike where it is known.
    Between(f64, f64),
}

impl Said {
    fn of(value: Option<f64>) -> Self {
        value.map_or(Said::Invalid, |value| Said::Between(value, value))
    }

    /// Of a quantity of which only bounds are known, likewise; times in seconds.
    fn of_quantity(quantity: &Quantity) -> Self {
        let scale = if quantity.unit == "ns" { 1e-9 } else { 1.0 };
        let Some(value) = quantity.value else { return Said::Invalid };
        let (low, high) = match quantity.relation {
            Relation::Equal => (value, value),
            Relation::AtLeast => (value, f64::INFINITY),
            Relation::Between | Relation::Below => (quantity.low, quantity.high),
            Relation::Unknown => return Said::Invalid,
        };
        Said::Between(low * scale, high * scale)
    }

    /// Of a rate of which only bounds are known a criterion has to hold at both.
    fn of_rate(found: &RateFound) -> Self {
        let Some(rate) = found.rate.map(FrameRate::fps) else { return Said::Invalid };
        let high = match found.finding {
            Finding::AtLeast { .. } => f64::INFINITY,
            Finding::Between { .. } => found.upper.map_or(f64::INFINITY, FrameRate::fps),
            _ => rate,
        };
        Said::Between(rate, high)
    }
}

impl Criterion {
    /// Why it is not met; empty if it is.
    pub fn failures(&self, report: &Report) -> Vec<String> {
        let of_pairs = report
            .results
            .iter()
            .map(|result| (result.conditions().frame_size.clone(), self.figure.of(result)));
        let of_many = report.chassis.iter().flat_map(quantity::of_chassis);
        let of_many = of_many.filter(|quantity| quantity.figure == self.name);
        let of_many =
            of_many.map(|quantity| (quantity.frame_size.clone(), Said::of_quantity(&quantity)));
        let all = of_pairs.chain(of_many).filter(|(size, said)| {
            *said != Said::Nothing && self.frame_size.as_ref().is_none_or(|wanted| wanted == size)
        });
        let all: Vec<(String, Said)> = all.collect();
        match all.is_empty() {
            true => vec![format!("{}: nothing was measured that it speaks of", self.text)],
            false => all.iter().filter_map(|(size, said)| self.failure(size, *said)).collect(),
        }
    }

    /// Why what is said of a size does not meet it.
    fn failure(&self, size: &str, said: Said) -> Option<String> {
        match said {
            Said::Nothing => None,
            Said::Invalid => Some(format!("{}: no valid result at {size} bytes", self.text)),
            Said::Between(low, high) if self.is_met_between(low, high) => None,
            Said::Between(low, high) => {
                let upper_end = match high {
                    high if high == low => String::new(),
                    f64::INFINITY => " or more".into(),
                    high => format!(" .. {high:.6}"),
                };
                Some(format!("{}: {low:.6}{upper_end} at {size} bytes", self.text))
            }
        }
    }

    fn is_met_between(&self, low: f64, high: f64) -> bool {
        if self.at_least { low >= self.bound } else { high <= self.bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meets(criterion: &Criterion, value: f64) -> bool {
        criterion.is_met_between(value, value)
    }

    /// 478,154 .. 675,041: neither "at least 500,000" nor "at most 600,000" is shown.
    #[test]
    fn what_is_known_between_bounds_meets_a_criterion_only_at_both() {
        let is_met =
            |text: &str, high| text.parse::<Criterion>().unwrap().is_met_between(478_154.0, high);
        assert!(is_met("throughput>=478000", 675_041.0));
        assert!(!is_met("throughput>=500000", 675_041.0));
        assert!(!is_met("throughput<=600000", 675_041.0));
        assert!(is_met("throughput<=700000", 675_041.0));
        assert!(!is_met("throughput<=700000", f64::INFINITY));
    }

    #[test]
    fn criteria_are_read() {
        let criterion: Criterion = "throughput@64>=14880".parse().unwrap();
        assert_eq!(criterion.frame_size.as_deref(), Some("64"));
        assert!(meets(&criterion, 14_880.0) && !meets(&criterion, 14_879.9));
        let criterion: Criterion = "latency-p99<=50us".parse().unwrap();
        assert!(meets(&criterion, 50e-6) && !meets(&criterion, 51e-6));
        assert!("speed>=3".parse::<Criterion>().unwrap_err().contains("throughput"));
        assert!("throughput>3".parse::<Criterion>().is_err());
    }

    #[test]
    fn a_criterion_about_nothing_is_not_met() {
        let criterion: Criterion = "loss<=1%".parse().unwrap();
        assert_eq!(criterion.failures(&Report::default()).len(), 1);
    }
}
