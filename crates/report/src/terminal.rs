//! A run as plain text: tables as the laboratories printed them. Where the text is to fit a width, tables leave out
//! columns, departures are counted instead of listed (of contradictions all but the first three), and what was said of one
//! table is not said of the next; a line below names what is left out. `width: None` prints all.

use crate::answers::Answers;
use crate::model::{Report, Status};
use crate::tables::{self, Table};
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, TableStyle, Width,
};
use std::fmt::Write as _;

/// A line under the header and nothing else.
const PLAIN: TableStyle = TableStyle::new().header_separator(LineStyle::new('-', '-', '-', '-'));

/// Contradictions that stand in words where the text is to fit a width.
const CONTRADICTIONS_TOLD: usize = 3;

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; `None` prints everything, every table as wide as it is.
    pub width: Option<u16>,
    /// Whether headings may be set off by escape sequences: only on a terminal.
    pub colour: bool,
}

/// Everything but the list of trials.
pub fn render(report: &Report, style: Style) -> String {
    let mut text = String::new();
    let departures = conformance(report);
    let contradictions = report.contradictions();
    head(&mut text, report, (departures.len(), contradictions.len()), style);
    let mut all: Vec<Table> =
        tables::of_outcomes(report).into_iter().map(|outcomes| outcomes.table).collect();
    all.extend(report.compositions.iter().flat_map(tables::composition));
    all.push(tables::trial_counts(report));
    if style.width.is_some() {
        say_once(&mut all);
    }
    all.iter().for_each(|table| print(&mut text, table, style));
    consistency(&mut text, report, &contradictions, style);
    if !departures.is_empty() {
        let _ = writeln!(text);
    }
    match style.width {
        None => departures.iter().for_each(|departure| line(&mut text, style, "", departure)),
        Some(_) if departures.is_empty() => {}
        Some(_) => line(&mut text, style, "", &folded("NOT CONFORMANT", departures.len())),
    }
    if let Some(mut table) = tables::clause_counts(report) {
        if style.width.is_some() && !table.notes.is_empty() {
            table.notes = vec![folded("not held against this run", table.notes.len())];
        }
        print(&mut text, &table, style);
    }
    for note in &report.notes {
        line(&mut text, style, "note: ", note);
    }
    let answers = Answers::of(report).lines(style.width.map(usize::from));
    if !answers.is_empty() {
        let _ = writeln!(text, "\n{}", heading("In brief", style));
    }
    answers.iter().for_each(|answer| kept_line(&mut text, style, answer));
    text
}

/// What results say of each other.
fn consistency(text: &mut String, report: &Report, contradictions: &[String], style: Style) {
    let Some(found) = &report.consistency else { return };
    let _ = writeln!(text);
    line(text, style, "consistency: ", &found.in_words());
    let told = style.width.map_or(contradictions.len(), |_| CONTRADICTIONS_TOLD);
    for words in contradictions.iter().take(told) {
        line(text, style, "CONTRADICTION: ", words);
    }
    if let more @ 1.. = contradictions.len().saturating_sub(told) {
        line(text, style, "", &folded("further CONTRADICTIONS", more));
    }
}

/// `NOT CONFORMANT: 16 entries; ...`, where to read them.
fn folded(what: &str, count: usize) -> String {
    let entries = if count == 1 { "1 entry" } else { &format!("{count} entries") };
    format!("{what}: {entries}; report.html and --wide have the list")
}

/// Leaves out what an earlier table already said of itself.
fn say_once(tables: &mut [Table]) {
    let mut said: Vec<String> = vec![];
    for table in tables {
        table.about.retain(|about| !said.contains(about));
        said.extend(table.about.iter().cloned());
    }
}

/// One table on its own.
pub fn render_table(table: &Table, style: Style) -> String {
    let mut text = String::new();
    print(&mut text, table, style);
    text
}

