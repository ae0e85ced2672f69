//! Peers that know RFC 998 and nothing of our client strings.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::common::{PAUSE, PORT, Server, limits, station};
use netblt::{Burst, Limits, Open, RateControl, Timing};
use netblt::{Connection, ConnectionId, Ending, Endpoint, EndpointLimits, Event, Mode, Opening};
use netblt_io::Ended;
use netblt_io::files::{self, Nobody, Wish};
use netblt_io::{Carrier, Socket, Station};
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::thread;
use std::time::Duration as StdDuration;
use units::{Duration, Instant};

/// A client that RFC 998 alone made: an endpoint of the protocol and a socket, none of our files.
struct Foreign {
    socket: UdpSocket,
    endpoint: Endpoint<SocketAddr>,
    started: std::time::Instant,
    /// What it sends.
    data: Vec<u8>,
    given: usize,
    /// What it received.
    received: Vec<(u32, Vec<u8>)>,
    /// What it says to who opens.
    answer: &'static str,
    /// What it may send at most.
    limits: Limits,
    /// What it was proposed, and what it has since been offered at most, in packets a second.
    proposed: Option<Burst>,
    fastest_pps: f64,
    /// Done when a connection is open.
    at_first: Option<Box<dyn FnOnce() + Send>>,
}

impl Foreign {
    fn new(data: Vec<u8>) -> Foreign {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(StdDuration::from_millis(1))).unwrap();
        let endpoint = Endpoint::new(EndpointLimits::default(), Timing::default());
        let started = std::time::Instant::now();
        Foreign {
            socket,
            endpoint,
            started,
            data,
            given: 0,
            received: vec![],
            answer: "",
            limits: limits(),
            proposed: None,
            fastest_pps: 0.0,
            at_first: None,
        }
    }

    /// Opens a connection; gives how it ended and what came.
    fn opens(mut self, peer: SocketAddr, mode: Mode, client_string: &str) -> (Ending, Vec<u8>) {
        let transfer_size_bytes = self.data.len() as u32;
        let opening = Opening { connection_id: 9, mode, transfer_size_bytes, client_string };
        let limits = Limits { max_outstanding_buffers: 3, ..limits() };
        self.endpoint.open(Instant::ZERO, (peer, 4000, PORT), limits, opening).unwrap();
        let outcome = self.run(mode == Mode::Write);
        (outcome, self.into_received())
    }

    /// Waits for somebody to open one.
    fn awaits_open(mut self, sends: bool) -> (Ending, Vec<u8>) {
        self.endpoint.listen(PORT);
        let outcome = self.run(sends);
        (outcome, self.into_received())
    }

    fn into_received(mut self) -> Vec<u8> {
        self.received.sort();
        self.received.into_iter().flat_map(|(_, data)| data).collect()
    }

    fn run(&mut self, sends: bool) -> Ending {
        let mut outcome = None;
        let mut memory = vec![0; 65_535];
        while outcome.is_none() || self.endpoint.connections().next().is_some() {
            let now = Instant::ZERO + Duration::from_ns(self.started.elapsed().as_nanos() as u64);
            assert!(now.since(Instant::ZERO) < Duration::from_secs(100), "no end in sight");
            if let Ok((len, peer)) = self.socket.recv_from(&mut memory) {
                self.endpoint.handle_datagram(now, peer, &memory[..len]);
            }
            while let Some(request) = self.endpoint.poll_request() {
                let Open { burst_size_packets, burst_interval_ms, .. } = request.open;
                let (size_packets, interval_ms) = (burst_size_packets, burst_interval_ms);
                self.proposed = Some(Burst { size_packets, interval_ms });
                self.endpoint.accept(now, &request, self.limits, self.answer);
            }
            while let Some((_, event)) = self.endpoint.poll_event() {
                match event {
                    Event::Received { index, data, .. } => self.received.push((index, data)),
                    Event::Closed(how) => outcome = Some(how),
                    Event::Opened => _ = self.at_first.take().map(|first| first()),
                    _ => {}
                }
            }
            let ids: Vec<ConnectionId> = self.endpoint.connections().map(|(id, ..)| id).collect();
            for id in ids {
                if let Some(burst) = self.endpoint.connection(id).and_then(Connection::burst) {
                    self.fastest_pps = self.fastest_pps.max(pps(burst));
                }
                let (data, given) = (&self.data, &mut self.given);
                self.endpoint.with(id, |connection| supply(connection, sends, data, given));
            }
            let mut packet = Vec::new();
            while let Some(peer) = self.endpoint.poll_transmit(now, &mut packet) {
                self.socket.send_to(&packet, peer).unwrap();
                packet.clear();
            }
        }
        outcome.unwrap()
    }
}

