//! The course of each trial: its parts are the result, taken apart, and looking changes nothing.

use super::bed::*;
use method::rfc2544::throughput;
use method::{Event, TrialRecord};
use sim::{QueueLimit, SimTester, StoreAndForward};
use trial::{Tester, TesterDescription, TesterError, Trial, TrialResult};
use units::{Duration, FrameRate};

/// Carries half of what the medium does at 64 bytes, so that trials pass and fail.
fn tester() -> SimTester<StoreAndForward> {
    let device =
        StoreAndForward::with_capacity(FrameRate::from_fps(50_000), QueueLimit::Frames(20));
    SimTester::new(&[GIGABIT; 2], device.delay(Duration::from_us(100)))
}

fn trials(tester: &mut dyn Tester) -> Vec<TrialRecord> {
    let (_, events) = run(&config(), tester, throughput);
    let records = events.into_iter().filter_map(|event| match event {
        Event::TrialFinished(record) => Some(*record),
        _ => None,
    });
    records.collect()
}

#[test]
fn the_parts_of_a_trial_add_up_to_its_result() {
    let trials = trials(&mut tester());
    assert!(trials.iter().any(|record| record.result.lost_frames() > 0));
    for record in &trials {
        let (course, result) = (&record.course, &record.result);
        // A second in parts of a tenth.
        assert_eq!(course.len(), 10, "{}", record.number);
        assert!(course.is_sorted_by(|a, b| a.until < b.until), "{course:?}");
        assert_eq!(course.iter().map(|part| part.sent).sum::<u64>(), result.expected_frames());
        assert_eq!(course.iter().map(|part| part.received).sum::<u64>(), result.forwarded_frames());
        assert_eq!(course.iter().map(|part| part.lost).sum::<i64>(), result.lost_frames() as i64);
        assert!(course.iter().all(|part| part.sent > 0), "no sliver at the end: {course:?}");
        let most = course.iter().filter_map(|part| part.latency_max).max();
        assert_eq!(most, result.latency().and_then(|latency| latency.max()));
    }
}

/// A tester that nobody can look at.
struct Closed<T>(T);

impl<T: Tester> Tester for Closed<T> {
    fn describe(&self) -> &TesterDescription {
        self.0.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        self.0.run(trial)
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.0.pause(span)
    }
}

#[test]
fn looking_at_a_trial_changes_nothing() {
    let (seen, unseen) = (trials(&mut tester()), trials(&mut Closed(tester())));
    assert_eq!(seen.len(), unseen.len());
    for (seen, unseen) in seen.iter().zip(&unseen) {
        assert!(unseen.course.is_empty() && !seen.course.is_empty());
        assert_eq!(seen.result, unseen.result, "trial {}", seen.number);
    }
}
