//! The table of relations. Each says from what it follows; what only usually holds is `Usual`, or left out.

use super::{Measure, Pick, Quantity, Relation, Sizes, Standing};
use crate::harvard::y1989::{Harvard1989Result, Test1989};
use crate::outcome::{FigureName, Unit};
use crate::rfc2544::{FrameLossResult, LossPoint, ThroughputResult};
use crate::{Figure, Finding, Outcome, TestKind};
use units::FrameRate;

/// Every relation, in the order in which reports name them.
pub static RELATIONS: [Relation; 10] = [
    Relation {
        id: "filters-1989",
        less: of_1989(Test1989::Filtering, Pick::Beginning("max rate, ")),
        more: of_1989(Test1989::MaxRate, MAX_RATE),
        says: "with packet filters a device forwards no more than without",
        source: FILTERS,
        ..WORK
    },
    Relation {
        id: "one-filter-1990",
        less: of_1990(TestKind::MaxRate, "1f_max "),
        more: of_1990(TestKind::MaxRate, "ip_max "),
        same_conditions: false,
        says: "with a packet filter a device forwards no more than without",
        source: FILTERS,
        ..WORK
    },
    Relation {
        id: "ten-filters-1990",
        less: of_1990(TestKind::MaxRate, "10f_max "),
        more: of_1990(TestKind::MaxRate, "ip_max "),
        same_conditions: false,
        says: "with packet filters a device forwards no more than without",
        source: FILTERS,
        ..WORK
    },
    Relation {
        id: "routes-1989",
        less: of_1989(Test1989::ManyRoutes, MAX_RATE),
        more: of_1989(Test1989::MaxRate, MAX_RATE),
        says: "with many routes a device forwards no more than with one",
        source: "router tests of 1989, many routes: the same frames, looked up in a larger table",
        ..WORK
    },
    Relation {
        id: "raw-rate-1989",
        less: of_1989(Test1989::MaxRate, MAX_RATE),
        more: of_1989(Test1989::RawRate, RAW_RATE),
        says: "the raw rate is no less than the max rate, but for what stays in buffers",
        source: "router tests of 1989, by definition: the raw rate is the highest rate at which frames come \
                 out, and the max rate is one of the loads at which it is looked for",
        ..WORK
    },
    Relation {
        id: "flood-1989",
        less: of_1989(Test1989::Flood, Pick::Named("forwarded")),
        more: of_1989(Test1989::RawRate, RAW_RATE),
        says: "of a flood no more comes out than the raw rate",
        source: "router tests of 1989, by definition: the flood is one of the loads at which the raw rate is \
                 looked for",
        ..WORK
    },
    Relation {
        id: "two-streams-1990",
        less: of_1990(TestKind::DualMaxRate, "d1_max "),
        more: of_1990(TestKind::MaxRate, "ip_max "),
        same_conditions: false,
        says: "two streams at once are no faster, each, than one of them alone",
        source: "router tests of 1990, dual streams: the first stream is the single one, the second is work \
                 beside it",
        ..WORK
    },
    Relation {
        id: "lossless-load",
        less: Quantity { test: Some(TestKind::FrameLoss), figure: Pick::Derived(lossless) },
        more: Quantity { test: Some(TestKind::Throughput), figure: Pick::Derived(throughput) },
        says: "no load above the throughput passes without loss",
        source: "RFC 1242 section 3.17, by definition: the throughput is the highest rate at which no frame \
                 is lost",
        ..WORK
    },
    Relation {
        id: "frames-by-size",
        less: ANY_RATE,
        more: ANY_RATE,
        sizes: Sizes::LessIsLarger,
        standing: Standing::Usual,
        says: "larger frames are forwarded at no higher frame rate than smaller ones",
        source: "a larger frame takes no less time on a medium and in a memory; a device that copies small \
                 frames and not large ones may differ",
        ..WORK
    },
    Relation {
        id: "bytes-by-size",
        less: ANY_RATE,
        more: ANY_RATE,
        sizes: Sizes::LessIsSmaller,
        measure: Measure::Bytes,
        standing: Standing::Usual,
        says: "larger frames are forwarded at no lower byte rate than smaller ones",
        source: "the work for a frame is shared by more bytes; a device that cuts frames into cells or \
                 buffers may differ",
        ..WORK
    },
];

