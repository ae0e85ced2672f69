//! The figures of throughput, and its tables: theoretical, tester, device side by side.

mod cost;
mod goals;

use crate::clauses::Facts;
use crate::outcome::number::{self, fps};
use crate::outcome::{Basis, Cell, Figure, FigureName, Layout, Outcome, Role, Series, Unit};
use crate::rate_search::without_tester_limited;
use crate::rfc2544::ThroughputResult;
use crate::{CostFound, Finding, RateFound, TestKind};
use units::Duration;

/// Processor time of the device for a frame that it forwards.
const COST: &str = "cost of a frame";
/// The load at which its busiest processor would never be idle.
const CAPACITY: &str = "capacity implied by the cost of a frame";

impl ThroughputResult {
    /// Throughput, rates with some loss, and what a frame costs the device.
    pub fn outcome(&self) -> Outcome {
        let throughput = self.throughput.figure("throughput").called(FigureName::Throughput);
        let mut figures = vec![throughput];
        let ports = self.conditions.transmitting_ports;
        figures.extend((!self.conditions.pattern.is_pair()).then(|| {
            let name = format!("aggregate throughput of {ports} transmitting ports");
            self.throughput.of_all(ports).figure(name)
        }));
        figures.extend(self.with_tolerance.iter().map(|found: &RateFound| {
            found.figure(format!("rate with up to {} % loss", found.loss_tolerance_percent))
        }));
        figures.extend(self.throughput.buffered.map(|buffered| {
            let name = format!("rate of one trial of {}, from buffers", buffered.trial_duration);
            Figure::single(name, Unit::Fps, buffered.rate.fps())
        }));
        figures.extend(self.inter_burst_gap.iter().map(|gap| {
            let (ns, low) = (gap.shortest.as_ns_f64(), gap.too_short.map(Duration::as_ns_f64));
            let figure = Figure::single("shortest inter-burst gap without loss", Unit::Ns, ns);
            figure.bounded(Some((low.unwrap_or(0.0), ns)), Basis::SearchResolution)
        }));
        figures.extend(self.cost.iter().flat_map(cost_figures));
        let invalid = self.throughput.finding.invalid_reasons();
        let outcome = self.conditions.outcome(TestKind::Throughput, figures, &invalid);
        let layouts = [Some(self.layout()), self.with_tolerance(), self.cost(), self.goals()];
        let facts = self.facts();
        Outcome { layouts: layouts.into_iter().flatten().collect(), ..outcome }
            .judged_by(facts)
            .detailed(self)
    }

    fn facts(&self) -> Facts {
        let (found, facts) = (&self.throughput, Facts::under(&self.conditions));
        let has_rate = found.rate.is_some();
        Facts {
            not_measured: match &found.finding {
                Finding::Invalid { reasons } => Some(reasons.join("; ")),
                _ => None,
            },
            trial_s: has_rate.then(|| found.trial_duration.as_secs_f64()),
            failed_at_rate: has_rate.then_some((found.failed_trials_at_rate, found.trials_at_rate)),
            ..facts.finding(&found.finding)
        }
    }

    /// RFC 2544 section 26.1.
    fn layout(&self) -> Layout {
        let (conditions, found) = (&self.conditions, &self.throughput);
        let reach = conditions.tester_reach.map(|reach| {
            format!(
                "to this device the tester could offer at most {} fps: device and tester share \
                 processors",
                fps(reach)
            )
        });
        let mut layout = conditions.layout("Throughput (RFC 2544 section 26.1)", &COLUMNS);
        layout.series = self.with_tolerance.iter().filter_map(|found| self.curve(found)).collect();
        layout
            .row([
                conditions.frame_size.clone().into(),
                Cell::Fps(conditions.theoretical_max),
                Cell::optional(conditions.tester_max, Cell::Fps),
                found.cell(),
                found.share(),
                found.resolution(),
                Cell::trials(found.trials.into(), found.invalid_trials.into()),
                Cell::number(found.test_time.as_secs_f64(), 1),
                found.verdict().into(),
            ])
            .noted(found.limits())
            .noted(reach)
            .noted(conditions.given_up.iter().cloned())
            .noted(self.notes.iter().cloned())
            .noted([format!("search: {}", found.search)])
    }