fn pps(burst: Burst) -> f64 {
    f64::from(burst.size_packets) * 1e3 / f64::from(burst.interval_ms)
}

fn supply(connection: &mut Connection, sends: bool, data: &[u8], given: &mut usize) {
    while connection.buffers_wanted() > 0 {
        if !sends {
            connection.supply_buffer(Vec::new());
            continue;
        }
        let full = connection.terms().unwrap().buffer_size_bytes as usize;
        let end = (*given + full).min(data.len());
        let last = end == data.len();
        connection.send_buffer(data[*given..end].to_vec(), last).unwrap();
        *given = end;
    }
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + at / 251) as u8).collect()
}
fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
/// Our own end opens.
fn fulfil(peer: SocketAddr, (mode, offer, opener): Wish) -> Ended {
    let (mut station, _) = station();
    station.open(peer, (2000, PORT), (mode, 5), &offer, opener).expect("opened");
    while station.connections().next().is_some() {
        station.turn(PAUSE, &mut Nobody).unwrap();
    }
    station.take_ended().pop().expect("it ended")
}

/// Sizes around buffers of 40,000 bytes, empty ones included.
const SIZES: [usize; 6] = [0, 1, 39_999, 40_000, 40_001, 300_000];

#[test]
fn a_client_that_knows_the_rfc_alone_writes_and_reads_files_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), |_| {});
    for len in SIZES {
        let (data, name) = (content(len), format!("hello{len}.txt"));
        let (outcome, _) = Foreign::new(data.clone()).opens(server.address, Mode::Write, &name);
        assert_eq!(outcome, Ending::Complete);
        assert_eq!(fs::read(folder.path().join(&name)).unwrap(), data, "in its place by then");
        let (outcome, received) = Foreign::new(vec![]).opens(server.address, Mode::Read, &name);
        assert_eq!(outcome, Ending::Complete);
        assert_eq!(received, data);
    }
    assert_eq!(names(folder.path()).len(), SIZES.len(), "nothing else is left");
}

/// RFC 998 has no word for a receiver's disk but the last OK: it is not given.
#[test]
fn a_sender_is_not_told_of_success_where_the_file_cannot_have_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("taken");
    let server = Server::start(folder.path(), |_| {});
    let mut foreign = Foreign::new(content(100_000));
    foreign.at_first = Some(Box::new(move || fs::write(&path, "another").unwrap()));
    let (outcome, _) = foreign.opens(server.address, Mode::Write, "taken");
    assert!(matches!(&outcome, Ending::Quit { by_peer: true, .. }), "{outcome:?}");
    assert_eq!(fs::read(folder.path().join("taken")).unwrap(), b"another");
    assert_eq!(names(folder.path()), ["taken"]);
}

#[test]
fn without_a_name_memory_is_taken_or_generated() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), |_| {});
    let (outcome, _) = Foreign::new(content(123_456)).opens(server.address, Mode::Write, "");
    assert_eq!(outcome, Ending::Complete);
    let (outcome, received) = Foreign::new(vec![]).opens(server.address, Mode::Read, "");
    assert_eq!((outcome, received.len()), (Ending::Complete, 1_000_000));
    // The transfer size field says how many it wants.
    let (outcome, received) = Foreign::new(content(77_777)).opens(server.address, Mode::Read, "");
    assert_eq!((outcome, received.len()), (Ending::Complete, 77_777));
    assert_eq!(names(folder.path()), [] as [&str; 0]);
}

