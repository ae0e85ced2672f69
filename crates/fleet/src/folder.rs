//! The folder of a campaign: everything that it has done, so that nothing is done twice and nothing is lost.
//!
//! ```text
//! CAMPAIGN/campaign.lock             held by the program that runs it
//! CAMPAIGN/results.sqlite            figures, where no other database is named
//! CAMPAIGN/jobs/ID/attempt-1/config.toml      what the run was asked for
//!                           /run/             its run folder
//!                           /log              what it said on standard error; locked as long as it may write
//!                           /ended.json       how the attempt ended; missing while it runs, and after a kill
//! ```

use crate::job::Job;
use report::Report;
use report::run_folder::{self, EVENTS};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The database of a campaign that names no other.
pub const STORE: &str = "results.sqlite";
const LOCK: &str = "campaign.lock";
const ENDED: &str = "ended.json";
/// How often a lock that is held is tried again, and how long after.
const MOMENTS: u32 = 20;
const MOMENT: Duration = Duration::from_millis(50);
/// What a program said on standard error.
pub(crate) const LOG: &str = "log";

/// The folder of a campaign, held by this program.
#[derive(Debug)]
pub struct CampaignFolder {
    path: PathBuf,
    _lock: File,
}

/// An attempt at a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attempt {
    pub path: PathBuf,
    pub state: State,
}

/// How far an attempt came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    /// Nothing was saved.
    Empty,
    /// It was cut off and can be gone on with.
    CutOff,
    /// Its run is complete.
    Complete,
    /// It failed.
    Failed(String),
}

/// How an attempt ended.
#[derive(Debug, Serialize, Deserialize)]
struct Ended {
    failed: String,
}

impl CampaignFolder {
    /// Makes or opens the folder, and holds it.
    ///
    /// # Errors
    /// If another program holds it, or it cannot be made.
    pub fn open(path: &Path) -> io::Result<CampaignFolder> {
        let path = std::path::absolute(path)?;
        fs::create_dir_all(path.join("jobs"))?;
        let lock = File::create(path.join(LOCK))?;
        hold(&lock).map_err(|error| match error {
            TryLockError::WouldBlock => io::Error::new(
                io::ErrorKind::WouldBlock,
                "another program is running this campaign",
            ),
            TryLockError::Error(error) => error,
        })?;
        Ok(CampaignFolder { path, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn attempt_path(&self, job: &Job, number: usize) -> PathBuf {
        self.path.join("jobs").join(&job.id).join(format!("attempt-{number}"))
    }

    /// Every attempt at a job so far, the first one first.
    pub(crate) fn attempts(&self, job: &Job) -> Vec<Attempt> {
        let paths = (1..).map(|number| self.attempt_path(job, number));
        let there = paths.take_while(|path| path.exists());
        there.map(|path| Attempt { state: state(&path), path }).collect()
    }

    /// Makes the folder of one more attempt, with the job's configuration file.
    pub(crate) fn begin(&self, job: &Job) -> io::Result<PathBuf> {
        let path = self.attempt_path(job, self.attempts(job).len() + 1);
        fs::create_dir_all(&path)?;
        fs::write(path.join("config.toml"), job.config())?;
        Ok(path)
    }
}

/// A child that a killed campaign was about to start has its lock for a moment, until it is a program of its own.
fn hold(lock: &File) -> Result<(), TryLockError> {
    for _ in 0..MOMENTS {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(MOMENT),
            held => return held,
        }
    }
    lock.try_lock()
}

/// The run folder of an attempt.
pub(crate) fn run_of(attempt: &Path) -> PathBuf {
    attempt.join("run")
}

/// Says that an attempt failed, for good.
pub(crate) fn fail(attempt: &Path, why: &str) -> io::Result<()> {
    let ended = serde_json::to_vec(&Ended { failed: why.to_owned() })?;
    run_folder::replace(attempt, ENDED, &ended).map_err(io::Error::other)
}

fn state(attempt: &Path) -> State {
    if let Ok(bytes) = fs::read(attempt.join(ENDED)) {
        let ended: Option<Ended> = serde_json::from_slice(&bytes).ok();
        return State::Failed(ended.map_or_else(|| "for an unknown reason".into(), |it| it.failed));
    }
    let run = run_of(attempt);
    match run_folder::read_events(&run) {
        Ok((events, _)) if events.is_empty() => State::Empty,
        Ok((events, notices)) => match Report::from_events(&events, notices).status() {
            report::Status::Complete => State::Complete,
            report::Status::CutOff | report::Status::Stopped(_) => State::CutOff,
        },
        Err(run_folder::FolderError::NotARunFolder { .. }) => State::Empty,
        Err(error) => State::Failed(error.to_string()),
    }
}

/// The file for what the program of an attempt says. It is locked until the program has ended, also where the campaign
/// was killed: the program inherits the file and with it the lock.
pub(crate) fn open_log(attempt: &Path) -> io::Result<File> {
    let log = File::options().create(true).append(true).open(attempt.join(LOG))?;
    // Locked already is what a program that stops late still writes to.
    match log.try_lock() {
        Ok(()) | Err(TryLockError::WouldBlock) => Ok(log),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether a program still works at an attempt: after a kill, the child of the killed program may.
pub(crate) fn is_held(attempt: &Path) -> bool {
    let is_locked = |path: PathBuf| {
        let file = File::options().append(true).open(path);
        file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    };
    is_locked(attempt.join(LOG)) || is_locked(run_of(attempt).join(EVENTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_let_go_of_soon_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let held = CampaignFolder::open(folder.path()).unwrap();
        let refused = CampaignFolder::open(folder.path()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        let soon = std::thread::spawn(move || {
            std::thread::sleep(3 * MOMENT);
            drop(held);
        });
        CampaignFolder::open(folder.path()).unwrap();
        soon.join().unwrap();
    }
}
