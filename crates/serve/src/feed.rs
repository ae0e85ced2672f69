//! A record, followed while it grows: each whole line once, for any number of clients.

use crate::digest;
use crate::folder::{Kind, is_written};
use crate::gauges::Gauges;
use method::{Event, TrialRecord};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How often a record is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// A finished record is kept for `/metrics` for so long, so that its last numbers are seen.
const KEPT: Duration = Duration::from_secs(300);
/// No more than so many are.
const KEPT_MOST: usize = 16;
/// So many records stay open that were asked for last: a page asks again and again.
const RECENT_MOST: usize = 4;

/// A line as clients get it.
#[derive(Clone, Debug)]
pub struct Line {
    /// Where it ends in the file: by this a client goes on after it.
    pub id: u64,
    /// What the page is told of it, as JSON.
    pub data: Arc<str>,
}

#[derive(Default)]
struct Content {
    lines: Vec<Line>,
    gauges: Gauges,
    /// Bytes of whole lines.
    until: u64,
    /// How often the file was replaced by a shorter one.
    generation: u64,
    /// Where the line of each trial is, by its number: beginning and end.
    trials: BTreeMap<u64, (u64, u64)>,
}

/// A record that is followed.
pub struct Feed {
    /// The name of its folder.
    pub id: String,
    kind: Kind,
    file: PathBuf,
    read: Mutex<Content>,
    /// Generation and number of lines.
    grown: watch::Sender<(u64, usize)>,
}

impl Feed {
    fn open(id: &str, kind: Kind, file: PathBuf) -> Arc<Feed> {
        let grown = watch::Sender::new((0, 0));
        let feed = Arc::new(Feed { id: id.into(), kind, file, read: Mutex::default(), grown });
        feed.look();
        let followed = Arc::downgrade(&feed);
        std::thread::spawn(move || follow(&followed));
        feed
    }

    fn read(&self) -> MutexGuard<'_, Content> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what the file has more. That it cannot be read is told by the list of runs.
    fn look(&self) {
        let _ = self.take_more();
    }

    fn take_more(&self) -> io::Result<()> {
        let mut file = File::open(&self.file)?;
        let length = file.metadata()?.len();
        let mut read = self.read();
        if length < read.until {
            *read = Content { generation: read.generation + 1, ..Content::default() };
        }
        if length == read.until {
            return Ok(());
        }
        file.seek(SeekFrom::Start(read.until))?;
        let mut bytes = vec![];
        file.take(length - read.until).read_to_end(&mut bytes)?;
        // A line is whole with its line feed.
        for line in
            bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"))
        {
            let number = read.lines.len() as u64 + 1;
            let data = self.take_line(line, number, &mut read.gauges);
            let from = read.until;
            read.until += line.len() as u64;
            let id = read.until;
            if data["kind"] == "trial" {
                read.trials.insert(data["number"].as_u64().unwrap_or(0), (from, id));
            }
            read.lines.push(Line { id, data: data.to_string().into() });
        }
        let state = (read.generation, read.lines.len());
        drop(read);
        self.grown.send_replace(state);
        Ok(())
    }

    fn take_line(&self, line: &[u8], number: u64, gauges: &mut Gauges) -> Value {
        match self.kind {
            Kind::Run => match serde_json::from_slice::<Event>(line) {
                Ok(event) => {
                    gauges.take_event(&event);
                    digest::of_event(&event)
                }
                Err(error) => digest::unreadable(number, &error.to_string()),
            },
            Kind::Traffic => match serde_json::from_slice::<Value>(line) {
                Ok(line) => {
                    gauges.take_traffic(&line);
                    digest::of_traffic(line)
                }
                Err(error) => digest::unreadable(number, &error.to_string()),
            },
            // A page shows its report.
            Kind::Comparison => serde_json::json!({ "kind": "comparison" }),
        }
    }

    /// Lines after this id, the first `most` of them; whether the id is none of this record.
    pub fn after(&self, id: u64, most: usize) -> (Vec<Line>, bool) {
        let read = self.read();
        let from = read.lines.partition_point(|line| line.id <= id);
        let is_known = id == 0 || from > 0 && read.lines[from - 1].id == id;
        let from = if is_known { from } else { 0 };
        (read.lines[from..].iter().take(most).cloned().collect(), !is_known)
    }

    /// A trial of a run, read again from the file.
    pub fn trial(&self, number: u64) -> io::Result<Option<TrialRecord>> {
        let Some((from, until)) = self.read().trials.get(&number).copied() else { return Ok(None) };
        let mut file = File::open(&self.file)?;
        file.seek(SeekFrom::Start(from))?;
        let mut line = vec![];
        file.take(until - from).read_to_end(&mut line)?;
        match serde_json::from_slice(&line)? {
            Event::TrialFinished(record) => Ok(Some(*record)),
            _ => Ok(None),
        }
    }

    /// Tells when there is more.
    pub fn grown(&self) -> watch::Receiver<(u64, usize)> {
        self.grown.subscribe()
    }

