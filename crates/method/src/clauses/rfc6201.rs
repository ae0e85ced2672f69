//! RFC 6201: device reset characterization.

use super::{Clause, Level, Rule, Ruling, Verdict};
use crate::{ResetKind, TestKind};

const fn clause(section: &'static str, level: Level, words: &'static str, rule: Rule) -> Clause {
    Clause::new(("RFC 6201", section), level, words, |test| test == TestKind::Reset, rule)
}

pub(super) static CLAUSES: &[Clause] = &[
    clause(
        "1.3",
        Level::Should,
        "The time is that of the frames lost, or from the last frame before to the first after.",
        Rule::Of(|p| match p.facts.unmeasured {
            None => Ruling::not_checked("the result does not say"),
            Some(count) => Ruling::met_if(count == 0, || {
                format!("{count} repetitions ended before the device forwarded again")
            }),
        }),
    ),
    clause(
        "4",
        Level::Default,
        "Traffic flows for at least 15 s before the reset.",
        Rule::Of(|p| {
            Ruling::at_least("traffic before the reset", p.config.reset.before_s, 15.0, " s")
        }),
    ),
    clause(
        "4",
        Level::Default,
        "The load is the throughput.",
        Rule::Of(|p| {
            let percent = p.config.reset.rate_percent;
            Ruling::met_if(percent == 100.0, || {
                format!("load of {percent} % of the throughput instead of 100 %")
            })
        }),
    ),
    clause(
        "4",
        Level::Default,
        "Frames have the medium's minimum size.",
        Rule::Of(|p| {
            Ruling::met_if(p.facts.frame_bytes == Some(64), || match p.facts.frame_bytes {
                Some(bytes) => format!("frames of {bytes} bytes instead of 64"),
                None => "frames of mixed sizes instead of 64 bytes".into(),
            })
        }),
    ),
    clause(
        "4.1",
        Level::Must,
        "Reset the route processor, and remove and insert a line card, where the device has them.",
        Rule::Always(Verdict::NotPossible, "the tester has no access to the device's hardware"),
    )
    .of_series(),
    clause(
        "4.2.1",
        Level::Must,
        "Reset the device's software.",
        Rule::Of(|p| {
            Ruling::met_if(p.config.reset.kinds.contains(&ResetKind::Software), || {
                "its software is not reset".into()
            })
        }),
    )
    .of_series(),
    clause(
        "4.3.1",
        Level::Must,
        "Interrupt the device's power for at least 15 s.",
        Rule::Always(Verdict::NotPossible, "the tester has no access to the device's power"),
    )
    .of_series(),
];
