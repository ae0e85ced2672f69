//! Real sockets on the loopback interface, real files; in between, where it matters, a relay that
//! loses datagrams or cuts the path.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::common::{PAUSE, PORT, Server, station};
use netblt::Ending;
use netblt_io::Ended;
use netblt_io::files::{self, Nobody, Wish};
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;
use std::thread;

/// A relay to `server` that loses some in a thousand datagrams, and all after `cut_after`.
fn relay(server: SocketAddr, loss_permille: u64, cut_after: usize) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let (mut client, mut bytes, mut chance) = (None, vec![0; 65_535], 0x1234_5678_9abc_def1u64);
        for count in 0.. {
            let Ok((len, from)) = socket.recv_from(&mut bytes) else { return };
            if from != server {
                client = Some(from);
            }
            // Xorshift: the same datagrams are lost each time.
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            let lost = chance % 1000 < loss_permille || count >= cut_after;
            let to = if from == server { client } else { Some(server) };
            if let (Some(to), false) = (to, lost) {
                let _ = socket.send_to(&bytes[..len], to);
            }
        }
    });
    address
}

fn fulfil(peer: SocketAddr, (mode, offer, opener): Wish) -> Ended {
    let (mut station, _) = station();
    let id = std::process::id() ^ offer_number();
    station.open(peer, (2000, PORT), (mode, id), &offer, opener).expect("opened");
    while station.connections().next().is_some() {
        station.turn(PAUSE, &mut Nobody).unwrap();
    }
    station.take_ended().pop().expect("it ended")
}

fn offer_number() -> u32 {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    COUNT.fetch_add(1, Ordering::SeqCst) << 16
}

fn content(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect()
}

/// A file to send, and a directory to serve.
struct Scene {
    folder: tempfile::TempDir,
    bytes: Vec<u8>,
}

impl Scene {
    fn new(len: usize) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("served")).unwrap();
        let bytes = content(len, 7);
        fs::write(folder.path().join("file"), &bytes).unwrap();
        Scene { folder, bytes }
    }
    fn served(&self) -> std::path::PathBuf {
        self.folder.path().join("served")
    }
    fn send(&self, name: &str) -> Wish {
        files::send(&self.folder.path().join("file"), name).unwrap()
    }
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.served())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

#[test]
fn files_go_there_and_come_back_whole_and_verified() {
    for len in [0, 1, 39_968, 39_969, 40_000, 1_000_000] {
        let scene = Scene::new(len);
        let server = Server::start(&scene.served(), |_| {});
        let ended = fulfil(server.address, scene.send("there"));
        assert_eq!(ended.outcome, Ending::Complete, "{len} bytes");
        assert_eq!(scene.names(), ["there"], "nothing but the file is left");
        assert_eq!(fs::read(scene.served().join("there")).unwrap(), scene.bytes);
        assert_eq!(ended.payload_bytes, len as u64, "neither padding nor digest");
        assert!(ended.counters.bytes_sent > ended.counters.data_bytes);
        // 32 bytes of digest follow the file's; the empty buffer that closes is none.
        assert_eq!(ended.steady_state_mbps().is_some(), len + 32 > 40_000, "{len} bytes");
        assert_eq!(ended.real_mbps().is_some(), len > 0);

        let wish = files::receive(scene.folder.path(), "back", "there", false).unwrap();
        let ended = fulfil(server.address, wish);
        assert_eq!(ended.outcome, Ending::Complete, "{len} bytes");
        assert_eq!(fs::read(scene.folder.path().join("back")).unwrap(), scene.bytes);
        let digest = blake3::hash(&scene.bytes).to_hex().to_string();
        assert_eq!(ended.digest, Some(digest));
    }
}

#[test]
fn a_path_that_loses_one_in_twenty_delivers_all_the_same() {
    let scene = Scene::new(3_000_000);
    let server = Server::start(&scene.served(), |_| {});
    let ended = fulfil(relay(server.address, 50, usize::MAX), scene.send("there"));
    assert_eq!(ended.outcome, Ending::Complete);
    assert!(ended.counters.data_packets_resent > 50, "{:?}", ended.counters);
    assert_eq!(fs::read(scene.served().join("there")).unwrap(), scene.bytes);
}

