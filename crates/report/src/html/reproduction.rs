//! A page that lays published tables beside ours.

use super::{page, plots};
use crate::harvard::{RateCell, RateTable};
use crate::reproduction::{FigurePair, Summary, TablePair, WITHIN};
use maud::{Markup, html};

/// The page: what it is about, the summary, each table with its graph, and at last the figures that
/// are far off (`outside`, lines of text).
pub fn reproduction(
    title: &str,
    about: &str,
    pairs: &[TablePair],
    summary: &Summary,
    outside: &str,
) -> String {
    let mut devices: Vec<&str> = pairs.iter().map(|pair| &pair.device[..]).collect();
    devices.dedup();
    let content = html! {
        header {
            p.kicker { "netanvil" }
            h1 { (title) }
            p.about { (about) }
        }
        main {
            p.banner.(if summary.is_met() { "good" } else { "bad" }) { (summary.in_words()) }
            (by_device(pairs, &devices))
            @for device in &devices {
                section.test {
                    h2 { (device) }
                    @for pair in pairs.iter().filter(|pair| pair.device == *device) {
                        (table(pair))
                    }
                }
            }
            (far(outside))
        }
    };
    page(title, content)
}

/// Devices with their figures.
fn by_device(pairs: &[TablePair], devices: &[&str]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th scope="col" { "device" }
                th.num scope="col" { "tables" }
                th.num scope="col" { "figures forwarded" }
                th.num scope="col" { "median difference" }
                th.num scope="col" { "within 5 %" }
            } }
            tbody {
                @for device in devices {
                    @let tables: Vec<_> = pairs.iter().filter(|pair| pair.device == *device).collect();
                    @let apart = apart(&tables);
                    @let near = apart.iter().filter(|apart| **apart <= WITHIN).count();
                    tr {
                        td { (device) }
                        td.num { (tables.len()) }
                        td.num { (apart.len()) }
                        td.num { (format!("{:.2} %", 100.0 * apart[apart.len() / 2])) }
                        td.num { (format!("{:.0} %", 100.0 * near as f64 / apart.len() as f64)) }
                    }
                }
            }
        } }
    }
}

/// Differences of what the device forwarded, smallest first.
fn apart(tables: &[&TablePair]) -> Vec<f64> {
    let figures = tables.iter().flat_map(|table| table.figures());
    let mut apart: Vec<f64> =
        figures.filter(FigurePair::is_devices).map(|figure| figure.difference().abs()).collect();
    apart.sort_by(f64::total_cmp);
    apart
}

fn table(pair: &TablePair) -> Markup {
    html! {
        h3 { (pair.published.heading) }
        @if let Some(chart) = plots::rates(&pair.ours, &pair.published) {
            figure { (chart.render()) }
        }
        div.scroll { table {
            thead { tr {
                th.num scope="col" { "size" }
                @for column in &pair.ours.columns { th.num scope="col" { (column) } }
            } }
            tbody {
                @for row in &pair.published.rows {
                    tr {
                        td.num { (row.frame_size) }
                        @for column in &pair.ours.columns { (cell(pair, &row.frame_size, column)) }
                    }
                }
            }
        } }
    }
}

/// The published figure above ours, with the difference where there is one to speak of.
fn cell(pair: &TablePair, size: &str, column: &str) -> Markup {
    let is_published = pair.published.columns.iter().any(|known| known == column);
    let of = |table: &RateTable| match table.cell(size, column) {
        RateCell::Missing if !is_published => String::new(),
        cell => cell.print(),
    };
    let difference = pair
        .figures()
        .find(|figure| figure.frame_size == size && figure.column == column)
        .map(|figure| figure.difference());
    let is_far = difference.is_some_and(|difference| difference.abs() > WITHIN);
    let percent = difference.map(|difference| 100.0 * difference);
    let percent = percent.filter(|percent| percent.abs() >= 0.05);
    html! {
        td.num.bad[is_far] {
            @if is_published { (of(&pair.published)) br; }
            (of(&pair.ours))
            @if let Some(percent) = percent { br; small { (format!("{percent:+.1} %")) } }
        }
    }
}

fn far(outside: &str) -> Markup {
    let mut lines = outside.lines().map(str::trim).filter(|line| !line.is_empty());
    let heading = lines.next();
    html! {
        @if let Some(heading) = heading {
            section.test {
                h2 { (heading) }
                ul.notes { @for line in lines { li { (line) } } }
            }
        }
    }
}
