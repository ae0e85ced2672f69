//! The folder of runs: what is in it, and how far each came.

use crate::ServeError;
use crate::refusal::Refusal;
use report::run_folder::EVENTS;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

/// What `netanvil traffic --json` prints, in the folder of traffic that was started here.
pub const TRAFFIC: &str = "traffic.jsonl";
/// The last line of a record is looked for in so many bytes at its end.
const TAIL_BYTES: u64 = 1 << 16;
/// A first line is no longer.
const HEAD_BYTES: u64 = 1 << 22;

/// What a record is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `netanvil run`.
    Run,
    /// `netanvil traffic`.
    Traffic,
    /// `netanvil versus`.
    Comparison,
}

/// How far it came.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum State {
    /// A process is writing to it.
    Running,
    /// To its end.
    Complete,
    /// To its end, but a test has no valid result.
    Invalid,
    /// It ended early and said why.
    Stopped {
        /// In its own words.
        why: String,
    },
    /// Its record ends without an end.
    CutOff,
}

/// One record in a list.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Entry {
    /// The name of its folder.
    pub id: String,
    /// What it is of.
    pub kind: Kind,
    /// What was tested, in the user's words.
    pub device: String,
    /// When its record last grew.
    pub changed_unix_s: u64,
    /// How far it came.
    #[serde(flatten)]
    pub state: State,
    /// Why its beginning cannot be read; empty where it can.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unreadable: String,
}

/// The folder of runs.
pub struct Folder {
    path: PathBuf,
    /// Entries by name, with length and time of the record that they were read from.
    known: Mutex<BTreeMap<String, (u64, u64, Entry)>>,
}

impl Folder {
    pub fn new(path: PathBuf) -> Result<Self, ServeError> {
        if path.join(EVENTS).exists() || path.join(TRAFFIC).exists() {
            let detail = "it is a run itself; name the folder that holds it".into();
            return Err(ServeError::Folder { folder: path, detail });
        }
        if path.exists() && !path.is_dir() {
            return Err(ServeError::Folder { folder: path, detail: "it is a file".into() });
        }
        Ok(Folder { path, known: Mutex::default() })
    }

    /// The folder itself, made if it is missing.
    pub fn make(&self) -> std::io::Result<&Path> {
        fs::create_dir_all(&self.path)?;
        Ok(&self.path)
    }

    /// Where a run of this name is or would be.
    pub fn path_of(&self, id: &str) -> Result<PathBuf, Refusal> {
        let mut parts = Path::new(id).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(name)), None)
                if name == id && !id.starts_with('.') && !id.contains('\0') =>
            {
                Ok(self.path.join(id))
            }
            _ => Err(Refusal::bad(format!("{id:?} is no name of a run"))
                .help("GET /api/state lists the runs")),
        }
    }

    /// Where a saved run of this name is. A symbolic link is none: it may lead out of the folder.
    pub fn find(&self, id: &str) -> Result<PathBuf, Refusal> {
        let path = self.path_of(id)?;
        match fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir())
            && record(&path).is_some()
        {
            true => Ok(path),
            false => {
                Err(Refusal::missing(format!("there is no run {id:?} in {}", self.path.display()))
                    .help("GET /api/state lists the runs"))
            }
        }
    }

    /// Everything in it, the latest first.
    pub fn list(&self) -> Vec<Entry> {
        let locked = locked_inodes();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut now, mut all) = (BTreeMap::new(), vec![]);
        for (id, kind, file) in self.records() {
            let Ok(found) = fs::metadata(&file) else { continue };
            let state = (found.len(), modified(&found));
            let entry = match known.remove(&id) {
                Some((bytes, at, entry)) if (bytes, at) == state => entry,
                _ => read(&id, kind, &file, state.1),
            };
            let is_running = locked.contains(&found.ino());
            let running = || Entry { state: State::Running, ..entry.clone() };
            all.push(if is_running { running() } else { entry.clone() });
            now.insert(id, (state.0, state.1, entry));
        }
        *known = now;
        all.sort_by(|a, b| (b.changed_unix_s, &b.id).cmp(&(a.changed_unix_s, &a.id)));
        all
    }

    fn records(&self) -> Vec<(String, Kind, PathBuf)> {
        let folders = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let folders = folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let named =
            folders.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())));
        let records =
            named.filter_map(|(id, path)| record(&path).map(|(kind, file)| (id, kind, file)));
        records.filter(|(id, ..)| !id.starts_with('.')).collect()
    }
}

