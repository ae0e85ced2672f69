//! Replayed frames, as tshark judges them: checksums are over what UDP's length says, and over the end of a packet's
//! route; lengths of IEEE 802.3 and PPPoE hold the signature; messages to the network stay whole.

use crate::common::read_with_tshark;
use std::net::Ipv6Addr;
use traffic::replay::{ReplayError, Rewrite, ready};
use wire::checksum::{PseudoHeader, fill};
use wire::decode::summarize;
use wire::ethernet::{self, EtherType, MacAddr};
use wire::ipv4::{self, Protocol};
use wire::ipv6::{self, Extension};
use wire::signature::{self, Form, Key, Stamp};
use wire::{igmp, learning, llc, mld, pppoe, tcp, udp, verify};

const KEY: Key = Key::from_seed(11);
const SRC: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const DST: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);
const VIA: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 3);
const END: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x99);
const GOOD: &str = "1";

fn ethernet(ether_type: EtherType, packet: &[u8]) -> Vec<u8> {
    ethernet::Repr { dst: MacAddr([2; 6]), src: MacAddr([4; 6]), ether_type }.frame(packet)
}

/// A datagram of 20 bytes, and so many bytes behind it in its packet.
fn with_bytes_behind(behind: usize) -> Vec<u8> {
    let (src, dst) = ([198, 18, 0, 1].into(), [198, 19, 0, 1].into());
    let repr = udp::Repr { src_port: 1_000, dst_port: 2_000, payload_len: 20 };
    let mut segment = repr.datagram(PseudoHeader::V4(src, dst), &[b'q'; 20]);
    segment.resize(segment.len() + behind, b'T');
    let ip = ipv4::Repr::new(src, dst, Protocol::UDP, segment.len() as u16);
    let mut frame = ethernet(EtherType::IPV4, &ip.packet(&segment));
    frame.resize(frame.len().max(60), 0);
    frame
}

/// Of each protocol with a checksum over addresses.
fn segment(protocol: Protocol) -> Vec<u8> {
    let mut segment = match protocol {
        Protocol::UDP => {
            let mut header = vec![0; udp::HEADER_LEN];
            udp::Repr { src_port: 5, dst_port: 6, payload_len: 41 }.emit(&mut header);
            header
        }
        Protocol::TCP => {
            let mut header = vec![0; tcp::HEADER_LEN];
            (header[1], header[3], header[12], header[13]) = (5, 6, 5 << 4, 0x10);
            header
        }
        _ => vec![128, 0, 0, 0, 0, 7, 0, 9],
    };
    segment.extend([b'r'; 41]);
    fill(protocol, PseudoHeader::V6(SRC, END), &mut segment);
    segment
}

/// A packet to [`DST`] and from there by this route to [`END`].
fn routed(protocol: Protocol, route: &Extension) -> Vec<u8> {
    let mut payload = vec![0; route.header_len()];
    route.emit(protocol, &mut payload);
    payload.extend(segment(protocol));
    let ip = ipv6::Repr::new(SRC, DST, Protocol::ROUTING, payload.len() as u16);
    ethernet(EtherType::IPV6, &ip.packet(&payload))
}

/// One of each type: of sources, of mobile nodes, of low-power networks, of segments.
fn routes() -> [Extension; 4] {
    let routing = |kind, segments_left, data: &[&[u8]]| {
        let data = data.concat();
        Extension::Routing { kind, segments_left, data }
    };
    let (via, end) = (VIA.octets(), END.octets());
    [
        routing(0, 2, &[&[0; 4], &via, &end]),
        routing(2, 1, &[&[0; 4], &end]),
        // Each without its first 15 bytes, and 6 bytes of padding.
        routing(3, 2, &[&[0xff, 0x60, 0, 0], &via[15..], &end[15..], &[0; 6]]),
        routing(4, 1, &[&[1, 0, 0, 0], &end, &via]),
    ]
}

/// The packet of a frame within a session of PPPoE; tshark wants the padding that short frames have.
fn over_pppoe(frame: &[u8]) -> Vec<u8> {
    let packet = &frame[ethernet::HEADER_LEN..];
    let is_ipv4 = packet[0] >> 4 == 4;
    let len =
        if is_ipv4 { ipv4::View::peek(packet).unwrap().total_len().into() } else { packet.len() };
    let mut payload = vec![0; pppoe::HEADER_LEN];
    let mut view = pppoe::View::new_unchecked(&mut payload);
    view.set_version(0x11);
    view.set_session(0x4d2);
    view.set_length(len as u16 + 2);
    view.set_protocol(if is_ipv4 { 0x0021 } else { 0x0057 });
    payload.extend(&packet[..len]);
    let mut frame = ethernet(EtherType::PPPOE_SESSION, &payload);
    frame.resize(frame.len().max(60), 0);
    frame
}

