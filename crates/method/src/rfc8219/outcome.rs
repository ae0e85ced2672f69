//! The figures of delay variation.

use super::{Ipdv, IpdvResult, PdvResult};
use crate::TestKind;
use crate::outcome::interval::median_interval;
use crate::outcome::{Basis, Figure, FigureName, Outcome, Unit};
use crate::rfc2544::invalid_of;

impl PdvResult {
    /// The median of the repetitions.
    pub fn outcome(&self) -> Outcome {
        let invalid = invalid_of(self.trials.iter().map(|trial| &trial.invalid));
        let figure = self.figure().called(FigureName::Pdv);
        Outcome::new(TestKind::Pdv, &self.conditions, vec![figure], &invalid)
    }

    fn figure(&self) -> Figure {
        const NAME: &str = "PDV";
        let Some(found) = &self.pdv else {
            return Figure::missing(NAME, Unit::Ns, self.not_measured.clone());
        };
        let counted = self.trials.iter().filter(|trial| trial.invalid.is_empty());
        let highs: Vec<f64> =
            counted.filter_map(|trial| Some(trial.pdv?.high.as_ns_f64())).collect();
        let (low, high) = (found.median.low.as_ns_f64(), found.median.high.as_ns_f64());
        // The truth of each repetition is below what it reads by up to the width of a bucket.
        let within = median_interval(&highs).map(|(from, to)| ((from - (high - low)).max(0.0), to));
        Figure::single(NAME, Unit::Ns, high).bounded(within, Basis::RepeatedMedian)
    }
}

impl IpdvResult {
    /// Minimum, median and maximum, each the median of the repetitions.
    pub fn outcome(&self) -> Outcome {
        let invalid = invalid_of(self.trials.iter().map(|trial| &trial.invalid));
        let figures = vec![
            self.figure("IPDV min", |ipdv| ipdv.min_ps),
            self.figure("IPDV median", |ipdv| ipdv.median_ps),
            self.figure("IPDV max", |ipdv| ipdv.max_ps).called(FigureName::IpdvMax),
        ];
        Outcome::new(TestKind::Ipdv, &self.conditions, figures, &invalid)
    }

    fn figure(&self, name: &str, part_ps: fn(&Ipdv) -> i64) -> Figure {
        let Some(found) = &self.ipdv else {
            return Figure::missing(name, Unit::Ns, self.not_measured.clone());
        };
        let ns = |ipdv: &Ipdv| part_ps(ipdv) as f64 / 1e3;
        let counted = self.trials.iter().filter(|trial| trial.invalid.is_empty());
        let values: Vec<f64> = counted.filter_map(|trial| Some(ns(trial.ipdv.as_ref()?))).collect();
        let single = Figure::single(name, Unit::Ns, ns(found));
        single.bounded(median_interval(&values), Basis::RepeatedMedian)
    }
}
