//! What the suite sends, seen by an outside observer at the device's ends of the links: test
//! frames, modifiers of RFC 2544 section 11 and learning frames, each sound to `tshark`, as many
//! as the suite says, and nothing else. What the device forwards is sound, too.

use live::{Bed, Capture, Direction, can_run, tshark};
use method::{
    Destinations, Event, Modifier, Profile, Protocol, Suite, SuiteConfig, TestKind, TrafficConfig,
    TrialRecord,
};
use ports::PortType;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use testbed::{DeviceKind, TestbedConfig};
use trial::PortId;
use units::{FrameSize, LineRate};

/// What the virtual links are taken for: short trials of few frames.
const LINE: LineRate = LineRate::from_mbps(5);
const BROADCAST: &str = "eth:ethertype:data";
const QUERY: &str = "eth:ethertype:ip:udp:snmp";
const UPDATE: &str = "eth:ethertype:ip:udp:rip";
const ARP: &str = "eth:ethertype:arp";
const NEIGHBOUR_DISCOVERY: &str = "eth:ethertype:ipv6:icmpv6";

/// One trial of a tenth of a second for each size and modifier.
fn config(modifiers: &[Modifier]) -> SuiteConfig {
    let mut config = SuiteConfig::of(Profile::Quick);
    config.tests = vec![TestKind::FrameLoss];
    config.frame_sizes = ["64", "1518", "imix"].map(|size| size.parse().expect("a size")).to_vec();
    config.modifiers = modifiers.to_vec();
    config.frame_loss.step_percent = 100.0;
    config.trial.duration_s = 0.1;
    config.trial.learning_wait_s = 0.05;
    config.trial.drain_s = 0.3;
    config.trial.settle_s = 0.0;
    config.trial.invalid_retries = 10;
    // What was sent is laid beside what was seen: a moment for which the tester is held up may be given up.
    config.trial.limits.shortfall = 0.5;
    config.trial.limits.late_after_us = 1_000_000;
    config.traffic.random_ports = true;
    config.traffic.random_macs = true;
    config.traffic.destinations = Destinations::Random;
    config
}

const ALL: [Modifier; 4] =
    [Modifier::None, Modifier::Broadcast, Modifier::Management, Modifier::RoutingUpdate];

/// How many frames there were of each kind.
type Tally = BTreeMap<String, u64>;

/// Runs the suite and compares what was seen with what it says.
fn observe(name: &str, testbed: TestbedConfig, port_type: PortType, config: SuiteConfig) {
    if !can_run(name) {
        return;
    }
    let bed = Bed::build(&testbed);
    let device = bed.device().expect("a device");
    let mut tester = bed.live(port_type, FrameSize::MAX_ETHERNET, LINE);
    let watch =
        |port, direction| Capture::start(device.namespace(), &device.connector(port), direction);
    let from_tester = [watch(0, Direction::In), watch(1, Direction::In)];
    let from_device = watch(1, Direction::Out);
    let suite = Suite {
        program: "live test".into(),
        device: name.into(),
        environment: BTreeMap::new(),
        topology: bed.topology(),
        config: config.clone(),
        self_test: None,
        more: &[],
    };
    let mut events: Vec<Event> = vec![];
    suite.run(&mut tester, None, &mut events).expect("a run");
    let trials: Vec<_> = events.iter().filter_map(trial_of).collect();
    let is_left_out =
        |event: &&Event| matches!(event, Event::Warning(text) if text.contains("left out"));
    let left_out = events.iter().filter(is_left_out).count();
    assert_eq!(left_out, usize::from(config.traffic.protocol == Protocol::Appletalk), "{name}");
    assert!(trials.len() >= config.modifiers.len() * (config.frame_sizes.len() - left_out));

    for (port, capture) in (0..).zip(from_tester) {
        let expected = sent_from(PortId(port), &trials, &config);
        let captured = capture.finish(expected.values().sum());
        let seen = tally(&tshark::dissect(&captured.path()));
        assert_eq!(merged(seen, &config), expected, "{name}, {port_type}: port {port}");
    }
    let received = |trial: &&TrialRecord| -> u64 {
        let there = &trial.result.received[1].streams;
        there.iter().map(|stream| stream.account.arrivals()).sum()
    };
    let received: u64 = trials.iter().map(received).sum();
    let captured = from_device.finish(received);
    let dropped: u64 = trials.iter().map(|trial| dropped_by_tester(trial)).sum();
    let seen = tally(&tshark::dissect(&captured.path()));
    forwarded_is_sound(&seen, received..=received + dropped, &config);
}