#[test]
fn a_broken_transfer_goes_on_at_the_missing_buffers_either_way() {
    let scene = Scene::new(4_000_000);
    let server = Server::start(&scene.served(), |_| {});
    let ended = fulfil(relay(server.address, 20, 2000), scene.send("there"));
    assert_eq!(ended.outcome, Ending::PeerDead);
    assert!(!scene.served().join("there").exists(), "no file before it is whole");
    // The server may still hold on to the first attempt: the second takes over.
    let ended = fulfil(server.address, scene.send("there"));
    assert_eq!(ended.outcome, Ending::Complete);
    assert!(ended.counters.data_bytes < 3_000_000, "{}", ended.counters.data_bytes);
    assert_eq!(scene.names(), ["there"]);
    assert_eq!(fs::read(scene.served().join("there")).unwrap(), scene.bytes);

    let back = || files::receive(scene.folder.path(), "back", "there", false).unwrap();
    let ended = fulfil(relay(server.address, 20, 2000), back());
    assert_eq!(ended.outcome, Ending::PeerDead);
    let ended = fulfil(server.address, back());
    assert_eq!(ended.outcome, Ending::Complete);
    assert!(ended.counters.data_bytes < 3_000_000, "{}", ended.counters.data_bytes);
    assert_eq!(fs::read(scene.folder.path().join("back")).unwrap(), scene.bytes);
}

#[test]
fn a_file_that_changed_since_the_break_is_sent_anew() {
    let scene = Scene::new(4_000_000);
    let server = Server::start(&scene.served(), |_| {});
    fulfil(relay(server.address, 0, 2000), scene.send("there"));
    // The server gives the first attempt up when its death timer runs out.
    thread::sleep(std::time::Duration::from_millis(2500));
    let changed = content(4_000_000, 8);
    fs::write(scene.folder.path().join("file"), &changed).unwrap();
    let ended = fulfil(server.address, scene.send("there"));
    assert_eq!(ended.outcome, Ending::Complete);
    assert!(ended.counters.data_bytes >= 4_000_000);
    assert_eq!(fs::read(scene.served().join("there")).unwrap(), changed);
}

/// A few bytes of it are written anew while it is on its way: what arrives would be of neither version.
#[test]
fn a_file_that_changes_while_it_is_read_is_given_up() {
    for sends in [true, false] {
        let scene = Scene::new(4_000_000);
        let read = scene.folder.path().join(if sends { "file" } else { "served/file" });
        fs::write(&read, &scene.bytes).unwrap();
        let server = Server::start(&scene.served(), |_| {});
        let wish = match sends {
            true => scene.send("there"),
            false => files::receive(scene.folder.path(), "there", "file", false).unwrap(),
        };
        let arrives = scene.folder.path().join(if sends { "served" } else { "." });
        let part = arrives.join(".there.netblt-part");
        let ended = thread::scope(|scope| {
            scope.spawn(|| {
                while fs::metadata(&part).map_or(0, |part| part.len()) < 100_000 {
                    thread::sleep(std::time::Duration::from_millis(1));
                }
                let changed = fs::File::options().write(true).open(&read).unwrap();
                changed.write_all_at(b"changed", 3_900_000).unwrap();
            });
            fulfil(relay(server.address, 20, usize::MAX), wish)
        });
        let Ending::Aborted { by_peer, reason } = ended.outcome else {
            panic!("{:?}", ended.outcome)
        };
        assert_eq!(by_peer, !sends);
        assert!(reason.contains(netblt_io::CHANGED), "{reason}");
        assert!(!arrives.join("there").exists());
    }
}

#[test]
fn what_was_kept_and_went_bad_is_found_by_the_digest_and_discarded() {
    let scene = Scene::new(4_000_000);
    {
        let server = Server::start(&scene.served(), |_| {});
        fulfil(relay(server.address, 0, 2000), scene.send("there"));
    }
    let part = scene.served().join(".there.netblt-part");
    let mut kept = fs::read(&part).unwrap();
    kept[1000] ^= 1;
    fs::write(&part, &kept).unwrap();
    let server = Server::start(&scene.served(), |_| {});
    let ended = fulfil(server.address, scene.send("there"));
    let Ending::Quit { by_peer: true, reason } = ended.outcome else {
        panic!("{:?}", ended.outcome);
    };
    assert!(reason.contains("digest"), "{reason}");
    assert_eq!(scene.names(), [] as [&str; 0]);
    assert_eq!(fulfil(server.address, scene.send("there")).outcome, Ending::Complete);
}