#[test]
fn plain_names_obey_the_rules_of_the_directory() {
    let folder = tempfile::tempdir().unwrap();
    let served = folder.path().join("served");
    fs::create_dir(&served).unwrap();
    fs::write(folder.path().join("secret"), "secret").unwrap();
    fs::write(served.join("there"), "old").unwrap();
    std::os::unix::fs::symlink("../secret", served.join("link")).unwrap();
    let refused = |server: &Server, mode, name: &str| match Foreign::new(content(10))
        .opens(server.address, mode, name)
        .0
    {
        Ending::Refused(reason) => reason,
        outcome => panic!("{name}: {outcome:?}"),
    };
    let server = Server::start(&served, |_| {});
    for name in ["../secret", "/etc/hostname", "link", "nowhere", "."] {
        refused(&server, Mode::Read, name);
    }
    for name in ["../new", "/tmp/new", ".x.netblt-part", "a//b"] {
        refused(&server, Mode::Write, name);
    }
    assert_eq!(refused(&server, Mode::Write, "there"), "the file exists already");
    let server = Server::start(&served, |served| served.writable = false);
    assert_eq!(refused(&server, Mode::Write, "new"), "read only");
    let server = Server::start(&served, |served| served.readable = false);
    assert_eq!(refused(&server, Mode::Read, "there"), "write only");
    assert_eq!(names(&served), ["link", "there"]);
    assert_eq!(fs::read(served.join("there")).unwrap(), b"old");
}

#[test]
fn a_plain_transfer_that_breaks_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), |_| {});
    let mut foreign = Foreign::new(vec![]);
    let limits = limits();
    let opening = Opening {
        connection_id: 9,
        mode: Mode::Write,
        transfer_size_bytes: 0,
        client_string: "broken",
    };
    let ports = (server.address, 4000, PORT);
    let id = foreign.endpoint.open(Instant::ZERO, ports, limits, opening).unwrap();
    // Until a buffer is there, and something of it on the disk.
    let mut memory = vec![0; 65_535];
    let mut seen = false;
    for _ in 0..5000 {
        let now = Instant::ZERO + Duration::from_ns(foreign.started.elapsed().as_nanos() as u64);
        if let Ok((len, peer)) = foreign.socket.recv_from(&mut memory) {
            foreign.endpoint.handle_datagram(now, peer, &memory[..len]);
        }
        while foreign.endpoint.poll_event().is_some() {}
        seen |= !names(folder.path()).is_empty();
        foreign.endpoint.with(id, |connection| match seen {
            true => connection.abort("enough"),
            // Three buffers of more.
            false if foreign.given < 3 && connection.buffers_wanted() > 0 => {
                foreign.given += 1;
                connection.send_buffer(content(40_000), false).unwrap();
            }
            false => {}
        });
        let mut packet = Vec::new();
        while let Some(peer) = foreign.endpoint.poll_transmit(now, &mut packet) {
            foreign.socket.send_to(&packet, peer).unwrap();
            packet.clear();
        }
        if seen && foreign.endpoint.connections().next().is_none() {
            break;
        }
    }
    assert!(seen, "nothing came");
    (0..500).take_while(|_| !names(folder.path()).is_empty()).for_each(|_| {
        thread::sleep(StdDuration::from_millis(10));
    });
    assert_eq!(names(folder.path()), [] as [&str; 0]);
}

/// A foreign passive end in a thread, and our wish fulfilled by it.
fn with_passive(answer: &'static str, data: Vec<u8>, wish: Wish) -> (Ended, (Ending, Vec<u8>)) {
    let mut foreign = Foreign::new(data);
    foreign.answer = answer;
    let address = foreign.socket.local_addr().unwrap();
    let sends = wish.0 == Mode::Read;
    let theirs = thread::spawn(move || foreign.awaits_open(sends));
    (fulfil(address, wish), theirs.join().unwrap())
}

