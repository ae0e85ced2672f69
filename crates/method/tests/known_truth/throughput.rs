//! Throughput: capacity found within the resolution; nothing else passes for it.

use super::bed::*;
use method::rfc2544::{ThroughputResult, throughput};
use method::{Event, Finding, Profile, RateFound, SearchPolicy, SuiteConfig, Verdict};
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

/// The lowest load is where a search gives up on a device that carries nothing: one that forwards a tenth of it is
/// sought where its frames come out.
#[test]
fn a_device_slower_than_the_lowest_load_is_found() {
    for policy in [SearchPolicy::Adaptive, SearchPolicy::Bisect] {
        for capacity in [200, 700, 1_400] {
            let queue = QueueLimit::Frames(2);
            let device = StoreAndForward::with_capacity(FrameRate::from_fps(capacity), queue);
            let mut config = config();
            config.search.policy = policy;
            config.search.resolution_percent = 3.0;
            config.search.lowest_load_percent = 1.0;
            config.throughput.loss_tolerances_percent = vec![0.5];
            let result = throughput_of(&config, [VIRTUAL; 2], device);
            assert_eq!(result.with_tolerance.len(), 1);
            for found in std::iter::once(&result.throughput).chain(&result.with_tolerance) {
                let case = format!("{policy} {capacity}: {found:?}");
                assert_eq!(found.finding, Finding::Measured, "{case}");
                let (rate, upper) = (found.rate.unwrap().fps(), found.upper.unwrap().fps());
                let (least, most) = (capacity as f64, capacity as f64 * 1.005 + 4.0);
                assert!(rate <= most && least < upper, "{case}");
                assert!(upper - rate <= 0.05 * upper, "{case}");
            }
        }
    }
}

/// A device that loses every other frame of any load carries none without loss, however low.
#[test]
fn half_of_every_load_is_no_rate() {
    for policy in [SearchPolicy::Adaptive, SearchPolicy::Bisect] {
        let mut config = config();
        config.search.policy = policy;
        config.search.lowest_load_percent = 1.0;
        let device = Impaired::new(Patch::default(), EveryNth::new(2, Fate::Drop));
        let found = throughput_of(&config, [VIRTUAL; 2], device).throughput;
        assert!(matches!(found.finding, Finding::NothingPassed { .. }), "{policy} {found:?}");
    }
}

/// A wire carries a mix at 100 % of its medium, though the longest frame takes several times the mean;
/// a tester that spaced frames evenly would ask for it before the medium is free.
#[test]
fn a_mix_reaches_all_of_the_medium_and_no_more() {
    let slow = sim::SimPort::physical(units::LineRate::from_mbps(10));
    for mix in ["imix", "64..1518/727", "64,64,1518"] {
        let mut config = config();
        config.frame_sizes = vec![mix.parse().unwrap()];
        let (result, events) =
            run(&config, &mut SimTester::new(&[slow; 2], Patch::default()), throughput);
        let found = result.throughput;
        assert_eq!(found.finding, Finding::AtTheoreticalMaximum, "{mix}");
        assert_eq!(found.invalid_trials, 0, "{mix}");
        for event in events {
            let Event::TrialFinished(record) = event else { continue };
            let report = &record.result.sent[0].report;
            assert_eq!(report.lateness.max(), Some(Duration::ZERO), "{mix}: the medium was busy");
            assert_eq!(report.slips.times, 0, "{mix}");
        }
    }
}

/// What lengths make of delays is no queue, but a queue is one with a mix as well: a device of 1,000
/// frames a second, whatever their length, with room for half as many.
#[test]
fn a_mix_that_a_buffer_carries_is_not_kept_up() {
    let mut config = config();
    config.frame_sizes = vec!["imix".parse().unwrap()];
    let rate = FrameRate::from_fps(1_000);
    let device = StoreAndForward::with_capacity(rate, QueueLimit::Frames(500));
    let found = throughput_of(&config, [VIRTUAL; 2], device).throughput;
    let (rate, upper) = (found.rate.unwrap().fps(), found.upper.unwrap().fps());
    assert!(found.buffered.is_some() && rate <= 1_005.0 && upper >= 1_000.0, "{rate}..{upper}");
    assert!(upper - rate <= 0.05 * upper, "{rate}..{upper}");
}

