//! The receiving end of a copy: a tree of files, below a directory that nothing leads out of.

use super::MAX_UNSETTLED;
use super::answers::{Answer, Answers};
use super::beneath::{self, Beneath, kind, look, open_at};
use super::control::{Links, Message, Summary, Teller};
use super::format::{Attributes, DIGEST_BYTES, Record, UNKNOWN_SIZE, records};
use super::names::{self, Name, part_name};
use super::parts;
use super::patterns::{Exclusion, Glob};
use super::shelf::{Finished, Shelf, set_attributes};
use super::tally::Tally;
use crate::sink::Sink;
use nix::errno::Errno;
use nix::fcntl::{OFlag, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, UtimensatFlags, fstat, mkdirat, utimensat};
use nix::sys::time::TimeSpec;
use nix::unistd::{UnlinkatFlags, symlinkat, unlinkat};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Read at once while hashing what is there.
const CHUNK_BYTES: usize = 1 << 18;

/// Names that may stand first: what was asked for, and nothing else.
#[derive(Clone, Debug)]
pub enum Allowed {
    /// Exactly this.
    Name(Vec<u8>),
    /// What this matches.
    Glob(Glob),
    /// Whatever is in a directory that was asked for.
    Any,
}

impl Allowed {
    fn allows(&self, first: &[u8]) -> bool {
        match self {
            Allowed::Any => true,
            Allowed::Name(name) => name == first,
            Allowed::Glob(glob) => glob.matches(first),
        }
    }
}

/// Where files go.
#[derive(Debug)]
pub enum Target {
    /// Into a directory.
    Tree(Beneath),
    /// The only file gets this name in a directory.
    Named(Beneath, Vec<u8>),
    /// The only file goes to standard output.
    Output,
}

/// What a receiver is told.
#[derive(Clone, Debug)]
pub struct Rules {
    /// First names.
    pub allowed: Vec<Allowed>,
    /// What the sender was asked to leave out.
    pub excluded: Exclusion,
    /// Links.
    pub links: Links,
    /// Files of equal size are compared by digest.
    pub checksum: bool,
}

/// A file that was announced and is not settled.
#[derive(Clone, Debug)]
struct Expected {
    name: Vec<u8>,
    size: u64,
    attributes: Attributes,
    /// Where it goes on.
    from: u64,
    again: bool,
}

/// A file that is being written.
struct Current {
    number: u32,
    file: Option<File>,
    directory: Option<Arc<OwnedFd>>,
    part: String,
    at: u64,
    hasher: blake3::Hasher,
}

/// See the module.
pub struct Inbox {
    target: Target,
    rules: Rules,
    teller: Teller,
    tally: Tally,
    answers: Option<(Answers, JoinHandle<()>)>,
    shelf: Shelf,
    entries: u32,
    expected: BTreeMap<u32, Expected>,
    current: Option<Current>,
    /// Get time and mode at the end.
    directories: BTreeMap<Vec<u8>, Attributes>,
    /// Directories in which names changed.
    changed: BTreeSet<Vec<u8>>,
    /// Hidden files that an earlier attempt left, by directory, once it was looked at.
    left: BTreeMap<Vec<u8>, Vec<Vec<u8>>>,
    ended: bool,
}

fn hostile(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the sender {what}"))
}

/// An error with the directory that has it.
fn named(directory: &[u8], error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("directory {}: {error}", names::shown(directory)))
}

/// Errors that every other file would meet as well.
fn is_fatal(error: &io::Error) -> bool {
    let fatal = [Errno::ENOSPC, Errno::EDQUOT, Errno::EROFS, Errno::EIO];
    error.raw_os_error().is_some_and(|raw| fatal.contains(&Errno::from_raw(raw)))
}

/// What is known of a file's version before its bytes are: those of another are not gone on with.
fn version(expected: &Expected) -> Vec<u8> {
    let Attributes { modified_s, modified_ns, .. } = expected.attributes;
    format!("{} {modified_s} {modified_ns}", expected.size).into_bytes()
}

