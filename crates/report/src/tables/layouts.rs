//! The tables that outcomes bring with them, whatever the test: those of several frame sizes put
//! together.

use super::Table;
use crate::model::Report;
use method::outcome::Basis;
use method::outcome::{
    Bars, Cell, Distribution, FRAME_SIZES, Figure, FigureName, Layout, Placing, PortMatrix,
    Relation, Role, Series, Unit,
};
use method::{Outcome, TestKind};

/// A table, with what came of each pair of ports and the curves that belong to it.
#[derive(Clone, Debug)]
pub struct OutcomeTable {
    /// The test of the first of its outcomes.
    pub test: TestKind,
    /// The conditions that its outcomes have in common, where the run may have others.
    pub group: String,
    /// Of all frame sizes.
    pub table: Table,
    /// Its cells, as values.
    pub cells: Vec<Vec<Cell>>,
    /// What came of pairs of ports, each under its title.
    pub matrices: Vec<(String, PortMatrix)>,
    /// Curves: those of the layouts, and figures by frame size (RFC 2544 section 26.1, RFC 2889 sections
    /// 5.x.5).
    pub series: Vec<Series>,
    /// Pictures of bars: those of the layouts.
    pub bars: Vec<Bars>,
    /// How values of single frames are distributed, a frame size each.
    pub histograms: Vec<Distribution>,
}

/// The tables of all outcomes that have one, in the order in which they came, group by group.
pub(super) fn tables(report: &Report) -> Vec<OutcomeTable> {
    joined(report.outcomes())
}

/// The same of these outcomes.
pub(crate) fn joined<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Vec<OutcomeTable> {
    let mut tables: Vec<OutcomeTable> = vec![];
    for outcome in outcomes {
        for (number, layout) in outcome.layouts.iter().enumerate() {
            let is_same = |known: &OutcomeTable| {
                (&known.table.heading, &known.group) == (&layout.heading, &layout.group)
            };
            let at = tables.iter().position(is_same).unwrap_or_else(|| {
                tables.push(OutcomeTable::under(outcome.test, layout));
                tables.len() - 1
            });
            tables[at].take(layout, outcome, number == 0);
        }
    }
    let mut groups: Vec<String> = vec![];
    for table in &tables {
        if !groups.contains(&table.group) {
            groups.push(table.group.clone());
        }
    }
    tables.sort_by_key(|table| groups.iter().position(|group| *group == table.group));
    tables.into_iter().map(OutcomeTable::finished).collect()
}

/// The table of one outcome alone.
impl From<&Layout> for Table {
    fn from(layout: &Layout) -> Table {
        let mut table = table_under(layout);
        table.rows = layout.rows.iter().map(|row| printed(row)).collect();
        table.notes = layout.notes.clone();
        table
    }
}

/// As it is printed.
fn printed(row: &[Cell]) -> Vec<String> {
    row.iter().map(ToString::to_string).collect()
}

fn table_under(layout: &Layout) -> Table {
    let columns: Vec<&str> = layout.columns.iter().map(String::as_str).collect();
    Table::new(layout.heading.clone(), layout.about.clone(), &columns)
}

impl OutcomeTable {
    fn under(test: TestKind, layout: &Layout) -> Self {
        OutcomeTable {
            test,
            group: layout.group.clone(),
            table: table_under(layout),
            cells: vec![],
            matrices: vec![],
            series: vec![],
            bars: vec![],
            histograms: vec![],
        }
    }

    /// With another outcome; what belongs to the outcome as a whole goes with the first of its tables.
    fn take(&mut self, layout: &Layout, outcome: &Outcome, is_first: bool) {
        let size = &outcome.conditions.frame_size;
        if is_first {
            self.take_whole(outcome, &layout.draws);
        }
        self.table.note(size, layout.notes.iter().cloned());
        match &layout.placing {
            Placing::Below => self.cells.extend(layout.rows.iter().cloned()),
            Placing::Beside(missing) => self.put_beside(layout, missing),
        }
        layout.series.iter().for_each(|series| self.put_curve(series.clone()));
        layout.bars.iter().for_each(|bars| self.put_bars(bars));
    }

    fn take_whole(&mut self, outcome: &Outcome, drawn: &[FigureName]) {
        let size = &outcome.conditions.frame_size;
        self.table.note(size, outcome.invalid.iter().map(|why| format!("invalid: {why}")));
        let size = in_words(size);
        let titled = |matrix: &PortMatrix| (format!("{size}, {}", matrix.about), matrix.clone());
        self.matrices.extend(outcome.matrices.iter().map(titled));
        self.histograms.extend(outcome.histograms.iter().map(|distribution| Distribution {
            name: format!("{}, {size}", distribution.name),
            ..distribution.clone()
        }));
        self.put_by_size(outcome, drawn);
    }

