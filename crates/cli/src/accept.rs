//! Acceptance criteria: `throughput>=100000`, `throughput@64>=14880`, `latency-p99@64<=50us`.

use crate::options::Span;
use method::TestResult;
use method::rfc2544::LossPoint;
use std::str::FromStr;

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

    /// Its value in a result; `None` if the result is of another test, `Some(None)` if it is of
    /// this test but came to nothing.
    fn of(self, result: &TestResult) -> Option<Option<f64>> {
        Some(match (self, result) {
            (Figure::Throughput, TestResult::Throughput(r)) => {
                r.throughput.rate.map(|rate| rate.fps())
            }
            (Figure::Loss, TestResult::FrameLoss(r)) => {
                let valid = |point: &&LossPoint| point.invalid.is_empty();
                r.points.iter().filter(valid).map(|p| p.loss_percent).reduce(f64::max)
            }
            (Figure::Burst, TestResult::BackToBack(r)) => {
                r.summary.as_ref().map(|summary| summary.frames.mean)
            }
            (Figure::LatencyMean, TestResult::Latency(r)) => {
                r.rfc2544.as_ref().map(|latency| latency.mean.as_secs_f64())
            }
            (Figure::LatencyP99, TestResult::Latency(r)) => {
                r.all_frames.as_ref().map(|all| all.p99.as_secs_f64())
            }
            (Figure::LatencyMax, TestResult::Latency(r)) => {
                r.all_frames.as_ref().map(|all| all.max.as_secs_f64())
            }
            (Figure::Recovery, TestResult::Recovery(r)) => {
                r.mean.filter(|_| !r.is_lower_bound).map(|mean| mean.as_secs_f64())
            }
            (Figure::Reset, TestResult::Reset(r)) => {
                r.mean_by_loss.or(r.mean_by_timestamps).map(|mean| mean.as_secs_f64())
            }
            _ => return None,
        })
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
            let Some(value) = self.figure.of(result) else { continue };
            judged += 1;
            match value {
                None => failures.push(format!("{}: no valid result at {size} bytes", self.text)),
                Some(value) if self.is_met_by(value) => {}
                Some(value) => {
                    failures.push(format!("{}: {value:.6} at {size} bytes", self.text));
                }
            }
        }
        if judged == 0 {
            failures.push(format!("{}: nothing was measured that it speaks of", self.text));
        }
        failures
    }

    fn is_met_by(&self, value: f64) -> bool {
        if self.at_least { value >= self.bound } else { value <= self.bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria_are_read() {
        let criterion: Criterion = "throughput@64>=14880".parse().unwrap();
        assert_eq!(criterion.frame_size.as_deref(), Some("64"));
        assert!(criterion.is_met_by(14_880.0) && !criterion.is_met_by(14_879.9));
        let criterion: Criterion = "latency-p99<=50us".parse().unwrap();
        assert!(criterion.is_met_by(50e-6) && !criterion.is_met_by(51e-6));
        assert!("speed>=3".parse::<Criterion>().unwrap_err().contains("throughput"));
        assert!("throughput>3".parse::<Criterion>().is_err());
    }

    #[test]
    fn a_criterion_about_nothing_is_not_met() {
        let criterion: Criterion = "loss<=1%".parse().unwrap();
        assert_eq!(criterion.failures([]).len(), 1);
    }
}