/// The file that takes the bytes, and its hidden name. What comes of an input of no known size serves nobody
/// until it is whole, and two at a time do not meet.
fn open_part(at: &OwnedFd, own: &[u8], expected: &Expected) -> io::Result<(File, String)> {
    if expected.size == UNKNOWN_SIZE
        && let Ok(file) = parts::open_nameless(at)
    {
        let part = part_name(own, &fstat(&file)?.st_ino.to_be_bytes());
        return Ok((file, part));
    }
    let part = part_name(own, &version(expected));
    Ok((parts::open(at, &part)?, part))
}

impl Inbox {
    /// Into `target`; the sender is told by `teller`.
    pub fn new(target: Target, rules: Rules, teller: Teller, tally: Tally) -> Inbox {
        let (answers, thread) = Answers::new(teller.clone());
        let shelf = Shelf::new(&answers, &tally);
        Inbox {
            target,
            rules,
            teller,
            tally,
            answers: Some((answers, thread)),
            shelf,
            entries: 0,
            expected: BTreeMap::new(),
            current: None,
            directories: BTreeMap::new(),
            changed: BTreeSet::new(),
            left: BTreeMap::new(),
            ended: false,
        }
    }

    fn say(&self, answer: Answer) {
        if let Some((answers, _)) = &self.answers {
            answers.say(answer);
        }
    }

    fn failed(&self, entry: u32, name: &[u8], bytes: u64, reason: &str) {
        self.tally.failed(name, bytes, reason);
        let reason = reason.to_owned();
        self.say(Answer::Other(Message::Failed { entry, reason }));
    }

    fn take(&mut self, record: Record<'_>) -> io::Result<()> {
        if self.ended {
            return Err(hostile("goes on after the end"));
        }
        if self.answers.as_ref().is_some_and(|(answers, _)| answers.are_unheard()) {
            return Err(hostile("does not hear what is said of its entries"));
        }
        match record {
            Record::Directory { attributes, name } => {
                let entry = self.number(&name, true)?;
                let made = self.directory(&name, attributes);
                self.settle(entry, &name, made)
            }
            Record::Link { attributes, name, target } => {
                let entry = self.number(&name, false)?;
                let made = self.link(&name, attributes, target);
                self.settle(entry, &name, made)
            }
            Record::File { size, attributes, name } => {
                let entry = self.number(&name, false)?;
                self.file(entry, &name, size, attributes)
            }
            Record::Data { entry, offset, bytes } => self.data(entry, offset, bytes),
            Record::Whole { entry, size, digest } => self.whole(entry, size, digest),
            Record::Same { entry } => self.same(entry),
            Record::GivenUp { entry, reason } => {
                if let Some(expected) = self.expected.remove(&entry) {
                    self.drop_part(entry);
                    self.failed(entry, &expected.name, expected.size, reason);
                }
                Ok(())
            }
            Record::Refused { name, reason } => {
                self.tally.found(0);
                self.tally.failed(name, 0, reason);
                Ok(())
            }
            Record::Listed { entries } if entries != self.entries => {
                Err(hostile(format!("counts {entries} entries, and {} came", self.entries)))
            }
            Record::Listed { .. } => {
                self.tally.all_found();
                Ok(())
            }
            Record::End => {
                self.ended = true;
                Ok(())
            }
        }
    }

    /// The number of the entry that comes.
    fn number(&mut self, name: &Name<'_>, is_directory: bool) -> io::Result<u32> {
        if !self.rules.allowed.iter().any(|allowed| allowed.allows(name.first_part())) {
            return Err(hostile(format!("sends {name}, which nobody asked for")));
        }
        if self.rules.excluded.covers_way(name.bytes(), is_directory) {
            return Err(hostile(format!("sends {name}, which --exclude leaves out")));
        }
        let entry = self.entries;
        self.entries = entry.checked_add(1).ok_or_else(|| hostile("sends too much"))?;
        Ok(entry)
    }

