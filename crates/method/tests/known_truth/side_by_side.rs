//! Frame sizes side by side: what is told does not depend on how many are measured at a time.

use super::bed::*;
use super::suite::{looped, router, suite};
use method::{Event, Lane, Modifier, Outcome, RunError, RunFinished, SuiteConfig, TestKind};
use trial::{Observer, Tester, TesterDescription, TesterError, Trial, TrialResult};
use units::Duration;

fn three_sizes() -> SuiteConfig {
    let mut config = config();
    config.tests = vec![TestKind::Throughput, TestKind::Latency, TestKind::Reset];
    config.frame_sizes = vec![size(128), size(64), size(256)];
    config.modifiers = vec![Modifier::None, Modifier::Broadcast];
    config
}

fn run_on(config: SuiteConfig, threads: usize) -> (Vec<Event>, RunFinished) {
    let mut events: Vec<Event> = vec![];
    let mut make =
        |_: &str| Ok(Lane { device: Box::new(router()), looped: Some(Box::new(looped())) });
    let finished = suite(config).run_side_by_side(&mut make, threads, &mut events).unwrap();
    (events, finished)
}

#[test]
fn events_are_the_same_however_many_threads() {
    let (alone, finished) = run_on(three_sizes(), 1);
    let trials: Vec<u64> = alone
        .iter()
        .filter_map(|event| match event {
            Event::TrialFinished(trial) => Some(trial.number),
            _ => None,
        })
        .collect();
    assert_eq!(trials, (1..=finished.trials).collect::<Vec<_>>());
    for threads in [2, 8] {
        assert_eq!(run_on(three_sizes(), threads).0, alone, "{threads} threads");
    }
}

/// Results without what the run's other sizes alter: how many there are is a clause.
fn measured(results: &[&Outcome]) -> Vec<serde_json::Value> {
    let strip = |result: &&Outcome| {
        let mut value = serde_json::to_value(result).unwrap();
        let conditions = value["conditions"].as_object_mut().unwrap();
        assert!(
            conditions.remove("clauses").is_some() && conditions.remove("deviations").is_some()
        );
        value
    };
    results.iter().map(strip).collect()
}

/// One of a size is a run of that size alone, and the tests are in the order of a run on one tester.
#[test]
fn each_size_is_measured_as_if_alone() {
    let of_all = outcomes(&run_on(three_sizes(), 3).0);
    for place in 0..3 {
        let mut config = three_sizes();
        config.frame_sizes = vec![config.frame_sizes[place].clone()];
        let mut events: Vec<Event> = vec![];
        let alone = suite(config);
        alone.run(&mut router(), Some(&mut looped()), &mut events).unwrap();
        let alone = outcomes(&events);
        // Resets are made with the smallest frames only.
        let is_smallest = place == 1;
        let alone: Vec<_> =
            alone.iter().filter(|of| is_smallest || of.test != TestKind::Reset).collect();
        let name = alone[0].conditions.frame_size.clone();
        let of_size: Vec<_> =
            of_all.iter().filter(|result| result.conditions.frame_size == name).collect();
        assert_eq!(measured(&of_size), measured(&alone), "{name}");
    }
    let mut events: Vec<Event> = vec![];
    suite(three_sizes()).run(&mut router(), Some(&mut looped()), &mut events).unwrap();
    let heads = |results: &[Outcome]| -> Vec<_> {
        let head = |result: &Outcome| (result.test, result.conditions.frame_size.clone());
        results.iter().map(head).collect()
    };
    assert_eq!(heads(&of_all), heads(&outcomes(&events)));
}

/// Breaks at its tenth trial.
struct Breaking<T>(T, u32);

impl<T: Tester> Tester for Breaking<T> {
    fn describe(&self) -> &TesterDescription {
        self.0.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        self.1 += 1;
        if self.1 == 10 { Err(TesterError::Interrupted) } else { self.0.run(trial) }
    }
    fn run_observed(
        &mut self,
        trial: &Trial,
        observer: &mut dyn Observer,
    ) -> Result<TrialResult, TesterError> {
        self.1 += 1;
        match self.1 {
            10 => Err(TesterError::Interrupted),
            _ => self.0.run_observed(trial, observer),
        }
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.0.pause(span)
    }
}

/// What was saved of a run that was cut off is its beginning, so that it can go on.
#[test]
fn a_run_cut_off_is_told_up_to_a_point() {
    let (whole, _) = run_on(three_sizes(), 1);
    for threads in [1, 3] {
        let mut events: Vec<Event> = vec![];
        let mut make = |size: &str| {
            let device: Box<dyn Tester + Send> = match size {
                "64" => Box::new(Breaking(router(), 0)),
                _ => Box::new(router()),
            };
            Ok(Lane { device, looped: Some(Box::new(looped())) })
        };
        let ended = suite(three_sizes()).run_side_by_side(&mut make, threads, &mut events);
        assert_eq!(ended, Err(RunError::Tester(TesterError::Interrupted)));
        let Some(Event::RunFinished(finished)) = events.pop() else { panic!("no last event") };
        assert!(finished.stopped_by.is_some());
        // A trial was begun that never ended.
        assert_eq!(events[..], whole[..events.len()], "{threads} threads");
        assert!(events.len() > 20);
    }
}
