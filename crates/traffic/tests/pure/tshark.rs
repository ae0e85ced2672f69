//! A judge from outside: frames of every kind that the tester sends are written into a capture
//! and read by the real tshark, which must find good checksums, the lengths that the standards
//! give, the headers in their order, and nothing malformed.

use crate::common;
use crate::common::Dissection;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};
use traffic::modifier::{Field, Ipv6Bits, Modifier, Pattern};
use traffic::template::{FrameTemplate, Ipv4Layer, Ipv6Layer, Layer, Payload, TcpLayer};
use traffic::test_frame;
use units::FrameSize;
use wire::ethernet::MacAddr;
use wire::ipv6::Extension;
use wire::signature::{self, Form, Key, Stamp};
use wire::{icmpv6, ip_in_ip, learning, rip, ripng, snmp, udp};

const SRC_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const DST_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const SRC_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 2);
const DST_V4: Ipv4Addr = Ipv4Addr::new(198, 19, 1, 2);
const SRC_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2);
const DST_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0x8000, 0, 0, 0, 2);
const KEY: Key = Key::from_seed(0xbeef);
const STREAM: u16 = 300;
/// Sizes of RFC 2544 section 9.1 and those of jumbo frames, and the smallest of each form.
const SIZES: [u32; 15] = [64, 68, 71, 72, 79, 80, 83, 84, 128, 257, 512, 1024, 1280, 1518, 9000];

const GOOD: &str = "1";
const NOT_PRESENT: &str = "3";

/// What tshark remarks on a routing header of a type for experiments (RFC 4727), which nothing
/// can decode.
const EXPERIMENTAL_ROUTING: &str = "Undecoded IPv6 routing header field";

const FIELDS: [&str; 39] = [
    "frame.len",
    "frame.protocols",
    "_ws.malformed",
    "_ws.expert.message",
    "eth.src",
    "eth.dst",
    "vlan.id",
    "ieee8021ad.id",
    "ip.checksum.status",
    "ip.len",
    "ip.ttl",
    "ip.src",
    "ip.dst",
    "ip.dsfield.dscp",
    "ipv6.plen",
    "ipv6.hlim",
    "ipv6.src",
    "ipv6.dst",
    "ipv6.nxt",
    "udp.checksum.status",
    "udp.length",
    "udp.srcport",
    "udp.dstport",
    "tcp.checksum.status",
    "tcp.len",
    "icmp.checksum.status",
    "icmpv6.checksum.status",
    "icmpv6.nd.na.target_address",
    "icmpv6.nd.ns.target_address",
    "icmpv6.opt.linkaddr",
    "arp.isgratuitous",
    "arp.src.proto_ipv4",
    "rip.ip",
    "rip.metric",
    "ripng.rte.ipv6_prefix",
    "ripng.rte.prefix_length",
    "ripng.rte.metric",
    "snmp.name",
    "snmp.value.timeticks",
];

/// Has tshark read these frames, whose payload is ours: a random port must not make it take them
/// for another protocol's.
fn dissect(frames: &[Vec<u8>]) -> Vec<Dissection> {
    read_with_tshark(frames, &["-d", "udp.port==1-65535,data", "-d", "tcp.port==1-65535,data"])
}

fn read_with_tshark(frames: &[Vec<u8>], options: &[&str]) -> Vec<Dissection> {
    common::read_with_tshark(frames, &FIELDS, options)
}

/// Whole, not malformed, no complaint, and every checksum that is there is good.
fn assert_sound(seen: &Dissection, frame: &[u8], context: &str) {
    assert_eq!(seen["frame.len"], frame.len().to_string(), "{context}");
    assert_eq!(seen.get("_ws.malformed"), None, "{context}: {seen:?}");
    let complaint = seen.get("_ws.expert.message").filter(|text| **text != EXPERIMENTAL_ROUTING);
    assert_eq!(complaint, None, "{context}: {seen:?}");
    for (field, value) in seen {
        if field.ends_with("checksum.status") {
            assert_eq!(value, GOOD, "{field} of {context}: {seen:?}");
        }
    }
}

