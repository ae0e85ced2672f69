//! Files and memory as clients of NETBLT.
//!
//! A file that is received is written beside its place under a hidden temporary name, with a
//! journal of what is there. When all of it is, its BLAKE3 digest is compared with the sender's,
//! and only then it gets its name. A transfer that broke leaves temporary file and journal behind;
//! the next attempt at the same version of the file goes on at the missing bytes.

use crate::agreement::{self, Answer, Layout, Offer, RANGES_CHARS};
use crate::job::Job;
use crate::memory::{BytesSink, MemorySink};
use crate::plain;
use crate::ranges::Ranges;
use crate::sink::{self, Partial, Writers, check_name, check_place, left_over};
use crate::source::{FileSource, MemorySource, OneVersion};
use crate::station::{Host, Opener};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use netblt::{Connection, Mode};
use nix::fcntl::OFlag;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// Size of the buffers that were agreed on.
fn buffer_bytes(connection: &Connection) -> Result<u32, String> {
    connection.terms().map(|terms| terms.buffer_size_bytes).ok_or_else(|| "not open".to_owned())
}
fn answer(connection: &Connection) -> Result<Answer, String> {
    Answer::of(connection.peer_string())
}
fn refused(error: io::Error) -> String {
    error.to_string()
}

/// What to open, and the client that does it.
pub type Wish = (Mode, Offer, Opener);

/// Sends the file at `path` under `name`.
pub fn send(path: &Path, name: &str) -> io::Result<Wish> {
    let file = open_regular(path)?;
    let size = file.size_bytes();
    let offer = Offer::Put { name: name.to_owned(), size, version: file.version().to_owned() };
    let opener: Opener = Box::new(move |connection| {
        let Answer::Put { have } = answer(connection)? else { return Err("no such answer".into()) };
        let missing = agreement::ranges(&have)?.missing(size);
        let layout = Layout::file(missing.len_bytes(), buffer_bytes(connection)?)?;
        Ok(Job::sending(FileSource::new(file, size, missing), layout))
    });
    Ok((Mode::Write, offer, opener))
}

/// Sends `bytes` as a file under `name`. Their digest is their version: the same bytes go on where they broke.
pub fn send_bytes(bytes: Arc<[u8]>, name: &str) -> Wish {
    let size = bytes.len() as u64;
    let version = blake3::hash(&bytes).to_hex().to_string();
    let opener: Opener = Box::new(move |connection| {
        let Answer::Put { have } = answer(connection)? else { return Err("no such answer".into()) };
        let missing = agreement::ranges(&have)?.missing(size);
        let layout = Layout::file(missing.len_bytes(), buffer_bytes(connection)?)?;
        Ok(Job::sending(FileSource::new(bytes, size, missing), layout))
    });
    (Mode::Write, Offer::Put { name: name.to_owned(), size, version }, opener)
}

/// Receives the file `name` of at most `most_bytes` into memory. The bytes come once they are whole and verified.
pub fn receive_bytes(name: &str, most_bytes: u64) -> (Wish, Receiver<Vec<u8>>) {
    let (bytes_by, bytes) = channel();
    let offer = Offer::Get { name: name.to_owned(), have: String::new(), version: String::new() };
    let opener: Opener = Box::new(move |connection| {
        let Answer::Get { size, have, .. } = answer(connection)? else {
            return Err("no such answer".into());
        };
        if size > most_bytes {
            return Err(format!("the file has {size} bytes, and at most {most_bytes} are wanted"));
        }
        if !have.is_empty() {
            return Err("bytes left out that are not here".to_owned());
        }
        let layout = Layout::file(size, buffer_bytes(connection)?)?;
        Ok(Job::receiving(BytesSink::new(layout, bytes_by), layout))
    });
    ((Mode::Read, offer, opener), bytes)
}

/// Removes what an earlier attempt at receiving `local_name` into `directory` left. An error if somebody writes it.
pub fn forget(directory: &Path, local_name: &str) -> io::Result<()> {
    let dir = Dir::open_ambient_dir(directory, ambient_authority())?;
    sink::forget(&dir, local_name)
}

/// Sends the file at `path` in the plain layout, to an end that knows RFC 998 alone. `name` is the
/// client string.
pub fn send_plain(path: &Path, name: &str) -> io::Result<Wish> {
    let file = open_regular(path)?;
    let bytes = file.size_bytes();
    let opener: Opener = Box::new(move |connection| plain::send(file, buffer_bytes(connection)?));
    Ok((Mode::Write, Offer::Plain { name: name.to_owned(), bytes }, opener))
}

