//! What every test comes to, in one form: under which conditions, which figures, and how sure they
//! are. Reports, comparisons and acceptance criteria read nothing else of a result's numbers.
//!
//! A test keeps a result of its own, with all that its document asks for. `outcome()` of that
//! result, in a file beside the test, says the same as [`Figure`]s and [`PortMatrix`] tables.

mod figure;
pub mod interval;
mod layout;
mod matrix;
mod name;
pub mod number;
mod unit;

pub use figure::{Basis, Figure, Relation};
pub use layout::{Cell, Layout, Series};
pub use matrix::{PairCount, PortMatrix};
pub use name::{FigureName, Measure};
pub use unit::Unit;

use crate::clauses::Judged;
use crate::{Conditions, Direction, Modifier, TestKind};
use serde::{Deserialize, Serialize};
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
    /// The table in which the test's document prints it; `None` where the report draws the table of
    /// several frame sizes itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
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
            deviations: of.deviations.clone(),
            clauses: of.clauses.clone(),
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
        let invalid = invalid.to_vec();
        let conditions = conditions.into();
        Outcome { test, conditions, figures, matrices: vec![], invalid, layout: None }
    }

    /// With what came of each pair of ports.
    pub fn with_matrices<'a>(self, matrices: impl IntoIterator<Item = &'a PortMatrix>) -> Self {
        Outcome { matrices: matrices.into_iter().cloned().collect(), ..self }
    }

    /// With the table of its document.
    pub fn laid_out(self, layout: Layout) -> Self {
        Outcome { layout: Some(layout), ..self }
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
