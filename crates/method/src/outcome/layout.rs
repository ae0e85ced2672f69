//! How a test's document prints its outcome: a table whose cells are values, and curves. What prints
//! them puts the outcomes of several frame sizes together.

use super::number;
use serde::{Deserialize, Serialize};
use std::fmt;
use units::{Duration, FrameRate};

/// The table of an outcome. Outcomes whose tables have the same heading are printed as one: the first
/// says what it is about, each adds its rows and notes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Layout {
    /// Test and section of its document, and what was found where that is one number.
    pub heading: String,
    /// Medium, conditions, and what the columns mean.
    pub about: Vec<String>,
    /// From left to right, with units; a `<` before a title has words below it, not numbers.
    pub columns: Vec<String>,
    /// As many cells each as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// What a reader should know of this frame size.
    pub notes: Vec<String>,
    /// Curves.
    pub series: Vec<Series>,
}

/// A cell of a table. Printed ([`fmt::Display`]) numbers have their thousands set apart.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// As it stands.
    Words(String),
    /// A whole number.
    Count(u64),
    /// Rounded.
    Number {
        /// How much.
        value: f64,
        /// Digits after the point.
        decimals: usize,
    },
    /// Frames a second, truncated.
    Fps(FrameRate),
    /// Printed as microseconds.
    Time(Duration),
    /// The truth may be more.
    AtLeast(Box<Cell>),
    /// The truth lies between these.
    Between(Box<Cell>, Box<Cell>),
}

/// A curve of a chart; those of the same chart are drawn together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Series {
    /// Title of the chart.
    pub chart: String,
    /// Title of the axis to the right, and what it counts.
    pub x: (String, String),
    /// The same of the axis upwards.
    pub y: (String, String),
    /// Of the curve.
    pub name: String,
    /// Each a pair of x and y.
    pub points: Vec<(f64, f64)>,
}

impl Cell {
    /// Rounded to these decimals.
    pub fn number(value: f64, decimals: usize) -> Cell {
        Cell::Number { value, decimals }
    }
    /// A dash: there is no such value.
    pub fn none() -> Cell {
        Cell::Words("-".into())
    }
    /// A value, or a dash.
    pub fn optional<T>(value: Option<T>, cell: impl FnOnce(T) -> Cell) -> Cell {
        value.map_or_else(Cell::none, cell)
    }
    /// The same as a lower bound, where it is one.
    pub fn at_least_if(self, is_bound: bool) -> Cell {
        if is_bound { Cell::AtLeast(Box::new(self)) } else { self }
    }
}

impl From<&str> for Cell {
    fn from(words: &str) -> Self {
        Cell::Words(words.into())
    }
}

impl From<String> for Cell {
    fn from(words: String) -> Self {
        Cell::Words(words)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Words(words) => f.write_str(words),
            Cell::Count(count) => f.write_str(&number::grouped(*count)),
            Cell::Number { value, decimals } => {
                f.write_str(&number::grouped_f64(*value, *decimals))
            }
            Cell::Fps(rate) => f.write_str(&number::fps(*rate)),
            Cell::Time(time) => f.write_str(&number::microseconds(*time)),
            Cell::AtLeast(cell) => write!(f, ">= {cell}"),
            Cell::Between(low, high) => write!(f, "{low} .. {high}"),
        }
    }
}

impl Layout {
    /// An empty table.
    pub fn new(heading: impl Into<String>, about: Vec<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|title| (*title).to_owned()).collect();
        Layout { heading: heading.into(), about, columns, ..Layout::default() }
    }

    /// With one row more.
    pub fn row(mut self, row: impl Into<Vec<Cell>>) -> Self {
        self.rows.push(row.into());
        self
    }

    /// With notes.
    pub fn noted(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_print_bounds_as_bounds() {
        let rate = |fps| Cell::Fps(FrameRate::from_fps(fps));
        assert_eq!(rate(14_880).at_least_if(true).to_string(), ">= 14,880");
        assert_eq!(rate(14_880).at_least_if(false).to_string(), "14,880");
        let between = Cell::Between(Box::new(rate(1_000)), Box::new(Cell::number(2.345, 1)));
        assert_eq!(between.to_string(), "1,000 .. 2.3");
        assert_eq!(Cell::optional(None::<u64>, Cell::Count).to_string(), "-");
        assert_eq!(Cell::Time(Duration::from_ns(1_500)).to_string(), "1.500");
        // A rate is cut off, so that none is overstated.
        assert_eq!(Cell::Fps(FrameRate::new(1_999, 10)).to_string(), "199");
    }
}
