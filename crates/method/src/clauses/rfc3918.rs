//! RFC 3918: methodology for IP multicast benchmarking.

use super::facts::is_rfc3918;
use super::rfc2544::no_loss;
use super::rfc2889::{all_sizes, duration, fastest, limit_found};
use super::{Basis, Clause, Level, Rule, Ruling, Verdict};
use crate::TestKind;
use crate::chassis::ChassisTest;
use crate::rfc3918::{Joins, SILENT_BEHIND_TUNNELS, SILENT_FIRST_VERSION, Version};
use ChassisTest::*;
use trial::QueryCounts;

const fn clause(
    section: &'static str,
    level: Level,
    words: &'static str,
    concerns: fn(TestKind) -> bool,
    rule: Rule,
) -> Clause {
    Clause::new(("RFC 3918", section), level, words, concerns, rule)
}

fn is_own(test: TestKind) -> bool {
    matches!(test, TestKind::Chassis(test) if is_rfc3918(test))
}
fn is(test: TestKind, which: &[ChassisTest]) -> bool {
    matches!(test, TestKind::Chassis(test) if which.contains(&test))
}
fn is_search(test: TestKind) -> bool {
    is(test, &[MixedClass, AggregatedMulticast, Encapsulation, Decapsulation, Reencapsulation])
}
fn is_latency(test: TestKind) -> bool {
    is(test, &[MulticastLatency, MinMaxLatency, BurdenedLatency])
}
fn is_delay(test: TestKind) -> bool {
    is(test, &[GroupJoinDelay, GroupLeaveDelay, BurdenedJoinDelay])
}
fn has_loads(test: TestKind) -> bool {
    is_search(test) || is_delay(test) || is(test, &[ScaledGroups])
}

pub(super) static CLAUSES: &[Clause] = &[
    clause(
        "3",
        Level::Must,
        "Frames to all groups verify the joins before a trial.",
        is_own,
        Rule::Of(joins),
    ),
    clause(
        "3.1",
        Level::Must,
        "Flow control and quality of service are off.",
        is_own,
        Rule::Always(Verdict::NotChecked, "whoever runs the test sets up the device"),
    ),
    clause(
        "3.1.1",
        Level::Should,
        "The tester's hosts answer the queries of the device.",
        is_own,
        Rule::Of(answers),
    ),
    clause(
        "3.1.1",
        Level::Should,
        "Ports leave their groups after each test.",
        is_own,
        Rule::Of(|m| match m.config.chassis.multicast.version.has_leave() {
            true => Ruling::met(),
            false => Ruling::not_possible("hosts of IGMPv1 cannot say that they leave"),
        }),
    ),
    clause(
        "3.1.3",
        Level::Should,
        "Test 64, 128, 256, 512, 1024, 1280 and 1518 bytes.",
        |test| is_own(test) && !is(test, &[GroupCapacity]),
        Rule::Of(all_sizes),
    ),
    clause(
        "3.1.5",
        Level::Should,
        "Trials last at least 30 s.",
        has_loads,
        Rule::Of(|m| duration(m, 30.0)),
    ),
    clause(
        "4.1",
        Level::Should,
        "Multicast and unicast frames take turns.",
        |test| is(test, &[MixedClass]),
        Rule::Of(|m| {
            let count = m.config.chassis.multicast.unicast_per_multicast;
            Ruling::met_if(count == 1, || {
                format!("{count} unicast frames for each multicast frame")
            })
        }),
    ),
    clause(
        "4.1",
        Level::Must,
        "The throughput of each class is reported.",
        |test| is(test, &[MixedClass]),
        Rule::Of(|m| match m.facts.has_classes {
            None => Ruling::not_checked("the result does not say"),
            Some(has) => Ruling::met_if(has, || "classes are not told apart".into()),
        }),
    ),
    clause(
        "4.2",
        Level::Must,
        "The capacity of groups was measured before.",
        |test| is(test, &[ScaledGroups]),
        Rule::Of(|m| match m.facts.knows_capacity {
            None => Ruling::not_checked("the result does not say"),
            Some(known) => Ruling::met_if(known, || "it was not: add test group-capacity".into()),
        }),
    ),
    clause(
        "4.2",
        Level::Should,
        "Begin with 10 groups and add at most 10 a time.",
        |test| is(test, &[ScaledGroups]),
        Rule::Of(|m| {
            let (first, step) =
                (m.config.chassis.multicast.matrix_initial, m.config.chassis.multicast.matrix_step);
            Ruling::met_if(first == 10 && step <= 10, || {
                format!("{first} groups first, then {step} more a time")
            })
        }),
    ),
    clause(
        "4",
        Level::Must,
        "A search finds the highest load without loss at any port.",
        is_search,
        Rule::Of(fastest),
    ),
    clause(
        "4",
        Level::Default,
        "No trial at the throughput loses a frame.",
        is_search,
        Rule::Of(no_loss),
    ),
    clause(
        "4.4",
        Level::Must,
        "The size of the frames behind the tunnel is reported.",
        |test| is(test, &[Encapsulation, Decapsulation, Reencapsulation]),
        Rule::Of(|m| match (&m.facts.not_measured, m.facts.received_bytes) {
            (_, Some(_)) => Ruling::met(),
            (Some(_), None) => Ruling::not_checked("the result does not say"),
            (None, None) => Ruling::departed("no frame came out to be measured"),
        }),
    ),
    clause(
        "4.4",
        Level::Must,
        "All egress interfaces have the same MTU.",
        |test| is(test, &[Encapsulation, Decapsulation, Reencapsulation]),
        Rule::Always(Verdict::NotChecked, "whoever runs the test sets up the device"),
    ),
    clause(
        "4.4.2",
        Level::Should,
        "Frames have the encapsulated sizes of the encapsulation test.",
        |test| is(test, &[Decapsulation]),
        Rule::Of(|m| match m.facts.tunnel_in {
            None => Ruling::not_checked("the result does not say"),
            Some(tunnel) => Ruling::met_if(tunnel == m.config.chassis.multicast.tunnel_out, || {
                "frames are encapsulated in one format and decapsulated from another".into()
            }),
        }),
    ),
    clause(
        "5.1",
        Level::Should,
        "Trials last 120 s.",
        is_latency,
        Rule::Of(|m| duration(m, 120.0)),
    ),
    clause(
        "5.1",
        Level::Must,
        "A trial whose tagged frame comes more than 5 s after its end is invalid.",
        is_latency,
        Rule::Of(|m| match m.facts.last_tag_s {
            None => Ruling::not_checked("no tagged frame arrived"),
            Some(late) => Ruling::met_if(late <= 5.0, || {
                format!("a tagged frame came {late:.1} s after the end, and counts")
            }),
        }),
    ),
    clause(
        "5",
        Level::Should,
        "The load is the aggregated multicast throughput.",
        is_latency,
        Rule::Of(load),
    ),
    clause(
        "6",
        Level::Should,
        "The load is the aggregated multicast throughput.",
        is_delay,
        Rule::Of(load),
    ),
    clause(
        "6",
        Level::Must,
        "Every egress has a delay: before, it was no member, or it was one.",
        is_delay,
        Rule::Of(|m| match m.facts.unmeasured {
            None => Ruling::not_checked("the result does not say"),
            Some(count) => Ruling::met_if(count == 0, || {
                format!(
                    "nothing can be said of {count} ports: they did not start as members or not"
                )
            }),
        }),
    ),
    clause(
        "7.1",
        Level::Must,
        "Wait for the join delay before groups are tried.",
        |test| is(test, &[GroupCapacity]),
        Rule::Of(|m| {
            let wait = m.config.chassis.multicast.join_settle_s;
            Ruling::met_if(wait > 0.0, || "no wait".into())
        }),
    ),
    clause(
        "7.1",
        Level::Default,
        "The search ends at the first number of groups that fails.",
        |test| is(test, &[GroupCapacity]),
        Rule::Of(limit_found),
    ),
    clause(
        "8",
        Level::Must,
        "Results without the burden and with it are reported.",
        |test| is(test, &[BurdenedLatency, BurdenedJoinDelay]),
        Rule::Of(|m| match m.facts.has_both {
            None => Ruling::not_checked("the result does not say"),
            Some(both) => Ruling::met_if(both, || "one of them is missing".into()),
        }),
    ),
    clause(
        "8",
        Level::Must,
        "The load of the source is the same without the burden and with it.",
        |test| is(test, &[BurdenedLatency, BurdenedJoinDelay]),
        Rule::Of(|m| match m.facts.ingress_apart {
            None => Ruling::not_checked("the result does not say"),
            Some(apart) => Ruling::met_if(apart <= SAME_LOAD, || {
                format!("the loads are {:.2} % apart", apart * 100.0)
            }),
        }),
    ),
];

