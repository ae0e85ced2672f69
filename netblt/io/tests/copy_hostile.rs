//! The two ends of a copy against another end that means harm: names, links, and words out of turn.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use netblt_io::copy::Heard;
use netblt_io::copy::backlog::{Sender, channel};
use netblt_io::copy::control::{Links, Message, Patterns, Sparse, Teller};
use netblt_io::copy::format::{Attributes, Record, Writer};
use netblt_io::copy::inbox::{Allowed, Inbox, Rules, Target, open_directory};
use netblt_io::copy::names::Name;
use netblt_io::copy::outbox::{Finder, Outbox};
use netblt_io::copy::patterns::Exclusion;
use netblt_io::copy::tally::Tally;
use netblt_io::copy::walk::{Choice, Walk};
use netblt_io::{Sink, Source};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

const ATTRIBUTES: Attributes = Attributes { modified_s: 1, modified_ns: 2, mode: 0o640 };

fn name(text: &str) -> Name<'_> {
    Name::new(text.as_bytes()).unwrap()
}

fn file(text: &str, size: u64) -> Record<'_> {
    Record::File { size, attributes: ATTRIBUTES, name: name(text) }
}

fn whole(entry: u32, bytes: &[u8]) -> [Record<'_>; 2] {
    let digest = *blake3::hash(bytes).as_bytes();
    let size = bytes.len() as u64;
    [Record::Data { entry, offset: 0, bytes }, Record::Whole { entry, size, digest }]
}

/// A scene: `top` is what is copied into, and beside it is what nobody may touch. The sender was asked to leave out
/// `secret`, directories `only` and all `*.o` but `kept.o`.
struct Scene {
    folder: tempfile::TempDir,
    inbox: Inbox,
}

