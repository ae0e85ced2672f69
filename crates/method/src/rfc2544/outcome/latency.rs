//! The figures of latency, and its tables: the RFC 2544 number, the RFC 8219 numbers, and every frame,
//! each under its own name.

mod layout;

use crate::clauses::Facts;
use crate::outcome::interval::median_interval;
use crate::outcome::{Basis, Figure, FigureName, Outcome, Unit};
use crate::rfc2544::{LatencyResult, LatencyTrial, Rfc8219Latency};
use crate::{LatencySummary, TestKind};
use trial::LatencyForm;
use units::Duration;

impl LatencyResult {
    /// The RFC 2544 number, the RFC 8219 numbers, and those of every frame.
    pub fn outcome(&self) -> Outcome {
        let mut figures = vec![self.rfc2544_mean()];
        figures.extend(self.other_forms());
        figures.extend(self.rfc8219.iter().flat_map(|medians| self.medians(medians)));
        figures.extend(self.all_frames.iter().flat_map(|all| self.every_frame(all)));
        figures.extend(self.half_load.iter().flat_map(|half| self.at_half_load(half)));
        let invalid = super::invalid_of(self.trials.iter().map(|trial| &trial.invalid));
        let outcome = self.conditions.outcome(TestKind::Latency, figures, &invalid);
        let outcome = Outcome { histograms: self.histogram().into_iter().collect(), ..outcome };
        let outcome = outcome.judged_by(self.facts()).laid_out(self.layout());
        self.every_frame_layout().into_iter().fold(outcome, Outcome::laid_out).detailed(self)
    }

    fn facts(&self) -> Facts {
        Facts {
            not_measured: self.not_measured.clone(),
            repetitions: Some(self.rfc2544.as_ref().map_or(0, |found| found.repetitions)),
            tags: self.rfc8219.as_ref().map(|found| found.tags),
            at_throughput: Some(self.rate_is_throughput),
            has_line_time: Some(
                self.conditions.line_rate_is_physical && self.definition.form != LatencyForm::Lifo,
            ),
            definition: Some(self.definition.meaning.clone()),
            ..Facts::under(&self.conditions)
        }
    }

    /// Off the throughput rate it is a delay, which must not be compared with a latency.
    fn noun(&self) -> &'static str {
        if self.rate_is_throughput { "latency" } else { "delay" }
    }

    fn counted_ns(&self, take: fn(&LatencyTrial) -> Option<Duration>) -> Vec<f64> {
        let counted = self.trials.iter().filter(|trial| trial.invalid.is_empty());
        counted.filter_map(take).map(|stamped| self.definition.ns(stamped)).collect()
    }

    /// The form of a number, where it is not the only one: `, LIFO`.
    fn form(&self) -> String {
        format!(", {}", self.definition.form)
    }

    /// The RFC 2544 number in the other forms.
    fn other_forms(&self) -> impl Iterator<Item = Figure> {
        self.rfc2544.iter().flat_map(|rfc2544| {
            self.definition.other_forms().map(|form| {
                let name = format!("{} mean (RFC 2544, {form})", self.noun());
                Figure::single(name, Unit::Ns, self.definition.ns_in(form, rfc2544.mean))
            })
        })
    }

    fn rfc2544_mean(&self) -> Figure {
        let figure = match &self.rfc2544 {
            None => {
                let lost_tag = || "the tagged frame was lost in each repetition".to_string();
                let some_valid = self.trials.iter().any(|trial| trial.invalid.is_empty());
                let why = self.not_measured.clone().or_else(|| some_valid.then(lost_tag));
                let name = format!("latency mean (RFC 2544{})", self.form());
                Figure::missing(name, Unit::Ns, why)
            }
            Some(rfc2544) => {
                let values = self.counted_ns(|trial| trial.tagged);
                let name = format!("{} mean (RFC 2544{})", self.noun(), self.form());
                let mean = self.definition.ns(rfc2544.mean);
                Figure::mean_of(name, Unit::Ns, &values).valued(Some(mean))
            }
        };
        figure.called(FigureName::Latency)
    }

    fn medians(&self, of: &Rfc8219Latency) -> [Figure; 2] {
        let medians = [
            ("typical", of.typical, self.counted_ns(|trial| trial.typical)),
            ("worst case", of.worst_case, self.counted_ns(|trial| trial.worst_case)),
        ];
        medians.map(|(which, value, values)| {
            let name = format!("{} {which} (RFC 8219{})", self.noun(), self.form());
            let single = Figure::single(name, Unit::Ns, self.definition.ns(value));
            single.bounded(median_interval(&values), Basis::RepeatedMedian)
        })
    }

    /// A delay by its name: no latency is measured off the throughput rate.
    fn at_half_load(&self, half: &LatencySummary) -> [Figure; 3] {
        let of = |which: &str, stamped: Duration| {
            let name = format!("delay of every frame {which} at half load{}", self.form());
            Figure::single(name, Unit::Ns, self.definition.ns(stamped))
        };
        [
            of("p50", half.p50),
            of("p99", half.p99).called(FigureName::HalfLoadP99),
            of("max", half.max),
        ]
    }

    fn every_frame(&self, all: &LatencySummary) -> [Figure; 7] {
        let named = |which: &str| format!("{} of every frame {which}", self.noun());
        let of = |which: &str, stamped: Duration| {
            let name = format!("{}{}", named(which), self.form());
            Figure::single(name, Unit::Ns, self.definition.ns(stamped))
        };
        [
            of("min", all.min),
            of("mean", all.mean),
            of("p50", all.p50),
            of("p99", all.p99).called(FigureName::LatencyP99),
            of("p99.9", all.p999),
            of("max", all.max).called(FigureName::LatencyMax),
            // A difference: the lines are in both of its sides.
            Figure::single(named("PDV"), Unit::Ns, all.pdv.as_ns_f64()),
        ]
    }
}
