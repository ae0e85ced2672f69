//! Writes the seeds that can be made: whole messages of every protocol, built-in devices, a
//! configuration, captures. `cargo run --package netanvil-fuzzing --example seeds`; findings are
//! put beside them by hand.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "writes files")]

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use traffic::template::FrameTemplate;
use traffic::{fragment, test_frame};
use units::FrameSize;
use wire::appletalk::Address;
use wire::ethernet::MacAddr;
use wire::ipx::Encapsulation;
use wire::signature::{self, Form, Key, Stamp};
use wire::{bpdu, decnet, igmp, ipx, keepalive, learning, mld, rip, snmp};

const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const HOST: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const HOST_6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1);
const ETHERNET: usize = 14;

fn main() {
    let frames = frames();
    write("frame", &frames);
    let headers = frames.iter().flat_map(|frame| [0, ETHERNET, 34, 54].map(|at| tail(frame, at)));
    write("headers", &headers.collect::<Vec<_>>());
    // From the start of Ethernet, of what it carries, and of what is behind LLC, SNAP and IPv4.
    let places = [0, ETHERNET, 17, 22, 34];
    let views = frames.iter().step_by(2).flat_map(|frame| places.map(|at| tail(frame, at)));
    write("views", &views.chain(group_messages()).collect::<Vec<_>>());
    let behind = |frames: Vec<Vec<u8>>, at| frames.iter().map(|f| tail(f, at)).collect::<Vec<_>>();
    write("rip", &behind(rip_frames(), 42));
    write("snmp", &snmp_messages());
    write("groups", &group_messages());
    write("netblt", &(0..12).map(netblt_packet).collect::<Vec<_>>());
    write("copy", &copies());
    write("signature", &signatures());
    write("fragments", &[1, 100, 255].map(|mtu| [&[mtu], &udp(400)[ETHERNET..]].concat()));
    write("bridging", &behind(bridge_frames(), ETHERNET));
    write("decnet", &behind(decnet_frames(), ETHERNET));
    let apple = appletalk_frames();
    // Behind LLC and SNAP, and behind DDP as well.
    write("appletalk", &[behind(apple.clone(), 22), behind(apple, 35)].concat());
    let novell = ipx_frames();
    write("ipx", &[behind(novell.clone(), ETHERNET), behind(novell, ETHERNET + 30)].concat());
    write("template", &templates());
    write("sizes", &texts(&SIZES));
    write("device", &devices());
    let config = method::SuiteConfig::default();
    let config = toml::to_string(&config).expect("a configuration").into_bytes();
    write("config", &[config, CONFIG.as_bytes().to_vec()]);
    write("capture", &captures());
    write("hammer", &words());
}

const SIZES: [&str; 8] = [
    "64",
    "64-1518+10",
    "64,128,1518",
    "imix",
    "imix:simple-a",
    "dist:64*7201,128*1310,1518*490",
    "size,frames\n64,3\n1518,1\n",
    "02:00:5e:10:00:01",
];

const CONFIG: &str = "profile = \"quick\"\nseed = 7\nframe_sizes = [\"64\", \"1518\"]\n\
    tests = [\"throughput\", \"latency\"]\n[trial]\nduration_s = 0.5\n[latency]\nrepetitions = 3\n";

fn write(target: &str, seeds: &[Vec<u8>]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    std::fs::create_dir_all(&folder).expect("a folder");
    for (number, seed) in seeds.iter().filter(|seed| !seed.is_empty()).enumerate() {
        std::fs::write(folder.join(format!("{number:02}")), seed).expect("a seed");
    }
}

fn tail(frame: &[u8], at: usize) -> Vec<u8> {
    frame.get(at..).unwrap_or_default().to_vec()
}

fn udp(size: u32) -> Vec<u8> {
    let template = test_frame::template((MAC, HOST), (PEER, Ipv4Addr::new(198, 18, 0, 2)));
    template.build(0, FrameSize::from_bytes(size), Some((Key::from_seed(7), 1))).expect("a frame")
}

fn frames() -> Vec<Vec<u8>> {
    let six = FrameTemplate::udp_ipv6((MAC, HOST_6), (PEER, HOST_6));
    let plain = udp(80);
    let mut frames = vec![
        plain.clone(),
        six.build(0, FrameSize::from_bytes(128), Some((Key::from_seed(7), 1))).expect("a frame"),
        [&plain[..12], &[0x88, 0xa8, 0, 9, 0x81, 0, 0, 7], &plain[12..]].concat(),
        learning::gratuitous_arp(MAC, HOST),
        learning::unsolicited_advertisement(MAC, HOST_6),
        learning::neighbor_solicitation(MAC, HOST_6, HOST_6),
    ];
    let burst = fragment::Burst::nfs((MAC, HOST), (PEER, HOST), 1);
    let fragments = burst.frames(Some((Key::from_seed(7), 1))).expect("a burst");
    frames.extend(fragments.into_iter().take(1).map(|frame| frame.bytes[..200].to_vec()));
    for more in [rip_frames(), bridge_frames(), decnet_frames(), appletalk_frames(), ipx_frames()] {
        frames.extend(more);
    }
    frames
}

