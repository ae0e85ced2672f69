//! A page that lays published tables beside ours.

use super::{page, plots};
use crate::fitted::{Fit, NUMBERS_HEADINGS};
use crate::harvard::{RateCell, RateTable};
use crate::reproduction::{Summary, TablePair, WITHIN};
use maud::{Markup, html};

/// The page: what it is about, the summary, what the fit is worth, each table with its graph, and at last the
/// figures that are far off (`outside`, lines of text).
pub fn reproduction(
    title: &str,
    about: &str,
    pairs: &[TablePair],
    summary: &Summary,
    fit: &Fit,
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
            (scores(summary))
            p { (fit.in_words()) }
            (held_out(fit))
            @for device in &devices {
                section.test {
                    h2 { (device) }
                    @for pair in pairs.iter().filter(|pair| pair.device == *device) {
                        (table(pair))
                    }
                }
            }
            (numbers(fit))
            (far(outside))
        }
    };
    page(title, content)
}

/// Informative figures of each product and of each kind of test.
fn scores(summary: &Summary) -> Markup {
    let rows = summary.scores().map(|(name, score)| {
        (name, score.figures, 100.0 * score.median_difference, score.percent_within())
    });
    table_of_scores("informative figures of", rows)
}

/// Informative figures that the fit did not know.
fn held_out(fit: &Fit) -> Markup {
    let rows = fit
        .scores()
        .map(|line| (&line.held_out[..], line.figures, line.median_percent, line.percent_within()));
    table_of_scores("held out of the fit", rows)
}

/// Of each row: what it is of, figures, median difference and share within 5 %, in percent.
fn table_of_scores<'a>(of: &str, rows: impl Iterator<Item = (&'a str, usize, f64, f64)>) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th scope="col" { (of) }
                @for title in ["figures", "median difference", "within 5 %"] { th.num scope="col" { (title) } }
            } }
            tbody {
                @for (name, figures, median_percent, within_percent) in rows { tr {
                    td { (name) }
                    td.num { (figures) }
                    td.num { (format!("{median_percent:.2} %")) }
                    td.num { (format!("{within_percent:.0} %")) }
                } }
            }
        } }
    }
}

/// Each number of each model: its interval, and by how much figures change if it is a tenth greater.
fn numbers(fit: &Fit) -> Markup {
    html! {
        section.test {
            h2 { "Numbers of the models" }
            p {
                "With 95 % intervals (bootstrap), and by how much the informative figures of each kind of test \
                 change, on average, if a number is 10 % greater."
            }
            @for product in fit.products() {
                h3 { (product) }
                div.scroll { table {
                    thead { tr {
                        @for title in &NUMBERS_HEADINGS[..2] { th scope="col" { (title) } }
                        @for title in &NUMBERS_HEADINGS[2..] { th.num scope="col" { (title) } }
                    } }
                    tbody {
                        @for number in fit.numbers.iter().filter(|number| number.product == product) {
                            @let cells = number.cells();
                            tr {
                                @for cell in &cells[..2] { td { (cell) } }
                                @for cell in &cells[2..] { td.num { (cell) } }
                            }
                        }
                    }
                } }
            }
        }
    }
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
