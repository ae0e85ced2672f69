//! How far a copy is, told by the threads that read and write to the one that shows it.

use super::names::shown;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// What became of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It was sent and is in its place.
    Copied,
    /// It had been there already.
    Same,
    /// It is not there.
    Failed,
}

/// An entry is settled.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Settled {
    /// Its name, escaped where a terminal would obey it.
    pub name: String,
    /// What became of it.
    pub state: State,
    /// Bytes, of a file.
    pub bytes: u64,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The file that is being moved.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Current {
    /// Its name, escaped.
    pub name: String,
    /// Bytes that were moved, now or before.
    pub done_bytes: u64,
    /// Bytes in all; None if that is not known.
    pub bytes: Option<u64>,
}

/// How far a copy is.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Figures {
    /// Entries found so far, with those that are refused.
    pub entries: u64,
    /// Bytes of all files found so far.
    pub bytes: u64,
    /// Whether all have been found.
    pub all_found: bool,
    /// Entries copied.
    pub copied_entries: u64,
    /// Entries that had been there already.
    pub same_entries: u64,
    /// Entries that are not copied.
    pub failed_entries: u64,
    /// Bytes that need not be moved any more: of entries that are settled or partly moved.
    pub done_bytes: u64,
    /// Bytes of files that were moved by this copy.
    pub moved_bytes: u64,
    /// Bytes of files that an earlier attempt had moved.
    pub resumed_bytes: u64,
    /// Files of which setuid, setgid or the sticky bit were left out.
    pub special_modes: u64,
    /// Files of an unfinished copy that were left out.
    pub temporary_files: u64,
    /// Entries that --exclude left out, each with all that is in it.
    pub excluded_entries: u64,
}

/// See the module.
#[derive(Default)]
struct Counts {
    entries: AtomicU64,
    bytes: AtomicU64,
    all_found: AtomicBool,
    copied: AtomicU64,
    same: AtomicU64,
    failed: AtomicU64,
    settled_bytes: AtomicU64,
    open_bytes: AtomicU64,
    moved_bytes: AtomicU64,
    resumed_bytes: AtomicU64,
    special_modes: AtomicU64,
    temporary_files: AtomicU64,
    excluded: AtomicU64,
    current: Mutex<(Vec<u8>, u64, Option<u64>)>,
}

/// Counts; cheap to clone.
#[derive(Clone)]
pub struct Tally {
    counts: Arc<Counts>,
    settled: Sender<Settled>,
    /// Whether entries that went well are told of, too.
    verbose: bool,
}

impl Tally {
    /// With what entries came to; those that did not fail only if it is `verbose`.
    pub fn new(verbose: bool) -> (Tally, Receiver<Settled>) {
        let (settled, told) = channel();
        (Tally { counts: Arc::default(), settled, verbose }, told)
    }

    /// An entry was found.
    pub fn found(&self, bytes: u64) {
        add(&self.counts.entries, 1);
        add(&self.counts.bytes, bytes);
    }
    /// There are no more.
    pub fn all_found(&self) {
        self.counts.all_found.store(true, Ordering::Relaxed);
    }
    /// Its mode has bits that are not kept.
    pub fn special_mode(&self) {
        add(&self.counts.special_modes, 1);
    }
    /// Left out: a file of an unfinished copy.
    pub fn temporary_file(&self) {
        add(&self.counts.temporary_files, 1);
    }
    /// Left out by the patterns.
    pub fn excluded(&self) {
        add(&self.counts.excluded, 1);
    }
    /// A file is begun, at this byte.
    pub fn begin(&self, name: &[u8], from: u64, bytes: Option<u64>) {
        add(&self.counts.resumed_bytes, from);
        *self.current() = (name.to_vec(), from, bytes);
        self.counts.open_bytes.store(from, Ordering::Relaxed);
    }
    /// Bytes of it were moved.
    pub fn moved(&self, bytes: u64) {
        add(&self.counts.moved_bytes, bytes);
        add(&self.counts.open_bytes, bytes);
        self.current().1 += bytes;
    }
    /// All of it was moved; whether it is whole will be told.
    pub fn end(&self, bytes: u64) {
        self.counts.open_bytes.store(0, Ordering::Relaxed);
        add(&self.counts.settled_bytes, bytes);
    }
    /// It was given up on.
    pub fn drop_current(&self) {
        self.counts.open_bytes.store(0, Ordering::Relaxed);
    }
    /// All of it was moved, and has to be again.
    pub fn again(&self, bytes: u64) {
        let less = |count: u64| Some(count.saturating_sub(bytes));
        let _ = self.counts.settled_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
    /// An entry was there already.
    pub fn same(&self, name: &[u8], bytes: u64) {
        add(&self.counts.same, 1);
        add(&self.counts.settled_bytes, bytes);
        self.tell(name, State::Same, bytes, None);
    }
    /// An entry is in its place.
    pub fn copied(&self, name: &[u8], bytes: u64) {
        add(&self.counts.copied, 1);
        self.tell(name, State::Copied, bytes, None);
    }
    /// An entry is not.
    pub fn failed(&self, name: &[u8], bytes: u64, reason: &str) {
        add(&self.counts.failed, 1);
        self.tell(name, State::Failed, bytes, Some(shown(reason.as_bytes())));
    }

    fn tell(&self, name: &[u8], state: State, bytes: u64, reason: Option<String>) {
        if self.verbose || state == State::Failed {
            let _ = self.settled.send(Settled { name: shown(name), state, bytes, reason });
        }
    }

    fn current(&self) -> std::sync::MutexGuard<'_, (Vec<u8>, u64, Option<u64>)> {
        self.counts.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it is.
    pub fn figures(&self) -> Figures {
        let counts = &self.counts;
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Figures {
            entries: get(&counts.entries),
            bytes: get(&counts.bytes),
            all_found: counts.all_found.load(Ordering::Relaxed),
            copied_entries: get(&counts.copied),
            same_entries: get(&counts.same),
            failed_entries: get(&counts.failed),
            done_bytes: get(&counts.settled_bytes) + get(&counts.open_bytes),
            moved_bytes: get(&counts.moved_bytes),
            resumed_bytes: get(&counts.resumed_bytes),
            special_modes: get(&counts.special_modes),
            temporary_files: get(&counts.temporary_files),
            excluded_entries: get(&counts.excluded),
        }
    }
    /// The file that is being moved, or was last.
    pub fn current_file(&self) -> Current {
        let (name, done_bytes, bytes) = &*self.current();
        Current { name: shown(name), done_bytes: *done_bytes, bytes: *bytes }
    }
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}
