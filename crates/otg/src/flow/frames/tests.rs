//! Headers as the documents have them, byte for byte. Sums were worked out by hand.

use super::*;
use crate::flow::payload::Payload;
use serde_json::{Value, json};

/// A frame of these headers and nothing else, without FCS.
fn frame(headers: &[Value]) -> Vec<u8> {
    let header = |(at, header): (usize, &Value)| {
        let header = serde_json::from_value(header.clone()).expect("a header of the model");
        Header::of(&header, &format!("packet[{at}]")).expect("is served")
    };
    let headers: Vec<Header> = headers.iter().enumerate().map(header).collect();
    let size: usize = headers.iter().map(Header::len_bytes).sum::<usize>() + FCS_BYTES;
    let nothing = Payload::Fixed { pattern: vec![0], repeats: true };
    let frames = Frames::new((headers, nothing), vec![size as u32], ("flow", false));
    frames.expect("has room").frame(0, Key::from_seed(1), 0)
}

fn ethernet() -> Value {
    json!({"choice": "ethernet", "ethernet": {
        "dst": {"choice": "value", "value": "02:00:00:00:00:02"},
        "src": {"choice": "value", "value": "02:00:00:00:00:01"}}})
}

fn ipv4(dst: &str) -> Value {
    json!({"choice": "ipv4", "ipv4": {
        "src": {"choice": "value", "value": "198.18.0.2"},
        "dst": {"choice": "value", "value": dst}}})
}

/// IEEE 802.1Qbb: EtherType 0x8808, opcode 0x0101, the vector of classes, a time for each.
#[test]
fn a_pause_of_priorities_has_a_time_for_each() {
    let pfc = json!({"choice": "pfcpause", "pfcpause": {
        "src": {"choice": "value", "value": "02:00:00:00:00:01"},
        "class_enable_vector": {"choice": "value", "value": 0x81},
        "pause_class_0": {"choice": "value", "value": 0xffff},
        "pause_class_7": {"choice": "value", "value": 0x0102}}});
    let bytes = frame(&[pfc]);
    assert_eq!(bytes[..6], [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);
    assert_eq!(bytes[6..12], [0x02, 0, 0, 0, 0, 0x01]);
    assert_eq!(bytes[12..20], [0x88, 0x08, 0x01, 0x01, 0x00, 0x81, 0xff, 0xff]);
    assert_eq!(bytes[20..32], [0; 12]);
    assert_eq!(bytes[32..], [0x01, 0x02]);
}

/// RFC 1112, appendix I: version 1, type 2; 0x1200 + 0xe001 + 0x0203 = 0xf404.
#[test]
fn a_report_of_igmp_1_has_its_sum() {
    let report = json!({"choice": "igmpv1", "igmpv1": {
        "type": {"choice": "value", "value": 2},
        "group_address": {"choice": "value", "value": "224.1.2.3"}}});
    let bytes = frame(&[ethernet(), ipv4("224.1.2.3"), report]);
    assert_eq!(bytes[23], 2, "protocol");
    assert_eq!(bytes[34..], [0x12, 0x00, 0x0b, 0xfb, 224, 1, 2, 3]);
}

/// RFC 1662 section 3.1 in GRE as RFC 2637 section 4.1 numbers it; RFC 1332: IPv4 is protocol 0x0021.
#[test]
fn ppp_stands_between_gre_and_a_packet() {
    let ppp = json!({"choice": "ppp", "ppp": {}});
    let gre = json!({"choice": "gre", "gre": {}});
    let bytes = frame(&[ethernet(), ipv4("198.19.0.2"), gre, ppp, ipv4("10.0.0.1")]);
    assert_eq!(bytes[23], 47, "protocol");
    assert_eq!(bytes[34..38], [0x00, 0x00, 0x88, 0x0b]);
    assert_eq!(bytes[38..43], [0xff, 0x03, 0x00, 0x21, 0x45]);
}
