//! RFC 5180: IPv6 benchmarking methodology.

use super::rfc2544::{has_sizes, is_pair, missing_sizes};
use super::{Basis, Clause, Level, Rule, Ruling};
use crate::{
    Destinations, Direction, ExtensionHeader, IPV6_PREFIXES, Modifier, Protocol, TestKind,
};
use units::FrameSize;

const fn clause(
    section: &'static str,
    level: Level,
    words: &'static str,
    concerns: fn(TestKind) -> bool,
    rule: Rule,
) -> Clause {
    Clause::new(("RFC 5180", section), level, words, concerns, rule)
}

pub(super) static CLAUSES: &[Clause] = &[
    clause(
        "5.1",
        Level::Should,
        "Test 128 to 1518 bytes, 1522, 4096, 8192 and 9216; 64 have no room for UDP over IPv6.",
        has_sizes,
        Rule::Of(|p| {
            of_ipv6(p, |p| {
                let sizes = [128, 256, 512, 1_024, 1_280, 1_518, 1_522, 4_096, 8_192, 9_216];
                missing_sizes(p.sizes, sizes.map(FrameSize::from_bytes))
            })
        }),
    )
    .of_series(),
    clause(
        "5.3",
        Level::Must,
        "Repeat the tests with a chain of two or more extension headers.",
        has_sizes,
        Rule::Of(|p| {
            of_ipv6(p, |p| {
                let count = p.config.traffic.extension_headers.len();
                Ruling::met_if(count >= 2, || format!("{count} extension headers"))
            })
        }),
    )
    .of_series(),
    clause(
        "5.3",
        Level::Must,
        "A chain of extension headers has no hop-by-hop options.",
        is_pair,
        Rule::Of(|p| {
            of_ipv6(p, |p| {
                let headers = &p.config.traffic.extension_headers;
                let has = headers.len() > 1 && headers.contains(&ExtensionHeader::HopByHop);
                Ruling::met_if(!has, || "the chain has hop-by-hop options".into())
            })
        }),
    ),
    clause(
        "5.2.1",
        Level::Should,
        "Destinations have prefixes of /48, /64, /126 and /128 in turn.",
        has_sizes,
        Rule::Of(|p| {
            of_ipv6(p, |p| match p.destinations {
                Destinations::One => Ruling::not_applicable("one destination has no prefix"),
                Destinations::Random | Destinations::Both => prefixes(p),
            })
        }),
    )
    .of_series(),
    clause(
        "5.4",
        Level::Should,
        "Traffic flows both ways.",
        has_sizes,
        Rule::Of(|p| {
            of_ipv6(p, |p| {
                let both = p.config.direction == Direction::Bidirectional;
                Ruling::met_if(both, || "one direction".into())
            })
        }),
    )
    .of_series(),
    clause(
        "6",
        Level::Default,
        "No frames are broadcast: IPv6 has no broadcast.",
        is_pair,
        Rule::Of(|p| {
            of_ipv6(p, |p| {
                let has = p.config.modifiers.contains(&Modifier::Broadcast);
                Ruling::met_if(!has, || "some frames are broadcast".into())
            })
        }),
    ),
    clause(
        "7.4",
        Level::Default,
        "Back-to-back frames are not measured.",
        |test| test == TestKind::BackToBack,
        Rule::Of(|p| {
            of_ipv6(p, |p| {
                Ruling::met_if(p.facts.not_measured.is_some(), || "they are measured".into())
            })
        }),
    ),
    clause(
        "8",
        Level::Should,
        "Addresses are of 2001:2::/48, which is reserved for benchmarks.",
        is_pair,
        Rule::Of(|p| of_ipv6(p, addresses)),
    ),
];

fn of_ipv6(p: &Basis<'_>, rule: fn(&Basis<'_>) -> Ruling) -> Ruling {
    let traffic = &p.config.traffic;
    match traffic.protocol == Protocol::UdpIpv6 || traffic.ipv6_percent.is_some() {
        true => rule(p),
        false => Ruling::not_applicable("no frame is IPv6"),
    }
}

fn prefixes(p: &Basis<'_>) -> Ruling {
    let run = &p.config.traffic.ipv6_prefixes;
    let missing = IPV6_PREFIXES.iter().filter(|length| !run.contains(length));
    let missing: Vec<String> = missing.map(|length| format!("/{length}")).collect();
    Ruling::met_if(missing.is_empty(), || match run.is_empty() {
        true => "prefixes of one length".into(),
        false => format!("not run with {}", missing.join(", ")),
    })
}

fn addresses(p: &Basis<'_>) -> Ruling {
    let is_random = p.destinations != Destinations::One;
    if is_random && p.config.traffic.ipv6_prefixes.contains(&48) {
        return Ruling::not_possible("it has no room for 256 networks of /48");
    }
    let outside =
        p.topology.ports.iter().find(|port| port.host_ipv6.segments()[..3] != [0x2001, 2, 0]);
    Ruling::met_if(outside.is_none(), || {
        let address = outside.map(|port| port.host_ipv6.to_string()).unwrap_or_default();
        format!("{address} is outside of it")
    })
}
