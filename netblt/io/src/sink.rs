//! Where bytes go: a file that appears under its name when it is whole and verified, or memory.

use crate::agreement::{DIGEST_BYTES, Layout};
use crate::ranges::Ranges;
use cap_std::fs::{Dir, MetadataExt as _, OpenOptions};
use rustix::fs::{Access, AtFlags, RenameFlags, accessat, renameat_with};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// Read at once while verifying.
const CHUNK_BYTES: usize = 1 << 20;

/// Takes buffers, in any order, each once.
pub trait Sink: Send {
    /// Buffer `index` has come.
    fn store(&mut self, index: u64, data: &[u8]) -> io::Result<()>;
    /// Several have come, in the order of their places.
    fn store_all(&mut self, buffers: &[(u64, Vec<u8>)]) -> io::Result<()> {
        buffers.iter().try_for_each(|(index, data)| self.store(*index, data))
    }
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
    /// Whether one may begin to write. Nothing changes yet: anybody can ask.
    fn may_enter(&self, name: &str, version: &str) -> io::Result<()> {
        self.before(&mut lock(&self.0), name, version).map(drop)
    }

    /// Begins to write, in place of an older attempt at the same version.
    fn enter(&self, name: &str, version: &str) -> io::Result<Arc<Mutex<Writing>>> {
        let mut all = lock(&self.0);
        if let Some(theirs) = self.before(&mut all, name, version)? {
            let mut theirs = free(&theirs)?;
            theirs.taken_over = true;
            theirs.locked.take().map(|file| file.unlock()).transpose()?;
        }
        let mine = Arc::new(Mutex::new(Writing::default()));
        all.insert(name.to_owned(), (version.to_owned(), mine.clone()));
        Ok(mine)
    }

    /// Who writes that file already. An error if it is another version, or finished but for the
    /// verification.
    fn before(
        &self,
        all: &mut BTreeMap<String, Version>,
        name: &str,
        version: &str,
    ) -> io::Result<Option<Arc<Mutex<Writing>>>> {
        all.retain(|_, (_, writing)| Arc::strong_count(writing) > 1);
        let Some((their_version, theirs)) = all.get(name) else { return Ok(None) };
        if their_version != version {
            return Err(io::Error::other("another version of this file is on its way"));
        }
        drop(free(theirs)?);
        Ok(Some(theirs.clone()))
    }
}

/// Nobody waits for a file to be verified, which may take minutes.
fn free(writing: &Mutex<Writing>) -> io::Result<MutexGuard<'_, Writing>> {
    match writing.try_lock() {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(guard)) => Ok(guard.into_inner()),
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::other("this file is being written or verified, try again"))
        }
    }
}

/// A file on its way: its bytes under a temporary name beside where it will be, and a journal of
/// those that are there, so that a broken transfer goes on at the missing ones.
///
/// Nothing is made or changed before the first bytes have come: who only asks leaves no trace.
pub struct Partial {
    dir: Dir,
    name: String,
    overwrite: bool,
    header: Header,
    here: Ranges,
    /// Of the bytes up to `hashed`, without a break from the first.
    hasher: blake3::Hasher,
    hashed: u64,
    writers: Writers,
    open: Option<Files>,
}

/// Part and journal, and the right to write them.
struct Files {
    part: File,
    journal: File,
    writing: Arc<Mutex<Writing>>,
}

fn part_name(name: &str) -> String {
    beside(name, "netblt-part")
}
fn journal_name(name: &str) -> String {
    beside(name, "netblt-journal")
}
fn new_journal_name(name: &str) -> String {
    beside(name, "netblt-journal-new")
}
/// A hidden name in the same directory.
pub fn beside(name: &str, kind: &str) -> String {
    match name.rsplit_once('/') {
        Some((parent, last)) => format!("{parent}/.{last}.{kind}"),
        None => format!(".{name}.{kind}"),
    }
}

/// A name is on the disk once its directory is.
pub fn sync_parent(dir: &Dir, name: &str) -> io::Result<()> {
    let parent = name.rsplit_once('/').map_or(".", |(parent, _)| parent);
    dir.open(parent)?.into_std().sync_all()
}

/// Whether a terminal or a listing shows these characters and obeys none: no controls, no marks that
/// turn the direction of text, nothing without a shape.
fn is_printable(name: &str) -> bool {
    let plain = |char: char| matches!(char, '\'' | '"' | '\\');
    let shown: String = name.chars().filter(|char| !plain(*char)).collect();
    shown.escape_debug().eq(shown.chars())
}

