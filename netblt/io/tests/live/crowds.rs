//! A good transfer while others do their worst: OPENs from everywhere, peers that live but move
//! nothing, or as little as holds a place, or that want all memory. `NETANVIL_HOSTILE=full` has as many of them
//! as docs/netblt.md says; otherwise it is a tenth.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::common::{PAUSE, PORT, Server, limits, station};
use netblt::{Ending, EndpointLimits, Limits, Mode};
use netblt_io::files::{self, Nobody};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wire::netblt::{Data, Header, Open, Packet, Repr};

/// At the rate of the tests' limits, 16 packets of 1,400 bytes a millisecond at the most.
const BYTES: u64 = 20_000_000;
/// Of the rate without anybody else; the machine has few processors, and the crowd needs some too.
const LEAST: f64 = 0.5;

fn full() -> bool {
    std::env::var("NETANVIL_HOSTILE").is_ok_and(|how| how == "full")
}

/// A transfer by somebody who keeps to the protocol; gives its Mb/s.
fn transfer(server: SocketAddr) -> f64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::SeqCst) as u16;
    let (mut station, _) = station();
    let (mode, offer, opener) = files::memory(Mode::Write, BYTES);
    let ports = (2000 + number, PORT);
    station.open(server, ports, (mode, 500 + u32::from(number)), &offer, opener).unwrap();
    let started = Instant::now();
    while station.take_ended().pop().is_none_or(|ended| {
        assert_eq!(ended.outcome, Ending::Complete);
        false
    }) {
        station.turn(PAUSE, &mut Nobody).unwrap();
    }
    BYTES as f64 * 8.0 / started.elapsed().as_secs_f64() / 1e6
}

fn open(connection_id: u32, mode: Mode) -> Packet<'static> {
    open_for(connection_id, mode, (40_000, 16))
}
/// The same for buffers of so many bytes, and so many of them.
fn open_for(
    connection_id: u32,
    mode: Mode,
    (buffer_size_bytes, max_outstanding_buffers): (u32, u16),
) -> Packet<'static> {
    Packet::Open(Open {
        connection_id,
        buffer_size_bytes,
        transfer_size_bytes: 0,
        data_packet_size_bytes: 1400,
        burst_size_packets: 100,
        burst_interval_ms: 1,
        death_timer_s: 30,
        mode,
        checksum_data: false,
        max_outstanding_buffers,
        client_string: "".into(),
    })
}
fn datagram(port: u16, packet: Packet<'_>) -> Vec<u8> {
    Repr { header: Header::new(port, PORT), packet }.to_vec()
}
/// An address of this host alone; a source of its own to a server.
fn source(number: u32) -> SocketAddr {
    (Ipv4Addr::from(0x7f01_0000 + number), 0).into()
}
fn server() -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), |_| {});
    (folder, server)
}
fn judge(what: &str, alone: f64, among: f64) {
    println!("{what}: {among:.0} Mb/s, {alone:.0} without");
    assert!(among > LEAST * alone, "{what}: {among} of {alone} Mb/s");
}

#[test]
fn opens_from_everywhere_do_not_slow_a_transfer_down() {
    let (_folder, server) = server();
    let alone = transfer(server.address);
    let most = if full() { 100_000 } else { 10_000 };
    let sockets: Vec<UdpSocket> = (0..200).map(|at| UdpSocket::bind(source(at)).unwrap()).collect();
    let (sent, over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..most {
                let (socket, mode) =
                    (&sockets[number % sockets.len()], [Mode::Read, Mode::Write][number % 2]);
                let packet = datagram(1024 + (number / 200) as u16, open(number as u32, mode));
                let _ = socket.send_to(&packet, server.address);
                sent.fetch_add(1, Ordering::SeqCst);
                if number % 50 == 49 {
                    thread::sleep(Duration::from_millis(5));
                }
            }
            over.store(true, Ordering::SeqCst);
        });
        let mut worst = f64::INFINITY;
        while !over.load(Ordering::SeqCst) {
            worst = worst.min(transfer(server.address));
        }
        judge("among OPENs", alone, worst);
    });
    assert_eq!(sent.load(Ordering::SeqCst), most as u64);
}