fn ethernet() -> FrameTemplate {
    FrameTemplate::ethernet(SRC_MAC, DST_MAC)
}
fn ipv4() -> FrameTemplate {
    ethernet().layer(Layer::Ipv4(Ipv4Layer::new(SRC_V4, DST_V4)))
}
fn ipv6() -> FrameTemplate {
    ethernet().layer(Layer::Ipv6(Ipv6Layer::new(SRC_V6, DST_V6)))
}
/// The test frame of RFC 5180 with these extension headers.
fn extended(extensions: Vec<Extension>) -> FrameTemplate {
    test_frame::template_ipv6((SRC_MAC, SRC_V6), (DST_MAC, DST_V6)).extended(extensions)
}
fn atomic_fragment() -> Extension {
    Extension::Fragment { offset: 0, more: false, identification: 1 }
}
fn chain() -> FrameTemplate {
    // RFC 5180 section 5.3: routing, destination options, fragment.
    extended(vec![
        Extension::experimental_routing(24),
        Extension::destination_padding(8),
        atomic_fragment(),
    ])
}

/// Every kind of stream that a template can describe: the template, the bytes of its headers up
/// to and with IP, and the checksum that must be there.
fn streams() -> Vec<(&'static str, FrameTemplate, usize, &'static str)> {
    let udp4 = || test_frame::template((SRC_MAC, SRC_V4), (DST_MAC, DST_V4));
    let udp6 = || test_frame::template_ipv6((SRC_MAC, SRC_V6), (DST_MAC, DST_V6));
    let tcp = || Layer::Tcp(TcpLayer::new(49184, 80));
    let icmp = Layer::Icmpv4Echo { identifier: 7, sequence: 9 };
    let icmp6 = Layer::Icmpv6Echo { identifier: 7, sequence: 9 };
    vec![
        ("IPv4 UDP", udp4(), 34, "udp.checksum.status"),
        ("tagged IPv4 UDP", udp4().tagged(&[100]), 38, "udp.checksum.status"),
        ("QinQ IPv4 UDP", udp4().tagged(&[100, 200]), 42, "udp.checksum.status"),
        ("IPv6 UDP", udp6(), 54, "udp.checksum.status"),
        ("tagged IPv6 UDP", udp6().tagged(&[100]), 58, "udp.checksum.status"),
        ("IPv6 chain UDP", chain(), 54, "udp.checksum.status"),
        ("tagged IPv6 chain UDP", chain().tagged(&[100]), 58, "udp.checksum.status"),
        (
            "IPv6 hop-by-hop UDP",
            extended(vec![Extension::hop_by_hop_padding(8)]),
            54,
            "udp.checksum.status",
        ),
        (
            "IPv6 destination UDP",
            extended(vec![Extension::destination_padding(8)]),
            54,
            "udp.checksum.status",
        ),
        (
            "IPv6 routing UDP",
            extended(vec![Extension::experimental_routing(24)]),
            54,
            "udp.checksum.status",
        ),
        ("IPv6 fragment UDP", extended(vec![atomic_fragment()]), 54, "udp.checksum.status"),
        ("IPv4 TCP", ipv4().layer(tcp()), 34, "tcp.checksum.status"),
        ("IPv6 TCP", ipv6().layer(tcp()), 54, "tcp.checksum.status"),
        ("IPv4 ICMP", ipv4().layer(icmp), 34, "icmp.checksum.status"),
        ("IPv6 ICMP", ipv6().layer(icmp6), 54, "icmpv6.checksum.status"),
        ("IPv4 without transport", ipv4(), 34, "ip.checksum.status"),
        ("IPv6 without transport", ipv6(), 54, "frame.len"),
        ("bare Ethernet", ethernet(), 14, "frame.len"),
    ]
}

