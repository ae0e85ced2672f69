//! RFC 2889: benchmarking methodology for LAN switching devices. `5.x.2` is the part 2 of each test's
//! section, where the document repeats its parameters.

use super::rfc2544::{fastest_of, format_of_switches, no_loss};
use super::{Basis, Clause, Level, Rule, Ruling, Verdict};
use crate::TestKind;
use crate::chassis::ChassisTest;
use traffic::size::SizePattern;
use units::FrameSize;

const fn clause(
    section: &'static str,
    level: Level,
    words: &'static str,
    concerns: fn(TestKind) -> bool,
    rule: Rule,
) -> Clause {
    Clause::new(("RFC 2889", section), level, words, concerns, rule)
}

fn of(test: TestKind, which: fn(ChassisTest) -> bool) -> bool {
    matches!(test, TestKind::Chassis(test) if which(test))
}
/// Those with streams between ports.
fn is_mesh(test: TestKind) -> bool {
    use ChassisTest::*;
    of(test, |test| {
        matches!(
            test,
            FullyMeshed
                | OneToMany
                | ManyToOne
                | OneAndMany
                | BackboneLocal
                | Backbone
                | Unidirectional
                | Broadcast
        )
    })
}
fn is_congestion(test: TestKind) -> bool {
    of(test, |test| test == ChassisTest::Congestion)
}
fn is_pressure(test: TestKind) -> bool {
    of(test, |test| test == ChassisTest::ForwardPressure)
}
fn is_addresses(test: TestKind) -> bool {
    of(test, |test| matches!(test, ChassisTest::AddressCaching | ChassisTest::AddressLearning))
}
fn is_errored(test: TestKind) -> bool {
    of(test, |test| test == ChassisTest::ErroredFrames)
}
fn is_broadcast_latency(test: TestKind) -> bool {
    of(test, |test| test == ChassisTest::BroadcastLatency)
}
fn has_streams(test: TestKind) -> bool {
    is_mesh(test) || is_congestion(test) || is_pressure(test)
}
fn has_sizes(test: TestKind) -> bool {
    has_streams(test) || is_broadcast_latency(test)
}

/// Section 5.1.2, and RFC 3918 section 3.1.3.
const SIZES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];

