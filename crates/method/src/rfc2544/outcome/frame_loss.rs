//! The figures of the frame loss rate: one a load.

use crate::TestKind;
use crate::outcome::{Figure, FigureName, Outcome, Unit, reasons};
use crate::rfc2544::{FrameLossResult, LossPoint};

impl FrameLossResult {
    /// The loss of each load.
    pub fn outcome(&self) -> Outcome {
        let figures = self.points.iter().map(LossPoint::figure).collect();
        let invalid = match self.points.is_empty() {
            true => vec!["no load was tried".into()],
            false => super::invalid_of(self.points.iter().map(|point| &point.invalid)),
        };
        Outcome::new(TestKind::FrameLoss, &self.conditions, figures, &invalid)
    }
}

impl LossPoint {
    fn figure(&self) -> Figure {
        let name = format!("loss at {} % of the maximum", self.percent_of_maximum);
        let lost = self.expected_frames.saturating_sub(self.received_frames);
        let figure = match self.invalid.is_empty() {
            true => Figure::share_lost(name, lost, self.expected_frames),
            false => Figure::missing(name, Unit::Percent, reasons(&self.invalid)),
        };
        figure.called(FigureName::Loss)
    }
}
