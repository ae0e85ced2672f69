//! Where bytes go: a file that appears under its name when it is whole and verified, or memory.

use crate::agreement::{DIGEST_BYTES, Layout};
use crate::ranges::Ranges;
use crate::source::memory_byte;
use cap_std::fs::{Dir, OpenOptions};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Read at once while verifying.
const CHUNK_BYTES: usize = 1 << 20;

/// Takes buffers, in any order, each once.
pub trait Sink: Send {
    /// Buffer `index` has come.
    fn store(&mut self, index: u64, data: &[u8]) -> io::Result<()>;
    /// All have come: makes sure that they are right, and what they make visible. Gives a digest.
    fn finish(&mut self) -> io::Result<Option<String>>;
}

/// The first line of a journal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Header {
    size: u64,
    version: String,
}

/// Who writes which file. A newer attempt at the same version takes over from one that may have
/// lost its sender and does not know yet.
#[derive(Clone, Default)]
pub struct Writers(Arc<Mutex<BTreeMap<String, Version>>>);

/// The version of a file that is being written, and by whom.
type Version = (String, Arc<Mutex<Writing>>);

/// A file that is being written.
#[derive(Default)]
struct Writing {
    taken_over: bool,
    /// Holds the lock on the temporary file, against other processes.
    locked: Option<File>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Writers {
    /// Begins to write. An error if somebody writes another version.
    fn enter(&self, name: &str, version: &str) -> io::Result<Arc<Mutex<Writing>>> {
        let mut all = lock(&self.0);
        all.retain(|_, (_, writing)| Arc::strong_count(writing) > 1);
        if let Some((their_version, theirs)) = all.get(name) {
            if their_version != version {
                return Err(io::Error::other("another version of this file is on its way"));
            }
            let mut theirs = lock(theirs);
            theirs.taken_over = true;
            theirs.locked.take().map(|file| file.unlock()).transpose()?;
        }
        let mine = Arc::new(Mutex::new(Writing::default()));
        all.insert(name.to_owned(), (version.to_owned(), mine.clone()));
        Ok(mine)
    }
}

/// A file on its way: its bytes under a temporary name beside where it will be, and a journal of
/// those that are there, so that a broken transfer goes on at the missing ones.
pub struct Partial {
    dir: Dir,
    name: String,
    overwrite: bool,
    size: u64,
    file: File,
    journal: File,
    here: Ranges,
    writing: Arc<Mutex<Writing>>,
}

fn part_name(name: &str) -> String {
    beside(name, "netblt-part")
}
fn journal_name(name: &str) -> String {
    beside(name, "netblt-journal")
}
/// A hidden name in the same directory.
fn beside(name: &str, kind: &str) -> String {
    match name.rsplit_once('/') {
        Some((parent, last)) => format!("{parent}/.{last}.{kind}"),
        None => format!(".{name}.{kind}"),
    }
}

/// Whether a peer may use this name: a plain relative path, without our own temporary names.
pub fn check_name(name: &str) -> Result<(), String> {
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    let temporary = name.ends_with(".netblt-part") || name.ends_with(".netblt-journal");
    if name.len() > 255 || name.contains('\0') || !name.split('/').all(plain) || temporary {
        return Err("not a name of a file in the served directory".to_owned());
    }
    Ok(())
}

/// What an earlier attempt at a file left: its version and what is here of it.
pub fn left_over(dir: &Dir, name: &str) -> Option<(String, u64, Ranges)> {
    let journal = dir.open(journal_name(name)).ok()?.into_std();
    let part = dir.open(part_name(name)).ok()?.into_std();
    let (header, here) = read_journal(journal)?;
    let fits = here.iter().last().is_none_or(|last| {
        part.metadata().is_ok_and(|metadata| metadata.len() >= last.end) && last.end <= header.size
    });
    fits.then_some((header.version, header.size, here))
}

/// A line that was cut off, or any other that is none of ours, counts for nothing.
fn read_journal(file: File) -> Option<(Header, Ranges)> {
    let mut lines = BufReader::new(file).lines().map_while(Result::ok);
    let header = serde_json::from_str(&lines.next()?).ok()?;
    let mut here = Ranges::default();
    for line in lines {
        if let Some(range) = line.strip_suffix(';').and_then(Ranges::parse) {
            range.iter().for_each(|range| here.insert(range));
        }
    }
    Some((header, here))
}

impl Partial {
    /// Goes on with what is left of an earlier attempt at the same version, or begins anew.
    pub fn open(
        dir: Dir,
        name: &str,
        size: u64,
        version: &str,
        overwrite: bool,
        writers: &Writers,
    ) -> io::Result<Partial> {
        if !overwrite && dir.symlink_metadata(name).is_ok() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the file exists already"));
        }
        let writing = writers.enter(name, version)?;
        let before = left_over(&dir, name).filter(|left| left.0 == version && left.1 == size);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = dir.open_with(part_name(name), &options)?.into_std();
        file.try_lock().map_err(|_| io::Error::other("somebody else writes this file now"))?;
        lock(&writing).locked = Some(file.try_clone()?);
        let journal = dir.open_with(journal_name(name), &options)?.into_std();
        let here = before.map(|(_, _, here)| here).unwrap_or_default();
        let name = name.to_owned();
        let mut partial = Partial { dir, name, overwrite, size, file, journal, here, writing };
        partial.begin(Header { size, version: version.to_owned() })?;
        Ok(partial)
    }

