//! The router tests of 1989: a table a test, a column a figure.

use super::{Table, medium};
use crate::model::Report;
use crate::number;
use method::TestResult;
use method::harvard::y1989::{CounterCheck, Ending, Harvard1989Result, Number, Test1989, Unit};

/// The tables, in the order in which the tests ran.
pub(super) fn tables(report: &Report) -> Vec<Table> {
    let results: Vec<&Harvard1989Result> = report.results.iter().filter_map(of_1989).collect();
    let ran = |test: &Test1989| results.iter().any(|result| result.test == *test);
    let mut tables = vec![];
    for test in Test1989::ALL.into_iter().filter(ran) {
        let of_test: Vec<_> = results.iter().copied().filter(|r| r.test == test).collect();
        tables.push(figures(test, &of_test));
        tables.extend(of_test.iter().filter_map(|result| counters(result)));
    }
    tables
}

fn of_1989(result: &TestResult) -> Option<&Harvard1989Result> {
    match result {
        TestResult::Harvard1989(result) => Some(result),
        _ => None,
    }
}

fn figures(test: Test1989, results: &[&Harvard1989Result]) -> Table {
    let mut names: Vec<(&str, Unit)> = vec![];
    for figure in results.iter().flat_map(|result| &result.figures) {
        if !names.iter().any(|(name, _)| *name == figure.name) {
            names.push((&figure.name, figure.unit));
        }
    }
    let title = |(name, unit): &(&str, Unit)| match unit {
        // The name says what is counted.
        Unit::Frames | Unit::Entries | Unit::Bytes => name.to_string(),
        _ => format!("{name}, {}", unit.symbol()),
    };
    let titles: Vec<String> = names.iter().map(title).collect();
    let mut columns = vec!["size"];
    columns.extend(titles.iter().map(String::as_str));
    let about = results.first().map(|result| {
        let conditions = &result.conditions;
        format!("{}; {}", conditions.traffic, medium(conditions))
    });
    let mut table = Table::new(heading(test), about.into_iter().collect(), &columns);
    for result in results {
        let size = &result.conditions.frame_size;
        if !result.figures.is_empty() {
            let cell = |(name, _): &(&str, Unit)| {
                let figure = result.figures.iter().find(|figure| figure.name == *name);
                figure.map_or_else(|| "-".into(), print)
            };
            table.rows.push([size.clone()].into_iter().chain(names.iter().map(cell)).collect());
        }
        table.note(size, remarks(result));
    }
    table.with_notes_summed_up()
}

fn heading(test: Test1989) -> String {
    let name = test.to_string();
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    format!("{}{} (router tests of 1989)", first.unwrap_or_default(), letters.as_str())
}

/// What stands under the table: why there is no result, what the device did wrong, notes.
fn remarks(result: &Harvard1989Result) -> Vec<String> {
    let outcome = match &result.outcome {
        Ending::Measured => vec![],
        Ending::NotPossible { why } => vec![why.clone()],
        Ending::Invalid { reasons } => {
            reasons.iter().map(|reason| format!("invalid: {reason}")).collect()
        }
    };
    let wrong = result.misbehaviours.iter().map(|wrong| format!("MISBEHAVES: {wrong}"));
    outcome.into_iter().chain(wrong).chain(result.notes.iter().cloned()).collect()
}

/// A figure as a table prints it.
pub(crate) fn print(figure: &Number) -> String {
    let Some(value) = figure.value else { return "-".into() };
    let digits = match figure.unit {
        Unit::Frames | Unit::Bytes | Unit::Entries => 0,
        Unit::Fps | Unit::Us => 1,
        Unit::Percent | Unit::Seconds => 3,
    };
    let number = number::grouped_f64(value, digits);
    if figure.at_least { format!(">= {number}") } else { number }
}

/// The device's counters beside the tester's, frame for frame.
fn counters(result: &Harvard1989Result) -> Option<Table> {
    if result.counters.is_empty() {
        return None;
    }
    let about = "the device's own counters over one trial beside what the tester sent and received";
    let columns =
        ["<source", "<port", "<counter", "<counts", "device", "tester", "difference", "<"];
    let size = &result.conditions.frame_size;
    let heading = format!("Counters of the device, {size} bytes");
    let mut table = Table::new(heading, vec![about.into()], &columns);
    table.rows = result.counters.iter().map(counter).collect();
    Some(table)
}

fn counter(check: &CounterCheck) -> Vec<String> {
    let difference = check.device as i128 - check.tester as i128;
    let verdict = match (&check.explained, difference) {
        (_, 0) => "exact".to_string(),
        (Some(why), _) => why.clone(),
        (None, _) => "WRONG".to_string(),
    };
    vec![
        check.source.clone(),
        check.port.map_or_else(|| "all".into(), |port| port.0.to_string()),
        check.name.clone(),
        check.counted.to_string(),
        check.device.to_string(),
        check.tester.to_string(),
        if difference == 0 { "0".into() } else { format!("{difference:+}") },
        verdict,
    ]
}
