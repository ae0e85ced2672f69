//! The figures of the tester itself.

use super::{SelfTest, SelfTestSize};
use crate::TestKind;
use crate::outcome::{Figure, Outcome, Unit};

impl SelfTest {
    /// One for each frame size.
    pub fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        self.sizes.iter().map(SelfTestSize::outcome)
    }
}

impl SelfTestSize {
    /// The tester's maximum, and its latency at a low load and at a high one.
    pub fn outcome(&self) -> Outcome {
        let mut figures = vec![self.maximum.figure("tester maximum")];
        for (at, summary) in [("low", &self.floor_low), ("high", &self.floor_high)] {
            figures.extend(summary.as_ref().map(|summary| {
                let name = format!("latency p50 at the {at} load");
                Figure::single(name, Unit::Ns, summary.p50.as_ns_f64())
            }));
        }
        Outcome::new(TestKind::SelfTest, &self.conditions, figures, &[])
    }
}
