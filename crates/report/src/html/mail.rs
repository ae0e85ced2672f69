//! Tables as the body of a mail: readers of mail drop style sheets, scripts and drawings, so each element has its style
//! with it, and there is nothing but text and tables.

use crate::tables::Table;
use maud::{DOCTYPE, Markup, html};

const BODY: &str = "font: 15px/1.45 sans-serif; max-width: 60em; margin: 1em auto; padding: 0 1em";
const FACTS: &str = "color: #555; margin: 0.2em 0";
const TABLE: &str = "border-collapse: collapse; margin: 0.6em 0";
const TITLE: &str = "border-bottom: 2px solid #888; padding: 0.25em 0.7em; text-align: ";
const CELL: &str =
    "border-bottom: 1px solid #ddd; padding: 0.25em 0.7em; vertical-align: top; text-align: ";

/// A mail of these tables.
pub(crate) fn mail(title: &str, facts: &[String], tables: &[Table]) -> String {
    let content = html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { (title) } }
            body style=(BODY) {
                h1 style="font-size: 1.3em" { (title) }
                @for fact in facts { p style=(FACTS) { (fact) } }
                @for each in tables { (table(each)) }
            }
        }
    };
    content.into_string()
}

fn table(table: &Table) -> Markup {
    let side = |at: usize| match table.columns.get(at) {
        Some(column) if column.numeric => "right",
        _ => "left",
    };
    html! {
        h2 style="font-size: 1.1em" { (table.heading) }
        @for about in &table.about { p style=(FACTS) { (about) } }
        @if !table.rows.is_empty() {
            table style=(TABLE) {
                tr { @for (at, column) in table.columns.iter().enumerate() {
                    th style={ (TITLE) (side(at)) } { (column.title) }
                } }
                @for row in &table.rows { tr {
                    @for (at, cell) in row.iter().enumerate() { td style={ (CELL) (side(at)) } { (cell) } }
                } }
            }
        }
        @for note in &table.notes { p style=(FACTS) { (note) } }
    }
}
