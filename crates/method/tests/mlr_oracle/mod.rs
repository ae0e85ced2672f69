//! MLRsearch beside its reference implementation (the package `MLRsearch` of the Python Package
//! Index), on the same simulated devices: the same bounds, with no more trials.
//!
//! What the reference came to is kept in `reference.json`, so that the comparison needs no Python;
//! where the reference is installed (`make mlr-oracle`), it is run again and must come to the same.

mod noisy;
mod reference;
mod scenario;

use method::search::mlrsearch::{Class, SearchGoal, Tried};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use reference::Reference;
use scenario::{Bounds, Outcome, Scenario, own, scenarios};
use units::Duration;

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mlr_oracle/reference.json");

const NOISY_RECORD: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mlr_oracle/reference-noisy.json");

fn recorded() -> Vec<Outcome> {
    let text = std::fs::read_to_string(RECORD).expect("the reference's outcomes");
    serde_json::from_str(&text).expect("outcomes")
}

#[test]
fn the_same_bounds_with_no_more_trials_and_no_more_time() {
    let recorded = recorded();
    let scenarios = scenarios();
    assert_eq!(recorded.len(), scenarios.len());
    println!("{}", heading());
    for (scenario, reference) in scenarios.iter().zip(&recorded) {
        assert_eq!(scenario.name, reference.name);
        let own = scenario.outcome(|seed| own(scenario, seed));
        println!("{}", row(scenario, &own, reference));
        assert!(own.trials <= reference.trials, "{}: trials", own.name);
        assert!(own.seconds <= reference.seconds, "{}: time", own.name);
        for (number, goal) in scenario.goals.iter().enumerate() {
            assert!(own.hits[number] >= reference.hits[number], "{}: hits", own.name);
            if !scenario.is_random() {
                assert_eq!(own.hits[number], 1, "{}: {:?}", own.name, own.goals);
                agree(scenario, goal, own.goals[number], reference.goals[number]);
            }
        }
    }
}

/// Bounds and conditional throughput are the same within the goal width, and the truth is between
/// our bounds.
fn agree(scenario: &Scenario, goal: &SearchGoal, own: Bounds, reference: Bounds) {
    let name = &scenario.name;
    let are_near = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= goal.width * a.max(b),
        (a, b) => a.is_none() && b.is_none(),
    };
    assert!(are_near(own.lower, reference.lower), "{name}: {own:?} {reference:?}");
    assert!(are_near(own.conditional, reference.conditional), "{name}: {own:?} {reference:?}");
    let Some(truth) = scenario.truth(goal) else {
        assert_eq!(own.lower, None, "{name}");
        return;
    };
    assert!(own.lower.unwrap() <= truth, "{name}: {own:?}");
    match own.upper {
        Some(upper) => {
            assert!(upper > truth, "{name}: {own:?}");
            assert!(upper - own.lower.unwrap() <= goal.width * upper, "{name}: {own:?}");
        }
        None => assert_eq!(own.lower, Some(scenario::RANGE.max as f64), "{name}"),
    }
}

fn heading() -> String {
    format!(
        "{:<48} {:>13} {:>19} {:>23} {:>27}\n{:<48} {:>6} {:>6} {:>9} {:>9} {:>11} {:>11} {:>13} {:>13}",
        "",
        "trials",
        "time, s",
        "within width, searches",
        "conditional throughput, fps",
        "device; goals",
        "own",
        "ref.",
        "own",
        "ref.",
        "own",
        "ref.",
        "own",
        "ref.",
    )
}

fn row(scenario: &Scenario, own: &Outcome, reference: &Outcome) -> String {
    let hits = |outcome: &Outcome| {
        let hits: Vec<_> = outcome.hits.iter().map(ToString::to_string).collect();
        format!("{} of {}", hits.join("+"), scenario.seeds)
    };
    let throughput = |outcome: &Outcome| match outcome.goals[0].conditional {
        Some(fps) => format!("{fps:.0}"),
        None => "none".into(),
    };
    format!(
        "{:<48} {:>6} {:>6} {:>9.1} {:>9.1} {:>11} {:>11} {:>13} {:>13}",
        scenario.name,
        own.trials,
        reference.trials,
        own.seconds,
        reference.seconds,
        hits(own),
        hits(reference),
        throughput(own),
        throughput(reference),
    )
}

