//! The tables that outcomes bring with them, whatever the test: those of several frame sizes put
//! together.

use super::Table;
use crate::model::Report;
use method::Outcome;
use method::outcome::{Layout, PortMatrix, Series};

/// A table, with what came of each pair of ports and the curves that belong to it.
#[derive(Clone, Debug)]
pub struct OutcomeTable {
    /// Of all frame sizes.
    pub table: Table,
    /// What came of pairs of ports, each under its title.
    pub matrices: Vec<(String, PortMatrix)>,
    /// Curves, a frame size each.
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
    }

    fn finished(self) -> Self {
        OutcomeTable { table: self.table.with_notes_summed_up(), ..self }
    }
}