    /// What became of an entry without bytes.
    fn settle(&mut self, entry: u32, name: &Name<'_>, made: io::Result<bool>) -> io::Result<()> {
        self.tally.found(0);
        match made {
            Ok(true) => {
                self.tally.copied(name.bytes(), 0);
                self.say(Answer::Kept(entry));
            }
            Ok(false) => {
                self.tally.same(name.bytes(), 0);
                self.say(Answer::Same(entry));
            }
            Err(error) if is_fatal(&error) => return Err(error),
            Err(error) => self.failed(entry, name.bytes(), 0, &error.to_string()),
        }
        Ok(())
    }

    fn tree(&mut self) -> io::Result<&mut Beneath> {
        match &mut self.target {
            Target::Tree(tree) => Ok(tree),
            Target::Named(..) | Target::Output => {
                Err(io::Error::other("only one file can go there"))
            }
        }
    }

    /// Whether the directory is new.
    fn directory(&mut self, name: &Name<'_>, attributes: Attributes) -> io::Result<bool> {
        let (parent, own) = name.split();
        let at = self.tree()?.directory(parent)?;
        let private = Mode::S_IRWXU;
        let new = match mkdirat(&at, own, private) {
            Ok(()) => true,
            Err(Errno::EEXIST) => false,
            Err(errno) => return Err(errno.into()),
        };
        let found = look(&at, own)?.filter(|found| kind(found) == SFlag::S_IFDIR);
        let no_directory = || io::Error::other("something else than a directory has this name");
        let found = found.ok_or_else(no_directory)?;
        if new {
            self.changed.insert(parent.to_vec());
            // Nothing can be left in it.
            self.left.insert(name.bytes().to_vec(), Vec::new());
        } else if found.st_mode & 0o700 != 0o700 {
            let directory = File::from(open_at(&at, own, OFlag::O_DIRECTORY, Mode::empty())?);
            let mode = u32::from(attributes.mode) | 0o700;
            directory.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))?;
        }
        if !new && !may_have_attributes(&at, own, &found)? {
            return Err(io::Error::other(
                "it is another user's: its time and mode stay, what is in it is copied",
            ));
        }
        self.directories.insert(name.bytes().to_vec(), attributes);
        Ok(new)
    }

    /// Whether the link is new.
    fn link(&mut self, name: &Name<'_>, attributes: Attributes, target: &[u8]) -> io::Result<bool> {
        let leads_out = !names::stays_within(name, target);
        match self.rules.links {
            Links::Refuse => return Err(io::Error::other("it is a symbolic link")),
            Links::Within if leads_out => {
                return Err(io::Error::other("the link leads out or up behind a name"));
            }
            _ => {}
        }
        let (parent, own) = name.split();
        let at = self.tree()?.directory(parent)?;
        let there = look(&at, own)?.filter(|found| kind(found) == SFlag::S_IFLNK);
        if there.is_some() {
            use std::os::unix::ffi::OsStrExt;
            let theirs = nix::fcntl::readlinkat(&at, own)?;
            if theirs.as_bytes() == target {
                return Ok(false);
            }
        }
        let part = part_name(own, b"link");
        let _ = unlinkat(&at, part.as_str(), UnlinkatFlags::NoRemoveDir);
        symlinkat(target, &at, part.as_str())?;
        let time = TimeSpec::new(attributes.modified_s, attributes.modified_ns.into());
        let no_follow = UtimensatFlags::NoFollowSymlink;
        let _ = utimensat(&at, part.as_str(), &time, &time, no_follow);
        if let Err(errno) = renameat(&at, part.as_str(), &at, own) {
            let _ = unlinkat(&at, part.as_str(), UnlinkatFlags::NoRemoveDir);
            return Err(errno.into());
        }
        self.changed.insert(parent.to_vec());
        Ok(true)
    }

    fn file(
        &mut self,
        entry: u32,
        name: &Name<'_>,
        size: u64,
        attributes: Attributes,
    ) -> io::Result<()> {
        self.tally.found(if size == UNKNOWN_SIZE { 0 } else { size });
        let name = name.bytes().to_vec();
        if entry > 0 && !matches!(self.target, Target::Tree(_)) {
            self.failed(entry, &name, size, "only one file can go there");
            return Ok(());
        }
        // What is settled here is settled for the sender later: it never has more than it says.
        if self.expected.len() >= MAX_UNSETTLED {
            return Err(hostile("announces too many files at once"));
        }
        let expected = Expected { name, size, attributes, from: 0, again: false };
        match self.decide(entry, expected.clone()) {
            Ok(answer) => self.say(answer),
            Err(error) if is_fatal(&error) => return Err(error),
            Err(error) => self.failed(entry, &expected.name, size, &error.to_string()),
        }
        Ok(())
    }

    /// The directory of a file, and its name there; None for standard output.
    fn place(&mut self, name: &[u8]) -> io::Result<Option<(Arc<OwnedFd>, Vec<u8>)>> {
        let (parent, own) = names::split(name);
        Ok(match &mut self.target {
            Target::Tree(tree) => Some((tree.directory(parent)?, own.to_vec())),
            Target::Named(tree, name) => Some((tree.directory(b"")?, name.clone())),
            Target::Output => None,
        })
    }

    /// Whether a file is wanted, and from which byte on.
    fn decide(&mut self, entry: u32, mut expected: Expected) -> io::Result<Answer> {
        let Some((at, own)) = self.place(&expected.name)? else {
            self.expected.insert(entry, expected);
            return Ok(Answer::Want(entry));
        };
        if let Some(found) = look(&at, &own)? {
            match kind(&found) {
                SFlag::S_IFDIR => return Err(io::Error::other("a directory has this name")),
                SFlag::S_IFREG if found.st_size as u64 == expected.size => {
                    if let Some(answer) = self.compare(entry, &expected, (&at, &own), &found)? {
                        return Ok(answer);
                    }
                }
                _ => {}
            }
        }
        expected.from = self.left_over(&at, &own, &expected)?;
        let from = expected.from;
        self.expected.insert(entry, expected);
        Ok(match from {
            0 => Answer::Want(entry),
            from => Answer::Other(Message::Resume { entry, from }),
        })
    }

    /// A file of the same size is there.
    fn compare(
        &mut self,
        entry: u32,
        expected: &Expected,
        (at, own): (&OwnedFd, &[u8]),
        found: &FileStat,
    ) -> io::Result<Option<Answer>> {
        let there = beneath::attributes(found);
        if self.rules.checksum {
            let mut file = File::from(open_at(at, own, OFlag::O_NONBLOCK, Mode::empty())?);
            let mut hasher = blake3::Hasher::new();
            hash(&mut file, &mut hasher, expected.size)?;
            let digest = hasher.finalize().to_hex().to_string();
            self.expected.insert(entry, expected.clone());
            return Ok(Some(Answer::Other(Message::Compare { entry, digest })));
        }
        let Attributes { modified_s, modified_ns, mode } = expected.attributes;
        if (there.modified_s, there.modified_ns) != (modified_s, modified_ns) {
            return Ok(None);
        }
        if there.mode != mode {
            let file = File::from(open_at(at, own, OFlag::O_NONBLOCK, Mode::empty())?);
            set_attributes(&file, &expected.attributes)?;
        }
        self.tally.same(&expected.name, expected.size);
        Ok(Some(Answer::Same(entry)))
    }

    /// Bytes of this version that an earlier attempt left; what it left of others goes.
    fn left_over(&mut self, at: &OwnedFd, own: &[u8], expected: &Expected) -> io::Result<u64> {
        let parent = names::split(&expected.name).0;
        if !self.left.contains_key(parent) {
            let all = beneath::list(at)?.into_iter().filter(|name| names::is_temporary(name));
            self.left.insert(parent.to_vec(), all.collect());
        }
        let part = part_name(own, &version(expected));
        let known = self.left.get(parent).into_iter().flatten();
        let mut from = 0;
        for left in known.filter(|left| names::same_file(left, part.as_bytes())) {
            if left == part.as_bytes() && expected.size != UNKNOWN_SIZE {
                let serves =
                    |found: &FileStat| kind(found) == SFlag::S_IFREG && parts::is_ours(found);
                let found = look(at, left)?.filter(serves);
                from = found.map_or(0, |found| found.st_size as u64).min(expected.size);
            } else {
                parts::remove_abandoned(at, left);
            }
        }
        Ok(from)
    }

    /// Takes a file in hand, and the bytes of it that are there.
    fn begin(&mut self, number: u32) -> io::Result<()> {
        let expected = self.expected.get(&number).cloned();
        let expected = expected.ok_or_else(|| hostile("sends what nobody wants"))?;
        let mut hasher = blake3::Hasher::new();
        let (mut file, mut directory, mut part) = (None, None, String::new());
        if let Some((at, own)) = self.place(&expected.name)? {
            let mut opened;
            (opened, part) = open_part(&at, &own, &expected)?;
            // Anything may have happened to it since it was looked at.
            if opened.metadata()?.len() < expected.from {
                return Err(io::Error::other("what was kept of it is gone; try again"));
            }
            opened.set_len(expected.from)?;
            hash(&mut opened, &mut hasher, expected.from)?;
            (file, directory) = (Some(opened), Some(at));
        }
        let bytes = Some(expected.size).filter(|size| *size != UNKNOWN_SIZE);
        self.tally.begin(&expected.name, expected.from, bytes);
        self.current = Some(Current { number, file, directory, part, at: expected.from, hasher });
        Ok(())
    }

    /// The file that bytes are for; None if it failed here.
    fn current(&mut self, number: u32) -> io::Result<Option<(&mut Current, Expected)>> {
        if number >= self.entries {
            return Err(hostile("sends bytes of what it has not announced"));
        }
        let Some(expected) = self.expected.get(&number).cloned() else { return Ok(None) };
        if self.current.as_ref().is_none_or(|current| current.number != number) {
            self.current = None;
            if let Err(error) = self.begin(number) {
                self.fail(number, &expected, &error)?;
                return Ok(None);
            }
        }
        Ok(self.current.as_mut().map(|current| (current, expected)))
    }

    fn fail(&mut self, entry: u32, expected: &Expected, error: &io::Error) -> io::Result<()> {
        if is_fatal(error) {
            return Err(io::Error::new(error.kind(), error.to_string()));
        }
        self.expected.remove(&entry);
        self.current = None;
        self.tally.drop_current();
        self.failed(entry, &expected.name, expected.size, &error.to_string());
        Ok(())
    }

    fn data(&mut self, entry: u32, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let Some((current, expected)) = self.current(entry)? else { return Ok(()) };
        let end = offset.checked_add(bytes.len() as u64);
        let end = end.filter(|end| *end <= expected.size);
        let (true, Some(end)) = (offset == current.at, end) else {
            return Err(hostile("sends bytes that have no place"));
        };
        let written = match &current.file {
            Some(file) => file.write_all_at(bytes, offset),
            None => io::stdout().lock().write_all(bytes),
        };
        current.hasher.update(bytes);
        current.at = end;
        match written {
            Ok(()) => self.tally.moved(bytes.len() as u64),
            Err(error) if matches!(self.target, Target::Output) => return Err(error),
            Err(error) => self.fail(entry, &expected, &error)?,
        }
        Ok(())
    }

    /// All bytes of a file have come.
    fn whole(&mut self, entry: u32, size: u64, digest: [u8; DIGEST_BYTES]) -> io::Result<()> {
        let Some((current, expected)) = self.current(entry)? else { return Ok(()) };
        let known = expected.size == UNKNOWN_SIZE || expected.size == size;
        if current.at != size || !known {
            return Err(hostile("ends a file before its end"));
        }
        let right = *current.hasher.finalize().as_bytes() == digest;
        self.tally.end(size);
        if !right {
            return self.wrong_digest(entry, expected, size);
        }
        self.expected.remove(&entry);
        let Some(Current { file, directory, part, .. }) = self.current.take() else {
            return Ok(());
        };
        let (Some(file), Some(directory)) = (file, directory) else {
            io::stdout().lock().flush()?;
            self.tally.copied(&expected.name, size);
            self.say(Answer::Kept(entry));
            return Ok(());
        };
        let (parent, own) = names::split(&expected.name);
        let name = match &self.target {
            Target::Named(_, name) => name.clone(),
            _ => own.to_vec(),
        };
        self.changed.insert(parent.to_vec());
        let input = expected.size == UNKNOWN_SIZE;
        let attributes = Some(expected.attributes).filter(|_| !input);
        if input {
            let mode = parts::mode_of_input(&directory, &name)?;
            file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))?;
        }
        let (shown, bytes) = (expected.name, size);
        self.shelf.take(Finished { entry, shown, bytes, directory, part, name, attributes, file });
        Ok(())
    }

    /// What was kept of an earlier attempt may be wrong, after a power failure: once more from the
    /// first byte. What came whole and is wrong is the sender's.
    fn wrong_digest(&mut self, entry: u32, mut expected: Expected, size: u64) -> io::Result<()> {
        self.drop_part(entry);
        if expected.from > 0 && !expected.again {
            (expected.from, expected.again) = (0, true);
            self.tally.again(size);
            self.expected.insert(entry, expected);
            self.say(Answer::Want(entry));
            return Ok(());
        }
        if matches!(self.target, Target::Output) {
            return Err(io::Error::other("what went to standard output is not what was sent"));
        }
        let error = io::Error::other("what arrived does not have its digest");
        self.fail(entry, &expected, &error)
    }

    /// Removes what was written of a file.
    fn drop_part(&mut self, entry: u32) {
        let current = self.current.take_if(|current| current.number == entry);
        if let Some(Current { directory: Some(directory), part, .. }) = current {
            let _ = unlinkat(&directory, part.as_str(), UnlinkatFlags::NoRemoveDir);
            self.tally.drop_current();
        }
    }

    /// The sender's file has the digest of ours.
    fn same(&mut self, entry: u32) -> io::Result<()> {
        let Some(expected) = self.expected.remove(&entry) else { return Ok(()) };
        let set = self.place(&expected.name).and_then(|place| {
            let Some((at, own)) = place else { return Err(hostile("knows our output")) };
            let file = File::from(open_at(&at, &own, OFlag::O_NONBLOCK, Mode::empty())?);
            set_attributes(&file, &expected.attributes)
        });
        match set {
            Ok(()) => {
                self.tally.same(&expected.name, expected.size);
                self.say(Answer::Same(entry));
            }
            Err(error) => self.failed(entry, &expected.name, expected.size, &error.to_string()),
        }
        Ok(())
    }

    /// Directories get time and mode, deepest first, and what changed in them is put on the disk.
    fn finish_directories(&mut self) -> io::Result<()> {
        let mut changed = std::mem::take(&mut self.changed);
        let made = std::mem::take(&mut self.directories);
        let (Target::Tree(tree) | Target::Named(tree, _)) = &mut self.target else { return Ok(()) };
        for (path, attributes) in made.iter().rev() {
            // As read, before a mode forbids it.
            let opened = tree.directory(path)?.try_clone()?;
            let directory = File::from(opened);
            let done = set_attributes(&directory, attributes).and_then(|()| directory.sync_all());
            done.map_err(|error| named(path, &error))?;
            changed.remove(path);
        }
        for path in changed {
            let directory = File::from(tree.directory(&path)?.try_clone()?);
            directory.sync_all().map_err(|error| named(&path, &error))?;
        }
        Ok(())
    }
}