/// Whether a peer may use this name: a plain relative path, without our own temporary names.
pub fn check_name(name: &str) -> Result<(), String> {
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    let temporary = [".netblt-part", ".netblt-journal", ".netblt-journal-new"]
        .iter()
        .any(|ending| name.ends_with(ending));
    if name.len() > 255 || !is_printable(name) || !name.split('/').all(plain) || temporary {
        return Err("not a name of a file in the served directory".to_owned());
    }
    Ok(())
}

/// Bytes of a name in a directory (Linux: `NAME_MAX`).
const MAX_NAME_BYTES: usize = 255;

/// Whether a name is free, or may be replaced.
fn check_free(dir: &Dir, name: &str, overwrite: bool) -> io::Result<()> {
    match overwrite || dir.symlink_metadata(name).is_err() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::AlreadyExists, "the file exists already")),
    }
}

/// Whether a file of this name can be written: an error comes before bytes do, which nobody could keep.
pub fn check_place(dir: &Dir, name: &str, overwrite: bool) -> io::Result<()> {
    check_free(dir, name, overwrite)?;
    let (parent, last) = name.rsplit_once('/').unwrap_or((".", name));
    let longest = new_journal_name(last).len();
    if longest > MAX_NAME_BYTES {
        let most = MAX_NAME_BYTES - (longest - last.len());
        return Err(io::Error::other(format!("its name is too long (at most {most} bytes)")));
    }
    if dir.symlink_metadata(name).is_ok_and(|found| found.is_dir()) {
        return Err(io::Error::other("a directory has this name"));
    }
    let cannot = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot write to its directory: {error}"))
    };
    let parent = dir.open_dir(parent).map_err(cannot)?;
    let access = Access::WRITE_OK | Access::EXEC_OK;
    accessat(&parent, ".", access, AtFlags::EACCESS).map_err(|errno| cannot(errno.into()))
}

/// What an earlier attempt at a file left: its version and what is here of it.
pub fn left_over(dir: &Dir, name: &str) -> Option<(String, u64, Ranges)> {
    let journal = dir.open(journal_name(name)).ok()?.into_std();
    let part = dir.open(part_name(name)).ok()?.into_std();
    let (header, here) = read_journal(journal)?;
    let metadata = part.metadata().ok()?;
    let fits =
        here.iter().last().is_none_or(|last| metadata.len() >= last.end && last.end <= header.size)
            && metadata.nlink() == 1;
    fits.then_some((header.version, header.size, here))
}

