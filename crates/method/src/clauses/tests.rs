use super::*;
use crate::outcome::Unit;
use crate::registry::{self, SuiteName, TestMethod};
use crate::rfc3918::Joins;
use crate::{
    Attachment, Destinations, Direction, ExtensionHeader, Forwarding, GoalConfig, LegacyAddresses,
    Modifier, Pattern, Protocol, ResetKind, SearchPolicy,
};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use trial::PortId;
use units::{FrameSize, LineRate};
use wire::ethernet::MacAddr;

/// A run that may be changed.
#[derive(Clone)]
struct Case {
    config: SuiteConfig,
    facts: Facts,
    topology: Topology,
}

/// The configuration of a test as its document has it, and a result in which nothing went wrong.
fn ideal(test: TestKind) -> Case {
    let attachment = |index: u8| Attachment {
        port: PortId(index.into()),
        mac: MacAddr([2, 0, 0, 0, index, 2]),
        host_ipv4: Ipv4Addr::new(198, 18 + index, 1, 2),
        host_ipv6: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2),
        device_mac: MacAddr([2, 0, 0, 0, index, 1]),
        device_ipv4: Ipv4Addr::new(198, 18 + index, 1, 1),
        device_ipv6: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1),
        network_hosts_ipv4: vec![],
        network_hosts_ipv6: vec![],
        network_prefix_ipv4: 24,
        prefix_hosts_ipv6: Default::default(),
        legacy: LegacyAddresses::plan(PortId(index.into())),
    };
    let suite = registry::of_kind(test).map_or(SuiteName::Rfc2544, |test| test.suite);
    let facts = Facts {
        traffic: "UDP over IPv4".into(),
        frame_bytes: Some(64),
        repetitions: Some(50),
        tags: Some(1_000),
        trial_s: Some(120.0),
        failed_at_rate: Some((0, 1)),
        at_throughput: Some(true),
        has_line_time: Some(false),
        definition: Some("first bit to first bit".into()),
        of_medium: Some(true),
        minimum_gap: Some(true),
        throughput_fps: Some(1e6),
        at_limit: Some(0),
        unmeasured: Some(0),
        ports: 4,
        line_rate: Some(LineRate::from_mbps(100)),
        start_skew: Some(0.0),
        joins: Some(Joins::Proved),
        knows_capacity: Some(true),
        queries: Some(trial::QueryCounts { queries: 4, reports: 4, due: 0 }),
        received_bytes: Some(88.0),
        has_classes: Some(true),
        has_both: Some(true),
        last_tag_s: Some(-60.0),
        tunnel_in: Some(crate::rfc3918::Tunnel::Gre),
        filter_rules: 1,
        frames_by_source: vec![100, 100],
        ingress_apart: Some(0.0),
        evidence: Evidence {
            shortest: Some(units::Duration::from_secs(3)),
            broadcast: Some(BroadcastShare { frames: 1_000, broadcast: 10, off: 0 }),
            management: Some(Queries { sent: 60, due: 60, answered: Some(60) }),
            routing_updates: Some(Updates { sent: 4, due: 4, streams: 2, of_one_state: 0 }),
        },
        stated: Stated {
            throughput_in: Some(Unit::Fps),
            lacks: vec![],
            has_maximum: true,
            loss_graph: Some(LossGraph {
                is_of_medium: true,
                is_in_percent: true,
                extent: (0.0, 100.0),
            }),
        },
        ..Facts::default()
    };
    Case {
        config: SuiteConfig::of_suite(suite, Profile::Rfc),
        facts,
        topology: Topology {
            forwarding: Forwarding::Routed,
            ports: vec![attachment(0), attachment(1)],
            encapsulated: None,
        },
    }
}

fn judge(test: TestKind, case: &Case) -> Vec<Judged> {
    super::judge(&Basis {
        test,
        config: &case.config,
        sizes: &case.config.frame_sizes,
        destinations: case.config.traffic.destinations,
        topology: &case.topology,
        facts: &case.facts,
    })
}

fn departures_of(test: TestKind, case: &Case) -> Vec<String> {
    departures(&judge(test, case), Profile::Rfc)
}