/// The record in a folder, if it is the folder of a run.
pub fn record(folder: &Path) -> Option<(Kind, PathBuf)> {
    let (events, traffic) = (folder.join(EVENTS), folder.join(TRAFFIC));
    let comparison = || report::run_folder::holds_comparison(folder);
    match (events.is_file(), traffic.is_file()) {
        (true, _) if comparison() => Some((Kind::Comparison, events)),
        (true, _) => Some((Kind::Run, events)),
        (_, true) => Some((Kind::Traffic, traffic)),
        _ => None,
    }
}

fn modified(of: &fs::Metadata) -> u64 {
    let modified = of.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    modified.map_or(0, |since| since.as_secs())
}

/// Files that some process holds a lock on, as the kernel lists them. To try the lock would keep a run
/// from taking it.
fn locked_inodes() -> Vec<u64> {
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let held = locks.lines().filter(|line| line.contains("FLOCK"));
    let inode = |line: &str| line.split_whitespace().nth(5)?.rsplit(':').next()?.parse().ok();
    held.filter_map(inode).collect()
}

/// Whether some process writes to this record.
pub fn is_written(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| locked_inodes().contains(&found.ino()))
}

fn read(id: &str, kind: Kind, file: &Path, changed_unix_s: u64) -> Entry {
    let head = head(file).unwrap_or_default();
    let first: Value = serde_json::from_slice(&head).unwrap_or_default();
    let last = last_line(file).unwrap_or_default();
    let device = match kind {
        Kind::Run => first["run_started"]["device"].as_str().map(str::to_owned),
        Kind::Traffic => first["device"].as_str().map(str::to_owned),
        Kind::Comparison => first["versus_started"]["devices"][0].as_str().map(str::to_owned),
    };
    let state = match kind {
        Kind::Run => ended(&last["run_finished"]),
        Kind::Traffic => last["event"]
            .as_str()
            .filter(|event| *event == "summary")
            .map(|_| if last["tester_kept_up"] == true { State::Complete } else { State::Invalid }),
        Kind::Comparison => {
            let why = last["versus_stopped"].as_str().map(|why| State::Stopped { why: why.into() });
            last.get("versus_finished").map(|_| State::Complete).or(why)
        }
    };
    let unreadable = match &device {
        Some(_) => "",
        None if !is_a_line(&head) => "its record has no line yet",
        None => "the first line of its record cannot be read",
    };
    Entry {
        id: id.into(),
        kind,
        device: device.unwrap_or_default(),
        changed_unix_s,
        state: state.unwrap_or(State::CutOff),
        unreadable: unreadable.into(),
    }
}

/// How a run says that it ended.
fn ended(finished: &Value) -> Option<State> {
    let finished = finished.as_object()?;
    let invalid = finished.get("invalid_tests").and_then(Value::as_array);
    Some(match finished.get("stopped_by").and_then(Value::as_str) {
        Some(why) => State::Stopped { why: why.into() },
        None if invalid.is_some_and(|tests| !tests.is_empty()) => State::Invalid,
        None => State::Complete,
    })
}

fn head(file: &Path) -> Option<Vec<u8>> {
    let mut line = vec![];
    let mut reader = BufReader::new(File::open(file).ok()?.take(HEAD_BYTES));
    reader.read_until(b'\n', &mut line).ok()?;
    Some(line)
}

/// Whether the first line is whole, or longer than what is read of one.
fn is_a_line(head: &[u8]) -> bool {
    head.ends_with(b"\n") || head.len() as u64 == HEAD_BYTES
}

