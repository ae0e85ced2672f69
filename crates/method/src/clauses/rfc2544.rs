//! RFC 2544: benchmarking methodology for network interconnect devices.

use super::facts::{is_rfc2889, is_rfc3918};
use super::{Clause, Level, Pair, Rule, Ruling, Verdict};
use crate::{Destinations, Direction, Forwarding, Modifier, Protocol, SearchPolicy, TestKind};
use TestKind::{BackToBack, FrameLoss, Ipdv, Latency, Pdv, Recovery, Reset, Throughput};
use trial::ValidityLimits;
use units::FrameSize;
use wire::size::SizePattern;

const fn clause(
    section: &'static str,
    level: Level,
    words: &'static str,
    concerns: fn(TestKind) -> bool,
    rule: Rule,
) -> Clause {
    Clause::new(("RFC 2544", section), level, words, concerns, rule)
}

/// The tests of two ports that follow RFC 2544.
pub(super) fn is_pair(test: TestKind) -> bool {
    matches!(test, Throughput | Latency | Pdv | Ipdv | FrameLoss | BackToBack | Recovery | Reset)
}
/// Those that are made with every frame size.
pub(super) fn has_sizes(test: TestKind) -> bool {
    is_pair(test) && test != Reset
}
fn is_of_rfc(test: TestKind) -> bool {
    match test {
        TestKind::Chassis(test) => is_rfc2889(test) || is_rfc3918(test),
        test => is_pair(test),
    }
}
fn is_throughput(test: TestKind) -> bool {
    test == Throughput
}
fn is_latency(test: TestKind) -> bool {
    test == Latency
}
fn is_loss(test: TestKind) -> bool {
    test == FrameLoss
}
fn is_recovery(test: TestKind) -> bool {
    test == Recovery
}

