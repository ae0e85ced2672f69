//! The router tests of Harvard University, of 1989 and of 1990.

use super::options::{EVERY_TRIAL, SELF_TEST, TRAFFIC, TWO_PORTS, WAITS};
use super::{PairTest, Run, SuiteName, TestMethod};
use crate::harvard::y1989::{self, Test1989};
use crate::{TestKind, estimate, harvard};

type Options = &'static [&'static [&'static str]];

const fn of_1990(id: &'static str, kind: TestKind, options: Options, run: PairTest) -> TestMethod {
    TestMethod {
        id,
        suite: SuiteName::Harvard1990,
        kind,
        document: "Harvard router tests of 1990",
        section: "",
        needs: &[],
        options,
        run: Run::Pair(run),
    }
}

/// A test whose sources say what can be offered.
macro_rules! run {
    ($run:path, $kind:expr) => {
        PairTest {
            seeks_reach: |_| false,
            ..PairTest::new(
                |bench, subject, known, _| $run(bench, subject, known, $kind),
                |config, ceiling| estimate::of_campaign(config, $kind, ceiling),
            )
        }
    };
}
macro_rules! run_1990 {
    ($kind:expr) => {
        run!(harvard::test_1990, $kind)
    };
}

const LEARNT: &[&str] = &["sizes", "trial.learning_wait_s"];
const GAP: &[&str] = &["duration", "harvard.max_rate_stream_s", "harvard.gap_step_ns"];
const RAW: &[&str] = &["duration", "harvard.raw_rate_stream_s"];

/// The tests of 1990.
pub(super) static TESTS_1990: [TestMethod; 5] = [
    of_1990(
        "delay",
        TestKind::Delay,
        &[EVERY_TRIAL, WAITS, LEARNT, &["harvard.delay_stream_s", "harvard.delay_gap_s"]],
        run_1990!(TestKind::Delay),
    ),
    of_1990(
        "max-rate",
        TestKind::MaxRate,
        &[EVERY_TRIAL, WAITS, LEARNT, GAP],
        run_1990!(TestKind::MaxRate),
    ),
    of_1990(
        "raw-rate",
        TestKind::RawRate,
        &[EVERY_TRIAL, WAITS, LEARNT, RAW],
        run_1990!(TestKind::RawRate),
    ),
    of_1990(
        "dual-stream",
        TestKind::DualStream,
        &[EVERY_TRIAL, WAITS, LEARNT, RAW],
        run_1990!(TestKind::DualStream),
    ),
    of_1990(
        "dual-max-rate",
        TestKind::DualMaxRate,
        &[EVERY_TRIAL, WAITS, LEARNT, GAP],
        run_1990!(TestKind::DualMaxRate),
    ),
];

const fn of_1989(
    id: &'static str,
    test: Test1989,
    needs: &'static [&'static str],
    options: Options,
    run: PairTest,
) -> TestMethod {
    TestMethod {
        id,
        suite: SuiteName::Harvard1989,
        kind: TestKind::Harvard1989(test),
        document: "Harvard router tests of 1989",
        section: "",
        needs,
        options,
        run: Run::Pair(PairTest { is_of_smallest: !test.is_by_size(), ..run }),
    }
}

/// Tests that are made of the max rate.
const MADE_OF_IT: &[&str] = &["max-rate"];
const STREAM: &[&str] = &["duration", "harvard_1989.rate_stream_s", "trial.keep_alives"];
const SEARCHED: &[&str] = &["resolution", "search.resolution_percent", "harvard_1989.gap_step_ns"];
const TABLES: &[&str] = &["harvard_1989.table_limit", "harvard_1989.table_fps"];
const ERRORS: &[&str] =
    &["harvard_1989.error_frames", "harvard_1989.error_fps", "harvard_1989.error_sizes"];

/// What every test of 1989 has, and more.
macro_rules! with {
    ($($more:expr),*) => { &[EVERY_TRIAL, WAITS, TWO_PORTS, TRAFFIC, SELF_TEST, $($more),*] };
}

macro_rules! run_1989 {
    ($test:ident) => {
        run!(y1989::test, TestKind::Harvard1989(Test1989::$test))
    };
}

