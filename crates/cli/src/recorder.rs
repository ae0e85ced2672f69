//! Where a run's events go: first to the disk, then to the eyes.

use crate::progress::Progress;
use method::{Event, EventSink, SelfTest, SinkError, TrialRecord};
use report::run_folder::RunFolder;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use trial::TrialIdentity;

/// Saves and shows events.
pub struct Recorder {
    folder: RunFolder,
    progress: Progress,
    /// Trials that the folder holds already; a resumed run tells them again.
    saved: Vec<(u64, TrialIdentity)>,
    self_test: Option<SelfTest>,
    began: bool,
    trial: Arc<AtomicU64>,
}

impl Recorder {
    /// Into this folder, which holds these trials already, and onto standard error.
    pub fn new(folder: RunFolder, progress: Progress, saved: &[TrialRecord]) -> Self {
        let saved = saved.iter().map(|record| (record.number, record.identity)).collect();
        Recorder { folder, progress, saved, self_test: None, began: false, trial: Arc::default() }
    }

    /// The run folder.
    pub fn into_folder(self) -> RunFolder {
        self.folder
    }
    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// What the tester found of itself.
    pub fn self_test(&self) -> Option<&SelfTest> {
        self.self_test.as_ref()
    }

    /// The number of the trial under way, for others to look at.
    pub fn trial(&self) -> Arc<AtomicU64> {
        self.trial.clone()
    }

    /// Whether the run got as far as its first event.
    pub fn began(&self) -> bool {
        self.began
    }

    /// Takes the progress bar away.
    pub fn end_progress(&self) {
        self.progress.finish();
    }

    fn is_saved(&self, event: &Event) -> bool {
        match event {
            Event::TrialFinished(record) => self.saved.contains(&(record.number, record.identity)),
            _ => false,
        }
    }
}

impl EventSink for Recorder {
    fn emit(&mut self, event: &Event) -> Result<(), SinkError> {
        if !self.is_saved(event) {
            self.folder.emit(event)?;
        }
        self.progress.show(event);
        match event {
            Event::RunStarted(_) => self.began = true,
            Event::TrialStarted(trial) => self.trial.store(trial.number, Ordering::SeqCst),
            Event::SelfTestFinished(self_test) => self.self_test = Some((**self_test).clone()),
            _ => {}
        }
        Ok(())
    }
}
