//! A port whose frames another host sends and receives: plans go there, reports come back.

use crate::Session;
use crate::message::{Answer, Known, PortCommand, Progress, Received};
use kernel::InterfaceState;
use ports::{
    CaptureWish, ControlSocket, Halves, Link, PerhapsFull, Port, ReceiveHalf, Transmission,
    TransmitHalf, TrialSignals, clock,
};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration as Span;
use trial::{
    PortClock, PortDescription, PortId, PortReceived, ReceivePlan, StreamId, TesterError,
    TransmitPlan,
};
use units::{Duration, Instant};

/// How often a trial is asked after.
const POLL_EVERY: Duration = Duration::from_ms(5);
/// Threads of the agent need so long to get into position, beyond what messages take.
const POSITION: Duration = Duration::from_ms(20);
/// Errors within this beyond the foreseen are no reason to doubt frames: half of [`trial::clocks::SLACK`], since two
/// ports may be wrong.
const TOLERATED: Duration = Duration::from_us(500);
/// Numbers of links that are no interfaces of this kernel, from here on.
static NEXT_INDEX: AtomicU32 = AtomicU32::new(0x4000_0000);

/// A borrowed port.
pub(crate) struct BorrowedPort {
    description: PortDescription,
    session: Arc<Session>,
    transmit: BorrowedTransmit,
    receive: BorrowedReceive,
    /// What receivers allow the clock to be wrong by in this trial.
    allowed: Duration,
}

impl BorrowedPort {
    pub fn new(description: PortDescription, session: Arc<Session>) -> Self {
        let common = Common {
            id: description.id,
            name: description.name.clone(),
            session: session.clone(),
            sending: Arc::default(),
        };
        BorrowedPort {
            transmit: BorrowedTransmit(common.clone()),
            receive: BorrowedReceive { common, ended: None },
            description,
            session,
            allowed: Duration::ZERO,
        }
    }
}

impl Port for BorrowedPort {
    fn describe(&self) -> &PortDescription {
        &self.description
    }

    fn halves(&mut self) -> Halves<'_> {
        Halves::of(&mut self.transmit, &mut self.receive)
    }

    fn is_elsewhere(&self) -> bool {
        true
    }

    fn notice(&self) -> Duration {
        POSITION + self.session.round_trip() * 4
    }

    fn clock_error_in(&mut self, span: Duration) -> Result<Duration, TesterError> {
        self.session.follow()?;
        let error = self.session.error_in(span);
        self.allowed = error + TOLERATED;
        Ok(error)
    }

    fn clock(&mut self) -> Option<PortClock> {
        let verdict = self.session.verdict_of_trial();
        Some(PortClock {
            port: self.description.id,
            host: self.session.host().into(),
            error: verdict.error_ns.map(Duration::from_ns),
            allowed: self.allowed,
            known_by: verdict.source.in_words().into(),
            warning: verdict.claim_is_wrong.then(|| wrong_claim(self.session.host())),
        })
    }
}

/// Which of two hosts is wrong the exchanges cannot tell.
fn wrong_claim(host: &str) -> String {
    format!(
        "the clock error that {host} claims, or this host, is wrong (chronyc tracking): exchanges of times contradict it, and \
         count alone; compare chronyc tracking and sources on both"
    )
}

/// What both halves have.
#[derive(Clone)]
struct Common {
    id: PortId,
    name: String,
    session: Arc<Session>,
    sending: Arc<Sending>,
}

/// What the receiving half, which begins the trial and asks after it, says to the sending one.
#[derive(Default)]
struct Sending {
    stage: Mutex<Stage>,
    told: Condvar,
}

/// How far a trial is.
#[derive(Default)]
struct Stage {
    /// The agent knows of it.
    has_begun: bool,
    /// What was sent, until that is taken; a failure where the trial ended before.
    ended: Option<Result<Transmission, TesterError>>,
}