    /// Columns beside those that are there: rows whose first cells are alike are one row.
    fn put_beside(&mut self, layout: &Layout, missing: &str) {
        let missing = || Cell::from(missing);
        let wanted =
            Table::new("", vec![], &layout.columns.iter().map(|c| &c[..]).collect::<Vec<_>>());
        let mut places = vec![];
        for column in wanted.columns {
            let known = self.table.columns.iter().position(|known| known.title == column.title);
            places.push(known.unwrap_or_else(|| {
                self.table.columns.push(column);
                self.cells.iter_mut().for_each(|row| row.push(missing()));
                self.table.columns.len() - 1
            }));
        }
        for row in &layout.rows {
            let at = self.cells.iter().position(|known| known.first() == row.first());
            let at = at.unwrap_or_else(|| {
                self.cells.push(self.table.columns.iter().map(|_| missing()).collect());
                self.cells.len() - 1
            });
            for (place, cell) in places.iter().zip(row) {
                self.cells[at][*place] = cell.clone();
            }
        }
    }

    /// What the outcome has to say of its frame size, but for figures that its pictures show.
    fn put_by_size(&mut self, outcome: &Outcome, drawn: &[FigureName]) {
        let conditions = &outcome.conditions;
        let size = conditions.mean_frame_size_bytes;
        let by_name = outcome.figures.iter().filter_map(|figure| Some((figure.known_as?, figure)));
        for (name, figure) in by_name.filter(|(name, _)| !drawn.contains(name)) {
            let (Some(chart), Some(value)) = (chart_of(name), figure.value) else { continue };
            let (chart, unit) = (chart.replace('-', " "), figure.unit.symbol());
            let mut put = |name: &str, role, value| {
                let (chart, axis) = ((&*chart, name), (&*chart, unit));
                self.put_curve(Series::by_size(chart, axis, role, (size, value)));
            };
            if name == FigureName::Throughput && figure.unit == Unit::Fps {
                put("theoretical maximum", Role::Medium, conditions.theoretical_max.fps());
                if let Some(alone) = conditions.tester_max {
                    put("tester alone", Role::Tester, alone.fps());
                }
            }
            if let (Basis::Clocks, Some(low), Some(high)) = (figure.basis, figure.low, figure.high)
            {
                put(&format!("{}, at least", figure.name), Role::Bound, low);
                put(&format!("{}, at most", figure.name), Role::Bound, high);
                continue;
            }
            let is_headline = figure_of(outcome) == Some(figure);
            put(&figure.name, if is_headline { Role::Device } else { Role::Other }, value);
            if figure.relation == Relation::AtLeast {
                put("at least: tester-limited; the device may be faster", Role::Bound, value);
            }
            if let (Relation::Between, Some(high)) = (figure.relation, figure.high) {
                put("upper end of an interval, whose lower end is on the curve", Role::Bound, high);
            }
        }
    }

    fn put_curve(&mut self, curve: Series) {
        let is_same = |known: &&mut Series| known.chart == curve.chart && known.name == curve.name;
        match self.series.iter_mut().find(is_same) {
            Some(known) => known.points.extend(curve.points),
            None => self.series.push(curve),
        }
    }

    fn put_bars(&mut self, bars: &Bars) {
        match self.bars.iter_mut().find(|known| known.chart == bars.chart) {
            Some(known) => known.groups.extend(bars.groups.iter().cloned()),
            None => self.bars.push(bars.clone()),
        }
    }

