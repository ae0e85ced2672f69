//! A comparison of `netanvil versus`, from its events to what people and programs read.

mod csv;
pub mod terminal;
pub(crate) mod words;

use crate::Notice;
use crate::html;
use crate::run_folder::{self, FolderError};
use method::versus::{Ratio, VersusEvent, VersusLook, VersusResult, VersusStarted, VersusTrial};
use serde::Serialize;
use std::path::Path;

/// A comparison, whole or cut off.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct VersusReport {
    /// How it began; `None` where the first event is missing.
    pub started: Option<VersusStarted>,
    /// Every trial.
    pub trials: Vec<VersusTrial>,
    /// The last look.
    pub look: Option<VersusLook>,
    /// What came of it; `None` of one that was cut off.
    pub result: Option<VersusResult>,
    /// What cut it off, where that is known.
    pub stopped_by: Option<String>,
    /// What a reader should know of the saved events.
    pub notices: Vec<Notice>,
}

impl VersusReport {
    /// Puts events together.
    pub fn from_events(events: Vec<VersusEvent>, notices: Vec<Notice>) -> Self {
        let mut report = VersusReport { notices, ..VersusReport::default() };
        for event in events {
            match event {
                VersusEvent::VersusStarted(started) => report.started = Some(*started),
                VersusEvent::VersusTrial(trial) => report.trials.push(trial),
                VersusEvent::VersusLook(look) => report.look = Some(look),
                VersusEvent::VersusFinished(result) => report.result = Some(*result),
                VersusEvent::VersusStopped(why) => report.stopped_by = Some(why),
            }
        }
        report
    }

    /// Reads a folder.
    pub fn read(folder: &Path) -> Result<Self, FolderError> {
        let (events, notices) = run_folder::read_versus(folder)?;
        Ok(Self::from_events(events, notices))
    }

    /// The ratios of the result or, of a comparison that was cut off, of its last look.
    pub fn ratios(&self) -> &[Ratio] {
        let of_result = self.result.as_ref().map(|result| &result.ratios[..]);
        let of_look = || self.look.as_ref().map(|look| &look.ratios[..]);
        of_result.or_else(of_look).unwrap_or_default()
    }

    /// As `results.json` and `--json` have it.
    pub fn json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("plain data");
        text + "\n"
    }

    /// Writes everything that is rendered from the events into their folder, each file as a whole.
    pub fn save(&self, folder: &Path) -> Result<(), FolderError> {
        let files = [
            (run_folder::RESULTS_JSON, self.json()),
            (run_folder::RESULTS_CSV, csv::results(self)),
            (run_folder::TRIALS_CSV, csv::trials(self)),
            (run_folder::REPORT_HTML, html::versus(self)),
        ];
        files.iter().try_for_each(|(name, text)| run_folder::replace(folder, name, text.as_bytes()))
    }
}
