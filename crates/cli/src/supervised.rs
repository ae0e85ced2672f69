//! A tester that stops when it is asked to, and writes captures: behaviour added by wrapping.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trial::{
    CaptureRequest, DeviceSetup, Tester, TesterDescription, TesterError, Trial, TrialResult,
};
use units::Duration;

/// See the module.
pub struct Supervised<'a> {
    tester: &'a mut dyn Tester,
    stop: Arc<AtomicBool>,
    /// Folder, and frames in each file at most.
    captures: Option<(PathBuf, u64)>,
    trials: u64,
}

impl<'a> Supervised<'a> {
    /// Wraps a tester.
    pub fn new(
        tester: &'a mut dyn Tester,
        stop: Arc<AtomicBool>,
        captures: Option<(PathBuf, u64)>,
    ) -> Self {
        Supervised { tester, stop, captures, trials: 0 }
    }

    fn go_on(&self) -> Result<(), TesterError> {
        match self.stop.load(Ordering::SeqCst) {
            true => Err(TesterError::Interrupted),
            false => Ok(()),
        }
    }

    /// One file a port and trial: `captures/trial-00012-port-1.pcapng`.
    fn capture_requests(&self) -> Vec<CaptureRequest> {
        let Some((folder, max_frames)) = &self.captures else { return vec![] };
        let ports = self.tester.describe().ports.iter();
        ports
            .map(|port| CaptureRequest {
                port: port.id,
                sent: true,
                received: true,
                streams: vec![],
                max_frames: *max_frames,
                path: folder.join(format!("trial-{:05}-port-{}.pcapng", self.trials, port.id.0)),
            })
            .collect()
    }
}

impl Tester for Supervised<'_> {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        self.go_on()?;
        self.trials += 1;
        let captures = self.capture_requests();
        match captures.is_empty() {
            true => self.tester.run(trial),
            false => self.tester.run(&Trial { captures, ..trial.clone() }),
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
