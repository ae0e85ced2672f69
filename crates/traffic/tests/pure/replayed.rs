//! Replayed frames, as tshark judges them: its checksums are over what UDP's length says, and over the end of a
//! packet's route.

use crate::common::read_with_tshark;
use std::net::Ipv6Addr;
use traffic::replay::{ReplayError, Rewrite, ready};
use wire::checksum::{PseudoHeader, fill};
use wire::decode::summarize;
use wire::ethernet::{self, EtherType, MacAddr};
use wire::ipv4::{self, Protocol};
use wire::ipv6::{self, Extension};
use wire::signature::{self, Form, Key, Stamp};
use wire::{tcp, udp, verify};

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
