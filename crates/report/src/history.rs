//! Figures over time: what [`html::history`](crate::html::history) draws, and [`html::digest`](crate::html::digest) tells.

use crate::number::grouped_f64;
use crate::tables::{self, Table};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Everything on the page.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Heat {
    /// Days, the latest first.
    pub columns: Vec<String>,
    /// A series, and percent off its median for each day; `None` where it was not measured.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

/// A figure over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trend {
    /// Device, test, size and figure.
    pub title: String,
    /// Device, and its configuration.
    pub device: String,
    /// Test and size.
    pub test: String,
    /// Name of the figure.
    pub figure: String,
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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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

/// What a period brought, for people who do not look at the page each day.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Digest {
    /// Its heading.
    pub title: String,
    /// Short facts below the heading.
    pub facts: Vec<String>,
    /// Figures that changed in the period, with the changes that began in it.
    pub changed: Vec<Trend>,
    /// Of each test and size the figure that is farthest off what is usual; the farthest first.
    pub standings: Vec<Standing>,
    /// What the table of them leaves out, in words.
    pub left_out: Option<String>,
}

/// A figure in a period.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Standing {
    /// Device, and its configuration.
    pub device: String,
    /// Test and size.
    pub test: String,
    /// Name of the figure.
    pub figure: String,
    /// How many figures of that test and size were measured; this one is the farthest off.
    pub figures: usize,
    /// Of the values.
    pub unit: String,
    /// Runs of the period.
    pub runs: usize,
    /// Those without a value that can be compared.
    pub not_compared: usize,
    /// Median of the period.
    pub median: Option<f64>,
    /// Median before it, since the change before it.
    pub usual: Option<f64>,
    /// The difference in percent of what is usual.
    pub percent: Option<f64>,
}

/// The changes that began in one run: a new kernel makes many figures different at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Break<'a> {
    /// Device, and its configuration.
    pub device: &'a str,
    /// When the run was.
    pub since: &'a str,
    /// How many figures changed in it.
    pub figures: usize,
    /// Of which tests and sizes.
    pub tests: BTreeSet<&'a str>,
    /// The figure that changed most, and how.
    pub most: (&'a Trend, &'a Change),
    /// What else is different since: everything that is said with any of the figures.
    pub also: BTreeSet<&'a str>,
}

impl Break<'_> {
    /// The day of the run.
    pub fn day(&self) -> &str {
        self.since.get(..10).unwrap_or(self.since)
    }
}

/// A value of whatever unit: without digits that nobody reads.
pub(crate) fn number(value: f64) -> String {
    grouped_f64(value, if value.abs() >= 1000.0 || value.fract() == 0.0 { 0 } else { 3 })
}

/// Changes put together by the run where they began, the latest first.
pub fn breaks(trends: &[Trend]) -> Vec<Break<'_>> {
    let mut found: BTreeMap<(Reverse<&str>, &str, &str), Break<'_>> = BTreeMap::new();
    let size = |change: &Change| change.percent.map_or(f64::INFINITY, f64::abs);
    for trend in trends {
        for change in &trend.changes {
            let since = trend.points.get(change.at).map_or("", |point| &*point.name);
            let key = (Reverse(since), &*trend.device, &*change.folder);
            let of_run = found.entry(key).or_insert_with(|| Break {
                device: &trend.device,
                since,
                figures: 0,
                tests: BTreeSet::new(),
                most: (trend, change),
                also: BTreeSet::new(),
            });
            of_run.figures += 1;
            of_run.tests.insert(&trend.test);
            of_run.also.extend(change.also.iter().map(String::as_str));
            if size(change) > size(of_run.most.1) {
                of_run.most = (trend, change);
            }
        }
    }
    found.into_values().collect()
}

/// The page for a terminal.
pub fn to_tables(page: &Page) -> Vec<Table> {
    tables::history(page)
}

/// The digest for a terminal.
pub fn digest_tables(digest: &Digest) -> Vec<Table> {
    tables::digest(digest)
}
