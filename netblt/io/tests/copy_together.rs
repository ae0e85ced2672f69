//! Several copies into one directory at a time: each file that gets its name is whole, whoever comes second.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use netblt_io::Sink;
use netblt_io::copy::control::{Links, Teller};
use netblt_io::copy::format::{Attributes, Record, UNKNOWN_SIZE, Writer};
use netblt_io::copy::inbox::{Allowed, Inbox, Rules, Target, open_directory};
use netblt_io::copy::names::{Name, part_name};
use netblt_io::copy::patterns::Exclusion;
use netblt_io::copy::tally::{Figures, Tally};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::{fs, io, thread};

const INPUT: Attributes = Attributes { modified_s: 0, modified_ns: 0, mode: 0o644 };

/// One of them.
struct Arriving {
    inbox: Inbox,
    tally: Tally,
}

impl Arriving {
    fn new(target: Target) -> Arriving {
        let (tally, _) = Tally::new(false);
        let rules = Rules {
            allowed: vec![Allowed::Any],
            excluded: Exclusion::default(),
            links: Links::Within,
            checksum: false,
        };
        let inbox = Inbox::new(target, rules, Teller::new(io::sink()), tally.clone());
        Arriving { inbox, tally }
    }
    fn into(directory: &Path) -> Arriving {
        Arriving::new(Target::Tree(open_directory(directory).unwrap()))
    }
    /// What a program writes, which gets a name at its end.
    fn named(directory: &Path) -> Arriving {
        Arriving::new(Target::Named(open_directory(directory).unwrap(), b"file".to_vec()))
    }
    fn take(&mut self, records: &[Record<'_>]) {
        let mut buffer = vec![0; 20_000];
        let mut writer = Writer::new(&mut buffer);
        assert!(records.iter().all(|record| writer.put(record)));
        writer.finish();
        self.inbox.store(0, &buffer).unwrap();
    }
    /// One file, whose content tells its version.
    fn announced(&mut self, size: u64, attributes: Attributes) {
        let name = Name::new(b"file").unwrap();
        self.take(&[Record::File { size, attributes, name }, Record::Listed { entries: 1 }]);
    }
    fn bytes(&mut self, bytes: &[u8], offset: usize) {
        self.take(&[Record::Data { entry: 0, offset: offset as u64, bytes: &bytes[offset..] }]);
    }
    fn ended(mut self, bytes: &[u8]) -> Figures {
        let digest = *blake3::hash(bytes).as_bytes();
        let size = bytes.len() as u64;
        self.take(&[Record::Whole { entry: 0, size, digest }, Record::End]);
        self.inbox.finish().unwrap();
        self.tally.figures()
    }
}

fn of_second(modified_s: i64) -> Attributes {
    Attributes { modified_s, ..INPUT }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The second begins, and gets some of its bytes, amid the first; each has the name when it has ended.
fn each_is_whole(
    folder: &Path,
    [mut first, mut second]: [Arriving; 2],
    [one, two]: [(u64, Attributes, &[u8]); 2],
) {
    const SOME: usize = 7;
    for (copy, (size, attributes, bytes)) in [(&mut first, one), (&mut second, two)] {
        copy.announced(size, attributes);
        copy.bytes(&bytes[..SOME], 0);
    }
    for (mut copy, (_, _, bytes)) in [(first, one), (second, two)] {
        copy.bytes(bytes, SOME);
        assert_eq!(copy.ended(bytes).copied_entries, 1);
        assert_eq!(fs::read(folder.join("file")).unwrap(), bytes);
    }
    assert_eq!(names(folder), ["file"]);
}

/// The second knows of the first's hidden file and needs another: it leaves it alone.
#[test]
fn another_version_does_not_take_what_the_first_one_has() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (b"the old version".as_slice(), b"the new version".as_slice());
    let copies = [Arriving::into(folder.path()), Arriving::into(folder.path())];
    each_is_whole(folder.path(), copies, [(15, of_second(1), old), (15, of_second(2), new)]);
}

/// Nothing tells inputs apart: each has a file of its own, and is whole.
#[test]
fn two_inputs_do_not_meet() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (b"one input".as_slice(), b"another one, longer".as_slice());
    let copies = [Arriving::named(folder.path()), Arriving::named(folder.path())];
    each_is_whole(folder.path(), copies, [(UNKNOWN_SIZE, INPUT, one), (UNKNOWN_SIZE, INPUT, two)]);
}

#[test]
fn of_an_input_that_breaks_off_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let mut broken = Arriving::named(folder.path());
    broken.announced(UNKNOWN_SIZE, INPUT);
    broken.bytes(b"some of it", 0);
    drop(broken);
    assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
}

