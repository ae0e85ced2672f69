//! Every policy of the throughput search, on the same devices: whoever chooses the loads, the
//! bracket holds the truth, and nothing but the device makes it.

use super::bed::*;
use super::throughput::{LINE_RATE_FPS, brackets, closed_form, no_invalid_trial_decides};
use method::rfc2544::throughput;
use method::{Event, Finding, GoalConfig, Profile, RateFound, SearchPolicy, SuiteConfig, Verdict};
use proptest::prelude::*;
use sim::{ClosedForm, Law, Offered, Response, laws};
use units::Duration;

const ALL: [SearchPolicy; 5] = [
    SearchPolicy::Bisect,
    SearchPolicy::Step,
    SearchPolicy::Tst009,
    SearchPolicy::Mlrsearch,
    SearchPolicy::Adaptive,
];

fn by(policy: SearchPolicy) -> SuiteConfig {
    let mut config = config();
    config.search.policy = policy;
    config
}

fn trials(events: &[Event]) -> u32 {
    events.iter().filter(|event| matches!(event, Event::TrialFinished(_))).count() as u32
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Throughput, and the rate with some loss allowed.
    #[test]
    fn the_truth_is_bracketed_within_the_resolution(
        capacity in 200.0f64..148_000.0, resolution in 0.05f64..5.0, tolerance in 0.1f64..10.0,
    ) {
        for policy in ALL {
            let mut config = by(policy);
            config.search.resolution_percent = resolution;
            config.throughput.loss_tolerances_percent = vec![tolerance];
            let (result, events) = closed_form(&config, laws::sharp_knee(capacity));
            prop_assert_eq!(result.throughput.policy, policy);
            brackets(&result.throughput, capacity, resolution);
            let tolerant = &result.with_tolerance[0];
            let truth = capacity / (1.0 - tolerance / 100.0);
            match tolerant.finding {
                Finding::AtTheoreticalMaximum => prop_assert!(truth >= LINE_RATE_FPS - 2.0),
                // A frame of loss is one second's.
                _ => {
                    prop_assert!(tolerant.rate.unwrap().fps() <= truth + 1.0);
                    prop_assert!(tolerant.upper.unwrap().fps() > truth - 2.0);
                }
            }
            let counted = result.throughput.trials + tolerant.trials;
            prop_assert_eq!(counted, trials(&events), "{}: all trials are accounted for", policy);
        }
    }

    /// Noise below the knee makes the result smaller at worst.
    #[test]
    fn noise_never_makes_a_device_faster(capacity in 200.0f64..148_000.0, seed: u64) {
        for policy in ALL {
            let (result, _) = closed_form(&by(policy), laws::noisy_knee(capacity, 0.1, seed));
            prop_assert!(result.throughput.rate.is_none_or(|rate| rate.fps() <= capacity));
        }
    }

    /// Of a tester that fails now and then, no trial decides.
    #[test]
    fn a_flaky_tester_never_lies(
        capacity in 200.0f64..148_000.0, probability in 0.05f64..0.9, seed: u64,
    ) {
        for policy in ALL {
            let law = laws::flaky_tester(probability, seed, laws::sharp_knee(capacity));
            let (result, events) = closed_form(&by(policy), law);
            let found = &result.throughput;
            let is_invalid = |event: &Event| {
                matches!(event, Event::TrialFinished(trial) if trial.verdict == Verdict::Invalid)
            };
            if events.iter().any(is_invalid) {
                no_invalid_trial_decides(&events, found);
            }
            prop_assert!(found.rate.is_none_or(|rate| rate.fps() <= capacity));
            if found.finding == Finding::Measured {
                prop_assert!(found.upper.unwrap().fps() > capacity);
            }
            prop_assert!(!matches!(found.finding, Finding::NothingPassed { .. }), "{:?}", found);
        }
    }

    /// A tester slower than the device gives ">=".
    #[test]
    fn a_slow_tester_is_never_the_device(
        capacity in 200.0f64..148_000.0, tester in 200.0f64..148_000.0,
    ) {
        for policy in ALL {
            let law = laws::slow_tester(tester, laws::sharp_knee(capacity));
            let (result, _) = closed_form(&by(policy), law);
            let found = &result.throughput;
            let (rate, upper) = (found.rate.unwrap().fps(), found.upper.unwrap().fps());
            // It may fall short by a thousandth.
            prop_assert!(rate <= capacity.min(tester * 1.002), "{}", policy);
            prop_assert!(upper >= capacity.min(tester), "{}", policy);
            let is_devices = found.finding == Finding::Measured;
            prop_assert!(!is_devices || capacity < upper, "{}: {:?}", policy, found);
            prop_assert!(is_devices || tester * 1.002 < capacity * 1.02, "{}: {:?}", policy, found);
        }
    }

    #[test]
    fn the_extremes_are_what_they_are(ratio in 0.0f64..1.0) {
        for policy in ALL {
            let (lossy, _) = closed_form(&by(policy), laws::always_lossy(ratio));
            let finding = &lossy.throughput.finding;
            prop_assert!(matches!(finding, Finding::NothingPassed { .. }), "{finding:?}");
            let (lossless, _) = closed_form(&by(policy), laws::never_lossy());
            prop_assert_eq!(lossless.throughput.finding, Finding::AtTheoreticalMaximum);
        }
    }
}

