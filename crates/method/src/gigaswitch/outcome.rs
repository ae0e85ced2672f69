//! The figures of the GIGAswitch tests.

use super::{ArpServerResult, ExtrapolationResult, FanoutResult};
use crate::chassis::LoadPoint;
use crate::outcome::{Basis, Figure, FigureName, Outcome, Unit};

impl FanoutResult {
    /// Throughput with this number of ports, and what was lost at it.
    pub fn outcome(&self) -> Outcome {
        let mut figures = self.throughput.figures("throughput");
        figures
            .extend(self.point.as_ref().map(|point: &LoadPoint| point.loss("loss at that rate")));
        let outcome = self.conditions.outcome(figures, self.throughput.invalid_reasons());
        outcome
            .with_matrices(&self.matrix)
            .laid_out(self.layout().noted(self.throughput.with_tolerance_in_words()))
            .judged_also(|facts| facts.search(&self.throughput))
            .detailed(self)
    }
}

impl ExtrapolationResult {
    /// What fewer ports say of all, and what all say.
    pub fn outcome(&self) -> Outcome {
        let ports = self.ports;
        let of_all = format!("rate of {ports} ports");
        let between =
            |name: String, unit, ends| Figure::between(name, unit, ends, Basis::SearchResolution);
        let figures = vec![
            between("scaling factor".into(), Unit::Ratio, self.scaling_factor)
                .called(FigureName::ScalingFactor),
            between(format!("rate extrapolated to {ports} ports"), Unit::Fps, self.extrapolated),
            match self.all_ports {
                Some(all) => between(of_all, Unit::Fps, all),
                None => {
                    let why = format!("the device has fewer than {ports} ports");
                    Figure::missing(of_all, Unit::Fps, Some(why))
                }
            },
        ];
        self.conditions.outcome(figures, &[]).laid_out(self.layout()).detailed(self)
    }
}

impl ArpServerResult {
    /// Requests that the device answers a second.
    pub fn outcome(&self) -> Outcome {
        let found = (self.rate_fps, self.failed_fps);
        let figure = Figure::count("requests answered", Unit::Fps, found, &self.invalid);
        let figures = vec![figure.called(FigureName::Requests)];
        self.conditions.outcome(figures, &self.invalid).laid_out(self.layout()).detailed(self)
    }
}
