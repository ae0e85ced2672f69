//! What the clauses ask of a configuration and a result.

use crate::clauses::{Basis, Facts, Ruling, Verdict};
use crate::{
    Destinations, Direction, Forwarding, Modifier, Pattern, Protocol, SearchPolicy, TestKind,
    Traffic, TrialConfig,
};
use TestKind::Throughput;
use traffic::size::SizePattern;
use trial::ValidityLimits;
use units::FrameSize;

/// Those that were asked for or, where fewer of them count, those.
pub(in crate::clauses) fn repetitions(p: &Basis<'_>, asked: u32, bound: u32) -> Ruling {
    let done = p.facts.repetitions.map_or(asked, |done| asked.min(done as u32));
    Ruling::at_least("repetitions", done.into(), bound.into(), "")
}

pub(in crate::clauses) fn at_throughput(p: &Basis<'_>) -> Ruling {
    match p.facts.at_throughput {
        None => Ruling::not_checked("the result does not say"),
        Some(is) => Ruling::met_if(is, || "the load is not the throughput".into()),
    }
}

pub(super) fn format(p: &Basis<'_>) -> Ruling {
    let tagged = !p.config.traffic.vlans.is_empty();
    formats(p, tagged.then_some("VLAN tags"))
}

/// Frames of RFC 2544 appendix C, VLAN tags allowed (RFC 2889 section 4).
pub(in crate::clauses) fn format_of_switches(p: &Basis<'_>) -> Ruling {
    formats(p, None)
}

fn formats(p: &Basis<'_>, tags: Option<&str>) -> Ruling {
    let traffic = &p.config.traffic;
    let mut how: Vec<String> = vec![];
    if traffic.protocol != Protocol::UdpIpv4 {
        how.push(format!("frames are {}", traffic.protocol.name()));
    }
    let others = [
        (traffic.ipv6_percent.is_some(), "IPv6 among the frames"),
        (!traffic.extension_headers.is_empty(), "extension headers"),
        (traffic.random_ports, "random UDP ports"),
        (traffic.flows.is_some(), "flows of other addresses or ports"),
    ];
    how.extend(tags.map(str::to_owned));
    how.extend(others.iter().filter(|(is, _)| *is).map(|(_, what)| what.to_string()));
    Ruling::met_if(how.is_empty(), || {
        format!("frames are not those of appendix C: {}", how.join(", "))
    })
}

pub(super) fn stated(p: &Basis<'_>) -> Ruling {
    Ruling::met_if(!p.facts.traffic.is_empty(), || "the report does not state them".into())
}

pub(super) fn five_sizes(p: &Basis<'_>) -> Ruling {
    let count = p.sizes.len();
    Ruling::met_if(count >= 5, || format!("{count} frame sizes instead of >= 5"))
}

/// Sizes that the headers leave no room for are nobody's to test.
pub(super) fn all_sizes(p: &Basis<'_>) -> Ruling {
    let all = FrameSize::RFC2544_ETHERNET;
    let (least, _) = Traffic::frame_limits(p.config, p.topology);
    let (short, possible): (Vec<_>, Vec<_>) = all.into_iter().partition(|size| *size < least);
    let ruling = missing_sizes(p.sizes, possible);
    if ruling.verdict != Verdict::Met || short.is_empty() {
        return ruling;
    }
    let short: Vec<String> = short.iter().map(|size| size.bytes().to_string()).collect();
    Ruling::not_possible(format!(
        "frames of {} bytes have no room for the headers, which take {} bytes",
        short.join(", "),
        least.bytes()
    ))
}

/// Sizes of a list that are not among those of the run.
pub(in crate::clauses) fn missing_sizes(
    run: &[SizePattern],
    all: impl IntoIterator<Item = FrameSize>,
) -> Ruling {
    let missing = all.into_iter().filter(|size| !run.contains(&SizePattern::Fixed(*size)));
    let missing: Vec<String> = missing.map(|size| size.bytes().to_string()).collect();
    Ruling::met_if(missing.is_empty(), || format!("without frames of {} bytes", missing.join(", ")))
}

pub(super) fn verification(p: &Basis<'_>) -> Ruling {
    match &p.facts.given_up[..] {
        [] => Ruling::met(),
        what => Ruling::not_possible(format!(
            "frames of this size have no room for all of it: {}",
            what.join(", ")
        )),
    }
}

pub(super) fn modifiers(p: &Basis<'_>) -> Ruling {
    let all = [Modifier::Broadcast, Modifier::Management, Modifier::RoutingUpdate];
    let missing = all.iter().filter(|modifier| !p.config.modifiers.contains(modifier));
    let missing: Vec<String> = missing.map(Modifier::to_string).collect();
    Ruling::met_if(missing.is_empty(), || format!("not run with {}", missing.join(", ")))
}

/// Networks of RFC 2544 section 12.
const NETWORKS: u64 = 256;

pub(super) fn destinations(p: &Basis<'_>) -> Ruling {
    let traffic = &p.config.traffic;
    match traffic.destinations {
        Destinations::One => Ruling::departed("one pair of addresses"),
        Destinations::Random | Destinations::Both => {
            let frames = traffic.distinct_frames;
            Ruling::met_if(frames >= NETWORKS, || {
                format!(
                    "the same {frames} frames again and again reach fewer than {NETWORKS} networks"
                )
            })
        }
    }
}

