//! RFC 9004: updates for the back-to-back frame benchmark.

use super::{Clause, Level, Rule, Ruling};
use crate::TestKind;

const fn clause(section: &'static str, level: Level, words: &'static str, rule: Rule) -> Clause {
    Clause::new(("RFC 9004", section), level, words, |test| test == TestKind::BackToBack, rule)
}

pub(super) static CLAUSES: &[Clause] = &[
    clause(
        "3",
        Level::Must,
        "All frames of a burst have the same size: no IMIX.",
        Rule::Of(|p| {
            Ruling::met_if(p.facts.frame_bytes.is_some(), || "frames of mixed sizes".into())
        }),
    ),
    clause(
        "5",
        Level::Must,
        "The throughput of the size, at zero loss, is known.",
        Rule::Of(|p| match (&p.facts.not_measured, p.facts.throughput_fps) {
            (None, None) => Ruling::departed("no throughput of this size is known"),
            (Some(_), None) => Ruling::not_checked("the result does not say"),
            (_, Some(_)) => Ruling::met(),
        }),
    ),
    clause(
        "6.2",
        Level::Default,
        "A burst has the medium's minimum gaps.",
        Rule::Of(|p| match p.facts.minimum_gap {
            None => Ruling::not_checked("the result does not say"),
            Some(true) => Ruling::met(),
            Some(false) => Ruling::not_possible("bursts leave at the tester's own maximum"),
        }),
    ),
    clause(
        "6.2",
        Level::Must,
        "Wait at least 2 s after a burst has been received.",
        Rule::Of(|p| {
            Ruling::at_least("wait after a burst", p.config.back_to_back.wait_s, 2.0, " s")
        }),
    ),
    clause(
        "6.2",
        Level::Must,
        "Bursts may be as long as 30 s.",
        Rule::Of(|p| Ruling::at_least("longest burst", p.config.back_to_back.limit_s, 30.0, " s")),
    ),
    clause(
        "6.2",
        Level::Must,
        "A search that ends at the limit is repeated with a higher one.",
        Rule::Of(|p| match p.facts.at_limit {
            None => Ruling::not_checked("the result does not say"),
            Some(count) => Ruling::met_if(count == 0, || {
                format!("{count} searches ended at the limit, which was not raised further")
            }),
        }),
    ),
];
