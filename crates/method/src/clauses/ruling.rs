//! What is said of a clause.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How binding a clause is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// MUST, SHALL or REQUIRED.
    Must,
    /// SHOULD or RECOMMENDED.
    Should,
    /// A procedure or a value that the document states without one of these words.
    Default,
}

/// Whether a result meets a clause.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It does.
    Met,
    /// It says nothing of this result.
    NotApplicable,
    /// What is known does not decide it.
    NotChecked,
    /// These ports cannot do it.
    NotPossible,
    /// It does not.
    Departed,
}

/// A verdict, and how or why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ruling {
    /// Whether the clause is met.
    pub verdict: Verdict,
    /// How it is departed from, or why it is not applicable, possible or checked; empty where met.
    pub why: String,
}

/// A clause as it was judged for a result, whole, so that a saved run needs no table to be read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Judged {
    /// Such as `RFC 2544`.
    pub document: String,
    /// Such as `26.1`.
    pub section: String,
    /// How binding it is.
    pub level: Level,
    /// What it asks for.
    pub words: String,
    /// It asks for further runs, and is not held against the result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_series: bool,
    /// Whether it is met.
    pub verdict: Verdict,
    /// How or why not; empty where it is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Ruling {
    pub(super) fn met() -> Self {
        Ruling { verdict: Verdict::Met, why: String::new() }
    }
    pub(super) fn departed(how: impl Into<String>) -> Self {
        Ruling { verdict: Verdict::Departed, why: how.into() }
    }
    pub(super) fn not_applicable(why: impl Into<String>) -> Self {
        Ruling { verdict: Verdict::NotApplicable, why: why.into() }
    }
    pub(super) fn not_possible(why: impl Into<String>) -> Self {
        Ruling { verdict: Verdict::NotPossible, why: why.into() }
    }
    pub(super) fn not_checked(why: impl Into<String>) -> Self {
        Ruling { verdict: Verdict::NotChecked, why: why.into() }
    }
    /// Met, or departed from in these words.
    pub(super) fn met_if(is_met: bool, how: impl FnOnce() -> String) -> Self {
        if is_met { Ruling::met() } else { Ruling::departed(how()) }
    }
    /// `value` is to be `bound` or more.
    pub(super) fn at_least(what: &str, value: f64, bound: f64, unit: &str) -> Self {
        // Durations are kept in picoseconds: what was 60 s may come back a little less.
        Ruling::met_if(value >= bound - 1e-6, || {
            format!("{what} {value}{unit} instead of >= {bound}{unit}")
        })
    }
    /// The same of something that a result may lack.
    pub(super) fn known_at_least(what: &str, value: Option<f64>, bound: f64, unit: &str) -> Self {
        value.map_or_else(
            || Ruling::not_checked("the result does not say"),
            |value| Ruling::at_least(what, value, bound, unit),
        )
    }
}

impl Judged {
    /// Document and section: `RFC 2544 section 9`.
    pub fn source(&self) -> String {
        match (self.section.is_empty(), self.document.starts_with("RFC")) {
            (true, _) => self.document.clone(),
            (false, true) => format!("{} section {}", self.document, self.section),
            (false, false) => format!("{}, {}", self.document, self.section),
        }
    }
    /// How the result departs from it, with its source; `None` where it [conforms](Self::conforms).
    pub fn departure(&self) -> Option<String> {
        let what = match self.verdict {
            Verdict::NotPossible => "not possible on this port: ",
            _ => "",
        };
        (!self.conforms()).then(|| format!("{what}{} ({})", self.why, self.source()))
    }
    /// Whether a result that is judged so still conforms: a MUST that cannot be met on these ports is not.
    pub fn conforms(&self) -> bool {
        match self.verdict {
            Verdict::Departed => self.is_of_series,
            Verdict::NotPossible => self.is_of_series || self.level != Level::Must,
            Verdict::Met | Verdict::NotApplicable | Verdict::NotChecked => true,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Must => "MUST",
            Level::Should => "SHOULD",
            Level::Default => "default",
        })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Met => "met",
            Verdict::Departed => "departed from",
            Verdict::NotApplicable => "not applicable",
            Verdict::NotPossible => "not possible on this port",
            Verdict::NotChecked => "not checked",
        })
    }
}
