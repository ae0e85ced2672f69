//! Frames as they really left and arrived: the same bytes on every type of port, those that the
//! pure transmitter emits; and captures that tshark reads.

use crate::bed;
use crate::bed::Bed;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use ports::PortType;
use std::path::{Path, PathBuf};
use std::process::Command;
use traffic::template::FrameTemplate;
use trial::conformance::{Load, run_accounted};
use trial::{
    CaptureRequest, Expectation, PortId, Role, Stream, StreamFrame, StreamId, Transmitter, Trial,
};
use units::{Duration, FrameRate, FrameSize, Instant};
use wire::ethernet::MacAddr;
use wire::signature::{self, Key};

const KEY: Key = Key::from_seed(0x5eed);
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// 64 to 1,518 bytes, untagged, tagged once and twice, IPv4 and IPv6, five streams in turn.
fn every_kind_of_frame(testbed: &Bed, captures: &Path) -> Trial {
    let path = bed::paths(testbed)[0].clone();
    let ports = testbed.ports();
    let (from, to) = (ports[0].addresses.ipv6.host, ports[1].addresses.ipv6.host);
    let (host, far_host) = (ports[0].addresses.ipv4.host, ports[1].addresses.ipv4.host);
    let macs = (MacAddr(ports[0].mac), MacAddr(testbed.next_hop_mac(0, 1)));
    let ipv4 = || FrameTemplate::udp_ipv4((macs.0, host), (macs.1, far_host));
    let ipv6 = || FrameTemplate::udp_ipv6((macs.0, from), (macs.1, to));
    let templates = [
        (ipv4(), vec![64, 65, 512, 1518]),
        (ipv4().tagged(&[100]), vec![68, 1522]),
        (ipv4().tagged(&[200, 100]), vec![72, 1518]),
        (ipv6(), vec![80, 1280]),
        (ipv6(), vec![64]),
    ];
    let streams = templates.iter().zip(1..).map(|((template, sizes), id)| {
        let frames = sizes.iter().map(|bytes| {
            let size = FrameSize::from_bytes(*bytes);
            let prepared = template.prepare(size, Some((KEY, id))).expect("a frame of this size");
            StreamFrame { bytes: prepared.frame(0), form: prepared.form() }
        });
        Stream {
            id: StreamId(id),
            name: template.to_string(),
            role: Role::Test,
            from: PortId(0),
            expect: Expectation::Ports(vec![PortId(1)]),
            frames: frames.collect(),
            fingerprint: None,
            given_up: vec![],
            bad_fcs: false,
            grows_by_bytes: 0,
        }
    });
    let load = Load {
        paths: &[path],
        streams_each: 1,
        sizes: &[FrameSize::MIN_ETHERNET],
        rate: FrameRate::from_fps(5_000),
        duration: Duration::from_ms(100),
        key: KEY,
    };
    let mut trial = load.trial("every kind of frame");
    trial.streams = streams.collect();
    trial.loads[0].order = trial.streams.iter().map(|stream| stream.id).collect();
    let capture = |port, sent| CaptureRequest {
        port: PortId(port),
        sent,
        received: !sent,
        streams: vec![],
        max_frames: 10_000,
        path: captures.join(format!("port{port}.pcapng")),
    };
    trial.captures = vec![capture(0, true), capture(1, false)];
    trial
}

/// A captured frame: direction, time since 1970 in ns, bytes.
type Captured = (u32, u128, Vec<u8>);

fn read(path: PathBuf) -> Vec<Captured> {
    let file = std::fs::File::open(path).expect("a capture");
    let mut reader = PcapNgReader::new(file).expect("pcapng");
    let mut frames = vec![];
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a block") {
            let direction = packet.options.iter().find_map(|option| match option {
                EnhancedPacketOption::Flags(flags) => Some(flags & 3),
                _ => None,
            });
            let at_ns = packet.timestamp.as_nanos();
            frames.push((direction.unwrap_or(0), at_ns, packet.data.into_owned()));
        }
    }
    frames
}

