//! The page of a comparison: the ratios first, then blocks and trials as pictures, then every trial.

use super::axis::{Axis, short, span_of_seconds};
use super::chart::{Chart, Mark, Point, Series};
use super::ink::Ink;
use super::page;
use crate::number::grouped_f64;
use crate::versus::{VersusReport, words};
use maud::{Markup, html};
use method::versus::{Judged, Met, Metric, Purpose, Ratio, Side, VersusStarted, VersusTrial};

/// The page.
pub(crate) fn versus(report: &VersusReport) -> String {
    let content = html! {
        (head(report))
        main {
            (ratios(report))
            @for ratio in report.ratios().iter().filter(|ratio| ratio.blocks.len() > 1) {
                (picture(ratio, report))
            }
            (how(report))
            (trials(report))
        }
    };
    page("netanvil versus", content)
}

fn head(report: &VersusReport) -> Markup {
    let started = report.started.as_ref();
    let date = started.and_then(|started| started.environment.get("date"));
    let criteria = report.result.iter().flat_map(|result| &result.criteria);
    html! {
        header {
            p.kicker { "netanvil versus: B over A" }
            @if let Some(started) = started {
                h1 { (started.devices[0]) @if !started.is_shared { ", " (started.devices[1]) } }
                dl.pairs-of-words {
                    dt { "A" } dd { (started.names[0]) }
                    dt { "B" } dd { (started.names[1]) }
                }
                p.facts {
                    @if let Some(date) = date { span { (date) } }
                    span { (started.program) }
                    span { (started.traffic) ", " (started.frame_size) " bytes" }
                }
            }
            @if report.result.is_none() {
                p.banner.bad {
                    strong { "Cut off: " }
                    (report.stopped_by.as_deref().unwrap_or("killed, or still running"))
                    ". What stands here is of the last look before."
                }
            }
            @for Judged { criterion, met } in criteria {
                p.banner.(class(*met)) { strong { (criterion) "? " } (words::met(*met)) }
            }
            @for notice in &report.notices {
                p.banner.warn { strong { "Saved events: " } (notice) }
            }
        }
    }
}

fn class(met: Met) -> &'static str {
    match met {
        Met::Passed => "good",
        Met::Failed => "bad",
        Met::Undecided => "warn",
    }
}

fn ratios(report: &VersusReport) -> Markup {
    let confidence = report.started.as_ref().map_or(0.0, |it| it.config.confidence * 100.0);
    html! {
        div.scroll { table {
            thead { tr {
                th scope="col" { "Metric" }
                th.num scope="col" { "A" }
                th.num scope="col" { "B" }
                th.num scope="col" { "B/A" }
                th.num scope="col" { (format!("{confidence:.0} % interval")) }
                th scope="col" { "Finding" }
            } }
            tbody {
                @for ratio in report.ratios() {
                    @let [a, b] = words::sides(ratio);
                    tr {
                        td { (words::name(ratio.metric)) }
                        td.num { (a) }
                        td.num { (b) }
                        td.num { (words::ratio(ratio)) }
                        td.num { (words::span(ratio)) }
                        td { (words::finding(ratio)) }
                    }
                }
            }
        } }
    }
}

/// Blocks and trials of a metric.
fn picture(ratio: &Ratio, report: &VersusReport) -> Markup {
    let drawn = [blocks(ratio, report), interleaved(ratio.metric, report)];
    html! {
        h2 { (words::name(ratio.metric)) }
        @for chart in &drawn {
            figure { figcaption { (chart.title) } (chart.render()) }
        }
    }
}

/// The ratio of each block, and where the interval lies.
fn blocks(ratio: &Ratio, report: &VersusReport) -> Chart {
    let last = ratio.blocks.len() as f64;
    let level = |name: &str, ink, dashed, at: f64| {
        let point = |x| Point { x, y: at, hover: format!("{name}: {at:.4}") };
        let points = vec![point(0.5), point(last + 0.5)];
        Series { name: name.into(), ink, mark: Mark::None, joined: true, dashed, points }
    };
    let points = ratio.blocks.iter().zip(1u32..).map(|(value, number)| {
        let hover = format!("block {number}: {value:.4}");
        Point { x: number.into(), y: *value, hover }
    });
    let mut series = vec![level("no difference", Ink::Theoretical, true, 1.0)];
    if let Some(interval) = ratio.interval {
        series.push(level("estimate", Ink::Device, false, interval.ratio));
        series.push(level("interval, from", Ink::NoLoss, true, interval.low));
        series.push(level("interval, to", Ink::Loss, true, interval.high));
    }
    let criteria = report.result.iter().flat_map(|result| &result.criteria);
    let criteria = criteria.filter(|judged| judged.criterion.metric == ratio.metric);
    series.extend(criteria.map(|Judged { criterion, .. }| {
        level(&format!("fails if {criterion}"), Ink::Invalid, true, criterion.bound)
    }));
    series.push(Series {
        name: "B/A of a block".into(),
        ink: Ink::Series(0),
        mark: Mark::Circle,
        joined: false,
        dashed: false,
        points: points.collect(),
    });
    let values = series.iter().flat_map(|series| &series.points).map(|point| point.y);
    let y = Axis::around("B/A", values, |value| format!("{value:.3}"));
    let title = format!("{}: the ratio of each block", ratio.metric);
    let numbers = [0.5, last + 0.5].into_iter();
    let mut x = Axis::around("Block", numbers, |value| format!("{value:.0}"));
    (x.from, x.to) = (0.5, last + 0.5);
    x.ticks.retain(|(value, _)| (1.0..=last).contains(value) && value.fract() == 0.0);
    let mut chart = Chart::new(title, x, y);
    chart.series = series;
    chart
}

