//! Charts of one trial: percentiles of latency, latency and loss in the course of time.

use super::axis::{Axis, Scale, extent, span_of_seconds};
use super::chart::{Chart, Mark, Point, Series};
use super::ink::Ink;
use maud::{Markup, html};
use method::{Moment, TrialRecord};
use trial::Histogram;
use units::Duration;

/// Points of a curve of percentiles from one nine to the next.
const POINTS_A_NINE: i32 = 8;

/// The charts of a trial; nothing where it has none.
pub(super) fn of_trial(record: &TrialRecord) -> Markup {
    let charts = charts(record);
    html! {
        @if !charts.is_empty() {
            div.pairs {
                @for chart in &charts { figure.of-trial { figcaption { (chart.title) } (chart.render()) } }
            }
        }
    }
}

fn charts(record: &TrialRecord) -> Vec<Chart> {
    let latency = record.result.own_latency();
    let percentiles = latency.and_then(|latency| {
        percentiles(
            "Latency of every frame, percentiles",
            "Latency as stamped (FILO)",
            &[("every frame", &latency)],
        )
    });
    let over_time = [latency_over_time(&record.course), loss_over_time(&record.course)];
    let all = percentiles.into_iter().chain(over_time.into_iter().flatten());
    all.map(|chart| Chart { size: Chart::HALF, ..chart }).collect()
}

/// Percentiles, each nine as wide as the one before, over a logarithmic scale of times.
pub(super) fn percentiles(
    title: &str,
    quantity: &str,
    all: &[(&str, &Histogram)],
) -> Option<Chart> {
    let series = all.iter().enumerate().map(|(number, (name, histogram))| Series {
        name: (*name).into(),
        ink: if all.len() == 1 { Ink::Device } else { Ink::Series(number) },
        mark: Mark::None,
        joined: true,
        dashed: number >= 8,
        points: points_of(histogram),
    });
    let series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
    let points = || series.iter().flat_map(|series| &series.points);
    let (_, most) = extent(points().map(|point| point.x))?;
    let y = Axis::log(&format!("{quantity}, log"), points().map(|point| point.y), span_of_seconds);
    let mut chart = Chart::new(title, nines(most), y);
    chart.series = series;
    Some(chart)
}

/// One in so many frames is slower: 1 for all of them, 100 for the 99th percentile.
fn points_of(histogram: &Histogram) -> Vec<Point> {
    let frames = histogram.count() as f64;
    let (Some(least), Some(most)) = (histogram.min(), histogram.max()) else { return vec![] };
    let place = |step: i32| 10f64.powf(f64::from(step) / f64::from(POINTS_A_NINE));
    let mut wanted = (1..).map(place).take_while(|one_in| *one_in < frames).peekable();
    let mut points = vec![(1.0, least)];
    let mut up_to = 0;
    for (edge, count) in histogram.filled() {
        up_to += count;
        let reached = |one_in: &f64| frames - frames / one_in <= up_to as f64;
        while let Some(one_in) = wanted.next_if(reached) {
            points.push((one_in, edge.clamp(least, most)));
        }
    }
    if frames > 1.0 {
        points.push((frames, most));
    }
    points
        .into_iter()
        .map(|(x, span)| Point { x, y: span.as_secs_f64(), hover: String::new() })
        .collect()
}

/// From all frames to the one slowest of `most`.
fn nines(most: f64) -> Axis {
    let named =
        [(1.0, "0"), (2.0, "50"), (10.0, "90"), (100.0, "99"), (1e3, "99.9"), (1e4, "99.99")];
    let far = [(1e5, "99.999"), (1e6, "6 nines"), (1e7, "7 nines"), (1e8, "8 nines")];
    let to = most.max(10.0) * 1.1;
    let ticks = named.into_iter().chain(far).filter(|(at, _)| *at <= to);
    Axis {
        title: "Percentile (%)".into(),
        scale: Scale::Log,
        from: 1.0,
        to,
        ticks: ticks.map(|(at, label)| (at, label.to_owned())).collect(),
    }
}

