//! Which chart shows which result.

use super::axis::{Axis, Scale, short, span_of_seconds};
use super::chart::{Bar, Chart, Mark, Point, Series};
use super::courses;
use super::ink::Ink;
use crate::harvard::RateTable;
use crate::model::Report;
use crate::number::{grouped, grouped_f64, percent};
use crate::trial_row::TrialRow;
use method::Verdict;
use method::outcome::{Distribution, Role, Unit};
use units::Duration;

/// Rates that differ by more than this want a logarithmic axis to be read at all.
const LOG_FROM: f64 = 25.0;
/// More trials than this are drawn as small marks.
const CROWDED_FROM: usize = 100;
/// Columns of a latency histogram.
const HISTOGRAM_COLUMNS: i32 = 96;

/// Frame rate over frame size as the router tests of 1990 drew it: the medium and the tester above,
/// the device's columns below; what was published as marks.
pub(super) fn rates(table: &RateTable, published: &RateTable) -> Option<Chart> {
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
        series.push(line(column, ink, Mark::None, false, true, points(table, column)));
        let marks = points(published, column);
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

/// The curves of one chart; none without a point.
fn chart_of(curves: &[&method::outcome::Series]) -> Option<Chart> {
    let first = curves.first()?;
    let is_time = seconds_of(&first.y.1).is_some();
    // The scale of times has no place for what is below zero, or zero.
    // The device last, so that nothing hides it but the rings of what was published, which go around it.
    let is_device = |curve: &&&method::outcome::Series| {
        matches!(curve.role, Role::Device | Role::Bound | Role::Published)
    };
    let (mut last, first_drawn): (Vec<&&method::outcome::Series>, Vec<_>) =
        curves.iter().partition(is_device);
    last.sort_by_key(|curve| curve.role == Role::Published);
    let all = first_drawn.into_iter().chain(last).enumerate();
    let mut series: Vec<Series> = all.map(|(number, curve)| series_of(number, curve)).collect();
    for curve in series.iter_mut().filter(|_| is_time) {
        curve.points.retain(|point| point.y > 0.0);
    }
    series.retain(|series| !series.points.is_empty());
    let all = || series.iter().flat_map(|series| &series.points);
    let (_, most) = super::axis::extent(all().map(|point| point.x))?;
    let (lowest, highest) = super::axis::extent(all().map(|point| point.y))?;
    let x = match first.x.1.as_str() {
        "bytes" => Axis::frame_sizes(all().map(|point| point.x)),
        "%" => Axis::percent(&first.x.0),
        "ports" => Axis::at_each(&first.x.0, all().map(|point| point.x)),
        _ => Axis::from_zero(&first.x.0, most),
    };
    let title = &first.y.0;
    let is_wide = lowest > 0.0 && highest / lowest > LOG_FROM;
    let y = match first.y.1.as_str() {
        "%" => Axis::percent(title),
        _ if is_time => {
            let quantity = title.rsplit_once(" (").map_or(&title[..], |(words, _)| words);
            Axis::log(&format!("{quantity}, log scale"), all().map(|p| p.y), span_of_seconds)
        }
        _ if is_wide => Axis::log(&format!("{title}, log scale"), all().map(|p| p.y), short),
        _ => Axis::from_zero(title, highest),
    };
    let mut chart = Chart::new(&first.chart, x, y);
    chart.series = series;
    Some(chart)
}

/// How many seconds a unit is, of a unit of time.
fn seconds_of(unit: &str) -> Option<f64> {
    let times = [Unit::Ns, Unit::Us, Unit::Seconds];
    times.into_iter().find(|time| time.symbol() == unit).map(Unit::scale)
}

fn series_of(number: usize, curve: &method::outcome::Series) -> Series {
    let scale = seconds_of(&curve.y.1);
    let points = curve.points.iter().map(|&(x, y)| {
        let said = match (scale, curve.y.1.as_str()) {
            (Some(scale), _) => span_of_seconds(y * scale),
            (None, "%") => format!("{} %", percent(y / 100.0)),
            (None, unit) => format!("{} {unit}", grouped_f64(y, 0)),
        };
        let hover = format!("{}, {} {}: {said}", curve.name, grouped_f64(x, 0), curve.x.1);
        Point { x, y: y * scale.unwrap_or(1.0), hover }
    });
    let (ink, mark) = match curve.role {
        Role::Device => (Ink::Device, Mark::Circle),
        Role::Medium => (Ink::Theoretical, Mark::None),
        Role::Tester => (Ink::Tester, Mark::Square),
        Role::Bound => (Ink::Invalid, Mark::Cross),
        Role::Published => (Ink::Text, Mark::Ring),
        Role::Other => (Ink::Series(number), Mark::of_series(number)),
    };
    Series {
        name: curve.name.clone(),
        ink,
        mark,
        joined: !matches!(curve.role, Role::Bound | Role::Published),
        dashed: curve.role == Role::Medium,
        points: points.collect(),
    }
}

/// Distributions of single frames, two charts each: how many frames have which value, and the percentiles.
pub(super) fn distributions(all: &[Distribution]) -> Vec<Chart> {
    let both = |of: &Distribution| {
        let share = histogram(of);
        let percentiles = percentiles(&of.name, &of.quantity, &of.histogram);
        share.into_iter().chain(percentiles)
    };
    all.iter().flat_map(both).collect()
}

/// The percentiles of all of these in one chart.
pub(super) fn percentiles_of<'a>(all: impl Iterator<Item = &'a Distribution>) -> Option<Chart> {
    let all: Vec<&Distribution> = all.collect();
    let lines = all.iter().map(|of| (of.name.as_str(), &of.histogram)).collect::<Vec<_>>();
    courses::percentiles("Percentiles", &all.first()?.quantity, &lines)
}

