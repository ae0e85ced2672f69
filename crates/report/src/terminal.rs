//! A run as plain text: tables as the laboratories printed them.

use crate::answers::{answers, in_brief};
use crate::model::{Report, Status};
use crate::tables::{self, Table};
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, TableStyle, Width,
};
use std::fmt::Write as _;

/// A line under the header and nothing else.
const PLAIN: TableStyle = TableStyle::new().header_separator(LineStyle::new('-', '-', '-', '-'));

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; `None` prints every table as wide as it is.
    pub width: Option<u16>,
    /// Whether headings may be set off by escape sequences: only on a terminal.
    pub colour: bool,
}

/// Everything but the list of trials.
pub fn render(report: &Report, style: Style) -> String {
    let mut text = String::new();
    let departures = conformance(report);
    head(&mut text, report, departures.len(), style);
    for outcomes in tables::of_outcomes(report) {
        print(&mut text, &outcomes.table, style);
    }
    for table in report.compositions.iter().flat_map(tables::composition) {
        print(&mut text, &table, style);
    }
    print(&mut text, &tables::trial_counts(report), style);
    if !departures.is_empty() {
        let _ = writeln!(text);
    }
    for departure in departures {
        line(&mut text, style, "", &departure);
    }
    if let Some(table) = tables::clause_counts(report) {
        print(&mut text, &table, style);
    }
    for note in &report.notes {
        line(&mut text, style, "note: ", note);
    }
    let answers = in_brief(report);
    if !answers.is_empty() {
        let _ = writeln!(text, "\n{}", heading("Throughput in brief", style));
    }
    answers.iter().for_each(|answer| text.extend([answer.as_str(), "\n"]));
    text
}

/// One table on its own.
pub fn render_table(table: &Table, style: Style) -> String {
    let mut text = String::new();
    print(&mut text, table, style);
    text
}

fn head(text: &mut String, report: &Report, departures: usize, style: Style) {
    let title = match &report.started {
        Some(started) => format!("{}: {}", started.program, started.device),
        None => "A run whose beginning was not saved".into(),
    };
    let _ = writeln!(text, "{}", heading(&title, style));
    let port = |port: &trial::PortDescription| {
        format!("{} {} ({}, {})", port.id, port.name, port.port_type, port.line_rate)
    };
    if let Some(started) = &report.started {
        let ports: Vec<String> = started.tester.ports.iter().map(port).collect();
        line(text, style, "tester: ", &format!("{}: {}", started.tester.name, ports.join(", ")));
        for note in &started.tester.notes {
            line(text, style, "tester: ", note);
        }
    }
    match departures {
        0 => {}
        1 => line(text, style, "NOT CONFORMANT: ", "one departure, named below the tables"),
        many => line(
            text,
            style,
            "NOT CONFORMANT: ",
            &format!("{many} departures, named below the tables"),
        ),
    }
    match report.status() {
        Status::Complete => {}
        Status::Stopped(why) => line(text, style, "INCOMPLETE: ", why),
        Status::CutOff => line(text, style, "INCOMPLETE: ", "the run was cut off, or still runs"),
    }
    for notice in &report.notices {
        line(text, style, "NOTICE: ", &notice.to_string());
    }
    for warning in &report.warnings {
        line(text, style, "WARNING: ", warning);
    }
    for test in report.finished.iter().flat_map(|finished| &finished.invalid_tests) {
        line(text, style, "NO VALID RESULT: ", test);
    }
    let answers = answers(report);
    if !answers.is_empty() {
        let _ = writeln!(text);
    }
    for answer in answers {
        line(text, style, "", &answer);
    }
}

/// One line for every departure from a standard.
pub fn conformance(report: &Report) -> Vec<String> {
    let line = |(deviation, tests): (String, Vec<method::TestKind>)| {
        let tests: Vec<String> = tests.iter().map(ToString::to_string).collect();
        format!("NOT CONFORMANT: {deviation} ({})", tests.join(", "))
    };
    report.deviations().into_iter().map(line).collect()
}

fn print(text: &mut String, table: &Table, style: Style) {
    let _ = writeln!(text, "\n{}", heading(&table.heading, style));
    for about in &table.about {
        line(text, style, "", about);
    }
    if !table.rows.is_empty() {
        let _ = writeln!(text, "{}", grid(table, style));
    }
    for note in &table.notes {
        line(text, style, "  ", note);
    }
}

fn grid(table: &Table, style: Style) -> String {
    let mut grid = comfy_table::Table::new();
    grid.load_style(PLAIN);
    grid.set_header(table.columns.iter().map(|column| &column.title));
    if let Some(width) = style.width {
        grid.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for row in &table.rows {
        grid.add_row(row);
    }
    for (at, column) in table.columns.iter().enumerate() {
        let Some(printed) = grid.column_mut(at) else { continue };
        // Better too wide a table than a number broken in two.
        let narrowest = Width::Fixed(longest_word(table, at) + printed.padding_width());
        printed.set_constraint(ColumnConstraint::LowerBoundary(narrowest));
        if column.numeric {
            printed.set_cell_alignment(CellAlignment::Right);
        }
    }
    grid.trim_fmt()
}

fn longest_word(table: &Table, column: usize) -> u16 {
    let cells = table.rows.iter().map(|row| &row[column]);
    let cells = cells.chain([&table.columns[column].title]);
    let words = cells.flat_map(|cell| cell.split_whitespace()).map(|word| word.chars().count());
    words.max().unwrap_or(0).min(u16::MAX.into()) as u16
}

fn heading(text: &str, style: Style) -> String {
    match style.colour {
        true => format!("\x1b[1m{text}\x1b[0m"),
        false => text.to_string(),
    }
}

/// A line of words, broken at spaces and indented below its first word.
fn line(text: &mut String, style: Style, label: &str, words: &str) {
    let width = style.width.map_or(usize::MAX, usize::from).max(40);
    let mut column = label.chars().count();
    text.push_str(label);
    let indent = " ".repeat(label.chars().count().max(2));
    for (at, word) in words.split_whitespace().enumerate() {
        let length = word.chars().count();
        if at > 0 && column + 1 + length > width {
            let _ = write!(text, "\n{indent}");
            column = indent.len();
        } else if at > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}