    fn finished(mut self) -> Self {
        let is_by_size = |series: &Series| series.x.0 == FRAME_SIZES.0;
        // One size is no curve, and stands in the table.
        let all = self.series.clone();
        self.series.retain(|series| {
            let of_chart = all.iter().filter(|other| other.chart == series.chart);
            let mut sizes = of_chart.flat_map(|other| &other.points).map(|point| point.0);
            let first = sizes.next();
            !is_by_size(series) || sizes.any(|size| Some(size) != first)
        });
        for series in self.series.iter_mut().filter(|series| is_by_size(series)) {
            series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        self.table.rows = self.cells.iter().map(|row| printed(row)).collect();
        OutcomeTable { table: self.table.with_notes_summed_up(), ..self }
    }
}

/// The figure that a test is about: the first that acceptance criteria know. Of losses, each at its load, it is the
/// first that is known.
pub(crate) fn figure_of(outcome: &Outcome) -> Option<&Figure> {
    let first = outcome.figures.iter().find(|figure| figure.known_as.is_some())?;
    let mut losses = outcome.figures_of(FigureName::Loss);
    match first.known_as == Some(FigureName::Loss) {
        true => losses.find(|figure| figure.relation != Relation::Unknown).or(Some(first)),
        false => Some(first),
    }
}

/// `64 bytes`, or the name of a mix.
pub(crate) fn in_words(frame_size: &str) -> String {
    match frame_size.parse::<u32>() {
        Ok(bytes) => format!("{bytes} bytes"),
        Err(_) => frame_size.into(),
    }
}

/// The chart by frame size in which figures of this name are drawn.
fn chart_of(name: FigureName) -> Option<&'static str> {
    use FigureName::{
        ForwardingRate, JoinDelay, Latency, LatencyMax, LatencyP99, LeaveDelay, MinMaxLatency, Pdv,
        Recovery, Throughput,
    };
    match name {
        Latency | LatencyP99 | LatencyMax => Some(Latency.name()),
        Throughput | ForwardingRate | MinMaxLatency | JoinDelay | LeaveDelay | Pdv | Recovery => {
            Some(name.name())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::outcome::{Bar, Layout};

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
        let drawn = joined(&[outcome(512, 7.0), outcome(64, 9.0)]).remove(0).series;
        let points = |name: &str| &drawn.iter().find(|s| s.name == name).unwrap().points;
        assert_eq!(points("throughput"), &[(64.0, 9.0), (512.0, 7.0)]);
        assert_eq!(points("theoretical maximum"), &[(64.0, 640.0), (512.0, 5_120.0)]);
        assert!(drawn.iter().all(|series| series.chart == "throughput by frame size"));
    }

    /// A point of the curve is a number; of an interval both ends are drawn.
    #[test]
    fn both_ends_of_an_interval_are_drawn() {
        let mut wide = outcome(64, 9.0);
        let figure = &mut wide.figures[0];
        (figure.relation, figure.low, figure.high) = (Relation::Between, Some(9.0), Some(12.0));
        let drawn = joined(&[wide, outcome(512, 7.0)]).remove(0).series;
        let upper: Vec<_> = drawn.iter().filter(|series| series.role == Role::Bound).collect();
        assert_eq!(upper.len(), 1, "{drawn:?}");
        assert_eq!(upper[0].points, [(64.0, 12.0)]);
    }

    /// Bars of one title stand in one picture, and figures that a picture shows are no curve besides.
    #[test]
    fn bars_of_all_sizes_are_one_picture() {
        let of = |size: u32| {
            let pair = Bar::pair("rate", Cell::number(5.0, 0), Cell::number(4.0, 0));
            let bars = Bars::new("Figure 1", "Size", ("Rate", "fps"), "A document");
            let layout = Layout {
                draws: vec![FigureName::Throughput],
                ..Layout::new("T", vec![], &[]).with_bars([bars.group(size.to_string(), [pair])])
            };
            Outcome { layouts: vec![layout], ..outcome(size, 4.0) }
        };
        let table = joined(&[of(64), of(512)]).remove(0);
        assert_eq!(table.bars.len(), 1);
        let groups: Vec<_> = table.bars[0].groups.iter().map(|group| &group.label[..]).collect();
        assert_eq!((groups, table.bars[0].bars().count()), (vec!["64", "512"], 4));
        assert_eq!(table.series, []);
    }

    #[test]
    fn a_single_size_is_no_curve() {
        assert_eq!(joined(&[outcome(64, 9.0)]).remove(0).series, []);
    }

    /// A table of one column and these rows.
    fn beside(size: u32, column: &str, rows: &[(&str, u64)]) -> Outcome {
        let layout = Layout::new("T", vec![], &["load", column]).beside("none");
        let layout = rows.iter().fold(layout, |layout, (load, value)| {
            layout.row([(*load).into(), Cell::Count(*value)])
        });
        Outcome { layouts: vec![layout], ..outcome(size, 1.0) }
    }

    /// A size that stopped earlier lacks the lower loads; a column told by two tests is one.
    #[test]
    fn frame_sizes_stand_side_by_side() {
        let outcomes = [
            beside(64, "64", &[("100 %", 5), ("90 %", 0)]),
            beside(128, "128", &[("100 %", 7), ("90 %", 6), ("80 %", 0)]),
            beside(128, "64", &[("80 %", 1)]),
        ];
        let table = joined(&outcomes).remove(0).table;
        let titles: Vec<_> = table.columns.iter().map(|column| &column.title[..]).collect();
        assert_eq!(titles, ["load", "64", "128"]);
        assert_eq!(table.rows, [["100 %", "5", "7"], ["90 %", "0", "6"], ["80 %", "1", "0"]]);
        let table = joined(&outcomes[..2]).remove(0).table;
        assert_eq!(table.rows[2], ["80 %", "none", "0"]);
    }

    /// Results with a modifier and without one are not set into one table, and each keeps its place.
    #[test]
    fn tables_of_different_groups_are_not_put_together() {
        let of = |group: &str, heading: &str| {
            let layout = Layout { group: group.into(), ..Layout::new(heading, vec![], &["n"]) };
            Outcome { layouts: vec![layout.row([Cell::Count(1)])], ..outcome(64, 1.0) }
        };
        let outcomes = [of("plain", "A"), of("mixed", "A"), of("plain", "B"), of("plain", "A")];
        let tables = joined(&outcomes);
        let heads: Vec<_> = tables
            .iter()
            .map(|t| (&t.group[..], &t.table.heading[..], t.table.rows.len()))
            .collect();
        assert_eq!(heads, [("plain", "A", 2), ("plain", "B", 1), ("mixed", "A", 1)]);
    }
}
