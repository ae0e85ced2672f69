//! The event log: one event a line, appended and never rewritten, so that a run that is killed
//! keeps every line before the one it was writing.

use crate::run_folder::{At, FolderError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What a reader of saved events should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Notice {
    /// The last line was cut short: the run was killed, or the disk was full, while it was
    /// written.
    TornLine {
        /// Number of the line, from 1.
        line: u64,
        /// Bytes dropped.
        dropped_bytes: u64,
    },
    /// A whole line that does not read as an event: the file was damaged, or a newer version
    /// wrote it.
    UnreadableLine {
        /// Number of the line, from 1.
        line: u64,
        /// What the parser said.
        detail: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TornLine { line, dropped_bytes } => write!(
                f,
                "the run was interrupted while saving line {line} of its events: {dropped_bytes} \
                 bytes of an unfinished line were dropped; everything before it is here"
            ),
            Self::UnreadableLine { line, detail } => write!(
                f,
                "line {line} of the saved events cannot be read and is MISSING here ({detail}): \
                 the file was damaged, or a newer version wrote it"
            ),
        }
    }
}

/// Reads events. Never fails: what cannot be read is named in a notice.
pub(crate) fn parse<E: DeserializeOwned>(bytes: &[u8]) -> (Vec<E>, Vec<Notice>) {
    let mut events = vec![];
    let mut notices = vec![];
    for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        // A line is whole only with its line feed, even where what is there happens to parse:
        // `12` may have been going to be `123`.
        let Some(whole) = line.strip_suffix(b"\n") else {
            notices.push(Notice::TornLine { line: number, dropped_bytes: line.len() as u64 });
            break;
        };
        match serde_json::from_slice(whole) {
            Ok(event) => events.push(event),
            Err(error) => {
                notices.push(Notice::UnreadableLine { line: number, detail: error.to_string() })
            }
        }
    }
    (events, notices)
}

/// The open log. Holds the folder's lock as long as it lives.
#[derive(Debug)]
pub(crate) struct EventLog {
    path: PathBuf,
    file: File,
    /// Length of the whole lines.
    length_bytes: u64,
}

impl EventLog {
    pub(crate) fn create(path: &Path) -> Result<Self, FolderError> {
        let file = OpenOptions::new().append(true).read(true).create_new(true).open(path);
        let file = file.at("make", path)?;
        lock(&file, path)?;
        Ok(EventLog { path: path.to_owned(), file, length_bytes: 0 })
    }

    /// Opens a log to go on with it, and gives what it held; a torn last line is cut off.
    pub(crate) fn reopen(path: &Path) -> Result<(Self, Vec<u8>), FolderError> {
        let file = OpenOptions::new().append(true).read(true).open(path).at("open", path)?;
        lock(&file, path)?;
        let mut bytes = vec![];
        (&file).read_to_end(&mut bytes).at("read", path)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let mut log = EventLog { path: path.to_owned(), file, length_bytes: whole as u64 };
        log.cut().at("cut the torn last line of", path)?;
        Ok((log, bytes))
    }

    pub(crate) fn append<E: Serialize>(
        &mut self,
        event: &E,
        durable: bool,
    ) -> Result<(), FolderError> {
        let mut line = serde_json::to_vec(event)
            .map_err(std::io::Error::from)
            .at("put an event into words for", &self.path)?;
        line.push(b'\n');
        let written = self.file.write_all(&line).and_then(|()| match durable {
            true => self.file.sync_data(),
            false => Ok(()),
        });
        if written.is_err() {
            // Part of the line may be there. If cutting it off fails too, a reader drops it.
            let _ = self.cut();
        } else {
            self.length_bytes += line.len() as u64;
        }
        written.at("append to", &self.path)
    }

    fn cut(&mut self) -> std::io::Result<()> {
        self.file.set_len(self.length_bytes)?;
        self.file.seek(SeekFrom::End(0)).map(|_| ())
    }
}

fn lock(file: &File, path: &Path) -> Result<(), FolderError> {
    let folder = path.parent().unwrap_or(path);
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(FolderError::Locked { folder: folder.to_owned() }),
        // File systems without locks exist; a run without a lock is better than no run.
        Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => {
            Ok(())
        }
        Err(TryLockError::Error(error)) => Err(FolderError::new("lock", path, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_without_its_end_is_torn_even_if_it_parses() {
        let (events, notices) = parse::<u32>(b"1\n2\n34");
        assert_eq!(events, [1, 2]);
        assert_eq!(notices, [Notice::TornLine { line: 3, dropped_bytes: 2 }]);
    }

    #[test]
    fn a_damaged_line_in_the_middle_is_named_and_the_rest_is_read() {
        let (events, notices) = parse::<u32>(b"1\n\0\0\0\n3\n");
        assert_eq!(events, [1, 3]);
        assert!(matches!(notices[..], [Notice::UnreadableLine { line: 2, .. }]), "{notices:?}");
    }

    #[test]
    fn a_full_device_is_called_full() {
        let file = OpenOptions::new().append(true).read(true).open("/dev/full").unwrap();
        let mut log = EventLog { path: "/dev/full".into(), file, length_bytes: 0 };
        let error = log.append(&1, false).unwrap_err();
        assert!(matches!(error, FolderError::Full { .. }), "{error}");
        assert!(error.to_string().contains("--resume"), "{error}");
    }

    proptest! {
        /// Killed after any byte: every whole line is kept, and resuming goes on from there.
        #[test]
        fn killed_anywhere_it_resumes(
            events in prop::collection::vec("\\PC{0,20}", 0..8), cut: prop::sample::Index
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("events.jsonl");
            let mut log = EventLog::create(&path).unwrap();
            events.iter().for_each(|event| log.append(event, false).unwrap());
            drop(log);
            let bytes = std::fs::read(&path).unwrap();
            let kept = &bytes[..cut.index(bytes.len() + 1)];
            std::fs::write(&path, kept).unwrap();

            let whole = kept.iter().filter(|byte| **byte == b'\n').count();
            let (read, notices) = parse::<String>(kept);
            prop_assert_eq!(&read[..], &events[..whole]);
            prop_assert_eq!(notices.is_empty(), kept.is_empty() || kept.ends_with(b"\n"));

            EventLog::reopen(&path).unwrap().0.append(&"after", true).unwrap();
            let (read, notices) = parse::<String>(&std::fs::read(&path).unwrap());
            prop_assert_eq!(notices, vec![]);
            prop_assert_eq!(read.len(), whole + 1);
            prop_assert_eq!(&read[whole], "after");
        }
    }
}
