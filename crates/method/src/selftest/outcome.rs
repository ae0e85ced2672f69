//! The figures of the tester itself, and their table.

use super::{SelfTest, SelfTestSize};
use crate::outcome::{Cell, Figure, Layout, Outcome, Unit};
use crate::{LatencySummary, TestKind};
use units::Duration;

const COLUMNS: [&str; 12] = [
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
];

impl SelfTest {
    /// One for each frame size.
    pub fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        self.sizes.iter().map(|size| size.outcome(&self.ports))
    }
}

impl SelfTestSize {
    /// The tester's maximum, and its latency at a low load and at a high one.
    fn outcome(&self, ports: &str) -> Outcome {
        let mut figures = vec![self.maximum.figure("tester maximum")];
        for (at, summary) in [("low", &self.floor_low), ("high", &self.floor_high)] {
            let Some(summary) = summary else { continue };
            let name = format!("latency p50 at the {at} load");
            figures.push(Figure::single(name, Unit::Ns, summary.p50.as_ns_f64()));
        }
        self.conditions
            .outcome(TestKind::SelfTest, figures, &[])
            .laid_out(self.layout(ports))
            .detailed(self)
    }

    fn layout(&self, ports: &str) -> Layout {
        let found = &self.maximum;
        let span = |summary: &Option<LatencySummary>, take: fn(&LatencySummary) -> Duration| {
            Cell::optional(summary.as_ref(), |summary| Cell::Time(take(summary)))
        };
        let about = vec![ports.to_owned(), self.conditions.medium()];
        Layout::new("Self-test: the tester alone, back to back", about, &COLUMNS)
            .row([
                self.conditions.frame_size.clone().into(),
                Cell::Fps(self.conditions.theoretical_max),
                found.cell(),
                Cell::optional(self.reached.as_ref(), |reached| {
                    Cell::Between(
                        Box::new(Cell::Fps(reached.p10)),
                        Box::new(Cell::Fps(reached.p90)),
                    )
                }),
                found.share(),
                found.resolution(),
                Cell::trials(found.trials.into(), found.invalid_trials.into()),
                span(&self.floor_low, |s| s.min),
                span(&self.floor_low, |s| s.p50),
                span(&self.floor_low, |s| s.p99),
                span(&self.floor_high, |s| s.p50),
                span(&self.floor_high, |s| s.p99),
            ])
            .noted(found.notes())
            .noted(self.conditions.given_up.iter().cloned())
    }
}
