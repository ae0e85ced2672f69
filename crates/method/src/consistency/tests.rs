//! Each relation with results that contradict it and results that do not; and what becomes of contradictions, over
//! results as runs recorded them.

use super::compare::{Pair, pairs};
use super::contradiction::Side;
use super::settle::{Place, Repeat, Told, settle};
use super::{Consistency, Ending, RELATIONS, Standing, agree};
use crate::harvard::y1989::Test1989;
use crate::outcome::{Basis, Cell, Layout, Relation as OfTruth, Unit};
use crate::{Figure, FigureName, Outcome, TestConditions, TestKind};
use proptest::prelude::*;
use units::{FrameRate, LineRate};

const MAX_RATE: TestKind = TestKind::Harvard1989(Test1989::MaxRate);
const RAW_RATE: TestKind = TestKind::Harvard1989(Test1989::RawRate);
const FLOOD: TestKind = TestKind::Harvard1989(Test1989::Flood);
const FILTERING: TestKind = TestKind::Harvard1989(Test1989::Filtering);
const ROUTES: TestKind = TestKind::Harvard1989(Test1989::ManyRoutes);

/// Of a result with frames of one size.
pub(crate) fn conditions(size_bytes: u32) -> TestConditions {
    TestConditions {
        frame_size: size_bytes.to_string(),
        mean_frame_size_bytes: size_bytes.into(),
        direction: None,
        modifier: None,
        traffic: "UDP over IPv4".into(),
        filters: String::new(),
        line_rate: LineRate::from_gbps(10),
        line_rate_is_physical: false,
        theoretical_max: FrameRate::from_fps(1_000_000),
        tester_max: None,
        deviations: vec![],
        clauses: vec![],
        in_words: "UDP over IPv4; unidirectional".into(),
    }
}

/// A result with one rate, in a figure and in a table.
fn result(test: TestKind, size_bytes: u32, name: &str, fps: f64) -> Outcome {
    let figure = Figure::single(name, Unit::Fps, fps);
    let figure = match test {
        TestKind::Throughput => figure.called(FigureName::Throughput),
        MAX_RATE | FILTERING | ROUTES => figure.called(FigureName::MaxRate),
        _ => figure,
    };
    let share = Figure::single("of theoretical", Unit::Percent, fps / 10_000.0);
    let layout = Layout::new("T", vec![], &["size", name, "of theoretical, %"]);
    let cells =
        [Cell::Count(size_bytes.into()), Cell::number(fps, 1), Cell::number(fps / 10_000.0, 3)];
    Outcome::new(test, conditions(size_bytes), vec![figure, share], &[]).laid_out(layout.row(cells))
}

/// A result that is known to lie between two rates.
fn between(size_bytes: u32, low: f64, high: f64) -> Outcome {
    let mut outcome = result(TestKind::Throughput, size_bytes, "throughput", low);
    let figure = Figure::within("throughput", Unit::Fps, OfTruth::Between, (low, high));
    outcome.figures[0] = figure.called(FigureName::Throughput);
    outcome
}

fn of(test: TestKind, name: &str, fps: f64) -> Outcome {
    result(test, 1_024, name, fps)
}

/// The result of the throughput and of the frame loss test, as far as relations read their records.
fn throughput(fps: f64) -> Outcome {
    let figure = Figure::within("throughput", Unit::Fps, OfTruth::Equal, (fps, fps * 1.02));
    let record = serde_json::json!(crate::rfc2544::ThroughputResult {
        conditions: recorded_conditions(),
        throughput: crate::RateFound {
            loss_tolerance_percent: 0.0,
            finding: crate::Finding::Measured,
            rate: Some(FrameRate::from_fps_f64(fps)),
            confidence: None,
            buffered: None,
            conditional_throughput: None,
            percent_of_theoretical: None,
            offered: None,
            loss_percent: None,
            upper: Some(FrameRate::from_fps_f64(fps * 1.02)),
            resolution_fps: None,
            resolution_percent_of_theoretical: None,
            trial_duration: units::Duration::from_secs(60),
            trials: 9,
            invalid_trials: 0,
            test_time: units::Duration::from_secs(600),
            trials_at_rate: 1,
            failed_trials_at_rate: 0,
            policy: crate::SearchPolicy::default(),
            search: String::new(),
        },
        with_tolerance: vec![],
        inter_burst_gap: None,
        contradiction: None,
        cost: None,
        notes: vec![],
    });
    let figures = vec![figure.called(FigureName::Throughput)];
    Outcome { detail: record, ..Outcome::new(TestKind::Throughput, conditions(64), figures, &[]) }
}

