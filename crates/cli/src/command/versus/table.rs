//! A comparison on one screen.

use method::versus::{Met, Metric, Ratio, VersusResult};
use units::Duration;

/// One line for those who wait.
pub fn progress(blocks: usize, ratios: &[Ratio]) -> String {
    let known = ratios.iter().filter_map(|ratio| {
        let interval = ratio.interval?;
        Some(format!("{} {:.4} .. {:.4}", ratio.metric, interval.low, interval.high))
    });
    let known: Vec<String> = known.collect();
    format!("after {blocks} blocks: B/A {}", known.join(", "))
}

pub fn render(result: &VersusResult, names: [&str; 2], size: &str, trial: Duration) -> String {
    let mut text = String::new();
    let size = if size.parse::<u32>().is_ok() { format!("{size}-byte") } else { size.to_owned() };
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    line(format!("A: {}", names[0]));
    line(format!("B: {}", names[1]));
    line(format!(
        "{size} frames, {} blocks, {} trials of {trial}, {} of them repeated as invalid; {:.0} s",
        result.blocks,
        result.trials,
        result.invalid_trials,
        result.elapsed.as_secs_f64(),
    ));
    for (reason, count) in &result.invalid_reasons {
        line(format!("  invalid: {count} x {reason}"));
    }
    let loads = [("rate at an offered load of", result.flood), ("the others at", result.moderate)];
    let loads =
        loads.iter().filter_map(|(what, load)| load.map(|load| format!("{what} {load:.0}")));
    line(format!("  {}", loads.collect::<Vec<_>>().join("; ")));
    line(String::new());
    let share = format!("{:.0} % interval", result.confidence * 100.0);
    line(format!("{:<16} {:>13} {:>13} {:>8} {:>18}", "", "A", "B", "B/A", share));
    result.ratios.iter().for_each(|ratio| line(row(ratio)));
    for (criterion, met) in &result.criteria {
        let met = match met {
            Met::Passed => "no: passed",
            Met::Failed => "yes: FAILED",
            Met::Undecided => "undecided",
        };
        line(format!("\n{criterion}? {met}"));
    }
    text
}

fn row(ratio: &Ratio) -> String {
    let name = format!("{}, {}", ratio.metric, ratio.metric.unit());
    let value = |value: Option<f64>| {
        value.map_or("-".into(), |value| match value {
            value if value >= 1000.0 => format!("{value:.0}"),
            value => format!("{value:.1}"),
        })
    };
    let (a, b) = (value(ratio.a), value(ratio.b));
    let Some(interval) = ratio.interval else {
        let why = ratio.why.as_deref().unwrap_or_default();
        return format!("{name:<16} {a:>13} {b:>13} {:>8} {why}", "-");
    };
    let span = format!("{:.4} .. {:.4}", interval.low, interval.high);
    let found = in_words(ratio.metric, interval.low, interval.high);
    format!("{name:<16} {a:>13} {b:>13} {:>8.4} {span:>18}  {found}", interval.ratio)
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
