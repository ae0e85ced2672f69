//! A run folder: one directory a run, written so that no result is lost and no file is ever half.

use crate::event_log::{self, EventLog, Notice};
use method::versus::{VERSUS_FORMAT, VersusEvent};
use method::{EVENT_FORMAT, EVENT_FORMAT_OLDEST, Event, EventSink, SinkError};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Every event of the run, one JSON value a line.
pub const EVENTS: &str = "events.jsonl";
/// The results, for programs.
pub const RESULTS_JSON: &str = "results.json";
/// One row a result.
pub const RESULTS_CSV: &str = "results.csv";
/// One row a trial.
pub const TRIALS_CSV: &str = "trials.csv";
/// Every stream of every trial, for spreadsheets.
pub const STREAMS_CSV: &str = "streams.csv";
/// The report, for people.
pub const REPORT_HTML: &str = "report.html";
const CAPTURES: &str = "captures";

/// What can go wrong with a run folder. No result that was already saved is lost by any of these.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// No space, or quota used up.
    #[error(
        "no space left while writing {} ({detail}); the results taken so far are kept there and \
         readable: free some space, then continue with --resume", path.display()
    )]
    Full {
        /// The file.
        path: PathBuf,
        /// What the system said.
        detail: String,
    },
    /// Two runs on one folder.
    #[error(
        "another run is writing to {}; wait for it to end, or give this run a folder of its own",
        folder.display()
    )]
    Locked {
        /// The folder.
        folder: PathBuf,
    },
    /// A new run where there is one already.
    #[error(
        "{} holds a run already; go on with it by --resume, or name another folder",
        folder.display()
    )]
    Taken {
        /// The folder.
        folder: PathBuf,
    },
    /// Nothing to read.
    #[error(
        "{} is not a run folder: it has no {EVENTS}; runs are in runs/, unless --out named a folder",
        folder.display()
    )]
    NotARunFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// Saved in a form that this program does not read.
    #[error(
        "{} was saved by {program} in form {format} of its events; this program reads form \
         {reads}: read it with the build of {program} that saved it", folder.display()
    )]
    OtherFormat {
        /// The folder.
        folder: PathBuf,
        /// By which program and version.
        program: String,
        /// In which form.
        format: u64,
        /// The form that this program reads.
        reads: u32,
    },
    /// Another kind of run than was asked for.
    #[error(
        "{} holds a comparison of `netanvil versus`: `netanvil report` renders it again; it cannot be \
         gone on with, nor set beside a run", folder.display()
    )]
    Comparison {
        /// The folder.
        folder: PathBuf,
    },
    /// Anything else.
    #[error("cannot {action} {}: {detail}", path.display())]
    Io {
        /// In the infinitive.
        action: &'static str,
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        detail: String,
    },
}

impl FolderError {
    pub(crate) fn new(action: &'static str, path: &Path, error: &io::Error) -> Self {
        let (path, detail) = (path.to_owned(), error.to_string());
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                FolderError::Full { path, detail }
            }
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if path.ends_with(EVENTS) => {
                FolderError::NotARunFolder { folder: path.parent().unwrap_or(&path).to_owned() }
            }
            _ => FolderError::Io { action, path, detail },
        }
    }
}

/// Gives an I/O error its place.
pub(crate) trait At<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, FolderError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, FolderError> {
        self.map_err(|error| FolderError::new(action, path, &error))
    }
}

/// A run folder opened for writing; one process at a time holds it.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    log: EventLog,
}

impl RunFolder {
    /// Makes `<runs>/<UTC time>-<name>/`, and `<runs>` where it is missing. Two runs that start
    /// within a second get folders of their own.
    pub fn create(runs: &Path, name: &str, started_unix_s: i64) -> Result<Self, FolderError> {
        fs::create_dir_all(runs).at("make the folder", runs)?;
        let base = folder_name(name, started_unix_s);
        let mut path = runs.join(&base);
        let mut number = 2;
        while let Err(error) = fs::create_dir(&path) {
            if error.kind() != io::ErrorKind::AlreadyExists {
                return Err(FolderError::new("make the folder", &path, &error));
            }
            path = runs.join(format!("{base}-{number}"));
            number += 1;
        }
        sync_directory(runs)?;
        Self::create_at(&path)
    }

