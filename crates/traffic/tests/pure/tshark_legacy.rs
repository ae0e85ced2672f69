//! A judge from outside, as in `tshark.rs`, for the protocols of 1990, for group membership, and
//! for bursts of fragments.

use crate::common;
use crate::common::Dissection;
use std::net::{Ipv4Addr, Ipv6Addr};
use traffic::fragment::Burst;
use traffic::template::FrameTemplate;
use units::FrameSize;
use wire::appletalk::{self, aarp, rtmp};
use wire::bpdu::{self, BridgeId, Configuration};
use wire::decnet::hello::{Endnode, HeardRouter, Level, Router};
use wire::decnet::routing::{Distance, Segment};
use wire::decnet::{self, ALL_ENDNODES, ALL_ROUTERS};
use wire::ethernet::MacAddr;
use wire::ipx::{self, Encapsulation};
use wire::signature::{self, Key, Stamp};
use wire::{igmp, keepalive, learning, mld};

const HOST: MacAddr = MacAddr([2, 0, 0x5e, 0x10, 0, 2]);
const DEVICE: MacAddr = MacAddr([2, 0, 0x5e, 0x20, 0, 1]);
const NODE: decnet::Address = decnet::Address::new(2, 10);
const ROUTER: decnet::Address = decnet::Address::new(2, 20);
const HOST_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 2);
const KEY: Key = Key::from_seed(0x1990);
const STREAM: u16 = 7;

const FIELDS: [&str; 42] = [
    "frame.len",
    "frame.protocols",
    "_ws.malformed",
    "_ws.expert.message",
    "eth.len",
    "eth.padding",
    "llc.dsap",
    "llc.oui",
    "ipx.checksum",
    "ipx.len",
    "ipx.hops",
    "ipx.src.net",
    "ipx.dst.net",
    "ipx.dst.node",
    "ipx.dst.socket",
    "ipxrip.packet_type",
    "ipxrip.route_vector",
    "ipxsap.server.name",
    "dec_dna.flags",
    "dec_dna.dst.address",
    "dec_dna.src.addr",
    "dec_dna.visit_cnt",
    "dec_dna.nsp.msg_type",
    "dec_dna.ctl.id",
    "dec_dna.ctl.blk_size",
    "dec_dna.ctl.timer",
    "dec_dna.ctl.router_id",
    "dec_dna.ctl.checksum.status",
    "aarp.opcode",
    "ddp.len",
    "ddp.src.net",
    "ddp.dst.node",
    "ddp.type",
    "rtmp.tuple.range_start",
    "rtmp.tuple.range_end",
    "stp.root.hw",
    "stp.forward",
    "igmp.checksum.status",
    "igmp.maddr",
    "icmpv6.checksum.status",
    "udp.checksum.status",
    "udp.length",
];

fn dissect(frames: &[Vec<u8>]) -> Vec<Dissection> {
    common::read_with_tshark(frames, &FIELDS, &["-d", "udp.port==1023,data"])
}

/// Whole, not malformed, no complaint, and every checksum that is there is good.
fn assert_sound(seen: &Dissection, frame: &[u8], context: &str) {
    assert_eq!(seen["frame.len"], frame.len().to_string(), "{context}");
    assert_eq!(seen.get("_ws.malformed"), None, "{context}: {seen:?}");
    assert_eq!(seen.get("_ws.expert.message"), None, "{context}: {seen:?}");
    for (field, value) in seen.iter().filter(|(field, _)| field.ends_with("checksum.status")) {
        assert_eq!(value, "1", "{field} of {context}: {seen:?}");
    }
}

/// A frame and what tshark must say of it.
type Known = (Vec<u8>, Vec<(&'static str, &'static str)>);

fn assert_known(known: &[Known]) {
    let frames: Vec<Vec<u8>> = known.iter().map(|(frame, _)| frame.clone()).collect();
    for (seen, (frame, expected)) in dissect(&frames).iter().zip(known) {
        let context = wire::decode::summarize(frame).to_string();
        assert_sound(seen, frame, &context);
        for (field, value) in expected {
            assert_eq!(seen.get(field).map(String::as_str), Some(*value), "{context}: {seen:?}");
        }
    }
}

