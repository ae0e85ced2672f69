//! RFC 2544: benchmarking methodology for network interconnect devices.

mod modifiers;
mod rules;
mod stated;

pub(super) use rules::{
    at_throughput, fastest_of, format_of_switches, missing_sizes, no_loss, repetitions,
};

use super::facts::{is_rfc2889, is_rfc3918};
use super::{Clause, Level, Rule, Ruling, Verdict};
use crate::TestKind;
use TestKind::{BackToBack, FrameLoss, Ipdv, Latency, Pdv, Recovery, Reset, Throughput};
use modifiers::{answers, broadcast, filter_rules, filters, queries, states, updates};
use rules::{
    addresses, all_sizes, both_ways, bursts, definition, destinations, duration, fastest,
    final_trials, five_sizes, format, medium_maximum, modifiers, multi_port, routing_update,
    routing_wait, shortfall, stated, unwanted, verification,
};
use stated::{loss_graph, throughput_graph, throughput_stated};

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
/// The tests that follow RFC 2544, or a later RFC that rests on it.
pub(super) fn is_of_rfc(test: TestKind) -> bool {
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
        Rule::Of(format),
    ),
    clause("8", Level::Must, "The report states the frame formats.", is_pair, Rule::Of(stated)),
    clause(
        "9",
        Level::Should,
        "Test at least five frame sizes.",
        has_sizes,
        Rule::Of(five_sizes),
    ),
    clause(
        "9.1",
        Level::Should,
        "Test 64, 128, 256, 512, 1024, 1280 and 1518 bytes.",
        has_sizes,
        Rule::Of(all_sizes),
    ),
    clause(
        "10",
        Level::Should,
        "Check number, order and length of received frames.",
        is_pair,
        Rule::Of(verification),
    ),
    clause(
        "11",
        Level::Should,
        "Repeat the tests with broadcast, management and routing update frames.",
        has_sizes,
        Rule::Of(modifiers),
    )
    .of_series(),
    clause(
        "11.1",
        Level::Should,
        "Every hundredth frame is a broadcast frame, where such frames are mixed in.",
        is_of_rfc,
        Rule::Of(broadcast),
    ),
    clause(
        "11.2",
        Level::Should,
        "A management query is sent in each second, where such frames are mixed in.",
        is_of_rfc,
        Rule::Of(queries),
    ),
    clause(
        "11.2",
        Level::Should,
        "The device answers every management query.",
        is_of_rfc,
        Rule::Of(answers),
    ),
    clause(
        "11.3",
        Level::Should,
        "A routing update is sent first and each 30 s, where such frames are mixed in.",
        is_of_rfc,
        Rule::Of(updates),
    ),
    clause(
        "11.3",
        Level::Must,
        "Routing updates have two states in turn.",
        is_of_rfc,
        Rule::Of(states),
    ),
    clause(
        "11.4",
        Level::Should,
        "Repeat the tests with a filter of one rule, which permits the test stream.",
        has_sizes,
        Rule::Of(|p| filters(p, 1)),
    )
    .of_series(),
    clause(
        "11.4",
        Level::Should,
        "Repeat the tests with a filter of 25 rules, of which one permits the test stream.",
        has_sizes,
        Rule::Of(|p| filters(p, 25)),
    )
    .of_series(),
    clause(
        "11.4.1",
        Level::Default,
        "A filter has one rule, or 24 that match nothing and one that permits the test stream.",
        is_pair,
        Rule::Of(filter_rules),
    ),
    clause(
        "12",
        Level::Should,
        "Repeat the tests with random destinations: 256 networks, or any MAC address.",
        has_sizes,
        Rule::Of(destinations),
    )
    .of_series(),
    clause(
        "13",
        Level::Must,
        "Send a routing update with all networks before each trial.",
        is_pair,
        Rule::Of(routing_update),
    ),
    clause(
        "14",
        Level::Should,
        "Repeat the tests with the same rate from both sides.",
        has_sizes,
        Rule::Of(both_ways),
    )
    .of_series(),
    clause(
        "16",
        Level::Should,
        "Repeat the tests from half of the ports to all of the others in turn; both ways, from each to all.",
        is_pair,
        Rule::Of(multi_port),
    )
    .of_series(),
    clause(
        "20",
        Level::Should,
        "The highest load offered is the medium's maximum.",
        |test| matches!(test, Throughput | FrameLoss),
        Rule::Of(medium_maximum),
    ),
    clause(
        "21",
        Level::Should,
        "Repeat the tests with bursts of 16, 64, 256 and 1024 frames.",
        |test| matches!(test, Throughput | FrameLoss),
        Rule::Of(bursts),
    )
    .of_series(),
    clause(
        "23 a",
        Level::Default,
        "Wait 2 s after a routing update.",
        is_pair,
        Rule::Of(routing_wait),
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
        Rule::Trial(|t| {
            // It ends at `drain_max_s` at the latest.
            let wait_s = t.drain_s.min(t.drain_max_s);
            Ruling::at_least("wait for residual frames", wait_s, 2.0, " s")
        }),
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
        Rule::Of(duration),
    ),
    clause(
        "24",
        Level::Should,
        "After a search of shorter trials, full-length ones decide.",
        is_throughput,
        Rule::Of(final_trials),
    ),
    clause(
        "26",
        Level::Default,
        "The load offered is the one intended, within 0.1 %.",
        is_of_rfc,
        Rule::Of(shortfall),
    ),
    clause(
        "10",
        Level::Should,
        "The report tells of frames that are duplicate, damaged or foreign.",
        is_of_rfc,
        Rule::Trial(unwanted),
    ),
    clause(
        "26.1",
        Level::Default,
        "No trial at the throughput loses a frame.",
        is_throughput,
        Rule::Of(no_loss),
    ),
    clause(
        "26.1",
        Level::Default,
        "Throughput is the fastest such rate: a faster one failed, or the medium ends there.",
        is_throughput,
        Rule::Of(fastest),
    ),
    clause(
        "26.1",
        Level::Must,
        "Throughput is stated in frames/s, with frame size, protocol and the medium's maximum.",
        is_throughput,
        Rule::Of(throughput_stated),
    ),
    clause(
        "26.1",
        Level::Should,
        "A graph and a table by frame size have the medium's maximum beside the throughput.",
        is_throughput,
        Rule::Of(throughput_graph),
    ),
    clause(
        "26.2",
        Level::Default,
        "The load is the throughput of the frame size.",
        is_latency,
        Rule::Of(at_throughput),
    ),
    clause(
        "26.2",
        Level::Should,
        "The stream lasts at least 120 s.",
        is_latency,
        Rule::Of(|p| Ruling::at_least("stream", p.config.latency.stream_s, 120.0, " s")),
    ),
    clause(
        "26.2",
        Level::Should,
        "A frame is tagged after 60 s.",
        is_latency,
        Rule::Of(|p| {
            Ruling::at_least("first tagged frame after", p.config.latency.first_tag_s, 60.0, " s")
        }),
    ),
    clause(
        "26.2",
        Level::Must,
        "Repeat the trial at least 20 times; report the mean.",
        is_latency,
        Rule::Of(|p| repetitions(p, p.config.latency.repetitions, 20)),
    ),
    clause(
        "26.2",
        Level::Must,
        "The report states which definition of latency it uses.",
        is_latency,
        Rule::Of(|p| match &p.facts.definition {
            None => Ruling::not_checked("the result does not say"),
            Some(words) => Ruling::met_if(!words.is_empty(), || "no definition is stated".into()),
        }),
    ),
    clause(
        "26.2",
        Level::Default,
        "Latency is that of RFC 1242: last bit in to first bit out, or first to first.",
        is_latency,
        Rule::Of(definition),
    ),
    clause(
        "26.3",
        Level::Default,
        "The first load is 100 % of the medium's maximum.",
        is_loss,
        Rule::Of(|p| match p.facts.of_medium {
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
        Rule::Of(|p| {
            let step = p.config.frame_loss.step_percent;
            Ruling::met_if(step <= 10.0, || format!("steps of {step} % instead of <= 10 %"))
        }),
    ),
    clause(
        "26.3",
        Level::Must,
        "The graph has the load in percent of the medium's maximum, and loss in percent, both 0 to 100.",
        is_loss,
        Rule::Of(loss_graph),
    ),
    clause(
        "26.4",
        Level::Must,
        "A trial with its waits lasts at least 2 s.",
        |test| test == BackToBack,
        Rule::Of(|p| match p.facts.evidence.shortest {
            None => Ruling::not_checked("no trial was valid"),
            Some(span) => Ruling::at_least("the shortest trial", span.as_secs_f64(), 2.0, " s"),
        }),
    ),
    clause(
        "26.4",
        Level::Should,
        "Repeat the search for the longest burst at least 50 times.",
        |test| test == BackToBack,
        Rule::Of(|p| repetitions(p, p.config.back_to_back.repetitions, 50)),
    ),
    clause(
        "26.5",
        Level::Default,
        "The overload is 110 % of the throughput, or the medium's maximum.",
        is_recovery,
        Rule::Of(|p| {
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
        Rule::Of(|p| Ruling::at_least("overload", p.config.recovery.overload_s, 60.0, " s")),
    ),
    clause(
        "26.5",
        Level::Default,
        "Repeat the test several times; report the mean.",
        is_recovery,
        Rule::Of(|p| repetitions(p, p.config.recovery.repetitions, 2)),
    ),
    clause(
        "C.2.2",
        Level::Should,
        "Addresses are of 198.18.0.0/15, which is reserved for benchmarks.",
        is_pair,
        Rule::Of(addresses),
    ),
];
