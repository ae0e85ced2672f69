//! The text of a run fits the terminal: columns are left out, and named; nothing is broken in two.

use crate::report;
use report::terminal::{self, Style};

fn text(width: Option<u16>) -> String {
    terminal::render(&report(), Style { width, colour: false })
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [80, 100, 120, 200] {
        let text = text(Some(width));
        for line in text.lines() {
            assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
        }
    }
}

/// What a column is called stands either above the table or in the line that names those left out.
#[test]
fn columns_left_out_are_named_and_wide_has_all() {
    let (narrow, wide) = (text(Some(80)), text(None));
    assert!(!wide.contains("columns left out"), "{wide}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut left_out = 0;
    for outcomes in report::tables::of_outcomes(&report()) {
        let table = outcomes.table;
        if table.rows.is_empty() {
            continue;
        }
        let from = narrow.find(&format!("\n{}\n", table.heading)).expect("the table");
        let own = narrow[from + 1..].split("\n\n").next().unwrap();
        let named = own.split_once("columns left out: ").map(|(_, after)| words(after));
        let named = named.map(|after| after.split(" (--wide)").next().unwrap().to_owned());
        let named: Vec<&str> = named.iter().flat_map(|names| names.split(", ")).collect();
        left_out += named.len();
        for column in &table.columns {
            let is_above = column.title.split_whitespace().all(|word| own.contains(word));
            assert!(is_above || named.contains(&column.title.as_str()), "{}: {own}", column.title);
        }
        // Each row keeps what it is about, and each number that is shown is whole.
        for row in &table.rows {
            assert!(own.contains(&row[0]), "{}: {own}", row[0]);
        }
    }
    assert!(left_out > 0, "the sample is to have tables that are too wide");
}

/// The verdict is the last column, and is never left out.
#[test]
fn verdicts_stay() {
    let narrow = text(Some(80));
    let from = narrow.find("Throughput (RFC 2544").expect("the table");
    let head = narrow[from..].split("----").next().unwrap();
    assert!(head.contains("verdict") && head.contains("device"), "{head}");
}

/// Departures and invalid trials are told after the numbers, counted; the list is in the wide form.
#[test]
fn departures_are_folded() {
    let (narrow, wide) = (text(Some(80)), text(None));
    let departures = wide.lines().filter(|line| line.starts_with("NOT CONFORMANT: ")).count() - 1;
    assert!(departures > 1);
    let folded = format!("NOT CONFORMANT: {departures} entries");
    let at = narrow.find(&folded).expect(&folded);
    assert!(at > narrow.find("\nTrials\n").expect("the trials"), "{narrow}");
}

/// The answers are the first lines below the title.
#[test]
fn answers_stand_first() {
    for width in [Some(80), Some(120), None] {
        let text = text(width);
        let answers = report::Answers::of(&report()).lines(width.map(usize::from));
        assert!(answers[0].contains(" B  ") && answers[0].contains("pps"), "{answers:?}");
        let first: Vec<&str> = text.lines().skip(1).take(answers.len()).collect();
        assert_eq!(first, answers);
    }
}