    /// Writes the journal anew, as short as it can be.
    fn begin(&mut self, header: Header) -> io::Result<()> {
        if self.here == Ranges::default() {
            self.file.set_len(0)?;
        }
        self.journal.set_len(0)?;
        let mut text = serde_json::to_string(&header)? + "\n";
        for range in self.here.iter() {
            text += &format!("{}-{};\n", range.start, range.end);
        }
        self.journal.write_all(text.as_bytes())
    }

    /// What is here.
    pub fn here(&self) -> &Ranges {
        &self.here
    }

    /// Takes what is missing beyond `have`, which the other end does not send.
    pub fn into_sink(self, have: &Ranges, layout: Layout) -> FileSink {
        let missing = have.missing(self.size);
        FileSink { partial: self, missing, layout, digest: [0; DIGEST_BYTES as usize] }
    }

    fn write(&mut self, data: &[u8], start: u64) -> io::Result<()> {
        self.file.write_all_at(data, start)?;
        let end = start + data.len() as u64;
        self.here.insert(start..end);
        self.journal.write_all(format!("{start}-{end};\n").as_bytes())
    }

    fn digest(&self) -> io::Result<blake3::Hash> {
        let mut hasher = blake3::Hasher::new();
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut at = 0;
        while at < self.size {
            let piece = (self.size - at).min(CHUNK_BYTES as u64) as usize;
            self.file.read_exact_at(&mut chunk[..piece], at)?;
            hasher.update(&chunk[..piece]);
            at += piece as u64;
        }
        Ok(hasher.finalize())
    }

    fn discard(&self) {
        let _ = self.dir.remove_file(journal_name(&self.name));
        let _ = self.dir.remove_file(part_name(&self.name));
    }

    /// Gives the file its name.
    fn publish(&self) -> io::Result<()> {
        let part = part_name(&self.name);
        self.file.set_len(self.size)?;
        self.file.sync_all()?;
        if self.overwrite {
            self.dir.rename(&part, &self.dir, &self.name)?;
        } else {
            // A link, unlike renaming, fails if the name was taken meanwhile.
            self.dir.hard_link(&part, &self.dir, &self.name)?;
            self.dir.remove_file(&part)?;
        }
        self.dir.remove_file(journal_name(&self.name))
    }
}

/// Puts the missing bytes of a file into their places.
pub struct FileSink {
    partial: Partial,
    missing: Ranges,
    layout: Layout,
    digest: [u8; 32],
}

/// Nobody takes over while this is held.
fn still_mine(writing: &Mutex<Writing>) -> io::Result<MutexGuard<'_, Writing>> {
    let writing = lock(writing);
    if writing.taken_over {
        return Err(io::Error::other("a newer attempt goes on with this file"));
    }
    Ok(writing)
}

impl Sink for FileSink {
    fn store(&mut self, index: u64, mut data: &[u8]) -> io::Result<()> {
        let writing = self.partial.writing.clone();
        let _mine = still_mine(&writing)?;
        let mut at = index * u64::from(self.layout.buffer_bytes);
        while let Some((start, len)) = self.missing.locate(at).filter(|_| !data.is_empty()) {
            let piece = data.len().min(usize::try_from(len).unwrap_or(usize::MAX));
            self.partial.write(&data[..piece], start)?;
            at += piece as u64;
            data = &data[piece..];
        }
        let into_digest = at.saturating_sub(self.missing.len_bytes()) as usize;
        for (to, from) in self.digest.iter_mut().skip(into_digest).zip(data) {
            *to = *from;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<Option<String>> {
        let _mine = still_mine(&self.partial.writing)?;
        let digest = self.partial.digest()?;
        if *digest.as_bytes() != self.digest {
            self.partial.discard();
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the file does not have its sender's digest (it changed meanwhile?) and was discarded",
            ));
        }
        self.partial.publish()?;
        Ok(Some(digest.to_hex().to_string()))
    }
}

/// Checks what a memory source sends, and keeps nothing.
#[derive(Clone, Debug)]
pub struct MemorySink(pub Layout);

impl Sink for MemorySink {
    fn store(&mut self, index: u64, data: &[u8]) -> io::Result<()> {
        let start = index * u64::from(self.0.buffer_bytes);
        let right = (start..).zip(data).all(|(at, byte)| *byte == memory_byte(at));
        if right { Ok(()) } else { Err(io::Error::other("what arrived is not what was sent")) }
    }
    fn finish(&mut self) -> io::Result<Option<String>> {
        Ok(None)
    }
}
