//! Which chart shows which result.

use super::axis::{Axis, Scale, short, span_of_seconds};
use super::chart::{Bar, Chart, Mark, Point, Series, Whisker};
use super::ink::Ink;
use crate::harvard::RateTable;
use crate::model::{Group, Report};
use crate::number::{grouped, grouped_f64, percent};
use crate::tables::rate_cell;
use crate::trial_row::TrialRow;
use method::rfc2544::{FrameLossResult, LatencyResult, MaximumOf, ThroughputResult};
use method::{Direction, Finding, LatencySummary, Verdict};
use units::{Duration, FrameRate};

/// Rates that differ by more than this want a logarithmic axis to be read at all.
const LOG_FROM: f64 = 25.0;
/// More trials than this are drawn as small marks.
const CROWDED_FROM: usize = 100;
/// Columns of a latency histogram.
const HISTOGRAM_COLUMNS: i32 = 96;

/// Frame rate over frame size, with the theoretical line (RFC 2544 section 26.1).
pub(super) fn throughput(group: &Group<'_>) -> Option<Chart> {
    let results = &group.throughput;
    let line = |name: &str, ink, mark, rate: &dyn Fn(&ThroughputResult) -> Option<FrameRate>| {
        let points = results.iter().filter_map(|result| {
            let conditions = &result.conditions;
            let fps = rate(result)?.fps();
            let hover = format!("{}: {} fps, {name}", conditions.frame_size, grouped_f64(fps, 0));
            Some(Point { x: conditions.mean_frame_size_bytes, y: fps, hover })
        });
        Series {
            name: name.into(),
            ink,
            mark,
            joined: true,
            dashed: mark == Mark::None,
            points: points.collect(),
        }
    };
    let mut series = vec![
        line("theoretical maximum of the medium", Ink::Theoretical, Mark::None, &|result| {
            Some(result.conditions.theoretical_max)
        }),
        line("tester alone", Ink::Tester, Mark::Square, &|result| result.conditions.tester_max),
    ];
    series.extend(tolerances(results).into_iter().enumerate().map(|(number, tolerance)| {
        let name = format!("device: up to {tolerance} % loss (not throughput)");
        let found = move |result: &ThroughputResult| {
            let mut found = result.with_tolerance.iter();
            found.find(|found| found.loss_tolerance_percent == tolerance)?.rate
        };
        line(&name, Ink::Series(number + 2), Mark::of_series(number + 2), &found)
    }));
    // Last, so that nothing hides it.
    series.push(line("device: throughput, no loss", Ink::Device, Mark::Circle, &|result| {
        result.throughput.rate
    }));
    series.push(limited(results));
    series.retain(|series| !series.points.is_empty());
    let rates = || series.iter().flat_map(|series| &series.points).map(|point| point.y);
    let (lowest, highest) = super::axis::extent(rates())?;
    let title = match group.key.direction {
        Direction::Unidirectional => "Frame rate (frames/s)",
        Direction::Bidirectional => "Frames/s in each direction",
    };
    let y = match lowest > 0.0 && highest / lowest > LOG_FROM {
        true => Axis::log(&format!("{title}, log scale"), rates(), short),
        false => Axis::from_zero(title, highest),
    };
    let sizes = results.iter().map(|result| result.conditions.mean_frame_size_bytes);
    let mut chart = Chart::new("Frame rate by frame size", Axis::frame_sizes(sizes), y);
    chart.series = series;
    Some(chart)
}