/// The modifiers that fit a template, all at once.
fn modified(template: FrameTemplate) -> FrameTemplate {
    let layers = template.layers.clone();
    let has = |found: fn(&Layer) -> bool| layers.iter().any(found);
    let mut template = template
        .modifier(Modifier::random_macs(Field::EthSrc, 1, 1, 64))
        .modifier(Modifier::random_macs(Field::EthDst, 2, 2, 64));
    let ids = Pattern::Increment { start: 1, step: 7, count: 64 };
    if has(|layer| matches!(layer, Layer::Vlan { .. })) {
        template = template.modifier(Modifier::new(Field::VlanId { tag: 0 }, ids.clone()));
    }
    if has(|layer| matches!(layer, Layer::Ipv4(_))) {
        let first = Ipv4Addr::new(198, 19, 128, 2);
        template = template
            .modifier(Modifier::random_ipv4_networks(first, 25, 256, 3, 64))
            .modifier(Modifier::new(Field::Dscp, Pattern::List(vec![0, 46, 63])));
    }
    if has(|layer| matches!(layer, Layer::Ipv6(_))) {
        let first = Ipv6Addr::new(0x2001, 2, 0, 0xc000, 0, 0, 0, 2);
        let down = Pattern::Decrement { start: u64::MAX, step: 1 << 40, count: 64 };
        template = template
            .modifier(Modifier::random_ipv6_networks(first, 256, 4, 64))
            .modifier(Modifier::new(Field::Ipv6Src(Ipv6Bits::LOW_64), down))
            .modifier(Modifier::new(Field::Dscp, Pattern::List(vec![0, 46, 63])));
    }
    if has(|layer| matches!(layer, Layer::Udp(_))) {
        let [src, dst] = Modifier::random_udp_ports(5, 64);
        template = template.modifier(src).modifier(dst);
    }
    if has(|layer| matches!(layer, Layer::Tcp(_))) {
        let [src, dst] = Modifier::random_tcp_ports(5, 64);
        template = template.modifier(src).modifier(dst);
    }
    template
}

fn stamp(form: Form, index: u64, frame: &mut [u8]) {
    let (sequence, transmit_ticks) = (index * 0x1_0001_0003, index * 0x3_0000_0007);
    signature::write(form, KEY, Stamp { stream: STREAM, sequence, transmit_ticks }, frame);
}

#[test]
fn every_stream_at_every_size_is_sound_once_stamped() {
    let mut frames = Vec::new();
    let mut expected = Vec::new();
    for (name, template, network_end, checksum) in streams() {
        for size in SIZES.map(FrameSize::from_bytes) {
            let Some(form) = template.form_for(size) else {
                assert!(size < template.min_size(), "{name} of {size} bytes");
                continue;
            };
            let udp_left_out = template.given_up(size).iter().any(|what| what.contains("no UDP"));
            for (index, template) in (1..).zip([template.clone(), modified(template.clone())]) {
                let mut frame = template.build(index, size, Some((KEY, STREAM))).unwrap();
                stamp(form, index, &mut frame);
                frames.push(frame);
                let checksum = if udp_left_out { "frame.len" } else { checksum };
                expected.push((name, size, network_end, checksum));
            }
        }
    }
    assert!(frames.len() > 300, "{} frames", frames.len());
    for ((seen, frame), (name, size, network_end, checksum)) in
        dissect(&frames).iter().zip(&frames).zip(expected)
    {
        let context = format!("{name} of {size} bytes");
        assert_sound(seen, frame, &context);
        assert!(seen.contains_key(checksum), "{checksum} of {context}: {seen:?}");
        // RFC 2544 C.2.6.4: the IP length is the frame's without Ethernet and FCS.
        let tags = if name.contains("QinQ") { 8 } else { 4 * usize::from(name.contains("tagged")) };
        if name.contains("IPv4") {
            let ip_len = size.bytes() as usize - 18 - tags;
            assert_eq!(seen["ip.len"], ip_len.to_string(), "{context}");
            assert_eq!(seen["ip.checksum.status"], GOOD, "{context}");
        }
        if name.contains("IPv6") {
            let payload_len = size.bytes() as usize - 4 - network_end;
            assert_eq!(seen["ipv6.plen"], payload_len.to_string(), "{context}");
        }
        if let (Some(udp_length), false) = (seen.get("udp.length"), name.contains("chain")) {
            let extension = match name {
                _ if name.contains("routing") => 24,
                _ if ["hop-by-hop", "destination", "fragment"].iter().any(|o| name.contains(o)) => {
                    8
                }
                _ => 0,
            };
            let udp_len = size.bytes() as usize - 4 - network_end - extension;
            assert_eq!(*udp_length, udp_len.to_string(), "{context}");
        }
    }
}

