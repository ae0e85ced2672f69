//! The modifiers of RFC 2544 section 11: they replace some test frames with other frames.

use crate::traffic::{Attachment, Traffic};
use crate::{Modifier, RunError};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::RangeInclusive;
use traffic::template::FrameTemplate;
use trial::{
    Expectation, Insertion, PortId, Role, Stream, StreamFrame, StreamId, TrialResult, Trigger,
};
use units::Duration;
use wire::ethernet::MacAddr;
use wire::rip::RFC2544_METRIC;
use wire::signature::Key;
use wire::{rip, snmp, udp};

/// Every hundredth frame: 1 % (section 11.1).
pub(crate) const BROADCAST_EVERY: u64 = 100;
/// RIP sends its table every 30 seconds (appendix C.2.3).
pub(crate) const RIP_INTERVAL: Duration = Duration::from_secs(30);
/// From 198.18.0.0/15, the first or second half of it, the third octets of networks that no test
/// uses: each port has six of its own, the first two ports 101 to 106.
const UNUSED_NETWORKS: RangeInclusive<u8> = 65..=124;
const NETWORKS_OF_PORT: u8 = 6;
/// The other ports of a side begin after those of the first.
const FIRST_NETWORK: u8 = 101;
/// Networks are not enough for more ports.
pub(crate) const PORTS_WITH_UPDATES: u16 = 20;
/// Of all networks of appendix C.2.2.
const PREFIX_LEN: u8 = 24;
/// From which queries come.
const MANAGER_PORT: u16 = 49_184;

/// The extra stream of a sender whose frames go to this address first, and when its frames leave.
pub(crate) fn stream(
    traffic: &Traffic,
    (from, next_hop): (&Attachment, MacAddr),
    (key, id): (Key, StreamId),
) -> Result<Option<(Stream, Insertion)>, RunError> {
    let (frames, trigger, expect) = match traffic.modifier() {
        Modifier::None => return Ok(None),
        Modifier::Broadcast => (
            broadcast(traffic, from, (key, id))?,
            Trigger::Frames { first: BROADCAST_EVERY - 1, every: BROADCAST_EVERY },
            Expectation::Unchecked,
        ),
        Modifier::Management => (
            vec![snmp_query(from, next_hop)],
            Trigger::Interval { first: Duration::ZERO, every: Duration::from_secs(1) },
            Expectation::Unchecked,
        ),
        Modifier::RoutingUpdate => (
            rip_updates(from),
            Trigger::Interval { first: Duration::ZERO, every: RIP_INTERVAL },
            Expectation::Unchecked,
        ),
    };
    let stream = Stream {
        id,
        name: traffic.modifier().to_string(),
        role: Role::Modifier,
        from: from.port,
        expect,
        frames,
        fingerprint: None,
        given_up: vec![],
        bad_fcs: false,
        grows_by_bytes: 0,
    };
    Ok(Some((stream, Insertion { stream: id, trigger })))
}

/// Frames of a modifier that left, by the port that sent them.
pub(crate) fn sent(result: &TrialResult, what: Modifier) -> impl Iterator<Item = (PortId, u64)> {
    let name = what.to_string();
    let of = result.streams.iter().filter(move |s| s.role == Role::Modifier && s.name == name);
    of.map(|stream| (stream.from, stream.sent))
}

/// Whole answers to management queries; `None` where nobody looked.
pub(crate) fn answered(result: &TrialResult) -> Option<u64> {
    let answers = result.counters.iter().filter_map(|port| port.management_answers);
    answers.reduce(|a, b| a + b)
}

/// Broadcast frames of the test frames' sizes and of a type that no router has to process
/// (section 11.1).
fn broadcast(
    traffic: &Traffic,
    from: &Attachment,
    (key, id): (Key, StreamId),
) -> Result<Vec<StreamFrame>, RunError> {
    let template = FrameTemplate::ethernet(from.mac, MacAddr::BROADCAST);
    Ok(traffic.frames(&template, Some((key, id.0)))?)
}

/// An SNMP query for the five variables of appendix C.2.4.3 to the device's own address
/// (section 11.2).
fn snmp_query(from: &Attachment, next_hop: MacAddr) -> StreamFrame {
    let manager = (from.mac, SocketAddrV4::new(from.host_ipv4, MANAGER_PORT));
    let agent = (next_hop, SocketAddrV4::new(from.device_ipv4, snmp::PORT));
    let query = snmp::Repr::interface_query("public", 1, 1);
    unsigned(udp::frame_ipv4(manager, agent, &query.emit()))
}

/// RIP version 1 responses with six networks that the test does not use, laid out as appendix
/// C.2.6.2 has it. States "A" and "B" of section 11.3 differ in the metric.
fn rip_updates(from: &Attachment) -> Vec<StreamFrame> {
    let (side, number) = (from.port.0 % 2, from.port.0 / 2);
    let (least, own) = (*UNUSED_NETWORKS.start(), NETWORKS_OF_PORT);
    let all = UNUSED_NETWORKS.len() as u16;
    let skipped = u16::from(FIRST_NETWORK - least) + number * u16::from(own);
    let first = least + (skipped % all) as u8;
    let network = |third| (Ipv4Addr::new(198, 18 + side as u8, third, 0), PREFIX_LEN);
    let networks: Vec<_> = (first..first + own).map(network).collect();
    let state = |metric| {
        let host = (from.mac, from.host_ipv4);
        rip::update_frames(rip::Version::V1, host, PREFIX_LEN, &networks, metric)
            .expect("networks of class C, and few hops")
    };
    [RFC2544_METRIC, RFC2544_METRIC + 1].into_iter().flat_map(state).map(unsigned).collect()
}

fn unsigned(bytes: Vec<u8>) -> StreamFrame {
    StreamFrame { bytes, form: None }
}
