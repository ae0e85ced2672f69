//! Modifiers and traffic: what is sent is what RFC 2544 sections 11 and 12 ask for.

use super::bed::*;
use method::{Destinations, Forwarding, Modifier, Protocol, SuiteConfig, Traffic};
use sim::{DeviceUnderTest, Frame, Lines, Patch, SimTester};
use std::collections::BTreeMap;
use trial::{PortId, Role};
use wire::ethernet::MacAddr;

/// Everything that came in at the device.
#[derive(Default)]
struct Recorder {
    patch: Patch,
    frames: Vec<(PortId, Vec<u8>)>,
}

impl DeviceUnderTest for Recorder {
    fn handle_frame(&mut self, now: units::Instant, port: PortId, frame: Frame) {
        self.frames.push((port, frame.to_vec()));
        self.patch.handle_frame(now, port, frame);
    }
    fn poll_output(&mut self, now: units::Instant, lines: &Lines<'_>) -> Option<sim::Departing> {
        self.patch.poll_output(now, lines)
    }
    fn poll_timeout(&self) -> Option<units::Instant> {
        None
    }
}

/// The frames of one trial of 3 s at 1,000 fps, learning frames first, and the trial's result.
fn frames_of(config: &SuiteConfig) -> (Vec<(PortId, Vec<u8>)>, trial::TrialResult) {
    let mut config = config.clone();
    config.trial.duration_s = 3.0;
    config.search.trial_duration_s = 3.0;
    config.throughput.final_trials = 0;
    let port = sim::SimPort::nominal(units::LineRate::from_bps(672_000));
    let mut tester = SimTester::new(&[port; 2], Recorder::default());
    let (_, events) = run(&config, &mut tester, method::rfc2544::throughput);
    let result = events.into_iter().find_map(|event| match event {
        method::Event::TrialFinished(record) => Some(record.result),
        _ => None,
    });
    let learning = if config.direction == method::Direction::Bidirectional { 2 } else { 1 };
    let frames = &tester.device().frames;
    let sent = result.as_ref().unwrap().sent.iter().map(|s| s.report.sent_frames).sum::<u64>();
    assert_eq!(frames.len() as u64, sent + learning);
    (frames.clone(), result.unwrap())
}

/// A switch or router with VLANs learns nothing of a test's VLAN from frames outside of it.
#[test]
fn learning_frames_are_in_the_vlan_of_the_test_frames() {
    let mut config = config();
    config.traffic.vlans = vec![100, 200];
    let (frames, _) = frames_of(&config);
    assert_eq!(frames[0].0, PortId(1));
    for (_, frame) in [&frames[0], &frames[1]] {
        assert_eq!(frame[12..20], [0x88, 0xa8, 0, 100, 0x81, 0x00, 0, 200]);
    }
    assert_eq!(frames[0].1[20..22], [0x08, 0x06], "ARP");
}

#[test]
fn learning_frames_come_first_and_into_the_receiving_port() {
    let (frames, _) = frames_of(&config());
    let (port, learning) = &frames[0];
    assert_eq!(*port, PortId(1));
    let (ethernet, rest) = wire::ethernet::Repr::parse(learning).unwrap();
    let (arp, _) = wire::arp::Repr::parse(rest).unwrap();
    assert_eq!(ethernet.src, topology(Forwarding::Routed).ports[1].mac);
    assert_eq!(arp.sender_ip.to_string(), "198.19.1.2");
    assert_eq!(arp.target_ip.to_string(), "198.19.1.1");
}

/// IPv4 header of the test frame of appendix C.2.6.4, its checksum worked by hand.
#[test]
fn the_test_frame_is_the_appendixs() {
    let (frames, _) = frames_of(&config());
    let (_, test_frame) = &frames[1];
    let ipv4_header = [
        [0x45, 0, 0, 46, 0, 0, 0, 0, 10, 17, 0x22, 0x96].as_slice(),
        &[198, 18, 1, 2],
        &[198, 19, 1, 2],
    ]
    .concat();
    assert_eq!(test_frame[14..34], ipv4_header);
    assert_eq!(test_frame[34..38], [0xc0, 0x20, 0, 7], "UDP ports");
}

/// One frame in a hundred, in place of a test frame; the test frames alone are offered load.
#[test]
fn one_percent_broadcast() {
    let (frames, result) = frames_of(&with_modifier(config(), Modifier::Broadcast));
    let broadcasts: Vec<usize> = frames[1..]
        .iter()
        .enumerate()
        .filter(|(_, (_, frame))| frame[..6] == [0xff; 6])
        .map(|(index, _)| index)
        .collect();
    assert_eq!(broadcasts, (0..30).map(|n| 99 + 100 * n).collect::<Vec<_>>());
    assert_eq!((result.intended_frames(), result.offered_frames()), (3_000, 2_970));
    assert_eq!(result.lost_frames(), 0);
    let modifier = result.streams.iter().find(|s| s.role == Role::Modifier).unwrap();
    assert_eq!((modifier.sent, modifier.received), (30, 30));
}