#[test]
fn tshark_reads_the_headers_in_their_order() {
    let size = FrameSize::from_bytes(200);
    let expected = [
        ("IPv4 UDP", "eth:ethertype:ip:udp:data"),
        ("tagged IPv4 UDP", "eth:ethertype:vlan:ethertype:ip:udp:data"),
        ("QinQ IPv4 UDP", "eth:ethertype:ieee8021ad:ethertype:vlan:ethertype:ip:udp:data"),
        ("IPv6 chain UDP", "eth:ethertype:ipv6:ipv6.routing:ipv6.dstopts:ipv6.fraghdr:udp:data"),
        ("IPv6 hop-by-hop UDP", "eth:ethertype:ipv6:ipv6.hopopts:udp:data"),
        ("IPv6 destination UDP", "eth:ethertype:ipv6:ipv6.dstopts:udp:data"),
        ("IPv6 routing UDP", "eth:ethertype:ipv6:ipv6.routing:udp:data"),
        ("IPv6 fragment UDP", "eth:ethertype:ipv6:ipv6.fraghdr:udp:data"),
        ("IPv6 TCP", "eth:ethertype:ipv6:tcp:data"),
        ("IPv6 ICMP", "eth:ethertype:ipv6:icmpv6:data"),
    ];
    let streams = streams();
    let frames = expected.map(|(name, _)| {
        let (_, template, ..) = streams.iter().find(|(other, ..)| *other == name).unwrap();
        template.build(0, size, None).unwrap()
    });
    let seen = dissect(&frames);
    for (seen, (name, protocols)) in seen.iter().zip(expected) {
        assert_eq!(seen["frame.protocols"], protocols, "{name}");
    }
    assert_eq!((&*seen[2]["ieee8021ad.id"], &*seen[2]["vlan.id"]), ("100", "200"), "QinQ");
}

#[test]
fn every_payload_and_the_literal_test_frame_are_sound() {
    let size = FrameSize::from_bytes(128);
    let udp4 = test_frame::template((SRC_MAC, SRC_V4), (DST_MAC, DST_V4));
    let payloads = [
        Payload::Incrementing,
        Payload::Zeros,
        Payload::Constant(0xff),
        Payload::Random { seed: 3 },
    ];
    let frames =
        payloads.map(|payload| udp4.clone().payload(payload).build(0, size, None).unwrap());
    for (seen, frame) in dissect(&frames).iter().zip(&frames) {
        assert_sound(seen, frame, "payload");
        assert_eq!((&*seen["udp.srcport"], &*seen["udp.dstport"]), ("49184", "7"));
        assert_eq!(seen["ip.ttl"], "10");
    }
    let literal = test_frame::literal((SRC_MAC, SRC_V4), (DST_MAC, DST_V4));
    let seen = dissect(&[literal.build(0, size, None).unwrap()]);
    assert_eq!(seen[0]["udp.checksum.status"], NOT_PRESENT);
}

