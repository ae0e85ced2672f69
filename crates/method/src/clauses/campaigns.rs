//! Tests that are no RFC's: the router tests of 1989 and 1990, the GIGAswitch/FDDI tests, the IP9000 tests.

use super::{Basis, Clause, Level, Rule, Ruling};
use crate::TestKind;
use crate::harvard::y1989::{Harvard1989Config, Test1989};
use units::LineRate;

const fn harvard(
    document: &'static str,
    words: &'static str,
    concerns: fn(TestKind) -> bool,
    rule: Rule,
) -> Clause {
    Clause::new((document, ""), Level::Default, words, concerns, rule)
}

const Y1990: &str = "router tests of 1990";
const Y1989: &str = "router tests of 1989";
/// Of that campaign: the document states no length.
const OWN_1989: &str = "this suite's full form; the router tests of 1989 state none";

pub(super) static HARVARD: &[Clause] = &[
    harvard(
        Y1990,
        "Streams of a max rate last 20 s.",
        |test| matches!(test, TestKind::MaxRate | TestKind::DualMaxRate),
        Rule::Of(|p| streams(p.config.harvard.max_rate_stream_s, 20.0)),
    ),
    harvard(
        Y1990,
        "Streams of a raw rate last 30 s.",
        |test| matches!(test, TestKind::RawRate | TestKind::DualStream),
        Rule::Of(|p| streams(p.config.harvard.raw_rate_stream_s, 30.0)),
    ),
    harvard(
        Y1989,
        "Frames of the idle device are counted for 10 s.",
        |test| test == TestKind::Harvard1989(Test1989::IdleState),
        Rule::Of(|p| Ruling::at_least("counting", p.config.harvard_1989.idle_s, 10.0, " s")),
    ),
    harvard(
        OWN_1989,
        "Streams, bursts, tables and frames of the full form.",
        |test| matches!(test, TestKind::Harvard1989(of) if of != Test1989::IdleState),
        Rule::Of(full_form),
    ),
];

pub(super) static MANY_PORTS: &[Clause] = &[
    Clause::new(
        ("DIGITAL GIGAswitch/FDDI System tests", ""),
        Level::Default,
        "Trials last at least 60 s.",
        |test| is_of(test, "DIGITAL"),
        Rule::Of(|m| Ruling::known_at_least("trial duration", m.facts.trial_s, 60.0, " s")),
    ),
    Clause::new(
        ("Tolly Group 8276", ""),
        Level::Default,
        "Ports, hosts, groups, packets and iterations are those of the document.",
        |test| is_of(test, "Tolly"),
        Rule::Of(numbers),
    ),
    Clause::new(
        ("Tolly Group 8276", ""),
        Level::Default,
        "Ports are Fast Ethernet.",
        |test| is_of(test, "Tolly"),
        Rule::Of(|m| match m.facts.line_rate {
            None => Ruling::not_checked("the result does not say"),
            Some(line) => Ruling::met_if(line == LineRate::from_mbps(100), || {
                format!("ports of {line} instead of Fast Ethernet")
            }),
        }),
    ),
];

fn is_of(test: TestKind, document: &str) -> bool {
    matches!(test, TestKind::Chassis(test) if test.section().starts_with(document))
}

fn numbers(m: &Basis<'_>) -> Ruling {
    let TestKind::Chassis(test) = m.test else {
        return Ruling::not_applicable("the test is of another campaign");
    };
    let how = m.config.chassis.tolly.deviations(test);
    Ruling::met_if(how.is_empty(), || how.join(", "))
}

fn streams(seconds: f64, bound: f64) -> Ruling {
    Ruling::at_least("streams of", seconds, bound, " s")
}

/// Where the document states no length, the suite's own full form is the measure.
fn full_form(p: &Basis<'_>) -> Ruling {
    use Test1989::*;
    let (config, full) = (&p.config.harvard_1989, Harvard1989Config::default());
    let TestKind::Harvard1989(test) = p.test else {
        return Ruling::not_applicable("the test is of another campaign");
    };
    let count = |what, here: u64, there: u64| Ruling::at_least(what, here as f64, there as f64, "");
    match test {
        IdleState => Ruling::not_applicable("the document states how long"),
        Delay => Ruling::at_least("stream", config.delay_stream_s, full.delay_stream_s, " s"),
        BackToBack | NfsBursts => count("bursts", config.bursts, full.bursts),
        RoutingTable | ArpCache | FilterList => {
            count("tables tried up to", config.table_limit, full.table_limit)
        }
        CrcErrors | Runts | Giants => count("frames", config.error_frames, full.error_frames),
        MaxRate | RawRate | Overload25 | Flood | LengthMix | MixedProtocols | Counters
        | Filtering | ManyRoutes | Management | ArpStorm | BroadcastStorm | RoutingUpdates
        | FloodedSizes => streams(config.rate_stream_s, full.rate_stream_s),
    }
}
