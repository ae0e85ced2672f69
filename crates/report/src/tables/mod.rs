//! Tables as values: those of the tests come with their outcomes, those of a run are made here. The
//! terminal and the page print the same ones, so that no number can differ between them.

mod balance;
mod clauses;
mod comparison;
mod composition;
mod history;
mod layouts;
mod trials;

use crate::composition::PacketComposition;
use crate::model::Report;

pub(crate) use comparison::comparison;
pub(crate) use history::{digest, history};
pub use layouts::OutcomeTable;
pub(crate) use layouts::{figure_of, in_words, joined};
pub(crate) use method::outcome::number::fps;

/// A table ready to be printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Test and section of its standard.
    pub heading: String,
    /// Protocol, stream format and media, and what the columns mean.
    pub about: Vec<String>,
    /// From left to right.
    pub columns: Vec<Column>,
    /// As many cells each as there are columns.
    pub rows: Vec<Vec<String>>,
    /// What a reader should know, each once.
    pub notes: Vec<String>,
    /// Frame sizes that notes were asked of.
    sizes: Vec<String>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// With the unit.
    pub title: String,
    /// Numbers stand under each other to the right, words to the left.
    pub numeric: bool,
}

impl Table {
    fn new(heading: impl Into<String>, about: Vec<String>, columns: &[&str]) -> Self {
        let column = |title: &&str| match title.strip_prefix('<') {
            Some(words) => Column { title: words.into(), numeric: false },
            None => Column { title: (*title).into(), numeric: true },
        };
        Table {
            heading: heading.into(),
            about,
            columns: columns.iter().map(column).collect(),
            rows: vec![],
            notes: vec![],
            sizes: vec![],
        }
    }

    /// The same with these columns alone.
    pub(crate) fn with_columns(&self, kept: &[usize]) -> Self {
        let cells = |row: &Vec<String>| kept.iter().map(|at| row[*at].clone()).collect();
        Table {
            columns: kept.iter().map(|at| self.columns[*at].clone()).collect(),
            rows: self.rows.iter().map(cells).collect(),
            ..self.clone()
        }
    }

    /// Notes that hold for every size say so, instead of naming each.
    fn with_notes_summed_up(mut self) -> Self {
        let all = format!("{}: ", self.sizes.join(", "));
        let several = self.sizes.len() > 1;
        for note in self.notes.iter_mut().filter(|_| several) {
            if let Some(text) = note.strip_prefix(&all) {
                *note = format!("{ALL_SIZES}: {text}");
            }
        }
        self
    }

    /// Adds notes of a frame size, each once.
    fn note(&mut self, frame_size: &str, notes: impl IntoIterator<Item = String>) {
        if !self.sizes.iter().any(|size| size == frame_size) {
            self.sizes.push(frame_size.into());
        }
        for note in notes {
            match self.notes.iter_mut().find(|known| known.ends_with(&format!(": {note}"))) {
                Some(known) => {
                    let (sizes, _) = known.split_once(": ").unwrap_or((known, ""));
                    if !sizes.split(", ").any(|size| size == frame_size) {
                        *known = format!("{sizes}, {frame_size}: {note}");
                    }
                }
                None => self.notes.push(format!("{frame_size}: {note}")),
            }
        }
    }
}

/// Written in front of a note that holds for every row.
const ALL_SIZES: &str = "all sizes";

/// The tables that outcomes bring with them.
pub fn of_outcomes(report: &Report) -> Vec<OutcomeTable> {
    layouts::tables(report)
}

/// Of which packets the captures of a place are composed.
pub fn composition(composition: &PacketComposition) -> Vec<Table> {
    composition::tables(composition)
}

/// How many trials were run and how many decided nothing, with the reasons.
pub fn trial_counts(report: &Report) -> Table {
    trials::counts(report)
}

/// Every trial.
pub fn trials(report: &Report) -> Table {
    trials::every(report)
}

/// How many clauses of each document the results meet; `None` where none was judged.
pub fn clause_counts(report: &Report) -> Option<Table> {
    clauses::counts(report)
}

/// Every clause that was judged; `None` where none was.
pub fn clauses(report: &Report) -> Option<Table> {
    clauses::every(report)
}

/// Where the frames of every trial went.
pub fn balances(report: &Report) -> Table {
    balance::every(report)
}

fn optional<T>(value: Option<T>, print: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".into(), print)
}