impl Sending {
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) {
        self.stage().has_begun = true;
        self.told.notify_all();
    }

    fn end(&self, outcome: Result<Transmission, TesterError>) {
        self.stage().ended.get_or_insert(outcome);
        self.told.notify_all();
    }

    /// Waits until the agent knows of the trial, or it has failed.
    fn await_begin(&self) {
        let waits = |stage: &mut Stage| !stage.has_begun && stage.ended.is_none();
        drop(self.told.wait_while(self.stage(), waits));
    }

    fn await_end(&self) -> Result<Transmission, TesterError> {
        let waits = |stage: &mut Stage| stage.ended.is_none();
        let stage = self.told.wait_while(self.stage(), waits);
        let ended = stage.unwrap_or_else(PoisonError::into_inner).ended.take();
        ended.expect("waited for")
    }
}

impl Common {
    fn call(&self, command: PortCommand) -> Result<Answer, TesterError> {
        self.session.call_port(self.id, command)
    }

    fn cannot_capture(&self, wish: Option<CaptureWish>) -> Result<(), TesterError> {
        wish.map_or(Ok(()), |_| {
            Err(TesterError::Unsupported {
                port: self.name.clone(),
                what: "to capture at a port of another host".into(),
                remedy: "capture at ports of this host only, or run tcpdump there".into(),
            })
        })
    }
}

/// The half that sends.
struct BorrowedTransmit(Common);

impl TransmitHalf for BorrowedTransmit {
    fn prepare(&mut self, plan: &TransmitPlan) -> Result<(), TesterError> {
        if let Some(stream) = plan.set.streams().iter().find(|stream| stream.bad_fcs) {
            return Err(TesterError::Unsupported {
                port: self.0.name.clone(),
                what: format!("frames with a bad FCS (stream {})", stream.id.0),
                remedy: "send them from a port of this host".into(),
            });
        }
        self.0.call(PortCommand::PrepareTransmit(plan.clone())).map(drop)
    }

    fn transmit(
        &mut self,
        _plan: &TransmitPlan,
        start: Instant,
        stop_at: Instant,
        _signals: &TrialSignals,
    ) -> Result<Transmission, TesterError> {
        self.0.sending.await_begin();
        self.0.call(PortCommand::Transmit { start, stop_at })?;
        self.0.sending.await_end()
    }

    fn capture(&mut self, wish: Option<CaptureWish>) -> Result<(), TesterError> {
        self.0.cannot_capture(wish)
    }
}

/// The half that receives, and asks after both.
struct BorrowedReceive {
    common: Common,
    ended: Option<Received>,
}

impl BorrowedReceive {
    fn follow(&self, plan: &ReceivePlan, signals: &TrialSignals) -> Result<Received, TesterError> {
        self.common.call(PortCommand::Receive)?;
        self.common.sending.begin();
        loop {
            let known = known(signals);
            let asked = known.asked;
            let Answer::Progress(progress) = self.common.call(PortCommand::Poll(known))? else {
                return Err(self.common.session.surprised());
            };
            let Progress { arrivals, sample, sent, received, transmission, account } = *progress;
            signals.note_all(plan.port, arrivals);
            if sample > 0 && sample == asked {
                sent.into_iter().for_each(|sent| signals.note_sent(sample, 0, sent));
                signals.note_received(plan.port, sample, received);
            }
            if let Some(outcome) = transmission {
                self.common.sending.end(outcome);
            }
            if let Some(account) = account {
                return account;
            }
            clock::sleep(POLL_EVERY);
        }
    }
}

/// What this end knows of the trial.
fn known(signals: &TrialSignals) -> Known {
    let closed = signals.closed();
    let sent = |sent: &BTreeMap<StreamId, u64>| sent.iter().map(|(id, n)| (*id, *n)).collect();
    Known {
        start: signals.start(),
        deadline: Some(signals.deadline()).filter(|deadline| *deadline < Instant::FAR_FUTURE),
        stop: signals.stopped(),
        asked: signals.asked(),
        sent: closed.map(sent),
    }
}