/// Frame rate over frame size as the router tests of 1990 drew it: the medium and the tester above,
/// the device's columns below; with what was published as marks, where it is given.
pub(super) fn rates(table: &RateTable, published: Option<&RateTable>) -> Option<Chart> {
    let points = |table: &RateTable, column: &str| -> Vec<Point> {
        let points = table.rows.iter().filter_map(|row| {
            let fps = table.cell(&row.frame_size, column).fps()?;
            let hover = format!("{}: {} fps, {column}", row.frame_size, grouped_f64(fps, 0));
            Some(Point { x: row.frame_size.parse().ok()?, y: fps, hover })
        });
        points.collect()
    };
    let devices = table.columns.iter().filter(|column| column.contains('_'));
    let testers = table.columns.iter().filter(|column| column.starts_with("test"));
    let line = |name: &str, ink, mark, dashed, joined, points| Series {
        name: name.into(),
        ink,
        mark,
        joined,
        dashed,
        points,
    };
    let mut series =
        vec![line("theo", Ink::Theoretical, Mark::None, true, true, points(table, "theo"))];
    series.extend(testers.enumerate().map(|(number, column)| {
        // The second source is another line of the same kind.
        line(column, Ink::Tester, Mark::None, number > 0, true, points(table, column))
    }));
    for (number, column) in devices.enumerate() {
        let (ink, mark) = (Ink::Series(number), Mark::of_series(number));
        let lines = if published.is_some() { Mark::None } else { mark };
        series.push(line(column, ink, lines, false, true, points(table, column)));
        let marks = published.map(|published| points(published, column)).unwrap_or_default();
        if !marks.is_empty() {
            let name = format!("{column}, published");
            series.push(line(&name, ink, mark, false, false, marks));
        }
    }
    series.retain(|series| !series.points.is_empty());
    let all = || series.iter().flat_map(|series| &series.points);
    let (_, highest) = super::axis::extent(all().map(|point| point.y))?;
    let mut sizes: Vec<f64> = all().map(|point| point.x).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let x = Axis::frame_sizes(sizes.into_iter());
    let y = Axis::from_zero("Frame rate (frames/s)", highest);
    let mut chart = Chart::new("Frame rate by frame size", x, y);
    chart.series = series;
    Some(chart)
}

/// The charts of curves that outcomes bring with them; those that belong to one chart together.
pub(super) fn curves(all: &[method::outcome::Series]) -> Vec<Chart> {
    let mut titles: Vec<&str> = vec![];
    for curve in all {
        if !titles.contains(&&*curve.chart) {
            titles.push(&curve.chart);
        }
    }
    let of = |title| all.iter().filter(move |curve| curve.chart == title);
    titles.into_iter().filter_map(|title| chart_of(&of(title).collect::<Vec<_>>())).collect()
}

/// A curve a frame size; none without a point.
fn chart_of(curves: &[&method::outcome::Series]) -> Option<Chart> {
    let first = curves.first()?;
    let line = |(number, curve): (usize, &&method::outcome::Series)| {
        let points = curve.points.iter().map(|&(x, y)| {
            let hover = format!("{}, {x} {}: {y:.0} {}", curve.name, curve.x.1, curve.y.1);
            Point { x, y, hover }
        });
        Series {
            name: curve.name.clone(),
            ink: Ink::Series(number),
            mark: Mark::of_series(number),
            joined: true,
            dashed: false,
            points: points.collect(),
        }
    };
    let series: Vec<Series> = curves.iter().enumerate().map(line).collect();
    let all = || series.iter().flat_map(|series| &series.points);
    let (_, most) = super::axis::extent(all().map(|point| point.x))?;
    let (_, highest) = super::axis::extent(all().map(|point| point.y))?;
    let (x, y) = (Axis::from_zero(&first.x.0, most), Axis::from_zero(&first.y.0, highest));
    let mut chart = Chart::new(&first.chart, x, y);
    chart.series = series;
    Some(chart)
}

/// Every loss tolerance that any size was searched with.
fn tolerances(results: &[&ThroughputResult]) -> Vec<f64> {
    let found = results.iter().flat_map(|result| &result.with_tolerance);
    let mut tolerances: Vec<f64> = found.map(|found| found.loss_tolerance_percent).collect();
    tolerances.sort_by(f64::total_cmp);
    tolerances.dedup();
    tolerances
}

/// Rates that only bound the device's, marked as such.
fn limited(results: &[&ThroughputResult]) -> Series {
    let bounds = results.iter().filter_map(|result| {
        let found = &result.throughput;
        let Finding::AtLeast { why } = &found.finding else { return None };
        let hover = format!("{}: {} fps; {why}", result.conditions.frame_size, rate_cell(found));
        Some(Point { x: result.conditions.mean_frame_size_bytes, y: found.rate?.fps(), hover })
    });
    Series {
        name: "at least: the tester was the limit".into(),
        ink: Ink::Invalid,
        mark: Mark::Cross,
        joined: false,
        dashed: false,
        points: bounds.collect(),
    }
}

