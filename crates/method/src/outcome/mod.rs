//! What every test comes to, in one form: under which conditions, which figures, and how sure they
//! are. Reports, comparisons and acceptance criteria read nothing else of a result's numbers.
//!
//! A test may keep a result of its own while it runs. `outcome()` of that result, in a file beside the
//! test, says the same as [`Figure`]s, [`PortMatrix`] and [`Histogram`](trial::Histogram) values and
//! [`Layout`]s. The event that ends the test carries the outcome; nothing else leaves the test.

mod bars;
mod figure;
pub mod interval;
mod layout;
mod matrix;
mod name;
pub mod number;
mod unit;

pub use bars::{Bar, BarGroup, Bars, Origin};
pub use figure::{Basis, Figure, Relation};
pub use layout::{Cell, Distribution, FRAME_SIZES, Layout, Placing, Role, Series};
pub use matrix::{PairCount, PortMatrix};
pub use name::{FigureName, Measure};
pub use unit::Unit;

use crate::clauses::{Facts, Judged};
use crate::{Conditions, Direction, Modifier, TestKind};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use units::{FrameRate, LineRate};

/// What a test came to for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// Which test.
    pub test: TestKind,
    /// Under which conditions.
    pub conditions: TestConditions,
    /// The numbers, in the order of the test's table; never empty: a test that came to no number
    /// has one figure without a value, and the reason.
    pub figures: Vec<Figure>,
    /// What came of each pair of ports, where the test has that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matrices: Vec<PortMatrix>,
    /// Why the tester, not the device, kept the test from a result; empty where it did not.
    pub invalid: Vec<String>,
    /// The tables in which the test's document prints it, with their curves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layouts: Vec<Layout>,
    /// How values of single frames are distributed, where the test keeps that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histograms: Vec<Distribution>,
    /// The test's own record, for other programs and for tests: trial by trial, say. What prints outcomes
    /// passes it on as it is and reads nothing of it. Times are in picoseconds.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub detail: Value,
    /// What clauses are judged by. The verdicts are saved, these are not.
    #[serde(skip)]
    pub facts: Facts,
}

/// Under which conditions an outcome was taken, whatever the test.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TestConditions {
    /// As it was asked for: `64`, or the name of an IMIX. FCS included.
    pub frame_size: String,
    /// The same as a number, FCS included; the mean where sizes differ.
    pub mean_frame_size_bytes: f64,
    /// Which ports send; `None` for tests of many ports, which have a pattern.
    pub direction: Option<Direction>,
    /// What is mixed in; `None` for tests of many ports.
    pub modifier: Option<Modifier>,
    /// Protocol and stream format; for tests of many ports: ports, bursts and addresses.
    pub traffic: String,
    /// Packet filters configured on the device; empty for none.
    pub filters: String,
    /// Of the sending medium.
    pub line_rate: LineRate,
    /// Whether the medium itself enforces it; false for a virtual link.
    pub line_rate_is_physical: bool,
    /// The medium's maximum for this size.
    pub theoretical_max: FrameRate,
    /// What the tester reaches by itself, where it was measured.
    pub tester_max: Option<FrameRate>,
    /// Where the test departs from its document, in words; empty where it conforms.
    pub deviations: Vec<String>,
    /// Which clauses of its documents it meets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clauses: Vec<Judged>,
    /// Everything in which outcomes of the same test and size may differ, in words that are alike for
    /// alike conditions.
    pub in_words: String,
}

impl From<&Conditions> for TestConditions {
    fn from(of: &Conditions) -> Self {
        TestConditions {
            frame_size: of.frame_size.clone(),
            mean_frame_size_bytes: of.mean_frame_size_bytes,
            direction: Some(of.direction),
            modifier: Some(of.modifier),
            traffic: of.traffic.clone(),
            filters: of.filters.clone(),
            line_rate: of.line_rate,
            line_rate_is_physical: of.line_rate_is_physical,
            theoretical_max: of.theoretical_max,
            tester_max: of.tester_max,
            deviations: vec![],
            clauses: vec![],
            in_words: of.in_words(),
        }
    }
}

/// What stands in a test's place that has no figure at all.
pub(crate) const NO_FIGURE: &str = "no figure";

impl Outcome {
    /// Of figures; where there are none, of one that says why.
    pub fn new(
        test: TestKind,
        conditions: impl Into<TestConditions>,
        figures: Vec<Figure>,
        invalid: &[String],
    ) -> Self {
        let none = || vec![Figure::missing(NO_FIGURE, Unit::None, reasons(invalid))];
        let figures = if figures.is_empty() { none() } else { figures };
        Outcome {
            test,
            conditions: conditions.into(),
            figures,
            matrices: vec![],
            invalid: invalid.to_vec(),
            layouts: vec![],
            histograms: vec![],
            detail: Value::Null,
            facts: Facts::default(),
        }
    }

    /// With what came of each pair of ports.
    pub fn with_matrices<'a>(self, matrices: impl IntoIterator<Item = &'a PortMatrix>) -> Self {
        Outcome { matrices: matrices.into_iter().cloned().collect(), ..self }
    }

    /// With a table of its document, below those it has.
    pub fn laid_out(mut self, layout: Layout) -> Self {
        self.layouts.push(layout);
        self
    }

    /// With the test's own record.
    pub fn detailed(self, record: &impl Serialize) -> Self {
        Outcome { detail: serde_json::to_value(record).unwrap_or_default(), ..self }
    }

    /// With what clauses are judged by.
    pub fn judged_by(self, facts: Facts) -> Self {
        Outcome { facts, ..self }
    }

    /// With more of what clauses are judged by.
    pub fn judged_also(self, more: impl FnOnce(Facts) -> Facts) -> Self {
        Outcome { facts: more(self.facts), ..self }
    }

    /// The test's own record, read back.
    ///
    /// # Errors
    /// If it is none of this type.
    pub fn record<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(&self.detail)
    }

    /// Whether it tells of the same thing as another, under the same conditions: one of them is a later
    /// telling.
    pub fn is_of_same(&self, other: &Outcome) -> bool {
        fn key(of: &Outcome) -> (TestKind, &str, &str, Option<&str>) {
            let first = of.figures.first().map(|figure| figure.name.as_str());
            (of.test, &of.conditions.frame_size, &of.conditions.in_words, first)
        }
        key(self) == key(other)
    }

    /// Its figures of that name.
    pub fn figures_of(&self, name: FigureName) -> impl Iterator<Item = &Figure> {
        self.figures.iter().filter(move |figure| figure.known_as == Some(name))
    }
}

/// Why a test has no result; something even where nobody says.
pub(crate) fn no_result(reasons: &[String]) -> Vec<String> {
    match reasons.is_empty() {
        true => vec!["no valid trial".into()],
        false => reasons.to_vec(),
    }
}

/// Why something is not known, in one line; `None` where nobody says.
pub(crate) fn reasons(all: &[String]) -> Option<String> {
    (!all.is_empty()).then(|| all.join("; "))
}

/// With its first letter large, as a heading begins.
pub fn capitalised(words: &str) -> String {
    let mut chars = words.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}
