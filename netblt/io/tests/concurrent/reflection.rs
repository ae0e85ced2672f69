//! What a server sends to an address whose owner never asked: somebody else writes that address into
//! his packets and hears no answer. In no state is it more than three times what he sent.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::common::{PORT, Server};
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};
use wire::netblt::{Data, Header, Kind, Message, Mode, NullAck, Open, Packet, Repr};

const MOST: f64 = 3.0;
/// How long the victim counts after the last packet was sent in its name.
const LISTENS: Duration = Duration::from_secs(3);

/// Packets in the name of a victim, with the time between them.
struct Script {
    name: &'static str,
    every: Duration,
    datagrams: Vec<Vec<u8>>,
}

fn open(mode: Mode, client_string: &str, death_timer_s: u16) -> Packet<'_> {
    Packet::Open(Open {
        connection_id: 1,
        buffer_size_bytes: 14_000,
        transfer_size_bytes: u32::MAX,
        data_packet_size_bytes: 1400,
        burst_size_packets: u16::MAX,
        burst_interval_ms: 1,
        death_timer_s,
        mode,
        checksum_data: false,
        max_outstanding_buffers: 64,
        client_string: client_string.into(),
    })
}
fn read() -> Packet<'static> {
    open(Mode::Read, "", 30)
}
fn control(
    messages: impl IntoIterator<Item = (u32, Kind<'static>)>,
    first: u16,
) -> Packet<'static> {
    let number =
        |(at, (buffer, kind)): (usize, _)| Message { sequence: first + at as u16, buffer, kind };
    Packet::Control(messages.into_iter().enumerate().map(number).collect())
}
fn go(buffers: std::ops::RangeInclusive<u32>, first: u16) -> Packet<'static> {
    control(buffers.map(|buffer| (buffer, Kind::Go)), first)
}
fn ok() -> Kind<'static> {
    Kind::Ok { burst_size_packets: u16::MAX, burst_interval_ms: 1, control_timer_ms: 60_000 }
}
fn script<'a>(
    name: &'static str,
    every_ms: u64,
    packets: impl IntoIterator<Item = Packet<'a>>,
) -> Script {
    let header = Header::new(6100, PORT);
    let datagrams = packets.into_iter().map(|packet| Repr { header, packet }.to_vec()).collect();
    Script { name, every: Duration::from_millis(every_ms), datagrams }
}

