//! Throughput: capacity found within the resolution; nothing else passes for it.

use crate::bed::*;
use method::rfc2544::{ThroughputResult, throughput};
use method::{Event, Finding, RateFound, Verdict};
use proptest::prelude::*;
use sim::{
    ClosedForm, EveryNth, Fate, Impaired, Law, Limits, Offered, Patch, QueueLimit, Response,
    Servers, SimTester, Stall, StoreAndForward, laws,
};
use units::{Duration, FrameRate};

/// 100 Mb/s, 64 bytes.
pub const LINE_RATE_FPS: f64 = 148_809.523_8;

pub fn brackets(found: &RateFound, capacity_fps: f64, resolution_percent: f64) {
    assert_eq!(found.finding, Finding::Measured);
    let (rate, upper) = (found.rate.unwrap().fps(), found.upper.unwrap().fps());
    assert!(rate <= capacity_fps && capacity_fps < upper, "{capacity_fps} not in {rate}..{upper}");
    let allowed = upper * resolution_percent / 100.0 + LINE_RATE_FPS / 1e6;
    assert!(upper - rate <= allowed, "{rate}..{upper}");
    assert!((found.resolution_fps.unwrap() - (upper - rate)).abs() < 1e-6);
}

pub fn closed_form(config: &method::SuiteConfig, law: impl Law) -> (ThroughputResult, Vec<Event>) {
    run(config, &mut ClosedForm::new(&[VIRTUAL; 2], law), throughput)
}

/// A queue of 20 frames fills within a trial of 1 s from 20 frames a second above capacity on:
/// the device's throughput is its capacity and at most so much more.
#[test]
fn frame_by_frame_the_capacity_is_found() {
    for capacity in [1_000, 37_000] {
        let queue = QueueLimit::Frames(20);
        let device = StoreAndForward::with_capacity(FrameRate::from_fps(capacity), queue);
        let mut config = config();
        config.search.resolution_percent = 3.0;
        config.search.lowest_load_percent = 0.01;
        let found = throughput_of(&config, [VIRTUAL; 2], device).throughput;
        assert_eq!(found.finding, Finding::Measured);
        let (rate, upper) = (found.rate.unwrap().fps(), found.upper.unwrap().fps());
        let capacity = capacity as f64;
        assert!(rate <= capacity + 22.0 && capacity < upper, "{rate}..{upper}");
        assert!(upper - rate <= 0.03 * upper);
        assert_eq!(found.invalid_trials, 0);
    }
}

#[test]
fn a_device_at_line_rate_needs_no_search() {
    let mut config = config();
    config.trial.duration_s = 0.02;
    config.search.trial_duration_s = 0.02;
    let found = throughput_of(&config, [GIGABIT; 2], Patch::default()).throughput;
    assert_eq!(found.finding, Finding::AtTheoreticalMaximum);
    assert_eq!(found.percent_of_theoretical, Some(100.0));
    assert_eq!(found.trials, 2, "one to find it and one to make sure");
}

/// One server for both directions carries half its capacity each way.
#[test]
fn both_directions_count_and_share_what_is_shared() {
    let device = || {
        let queue = QueueLimit::Frames(10);
        StoreAndForward::with_capacity(FrameRate::from_fps(40_000), queue)
    };
    let config = bidirectional(config());
    let shared = device().servers(Servers::Shared);
    let found = throughput_of(&config, [VIRTUAL; 2], shared).throughput;
    let rate = found.rate.unwrap().fps();
    assert!((19_700.0..=20_011.0).contains(&rate), "{rate}");
    let found = throughput_of(&config, [VIRTUAL; 2], device()).throughput;
    let rate = found.rate.unwrap().fps();
    assert!((39_500.0..=40_011.0).contains(&rate), "{rate}");
}