/// What a trial says of a metric, and for which purpose it was made.
fn value(metric: Metric, trial: &VersusTrial) -> Option<f64> {
    match metric {
        Metric::Rate => Some(trial.rate_fps),
        Metric::LatencyP50 => trial.latency_p50_ns,
        Metric::LatencyP99 => trial.latency_p99_ns,
        Metric::Cost => trial.cost_ns,
    }
}

/// Trials of both sides in the order in which they were made.
fn interleaved(metric: Metric, report: &VersusReport) -> Chart {
    let purpose = if metric == Metric::Rate { Purpose::Rate } else { Purpose::Moderate };
    let all: Vec<&VersusTrial> =
        report.trials.iter().filter(|trial| trial.purpose == purpose).collect();
    let kind = |name: &str, ink, mark, side: Option<Side>| {
        let is_of = |trial: &&&VersusTrial| match side {
            Some(side) => trial.side == side && trial.unfit.is_none(),
            None => trial.unfit.is_some(),
        };
        let point = |trial: &&VersusTrial| {
            let y = value(metric, trial)?;
            let why = trial.unfit.as_deref().unwrap_or_default();
            let (number, said) = (trial.number, words::side_value(y));
            let hover = format!("trial {number}, {}: {said} {} {why}", trial.side, metric.unit());
            Some(Point { x: trial.at.as_secs_f64(), y, hover })
        };
        let points = all.iter().filter(is_of).filter_map(point).collect();
        Series { name: name.into(), ink, mark, joined: false, dashed: false, points }
    };
    let mut series = vec![
        kind("A", Ink::Series(0), Mark::Circle, Some(Side::A)),
        kind("B", Ink::Tester, Mark::Square, Some(Side::B)),
        kind("repeated, since it says nothing", Ink::Invalid, Mark::Cross, None),
    ];
    series.retain(|series| !series.points.is_empty());
    let points = || series.iter().flat_map(|series| &series.points);
    let y = Axis::around(&words::name(metric), points().map(|point| point.y), short);
    let x = Axis::around("Time since the start", points().map(|point| point.x), span_of_seconds);
    let mut chart = Chart::new(format!("{metric}: the trials, interleaved"), x, y);
    chart.crowded = all.len() > 100;
    chart.series = series;
    chart
}

fn how(report: &VersusReport) -> Markup {
    let Some(started) = &report.started else { return html! {} };
    html! {
        h2 { "How it was measured" }
        dl.pairs-of-words {
            @for (name, text) in conditions(report, started) { dt { (name) } dd { (text) } }
        }
        h3 { "Environment" }
        dl.pairs-of-words {
            @for (name, text) in &started.environment { dt { (name) } dd { (text) } }
        }
    }
}

fn conditions(report: &VersusReport, started: &VersusStarted) -> Vec<(String, String)> {
    let config = &started.config;
    let device = if started.is_shared { "one, switched between A and B" } else { "one each" };
    let mut conditions = vec![
        ("Devices".to_string(), device.to_string()),
        ("Trials".into(), format!("of {}", config.trial)),
        ("Largest load".into(), format!("{:.0}", started.ceiling)),
    ];
    let Some(result) = &report.result else { return conditions };
    let load = |name: &str, load: Option<units::FrameRate>| {
        load.map(|load| (name.to_string(), format!("{load:.0}")))
    };
    conditions.extend(load("Load of the rate's trials", result.flood));
    conditions.extend(load("Load of the other trials", result.moderate));
    conditions.push(("Made".into(), format!("{} blocks, {} trials", result.blocks, result.trials)));
    conditions.push(("Took".into(), format!("{:.0} s", result.elapsed.as_secs_f64())));
    let reasons = result.invalid_reasons.iter();
    conditions
        .extend(reasons.map(|(reason, count)| ("Repeated".into(), format!("{count} x {reason}"))));
    conditions
}

fn trials(report: &VersusReport) -> Markup {
    let optional = |value: Option<f64>| value.map_or("-".into(), words::side_value);
    html! {
        section.appendix {
            h2 { "Every trial" }
            div.scroll { table {
                thead { tr {
                    @for title in ["Trial", "Block", "Side", "For", "At, s", "Intended, fps",
                        "Offered, fps", "Frames", "Lost", "Rate, fps", "p50, ns", "p99, ns",
                        "Cost, ns", "Unfit"] {
                        th scope="col" { (title) }
                    }
                } }
                tbody {
                    @for trial in &report.trials {
                        tr {
                            td.num { (trial.number) }
                            td.num { (trial.block) }
                            td { (trial.side) }
                            td { (purpose(trial.purpose)) }
                            td.num { (format!("{:.2}", trial.at.as_secs_f64())) }
                            td.num { (grouped_f64(trial.intended.fps(), 0)) }
                            td.num { (grouped_f64(trial.offered.fps(), 0)) }
                            td.num { (trial.offered_frames) }
                            td.num { (trial.lost_frames) }
                            td.num { (grouped_f64(trial.rate_fps, 0)) }
                            td.num { (optional(trial.latency_p50_ns)) }
                            td.num { (optional(trial.latency_p99_ns)) }
                            td.num { (optional(trial.cost_ns)) }
                            td { (trial.unfit.as_deref().unwrap_or_default()) }
                        }
                    }
                }
            } }
        }
    }
}

fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Loads => "loads",
        Purpose::Rate => "rate",
        Purpose::Moderate => "moderate",
    }
}
