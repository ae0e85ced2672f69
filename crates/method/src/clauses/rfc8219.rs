//! RFC 8219: benchmarking methodology for IPv6 transition technologies.

use super::rfc2544::{at_throughput, missing_sizes, repetitions};
use super::{Clause, Level, Rule, Ruling};
use crate::{Direction, Protocol, TestKind};
use TestKind::{Ipdv, Latency, Pdv};
use units::FrameSize;

const fn clause(
    section: &'static str,
    level: Level,
    words: &'static str,
    concerns: fn(TestKind) -> bool,
    rule: Rule,
) -> Clause {
    Clause::new(("RFC 8219", section), level, words, concerns, rule)
}

fn is_latency(test: TestKind) -> bool {
    test == Latency
}
fn is_pdv(test: TestKind) -> bool {
    test == Pdv
}
fn is_ipdv(test: TestKind) -> bool {
    test == Ipdv
}
fn varies(test: TestKind) -> bool {
    matches!(test, Pdv | Ipdv)
}

/// Section 5.1.
const SIZES: [u32; 13] = [64, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216];

pub(super) static CLAUSES: &[Clause] = &[
    clause(
        "5.1",
        Level::Should,
        "Test 64 to 1518 bytes and 768, 1522, 2048, 4096, 8192 and 9216.",
        varies,
        Rule::Of(|p| missing_sizes(p.sizes, SIZES.map(FrameSize::from_bytes))),
    )
    .of_series(),
    clause(
        "5.2",
        Level::Should,
        "Frames are UDP.",
        varies,
        Rule::Of(|p| {
            let protocol = p.config.traffic.protocol;
            let is_udp = matches!(protocol, Protocol::UdpIpv4 | Protocol::UdpIpv6);
            Ruling::met_if(is_udp, || format!("frames are {}", protocol.name()))
        }),
    ),
    clause(
        "5.3",
        Level::Should,
        "Traffic flows both ways.",
        varies,
        Rule::Of(|p| {
            Ruling::met_if(p.config.direction == Direction::Bidirectional, || {
                "one direction".into()
            })
        }),
    )
    .of_series(),
    clause(
        "7.2",
        Level::Should,
        "At least 500 frames are tagged.",
        is_latency,
        Rule::Of(|p| {
            let asked = p.config.latency.tags;
            let tags = p.facts.tags.map_or(asked, |tags| tags.min(asked));
            Ruling::at_least("tagged frames", tags as f64, 500.0, "")
        }),
    ),
    clause(
        "7.2",
        Level::Should,
        "The stream lasts at least 120 s.",
        is_latency,
        Rule::Of(|p| Ruling::at_least("stream", p.config.latency.stream_s, 120.0, " s")),
    ),
    clause(
        "7.2",
        Level::Must,
        "Repeat the trial at least 20 times; report medians.",
        is_latency,
        Rule::Of(|p| repetitions(p, p.config.latency.repetitions, 20)),
    ),
    clause(
        "7.3.1",
        Level::Default,
        "The load is the throughput of the frame size.",
        is_pdv,
        Rule::Of(at_throughput),
    ),
    clause(
        "7.3.1",
        Level::Should,
        "The stream lasts at least 60 s.",
        is_pdv,
        Rule::Of(|p| Ruling::at_least("stream", p.config.pdv.stream_s, 60.0, " s")),
    ),
    clause(
        "7.3.1",
        Level::Must,
        "Repeat the trial at least 20 times; report the median.",
        is_pdv,
        Rule::Of(|p| repetitions(p, p.config.pdv.repetitions, 20)),
    ),
    clause(
        "7.3.2",
        Level::Default,
        "The load is the throughput of the frame size.",
        is_ipdv,
        Rule::Of(at_throughput),
    ),
    clause(
        "7.3.2",
        Level::Should,
        "The stream lasts at least 60 s.",
        is_ipdv,
        Rule::Of(|p| Ruling::at_least("stream", p.config.ipdv.stream_s, 60.0, " s")),
    ),
    clause(
        "7.3.2",
        Level::Must,
        "Repeat the trial at least 20 times; report medians.",
        is_ipdv,
        Rule::Of(|p| repetitions(p, p.config.ipdv.repetitions, 20)),
    ),
];