/// Blind: nothing depends on what comes back.
fn scripts() -> Vec<Script> {
    let one_go = |buffer: u32| go(buffer..=buffer, buffer as u16);
    let acknowledge = |high_consecutive| {
        let (burst_size_packets, burst_interval_ms) = (1, 1);
        Packet::NullAck(NullAck { high_consecutive, burst_size_packets, burst_interval_ms })
    };
    let claims = (0..200u32).map(|at| {
        // All packets of the buffer are missing but one, a guess.
        let missing = (0..10).filter(|packet| *packet != at as u16 % 10).collect();
        control([(1 + at % 14, Kind::Resend(missing))], 15 + at as u16)
    });
    let blind_ok =
        (0..64u32).map(|at| control([(1 + at, ok()), (15 + at, Kind::Go)], 15 + 2 * at as u16));
    let ours = |wish: &'static str| open(Mode::Read, wish, 30);
    let little = Data {
        buffer: 1,
        high_consecutive: 1,
        packet: 0,
        checksum: 0,
        last_buffer: true,
        data: &[0],
    };
    vec![
        script("OPEN", 1, [read()]),
        script("OPEN of a mode and a name that nobody has", 1, [open(Mode::Read, "nowhere", 30)]),
        script("OPEN again and again", 2, (0..50).map(|_| read())),
        script("OPEN, and 14 packets of GO", 1, [read()].into_iter().chain((1..=14).map(one_go))),
        script("OPEN and GO in one packet, twice", 5, [read(), go(1..=40, 1), go(1..=40, 1)]),
        script(
            "GO, and OK without having heard",
            20,
            [read(), go(1..=14, 1)].into_iter().chain(blind_ok),
        ),
        script(
            "GO, and guesses of what came",
            10,
            [read(), go(1..=14, 1)].into_iter().chain(claims),
        ),
        script("a death timer of a second", 1, [open(Mode::Read, "", 1), go(1..=1, 1)]),
        script(
            "KEEPALIVE",
            20,
            [read(), go(1..=14, 1)].into_iter().chain((0..100).map(|_| Packet::KeepAlive)),
        ),
        script(
            "QUIT",
            20,
            [read(), go(1..=14, 1), Packet::Quit("".into()), Packet::Quit("".into())],
        ),
        script("ABORT", 20, [read(), Packet::Abort("".into()), Packet::Quit("".into())]),
        script("QUIT out of nowhere", 1, (0..20).map(|_| Packet::Quit("".into()))),
        script("a file", 1, [ours("file")].into_iter().chain((1..=14).map(one_go))),
        script(
            "our own wish",
            1,
            [ours(r#"{"want":"get","name":"file"}"#)].into_iter().chain((1..=14).map(one_go)),
        ),
        script(
            "our own wish, and that a cookie be asked",
            1,
            [ours(r#"{"want":"memory","bytes":1000000,"cookie":true}"#)]
                .into_iter()
                .chain((1..=14).map(one_go)),
        ),
        script(
            "a file to be gone on with",
            1,
            [open(Mode::Write, r#"{"want":"put","name":"part","size":9000000,"version":"v"}"#, 30)],
        ),
        script("WRITE", 1, [open(Mode::Write, "", 1)]),
        script(
            "WRITE, and all acknowledged",
            100,
            [open(Mode::Write, "", 1)].into_iter().chain((0..20).map(|at| acknowledge(64 + at))),
        ),
        script(
            "WRITE, and a last byte",
            50,
            [open(Mode::Write, "", 30), Packet::LastData(little), Packet::LastData(little)],
        ),
    ]
}

/// Bytes that a victim got for those in its name.
fn factor(server: SocketAddr, script: &Script) -> f64 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let victim = socket.try_clone().unwrap();
    let span = script.every * script.datagrams.len() as u32 + LISTENS;
    let counts = thread::spawn(move || {
        let (started, mut bytes, mut memory) = (Instant::now(), 0, vec![0; 65_535]);
        while started.elapsed() < span {
            bytes += victim.recv(&mut memory).unwrap_or(0);
        }
        bytes
    });
    for datagram in &script.datagrams {
        socket.send_to(datagram, server).unwrap();
        thread::sleep(script.every);
    }
    let sent: usize = script.datagrams.iter().map(Vec::len).sum();
    counts.join().unwrap() as f64 / sent as f64
}

#[test]
fn nobody_sends_more_than_three_times_as_much_by_way_of_a_server() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), vec![7; 5_000_000]).unwrap();
    let ranges: String =
        (0..200).map(|at| format!("{}-{};\n", at * 20_000, at * 20_000 + 9_999)).collect();
    fs::write(folder.path().join(".part.netblt-part"), vec![7; 5_000_000]).unwrap();
    let journal = format!("{{\"size\":9000000,\"version\":\"v\"}}\n{ranges}");
    fs::write(folder.path().join(".part.netblt-journal"), journal).unwrap();
    let server = Server::start(folder.path(), |_| {});
    let factors: Vec<(&str, f64)> = thread::scope(|scope| {
        let each: Vec<_> = scripts()
            .into_iter()
            .map(|script| scope.spawn(move || (script.name, factor(server.address, &script))))
            .collect();
        each.into_iter().map(|each| each.join().unwrap()).collect()
    });
    for (name, factor) in &factors {
        println!("{factor:10.2}  {name}");
    }
    let above: Vec<_> = factors.iter().filter(|(_, factor)| *factor > MOST).collect();
    assert!(above.is_empty(), "{above:?}");
}