fn frame_loss(lossless_fps: u64) -> Outcome {
    let point = crate::rfc2544::LossPoint {
        percent_of_maximum: 100.0,
        percent_of_theoretical: 100.0,
        intended: FrameRate::from_fps(lossless_fps),
        offered: FrameRate::from_fps(lossless_fps),
        expected_frames: 1_000,
        received_frames: 1_000,
        loss_percent: 0.0,
        pairs: vec![],
        invalid: vec![],
        not_offered: false,
    };
    let result = crate::rfc2544::FrameLossResult {
        conditions: recorded_conditions(),
        maximum: FrameRate::from_fps(lossless_fps),
        maximum_of: crate::rfc2544::MaximumOf::Medium,
        step_percent: 10.0,
        points: vec![point],
        ended_with_two_lossless: false,
        notes: vec![],
    };
    Outcome { conditions: conditions(64), ..result.outcome() }
}

fn recorded_conditions() -> crate::Conditions {
    crate::Conditions {
        frame_size: "64".into(),
        mean_frame_size_bytes: 64.0,
        direction: crate::Direction::Unidirectional,
        pattern: crate::Pattern::Pair,
        transmitting_ports: 1,
        modifier: crate::Modifier::None,
        traffic: "UDP over IPv4".into(),
        frame_formats: vec![],
        filters: String::new(),
        line_rate: LineRate::from_gbps(10),
        line_rate_is_physical: false,
        theoretical_max: FrameRate::from_fps(1_000_000),
        tester_max: None,
        tester_reach: None,
        given_up: vec![],
    }
}

/// Of each relation, the figure that is to be no more and the other, at these rates.
fn sides(relation: &str, less: f64, more: f64) -> [Outcome; 2] {
    let in_1990 =
        |test, column: &str, fps| of(test, &format!("{column} between interface cards"), fps);
    match relation {
        "filters-1989" => {
            [of(FILTERING, "max rate, 1 filters", less), of(MAX_RATE, "max rate", more)]
        }
        "routes-1989" => [of(ROUTES, "max rate", less), of(MAX_RATE, "max rate", more)],
        "raw-rate-1989" => [of(MAX_RATE, "max rate", less), of(RAW_RATE, "raw rate", more)],
        "flood-1989" => [of(FLOOD, "forwarded", less), of(RAW_RATE, "raw rate", more)],
        "one-filter-1990" => {
            [in_1990(TestKind::MaxRate, "1f_max", less), in_1990(TestKind::MaxRate, "ip_max", more)]
        }
        "ten-filters-1990" => [
            in_1990(TestKind::MaxRate, "10f_max", less),
            in_1990(TestKind::MaxRate, "ip_max", more),
        ],
        "two-streams-1990" => [
            in_1990(TestKind::DualMaxRate, "d1_max", less),
            in_1990(TestKind::MaxRate, "ip_max", more),
        ],
        "lossless-load" => [frame_loss(less as u64), throughput(more)],
        "frames-by-size" => {
            let at = |size, fps| result(TestKind::Throughput, size, "throughput", fps);
            [at(512, less), at(64, more)]
        }
        "bytes-by-size" => {
            // In bytes a second the same rates.
            let at = |size: u32, bytes: f64| {
                result(TestKind::Throughput, size, "throughput", bytes / f64::from(size))
            };
            [at(64, less), at(512, more)]
        }
        other => panic!("{other} has no results here that it is tried with"),
    }
}

fn told(outcomes: impl IntoIterator<Item = Outcome>) -> Vec<Told> {
    let place = |(item, outcome): (usize, Outcome)| {
        let place = Place { lane: 0, item, test: outcome.test };
        Told { place, outcome }
    };
    outcomes.into_iter().enumerate().map(place).collect()
}