#[test]
fn an_answer_that_is_not_ours_selects_the_plain_layout_for_memory() {
    for answer in ["ok", ""] {
        let wish = files::memory(Mode::Write, 123_456);
        let (ended, (theirs, received)) = with_passive(answer, vec![], wish);
        assert_eq!((ended.outcome, theirs), (Ending::Complete, Ending::Complete));
        assert_eq!(received.len(), 123_456);
        assert!(ended.plain, "not verified");
        let wish = files::memory(Mode::Read, 5);
        let (ended, (theirs, _)) = with_passive(answer, content(98_765), wish);
        assert_eq!((ended.outcome, theirs), (Ending::Complete, Ending::Complete));
        assert_eq!(ended.counters.data_bytes, 98_765);
        assert!(ended.plain);
    }
}

#[test]
fn plain_files_go_to_and_come_from_a_foreign_passive_end() {
    let folder = tempfile::tempdir().unwrap();
    for len in SIZES {
        let (file, back) = (folder.path().join("file"), folder.path().join("back"));
        fs::write(&file, content(len)).unwrap();
        let wish = files::send_plain(&file, "name").unwrap();
        let (ended, (_, received)) = with_passive("ok", vec![], wish);
        assert_eq!((ended.outcome, ended.plain), (Ending::Complete, true));
        assert_eq!(received, content(len));
        let wish = files::receive_plain(folder.path(), "back", "name", true).unwrap();
        let (ended, _) = with_passive("ok", content(len), wish);
        assert_eq!((ended.outcome, ended.digest), (Ending::Complete, None));
        assert_eq!(fs::read(&back).unwrap(), content(len));
    }
    assert_eq!(names(folder.path()), ["back", "file"]);
    let again = files::receive_plain(folder.path(), "back", "name", false);
    assert_eq!(again.err().unwrap().kind(), std::io::ErrorKind::AlreadyExists);
}

/// Its sender keeps to what it is offered, whatever becomes of it.
#[test]
fn who_reads_without_a_rate_proposes_little_and_offers_what_comes_through() {
    let folder = tempfile::tempdir().unwrap();
    let mut foreign = Foreign::new(content(6_000_000));
    let burst = Burst { size_packets: u16::MAX, interval_ms: 1 };
    foreign.limits = Limits { burst, ..limits() };
    let address = foreign.socket.local_addr().unwrap();
    let theirs = thread::spawn(move || {
        foreign.endpoint.listen(PORT);
        (foreign.run(true), foreign)
    });
    let socket = Socket::bind(Carrier::Udp, "127.0.0.1:0".parse().unwrap()).unwrap();
    let limits = Limits { burst, ..limits() };
    let mut station = Station::new(socket, EndpointLimits::default(), limits, Timing::default());
    station.find_rates(RateControl::default());
    let (mode, offer, opener) = files::receive_plain(folder.path(), "x", "name", false).unwrap();
    station.open(address, (2000, PORT), (mode, 5), &offer, opener).expect("opened");
    while station.connections().next().is_some() {
        station.turn(PAUSE, &mut Nobody).unwrap();
    }
    let ended = station.take_ended().pop().expect("it ended");
    let (outcome, foreign) = theirs.join().unwrap();
    assert_eq!((ended.outcome, outcome), (Ending::Complete, Ending::Complete));
    assert_eq!(fs::read(folder.path().join("x")).unwrap(), content(6_000_000));
    let proposed = pps(foreign.proposed.unwrap());
    assert!(proposed <= 300.0, "{proposed} packets a second over a path that nobody knows");
    assert!(foreign.fastest_pps > 4.0 * proposed, "{} offered", foreign.fastest_pps);
    assert!(foreign.fastest_pps < 1e6, "{} offered", foreign.fastest_pps);
}
