//! The modifiers of RFC 2544 section 11: frames that take a test frame's place now and then.

use crate::traffic::{FORWARD, Traffic};
use crate::{Modifier, RunError};
use std::net::Ipv4Addr;
use trial::{Expectation, Insertion, Role, Stream, StreamFrame, StreamId, Trigger};
use units::Duration;
use wire::checksum::PseudoHeader;
use wire::ethernet::{EtherType, MacAddr};
use wire::signature::Key;
use wire::template::FrameTemplate;
use wire::{ethernet, ipv4, udp};

/// Every hundredth frame: 1 % (section 11.1).
const BROADCAST_EVERY: u64 = 100;
/// RIP sends its table every 30 seconds (appendix C.2.3).
const RIP_INTERVAL: Duration = Duration::from_secs(30);
const RIP_PORT: u16 = 520;
const SNMP_PORT: u16 = 161;

/// The extra streams of one sender.
pub(crate) fn streams(
    traffic: &Traffic,
    sender: usize,
    key: Key,
) -> Result<Vec<(Stream, Insertion)>, RunError> {
    let id = StreamId(FORWARD.0 + 10 + sender as u16);
    let (frames, trigger, expect) = match traffic.modifier() {
        Modifier::None => return Ok(vec![]),
        Modifier::Broadcast => (
            broadcast(traffic, sender, key, id)?,
            Trigger::Frames { first: BROADCAST_EVERY - 1, every: BROADCAST_EVERY },
            Expectation::Unchecked,
        ),
        Modifier::Management => (
            vec![unsigned(snmp_query(traffic, sender))],
            Trigger::Interval { first: Duration::ZERO, every: Duration::from_secs(1) },
            Expectation::Unchecked,
        ),
        Modifier::RoutingUpdate => (
            [7, 8].map(|metric| unsigned(rip_update(traffic, sender, metric))).to_vec(),
            Trigger::Interval { first: Duration::ZERO, every: RIP_INTERVAL },
            Expectation::Unchecked,
        ),
    };
    let stream = Stream {
        id,
        name: traffic.modifier().to_string(),
        role: Role::Modifier,
        from: traffic.from(sender).port,
        expect,
        frames,
        fingerprint: None,
        given_up: vec![],
    };
    Ok(vec![(stream, Insertion { stream: id, trigger })])
}

/// Broadcast frames of the test frames' sizes and of a type that no router has to process
/// (section 11.1).
fn broadcast(
    traffic: &Traffic,
    sender: usize,
    key: Key,
    id: StreamId,
) -> Result<Vec<StreamFrame>, RunError> {
    let template = FrameTemplate::ethernet(traffic.from(sender).mac, MacAddr::BROADCAST);
    Ok(traffic.frames(&template, Some((key, id.0)))?)
}

/// An SNMP query for the five variables of appendix C.2.4.3 to the device's own address
/// (section 11.2).
fn snmp_query(traffic: &Traffic, sender: usize) -> Vec<u8> {
    let variables: [&[u8]; 5] = [
        &[0x2b, 6, 1, 2, 1, 1, 3, 0],        // sysUpTime.0
        &[0x2b, 6, 1, 2, 1, 2, 2, 1, 10, 1], // ifInOctets.1
        &[0x2b, 6, 1, 2, 1, 2, 2, 1, 16, 1], // ifOutOctets.1
        &[0x2b, 6, 1, 2, 1, 2, 2, 1, 11, 1], // ifInUcastPkts.1
        &[0x2b, 6, 1, 2, 1, 2, 2, 1, 17, 1], // ifOutUcastPkts.1
    ];
    let bindings =
        variables.map(|oid| ber(SEQUENCE, &[ber(OBJECT_ID, oid), ber(NULL, &[])].concat()));
    let zero = || ber(INTEGER, &[0]);
    let pdu = [ber(INTEGER, &[1]), zero(), zero(), ber(SEQUENCE, &bindings.concat())].concat();
    let version_1 = zero();
    let message = [version_1, ber(OCTET_STRING, b"public"), ber(GET_REQUEST, &pdu)].concat();
    let from = traffic.from(sender);
    let to = (traffic.next_hop(sender), from.device_ipv4);
    datagram((from.mac, from.host_ipv4), to, (49_184, SNMP_PORT), &ber(SEQUENCE, &message))
}

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const NULL: u8 = 0x05;
const OBJECT_ID: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const GET_REQUEST: u8 = 0xa0;

/// A value in the Basic Encoding Rules: tag, length, content (shorter than 256 bytes).
fn ber(tag: u8, content: &[u8]) -> Vec<u8> {
    let len = content.len() as u8;
    let head = if len < 128 { vec![tag, len] } else { vec![tag, 0x81, len] };
    [head, content.to_vec()].concat()
}

/// A RIP version 1 response (RFC 1058) with six networks that the test does not use, laid out as
/// appendix C.2.6.2 has it. States "A" and "B" of section 11.3 differ in the metric.
fn rip_update(traffic: &Traffic, sender: usize, metric: u8) -> Vec<u8> {
    const RESPONSE: u8 = 2;
    let from = traffic.from(sender);
    let [net, side, attached, _] = from.host_ipv4.octets();
    let mut message = vec![RESPONSE, 1, 0, 0];
    for network in 101..=106u8 {
        let address = [net, side, network, 0];
        message.extend([0, 2, 0, 0].iter().chain(&address).chain(&[0; 11]).chain(&[metric]));
    }
    let to = (MacAddr::BROADCAST, Ipv4Addr::new(net, side, attached, 255));
    datagram((from.mac, from.host_ipv4), to, (RIP_PORT, RIP_PORT), &message)
}

fn unsigned(bytes: Vec<u8>) -> StreamFrame {
    StreamFrame { bytes, form: None }
}

fn datagram(
    (src_mac, src): (MacAddr, Ipv4Addr),
    (dst_mac, dst): (MacAddr, Ipv4Addr),
    (src_port, dst_port): (u16, u16),
    payload: &[u8],
) -> Vec<u8> {
    let header = udp::Repr { src_port, dst_port, payload_len: payload.len() as u16 };
    let datagram = header.datagram(PseudoHeader::V4(src, dst), payload);
    let packet = ipv4::Repr::new(src, dst, ipv4::Protocol::UDP, datagram.len() as u16);
    let ethernet = ethernet::Repr { dst: dst_mac, src: src_mac, ether_type: EtherType::IPV4 };
    ethernet.frame(&packet.packet(&datagram))
}
