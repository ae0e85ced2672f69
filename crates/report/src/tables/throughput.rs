//! Throughput: theoretical, tester, device side by side.

use super::{Table, about, fps, optional, percent_cell, resolution_cell, share_cell, trials_cell};
use crate::model::Group;
use crate::number;
use method::{Finding, RateFound};

/// RFC 2544 section 26.1.
pub(super) fn table(group: &Group<'_>) -> Option<Table> {
    let first = group.throughput.first()?;
    let mut table = Table::new(
        "Throughput (RFC 2544 section 26.1)",
        about(group, &first.conditions),
        &[
            "frame size",
            "theoretical fps",
            "tester fps",
            "device fps",
            "% of theoretical",
            "resolution fps",
            "trials",
            "<verdict",
        ],
    );
    for result in &group.throughput {
        let (conditions, found) = (&result.conditions, &result.throughput);
        table.rows.push(vec![
            conditions.frame_size.clone(),
            fps(conditions.theoretical_max),
            optional(conditions.tester_max, fps),
            rate_cell(found),
            share_cell(found.percent_of_theoretical),
            resolution_cell(found),
            trials_cell(found.trials, found.invalid_trials),
            verdict(found).into(),
        ]);
        table.note(&conditions.frame_size, finding_notes(found));
        table.note(&conditions.frame_size, conditions.given_up.iter().cloned());
        table.note(&conditions.frame_size, result.notes.iter().cloned());
    }
    table.note("search", [first.throughput.search.clone()]);
    Some(table)
}

/// Rates with some loss allowed, which are no throughput.
pub(super) fn with_tolerance(group: &Group<'_>) -> Option<Table> {
    let first = group.throughput.iter().find(|result| !result.with_tolerance.is_empty())?;
    let mut table = Table::new(
        "Rates with some loss allowed (NOT RFC 2544 throughput)",
        about(group, &first.conditions),
        &[
            "frame size",
            "loss allowed %",
            "device fps",
            "loss measured %",
            "% of theoretical",
            "resolution fps",
            "trials",
            "<verdict",
        ],
    );
    for result in &group.throughput {
        for found in &result.with_tolerance {
            table.rows.push(vec![
                result.conditions.frame_size.clone(),
                number::percent(found.loss_tolerance_percent / 100.0),
                rate_cell(found),
                percent_cell(found.loss_percent),
                share_cell(found.percent_of_theoretical),
                resolution_cell(found),
                trials_cell(found.trials, found.invalid_trials),
                verdict(found).into(),
            ]);
            table.note(&result.conditions.frame_size, finding_notes(found));
        }
    }
    Some(table)
}

/// The rate found, as far as it was found.
pub(crate) fn rate_cell(found: &RateFound) -> String {
    let rate = || optional(found.rate, fps);
    match &found.finding {
        Finding::Measured | Finding::AtTheoreticalMaximum => rate(),
        Finding::AtLeast { .. } => format!(">= {}", rate()),
        Finding::NothingPassed { lowest, .. } => format!("< {}", fps(*lowest)),
        Finding::Invalid { .. } => "invalid".into(),
    }
}

pub(super) fn verdict(found: &RateFound) -> &'static str {
    match found.finding {
        Finding::Measured => "measured",
        Finding::AtTheoreticalMaximum => "the medium's maximum",
        Finding::AtLeast { .. } => ">= tester",
        Finding::NothingPassed { .. } => "no load passed",
        Finding::Invalid { .. } => "INVALID",
    }
}

pub(super) fn finding_notes(found: &RateFound) -> Vec<String> {
    let mut notes = match &found.finding {
        Finding::Measured | Finding::AtTheoreticalMaximum => vec![],
        Finding::AtLeast { why } => vec![format!("the tester was the limit: {why}")],
        Finding::NothingPassed { lowest, loss_percent } => vec![format!(
            "even {} lost {} % of the frames",
            lowest,
            number::percent(loss_percent / 100.0)
        )],
        Finding::Invalid { reasons } => {
            vec![format!("no valid trial, nothing is known of the device: {}", reasons.join("; "))]
        }
    };
    if found.failed_trials_at_rate > 0 {
        notes.push(format!(
            "the rate reported lost frames in {} of {} full-length trials",
            found.failed_trials_at_rate, found.trials_at_rate
        ));
    }
    notes
}
