//! What every kind of port can do, whatever carries its frames.
//!
//! A port comes in two halves, so that each runs in a thread of its own. One trial goes:
//!
//! ```text
//! control thread               receive thread                transmit thread
//! (prelude frames)
//! both halves: prepare()
//!                              receive() ...
//! signals.announce(start)                                    transmit(): first frame at `start`
//! waits for them to be sent    ... signals.note_arrivals()   returns the report
//! signals.set_deadline()
//! waits for residual frames
//! signals.close(sent)          ... returns the account
//! ```

use crate::{CaptureWish, Captured};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use trial::{
    PortDescription, PortId, PortReceived, ReceivePlan, StreamId, TesterError, TransmitPlan,
    TransmitReport,
};
use units::Instant;

/// One real port.
pub trait Port: Send {
    /// What it is.
    fn describe(&self) -> &PortDescription;
    /// Its two halves, to be used at the same time.
    fn halves(&mut self) -> Halves<'_>;
}

/// Both halves of a port.
pub struct Halves<'a> {
    /// Sends.
    pub transmit: &'a mut dyn TransmitHalf,
    /// Receives.
    pub receive: &'a mut dyn ReceiveHalf,
}

/// The half of a port that sends.
pub trait TransmitHalf: Send {
    /// Makes ready to send this plan: whatever must be allocated or loaded is, here.
    fn prepare(&mut self, plan: &TransmitPlan) -> Result<(), TesterError>;

    /// Sends all frames of the plan prepared, the first at `start`; runs in a pinned thread of its
    /// own. Ends when all were sent, when `stop_at` has passed, or when
    /// [`stop`](TrialSignals::stop) was asked for; what was sent until then is reported.
    fn transmit(
        &mut self,
        plan: &TransmitPlan,
        start: Instant,
        stop_at: Instant,
        signals: &TrialSignals,
    ) -> Result<Transmission, TesterError>;

    /// Says which frames to keep in trials prepared from now on.
    fn capture(&mut self, wish: Option<CaptureWish>) -> Result<(), TesterError> {
        wish.map_or(Ok(()), |_| Err(no_capture()))
    }

    /// The frames kept since it was prepared.
    fn captured(&mut self) -> Captured {
        Captured::default()
    }
}

/// What became of a plan to transmit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transmission {
    /// What the transmitter counted.
    pub report: TransmitReport,
    /// Frames among them that were handed over but that the system says it did not send.
    pub not_sent_frames: u64,
    /// What a reader should know of how it was sent.
    pub notes: Vec<String>,
}

/// The half of a port that receives.
pub trait ReceiveHalf: Send {
    /// Forgets whatever arrived before and starts to keep what arrives. Whatever must be
    /// allocated or loaded is, here.
    fn prepare(&mut self, plan: &ReceivePlan) -> Result<(), TesterError>;

    /// Accounts for what arrives until [`closed`](TrialSignals::closed) gives how many frames of
    /// each stream were sent; runs in a pinned thread of its own. It calls
    /// [`note_arrivals`](TrialSignals::note_arrivals) at least every few milliseconds.
    fn receive(
        &mut self,
        plan: &ReceivePlan,
        signals: &TrialSignals,
    ) -> Result<PortReceived, TesterError>;

    /// Frames that the tester itself lost on this port since [`prepare`](Self::prepare), by the
    /// name of the counter; asked for after `receive` has returned.
    fn drops(&mut self) -> Result<Vec<(String, u64)>, TesterError>;

    /// What a reader should know of this port's part in the trial; asked for after `receive` has
    /// returned.
    fn notes(&mut self) -> Vec<String> {
        vec![]
    }

    /// Says which frames to keep in trials prepared from now on.
    fn capture(&mut self, wish: Option<CaptureWish>) -> Result<(), TesterError> {
        wish.map_or(Ok(()), |_| Err(no_capture()))
    }

    /// The frames kept since it was prepared.
    fn captured(&mut self) -> Captured {
        Captured::default()
    }
}

fn no_capture() -> TesterError {
    TesterError::Unsupported {
        port: "any".into(),
        what: "capturing on this type of port".into(),
        remedy: "use --port-type xdp or capture nothing".into(),
    }
}

/// What the threads of one trial tell each other.
#[derive(Debug, Default)]
pub struct TrialSignals {
    stop: AtomicBool,
    start: OnceLock<Instant>,
    /// In ps; 0 while there is none.
    deadline_ps: AtomicU64,
    /// By port: frames seen so far, of any kind and expected ones.
    arrivals: BTreeMap<PortId, (AtomicU64, AtomicU64)>,
    sent: OnceLock<BTreeMap<StreamId, u64>>,
}

impl TrialSignals {
    /// Signals for a trial on these ports.
    pub fn new(ports: impl IntoIterator<Item = PortId>) -> Self {
        let arrivals = ports.into_iter().map(|port| (port, Default::default())).collect();
        TrialSignals { arrivals, ..Default::default() }
    }

    /// Asks transmitters to end now.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
    /// Whether transmitters should end now.
    #[inline]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Says when the first frame is due; once a trial.
    pub fn announce(&self, start: Instant) {
        self.start.set(start).expect("a trial starts once");
    }
    /// When the first frame is due, once that is known.
    #[inline]
    pub fn start(&self) -> Option<Instant> {
        self.start.get().copied()
    }

    /// Arrivals after this point are late.
    pub fn set_deadline(&self, deadline: Instant) {
        self.deadline_ps.store(deadline.as_ps(), Ordering::Release);
    }
    /// The point after which arrivals are late; far in the future until it is known.
    #[inline]
    pub fn deadline(&self) -> Instant {
        match self.deadline_ps.load(Ordering::Acquire) {
            0 => Instant::FAR_FUTURE,
            ps => Instant::from_ps(ps),
        }
    }

    /// A receiver says how many frames have arrived on its port so far: of any kind (foreign
    /// ones too), and different frames where they are expected.
    #[inline]
    pub fn note_arrivals(&self, port: PortId, all: u64, expected: u64) {
        if let Some(arrivals) = self.arrivals.get(&port) {
            arrivals.0.store(all, Ordering::Relaxed);
            arrivals.1.store(expected, Ordering::Relaxed);
        }
    }
    /// Frames of any kind that have arrived on all ports so far, to tell quiescence.
    pub fn arrivals(&self) -> u64 {
        self.arrivals.values().map(|(all, _)| all.load(Ordering::Relaxed)).sum()
    }
    /// Different frames that have arrived so far where they are expected, to tell that nothing
    /// is missing any more.
    pub fn expected_arrivals(&self) -> u64 {
        self.arrivals.values().map(|(_, expected)| expected.load(Ordering::Relaxed)).sum()
    }

    /// Ends receiving: everything was waited for, and so many frames of each stream were sent.
    pub fn close(&self, sent: BTreeMap<StreamId, u64>) {
        self.sent.set(sent).expect("a trial is closed once");
    }
    /// Frames sent of each stream, once receiving is to end.
    #[inline]
    pub fn closed(&self) -> Option<&BTreeMap<StreamId, u64>> {
        self.sent.get()
    }
}