/// RFC 4213, RFC 2473 and RFC 7676, with a test frame within that has no room to spare: its checksum is
/// good, and no padding got in.
#[test]
fn packets_within_packets_are_sound() {
    let v4 = test_frame::template((SRC_MAC, SRC_V4), (DST_MAC, DST_V4));
    let v6 = test_frame::template_ipv6((SRC_MAC, SRC_V6), (DST_MAC, DST_V6));
    let build = |template: &FrameTemplate, bytes| {
        template.build(0, FrameSize::from_bytes(bytes), Some((KEY, STREAM))).unwrap()
    };
    let (over_v4, over_v6) =
        (((SRC_MAC, SRC_V4), (DST_MAC, DST_V4)), ((SRC_MAC, SRC_V6), (DST_MAC, DST_V6)));
    let frames = [
        ip_in_ip::frame_over_ipv4(over_v4.0, over_v4.1, &build(&v6, 72)).unwrap(),
        ip_in_ip::frame_over_ipv6(over_v6.0, over_v6.1, &build(&v4, 64)).unwrap(),
        ip_in_ip::gre_frame_over_ipv6(over_v6.0, over_v6.1, &build(&v4, 1518)).unwrap(),
        ip_in_ip::gre_frame_over_ipv6(over_v6.0, over_v6.1, &build(&v6, 128)).unwrap(),
    ];
    let protocols = [
        "eth:ethertype:ip:ipv6:udp:data",
        "eth:ethertype:ipv6:ip:udp:data",
        "eth:ethertype:ipv6:gre:ip:udp:data",
        "eth:ethertype:ipv6:gre:ipv6:udp:data",
    ];
    for ((seen, frame), protocols) in dissect(&frames).iter().zip(&frames).zip(protocols) {
        assert_eq!(seen["frame.protocols"], protocols);
        assert_eq!(seen["frame.len"], frame.len().to_string(), "{protocols}");
        assert_eq!(seen["udp.checksum.status"], GOOD, "{protocols}");
        assert_eq!(
            seen.get("ip.checksum.status").map_or(GOOD, String::as_str),
            GOOD,
            "{protocols}"
        );
        assert_eq!(seen.get("_ws.malformed"), None, "{protocols}");
    }
}

/// That the judge is awake: damage must be seen.
#[test]
fn tshark_finds_damage() {
    let udp4 = test_frame::template((SRC_MAC, SRC_V4), (DST_MAC, DST_V4));
    let good = udp4.build(0, FrameSize::from_bytes(128), None).unwrap();
    let damaged = |at: usize| {
        let mut frame = good.clone();
        frame[at] ^= 1;
        frame
    };
    let seen = dissect(&[damaged(22), damaged(100), good[..40].to_vec()]);
    assert_ne!(seen[0]["ip.checksum.status"], GOOD);
    assert_ne!(seen[1]["udp.checksum.status"], GOOD);
    assert!(seen[2].contains_key("_ws.malformed") || !seen[2].contains_key("udp.length"));
}

#[test]
fn learning_frames_are_sound() {
    let gateway = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1);
    let solicitation = icmpv6::Repr::NeighborSolicitation { target: SRC_V6, source_mac: None };
    let answer = learning::neighbor_discovery(
        (SRC_MAC, SRC_V6),
        (DST_MAC, gateway),
        &solicitation.answer(SRC_MAC).unwrap(),
    );
    let frames = [
        learning::arp_request(SRC_MAC, SRC_V4, Ipv4Addr::new(198, 18, 1, 1)),
        learning::gratuitous_arp(SRC_MAC, SRC_V4),
        learning::unsolicited_advertisement(SRC_MAC, SRC_V6),
        learning::neighbor_solicitation(SRC_MAC, SRC_V6, gateway),
        answer,
        learning::bridge(SRC_MAC),
    ];
    let seen = dissect(&frames);
    for (seen, frame) in seen.iter().zip(&frames) {
        assert_sound(seen, frame, "learning frame");
        assert_eq!(seen["eth.src"], SRC_MAC.to_string());
    }
    assert_eq!(seen[0]["arp.src.proto_ipv4"], SRC_V4.to_string());
    assert_eq!(seen[1]["arp.isgratuitous"], "1");
    assert_eq!(seen[2]["icmpv6.nd.na.target_address"], SRC_V6.to_string());
    assert_eq!(seen[2]["icmpv6.opt.linkaddr"], SRC_MAC.to_string());
    assert_eq!(seen[3]["icmpv6.nd.ns.target_address"], gateway.to_string());
    assert_eq!(seen[3]["eth.dst"], "33:33:ff:00:00:01");
    assert_eq!(seen[4]["icmpv6.checksum.status"], GOOD);
}

