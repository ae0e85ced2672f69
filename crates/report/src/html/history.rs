//! The page of figures over time: what is off today, then each figure with its changes.

use super::axis::{Axis, short};
use super::chart::{Chart, Mark, Point, Series};
use super::ink::Ink;
use super::page;
use crate::history::{Break, Change, Heat, Page, Trend, breaks, number};
use maud::{Markup, html};

/// From these percent on a cell has the next shade.
const SHADES: [f64; 3] = [0.5, 1.5, 5.0];

/// The page; it fetches nothing and runs nothing.
pub fn history(of: &Page) -> String {
    let content = html! {
        header {
            p.kicker { "netanvil history" }
            h1 { (of.title) }
            p.facts { @for fact in &of.facts { span { (fact) } } }
        }
        main {
            (changes(&of.trends))
            (heat(&of.heat))
            @for trend in &of.trends { (picture(trend)) }
        }
    };
    page(&of.title, content)
}

/// The runs in which figures changed first; each figure by itself is folded away.
fn changes(trends: &[Trend]) -> Markup {
    let breaks = breaks(trends);
    html! {
        h2 { "Changes" }
        @if breaks.is_empty() {
            p.about { "No figure changed." }
        } @else {
            div.scroll { table {
                thead { tr {
                    @for title in ["Since", "Device"] { th scope="col" { (title) } }
                    th.num scope="col" { "Figures" }
                    th scope="col" { "Most of all" }
                    @for title in ["Before", "After", "Change"] { th.num scope="col" { (title) } }
                    @for title in ["Also different since", "Run folder"] { th scope="col" { (title) } }
                } }
                tbody { @for of_run in &breaks { (break_row(of_run)) } }
            } }
            details {
                summary { "Each figure that changed" }
                div.scroll { table {
                    thead { tr {
                        @for title in ["Figure", "Since"] { th scope="col" { (title) } }
                        @for title in ["Before", "After", "Change", "Runs"] { th.num scope="col" { (title) } }
                    } }
                    tbody { @for trend in trends { @for change in &trend.changes { (change_row(trend, change)) } } }
                } }
            }
        }
    }
}

fn break_row(of_run: &Break<'_>) -> Markup {
    let (trend, change) = of_run.most;
    html! { tr {
        td { (of_run.day()) }
        td { (of_run.device) }
        td.num { (of_run.figures) }
        td { (trend.test) ", " (trend.figure) }
        td.num { (number(change.before)) " " (trend.unit) }
        td.num { (number(change.after)) " " (trend.unit) }
        td.num { (percent(change.percent)) }
        td { @for (at, also) in of_run.also.iter().enumerate() { @if at > 0 { "; " } (also) } }
        td { (change.folder) }
    } }
}

fn change_row(trend: &Trend, change: &Change) -> Markup {
    let since = trend.points.get(change.at).map_or("", |point| &*point.name);
    html! { tr {
        td { (trend.title) }
        td { (since) }
        td.num { (number(change.before)) " " (trend.unit) }
        td.num { (number(change.after)) " " (trend.unit) }
        td.num { (percent(change.percent)) }
        td.num { (change.runs.0) " + " (change.runs.1) }
    } }
}

fn percent(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:+.1} %"))
}

/// Days beside each other; a shade is never the only sign, since the number stands in the cell.
fn heat(heat: &Heat) -> Markup {
    let shade = |value: f64| {
        let depth = SHADES.iter().filter(|from| value.abs() >= **from).count();
        match (depth, value < 0.0) {
            (0, _) => String::new(),
            (depth, true) => format!("less-{depth}"),
            (depth, false) => format!("more-{depth}"),
        }
    };
    html! {
        h2 { "Off the median, percent" }
        p.about {
            "Each figure's median of a day against its median of all runs; the latest "
            (heat.columns.len()) " days, the last one first. Blue is less, orange is more, from "
            (SHADES.map(|from| from.to_string()).join(", ")) " % on."
        }
        div.scroll { table.heat {
            thead { tr {
                th scope="col" { "Figure" }
                // A year needs no column's room.
                @for column in &heat.columns {
                    th.num scope="col" title=(column) { (column.get(5..).unwrap_or(column)) }
                }
            } }
            tbody { @for (title, cells) in &heat.rows { tr {
                th scope="row" { (title) }
                @for cell in cells {
                    @match cell {
                        Some(value) => td class=(format!("num {}", shade(*value))) { (format!("{value:+.1}")) },
                        None => td.num { "-" },
                    }
                }
            } } }
        } }
    }
}

fn picture(trend: &Trend) -> Markup {
    let chart = chart(trend);
    html! {
        section.test {
            h2 { (trend.title) }
            p.about { (trend.conditions) }
            @for left_out in &trend.left_out { p.about { "Not compared: " (left_out) } }
            @if trend.points.iter().any(|point| point.value.is_some()) {
                figure { figcaption { (chart.title) } (chart.render()) }
            }
            @if !trend.groups.is_empty() { (groups(trend)) }
        }
    }
}

