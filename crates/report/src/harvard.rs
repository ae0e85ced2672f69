//! The tables of the router tests of 1990 (Harvard University): frames a second by frame size, a
//! table for each protocol and path, with the columns of the original (`theo`, `test`, `ip_max`,
//! `ip_fld`, `1f_max`, ...).

use crate::tables::OutcomeTable;
use method::Outcome;
use method::outcome::Cell;

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct RateTable {
    /// Protocol and path: "TCP/IP - between interface cards".
    pub heading: String,
    /// Names of the columns after the size.
    pub columns: Vec<String>,
    /// Smallest frames first, as they were run.
    pub rows: Vec<RateRow>,
}

/// A line of it.
#[derive(Clone, Debug, PartialEq)]
pub struct RateRow {
    /// Frame size, as it was asked for.
    pub frame_size: String,
    /// Frames a second, a cell a column.
    pub cells: Vec<RateCell>,
}

/// A figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateCell {
    /// Not taken.
    Missing,
    /// Frames a second.
    Fps(f64),
    /// What the tester's sources offer at most, and the device carries: it may carry more.
    AtLeast(f64),
    /// The tester did not keep up: nothing is known.
    Invalid,
}

impl RateCell {
    /// Frames a second, where there are any.
    pub fn fps(self) -> Option<f64> {
        match self {
            RateCell::Fps(fps) | RateCell::AtLeast(fps) => Some(fps),
            RateCell::Missing | RateCell::Invalid => None,
        }
    }
    /// As the tables of 1990 print it.
    pub fn print(self) -> String {
        match self {
            // Truncated like the theory: a device at the medium's rate is not above it.
            RateCell::Fps(fps) | RateCell::AtLeast(fps) => format!("{:.0}", (fps + 1e-6).floor()),
            RateCell::Missing => "U".into(),
            RateCell::Invalid => "invalid".into(),
        }
    }
}

/// The tables of these outcomes, in the order in which they came.
pub fn rate_tables<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Vec<RateTable> {
    let tables = crate::tables::joined(outcomes);
    let is_of_rates = |of: &OutcomeTable| of.table.columns.iter().any(|c| c.title == THEORY);
    tables.iter().filter(|of| is_of_rates(of)).map(RateTable::from).collect()
}

/// The column of the medium's maximum.
const THEORY: &str = "theo";

impl From<&OutcomeTable> for RateTable {
    fn from(of: &OutcomeTable) -> Self {
        let row = |cells: &Vec<Cell>| RateRow {
            frame_size: cells.first().map(Cell::to_string).unwrap_or_default(),
            cells: cells.iter().skip(1).map(RateCell::from).collect(),
        };
        RateTable {
            heading: of.table.heading.clone(),
            columns: of.table.columns.iter().skip(1).map(|column| column.title.clone()).collect(),
            rows: of.cells.iter().map(row).collect(),
        }
    }
}

impl From<&Cell> for RateCell {
    fn from(cell: &Cell) -> Self {
        match (cell, cell.fps()) {
            (Cell::AtLeast(_), Some(fps)) => RateCell::AtLeast(fps),
            (_, Some(fps)) => RateCell::Fps(fps),
            (Cell::Words(words), None) if words == "invalid" => RateCell::Invalid,
            (_, None) => RateCell::Missing,
        }
    }
}

impl RateTable {
    /// The figure of a size and column.
    pub fn cell(&self, frame_size: &str, column: &str) -> RateCell {
        let row = self.rows.iter().find(|row| row.frame_size == frame_size);
        let at = self.columns.iter().position(|known| known == column);
        row.zip(at).map_or(RateCell::Missing, |(row, at)| row.cells[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_a_figure_where_its_size_and_column_are() {
        let rate = |fps| Cell::Fps(units::FrameRate::from_fps(fps));
        let cells = [rate(3).at_least_if(true), "invalid".into(), "U".into()];
        let row =
            RateRow { frame_size: "64".into(), cells: cells.iter().map(RateCell::from).collect() };
        let columns = ["ip_max", "ip_fld", "oe_max"].map(String::from).to_vec();
        let table = RateTable { heading: "h".into(), columns, rows: vec![row] };
        assert_eq!(table.cell("64", "ip_max"), RateCell::AtLeast(3.0));
        assert_eq!(table.cell("64", "ip_max").print(), "3");
        assert_eq!(table.cell("64", "ip_fld"), RateCell::Invalid);
        assert_eq!(table.cell("64", "oe_max"), RateCell::Missing);
        assert_eq!(table.cell("256", "ip_max").print(), "U");
        // No load passed: the original prints a nought.
        let nothing = Cell::Below(Box::new(rate(5)));
        assert_eq!(RateCell::from(&nothing), RateCell::Fps(0.0));
    }
}