/// It has no mode of its own.
#[test]
fn an_input_gets_the_mode_of_the_file_that_is_there_or_of_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().mode() & 0o777;
    let stored = |bytes: &[u8]| {
        let mut copy = Arriving::named(folder.path());
        copy.announced(UNKNOWN_SIZE, Attributes { mode: 0o604, ..INPUT });
        copy.bytes(bytes, 0);
        assert_eq!(copy.ended(bytes).copied_entries, 1);
        assert_eq!(fs::read(folder.path().join("file")).unwrap(), bytes);
    };
    fs::write(folder.path().join("any"), "").unwrap();
    stored(b"first");
    assert_eq!(mode("file"), mode("any"));
    for kept in [0o600, 0o751] {
        let there = folder.path().join("file");
        fs::set_permissions(there, fs::Permissions::from_mode(kept)).unwrap();
        stored(b"second");
        assert_eq!(mode("file"), kept);
    }
}

/// Nobody but its owner may give it a time: that fails, and nothing else.
#[test]
fn a_directory_of_another_user_keeps_its_time_and_takes_files() {
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("left out: it takes root to be another user");
    }
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o777)).unwrap();
    let name = |text: &'static str| Name::new(text.as_bytes()).unwrap();
    let mut copy = as_another_user(|| Arriving::into(folder.path()));
    let figures = as_another_user(|| {
        copy.take(&[
            Record::Directory { attributes: of_second(1), name: name("theirs") },
            Record::Directory { attributes: of_second(1), name: name("mine") },
            Record::File { size: 3, attributes: of_second(1), name: name("theirs/file") },
            Record::Listed { entries: 3 },
            Record::Data { entry: 2, offset: 0, bytes: b"new" },
        ]);
        let digest = *blake3::hash(b"new").as_bytes();
        copy.take(&[Record::Whole { entry: 2, size: 3, digest }, Record::End]);
        copy.inbox.finish().unwrap();
        copy.tally.figures()
    });
    assert_eq!((figures.copied_entries, figures.failed_entries), (2, 1));
    assert_eq!(fs::read(theirs.join("file")).unwrap(), b"new");
    let time = |name: &str| fs::metadata(folder.path().join(name)).unwrap().mtime();
    assert_eq!((time("mine"), time("theirs/file")), (1, 1));
    assert_ne!(time("theirs"), 1);
}

/// Who else may write to a directory knows the hidden name beforehand, and would own the file.
#[test]
fn a_hidden_file_that_another_user_put_there_is_not_written() {
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("left out: it takes root to be another user");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let bytes = b"some bytes".as_slice();
    // As `inbox::version` has it: size, seconds, nanoseconds.
    let part = folder.path().join(part_name(b"file", b"10 1 0"));
    as_another_user(|| fs::write(&part, "some").unwrap());
    let mut theirs = fs::File::open(&part).unwrap();
    let mut copy = Arriving::into(folder.path());
    copy.announced(10, of_second(1));
    copy.bytes(bytes, 0);
    assert_eq!(copy.ended(bytes).copied_entries, 1);
    let found = fs::metadata(folder.path().join("file")).unwrap();
    assert_eq!((found.uid(), found.len()), (0, 10));
    let mut text = String::new();
    theirs.read_to_string(&mut text).unwrap();
    assert_eq!(text, "some", "nothing was written to theirs");
    // Our own is gone on with.
    let part = folder.path().join(part_name(b"file", b"10 2 0"));
    fs::write(&part, "some").unwrap();
    let mut copy = Arriving::into(folder.path());
    copy.announced(10, of_second(2));
    copy.bytes(bytes, 4);
    assert_eq!(copy.ended(bytes).copied_entries, 1);
}

/// A thread may be one, where root started it.
fn as_another_user<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    let act = || {
        nix::unistd::setfsuid(65_534.into());
        act()
    };
    thread::scope(|scope| scope.spawn(act).join().unwrap())
}

/// A copy that was killed left it.
#[test]
fn what_an_ended_copy_left_of_another_version_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let mut killed = Arriving::into(folder.path());
    killed.announced(15, of_second(1));
    killed.bytes(b"the old", 0);
    drop(killed);
    assert_eq!(names(folder.path()).len(), 1);
    let mut next = Arriving::into(folder.path());
    next.announced(3, of_second(2));
    next.bytes(b"new", 0);
    assert_eq!(next.ended(b"new").copied_entries, 1);
    assert_eq!(names(folder.path()), ["file"]);
}