/// Opens, says that it lives for as long as the test lasts, and does nothing else.
fn half_dead(server: SocketAddr, each_of_its_own: bool) {
    let (_, count) = (server, if full() { 1000u32 } else { 200 });
    let alone = transfer(server);
    let sockets: Vec<UdpSocket> = (0..count)
        .map(|at| UdpSocket::bind(source(if each_of_its_own { at } else { 7 })).unwrap())
        .collect();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                for (at, socket) in sockets.iter().enumerate() {
                    if round % 5 == 0 {
                        let packet =
                            datagram(900, open(at as u32, [Mode::Read, Mode::Write][at % 2]));
                        let _ = socket.send_to(&packet, server);
                    }
                    let _ = socket.send_to(&datagram(900, Packet::KeepAlive), server);
                }
                thread::sleep(Duration::from_millis(100));
                if stop.load(Ordering::SeqCst) {
                    return;
                }
            }
        });
        // They hold what they can get.
        thread::sleep(Duration::from_secs(1));
        let among = (0..4).map(|_| transfer(server)).fold(f64::INFINITY, f64::min);
        stop.store(true, Ordering::SeqCst);
        judge("among the half-dead", alone, among);
    });
}

#[test]
fn half_dead_peers_of_one_source_keep_nobody_out() {
    let (_folder, server) = server();
    half_dead(server.address, false);
}

#[test]
fn half_dead_peers_of_many_sources_keep_nobody_out() {
    let (_folder, server) = server();
    half_dead(server.address, true);
}

/// A server's own limits are those of `netanvil netblt serve`. Each of the greedy asks for all of it and says that it lives;
/// the last ones, of small buffers, take what the others have left.
#[test]
fn greedy_peers_leave_memory_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { buffer_size_bytes: 128 << 10, max_outstanding_buffers: 2048, ..limits() };
    let server = Server::within(limits, folder.path(), |_| {});
    let alone = transfer(server.address);
    let asked = [(128 << 10, 2048), (1000, 2048)].map(|wish| [wish; 16]).concat();
    let sockets: Vec<UdpSocket> = (0..32).map(|at| UdpSocket::bind(source(at)).unwrap()).collect();
    let live = || {
        for socket in &sockets {
            let _ = socket.send_to(&datagram(900, Packet::KeepAlive), server.address);
        }
    };
    for (at, (socket, wish)) in sockets.iter().zip(asked).enumerate() {
        let packet = datagram(900, open_for(at as u32, Mode::Write, wish));
        socket.send_to(&packet, server.address).unwrap();
        thread::sleep(Duration::from_millis(20));
        live();
    }
    let among = (0..4).map(|_| {
        live();
        transfer(server.address)
    });
    judge("among the greedy", alone, among.fold(f64::INFINITY, f64::min));
}

/// As many as there are places, each with a packet every three seconds.
#[test]
fn slow_peers_keep_nobody_out() {
    let (_folder, server) = server();
    let alone = transfer(server.address);
    let places = EndpointLimits::default().max_connections;
    let sockets: Vec<UdpSocket> =
        (0..places).map(|at| UdpSocket::bind(source(at as u32)).unwrap()).collect();
    let moves = |socket: &UdpSocket, packet| {
        let data = Data {
            buffer: 1,
            high_consecutive: 0,
            packet,
            checksum: 0,
            last_buffer: false,
            data: &[1; 1400],
        };
        let packet = datagram(900, Packet::Data(data.checksummed()));
        let _ = socket.send_to(&packet, server.address);
    };
    // Few at a time: no more may be half open.
    for (at, few) in sockets.chunks(16).enumerate() {
        for (own, socket) in few.iter().enumerate() {
            let packet = datagram(900, open((16 * at + own) as u32, Mode::Write));
            socket.send_to(&packet, server.address).unwrap();
        }
        thread::sleep(Duration::from_millis(50));
        few.iter().for_each(|socket| moves(socket, 0));
        thread::sleep(Duration::from_millis(50));
    }
    let mut among = f64::INFINITY;
    for packet in 1..4 {
        among = among.min(transfer(server.address));
        thread::sleep(Duration::from_secs(3));
        sockets.iter().for_each(|socket| moves(socket, packet));
    }
    judge("among the slow", alone, among);
}
