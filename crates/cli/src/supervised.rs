//! A tester that stops when it is asked to, and writes captures: behaviour added by wrapping.

use crate::captures::Captures;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trial::{
    DeviceSetup, Observer, Sample, Tester, TesterDescription, TesterError, Trial, TrialResult,
    Unobserved,
};
use units::Duration;

/// See the module.
pub struct Supervised<T> {
    tester: T,
    stop: Arc<AtomicBool>,
    captures: Option<Captures>,
}

impl<T: Tester> Supervised<T> {
    /// Wraps a tester.
    pub fn new(tester: T, stop: Arc<AtomicBool>, captures: Option<Captures>) -> Self {
        Supervised { tester, stop, captures }
    }

    fn go_on(&self) -> Result<(), TesterError> {
        match self.stop.load(Ordering::SeqCst) {
            true => Err(TesterError::Interrupted),
            false => Ok(()),
        }
    }
}

/// Ends sending where the run is to stop. Live ports look at the flag themselves; in virtual time a trial of
/// half an hour may take minutes.
struct Stopping<'a> {
    observer: &'a mut dyn Observer,
    stop: &'a AtomicBool,
    /// The result is then that of another trial.
    is_cut_short: bool,
}

impl Observer for Stopping<'_> {
    fn every(&self) -> Option<Duration> {
        self.observer.every()
    }

    fn observe(&mut self, sample: &Sample) {
        self.observer.observe(sample);
    }

    fn ends(&mut self) -> bool {
        if self.observer.ends() {
            return true;
        }
        self.is_cut_short |= self.stop.load(Ordering::SeqCst);
        self.is_cut_short
    }
}

impl<T: Tester> Tester for Supervised<T> {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        self.run_observed(trial, &mut Unobserved)
    }

    fn run_observed(
        &mut self,
        trial: &Trial,
        observer: &mut dyn Observer,
    ) -> Result<TrialResult, TesterError> {
        self.go_on()?;
        let mut stopping = Stopping { observer, stop: &self.stop, is_cut_short: false };
        let result = match &self.captures {
            None => self.tester.run_observed(trial, &mut stopping),
            Some(captures) => {
                let captures = captures.requests(self.tester.describe());
                self.tester.run_observed(&Trial { captures, ..trial.clone() }, &mut stopping)
            }
        }?;
        match stopping.is_cut_short {
            true => Err(TesterError::Interrupted),
            false => Ok(result),
        }
    }

    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.go_on()?;
        self.tester.pause(span)
    }

    fn configure(&mut self, setup: &DeviceSetup) -> Result<(), TesterError> {
        self.go_on()?;
        self.tester.configure(setup)
    }
}
