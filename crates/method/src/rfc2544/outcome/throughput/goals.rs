//! MLRsearch: what was found for each goal, with its attributes.

use crate::outcome::{Cell, Layout};
use crate::rfc2544::ThroughputResult;
use crate::{Finding, RateFound, SearchPolicy};

const COLUMNS: [&str; 9] = [
    "frame size",
    "goal loss %",
    "relevant lower bound fps",
    "relevant upper bound fps",
    "width %",
    "conditional throughput fps",
    "trials at lower bound",
    "of high loss",
    "<result",
];

impl ThroughputResult {
    /// draft-ietf-bmwg-mlrsearch-15, "Goal Result"; none where another search was used.
    pub(super) fn goals(&self) -> Option<Layout> {
        let all = std::iter::once(&self.throughput).chain(&self.with_tolerance);
        let goals: Vec<&RateFound> =
            all.filter(|found| found.policy == SearchPolicy::Mlrsearch).collect();
        let heading = "MLRsearch goals (draft-ietf-bmwg-mlrsearch-15)";
        let layout = self.conditions.layout(heading, &COLUMNS);
        (!goals.is_empty()).then(|| {
            goals.into_iter().fold(layout, |layout, found| {
                layout.row(self.goal(found)).noted([found.search.clone()])
            })
        })
    }

    fn goal(&self, found: &RateFound) -> [Cell; 9] {
        [
            self.conditions.frame_size.clone().into(),
            Cell::Percent(found.loss_tolerance_percent),
            Cell::optional(found.rate, Cell::Fps),
            Cell::optional(found.upper, Cell::Fps),
            Cell::optional(width_percent(found), Cell::Percent),
            Cell::optional(found.conditional_throughput, Cell::Fps),
            Cell::Count(found.trials_at_rate.into()),
            Cell::Count(found.failed_trials_at_rate.into()),
            regularity(found).into(),
        ]
    }
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
        _ => format!("irregular: {}", found.verdict()),
    }
}
