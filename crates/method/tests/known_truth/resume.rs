//! A run cut off anywhere and resumed is the run, event for event.

use super::bed::*;
use super::suite::{all_tests, looped, router, suite};
use method::{Event, Recorded, ResumingTester, TestKind, TrialRecord};
use trial::{Tester, TesterDescription, TesterError, Trial, TrialResult};
use units::Duration;

/// A tester that never loses what only the simulation could lose: each trial starts from a fresh
/// device, so that the answer depends on nothing but the question, as a resumed run needs it.
struct Fresh<F>(F, TesterDescription, u32);

impl<T: Tester, F: Fn() -> T> Fresh<F> {
    fn new(make: F) -> Self {
        let description = make().describe().clone();
        Fresh(make, description, 0)
    }
}

impl<T: Tester, F: Fn() -> T> Tester for Fresh<F> {
    fn describe(&self) -> &TesterDescription {
        &self.1
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        self.2 += 1;
        (self.0)().run(trial)
    }
    fn pause(&mut self, _span: Duration) -> Result<(), TesterError> {
        Ok(())
    }
}

fn lines(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| serde_json::to_string(event).unwrap()).collect()
}

/// Saved trials of the self-test and of the device, as read from the file.
fn saved(lines: &[String]) -> (Vec<TrialRecord>, Vec<TrialRecord>) {
    let records = lines.iter().filter_map(|line| match serde_json::from_str(line).unwrap() {
        Event::TrialFinished(record) => Some(*record),
        _ => None,
    });
    records.partition(|record| record.test == TestKind::SelfTest)
}

#[test]
fn resumed_anywhere_it_is_the_same_run() {
    let suite = suite(all_tests(config()));
    let mut whole: Vec<Event> = vec![];
    suite.run(&mut Fresh::new(router), Some(&mut Fresh::new(looped)), &mut whole).unwrap();
    let whole = lines(&whole);
    for cut in [0, 1, 7, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
        let (self_test, device) = saved(&whole[..cut]);
        let recorded = device.len() as u64;
        let (mut self_test, mut records) =
            (Recorded::from_iter(self_test), Recorded::from_iter(device));
        let mut looped = ResumingTester::new(Fresh::new(looped), &mut self_test);
        let mut device = ResumingTester::new(Fresh::new(router), &mut records);
        let mut events: Vec<Event> = vec![];
        suite.run(&mut device, Some(&mut looped), &mut events).unwrap();
        assert_eq!(lines(&events), whole, "cut at {cut}");
        assert_eq!((records.replayed(), records.discarded()), (recorded, 0));
    }
}

#[test]
fn a_record_of_another_configuration_is_thrown_away() {
    let mut first: Vec<Event> = vec![];
    suite(config()).run(&mut Fresh::new(router), None, &mut first).unwrap();
    let (_, records) = saved(&lines(&first));
    let recorded = records.len() as u64;
    let mut records = Recorded::from_iter(records);
    let mut other = config();
    other.search.trial_duration_s = 0.9;
    let mut fresh: Vec<Event> = vec![];
    suite(other.clone()).run(&mut Fresh::new(router), None, &mut fresh).unwrap();
    let mut resuming = ResumingTester::new(Fresh::new(router), &mut records);
    let mut events: Vec<Event> = vec![];
    suite(other).run(&mut resuming, None, &mut events).unwrap();
    assert_eq!((records.replayed(), records.discarded()), (0, recorded));
    assert_eq!(lines(&events), lines(&fresh));
}
