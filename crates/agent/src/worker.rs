//! The threads of one lent port: one that holds it and answers, and in a trial one for each half.

use crate::lend::{Replies, reply};
use crate::message::{Answer, Known, PortCommand, Progress, Received};
use ports::scheduling::{RECEIVER_PRIORITY, real_time_shortfall};
use ports::{
    ControlSocket, Halves, Link, OpenPort, PortRequest, ReceiveHalf, Transmission, TransmitHalf,
    TrialSignals, control_socket, open_ports, settle_thread,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, Scope, ScopedJoinHandle};
use std::time::Duration;
use trial::{PortId, ReceivePlan, TesterError, TransmitPlan};
use units::Instant;

/// How soon the thread that listens to the control side notices that it should end.
const LISTEN_MS: i32 = 50;
/// A trial of which a tester does not ask for so long is over: its connection is checked more often than that.
const FORGOTTEN: Duration = Duration::from_secs(30);
/// No core.
const NONE: usize = usize::MAX;

type Commands = Receiver<(u64, PortCommand)>;

/// A port that is lent.
pub(crate) struct Worker {
    commands: Sender<(u64, PortCommand)>,
    cores: Arc<Cores>,
    thread: JoinHandle<()>,
}

/// Where the threads of the halves run.
struct Cores {
    transmit: AtomicUsize,
    receive: AtomicUsize,
}

impl Worker {
    /// Opens the port in a thread of its own, which replies to request `id`.
    pub fn start(request: PortRequest, id: u64, replies: Replies) -> Self {
        let (commands, taken) = channel();
        let cores =
            Arc::new(Cores { transmit: AtomicUsize::new(NONE), receive: AtomicUsize::new(NONE) });
        let of_thread = cores.clone();
        let thread = std::thread::spawn(move || match open(&request) {
            Ok((port, control)) => {
                let lent = Lent { port, control, id: request.id, replies, cores: of_thread };
                lent.serve(id, &taken);
            }
            Err(error) => reply(&replies, id, Err(error)),
        });
        Worker { commands, cores, thread }
    }

    /// Says on which cores its halves run from the next trial on.
    pub fn place(&self, transmit: Option<usize>, receive: Option<usize>) {
        self.cores.transmit.store(transmit.unwrap_or(NONE), Ordering::Relaxed);
        self.cores.receive.store(receive.unwrap_or(NONE), Ordering::Relaxed);
    }

    /// Has the port's thread carry out a command. One that could not be opened answers nobody: the tester knows.
    pub fn take(&self, id: u64, command: PortCommand) {
        let _ = self.commands.send((id, command));
    }

    /// Ends a trial under way, and closes the port.
    pub fn end(self) {
        drop(self.commands);
        // A panic was told already, by the thread itself.
        let _ = self.thread.join();
    }
}

fn open(request: &PortRequest) -> Result<(OpenPort, Box<dyn ControlSocket>), TesterError> {
    // Not one alone: only so an `auto` port finds out whether XDP can send on it.
    let port = open_ports(std::slice::from_ref(request))?.pop().expect("one was asked for");
    let interface = port.interface().ok_or_else(|| TesterError::Unsupported {
        port: request.interface.clone(),
        what: "to lend a port without an interface".into(),
        remedy: "use xdp, af_xdp or af_packet".into(),
    })?;
    let control = control_socket(interface).map_err(|error| TesterError::System {
        what: format!("{}: open a control socket", request.interface),
        detail: error.to_string(),
    })?;
    Ok((port, control))
}

/// What the port's thread holds.
struct Lent {
    port: OpenPort,
    /// Beside that of the port, whose own answers for nobody.
    control: Box<dyn ControlSocket>,
    id: PortId,
    replies: Replies,
    cores: Arc<Cores>,
}

/// What was prepared for the next trial.
#[derive(Default)]
struct Prepared {
    transmit: Option<TransmitPlan>,
    receive: Option<ReceivePlan>,
}

