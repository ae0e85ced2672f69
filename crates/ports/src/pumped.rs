//! The halves of a port whose frames pass through user space, whatever gives and takes them: the
//! [`pump`] with a [`Recorder`] at its side.

use crate::pump::{self, FrameSink, FrameSource};
use crate::recorder::Recorder;
use crate::sys;
use crate::{CaptureWish, Captured, ReceiveHalf, Transmission, TransmitHalf, TrialSignals};
use std::io;
use trial::{PortReceived, ReceivePlan, TesterError, TransmitPlan};
use units::Instant;

/// What a receive half has to know of a source beyond its frames.
pub(crate) trait TrialSource: FrameSource {
    /// Forgets whatever arrived before, and begins to count its own losses anew.
    fn restart(&mut self) -> io::Result<()>;
    /// Frames lost since then, by the name of the counter.
    fn drops(&mut self) -> io::Result<Vec<(String, u64)>>;
    /// What makes the account of the trial worthless, if anything has: what was to be done, and
    /// why it could not be.
    fn fault(&self) -> Option<(&'static str, &'static str)> {
        None
    }
    /// What a reader should know of the trial.
    fn note(&self) -> Option<String> {
        None
    }
}

/// Sends through a sink.
pub(crate) struct PumpedTransmit<S> {
    name: String,
    sink: S,
    longest_bytes: usize,
    recorder: Recorder,
}

/// Receives from a source.
pub(crate) struct PumpedReceive<S> {
    name: String,
    source: S,
    longest_bytes: usize,
    recorder: Recorder,
}

impl<S> PumpedTransmit<S> {
    /// For frames of up to `longest_bytes` (without FCS) out of the port of this name.
    pub fn new(name: &str, sink: S, longest_bytes: usize) -> Self {
        PumpedTransmit { name: name.into(), sink, longest_bytes, recorder: Recorder::default() }
    }
}

impl<S> PumpedReceive<S> {
    /// For frames of up to `longest_bytes` (without FCS) into the port of this name.
    pub fn new(name: &str, source: S, longest_bytes: usize) -> Self {
        PumpedReceive { name: name.into(), source, longest_bytes, recorder: Recorder::default() }
    }
}

impl<S: FrameSink + Send> TransmitHalf for PumpedTransmit<S> {
    fn prepare(&mut self, plan: &TransmitPlan) -> Result<(), TesterError> {
        let longest_bytes = plan.set.longest_bytes();
        if longest_bytes > self.longest_bytes {
            return Err(TesterError::BadTrial(format!(
                "{}: a frame of {} bytes is longer than this port was opened for",
                self.name,
                longest_bytes + 4
            )));
        }
        self.recorder.prepare(longest_bytes);
        Ok(())
    }

    fn transmit(
        &mut self,
        plan: &TransmitPlan,
        start: Instant,
        stop_at: Instant,
        signals: &TrialSignals,
    ) -> Result<Transmission, TesterError> {
        pump::transmit(&mut self.sink, &mut self.recorder, plan, start, stop_at, signals)
            .map_err(|error| sys::port_error(&self.name, "send frames", &error))
    }

    fn capture(&mut self, wish: Option<CaptureWish>) -> Result<(), TesterError> {
        self.recorder.set_wish(wish);
        Ok(())
    }

    fn captured(&mut self) -> Captured {
        self.recorder.take()
    }
}

impl<S: TrialSource + Send> ReceiveHalf for PumpedReceive<S> {
    fn prepare(&mut self, _plan: &ReceivePlan) -> Result<(), TesterError> {
        self.recorder.prepare(self.longest_bytes);
        self.source.restart().map_err(|error| sys::port_error(&self.name, "receive frames", &error))
    }

    fn receive(
        &mut self,
        plan: &ReceivePlan,
        signals: &TrialSignals,
    ) -> Result<PortReceived, TesterError> {
        let received = pump::receive(&mut self.source, &mut self.recorder, plan, signals)
            .map_err(|error| sys::port_error(&self.name, "receive frames", &error))?;
        match self.source.fault() {
            None => Ok(received),
            Some((what, why)) => Err(TesterError::System {
                what: format!("{}: {what}", self.name),
                detail: why.into(),
            }),
        }
    }

    fn drops(&mut self) -> Result<Vec<(String, u64)>, TesterError> {
        self.source
            .drops()
            .map_err(|error| sys::port_error(&self.name, "read the receive statistics", &error))
    }

    fn notes(&mut self) -> Vec<String> {
        self.source.note().map(|note| format!("{}: {note}", self.name)).into_iter().collect()
    }

    fn capture(&mut self, wish: Option<CaptureWish>) -> Result<(), TesterError> {
        self.recorder.set_wish(wish);
        Ok(())
    }

    fn captured(&mut self) -> Captured {
        self.recorder.take()
    }
}