    /// A rate with some loss allowed, to be drawn beside the throughput.
    fn curve(&self, found: &RateFound) -> Option<Series> {
        let name = format!("up to {} % loss (not throughput)", found.loss_tolerance_percent);
        let point = (self.conditions.mean_frame_size_bytes, found.rate?.fps());
        Some(Series::by_size(("throughput", &name), ("throughput", "fps"), Role::Other, point))
    }

    /// Rates with some loss allowed, which are no throughput.
    fn with_tolerance(&self) -> Option<Layout> {
        let size = &self.conditions.frame_size;
        let heading = "Rates with some loss allowed (NOT RFC 2544 throughput)";
        let mut layout = self.conditions.layout(heading, &WITH_TOLERANCE);
        for found in &self.with_tolerance {
            layout = layout
                .row([
                    size.clone().into(),
                    Cell::Percent(found.loss_tolerance_percent),
                    found.cell(),
                    Cell::optional(found.loss_percent, Cell::Percent),
                    found.share(),
                    found.resolution(),
                    Cell::trials(found.trials.into(), found.invalid_trials.into()),
                    Cell::number(found.test_time.as_secs_f64(), 1),
                    found.verdict().into(),
                ])
                .noted(found.notes());
        }
        (!self.with_tolerance.is_empty()).then_some(layout)
    }
}

const COLUMNS: [&str; 9] = [
    "frame size",
    "theoretical fps",
    "tester fps",
    "device fps",
    "% of theoretical",
    "resolution fps",
    "trials",
    "test time s",
    "<verdict",
];

const WITH_TOLERANCE: [&str; 9] = [
    "frame size",
    "loss allowed %",
    "device fps",
    "loss measured %",
    "% of theoretical",
    "resolution fps",
    "further trials",
    "further time s",
    "<verdict",
];

impl RateFound {
    /// The rate found, as far as it was found.
    pub(crate) fn cell(&self) -> Cell {
        let rate = || Cell::optional(self.rate, Cell::Fps);
        match &self.finding {
            Finding::Measured | Finding::AtTheoreticalMaximum => rate(),
            Finding::AtLeast { .. } => Cell::AtLeast(Box::new(rate())),
            Finding::Between { .. } => {
                let upper = Cell::optional(self.upper, Cell::Fps);
                Cell::Between(Box::new(rate()), Box::new(upper))
            }
            Finding::NothingPassed { lowest, .. } => Cell::Below(Box::new(Cell::Fps(*lowest))),
            Finding::Invalid { .. } => "invalid".into(),
        }
    }

    /// In percent of the medium's maximum.
    pub(crate) fn share(&self) -> Cell {
        Cell::optional(self.percent_of_theoretical, Cell::Share)
    }

    pub(crate) fn resolution(&self) -> Cell {
        Cell::optional(self.resolution_fps, |fps| Cell::number(fps.ceil(), 0))
    }

    pub(crate) fn verdict(&self) -> &'static str {
        match self.finding {
            Finding::Measured => "measured",
            Finding::AtTheoreticalMaximum => "the medium's maximum",
            Finding::AtLeast { .. } => ">= tester",
            Finding::Between { .. } => "between",
            Finding::NothingPassed { .. } => "no load passed",
            Finding::Invalid { .. } => "INVALID",
        }
    }

    /// What kept a search from finding the device's own limit.
    fn limits(&self) -> Option<String> {
        match &self.finding {
            Finding::AtLeast { why } => {
                let why = without_tester_limited(why);
                Some(format!("tester-limited; the device may be faster: {why}"))
            }
            Finding::Between { why } if self.buffered.is_some() => Some(why.clone()),
            Finding::Between { why } => Some(format!(
                "carried at the lower rate, lost at the higher; between them the tester could not \
                 decide: {why}"
            )),
            _ => None,
        }
    }

    /// The same, and what the rate found is worth.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.limits().into_iter().collect();
        if let Finding::NothingPassed { lowest, loss_percent } = &self.finding {
            let loss = number::percent(loss_percent / 100.0);
            notes.push(format!("even {lowest} lost {loss} % of the frames"));
        }
        if let Finding::Invalid { reasons } = &self.finding {
            let reasons = reasons.join("; ");
            notes.push(format!("no valid trial, nothing is known of the device: {reasons}"));
        }
        if self.rate.is_some() && self.failed_trials_at_rate > 0 {
            notes.push(format!(
                "{} of {} trials at the rate found lost more than allowed and passed on repetition",
                self.failed_trials_at_rate, self.trials_at_rate
            ));
        }
        notes
    }
}