/// What had reached the receiving port and was lost there, on a machine too busy to keep up; such
/// trials are invalid, and the suite repeats them.
fn dropped_by_tester(trial: &TrialRecord) -> u64 {
    let there = trial.result.counters.iter().filter(|counters| counters.port == PortId(1));
    there.flat_map(|counters| &counters.tester_drops).map(|(_, frames)| frames).sum()
}

fn trial_of(event: &Event) -> Option<&TrialRecord> {
    if let Event::TrialFinished(record) = event { Some(record) } else { None }
}

fn tally(dissections: &[tshark::Dissection]) -> Tally {
    let mut tally = Tally::new();
    for dissection in dissections {
        *tally.entry(dissection.protocols.clone()).or_default() += 1;
    }
    tally
}

/// The tags of test frames and of learning frames: the tester's hosts are in the VLAN.
fn tags(config: &SuiteConfig) -> &'static str {
    match config.traffic.vlans.len() {
        0 => "",
        1 => ":vlan:ethertype",
        _ => ":ieee8021ad:ethertype:vlan:ethertype",
    }
}

/// The headers of the test frames.
fn test_frame(config: &SuiteConfig) -> String {
    let tags = tags(config);
    match config.traffic.protocol {
        Protocol::UdpIpv4 => format!("eth:ethertype{tags}:ip:udp:data"),
        Protocol::UdpIpv6 => format!("eth:ethertype{tags}:ipv6:udp:data"),
        Protocol::Ethernet => format!("eth:ethertype{tags}:data"),
        Protocol::Decnet => format!("eth:ethertype{tags}:dec_dna"),
        Protocol::Appletalk => format!("eth{tags}:llc:ddp:data"),
        Protocol::IpxRaw => format!("eth{tags}:ipx:data"),
        Protocol::IpxEthernet => format!("eth:ethertype{tags}:ipx:data"),
        Protocol::IpxLlc | Protocol::IpxSnap => format!("eth{tags}:llc:ipx:data"),
    }
}

/// The headers of the frames by which the device learns of the tester's hosts.
fn learning_frame(config: &SuiteConfig) -> String {
    let untagged = match config.traffic.protocol {
        Protocol::UdpIpv4 | Protocol::Ethernet => ARP,
        Protocol::UdpIpv6 => NEIGHBOUR_DISCOVERY,
        Protocol::Decnet => "eth:ethertype:dec_dna",
        Protocol::Appletalk => "eth:llc:aarp",
        Protocol::IpxRaw => "eth:ipx",
        Protocol::IpxEthernet => "eth:ethertype:ipx",
        Protocol::IpxLlc | Protocol::IpxSnap => "eth:llc:ipx",
    };
    let tags = tags(config);
    match untagged.strip_prefix("eth:ethertype") {
        Some(rest) => format!("eth:ethertype{tags}{rest}"),
        None => untagged.replacen("eth", &format!("eth{tags}"), 1),
    }
}

/// Frames that have no room for UDP are test frames, too.
fn merged(mut tally: Tally, config: &SuiteConfig) -> Tally {
    if let Some(without_udp) = tally.remove("eth:ethertype:ipv6:data") {
        *tally.entry(test_frame(config)).or_default() += without_udp;
    }
    tally
}