fn percentiles(name: &str, quantity: &str, histogram: &trial::Histogram) -> Option<Chart> {
    let chart =
        courses::percentiles(&format!("{name}, percentiles"), quantity, &[(name, histogram)]);
    chart.map(|chart| Chart { size: Chart::HALF, ..chart })
}

fn histogram(of: &Distribution) -> Option<Chart> {
    let all = &of.histogram;
    let buckets: Vec<(f64, u64)> =
        all.filled().map(|(span, count)| (span.as_secs_f64(), count)).collect();
    let x = Axis::log(
        &format!("{}, log scale", of.quantity),
        buckets.iter().map(|(span, _)| *span).chain([all.min()?.as_secs_f64()]),
        span_of_seconds,
    );
    let width = (x.to / x.from).powf(1.0 / f64::from(HISTOGRAM_COLUMNS));
    let mut columns = vec![0u64; HISTOGRAM_COLUMNS as usize];
    for (span, count) in &buckets {
        let column = ((span / x.from).ln() / width.ln()).floor();
        let column = (column.max(0.0) as usize).min(columns.len() - 1);
        columns[column] += count;
    }
    let share = |count: u64| count as f64 * 100.0 / all.count().max(1) as f64;
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
        upright("p50", Ink::Series(2), all.percentile(50.0)?, y.to),
        upright("p99", Ink::Series(5), all.percentile(99.0)?, y.to),
        upright("maximum", Ink::Invalid, all.max()?, y.to),
    ];
    let mut chart = Chart::new(&of.name, x, y);
    (chart.bars, chart.series, chart.size) = (bars, series, Chart::HALF);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// They stand around the points of the curve, whichever was told first, and tell no course between them.
    #[test]
    fn published_points_are_rings_around_a_curve() {
        let curve = |name: &str, role, points: &[(f64, f64)]| method::outcome::Series {
            chart: "Scaling".into(),
            x: ("Ports".into(), "ports".into()),
            y: ("Rate".into(), "frames/s".into()),
            name: name.into(),
            role,
            points: points.to_vec(),
        };
        let charts = curves(&[
            curve("published", Role::Published, &[(4.0, 40.0), (34.0, 340.0)]),
            curve("here", Role::Device, &[(4.0, 40.0), (8.0, 79.0)]),
        ]);
        let drawn: Vec<_> =
            charts[0].series.iter().map(|it| (&*it.name, it.mark, it.joined)).collect();
        assert_eq!(drawn, [("here", Mark::Circle, true), ("published", Mark::Ring, false)]);
        let ticks: Vec<_> = charts[0].x.ticks.iter().map(|(value, _)| *value).collect();
        assert_eq!(ticks, [4.0, 8.0, 34.0]);
    }
}