#[test]
fn routing_updates_are_sound() {
    let networks: Vec<_> = (65..71).map(|n| (Ipv4Addr::new(198, 19, n, 0), 24)).collect();
    let update = |version| {
        rip::update_frames(version, (SRC_MAC, SRC_V4), 24, &networks, rip::RFC2544_METRIC).unwrap()
    };
    let frames = [update(rip::Version::V1), update(rip::Version::V2)].concat();
    for (seen, frame) in read_with_tshark(&frames, &[]).iter().zip(&frames) {
        assert_sound(seen, frame, "routing update");
        let list = networks.iter().map(|(network, _)| network.to_string());
        assert_eq!(seen["rip.ip"], list.collect::<Vec<_>>().join(","));
        assert_eq!(seen["rip.metric"], ["7"; 6].join(","));
        // 12 + 20n and 32 + 20n for six entries.
        assert_eq!((&*seen["udp.length"], &*seen["ip.len"]), ("132", "152"));
    }
}

#[test]
fn routing_updates_of_ipv6_are_sound() {
    let networks: Vec<_> =
        (1..=6).map(|n| (Ipv6Addr::new(0x2001, 2, 0, 0xc000 + n, 0, 0, 0, 0), 64)).collect();
    let frames = ripng::update_frames(SRC_MAC, &networks, rip::RFC2544_METRIC).unwrap();
    for (seen, frame) in read_with_tshark(&frames, &[]).iter().zip(&frames) {
        assert_sound(seen, frame, "routing update");
        let list = networks.iter().map(|(network, _)| network.to_string());
        assert_eq!(seen["ripng.rte.ipv6_prefix"], list.collect::<Vec<_>>().join(","));
        assert_eq!(seen["ripng.rte.prefix_length"], ["64"; 6].join(","));
        assert_eq!(seen["ripng.rte.metric"], ["7"; 6].join(","));
        assert_eq!(seen["udp.length"], "132");
    }
}

#[test]
fn management_queries_are_sound() {
    let query = snmp::Repr::interface_query("public", 7, 3);
    let counters = snmp::InterfaceCounters {
        sys_up_time_ticks: 4_000_000_000,
        if_in_octets: u32::MAX,
        if_out_octets: 1,
        if_in_ucast_pkts: 128,
        if_out_ucast_pkts: 0,
    };
    let agent = (DST_MAC, SocketAddrV4::new(DST_V4, snmp::PORT));
    let manager = (SRC_MAC, SocketAddrV4::new(SRC_V4, 49184));
    let frames = [
        udp::frame_ipv4(manager, agent, &query.emit()),
        udp::frame_ipv4(agent, manager, &query.answer(3, counters).emit()),
    ];
    let names = "1.3.6.1.2.1.1.3.0,1.3.6.1.2.1.2.2.1.10.3,1.3.6.1.2.1.2.2.1.16.3,\
                 1.3.6.1.2.1.2.2.1.11.3,1.3.6.1.2.1.2.2.1.17.3";
    let seen = read_with_tshark(&frames, &[]);
    for (seen, frame) in seen.iter().zip(&frames) {
        assert_sound(seen, frame, "SNMP");
        assert_eq!(seen["snmp.name"], names);
    }
    assert_eq!(seen[1]["snmp.value.timeticks"], "4000000000");
}