pub(super) static CLAUSES: &[Clause] = &[
    clause(
        "3",
        Level::Default,
        "Addresses are learned at 50 frames/s or less.",
        has_streams,
        Rule::Of(|m| {
            let fps = 1.0 / m.config.chassis.learning_interval_s.max(1e-9);
            Ruling::met_if(fps <= 50.0 + 1e-6, || format!("{fps:.0} learning frames/s"))
        }),
    ),
    clause(
        "3",
        Level::Should,
        "The device's ageing time, 300 s if nobody states it, exceeds learning and trial.",
        has_streams,
        Rule::Of(ageing),
    ),
    clause(
        "4",
        Level::Default,
        "Frames are those of RFC 2544 appendix C, tagged or not.",
        has_sizes,
        Rule::Of(format_of_switches),
    ),
    clause(
        "5.x.2",
        Level::Should,
        "Test 64, 128, 256, 512, 1024, 1280 and 1518 bytes.",
        has_sizes,
        Rule::Of(all_sizes),
    ),
    clause(
        "5.x.2",
        Level::Should,
        "Trials last 30 s.",
        |test| has_streams(test) || is_errored(test),
        Rule::Of(|m| duration(m, 30.0)),
    ),
    clause(
        "5.x.2",
        Level::Should,
        "Each port has one address.",
        |test| is_mesh(test) || is_pressure(test),
        Rule::Of(|m| {
            let count = m.config.chassis.addresses_per_port;
            if m.config.traffic.random_macs {
                return Ruling::departed("random source addresses");
            }
            Ruling::met_if(count == 1, || format!("{count} addresses a port"))
        }),
    ),
    clause(
        "5.x.4",
        Level::Must,
        "The forwarding rate at the maximum offered load is reported.",
        is_mesh,
        Rule::Of(|m| {
            Ruling::met_if(m.config.chassis.loads_percent.contains(&100.0), || {
                "no load of 100 %".into()
            })
        }),
    ),
    clause(
        "5.x.4",
        Level::Default,
        "Throughput is the highest load without loss: a higher one failed, or the medium ends there.",
        |test| is_mesh(test) || is_pressure(test),
        Rule::Of(fastest),
    ),
    clause(
        "5.x.4",
        Level::Default,
        "No trial at the throughput loses a frame.",
        |test| is_mesh(test) || is_pressure(test),
        Rule::Of(no_loss),
    ),
    clause(
        "B.2",
        Level::Must,
        "All ports start within 1 % of the trial.",
        is_mesh,
        Rule::Of(|m| match m.facts.start_skew {
            None => Ruling::not_checked("the result does not say"),
            Some(skew) => Ruling::met_if(skew <= 0.01, || {
                format!("ports start {:.2} % of the trial apart", skew * 100.0)
            }),
        }),
    ),
    clause(
        "5.3",
        Level::Default,
        "Two devices are joined by one fast link.",
        |test| of(test, |test| matches!(test, ChassisTest::BackboneLocal | ChassisTest::Backbone)),
        Rule::Always(Verdict::NotChecked, "the tester does not see what is behind its ports"),
    ),
    clause(
        "5.5.2",
        Level::Must,
        "Ports are four, or a multiple of four.",
        is_congestion,
        Rule::Of(|m| {
            let ports = m.facts.ports;
            Ruling::met_if(ports > 0 && ports.is_multiple_of(4), || format!("{ports} ports"))
        }),
    ),
    clause(
        "5.5.3",
        Level::Must,
        "Both sources send the same number of frames.",
        is_congestion,
        Rule::Of(|m| match &m.facts.frames_by_source[..] {
            [] => Ruling::not_checked("the result does not say"),
            [first, others @ ..] => Ruling::met_if(others.iter().all(|sent| sent == first), || {
                let sent: Vec<String> =
                    m.facts.frames_by_source.iter().map(u64::to_string).collect();
                format!("they sent {} frames", sent.join(" and "))
            }),
        }),
    ),
    clause(
        "5.6.3",
        Level::Must,
        "Frames with a gap of 88 bit times show whether the device exceeds the medium's rate.",
        is_pressure,
        Rule::Of(tried),
    ),
    clause(
        "5.x.2",
        Level::Must,
        "The device's ageing time is known.",
        is_addresses,
        Rule::Always(Verdict::NotChecked, "it is the one that the configuration states"),
    ),
    clause(
        "5.x.2",
        Level::Must,
        "A learning, a test and a monitoring port take part.",
        is_addresses,
        Rule::Of(|m| Ruling::at_least("ports", m.facts.ports as f64, 3.0, "")),
    ),
    clause(
        "5.x.3",
        Level::Default,
        "The search ends at the device's limit.",
        is_addresses,
        Rule::Of(limit_found),
    ),
    clause(
        "5.9.2",
        Level::Should,
        "Each kind of errored frame is sent at several loads.",
        is_errored,
        Rule::Of(|m| {
            let count = m.config.chassis.errored.loads_percent.len();
            Ruling::at_least("loads", count as f64, 2.0, "")
        }),
    ),
    clause(
        "5.9.4",
        Level::Must,
        "Each kind of errored frame passes or fails.",
        is_errored,
        Rule::Of(tried),
    ),
    clause(
        "5.10.3",
        Level::Should,
        "Latency is that of RFC 1242: last bit in to first bit out, or first to first.",
        is_broadcast_latency,
        Rule::Of(|m| match m.facts.has_line_time {
            None => Ruling::not_checked("the result does not say"),
            Some(has) => Ruling::met_if(!has, || {
                "time of the frame's bits on the sending and the receiving line is in it".into()
            }),
        }),
    ),
    clause(
        "5.10.4",
        Level::Default,
        "Every receiving port has a latency.",
        is_broadcast_latency,
        Rule::Of(|m| match m.facts.unmeasured {
            None => Ruling::not_checked("the result does not say"),
            Some(count) => Ruling::met_if(count == 0, || format!("{count} ports received nothing")),
        }),
    ),
];

fn ageing(m: &Basis<'_>) -> Ruling {
    let config = m.config;
    let addresses = m.facts.ports as f64 * config.chassis.addresses_per_port as f64;
    let needed = addresses * config.chassis.learning_interval_s
        + config.trial.learning_wait_s
        + config.trial.duration_s;
    let ageing = config.chassis.addresses.ageing_s;
    Ruling::met_if(ageing > needed, || format!("ageing time of {ageing} s, trials of {needed} s"))
}

/// See RFC 3918 section 3.1.3 and RFC 2889 section 5.1.2, which are alike.
pub(super) fn all_sizes(m: &Basis<'_>) -> Ruling {
    let sizes = SIZES.map(FrameSize::from_bytes);
    let missing = sizes.into_iter().filter(|size| !m.sizes.contains(&SizePattern::Fixed(*size)));
    let missing: Vec<String> = missing.map(|size| size.bytes().to_string()).collect();
    Ruling::met_if(missing.is_empty(), || format!("without frames of {} bytes", missing.join(", ")))
}

pub(super) fn duration(m: &Basis<'_>, bound: f64) -> Ruling {
    Ruling::known_at_least("trial duration", m.facts.trial_s, bound, " s")
}

/// Whether the device's limit was found, and not the tester's.
pub(super) fn fastest(m: &Basis<'_>) -> Ruling {
    fastest_of(m.facts)
}

/// The same of a search that could go on.
pub(super) fn limit_found(m: &Basis<'_>) -> Ruling {
    match &m.facts.bound_only {
        None => Ruling::met(),
        Some(why) => Ruling::departed(why.clone()),
    }
}

fn tried(m: &Basis<'_>) -> Ruling {
    match &m.facts.not_tried[..] {
        [] => Ruling::met(),
        why => Ruling::not_possible(why.join("; ")),
    }
}
