//! The halves of a port whose frames pass through user space, whatever gives and takes them: the
//! [`pump`] with a [`Recorder`] at its side.

use crate::control::OwnFrames;
use crate::pump::{FrameSink, FrameSource, Listening, NAP, Sending};
use crate::queues::{AccountQueue, SendQueue};
use crate::recorder::Recorder;
use crate::{
    CaptureWish, Captured, CatchUp, PerhapsFull, ReceiveHalf, ReceiveTurns, Transmission,
    TransmitHalf, TransmitTurns, TrialSignals,
};
use crate::{sys, turns};
use std::collections::BTreeMap;
use std::io;
use trial::{PortReceived, ReceivePlan, SentSoFar, StreamId, TesterError, TransmitPlan};
use units::{Duration, Instant};

/// What a receive half has to know of a source beyond its frames.
pub(crate) trait TrialSource: FrameSource {
    /// Forgets whatever arrived before, and begins to count its own losses anew. Of frames that look like the control
    /// side's it passes on those of the trial.
    fn restart(&mut self, own: &OwnFrames) -> io::Result<()>;
    /// Frames lost since then, by the name of the counter.
    fn drops(&mut self) -> io::Result<Vec<(String, u64)>>;
    /// How long it may be left alone when nothing has arrived.
    fn nap(&self) -> Duration {
        NAP
    }
    /// Whether it overflows while the thread of a sender has the core.
    fn is_short(&self) -> bool {
        false
    }
    /// What makes the account of the trial worthless, if anything has: what was to be done, and
    /// why it could not be.
    fn fault(&self) -> Option<(&'static str, &'static str)> {
        None
    }
    /// What a reader should know of the trial.
    fn note(&self) -> Option<String> {
        None
    }
    /// How often its queue may have been full, where only the far end counts what was lost then.
    fn perhaps_full(&self) -> Option<PerhapsFull> {
        None
    }
}

/// What is sent, and the name of its port for the errors.
struct NamedSending<'a, S> {
    name: &'a str,
    sending: Sending<'a, S, Recorder>,
}

/// What is received, likewise.
struct NamedListening<'a, S> {
    name: &'a str,
    listening: Listening<'a, S, Recorder>,
}

fn not_sent(name: &str, error: &io::Error) -> TesterError {
    sys::port_error(name, "send frames", error)
}

/// Sends through a sink.
pub(crate) struct PumpedTransmit<S> {
    name: String,
    sink: S,
    longest_bytes: usize,
    recorder: Recorder,
    queue: SendQueue,
}

/// Receives from a source.
pub(crate) struct PumpedReceive<S> {
    name: String,
    source: S,
    longest_bytes: usize,
    recorder: Recorder,
    queue: AccountQueue,
}

impl<S> PumpedTransmit<S> {
    /// For frames of up to `longest_bytes` (without FCS) out of the port of this name.
    pub fn new(name: &str, sink: S, longest_bytes: usize) -> Self {
        Self::of_queue(name, sink, longest_bytes, SendQueue::only())
    }

    /// The same of one of the port's queues.
    pub fn of_queue(name: &str, sink: S, longest_bytes: usize, queue: SendQueue) -> Self {
        let recorder = Recorder::default();
        PumpedTransmit { name: name.into(), sink, longest_bytes, recorder, queue }
    }
}

impl<S> PumpedReceive<S> {
    /// For frames of up to `longest_bytes` (without FCS) into the port of this name.
    pub fn new(name: &str, source: S, longest_bytes: usize) -> Self {
        Self::of_queue(name, source, longest_bytes, AccountQueue::only())
    }

    /// The same of one of the port's queues.
    pub fn of_queue(name: &str, source: S, longest_bytes: usize, queue: AccountQueue) -> Self {
        let recorder = Recorder::default();
        PumpedReceive { name: name.into(), source, longest_bytes, recorder, queue }
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
        self.queue.begin(plan);
        Ok(())
    }

