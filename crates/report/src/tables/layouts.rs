//! The tables that outcomes bring with them, whatever the test: those of several frame sizes put
//! together.

use super::Table;
use crate::model::Report;
use method::Outcome;
use method::outcome::{Figure, FigureName, Layout, PortMatrix, Series, Unit};

/// A table, with what came of each pair of ports and the curves that belong to it.
#[derive(Clone, Debug)]
pub struct OutcomeTable {
    /// Of all frame sizes.
    pub table: Table,
    /// What came of pairs of ports, each under its title.
    pub matrices: Vec<(String, PortMatrix)>,
    /// Curves: those of the layouts, a frame size each, and figures by frame size (RFC 2889 sections 5.x.5).
    pub series: Vec<Series>,
}

/// The tables of all outcomes that have one, in the order in which they came.
pub(super) fn tables(report: &Report) -> Vec<OutcomeTable> {
    let mut tables: Vec<OutcomeTable> = vec![];
    for outcome in report.outcomes() {
        let Some(layout) = &outcome.layout else { continue };
        let known = tables.iter().position(|known| known.table.heading == layout.heading);
        let at = known.unwrap_or_else(|| {
            tables.push(OutcomeTable::under(layout));
            tables.len() - 1
        });
        tables[at].take(layout, &outcome);
    }
    tables.into_iter().map(OutcomeTable::finished).collect()
}

/// The table of one outcome alone.
impl From<&Layout> for Table {
    fn from(layout: &Layout) -> Table {
        let mut table = OutcomeTable::under(layout).table;
        table.rows = rows(layout).collect();
        table.notes = layout.notes.clone();
        table
    }
}

/// As they are printed.
fn rows(layout: &Layout) -> impl Iterator<Item = Vec<String>> {
    layout.rows.iter().map(|row| row.iter().map(ToString::to_string).collect())
}

impl OutcomeTable {
    fn under(layout: &Layout) -> Self {
        let columns: Vec<&str> = layout.columns.iter().map(String::as_str).collect();
        let table = Table::new(layout.heading.clone(), layout.about.clone(), &columns);
        OutcomeTable { table, matrices: vec![], series: vec![] }
    }

    fn take(&mut self, layout: &Layout, outcome: &Outcome) {
        let conditions = &outcome.conditions;
        let size = &conditions.frame_size;
        let deviations = conditions.deviations.iter();
        self.table.note(size, deviations.map(|text| format!("NOT CONFORMANT: {text}")));
        self.table.note(size, outcome.invalid.iter().map(|why| format!("invalid: {why}")));
        self.table.note(size, layout.notes.iter().cloned());
        self.table.rows.extend(rows(layout));
        let titled =
            |matrix: &PortMatrix| (format!("{size} bytes, {}", matrix.about), matrix.clone());
        self.matrices.extend(outcome.matrices.iter().map(titled));
        self.series.extend(layout.series.iter().cloned());
        self.put_by_size(outcome);
    }

    /// What the outcome has to say of its frame size.
    fn put_by_size(&mut self, outcome: &Outcome) {
        let size = outcome.conditions.mean_frame_size_bytes;
        let by_name = outcome.figures.iter().filter_map(|figure| Some((figure.known_as?, figure)));
        for (name, figure) in by_name.filter(|(name, _)| BY_SIZE.contains(name)) {
            let Some(value) = figure.value else { continue };
            self.put_point(curve(name, figure), (size, value));
            if name == FigureName::Throughput && figure.unit == Unit::Fps {
                let medium = Figure { name: "theoretical maximum".into(), ..figure.clone() };
                self.put_point(
                    curve(name, &medium),
                    (size, outcome.conditions.theoretical_max.fps()),
                );
            }
        }
    }

    fn put_point(&mut self, empty: Series, point: (f64, f64)) {
        let is_same = |known: &Series| known.chart == empty.chart && known.name == empty.name;
        let at = self.series.iter().position(is_same).unwrap_or_else(|| {
            self.series.push(empty);
            self.series.len() - 1
        });
        self.series[at].points.push(point);
    }

    fn finished(mut self) -> Self {
        let is_by_size = |series: &Series| series.chart.ends_with(BY_FRAME_SIZE);
        // One size is no curve, and stands in the table.
        self.series.retain(|series| !is_by_size(series) || series.points.len() > 1);
        for series in self.series.iter_mut().filter(|series| is_by_size(series)) {
            series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        OutcomeTable { table: self.table.with_notes_summed_up(), ..self }
    }
}

const BY_FRAME_SIZE: &str = " by frame size";
/// What is drawn by frame size.
const BY_SIZE: [FigureName; 6] = [
    FigureName::Throughput,
    FigureName::ForwardingRate,
    FigureName::Latency,
    FigureName::MinMaxLatency,
    FigureName::JoinDelay,
    FigureName::LeaveDelay,
];

/// A curve of a figure, without points yet.
fn curve(name: FigureName, figure: &Figure) -> Series {
    let unit = figure.unit.symbol();
    Series {
        chart: format!("{}{BY_FRAME_SIZE}", name.name()),
        x: ("Frame size (bytes, FCS included)".into(), "bytes".into()),
        y: (format!("{} ({unit})", name.name()), unit.into()),
        name: figure.name.clone(),
        points: vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::outcome::Layout;

    fn outcome(size: u32, value: f64) -> Outcome {
        let json = serde_json::json!({
            "frame_size": size.to_string(), "mean_frame_size_bytes": size, "direction": null,
            "modifier": null, "traffic": "", "filters": "", "line_rate": 1_000_000_000u64,
            "line_rate_is_physical": true, "theoretical_max": {"frames": 10 * size, "per_seconds": 1},
            "tester_max": null, "deviations": [], "in_words": ""
        });
        let conditions: method::TestConditions = serde_json::from_value(json).unwrap();
        let test = method::TestKind::Throughput;
        let figure = Figure::single("throughput", Unit::Fps, value).called(FigureName::Throughput);
        Outcome::new(test, conditions, vec![figure], &[]).laid_out(Layout::new("T", vec![], &[]))
    }

    /// RFC 2889 sections 5.x.5: the result by frame size, with the medium's maximum beside it.
    #[test]
    fn results_are_drawn_by_frame_size_beside_the_theoretical_maximum() {
        let outcomes = [outcome(512, 7.0), outcome(64, 9.0)];
        let mut table = OutcomeTable::under(outcomes[0].layout.as_ref().unwrap());
        outcomes.iter().for_each(|outcome| table.take(outcome.layout.as_ref().unwrap(), outcome));
        let drawn: Vec<_> = table.finished().series;
        let points = |name: &str| &drawn.iter().find(|s| s.name == name).unwrap().points;
        assert_eq!(points("throughput"), &[(64.0, 9.0), (512.0, 7.0)]);
        assert_eq!(points("theoretical maximum"), &[(64.0, 640.0), (512.0, 5_120.0)]);
        assert!(drawn.iter().all(|series| series.chart == "throughput by frame size"));
    }

    #[test]
    fn a_single_size_is_no_curve() {
        let one = outcome(64, 9.0);
        let mut table = OutcomeTable::under(one.layout.as_ref().unwrap());
        table.take(one.layout.as_ref().unwrap(), &one);
        assert_eq!(table.finished().series, []);
    }
}
