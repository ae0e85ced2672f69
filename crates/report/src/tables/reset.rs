//! Reset.

use super::{Table, about, fps, milliseconds, optional};
use crate::model::Group;
use crate::number::grouped_f64;
use method::rfc2544::{ResetResult, ResetTrial, action_in_words};

/// RFC 6201.
pub(super) fn table(group: &Group<'_>) -> Option<Table> {
    let first = group.reset.first()?;
    let mut table = Table::new(
        "Reset (RFC 2544 section 26.6 as RFC 6201 has it)",
        about(group, &first.conditions),
        &[
            "frame size",
            "<reset",
            "load fps",
            "by loss ms",
            "by time stamps ms",
            "mean loss frames",
            "action took ms",
            "trials",
            "<verdict",
        ],
    );
    for result in &group.reset {
        table.rows.push(row(result));
        notes(&mut table, result);
    }
    Some(table)
}

fn row(result: &ResetResult) -> Vec<String> {
    let invalid = result.trials.iter().filter(|trial| !trial.invalid.is_empty()).count();
    let took = result.trials.iter().filter_map(|trial| trial.action_took).max();
    vec![
        result.conditions.frame_size.clone(),
        action_in_words(&result.action),
        optional(result.rate, fps),
        optional(result.mean_by_loss, milliseconds),
        optional(result.mean_by_timestamps, milliseconds),
        optional(result.mean_lost_frames, |frames| grouped_f64(frames, 1)),
        optional(took, milliseconds),
        super::trials_cell(result.trials.len() as u32, invalid as u32),
        verdict(result).into(),
    ]
}

fn verdict(result: &ResetResult) -> &'static str {
    let mut counted = result.trials.iter().filter(|trial| trial.invalid.is_empty()).peekable();
    match () {
        () if result.not_measured.is_some() => "not measured",
        () if counted.peek().is_none() => "INVALID",
        () if counted.all(|trial: &ResetTrial| trial.no_loss) => "no loss",
        () => "measured",
    }
}

fn notes(table: &mut Table, result: &ResetResult) {
    let size = &result.conditions.frame_size;
    table.note(size, result.not_measured.iter().map(|why| format!("not measured: {why}")));
    for trial in result.trials.iter().filter(|trial| !trial.invalid.is_empty()) {
        table.note(size, [format!("an invalid trial: {}", trial.invalid.join("; "))]);
    }
    table.note(size, result.notes.iter().cloned());
}