/// As far as loads of one intended rate may be apart (RFC 2544 section 26, as it is judged).
const SAME_LOAD: f64 = 0.001;

fn joins(m: &Basis<'_>) -> Ruling {
    match &m.facts.joins {
        None | Some(Joins::Untried) => Ruling::not_checked("the result does not say"),
        Some(Joins::Proved) => Ruling::met(),
        Some(Joins::NotProved { why }) => Ruling::departed(format!("joins were not proved: {why}")),
        Some(Joins::Measured) => {
            Ruling::not_applicable("the trials measure when or whether joins take effect")
        }
    }
}

/// In tests of delays a port may be asked for a group that it has left, or not joined yet.
fn answers(m: &Basis<'_>) -> Ruling {
    if m.config.chassis.multicast.version == Version::Igmpv1 {
        return Ruling::not_possible(SILENT_FIRST_VERSION);
    }
    if is(m.test, &[Encapsulation, Decapsulation, Reencapsulation]) {
        return Ruling::not_possible(SILENT_BEHIND_TUNNELS);
    }
    match m.facts.queries {
        None => Ruling::not_checked("the result does not say"),
        Some(QueryCounts { queries: 0, .. }) => {
            Ruling::not_applicable("the device asked nothing while trials ran")
        }
        Some(_) if is_delay(m.test) => Ruling::met(),
        Some(QueryCounts { queries, reports, due }) => Ruling::met_if(reports + due > 0, || {
            format!("{queries} queries came, and no report answered them")
        }),
    }
}

fn load(m: &Basis<'_>) -> Ruling {
    match m.config.chassis.multicast.load_percent {
        None => Ruling::met(),
        Some(percent) => Ruling::departed(format!("load of {percent} % of the medium")),
    }
}
