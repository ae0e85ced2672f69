//! Peers that do not keep to the protocol, or that ask for what cannot be: the server refuses them
//! and goes on serving others.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::common::{PORT, Server};
use std::fs;
use std::net::UdpSocket;
use std::time::Duration;
use wire::netblt::{Data, Header, Mode, NullAck, Open, Packet, Repr};

/// Says whatever a test wants it to.
struct Peer {
    socket: UdpSocket,
    header: Header,
}

impl Peer {
    fn new(server: &Server) -> Peer {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(server.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        Peer { socket, header: Header::new(6100, PORT) }
    }
    fn open(mode: Mode, client_string: &str) -> Packet<'_> {
        Packet::Open(Open {
            connection_id: 1,
            buffer_size_bytes: 10_000,
            transfer_size_bytes: 0,
            data_packet_size_bytes: 1000,
            burst_size_packets: 5,
            burst_interval_ms: 10,
            death_timer_s: 30,
            mode,
            checksum_data: false,
            max_outstanding_buffers: 2,
            client_string: client_string.into(),
        })
    }
    fn say(&self, packet: Packet<'_>) {
        self.socket.send(&Repr { header: self.header, packet }.to_vec()).unwrap();
    }
    /// The next packet that `wanted` makes something of.
    fn hear<T>(&self, wanted: impl Fn(Packet<'_>) -> Option<T>) -> T {
        let mut bytes = [0; 65_535];
        loop {
            let len = self.socket.recv(&mut bytes).expect("an answer in time");
            let packet = Repr::parse(&bytes[..len]).expect("a packet of NETBLT").packet;
            if let Some(found) = wanted(packet) {
                return found;
            }
        }
    }
    fn acknowledge(&self, high_consecutive: u16) {
        self.say(Packet::NullAck(NullAck {
            high_consecutive,
            burst_size_packets: 5,
            burst_interval_ms: 10,
        }));
    }
    fn refusal(&self) -> String {
        self.hear(|packet| match packet {
            Packet::Refused(reason) => Some(reason.to_string()),
            Packet::Response(_) => panic!("agreed"),
            _ => None,
        })
    }
}

/// Somebody who does keep to the protocol still gets an answer.
fn assert_serving(server: &Server) {
    let peer = Peer::new(server);
    peer.say(Peer::open(Mode::Write, r#"{"want":"memory","bytes":20000}"#));
    peer.hear(|packet| matches!(packet, Packet::Response(_)).then_some(()));
}

fn server() -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), |_| {});
    (folder, server)
}

#[test]
fn a_last_buffer_before_the_announced_amount_stops_nobody_else() {
    let (folder, server) = server();
    for wish in [
        r#"{"want":"memory","bytes":20000}"#,
        r#"{"want":"put","name":"x","size":20000,"version":"v"}"#,
    ] {
        let peer = Peer::new(&server);
        peer.say(Peer::open(Mode::Write, wish));
        peer.hear(|packet| matches!(packet, Packet::Control(_)).then_some(()));
        // What memory sources send begins with a zero.
        let data = Data {
            buffer: 1,
            high_consecutive: 2,
            packet: 0,
            checksum: 0,
            last_buffer: true,
            data: &[0],
        };
        peer.say(Packet::LastData(data.checksummed()));
        peer.hear(|packet| match packet {
            Packet::Control(messages) => {
                peer.acknowledge(messages.iter().map(|message| message.sequence).max()?);
                None
            }
            Packet::Quit(reason) => reason.to_string().contains("came before").then_some(()),
            _ => None,
        });
        peer.say(Packet::QuitAck);
        assert_serving(&server);
    }
    assert!(!folder.path().join("x").exists());
}

#[test]
fn a_datagram_from_port_0_stops_nothing() {
    let (_folder, server) = server();
    let kind = (socket2::Domain::IPV4, socket2::Type::RAW, Some(socket2::Protocol::UDP));
    let Ok(raw) = socket2::Socket::new(kind.0, kind.1, kind.2) else {
        eprintln!("skipped: not root");
        return;
    };
    let packet = Peer::open(Mode::Write, r#"{"want":"memory","bytes":20000}"#);
    let netblt = Repr { header: Header::new(6100, PORT), packet }.to_vec();
    let mut datagram = vec![0, 0];
    datagram.extend(server.address.port().to_be_bytes());
    datagram.extend((8 + netblt.len() as u16).to_be_bytes());
    datagram.extend([0, 0]); // no checksum
    datagram.extend(netblt);
    raw.send_to(&datagram, &server.address.into()).unwrap();
    assert_serving(&server);
}

#[test]
fn sizes_that_no_file_can_have_are_refused() {
    let (_folder, server) = server();
    for size in [u64::MAX, u64::MAX - 31, i64::MAX as u64] {
        let peer = Peer::new(&server);
        let wish = format!(r#"{{"want":"put","name":"x","size":{size},"version":"v"}}"#);
        peer.say(Peer::open(Mode::Write, &wish));
        assert!(peer.refusal().contains("larger than any file"));
    }
    assert_serving(&server);
}

#[test]
fn a_pipe_in_the_served_directory_is_no_file() {
    let (folder, server) = server();
    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    let peer = Peer::new(&server);
    peer.say(Peer::open(Mode::Read, r#"{"want":"get","name":"pipe"}"#));
    assert_eq!(peer.refusal(), "not a regular file");
    assert_serving(&server);
    assert!(netblt_io::files::send(&pipe, "x").is_err(), "and at once");
}

#[test]
fn asking_alone_destroys_nothing_that_was_kept() {
    let (folder, server) = server();
    let journal = "{\"size\":20000,\"version\":\"v\"}\n0-10000;\n";
    fs::write(folder.path().join(".x.netblt-part"), [1; 10_000]).unwrap();
    fs::write(folder.path().join(".x.netblt-journal"), journal).unwrap();
    for (version, have) in [("other", "\"have\":\"\""), ("v", "\"have\":\"0-10000\"")] {
        let peer = Peer::new(&server);
        let wish = format!(r#"{{"want":"put","name":"x","size":20000,"version":"{version}"}}"#);
        peer.say(Peer::open(Mode::Write, &wish));
        let answer = peer.hear(|packet| match packet {
            Packet::Response(open) => Some(open.client_string.to_string()),
            _ => None,
        });
        assert!(answer.contains(have), "{answer}");
        peer.say(Packet::Abort("enough".into()));
    }
    assert_serving(&server);
    assert_eq!(fs::read(folder.path().join(".x.netblt-part")).unwrap(), [1; 10_000]);
    assert_eq!(fs::read_to_string(folder.path().join(".x.netblt-journal")).unwrap(), journal);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}
