//! Files on their way into their places: under a hidden name until they are whole, synced, and renamed by
//! several threads at once, since each waits for the disk.

use super::answers::{Answer, Answers};
use super::beneath::{self, kind, look, open_at};
use super::format::Attributes;
use super::tally::Tally;
use nix::fcntl::{OFlag, renameat};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::fs::{File, FileTimes, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Threads that sync and rename.
const THREADS: usize = 8;
/// Files that wait for them, each open.
const WAITING: usize = 64;
/// How long to wait for an older attempt that still holds a file: its death timer is 30 s.
const PATIENCE: Duration = Duration::from_secs(60);

/// A file of which all bytes are there.
pub struct Finished {
    /// Its number.
    pub entry: u32,
    /// Its whole name, to be shown.
    pub shown: Vec<u8>,
    /// Bytes.
    pub bytes: u64,
    /// Its directory.
    pub directory: Arc<OwnedFd>,
    /// Its hidden name there.
    pub part: String,
    /// Its name there.
    pub name: Vec<u8>,
    /// Time and mode; None for those that it has.
    pub attributes: Option<Attributes>,
    /// The open file.
    pub file: File,
}

/// Threads that put files into their places.
pub struct Shelf {
    finished: Option<SyncSender<Finished>>,
    threads: Vec<JoinHandle<()>>,
}

impl Shelf {
    /// Says of each file what became of it.
    pub fn new(answers: &Answers, tally: &Tally) -> Shelf {
        let (finished, work) = sync_channel(WAITING);
        let work = Arc::new(Mutex::new(work));
        let threads = (0..THREADS).map(|_| {
            let (work, answers, tally) = (work.clone(), answers.clone(), tally.clone());
            thread::spawn(move || {
                while let Some(file) = next(&work) {
                    match file.place() {
                        Ok(()) => {
                            tally.copied(&file.shown, file.bytes);
                            answers.say(Answer::Kept(file.entry));
                        }
                        Err(error) => {
                            let reason = error.to_string();
                            let _ = unlinkat(
                                &file.directory,
                                file.part.as_str(),
                                UnlinkatFlags::NoRemoveDir,
                            );
                            tally.failed(&file.shown, file.bytes, &reason);
                            answers.failed(file.entry, &reason);
                        }
                    }
                }
            })
        });
        Shelf { finished: Some(finished), threads: threads.collect() }
    }
    /// Takes a file; waits while there are too many.
    pub fn take(&self, file: Finished) {
        let finished = self.finished.as_ref();
        let _ = finished.map(|finished| finished.send(file));
    }
    /// Waits until all are in their places.
    pub fn finish(&mut self) {
        self.finished = None;
        self.threads.drain(..).for_each(|thread| _ = thread.join());
    }
}

fn next(work: &Mutex<Receiver<Finished>>) -> Option<Finished> {
    work.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

impl Finished {
    fn place(&self) -> io::Result<()> {
        if let Some(attributes) = &self.attributes {
            set_attributes(&self.file, attributes)?;
        }
        self.file.sync_all()?;
        Ok(renameat(&self.directory, self.part.as_str(), &self.directory, self.name.as_slice())?)
    }
}

/// Gives a file, or a directory, its time and mode.
pub fn set_attributes(file: &File, attributes: &Attributes) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(attributes.mode.into()))?;
    let modified = beneath::modified(attributes);
    let modified = modified.ok_or_else(|| io::Error::other("its time cannot be"))?;
    file.set_times(FileTimes::new().set_modified(modified))
}

/// The hidden file, to read and write, held against other copies. An older attempt may still hold it, and
/// lets go of it when it notices that it is alone.
pub fn open_part(directory: &OwnedFd, part: &str) -> io::Result<File> {
    let started = Instant::now();
    loop {
        let flags = OFlag::O_RDWR | OFlag::O_CREAT;
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        let file = File::from(open_at(directory, part.as_bytes(), flags, mode)?);
        if file.try_lock().is_ok() {
            let mine = fstat(&file)?;
            let there = look(directory, part.as_bytes())?;
            // It may have got its final name between opening and locking.
            let same = there
                .is_some_and(|there| (there.st_ino, there.st_dev) == (mine.st_ino, mine.st_dev));
            if same && mine.st_nlink == 1 && kind(&mine) == SFlag::S_IFREG {
                return Ok(file);
            }
            if same {
                unlinkat(directory, part, UnlinkatFlags::NoRemoveDir)?;
            }
        }
        if started.elapsed() > PATIENCE {
            return Err(io::Error::other("another copy writes this file"));
        }
        thread::sleep(Duration::from_millis(50));
    }
}
