//! The figures of the router tests of 1990, named by their columns.

use super::{DelayResult, HarvardResult, MaxRateResult, RawRateResult, RawStream, Setting};
use crate::outcome::interval::wilson_interval;
use crate::outcome::{Basis, Figure, FigureName, Outcome, Unit, reasons};

impl HarvardResult {
    /// The figures of a column.
    pub fn outcome(&self) -> Outcome {
        let (figures, invalid) = match self {
            HarvardResult::MaxRate(result) => {
                (vec![result.figure()], result.found.finding.invalid_reasons())
            }
            HarvardResult::RawRate(result) => (result.figures(), result.invalid.clone()),
            HarvardResult::Delay(result) => (vec![result.figure()], result.invalid.clone()),
        };
        Outcome::new(self.kind(), self.conditions(), figures, &invalid)
    }
}

impl Setting {
    fn figure_name(&self, kind: &str, stream: usize) -> String {
        format!("{} {}", self.column(kind, stream), self.path)
    }
}

impl MaxRateResult {
    fn figure(&self) -> Figure {
        self.found.figure(self.setting.figure_name("max", 0)).called(FigureName::MaxRate)
    }
}

impl RawRateResult {
    fn figures(&self) -> Vec<Figure> {
        let name = |stream| self.setting.figure_name("fld", stream);
        let figures: Vec<Figure> = match self.streams.is_empty() {
            true => vec![Figure::missing(name(0), Unit::Fps, reasons(&self.invalid))],
            false => {
                let streams = self.streams.iter().enumerate();
                streams.map(|(number, stream)| stream.figure(name(number))).collect()
            }
        };
        figures.into_iter().map(|figure| figure.called(FigureName::RawRate)).collect()
    }
}

impl RawStream {
    /// The share of frames that came out is what was counted; the rate offered is exact.
    fn figure(&self, name: String) -> Figure {
        let offered = self.offered.fps();
        let share = wilson_interval(self.received_frames, self.sent_frames);
        let within = share.map(|(low, high)| (low * offered, high * offered));
        Figure::single(name, Unit::Fps, self.forwarded.fps()).bounded(within, Basis::Counting)
    }
}

impl DelayResult {
    fn figure(&self) -> Figure {
        let name = format!("delay {}", self.setting.path);
        let figure = match self.delay() {
            Some([_, median, _]) => Figure::single(name, Unit::Ns, median.as_ns_f64()),
            None => Figure::missing(name, Unit::Ns, reasons(&self.invalid)),
        };
        figure.called(FigureName::Delay)
    }
}
