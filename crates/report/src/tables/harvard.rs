//! The Harvard tests of 1990.

use super::Table;
use crate::harvard::{RateCell, RateTable, rate_tables};
use crate::model::Report;
use crate::number::microseconds;
use method::TestResult;
use method::harvard::{DelayResult, HarvardResult};

/// The tables of rates, then those of the delay.
pub(super) fn tables(report: &Report) -> Vec<Table> {
    let mut tables: Vec<Table> = rate_tables(&report.results).iter().map(rates).collect();
    for result in &report.results {
        if let TestResult::Harvard(HarvardResult::Delay(result)) = result {
            delay(&mut tables, result);
        }
    }
    let finished = tables.into_iter().map(Table::with_notes_summed_up);
    finished.collect()
}

fn rates(from: &RateTable) -> Table {
    let mut columns = vec!["size"];
    columns.extend(from.columns.iter().map(String::as_str));
    let about = "frames/s: theo, the medium's maximum; test, the tester's own with its shortest gap; \
                 max, the highest without loss; fld, what comes out at the rate of test";
    let mut table = Table::new(from.heading.clone(), vec![about.into()], &columns);
    for row in &from.rows {
        let cells = row.cells.iter().map(|cell| match cell {
            RateCell::AtLeast(_) => format!(">={}", cell.print()),
            _ => cell.print(),
        });
        table.rows.push([row.frame_size.clone()].into_iter().chain(cells).collect());
        if row.cells.iter().any(|cell| matches!(cell, RateCell::AtLeast(_))) {
            let note = "above max the tester was the limit: the device may carry more";
            table.note(&row.frame_size, [note.to_string()]);
        }
    }
    table
}

fn delay(tables: &mut Vec<Table>, result: &DelayResult) {
    let heading = format!("{}: delay", result.setting.heading());
    let at = tables.iter().position(|table| table.heading == heading).unwrap_or_else(|| {
        let about = "from the end of the input frame to the start of the output frame, of a stream \
                     with a large gap; on a virtual link from stamp to arrival";
        let columns = ["size", "min us", "median us", "max us", "lost frames"];
        tables.push(Table::new(heading, vec![about.into()], &columns));
        tables.len() - 1
    });
    let mut row = vec![result.conditions.frame_size.clone()];
    match result.delay() {
        Some(times) => row.extend(times.map(microseconds)),
        None if result.invalid.is_empty() => row.extend(["-"; 3].map(String::from)),
        None => row.extend(["invalid"; 3].map(String::from)),
    }
    row.push(result.lost_frames.to_string());
    tables[at].rows.push(row);
    tables[at].note(&result.conditions.frame_size, result.invalid.clone());
}