/// One change, the test that it matters to, and what is said of it.
type Change = (&'static str, &'static str, fn(&mut Case), &'static str);

/// The same without words.
type Other = (&'static str, &'static str, fn(&mut Case));

/// Everything that may go otherwise than the documents have it.
const CHANGES: &[Change] = &[
    ("rfc2889", "fully-meshed", |c| c.config.traffic.protocol = Protocol::UdpIpv6, "appendix C"),
    ("rfc2889", "broadcast", |c| c.config.traffic.random_ports = true, "random UDP ports"),
    ("rfc2889", "fully-meshed", |c| c.facts.failed_at_rate = Some((1, 3)), "1 of 3 full-length"),
    (
        "rfc2889",
        "forward-pressure",
        |c| {
            c.config.search.policy = SearchPolicy::Mlrsearch;
            c.config.search.goals =
                vec![GoalConfig { exceed_percent: 50.0, ..GoalConfig::default() }];
        },
        "exceed ratio of 50 % instead of 0 %",
    ),
    (
        "rfc3918",
        "mixed-class",
        |c| {
            c.config.search.policy = SearchPolicy::Mlrsearch;
            let second = GoalConfig {
                loss_percent: 1.0,
                final_trial_s: Some(90.0),
                ..GoalConfig::default()
            };
            c.config.search.goals = vec![GoalConfig::default(), second];
        },
        "final trial durations differ",
    ),
    ("rfc3918", "encapsulation", |c| c.facts.failed_at_rate = Some((1, 3)), "1 of 3 full-length"),
    (
        "rfc3918",
        "scaled-groups",
        |c| c.facts.joins = Some(Joins::NotProved { why: "port 1 lacks 2 of 10".into() }),
        "joins were not proved: port 1 lacks 2 of 10 (RFC 3918 section 3)",
    ),
    ("rfc2889", "broadcast-latency", |c| c.facts.has_line_time = Some(true), "section 5.10.3)"),
    ("rfc2544", "throughput", |c| c.config.traffic.protocol = Protocol::UdpIpv6, "appendix C"),
    ("rfc2544", "throughput", |c| c.facts.traffic.clear(), "does not state them"),
    (
        "rfc2544",
        "throughput",
        |c| c.config.frame_sizes.truncate(1),
        "1 frame sizes instead of >= 5",
    ),
    (
        "rfc2544",
        "throughput",
        |c| drop(c.config.frame_sizes.remove(0)),
        "without frames of 64 bytes",
    ),
    ("rfc2544", "throughput", |c| c.config.trial.learning_wait_s = 0.01, "learning frames 0.01 s"),
    (
        "rfc2544",
        "throughput",
        |c| c.config.traffic.destinations = Destinations::Random,
        "no routing update before each trial",
    ),
    (
        "rfc2544",
        "throughput",
        |c| {
            c.config.traffic.destinations = Destinations::Random;
            c.config.traffic.routing_updates = true;
            c.config.trial.routing_wait_s = 0.5;
        },
        "routing updates 0.5 s instead of >= 2 s (RFC 2544 section 23 a)",
    ),
    ("rfc2544", "throughput", |c| c.config.trial.drain_s = 0.0, "residual frames 0 s"),
    ("rfc2544", "throughput", |c| c.config.trial.settle_s = 0.0, "next trial 0 s"),
    (
        "rfc2544",
        "throughput",
        |c| c.config.trial.duration_s = 1.0,
        "trial duration 1 s instead of >= 60 s (RFC 2544 section 24)",
    ),
    ("rfc2544", "throughput", |c| c.facts.trial_s = Some(0.2), "trial duration 0.2 s"),
    (
        "rfc2544",
        "throughput",
        |c| {
            c.config.search.trial_duration_s = 1.0;
            c.config.throughput.final_trials = 0;
        },
        "none of 60 s follows",
    ),
    ("rfc2544", "throughput", |c| c.facts.failed_at_rate = Some((1, 3)), "1 of 3 full-length"),
    (
        "rfc2544",
        "throughput",
        |c| {
            c.config.search.policy = SearchPolicy::Mlrsearch;
            c.config.search.goals =
                vec![GoalConfig { exceed_percent: 50.0, ..GoalConfig::default() }];
        },
        "exceed ratio of 50 % instead of 0 %",
    ),
    (
        "rfc2544",
        "throughput",
        |c| {
            c.config.search.policy = SearchPolicy::Mlrsearch;
            let second = GoalConfig {
                loss_percent: 1.0,
                final_trial_s: Some(90.0),
                ..GoalConfig::default()
            };
            c.config.search.goals = vec![GoalConfig::default(), second];
        },
        "final trial durations differ",
    ),
    (
        "rfc2544",
        "throughput",
        |c| {
            c.config.search.policy = SearchPolicy::Bisect;
            c.config.trial.limits.shortfall = 0.1;
        },
        "offered load up to 10 % below the intended instead of 0.1 %",
    ),
    ("rfc2544", "throughput", |c| c.topology.ports[0].host_ipv4 = Ipv4Addr::LOCALHOST, "127.0.0.1"),
    (
        "rfc2544",
        "throughput",
        |c| c.config.traffic.destinations = Destinations::Random,
        "no routing update",
    ),
    (
        "rfc2544",
        "throughput",
        |c| c.config.trial.limits.shortfall = 0.2,
        "offered load up to 20 % below the intended instead of 0.1 % (RFC 2544 section 26)",
    ),
    ("rfc2544", "back-to-back", |c| c.config.trial.limits.shortfall = 0.2, "RFC 2544 section 26)"),
    ("rfc2889", "congestion", |c| c.config.trial.limits.shortfall = 0.2, "RFC 2544 section 26)"),
    ("rfc3918", "group-capacity", |c| c.config.trial.limits.shortfall = 0.2, "section 26)"),
    (
        "rfc2889",
        "fully-meshed",
        |c| c.config.trial.limits.unwanted = 0.2,
        "told of from 20 % of the frames sent on instead of 0.1 % (RFC 2544 section 10)",
    ),
    (
        "rfc2544",
        "loss",
        |c| c.config.trial.limits.late_after_us = 50,
        "late after: 50 us instead of <= 20 us (RFC 1242 section 3.4)",
    ),
    ("rfc3918", "mixed-class", |c| c.config.trial.limits.late_intervals = 17, "17 intervals"),
    ("rfc2544", "pdv", |c| c.config.trial.limits.credit_us = 101, "101 us instead of <= 100 us"),
    ("rfc2889", "congestion", |c| c.config.trial.limits.credit_frames = 129, "129 frames"),
    (
        "rfc2544",
        "throughput",
        |c| c.config.trial.verify_checksums = false,
        "set trial.verify_checksums = true (RFC 1242 section 3.17)",
    ),
    ("rfc3918", "group-join-delay", |c| c.config.trial.verify_checksums = false, "3.17"),
    ("rfc2544", "throughput", |c| c.config.trial.drain_max_s = 0.5, "residual frames 0.5 s"),
    (
        "rfc2544",
        "loss",
        |c| {
            c.facts.evidence.broadcast =
                Some(BroadcastShare { frames: 1_000, broadcast: 50, off: 1 });
        },
        "5.000 % of the frames are broadcast instead of 1 % (RFC 2544 section 11.1)",
    ),
    (
        "rfc2889",
        "fully-meshed",
        |c| c.facts.evidence.management = Some(Queries { sent: 9, due: 10, answered: Some(9) }),
        "9 queries in 10 s (RFC 2544 section 11.2)",
    ),
    (
        "rfc2544",
        "latency",
        |c| c.facts.evidence.management = Some(Queries { sent: 9, due: 9, answered: Some(4) }),
        "it answered 4 of 9 (RFC 2544 section 11.2)",
    ),
    (
        "rfc2544",
        "recovery",
        |c| {
            c.facts.evidence.routing_updates =
                Some(Updates { sent: 3, due: 4, streams: 2, of_one_state: 0 });
        },
        "3 updates instead of 4 (RFC 2544 section 11.3)",
    ),
    (
        "rfc2544",
        "back-to-back",
        |c| {
            c.facts.evidence.routing_updates =
                Some(Updates { sent: 4, due: 4, streams: 4, of_one_state: 4 });
        },
        "4 of 4 streams are so short that they have one update, of state A (RFC 2544 section 11.3)",
    ),
    (
        "rfc2544",
        "throughput",
        |c| c.facts.filter_rules = 10,
        "a filter of 10 rules instead of 1 or 25 (RFC 2544 section 11.4.1)",
    ),
    (
        "rfc2544",
        "throughput",
        |c| c.facts.stated.throughput_in = Some(Unit::Percent),
        "(RFC 2544 section 26.1)",
    ),
    (
        "rfc2544",
        "throughput",
        |c| c.facts.stated.lacks = vec!["protocol".into()],
        "not stated beside it: protocol",
    ),
    ("rfc2544", "throughput", |c| c.facts.stated.has_maximum = false, "does not stand beside it"),
    (
        "rfc2544",
        "loss",
        |c| c.facts.stated.loss_graph.as_mut().unwrap().is_of_medium = false,
        "not in percent of the medium's maximum (RFC 2544 section 26.3)",
    ),
    (
        "rfc2544",
        "loss",
        |c| c.facts.stated.loss_graph.as_mut().unwrap().extent = (0.0, 101.0),
        "from 0 to 101 lie beyond",
    ),
    (
        "rfc2544",
        "back-to-back",
        |c| c.facts.evidence.shortest = Some(units::Duration::from_ms(1_900)),
        "the shortest trial 1.9 s instead of >= 2 s (RFC 2544 section 26.4)",
    ),
    (
        "rfc2889",
        "congestion",
        |c| c.facts.frames_by_source = vec![100, 98],
        "they sent 100 and 98 frames (RFC 2889 section 5.5.3)",
    ),
    ("rfc2889", "broadcast", |c| c.config.traffic.random_macs = true, "random source addresses"),
    (
        "rfc3918",
        "burdened-latency",
        |c| c.facts.ingress_apart = Some(0.02),
        "the loads are 2.00 % apart (RFC 3918 section 8)",
    ),
    ("rfc2544", "latency", |c| c.facts.at_throughput = Some(false), "not the throughput"),
    ("rfc2544", "latency", |c| c.config.latency.stream_s = 1.5, "stream 1.5 s instead of >= 120 s"),
    (
        "rfc2544",
        "latency",
        |c| c.config.latency.first_tag_s = 0.5,
        "first tagged frame after 0.5 s",
    ),
    ("rfc2544", "latency", |c| c.config.latency.repetitions = 1, "repetitions 1 instead of >= 20"),
    ("rfc2544", "latency", |c| c.facts.repetitions = Some(19), "repetitions 19"),
    ("rfc2544", "latency", |c| c.facts.definition = Some(String::new()), "no definition"),
    ("rfc2544", "latency", |c| c.facts.has_line_time = Some(true), "(RFC 2544 section 26.2)"),
    ("rfc2544", "latency", |c| c.config.latency.tags = 100, "tagged frames 100"),
    ("rfc2544", "latency", |c| c.config.trial.limits.shortfall = 0.1, "(RFC 2544 section 26)"),
    ("rfc2544", "loss", |c| c.config.frame_loss.step_percent = 20.0, "steps of 20 %"),
    ("rfc2544", "loss", |c| c.facts.offered_short = Some(0.04), "load offered up to 4 % below"),
    ("rfc2544", "back-to-back", |c| c.config.back_to_back.repetitions = 1, "repetitions 1 instead"),
    ("rfc2544", "back-to-back", |c| c.facts.frame_bytes = None, "mixed sizes"),
    ("rfc2544", "back-to-back", |c| c.facts.throughput_fps = None, "no throughput"),
    ("rfc2544", "back-to-back", |c| c.config.back_to_back.wait_s = 0.1, "wait after a burst 0.1 s"),
    ("rfc2544", "back-to-back", |c| c.config.back_to_back.limit_s = 0.2, "longest burst 0.2 s"),
    ("rfc2544", "back-to-back", |c| c.facts.at_limit = Some(2), "2 searches ended at the limit"),
    (
        "rfc2544",
        "back-to-back",
        |c| c.config.traffic.protocol = Protocol::UdpIpv6,
        "(RFC 5180 section 7.4)",
    ),
    ("rfc2544", "recovery", |c| c.config.recovery.overload_percent = 105.0, "overload of 105 %"),
    ("rfc2544", "recovery", |c| c.config.recovery.overload_s = 1.0, "overload 1 s"),
    ("rfc2544", "recovery", |c| c.config.recovery.repetitions = 1, "repetitions 1"),
    ("rfc2544", "reset", |c| c.facts.unmeasured = Some(1), "before the device forwarded again"),
    ("rfc2544", "reset", |c| c.config.reset.before_s = 1.0, "traffic before the reset 1 s"),
    ("rfc2544", "reset", |c| c.config.reset.rate_percent = 50.0, "load of 50 %"),
    ("rfc2544", "reset", |c| c.facts.frame_bytes = Some(128), "frames of 128 bytes"),
    (
        "rfc2544",
        "pdv",
        |c| c.config.traffic.protocol = Protocol::Ethernet,
        "(RFC 8219 section 5.2)",
    ),
    ("rfc2544", "pdv", |c| c.facts.at_throughput = Some(false), "(RFC 8219 section 7.3.1)"),
    ("rfc2544", "pdv", |c| c.config.pdv.stream_s = 1.0, "stream 1 s"),
    ("rfc2544", "pdv", |c| c.config.pdv.repetitions = 3, "repetitions 3"),
    ("rfc2544", "ipdv", |c| c.facts.at_throughput = Some(false), "(RFC 8219 section 7.3.2)"),
    ("rfc2544", "ipdv", |c| c.config.ipdv.stream_s = 1.0, "stream 1 s"),
    ("rfc2544", "ipdv", |c| c.config.ipdv.repetitions = 3, "repetitions 3"),
    (
        "rfc2544",
        "loss",
        |c| {
            c.config.traffic.protocol = Protocol::UdpIpv6;
            c.config.modifiers = vec![Modifier::Broadcast];
        },
        "(RFC 5180 section 6)",
    ),
    (
        "rfc2544",
        "loss",
        |c| {
            c.config.traffic.protocol = Protocol::UdpIpv6;
            c.config.traffic.extension_headers =
                vec![ExtensionHeader::HopByHop, ExtensionHeader::HopByHop];
        },
        "hop-by-hop",
    ),
    (
        "rfc2544",
        "loss",
        |c| {
            c.config.traffic.protocol = Protocol::UdpIpv6;
            c.topology.ports[1].host_ipv6 = Ipv6Addr::LOCALHOST;
        },
        "(RFC 5180 section 8)",
    ),
    (
        "rfc2889",
        "fully-meshed",
        |c| c.config.chassis.learning_interval_s = 0.001,
        "1000 learning frames/s",
    ),
    (
        "rfc2889",
        "fully-meshed",
        |c| c.config.chassis.addresses.ageing_s = 10.0,
        "ageing time of 10 s",
    ),
    ("rfc2889", "fully-meshed", |c| c.config.frame_sizes.truncate(1), "128, 256, 512"),
    (
        "rfc2889",
        "fully-meshed",
        |c| c.facts.trial_s = Some(0.1),
        "trial duration 0.1 s instead of >= 30 s (RFC 2889 section 5.1.2)",
    ),
    ("rfc2889", "fully-meshed", |c| c.config.chassis.addresses_per_port = 4, "4 addresses a port"),
    (
        "rfc2889",
        "fully-meshed",
        |c| c.config.chassis.loads_percent = vec![50.0],
        "no load of 100 %",
    ),
    ("rfc2889", "fully-meshed", |c| c.facts.start_skew = Some(0.02), "2.00 % of the trial apart"),
    ("rfc2889", "fully-meshed", |c| c.config.trial.settle_s = 0.0, "(RFC 2544 section 23 e)"),
    ("rfc2889", "congestion", |c| c.facts.ports = 6, "6 ports"),
    ("rfc2889", "address-caching", |c| c.facts.ports = 2, "ports 2 instead of >= 3"),
    ("rfc2889", "address-caching", |c| c.facts.bound_only = Some("why".into()), "5.7.3"),
    (
        "rfc2889",
        "errored-frames",
        |c| c.config.chassis.errored.loads_percent = vec![50.0],
        "loads 1",
    ),
    ("rfc2889", "broadcast-latency", |c| c.facts.unmeasured = Some(1), "1 ports received nothing"),
    (
        "rfc3918",
        "aggregated-multicast",
        |c| c.config.frame_sizes.truncate(1),
        "(RFC 3918 section 3.1.3)",
    ),
    (
        "rfc3918",
        "aggregated-multicast",
        |c| c.facts.trial_s = Some(0.1),
        "(RFC 3918 section 3.1.5)",
    ),
    (
        "rfc3918",
        "mixed-class",
        |c| c.config.chassis.multicast.unicast_per_multicast = 2,
        "2 unicast frames",
    ),
    (
        "rfc3918",
        "aggregated-multicast",
        |c| c.facts.queries = Some(trial::QueryCounts { queries: 4, reports: 0, due: 0 }),
        "4 queries came, and no report answered them",
    ),
    ("rfc3918", "mixed-class", |c| c.facts.has_classes = Some(false), "not told apart"),
    ("rfc3918", "scaled-groups", |c| c.facts.knows_capacity = Some(false), "section 4.2"),
    ("rfc3918", "scaled-groups", |c| c.config.chassis.multicast.matrix_step = 50, "50 more"),
    (
        "rfc3918",
        "decapsulation",
        |c| c.config.chassis.multicast.tunnel_out = crate::rfc3918::Tunnel::Vxlan,
        "decapsulated from another (RFC 3918 section 4.4.2)",
    ),
    ("rfc3918", "encapsulation", |c| c.facts.received_bytes = None, "no frame came out"),
    ("rfc3918", "multicast-latency", |c| c.facts.trial_s = Some(30.0), "30 s instead of >= 120 s"),
    ("rfc3918", "multicast-latency", |c| c.facts.last_tag_s = Some(6.0), "6.0 s after the end"),
    (
        "rfc3918",
        "multicast-latency",
        |c| c.config.chassis.multicast.load_percent = Some(10.0),
        "load of 10 %",
    ),
    (
        "rfc3918",
        "group-join-delay",
        |c| c.config.chassis.multicast.load_percent = Some(10.0),
        "section 6)",
    ),
    ("rfc3918", "group-join-delay", |c| c.facts.trial_s = Some(11.0), "trial duration 11 s"),
    (
        "rfc3918",
        "group-join-delay",
        |c| c.facts.unmeasured = Some(2),
        "nothing can be said of 2 ports",
    ),
    ("rfc3918", "group-capacity", |c| c.config.chassis.multicast.join_settle_s = 0.0, "no wait"),
    ("rfc3918", "group-capacity", |c| c.facts.bound_only = Some("why".into()), "section 7.1"),
    ("rfc3918", "burdened-latency", |c| c.facts.has_both = Some(false), "one of them is missing"),
    ("harvard-1990", "max-rate", |c| c.config.harvard.max_rate_stream_s = 1.0, "streams of 1 s"),
    ("harvard-1990", "raw-rate", |c| c.config.harvard.raw_rate_stream_s = 1.0, "streams of 1 s"),
    ("harvard-1989", "idle-state", |c| c.config.harvard_1989.idle_s = 1.0, "counting 1 s"),
    ("harvard-1989", "max-rate", |c| c.config.harvard_1989.rate_stream_s = 1.0, "full form"),
    ("gigaswitch", "fanout", |c| c.facts.trial_s = Some(0.1), "trial duration 0.1 s"),
    (
        "tolly",
        "base-unicast",
        |c| c.config.chassis.tolly.iterations = 1,
        "1 iterations instead of 3",
    ),
    (
        "tolly",
        "base-unicast",
        |c| c.facts.line_rate = Some(LineRate::from_gbps(1)),
        "instead of Fast Ethernet",
    ),
];

/// What these ports cannot do, and what a series of runs would have besides: neither is a departure.
const OTHERS: &[Other] = &[
    ("rfc2544", "throughput", |c| c.facts.given_up = vec!["time".into()]),
    ("rfc2544", "throughput", |c| c.facts.tester_short = Some("short".into())),
    ("rfc2544", "throughput", |c| c.facts.bound_only = Some("short".into())),
    ("rfc2889", "fully-meshed", |c| c.facts.bound_only = Some("short".into())),
    ("rfc2544", "loss", |c| c.facts.of_medium = Some(false)),
    ("rfc2544", "back-to-back", |c| c.facts.minimum_gap = Some(false)),
    ("rfc2544", "back-to-back", |c| {
        c.config.traffic.protocol = Protocol::UdpIpv6;
        c.facts.not_measured = Some("not asked for".into());
    }),
    ("rfc3918", "aggregated-multicast", |c| c.facts.bound_only = Some("short".into())),
    ("rfc3918", "group-capacity", |c| {
        c.config.chassis.multicast.version = crate::rfc3918::Version::Igmpv1;
    }),
    ("rfc2889", "forward-pressure", |c| c.facts.not_tried = vec!["no such gap".into()]),
    ("rfc2889", "errored-frames", |c| c.facts.not_tried = vec!["no such frames".into()]),
    ("rfc2544", "throughput", |c| {
        c.config.search.policy = SearchPolicy::Mlrsearch;
        let half =
            GoalConfig { exceed_percent: 50.0, width_percent: Some(1.0), ..GoalConfig::default() };
        c.config.search.goals = vec![
            GoalConfig { width_percent: Some(1.0), ..GoalConfig::default() },
            GoalConfig { loss_percent: 0.5, ..half },
        ];
    }),
    ("rfc2544", "throughput", |c| c.config.search.policy = SearchPolicy::Mlrsearch),
    ("rfc2544", "reset", |c| c.config.reset.kinds = vec![ResetKind::Link]),
    ("rfc2544", "throughput", |c| c.config.traffic.protocol = Protocol::UdpIpv6),
    ("rfc2544", "throughput", |c| {
        c.config.traffic.protocol = Protocol::UdpIpv6;
        c.config.traffic.destinations = Destinations::Random;
    }),
    ("rfc2544", "throughput", |c| {
        c.config.traffic.protocol = Protocol::UdpIpv6;
        c.config.traffic.destinations = Destinations::Random;
        c.config.traffic.ipv6_prefixes = vec![48, 64, 126, 128];
        c.config
            .frame_sizes
            .extend([1522, 4096, 8192, 9216].map(|b| SizePattern::Fixed(FrameSize::from_bytes(b))));
    }),
    ("rfc2544", "pdv", |c| {
        c.config.direction = Direction::Bidirectional;
        c.config.modifiers =
            vec![Modifier::Broadcast, Modifier::Management, Modifier::RoutingUpdate];
        (c.config.traffic.random_macs, c.config.traffic.random_ports) = (true, true);
        c.config.frame_sizes.extend(
            [768, 1522, 2048, 4096, 8192, 9216]
                .map(|b| SizePattern::Fixed(FrameSize::from_bytes(b))),
        );
    }),
    ("rfc2544", "pdv", |c| {
        c.config.direction = Direction::Bidirectional;
        c.config.traffic.protocol = Protocol::UdpIpv6;
        c.config.traffic.extension_headers = vec![ExtensionHeader::HopByHop; 2];
    }),
    ("rfc2544", "throughput", |c| {
        c.topology.ports.extend([2, 3].map(|port| Attachment::plan(PortId(port))));
    }),
    ("rfc2544", "throughput", |c| {
        c.topology.ports.extend([2, 3].map(|port| Attachment::plan(PortId(port))));
        c.config.pattern = Pattern::MultiPort;
    }),
    ("rfc2544", "loss", |c| {
        c.config.traffic.destinations = Destinations::Random;
        c.config.traffic.routing_updates = true;
    }),
    ("rfc2544", "loss", |c| c.config.burst_frames = 64),
    ("rfc2544", "loss", |c| c.facts.filter_rules = 25),
    ("rfc2544", "loss", |c| {
        c.config.traffic.destinations = Destinations::Both;
        c.config.traffic.distinct_frames = 16;
    }),
    ("rfc2544", "loss", |c| c.config.traffic.destinations = Destinations::Both),
];

fn method(suite: &str, id: &str) -> &'static TestMethod {
    let suite = SuiteName::ALL.into_iter().find(|name| name.to_string() == suite).unwrap();
    suite.test(id).unwrap_or_else(|| panic!("{suite} has no test {id}"))
}