/// What the pure transmitter emits when it is asked at the times that the frames bear.
fn emitted(trial: &Trial, sent: &[Captured]) -> Vec<Vec<u8>> {
    let plan = &trial.transmit_plans().expect("a plan")[0];
    let mut transmitter = Transmitter::new(plan, Instant::ZERO, ports::clock::TICK);
    let mut buffer = vec![0; plan.set.longest_bytes()];
    let forms = [signature::Form::Full, signature::Form::Short, signature::Form::Compact];
    let frames = sent.iter().map(|(_, _, frame)| {
        let stamp = forms.iter().find_map(|form| signature::read(*form, KEY, frame));
        let ticks = stamp.expect("a signature").transmit_ticks;
        let written = transmitter.emit(Instant::from_ns(ticks), &mut buffer);
        buffer[..written.len_bytes].to_vec()
    });
    frames.collect()
}

fn frames_are_the_transmitters_own(port_type: PortType) {
    let testbed = bed::loopback(1500);
    let folder = tempfile::tempdir().expect("a folder");
    let trial = every_kind_of_frame(&testbed, folder.path());
    let mut tester = bed::tester(&testbed, port_type, FrameSize::MAX_ETHERNET);
    let result = run_accounted(&mut tester, &trial);
    assert_eq!((result.lost_frames(), result.offered_frames()), (0, 500), "{port_type}");
    for received in result.expected_accounts() {
        assert_eq!(received.account.wrong_length, 0, "{port_type}: a tag was lost");
    }

    let sent = read(folder.path().join("port0.pcapng"));
    let received = read(folder.path().join("port1.pcapng"));
    assert_eq!((sent.len(), received.len()), (500, 500), "{port_type}: {:?}", result.notes);
    for ((sent, received), emitted) in sent.iter().zip(&received).zip(emitted(&trial, &sent)) {
        assert_eq!((sent.0, received.0), (OUTBOUND, INBOUND), "{port_type}");
        assert!(sent.1 <= received.1, "{port_type}: a frame arrived before it left");
        assert_eq!(sent.2, emitted, "{port_type}: sent");
        assert_eq!(received.2, emitted, "{port_type}: received");
    }
    for port in ["port0", "port1"] {
        tshark_finds_nothing_wrong(&folder.path().join(format!("{port}.pcapng")));
    }
}

fn tshark_finds_nothing_wrong(path: &Path) {
    let output = Command::new("tshark")
        .args(["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-r"])
        .arg(path)
        .args(["-T", "fields", "-e", "frame.interface_name", "-e", "_ws.malformed"])
        .args(["-e", "ip.checksum.status", "-e", "udp.checksum.status", "-e", "eth.fcs"])
        .output()
        .expect("tshark");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text.lines().count(), 500);
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        assert!(fields[0].starts_with("tester"), "{line}");
        let [malformed, ip, udp, fcs] = fields[1..] else { panic!("{line}") };
        assert_eq!(malformed, "", "{line}");
        // 1 is good; IPv6 has no header checksum, and the smallest IPv6 frame no UDP.
        assert!(["1", ""].contains(&ip) && ["1", ""].contains(&udp), "{line}");
        assert_eq!(fcs, "", "no FCS is taken for one: {line}");
    }
    let udp_is_good = |line: &&str| line.split('\t').nth(3) == Some("1");
    assert_eq!(text.lines().filter(udp_is_good).count(), 400);
}

#[test]
fn on_af_packet_frames_are_the_transmitters_own() {
    frames_are_the_transmitters_own(PortType::AF_PACKET);
}

#[test]
fn on_af_xdp_frames_are_the_transmitters_own() {
    frames_are_the_transmitters_own(PortType::AF_XDP);
}

#[test]
fn on_xdp_frames_are_the_transmitters_own() {
    frames_are_the_transmitters_own(PortType::XDP);
}

#[test]
fn a_capture_that_cannot_be_written_does_not_cost_the_result() {
    let testbed = bed::loopback(1500);
    let mut trial = every_kind_of_frame(&testbed, Path::new("/dev/full/nowhere"));
    let mut tester = bed::tester(&testbed, PortType::AF_PACKET, FrameSize::MAX_ETHERNET);
    trial.captures.truncate(1);
    let result = run_accounted(&mut tester, &trial);
    assert_eq!(result.lost_frames(), 0);
    let notes = &result.notes;
    assert!(notes.iter().any(|note| note.contains("could not write the capture")), "{notes:?}");
}