/// Ready, and stamped with this number.
fn stamped(frame: &[u8], sequence: u64) -> Vec<u8> {
    let mut bytes = ready(frame, &Rewrite::default(), (KEY, 3)).unwrap().bytes;
    let stamp = Stamp { stream: 3, sequence, transmit_ticks: 0x1234_5678_9abc };
    signature::write(Form::Full, KEY, stamp, &mut bytes);
    assert_eq!(signature::read(Form::Full, KEY, &bytes), Some(stamp));
    bytes
}

/// Captured ones and replayed ones of these frames: our judges, and tshark, find their checksums good.
fn all_are_good(captured: &[Vec<u8>], name: &'static str) {
    let replayed = captured.iter().flat_map(|frame| [0, 77].map(|number| stamped(frame, number)));
    let frames: Vec<Vec<u8>> = captured.iter().cloned().chain(replayed).collect();
    for (number, read) in read_with_tshark(&frames, &[name], &[]).iter().enumerate() {
        assert_eq!(read.get(name).map(String::as_str), Some(GOOD), "{name} of frame {number}");
        let fault = summarize(&frames[number]).fault;
        assert_eq!(fault, None, "frame {number}");
        assert!(verify::transport_is_good(&frames[number]), "frame {number}");
    }
}

#[test]
fn a_packet_may_have_bytes_behind_its_datagram() {
    // Bytes behind the datagram, and by how many the packet grows.
    let cases = [(0, 0), (1, 18), (5, 18), (17, 18), (18, 0), (40, 0), (41, 0)];
    let frames = cases.map(|(behind, _)| with_bytes_behind(behind));
    all_are_good(&frames, "udp.checksum.status");
    let replayed = frames.map(|frame| stamped(&frame, 9));
    let read = read_with_tshark(&replayed, &["ip.len", "udp.length"], &[]);
    for ((behind, grown), read) in cases.iter().zip(&read) {
        assert_eq!(read["ip.len"], (20 + 28 + behind + grown).to_string());
        assert_eq!(read["udp.length"], "28");
    }
}

#[test]
fn checksums_are_over_the_end_of_a_route() {
    for (protocol, status) in [
        (Protocol::UDP, "udp.checksum.status"),
        (Protocol::TCP, "tcp.checksum.status"),
        (Protocol::ICMPV6, "icmpv6.checksum.status"),
    ] {
        all_are_good(&routes().map(|route| routed(protocol, &route)), status);
    }
}

/// Nobody but its end knows whether the checksum is good; it cannot be made.
#[test]
fn a_route_of_an_unknown_type_has_no_known_end() {
    let route = Extension::Routing { kind: 253, segments_left: 1, data: vec![7; 20] };
    for protocol in [Protocol::UDP, Protocol::TCP, Protocol::ICMPV6] {
        let frame = routed(protocol, &route);
        assert_eq!(summarize(&frame).fault, None);
        assert!(verify::transport_is_good(&frame));
        let refused = ready(&frame, &Rewrite::default(), (KEY, 1));
        assert_eq!(refused, Err(ReplayError::Route));
    }
}

#[test]
fn lengths_of_udp_that_cannot_be_are_refused() {
    for (length, why) in
        [(0u16, "below that of its header"), (7, "below"), (69, "69 bytes needed, 68 there")]
    {
        let mut frame = with_bytes_behind(40);
        frame[38..40].copy_from_slice(&length.to_be_bytes());
        let refused = ready(&frame, &Rewrite::default(), (KEY, 1)).unwrap_err().to_string();
        assert!(
            refused.starts_with("its headers are wrong: UDP datagram") && refused.contains(why),
            "{refused}"
        );
    }
}

/// What a session carries has its length thrice: in UDP, in IP and in PPPoE.
#[test]
fn lengths_of_pppoe_hold_the_signature() {
    let frames = [
        with_bytes_behind(0),
        with_bytes_behind(3),
        routed(Protocol::UDP, &routes()[0]),
        routed(Protocol::UDP, &routes()[3]),
    ]
    .map(|frame| over_pppoe(&frame));
    let replayed = frames.clone().map(|frame| stamped(&frame, 5));
    let fields =
        ["pppoe.payload_length", "ip.len", "ipv6.plen", "udp.checksum.status", "eth.padding"];
    for (number, read) in read_with_tshark(&replayed, &fields, &[]).iter().enumerate() {
        let packet = read.get("ip.len").map_or_else(
            || 40 + read["ipv6.plen"].parse::<usize>().unwrap(),
            |length| length.parse().unwrap(),
        );
        assert_eq!(read["pppoe.payload_length"], (packet + 2).to_string(), "{number}: {read:?}");
        assert_eq!(replayed[number].len(), 14 + 8 + packet, "{number}: no padding");
        assert_eq!(read["udp.checksum.status"], GOOD, "{number}: {read:?}");
        assert!(!read.contains_key("eth.padding"), "{number}: {read:?}");
    }
    let rewrite = Rewrite { ipv4: Some(([10; 4].into(), [11; 4].into())), ..Rewrite::default() };
    let frame = ready(&frames[0], &rewrite, (KEY, 1)).unwrap().bytes;
    let read = read_with_tshark(&[frame], &["ip.dst", "udp.checksum.status"], &[]).remove(0);
    assert_eq!(
        (read["ip.dst"].as_str(), read["udp.checksum.status"].as_str()),
        ("11.11.11.11", GOOD)
    );
}