fn changed(test: TestKind, change: fn(&mut Case)) -> Case {
    let mut case = ideal(test);
    change(&mut case);
    case
}

#[test]
fn as_the_documents_have_it_nothing_departs() {
    for test in registry::all() {
        let found = departures_of(test.kind, &ideal(test.kind));
        assert_eq!(found, [""; 0], "{}", test.id);
    }
}

#[test]
fn each_change_is_named() {
    for (suite, id, change, expected) in CHANGES {
        let test = method(suite, id).kind;
        let found = departures_of(test, &changed(test, *change));
        assert!(found.iter().any(|how| how.contains(expected)), "{id}: {expected}: {found:?}");
    }
}

/// What a search could not find out is neither met nor departed from.
#[test]
fn a_search_that_decided_nothing_is_not_checked() {
    for (suite, id) in [("rfc2544", "throughput"), ("rfc3918", "aggregated-multicast")] {
        let test = method(suite, id).kind;
        let judged = judge(test, &changed(test, |c| c.facts.undecided = Some("why".into())));
        let ruled: Vec<_> = judged.iter().filter(|judged| judged.why == "why").collect();
        assert_eq!(ruled.len(), 1, "{id}");
        assert_eq!(ruled[0].verdict, Verdict::NotChecked);
    }
}

