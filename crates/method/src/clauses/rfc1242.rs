//! RFC 1242: the terms of RFC 2544. What throughput and constant load are asks something of the tester.

use super::rfc2544::is_of_rfc;
use super::{Basis, Clause, Level, Rule, Ruling};
use crate::{TestKind, TrialConfig};
use trial::ValidityLimits;

const fn clause(
    section: &'static str,
    words: &'static str,
    concerns: fn(TestKind) -> bool,
    rule: Rule,
) -> Clause {
    Clause::new(("RFC 1242", section), Level::Default, words, concerns, rule)
}

pub(super) static CLAUSES: &[Clause] = &[
    clause(
        "3.4",
        "Frames leave at a fixed interval: the tester makes up for 100 us or 128 frames at most.",
        is_of_rfc,
        Rule::Trial(catching_up),
    ),
    clause(
        "3.4",
        "A frame that leaves 20 us or 16 intervals after it was due counts as late.",
        is_of_rfc,
        Rule::Trial(lateness),
    ),
    clause("3.17", "Checksums of received frames are verified.", is_of_rfc, Rule::Of(checksums)),
];

/// A tester that makes up for more sends a burst.
fn catching_up(trial: &TrialConfig) -> Ruling {
    let (limits, usual) = (&trial.limits, ValidityLimits::default());
    within(
        "lateness made up for by sending faster",
        [
            (limits.credit_us, usual.credit_us, "us"),
            (limits.credit_frames, usual.credit_frames, "frames"),
        ],
    )
}

fn lateness(trial: &TrialConfig) -> Ruling {
    let (limits, usual) = (&trial.limits, ValidityLimits::default());
    within(
        "frames count as late after",
        [
            (limits.late_after_us, usual.late_after_us, "us"),
            (limits.late_intervals, usual.late_intervals, "intervals"),
        ],
    )
}

/// Values that are to be no more than the second one.
fn within(what: &str, values: [(u64, u64, &str); 2]) -> Ruling {
    let beyond = values.iter().filter(|(value, usual, _)| value > usual);
    let how =
        beyond.map(|(value, usual, unit)| format!("{value} {unit} instead of <= {usual} {unit}"));
    let how: Vec<String> = how.collect();
    Ruling::met_if(how.is_empty(), || format!("{what}: {}", how.join(", ")))
}

fn checksums(p: &Basis<'_>) -> Ruling {
    match p.config.traffic.protocol {
        protocol if !protocol.is_ip() => {
            Ruling::not_applicable("frames have no checksum but the FCS")
        }
        _ => Ruling::met_if(p.config.trial.verify_checksums, || {
            "those of IP and transport are not: set trial.verify_checksums = true".into()
        }),
    }
}
