//! What the tester can do by itself.

use super::{Table, fps, medium, optional, rate_cell, resolution_cell, share_cell, trials_cell};
use crate::number::microseconds;
use method::{LatencySummary, SelfTest, SelfTestSize};

/// The tester, its ports looped back to back.
pub(super) fn table(self_test: &SelfTest) -> Table {
    let mut lines = vec![self_test.ports.clone()];
    lines.extend(self_test.sizes.first().map(|size| medium(&size.conditions)));
    let mut table = Table::new(
        "Self-test: the tester alone, back to back",
        lines,
        &[
            "frame size",
            "theoretical fps",
            "tester fps",
            "p10 .. p90 fps",
            "% of theoretical",
            "resolution fps",
            "trials",
            "floor min us",
            "floor p50 us",
            "floor p99 us",
            "near max p50 us",
            "near max p99 us",
        ],
    );
    for size in &self_test.sizes {
        table.rows.push(row(size));
        let frame_size = &size.conditions.frame_size;
        table.note(frame_size, super::throughput::notes(&size.maximum));
        table.note(frame_size, size.conditions.given_up.iter().cloned());
    }
    table
}

fn row(size: &SelfTestSize) -> Vec<String> {
    let found = &size.maximum;
    let span = |summary: &Option<LatencySummary>, take: fn(&LatencySummary) -> units::Duration| {
        optional(summary.as_ref(), |summary| microseconds(take(summary)))
    };
    vec![
        size.conditions.frame_size.clone(),
        fps(size.conditions.theoretical_max),
        rate_cell(found),
        optional(size.reached.as_ref(), |reached| {
            format!("{} .. {}", fps(reached.p10), fps(reached.p90))
        }),
        share_cell(found.percent_of_theoretical),
        resolution_cell(found),
        trials_cell(found.trials, found.invalid_trials),
        span(&size.floor_low, |s| s.min),
        span(&size.floor_low, |s| s.p50),
        span(&size.floor_low, |s| s.p99),
        span(&size.floor_high, |s| s.p50),
        span(&size.floor_high, |s| s.p99),
    ]
}
