//! `results.csv`, `trials.csv` and `streams.csv`: the run for spreadsheets.
//!
//! `results.csv` has one row a measured quantity:
//!
//! | column | meaning |
//! |---|---|
//! | `test`, `frame_size`, `mean_frame_size_bytes` | which test; size as asked for (or an IMIX' name) and as a number, FCS included |
//! | `direction`, `modifier`, `traffic`, `filters` | under which conditions; tests of many ports have ports, bursts and addresses under `traffic`, and no direction |
//! | `line_rate_bps`, `line_rate_is_physical`, `theoretical_fps`, `tester_fps` | the medium and the tester |
//! | `quantity`, `value`, `unit` | the number; rates are those of one direction; `no figure` of a test that came to none |
//! | `relation` | `equal`, `between` (from `low` to `high`; `value` is empty), `at_least` (tester-limited; the device may be faster), `below`, `unknown` |
//! | `low`, `high`, `basis` | between which values the truth lies, and how that is known; empty where it is not |
//! | `reason` | why the truth is not known better |
//! | `deviations` | departures from the standard; empty where it conforms |
//! | `revised` | why the number is not what was measured first, with what that was; empty where it is |
//! | `contradictions` | results of the run that contradicted it, and what became of that, as the report says it |
//!
//! `trials.csv` has one row a trial; the columns are the members of `trials` in `results.json`.
//! `streams.csv` has one row for each stream of each trial at each port where it should or did arrive:
//! counts in frames, loss gaps, reordering extent, first and last arrival, peak rates over 1 s and 10 s,
//! latency, its variation, and the gaps between arrivals.

use crate::json::Trial;
use crate::model::Report;
use crate::stream_row::StreamRow;
use method::consistency::Contradiction;
use method::outcome::{Basis, Figure, Relation};
use method::{Direction, Modifier, Outcome, TestKind};
use serde::Serialize;
use units::FrameRate;

/// One row a figure, the tester's own first.
pub fn results(report: &Report) -> String {
    write(report.outcomes().flat_map(|outcome| {
        outcome.figures.iter().map(|figure| {
            let contradictions =
                report.consistency.iter().flat_map(|c| c.of_figure(outcome, figure));
            let words: Vec<String> = contradictions.map(Contradiction::in_words).collect();
            Row { contradictions: words.join(" "), ..Row::new(outcome, figure) }
        })
    }))
}

/// One row a trial.
pub fn trials(report: &Report) -> String {
    write(report.trials.iter().map(Trial::of))
}

/// One row a stream and port, trial by trial.
pub fn streams(report: &Report) -> String {
    let tester = report.started.as_ref().map(|started| &started.tester);
    write(report.trials.iter().flat_map(|record| StreamRow::all_of(record, tester)))
}

pub(crate) fn write(rows: impl Iterator<Item = impl Serialize>) -> String {
    let mut writer = csv::Writer::from_writer(vec![]);
    for row in rows {
        // Writing to memory fails only where a row cannot be a row, which its type excludes.
        writer.serialize(row).expect("a row of plain fields");
    }
    let bytes = writer.into_inner().expect("memory takes everything");
    String::from_utf8_lossy(&bytes).into_owned()
}

#[derive(Serialize)]
struct Row<'a> {
    test: TestKind,
    frame_size: &'a str,
    mean_frame_size_bytes: f64,
    /// Tests of many ports have a pattern instead, and no modifier.
    direction: Option<Direction>,
    modifier: Option<Modifier>,
    traffic: &'a str,
    filters: &'a str,
    line_rate_bps: u64,
    line_rate_is_physical: bool,
    theoretical_fps: f64,
    tester_fps: Option<f64>,
    quantity: &'a str,
    value: Option<f64>,
    unit: &'a str,
    relation: Relation,
    low: Option<f64>,
    high: Option<f64>,
    basis: Basis,
    reason: &'a str,
    deviations: String,
    revised: &'a str,
    contradictions: String,
}

impl<'a> Row<'a> {
    fn new(outcome: &'a Outcome, figure: &'a Figure) -> Self {
        let conditions = &outcome.conditions;
        Row {
            test: outcome.test,
            frame_size: &conditions.frame_size,
            mean_frame_size_bytes: conditions.mean_frame_size_bytes,
            direction: conditions.direction,
            modifier: conditions.modifier,
            traffic: &conditions.traffic,
            filters: &conditions.filters,
            line_rate_bps: conditions.line_rate.bps(),
            line_rate_is_physical: conditions.line_rate_is_physical,
            theoretical_fps: conditions.theoretical_max.fps(),
            tester_fps: conditions.tester_max.map(FrameRate::fps),
            quantity: &figure.name,
            // An interval has no value that a reader could take for it.
            value: figure.value.filter(|_| figure.relation != Relation::Between),
            unit: figure.unit.symbol(),
            relation: figure.relation,
            low: figure.low,
            high: figure.high,
            basis: figure.basis,
            reason: &figure.reason,
            deviations: conditions.deviations.join("; "),
            revised: &figure.revised,
            contradictions: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who reads `value` alone must not take an end of an interval for a measured rate.
    #[test]
    fn an_interval_has_no_value() {
        let conditions = crate::model::tests::conditions_of_64_bytes();
        let line = |relation| {
            let figure = Figure {
                name: "throughput".into(),
                known_as: None,
                unit: method::outcome::Unit::Fps,
                value: Some(478_154.0),
                relation,
                low: Some(478_154.0),
                high: Some(675_041.0),
                basis: Basis::SearchResolution,
                reason: String::new(),
                revised: String::new(),
            };
            let outcome = Outcome::new(TestKind::Throughput, conditions.clone(), vec![], &[]);
            let row = Row::new(&outcome, &figure);
            write([row].into_iter()).lines().last().unwrap_or_default().to_owned()
        };
        let between = line(Relation::Between);
        assert!(between.contains(",throughput,,fps,between,478154.0,675041.0,"), "{between}");
        let equal = line(Relation::Equal);
        assert!(equal.contains(",throughput,478154.0,fps,equal,478154.0,675041.0,"), "{equal}");
    }
}
