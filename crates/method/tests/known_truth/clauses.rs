//! Clauses as whole runs are judged by them.

use super::bed::*;
use super::suite::suite;
use method::clauses::{Judged, Verdict};
use method::rfc2544::ThroughputResult;
use method::{Event, Lane, Outcome, SearchPolicy, SuiteConfig, TestKind};
use sim::{ClosedForm, laws};

fn run_of(config: SuiteConfig) -> Vec<Outcome> {
    let mut events: Vec<Event> = vec![];
    let mut tester = ClosedForm::new(&[VIRTUAL; 2], laws::sharp_knee(20_000.0));
    suite(config).run(&mut tester, None, &mut events).unwrap();
    outcomes(&events)
}

/// All numbers of the RFC profile, in virtual time; of tests for which a law of loss is enough.
#[test]
fn a_whole_run_of_the_rfc_profile_departs_nowhere() {
    use TestKind::*;
    let tests = vec![Throughput, FrameLoss];
    let results = run_of(SuiteConfig { tests: tests.clone(), ..SuiteConfig::default() });
    assert_eq!(results.len(), 7 * tests.len());
    for result in &results {
        let conditions = &result.conditions;
        assert_eq!(conditions.deviations, [""; 0], "{}", result.test);
        let met = |judged: &&Judged| judged.verdict == Verdict::Met;
        assert!(conditions.clauses.iter().filter(met).count() > 5, "{}", result.test);
    }
}

/// Lanes have a size each; the run has all of them.
#[test]
fn sizes_side_by_side_are_counted_together() {
    let config = SuiteConfig { tests: vec![TestKind::Throughput], ..SuiteConfig::default() };
    let mut make = |_: &str| {
        let device = Box::new(ClosedForm::new(&[VIRTUAL; 2], laws::sharp_knee(20_000.0)));
        Ok(Lane { device, looped: None })
    };
    let mut events: Vec<Event> = vec![];
    suite(config).run_side_by_side(&mut make, 2, &mut events).unwrap();
    let results = outcomes(&events);
    assert_eq!(results.len(), 7);
    assert!(results.iter().all(|result| result.conditions.deviations.is_empty()));
}

/// What the result says, not what was asked for: a trial at this rate lost frames.
#[test]
fn a_rate_at_which_a_trial_lost_frames_is_told() {
    let mut config = SuiteConfig { tests: vec![TestKind::Throughput], ..SuiteConfig::default() };
    config.frame_sizes.truncate(1);
    config.search.policy = SearchPolicy::Bisect;
    let mut result: ThroughputResult = run_of(config.clone())[0].record().unwrap();
    (result.throughput.failed_trials_at_rate, result.throughput.trials_at_rate) = (1, 2);
    let found = departures(&config, &result.outcome());
    let expected = "1 of 2 full-length trials at this rate lost frames (RFC 2544 section 26.1)";
    assert!(found.iter().any(|how| how == expected), "{found:?}");
    assert!(found.iter().any(|how| how.starts_with("1 frame sizes")), "{found:?}");
}