fn stamped(template: &FrameTemplate, size: FrameSize) -> Vec<u8> {
    let mut frame = template.build(0, size, Some((KEY, STREAM))).unwrap();
    let stamp = Stamp { stream: STREAM, sequence: 0x1_0203, transmit_ticks: 0x4_0506_0708 };
    signature::write(template.form_for(size).unwrap(), KEY, stamp, &mut frame);
    frame
}

/// At every size of RFC 2544 that the protocol allows, and its largest: with the lengths that its
/// header states, and no padding.
#[test]
fn streams_at_every_size() {
    let address = appletalk::Address::new;
    let ipx = |encapsulation| FrameTemplate::ipx(encapsulation, (1, HOST), (2, DEVICE), DEVICE);
    let streams = [
        (ipx(Encapsulation::Raw), "eth:ipx:data", "ipx.len", 18),
        (ipx(Encapsulation::EthernetII), "eth:ethertype:ipx:data", "ipx.len", 18),
        (ipx(Encapsulation::Llc), "eth:llc:ipx:data", "ipx.len", 21),
        (ipx(Encapsulation::Snap), "eth:llc:ipx:data", "ipx.len", 26),
        (FrameTemplate::decnet(NODE, ROUTER, ROUTER.mac()), "eth:ethertype:dec_dna", "", 0),
        (
            FrameTemplate::appletalk((HOST, address(100, 10)), (DEVICE, address(200, 20))),
            "eth:llc:ddp:data",
            "ddp.len",
            26,
        ),
    ];
    let mut frames = vec![];
    let mut expected = vec![];
    for (template, protocols, length, outside) in &streams {
        let sizes = FrameSize::RFC2544_ETHERNET.into_iter().chain([FrameSize::from_bytes(625)]);
        for size in sizes.filter(|size| *size <= template.max_size()) {
            frames.push(stamped(template, size));
            expected.push((size, template.to_string(), *protocols, *length, *outside));
        }
    }
    assert_eq!(frames.len(), 5 * 8 + 5);
    for ((seen, frame), (size, context, protocols, length, outside)) in
        dissect(&frames).iter().zip(&frames).zip(expected)
    {
        assert_sound(seen, frame, &context);
        assert_eq!(seen["frame.protocols"], protocols, "{context}");
        assert_eq!(seen.get("eth.padding"), None, "{context}");
        match length {
            "" => {
                assert_eq!(seen["dec_dna.dst.address"], ROUTER.mac().to_string());
                assert_eq!(seen["dec_dna.src.addr"], NODE.mac().to_string());
                assert_eq!(seen["dec_dna.visit_cnt"], "0x00");
                assert_eq!(seen["dec_dna.nsp.msg_type"], "0x60", "a data segment");
            }
            length => {
                let len = size.bytes() - outside;
                assert_eq!(seen[length], len.to_string(), "{context} of {size} bytes");
            }
        }
    }
}

