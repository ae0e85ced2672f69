//! The answers of a run, before all tables: one sentence for each throughput, or, where no test found one, for
//! the first figure of each test.

use crate::model::Report;
use crate::tables;
use method::outcome::{Figure, Relation, Unit};
use method::{FigureName, Outcome};
use units::text::three_digits;

/// One sentence a line; empty where no test has ended.
pub fn answers(report: &Report) -> Vec<String> {
    let named = |outcome: &Outcome| outcome.figures_of(FigureName::Throughput).next().is_some();
    let all = &report.results;
    let has_throughput = all.iter().any(named);
    let told: Vec<&Outcome> = all.iter().filter(|it| !has_throughput || named(it)).collect();
    let conditions = |outcome: &Outcome| outcome.conditions.in_words.clone();
    let differ = told.windows(2).any(|pair| conditions(pair[0]) != conditions(pair[1]));
    let sentence = |outcome: &&Outcome| {
        let figure = match has_throughput {
            true => outcome.figures_of(FigureName::Throughput).next(),
            false => tables::figure_of(outcome),
        };
        let size = tables::in_words(&outcome.conditions.frame_size);
        let under = if differ { format!(" ({})", conditions(outcome)) } else { String::new() };
        let beside = if has_throughput { p99_beside(report, outcome) } else { String::new() };
        figure.map(|figure| {
            format!("{}, {size}{under}: {}{beside}", outcome.test, words(figure, outcome))
        })
    };
    told.iter().filter_map(sentence).collect()
}

/// `1,128,087 frames/s (0.58 Gb/s; fails at 1,142,307), device-limited`.
fn words(figure: &Figure, outcome: &Outcome) -> String {
    let (value, unit) = figure.printed();
    let is_rate = figure.unit == Unit::Fps;
    let why = if figure.reason.is_empty() { String::new() } else { format!(": {}", figure.reason) };
    match (figure.relation, figure.value) {
        (Relation::Unknown, _) => format!("no result{why}"),
        (Relation::Below, _) => format!("none; frames are lost at {value} {unit} already"),
        (Relation::Between, _) if is_rate => format!("{value} {unit}, not decided{why}"),
        (Relation::AtLeast, Some(fps)) if is_rate => {
            let most = outcome.conditions.theoretical_max.fps();
            let most = match fps <= most {
                true => format!("; the medium carries {}", figure.printed_value(most)),
                false => String::new(),
            };
            format!("{value} {unit} ({}{most}), tester-limited", gigabits(fps, outcome))
        }
        (Relation::Equal, Some(fps)) if is_rate => {
            let rate = gigabits(fps, outcome);
            if fps >= outcome.conditions.theoretical_max.fps() * (1.0 - 1e-6) {
                return format!("{value} {unit} ({rate}), the medium's maximum");
            }
            let upper = figure.high.filter(|high| *high > fps);
            let upper = upper.map(|high| format!("; fails at {}", figure.printed_value(high)));
            format!("{value} {unit} ({rate}{}), device-limited", upper.unwrap_or_default())
        }
        _ => format!("{value} {unit} ({})", figure.name),
    }
}

/// Bits of frames a second, FCS included.
fn gigabits(fps: f64, outcome: &Outcome) -> String {
    format!("{:.3} Gb/s", fps * outcome.conditions.mean_frame_size_bytes * 8.0 / 1e9)
}

/// The same in columns, at most 80 of them, to stand below all tables: where a screen ends. Empty where no test
/// found a throughput.
pub fn in_brief(report: &Report) -> Vec<String> {
    let found = report.results.iter().filter_map(|outcome| {
        let figure = outcome.figures_of(FigureName::Throughput).next()?;
        Some((outcome, figure))
    });
    let row = |(outcome, figure): (&Outcome, &Figure)| {
        let size = match outcome.conditions.frame_size.parse::<u32>() {
            Ok(bytes) => format!("{bytes} B"),
            Err(_) => outcome.conditions.frame_size.clone(),
        };
        let p99 = latency_p99(report, outcome).and_then(|figure| figure.value);
        let p99 = p99.map_or(String::new(), |ns| format!("p99 {}", span(ns)));
        let (rate, verdict) = rate_and_verdict(figure, outcome);
        let row = format!("{size:>8.8}  {rate:<34} {verdict:<23} {p99}");
        row.trim_end().to_owned()
    };
    found.map(row).collect()
}

/// `1.13 Mpps (0.578 Gb/s) +-0.6 %` and what was the limit.
fn rate_and_verdict(figure: &Figure, outcome: &Outcome) -> (String, &'static str) {
    let bits = |fps: f64| gigabits(fps, outcome);
    match (figure.relation, figure.value, figure.low, figure.high) {
        (Relation::Equal, Some(fps), _, _)
            if fps >= outcome.conditions.theoretical_max.fps() * (1.0 - 1e-6) =>
        {
            (format!("{} ({})", pps(fps), bits(fps)), "the medium's maximum")
        }
        (Relation::Equal, Some(fps), low, high) => {
            let width = low.zip(high).map(|(low, high)| 50.0 * (high - low) / fps);
            let width = width.map_or(String::new(), |half| format!(" +-{half:.1} %"));
            (format!("{} ({}){width}", pps(fps), bits(fps)), "device-limited")
        }
        (Relation::AtLeast, Some(fps), _, _) => {
            (format!(">= {} ({})", pps(fps), bits(fps)), "tester-limited")
        }
        (Relation::Between, _, Some(low), Some(high)) => {
            (format!("{} .. {}", pps(low), pps(high)), "not decided")
        }
        (Relation::Below, Some(fps), _, _) => {
            (format!("none down to {}", pps(fps)), "loses frames")
        }
        _ => ("no result".into(), ""),
    }
}

/// Frames a second to three digits, as this field writes them.
fn pps(fps: f64) -> String {
    let (digits, unit) = three_digits(fps, &[(1e6, "Mpps"), (1e3, "kpps"), (1.0, "pps")]);
    format!("{digits} {unit}")
}

fn span(ns: f64) -> String {
    let (digits, unit) = three_digits(ns, &[(1e9, "s"), (1e6, "ms"), (1e3, "us")]);
    format!("{digits} {unit}")
}

/// The 99th percentile of latency of the same size under the same conditions.
fn p99_beside(report: &Report, beside: &Outcome) -> String {
    latency_p99(report, beside).map_or(String::new(), |figure| {
        let (value, unit) = figure.printed();
        format!("; latency p99 {value} {unit}")
    })
}

fn latency_p99<'a>(report: &'a Report, beside: &Outcome) -> Option<&'a Figure> {
    let alike = report.results.iter().filter(|outcome| {
        let (a, b) = (&outcome.conditions, &beside.conditions);
        a.frame_size == b.frame_size && a.in_words == b.in_words
    });
    let p99 = alike.flat_map(|outcome| outcome.figures_of(FigureName::LatencyP99)).next();
    p99.filter(|figure| figure.value.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_in_brief_have_three_digits() {
        assert_eq!(
            [pps(1_128_087.0), pps(753_199.0), pps(333.3)],
            ["1.13 Mpps", "753 kpps", "333 pps"]
        );
        assert_eq!(
            [span(8_585_215.0), span(31_040.0), span(391.0)],
            ["8.59 ms", "31.0 us", "0.39 us"]
        );
        // What rounds to a thousand of one unit is one of the next.
        assert_eq!([pps(999_600.0), pps(99_960.0)], ["1.00 Mpps", "100 kpps"]);
        assert_eq!([span(999_600.0), span(9_996.0)], ["1.00 ms", "10.0 us"]);
    }
}