#[test]
fn nobody_gets_out_of_the_served_directory() {
    let scene = Scene::new(1000);
    fs::write(scene.folder.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink("../secret", scene.served().join("link")).unwrap();
    std::os::unix::fs::symlink("..", scene.served().join("up")).unwrap();
    let server = Server::start(&scene.served(), |served| served.overwrite = true);
    for name in ["../secret", "/etc/hostname", "link", "up/secret", "./x", "", "a//b", "a/../../b"]
    {
        let wish = files::receive(scene.folder.path(), "stolen", name, true).unwrap();
        let ended = fulfil(server.address, wish);
        assert!(matches!(ended.outcome, Ending::Refused(_)), "{name}: {:?}", ended.outcome);
    }
    for name in ["../secret", "/tmp/netblt-x", "up/secret", "up/new", ".x.netblt-part", ""] {
        let ended = fulfil(server.address, scene.send(name));
        assert!(!ended.outcome.is_complete(), "{name}: {:?}", ended.outcome);
    }
    // A link is replaced, never followed.
    fulfil(server.address, scene.send("link"));
    assert_eq!(fs::read(scene.folder.path().join("secret")).unwrap(), b"secret");
    assert!(!scene.folder.path().join("new").exists());
}

#[test]
fn what_is_not_allowed_is_refused_with_a_reason() {
    let scene = Scene::new(1000);
    fs::write(scene.served().join("there"), "old").unwrap();
    let get = || files::receive(scene.folder.path(), "back", "there", true).unwrap();
    let refused = |server: &Server, wish| match fulfil(server.address, wish).outcome {
        Ending::Refused(reason) => reason,
        outcome => panic!("{outcome:?}"),
    };
    let server = Server::start(&scene.served(), |served| served.writable = false);
    assert_eq!(refused(&server, scene.send("new")), "read only");
    let server = Server::start(&scene.served(), |served| served.readable = false);
    assert_eq!(refused(&server, get()), "write only");
    assert_eq!(refused(&server, scene.send("there")), "the file exists already");
    let missing = files::receive(scene.folder.path(), "back", "nowhere", false).unwrap();
    let server = Server::start(&scene.served(), |_| {});
    assert!(refused(&server, missing).contains("No such file"));
}

/// Before a byte of it is sent.
#[test]
fn a_name_that_cannot_be_written_is_refused() {
    let scene = Scene::new(1000);
    fs::create_dir(scene.served().join("directory")).unwrap();
    std::os::unix::fs::symlink("..", scene.served().join("up")).unwrap();
    let server = Server::start(&scene.served(), |served| served.overwrite = true);
    let long = "a".repeat(240);
    for (name, why) in [
        ("none/file", "cannot write to its directory: No such file"),
        ("up/file", "cannot write to its directory"),
        ("directory", "a directory has this name"),
        (long.as_str(), "its name is too long (at most 235 bytes)"),
    ] {
        let ended = fulfil(server.address, scene.send(name));
        let Ending::Refused(reason) = ended.outcome else { panic!("{name}: {:?}", ended.outcome) };
        assert!(reason.contains(why), "{name}: {reason}");
        assert_eq!(ended.counters.data_bytes, 0);
    }
    assert_eq!(fulfil(server.address, scene.send(&long[..235])).outcome, Ending::Complete);
    assert_eq!(scene.names(), [&long[..235], "directory", "up"]);
}

#[test]
fn memory_goes_both_ways() {
    let scene = Scene::new(0);
    let server = Server::start(&scene.served(), |_| {});
    for mode in [netblt::Mode::Write, netblt::Mode::Read] {
        let ended = fulfil(server.address, files::memory(mode, 2_000_123));
        assert_eq!(ended.outcome, Ending::Complete);
        assert_eq!(ended.payload_bytes, 2_000_123);
        // 16 packets of 1,400 bytes a millisecond are 179.2 Mb/s.
        let mbps = ended.steady_state_mbps().unwrap();
        assert!(mbps > 1.0 && mbps < 200.0, "{mbps}");
        assert!(ended.real_mbps().unwrap() < 200.0);
        assert_eq!(ended.sends, mode == netblt::Mode::Write);
    }
}

#[test]
fn several_transfers_share_a_server() {
    let scene = Scene::new(500_000);
    let server = Server::start(&scene.served(), |_| {});
    let address = server.address;
    let wishes: Vec<Wish> = (0..4).map(|n| scene.send(&format!("file{n}"))).collect();
    thread::scope(|scope| {
        let runs: Vec<_> =
            wishes.into_iter().map(|wish| scope.spawn(move || fulfil(address, wish))).collect();
        for run in runs {
            assert_eq!(run.join().unwrap().outcome, Ending::Complete);
        }
    });
    assert_eq!(scene.names(), ["file0", "file1", "file2", "file3"]);
}