#[test]
fn decnet_control_messages() {
    let (block_size, timer_s) = (1498, 15);
    let router_hello = |level| {
        let heard = vec![HeardRouter { router: NODE, priority: 64, two_way: true }];
        let hello = Router { router: ROUTER, level, block_size, priority: 64, timer_s, heard };
        decnet::Repr::RouterHello(hello)
    };
    let hello = decnet::Repr::EndnodeHello(Endnode::new(NODE, 600));
    // tshark reads each segment as one entry, and padding as data.
    let segment =
        |first| Segment { first, distances: vec![Distance { hops: 1, cost: 4 + first % 7 }] };
    let segments: Vec<Segment> = (1..=7).map(segment).collect();
    let table = |level| {
        let (sender, segments) = (ROUTER, segments.clone());
        decnet::Repr::Routing(decnet::routing::Repr { level, sender, segments })
    };
    let from_router = |message: decnet::Repr, dst| message.frame(ROUTER.mac(), dst, &[]);
    assert_known(&[
        (
            hello.frame(NODE.mac(), ALL_ROUTERS, &[]),
            vec![
                ("dec_dna.ctl.id", "aa:00:04:00:0a:08"),
                ("dec_dna.ctl.timer", "600"),
                ("dec_dna.ctl.blk_size", "1498"),
            ],
        ),
        (
            from_router(router_hello(Level::One), ALL_ROUTERS),
            vec![
                ("dec_dna.ctl.id", "aa:00:04:00:14:08"),
                ("dec_dna.ctl.router_id", "aa:00:04:00:0a:08"),
                ("dec_dna.ctl.timer", "15"),
            ],
        ),
        (from_router(router_hello(Level::Two), ALL_ENDNODES), vec![]),
        (from_router(table(Level::One), ALL_ROUTERS), vec![("dec_dna.ctl.checksum.status", "1")]),
        (from_router(table(Level::Two), ALL_ROUTERS), vec![("dec_dna.ctl.checksum.status", "1")]),
    ]);
}

#[test]
fn appletalk_control_messages() {
    let host = (HOST, appletalk::Address::new(200, 20));
    let device = appletalk::Address::new(200, 1);
    let request = aarp::Repr::request(host.0, host.1, device);
    let answer = aarp::Repr::request(DEVICE, device, host.1).answer(HOST).unwrap();
    let table = keepalive::rtmp(host, (200, 200), &[(300, 309)]).frames.remove(0);
    let question = rtmp::Repr::Request { function: 1 }.frame(HOST, host.1);
    assert_known(&[
        (request.frame(), vec![("frame.protocols", "eth:llc:aarp"), ("aarp.opcode", "1")]),
        (answer.frame(), vec![("aarp.opcode", "2")]),
        (aarp::Repr::probe(HOST, host.1).frame(), vec![("aarp.opcode", "3")]),
        (
            table,
            vec![
                ("ddp.src.net", "200"),
                ("ddp.dst.node", "255"),
                ("ddp.type", "1"),
                ("rtmp.tuple.range_start", "200,300"),
                ("rtmp.tuple.range_end", "200,309"),
            ],
        ),
        (question, vec![("ddp.type", "5")]),
    ]);
}

#[test]
fn ipx_control_messages_in_every_encapsulation() {
    let server = ipx::sap::Server {
        service: ipx::sap::Service::FILE_SERVER,
        name: b"TESTSERVER".to_vec(),
        at: ipx::Endpoint::new(0x300, HOST, ipx::socket::NCP),
        hops: 1,
    };
    let mut known = vec![];
    for encapsulation in Encapsulation::ALL {
        let routes = keepalive::ipx_rip(encapsulation, (2, HOST), &[0x300, 0x301]).frames;
        let servers =
            keepalive::ipx_sap(encapsulation, (2, HOST), std::slice::from_ref(&server)).frames;
        let asked = ipx::rip::Repr {
            operation: ipx::rip::Operation::Request,
            entries: vec![ipx::rip::Entry::ALL_NETWORKS],
        };
        let nearest =
            ipx::sap::Repr::Query { nearest: true, service: ipx::sap::Service::FILE_SERVER };
        known.extend([
            (
                routes[0].clone(),
                vec![
                    ("ipx.checksum", "0xffff"),
                    ("ipx.dst.node", "ff:ff:ff:ff:ff:ff"),
                    ("ipx.dst.socket", "0x0453"),
                    ("ipxrip.packet_type", "2"),
                    ("ipxrip.route_vector", "0x00000300,0x00000301"),
                ],
            ),
            (servers[0].clone(), vec![("ipxsap.server.name", "TESTSERVER")]),
            (asked.frame(encapsulation, (2, HOST)), vec![("ipxrip.packet_type", "1")]),
            (nearest.frame(encapsulation, (2, HOST)), vec![("ipx.dst.socket", "0x0452")]),
        ]);
    }
    assert_known(&known);
}