fn groups(trend: &Trend) -> Markup {
    html! { div.scroll { table {
        thead { tr {
            th scope="col" { "Group" }
            @for title in ["Runs", "Smallest", "Median", "Largest"] { th.num scope="col" { (title) } }
        } }
        tbody { @for (name, runs, values) in &trend.groups { tr {
            td { (name) }
            td.num { (runs) }
            @for value in values { td.num { (number(*value)) } }
        } } }
    } } }
}

fn chart(trend: &Trend) -> Chart {
    let place = |at: usize| at as f64 + 1.0;
    let marked = |name: &str, ink, mark, is_unfit: bool| {
        let points = trend.points.iter().enumerate().filter_map(|(at, point)| {
            let y = point.value.filter(|_| point.unfit.is_some() == is_unfit)?;
            let within =
                point.within.map(|(low, high)| format!(" ({} .. {})", number(low), number(high)));
            let why = point.unfit.as_deref().unwrap_or_default();
            let (value, within) = (number(y), within.unwrap_or_default());
            let hover =
                format!("{}: {value}{within} {} {why}\n{}", point.name, trend.unit, point.hover);
            Some(Point { x: place(at), y, hover })
        });
        Series {
            name: name.into(),
            ink,
            mark,
            joined: false,
            dashed: false,
            points: points.collect(),
        }
    };
    let mut series = vec![
        marked("a run", Ink::Device, Mark::Circle, false),
        marked("a run that is not compared", Ink::Invalid, Mark::Cross, true),
        medians(trend),
    ];
    series.retain(|series| !series.points.is_empty());
    let count = trend.points.len();
    let values = || series.iter().flat_map(|series| &series.points).map(|point| point.y);
    let y = Axis::around(&trend.unit, values(), short);
    let numbers = [0.5, count as f64 + 0.5].into_iter();
    let mut x = Axis::around("Run, the oldest first", numbers, |value| format!("{value:.0}"));
    (x.from, x.to) = (0.5, count as f64 + 0.5);
    x.ticks.retain(|(value, _)| (1.0..=count as f64).contains(value) && value.fract() == 0.0);
    let span = trend.points.first().zip(trend.points.last());
    let span =
        span.map_or(String::new(), |(first, last)| format!(", {} to {}", first.name, last.name));
    let mut chart = Chart::new(format!("{} runs{span}", count), x, y);
    chart.crowded = count > 100;
    chart.series = series;
    chart
}

/// A level from change to change.
fn medians(trend: &Trend) -> Series {
    let mut points = vec![];
    let ends = trend.changes.iter().skip(1).map(|change| change.at).chain([trend.points.len()]);
    for (number, (change, end)) in trend.changes.iter().zip(ends).enumerate() {
        let mut level = |from: f64, to: f64, y: f64, hover: String| {
            points.push(Point { x: from, y, hover });
            points.push(Point { x: to, y, hover: String::new() });
        };
        let at = change.at as f64 + 0.5;
        if number == 0 {
            level(0.5, at, change.before, String::new());
        }
        level(at, end as f64 + 0.5, change.after, format!("change of {}", percent(change.percent)));
    }
    let (ink, mark) = (Ink::Tester, Mark::None);
    Series { name: "median between changes".into(), ink, mark, joined: true, dashed: false, points }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend() -> Trend {
        let point = |at: usize| crate::history::Point {
            name: format!("2026-01-{:02}T00:00:00Z", at + 1),
            value: Some(if at < 10 { 100_000.0 } else { 97_000.0 }),
            unfit: (at == 3).then(|| "<b>bound</b>".into()),
            ..Default::default()
        };
        let change = Change {
            at: 10,
            before: 100_000.0,
            after: 97_000.0,
            percent: Some(-3.0),
            runs: (9, 10),
            also: vec!["kernel: 6.18 instead of 6.12".into()],
            folder: "runs/ten".into(),
        };
        Trend {
            title: "router: throughput, 64 bytes, throughput".into(),
            device: "router".into(),
            test: "throughput, 64 bytes".into(),
            figure: "throughput".into(),
            unit: "fps".into(),
            points: (0..20).map(point).collect(),
            changes: vec![change],
            left_out: vec!["1 x a lower bound".into()],
            ..Trend::default()
        }
    }

    #[test]
    fn the_page_tells_the_change_its_run_and_what_else_changed() {
        let heat = Heat {
            columns: vec!["2026-01-01".into(), "2026-01-02".into()],
            rows: vec![("router".into(), vec![Some(-3.04), None])],
        };
        let page = Page { title: "Nightly".into(), facts: vec![], heat, trends: vec![trend()] };
        let text = history(&page);
        for said in [
            "<td>2026-01-11</td><td>router</td><td class=\"num\">1</td>",
            "2026-01-11T00:00:00Z",
            "-3.0 %",
            "6.18 instead of 6.12",
            "runs/ten",
            "class=\"num less-2\">-3.0<",
            "Not compared: 1 x a lower bound",
            "&lt;b&gt;bound",
            "median between changes",
        ] {
            assert!(text.contains(said), "{said} is missing");
        }
        assert!(!text.contains("<b>bound") && !text.contains("<script"));
    }

    #[test]
    fn a_history_of_nothing_is_a_page() {
        let text = history(&Page::default());
        assert!(text.contains("No figure changed."));
    }
}
