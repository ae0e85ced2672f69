//! Times between two hosts: no outcome states one without the error of their clocks.

use crate::TestKind;
use crate::outcome::{Basis, Cell, Figure, Outcome, Relation, Unit};
use serde_json::Value;
use std::collections::BTreeSet;
use trial::{PortClock, TrialResult};
use units::Duration;

/// In a test's own record: what times in it may be wrong by, in nanoseconds. It has them as they were measured.
const RECORD: &str = "clock_error_ns";
/// Beside it: how that is known.
const RECORD_OF_SOURCE: &str = "clock_error_known_by";

/// What trials said of the clocks of hosts.
#[derive(Clone, Default)]
pub(crate) struct Clocks {
    /// What latencies may be wrong by, since their ends are on two hosts.
    error: Duration,
    /// How that is known, for each host and trial.
    known_by: BTreeSet<String>,
    warnings: BTreeSet<String>,
}

impl Clocks {
    /// A test begins: what it states is of its own trials. What was told is not told again.
    pub fn begin_test(&mut self) {
        (self.error, self.known_by) = (Duration::ZERO, BTreeSet::new());
    }

    /// Adds a trial that decides something.
    pub fn add(&mut self, result: &TrialResult) {
        self.error = self.error.max(result.clock_error());
        self.known_by.extend(result.clocks.iter().map(|clock| clock.known_by.clone()));
    }

    /// What is wrong with clocks, and was not said before.
    pub fn new_warnings(&mut self, clocks: &[PortClock]) -> Vec<String> {
        let warnings = clocks.iter().filter_map(|clock| clock.warning.clone());
        warnings.filter(|warning| self.warnings.insert(warning.clone())).collect()
    }

    /// How the error is known, in words.
    fn source(&self) -> String {
        self.known_by.iter().map(String::as_str).collect::<Vec<_>>().join("; ")
    }
}

/// Widens every time of an outcome by what the clocks of two hosts may differ by, and says so; as it is where all
/// ports of its trials were on one host.
pub(crate) fn state(outcome: &mut Outcome, clocks: &Clocks) {
    let error = clocks.error;
    if error == Duration::ZERO {
        return;
    }
    // What is made of two latencies, such as their difference, may be wrong by the errors of both.
    let error = match outcome.test {
        TestKind::Latency => error,
        _ => error + error,
    };
    let remark = format!(
        "Times are between ports of two hosts, whose clocks are known to {error} by {}: every time is stated as an \
         interval that includes this error, and curves of times are wrong by as much.",
        clocks.source()
    );
    let has_times = outcome.figures.iter().any(|figure| is_time(figure) && figure.value.is_some());
    outcome.figures.iter_mut().for_each(|figure| widen_figure(figure, error, &remark));
    for layout in &mut outcome.layouts {
        let cells = layout.rows.iter().flatten();
        if has_times || cells.into_iter().any(has_time) {
            layout.about.push(remark.clone());
        }
        layout.rows.iter_mut().flatten().for_each(|cell| widen_cell(cell, error));
        let times = ["us", "ms", "ns", "s"];
        let curves = layout.series.iter_mut().filter(|curve| times.contains(&&*curve.y.1));
        curves.for_each(|curve| curve.chart.push_str(&format!(", each within {error}")));
    }
    for distribution in &mut outcome.histograms {
        distribution.quantity.push_str(&format!(", each within {error} (clocks of two hosts)"));
    }
    if let Value::Object(record) = &mut outcome.detail {
        record.insert(RECORD.into(), error.as_ns_f64().into());
        record.insert(RECORD_OF_SOURCE.into(), clocks.source().into());
    }
    // A map of port pairs has no room for an error.
    for pair in outcome.matrices.iter_mut().flat_map(|matrix| &mut matrix.pairs) {
        (pair.latency_mean, pair.latency_max) = (None, None);
    }
}

/// Whether it is measured between two ports.
fn is_time(figure: &Figure) -> bool {
    let is_time = matches!(figure.unit, Unit::Ns | Unit::Us | Unit::Seconds);
    is_time && figure.basis != Basis::ProcessorTime
}

pub(crate) fn has_time(cell: &Cell) -> bool {
    match cell {
        Cell::Time(_) => true,
        Cell::AtLeast(cell) | Cell::Below(cell) | Cell::Between(cell, _) => has_time(cell),
        _ => false,
    }
}

fn widen_figure(figure: &mut Figure, error: Duration, remark: &str) {
    if !is_time(figure) {
        return;
    }
    let error = error.as_secs_f64() / figure.unit.scale();
    let Some((low, high)) = figure.interval() else { return };
    // A time is not below zero; a difference may be.
    let less = |value: f64| if value >= 0.0 { (value - error).max(0.0) } else { value - error };
    match figure.relation {
        Relation::Equal | Relation::Between => {
            figure.relation = Relation::Between;
            (figure.low, figure.high) = (Some(less(low)), Some(high + error));
            figure.value = figure.low;
        }
        Relation::AtLeast => {
            figure.low = Some(less(low));
            figure.value = figure.low;
        }
        Relation::Below => {
            figure.high = Some(high + error);
            figure.value = figure.high;
        }
        Relation::Unknown => return,
    }
    figure.basis = Basis::Clocks;
    let before = std::mem::take(&mut figure.reason);
    figure.reason = if before.is_empty() { remark.into() } else { format!("{before}; {remark}") };
}

