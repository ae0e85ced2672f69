//! How a test's document prints its outcome: a table whose cells are values, curves, and bars. What prints
//! them puts the outcomes of several frame sizes together.

use super::{Bars, FigureName, number};
use serde::{Deserialize, Serialize};
use std::fmt;
use trial::Histogram;
use units::{Duration, FrameRate};

/// A table of an outcome. Tables of several outcomes that have the same heading and group are printed as
/// one: the first says what it is about, each adds its rows and notes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Layout {
    /// Test and section of its document, and what was found where that is one number.
    pub heading: String,
    /// Conditions of which there may be several in a run, in words; tables of different groups are not put
    /// together. Empty where all go together.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Medium, conditions, and what the columns mean.
    pub about: Vec<String>,
    /// From left to right, with units; a `<` before a title has words below it, not numbers.
    pub columns: Vec<String>,
    /// As many cells each as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// How it is put to the tables of other outcomes.
    #[serde(default)]
    pub placing: Placing,
    /// What a reader should know of this frame size.
    pub notes: Vec<String>,
    /// Curves.
    pub series: Vec<Series>,
    /// Pictures of bars.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bars: Vec<Bars>,
    /// Figures that these pictures show already: no curve by frame size follows from them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub draws: Vec<FigureName>,
}

/// How the tables of several outcomes become one.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placing {
    /// Rows stand below each other.
    #[default]
    Below,
    /// Columns stand side by side: rows whose first cells are alike are one row, columns with the same
    /// title are one column. What a row lacks in a column of another is printed as this.
    Beside(String),
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
    /// Percent, with as many decimals as keep some from reading as none.
    Percent(f64),
    /// Percent of a whole that has been reached, cut off.
    Share(f64),
    /// The truth may be more.
    AtLeast(Box<Cell>),
    /// The truth is less.
    Below(Box<Cell>),
    /// The truth lies between these.
    Between(Box<Cell>, Box<Cell>),
}

/// A curve of a chart. Curves of the same chart are drawn together; those that have the same name besides
/// are one.
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
    /// What it shows.
    #[serde(default)]
    pub role: Role,
    /// Each a pair of x and y.
    pub points: Vec<(f64, f64)>,
}

/// What a curve shows, which decides how it is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// One of several like ones.
    #[default]
    Other,
    /// What the device does.
    Device,
    /// The medium's maximum.
    Medium,
    /// What the tester does by itself.
    Tester,
    /// Points of other curves that only bound the truth.
    Bound,
    /// Points that a document has.
    Published,
}

/// How values of single frames are distributed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Distribution {
    /// Of what.
    pub name: String,
    /// What the values are, such as `latency as stamped (FILO)`.
    pub quantity: String,
    /// Times.
    pub histogram: Histogram,
}

/// Title and unit of the axis of frame sizes.
pub const FRAME_SIZES: (&str, &str) = ("Frame size (bytes, FCS included)", "bytes");

impl Series {
    /// A point of a curve by frame size: those of other sizes are added to it.
    pub fn by_size(
        (chart, name): (&str, &str),
        (quantity, unit): (&str, &str),
        role: Role,
        point: (f64, f64),
    ) -> Series {
        Series {
            chart: format!("{chart} by frame size"),
            x: (FRAME_SIZES.0.into(), FRAME_SIZES.1.into()),
            y: (format!("{quantity} ({unit})"), unit.into()),
            name: name.into(),
            role,
            points: vec![point],
        }
    }
}

impl Cell {
    /// The rate that it states: of an interval and of a lower bound the lower end, 0 where only an upper
    /// bound is known. `None` of what is no rate.
    pub fn fps(&self) -> Option<f64> {
        match self {
            Cell::Fps(rate) => Some(rate.fps()),
            Cell::AtLeast(rate) | Cell::Between(rate, _) => rate.fps(),
            Cell::Below(rate) => rate.fps().and(Some(0.0)),
            _ => None,
        }
    }
    /// The number that it states, in the unit in which it is printed: of an interval and of a lower bound the lower
    /// end. `None` of words, and where only an upper bound is known.
    pub fn value(&self) -> Option<f64> {
        match self {
            Cell::Words(_) | Cell::Below(_) => None,
            Cell::Count(count) => Some(*count as f64),
            Cell::Number { value, .. } | Cell::Percent(value) | Cell::Share(value) => Some(*value),
            Cell::Fps(rate) => Some(rate.fps()),
            Cell::Time(time) => Some(time.as_ps() as f64 / 1e6),
            Cell::AtLeast(cell) | Cell::Between(cell, _) => cell.value(),
        }
    }
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
    /// Printed as milliseconds.
    pub fn milliseconds(time: Duration) -> Cell {
        Cell::number(time.as_ps() as f64 / 1e9, 3)
    }
    /// Picoseconds, which may be below zero, printed as microseconds.
    pub fn ps(ps: i64) -> Cell {
        Cell::number(ps as f64 / 1e6, 3)
    }
    /// How many trials, and how many of them were invalid.
    pub fn trials(trials: u64, invalid: u64) -> Cell {
        match invalid {
            0 => Cell::Count(trials),
            invalid => format!("{trials} ({invalid} invalid)").into(),
        }
    }
    /// From one to the other; one number where both print alike.
    pub fn between(low: Cell, high: Cell) -> Cell {
        match low.to_string() == high.to_string() {
            true => low,
            false => Cell::Between(Box::new(low), Box::new(high)),
        }
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
            Cell::Percent(percent) => f.write_str(&number::percent(percent / 100.0)),
            Cell::Share(percent) => f.write_str(&number::share_of(*percent)),
            Cell::AtLeast(cell) => write!(f, ">= {cell}"),
            Cell::Below(cell) => write!(f, "< {cell}"),
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

    /// With columns that stand beside those of other outcomes; what is missing there is printed as this.
    pub fn beside(self, missing: &str) -> Self {
        Layout { placing: Placing::Beside(missing.into()), ..self }
    }

    /// With one row more.
    pub fn row(mut self, row: impl Into<Vec<Cell>>) -> Self {
        self.rows.push(row.into());
        self
    }

    /// With curves.
    pub fn with_curves(mut self, series: impl IntoIterator<Item = Series>) -> Self {
        self.series.extend(series);
        self
    }

    /// With pictures of bars.
    pub fn with_bars(mut self, bars: impl IntoIterator<Item = Bars>) -> Self {
        self.bars.extend(bars);
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
        let values = [Cell::Count(7), rate(9).at_least_if(true), between, Cell::none()];
        assert_eq!(values.each_ref().map(Cell::value), [Some(7.0), Some(9.0), Some(1e3), None]);
        // A rate is cut off, so that none is overstated.
        assert_eq!(Cell::Fps(FrameRate::new(1_999, 10)).to_string(), "199");
    }
}