/// The load that failed is tried again with full length: that trial is none at the throughput rate.
#[test]
fn trials_at_the_rate_are_those_of_the_rate() {
    let mut config = config();
    config.search.trial_duration_s = 0.5;
    let (result, _) = closed_form(&config, laws::sharp_knee(50_000.0));
    let found = result.throughput;
    assert_eq!((found.trials_at_rate, found.failed_trials_at_rate), (1, 0));
    assert_eq!(found.confidence, None);
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
    // The queue takes 50 frames of the second.
    let truth = 100_000.0 / (1.0 - 0.005 + 0.001);
    let (rate, upper) = (tolerant.rate.unwrap().fps(), tolerant.upper.unwrap().fps());
    assert!(
        rate <= truth * 1.001 && upper > truth && upper - rate <= 0.0101 * upper,
        "{rate} {upper}"
    );
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
    config.search.policy = method::SearchPolicy::Tst009;
    let short = throughput_of(&config, [VIRTUAL; 2], device()).throughput;
    assert!(short.buffered.unwrap().rate.fps() > 75_000.0, "{short:?}");
    brackets(&short, 50_000.0, 1.0);
    config.trial.duration_s = 10.0;
    let checked = throughput_of(&config, [VIRTUAL; 2], device()).throughput;
    // In 10 s the buffer takes 3,000 a second.
    let buffered = checked.buffered.unwrap().rate.fps();
    assert!((52_000.0..=53_000.1).contains(&buffered), "{buffered}");
    brackets(&checked, 50_000.0, 1.0);
    assert_eq!(checked.trial_duration, Duration::from_secs(10));
}

/// 333 frames a second, and room for 300: in 0.4 s it takes up to 133 + 301 frames, 1,085 a second, and
/// loses none. That is no rate that anybody should plan with.
#[test]
fn what_buffers_carry_is_told_from_what_the_device_keeps_up() {
    for (policy, trial_s) in
        [SearchPolicy::Tst009, SearchPolicy::Mlrsearch].into_iter().zip([0.4, 2.0])
    {
        let service = Duration::from_us(3_003);
        let device = StoreAndForward::new(service, Duration::ZERO, QueueLimit::Frames(300));
        let mut config = config();
        config.search.policy = policy;
        config.search.resolution_percent = 2.0;
        (config.trial.duration_s, config.search.trial_duration_s) = (trial_s, trial_s);
        config.trial.drain_s = 2.0;
        let result = throughput_of(&config, [VIRTUAL; 2], device);
        let found = &result.throughput;
        assert_eq!(found.finding, Finding::Measured, "{found:?}");
        let (rate, upper) = (found.rate.unwrap().fps(), found.upper.unwrap().fps());
        let truth = 1e6 / 3_003.0;
        assert!(rate <= truth + 0.001 && truth <= upper, "{truth} in {rate}..{upper}");
        assert!(upper - rate <= 0.02 * upper + 0.002, "{rate}..{upper}");
        let buffered = found.buffered.expect("a rate from buffers");
        let most = truth + 301.0 / trial_s;
        assert!((buffered.rate.fps() / most - 1.0).abs() < 0.04, "{buffered:?} of {most}");
        assert!((buffered.standing_queue_frames / 300.0 - 1.0).abs() < 0.05, "{buffered:?}");
        assert!(result.notes.iter().any(|note| note.contains("buffers")), "{:?}", result.notes);
    }
}

#[test]
fn a_tester_that_falls_short_gives_at_least() {
    let limits = Limits { max_rate: Some(FrameRate::from_fps(30_000)), ..Limits::default() };
    let device = StoreAndForward::with_capacity(FrameRate::from_fps(80_000), QueueLimit::Frames(9));
    let mut tester = SimTester::new(&[VIRTUAL; 2], device).limits(limits);
    let (result, _) = run(&config(), &mut tester, throughput);
    let Finding::AtLeast { why } = &result.throughput.finding else {
        panic!("{:?}", result.throughput.finding)
    };
    assert!(why.contains("the tester could offer"), "{why}");
    let rate = result.throughput.rate.unwrap().fps();
    assert!((29_500.0..=30_060.0).contains(&rate), "{rate}");
    assert_eq!(result.throughput.invalid_trials, 0, "each proves what was offered");
}