/// What becomes of first results where repetitions come to those; nothing rests on anything.
fn settled(first: &[Outcome], again: &[Outcome]) -> (Consistency, Vec<Repeat>) {
    let again = told(again.iter().cloned());
    let mut repeated = vec![];
    let consistency = settle(told(first.iter().cloned()), &|_, _| false, &mut |asked| {
        repeated.extend(asked.iter().cloned());
        let is_asked = |told: &&Told| asked.iter().any(|repeat| repeat.place == told.place);
        Ok(again.iter().filter(is_asked).cloned().collect())
    });
    (consistency.expect("nothing fails"), repeated)
}

/// Which results were repeated, in the order in which they were.
fn items(repeated: &[Repeat]) -> Vec<usize> {
    repeated.iter().map(|repeat| repeat.place.item).collect()
}

fn stated(consistency: &Consistency, first: &[Outcome]) -> Vec<Outcome> {
    let mut results = first.to_vec();
    consistency.revise(&mut results);
    results
}

/// A new relation fails here until it has results that it is tried with.
#[test]
fn every_relation_finds_what_contradicts_it_and_nothing_else() {
    for relation in &RELATIONS {
        let found = |less, more| {
            let first = sides(relation.id, less, more);
            let (consistency, _) = settled(&first, &first);
            let found = consistency.contradictions.iter();
            found.map(|found| found.relation.clone()).collect::<Vec<_>>()
        };
        let id = relation.id;
        assert!(found(40_000.0, 20_000.0).contains(&id.to_owned()), "{id}");
        assert!(!found(20_000.0, 40_000.0).contains(&id.to_owned()), "{id}");
        assert_eq!(found(20_000.0, 20_000.0), [""; 0], "{id}: alike is no contradiction");
        assert!(!relation.says.is_empty() && !relation.source.is_empty(), "{id}");
    }
    let mut ids: Vec<_> = RELATIONS.iter().map(|relation| relation.id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), RELATIONS.len());
}

/// Harvard 1989 live at 1024 bytes, on a host with two busy processors: 253,520 frames/s, 13,026 with one filter and
/// 609,590 with 200 routes. The repetition of a host that is still busy comes to something else again.
#[test]
fn more_with_routes_than_without_becomes_an_interval_that_holds_all_results() {
    let first = [
        of(MAX_RATE, "max rate", 253_520.0),
        of(FILTERING, "max rate, 1 filters", 13_026.0),
        of(ROUTES, "max rate", 609_590.0),
    ];
    let again =
        [of(MAX_RATE, "max rate", 401_000.0), first[1].clone(), of(ROUTES, "max rate", 380_000.0)];
    let (consistency, repeated) = settled(&first, &again);
    let tests: Vec<_> = repeated.iter().map(|repeat| repeat.place.test).collect();
    assert_eq!(tests, [MAX_RATE, ROUTES], "one filter contradicts nothing");
    assert!(repeated[0].because.contains("609,590"), "{}", repeated[0].because);
    let [found] = &consistency.contradictions[..] else { panic!("{consistency:#?}") };
    assert_eq!(found.ending, Ending::Widened);
    let results = stated(&consistency, &first);
    for result in [&results[0], &results[2]] {
        let figure = &result.figures[0];
        assert_eq!(figure.claim(), Some((253_520.0, 609_590.0)), "{figure:?}");
        assert_eq!((figure.relation, figure.basis), (OfTruth::Between, Basis::Contradiction));
        assert!(figure.is_revised());
        // The table says the same, and so does the share of the medium's maximum.
        let row: Vec<_> = result.layouts[0].rows[0].iter().map(ToString::to_string).collect();
        assert_eq!(row[1..], ["253,520.0 .. 609,590.0", "25.352 .. 60.959"]);
        assert_eq!(result.figures[1].claim(), Some((25.352, 60.959)));
        assert!(result.layouts[0].notes[0].starts_with("revised: max rate: first "));
    }
    assert_eq!(results[1], first[1]);
    let words = found.in_words();
    for part in
        ["609,590", "253,520", "401,000", "380,000", "many routes a device forwards no more"]
    {
        assert!(words.contains(part), "{words}");
    }
}