/// What holds for most devices and is left out, with a device of which it does not hold.
pub const LEFT_OUT: [(&str, &str); 5] = [
    (
        "the rate at 25 % above the max rate is at least the max rate",
        "a device that spends its time on receiving forwards less the more is offered (receive livelock; \
         `--sim livelock`)",
    ),
    (
        "the raw rate of 1990 is at least the max rate",
        "it is what comes out of a flood, and not the highest rate of several loads (the same device)",
    ),
    (
        "the latency at a lower load is at most that at the throughput",
        "interrupt moderation and sleeping processors delay frames that come alone",
    ),
    (
        "traffic with broadcast, management or routing frames is no faster than without",
        "such a frame replaces a test frame (RFC 2544 section 11), and may be less work",
    ),
    (
        "many destinations are no faster than one",
        "they are spread over the processors of a device, and one is not",
    ),
];

const FILTERS: &str = "router tests of 1989 and 1990, RFC 2544 section 11.4: the same frames, and a list to \
                       search beside";
const MAX_RATE: Pick = Pick::Named("max rate");
const RAW_RATE: Pick = Pick::Derived(raw_rate);
const ANY_RATE: Quantity =
    Quantity { test: None, figure: Pick::Known(&[FigureName::Throughput, FigureName::MaxRate]) };

/// What most relations have in common.
const WORK: Relation = Relation {
    id: "",
    less: ANY_RATE,
    more: ANY_RATE,
    sizes: Sizes::Same,
    measure: Measure::Frames,
    same_conditions: true,
    standing: Standing::Holds,
    says: "",
    source: "",
};

const fn of_1989(test: Test1989, figure: Pick) -> Quantity {
    Quantity { test: Some(TestKind::Harvard1989(test)), figure }
}

const fn of_1990(test: TestKind, column: &'static str) -> Quantity {
    Quantity { test: Some(test), figure: Pick::Beginning(column) }
}

/// The raw rate, or as much as passed for each second of sending: a max rate, too, is a load that passed, and some of
/// its frames may have come out later.
fn raw_rate(outcome: &Outcome) -> Option<Figure> {
    let figure = outcome.figures.iter().find(|figure| figure.name == "raw rate")?.clone();
    let result: Option<Harvard1989Result> = outcome.record().ok();
    let passed = result.and_then(|result| result.most_passed).map(FrameRate::fps);
    let (low, high) = figure.interval()?;
    let basis = figure.basis;
    Some(figure.bounded(Some((low, passed.map_or(high, |passed| passed.max(high)))), basis))
}

/// The highest load of the frame loss test that lost nothing, under the name of that load's loss.
fn lossless(outcome: &Outcome) -> Option<Figure> {
    let result: FrameLossResult = outcome.record().ok()?;
    let passed = |point: &&LossPoint| {
        let is_offered = point.offered.fps() >= point.intended.fps() * OFFERED;
        let (sent, received) = (point.expected_frames, point.received_frames);
        point.invalid.is_empty() && is_offered && sent > 0 && received == sent
    };
    let passed = result.points.iter().filter(passed);
    let highest = passed.max_by_key(|point| point.intended)?;
    Some(Figure::single(highest.name(), Unit::Fps, highest.intended.fps()))
}

/// Of what was to be offered so much is the load itself.
const OFFERED: f64 = 0.999;

/// The throughput. Of a device whose buffers pass a higher load for the length of a trial, and of one whose trials
/// contradict each other, it is not the highest load without loss in one trial; nor where no load passed.
fn throughput(outcome: &Outcome) -> Option<Figure> {
    let result: ThroughputResult = outcome.record().ok()?;
    let found = &result.throughput;
    let is_plain = found.buffered.is_none() && found.confidence.is_none();
    let has_rate = !matches!(found.finding, Finding::NothingPassed { .. });
    let is_plain = is_plain && has_rate && result.contradiction.is_none();
    let mut figures = outcome.figures_of(FigureName::Throughput).filter(|_| is_plain);
    figures.next().cloned()
}
