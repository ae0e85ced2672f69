//! The plain layout, for peers that know RFC 998 and nothing of our client strings: bytes as they
//! are, in buffers of which the last has the L flag. Nothing verifies them beyond the checksums of
//! packets.
//!
//! What is received is written under a hidden temporary name, which it keeps until L has come and
//! every buffer with it. A transfer that broke leaves nothing behind: there is no telling whether
//! the next attempt would be at the same file.

use crate::agreement::Layout;
use crate::job::Job;
use crate::sink::{Sink, beside, sync_parent};
use crate::source::{MemorySource, OneVersion, ReadAt, Source};
use cap_std::fs::{Dir, OpenOptions};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes generated for a peer that does not say how many it wants.
const GENERATED_BYTES: u64 = 1_000_000;
/// Attempts at a temporary name that nobody has.
const MAX_NAMES: u32 = 1000;

/// Sends `file` as it is.
pub fn send(file: OneVersion, buffer_bytes: u32) -> Result<Job, String> {
    let layout = Layout::memory(file.size_bytes(), buffer_bytes)?.plain();
    Ok(Job::sending(Bytes { file, layout }, layout))
}

/// Receives into `name` of `dir`, until L.
pub fn receive(dir: Dir, name: &str, overwrite: bool, buffer_bytes: u32) -> Job {
    let layout = Layout::until_last(buffer_bytes);
    let name = name.to_owned();
    Job::receiving(Arriving { dir, name, overwrite, layout, part: None }, layout)
}

/// Sends `bytes` that are made up; if 0, as many as we like.
pub fn generate(bytes: u64, buffer_bytes: u32) -> Result<Job, String> {
    let bytes = if bytes == 0 { GENERATED_BYTES } else { bytes };
    let layout = Layout::memory(bytes, buffer_bytes)?.plain();
    Ok(Job::sending(MemorySource(layout), layout))
}

/// Takes whatever comes, until L, and keeps nothing.
pub fn take(buffer_bytes: u32) -> Job {
    Job::receiving(Nothing, Layout::until_last(buffer_bytes))
}

/// A file's bytes.
struct Bytes {
    file: OneVersion,
    layout: Layout,
}

impl Source for Bytes {
    fn fill(&mut self, index: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, index * u64::from(self.layout.buffer_bytes))
    }
}

struct Nothing;

impl Sink for Nothing {
    fn store(&mut self, _index: u64, _data: &[u8]) -> io::Result<()> {
        Ok(())
    }
    fn finish(&mut self) -> io::Result<Option<String>> {
        Ok(None)
    }
}

/// A file that gets its name when it is whole.
struct Arriving {
    dir: Dir,
    name: String,
    overwrite: bool,
    layout: Layout,
    /// Made when the first bytes come, with its temporary name.
    part: Option<(File, String)>,
}

impl Arriving {
    fn part(&mut self) -> io::Result<&(File, String)> {
        let part = match self.part.take() {
            Some(part) => part,
            None => self.create()?,
        };
        Ok(self.part.insert(part))
    }

    /// Under a name of its own: several peers may send the same file at once.
    fn create(&self) -> io::Result<(File, String)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        for _ in 0..MAX_NAMES {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let part = beside(&self.name, &format!("{}-{number}.netblt-part", process::id()));
            match self.dir.open_with(&part, &options) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => return Ok((other?.into_std(), part)),
            }
        }
        Err(io::Error::other("no temporary name is free"))
    }
}

impl Sink for Arriving {
    fn store(&mut self, index: u64, data: &[u8]) -> io::Result<()> {
        let start = index * u64::from(self.layout.buffer_bytes);
        self.part()?.0.write_all_at(data, start)
    }

    fn finish(&mut self) -> io::Result<Option<String>> {
        let (file, part) = self.part()?;
        file.sync_all()?;
        let part = part.clone();
        if self.overwrite {
            self.dir.rename(&part, &self.dir, &self.name)?;
        } else {
            // A link, unlike renaming, fails if the name was taken meanwhile.
            self.dir.hard_link(&part, &self.dir, &self.name)?;
            self.dir.remove_file(&part)?;
        }
        self.part = None;
        sync_parent(&self.dir, &self.name)?;
        Ok(None)
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        if let Some((_, part)) = &self.part {
            let _ = self.dir.remove_file(part);
        }
    }
}