/// Whether we may give a directory its time and mode: we own it, or are root.
fn may_have_attributes(at: &OwnedFd, own: &[u8], found: &FileStat) -> io::Result<bool> {
    // The time that it has: nothing changes.
    let modified = TimeSpec::new(found.st_mtime, found.st_mtime_nsec);
    let follow = UtimensatFlags::NoFollowSymlink;
    match utimensat(at, own, &TimeSpec::UTIME_OMIT, &modified, follow) {
        Ok(()) => Ok(true),
        Err(Errno::EPERM | Errno::EACCES) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Hashes the first bytes of a file.
fn hash(file: &mut File, hasher: &mut blake3::Hasher, bytes: u64) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES.min(usize::try_from(bytes).unwrap_or(usize::MAX))];
    let mut left = bytes;
    while left > 0 {
        let len = left.min(CHUNK_BYTES as u64) as usize;
        file.read_exact(&mut chunk[..len])?;
        hasher.update(&chunk[..len]);
        left -= len as u64;
    }
    Ok(())
}

impl Sink for Inbox {
    fn store(&mut self, _index: u64, data: &[u8]) -> io::Result<()> {
        for record in records(data) {
            let record = record.map_err(|error| hostile(format!("sends {error}")))?;
            self.take(record)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<Option<String>> {
        if !self.ended || !self.expected.is_empty() {
            return Err(hostile("ends before all is there"));
        }
        self.shelf.finish();
        self.finish_directories()?;
        // What is said of entries is said before the whole is.
        if let Some((answers, thread)) = self.answers.take() {
            drop(answers);
            let _ = thread.join();
        }
        let figures = self.tally.figures();
        let summary = Summary {
            kept: figures.copied_entries,
            same: figures.same_entries,
            failed: figures.failed_entries,
        };
        self.teller.tell(&Message::Summary(summary))?;
        Ok(None)
    }
}

/// The directory that files go into, made if it is not there; the one above it must be.
pub fn open_directory(path: &Path) -> Result<Beneath, String> {
    use std::os::unix::ffi::OsStrExt;
    let shown = names::shown(path.as_os_str().as_bytes());
    let cannot = |error: io::Error| format!("cannot write to {shown}: {error}");
    match std::fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(format!("{}; the directory above it must be there", cannot(error)));
        }
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(cannot(error)),
        _ => {}
    }
    Beneath::open(path).map_err(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender that names one directory again and again takes up no memory with it; its last word counts.
    #[test]
    fn a_directory_is_kept_once() {
        let folder = tempfile::tempdir().unwrap();
        let target = Target::Tree(Beneath::open(folder.path()).unwrap());
        let rules = Rules {
            allowed: vec![Allowed::Any],
            excluded: Exclusion::default(),
            links: Links::Within,
            checksum: false,
        };
        let teller = Teller::new(io::sink());
        let mut inbox = Inbox::new(target, rules, teller, Tally::new(false).0);
        let name = Name::new(b"d").unwrap();
        for modified_s in 0..100 {
            let attributes = Attributes { modified_s, modified_ns: 0, mode: 0o700 };
            inbox.take(Record::Directory { attributes, name }).unwrap();
        }
        assert_eq!(inbox.directories.len(), 1);
        inbox.finish_directories().unwrap();
        let found = nix::sys::stat::stat(&folder.path().join("d")).unwrap();
        assert_eq!(found.st_mtime, 99);
    }
}