fn latency_over_time(course: &[Moment]) -> Option<Chart> {
    let line = |name: &str, ink, of: fn(&Moment) -> Option<Duration>| {
        let points = course.iter().filter_map(|part| {
            let span = of(part).filter(|span| *span > Duration::ZERO)?;
            Some(Point {
                x: part.until.as_secs_f64(),
                y: span.as_secs_f64(),
                hover: format!("until {}: {name} {span}", part.until),
            })
        });
        Series {
            name: name.into(),
            ink,
            mark: Mark::None,
            joined: true,
            dashed: false,
            points: points.collect(),
        }
    };
    let series = vec![
        line("p50", Ink::Device, |part| part.latency_p50),
        line("p99", Ink::Series(2), |part| part.latency_p99),
        line("maximum", Ink::Invalid, |part| part.latency_max),
    ];
    let points = || series.iter().flat_map(|series| &series.points);
    let (_, end) = extent(points().map(|point| point.x))?;
    let y = Axis::log("Latency, log", points().map(|point| point.y), span_of_seconds);
    let mut chart = Chart::new("Latency over time", Axis::from_zero("Time (s)", end), y);
    chart.series = series;
    Some(chart)
}

/// Frames found missing in each part, of those that left in it.
fn loss_over_time(course: &[Moment]) -> Option<Chart> {
    let end = course.last()?.until.as_secs_f64();
    let share = |part: &Moment| 100.0 * part.lost.max(0) as f64 / part.sent.max(1) as f64;
    let points: Vec<Point> = course
        .iter()
        .filter(|part| part.sent > 0)
        .map(|part| Point {
            x: part.until.as_secs_f64(),
            y: share(part).min(100.0),
            hover: format!("until {}: {} of {} lost", part.until, part.lost, part.sent),
        })
        .collect();
    let (_, highest) = extent(points.iter().map(|point| point.y))?;
    let y = Axis::from_zero("Loss (%)", if highest > 0.0 { highest } else { 1.0 });
    let mut chart = Chart::new("Loss over time", Axis::from_zero("Time (s)", end), y);
    let (name, ink, mark) = ("loss".into(), Ink::Loss, Mark::Circle);
    chart.series = vec![Series { name, ink, mark, joined: true, dashed: false, points }];
    Some(chart)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(until_s: u64, (sent, lost): (u64, i64), p50_us: u64) -> Moment {
        let us = |us| Some(Duration::from_us(us));
        Moment {
            until: Duration::from_secs(until_s),
            sent,
            received: sent,
            lost,
            latency_p50: us(p50_us),
            latency_p99: us(p50_us * 2),
            latency_max: us(p50_us * 3),
        }
    }

    #[test]
    fn percentiles_go_from_the_least_to_the_most_in_nines() {
        let mut histogram = Histogram::new(Duration::from_ns(1));
        // One frame in a hundred takes 1 ms, the others 10 us.
        (0..9_900).for_each(|_| histogram.record(10_000));
        (0..100).for_each(|_| histogram.record(1_000_000));
        let points = points_of(&histogram);
        let at = |one_in: f64| points.iter().rfind(|point| point.x <= one_in * 1.001).unwrap().y;
        assert!((at(2.0) / 10e-6 - 1.0).abs() < 0.01 && (at(90.0) / 10e-6 - 1.0).abs() < 0.01);
        assert!((at(1_000.0) / 1e-3 - 1.0).abs() < 0.01);
        assert_eq!((points[0].x, points.last().unwrap().x), (1.0, 10_000.0));
        assert!(points.is_sorted_by(|a, b| a.x < b.x && a.y <= b.y));
        let chart = percentiles("p", "Latency", &[("all", &histogram)]).unwrap();
        let labels: Vec<&str> = chart.x.ticks.iter().map(|(_, label)| &label[..]).collect();
        assert_eq!(labels, ["0", "50", "90", "99", "99.9", "99.99"]);
        assert_eq!(percentiles("p", "Latency", &[]).map(|chart| chart.title), None);
    }

    #[test]
    fn a_trial_is_drawn_part_by_part() {
        let course = [part(1, (100, 0), 10), part(2, (100, 25), 40), part(3, (100, -5), 20)];
        let loss = loss_over_time(&course).unwrap();
        let shares: Vec<f64> = loss.series[0].points.iter().map(|point| point.y).collect();
        assert_eq!(shares, [0.0, 25.0, 0.0], "frames that came late after all are no loss");
        assert!(loss.series[0].points[1].hover.contains("25 of 100"));
        let latency = latency_over_time(&course).unwrap();
        assert_eq!(latency.series.iter().map(|series| series.points.len()).sum::<usize>(), 9);
        assert!(latency_over_time(&[]).is_none() && loss_over_time(&[]).is_none());
    }
}