/// The last whole line, if it is short: the lines that end a record are.
fn last_line(file: &Path) -> Option<Value> {
    let mut file = File::open(file).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES))).ok()?;
    let mut bytes = vec![];
    file.take(TAIL_BYTES).read_to_end(&mut bytes).ok()?;
    let whole = bytes.strip_suffix(b"\n")?;
    serde_json::from_slice(whole.rsplit(|byte| *byte == b'\n').next()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let runs = tempfile::tempdir().unwrap();
        let folder = Folder::new(runs.path().to_owned()).unwrap();
        (runs, folder)
    }

    fn save(runs: &tempfile::TempDir, id: &str, name: &str, text: &str) -> PathBuf {
        let path = runs.path().join(id);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join(name), text).unwrap();
        path.join(name)
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let (runs, folder) = folder();
        save(&runs, "good", EVENTS, "");
        for bad in ["", ".", "..", "../x", "/etc", "a/b", "good/", "./good", ".hidden", "a\0b"] {
            assert!(folder.path_of(bad).is_err(), "{bad:?}");
        }
        assert!(folder.find("good").is_ok());
        assert!(folder.find("other").is_err());
        std::os::unix::fs::symlink(runs.path().join("good"), runs.path().join("link")).unwrap();
        assert!(folder.find("link").is_err());
        assert_eq!(folder.list().len(), 1);
    }

    #[test]
    fn a_list_says_how_far_each_run_came() {
        let (runs, folder) = folder();
        let begin = "{\"run_started\":{\"device\":\"router\"}}\n";
        save(&runs, "cut", EVENTS, begin);
        save(&runs, "torn", EVENTS, &format!("{begin}{{\"run_finished\":{{}}}}"));
        let end = |stopped: &str, invalid: &str| {
            format!(
                "{begin}{{\"run_finished\":{{\"stopped_by\":{stopped},\"invalid_tests\":[{invalid}]}}}}\n"
            )
        };
        save(&runs, "done", EVENTS, &end("null", ""));
        save(&runs, "invalid", EVENTS, &end("null", "\"throughput\""));
        save(&runs, "stopped", EVENTS, &end("\"interrupted\"", ""));
        save(&runs, "strange", EVENTS, "\0\n");
        save(&runs, "empty", EVENTS, "");
        save(&runs, "begins", EVENTS, "{\"run_st");
        save(
            &runs,
            "sent",
            TRAFFIC,
            "{\"event\":\"start\",\"device\":\"d\"}\n{\"event\":\"summary\",\"tester_kept_up\":true}\n",
        );
        save(&runs, "none", "notes.txt", "");
        let list = folder.list();
        let state =
            |id: &str| list.iter().find(|entry| entry.id == id).map(|entry| entry.state.clone());
        assert_eq!(state("cut"), Some(State::CutOff));
        assert_eq!(state("torn"), Some(State::CutOff), "a line without its end may go on");
        assert_eq!(state("done"), Some(State::Complete));
        assert_eq!(state("invalid"), Some(State::Invalid));
        assert_eq!(state("stopped"), Some(State::Stopped { why: "interrupted".into() }));
        assert_eq!(state("sent"), Some(State::Complete));
        assert_eq!(state("none"), None);
        let unreadable =
            |id: &str| list.iter().find(|entry| entry.id == id).unwrap().unreadable.as_str();
        assert_eq!(unreadable("done"), "");
        assert_eq!(unreadable("strange"), "the first line of its record cannot be read");
        assert_eq!([unreadable("empty"), unreadable("begins")], ["its record has no line yet"; 2]);
    }

    #[test]
    fn a_record_with_a_lock_is_being_written() {
        let (runs, folder) = folder();
        let file = save(&runs, "busy", EVENTS, "{}\n");
        let open = File::open(&file).unwrap();
        assert!(!is_written(&file));
        open.lock().unwrap();
        assert!(is_written(&file));
        assert_eq!(folder.list()[0].state, State::Running);
        drop(open);
        assert_eq!(folder.list()[0].state, State::CutOff);
    }

    #[test]
    fn a_run_is_no_folder_of_runs() {
        let runs = tempfile::tempdir().unwrap();
        fs::write(runs.path().join(EVENTS), "").unwrap();
        assert!(matches!(Folder::new(runs.path().to_owned()), Err(ServeError::Folder { .. })));
    }
}