fn rip_frames() -> Vec<Vec<u8>> {
    let networks = [(Ipv4Addr::new(198, 19, 0, 0), 24), (Ipv4Addr::new(192, 32, 100, 0), 24)];
    let update =
        |version, networks: &[_]| rip::update_frames(version, (MAC, HOST), 24, networks, 1);
    let one = update(rip::Version::V1, &networks[1..]).expect("an update");
    [one, update(rip::Version::V2, &networks).expect("an update")].concat()
}

fn snmp_messages() -> Vec<Vec<u8>> {
    let query = snmp::Repr::interface_query("public", 77, 2);
    let counters = snmp::InterfaceCounters {
        sys_up_time_ticks: 1,
        if_in_octets: 64,
        if_out_octets: u32::MAX,
        if_in_ucast_pkts: 1,
        if_out_ucast_pkts: 0,
    };
    vec![query.emit(), query.answer(2, counters).emit()]
}

fn group_messages() -> Vec<Vec<u8>> {
    let (four, six) = (Ipv4Addr::new(239, 1, 2, 3), Ipv6Addr::new(0xff1e, 0, 0, 0, 0, 0, 0, 9));
    let igmp = [igmp::Repr::v3_join(four), igmp::Repr::v3_leave(four)];
    let mld = [mld::Repr::v2_join(six), mld::Repr::v2_leave(six)];
    let igmp = igmp.map(|message| tail(&message.frame((MAC, HOST)), ETHERNET + 24));
    let mld = mld.map(|message| tail(&message.frame((MAC, HOST_6)), ETHERNET + 48));
    // Queries: type, code, checksum, and what follows.
    let queries =
        [vec![0x11, 100, 0, 0, 0, 0, 0, 0], vec![0x11, 100, 0, 0, 239, 1, 2, 3, 2, 125, 0, 0]];
    let mld_query = [&[130, 0, 0, 0, 0, 100, 0, 0][..], &[0; 16], &[2, 125, 0, 0]].concat();
    [igmp.to_vec(), mld.to_vec(), queries.to_vec(), vec![mld_query]].concat()
}

/// A packet of this type (RFC 998 section 5.1), all zeros behind its header.
fn netblt_packet(kind: u8) -> Vec<u8> {
    let mut packet = vec![0; 12 + 4 * 9];
    packet[2..6].copy_from_slice(&[4, kind, 0, 12 + 4 * 9]);
    packet[6..10].copy_from_slice(&[0, 7, 0, 30]);
    packet
}

/// Buffers with every record of a copy's stream, and lines of its channel.
fn copies() -> Vec<Vec<u8>> {
    use netblt_io::copy::format::{Attributes, Record, Writer};
    use netblt_io::copy::names::Name;
    let attributes = Attributes { modified_s: 1_000_000_000, modified_ns: 5, mode: 0o644 };
    let name = |text: &'static str| Name::new(text.as_bytes()).expect("a name");
    let all = [
        Record::Directory { attributes, name: name("tree") },
        Record::File { size: 5, attributes, name: name("tree/file") },
        Record::Link { attributes, name: name("tree/link"), target: b"file" },
        Record::Data { entry: 1, offset: 0, bytes: b"bytes" },
        Record::Whole { entry: 1, size: 5, digest: [7; 32] },
        Record::Same { entry: 1 },
        Record::GivenUp { entry: 1, reason: "it changed" },
        Record::Refused { name: b"tree/pipe", reason: "it is a FIFO" },
        Record::Listed { entries: 3 },
        Record::End,
    ];
    let buffer = |records: &[Record<'_>]| {
        let mut buffer = vec![0; 300];
        let mut writer = Writer::new(&mut buffer);
        records.iter().for_each(|record| _ = writer.put(record));
        writer.finish();
        buffer
    };
    let mut seeds: Vec<_> = all.iter().map(|one| buffer(std::slice::from_ref(one))).collect();
    seeds.push(buffer(&all));
    for line in [
        r#"{"greeting":{"copy":1,"program":"0.1.0"}}"#,
        r#"{"want":"0-7,9-10"}"#,
        r#"{"resume":{"entry":2,"from":4096}}"#,
        r#"{"summary":{"kept":1,"same":2,"failed":3}}"#,
    ] {
        seeds.push(line.as_bytes().to_vec());
    }
    seeds
}

fn signatures() -> Vec<Vec<u8>> {
    let stamp = Stamp { stream: 1, sequence: 5, transmit_ticks: 1_000 };
    // Of the trial under way and of the one before it, as the target counts them.
    let signed = |form, trial| {
        let mut frame = vec![0x5a; 60];
        signature::write(form, Key::from_seed(7).later(trial), stamp, &mut frame);
        [&[0, 7], &frame[..]].concat()
    };
    let forms = [Form::Full, Form::Short, Form::Compact];
    forms.into_iter().flat_map(|form| [2, 1].map(|trial| signed(form, trial))).collect()
}

