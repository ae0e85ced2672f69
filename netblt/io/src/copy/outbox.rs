//! The sending end of a copy: fills buffers with entries as they are found, and with files as they are
//! asked for.

use super::MAX_UNSETTLED;
use super::backlog::Receiver;
use super::beneath;
use super::control::{self, Message};
use super::format::{Attributes, DIGEST_BYTES};
use super::format::{DATA_OVERHEAD_BYTES, MIN_BUFFER_BYTES, Record, UNKNOWN_SIZE, Writer};
use super::names::Name;
use super::tally::Tally;
use super::walk::{Entry, Found, Kind, Walk};
use crate::source::Source;
use nix::sys::stat::fstat;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// Of a buffer, while files are asked for, so much may be taken by entries.
const ENTRIES_SHARE: usize = 4;
/// Read, and hashed, at once.
const WINDOW_BYTES: u64 = 1 << 18;
/// How often one entry may be asked for: once more if what was kept of it turns out to be wrong.
const MAX_ASKED: u8 = 2;
/// What standard input is called, for want of a name.
const INPUT_NAME: &[u8] = b"input";

/// Where entries come from.
#[derive(Debug)]
pub enum Finder {
    /// From directories.
    Walk(Box<Walk>),
    /// Standard input, as the only entry.
    Input,
}

/// An entry that is announced and not settled.
#[derive(Debug)]
struct Pending {
    entry: Entry,
    asked: u8,
    /// Bytes of it that count as settled, since all of it was sent.
    sent_bytes: u64,
}

/// What the receiver asked for.
#[derive(Debug)]
enum Wanted {
    From(u32, u64),
    Unless(u32, [u8; DIGEST_BYTES]),
}

/// Where the bytes of a file come from.
#[derive(Debug)]
enum Bytes {
    File(File),
    Input(io::Stdin),
}

/// A file that is being sent.
#[derive(Debug)]
struct Reading {
    number: u32,
    bytes: Bytes,
    size: u64,
    attributes: Attributes,
    /// What was sent ends here.
    at: u64,
    hasher: blake3::Hasher,
    /// What was read and not sent, from `at` on.
    window: VecDeque<u8>,
    /// All was read.
    ended: bool,
}

/// See the module.
pub struct Outbox {
    finder: Finder,
    messages: Receiver,
    tally: Tally,
    /// Entries announced.
    announced: u32,
    /// What was found and did not fit.
    held: Option<Found>,
    all_found: bool,
    all_announced: bool,
    pending: BTreeMap<u32, Pending>,
    wanted: VecDeque<Wanted>,
    reading: Option<Reading>,
    ended: bool,
}

fn wrong(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the receiver {what}"))
}

/// What came of an attempt to put something into a buffer.
enum Put {
    Done,
    /// There is no room.
    Full,
}

impl Outbox {
    /// What `finder` finds; the receiver's words come by `messages`.
    pub fn new(finder: Finder, messages: Receiver, tally: Tally) -> Outbox {
        Outbox {
            finder,
            messages,
            tally,
            announced: 0,
            held: None,
            all_found: false,
            all_announced: false,
            pending: BTreeMap::new(),
            wanted: VecDeque::new(),
            reading: None,
            ended: false,
        }
    }