/// A tester that stands still for 5 of each 305 ms gives the time up instead of catching up in a
/// bunch that the device's queue could not take: the device is measured, and no worse than by what
/// was given up and the resolution.
#[test]
fn a_tester_that_is_late_never_makes_the_device_slower() {
    let stall = Stall { every: Duration::from_ms(300), lasts: Duration::from_ms(5) };
    let limits = Limits { stall: Some(stall), ..Limits::default() };
    let queue = QueueLimit::Frames(20);
    let device = StoreAndForward::with_capacity(FrameRate::from_fps(50_000), queue);
    let mut tester = SimTester::new(&[VIRTUAL; 2], device).limits(limits);
    let (result, _) = run(&config(), &mut tester, throughput);
    let found = &result.throughput;
    assert_eq!(found.finding, Finding::Measured);
    let (rate, upper) = (found.rate.unwrap().fps(), found.upper.unwrap().fps());
    assert!(rate <= 50_000.0 && upper > 50_000.0, "{rate} {upper}");
    assert!((upper - rate) / upper < 0.01 + 5.0 / 305.0 + 0.001, "{rate} {upper}");
    assert_eq!(found.invalid_trials, 0);
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
            Finding::Between { why } => prop_assert!(why.contains("held up"), "{why}"),
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
        config.search.policy = method::SearchPolicy::Tst009;
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

/// Every other trial the device carries 5 % less: the result says between which loads it varies, and nothing of
/// a device that carries the same each time, with or without buffers.
#[test]
fn trials_that_contradict_each_other_are_told() {
    let config = config();
    let (mut strong, mut weak) = (laws::sharp_knee(70_000.0), laws::sharp_knee(66_500.0));
    let mut trials = 0;
    let varying = move |offered: Offered| {
        trials += 1;
        let law: &mut dyn Law = if trials % 2 == 0 { &mut strong } else { &mut weak };
        law.respond(offered)
    };
    let (result, _) = closed_form(&config, varying);
    let contradiction = result.contradiction.expect("loads that passed and failed");
    let (low, high) = (contradiction.lowest_with_loss, contradiction.highest_without_loss);
    assert!(66_500.0 < low.fps() && low <= high && high.fps() <= 70_000.0, "{contradiction:?}");
    assert!(result.notes.iter().any(|note| note.contains("varies by")), "{:?}", result.notes);

    let (steady, _) = closed_form(&config, laws::sharp_knee(70_000.0));
    assert_eq!(steady.contradiction, None);
    let rate = FrameRate::from_fps(1_000);
    let buffered = StoreAndForward::with_capacity(rate, QueueLimit::Frames(300));
    assert_eq!(throughput_of(&config, [VIRTUAL; 2], buffered).contradiction, None);
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
    assert!(trials < 3 * alone.throughput.trials, "{trials} for three goals");
}

/// A device that carries more from some trial on: whatever the search for one goal found, no full-length trial
/// of a search for another may have carried more than the rate is said to be at most.
#[test]
fn no_trial_carries_more_than_the_rate_found_is_at_most() {
    for later in 3..40 {
        let mut config = config();
        config.search.trial_duration_s = 0.5;
        config.throughput.loss_tolerances_percent = vec![0.5];
        let mut trials = 0;
        let law = move |offered: Offered| {
            trials += 1;
            let capacity = if trials > later { 61_000.0 } else { 50_000.0 };
            let excess = (1.0 - capacity / offered.rate.fps()).max(0.0);
            Response { lost: (offered.frames as f64 * excess).ceil() as u64, ..Response::default() }
        };
        let (result, events) = closed_form(&config, law);
        let carried = events.iter().filter_map(|event| match event {
            Event::TrialFinished(record) => {
                let is_whole = record.duration >= units::Duration::from_ms(999);
                (is_whole && record.result.lost_frames() == 0)
                    .then(|| record.result.least_offered_rate())
            }
            _ => None,
        });
        let Some(most) = carried.flatten().max() else { continue };
        let found = &result.throughput;
        let upper = found.upper.unwrap();
        assert!(upper >= most, "after {later} trials: {:?} to {upper}, {most} carried", found.rate);
        // Either it is told that what the device carries varies, or one of its capacities is stated.
        let is_bracket = matches!(found.finding, Finding::Between { .. });
        let is_told = is_bracket || found.confidence.is_some();
        let low = found.rate.unwrap().fps();
        let states = |truth: f64| low <= truth && truth <= upper.fps() && !is_bracket;
        assert!(is_told || states(50_000.0) || states(61_000.0), "after {later} trials: {found:?}");
    }
}

/// What the tester could not offer for one goal it is not asked for again for the next.
#[test]
fn goals_share_what_the_tester_cannot_do() {
    let tried = |config: &method::SuiteConfig| {
        let law = laws::slow_tester(60_000.0, laws::never_lossy());
        let (result, events) = closed_form(config, law);
        let finished = |event: &&Event| matches!(event, Event::TrialFinished(_));
        (result, events.iter().filter(finished).count())
    };
    let mut config = config();
    let (_, alone) = tried(&config);
    config.throughput.loss_tolerances_percent = vec![0.5];
    let (result, shared) = tried(&config);
    assert!(shared < 2 * alone, "{shared} and {alone}");
    let tolerant = &result.with_tolerance[0];
    assert!(matches!(tolerant.finding, Finding::AtLeast { .. }), "{:?}", tolerant.finding);
    assert_eq!(tolerant.rate, result.throughput.rate);
}

/// RFC 2544 section 8 and appendix C.2: the frame's addresses, its TTL of 10 and the echo port are in what
/// every result says of itself.
#[test]
fn the_frame_format_is_reported() {
    let found = throughput_of(
        &bidirectional(config()),
        [VIRTUAL; 2],
        StoreAndForward::with_capacity(FrameRate::from_fps(100_000), QueueLimit::Frames(4)),
    );
    let formats = &found.conditions.frame_formats;
    assert_eq!(formats.len(), 2, "each direction: {formats:?}");
    for part in ["198.18.1.2 > 198.19.1.2", "TTL 10", "> 7 "] {
        assert!(formats[0].contains(part), "{part}: {formats:?}");
    }
    assert!(formats[1].contains("198.19.1.2 > 198.18.1.2"), "{formats:?}");
}

/// A device that loses frames at random at any load: no note may state a loss that no trial had.
#[test]
fn the_loss_at_the_lowest_load_is_that_of_a_trial() {
    let mut config = SuiteConfig::of(Profile::Quick);
    config.frame_sizes = vec![size(64)];
    for seed in 0..40 {
        let device = Impaired::new(Patch::default(), RandomLoss { one_in: 700, random: seed });
        let result = throughput_of(&config, [VIRTUAL; 2], device);
        let case = format!("seed {seed}: {:?} {:?}", result.throughput, result.notes);
        if let Finding::NothingPassed { loss_percent, .. } = &result.throughput.finding {
            assert!(*loss_percent > 0.0, "{case}");
            assert!(!result.notes.join("\n").contains("passed on repetition"), "{case}");
        }
        for found in &result.with_tolerance {
            if let Finding::AtLeast { why } = &found.finding {
                assert!(!why.contains("nothing was lost"), "{case}");
            }
        }
    }
}

/// One frame in so many is lost, by a generator of its own.
struct RandomLoss {
    one_in: u64,
    random: u64,
}

impl sim::Rule for RandomLoss {
    fn decide(&mut self, _: units::Instant, _: trial::PortId, _: &[u8]) -> Fate {
        // SplitMix64 (Steele, Lea, Flood 2014).
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        match (z ^ (z >> 31)) % self.one_in {
            0 => Fate::Drop,
            _ => Fate::Pass,
        }
    }
}
