//! What a ratio says, cell by cell: the terminal and the page have the same.

use crate::number::grouped_f64;
use method::versus::{Bound, Met, Metric, Ratio};

/// `rate, fps`.
pub(crate) fn name(metric: Metric) -> String {
    format!("{metric}, {}", metric.unit())
}

/// A and B.
pub(crate) fn sides(ratio: &Ratio) -> [String; 2] {
    let side = |value: Option<f64>, is_at_least: bool| {
        let sign = if is_at_least { ">= " } else { "" };
        value.map_or("-".into(), |value| format!("{sign}{}", side_value(value)))
    };
    [side(ratio.a, ratio.at_least[0]), side(ratio.b, ratio.at_least[1])]
}

pub(crate) fn side_value(value: f64) -> String {
    grouped_f64(value, usize::from(value < 1000.0))
}

/// B/A.
pub(crate) fn ratio(ratio: &Ratio) -> String {
    ratio.interval.map_or("-".into(), |interval| format!("{:.4}", interval.ratio))
}

/// Where it lies.
pub(crate) fn span(ratio: &Ratio) -> String {
    match (ratio.interval, ratio.bound) {
        (Some(it), _) => format!("{:.4} .. {:.4}", it.low, it.high),
        (_, Some(Bound::AtLeast(low))) => format!(">= {low:.4}"),
        (_, Some(Bound::AtMost(high))) => format!("<= {high:.4}"),
        _ => "-".into(),
    }
}

/// What follows, or why nothing does.
pub(crate) fn finding(ratio: &Ratio) -> String {
    match ratio.interval {
        Some(interval) => in_words(ratio.metric, interval.low, interval.high),
        None => ratio.why.clone().unwrap_or_default(),
    }
}

pub(crate) fn met(met: Met) -> &'static str {
    match met {
        Met::Passed => "no: passed",
        Met::Failed => "yes: FAILED",
        Met::Undecided => "undecided",
    }
}

/// What follows from an interval.
fn in_words(metric: Metric, low: f64, high: f64) -> String {
    let percent = |ratio: f64| (ratio - 1.0).abs() * 100.0;
    let (less, more) = match metric {
        Metric::Rate => ("lower", "higher"),
        Metric::Cost => ("cheaper", "dearer"),
        Metric::LatencyP50 | Metric::LatencyP99 => ("shorter", "longer"),
    };
    match (low, high) {
        (_, high) if high < 1.0 => {
            format!("B {less} by {:.2} to {:.2} %", percent(high), percent(low))
        }
        (low, _) if low > 1.0 => {
            format!("B {more} by {:.2} to {:.2} %", percent(low), percent(high))
        }
        _ => format!("no difference found above {:.2} %", percent(low).max(percent(high))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_from_the_interval() {
        assert_eq!(in_words(Metric::Rate, 0.96, 0.98), "B lower by 2.00 to 4.00 %");
        assert_eq!(in_words(Metric::LatencyP50, 1.1, 1.25), "B longer by 10.00 to 25.00 %");
        assert_eq!(in_words(Metric::Rate, 0.995, 1.01), "no difference found above 1.00 %");
    }
}