pub(super) static CLAUSES: &[Clause] = &[
    clause(
        "7",
        Level::Must,
        "Set up the device as its manual says, and alike for all tests.",
        is_of_rfc,
        Rule::Always(Verdict::NotChecked, "whoever runs the test sets up the device"),
    ),
    clause(
        "8",
        Level::Should,
        "Frames have the formats of appendix C.",
        is_pair,
        Rule::Pair(format),
    ),
    clause("8", Level::Must, "The report states the frame formats.", is_pair, Rule::Pair(stated)),
    clause(
        "9",
        Level::Should,
        "Test at least five frame sizes.",
        has_sizes,
        Rule::Pair(five_sizes),
    ),
    clause(
        "9.1",
        Level::Should,
        "Test 64, 128, 256, 512, 1024, 1280 and 1518 bytes.",
        has_sizes,
        Rule::Pair(all_sizes),
    ),
    clause(
        "10",
        Level::Should,
        "Check number, order and length of received frames.",
        is_pair,
        Rule::Pair(verification),
    ),
    clause(
        "11",
        Level::Should,
        "Repeat the tests with broadcast, management and routing update frames.",
        has_sizes,
        Rule::Pair(modifiers),
    )
    .of_series(),
    clause(
        "12",
        Level::Should,
        "Repeat the tests with random destinations: 256 networks, or any MAC address.",
        has_sizes,
        Rule::Pair(destinations),
    )
    .of_series(),
    clause(
        "13",
        Level::Must,
        "Send a routing update with all networks before each trial.",
        is_pair,
        Rule::Pair(routing_update),
    ),
    clause(
        "14",
        Level::Should,
        "Repeat the tests with the same rate from both sides.",
        has_sizes,
        Rule::Pair(both_ways),
    )
    .of_series(),
    clause(
        "20",
        Level::Should,
        "The highest load offered is the medium's maximum.",
        |test| matches!(test, Throughput | FrameLoss),
        Rule::Pair(medium_maximum),
    ),
    clause(
        "23 b",
        Level::Default,
        "Wait 2 s after learning frames.",
        |test| is_of_rfc(test) && !matches!(test, TestKind::Chassis(of) if is_rfc3918(of)),
        Rule::Trial(|t| {
            Ruling::at_least("wait after learning frames", t.learning_wait_s, 2.0, " s")
        }),
    ),
    clause(
        "23 d",
        Level::Default,
        "Wait 2 s for residual frames.",
        |test| is_of_rfc(test) && !matches!(test, BackToBack | Reset),
        Rule::Trial(|t| Ruling::at_least("wait for residual frames", t.drain_s, 2.0, " s")),
    ),
    clause(
        "23 e",
        Level::Default,
        "Wait at least 5 s before the next trial.",
        is_of_rfc,
        Rule::Trial(|t| Ruling::at_least("wait before the next trial", t.settle_s, 5.0, " s")),
    ),
    clause(
        "24",
        Level::Should,
        "Trials that decide last at least 60 s.",
        |test| matches!(test, Throughput | FrameLoss),
        Rule::Pair(duration),
    ),
    clause(
        "24",
        Level::Should,
        "After a search of shorter trials, full-length ones decide.",
        is_throughput,
        Rule::Pair(final_trials),
    ),
    clause(
        "26",
        Level::Default,
        "The load offered is the one intended, within 0.1 %.",
        |test| is_pair(test) && test != BackToBack,
        Rule::Pair(shortfall),
    ),
    clause(
        "26.1",
        Level::Default,
        "No trial at the throughput loses a frame.",
        is_throughput,
        Rule::Pair(no_loss),
    ),
    clause(
        "26.1",
        Level::Default,
        "Throughput is the fastest such rate: a faster one failed, or the medium ends there.",
        is_throughput,
        Rule::Pair(fastest),
    ),
    clause(
        "26.2",
        Level::Default,
        "The load is the throughput of the frame size.",
        is_latency,
        Rule::Pair(|p| at_throughput(p)),
    ),
    clause(
        "26.2",
        Level::Should,
        "The stream lasts at least 120 s.",
        is_latency,
        Rule::Pair(|p| Ruling::at_least("stream", p.config.latency.stream_s, 120.0, " s")),
    ),
    clause(
        "26.2",
        Level::Should,
        "A frame is tagged after 60 s.",
        is_latency,
        Rule::Pair(|p| {
            Ruling::at_least("first tagged frame after", p.config.latency.first_tag_s, 60.0, " s")
        }),
    ),
    clause(
        "26.2",
        Level::Must,
        "Repeat the trial at least 20 times; report the mean.",
        is_latency,
        Rule::Pair(|p| repetitions(p, p.config.latency.repetitions, 20)),
    ),
    clause(
        "26.2",
        Level::Must,
        "The report states which definition of latency it uses.",
        is_latency,
        Rule::Pair(|p| match &p.facts.definition {
            None => Ruling::not_checked("the result does not say"),
            Some(words) => Ruling::met_if(!words.is_empty(), || "no definition is stated".into()),
        }),
    ),
    clause(
        "26.2",
        Level::Default,
        "Latency is that of RFC 1242: last bit in to first bit out, or first to first.",
        is_latency,
        Rule::Pair(definition),
    ),
    clause(
        "26.3",
        Level::Default,
        "The first load is 100 % of the medium's maximum.",
        is_loss,
        Rule::Pair(|p| match p.facts.of_medium {
            None => Ruling::not_checked("the result does not say"),
            Some(true) => Ruling::met(),
            Some(false) => Ruling::not_possible("loads are shares of the tester's own maximum"),
        }),
    ),
    clause(
        "26.3",
        Level::Must,
        "The load goes down by steps of at most 10 %.",
        is_loss,
        Rule::Pair(|p| {
            let step = p.config.frame_loss.step_percent;
            Ruling::met_if(step <= 10.0, || format!("steps of {step} % instead of <= 10 %"))
        }),
    ),
    clause(
        "26.4",
        Level::Should,
        "Repeat the search for the longest burst at least 50 times.",
        |test| test == BackToBack,
        Rule::Pair(|p| repetitions(p, p.config.back_to_back.repetitions, 50)),
    ),
    clause(
        "26.5",
        Level::Default,
        "The overload is 110 % of the throughput, or the medium's maximum.",
        is_recovery,
        Rule::Pair(|p| {
            let percent = p.config.recovery.overload_percent;
            Ruling::met_if(percent == 110.0, || {
                format!("overload of {percent} % of the throughput instead of 110 %")
            })
        }),
    ),
    clause(
        "26.5",
        Level::Default,
        "The overload lasts at least 60 s.",
        is_recovery,
        Rule::Pair(|p| Ruling::at_least("overload", p.config.recovery.overload_s, 60.0, " s")),
    ),
    clause(
        "26.5",
        Level::Default,
        "Repeat the test several times; report the mean.",
        is_recovery,
        Rule::Pair(|p| repetitions(p, p.config.recovery.repetitions, 2)),
    ),
    clause(
        "C.2.2",
        Level::Should,
        "Addresses are of 198.18.0.0/15, which is reserved for benchmarks.",
        is_pair,
        Rule::Pair(addresses),
    ),
];