#[test]
fn bridges_and_what_they_learn_from() {
    let id = BridgeId { priority: 0x8000, mac: HOST };
    let configuration = Configuration::of_root(id, 0x8001);
    let root = vec![("stp.root.hw", "02:00:5e:10:00:02"), ("stp.forward", "15")];
    assert_known(&[
        (bpdu::Repr::Configuration(configuration).frame(HOST), root.clone()),
        (bpdu::Repr::Rapid(configuration).frame(HOST), root),
        (
            bpdu::Repr::TopologyChangeNotification.frame(HOST),
            vec![("frame.protocols", "eth:llc:stp")],
        ),
        (learning::bridge(HOST), vec![("frame.protocols", "eth:ethertype:data")]),
    ]);
}

#[test]
fn group_membership() {
    let group = Ipv4Addr::new(239, 1, 2, 3);
    let group_v6 = Ipv6Addr::new(0xff15, 0, 0, 0, 0, 0, 1, 3);
    let host_v6 = "fe80::5eff:fe10:2".parse().unwrap();
    let any = Ipv4Addr::UNSPECIFIED;
    let v3_query = igmp::V3Query {
        max_response_code: 100,
        group: any,
        suppress: false,
        robustness: 2,
        interval_code: 125,
        sources: vec![],
    };
    let v2_query = mld::V2Query {
        max_response_code: 10_000,
        group: Ipv6Addr::UNSPECIFIED,
        suppress: false,
        robustness: 2,
        interval_code: 125,
        sources: vec![],
    };
    let of_ipv4 = [
        igmp::Repr::V1Report { group },
        igmp::Repr::V2Report { group },
        igmp::Repr::Leave { group },
        igmp::Repr::Query { max_response_tenths: 100, group },
        igmp::Repr::V3Query(v3_query),
        igmp::Repr::v3_join(group),
        igmp::Repr::v3_leave(group),
    ];
    let of_ipv6 = [
        mld::Repr::Report { group: group_v6 },
        mld::Repr::Done { group: group_v6 },
        mld::Repr::Query { max_response_ms: 10_000, group: Ipv6Addr::UNSPECIFIED },
        mld::Repr::V2Query(v2_query),
        mld::Repr::v2_join(group_v6),
        mld::Repr::v2_leave(group_v6),
    ];
    let v4 = of_ipv4
        .iter()
        .map(|message| (message.frame((HOST, HOST_V4)), vec![("igmp.checksum.status", "1")]));
    let v6 = of_ipv6
        .iter()
        .map(|message| (message.frame((HOST, host_v6)), vec![("icmpv6.checksum.status", "1")]));
    assert_known(&v4.chain(v6).collect::<Vec<_>>());
}

/// tshark puts the fragments together again: at the last of each datagram stands the whole, its
/// checksum good for all that was stamped into its parts.
#[test]
fn fragments_make_whole_datagrams() {
    let burst = Burst::nfs((HOST, HOST_V4), (DEVICE, Ipv4Addr::new(198, 19, 1, 2)), 3);
    let burst = burst.frames(Some((KEY, STREAM))).unwrap();
    let stamp = |(sequence, frame): (u64, traffic::fragment::BurstFrame)| {
        let mut bytes = frame.bytes;
        let transmit_ticks = sequence * 0x1_0000_0007;
        let stamp = Stamp { stream: STREAM, sequence, transmit_ticks };
        signature::write(frame.form.unwrap(), KEY, stamp, &mut bytes);
        bytes
    };
    let frames: Vec<Vec<u8>> = (0..).zip(burst).map(stamp).collect();
    let seen = dissect(&frames);
    for (place, (seen, frame)) in seen.iter().zip(&frames).enumerate() {
        assert_sound(seen, frame, "fragment");
        let whole = (place % 6 == 5).then_some("8328");
        assert_eq!(seen.get("udp.length").map(String::as_str), whole, "frame {place}");
        assert_eq!(seen.contains_key("udp.checksum.status"), whole.is_some());
    }
}
