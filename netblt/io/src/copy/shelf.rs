//! Files on their way into their places: under a hidden name until they are whole, synced, and renamed by
//! several threads at once, since each waits for the disk.

use super::answers::{Answer, Answers};
use super::beneath;
use super::format::Attributes;
use super::parts;
use super::tally::Tally;
use nix::fcntl::renameat;
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::fs::{File, FileTimes, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// Threads that sync and rename.
const THREADS: usize = 8;
/// Files that wait for them, each open.
const WAITING: usize = 64;

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
        parts::name(&self.file, &self.directory, &self.part)?;
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