/// Each clause with a predicate is met by something, and by something it is not.
#[test]
fn no_predicate_always_says_the_same() {
    let key = |judged: &Judged| (judged.document.clone(), judged.words.clone());
    let (mut met, mut not_met) = (BTreeSet::new(), BTreeSet::new());
    let mut take = |judged: Vec<Judged>| {
        for judged in judged {
            match judged.verdict {
                Verdict::Met => met.insert(key(&judged)),
                Verdict::Departed | Verdict::NotPossible => not_met.insert(key(&judged)),
                Verdict::NotApplicable | Verdict::NotChecked => false,
            };
        }
    };
    for test in registry::all() {
        take(judge(test.kind, &ideal(test.kind)));
    }
    let changes = CHANGES.iter().map(|(suite, id, change, _)| (suite, id, change));
    for (suite, id, change) in changes.chain(OTHERS.iter().map(|(s, id, change)| (s, id, change))) {
        let test = method(suite, id).kind;
        take(judge(test, &changed(test, *change)));
    }
    for clause in all().filter(|clause| !matches!(clause.rule, Rule::Always(..))) {
        let key = (clause.document.to_string(), clause.words.to_string());
        assert!(met.contains(&key), "never met: {key:?}");
        assert!(not_met.contains(&key), "never departed from: {key:?}");
    }
}