    fn hear(&mut self, message: Message) -> io::Result<()> {
        match message {
            Message::Want(ranges) => {
                control::entries(&ranges)?.try_for_each(|entry| self.want(entry, 0))
            }
            Message::Resume { entry, from } => self.want(entry, from),
            Message::Compare { entry, digest } => {
                let digest = blake3::Hash::from_hex(&digest).map_err(|_| wrong("has no digest"))?;
                self.asked(entry)?;
                self.wanted.push_back(Wanted::Unless(entry, *digest.as_bytes()));
                Ok(())
            }
            Message::Same(ranges) => control::entries(&ranges)?.try_for_each(|entry| {
                let Pending { entry, .. } = self.settle(entry)?;
                self.tally.same(&entry.name, size(&entry));
                Ok(())
            }),
            Message::Kept(ranges) => control::entries(&ranges)?.try_for_each(|entry| {
                let Pending { entry, .. } = self.settle(entry)?;
                self.tally.copied(&entry.name, size(&entry));
                Ok(())
            }),
            Message::Failed { entry, reason } => {
                let Pending { entry: failed, .. } = self.settle(entry)?;
                self.tally.failed(&failed.name, size(&failed), &reason);
                if self.reading.as_ref().is_some_and(|reading| reading.number == entry) {
                    self.reading = None;
                    self.tally.drop_current();
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn asked(&mut self, entry: u32) -> io::Result<&Pending> {
        let pending = self.pending.get_mut(&entry);
        let pending =
            pending.ok_or_else(|| wrong(format!("asks for entry {entry}, which is none")))?;
        pending.asked += 1;
        if pending.asked > MAX_ASKED || !matches!(pending.entry.kind, Kind::File(_)) {
            return Err(wrong(format!("asks for entry {entry} once too often")));
        }
        Ok(pending)
    }

    fn want(&mut self, entry: u32, from: u64) -> io::Result<()> {
        let pending = self.asked(entry)?;
        if from > 0 && from > size(&pending.entry) {
            return Err(wrong(format!("has more of entry {entry} than there is")));
        }
        self.wanted.push_back(Wanted::From(entry, from));
        Ok(())
    }

    fn settle(&mut self, entry: u32) -> io::Result<Pending> {
        let settled = self.pending.remove(&entry);
        settled.ok_or_else(|| wrong(format!("settles entry {entry}, which is not open")))
    }

    fn find(&mut self) -> Option<Found> {
        if self.held.is_some() {
            return self.held.take();
        }
        match &mut self.finder {
            Finder::Walk(walk) => walk.next(&self.tally),
            Finder::Input if self.announced > 0 => None,
            Finder::Input => Some(Found::Entry(Entry {
                name: INPUT_NAME.to_vec(),
                root: 0,
                path: Vec::new(),
                attributes: Attributes { mode: 0o644, ..Attributes::default() },
                kind: Kind::File(UNKNOWN_SIZE),
            })),
        }
    }

    /// Announces what is found next.
    fn announce(&mut self, writer: &mut Writer<'_>) -> io::Result<Put> {
        let Some(found) = self.find() else {
            self.all_found = true;
            self.tally.all_found();
            return Ok(Put::Done);
        };
        if !writer.put(&record(&found)?) {
            self.held = Some(found);
            return Ok(Put::Full);
        }
        match found {
            Found::Refused { name, reason } => {
                self.tally.found(0);
                self.tally.failed(&name, 0, &reason);
            }
            Found::Entry(entry) => {
                self.tally.found(size(&entry));
                self.pending.insert(self.announced, Pending { entry, asked: 0, sent_bytes: 0 });
                let next = self.announced.checked_add(1).filter(|next| *next < u32::MAX);
                self.announced = next.ok_or_else(|| io::Error::other("too many files"))?;
            }
        }
        Ok(Put::Done)
    }

    /// Begins with what was asked for next.
    fn begin(&mut self, writer: &mut Writer<'_>) -> io::Result<Put> {
        let Some(wanted) = self.wanted.front() else { return Ok(Put::Done) };
        let (number, from, unless) = match wanted {
            Wanted::From(number, from) => (*number, *from, None),
            Wanted::Unless(number, digest) => (*number, 0, Some(*digest)),
        };
        // A reason, or that it is the same, must fit.
        if writer.room() < 600 {
            return Ok(Put::Full);
        }
        self.wanted.pop_front();
        // The receiver may have given up on it meanwhile.
        let Some(pending) = self.pending.get_mut(&number) else { return Ok(Put::Done) };
        // Who asks twice may do so before anything was sent.
        self.tally.again(std::mem::take(&mut pending.sent_bytes));
        let entry = pending.entry.clone();
        match self.open(number, &entry, from, unless) {
            Ok(Some(reading)) => {
                let bytes = Some(reading.size).filter(|size| *size != UNKNOWN_SIZE);
                self.tally.begin(&entry.name, from, bytes);
                self.reading = Some(reading);
            }
            Ok(None) => _ = writer.put(&Record::Same { entry: number }),
            Err(error) => {
                _ = writer.put(&Record::GivenUp { entry: number, reason: &error.to_string() })
            }
        }
        Ok(Put::Done)
    }

    /// A file as it was announced; None if it has this digest.
    fn open(
        &mut self,
        number: u32,
        entry: &Entry,
        from: u64,
        unless: Option<[u8; DIGEST_BYTES]>,
    ) -> io::Result<Option<Reading>> {
        let size = match entry.kind {
            Kind::File(size) => size,
            _ => return Err(io::Error::other("it is no file")),
        };
        let bytes = match &mut self.finder {
            Finder::Input => Bytes::Input(io::stdin()),
            Finder::Walk(walk) => Bytes::File(walk.open(entry.root, &entry.path)?),
        };
        let attributes = entry.attributes;
        let (hasher, window) = (blake3::Hasher::new(), VecDeque::new());
        let mut reading =
            Reading { number, bytes, size, attributes, at: 0, hasher, window, ended: false };
        reading.check()?;
        if let Some(theirs) = unless {
            reading.skip(size)?;
            reading.check()?;
            if *reading.hasher.finalize().as_bytes() == theirs {
                return Ok(None);
            }
            (reading.at, reading.hasher) = (0, blake3::Hasher::new());
        }
        reading.skip(from)?;
        Ok(Some(reading))
    }

    /// Goes on with the file that is being sent.
    fn go_on(&mut self, writer: &mut Writer<'_>) -> io::Result<Put> {
        if writer.room() < 600 {
            return Ok(Put::Full);
        }
        let Some(reading) = &mut self.reading else { return self.begin(writer) };
        let number = reading.number;
        match reading.put(writer) {
            Ok(Some(0)) => {
                // All of it has left: whether it is still what was announced shows now.
                let size = reading.at;
                let record = match reading.check() {
                    Ok(()) => {
                        let digest = *reading.hasher.finalize().as_bytes();
                        writer.put(&Record::Whole { entry: number, size, digest });
                        self.tally.end(size);
                        if let Some(pending) = self.pending.get_mut(&number) {
                            pending.sent_bytes = size;
                        }
                        None
                    }
                    Err(error) => Some(error.to_string()),
                };
                self.give_up(number, record.as_deref(), writer);
            }
            Ok(Some(moved)) => self.tally.moved(moved),
            Ok(None) => return Ok(Put::Full),
            Err(error) => self.give_up(number, Some(&error.to_string()), writer),
        }
        Ok(Put::Done)
    }

    /// Is done with the file that is being sent, for a reason or because it was sent.
    fn give_up(&mut self, entry: u32, reason: Option<&str>, writer: &mut Writer<'_>) {
        self.reading = None;
        if let Some(reason) = reason {
            self.tally.drop_current();
            writer.put(&Record::GivenUp { entry, reason });
        }
    }

    fn may_announce(&self, used: usize, buffer: usize) -> bool {
        let busy = self.reading.is_some() || !self.wanted.is_empty();
        let share = if busy { buffer / ENTRIES_SHARE } else { buffer };
        !self.all_found && self.pending.len() < MAX_UNSETTLED && used < share
    }
}

/// Bytes of an entry, as far as they are known.
fn size(entry: &Entry) -> u64 {
    match entry.kind {
        Kind::File(UNKNOWN_SIZE) => 0,
        Kind::File(size) => size,
        _ => 0,
    }
}

fn record(found: &Found) -> io::Result<Record<'_>> {
    let entry = match found {
        Found::Refused { name, reason } => return Ok(Record::Refused { name, reason }),
        Found::Entry(entry) => entry,
    };
    let attributes = entry.attributes;
    let name = Name::new(&entry.name).map_err(io::Error::other)?;
    Ok(match &entry.kind {
        Kind::Directory => Record::Directory { attributes, name },
        Kind::File(size) => Record::File { size: *size, attributes, name },
        Kind::Link(target) => Record::Link { attributes, name, target },
    })
}

impl Reading {
    /// Whether the file is what was announced.
    fn check(&self) -> io::Result<()> {
        let Bytes::File(file) = &self.bytes else { return Ok(()) };
        let now = fstat(file)?;
        let Attributes { modified_s, modified_ns, .. } = beneath::attributes(&now);
        let known = (self.size, self.attributes.modified_s, self.attributes.modified_ns);
        match (now.st_size.max(0) as u64, modified_s, modified_ns) == known {
            true => Ok(()),
            false => Err(io::Error::other("it changed while it was read")),
        }
    }

    /// Reads on, and hashes, up to `end`, without sending.
    fn skip(&mut self, end: u64) -> io::Result<()> {
        let Bytes::File(file) = &self.bytes else { return Ok(()) };
        let mut chunk = vec![0; WINDOW_BYTES.min(end - self.at.min(end)) as usize];
        while self.at < end {
            let len = (end - self.at).min(WINDOW_BYTES) as usize;
            file.read_exact_at(&mut chunk[..len], self.at)?;
            self.hasher.update(&chunk[..len]);
            self.at += len as u64;
        }
        Ok(())
    }

    /// Reads some more; nothing at the end.
    fn read(&mut self) -> io::Result<()> {
        let len = WINDOW_BYTES.min(self.size - self.at) as usize;
        let mut chunk = vec![0; len];
        let read = match &mut self.bytes {
            Bytes::File(file) => {
                file.read_exact_at(&mut chunk, self.at)?;
                len
            }
            Bytes::Input(input) => input.read(&mut chunk)?,
        };
        self.ended = read == 0;
        self.hasher.update(&chunk[..read]);
        self.window.extend(&chunk[..read]);
        Ok(())
    }

    /// Puts bytes into a buffer: how many, 0 at the end of the file; None if there is no room.
    fn put(&mut self, writer: &mut Writer<'_>) -> io::Result<Option<u64>> {
        if self.window.is_empty() {
            self.read()?;
        }
        if self.window.is_empty() {
            return Ok(Some(0));
        }
        if writer.room() <= DATA_OVERHEAD_BYTES {
            return Ok(None);
        }
        let window = &mut self.window;
        let moved =
            writer.put_data(self.number, self.at, window.len() as u64, |into| window.read(into))?;
        self.at += moved as u64;
        Ok(Some(moved as u64))
    }
}

impl Source for Outbox {
    fn fill(&mut self, _index: u64, buffer: &mut [u8]) -> io::Result<()> {
        let len = buffer.len();
        if len < MIN_BUFFER_BYTES {
            return Err(io::Error::other("the buffers agreed on are too small for a long name"));
        }
        let mut writer = Writer::new(buffer);
        loop {
            while let Ok(message) = self.messages.try_recv() {
                self.hear(message)?;
            }
            let put = if self.may_announce(len - writer.room(), len) {
                self.announce(&mut writer)?
            } else if self.reading.is_some() || !self.wanted.is_empty() {
                self.go_on(&mut writer)?
            } else if self.all_found && !self.all_announced {
                let put = writer.put(&Record::Listed { entries: self.announced });
                self.all_announced = put;
                if put { Put::Done } else { Put::Full }
            } else if self.all_found && self.pending.is_empty() {
                self.ended = writer.put(&Record::End);
                Put::Full
            } else if !writer.is_empty() {
                // Nobody answers what was not sent.
                Put::Full
            } else {
                let message = self.messages.recv();
                let message = message.map_err(|_| io::Error::other("the control channel ended"))?;
                self.hear(message)?;
                Put::Done
            };
            if matches!(put, Put::Full) {
                break;
            }
        }
        writer.finish();
        Ok(())
    }

    fn has_ended(&self) -> bool {
        self.ended
    }
}
