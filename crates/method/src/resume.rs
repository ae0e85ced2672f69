//! Resuming a run: recorded trials are answered from the record, the rest is run. Methods being
//! pure, the same answers lead to the same questions, and the run goes on where it stopped.

use crate::event::TrialRecord;
use std::collections::VecDeque;
use trial::{
    DeviceSetup, Observer, PortLoad, Tester, TesterDescription, TesterError, Trial, TrialResult,
};
use units::Duration;

/// Trials of a saved run, in the order in which they were run, and what became of them.
#[derive(Default, Debug)]
pub struct Recorded {
    trials: VecDeque<TrialRecord>,
    replayed: u64,
    discarded: u64,
}

impl Recorded {
    /// Trials answered from the record so far.
    pub fn replayed(&self) -> u64 {
        self.replayed
    }
    /// Recorded trials thrown away because the run asked for something else: the configuration,
    /// the device's addresses or the program have changed since. Not 0 calls for a warning.
    pub fn discarded(&self) -> u64 {
        self.discarded
    }

    /// The recorded result of this trial, if it is the next one in the record.
    fn recall(&mut self, trial: &Trial) -> Option<TrialResult> {
        let record = self.trials.pop_front()?;
        if record.identity == trial.identity() {
            self.replayed += 1;
            return Some(record.result);
        }
        self.discarded += 1 + self.trials.len() as u64;
        self.trials.clear();
        None
    }
}

impl FromIterator<TrialRecord> for Recorded {
    fn from_iter<I: IntoIterator<Item = TrialRecord>>(trials: I) -> Self {
        Recorded { trials: trials.into_iter().collect(), ..Recorded::default() }
    }
}

/// Wraps a tester; see the module.
pub struct ResumingTester<'r, T> {
    tester: T,
    recorded: &'r mut Recorded,
    /// Recalled trials in which hosts joined groups, or left them: the device has to hear of that before the
    /// next trial is run.
    said: Vec<Trial>,
}

impl<'r, T: Tester> ResumingTester<'r, T> {
    /// What is left of the record when this tester is done with is for the next one.
    pub fn new(tester: T, recorded: &'r mut Recorded) -> Self {
        ResumingTester { tester, recorded, said: vec![] }
    }
}

impl<T: Tester> ResumingTester<'_, T> {
    /// The result from the record; where there is none, the device has heard what hosts said before.
    fn recalled(&mut self, trial: &Trial) -> Result<Option<TrialResult>, TesterError> {
        if let Some(result) = self.recorded.recall(trial) {
            if only_speaks_of_groups(trial) {
                self.said.push(trial.clone());
            }
            return Ok(Some(result));
        }
        for said in std::mem::take(&mut self.said) {
            self.tester.run(&said)?;
        }
        Ok(None)
    }
}

impl<T: Tester> Tester for ResumingTester<'_, T> {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        match self.recalled(trial)? {
            Some(result) => Ok(result),
            None => self.tester.run(trial),
        }
    }

    /// One from the record has been looked at.
    fn run_observed(
        &mut self,
        trial: &Trial,
        observer: &mut dyn Observer,
    ) -> Result<TrialResult, TesterError> {
        match self.recalled(trial)? {
            Some(result) => Ok(result),
            None => self.tester.run_observed(trial, observer),
        }
    }

    /// What was recorded has waited already.
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        if self.recorded.trials.is_empty() { self.tester.pause(span) } else { Ok(()) }
    }

    /// Also while trials come from the record: the device must stand as it did when it goes on.
    fn configure(&mut self, setup: &DeviceSetup) -> Result<(), TesterError> {
        self.tester.configure(setup)
    }
}

/// Whether a trial sends reports or leaves of hosts, and nothing that should come out.
fn only_speaks_of_groups(trial: &Trial) -> bool {
    let speaks = |load: &PortLoad| !trial.group_messages(load.port).is_empty();
    !trial.expects_arrivals() && trial.loads.iter().any(speaks)
}