fn bridge_frames() -> Vec<Vec<u8>> {
    let id = bpdu::BridgeId { priority: 0x8000, mac: MAC };
    let root = bpdu::Configuration::of_root(id, 1);
    let units = [bpdu::Repr::TopologyChangeNotification, bpdu::Repr::Configuration(root)];
    units.map(|unit| unit.frame(MAC)).to_vec()
}

fn decnet_frames() -> Vec<Vec<u8>> {
    let node = |node| decnet::Address::new(1, node);
    let nodes = [node(7), node(8)];
    let router = keepalive::decnet_router(node(2), node(1), &nodes, 15);
    [keepalive::decnet_endnode(node(5), 10).frames, router.frames].concat()
}

fn appletalk_frames() -> Vec<Vec<u8>> {
    let (node, device) = (Address { network: 10, node: 5 }, Address { network: 10, node: 6 });
    let rtmp = keepalive::rtmp((MAC, node), (10, 10), &[(20, 21), (30, 30)]);
    [keepalive::aarp((MAC, node), device).frames, rtmp.frames].concat()
}

fn ipx_frames() -> Vec<Vec<u8>> {
    let server = ipx::sap::Server {
        service: ipx::sap::Service::FILE_SERVER,
        name: b"HARVARD".to_vec(),
        at: ipx::Endpoint { network: 0x10, node: MAC, socket: 0x0451 },
        hops: 1,
    };
    let of = |encapsulation| {
        let rip = keepalive::ipx_rip(encapsulation, (0x10, MAC), &[0x20, 0x30]);
        let sap = keepalive::ipx_sap(encapsulation, (0x10, MAC), std::slice::from_ref(&server));
        [rip.frames, sap.frames].concat()
    };
    Encapsulation::ALL.into_iter().flat_map(of).collect()
}

fn templates() -> Vec<Vec<u8>> {
    let four = test_frame::template((MAC, HOST), (PEER, HOST));
    let six = FrameTemplate::udp_ipv6((MAC, HOST_6), (PEER, HOST_6)).tagged(&[7, 9]);
    let bare = FrameTemplate::ethernet(MAC, PEER);
    let json = |template: &FrameTemplate| serde_json::to_vec(template).expect("a template");
    let seed = |template| [&[0, 128, 1], &json(template)[..]].concat();
    [four, six, bare].iter().map(seed).collect()
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn devices() -> Vec<Vec<u8>> {
    let frames = [udp(101), learning::gratuitous_arp(MAC, HOST)].concat();
    let device = |device: &sim::BuiltIn| [device.toml.as_bytes(), &[0], &frames].concat();
    sim::BUILT_IN.iter().map(device).collect()
}

/// A pcap of microseconds and a pcapng file, of two frames each, and the first cut in half.
fn captures() -> Vec<Vec<u8>> {
    let frames = [udp(64), learning::gratuitous_arp(MAC, HOST)];
    let mut pcap = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    pcap.extend([0, 0, 4, 0, 1, 0, 0, 0]);
    let mut ng = block(
        0x0a0d_0d0a,
        &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255],
    );
    ng.extend(block(1, &[1, 0, 0, 0, 0, 0, 4, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]));
    for frame in &frames {
        let len = (frame.len() as u32).to_le_bytes();
        pcap.extend([&[7, 0, 0, 0, 9, 0, 0, 0], &len[..], &len, frame].concat());
        ng.extend(block(6, &[&[0; 12], &len[..], &len, frame].concat()));
    }
    ng.extend(block(3, &[&60u32.to_le_bytes()[..], &frames[0]].concat()));
    let half = pcap[..pcap.len() / 2].to_vec();
    vec![pcap, ng, half, frames[0].clone(), odd_options(&frames[0])]
}

/// A capture whose times have an offset (if_tsoffset), and whose options end with their blocks and hold text of
/// another encoding.
fn odd_options(frame: &[u8]) -> Vec<u8> {
    let mut section = vec![0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0];
    section.extend([&[255; 8][..], &[4, 0, 1, 0, 0xe9, 0, 0, 0]].concat());
    let interface = [1, 0, 0, 0, 0, 0, 4, 0, 14, 0, 8, 0, 0xe8, 3, 0, 0, 0, 0, 0, 0];
    let len = (frame.len() as u32).to_le_bytes();
    let mut body = [&[0; 12], &len[..], &len, frame].concat();
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend([1, 0, 1, 0, 0xe9, 0, 0, 0, 2, 0, 4, 0, 1, 0, 0, 0]);
    [block(0x0a0d_0d0a, &section), block(1, &interface), block(6, &body)].concat()
}

/// A pcapng block, little-endian.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = body.len().next_multiple_of(4) + 12;
    let mut block = [kind.to_le_bytes(), (len as u32).to_le_bytes()].concat();
    block.extend(body);
    block.resize(len - 4, 0);
    block.extend((len as u32).to_le_bytes());
    block
}

fn words() -> Vec<Vec<u8>> {
    let files = captures();
    let lines = ["+64\0p64*3\0a", "packet/p64*90\0+1600\0b*2", "./+55\0a*3*1\0c"];
    lines.iter().zip(files).map(|(line, file)| [line.as_bytes(), &[0], &file].concat()).collect()
}
