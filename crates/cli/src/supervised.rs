//! A tester that stops when it is asked to, and writes captures: behaviour added by wrapping.

use crate::captures::Captures;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trial::{DeviceSetup, Tester, TesterDescription, TesterError, Trial, TrialResult};
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

impl<T: Tester> Tester for Supervised<T> {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        self.go_on()?;
        let Some(captures) = &self.captures else { return self.tester.run(trial) };
        let captures = captures.requests(self.tester.describe());
        self.tester.run(&Trial { captures, ..trial.clone() })
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