/// The first frame of each second asks for the five variables of appendix C.2.4.3.
#[test]
fn an_snmp_query_each_second() {
    let (frames, result) = frames_of(&with_modifier(config(), Modifier::Management));
    let queries: Vec<_> = frames[1..]
        .iter()
        .enumerate()
        .filter(|(_, (_, frame))| frame[36..38] == [0, 161])
        .collect();
    let places: Vec<usize> = queries.iter().map(|(index, _)| *index).collect();
    assert_eq!(places, [0, 1_000, 2_000]);
    let (_, (_, frame)) = queries[0];
    assert!(wire::verify::transport_is_good(frame));
    assert_eq!(frame[30..34], [198, 18, 1, 1], "to the device itself");
    // SEQUENCE, version 2c, "public", GET.
    let message = &frame[42..];
    assert_eq!(message[..2], [0x30, message.len() as u8 - 2]);
    assert_eq!(message[2..5], [2, 1, 1]);
    assert_eq!(&message[5..13], b"\x04\x06public");
    assert_eq!(message[13], 0xa0);
    let oid = |last: &[u8]| [&[6, last.len() as u8 + 1, 0x2b], last].concat();
    for variable in [&[6u8, 1, 2, 1, 1, 3, 0][..], &[6, 1, 2, 1, 2, 2, 1, 10, 1]] {
        let oid = oid(variable);
        assert!(message.windows(oid.len()).any(|window| window == oid), "{variable:?}");
    }
    assert_eq!(result.lost_frames(), 0);
}

/// An agent in a device that otherwise joins its ports: it answers every so many queries.
struct Agent {
    patch: Patch,
    answers_every: u64,
    heard: u64,
    replies: std::collections::VecDeque<sim::Departing>,
}

impl DeviceUnderTest for Agent {
    fn handle_frame(&mut self, now: units::Instant, port: PortId, frame: Frame) {
        if frame.get(36..38) != Some(&[0, 161]) {
            return self.patch.handle_frame(now, port, frame);
        }
        self.heard += 1;
        if !self.heard.is_multiple_of(self.answers_every) {
            return;
        }
        let (query, _) = wire::snmp::Repr::parse(&frame[42..]).unwrap();
        let counters = wire::snmp::InterfaceCounters {
            sys_up_time_ticks: 7,
            if_in_octets: 1,
            if_out_octets: 2,
            if_in_ucast_pkts: 3,
            if_out_ucast_pkts: 4,
        };
        let mac = |at: usize| MacAddr(frame[at..at + 6].try_into().unwrap());
        let ip = |at: usize| {
            let bytes: [u8; 4] = frame[at..at + 4].try_into().unwrap();
            std::net::Ipv4Addr::from(bytes)
        };
        let manager = u16::from_be_bytes([frame[34], frame[35]]);
        let from = (mac(0), std::net::SocketAddrV4::new(ip(30), 161));
        let to = (mac(6), std::net::SocketAddrV4::new(ip(26), manager));
        let reply = wire::udp::frame_ipv4(from, to, &query.answer(1, counters).emit());
        self.replies.push_back(sim::Departing { port, frame: reply.into() });
    }
    fn poll_output(&mut self, now: units::Instant, lines: &Lines<'_>) -> Option<sim::Departing> {
        self.replies.pop_front().or_else(|| self.patch.poll_output(now, lines))
    }
    fn poll_timeout(&self) -> Option<units::Instant> {
        None
    }
}

/// "The response SHOULD be verified" (section 11.2): three queries in a trial of 3 s; of a device that answers
/// every third, one answer and a warning; of one that answers all, three and none.
#[test]
fn answers_to_management_queries_are_verified_and_counted() {
    for (answers_every, note) in [(1, "3 sent, 3 answered"), (3, "3 sent, 1 answered")] {
        let mut config = with_modifier(config(), Modifier::Management);
        config.trial.duration_s = 3.0;
        config.search.trial_duration_s = 3.0;
        config.throughput.final_trials = 0;
        let port = sim::SimPort::nominal(units::LineRate::from_bps(672_000));
        let replies = std::collections::VecDeque::new();
        let agent = Agent { patch: Patch::default(), answers_every, heard: 0, replies };
        let (_, events) =
            run(&config, &mut SimTester::new(&[port; 2], agent), method::rfc2544::throughput);
        let noted = |event: &method::Event| match event {
            method::Event::TrialFinished(record) => record.result.notes.join("; ").contains(note),
            _ => false,
        };
        assert!(events.iter().any(noted), "{note}: {events:?}");
        let warned = |event: &&method::Event| match event {
            method::Event::Warning(why) => why.contains("management queries"),
            _ => false,
        };
        let warnings = events.iter().filter(warned).count();
        assert_eq!(warnings, usize::from(answers_every > 1), "once, where one is missing");
    }
}