fn head(
    text: &mut String,
    report: &Report,
    (departures, contradictions): (usize, usize),
    style: Style,
) {
    let title = match &report.started {
        Some(started) => format!("{}: {}", started.program, started.device),
        None => "A run whose beginning was not saved".into(),
    };
    let _ = writeln!(text, "{}", heading(&title, style));
    let port = |port: &trial::PortDescription| {
        format!("{} {} ({}, {})", port.id, port.name, port.port_type, port.line_rate)
    };
    let answers = Answers::of(report).lines(style.width.map(usize::from));
    answers.iter().for_each(|answer| kept_line(text, style, answer));
    if !answers.is_empty() {
        let _ = writeln!(text);
    }
    if let Some(started) = &report.started {
        let ports: Vec<String> = started.tester.ports.iter().map(port).collect();
        line(text, style, "tester: ", &format!("{}: {}", started.tester.name, ports.join(", ")));
        for note in &started.tester.notes {
            line(text, style, "tester: ", note);
        }
    }
    match contradictions {
        0 => {}
        1 => line(text, style, "CONTRADICTIONS: ", "one between results; see below the tables"),
        many => line(
            text,
            style,
            "CONTRADICTIONS: ",
            &format!("{many} between results; see below the tables"),
        ),
    }
    match departures {
        0 => {}
        1 => line(text, style, "NOT CONFORMANT: ", "one departure; see below the tables"),
        many => line(
            text,
            style,
            "NOT CONFORMANT: ",
            &format!("{many} departures; see below the tables"),
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
        let kept = style.width.map(|width| columns_within(table, width.into()));
        let is_kept = |at: &usize| kept.as_ref().is_none_or(|kept| kept.contains(at));
        let (kept, left_out): (Vec<usize>, Vec<usize>) =
            (0..table.columns.len()).partition(is_kept);
        let _ = writeln!(text, "{}", grid(&table.with_columns(&kept), style));
        if !left_out.is_empty() {
            let titles: Vec<&str> =
                left_out.iter().map(|at| table.columns[*at].title.as_str()).collect();
            line(text, style, "  ", &format!("columns left out: {} (--wide)", titles.join(", ")));
        }
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
        let narrowest = Width::Fixed(narrowest(table, at) + printed.padding_width());
        printed.set_constraint(ColumnConstraint::LowerBoundary(narrowest));
        if column.numeric {
            printed.set_cell_alignment(CellAlignment::Right);
        }
    }
    grid.trim_fmt()
}

/// Between two columns, and before the first one.
const GAP: usize = 3;
/// Words of a column of text may be broken into lines of so many characters.
const TEXT: usize = 12;

/// The columns that fit: the first one, which says what a row is about, and the last one if it is a verdict in
/// words; then from the left to the right as many as there is room for.
fn columns_within(table: &Table, width: usize) -> Vec<usize> {
    let last = table.columns.len().saturating_sub(1);
    let mut kept = vec![0];
    if last > 0 && !table.columns[last].numeric {
        kept.push(last);
    }
    let needs = |at: usize| usize::from(narrowest(table, at)) + GAP;
    // A blank stands before the first column.
    let mut room = (width - 1).saturating_sub(kept.iter().map(|at| needs(*at)).sum());
    for at in 1..=last {
        if !kept.contains(&at) && needs(at) <= room {
            room -= needs(at);
            kept.push(at);
        }
    }
    kept.sort_unstable();
    kept
}

/// The bounds of an interval, and figures that stand side by side, may stand below each other.
fn longest_number(cell: &str) -> usize {
    let numbers = cell.split(" .. ").flat_map(|part| part.split(" / "));
    let lengths = numbers.enumerate().map(|(at, part)| {
        // What joins it to the one before stands in one line with either.
        part.chars().count() + if at > 0 { " ..".len() } else { 0 }
    });
    lengths.max().unwrap_or(0)
}

/// How narrow a column can be: numbers are not broken, words of a title and of text stand below each other.
fn narrowest(table: &Table, column: usize) -> u16 {
    let longest = |text: &str| text.split_whitespace().map(|word| word.chars().count()).max();
    let title = longest(&table.columns[column].title).unwrap_or(0);
    let of_cell = |row: &Vec<String>| {
        let (cell, word) = (row[column].chars().count(), longest(&row[column]).unwrap_or(0));
        match table.columns[column].numeric {
            true => longest_number(&row[column]),
            false => cell.min(TEXT).max(word),
        }
    };
    let cells = table.rows.iter().map(of_cell).max().unwrap_or(0);
    title.max(cells).min(u16::MAX.into()) as u16
}

fn heading(text: &str, style: Style) -> String {
    match style.colour {
        true => format!("\x1b[1m{text}\x1b[0m"),
        false => text.to_string(),
    }
}

/// A line whose columns stand below those of others, broken only where it is too wide.
fn kept_line(text: &mut String, style: Style, words: &str) {
    let width = style.width.map_or(usize::MAX, usize::from).max(40);
    match words.chars().count() <= width {
        true => text.extend([words, "\n"]),
        false => line(text, style, "", words),
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
