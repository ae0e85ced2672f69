//! A run folder's events turned into its files, again and again if need be.

use crate::accept::Criterion;
use crate::failure::{Failure, Outcome};
use crate::test_run::CONFIGURATION;
use crate::{composition, options};
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
    let report = read_all(folder)?;
    report::save(folder, &report)?;
    Ok(report)
}

/// Reads a run with its captures, and writes nothing.
pub fn read_all(folder: &Path) -> Outcome<Report> {
    Ok(Report { compositions: composition::of_run(folder), ..read(folder)? })
}

/// Reads a run, whole or interrupted; not its captures, which may be large.
pub fn read(folder: &Path) -> Outcome<Report> {
    let (events, notices) = run_folder::read_events(folder)?;
    let mut report = Report::from_events(&events, notices);
    let criteria = criteria_of(folder);
    report.criteria = criteria.iter().map(|criterion| criterion.verdict(&report)).collect();
    Ok(report)
}

/// The acceptance criteria of a run. One without a configuration that can be read has none to show; whoever goes on
/// with it is told what is wrong there.
fn criteria_of(folder: &Path) -> Vec<Criterion> {
    let options = options::read_options(&folder.join(CONFIGURATION)).unwrap_or_default();
    options.accept.iter().flatten().filter_map(|text| text.parse().ok()).collect()
}

/// Columns where nothing says how many there are: those of a terminal of old, and of most logs.
const COLUMNS: u16 = 80;
/// A narrower text nobody can read.
const COLUMNS_MIN: u16 = 40;

/// How tables are printed on standard output: as wide as the terminal, or as `COLUMNS` says, or 80 columns; `wide`
/// prints all columns and lists.
pub fn style(wide: bool) -> Style {
    let terminal = std::io::stdout().is_terminal();
    let of_terminal = || {
        let (width, _) = terminal_size::terminal_size_of(std::io::stdout())?;
        Some(width.0)
    };
    let said = || std::env::var("COLUMNS").ok()?.trim().parse().ok();
    let width = of_terminal().or_else(said).unwrap_or(COLUMNS).max(COLUMNS_MIN);
    let colour = terminal && std::env::var_os("NO_COLOR").is_none();
    Style { width: (!wide).then_some(width), colour }
}