/// Removes what an earlier attempt at a file left, if nobody is at it.
pub fn forget(dir: &Dir, name: &str) -> io::Result<()> {
    if let Ok(part) = dir.open(part_name(name)) {
        part.into_std()
            .try_lock()
            .map_err(|_| io::Error::other("somebody else writes this file now"))?;
    }
    for left in [journal_name(name), part_name(name)] {
        match dir.remove_file(left) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
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
        let header = Header { size, version: version.to_owned() };
        let (name, writers) = (name.to_owned(), writers.clone());
        let mut partial = Partial {
            dir,
            name,
            overwrite,
            header,
            here: Ranges::default(),
            hasher: blake3::Hasher::new(),
            hashed: 0,
            writers,
            open: None,
        };
        check_place(&partial.dir, &partial.name, overwrite)?;
        partial.writers.may_enter(&partial.name, version)?;
        partial.here = partial.left();
        Ok(partial)
    }

    /// What is left of this version.
    fn left(&self) -> Ranges {
        left_over(&self.dir, &self.name)
            .filter(|(version, size, _)| {
                *version == self.header.version && *size == self.header.size
            })
            .map(|(_, _, here)| here)
            .unwrap_or_default()
    }

    /// What is here.
    pub fn here(&self) -> &Ranges {
        &self.here
    }

    /// Takes what is missing beyond `have`, which the other end does not send.
    pub fn into_sink(self, have: &Ranges, layout: Layout) -> FileSink {
        let missing = have.missing(self.header.size);
        let have = have.clone();
        let digest = [0; DIGEST_BYTES as usize];
        FileSink { partial: self, have, missing, layout, digest, run: Vec::new() }
    }

    /// Takes part and journal in hand, once. What `have` says must still be there.
    fn begin(&mut self, have: &Ranges) -> io::Result<&mut Files> {
        if self.open.is_none() {
            check_free(&self.dir, &self.name, self.overwrite)?;
            let writing = self.writers.enter(&self.name, &self.header.version)?;
            let part = self.open_part()?;
            lock(&writing).locked = Some(part.try_clone()?);
            // An older attempt may have gone on, or ended, since this one was agreed on.
            self.here = self.left();
            if !self.here.contains(have) {
                return Err(io::Error::other("what was kept is gone, try again"));
            }
            if self.here == Ranges::default() {
                part.set_len(0)?;
            }
            let journal = self.new_journal()?;
            self.open = Some(Files { part, journal, writing });
        }
        self.open.as_mut().ok_or_else(|| io::Error::other("not open"))
    }

    /// The temporary file, locked against other processes. One that has another name too is a
    /// published file whose temporary name somebody had no time to remove.
    fn open_part(&self) -> io::Result<File> {
        let name = part_name(&self.name);
        if self.dir.symlink_metadata(&name).is_ok_and(|metadata| metadata.nlink() > 1) {
            self.dir.remove_file(&name)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let part = self.dir.open_with(&name, &options)?.into_std();
        let busy = || io::Error::other("somebody else writes this file now");
        part.try_lock().map_err(|_| busy())?;
        // It may have been published between opening and locking.
        let (mine, there) = (part.metadata()?, self.dir.symlink_metadata(&name)?);
        let same = mine.ino() == there.ino() && mine.dev() == there.dev();
        if same && mine.nlink() == 1 { Ok(part) } else { Err(busy()) }
    }

    /// Writes the journal anew, as short as it can be; the old one is there until it is whole.
    fn new_journal(&self) -> io::Result<File> {
        let (name, new) = (journal_name(&self.name), new_journal_name(&self.name));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let mut journal = self.dir.open_with(&new, &options)?.into_std();
        let mut text = serde_json::to_string(&self.header)? + "\n";
        for range in self.here.iter() {
            text += &format!("{}-{};\n", range.start, range.end);
        }
        journal.write_all(text.as_bytes())?;
        self.dir.rename(&new, &self.dir, &name)?;
        Ok(journal)
    }

    /// Writes bytes, with one line of the journal.
    fn write(&mut self, have: &Ranges, data: &[u8], start: u64) -> io::Result<()> {
        let files = self.begin(have)?;
        files.part.write_all_at(data, start)?;
        let end = start + data.len() as u64;
        files.journal.write_all(format!("{start}-{end};\n").as_bytes())?;
        self.here.insert(start..end);
        if start == self.hashed {
            self.hasher.update(data);
            self.hashed = end;
        }
        // What came before its turn is read again once all before it is here: not too much at a time, since
        // what arrives waits for it.
        let whole = self.here.iter().next().filter(|first| first.start == 0);
        let most = self.hashed + CHUNK_BYTES as u64 + 4 * (end - start);
        self.hash_up_to(whole.map_or(0, |first| first.end).min(most))
    }

    /// Hashes what is here from where that ended.
    fn hash_up_to(&mut self, end: u64) -> io::Result<()> {
        let mut chunk = Vec::new();
        while self.hashed < end {
            chunk.resize((end - self.hashed).min(CHUNK_BYTES as u64) as usize, 0);
            self.files()?.part.read_exact_at(&mut chunk, self.hashed)?;
            self.hasher.update(&chunk);
            self.hashed += chunk.len() as u64;
        }
        Ok(())
    }

    fn files(&self) -> io::Result<&Files> {
        self.open.as_ref().ok_or_else(|| io::Error::other("nothing has come"))
    }

    fn digest(&mut self) -> io::Result<blake3::Hash> {
        self.hash_up_to(self.header.size)?;
        Ok(self.hasher.finalize())
    }

    fn discard(&self) {
        let _ = self.dir.remove_file(journal_name(&self.name));
        let _ = self.dir.remove_file(part_name(&self.name));
    }

    /// Gives the file its name.
    fn publish(&self) -> io::Result<()> {
        let part = &self.files()?.part;
        part.set_len(self.header.size)?;
        part.sync_all()?;
        if self.overwrite {
            self.dir.rename(part_name(&self.name), &self.dir, &self.name)?;
        } else {
            self.rename_unless_taken()?;
        }
        sync_parent(&self.dir, &self.name)?;
        self.dir.remove_file(journal_name(&self.name))
    }

    /// The name may have been taken meanwhile.
    fn rename_unless_taken(&self) -> io::Result<()> {
        let part = part_name(&self.name);
        let (parent, name) = self.name.rsplit_once('/').unwrap_or((".", &self.name));
        let own_part = part.rsplit_once('/').map_or(&*part, |(_, last)| last);
        let parent = self.dir.open_dir(parent)?;
        match renameat_with(&parent, own_part, &parent, name, RenameFlags::NOREPLACE) {
            // This file system cannot; a link fails too if the name is taken.
            Err(Errno::INVAL | Errno::NOSYS) => {
                self.dir.hard_link(&part, &self.dir, &self.name)?;
                self.dir.remove_file(&part)
            }
            renamed => renamed.map_err(io::Error::from),
        }
    }
}

/// Puts the missing bytes of a file into their places.
pub struct FileSink {
    partial: Partial,
    /// What is not sent.
    have: Ranges,
    missing: Ranges,
    layout: Layout,
    digest: [u8; 32],
    /// Memory for what is written at once.
    run: Vec<u8>,
}

/// Nobody takes over while this is held.
fn still_mine(writing: &Mutex<Writing>) -> io::Result<MutexGuard<'_, Writing>> {
    let writing = lock(writing);
    if writing.taken_over {
        return Err(io::Error::other("a newer attempt goes on with this file"));
    }
    Ok(writing)
}

