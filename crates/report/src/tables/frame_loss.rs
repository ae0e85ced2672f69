//! Frame loss rate: loads down, frame sizes across.

use super::{Table, about, fps};
use crate::model::Group;
use crate::number;
use method::rfc2544::{FrameLossResult, LossPoint};

/// RFC 2544 section 26.3.
pub(super) fn table(group: &Group<'_>) -> Option<Table> {
    let first = group.frame_loss.first()?;
    let mut lines = about(group, &first.conditions);
    lines.push(
        "loss in % of the frames that should have come out; an empty cell was not run, because \
         two successive loads had been without loss"
            .into(),
    );
    let mut columns = vec!["load"];
    let sizes: Vec<String> =
        group.frame_loss.iter().map(|r| format!("{} loss %", r.conditions.frame_size)).collect();
    columns.extend(sizes.iter().map(String::as_str));
    let mut table = Table::new("Frame loss rate (RFC 2544 section 26.3)", lines, &columns);
    let mut maxima = vec!["100 % in fps".to_string()];
    maxima.extend(group.frame_loss.iter().map(|result| fps(result.maximum)));
    table.rows.push(maxima);
    for load in loads(&group.frame_loss) {
        let mut row = vec![format!("{load} %")];
        row.extend(group.frame_loss.iter().map(|result| {
            let point = result.points.iter().find(|point| point.percent_of_maximum == load);
            point.map_or_else(String::new, loss_cell)
        }));
        table.rows.push(row);
    }
    for result in &group.frame_loss {
        notes(&mut table, result);
    }
    Some(table)
}

/// Every load that was run for any size, from the highest.
fn loads(results: &[&FrameLossResult]) -> Vec<f64> {
    let points = results.iter().flat_map(|result| &result.points);
    let mut loads: Vec<f64> = points.map(|point| point.percent_of_maximum).collect();
    loads.sort_by(|a, b| b.total_cmp(a));
    loads.dedup();
    loads
}

fn loss_cell(point: &LossPoint) -> String {
    match point.invalid.is_empty() {
        true => number::percent(point.loss_percent / 100.0),
        false => "invalid".into(),
    }
}

fn notes(table: &mut Table, result: &FrameLossResult) {
    let size = &result.conditions.frame_size;
    let invalid: Vec<&LossPoint> =
        result.points.iter().filter(|point| !point.invalid.is_empty()).collect();
    if let Some(first) = invalid.first() {
        let loads: Vec<String> =
            invalid.iter().map(|point| format!("{} %", point.percent_of_maximum)).collect();
        let reasons = first.invalid.join("; ");
        let others = if invalid.len() > 1 { " (the others: see every trial)" } else { "" };
        let (loads, at) = (loads.join(", "), first.percent_of_maximum);
        table.note(size, [format!("invalid at {loads}; at {at} %: {reasons}{others}")]);
    }
    table.note(size, result.notes.iter().cloned());
}