/// Those that were asked for or, where fewer of them count, those.
pub(super) fn repetitions(p: &Pair<'_>, asked: u32, bound: u32) -> Ruling {
    let done = p.facts.repetitions.map_or(asked, |done| asked.min(done as u32));
    Ruling::at_least("repetitions", done.into(), bound.into(), "")
}

pub(super) fn at_throughput(p: &Pair<'_>) -> Ruling {
    match p.facts.at_throughput {
        None => Ruling::not_checked("the result does not say"),
        Some(is) => Ruling::met_if(is, || "the load is not the throughput".into()),
    }
}

fn format(p: &Pair<'_>) -> Ruling {
    let traffic = &p.config.traffic;
    let mut how = vec![];
    if traffic.protocol != Protocol::UdpIpv4 {
        how.push(format!("frames are {}", traffic.protocol.name()));
    }
    let others = [
        (!traffic.vlans.is_empty(), "VLAN tags"),
        (traffic.ipv6_percent.is_some(), "IPv6 among the frames"),
        (!traffic.extension_headers.is_empty(), "extension headers"),
        (traffic.random_ports, "random UDP ports"),
        (traffic.flows.is_some(), "flows of other addresses or ports"),
    ];
    how.extend(others.iter().filter(|(is, _)| *is).map(|(_, what)| what.to_string()));
    Ruling::met_if(how.is_empty(), || {
        format!("frames are not those of appendix C: {}", how.join(", "))
    })
}

fn stated(p: &Pair<'_>) -> Ruling {
    Ruling::met_if(!p.facts.traffic.is_empty(), || "the report does not state them".into())
}

fn five_sizes(p: &Pair<'_>) -> Ruling {
    let count = p.sizes.len();
    Ruling::met_if(count >= 5, || format!("{count} frame sizes instead of >= 5"))
}

fn all_sizes(p: &Pair<'_>) -> Ruling {
    missing_sizes(p.sizes, FrameSize::RFC2544_ETHERNET)
}

/// Sizes of a list that are not among those of the run.
pub(super) fn missing_sizes<const N: usize>(run: &[SizePattern], all: [FrameSize; N]) -> Ruling {
    let missing = all.into_iter().filter(|size| !run.contains(&SizePattern::Fixed(*size)));
    let missing: Vec<String> = missing.map(|size| size.bytes().to_string()).collect();
    Ruling::met_if(missing.is_empty(), || format!("without frames of {} bytes", missing.join(", ")))
}

fn verification(p: &Pair<'_>) -> Ruling {
    match &p.facts.given_up[..] {
        [] => Ruling::met(),
        what => Ruling::not_possible(format!(
            "frames of this size have no room for all of it: {}",
            what.join(", ")
        )),
    }
}

fn modifiers(p: &Pair<'_>) -> Ruling {
    let all = [Modifier::Broadcast, Modifier::Management, Modifier::RoutingUpdate];
    let missing = all.iter().filter(|modifier| !p.config.modifiers.contains(modifier));
    let missing: Vec<String> = missing.map(Modifier::to_string).collect();
    Ruling::met_if(missing.is_empty(), || format!("not run with {}", missing.join(", ")))
}

fn destinations(p: &Pair<'_>) -> Ruling {
    Ruling::met_if(p.config.traffic.destinations == Destinations::Random, || {
        "one pair of addresses".into()
    })
}