fn widen_cell(cell: &mut Cell, error: Duration) {
    match cell {
        Cell::Time(time) => {
            let (low, high) = (time.saturating_sub(error), *time + error);
            *cell = Cell::Between(Box::new(Cell::Time(low)), Box::new(Cell::Time(high)));
        }
        Cell::Between(low, high) => {
            lower(low, error);
            raise(high, error);
        }
        Cell::AtLeast(low) => lower(low, error),
        Cell::Below(high) => raise(high, error),
        _ => {}
    }
}

fn lower(cell: &mut Cell, error: Duration) {
    if let Cell::Time(time) = cell {
        *time = time.saturating_sub(error);
    }
}

fn raise(cell: &mut Cell, error: Duration) {
    if let Cell::Time(time) = cell {
        *time += error;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trial::PortId;

    const ERROR: Duration = Duration::from_us(5);

    #[test]
    fn a_latency_becomes_the_interval_in_which_it_is() {
        let mut latency = Figure::single("latency", Unit::Ns, 12_000.0);
        widen_figure(&mut latency, ERROR, "why");
        assert_eq!(latency.claim(), Some((7_000.0, 17_000.0)));
        assert_eq!((latency.basis, &*latency.reason), (Basis::Clocks, "why"));
        assert_eq!(latency.printed(), ("7.000 .. 17.000".into(), "us"));
        let mut short = Figure::single("latency", Unit::Ns, 3_000.0);
        widen_figure(&mut short, ERROR, "why");
        assert_eq!(short.claim(), Some((0.0, 8_000.0)));
        let mut repeated = Figure::between("latency", Unit::Us, (20.0, 30.0), Basis::RepeatedMean);
        widen_figure(&mut repeated, ERROR, "why");
        assert_eq!(repeated.claim(), Some((15.0, 35.0)));
    }

    #[test]
    fn a_table_of_times_says_how_clocks_are_known() {
        let latency = Figure::single("latency", Unit::Ns, 12_000.0);
        let conditions = crate::consistency::tests::conditions(64);
        let mut outcome = Outcome::new(TestKind::Throughput, conditions, vec![latency], &[]);
        outcome.detail = Value::Object(Default::default());
        let known_by = ["exchanges of times", "NTP on both hosts"].map(String::from).into();
        let clocks = Clocks { error: ERROR, known_by, ..Clocks::default() };
        state(&mut outcome, &clocks);
        let reason = &outcome.figures[0].reason;
        assert!(reason.contains("known to 10"), "{reason}");
        assert!(reason.contains("by NTP on both hosts; exchanges of times:"), "{reason}");
        assert_eq!(outcome.detail[RECORD_OF_SOURCE], "NTP on both hosts; exchanges of times");
    }

    #[test]
    fn a_warning_is_told_once_in_a_run() {
        let clock = |host: &str, warning: Option<&str>| PortClock {
            port: PortId(0),
            host: host.into(),
            error: Some(ERROR),
            allowed: ERROR,
            known_by: String::new(),
            warning: warning.map(String::from),
        };
        let mut clocks = Clocks::default();
        let first = [clock("a", None), clock("b", Some("b is wrong"))];
        assert_eq!(clocks.new_warnings(&first), ["b is wrong"]);
        clocks.begin_test();
        assert_eq!(clocks.new_warnings(&first), [""; 0]);
        assert_eq!(clocks.new_warnings(&[clock("c", Some("c is wrong"))]), ["c is wrong"]);
    }

    #[test]
    fn rates_and_processor_times_stay_as_they_are() {
        let rate = Figure::single("rate", Unit::Fps, 12.0);
        let cost = Figure::between("cost", Unit::Ns, (1.0, 2.0), Basis::ProcessorTime);
        for figure in [rate, cost] {
            let mut widened = figure.clone();
            widen_figure(&mut widened, ERROR, "why");
            assert_eq!(widened, figure);
        }
    }

    #[test]
    fn cells_of_times_are_intervals() {
        let mut cell = Cell::Time(Duration::from_us(12));
        widen_cell(&mut cell, ERROR);
        assert_eq!(cell.to_string(), "7.000 .. 17.000");
        widen_cell(&mut cell, ERROR);
        assert_eq!(cell.to_string(), "2.000 .. 22.000");
        let mut count = Cell::Count(7);
        widen_cell(&mut count, ERROR);
        assert_eq!(count, Cell::Count(7));
    }
}
