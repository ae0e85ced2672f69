//! Figures over time, as a page: what [`html::history`](crate::html::history) draws.

use crate::tables::{self, Table};

/// Everything on the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Its heading.
    pub title: String,
    /// Short facts below the heading.
    pub facts: Vec<String>,
    /// The overview.
    pub heat: Heat,
    /// One picture each.
    pub trends: Vec<Trend>,
}

/// How far figures of the latest days are off what is usual.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heat {
    /// Days.
    pub columns: Vec<String>,
    /// A series, and percent off its median for each day; `None` where it was not measured.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

/// A figure over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trend {
    /// Device, test, size and figure.
    pub title: String,
    /// All other conditions.
    pub conditions: String,
    /// Of the values.
    pub unit: String,
    /// Runs, the oldest first.
    pub points: Vec<Point>,
    /// Where it changed.
    pub changes: Vec<Change>,
    /// By version or kernel: runs, then the smallest, the median and the largest value.
    pub groups: Vec<(String, usize, [f64; 3])>,
    /// Which runs have no value to compare, in words.
    pub left_out: Vec<String>,
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// When.
    pub name: String,
    /// How much.
    pub value: Option<f64>,
    /// Between which values the truth lies, as far as the run shows.
    pub within: Option<(f64, f64)>,
    /// Why it is not compared.
    pub unfit: Option<String>,
    /// What a pointer over it is told besides.
    pub hover: String,
}

/// A change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Index of the first run after it.
    pub at: usize,
    /// Median before.
    pub before: f64,
    /// Median after.
    pub after: f64,
    /// The difference in percent of the first.
    pub percent: Option<f64>,
    /// Runs before and after.
    pub runs: (usize, usize),
    /// What else changed.
    pub also: Vec<String>,
    /// Run folder.
    pub folder: String,
}

/// The same for a terminal.
pub fn to_tables(page: &Page) -> Vec<Table> {
    tables::history(page)
}