    /// Makes a run folder of exactly this name. It may exist, but must hold no run yet.
    pub fn create_at(path: &Path) -> Result<Self, FolderError> {
        fs::create_dir_all(path).at("make the folder", path)?;
        let events = path.join(EVENTS);
        if events.exists() {
            return Err(FolderError::Taken { folder: path.to_owned() });
        }
        let log = EventLog::create(&events)?;
        sync_directory(path)?;
        Ok(RunFolder { path: path.to_owned(), log })
    }

    /// Opens the folder of an interrupted run to go on with it: the events read back, and what a
    /// reader should know of them. A line that was torn by the interruption is cut off.
    pub fn resume(path: &Path) -> Result<(Self, Vec<Event>, Vec<Notice>), FolderError> {
        refuse_comparison(path)?;
        let (log, bytes) = EventLog::reopen(&path.join(EVENTS))?;
        refuse_other_format(path, &bytes, "run_started", EVENT_FORMAT..=EVENT_FORMAT)?;
        let (events, notices) = event_log::parse(&bytes);
        Ok((RunFolder { path: path.to_owned(), log }, events, notices))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Saves an event of a comparison; a trial is on the disk when this returns.
    pub fn emit_versus(&mut self, event: &VersusEvent) -> Result<(), SinkError> {
        self.log.append(event, true).map_err(|error| SinkError(error.to_string()))
    }

    /// Removes a run that did not begin: its own files, `others` among them, and the folder if nothing else is in it.
    pub fn discard(self, others: &[&str]) {
        let RunFolder { path, log } = self;
        drop(log);
        // What cannot be removed is listed as what it is.
        for file in others.iter().chain(&[EVENTS]) {
            let _ = fs::remove_file(path.join(file));
        }
        let _ = fs::remove_dir(path.join(CAPTURES));
        let _ = fs::remove_dir(path);
    }

    /// The folder for captures, made if it is missing.
    pub fn captures(&self) -> Result<PathBuf, FolderError> {
        let path = self.path.join(CAPTURES);
        fs::create_dir_all(&path).at("make the folder", &path)?;
        Ok(path)
    }
}

/// Saves events as they happen. When this returns, the event has been handed to the system as one
/// whole line; one that carries a trial or a result is on the disk. After an error the folder
/// holds every event before this one, whole.
impl EventSink for RunFolder {
    fn emit(&mut self, event: &Event) -> Result<(), SinkError> {
        let durable = match event {
            Event::TrialFinished(_)
            | Event::TestFinished(_)
            | Event::ConsistencyChecked(_)
            | Event::SelfTestFinished(_)
            | Event::RunFinished(_) => true,
            Event::RunStarted(_)
            | Event::TestStarted(_)
            | Event::TestRepeated(_)
            | Event::TrialStarted(_)
            | Event::Warning(_)
            | Event::Note(_) => false,
        };
        self.log.append(event, durable).map_err(|error| SinkError(error.to_string()))
    }
}

/// Reads the events of a run folder, whole or interrupted, also while a run is writing to it.
pub fn read_events(folder: &Path) -> Result<(Vec<Event>, Vec<Notice>), FolderError> {
    refuse_comparison(folder)?;
    let path = folder.join(EVENTS);
    let bytes = fs::read(&path).at("read", &path)?;
    refuse_other_format(folder, &bytes, "run_started", EVENT_FORMAT_OLDEST..=EVENT_FORMAT)?;
    Ok(event_log::parse(&bytes))
}

/// An error where events were saved in a form of another version: lines that this program does not know
/// would otherwise go missing, and the rest be misread. Events without a version have the first. A damaged
/// first line is for the reader of events.
fn refuse_other_format(
    folder: &Path,
    bytes: &[u8],
    first_event: &str,
    reads: RangeInclusive<u32>,
) -> Result<(), FolderError> {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first: serde_json::Value = serde_json::from_slice(first).unwrap_or_default();
    let Some(started) = first.get(first_event) else { return Ok(()) };
    match started["format"].as_u64().unwrap_or(1) {
        format if u32::try_from(format).is_ok_and(|format| reads.contains(&format)) => Ok(()),
        format => Err(FolderError::OtherFormat {
            folder: folder.to_owned(),
            program: started["program"].as_str().unwrap_or("an unnamed program").to_owned(),
            format,
            reads: *reads.end(),
        }),
    }
}

/// The same of a comparison.
pub fn read_versus(folder: &Path) -> Result<(Vec<VersusEvent>, Vec<Notice>), FolderError> {
    let path = folder.join(EVENTS);
    let bytes = fs::read(&path).at("read", &path)?;
    refuse_other_format(folder, &bytes, "versus_started", VERSUS_FORMAT..=VERSUS_FORMAT)?;
    Ok(event_log::parse(&bytes))
}

/// Whether a folder holds a comparison, by its first event.
pub fn holds_comparison(folder: &Path) -> bool {
    const BEGIN: &[u8] = b"{\"versus_started\"";
    let mut begin = [0; BEGIN.len()];
    let read = File::open(folder.join(EVENTS)).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == BEGIN
}

/// An error where a folder holds a comparison and a run was asked for.
pub fn refuse_comparison(folder: &Path) -> Result<(), FolderError> {
    match holds_comparison(folder) {
        true => Err(FolderError::Comparison { folder: folder.to_owned() }),
        false => Ok(()),
    }
}

/// Replaces a file of a folder as a whole: a reader sees the old one or the new one, and on any
/// error the old one stays.
pub fn replace(folder: &Path, name: &str, contents: &[u8]) -> Result<(), FolderError> {
    let path = folder.join(name);
    let temporary = folder.join(format!(".{name}.new"));
    let written = write_synced(&temporary, contents).and_then(|()| fs::rename(&temporary, &path));
    if let Err(error) = written {
        // What is left of it only takes space; that it cannot be removed changes nothing.
        let _ = fs::remove_file(&temporary);
        return Err(FolderError::new("write", &path, &error));
    }
    sync_directory(folder)
}

fn write_synced(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(contents)?;
    file.sync_all()
}

/// So that the names in it survive a power failure too.
fn sync_directory(path: &Path) -> Result<(), FolderError> {
    File::open(path).and_then(|folder| folder.sync_all()).at("sync", path)
}

/// `2026-01-31T23-59-07Z-linux-router`: sorts by time, and has no character that a shell, a file
/// system or a URL would mind.
pub fn folder_name(name: &str, started_unix_s: i64) -> String {
    let mut plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    plain.truncate(60);
    format!("{}-{}", utc(started_unix_s).replace(':', "-"), plain.trim_matches('-'))
        .trim_end_matches('-')
        .to_string()
}

/// A time as RFC 3339 writes it, in UTC: `2026-01-31T23:59:07Z`. Times no calendar holds are
/// given as seconds.
pub fn utc(unix_s: i64) -> String {
    match jiff::Timestamp::from_second(unix_s) {
        Ok(time) => time.to_string(),
        Err(_) => format!("{unix_s} s since 1970"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folders_name_is_its_time_and_a_plain_name() {
        assert_eq!(
            folder_name("Lab #3: router/α", 951_782_400),
            "2000-02-29T00-00-00Z-Lab--3--router"
        );
        assert_eq!(folder_name("", 0), "1970-01-01T00-00-00Z");
    }

    #[test]
    fn two_runs_of_one_second_get_two_folders_and_one_folder_takes_one_run() {
        let runs = tempfile::tempdir().unwrap();
        let first = RunFolder::create(runs.path(), "same", 1).unwrap();
        let second = RunFolder::create(runs.path(), "same", 1).unwrap();
        assert_ne!(first.path(), second.path());
        let taken = RunFolder::resume(first.path());
        assert!(matches!(taken, Err(FolderError::Locked { .. })), "{taken:?}");
        let path = first.path().to_owned();
        drop(first);
        RunFolder::resume(&path).unwrap();
    }

    #[test]
    fn a_folder_of_a_given_name_takes_one_run() {
        let runs = tempfile::tempdir().unwrap();
        let path = runs.path().join("a/b");
        drop(RunFolder::create_at(&path).unwrap());
        let again = RunFolder::create_at(&path);
        assert!(matches!(again, Err(FolderError::Taken { .. })), "{again:?}");
    }

    /// A folder that was there before the run may hold anything.
    #[test]
    fn a_run_that_did_not_begin_takes_nothing_of_others_with_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis"), "years").unwrap();
        for (path, stays) in [(folder.path().join("new"), false), (folder.path().to_owned(), true)]
        {
            let run = RunFolder::create_at(&path).unwrap();
            run.captures().unwrap();
            replace(&path, "config.toml", b"").unwrap();
            run.discard(&["config.toml"]);
            assert_eq!(path.exists(), stays);
        }
        let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(left.collect::<Vec<_>>(), ["thesis"]);
    }

    #[test]
    fn replacing_leaves_the_old_file_when_it_fails() {
        let folder = tempfile::tempdir().unwrap();
        replace(folder.path(), RESULTS_JSON, b"old").unwrap();
        // A directory in the way of the temporary file makes the write fail, for root too.
        fs::create_dir(folder.path().join(".results.json.new")).unwrap();
        let error = replace(folder.path(), RESULTS_JSON, b"new").unwrap_err().to_string();
        assert!(error.contains("results.json"), "{error}");
        assert_eq!(fs::read(folder.path().join(RESULTS_JSON)).unwrap(), b"old");
    }

    /// Its other members are unknown; the version is read all the same.
    #[test]
    fn another_form_is_refused_by_its_version() {
        let folder = tempfile::tempdir().unwrap();
        let save = |line: &str| fs::write(folder.path().join(EVENTS), line).unwrap();
        save("{\"run_started\":{\"format\":9,\"program\":\"netanvil 7.0\",\"odd\":true}}\n");
        let refused = read_events(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("netanvil 7.0") && refused.contains("form 9"), "{refused}");
        let resumed = RunFolder::resume(folder.path()).unwrap_err();
        assert!(matches!(resumed, FolderError::OtherFormat { format: 9, .. }), "{resumed}");
        // A run of the form before, which had no repetitions, is read, and not gone on with.
        save("{\"run_started\":{\"format\":3,\"program\":\"netanvil 0.2\"}}\n");
        let (events, notices) = read_events(folder.path()).unwrap();
        assert_eq!((events.len(), notices.len()), (0, 1), "the form is read, the line is none");
        let resumed = RunFolder::resume(folder.path()).unwrap_err();
        assert!(matches!(resumed, FolderError::OtherFormat { format: 3, .. }), "{resumed}");
        // One saved before there were versions is refused.
        save("{\"run_started\":{\"program\":\"netanvil 0.1\"}}\n");
        let refused = read_events(folder.path()).unwrap_err().to_string();
        assert!(
            refused.contains("form 1") && refused.contains("build of netanvil 0.1"),
            "{refused}"
        );
        // A run without its beginning says nothing of its form.
        save("{\"note\":\"hello\"}\n");
        let (events, notices) = read_events(folder.path()).unwrap();
        assert_eq!((events, notices), (vec![Event::Note("hello".into())], vec![]));
    }

    #[test]
    fn a_folder_without_events_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = read_events(folder.path()).unwrap_err();
        assert!(matches!(error, FolderError::NotARunFolder { .. }));
    }
}