impl Scene {
    fn new(links: Links, allowed: Allowed) -> Scene {
        Scene::telling(io::sink(), links, allowed)
    }
    /// What the sender is told goes to `teller`.
    fn telling(teller: impl io::Write + Send + 'static, links: Links, allowed: Allowed) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        let target = Target::Tree(open_directory(&folder.path().join("top")).unwrap());
        let patterns = Patterns {
            exclude: vec!["secret".to_owned(), "only/".to_owned(), "*.o".to_owned()],
            include: vec!["kept.o".to_owned()],
        };
        let excluded = Exclusion::new(&patterns).unwrap();
        let rules = Rules { allowed: vec![allowed], excluded, links, checksum: false };
        let (tally, _) = Tally::new(false);
        let inbox = Inbox::new(target, rules, Teller::new(teller), tally);
        Scene { folder, inbox }
    }
    fn take(&mut self, records: &[Record<'_>]) -> io::Result<()> {
        let mut buffer = vec![0; 20_000];
        let mut writer = Writer::new(&mut buffer);
        assert!(records.iter().all(|record| writer.put(record)));
        writer.finish();
        self.inbox.store(0, &buffer)
    }
    fn path(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(path)
    }
    fn outside(&self) -> usize {
        fs::read_dir(self.path("outside")).unwrap().count()
    }
}

#[test]
fn a_whole_file_gets_its_name_and_a_damaged_one_does_not() {
    let mut scene = Scene::new(Links::Within, Allowed::Any);
    scene.take(&[file("good", 4), file("bad", 4), Record::Listed { entries: 2 }]).unwrap();
    scene.take(&whole(0, b"good")).unwrap();
    let [data, _] = whole(1, b"bad!");
    let digest = *blake3::hash(b"else").as_bytes();
    scene.take(&[data, Record::Whole { entry: 1, size: 4, digest }, Record::End]).unwrap();
    scene.inbox.finish().unwrap();
    assert_eq!(fs::read(scene.path("top/good")).unwrap(), b"good");
    assert_eq!(
        fs::read_dir(scene.path("top")).unwrap().count(),
        1,
        "nothing is left of the bad one"
    );
}

/// The classic: a link that leads out, then a file through it.
#[test]
fn nobody_writes_through_a_link() {
    for links in [Links::Within, Links::Any] {
        let mut scene = Scene::new(links, Allowed::Any);
        let outside = scene.path("outside").into_os_string().into_encoded_bytes();
        symlink(scene.path("outside"), scene.path("top/old")).unwrap();
        let link = |target| Record::Link { attributes: ATTRIBUTES, name: name("link"), target };
        let directory = |text| Record::Directory { attributes: ATTRIBUTES, name: name(text) };
        scene.take(&[link(&outside), file("link/a", 1), directory("link/b")]).unwrap();
        scene.take(&[link(b"../outside"), file("link/a", 1), file("old/a", 1)]).unwrap();
        scene.take(&[directory("old"), file("old/b", 1), directory("old/c")]).unwrap();
        for entry in 0..9 {
            let _ = scene.take(&whole(entry, b"x"));
        }
        assert_eq!(scene.outside(), 0, "{links:?}");
        let kept = fs::symlink_metadata(scene.path("top/link")).is_ok();
        assert_eq!(kept, links == Links::Any, "{links:?}");
    }
}

/// Each link stays within by its words, and both together lead out: the first ends at the top, and the second goes up
/// from there.
#[test]
fn no_chain_of_links_leads_out() {
    let mut scene = Scene::new(Links::Within, Allowed::Any);
    fs::write(scene.path("outside/secret"), "secret").unwrap();
    let directory = |text| Record::Directory { attributes: ATTRIBUTES, name: name(text) };
    let link = |text, target| Record::Link { attributes: ATTRIBUTES, name: name(text), target };
    scene.take(&["d1", "d1/d2", "d1/d2/d3"].map(directory)).unwrap();
    let chain =
        [link("d1/d2/d3/up", b"../../..".as_slice()), link("x", b"d1/d2/d3/up/../outside/secret")];
    scene.take(&chain).unwrap();
    assert!(fs::symlink_metadata(scene.path("top/d1/d2/d3/up")).is_ok(), "it ends at the top");
    assert!(fs::read(scene.path("top/x")).is_err(), "it leads out");
}

/// A file takes the place of a link that is there, and not of what the link leads to.
#[test]
fn a_file_replaces_a_link() {
    let mut scene = Scene::new(Links::Within, Allowed::Any);
    fs::write(scene.path("outside/secret"), "secret").unwrap();
    symlink(scene.path("outside/secret"), scene.path("top/a")).unwrap();
    scene.take(&[file("a", 3), Record::Listed { entries: 1 }]).unwrap();
    scene.take(&whole(0, b"new")).unwrap();
    scene.take(&[Record::End]).unwrap();
    scene.inbox.finish().unwrap();
    assert_eq!(fs::read(scene.path("outside/secret")).unwrap(), b"secret");
    assert!(fs::symlink_metadata(scene.path("top/a")).unwrap().is_file());
}

#[test]
fn words_out_of_turn_end_the_copy() {
    let digest = [0; 32];
    let cases: [(&str, &[Record<'_>]); 7] = [
        ("nobody asked for", &[file("other/a", 1)]),
        ("not announced", &[Record::Data { entry: 5, offset: 0, bytes: b"x" }]),
        ("have no place", &[file("t/a", 1), Record::Data { entry: 0, offset: 1, bytes: b"x" }]),
        ("have no place", &[file("t/a", 1), Record::Data { entry: 0, offset: 0, bytes: b"xx" }]),
        ("before its end", &[file("t/a", 1), Record::Whole { entry: 0, size: 0, digest }]),
        ("counts 2 entries", &[Record::Listed { entries: 2 }]),
        ("after the end", &[Record::End, file("t/a", 1)]),
    ];
    for (words, records) in cases {
        let mut scene = Scene::new(Links::Within, Allowed::Name(b"t".to_vec()));
        fs::create_dir(scene.path("top/t")).unwrap();
        let error = scene.take(records).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
    let mut scene = Scene::new(Links::Within, Allowed::Any);
    assert!(scene.inbox.store(0, &[200, 0, 0, 0, 0]).is_err(), "no record");
    assert!(scene.inbox.finish().is_err(), "no end came");
}

/// The sender looks for itself what --exclude leaves out: it is held to it.
#[test]
fn what_is_left_out_does_not_come_all_the_same() {
    let directory = |text| Record::Directory { attributes: ATTRIBUTES, name: name(text) };
    let link = |text| Record::Link { attributes: ATTRIBUTES, name: name(text), target: b"x" };
    for record in [
        file("secret", 1),
        file("d/secret", 1),
        directory("d/secret"),
        link("secret"),
        file("secret/d/kept.o", 1),
        directory("only"),
        file("d/only/x", 1),
        file("d/x.o", 1),
    ] {
        let mut scene = Scene::new(Links::Within, Allowed::Any);
        let error = scene.take(std::slice::from_ref(&record)).unwrap_err().to_string();
        assert!(error.contains("which --exclude leaves out"), "{record:?}: {error}");
    }
    let mut scene = Scene::new(Links::Within, Allowed::Any);
    scene.take(&[file("only", 1), directory("d"), file("d/kept.o", 1), file("o", 1)]).unwrap();
}

/// An honest sender has 50,000 entries under way and no more.
#[test]
fn files_are_not_announced_without_end() {
    const MOST: usize = 50_000;
    let mut scene = Scene::new(Links::Within, Allowed::Any);
    let names: Vec<String> = (0..=MOST).map(|number| number.to_string()).collect();
    let files: Vec<_> = names.iter().map(|name| file(name, 1)).collect();
    files[..MOST].chunks(100).for_each(|some| scene.take(some).unwrap());
    let error = scene.take(&files[MOST..]).unwrap_err().to_string();
    assert!(error.contains("too many files at once"), "{error}");
    scene.take(&whole(7, b"x")).unwrap();
    scene.take(&files[MOST..]).expect("one is settled, and another may come");
}

/// Nobody reads what is said.
struct Stuck;

impl io::Write for Stuck {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        loop {
            std::thread::park();
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is said of entries waits in memory: a sender that does not hear it cannot go on for ever.
#[test]
fn who_does_not_hear_does_not_send_for_ever() {
    let mut scene = Scene::telling(Stuck, Links::Within, Allowed::Any);
    let again = vec![Record::Directory { attributes: ATTRIBUTES, name: name("d") }; 500];
    let error = (0..1000).find_map(|_| scene.take(&again).err()).expect("500,000 are too many");
    assert!(error.to_string().contains("does not hear"), "{error}");
}

/// A receiver that lets nothing be sent, and says more than there is to say.
#[test]
fn nobody_is_listened_to_without_end() {
    let (says, _heard) = channel();
    let line = format!("{{\"want\":\"{}\"}}\n", "0-1,".repeat(1 << 17));
    let endless = io::BufReader::new(Endless { line: line.into_bytes(), at: 0 });
    let heard = netblt_io::copy::listen(endless, Some(says));
    match heard.recv_timeout(std::time::Duration::from_secs(60)) {
        Ok(Heard::Ended(Some(reason))) => assert!(reason.contains("more than there is to say")),
        other => panic!("{other:?}"),
    }
}

/// A line, again and again.
struct Endless {
    line: Vec<u8>,
    at: usize,
}

impl io::Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let some = &self.line[self.at..];
        let len = some.len().min(into.len());
        into[..len].copy_from_slice(&some[..len]);
        self.at = (self.at + len) % self.line.len();
        Ok(len)
    }
}

fn outbox(top: &Path) -> (Outbox, Sender) {
    let choice = Choice::new(&Patterns::default(), Links::Within, Sparse::Refuse).unwrap();
    let walk = Walk::new(&[top.to_owned()], choice).unwrap();
    let (says, heard) = channel();
    (Outbox::new(Finder::Walk(Box::new(walk)), heard, Tally::new(false).0), says)
}

/// A receiver gets what was announced, as it was announced, and nothing else.
#[test]
fn nobody_reads_what_was_not_announced() {
    for message in [
        Message::Want("1-3".into()),
        Message::Want("0-4294967295".into()),
        Message::Want("x".into()),
        Message::Resume { entry: 0, from: 7 },
        Message::Kept("5-6".into()),
        Message::Compare { entry: 0, digest: "none".into() },
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("f"), "bytes").unwrap();
        let (mut outbox, says) = outbox(&folder.path().join("f"));
        outbox.fill(0, &mut vec![0; 20_000]).unwrap();
        says.send(message.clone()).unwrap();
        assert!(outbox.fill(1, &mut vec![0; 20_000]).is_err(), "{message:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("d")).unwrap();
    fs::write(folder.path().join("d/f"), "bytes").unwrap();
    fs::write(folder.path().join("secret"), "secret").unwrap();
    let (mut outbox, says) = outbox(&folder.path().join("d"));
    let mut buffer = vec![0; 20_000];
    outbox.fill(0, &mut buffer).unwrap();
    // Who could change the tree meanwhile puts a link into the way.
    fs::remove_file(folder.path().join("d/f")).unwrap();
    symlink("../secret", folder.path().join("d/f")).unwrap();
    says.send(Message::Want("1-2".into())).unwrap();
    outbox.fill(1, &mut buffer).unwrap();
    assert!(!buffer.windows(6).any(|some| some == b"secret"));
    let records: Vec<_> = netblt_io::copy::format::records(&buffer).collect();
    assert!(matches!(records[..], [Ok(Record::GivenUp { entry: 1, .. })]), "{records:?}");
}

/// Who asks for a file twice at once gets it twice, and nothing counts as settled that was not, nor twice.
#[test]
fn a_file_that_is_asked_for_twice_is_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, vec![1; 100_000]).unwrap();
    let choice = Choice::new(&Patterns::default(), Links::Within, Sparse::Refuse).unwrap();
    let walk = Walk::new(&[path], choice).unwrap();
    let (says, heard) = channel();
    let (tally, _settled) = Tally::new(false);
    let mut outbox = Outbox::new(Finder::Walk(Box::new(walk)), heard, tally.clone());
    let mut buffer = vec![0; 20_000];
    outbox.fill(0, &mut buffer).unwrap();
    (0..2).for_each(|_| says.send(Message::Want("0-1".into())).unwrap());
    for index in 1..20 {
        outbox.fill(index, &mut buffer).unwrap();
        let figures = tally.figures();
        assert!(figures.done_bytes <= 100_000, "buffer {index}: {figures:?}");
        if figures.moved_bytes == 200_000 {
            break;
        }
    }
    let figures = tally.figures();
    assert_eq!((figures.moved_bytes, figures.done_bytes), (200_000, 100_000));
}

/// What changes while it is read is not passed off as either version.
#[test]
fn a_file_that_changes_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, vec![1; 100_000]).unwrap();
    let (mut outbox, says) = outbox(&path);
    let mut buffer = vec![0; 20_000];
    outbox.fill(0, &mut buffer).unwrap();
    says.send(Message::Want("0-1".into())).unwrap();
    outbox.fill(1, &mut buffer).unwrap();
    fs::write(&path, vec![2; 100_000]).unwrap();
    let mut given_up = false;
    for index in 2..9 {
        says.send(Message::Summary(Default::default())).unwrap();
        outbox.fill(index, &mut buffer).unwrap();
        let mut records = netblt_io::copy::format::records(&buffer);
        given_up = records.any(|record| matches!(record, Ok(Record::GivenUp { entry: 0, .. })));
        if given_up {
            break;
        }
    }
    assert!(given_up);
}