/// A bridge at 37,161 frames/s without a filter and at 234,647 with one; the repetition comes to 240,100.
#[test]
fn what_was_slower_once_is_stated_as_the_repetition_has_it() {
    let first =
        [of(MAX_RATE, "max rate", 37_161.0), of(FILTERING, "max rate, 1 filters", 234_647.0)];
    let again =
        [of(MAX_RATE, "max rate", 240_100.0), of(FILTERING, "max rate, 1 filters", 233_900.0)];
    let (consistency, _) = settled(&first, &again);
    assert_eq!(consistency.contradictions[0].ending, Ending::Settled);
    let results = stated(&consistency, &first);
    let max_rate = &results[0].figures[0];
    assert_eq!(max_rate.claim(), Some((240_100.0, 240_100.0)));
    assert!(max_rate.revised.contains("37,161"), "{max_rate:?}");
    assert_eq!(results[1], first[1], "what came to the same again stands");
    assert_eq!(consistency.revised.len(), 1);
}

/// 5,000 frames/s at first and 1,250 ever after: nobody knows whether the device is itself again.
#[test]
fn what_is_slower_now_is_not_settled() {
    let first = [of(MAX_RATE, "max rate", 5_000.0), of(RAW_RATE, "raw rate", 1_250.0)];
    let again = [of(MAX_RATE, "max rate", 1_250.0), of(RAW_RATE, "raw rate", 1_250.0)];
    let (consistency, _) = settled(&first, &again);
    assert_eq!(consistency.contradictions[0].ending, Ending::Widened);
    for result in stated(&consistency, &first) {
        assert_eq!(result.figures[0].claim(), Some((1_250.0, 5_000.0)));
    }
}

/// The same twice: by definition it cannot be, so neither number is stated alone.
#[test]
fn what_cannot_be_is_not_stated_though_it_repeats() {
    let first = [of(MAX_RATE, "max rate", 5_000.0), of(RAW_RATE, "raw rate", 4_000.0)];
    let (consistency, _) = settled(&first, &first);
    assert_eq!(consistency.contradictions[0].ending, Ending::Widened);
    assert_eq!(consistency.contradictions[0].standing, Standing::Holds);
    let results = stated(&consistency, &first);
    assert_eq!(results[1].figures[0].claim(), Some((4_000.0, 5_000.0)));
}

/// A device that forwards large frames faster than small ones is an unusual one, and measured.
#[test]
fn what_only_usually_holds_is_confirmed_by_a_repetition() {
    let at = |size, fps| result(TestKind::Throughput, size, "throughput", fps);
    let first = [at(64, 20_000.0), at(128, 30_000.0), at(256, 29_000.0)];
    let (consistency, repeated) = settled(&first, &first);
    assert_eq!(consistency.contradictions[0].ending, Ending::Confirmed);
    assert_eq!(consistency.revised, []);
    assert_eq!(items(&repeated), [0, 1], "only the two sizes concerned");
    assert!(consistency.contradictions[0].in_words().contains("Usually larger frames"));
}

/// Ten filters, live beside two busy processors: the repetition of the slower one is so wide that it agrees with both. What
/// is stated does not contradict itself.
#[test]
fn a_wide_repetition_settles_nothing_for_first_results() {
    let first = [between(64, 475_463.0, 475_463.0), between(128, 682_673.0, 763_999.0)];
    let again = [between(64, 466_352.0, 828_680.0), between(128, 730_429.0, 730_429.0)];
    let (consistency, _) = settled(&first, &again);
    assert_eq!(consistency.contradictions[0].ending, Ending::Widened);
    let results = stated(&consistency, &first);
    let rates = results.iter().map(|result| result.figures[0].claim());
    assert_eq!(rates.collect::<Vec<_>>(), [Some((466_352.0, 828_680.0)); 2]);
    assert!(results.iter().all(|result| result.figures[0].is_revised()));
    let told = consistency.contradictions[0].in_words();
    assert!(told.contains("466,352 .. 828,680"), "{told}");
}

/// 128 bytes came to 8,000 and then to 10,000, which contradicts 64 bytes: that it is 10,000 still says nothing, since it was
/// made twice only.
#[test]
fn a_repetition_does_not_confirm_itself() {
    let at = |size, fps| result(TestKind::Throughput, size, "throughput", fps);
    let first = [at(64, 8_000.0), at(128, 8_000.0), at(256, 20_000.0)];
    let again = [at(64, 8_000.0), at(128, 10_000.0), at(256, 8_000.0)];
    let (consistency, repeated) = settled(&first, &again);
    assert_eq!(items(&repeated), [1, 2, 0]);
    assert!(repeated[2].because.contains("is 10,000 frames/s"), "{}", repeated[2].because);
    let found = consistency.contradictions.iter().find(|found| found.more.frame_size == "64");
    assert_eq!(found.expect("the repetition contradicts it").ending, Ending::Widened);
    let results = stated(&consistency, &first);
    assert_eq!(results[1].figures[0].claim().map(|claim| claim.0), Some(8_000.0));
}

