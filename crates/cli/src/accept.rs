//! Acceptance criteria: `throughput>=100000`, `throughput@64>=14880`, `latency-p99@64<=50us`.

use crate::options::Span;
use method::outcome::{Figure, Measure, Unit};
use method::{FigureName, Outcome, TestKind};
use report::{Report, Verdict};
use std::str::FromStr;
use units::text::Load;

/// One criterion. It is met if every figure it speaks of meets it, and there is at least one.
#[derive(Clone, PartialEq, Debug)]
pub struct Criterion {
    text: String,
    name: FigureName,
    frame_size: Option<String>,
    at_least: bool,
    /// In the figure's unit; in percent; or in seconds.
    bound: f64,
}

impl FromStr for Criterion {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is no criterion; write FIGURE>=NUMBER, FIGURE<=NUMBER or FIGURE@SIZE>=NUMBER \
                 with one of {}",
                FigureName::ALL.iter().map(|name| name.name()).collect::<Vec<_>>().join(", ")
            )
        };
        let split = text.split_once(">=").map(|(left, right)| (left, true, right));
        let split = split.or(text.split_once("<=").map(|(left, right)| (left, false, right)));
        let (left, at_least, right) = split.ok_or_else(wrong)?;
        let (name, frame_size) = match left.trim().split_once('@') {
            Some((name, size)) => (name, Some(size.to_owned())),
            None => (left.trim(), None),
        };
        let name = FigureName::named(name).ok_or_else(wrong)?;
        let bound = parse_bound(name, right.trim()).ok_or_else(wrong)?;
        Ok(Criterion { text: text.into(), name, frame_size, at_least, bound })
    }
}

fn parse_bound(name: FigureName, text: &str) -> Option<f64> {
    match name.measure() {
        Measure::Number if name.fits(Unit::Fps) => {
            text.parse().ok().or_else(|| match text.parse::<Load>() {
                Ok(Load::Frames(rate)) => Some(rate.fps()),
                _ => None,
            })
        }
        Measure::Number => text.parse().ok(),
        Measure::Percent => text.trim_end_matches('%').trim().parse().ok(),
        Measure::Time => text.parse::<Span>().ok().map(|span| span.0.as_secs_f64()),
    }
}

impl Criterion {
    /// Whether a run meets it.
    pub fn verdict(&self, report: &Report) -> Verdict {
        Verdict { criterion: self.text.clone(), failures: self.failures(report) }
    }

    /// Why it is not met; empty if it is.
    pub fn failures(&self, report: &Report) -> Vec<String> {
        let outcomes: Vec<&Outcome> = report.outcomes().collect();
        let has_it = |outcome: &&Outcome| outcome.figures_of(self.name).next().is_some();
        // A test that has the figure at one size and not at another failed to measure it there.
        let tests: Vec<TestKind> =
            outcomes.iter().filter(|outcome| has_it(outcome)).map(|outcome| outcome.test).collect();
        let asked = outcomes.iter().filter(|outcome| {
            let size = &outcome.conditions.frame_size;
            tests.contains(&outcome.test)
                && self.frame_size.as_ref().is_none_or(|wanted| wanted == size)
        });
        let asked: Vec<&Outcome> = asked.copied().collect();
        match asked.iter().any(has_it) {
            false => vec![format!("{}: nothing was measured that it speaks of", self.text)],
            true => asked.into_iter().flat_map(|outcome| self.failures_of(outcome)).collect(),
        }
    }

    fn failures_of(&self, outcome: &Outcome) -> Vec<String> {
        let size = &outcome.conditions.frame_size;
        let figures: Vec<&Figure> = outcome.figures_of(self.name).collect();
        match figures.is_empty() {
            true => vec![format!("{}: no valid result at {size} bytes", self.text)],
            false => figures.iter().filter_map(|figure| self.failure(figure, size)).collect(),
        }
    }

    /// Why a figure does not meet it. What is known between bounds has to meet it at both.
    fn failure(&self, figure: &Figure, size: &str) -> Option<String> {
        let Figure { name, reason, unit, .. } = figure;
        let Some((low, high)) = figure.claim() else {
            let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            return Some(format!("{}: no valid result of {name} at {size} bytes{why}", self.text));
        };
        let (low, high) = (low * unit.scale(), high * unit.scale());
        if self.is_met_between(low, high) {
            return None;
        }
        let upper_end = match high {
            high if high == low => String::new(),
            f64::INFINITY => " or more".into(),
            high => format!(" .. {high:.6}"),
        };
        Some(format!("{}: {name} is {low:.6}{upper_end} at {size} bytes", self.text))
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
        let criterion: Criterion = "throughput>=1.5Mpps".parse().unwrap();
        assert!(meets(&criterion, 1_500_000.0) && !meets(&criterion, 1_499_999.0));
        for text in ["throughput>=10G", "throughput>=1ms"] {
            assert!(text.parse::<Criterion>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_criterion_about_nothing_is_not_met() {
        let criterion: Criterion = "loss<=1%".parse().unwrap();
        assert_eq!(criterion.failures(&Report::default()).len(), 1);
    }
}