/// A bridge's hello, which has 38 bytes behind its length and 8 of padding.
#[test]
fn lengths_of_ieee_802_3_hold_the_signature() {
    let hello = llc::Repr::datagram(llc::Sap::SPANNING_TREE).frame(
        MacAddr([4; 6]),
        MacAddr([1; 6]),
        &[7; 35],
    );
    assert_eq!((hello.len(), hello[13]), (60, 38));
    let replayed = stamped(&hello, 6);
    // Cut to its 52 bytes, it grows by the signature.
    assert_eq!((replayed.len(), replayed[13]), (52 + 18, 38 + 18));
    assert_eq!(replayed[14..52], hello[14..52]);
    let mut beyond = hello.clone();
    beyond[13] = 47;
    assert_eq!(ready(&beyond, &Rewrite::default(), (KEY, 1)), Err(ReplayError::CutShort));
    let mut neither = hello;
    (neither[12], neither[13]) = (5, 0xdd);
    assert!(matches!(ready(&neither, &Rewrite::default(), (KEY, 1)), Err(ReplayError::Wrong(_))));
    let full = ethernet(EtherType::length(1490), &[0x42; 1490]);
    assert_eq!(ready(&full, &Rewrite::default(), (KEY, 1)), Err(ReplayError::TooLong));
}

/// Bridges and routers read these; their ends are no room.
#[test]
fn messages_to_the_network_stay_whole() {
    let (mac, host) = (MacAddr([4; 6]), [198, 18, 0, 2].into());
    let frames = [
        igmp::Repr::v3_join([239, 1, 2, 3].into()).frame((mac, host)),
        igmp::Repr::V2Report { group: [239, 1, 2, 3].into() }.frame((mac, host)),
        mld::Repr::v2_join("ff15::7".parse().unwrap()).frame((mac, SRC)),
        learning::neighbor_solicitation(mac, SRC, DST),
    ];
    let replayed = frames.clone().map(|frame| stamped(&frame, 7));
    let fields = ["ip.len", "igmp.version", "igmp.checksum.status", "icmpv6.checksum.status"];
    for ((captured, replayed), read) in
        frames.iter().zip(&replayed).zip(read_with_tshark(&replayed, &fields, &[]))
    {
        let status = read.get("igmp.checksum.status").or(read.get("icmpv6.checksum.status"));
        // tshark sums 8 bytes of version 2; RFC 2236 section 2.3 has the sum over the whole payload of IP.
        let is_v2 = read.get("igmp.version").is_some_and(|version| version == "2");
        assert!(is_v2 || status.is_some_and(|status| status == GOOD), "{read:?}");
        if is_v2 {
            let message = ipv4::View::new_checked(&replayed[14..]).unwrap().payload();
            let words =
                message.chunks_exact(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
            assert_eq!((message.len(), words.sum::<u32>() % 0xffff), (8 + 18, 0));
        }
        // Behind the IP header, all but the checksum, to the end without padding.
        let (start, end) = match read.get("ip.len") {
            Some(_) => {
                let view = ipv4::View::peek(&captured[14..]).unwrap();
                (14 + view.header_len(), 14 + usize::from(view.total_len()))
            }
            None => (14 + 40, captured.len()),
        };
        let differing = (start..end).filter(|&at| captured[at] != replayed[at]);
        assert!(differing.count() <= 2, "{read:?}");
        assert!(verify::transport_is_good(replayed));
    }
}

/// No checksum of these can be made good for each frame, or a tunnel ends before the signature.
#[test]
fn a_signature_behind_a_packet_in_ip_is_told() {
    for (protocol, is_told) in [(132, true), (50, true), (4, true), (17, false), (1, false)] {
        let ip =
            ipv4::Repr::new([198, 18, 0, 1].into(), [198, 18, 0, 2].into(), Protocol(protocol), 40);
        let mut segment = [0; 40];
        segment[5] = 40;
        let frame = ethernet(EtherType::IPV4, &ip.packet(&segment));
        let ready = ready(&frame, &Rewrite::default(), (KEY, 1)).unwrap();
        assert_eq!(ready.is_behind_packet, is_told, "{protocol}");
    }
    let frame = ethernet(EtherType::ARP, &[0; 46]);
    assert!(!ready(&frame, &Rewrite::default(), (KEY, 1)).unwrap().is_behind_packet);
}