impl ReceiveHalf for BorrowedReceive {
    fn prepare(&mut self, plan: &ReceivePlan) -> Result<(), TesterError> {
        self.ended = None;
        *self.common.sending.stage() = Stage::default();
        self.common.call(PortCommand::PrepareReceive(plan.clone())).map(drop)
    }

    fn receive(
        &mut self,
        plan: &ReceivePlan,
        signals: &TrialSignals,
    ) -> Result<PortReceived, TesterError> {
        let received = self.follow(plan, signals);
        // Whoever waits for what was sent hears no more of it.
        let end = TesterError::System {
            what: format!("{}: send", self.common.name),
            detail: "the trial ended early".into(),
        };
        self.common.sending.end(Err(received.as_ref().err().cloned().unwrap_or(end)));
        let received = received?;
        let account = received.account.clone();
        self.ended = Some(received);
        Ok(account)
    }

    fn drops(&mut self) -> Result<Vec<(String, u64)>, TesterError> {
        Ok(self.ended.as_ref().map_or(vec![], |received| received.drops.clone()))
    }

    fn perhaps_full(&mut self) -> Option<PerhapsFull> {
        self.ended.as_ref()?.perhaps_full
    }

    fn notes(&mut self) -> Vec<String> {
        let notes = self.ended.iter().flat_map(|received| &received.notes);
        notes.map(|note| format!("{}: {note}", self.common.session.host())).collect()
    }

    fn capture(&mut self, wish: Option<CaptureWish>) -> Result<(), TesterError> {
        self.common.cannot_capture(wish)
    }
}

/// The interface that a borrowed port stands on.
pub(crate) struct BorrowedLink {
    name: String,
    index: u32,
    id: PortId,
    session: Arc<Session>,
}

impl BorrowedLink {
    pub fn new(name: String, id: PortId, session: Arc<Session>) -> Self {
        BorrowedLink { name, index: NEXT_INDEX.fetch_add(1, Ordering::Relaxed), id, session }
    }
}

impl Link for BorrowedLink {
    fn name(&self) -> &str {
        &self.name
    }

    fn index(&self) -> u32 {
        self.index
    }

    fn state(&self) -> Result<InterfaceState, TesterError> {
        match self.session.call_port(self.id, PortCommand::State)? {
            Answer::State(state) => Ok(state),
            _ => Err(self.session.surprised()),
        }
    }

    fn state_if_up(&self) -> Result<InterfaceState, TesterError> {
        let state = self.state()?;
        match state.up {
            true => Ok(state),
            false => Err(TesterError::PortGone {
                port: self.name.clone(),
                detail: "the interface is down; set it up there: ip link set DEV up".into(),
            }),
        }
    }
}

/// The way of its control frames.
pub(crate) struct BorrowedControl {
    id: PortId,
    session: Arc<Session>,
    heard: Mutex<Receiver<Vec<u8>>>,
}

impl BorrowedControl {
    pub fn new(id: PortId, session: Arc<Session>, heard: Receiver<Vec<u8>>) -> Self {
        BorrowedControl { id, session, heard: Mutex::new(heard) }
    }
}

impl ControlSocket for BorrowedControl {
    fn send(&self, frame: &[u8]) -> io::Result<()> {
        let sent = self.session.call_port(self.id, PortCommand::Send(vec![frame.to_vec()]));
        sent.map(drop).map_err(io::Error::other)
    }

    fn receive<'a>(&self, buffer: &'a mut [u8], timeout_ms: i32) -> io::Result<Option<&'a [u8]>> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = Span::from_millis(u64::try_from(timeout_ms).unwrap_or(0));
        match heard.recv_timeout(patience) {
            Ok(frame) => {
                let len = frame.len().min(buffer.len());
                buffer[..len].copy_from_slice(&frame[..len]);
                Ok(Some(&buffer[..len]))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(io::Error::new(io::ErrorKind::NotConnected, "the session has ended"))
            }
        }
    }
}