/// Receives into `directory` under `local_name` in the plain layout, from an end that knows RFC 998
/// alone. `name` is the client string.
pub fn receive_plain(
    directory: &Path,
    local_name: &str,
    name: &str,
    overwrite: bool,
) -> io::Result<Wish> {
    let dir = directory_for(directory, local_name, overwrite)?;
    let local_name = local_name.to_owned();
    let opener: Opener = Box::new(move |connection| {
        Ok(plain::receive(dir, &local_name, overwrite, buffer_bytes(connection)?))
    });
    Ok((Mode::Read, Offer::Plain { name: name.to_owned(), bytes: 0 }, opener))
}

fn open_regular(path: &Path) -> io::Result<OneVersion> {
    // Opening a FIFO would wait for somebody to write to it.
    OneVersion::of(File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?)
}

/// The directory, in which there is no such file unless it may be replaced.
fn directory_for(directory: &Path, local_name: &str, overwrite: bool) -> io::Result<Dir> {
    let dir = Dir::open_ambient_dir(directory, ambient_authority())?;
    check_place(&dir, local_name, overwrite)?;
    Ok(dir)
}

/// Receives the file `name` into `directory` under `local_name`.
pub fn receive(
    directory: &Path,
    local_name: &str,
    name: &str,
    overwrite: bool,
) -> io::Result<Wish> {
    let dir = directory_for(directory, local_name, overwrite)?;
    let before = left_over(&dir, local_name);
    let (have, version) = match before {
        Some((version, _, here)) => (here.abridged(RANGES_CHARS).to_string(), version),
        None => Default::default(),
    };
    let offer = Offer::Get { name: name.to_owned(), have, version };
    let local_name = local_name.to_owned();
    let opener: Opener = Box::new(move |connection| {
        let Answer::Get { size, version, have } = answer(connection)? else {
            return Err("no such answer".into());
        };
        agreement::check_size(size)?;
        let partial =
            Partial::open(dir, &local_name, size, &version, overwrite, &Writers::default())
                .map_err(refused)?;
        receiving(partial, &agreement::ranges(&have)?, size, buffer_bytes(connection)?)
    });
    Ok((Mode::Read, offer, opener))
}

/// A client that receives what is missing beyond `have`.
fn receiving(partial: Partial, have: &Ranges, size: u64, buffer_bytes: u32) -> Result<Job, String> {
    // Bytes that the other end does not send must be here.
    let lost = partial.here().missing(size).len_bytes() > have.missing(size).len_bytes();
    if lost {
        return Err("bytes left out that are not here".to_owned());
    }
    let layout = Layout::file(have.missing(size).len_bytes(), buffer_bytes)?;
    Ok(Job::receiving(partial.into_sink(have, layout), layout))
}

/// RFC 1030's test program: `bytes` from memory to memory, sent or received by this end. An other
/// end that does not answer as ours do is served in the plain layout, and sends what it likes.
pub fn memory(mode: Mode, bytes: u64) -> Wish {
    let sends = mode == Mode::Write;
    let opener: Opener = Box::new(move |connection| {
        let buffer_bytes = buffer_bytes(connection)?;
        match answer(connection)? {
            Answer::Memory => memory_job(sends, bytes, buffer_bytes),
            Answer::Plain if sends => plain::generate(bytes, buffer_bytes),
            Answer::Plain => Ok(plain::take(buffer_bytes)),
            _ => Err("no such answer".into()),
        }
    });
    (mode, Offer::Memory { bytes }, opener)
}

fn memory_job(sends: bool, bytes: u64, buffer_bytes: u32) -> Result<Job, String> {
    let layout = Layout::memory(bytes, buffer_bytes)?;
    Ok(match sends {
        true => Job::sending(MemorySource(layout), layout),
        false => Job::receiving(MemorySink(layout), layout),
    })
}

/// Whatever others ask for is refused.
pub struct Nobody;

impl Host for Nobody {
    fn decide(
        &mut self,
        _peer: SocketAddr,
        _mode: Mode,
        _offer: Offer,
    ) -> Result<(Answer, Opener), String> {
        Err("nothing is served here".to_owned())
    }
}

/// A directory that others read from and write to, and never leave.
pub struct Served {
    dir: Dir,
    writers: Writers,
    /// Others may read.
    pub readable: bool,
    /// Others may write.
    pub writable: bool,
    /// Others may replace files.
    pub overwrite: bool,
}