/// Each interval meets the next one, and the last is above the first: that is found, and once only.
#[test]
fn sizes_in_a_row_hide_no_contradiction() {
    let first = [
        between(256, 812_425.0, 903_514.0),
        between(512, 900_000.0, 1_018_620.0),
        between(1024, 998_933.0, 1_130_594.0),
    ];
    let (consistency, repeated) = settled(&first, &first);
    assert_eq!(items(&repeated), [0, 2]);
    let [found] = &consistency.contradictions[..] else { panic!("{consistency:#?}") };
    assert_eq!((&*found.more.frame_size, &*found.less.frame_size), ("256", "1024"));
}

/// 64 and 128 bytes were disturbed, 256 was not: 128 and 256 are repeated first, then 64, which the repetition of 128
/// contradicts.
#[test]
fn a_repetition_that_contradicts_another_result_has_that_repeated_too() {
    let at = |size, fps| result(TestKind::Throughput, size, "throughput", fps);
    let first = [at(64, 5_000.0), at(128, 5_000.0), at(256, 20_000.0)];
    let again = [at(64, 20_000.0), at(128, 20_000.0), at(256, 20_000.0)];
    let (consistency, repeated) = settled(&first, &again);
    assert_eq!(items(&repeated), [1, 2, 0]);
    let results = stated(&consistency, &first);
    let rates = results.iter().map(|result| result.figures[0].claim());
    assert_eq!(rates.collect::<Vec<_>>(), [Some((20_000.0, 20_000.0)); 3]);
    let endings = consistency.contradictions.iter().map(|found| found.ending);
    assert_eq!(endings.collect::<Vec<_>>(), [Ending::Settled; 2]);
    assert!(results[0].figures[0].is_revised() && results[1].figures[0].is_revised());
}

#[test]
fn a_repetition_without_a_result_decides_nothing() {
    let first = [of(MAX_RATE, "max rate", 5_000.0), of(RAW_RATE, "raw rate", 1_250.0)];
    let invalid = Outcome {
        figures: vec![Figure::missing("max rate", Unit::Fps, Some("held up".into()))],
        invalid: vec!["held up".into()],
        ..first[0].clone()
    };
    let (consistency, _) = settled(&first, &[invalid, first[1].clone()]);
    let [found] = &consistency.contradictions[..] else { panic!("{consistency:#?}") };
    assert_eq!(found.ending, Ending::Widened);
    assert!(found.in_words().contains("Repeated: no result and 1,250"), "{}", found.in_words());
    let results = stated(&consistency, &first);
    assert_eq!(results[0].figures[0].claim(), Some((1_250.0, 5_000.0)));
    assert_eq!(results[0].invalid, [""; 0]);
}

/// The raw rate is looked for at and above the max rate: with another max rate it is another test.
#[test]
fn tests_that_rest_on_a_repeated_one_are_made_again() {
    let place = |test| Place { lane: 0, item: 0, test };
    let tell = |outcome: Outcome| Told { place: place(outcome.test), outcome };
    let first = [
        of(MAX_RATE, "max rate", 37_161.0),
        of(FLOOD, "forwarded", 90_000.0),
        of(FILTERING, "max rate, 1 filters", 234_647.0),
    ];
    let again =
        [of(MAX_RATE, "max rate", 240_000.0), of(FLOOD, "forwarded", 260_000.0), first[2].clone()];
    let rests_on = |test, base| (test, base) == (FLOOD, MAX_RATE);
    let mut asked_for = vec![];
    let consistency = settle(first.clone().map(tell).to_vec(), &rests_on, &mut |asked| {
        asked_for.extend(asked.iter().map(|repeat| repeat.place.test));
        Ok(again.clone().map(tell).to_vec())
    });
    let consistency = consistency.unwrap();
    assert_eq!(asked_for, [MAX_RATE, FLOOD, FILTERING]);
    let results = stated(&consistency, &first);
    assert_eq!(results[1].figures[0].value, Some(260_000.0));
    let note = &results[1].layouts[0].notes[0];
    assert!(note.contains("it rests on max rate"), "{note}");
}

