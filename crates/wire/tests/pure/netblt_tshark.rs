//! The dissector in `extras/netblt.lua`, run by the real tshark over packets that we write: both
//! must read the same.

use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use wire::ipv4;
use wire::netblt::{Data, Header, Kind, Message, Mode, NullAck, Open, PROTOCOL, Packet, Repr};

const FIELDS: [&str; 12] = [
    "netblt.type",
    "netblt.checksum.good",
    "netblt.connection_id",
    "netblt.mode",
    "netblt.text",
    "netblt.buffer",
    "netblt.packet",
    "netblt.last_buffer",
    "netblt.high_consecutive",
    "netblt.message",
    "netblt.sequence",
    "netblt.missing",
];

fn packets() -> Vec<Packet<'static>> {
    let open = Open {
        connection_id: 0x1122_3344,
        buffer_size_bytes: 14_320,
        transfer_size_bytes: 0,
        data_packet_size_bytes: 1432,
        burst_size_packets: 5,
        burst_interval_ms: 55,
        death_timer_s: 60,
        mode: Mode::Write,
        checksum_data: true,
        max_outstanding_buffers: 22,
        client_string: "hello".into(),
    };
    let data = Data {
        buffer: 3,
        high_consecutive: 9,
        packet: 7,
        checksum: 0,
        last_buffer: true,
        data: b"12345",
    };
    let ok = Kind::Ok { burst_size_packets: 5, burst_interval_ms: 60, control_timer_ms: 500 };
    let control = [
        Message { sequence: 4, buffer: 1, kind: ok },
        Message { sequence: 5, buffer: 3, kind: Kind::Go },
        Message { sequence: 6, buffer: 2, kind: Kind::Resend([3, 4, 9].into_iter().collect()) },
    ];
    let ack = NullAck { high_consecutive: 6, burst_size_packets: 5, burst_interval_ms: 60 };
    vec![
        Packet::Open(open),
        Packet::LastData(data.checksummed()),
        Packet::Control(control.into_iter().collect()),
        Packet::NullAck(ack),
        Packet::Quit("enough".into()),
        Packet::Done,
    ]
}

/// What tshark says with our dissector; an error of the dissector or a malformed packet fails.
fn tshark(capture: &Path, arguments: &[&str]) -> Vec<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../extras/netblt.lua");
    let output = Command::new("tshark")
        .arg("-X")
        .arg(format!("lua_script:{}", script.display()))
        .arg("-r")
        .arg(capture)
        .args(arguments)
        .output()
        .expect("tshark");
    let (text, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    for bad in ["Malformed", "Lua Error", "lua_script"] {
        assert!(!text.contains(bad) && !errors.contains(bad), "{text}\n{errors}");
    }
    text.replace("True", "1").lines().map(str::to_owned).collect()
}

fn fields<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let each = names.iter().flat_map(|field| ["-e", *field]);
    ["-T", "fields", "-E", "separator=|"].into_iter().chain(each).collect()
}

/// A capture of packets of this protocol of IP.
fn capture(folder: &Path, protocol: ipv4::Protocol, payloads: &[Vec<u8>]) -> PathBuf {
    let capture = folder.join("netblt.pcap");
    let header = PcapHeader { datalink: DataLink::RAW, ..Default::default() };
    let file = std::fs::File::create(&capture).expect("a capture");
    let mut writer = PcapWriter::with_header(file, header).expect("a capture");
    for bytes in payloads {
        let addresses = (Ipv4Addr::new(198, 18, 1, 2), Ipv4Addr::new(198, 19, 1, 2));
        let ip = ipv4::Repr::new(addresses.0, addresses.1, protocol, bytes.len() as u16);
        let packet = ip.packet(bytes);
        let len = packet.len() as u32;
        writer.write_packet(&PcapPacket::new(Duration::ZERO, len, &packet)).expect("a packet");
    }
    capture
}

/// A datagram to the server's UDP port, without checksum.
fn udp(payload: &[u8]) -> Vec<u8> {
    let len = (8 + payload.len()) as u16;
    let mut datagram = [1500u16, 20_030, len, 0].map(u16::to_be_bytes).concat();
    datagram.extend_from_slice(payload);
    datagram
}

fn sealed(count: u64, content: &[u8]) -> Vec<u8> {
    let header = [&b"NBe\x82session1"[..], &count.to_be_bytes()].concat();
    [&header[..], content, &[0xee; 16]].concat()
}