fn cost_figures(found: &CostFound) -> Vec<Figure> {
    match found {
        CostFound::Measured(cost) => {
            let span = |name, unit, ends| Figure::between(name, unit, ends, Basis::ProcessorTime);
            let capacity = (cost.capacity_low.fps(), cost.capacity_high.fps());
            vec![
                span(COST, Unit::Ns, (cost.low_ns, cost.high_ns)),
                span(CAPACITY, Unit::Fps, capacity),
            ]
        }
        CostFound::Unknown { why } => vec![Figure::missing(COST, Unit::Ns, Some(why.clone()))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::{Duration, FrameRate};

    fn found(finding: Finding, rate: Option<FrameRate>) -> RateFound {
        RateFound {
            loss_tolerance_percent: 0.0,
            finding,
            rate,
            confidence: None,
            buffered: None,
            conditional_throughput: None,
            percent_of_theoretical: None,
            offered: rate,
            loss_percent: Some(0.0),
            upper: None,
            resolution_fps: None,
            resolution_percent_of_theoretical: None,
            trial_duration: Duration::from_secs(60),
            trials: 1,
            invalid_trials: 0,
            test_time: Duration::from_secs(60),
            trials_at_rate: 1,
            failed_trials_at_rate: 0,
            policy: crate::SearchPolicy::default(),
            search: String::new(),
        }
    }

    proptest! {
        #[test]
        fn a_printed_rate_is_never_more_than_was_found(millifps in 1u64..1_000_000_000_000) {
            let rate = FrameRate::new(millifps, 1_000);
            let printed = found(Finding::Measured, Some(rate)).cell().to_string();
            let value: f64 = printed.replace(',', "").parse().unwrap();
            prop_assert!(value <= rate.fps() + 1e-9, "{} for {:?}", printed, rate);
            prop_assert!(value > rate.fps() * 0.99 - 1e-9, "{} for {:?}", printed, rate);
            let bound = found(Finding::AtLeast { why: "x".into() }, Some(rate)).cell();
            prop_assert_eq!(bound.to_string(), format!(">= {printed}"));
        }
    }

    /// A bracket a third of its rate wide is no number.
    #[test]
    fn a_bracket_is_an_interval_and_not_its_lower_end() {
        let bracket = Finding::Between { why: "the tester was held up".into() };
        let upper = Some(FrameRate::from_fps(675_041));
        let found = RateFound { upper, ..found(bracket, Some(FrameRate::from_fps(478_154))) };
        assert_eq!(found.relation().0, crate::outcome::Relation::Between);
        assert_eq!(found.cell().to_string(), "478,154 .. 675,041");
    }

    #[test]
    fn what_is_not_known_is_not_printed_as_a_number() {
        let lowest = FrameRate::from_fps(1_488);
        let nothing = Finding::NothingPassed { lowest, loss_percent: 3.0 };
        assert_eq!(found(nothing, None).cell().to_string(), "< 1,488");
        let invalid = Finding::Invalid { reasons: vec!["too slow".into()] };
        assert_eq!(found(invalid.clone(), None).cell().to_string(), "invalid");
        assert!(found(invalid, None).notes()[0].contains("too slow"));
    }
}