/// On each device no more trials than the reference's better setting takes, and no larger bias, by
/// more than three standard errors; over all of them no more trials by any.
#[test]
fn noisy_devices_take_no_more_trials_and_are_no_more_biased() {
    let text = std::fs::read_to_string(NOISY_RECORD).expect("the reference's outcomes");
    let recorded: Vec<noisy::Judged> = serde_json::from_str(&text).expect("outcomes");
    let devices = noisy::devices();
    assert_eq!(recorded.len(), devices.len());
    let mut all = (0.0, 0.0);
    println!(
        "{:<30} {:>17} {:>17} {:>21}",
        "noisy device", "trials, own", "reference", "bias, own and ref., %"
    );
    for (device, reference) in devices.iter().zip(&recorded) {
        let own = noisy::judge(device, |seed| noisy::own(device, seed));
        println!(
            "{:<30} {:>10.1} +- {:>3.1} {:>10.1} +- {:>3.1} {:>10.2} {:>10.2}",
            own.name,
            own.trials.mean,
            own.trials.error,
            reference.trials.mean,
            reference.trials.error,
            own.bias.mean * 100.0,
            reference.bias.mean * 100.0,
        );
        assert_eq!(own.name, reference.name);
        all = (all.0 + own.trials.mean, all.1 + reference.trials.mean);
        let slack = own.trials.slack(reference.trials);
        assert!(own.trials.mean <= reference.trials.mean + slack, "{}: trials", own.name);
        // A middle is never nearer to a truth that is a step than a part of the bounds' width.
        let slack = own.bias.slack(reference.bias).max(noisy::ndr().width / 4.0);
        let (bias, of_reference) = (own.bias.mean.abs(), reference.bias.mean.abs());
        assert!(bias <= of_reference + slack, "{}: bias", own.name);
    }
    println!("{:<30} {:>10.1} {:>24.1}", "all", all.0, all.1);
    assert!(all.0 <= all.1, "{all:?}");
}

/// Two of the devices; with `NETANVIL_ORACLE=full` in the environment (`make mlr-oracle`) all, which takes two
/// minutes of Python. With `NETANVIL_RECORD` the record is made anew.
#[test]
fn the_noisy_record_is_what_the_reference_comes_to() {
    let Some(mut reference) = Reference::start() else { return };
    let devices = noisy::devices();
    let is_new = std::env::var_os("NETANVIL_RECORD").is_some();
    let is_full = is_new || std::env::var("NETANVIL_ORACLE").is_ok_and(|how| how == "full");
    let tried = devices.iter().step_by(if is_full { 1 } else { 8 });
    let judged: Vec<_> = tried.map(|device| noisy::reference(&mut reference, device)).collect();
    if is_new {
        let text = serde_json::to_string_pretty(&judged).unwrap();
        std::fs::write(NOISY_RECORD, text + "\n").unwrap();
    }
    let text = std::fs::read_to_string(NOISY_RECORD).expect("the reference's outcomes");
    for judged in judged {
        // As it stands in the record, to the digit.
        let alone = serde_json::to_string_pretty(&[&judged]).unwrap();
        let alone = alone.trim_start_matches("[\n").trim_end_matches("\n]");
        assert!(text.contains(alone), "{judged:?} is not what the record has");
    }
}

/// With `NETANVIL_RECORD` in the environment the record is made anew.
#[test]
fn the_record_is_what_the_reference_comes_to() {
    let Some(mut reference) = Reference::start() else { return };
    let outcomes: Vec<_> = scenarios().iter().map(|scenario| reference.outcome(scenario)).collect();
    if std::env::var_os("NETANVIL_RECORD").is_some() {
        let text = serde_json::to_string_pretty(&outcomes).unwrap();
        std::fs::write(RECORD, text + "\n").unwrap();
    }
    assert_eq!(outcomes, recorded());
}

#[test]
fn classes_and_conditional_throughput_are_the_references() {
    let Some(mut reference) = Reference::start() else { return };
    let trial = (0..6usize, 0..6usize).prop_map(|(duration, loss)| {
        ([1, 2, 5, 30, 60, 61][duration], [0u64, 1, 5, 6, 10, 1_000][loss])
    });
    let goal = (0..5usize, 0..3usize, 0..3usize, 1u64..5).prop_map(|(exceed, loss, full, sum)| {
        let full_s = [1, 5, 60][full];
        SearchGoal {
            loss_ratio: [0.0, 0.005, 0.01][loss],
            exceed_ratio: [0.0, 0.2731, 0.5, 0.6157, 0.75][exceed],
            initial_duration: Duration::from_secs(1),
            final_duration: Duration::from_secs(full_s),
            duration_sum: Duration::from_secs(full_s * sum),
            width: 0.005,
        }
    });
    let cases = (goal, proptest::collection::vec(trial, 1..30));
    let reference = std::cell::RefCell::new(&mut reference);
    let mut seed = [7; 32];
    let fixed = seed;
    seed[..8].copy_from_slice(&crate::new_seed::new_seed().to_le_bytes());
    for (seed, number) in [(fixed, 3_000), (seed, 300)] {
        let config = Config { cases: number, failure_persistence: None, ..Config::default() };
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(config, random);
        let outcome = runner.run(&cases, |(goal, trials)| {
            let of_seconds: Vec<(f64, f64)> = trials
                .iter()
                .map(|(duration, lost)| (*duration as f64, *lost as f64 / 1_000.0))
                .collect();
            let tried: Vec<Tried> = trials
                .iter()
                .map(|(duration, lost)| Tried {
                    duration: Duration::from_secs(*duration),
                    expected_frames: 1_000,
                    lost_frames: *lost,
                })
                .collect();
            let class = goal.classify(&tried).map(|class| match class {
                Class::Lower => "lower".to_string(),
                Class::Upper => "upper".to_string(),
            });
            let (expected, loss_ratio) = reference.borrow_mut().classify(&goal, &of_seconds);
            prop_assert_eq!(class, expected);
            prop_assert_eq!(goal.conditional_forwarding_ratio(&tried), 1.0 - loss_ratio);
            Ok(())
        });
        outcome.unwrap();
    }
}