#[test]
fn wireshark_reads_with_our_dissector_what_we_write() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let bytes = |packet| Repr { header: Header::new(1000, 7), packet }.to_vec();
    let payloads: Vec<Vec<u8>> = packets().into_iter().map(bytes).collect();
    let capture = capture(folder.path(), PROTOCOL, &payloads);
    assert_eq!(
        tshark(&capture, &fields(&FIELDS)),
        [
            "0|1|0x11223344|1|hello|||||||",
            "7|1||||3|7|1|9|||",
            "9|1||||1,3,2||||1,0,2|4,5,6|3,4,9",
            "8|1|||||||6|||",
            "3|1|||enough|||||||",
            "11|1||||||||||",
        ],
    );
}

/// What a capture on the sending host shows: datagrams that the kernel cuts apart later.
#[test]
fn every_packet_of_a_datagram_of_many_is_decoded() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let data = |packet: u16, len: usize| {
        let data = &[7; 1400][..len];
        let data =
            Data { buffer: 3, high_consecutive: 9, packet, checksum: 0, last_buffer: false, data };
        Repr { header: Header::new(1000, 7), packet: Packet::Data(data.checksummed()) }.to_vec()
    };
    let plain: Vec<u8> =
        (0..40).flat_map(|packet| data(packet, 1400)).chain(data(40, 13)).collect();
    let seals: Vec<u8> = (5..45).flat_map(|count| sealed(count, &[1; 1424])).collect();
    let seals = [seals, sealed(45, &[1; 20])].concat();
    let junk = [data(1, 8), b"no packet of NETBLT".to_vec()].concat();
    let capture =
        capture(folder.path(), ipv4::Protocol(17), &[udp(&plain), udp(&seals), udp(&junk)]);
    let names = [
        "netblt.packets",
        "netblt.packet",
        "netblt.checksum.good",
        "netblt.sealed.count",
        "netblt.rest",
    ];
    let list = |numbers: std::ops::RangeInclusive<u32>| {
        numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(",")
    };
    assert_eq!(
        tshark(&capture, &fields(&names)),
        [
            format!("41|{}|{}||", list(0..=40), vec!["1"; 41].join(",")),
            format!("41|||{}|", list(5..=45)),
            // "no packet of NETBLT"
            "|1|1||6e6f207061636b6574206f66204e4554424c54".to_owned(),
        ]
    );
}

#[test]
fn of_sealed_packets_it_shows_what_can_be_seen() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let greeting = |kind: u8| [&b"NBe"[..], &[kind], &[1; 16], &[2; 16], &[3; 16]].concat();
    let refusal = [&b"NBe\x83\x02\0\0\0"[..], &[1; 16]].concat();
    let short = b"NBe\x82and then nothing".to_vec();
    let all = [greeting(0x80), greeting(0x81), sealed(7, b"what it is"), refusal, short];
    let capture = capture(folder.path(), ipv4::Protocol(17), &all.map(|datagram| udp(&datagram)));
    let names = [
        "netblt.sealed.kind",
        "netblt.sealed.client_salt",
        "netblt.sealed.server_salt",
        "netblt.sealed.session",
        "netblt.sealed.count",
        "netblt.sealed.refusal",
        "netblt.rest",
    ];
    let (ones, twos) = ("01".repeat(16), "02".repeat(16));
    assert_eq!(
        tshark(&capture, &fields(&names)),
        [
            format!("0x80|{ones}|||||"),
            format!("0x81|{ones}|{twos}||||"),
            // "session1"
            "0x82|||73657373696f6e31|7||".to_owned(),
            format!("0x83|{ones}||||2|"),
            "0x82||||||616e64207468656e206e6f7468696e67".to_owned(),
        ]
    );
}

/// The walk-through quotes each line of the trace, in order, and nothing that is not in it.
#[test]
fn the_walk_through_says_what_tshark_says() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let text = std::fs::read_to_string(docs.join("netblt-trace.md")).expect("the walk-through");
    let mut block = false;
    let quoted: Vec<&str> = text
        .lines()
        .filter(|line| {
            block ^= line.starts_with("```");
            block && line.starts_with(|first: char| first.is_ascii_digit())
        })
        .collect();
    let arguments = ["-T", "fields", "-E", "separator=/s", "-e", "frame.number"];
    let columns = ["-e", "frame.time_relative", "-e", "ip.src", "-e", "_ws.col.Info"];
    let arguments: Vec<&str> = arguments.into_iter().chain(columns).collect();
    assert_eq!(tshark(&docs.join("netblt-trace.pcapng"), &arguments), quoted);
    assert_eq!(quoted.len(), 28);
}
