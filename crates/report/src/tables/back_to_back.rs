//! Back-to-back frames in the columns of RFC 9004 section 7.

use super::{Table, about, fps, milliseconds, optional};
use crate::model::Group;
use crate::number::{grouped, grouped_f64};
use method::rfc2544::{BackToBackResult, BurstOutcome};

/// RFC 9004.
pub(super) fn table(group: &Group<'_>) -> Option<Table> {
    let first = group.back_to_back.first()?;
    let mut table = Table::new(
        "Back-to-back frames (RFC 2544 section 26.4 as RFC 9004 has it)",
        about(group, &first.conditions),
        &[
            "frame size",
            "average burst frames",
            "min",
            "max",
            "std. deviation",
            "N",
            "corrected buffer ms",
            "corrected buffer frames",
            "implied buffer ms",
            "burst rate fps",
            "throughput fps",
            "<verdict",
        ],
    );
    for result in &group.back_to_back {
        table.rows.push(row(result));
        notes(&mut table, result);
    }
    table.notes.push(format!("search: {}", first.search));
    Some(table)
}

fn row(result: &BackToBackResult) -> Vec<String> {
    let summary = result.summary.as_ref();
    let sign = if result.is_lower_bound() { ">= " } else { "" };
    vec![
        result.conditions.frame_size.clone(),
        optional(summary, |s| format!("{sign}{}", grouped_f64(s.frames.mean, 1))),
        optional(summary, |s| grouped_f64(s.frames.min, 0)),
        optional(summary, |s| format!("{sign}{}", grouped_f64(s.frames.max, 0))),
        optional(summary, |s| grouped_f64(s.frames.standard_deviation, 1)),
        optional(summary, |s| s.frames.count.to_string()),
        optional(summary, |s| format!("{sign}{}", milliseconds(s.corrected_buffer_time))),
        optional(summary, |s| format!("{sign}{}", grouped_f64(s.corrected_buffer_frames, 1))),
        optional(summary, |s| format!("{sign}{}", milliseconds(s.implied_buffer_time))),
        optional(result.burst_rate, fps),
        optional(result.throughput, fps),
        verdict(result).into(),
    ]
}

fn verdict(result: &BackToBackResult) -> &'static str {
    let any = |test: fn(&BurstOutcome) -> bool| result.searches.iter().any(|s| test(&s.outcome));
    match () {
        () if result.not_measured.is_some() => "not measured",
        () if result.summary.is_none() => "INVALID",
        () if any(|outcome| matches!(outcome, BurstOutcome::AtLimit)) => "at the limit",
        () if any(|outcome| matches!(outcome, BurstOutcome::AtLeast { .. })) => ">= tester",
        () if any(|outcome| matches!(outcome, BurstOutcome::Invalid { .. })) => "partly invalid",
        () if any(|outcome| matches!(outcome, BurstOutcome::NothingPassed)) => "single frame lost",
        () => "measured",
    }
}

fn notes(table: &mut Table, result: &BackToBackResult) {
    let size = &result.conditions.frame_size;
    table.note(size, result.not_measured.iter().map(|why| format!("not measured: {why}")));
    if result.not_measured.is_some() {
        return;
    }
    table.note(
        size,
        [format!(
            "smallest step {} frames; longest burst allowed {} frames ({})",
            grouped(result.step_frames),
            grouped(result.limit_frames),
            result.limit
        )],
    );
    for search in &result.searches {
        match &search.outcome {
            BurstOutcome::AtLimit => table
                .note(size, ["no burst up to the limit lost frames: raise the limit".to_string()]),
            BurstOutcome::AtLeast { why } => {
                table.note(size, [format!("the tester was the limit: {why}")]);
            }
            BurstOutcome::Invalid { reasons } => {
                table.note(size, [format!("a search had no valid trial: {}", reasons.join("; "))]);
            }
            BurstOutcome::NothingPassed => {
                table.note(size, ["a search lost even a single frame".to_string()]);
            }
            BurstOutcome::Measured => {}
        }
    }
    table.note(size, result.notes.iter().cloned());
}