impl Lent {
    fn serve(mut self, opened: u64, commands: &Commands) {
        let mut notes = self.port.notes().to_vec();
        if let Err(error) = kernel::thread::lock_memory() {
            notes.push(format!(
                "memory of the agent is not locked ({error}): paging may delay frames; run it as root"
            ));
        }
        let description = self.port.describe().clone();
        reply(&self.replies, opened, Ok(Answer::Lent { description, notes }));
        let ended = AtomicBool::new(false);
        let Lent { port, control, id, replies, cores } = &mut self;
        let (control, id, replies, cores) = (&**control, *id, &*replies, &**cores);
        std::thread::scope(|scope| {
            scope.spawn(|| listen(control, id, replies, &ended));
            let mut prepared = Prepared::default();
            while let Ok((request, command)) = commands.recv() {
                let answer = match command {
                    PortCommand::Receive => {
                        reply(replies, request, Ok(Answer::Done));
                        let plans = std::mem::take(&mut prepared);
                        run(port, &plans, control, (id, replies, cores), commands);
                        continue;
                    }
                    PortCommand::PrepareTransmit(plan) => {
                        let done = port.parts().0.transmit.prepare(&plan);
                        prepared.transmit = Some(plan);
                        done.map(|()| Answer::Done)
                    }
                    PortCommand::PrepareReceive(plan) => {
                        let done = port.parts().0.receive.prepare(&plan);
                        prepared.receive = Some(plan);
                        done.map(|()| Answer::Done)
                    }
                    PortCommand::Transmit { .. } | PortCommand::Poll(_) => Err(no_trial()),
                    PortCommand::State => port.link().state().map(Answer::State),
                    PortCommand::Send(frames) => send(control, &frames),
                };
                reply(replies, request, answer);
            }
            ended.store(true, Ordering::Relaxed);
        });
    }
}

/// Passes frames of the control side on.
fn listen(control: &dyn ControlSocket, id: PortId, replies: &Replies, ended: &AtomicBool) {
    let mut buffer = vec![0; 65_536];
    while !ended.load(Ordering::Relaxed) {
        match control.receive(&mut buffer, LISTEN_MS) {
            Ok(Some(frame)) => reply(replies, 0, Ok(Answer::Heard(id, frame.to_vec()))),
            Ok(None) => {}
            // Down or gone: the state of the interface says so.
            Err(_) => std::thread::sleep(Duration::from_millis(LISTEN_MS as u64)),
        }
    }
}

fn send(control: &dyn ControlSocket, frames: &[Vec<u8>]) -> Result<Answer, TesterError> {
    let sent = frames.iter().try_for_each(|frame| control.send(frame));
    let failed = |error: std::io::Error| TesterError::System {
        what: "send a control frame".into(),
        detail: error.to_string(),
    };
    sent.map(|()| Answer::Done).map_err(failed)
}

fn no_trial() -> TesterError {
    TesterError::BadTrial("no trial is under way".into())
}

