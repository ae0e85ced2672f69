//! The answers of a run, before all tables: one sentence for each throughput, or, where no test found one, for
//! the first figure of each test.

use crate::model::Report;
use crate::tables;
use method::outcome::{Figure, Relation, Unit};
use method::{FigureName, Outcome};

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
            format!("{value} {unit} ({}), tester-limited", gigabits(fps, outcome))
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

/// The 99th percentile of latency of the same size under the same conditions.
fn p99_beside(report: &Report, beside: &Outcome) -> String {
    let alike = report.results.iter().filter(|outcome| {
        let (a, b) = (&outcome.conditions, &beside.conditions);
        a.frame_size == b.frame_size && a.in_words == b.in_words
    });
    let p99 = alike.flat_map(|outcome| outcome.figures_of(FigureName::LatencyP99)).next();
    let known = p99.filter(|figure| figure.value.is_some());
    known.map_or(String::new(), |figure| {
        let (value, unit) = figure.printed();
        format!("; latency p99 {value} {unit}")
    })
}