impl Served {
    /// Of the directory at `path`.
    pub fn open(path: &Path) -> io::Result<Served> {
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Served {
            dir,
            writers: Writers::default(),
            readable: true,
            writable: true,
            overwrite: false,
        })
    }

    fn put(&self, name: &str, size: u64, version: &str) -> Result<(Answer, Opener), String> {
        check_name(name)?;
        agreement::check_size(size)?;
        let dir = self.dir.try_clone().map_err(refused)?;
        let partial = Partial::open(dir, name, size, version, self.overwrite, &self.writers)
            .map_err(refused)?;
        let have = partial.here().abridged(RANGES_CHARS);
        let answer = Answer::Put { have: have.to_string() };
        let opener: Opener =
            Box::new(move |connection| receiving(partial, &have, size, buffer_bytes(connection)?));
        Ok((answer, opener))
    }

    /// What somebody wants who speaks plain RFC 998.
    fn plain(&self, mode: Mode, name: &str, bytes: u64) -> Result<Opener, String> {
        if name.is_empty() {
            return Ok(Box::new(move |connection| match mode {
                Mode::Write => Ok(plain::take(buffer_bytes(connection)?)),
                Mode::Read => plain::generate(bytes, buffer_bytes(connection)?),
            }));
        }
        check_name(name)?;
        if mode == Mode::Read {
            let file = self.open_file(name)?;
            return Ok(Box::new(move |connection| plain::send(file, buffer_bytes(connection)?)));
        }
        check_place(&self.dir, name, self.overwrite).map_err(refused)?;
        let (dir, name) = (self.dir.try_clone().map_err(refused)?, name.to_owned());
        let overwrite = self.overwrite;
        Ok(Box::new(move |connection| {
            Ok(plain::receive(dir, &name, overwrite, buffer_bytes(connection)?))
        }))
    }

    fn open_file(&self, name: &str) -> Result<OneVersion, String> {
        let mut options = OpenOptions::new();
        // Opening a FIFO would wait for somebody to write to it.
        cap_std::fs::OpenOptionsExt::custom_flags(options.read(true), OFlag::O_NONBLOCK.bits());
        let file = self.dir.open_with(name, &options).map_err(refused)?;
        OneVersion::of(file.into_std()).map_err(refused)
    }

    fn get(&self, name: &str, have: &str, known: &str) -> Result<(Answer, Opener), String> {
        check_name(name)?;
        let file = self.open_file(name)?;
        let (size, version) = (file.size_bytes(), file.version().to_owned());
        let same = version == known;
        let have = if same { agreement::ranges(have)? } else { Ranges::default() };
        let answer = Answer::Get { size, version, have: have.to_string() };
        let opener: Opener = Box::new(move |connection| {
            let missing = have.missing(size);
            let layout = Layout::file(missing.len_bytes(), buffer_bytes(connection)?)?;
            Ok(Job::sending(FileSource::new(file, size, missing), layout))
        });
        Ok((answer, opener))
    }
}

impl Host for Served {
    fn decide(
        &mut self,
        _peer: SocketAddr,
        mode: Mode,
        offer: Offer,
    ) -> Result<(Answer, Opener), String> {
        match (mode, offer) {
            (Mode::Write, Offer::Put { .. }) if !self.writable => Err("read only".to_owned()),
            (Mode::Read, Offer::Get { .. }) if !self.readable => Err("write only".to_owned()),
            (Mode::Write, Offer::Plain { name, .. }) if !name.is_empty() && !self.writable => {
                Err("read only".to_owned())
            }
            (Mode::Read, Offer::Plain { name, .. }) if !name.is_empty() && !self.readable => {
                Err("write only".to_owned())
            }
            (mode, Offer::Plain { name, bytes }) => {
                Ok((Answer::Plain, self.plain(mode, &name, bytes)?))
            }
            (Mode::Write, Offer::Put { name, size, version }) => self.put(&name, size, &version),
            (Mode::Read, Offer::Get { name, have, version }) => self.get(&name, &have, &version),
            (mode, Offer::Memory { bytes }) => {
                let sends = mode == Mode::Read;
                let opener: Opener =
                    Box::new(move |connection| memory_job(sends, bytes, buffer_bytes(connection)?));
                Ok((Answer::Memory, opener))
            }
            _ => Err("mode and wish do not agree".to_owned()),
        }
    }
}
