//! Tables as values, one file a test; the terminal and the page print the same ones, so that no
//! number can differ between them.

mod back_to_back;
mod balance;
mod clauses;
mod comparison;
mod composition;
mod cost;
mod frame_loss;
mod goals;
mod harvard;
mod harvard_1989;
mod latency;
mod layouts;
mod recovery;
mod reset;
mod rfc8219;
mod self_test;
mod throughput;
mod trials;

use crate::composition::PacketComposition;
use crate::model::{Group, Report};
use crate::number;
use method::{Conditions, RateFound, TestKind};
use units::Duration;

pub(crate) use comparison::comparison;
pub use layouts::OutcomeTable;
pub(crate) use method::outcome::number::fps;
pub(crate) use throughput::rate_cell;

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

/// The tables of one group of results, in the order of RFC 2544 section 26.
pub fn of_group(group: &Group<'_>) -> Vec<(TestKind, Table)> {
    let tables = [
        (TestKind::Throughput, throughput::table(group)),
        (TestKind::Throughput, cost::table(group)),
        (TestKind::Throughput, throughput::with_tolerance(group)),
        (TestKind::Throughput, goals::table(group)),
        (TestKind::Latency, latency::table(group)),
        (TestKind::Latency, latency::all_frames(group)),
        (TestKind::Pdv, rfc8219::pdv(group)),
        (TestKind::Ipdv, rfc8219::ipdv(group)),
        (TestKind::FrameLoss, frame_loss::table(group)),
        (TestKind::BackToBack, back_to_back::table(group)),
        (TestKind::Recovery, recovery::table(group)),
        (TestKind::Reset, reset::table(group)),
    ];
    tables
        .into_iter()
        .filter_map(|(test, table)| Some((test, table?.with_notes_summed_up())))
        .collect()
}

/// The tables that outcomes bring with them.
pub fn of_outcomes(report: &Report) -> Vec<OutcomeTable> {
    layouts::tables(report)
}

/// Of which packets the captures of a place are composed.
pub fn composition(composition: &PacketComposition) -> Vec<Table> {
    composition::tables(composition)
}

/// The tables of the Harvard tests of 1990, then of 1989.
pub fn harvard(report: &Report) -> Vec<Table> {
    let mut tables = harvard::tables(report);
    tables.extend(harvard_1989::tables(report));
    tables
}

/// What the tester can do by itself.
pub fn self_test(report: &Report) -> Option<Table> {
    report.self_test.as_ref().map(self_test::table)
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

/// What stands over every table of a group.
fn about(group: &Group<'_>, conditions: &Conditions) -> Vec<String> {
    let mut about = vec![format!("{}; {}", group.key.describe(), medium(conditions))];
    if !conditions.frame_formats.is_empty() {
        about.push(format!("frame format: {}", conditions.frame_formats.join("; ")));
    }
    about
}

/// The medium that theoretical maxima are computed from.
pub(crate) fn medium(conditions: &Conditions) -> String {
    match conditions.line_rate_is_physical {
        true => format!("Ethernet at {}", conditions.line_rate),
        false => format!(
            "virtual Ethernet, nominally {} (the medium itself does not enforce it)",
            conditions.line_rate
        ),
    }
}

fn optional<T>(value: Option<T>, print: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".into(), print)
}

fn percent_cell(percent: Option<f64>) -> String {
    optional(percent, |percent| number::percent(percent / 100.0))
}

fn share_cell(percent_of_theoretical: Option<f64>) -> String {
    optional(percent_of_theoretical, number::share_of)
}

fn resolution_cell(found: &RateFound) -> String {
    optional(found.resolution_fps, |fps| number::grouped_f64(fps.ceil(), 0))
}

fn trials_cell(trials: u32, invalid: u32) -> String {
    match invalid {
        0 => trials.to_string(),
        invalid => format!("{trials} ({invalid} invalid)"),
    }
}

fn seconds(span: Duration) -> String {
    number::grouped_f64(span.as_secs_f64(), 1)
}

fn milliseconds(span: Duration) -> String {
    number::grouped_f64(span.as_ps() as f64 / 1e9, 3)
}