/// `of max rate` is the share of what came out, not of what was offered.
#[test]
fn the_load_that_was_offered_has_no_share() {
    let overload = |offered: f64, forwarded: f64| {
        let figures = vec![
            Figure::single("offered", Unit::Fps, offered),
            Figure::single("forwarded", Unit::Fps, forwarded).called(FigureName::ForwardingRate),
            Figure::single("of max rate", Unit::Percent, forwarded / 50.0),
        ];
        Outcome::new(TestKind::Harvard1989(Test1989::Overload25), conditions(64), figures, &[])
    };
    let both = |name: &str, interval| super::revise::Wide {
        name: name.into(),
        interval,
        why: "repeated".into(),
    };
    let offered = overload(6_250.0, 1_250.0).widened(&[both("offered", (1_600.0, 6_250.0))]);
    assert_eq!(offered.figures[2].claim(), Some((25.0, 25.0)));
    let forwarded = overload(6_250.0, 1_250.0).widened(&[both("forwarded", (1_250.0, 5_000.0))]);
    assert_eq!(forwarded.figures[2].claim(), Some((25.0, 100.0)));
}

/// At a hundredth two numbers are one.
#[test]
fn numbers_agree_by_their_intervals() {
    let single = |fps| Figure::single("r", Unit::Fps, fps);
    assert!(agree(&single(1_000.0), &single(1_009.0)));
    assert!(!agree(&single(1_000.0), &single(1_011.0)));
    let within = |bounds| Figure::within("r", Unit::Fps, OfTruth::Equal, bounds);
    assert!(agree(&within((900.0, 1_000.0)), &within((1_000.0, 1_100.0))));
    let at_least = Figure::within("r", Unit::Fps, OfTruth::AtLeast, (900.0, f64::INFINITY));
    assert!(agree(&at_least, &single(5_000.0)) && !agree(&at_least, &single(800.0)));
    let unknown = Figure::missing("r", Unit::Fps, None);
    assert!(!agree(&unknown, &single(800.0)));
}

proptest! {
    /// Whatever tests and repetitions come to, what is stated contradicts itself only where a repetition has confirmed
    /// what usually is otherwise.
    #[test]
    fn no_contradiction_is_stated_as_fact(
        numbers in prop::collection::vec((1u32..6, prop::sample::select(vec![0.0, 0.3, 2.0])), 12)
    ) {
        let with = |numbers: &[(u32, f64)]| -> Vec<Outcome> {
            let tests = [MAX_RATE, FILTERING];
            let kinds = tests.into_iter().flat_map(|test| [64, 128, 256].map(|size| (size, test)));
            let outcome = |((size, test), (number, width)): ((u32, TestKind), &(u32, f64))| {
                let low = f64::from(*number) * 1000.0;
                let interval = (low, low * (1.0 + width));
                let name = if test == FILTERING { "max rate, 1 filters" } else { "max rate" };
                let mut outcome = result(test, size, name, low);
                let figure = Figure::within(name, Unit::Fps, OfTruth::Between, interval);
                outcome.figures[0] = figure.called(FigureName::MaxRate);
                outcome
            };
            kinds.zip(numbers).map(outcome).collect()
        };
        let (first, again) = (with(&numbers[..6]), with(&numbers[6..]));
        let (consistency, _) = settled(&first, &again);
        let results = stated(&consistency, &first);
        let mut left = pairs(&results.iter().collect::<Vec<_>>());
        left.retain(Pair::is_contradicted);
        for pair in left {
            let is_side = |side: &Side, at: usize| {
                (side.test, &side.frame_size) == (first[at].test, &first[at].conditions.frame_size)
            };
            let is_confirmed = consistency.contradictions.iter().any(|found| {
                found.ending == Ending::Confirmed
                    && is_side(&found.less, pair.less.at)
                    && is_side(&found.more, pair.more.at)
            });
            prop_assert!(is_confirmed, "{:#?}", (pair, &consistency.contradictions));
        }
    }
}
