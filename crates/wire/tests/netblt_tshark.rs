//! The dissector in `extras/netblt.lua`, run by the real tshark over packets that we write: both
//! must read the same.

use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use std::net::Ipv4Addr;
use std::path::Path;
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

#[test]
fn wireshark_reads_with_our_dissector_what_we_write() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let capture = folder.path().join("netblt.pcap");
    let header = PcapHeader { datalink: DataLink::RAW, ..Default::default() };
    let file = std::fs::File::create(&capture).expect("a capture");
    let mut writer = PcapWriter::with_header(file, header).expect("a capture");
    for packet in packets() {
        let bytes = Repr { header: Header::new(1000, 7), packet }.to_vec();
        let addresses = (Ipv4Addr::new(198, 18, 1, 2), Ipv4Addr::new(198, 19, 1, 2));
        let ip = ipv4::Repr::new(addresses.0, addresses.1, PROTOCOL, bytes.len() as u16);
        let packet = ip.packet(&bytes);
        let len = packet.len() as u32;
        writer.write_packet(&PcapPacket::new(Duration::ZERO, len, &packet)).expect("a packet");
    }
    drop(writer);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../extras/netblt.lua");
    let output = Command::new("tshark")
        .arg("-X")
        .arg(format!("lua_script:{}", script.display()))
        .arg("-r")
        .arg(&capture)
        .args(["-T", "fields", "-E", "separator=|"])
        .args(FIELDS.iter().flat_map(|field| ["-e", field]))
        .output()
        .expect("tshark");
    let text = String::from_utf8_lossy(&output.stdout).replace("True", "1");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "0|1|0x11223344|1|hello|||||||",
            "7|1||||3|7|1|9|||",
            "9|1||||1,3,2||||1,0,2|4,5,6|3,4,9",
            "8|1|||||||6|||",
            "3|1|||enough|||||||",
            "11|1||||||||||",
        ],
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
