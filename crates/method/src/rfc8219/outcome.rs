//! The figures of delay variation, and its tables.

use super::{Between, Ipdv, IpdvResult, PdvResult};
use crate::TestKind;
use crate::clauses::Facts;
use crate::outcome::interval::median_interval;
use crate::outcome::{Basis, Cell, Figure, FigureName, Layout, Outcome, Unit};
use crate::rfc2544::invalid_of;
use trial::Histogram;

const PDV: [&str; 9] = [
    "frame size",
    "load fps",
    "PDV us",
    "p1 us",
    "p99 us",
    "high by at most us",
    "frames",
    "trials",
    "<verdict",
];
const IPDV: [&str; 8] =
    ["frame size", "load fps", "min us", "median us", "max us", "pairs", "trials", "<verdict"];

impl PdvResult {
    /// The median of the repetitions.
    pub fn outcome(&self) -> Outcome {
        let invalid = invalid_of(self.trials.iter().map(|trial| &trial.invalid));
        let figure = self.figure().called(FigureName::Pdv);
        let facts = Facts {
            not_measured: self.not_measured.clone(),
            repetitions: Some(self.pdv.as_ref().map_or(0, |pdv| pdv.repetitions)),
            at_throughput: Some(self.rate_is_throughput),
            ..Facts::under(&self.conditions)
        };
        self.conditions
            .outcome(TestKind::Pdv, vec![figure], &invalid)
            .judged_by(facts)
            .laid_out(self.layout())
            .detailed(self)
    }

    /// Section 7.3.1.
    fn layout(&self) -> Layout {
        let heading = "Packet delay variation (RFC 8219 section 7.3.1)";
        let mut layout = self.conditions.layout(heading, &PDV);
        layout.about.extend([
            "PDV = D(99.9) - D(min) over every frame of a stream; the median of the repetitions, with \
             their 1st and 99th percentile"
                .into(),
            format!(
                "values are high by at most what its column says: delays are counted in buckets that \
                 are at most {:.2} % of the delay wide",
                (Histogram::RELATIVE_ERROR * 1e4).ceil() / 100.0
            ),
        ]);
        let found = self.pdv.as_ref();
        let valid = self.trials.iter().filter(|trial| trial.invalid.is_empty());
        let frames = valid.clone().map(|trial| trial.frames).sum();
        let invalid = self.trials.len() - valid.count();
        layout
            .row([
                self.conditions.frame_size.clone().into(),
                Cell::optional(self.rate, Cell::Fps),
                Cell::optional(found, |pdv| at_most(pdv.median)),
                Cell::optional(found, |pdv| at_most(pdv.p1)),
                Cell::optional(found, |pdv| at_most(pdv.p99)),
                Cell::optional(found, |pdv| Cell::Time(pdv.median.high - pdv.median.low)),
                Cell::optional(found, |_| Cell::Count(frames)),
                Cell::trials(self.trials.len() as u64, invalid as u64),
                verdict(&self.not_measured, self.rate_is_throughput).into(),
            ])
            .noted(self.not_measured.iter().map(|why| format!("not measured: {why}")))
            .noted(self.notes.iter().cloned())
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
        let facts = Facts {
            not_measured: self.not_measured.clone(),
            repetitions: Some(self.repetitions),
            at_throughput: Some(self.rate_is_throughput),
            ..Facts::under(&self.conditions)
        };
        self.conditions
            .outcome(TestKind::Ipdv, figures, &invalid)
            .judged_by(facts)
            .laid_out(self.layout())
            .detailed(self)
    }

    /// Section 7.3.2.
    fn layout(&self) -> Layout {
        let heading = "Inter-packet delay variation (RFC 8219 section 7.3.2)";
        let mut layout = self.conditions.layout(heading, &IPDV);
        layout.about.push(
            "IPDV(i) = D(i) - D(i-1), with its sign; medians of the repetitions; no jitter of RFC 4689, \
             which is its absolute value"
                .into(),
        );
        let found = self.ipdv.as_ref();
        let valid = self.trials.iter().filter(|trial| trial.invalid.is_empty());
        let pairs = valid.clone().map(|trial| trial.pairs).sum();
        let invalid = self.trials.len() - valid.count();
        layout
            .row([
                self.conditions.frame_size.clone().into(),
                Cell::optional(self.rate, Cell::Fps),
                Cell::optional(found, |ipdv| Cell::ps(ipdv.min_ps)),
                Cell::optional(found, |ipdv| Cell::ps(ipdv.median_ps)),
                Cell::optional(found, |ipdv| Cell::ps(ipdv.max_ps)),
                Cell::optional(found, |_| Cell::Count(pairs)),
                Cell::trials(self.trials.len() as u64, invalid as u64),
                verdict(&self.not_measured, self.rate_is_throughput).into(),
            ])
            .noted(self.not_measured.iter().map(|why| format!("not measured: {why}")))
            .noted(self.notes.iter().cloned())
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

/// What cannot be told from no variation at all is only known not to be larger.
fn at_most(pdv: Between) -> Cell {
    let printed = Cell::Time(pdv.high);
    match pdv.low < pdv.high && pdv.low.as_ps() == 0 {
        true => format!("<= {printed}").into(),
        false => printed,
    }
}

fn verdict(not_measured: &Option<String>, rate_is_throughput: bool) -> &'static str {
    match (not_measured, rate_is_throughput) {
        (Some(_), _) => "not measured",
        (None, true) => "at throughput",
        (None, false) => "not at throughput",
    }
}