impl FileSink {
    /// The pieces of a buffer, each with its place in the file; what belongs to no place is the digest's.
    fn pieces<'a>(&mut self, index: u64, mut data: &'a [u8]) -> Vec<(u64, &'a [u8])> {
        let mut pieces = Vec::with_capacity(1);
        let mut at = index * u64::from(self.layout.buffer_bytes);
        while let Some((start, len)) = self.missing.locate(at).filter(|_| !data.is_empty()) {
            let piece = data.len().min(usize::try_from(len).unwrap_or(usize::MAX));
            pieces.push((start, &data[..piece]));
            at += piece as u64;
            data = &data[piece..];
        }
        let into_digest = at.saturating_sub(self.missing.len_bytes()) as usize;
        for (to, from) in self.digest.iter_mut().skip(into_digest).zip(data) {
            *to = *from;
        }
        pieces
    }
}

impl Sink for FileSink {
    fn store(&mut self, index: u64, data: &[u8]) -> io::Result<()> {
        self.store_all(&[(index, data.to_vec())])
    }

    fn store_all(&mut self, buffers: &[(u64, Vec<u8>)]) -> io::Result<()> {
        let writing = self.partial.begin(&self.have)?.writing.clone();
        let _mine = still_mine(&writing)?;
        // Bytes that follow each other are written, and hashed, at once: many at a time cost less.
        let mut run = std::mem::take(&mut self.run);
        let mut start = 0;
        for (index, data) in buffers {
            for (place, piece) in self.pieces(*index, data) {
                if place != start + run.len() as u64 && !run.is_empty() {
                    self.partial.write(&self.have, &run, start)?;
                    run.clear();
                }
                if run.is_empty() {
                    start = place;
                }
                run.extend_from_slice(piece);
            }
        }
        if !run.is_empty() {
            self.partial.write(&self.have, &run, start)?;
        }
        run.clear();
        self.run = run;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<Option<String>> {
        let writing = self.partial.files()?.writing.clone();
        let _mine = still_mine(&writing)?;
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

impl Drop for FileSink {
    /// A digest alone is nothing to go on with.
    fn drop(&mut self) {
        let Some(files) = &self.partial.open else { return };
        if self.partial.here == Ranges::default() && still_mine(&files.writing).is_ok() {
            self.partial.discard();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;
    use std::fs;

    fn partial(
        folder: &tempfile::TempDir,
        writers: &Writers,
        version: &str,
    ) -> io::Result<Partial> {
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority())?;
        Partial::open(dir, "x", 3, version, true, writers)
    }
    fn sink(partial: Partial) -> FileSink {
        let have = partial.here().clone();
        let missing = have.missing(3).len_bytes();
        partial.into_sink(&have, Layout::file(missing, 1).unwrap())
    }
    fn names(folder: &tempfile::TempDir) -> usize {
        fs::read_dir(folder.path()).unwrap().count()
    }

    #[test]
    fn names_are_what_can_be_read() {
        for name in ["a", "a b/c.txt", "é", "e\u{301}", "日本", "it's \"x\" \\y", ".hidden"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in [
            "a\nb",
            "a\u{1b}[2J",
            "\t",
            "\u{7f}",
            "\u{9b}31m",
            "\u{202e}cod.exe",
            "a\0",
            "\u{200b}",
        ] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn nobody_waits_for_a_file_that_is_being_verified() {
        let (folder, writers) = (tempfile::tempdir().unwrap(), Writers::default());
        let mut first = sink(partial(&folder, &writers, "v").unwrap());
        first.store(0, b"a").unwrap();
        let writing = first.partial.open.as_ref().unwrap().writing.clone();
        let verifying = lock(&writing);
        let error = partial(&folder, &writers, "v").err().unwrap();
        assert!(error.to_string().contains("try again"), "{error}");
        drop(verifying);
        assert!(partial(&folder, &writers, "v").is_ok());
    }

    #[test]
    fn who_only_asks_leaves_no_trace_and_takes_nothing() {
        let (folder, writers) = (tempfile::tempdir().unwrap(), Writers::default());
        let mut first = sink(partial(&folder, &writers, "v").unwrap());
        assert_eq!(names(&folder), 0);
        first.store(0, b"a").unwrap();
        assert_eq!(names(&folder), 2, "part and journal");
        drop(partial(&folder, &writers, "v").unwrap());
        first.store(1, b"b").unwrap();
        assert!(partial(&folder, &writers, "other").is_err(), "while the first one lives");
        drop(first);
        drop(partial(&folder, &writers, "other").unwrap());
        drop(sink(partial(&folder, &writers, "other").unwrap()));
        assert_eq!(partial(&folder, &writers, "v").unwrap().here().to_string(), "0-2");
        // The first byte of another version replaces it.
        sink(partial(&folder, &writers, "other").unwrap()).store(2, b"c").unwrap();
        assert_eq!(partial(&folder, &writers, "v").unwrap().here().to_string(), "");
        assert_eq!(partial(&folder, &writers, "other").unwrap().here().to_string(), "2-3");
    }

    #[test]
    fn a_digest_alone_leaves_nothing_behind() {
        let (folder, writers) = (tempfile::tempdir().unwrap(), Writers::default());
        let mut first = sink(partial(&folder, &writers, "v").unwrap());
        first.store(3, b"d").unwrap();
        assert_eq!(names(&folder), 2);
        drop(first);
        assert_eq!(names(&folder), 0);
    }

    #[test]
    fn a_part_that_is_a_published_file_too_is_let_go() {
        let (folder, writers) = (tempfile::tempdir().unwrap(), Writers::default());
        let (part, published) = (folder.path().join(".x.netblt-part"), folder.path().join("x"));
        fs::write(&published, "old").unwrap();
        fs::hard_link(&published, &part).unwrap();
        let journal = "{\"size\":3,\"version\":\"v\"}\n0-3;\n";
        fs::write(folder.path().join(".x.netblt-journal"), journal).unwrap();
        let partial = partial(&folder, &writers, "v").unwrap();
        assert_eq!(partial.here().to_string(), "", "it is nobody's left-over");
        sink(partial).store(0, b"n").unwrap();
        assert_eq!(fs::read(&published).unwrap(), b"old");
    }

    #[test]
    fn a_name_that_was_taken_meanwhile_is_not_replaced() {
        let (folder, writers) = (tempfile::tempdir().unwrap(), Writers::default());
        let mut partial = partial(&folder, &writers, "v").unwrap();
        partial.overwrite = false;
        let mut sink = sink(partial);
        (0..3).for_each(|at| sink.store(at, b"a").unwrap());
        for (at, byte) in (3..).zip(blake3::hash(b"aaa").as_bytes()) {
            sink.store(at, &[*byte]).unwrap();
        }
        fs::write(folder.path().join("x"), "other").unwrap();
        assert_eq!(sink.finish().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(folder.path().join("x")).unwrap(), b"other");
        fs::remove_file(folder.path().join("x")).unwrap();
        sink.finish().unwrap();
        assert_eq!(fs::read(folder.path().join("x")).unwrap(), b"aaa");
        assert_eq!(names(&folder), 1);
    }
}
