//! Trials in `results.json`: the same numbers as in `trials.csv`.

use crate::model::TrialCounts;
use crate::trial_row::TrialRow;
use method::{TestKind, TrialRecord, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;
use units::Duration;

/// Trials of one test.
#[derive(Serialize)]
pub(super) struct Counts {
    test: TestKind,
    trials: u64,
    invalid_trials: u64,
    /// Trials that asked how much the tester can offer, and were answered by falling short.
    answered_short_trials: u64,
    /// Kind of reason, and in how many trials.
    invalid_reasons: BTreeMap<String, u64>,
}

impl From<TrialCounts> for Counts {
    fn from(counts: TrialCounts) -> Self {
        Counts {
            test: counts.test,
            trials: counts.trials,
            invalid_trials: counts.invalid,
            answered_short_trials: counts.answered_short,
            invalid_reasons: counts.reasons,
        }
    }
}

/// One trial; also a row of `trials.csv`, whose columns have the members' names. Lists of words
/// are joined by `; ` there.
#[derive(Serialize)]
pub(crate) struct Trial {
    number: u64,
    test: TestKind,
    frame_size: String,
    label: String,
    attempt: u32,
    verdict: Verdict,
    duration_ps: u64,
    intended_fps: f64,
    offered_fps: f64,
    unsent_frames: u64,
    offered_frames: u64,
    expected_frames: u64,
    forwarded_frames: u64,
    lost_frames: u64,
    loss_percent: Option<f64>,
    duplicate_frames: u64,
    reordered_frames: u64,
    reorder_extent_frames: u64,
    wrong_length_frames: u64,
    late_frames: u64,
    corrupted_frames: u64,
    misdirected_frames: u64,
    foreign_frames: u64,
    forged_frames: u64,
    leftover_frames: u64,
    sent_late_frames: u64,
    lateness_p99_ps: Option<u64>,
    lateness_max_ps: Option<u64>,
    tester_dropped_frames: u64,
    device_waited_ps: u64,
    tester_waited_ps: u64,
    stolen_ps: u64,
    carrier_changes: u64,
    on_the_way_frames: u64,
    named_drops: u64,
    not_yet_out_frames: u64,
    unknown_frames: u64,
    /// Where the tester did not keep up; never empty for an invalid trial.
    tester_faults: String,
    notes: String,
}

impl Trial {
    pub(crate) fn of(record: &TrialRecord) -> Self {
        let row = TrialRow::of(record);
        Trial {
            loss_percent: row.loss_ratio().map(|ratio| ratio * 100.0),
            number: row.number,
            test: row.test,
            frame_size: row.frame_size,
            label: row.label,
            attempt: row.attempt,
            verdict: row.verdict,
            duration_ps: row.duration.as_ps(),
            intended_fps: row.intended.fps(),
            offered_fps: row.offered.fps(),
            unsent_frames: row.unsent_frames,
            offered_frames: row.offered_frames,
            expected_frames: row.expected_frames,
            forwarded_frames: row.forwarded_frames,
            lost_frames: row.lost_frames,
            duplicate_frames: row.duplicate_frames,
            reordered_frames: row.reordered_frames,
            reorder_extent_frames: row.reorder_extent_frames,
            wrong_length_frames: row.wrong_length_frames,
            late_frames: row.late_frames,
            corrupted_frames: row.corrupted_frames,
            misdirected_frames: row.misdirected_frames,
            foreign_frames: row.foreign_frames,
            forged_frames: row.forged_frames,
            leftover_frames: row.leftover_frames,
            sent_late_frames: row.sent_late_frames,
            lateness_p99_ps: row.lateness_p99.map(Duration::as_ps),
            lateness_max_ps: row.lateness_max.map(Duration::as_ps),
            tester_dropped_frames: row.tester_drops,
            device_waited_ps: row.device_waited.as_ps(),
            tester_waited_ps: row.tester_waited.as_ps(),
            stolen_ps: row.stolen.as_ps(),
            carrier_changes: row.carrier_changes,
            on_the_way_frames: row.on_the_way_frames,
            named_drops: row.named_drops,
            not_yet_out_frames: row.not_yet_out_frames,
            unknown_frames: row.unknown_frames,
            tester_faults: row.faults.join("; "),
            notes: row.notes.join("; "),
        }
    }
}