/// The tests of 1989, in the order in which they run.
pub(super) static TESTS_1989: [TestMethod; 24] = [
    of_1989(
        "idle-state",
        Test1989::IdleState,
        &[],
        with!(&["harvard_1989.idle_s"]),
        run_1989!(IdleState),
    ),
    of_1989(
        "delay",
        Test1989::Delay,
        &[],
        with!(&[
            "harvard_1989.delay_gap_s",
            "harvard_1989.delay_stream_s",
            "harvard_1989.delay_varies_ms",
            "trial.keep_alives"
        ]),
        run_1989!(Delay),
    ),
    of_1989("max-rate", Test1989::MaxRate, &[], with!(STREAM, SEARCHED), run_1989!(MaxRate)),
    of_1989("raw-rate", Test1989::RawRate, MADE_OF_IT, with!(STREAM), run_1989!(RawRate)),
    of_1989("overload25", Test1989::Overload25, MADE_OF_IT, with!(STREAM), run_1989!(Overload25)),
    of_1989("flood", Test1989::Flood, MADE_OF_IT, with!(STREAM), run_1989!(Flood)),
    of_1989(
        "back-to-back",
        Test1989::BackToBack,
        &[],
        with!(&["harvard_1989.burst_period_ms", "harvard_1989.bursts"]),
        run_1989!(BackToBack),
    ),
    of_1989(
        "length-mix",
        Test1989::LengthMix,
        &[],
        with!(STREAM, SEARCHED, &["harvard_1989.mix"]),
        run_1989!(LengthMix),
    ),
    of_1989(
        "mixed-protocols",
        Test1989::MixedProtocols,
        &[],
        with!(STREAM, &["harvard_1989.protocols"]),
        run_1989!(MixedProtocols),
    ),
    of_1989("counters", Test1989::Counters, MADE_OF_IT, with!(STREAM), run_1989!(Counters)),
    of_1989(
        "filtering",
        Test1989::Filtering,
        &[],
        with!(STREAM, SEARCHED, &["harvard_1989.filters"]),
        run_1989!(Filtering),
    ),
    of_1989(
        "many-routes",
        Test1989::ManyRoutes,
        &[],
        with!(STREAM, SEARCHED, &["harvard_1989.routes", "harvard_1989.table_fps"]),
        run_1989!(ManyRoutes),
    ),
    of_1989(
        "routing-table",
        Test1989::RoutingTable,
        &[],
        with!(TABLES, &["harvard_1989.routes"]),
        run_1989!(RoutingTable),
    ),
    of_1989("arp-cache", Test1989::ArpCache, &[], with!(TABLES), run_1989!(ArpCache)),
    of_1989("filter-list", Test1989::FilterList, &[], with!(TABLES), run_1989!(FilterList)),
    of_1989(
        "management",
        Test1989::Management,
        MADE_OF_IT,
        with!(STREAM, &["harvard_1989.echo_fps"]),
        run_1989!(Management),
    ),
    of_1989("arp-storm", Test1989::ArpStorm, MADE_OF_IT, with!(STREAM), run_1989!(ArpStorm)),
    of_1989(
        "broadcast-storm",
        Test1989::BroadcastStorm,
        MADE_OF_IT,
        with!(STREAM),
        run_1989!(BroadcastStorm),
    ),
    of_1989(
        "routing-updates",
        Test1989::RoutingUpdates,
        MADE_OF_IT,
        with!(STREAM),
        run_1989!(RoutingUpdates),
    ),
    of_1989(
        "nfs-bursts",
        Test1989::NfsBursts,
        &[],
        with!(&["harvard_1989.nfs_datagrams", "harvard_1989.bursts"]),
        run_1989!(NfsBursts),
    ),
    of_1989("flooded-sizes", Test1989::FloodedSizes, &[], with!(STREAM), run_1989!(FloodedSizes)),
    of_1989("crc-errors", Test1989::CrcErrors, &[], with!(ERRORS), run_1989!(CrcErrors)),
    of_1989("giants", Test1989::Giants, &[], with!(ERRORS), run_1989!(Giants)),
    of_1989("runts", Test1989::Runts, &[], with!(ERRORS), run_1989!(Runts)),
];