/// Loss over offered load, both axes 0 to 100 % (RFC 2544 section 26.3).
pub(super) fn frame_loss(group: &Group<'_>) -> Vec<Chart> {
    let results = &group.frame_loss;
    if results.is_empty() {
        return vec![];
    }
    let mut charts = vec![loss_chart(
        "Frame loss rate by load",
        "Offered load (% of the medium's theoretical maximum)",
        results,
        |point| point.percent_of_theoretical,
    )];
    if results.iter().any(|result| result.maximum_of == MaximumOf::Tester) {
        charts.push(loss_chart(
            "Frame loss rate by load, in terms of what the tester can offer",
            "Offered load (% of the highest load that could be offered)",
            results,
            |point| point.percent_of_maximum,
        ));
    }
    charts
}

fn loss_chart(
    title: &str,
    x: &str,
    results: &[&FrameLossResult],
    load: fn(&method::rfc2544::LossPoint) -> f64,
) -> Chart {
    let mut chart = Chart::new(title, Axis::percent(x), Axis::percent("Frame loss rate (%)"));
    chart.series.extend(results.iter().enumerate().map(|(number, result)| {
        let counted = result.points.iter().filter(|point| point.invalid.is_empty());
        let points = counted.map(|point| Point {
            x: load(point),
            y: point.loss_percent,
            hover: format!(
                "{}: {} % lost at {} fps ({} of {} frames)",
                result.conditions.frame_size,
                percent(point.loss_percent / 100.0),
                grouped_f64(point.intended.fps(), 0),
                grouped(point.expected_frames.saturating_sub(point.received_frames)),
                grouped(point.expected_frames),
            ),
        });
        Series {
            name: in_words(&result.conditions.frame_size),
            ink: Ink::Series(number),
            mark: Mark::of_series(number),
            joined: true,
            dashed: false,
            points: points.collect(),
        }
    }));
    chart
}

/// Spread of latency by frame size.
pub(super) fn latency(group: &Group<'_>) -> Option<Chart> {
    let results = &group.latency;
    let measured: Vec<(f64, &LatencyResult, &LatencySummary)> = (1..)
        .zip(results)
        .filter_map(|(at, result)| Some((f64::from(at), *result, result.all_frames.as_ref()?)))
        .collect();
    let seconds = |result: &LatencyResult, stamped| result.definition.ns(stamped) / 1e9;
    let marks = |name: &str, ink, mark, span: &dyn Fn(&LatencyResult) -> Option<f64>| Series {
        name: name.into(),
        ink,
        mark,
        joined: mark == Mark::None,
        dashed: mark == Mark::None,
        points: (1..)
            .zip(results)
            .filter_map(|(at, result)| {
                let y = span(result)?;
                let span = Duration::from_secs_f64(y.max(0.0));
                let hover = format!("{}: {span}, {name}", result.conditions.frame_size);
                Some(Point { x: f64::from(at), y, hover })
            })
            .filter(|point| point.y > 0.0)
            .collect(),
    };
    let all = |take: fn(&LatencySummary) -> Duration| {
        move |result: &LatencyResult| Some(seconds(result, take(result.all_frames.as_ref()?)))
    };
    let mut series = vec![
        marks("maximum", Ink::Invalid, Mark::Cross, &all(|s| s.max)),
        marks("p99", Ink::Series(5), Mark::Triangle, &all(|s| s.p99)),
        marks("p50", Ink::Device, Mark::Circle, &all(|s| s.p50)),
        marks("minimum", Ink::Series(2), Mark::Square, &all(|s| s.min)),
        marks("RFC 2544 mean", Ink::Series(3), Mark::Diamond, &|result| {
            Some(seconds(result, result.rfc2544.as_ref()?.mean))
        }),
        marks("tester's own floor (FILO)", Ink::Tester, Mark::None, &|result| {
            Some(result.tester_floor?.as_secs_f64())
        }),
    ];
    series.retain(|series| !series.points.is_empty());
    let spans: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|point| point.y).collect();
    if spans.is_empty() {
        return None;
    }
    let names: Vec<String> = results.iter().map(|r| r.conditions.frame_size.clone()).collect();
    let x = Axis::names("Frame size (bytes, FCS included)", &names);
    let y = Axis::log("Latency, log scale", spans.into_iter(), span_of_seconds);
    let mut chart = Chart::new("Latency by frame size", x, y);
    let whiskers = measured.iter().map(|(at, result, all)| Whisker {
        x: *at,
        low: seconds(result, all.min),
        high: seconds(result, all.max),
        ink: Ink::Axis,
    });
    // The scale has no place for what is below zero, or zero.
    chart.whiskers.extend(whiskers.filter(|whisker| whisker.low > 0.0));
    chart.series = series;
    Some(chart)
}