#[test]
fn what_other_runs_would_have_is_not_held_against_a_result() {
    for (suite, id, change) in &OTHERS[..6] {
        let test = method(suite, id).kind;
        assert_eq!(departures_of(test, &changed(test, *change)), [""; 0], "{id}");
    }
    let throughput = judge(TestKind::Throughput, &ideal(TestKind::Throughput));
    let of_series: Vec<_> = throughput.iter().filter(|judged| judged.is_of_series).collect();
    assert!(of_series.iter().any(|judged| judged.verdict == Verdict::Departed));
    assert!(of_series.iter().all(|judged| judged.departure().is_none() && judged.conforms()));
    // A MUST that these ports cannot meet is not met.
    let pressure = method("rfc2889", "forward-pressure").kind;
    let judged = judge(pressure, &changed(pressure, |c| c.facts.not_tried = vec!["why".into()]));
    assert!(!judged.iter().all(Judged::conforms));
}

#[test]
fn every_test_of_an_rfc_has_clauses_of_its_own() {
    for test in registry::all().filter(|test| test.document.starts_with("RFC")) {
        let own = test.section.trim_start_matches("section ");
        let of_document: Vec<_> =
            of_test(test.kind).filter(|clause| clause.document == test.document).collect();
        assert!(of_document.len() >= 3, "{}: {}", test.id, of_document.len());
        let is_own = |clause: &&&Clause| {
            let section = clause.section_of(test.kind);
            section.starts_with(own) || own.starts_with(&section)
        };
        assert!(of_document.iter().any(|clause| is_own(&clause)), "{}: {own}", test.id);
    }
}

#[test]
fn a_quick_run_says_what_it_is() {
    let case = Case { config: SuiteConfig::of(Profile::Quick), ..ideal(TestKind::Latency) };
    for test in registry::all().filter(|test| test.suite == SuiteName::Rfc2544) {
        let found = departures(&judge(test.kind, &case), Profile::Quick);
        assert!(found.len() > 2 && found.last().unwrap().contains("not for publication"));
    }
}

/// The page lists what the program judges by; where it does not, the new one lies beside it.
#[test]
fn the_page_is_that_of_the_table() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/clauses.md");
    if std::fs::read_to_string(&page).unwrap_or_default() != as_markdown() {
        let new = std::env::temp_dir().join("clauses.md");
        std::fs::write(&new, as_markdown()).unwrap();
        panic!("{} is not what is judged by: copy {} there", page.display(), new.display());
    }
}
