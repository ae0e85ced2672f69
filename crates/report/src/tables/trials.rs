//! Trials: how many counted, and each of them.

use super::{Table, fps, optional};
use crate::model::Report;
use crate::number::{grouped, microseconds, percent};
use crate::trial_row::{TrialRow, verdict_word};

/// Trials by test, with the reasons of those that decided nothing.
pub(super) fn counts(report: &Report) -> Table {
    let columns = ["<test", "trials", "valid", "fell short", "invalid", "<why invalid"];
    let about =
        "fell short: asked how much the tester can offer, and answered by less than asked for";
    let mut table = Table::new("Trials", vec![about.into()], &columns);
    for counts in report.trial_counts() {
        let reasons = counts.reasons.iter().map(|(reason, count)| format!("{reason} ({count})"));
        table.rows.push(vec![
            counts.test.to_string(),
            grouped(counts.trials),
            grouped(counts.trials - counts.invalid - counts.answered_short),
            grouped(counts.answered_short),
            grouped(counts.invalid),
            reasons.collect::<Vec<_>>().join("; "),
        ]);
    }
    table
}

/// Every trial.
pub(super) fn every(report: &Report) -> Table {
    let mut table = Table::new(
        "Every trial",
        vec![
            "loads and counts are over all ports; offered load is measured at departure; lateness \
             is departure minus due time; late frames arrived after the drain time and are among \
             the lost ones"
                .into(),
        ],
        &[
            "no.",
            "<test",
            "size",
            "<trial",
            "s",
            "intended fps",
            "offered fps",
            "shortfall %",
            "unsent",
            "offered",
            "forwarded",
            "lost",
            "loss %",
            "dup.",
            "reord.",
            "late",
            "corr.",
            "misdir.",
            "foreign",
            "forged",
            "leftover",
            "lateness p99 us",
            "lateness max us",
            "tester drops",
            "<verdict",
        ],
    );
    table.rows = report.trials.iter().map(|record| row(&TrialRow::of(record))).collect();
    table
}

fn row(trial: &TrialRow) -> Vec<String> {
    let counts = [
        trial.duplicate_frames,
        trial.reordered_frames,
        trial.late_frames,
        trial.corrupted_frames,
        trial.misdirected_frames,
        trial.foreign_frames,
        trial.forged_frames,
        trial.leftover_frames,
    ];
    let mut cells = vec![
        trial.number.to_string(),
        trial.test.to_string(),
        trial.frame_size.clone(),
        match trial.attempt {
            1 => trial.label.clone(),
            attempt => format!("{} (attempt {attempt})", trial.label),
        },
        format!("{:.3}", trial.duration.as_secs_f64()),
        fps(trial.intended),
        fps(trial.offered),
        optional(trial.shortfall(), percent),
        grouped(trial.unsent_frames),
        grouped(trial.offered_frames),
        grouped(trial.forwarded_frames),
        grouped(trial.lost_frames),
        optional(trial.loss_ratio(), percent),
    ];
    cells.extend(counts.map(grouped));
    cells.push(optional(trial.lateness_p99, microseconds));
    cells.push(optional(trial.lateness_max, microseconds));
    cells.push(grouped(trial.tester_drops));
    let mut verdict = vec![verdict_word(trial.verdict).to_string()];
    let altered = trial.wrong_length_frames;
    verdict.extend((altered > 0).then(|| format!("{altered} frames arrived longer or shorter")));
    let extent = trial.reorder_extent_frames;
    verdict.extend((extent > 0).then(|| format!("reordering extent up to {extent} frames")));
    verdict.extend(trial.faults.iter().chain(&trial.notes).cloned());
    cells.push(verdict.join("; "));
    cells
}