/// 1 in 1,000 lost at every load: without loss passes only a trial of fewer frames than that;
/// with 0.5 % allowed, everything. The notes must say so.
#[test]
fn loss_at_any_load_is_told_from_a_limit() {
    let mut config = config();
    config.search.lowest_load_percent = 2.0;
    config.throughput.loss_tolerances_percent = vec![0.5];
    let lossy = Impaired::new(
        StoreAndForward::with_capacity(FrameRate::from_fps(100_000), QueueLimit::Frames(50)),
        EveryNth::new(1_000, Fate::Drop),
    );
    let result = throughput_of(&config, [VIRTUAL; 2], lossy);
    let Finding::NothingPassed { lowest, loss_percent } = result.throughput.finding else {
        panic!("{:?}", result.throughput)
    };
    assert!((lowest.fps() - 0.02 * LINE_RATE_FPS).abs() < 1.0);
    assert!((loss_percent - 0.1).abs() < 0.04, "{loss_percent}");
    let tolerant = &result.with_tolerance[0];
    brackets(tolerant, 100_000.0 / (1.0 - 0.005 + 0.001), 1.0);
    let notes = result.notes.join("\n");
    assert!(notes.contains("even the lowest one tried"), "{notes}");
    assert!(notes.contains("whatever the load"), "{notes}");
}

#[test]
fn a_device_that_forwards_nothing_is_told_from_a_slow_one() {
    let nothing = Impaired::new(Patch::default(), EveryNth::new(1, Fate::Drop));
    let mut config = config();
    config.trial.duration_s = 0.01;
    config.search.trial_duration_s = 0.01;
    let result = throughput_of(&config, [VIRTUAL; 2], nothing);
    let notes = result.notes.join("\n");
    assert!(notes.contains("nothing came through at all"), "{notes}");
}

/// What the full-length trials say wins over what short ones said: a buffer of 30,000 frames
/// hides an overload of 20,000 fps for 1 s, not for 10 s.
#[test]
fn a_shortened_search_is_checked_at_full_length() {
    let device = || {
        let queue = QueueLimit::Frames(30_000);
        StoreAndForward::with_capacity(FrameRate::from_fps(50_000), queue)
    };
    let mut config = config();
    config.trial.drain_s = 3.0;
    let short = throughput_of(&config, [VIRTUAL; 2], device()).throughput;
    assert!(short.rate.unwrap().fps() > 75_000.0, "{:?}", short.rate);
    config.trial.duration_s = 10.0;
    let checked = throughput_of(&config, [VIRTUAL; 2], device()).throughput;
    // In 10 s the buffer takes 3,000 a second.
    brackets(&checked, 53_000.1, 1.0);
    assert_eq!(checked.trial_duration, Duration::from_secs(10));
}

#[test]
fn a_tester_that_falls_short_gives_at_least() {
    let limits = Limits { max_rate: Some(FrameRate::from_fps(30_000)), ..Limits::default() };
    let device = StoreAndForward::with_capacity(FrameRate::from_fps(80_000), QueueLimit::Frames(9));
    let mut tester = SimTester::new(&[VIRTUAL; 2], device).limits(limits);
    let (result, events) = run(&config(), &mut tester, throughput);
    let Finding::AtLeast { why } = &result.throughput.finding else {
        panic!("{:?}", result.throughput.finding)
    };
    assert!(why.contains("the tester offered"), "{why}");
    let rate = result.throughput.rate.unwrap().fps();
    assert!((29_500.0..=30_060.0).contains(&rate), "{rate}");
    no_invalid_trial_decides(&events, &result.throughput);
}

/// A tester that stands still loses frames in the device's queue by catching up in a bunch: those
/// trials say so, and none of them makes the device slower than it is. (Bunches of less than
/// `late_intervals` frames count as a constant load; the queue takes those.)
#[test]
fn a_tester_that_is_late_never_makes_the_device_slower() {
    let stall = Stall { every: Duration::from_ms(300), lasts: Duration::from_ms(5) };
    let limits = Limits { stall: Some(stall), ..Limits::default() };
    let queue = QueueLimit::Frames(20);
    let device = StoreAndForward::with_capacity(FrameRate::from_fps(50_000), queue);
    let mut tester = SimTester::new(&[VIRTUAL; 2], device).limits(limits);
    let (result, events) = run(&config(), &mut tester, throughput);
    no_invalid_trial_decides(&events, &result.throughput);
    match &result.throughput.finding {
        Finding::AtLeast { why } => assert!(why.contains("fell behind"), "{why}"),
        Finding::Between { why } => {
            assert!(why.contains("fell behind"), "{why}");
            assert!(result.throughput.rate.unwrap().fps() <= 50_000.0 * 1.01);
            assert!(result.throughput.upper.unwrap().fps() > 50_000.0);
        }
        Finding::Invalid { reasons } => assert!(reasons[0].contains("fell behind"), "{reasons:?}"),
        finding => panic!("{finding:?}"),
    }
}