pub(super) fn routing_update(p: &Basis<'_>) -> Ruling {
    let traffic = &p.config.traffic;
    if p.topology.forwarding != Forwarding::Routed || traffic.protocol == Protocol::Ethernet {
        return Ruling::not_applicable("the device does not route these frames");
    }
    if p.destinations == Destinations::One {
        return Ruling::not_applicable("the device is next to all networks");
    }
    Ruling::met_if(traffic.routing_updates, || {
        "no routing update before each trial: the device's routes are static".into()
    })
}

/// Of section 23 a, where there are updates.
pub(super) fn routing_wait(p: &Basis<'_>) -> Ruling {
    let is_sent = p.config.traffic.routing_updates && p.destinations != Destinations::One;
    match is_sent && p.topology.forwarding == Forwarding::Routed {
        false => Ruling::not_applicable("no routing updates are sent"),
        true => {
            let wait_s = p.config.trial.routing_wait_s;
            Ruling::at_least("wait after routing updates", wait_s, 2.0, " s")
        }
    }
}

pub(super) fn both_ways(p: &Basis<'_>) -> Ruling {
    Ruling::met_if(p.config.direction == Direction::Bidirectional, || "one direction".into())
}

pub(super) fn multi_port(p: &Basis<'_>) -> Ruling {
    let ports = p.topology.ports.len();
    match p.config.pattern {
        _ if ports < Pattern::MultiPort.fewest_ports() => {
            Ruling::not_applicable("the device has one pair of ports here")
        }
        Pattern::MultiPort => Ruling::met(),
        Pattern::Pair => Ruling::departed(format!("one pair of {ports} ports")),
        pattern => Ruling::departed(pattern.to_string()),
    }
}

/// Sizes of RFC 2544 section 21; a run has one.
const BURSTS: [u64; 4] = [16, 64, 256, 1_024];

pub(super) fn bursts(p: &Basis<'_>) -> Ruling {
    let frames = p.config.burst_frames;
    Ruling::met_if(BURSTS.contains(&frames), || match frames {
        1 => "constant load".into(),
        _ => format!("bursts of {frames} frames"),
    })
}

pub(super) fn medium_maximum(p: &Basis<'_>) -> Ruling {
    match &p.facts.tester_short {
        None => Ruling::met(),
        Some(words) => Ruling::not_possible(words.clone()),
    }
}

pub(super) fn duration(p: &Basis<'_>) -> Ruling {
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

pub(super) fn final_trials(p: &Basis<'_>) -> Ruling {
    let (search, full) = (&p.config.search, p.config.trial.duration_s);
    let is_short = search.trial_duration_s < full && search.policy != SearchPolicy::Mlrsearch;
    Ruling::met_if(!is_short || p.config.throughput.final_trials > 0, || {
        format!("trials of {} s decide: none of {full} s follows", search.trial_duration_s)
    })
}

/// Whatever the search: a load that the tester did not reach is no load of the test.
/// By what is allowed, and by what happened where a trial counts beyond that.
pub(super) fn shortfall(of: &Basis<'_>) -> Ruling {
    let (usual, limit) = (ValidityLimits::default().shortfall, of.config.trial.limits.shortfall);
    let happened = of.facts.offered_short.unwrap_or(0.0);
    if limit <= usual && happened > usual {
        let (happened, usual) = (happened * 100.0, usual * 100.0);
        return Ruling::departed(format!(
            "load offered up to {happened:.0} % below the intended instead of {usual} %"
        ));
    }
    Ruling::met_if(limit <= usual, || {
        let (limit, usual) = (limit * 100.0, usual * 100.0);
        format!("offered load up to {limit} % below the intended instead of {usual} %")
    })
}

pub(super) fn unwanted(trial: &TrialConfig) -> Ruling {
    let (usual, limit) = (ValidityLimits::default().unwanted, trial.limits.unwanted);
    Ruling::met_if(limit <= usual, || {
        let (limit, usual) = (limit * 100.0, usual * 100.0);
        format!("such frames are told of from {limit} % of the frames sent on instead of {usual} %")
    })
}

pub(in crate::clauses) fn no_loss(p: &Basis<'_>) -> Ruling {
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

/// A faster rate failed, or nobody can say.
pub(in crate::clauses) fn fastest_of(facts: &Facts) -> Ruling {
    match (&facts.bound_only, &facts.undecided) {
        (Some(why), _) => Ruling::not_possible(why.clone()),
        (None, Some(why)) => Ruling::not_checked(why.clone()),
        (None, None) => Ruling::met(),
    }
}

pub(super) fn fastest(p: &Basis<'_>) -> Ruling {
    fastest_of(p.facts)
}

pub(super) fn definition(p: &Basis<'_>) -> Ruling {
    match p.facts.has_line_time {
        None => Ruling::not_checked("the result does not say"),
        Some(has) => Ruling::met_if(!has, || {
            "time of the frame's bits on the sending and the receiving line is in it".into()
        }),
    }
}

pub(super) fn addresses(p: &Basis<'_>) -> Ruling {
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