/// Beside busy programs a tester offers some thousandths less than is asked for, in every trial. By steps, the method of
/// 1989 and 1990, what passes is what was offered, and the device is found all the same.
#[test]
fn a_tester_that_is_held_up_in_every_trial_decides_by_what_it_offers() {
    for (share, capacity) in [(0.997, 50_000.0), (0.96, 120_000.0), (0.92, 3_000.0)] {
        let mut knee = laws::sharp_knee(capacity);
        let held_up = move |asked: Offered| {
            let reached = asked.rate.scaled(share);
            let response = knee.respond(Offered { rate: reached, ..asked });
            Response { reached: Some(reached), ..response }
        };
        let found = closed_form(&by(SearchPolicy::Step), held_up).0.throughput;
        let (rate, upper) = (found.rate.unwrap().fps(), found.upper.unwrap().fps());
        assert!(rate <= capacity && capacity < upper, "{capacity}: {rate} .. {upper}");
        assert!(rate > capacity * 0.98, "{capacity}: {rate}");
        assert!(upper < capacity / share * 1.02, "{capacity}: {upper}");
        assert_eq!(found.offered.map(|offered| offered.fps().round()), Some(rate.round()));
        assert_eq!(found.finding, Finding::Measured);
    }
}

/// A tester that offers far less than is asked for leaves the device's rate open.
#[test]
fn a_tester_that_is_held_up_for_a_fifth_of_each_trial_decides_nothing_above() {
    let held_up = |asked: Offered| {
        let reached = (asked.rate.fps() > 40_000.0).then(|| asked.rate.scaled(0.8));
        Response { reached, ..Response::default() }
    };
    let found = closed_form(&by(SearchPolicy::Step), held_up).0.throughput;
    assert!(matches!(found.finding, Finding::AtLeast { .. }), "{:?}", found.finding);
    assert!(found.rate.unwrap().fps() <= 40_000.0);
}

/// Trials and time of a search are told, invalid trials and waits included: all that the tester
/// spent.
#[test]
fn what_a_search_costs_is_told() {
    for policy in ALL {
        let mut tester =
            ClosedForm::new(&[VIRTUAL; 2], laws::flaky_tester(0.2, 5, laws::sharp_knee(70_000.0)));
        let (result, events) = run(&by(policy), &mut tester, throughput);
        let found = &result.throughput;
        assert_eq!(found.trials, trials(&events), "{policy}");
        assert!(found.invalid_trials > 0);
        let spent = tester.now().since(units::Instant::ZERO);
        assert_eq!(found.test_time, spent, "{policy}");
    }
}

