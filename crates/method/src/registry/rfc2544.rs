//! The tests of RFC 2544, and what later RFCs made of them.

use super::options::{EVERY_TRIAL, FULL_TRIALS, KEEP_ALIVES, SELF_TEST, TRAFFIC, TWO_PORTS, WAITS};
use super::{SuiteName, TestMethod};
use crate::TestKind;

/// What is mixed in: the tests of other suites choose that themselves.
const MODIFIERS: &[&str] = &["modifiers"];
const BEFORE: &[&str] = &["throughput"];

const fn test(
    id: &'static str,
    kind: TestKind,
    (document, section): (&'static str, &'static str),
    needs: &'static [&'static str],
    options: &'static [&'static [&'static str]],
) -> TestMethod {
    TestMethod { id, suite: SuiteName::Rfc2544, kind, document, section, needs, options }
}

/// What every test of RFC 2544 has, and more.
macro_rules! with {
    ($($more:expr),*) => { &[EVERY_TRIAL, WAITS, TWO_PORTS, KEEP_ALIVES, TRAFFIC, MODIFIERS, SELF_TEST, $($more),*] };
}

/// In the order of RFC 2544 section 26.
pub(super) static TESTS: [TestMethod; 8] = [
    test(
        "throughput",
        TestKind::Throughput,
        ("RFC 2544", "section 26.1"),
        &[],
        with![FULL_TRIALS, &["resolution", "loss-tolerance", "throughput"], &["search"]],
    ),
    test("latency", TestKind::Latency, ("RFC 2544", "section 26.2"), BEFORE, with![&["latency"]]),
    test("pdv", TestKind::Pdv, ("RFC 8219", "section 7.3.1"), BEFORE, with![&["pdv"]]),
    test("ipdv", TestKind::Ipdv, ("RFC 8219", "section 7.3.2"), BEFORE, with![&["ipdv"]]),
    test(
        "loss",
        TestKind::FrameLoss,
        ("RFC 2544", "section 26.3"),
        &[],
        with![FULL_TRIALS, &["extension-headers", "frame_loss", "search.trial_duration_s"]],
    ),
    test(
        "back-to-back",
        TestKind::BackToBack,
        ("RFC 9004", "section 5"),
        BEFORE,
        with![&["back_to_back"]],
    ),
    test(
        "recovery",
        TestKind::Recovery,
        ("RFC 2544", "section 26.5"),
        BEFORE,
        with![&["recovery"]],
    ),
    test("reset", TestKind::Reset, ("RFC 6201", "section 4"), BEFORE, with![&["reset"]]),
];