/// What the suite says it sent out of a port: by stream, and a learning frame into each receiving
/// port before each trial.
fn sent_from(port: PortId, trials: &[&TrialRecord], config: &SuiteConfig) -> Tally {
    let mut tally = Tally::new();
    for trial in trials {
        for stream in trial.result.streams.iter().filter(|stream| stream.from == port) {
            let kind = match &*stream.name {
                "forward" | "reverse" => test_frame(config),
                "broadcast frames" => BROADCAST.into(),
                "management frames" => QUERY.into(),
                "routing update frames" => UPDATE.into(),
                other => panic!("a stream called {other}"),
            };
            *tally.entry(kind).or_default() += stream.sent;
        }
        let is_receiving = trial.result.streams.iter().any(|s| s.expected_ports.contains(&port));
        if is_receiving {
            *tally.entry(learning_frame(config)).or_default() += 1;
        }
    }
    tally.retain(|_, frames| *frames > 0);
    tally
}

/// All test frames that reached the tester left the device, sound; besides them the device only
/// speaks of neighbours and (a bridge) forwards broadcasts.
fn forwarded_is_sound(seen: &Tally, reached: RangeInclusive<u64>, config: &SuiteConfig) {
    let seen = merged(seen.clone(), config);
    let count = |kind: &str| seen.get(kind).copied().unwrap_or(0);
    let broadcasts =
        if config.traffic.protocol == Protocol::Ethernet { 0 } else { count(BROADCAST) };
    let left = count(&test_frame(config)) + broadcasts;
    assert!(reached.contains(&left), "{left} left, {reached:?} reached the tester: {seen:?}");
    for kind in seen.keys() {
        let known =
            [&test_frame(config), &learning_frame(config), BROADCAST, ARP, NEIGHBOUR_DISCOVERY];
        assert!(known.contains(&&**kind), "{seen:?}");
    }
}

fn router() -> TestbedConfig {
    TestbedConfig { destination_networks: true, ..TestbedConfig::of(DeviceKind::LinuxRouter) }
}

#[test]
fn ipv4_through_a_router() {
    observe("ipv4_through_a_router", router(), PortType::XDP, config(&ALL));
}

#[test]
fn ipv6_through_a_router() {
    let mut config = config(&ALL);
    config.traffic.protocol = Protocol::UdpIpv6;
    observe("ipv6_through_a_router", router(), PortType::AF_XDP, config);
}

#[test]
fn tagged_frames_both_ways_through_a_bridge() {
    let mut config = config(&[Modifier::None, Modifier::Broadcast]);
    config.traffic.vlans = vec![100, 200];
    config.direction = method::Direction::Bidirectional;
    let bridge = TestbedConfig::of(DeviceKind::LinuxBridge);
    observe("tagged_frames_both_ways_through_a_bridge", bridge, PortType::AF_PACKET, config);
}

/// Each protocol of 1990 at the smallest size, at one that all of them carry, and at the largest of
/// Ethernet, which AppleTalk leaves out.
fn legacy_through_a_bridge(protocol: Protocol, port_type: PortType) {
    let mut config = config(&[Modifier::None]);
    config.traffic = TrafficConfig { protocol, ..TrafficConfig::default() };
    config.frame_sizes = ["64", "512", "1518"].map(|size| size.parse().expect("a size")).to_vec();
    let bridge = TestbedConfig::of(DeviceKind::LinuxBridge);
    observe(&format!("{} through a bridge", protocol.name()), bridge, port_type, config);
}

#[test]
fn decnet_through_a_bridge() {
    legacy_through_a_bridge(Protocol::Decnet, PortType::XDP);
}

#[test]
fn appletalk_through_a_bridge() {
    legacy_through_a_bridge(Protocol::Appletalk, PortType::AF_XDP);
}

#[test]
fn raw_ipx_through_a_bridge() {
    legacy_through_a_bridge(Protocol::IpxRaw, PortType::AF_PACKET);
}

#[test]
fn ipx_behind_snap_through_a_bridge() {
    legacy_through_a_bridge(Protocol::IpxSnap, PortType::XDP);
}
