//! Saved events turned into what people look at: pure functions of events, and a thin writer.
//!
//! * [`run_folder`] keeps a run on disk so that nothing already measured is lost.
//! * [`Report`] folds the events of a run, whole or interrupted, into one value.
//! * [`tables`] says what stands in which table; [`terminal`] and [`html`] print the same ones.
//! * [`csv`] writes the figures of every test's outcome, whatever the test; [`compare`] sets those of
//!   two runs side by side. [`json`] is the whole run for programs.
//! * [`versus`] is the same for comparisons, which have events of their own.
//!
//! Counts are kept, ratios derived; a value that only bounds the truth is printed as a bound.

pub mod compare;
mod composition;
pub mod csv;
mod event_log;
pub mod harvard;
pub mod html;
pub mod json;
mod model;
pub mod reproduction;
pub mod run_folder;
mod stream_row;
pub mod tables;
pub mod terminal;
mod trial_row;
pub mod versus;

use run_folder::FolderError;
use std::path::Path;

pub use method::outcome::number;

pub use composition::{PacketComposition, PacketKind, PacketLength};
pub use event_log::Notice;
pub use model::{Group, GroupKey, Report, Status, TrialCounts};
pub use trial_row::TrialRow;

/// Writes everything that is rendered from a run's events into its folder, each file as a whole.
pub fn save(folder: &Path, report: &Report) -> Result<(), FolderError> {
    let files = [
        (run_folder::RESULTS_JSON, json::render(report)),
        (run_folder::RESULTS_CSV, csv::results(report)),
        (run_folder::TRIALS_CSV, csv::trials(report)),
        (run_folder::STREAMS_CSV, csv::streams(report)),
        (run_folder::REPORT_HTML, html::render(report)),
    ];
    files.iter().try_for_each(|(name, text)| run_folder::replace(folder, name, text.as_bytes()))
}