/// One trial: from `Receive` until the tester has heard what was received.
fn run(
    port: &mut OpenPort,
    plans: &Prepared,
    control: &dyn ControlSocket,
    (id, replies, cores): (PortId, &Replies, &Cores),
    commands: &Commands,
) {
    let Some(plan) = &plans.receive else { return };
    let signals = &TrialSignals::new([id]);
    let (Halves { transmit, receive, .. }, _, link) = port.parts();
    let core = |core: &AtomicUsize| Some(core.load(Ordering::Relaxed)).filter(|at| *at != NONE);
    std::thread::scope(|scope| {
        let on = core(&cores.receive);
        let receiver = scope.spawn(move || {
            settle_thread(on)?;
            if real_time_shortfall().is_none() {
                // It is allowed; without, it has its turn like others.
                let _ = kernel::thread::make_this_real_time(RECEIVER_PRIORITY);
            }
            received(receive, plan, signals)
        });
        let mut trial = Running {
            signals,
            id,
            link,
            control,
            transmit: Some(transmit),
            plan: plans.transmit.as_ref(),
            core: core(&cores.transmit),
            asked: 0,
            transmitter: None,
            receiver: Some(receiver),
            is_closed: false,
        };
        while trial.receiver.is_some() || trial.transmitter.is_some() {
            match commands.recv_timeout(FORGOTTEN) {
                Ok((request, command)) => {
                    let answer = trial.take(scope, command);
                    reply(replies, request, answer);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        // Whoever is still at work is to end.
        trial.abandon();
    });
}

/// A receive thread's work, and then what its port says of the trial.
fn received(
    half: &mut dyn ReceiveHalf,
    plan: &ReceivePlan,
    signals: &TrialSignals,
) -> Result<Received, TesterError> {
    let account = half.receive(plan, signals)?;
    let (drops, perhaps_full) = (half.drops()?, half.perhaps_full());
    Ok(Received { account, drops, perhaps_full, notes: half.notes() })
}

/// A trial under way at the port.
struct Running<'scope, 'a> {
    signals: &'scope TrialSignals,
    id: PortId,
    link: &'a dyn Link,
    control: &'a dyn ControlSocket,
    /// Until it transmits.
    transmit: Option<&'scope mut dyn TransmitHalf>,
    plan: Option<&'scope TransmitPlan>,
    core: Option<usize>,
    /// The sample that was asked for last.
    asked: u64,
    transmitter: Option<ScopedJoinHandle<'scope, Result<Transmission, TesterError>>>,
    receiver: Option<ScopedJoinHandle<'scope, Result<Received, TesterError>>>,
    is_closed: bool,
}

impl<'scope> Running<'scope, '_> {
    fn take(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        command: PortCommand,
    ) -> Result<Answer, TesterError> {
        match command {
            PortCommand::State => self.link.state().map(Answer::State),
            PortCommand::Send(frames) => send(self.control, &frames),
            PortCommand::Transmit { start, stop_at } => self.transmit(scope, start, stop_at),
            PortCommand::Poll(known) => {
                self.hear(known);
                Ok(Answer::Progress(Box::new(self.progress())))
            }
            _ => Err(TesterError::BadTrial("a trial is under way".into())),
        }
    }

    fn transmit(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        start: Instant,
        stop_at: Instant,
    ) -> Result<Answer, TesterError> {
        let (Some(half), Some(plan)) = (self.transmit.take(), self.plan) else {
            return Err(TesterError::BadTrial("nothing was prepared to be sent".into()));
        };
        let (signals, core) = (self.signals, self.core);
        self.transmitter = Some(scope.spawn(move || {
            settle_thread(core)?;
            half.transmit(plan, start, stop_at, signals)
        }));
        Ok(Answer::Done)
    }

    fn hear(&mut self, known: Known) {
        if let (Some(start), None) = (known.start, self.signals.start()) {
            self.signals.announce(start);
        }
        if let Some(deadline) = known.deadline {
            self.signals.set_deadline(deadline);
        }
        if known.stop {
            self.signals.stop();
        }
        if known.asked > self.asked {
            self.asked = known.asked;
            self.signals.ask();
        }
        if let Some(sent) = known.sent {
            self.close(sent.into_iter().collect());
        }
    }

    fn close(&mut self, sent: std::collections::BTreeMap<trial::StreamId, u64>) {
        if !std::mem::replace(&mut self.is_closed, true) {
            self.signals.close(sent);
        }
    }

    /// What there is to tell. What a half came to is told once.
    fn progress(&mut self) -> Progress {
        let (sent, received, fresh) = self.signals.answers();
        let sending = usize::from(self.transmitter.as_ref().is_some_and(|t| !t.is_finished()));
        let is_fresh = self.asked > 0 && fresh > sending;
        Progress {
            arrivals: self.signals.arrivals_at(self.id),
            sample: if is_fresh { self.asked } else { 0 },
            sent: sent.into_iter().next().filter(|_| is_fresh),
            received: if is_fresh { received } else { vec![] },
            transmission: finished(&mut self.transmitter),
            account: finished(&mut self.receiver),
        }
    }

    fn abandon(&mut self) {
        self.signals.stop();
        self.close(Default::default());
    }
}

/// What a thread came to, if it has ended.
fn finished<T>(
    thread: &mut Option<ScopedJoinHandle<'_, Result<T, TesterError>>>,
) -> Option<Result<T, TesterError>> {
    let ended = thread.take_if(|thread| thread.is_finished())?;
    Some(ended.join().unwrap_or_else(|_| {
        Err(TesterError::System {
            what: "run a trial".into(),
            detail: "a thread of the agent failed; its standard error says why".into(),
        })
    }))
}