fn routing_update(p: &Pair<'_>) -> Ruling {
    let traffic = &p.config.traffic;
    if p.topology.forwarding != Forwarding::Routed || traffic.protocol == Protocol::Ethernet {
        return Ruling::not_applicable("the device does not route these frames");
    }
    match traffic.destinations {
        Destinations::One => Ruling::not_applicable("the device is next to all networks"),
        Destinations::Random => {
            Ruling::departed("no routing update before each trial: the device's routes are static")
        }
    }
}

fn both_ways(p: &Pair<'_>) -> Ruling {
    Ruling::met_if(p.config.direction == Direction::Bidirectional, || "one direction".into())
}

fn medium_maximum(p: &Pair<'_>) -> Ruling {
    match &p.facts.tester_short {
        None => Ruling::met(),
        Some(words) => Ruling::not_possible(words.clone()),
    }
}

fn duration(p: &Pair<'_>) -> Ruling {
    let asked = p.config.trial.duration_s;
    let search = &p.config.search;
    let planned = match (p.test, search.policy) {
        // The goal without loss stands for throughput.
        (Throughput, SearchPolicy::Mlrsearch) => {
            let goals = search.goals(&[], asked);
            goals.first().map_or(asked, |goal| goal.final_duration.as_secs_f64())
        }
        _ => asked,
    };
    let done = p.facts.trial_s.unwrap_or(planned);
    Ruling::at_least("trial duration", done.min(planned), 60.0, " s")
}

fn final_trials(p: &Pair<'_>) -> Ruling {
    let (search, full) = (&p.config.search, p.config.trial.duration_s);
    let is_short = search.trial_duration_s < full && search.policy != SearchPolicy::Mlrsearch;
    Ruling::met_if(!is_short || p.config.throughput.final_trials > 0, || {
        format!("trials of {} s decide: none of {full} s follows", search.trial_duration_s)
    })
}

fn shortfall(p: &Pair<'_>) -> Ruling {
    if p.test == Throughput && p.config.search.policy == SearchPolicy::Adaptive {
        return Ruling::not_applicable("the adaptive search goes by the load offered");
    }
    let (usual, limit) = (ValidityLimits::default().shortfall, p.config.trial.limits.shortfall);
    Ruling::met_if(limit <= usual, || {
        let (limit, usual) = (limit * 100.0, usual * 100.0);
        format!("offered load up to {limit} % below the intended instead of {usual} %")
    })
}

fn no_loss(p: &Pair<'_>) -> Ruling {
    let search = &p.config.search;
    if search.policy == SearchPolicy::Mlrsearch {
        let goals = search.goals(&[], p.config.trial.duration_s);
        let exceed = goals.first().map_or(0.0, |goal| goal.exceed_ratio * 100.0);
        if exceed > 0.0 {
            return Ruling::departed(format!(
                "exceed ratio of {exceed} % instead of 0 %: trials at the throughput rate may lose \
                 frames"
            ));
        }
    }
    match p.facts.failed_at_rate {
        None => Ruling::not_checked("no rate was found"),
        Some((failed, all)) => Ruling::met_if(failed == 0, || {
            format!("{failed} of {all} full-length trials at this rate lost frames")
        }),
    }
}

fn fastest(p: &Pair<'_>) -> Ruling {
    match &p.facts.bound_only {
        None => Ruling::met(),
        Some(why) => Ruling::not_possible(why.clone()),
    }
}

fn definition(p: &Pair<'_>) -> Ruling {
    match p.facts.has_line_time {
        None => Ruling::not_checked("the result does not say"),
        Some(has) => Ruling::met_if(!has, || {
            "time of the frame's bits on the sending and the receiving line is in it".into()
        }),
    }
}

fn addresses(p: &Pair<'_>) -> Ruling {
    if p.config.traffic.protocol != Protocol::UdpIpv4 {
        return Ruling::not_applicable("frames are not IPv4");
    }
    let is_reserved = |port: &crate::Attachment| {
        let [first, second, ..] = port.host_ipv4.octets();
        first == 198 && second & 0xfe == 18
    };
    let outside = p.topology.ports.iter().find(|port| !is_reserved(port));
    Ruling::met_if(outside.is_none(), || {
        let address = outside.map(|port| port.host_ipv4.to_string()).unwrap_or_default();
        format!("{address} is outside of it")
    })
}