/// No load that only invalid trials stood for is the device's bound.
pub fn no_invalid_trial_decides(events: &[Event], found: &RateFound) {
    let trials = events.iter().filter_map(|event| match event {
        Event::TrialFinished(record) => Some(record),
        _ => None,
    });
    let trials: Vec<_> = trials.collect();
    assert!(trials.iter().any(|trial| trial.verdict == Verdict::Invalid));
    for trial in &trials {
        let is_valid = trial.result.is_valid();
        assert_eq!(trial.verdict == Verdict::Invalid, !is_valid, "{:?}", trial.verdict);
    }
    let stands = |rate: FrameRate, verdict: Verdict| {
        trials.iter().any(|trial| trial.intended == rate && trial.verdict == verdict)
    };
    if let Some(rate) = found.rate {
        assert!(stands(rate, Verdict::Passed), "{rate} never passed validly");
    }
    let has_bound = matches!(found.finding, Finding::Measured | Finding::Between { .. });
    if let Some(upper) = found.upper.filter(|_| has_bound) {
        assert!(stands(upper, Verdict::Failed), "{upper} never failed validly");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Whatever the device, the bracket holds the truth within the stated resolution.
    #[test]
    fn a_sharp_knee_is_bracketed(capacity in 200.0f64..148_000.0, resolution in 0.05f64..5.0) {
        let mut config = config();
        config.search.resolution_percent = resolution;
        let (result, _) = closed_form(&config, laws::sharp_knee(capacity));
        brackets(&result.throughput, capacity, resolution);
    }

    /// Noise below the knee makes the result smaller at worst, never larger than the truth.
    #[test]
    fn noise_never_makes_a_device_faster(capacity in 200.0f64..148_000.0, seed: u64) {
        let (result, _) = closed_form(&config(), laws::noisy_knee(capacity, 0.1, seed));
        if let Some(rate) = result.throughput.rate {
            prop_assert!(rate.fps() <= capacity);
        }
    }

    /// A tester that fails now and then in front of a sharp knee: either the bracket is right, or
    /// the finding says that the tester was the limit, and then the rate is still a true bound.
    #[test]
    fn a_flaky_tester_never_lies(
        capacity in 200.0f64..148_000.0, probability in 0.05f64..0.9, seed: u64,
    ) {
        let law = laws::flaky_tester(probability, seed, laws::sharp_knee(capacity));
        let (result, events) = closed_form(&config(), law);
        let found = &result.throughput;
        if events.iter().any(|e| matches!(e, Event::TrialFinished(t) if t.verdict == Verdict::Invalid)) {
            no_invalid_trial_decides(&events, found);
        }
        if let Some(rate) = found.rate {
            prop_assert!(rate.fps() <= capacity);
        }
        match &found.finding {
            Finding::Measured | Finding::Between { .. } => {
                prop_assert!(found.upper.unwrap().fps() > capacity);
            }
            Finding::AtLeast { .. } | Finding::Invalid { .. } => {}
            other => prop_assert!(false, "{other:?}"),
        }
    }

    /// A tester slower than the device: the result is the tester's, and says so.
    #[test]
    fn a_slow_tester_is_never_the_device(
        capacity in 200.0f64..148_000.0, tester in 200.0f64..148_000.0,
    ) {
        let law = laws::slow_tester(tester, laws::sharp_knee(capacity));
        let (result, _) = closed_form(&config(), law);
        let found = &result.throughput;
        let truth = capacity.min(tester * 1.002);
        prop_assert!(found.rate.unwrap().fps() <= truth);
        prop_assert!(found.upper.unwrap().fps() >= capacity.min(tester));
        match &found.finding {
            Finding::Measured => prop_assert!(capacity < found.upper.unwrap().fps()),
            finding => prop_assert!(matches!(finding, Finding::AtLeast { .. }), "{finding:?}"),
        }
    }

    /// A device that always loses, and one that never does.
    #[test]
    fn the_extremes_are_what_they_are(ratio in 0.0f64..1.0) {
        let (lossy, _) = closed_form(&config(), laws::always_lossy(ratio));
        let nothing_passed = matches!(lossy.throughput.finding, Finding::NothingPassed { .. });
        prop_assert!(nothing_passed, "{:?}", lossy.throughput.finding);
        prop_assert_eq!(lossy.throughput.rate, None);
        let (lossless, _) = closed_form(&config(), laws::never_lossy());
        prop_assert_eq!(lossless.throughput.finding, Finding::AtTheoreticalMaximum);
    }
}

/// With loss verification 1 trial in 5 that loses by chance costs nothing most of the time;
/// without, it nearly always does. And what happened at the result is told.
#[test]
fn loss_verification_forgives_chance_and_says_so() {
    let mut with = 0;
    let mut without = 0;
    let mut told = 0;
    for seed in 0..60 {
        let mut config = config();
        let law = || laws::noisy_knee(70_000.0, 0.2, seed);
        let (verified, _) = closed_form(&config, law());
        config.search.max_trials_per_load = 1;
        let (plain, _) = closed_form(&config, law());
        let is_right = |found: &RateFound| found.rate.is_some_and(|rate| rate.fps() > 69_000.0);
        with += u32::from(is_right(&verified.throughput));
        without += u32::from(is_right(&plain.throughput));
        told +=
            u32::from(verified.throughput.failed_trials_at_rate > 0 && !verified.notes.is_empty());
    }
    assert!(with > 45 && without < 35, "{with} with, {without} without");
    assert!(told > 0);
}

/// Two goals in one test: what the first has tried, the second does not try again.
#[test]
fn goals_share_their_trials() {
    let mut config = config();
    let knee = || {
        |offered: Offered| {
            let excess = (1.0 - 50_000.0 / offered.rate.fps()).max(0.0);
            Response { lost: (offered.frames as f64 * excess).ceil() as u64, ..Response::default() }
        }
    };
    let (alone, _) = closed_form(&config, knee());
    config.throughput.loss_tolerances_percent = vec![0.5, 10.0];
    let (shared, events) = closed_form(&config, knee());
    assert_eq!(shared.throughput, alone.throughput);
    brackets(&shared.with_tolerance[0], 50_000.0 / 0.995, 1.0);
    brackets(&shared.with_tolerance[1], 50_000.0 / 0.9, 1.0);
    let trials = events.iter().filter(|e| matches!(e, Event::TrialFinished(_))).count() as u32;
    assert!(trials < 2 * alone.throughput.trials, "{trials} for three goals");
}

/// What the tester could not offer for one goal it is not asked for again for the next.
#[test]
fn goals_share_what_the_tester_cannot_do() {
    let invalid = |config: &method::SuiteConfig| {
        let law = laws::slow_tester(60_000.0, laws::never_lossy());
        let (result, events) = closed_form(config, law);
        let is_invalid = |event: &&Event| matches!(event, Event::TrialFinished(trial) if trial.verdict == Verdict::Invalid);
        (result, events.iter().filter(is_invalid).count())
    };
    let mut config = config();
    let (_, alone) = invalid(&config);
    config.throughput.loss_tolerances_percent = vec![0.5];
    let (result, shared) = invalid(&config);
    assert!(alone > 0);
    assert_eq!(shared, alone);
    let tolerant = &result.with_tolerance[0];
    assert!(matches!(tolerant.finding, Finding::AtLeast { .. }), "{:?}", tolerant.finding);
    assert_eq!(tolerant.rate, result.throughput.rate);
}