/// Which is the point of MLRsearch.
#[test]
fn mlrsearch_needs_the_fewest_trials() {
    let cost = |policy| {
        let mut config = by(policy);
        config.throughput.loss_tolerances_percent = vec![0.5];
        let (_, events) = closed_form(&config, laws::sharp_knee(70_000.0));
        trials(&events)
    };
    let mlrsearch = cost(SearchPolicy::Mlrsearch);
    assert!(mlrsearch <= 4, "{mlrsearch}");
    assert!(ALL[..3].iter().all(|policy| cost(*policy) > 2 * mlrsearch));
}

/// NDR and PDR of a device that loses a few frames in every fifth trial at any load: the goals
/// bear it, and tell how often it was.
#[test]
fn goals_that_bear_some_lossy_trials() {
    let mut config = by(SearchPolicy::Mlrsearch);
    let ndr = GoalConfig {
        exceed_percent: 50.0,
        initial_trial_s: Some(1.0),
        final_trial_s: Some(1.0),
        duration_sum_s: Some(21.0),
        width_percent: Some(0.5),
        ..GoalConfig::default()
    };
    config.search.goals = vec![GoalConfig { loss_percent: 0.5, ..ndr }, ndr];
    let mut lossy_trials = 0;
    for seed in 0..10 {
        let (result, _) = closed_form(&config, laws::noisy_knee(70_000.0, 0.2, seed));
        brackets(&result.throughput, 70_000.0, 0.5);
        assert_eq!(result.throughput.conditional_throughput, result.throughput.rate);
        lossy_trials += result.throughput.failed_trials_at_rate;
        let pdr = &result.with_tolerance[0];
        brackets(pdr, 70_000.0 / 0.995, 0.5);
        // Above the knee only the capacity comes out.
        let conditional = pdr.conditional_throughput.unwrap().fps();
        assert!((conditional - 70_000.0).abs() < 1.0, "{conditional}");
    }
    assert!(lossy_trials > 10, "{lossy_trials}");
}

/// One step of the gap of 1 us at 100 Mb/s: between 6.72 us a frame and 14.286 us lie 8 of them.
#[test]
fn a_step_of_the_gap_is_the_resolution() {
    let mut config = by(SearchPolicy::Step);
    config.search.gap_step_ns = Some(1_000.0);
    config.throughput.final_trials = 0;
    let (result, _) = closed_form(&config, laws::sharp_knee(70_000.0));
    let interval_us =
        |found: &RateFound| (1e6 / found.rate.unwrap().fps(), 1e6 / found.upper.unwrap().fps());
    let (rate, upper) = interval_us(&result.throughput);
    assert!((rate - 14.72).abs() < 1e-4 && (upper - 13.72).abs() < 1e-4, "{rate} {upper}");
}

/// Exploring trials of a second do not see a loss that a minute would; the result does.
#[test]
fn short_trials_alone_decide_no_lower_bound() {
    let mut config = SuiteConfig::of(Profile::Rfc);
    config.frame_sizes = vec![size(64)];
    config.search.policy = SearchPolicy::Mlrsearch;
    config.search.trial_duration_s = 1.0;
    config.throughput.loss_tolerances_percent = vec![];
    let (result, events) = closed_form(&config, laws::sharp_knee(70_000.0));
    assert_eq!(result.throughput.trial_duration, Duration::from_secs(60));
    let at_rate = |event: &&Event| match event {
        Event::TrialFinished(trial) => Some(trial.intended) == result.throughput.rate,
        _ => false,
    };
    let longest = events.iter().filter(at_rate).filter_map(|event| match event {
        Event::TrialFinished(trial) => Some(trial.duration),
        _ => None,
    });
    assert!(longest.max() >= Some(Duration::from_secs(59)));
    let found = departures(&config, &result.outcome());
    assert!(found.iter().all(|how| !how.contains("trial duration")), "{found:?}");
}
