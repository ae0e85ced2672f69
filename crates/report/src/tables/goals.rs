//! MLRsearch: what was found for each goal, with its attributes.

use super::throughput::verdict;
use super::{Table, about, fps, optional, percent_cell};
use crate::model::Group;
use method::rfc2544::ThroughputResult;
use method::{Finding, RateFound, SearchPolicy};

/// draft-ietf-bmwg-mlrsearch-15, "Goal Result"; none where another search was used.
pub(super) fn table(group: &Group<'_>) -> Option<Table> {
    let first = group.throughput.iter().find(|result| !goals(result).is_empty())?;
    let mut table = Table::new(
        "MLRsearch goals (draft-ietf-bmwg-mlrsearch-15)",
        about(group, &first.conditions),
        &[
            "frame size",
            "goal loss %",
            "relevant lower bound fps",
            "relevant upper bound fps",
            "width %",
            "conditional throughput fps",
            "trials at lower bound",
            "of high loss",
            "<result",
        ],
    );
    for result in &group.throughput {
        for found in goals(result) {
            table.rows.push(vec![
                result.conditions.frame_size.clone(),
                percent_cell(Some(found.loss_tolerance_percent)),
                optional(found.rate, fps),
                optional(found.upper, fps),
                percent_cell(width_percent(found)),
                optional(found.conditional_throughput, fps),
                found.trials_at_rate.to_string(),
                found.failed_trials_at_rate.to_string(),
                regularity(found),
            ]);
            if !table.notes.contains(&found.search) {
                table.notes.push(found.search.clone());
            }
        }
    }
    Some(table)
}

fn goals(result: &ThroughputResult) -> Vec<&RateFound> {
    let all = std::iter::once(&result.throughput).chain(&result.with_tolerance);
    all.filter(|found| found.policy == SearchPolicy::Mlrsearch).collect()
}

/// The distance of the bounds as a share of the upper one.
fn width_percent(found: &RateFound) -> Option<f64> {
    let (lower, upper) = found.rate.zip(found.upper)?;
    Some((1.0 - lower.fps() / upper.fps()) * 100.0)
}

/// A result is regular where both bounds are the device's.
fn regularity(found: &RateFound) -> String {
    match found.finding {
        Finding::Measured => "regular".into(),
        _ => format!("irregular: {}", verdict(found)),
    }
}