/// Distribution of every frame's latency, one chart a size.
pub(super) fn latency_histograms(group: &Group<'_>) -> Vec<Chart> {
    let of = |result: &&LatencyResult| histogram(result, result.all_frames.as_ref()?);
    group.latency.iter().filter_map(of).collect()
}

fn histogram(result: &LatencyResult, all: &LatencySummary) -> Option<Chart> {
    let buckets: Vec<(f64, u64)> =
        all.histogram.filled().map(|(span, count)| (span.as_secs_f64(), count)).collect();
    let x = Axis::log(
        "Latency as stamped (FILO), log scale",
        buckets.iter().map(|(span, _)| *span).chain([all.min.as_secs_f64()]),
        span_of_seconds,
    );
    let width = (x.to / x.from).powf(1.0 / f64::from(HISTOGRAM_COLUMNS));
    let mut columns = vec![0u64; HISTOGRAM_COLUMNS as usize];
    for (span, count) in &buckets {
        let column = ((span / x.from).ln() / width.ln()).floor();
        let column = (column.max(0.0) as usize).min(columns.len() - 1);
        columns[column] += count;
    }
    let share = |count: u64| count as f64 * 100.0 / all.count.max(1) as f64;
    let highest = columns.iter().copied().max().filter(|count| *count > 0)?;
    let from = x.from;
    let edge = |column: usize| from * width.powi(column as i32);
    let bars = columns.iter().enumerate().filter(|(_, count)| **count > 0);
    let bars = bars.map(|(column, count)| Bar {
        from_x: edge(column),
        to_x: edge(column + 1),
        y: share(*count),
        ink: Ink::Device,
        hover: format!(
            "{} to {}: {} frames, {} %",
            span_of_seconds(edge(column)),
            span_of_seconds(edge(column + 1)),
            grouped(*count),
            percent(share(*count) / 100.0)
        ),
    });
    let bars = bars.collect();
    let y = Axis::from_zero("Share of frames (%)", share(highest));
    let upright = |name: &str, ink, span: Duration, top: f64| Series {
        name: format!("{name} {span}"),
        ink,
        mark: Mark::None,
        joined: true,
        dashed: true,
        points: [0.0, top].map(|y| Point { x: span.as_secs_f64(), y, hover: String::new() }).into(),
    };
    let series = vec![
        upright("p50", Ink::Series(2), all.p50, y.to),
        upright("p99", Ink::Series(5), all.p99, y.to),
        upright("maximum", Ink::Invalid, all.max, y.to),
    ];
    let title = format!("Latency of every frame, {}", in_words(&result.conditions.frame_size));
    let mut chart = Chart::new(title, x, y);
    (chart.bars, chart.series, chart.size) = (bars, series, Chart::HALF);
    Some(chart)
}

/// `64 bytes`, or the name of a mix.
pub(super) fn in_words(frame_size: &str) -> String {
    match frame_size.parse::<u32>() {
        Ok(bytes) => format!("{bytes} bytes"),
        Err(_) => frame_size.into(),
    }
}