    /// How many lines it has.
    pub fn lines(&self) -> usize {
        self.read().lines.len()
    }

    /// The numbers of this moment.
    pub fn gauges(&self) -> Gauges {
        self.read().gauges.clone()
    }

    /// Whether some process writes to it.
    pub fn is_written(&self) -> bool {
        is_written(&self.file)
    }

    /// What it is of.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

/// As long as somebody wants it.
fn follow(feed: &Weak<Feed>) {
    while let Some(feed) = feed.upgrade() {
        feed.look();
        drop(feed);
        std::thread::sleep(LOOK);
    }
}

/// All records that somebody follows.
#[derive(Default)]
pub struct Feeds {
    open: Mutex<BTreeMap<PathBuf, Weak<Feed>>>,
    recent: Mutex<VecDeque<Arc<Feed>>>,
    /// Those for `/metrics`, with the time at which each was last seen to run.
    kept: Mutex<Vec<(Arc<Feed>, Instant)>>,
}

impl Feeds {
    /// The feed of a record, as far as it goes now.
    pub fn open(&self, id: &str, folder: &Path) -> Option<Arc<Feed>> {
        let (kind, file) = crate::folder::record(folder)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, feed| feed.strong_count() > 0);
        if let Some(feed) = open.get(&file).and_then(Weak::upgrade) {
            return Some(feed);
        }
        let feed = Feed::open(id, kind, file.clone());
        open.insert(file, Arc::downgrade(&feed));
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.push_back(feed.clone());
        let surplus = recent.len().saturating_sub(RECENT_MOST);
        recent.drain(..surplus);
        Some(feed)
    }

    /// Keeps a record that runs for `/metrics`.
    pub fn keep(&self, feed: Arc<Feed>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.iter().any(|(known, _)| Arc::ptr_eq(known, &feed)) {
            kept.push((feed, Instant::now()));
        }
    }

    /// Records that run, or ran a short time ago, and whether they still do.
    pub fn kept(&self) -> Vec<(Arc<Feed>, bool)> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut states = vec![];
        for (feed, seen) in kept.iter_mut() {
            let runs = feed.is_written();
            if runs {
                *seen = Instant::now();
            }
            feed.look();
            states.push((feed.clone(), runs));
        }
        let mut place = 0;
        kept.retain(|(_, seen)| {
            place += 1;
            states[place - 1].1 || seen.elapsed() < KEPT
        });
        let surplus = kept.len().saturating_sub(KEPT_MOST);
        kept.drain(..surplus);
        states
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn feed(folder: &Path) -> Arc<Feed> {
        Feeds::default().open("run", folder).unwrap()
    }

    fn texts(lines: &[Line]) -> Vec<String> {
        let text =
            |line: &Line| serde_json::from_str::<Value>(&line.data).unwrap()["text"].to_string();
        lines.iter().map(text).collect()
    }

    #[test]
    fn a_client_that_comes_back_gets_what_it_missed_and_nothing_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        std::fs::write(&path, "{\"note\":\"one\"}\n{\"note\":\"two\"}\n{\"no").unwrap();
        let feed = feed(folder.path());
        let (lines, is_reset) = feed.after(0, 100);
        assert_eq!((texts(&lines), is_reset), (vec!["\"one\"".into(), "\"two\"".into()], false));
        // `{"note":"one"}` and its line feed are 15 bytes.
        assert_eq!(lines[0].id, 15);
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"te\":\"three\"}\n").unwrap();
        feed.look();
        assert_eq!(texts(&feed.after(15, 100).0), ["\"two\"", "\"three\""]);
        assert_eq!(texts(&feed.after(15, 1).0), ["\"two\""]);
        assert_eq!(texts(&feed.after(lines[1].id, 100).0), ["\"three\""]);
        // An id of another record: all from the beginning.
        for odd in [16, 14, u64::MAX] {
            let (lines, is_reset) = feed.after(odd, 100);
            assert_eq!((lines.len(), is_reset), (3, true), "{odd}");
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_is_told() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join("events.jsonl"),
            "{\"note\":\"one\"}\n\0\0\n{\"odd\":1}\n",
        )
        .unwrap();
        let lines = feed(folder.path()).after(0, 100).0;
        assert_eq!(lines.len(), 3);
        for (line, number) in [(&lines[1], 2), (&lines[2], 3)] {
            let told: Value = serde_json::from_str(&line.data).unwrap();
            assert_eq!(
                (told["kind"].as_str(), told["line"].as_u64()),
                (Some("unreadable"), Some(number))
            );
        }
    }

    #[test]
    fn a_record_that_was_replaced_begins_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        std::fs::write(&path, "{\"note\":\"one\"}\n{\"note\":\"two\"}\n").unwrap();
        let feed = feed(folder.path());
        std::fs::write(&path, "{\"note\":\"new\"}\n").unwrap();
        feed.look();
        assert_eq!(texts(&feed.after(0, 100).0), ["\"new\""]);
        assert_eq!(feed.grown().borrow().0, 1);
    }
}
