//! A run folder's events turned into its files, again and again if need be.

use crate::composition;
use crate::failure::{Failure, Outcome};
use report::Report;
use report::run_folder::{self, FolderError};
use report::terminal::Style;
use std::io::IsTerminal;
use std::path::Path;

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        Failure::new(error)
    }
}

/// Reads a run and writes `results.json`, the CSV files and `report.html` beside its events.
pub fn render(folder: &Path) -> Outcome<Report> {
    let compositions = composition::of_run(folder);
    let report = Report { compositions, ..read(folder)? };
    report::save(folder, &report)?;
    Ok(report)
}

/// Reads a run, whole or interrupted; not its captures, which may be large.
pub fn read(folder: &Path) -> Outcome<Report> {
    let (events, notices) = run_folder::read_events(folder)?;
    Ok(Report::from_events(&events, notices))
}

/// How tables are printed on standard output.
pub fn style() -> Style {
    let terminal = std::io::stdout().is_terminal();
    let width = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0);
    Style { width, colour: terminal && std::env::var_os("NO_COLOR").is_none() }
}
