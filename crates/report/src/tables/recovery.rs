//! System recovery.

use super::{Table, about, fps, milliseconds, optional};
use crate::model::Group;
use crate::number::grouped;
use method::rfc2544::{RecoveryOutcome, RecoveryResult};

/// RFC 2544 section 26.5.
pub(super) fn table(group: &Group<'_>) -> Option<Table> {
    let first = group.recovery.first()?;
    let mut lines = about(group, &first.conditions);
    lines.push(
        "recovery time: from the halving of the load to the departure of the last frame lost"
            .into(),
    );
    let mut table = Table::new(
        "System recovery (RFC 2544 section 26.5)",
        lines,
        &[
            "frame size",
            "throughput fps",
            "overload fps",
            "recovery mean ms",
            "min ms",
            "max ms",
            "lost frames",
            "trials counted",
            "<verdict",
        ],
    );
    for result in &group.recovery {
        table.rows.push(row(result));
        notes(&mut table, result);
    }
    Some(table)
}

fn row(result: &RecoveryResult) -> Vec<String> {
    let run = Some(result.trials.len()).filter(|trials| *trials > 0);
    let bound = |time: String| if result.is_lower_bound { format!(">= {time}") } else { time };
    let lost: u64 = result.trials.iter().map(|trial| trial.lost_frames).sum();
    vec![
        result.conditions.frame_size.clone(),
        optional(result.throughput, fps),
        optional(result.overload, fps),
        optional(result.mean, |time| bound(milliseconds(time))),
        optional(result.min, milliseconds),
        optional(result.max, |time| bound(milliseconds(time))),
        optional(run, |_| grouped(lost)),
        optional(run, |trials| format!("{} of {trials}", counted(result))),
        verdict(result).into(),
    ]
}

fn counted(result: &RecoveryResult) -> usize {
    use RecoveryOutcome::{NotRecovered, Recovered};
    let counts = |o: &RecoveryOutcome| matches!(o, Recovered { .. } | NotRecovered { .. });
    result.trials.iter().filter(|trial| counts(&trial.outcome)).count()
}

fn verdict(result: &RecoveryResult) -> &'static str {
    let any = |test: fn(&RecoveryOutcome) -> bool| result.trials.iter().any(|t| test(&t.outcome));
    match () {
        () if result.not_measured.is_some() => "not measured",
        () if any(|o| matches!(o, RecoveryOutcome::NotRecovered { .. })) => "did not recover",
        () if result.mean.is_some() => "measured",
        () if any(|o| matches!(o, RecoveryOutcome::NoOverload)) => "no loss in overload",
        () => "INVALID",
    }
}

fn notes(table: &mut Table, result: &RecoveryResult) {
    let size = &result.conditions.frame_size;
    table.note(size, result.not_measured.iter().map(|why| format!("not measured: {why}")));
    for trial in &result.trials {
        match &trial.outcome {
            RecoveryOutcome::Recovered { .. } => {}
            RecoveryOutcome::NoOverload => table
                .note(size, ["the overload lost no frame: nothing to recover from".to_string()]),
            RecoveryOutcome::NotRecovered { observed, .. } => {
                table.note(size, [format!("still losing frames after {observed}")]);
            }
            RecoveryOutcome::Invalid { reasons } => {
                table.note(size, [format!("an invalid trial: {}", reasons.join("; "))]);
            }
        }
    }
    table.note(size, result.notes.iter().cloned());
}
