//! The formats in which a run is saved, each an [`Exporter`] that reads a [`Report`] and nothing else.

use crate::run_folder::{self, FolderError};
use crate::{Report, csv, html, json};
use std::path::Path;

/// A format of reports.
pub trait Exporter: Sync {
    /// The file in the run's folder that it writes, such as `results.json`.
    fn file_name(&self) -> &str;
    /// The content of that file.
    fn render(&self, report: &Report) -> String;
}

/// What a run is saved as: one entry a format. A new format is a type with its file, and its entry here.
pub const EXPORTERS: [&dyn Exporter; 5] = [
    &File { name: run_folder::RESULTS_JSON, render: json::render },
    &File { name: run_folder::RESULTS_CSV, render: csv::results },
    &File { name: run_folder::TRIALS_CSV, render: csv::trials },
    &File { name: run_folder::STREAMS_CSV, render: csv::streams },
    &File { name: run_folder::REPORT_HTML, render: html::render },
];

/// Writes a run in each of these formats into its folder, each file as a whole.
///
/// # Errors
/// If a file cannot be written; those before it are there, and the old one stays in its place.
pub fn export(
    folder: &Path,
    report: &Report,
    exporters: &[&dyn Exporter],
) -> Result<(), FolderError> {
    exporters.iter().try_for_each(|exporter| {
        run_folder::replace(folder, exporter.file_name(), exporter.render(report).as_bytes())
    })
}

/// A format that is a function.
struct File {
    name: &'static str,
    render: fn(&Report) -> String,
}

impl Exporter for File {
    fn file_name(&self) -> &str {
        self.name
    }
    fn render(&self, report: &Report) -> String {
        (self.render)(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Twice(&'static str);

    impl Exporter for Twice {
        fn file_name(&self) -> &str {
            self.0
        }
        fn render(&self, report: &Report) -> String {
            format!("{0}, {0}", report.device())
        }
    }

    #[test]
    fn a_format_of_ones_own_is_written_beside_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let mut all = EXPORTERS.to_vec();
        all.push(&Twice("twice.txt"));
        export(folder.path(), &Report::default(), &all).unwrap();
        let text = std::fs::read_to_string(folder.path().join("twice.txt")).unwrap();
        assert_eq!(text, "unknown device, unknown device");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 6);
    }

    #[test]
    fn no_two_formats_have_one_file() {
        let mut names: Vec<_> = EXPORTERS.iter().map(|exporter| exporter.file_name()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), EXPORTERS.len());
    }

    #[test]
    fn a_file_that_cannot_be_written_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("taken")).unwrap();
        let error = export(folder.path(), &Report::default(), &[&Twice("taken")]).unwrap_err();
        assert!(error.to_string().contains("taken"), "{error}");
    }
}
