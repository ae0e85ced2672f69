//! What must hold between the results of a run, whichever device was measured: a table of relations, and what
//! becomes of results that contradict one.
//!
//! A [`Relation`] names two figures of which one can be no more than the other, and says why. When all tests of a
//! run have ended, every pair of figures that a relation speaks of is compared by their intervals. Where one pair
//! contradicts its relation, the tests concerned are made once more, with those that rest on them (`settle`). Then
//! each [`Contradiction`] has an [`Ending`]: the repetition settles it, the repetition confirms it, or the figures
//! become intervals that hold every result of both tests (`revise`).
//!
//! A new relation is one record in `relations` and one test beside it.

mod compare;
mod contradiction;
mod relations;
mod revise;
mod settle;
mod stated;

pub use compare::{CLOSE, agree};
pub use contradiction::{Consistency, Contradiction, Ending, Side};
pub use relations::{LEFT_OUT, RELATIONS};
pub(crate) use settle::{Place, Repeat, Told, settle};

use contradiction::value;

use crate::outcome::FigureName;
use crate::{Figure, Outcome, TestKind};
use serde::{Deserialize, Serialize};

/// Two figures of a run of which one can be no more than the other.
#[derive(Clone, Copy, Debug)]
pub struct Relation {
    /// Unique, such as `filters`.
    pub id: &'static str,
    /// What is no more than `more`.
    pub less: Quantity,
    /// What is no less than `less`.
    pub more: Quantity,
    /// Of which frame sizes.
    pub sizes: Sizes,
    /// What is compared.
    pub measure: Measure,
    /// Whether both figures are taken under the same conditions in words; otherwise these differ by what the
    /// relation is about.
    pub same_conditions: bool,
    /// How far it holds.
    pub standing: Standing,
    /// What it says, as a sentence.
    pub says: &'static str,
    /// Document and section, or the reason from which it follows.
    pub source: &'static str,
}

/// A figure of a test.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// Which test; `None` for any, and then both figures are of one test and have one name.
    pub test: Option<TestKind>,
    /// Which of its figures.
    pub figure: Pick,
}

/// Which figure of an outcome.
#[derive(Clone, Copy, Debug)]
pub enum Pick {
    /// That of this name.
    Named(&'static str),
    /// Those whose names begin so. Where both sides of a relation have such names, what follows is alike.
    Beginning(&'static str),
    /// Those that acceptance criteria call so.
    Known(&'static [FigureName]),
    /// One that follows from the outcome.
    Derived(fn(&Outcome) -> Option<Figure>),
}

/// Of which frame sizes two figures are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sizes {
    /// Of the same.
    Same,
    /// `less` is of the next larger size than `more`.
    LessIsLarger,
    /// `less` is of the next smaller size than `more`.
    LessIsSmaller,
}

/// What of two rates is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Frames in a second.
    Frames,
    /// Bytes of frames in a second, FCS included.
    Bytes,
}

/// How far a relation holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// For any device that stays as it is: by definition, or since one side is the work of the other and more.
    Holds,
    /// For most devices. Results that differ from it are measured again, and stand if they repeat.
    Usual,
}

#[cfg(test)]
pub(crate) mod tests;
