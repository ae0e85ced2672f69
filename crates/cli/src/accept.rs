//! Acceptance criteria: `throughput>=100000`, `throughput@64>=14880`, `latency-p99@64<=50us`.

use crate::options::Span;
use method::rfc2544::LossPoint;
use method::{Finding, RateFound, TestResult};
use std::str::FromStr;
use units::{Duration, FrameRate};

/// One criterion. It is met if every result it speaks of meets it, and there is at least one.
#[derive(Clone, PartialEq, Debug)]
pub struct Criterion {
    text: String,
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
}

/// Names on the command line; the unit of their bounds.
const FIGURES: [(&str, Figure); 8] = [
    ("throughput", Figure::Throughput),
    ("loss", Figure::Loss),
    ("back-to-back", Figure::Burst),
    ("latency", Figure::LatencyMean),
    ("latency-p99", Figure::LatencyP99),
    ("latency-max", Figure::LatencyMax),
    ("recovery", Figure::Recovery),
    ("reset", Figure::Reset),
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
        let figure = FIGURES.iter().find(|(known, _)| *known == name).ok_or_else(wrong)?.1;
        let bound = figure.parse_bound(right.trim()).ok_or_else(wrong)?;
        Ok(Criterion { text: text.into(), figure, frame_size, at_least, bound })
    }
}

impl Figure {
    fn parse_bound(self, text: &str) -> Option<f64> {
        match self {
            Figure::Throughput | Figure::Burst => text.parse().ok(),
            Figure::Loss => text.trim_end_matches('%').trim().parse().ok(),
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
    pub fn failures<'a>(&self, results: impl IntoIterator<Item = &'a TestResult>) -> Vec<String> {
        let mut failures = vec![];
        let mut judged = 0;
        for result in results {
            let size = &result.conditions().frame_size;
            if self.frame_size.as_ref().is_some_and(|wanted| wanted != size) {
                continue;
            }
            let said = self.figure.of(result);
            judged += u32::from(said != Said::Nothing);
            match said {
                Said::Nothing => {}
                Said::Invalid => {
                    failures.push(format!("{}: no valid result at {size} bytes", self.text));
                }
                Said::Between(low, high) if self.is_met_between(low, high) => {}
                Said::Between(low, high) => {
                    let upper_end = match high {
                        high if high == low => String::new(),
                        f64::INFINITY => " or more".into(),
                        high => format!(" .. {high:.6}"),
                    };
                    failures.push(format!("{}: {low:.6}{upper_end} at {size} bytes", self.text));
                }
            }
        }
        if judged == 0 {
            failures.push(format!("{}: nothing was measured that it speaks of", self.text));
        }
        failures
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
        assert_eq!(criterion.failures([]).len(), 1);
    }
}