/// Burst lengths by frame size.
pub(super) fn back_to_back(group: &Group<'_>) -> Option<Chart> {
    let measured: Vec<_> = group
        .back_to_back
        .iter()
        .filter_map(|result| Some((*result, result.summary.as_ref()?)))
        .collect();
    let longest = measured.iter().map(|(_, summary)| summary.frames.max);
    let longest = longest.max_by(f64::total_cmp)?;
    let names: Vec<String> =
        measured.iter().map(|(result, _)| result.conditions.frame_size.clone()).collect();
    let mut chart = Chart::new(
        "Longest burst without loss by frame size",
        Axis::names("Frame size (bytes, FCS included)", &names),
        Axis::from_zero("Burst without loss (frames)", longest),
    );
    for (at, (result, summary)) in (1..).zip(&measured) {
        let (x, frames) = (f64::from(at), &summary.frames);
        let sign = if result.is_lower_bound() { ">= " } else { "" };
        chart.bars.push(Bar {
            from_x: x - 0.3,
            to_x: x + 0.3,
            y: frames.mean,
            ink: Ink::Device,
            hover: format!(
                "{}: {sign}{} frames on average, {} to {} in {} searches",
                result.conditions.frame_size,
                grouped_f64(frames.mean, 1),
                grouped_f64(frames.min, 0),
                grouped_f64(frames.max, 0),
                frames.count
            ),
        });
        let (low, high) = (frames.min, frames.max);
        chart.whiskers.push(Whisker { x, low, high, ink: Ink::Text });
    }
    Some(chart)
}

/// Every trial in the order in which they were run: its load, and what came of it.
pub(super) fn timeline(report: &Report) -> Option<Chart> {
    let placed: Vec<(f64, f64, Verdict, TrialRow)> = (1..)
        .zip(&report.trials)
        .filter_map(|(at, record)| {
            let maximum = report.theoretical_max(&record.frame_size)?.fps();
            let load = record.intended.fps() * 100.0 / maximum;
            Some((f64::from(at), load, record.verdict, TrialRow::of(record)))
        })
        .collect();
    let mut loads: Vec<f64> = placed.iter().map(|trial| trial.1).collect();
    loads.sort_by(f64::total_cmp);
    let tenth = *loads.get(loads.len() / 10)?;
    let (most, highest) = (*loads.get(loads.len() * 9 / 10)?, *loads.last()?);
    let title = "Load (% of the theoretical maximum)";
    // A few trials at a very low load (the self-test's) are no reason for a log scale.
    let y = match tenth > 0.0 && most / tenth > LOG_FROM {
        true => Axis::log(&format!("{title}, log"), loads.into_iter(), short),
        false => Axis::from_zero(title, highest),
    };
    let x = Axis {
        title: "Trial, in the order in which they were run".into(),
        scale: Scale::Linear,
        from: 0.0,
        to: placed.len() as f64 + 1.0,
        ticks: Axis::from_zero("", placed.len() as f64)
            .ticks
            .into_iter()
            .filter(|(tick, _)| *tick <= placed.len() as f64 + 1.0 && tick.fract() == 0.0)
            .collect(),
    };
    let mut chart = Chart::new("Every trial: load and verdict", x, y);
    let kinds = [
        (Verdict::Passed, "passed", Ink::NoLoss, Mark::Circle),
        (Verdict::Failed, "failed", Ink::Loss, Mark::Triangle),
        (Verdict::Measured, "measured", Ink::Series(0), Mark::Square),
        (Verdict::Invalid, "invalid (decides nothing)", Ink::Invalid, Mark::Cross),
    ];
    chart.series.extend(kinds.map(|(verdict, name, ink, mark)| {
        let like = placed.iter().filter(|trial| trial.2 == verdict);
        Series {
            name: name.into(),
            ink,
            mark,
            joined: false,
            dashed: false,
            points: like.map(|(x, y, _, row)| timeline_point(*x, *y, row)).collect(),
        }
    }));
    chart.series.retain(|series| !series.points.is_empty());
    chart.crowded = placed.len() > CROWDED_FROM;
    Some(chart)
}

fn timeline_point(x: f64, y: f64, row: &TrialRow) -> Point {
    let faults = row.faults.join("; ");
    let hover = format!(
        "trial {}, {}, {}: {} of {} frames lost; {} {faults}",
        row.number,
        row.test,
        row.frame_size,
        grouped(row.lost_frames),
        grouped(row.expected_frames),
        row.label,
    );
    Point { x, y, hover }
}
