//! The tests of RFC 2544, and what later RFCs made of them.

use super::options::{
    BURSTS, EVERY_TRIAL, FULL_TRIALS, IPV6, KEEP_ALIVES, MODIFIERS, ROUTING_UPDATES, SELF_TEST,
    TRAFFIC, TWO_PORTS, WAITS,
};
use super::{PairTest, Run, SuiteName, TestMethod};
use crate::rfc2544::{back_to_back, frame_loss, latency, recovery, reset, throughput};
use crate::rfc8219::{ipdv, pdv};
use crate::{SearchPolicy, TestKind, estimate};

/// Which ports send to which.
const PATTERN: &[&str] = &["pattern"];
const BEFORE: &[&str] = &["throughput"];

const fn test(
    id: &'static str,
    kind: TestKind,
    (document, section): (&'static str, &'static str),
    needs: &'static [&'static str],
    options: &'static [&'static [&'static str]],
    run: PairTest,
) -> TestMethod {
    let (suite, run) = (SuiteName::Rfc2544, Run::Pair(run));
    TestMethod { id, suite, kind, document, section, needs, options, run }
}

/// A test at the throughput that was found before.
macro_rules! at_throughput {
    ($run:path, $estimate:path) => {
        PairTest::new(
            |bench, subject, known, _| Ok($run(bench, subject, known.throughput()?)?.outcome()),
            $estimate,
        )
    };
}

const THROUGHPUT: PairTest = PairTest {
    // The adaptive search learns from its first trial what the tester can offer.
    seeks_reach: |config| config.search.policy != SearchPolicy::Adaptive,
    ..PairTest::new(
        |bench, subject, known, _| {
            let result = throughput(bench, subject)?;
            let outcome = result.outcome();
            known.throughput = Some(result);
            Ok(outcome)
        },
        estimate::throughput,
    )
};

/// One outcome for each kind of reset.
const RESET: PairTest = PairTest {
    parts: |config| config.reset.kinds.len(),
    is_of_smallest: true,
    seeks_reach: |_| false,
    ..PairTest::new(
        |bench, subject, known, part| {
            let kind = subject.config.reset.kinds[part];
            Ok(reset(bench, subject, known.throughput()?, kind)?.outcome())
        },
        estimate::reset,
    )
};

/// What every test of RFC 2544 has, and more.
macro_rules! with {
    ($($more:expr),*) => { &[EVERY_TRIAL, WAITS, TWO_PORTS, KEEP_ALIVES, TRAFFIC, IPV6, ROUTING_UPDATES, PATTERN, MODIFIERS, SELF_TEST, $($more),*] };
}

/// In the order of RFC 2544 section 26.
pub(super) static TESTS: [TestMethod; 8] = [
    test(
        "throughput",
        TestKind::Throughput,
        ("RFC 2544", "section 26.1"),
        &[],
        with![FULL_TRIALS, BURSTS, &["resolution", "loss-tolerance", "throughput"], &["search"]],
        THROUGHPUT,
    ),
    test(
        "latency",
        TestKind::Latency,
        ("RFC 2544", "section 26.2"),
        BEFORE,
        with![&["latency"]],
        at_throughput!(latency, estimate::latency),
    ),
    test(
        "pdv",
        TestKind::Pdv,
        ("RFC 8219", "section 7.3.1"),
        BEFORE,
        with![&["pdv"]],
        at_throughput!(pdv, estimate::pdv),
    ),
    test(
        "ipdv",
        TestKind::Ipdv,
        ("RFC 8219", "section 7.3.2"),
        BEFORE,
        with![&["ipdv"]],
        at_throughput!(ipdv, estimate::ipdv),
    ),
    test(
        "loss",
        TestKind::FrameLoss,
        ("RFC 2544", "section 26.3"),
        &[],
        with![FULL_TRIALS, BURSTS, &["frame_loss", "search.trial_duration_s"]],
        PairTest::new(
            |bench, subject, _, _| Ok(frame_loss(bench, subject)?.outcome()),
            estimate::frame_loss,
        ),
    ),
    test(
        "back-to-back",
        TestKind::BackToBack,
        ("RFC 9004", "section 5"),
        BEFORE,
        with![&["back_to_back"]],
        at_throughput!(back_to_back, estimate::back_to_back),
    ),
    test(
        "recovery",
        TestKind::Recovery,
        ("RFC 2544", "section 26.5"),
        BEFORE,
        with![&["recovery"]],
        at_throughput!(recovery, estimate::recovery),
    ),
    test("reset", TestKind::Reset, ("RFC 6201", "section 4"), BEFORE, with![&["reset"]], RESET),
];