    fn transmit(
        &mut self,
        plan: &TransmitPlan,
        start: Instant,
        stop_at: Instant,
        signals: &TrialSignals,
    ) -> Result<Transmission, TesterError> {
        let port: Vec<_> = self.turns(plan, start)?.into_iter().collect();
        let mut sent = turns::transmit(port, stop_at, signals)?;
        Ok(sent.swap_remove(0))
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn turns<'a>(
        &'a mut self,
        plan: &'a TransmitPlan,
        start: Instant,
    ) -> Result<Option<Box<dyn TransmitTurns + 'a>>, TesterError> {
        let name = &self.name;
        let sending = Sending::new(&mut self.sink, &mut self.recorder, (plan, &self.queue), start)
            .map_err(|error| not_sent(name, &error))?;
        Ok(Some(Box::new(NamedSending { name, sending })))
    }

    fn capture(&mut self, wish: Option<CaptureWish>) -> Result<(), TesterError> {
        self.recorder.set_wish(wish);
        Ok(())
    }

    fn captured(&mut self) -> Captured {
        self.recorder.take()
    }
}

impl<S: FrameSink> TransmitTurns for NamedSending<'_, S> {
    fn next_due(&mut self) -> Option<Instant> {
        self.sending.next_due()
    }
    fn turn(&mut self, now: Instant) -> Result<(), TesterError> {
        self.sending.turn(now).map_err(|error| not_sent(self.name, &error))
    }
    fn pending(&mut self) -> Result<usize, TesterError> {
        self.sending.pending().map_err(|error| not_sent(self.name, &error))
    }
    fn queue(&self) -> usize {
        self.sending.queue()
    }
    fn catch_up(&mut self) -> CatchUp {
        self.sending.catch_up()
    }
    fn sent_so_far(&self) -> SentSoFar {
        self.sending.sent_so_far()
    }
    fn finish(self: Box<Self>) -> Result<Transmission, TesterError> {
        self.sending.finish().map_err(|error| not_sent(self.name, &error))
    }
}

impl<S: TrialSource> ReceiveTurns for NamedListening<'_, S> {
    fn turn(&mut self, signals: &TrialSignals) -> Result<u64, TesterError> {
        let taken = self.listening.turn(signals);
        taken.map_err(|error| sys::port_error(self.name, "receive frames", &error))
    }

    fn nap(&self) -> Duration {
        self.listening.source().nap()
    }

    fn finish(
        self: Box<Self>,
        sent: &BTreeMap<StreamId, u64>,
    ) -> Result<PortReceived, TesterError> {
        match self.listening.source().fault() {
            None => Ok(self.listening.finish(sent)),
            Some((what, why)) => Err(TesterError::System {
                what: format!("{}: {what}", self.name),
                detail: why.into(),
            }),
        }
    }
}

impl<S: TrialSource + Send> ReceiveHalf for PumpedReceive<S> {
    fn prepare(&mut self, plan: &ReceivePlan) -> Result<(), TesterError> {
        self.recorder.prepare(self.longest_bytes);
        self.queue.begin();
        let restarted = self.source.restart(&OwnFrames::of(plan));
        restarted.map_err(|error| sys::port_error(&self.name, "receive frames", &error))
    }

    fn receive(
        &mut self,
        plan: &ReceivePlan,
        signals: &TrialSignals,
    ) -> Result<PortReceived, TesterError> {
        let port: Vec<_> = self.turns(plan).into_iter().collect();
        let mut received = turns::receive(port, signals)?;
        Ok(received.swap_remove(0))
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn joins_sender(&self) -> bool {
        self.source.is_short()
    }

    fn turns<'a>(&'a mut self, plan: &'a ReceivePlan) -> Option<Box<dyn ReceiveTurns + 'a>> {
        let listening = Listening::new(&mut self.source, &mut self.recorder, (plan, &self.queue));
        Some(Box::new(NamedListening { name: &self.name, listening }))
    }

    fn drops(&mut self) -> Result<Vec<(String, u64)>, TesterError> {
        self.source
            .drops()
            .map_err(|error| sys::port_error(&self.name, "read the receive statistics", &error))
    }

    fn perhaps_full(&mut self) -> Option<PerhapsFull> {
        self.source.perhaps_full()
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