/// States A and B alternate; the frame is as long as appendix C.2.6.2 should have said.
#[test]
fn routing_updates_alternate() {
    let mut config = with_modifier(config(), Modifier::RoutingUpdate);
    config.search.trial_duration_s = 61.0;
    config.trial.duration_s = 61.0;
    config.throughput.final_trials = 0;
    // 100 frames of 64 bytes a second.
    let slow = sim::SimPort::nominal(units::LineRate::from_bps(67_200));
    let mut tester = SimTester::new(&[slow; 2], Recorder::default());
    run(&config, &mut tester, method::rfc2544::throughput);
    let frames = &tester.device().frames;
    let updates: Vec<_> =
        frames.iter().enumerate().filter(|(_, (_, f))| f[34..38] == [2, 8, 2, 8]).collect();
    assert_eq!(updates.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1, 3_001, 6_001]);
    let metric = |n: usize| updates[n].1.1[65];
    assert_eq!((metric(0), metric(1), metric(2)), (7, 8, 7));
    for (_, (_, frame)) in updates {
        assert!(wire::verify::transport_is_good(frame));
        assert_eq!(frame.len() + 4, 50 + 20 * 6);
        assert_eq!(frame[16..18], [0, 152], "IP total length");
        assert_eq!(frame[20..23], [0x40, 0, 10], "don't fragment, TTL 10");
        assert_eq!(frame[30..34], [198, 18, 1, 255], "to the whole network");
        assert_eq!(frame[38..40], [0, 132], "UDP length");
        assert_eq!(frame[42..46], [2, 1, 0, 0], "response, version 1");
        assert_eq!(frame[50..54], [198, 18, 101, 0], "a network that no test uses");
    }
}

/// Random destinations lie in the 256 networks, about evenly.
#[test]
fn random_destinations_are_spread_over_256_networks() {
    let mut config = config();
    config.traffic.destinations = Destinations::Random;
    config.traffic.distinct_frames = 4_096;
    let (frames, result) = frames_of(&config);
    let mut networks: BTreeMap<u8, u32> = BTreeMap::new();
    for (_, frame) in &frames[1..] {
        assert_eq!((frame[30], frame[31], frame[33]), (198, 19, 129));
        *networks.entry(frame[32]).or_default() += 1;
    }
    assert_eq!(networks.len(), 256);
    assert!(networks.values().all(|count| (1..40).contains(count)), "3,000 over 256");
    assert_eq!(result.lost_frames(), 0);
}

/// The whole trial, sizes, forms and directions: what is counted is whole.
#[test]
fn every_kind_of_traffic_comes_back_whole() {
    let kinds: [(Protocol, &str, Vec<u16>, bool); 6] = [
        (Protocol::UdpIpv4, "64", vec![], true),
        (Protocol::UdpIpv4, "imix", vec![100], false),
        (Protocol::UdpIpv6, "64", vec![], false),
        (Protocol::UdpIpv6, "1518", vec![10, 20], true),
        (Protocol::UdpIpv4, "9216", vec![], false),
        (Protocol::UdpIpv4, "64..128/7", vec![], true),
    ];
    for (protocol, pattern, vlans, random) in kinds {
        let mut config = bidirectional(config());
        config.frame_sizes = vec![pattern.parse().unwrap()];
        config.traffic.protocol = protocol;
        config.traffic.vlans = vlans;
        config.traffic.random_ports = random && pattern != "64";
        config.traffic.random_macs = random;
        let (frames, result) = frames_of(&config);
        assert!(frames[2..].iter().all(|(_, f)| wire::verify::transport_is_good(f)), "{pattern}");
        assert!(result.is_valid(), "{:?}", result.validity);
        assert_eq!(result.streams.len(), 2);
        for stream in &result.streams {
            assert!(stream.sent > 0);
            assert_eq!((stream.received, stream.lost), (stream.sent, 0), "{pattern} {protocol:?}");
            assert_eq!((stream.corrupted, stream.misdirected, stream.duplicates), (0, 0, 0));
        }
    }
}

#[test]
fn what_cannot_be_sent_is_refused_before_anything_is() {
    let refusal = |config: &SuiteConfig, forwarding, modifier| {
        let traffic = Traffic::new(config, &topology(forwarding), &size(64), modifier);
        traffic.unwrap_err().to_string()
    };
    let mut ethernet = config();
    ethernet.traffic.protocol = Protocol::Ethernet;
    let error = refusal(&ethernet, Forwarding::Routed, Modifier::None);
    assert!(error.contains("choose an IP protocol"), "{error}");
    let error = refusal(&config(), Forwarding::Bridged, Modifier::Management);
    assert!(error.contains("only a router"), "{error}");
    let mut tagged = config();
    tagged.traffic.vlans = vec![1, 2, 3, 4, 5, 6, 7, 8];
    let error = refusal(&tagged, Forwarding::Routed, Modifier::None);
    assert!(error.contains("too small"), "{error}");
}
