//! `wire::decode` in a line of text each, of frames that templates build.

use proptest::prelude::*;
use std::net::Ipv4Addr;
use traffic::template::FrameTemplate;
use traffic::test_frame;
use units::FrameSize;
use wire::DecodeError;
use wire::decode::summarize;
use wire::ethernet::MacAddr;
use wire::{learning, rip};

const SRC: (MacAddr, Ipv4Addr) = (MacAddr([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(198, 18, 1, 2));
const DST: (MacAddr, Ipv4Addr) = (MacAddr([2, 0, 0, 0, 0, 2]), Ipv4Addr::new(198, 19, 1, 2));

fn test_frame() -> Vec<u8> {
    test_frame::template(SRC, DST).tagged(&[5]).build(0, FrameSize::from_bytes(68), None).unwrap()
}

#[test]
fn a_test_frame_in_a_line() {
    let line = "68 bytes with FCS: Ethernet 02:00:00:00:00:01 > 02:00:00:00:00:02 802.1Q / \
                VLAN 5 priority 0 IPv4 / IPv4 198.18.1.2 > 198.19.1.2 TTL 10 UDP / \
                UDP 49184 > 7 18 bytes / payload of 18 bytes";
    assert_eq!(summarize(&test_frame()).to_string(), line);
}

#[test]
fn what_is_wrong_is_said() {
    let mut frame = test_frame();
    frame[63] ^= 1;
    let summary = summarize(&frame);
    assert!(matches!(summary.fault, Some(DecodeError::Checksum { what: "UDP datagram", .. })));
    assert_eq!(summary.headers.len(), 4);
    frame[30] ^= 1;
    let summary = summarize(&frame);
    assert!(matches!(summary.fault, Some(DecodeError::Checksum { what: "IPv4 header", .. })));
    assert_eq!(summary.headers.len(), 2);
    let fault = summarize(&frame[..13]).fault;
    assert_eq!(
        fault,
        Some(DecodeError::Truncated { what: "Ethernet header", needed: 14, got: 13 })
    );
}

#[test]
fn padding_is_no_payload() {
    let summary = summarize(&learning::gratuitous_arp(SRC.0, SRC.1));
    assert_eq!((summary.payload_len_bytes, summary.fault), (0, None));
    let summary = summarize(&learning::bridge(SRC.0));
    assert_eq!((summary.payload_len_bytes, summary.fault), (46, None));
}

#[test]
fn rip_and_snmp_are_known_by_their_ports() {
    let networks = [(Ipv4Addr::new(198, 19, 65, 0), 24)];
    let update = rip::update_frames(rip::Version::V1, SRC, 24, &networks, 7).unwrap();
    let text = summarize(&update[0]).to_string();
    assert!(text.ends_with("UDP 520 > 520 24 bytes / RIPv1 response of 1 entries"), "{text}");
}

proptest! {
    #[test]
    fn no_frame_makes_it_panic(frame: Vec<u8>) {
        let _ = summarize(&frame).to_string();
    }

    /// Damage and headers within headers, where random bytes do not come.
    #[test]
    fn no_damaged_frame_makes_it_panic(
        damage in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..5),
        len in 0usize..200, ipv6: bool,
    ) {
        let template = match ipv6 {
            false => test_frame::template(SRC, DST),
            true => {
                let address = |last| std::net::Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, last);
                FrameTemplate::udp_ipv6((SRC.0, address(1)), (DST.0, address(2)))
            }
        };
        let mut frame = template.build(0, FrameSize::from_bytes(200), None).unwrap();
        for (at, octet) in damage {
            let at = at % frame.len();
            frame[at] = octet;
        }
        frame.truncate(len);
        let _ = summarize(&frame).to_string();
    }
}
