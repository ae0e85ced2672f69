//! One trial on live ports: threads are started, watched and ended, and what they report is put
//! together. The order of events is that of [`crate::Port`].

use crate::cores::CorePlan;
use crate::live::LiveOptions;
use crate::namespace::NetworkNamespace;
use crate::open::OpenPort;
use crate::tally::{Reading, tally};
use crate::{Halves, Interface, InterfaceState, PortType, Transmission, TrialSignals, clock, sys};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use trial::{
    DeviceAction, Expectation, PortCounters, PortId, PortReceived, ReceivePlan, StreamId,
    TesterError, TransmitPlan, Trial, TrialResult,
};
use units::{Duration, Instant};

/// From announcing the start to the first frame: threads get into position.
const LEAD: Duration = Duration::from_ms(20);
/// So long after its schedule has ended a transmitter that lags may still send; what is unsent
/// then is shortfall.
const GRACE: Duration = Duration::from_ms(20);
/// With nothing missing, residual frames could only be duplicates: they are waited for so long.
const COMPLETE_QUIET: Duration = Duration::from_ms(50);
/// How long nothing must arrive before counters are read: longer than any ring holds back
/// frames.
const QUIET: Duration = Duration::from_ms(10);
/// A device that never falls silent is not waited for longer.
const LONGEST_QUIESCENCE: Duration = Duration::from_ms(500);
/// How often interfaces are looked at while a trial runs.
const LOOK: Duration = Duration::from_ms(50);

/// A trial about to run.
pub(crate) struct Session<'a> {
    trial: &'a Trial,
    cores: &'a CorePlan,
    ports: &'a mut [OpenPort],
    options: &'a mut LiveOptions,
    transmit_plans: BTreeMap<PortId, TransmitPlan>,
    receive_plans: BTreeMap<PortId, ReceivePlan>,
}

/// The threads of a trial.
struct Threads<'scope> {
    transmit: Vec<ScopedJoinHandle<'scope, Result<Transmission, TesterError>>>,
    receive: Vec<ScopedJoinHandle<'scope, Result<Received, TesterError>>>,
    /// The device action; at most one.
    action: Vec<ScopedJoinHandle<'scope, Result<(Instant, Instant), TesterError>>>,
}

struct Received {
    account: PortReceived,
    drops: Vec<(String, u64)>,
    notes: Vec<String>,
}

/// What the threads brought home.
struct Outcome {
    start: Instant,
    transmissions: Vec<Transmission>,
    received: Vec<Received>,
    action: Option<(Instant, Instant)>,
}

impl<'a> Session<'a> {
    /// Makes ready; nothing is sent yet, but from here on ports receive.
    pub fn new(
        trial: &'a Trial,
        cores: &'a CorePlan,
        ports: &'a mut [OpenPort],
        options: &'a mut LiveOptions,
    ) -> Result<Self, TesterError> {
        let plans = trial.transmit_plans()?;
        let transmit_plans: BTreeMap<_, _> =
            plans.into_iter().map(|plan| (plan.port, plan)).collect();
        let mut receive_plans = BTreeMap::new();
        for port in ports.iter_mut() {
            let id = port.describe().id;
            let receive_plan = trial.receive_plan(id);
            let Halves { transmit, receive } = port.port.halves();
            if let Some(plan) = transmit_plans.get(&id) {
                transmit.prepare(plan)?;
            }
            receive.prepare(&receive_plan)?;
            receive_plans.insert(id, receive_plan);
        }
        Ok(Session { trial, cores, ports, options, transmit_plans, receive_plans })
    }

    /// Runs the trial to the end of its drain time.
    pub fn run(self) -> Result<TrialResult, TesterError> {
        let ids: Vec<PortId> = self.ports.iter().map(|port| port.describe().id).collect();
        let before = self.interface_states()?;
        let control_before = self.control_frames();
        let signals = TrialSignals::new(ids);
        let Session { trial, cores, ports, options, transmit_plans, receive_plans } = self;
        let outcome = std::thread::scope(|scope| {
            let real_time = options.real_time;
            let mut interfaces = vec![];
            let mut threads = Threads { transmit: vec![], receive: vec![], action: vec![] };
            let mut transmitters = vec![];
            for port in ports.iter_mut() {
                let id = port.port.describe().id;
                let Halves { transmit, receive } = port.port.halves();
                let place = |core| Place { core, namespace: &port.namespace, real_time: false };
                let (plan, core) = (&receive_plans[&id], cores.receive.get(&id).copied());
                let signals = &signals;
                threads.receive.push(spawn(scope, Some(place(core)), signals, move || {
                    let account = receive.receive(plan, signals)?;
                    Ok(Received { account, drops: receive.drops()?, notes: receive.notes() })
                }));
                if let Some(plan) = transmit_plans.get(&id) {
                    let place = Place { real_time, ..place(cores.transmit.get(&id).copied()) };
                    transmitters.push((plan, transmit, place));
                }
                interfaces.push(&port.interface);
            }
            let start = clock::now() + LEAD;
            signals.announce(start);
            let stop_at = start + trial.duration() + GRACE;
            for (plan, transmit, place) in transmitters {
                let signals = &signals;
                threads.transmit.push(spawn(scope, Some(place), signals, move || {
                    transmit.transmit(plan, start, stop_at, signals)
                }));
            }
            if let (Some((after, action)), Some(device)) = (&trial.action, &mut options.device) {
                let signals = &signals;
                threads.action.push(spawn(scope, None, signals, move || {
                    clock::wait_until(start + *after);
                    let begun = clock::now();
                    device.act(action)?;
                    Ok((begun, clock::now()))
                }));
            }
            let next_look = clock::now();
            let mut watch = Watch { signals: &signals, interfaces, stop: &options.stop, next_look };
            watch.conduct(trial, start, threads)
        })?;
        let session = Session { trial, cores, ports, options, transmit_plans, receive_plans };
        session.conclude(outcome, before, &control_before)
    }

    fn interface_states(&self) -> Result<Vec<InterfaceState>, TesterError> {
        self.ports.iter().map(|port| port.interface.state_if_up()).collect()
    }

    fn control_frames(&self) -> Vec<u64> {
        self.ports.iter().map(OpenPort::control_frames).collect()
    }

    fn conclude(
        &self,
        outcome: Outcome,
        before: Vec<InterfaceState>,
        control_before: &[u64],
    ) -> Result<TrialResult, TesterError> {
        let after = self.interface_states()?;
        let control_after = self.control_frames();
        let readings = self.readings(&outcome.received, before, after);
        let link_was_reset = matches!(self.trial.action, Some((_, DeviceAction::LinkReset { .. })));
        let mut tallies = tally(&readings, link_was_reset);
        let mut notes = self.cores.notes.clone();
        let mut reports = vec![];
        for sent in outcome.transmissions {
            let tally = &mut tallies[usize::from(sent.report.port.0)];
            notes.extend(sent.notes);
            let mut not_sent = sent.not_sent_frames + tally.not_sent;
            if link_was_reset && sent.not_sent_frames > 0 {
                notes.push(format!(
                    "{}: {} frames met a link that was down; they count as lost",
                    sent.report.port, sent.not_sent_frames
                ));
                tally.sent += sent.not_sent_frames;
                not_sent -= sent.not_sent_frames;
            }
            reports.push((sent.report, not_sent));
        }
        let mut accounts = vec![];
        let mut counters = vec![];
        for (index, (received, tally)) in outcome.received.into_iter().zip(tallies).enumerate() {
            counters.push(PortCounters {
                port: received.account.port,
                interface_sent: Some(tally.sent),
                interface_received: Some(tally.received),
                tester_drops: tally.tester_drops,
                control_frames: control_after[index] - control_before[index],
            });
            accounts.push(received.account);
            notes.extend(received.notes.into_iter().chain(tally.notes));
        }
        let mut result = self.trial.conclude(outcome.start, reports, accounts, counters);
        result.action = outcome.action;
        result.notes.extend(notes);
        Ok(result)
    }

    fn readings(
        &self,
        received: &[Received],
        before: Vec<InterfaceState>,
        after: Vec<InterfaceState>,
    ) -> Vec<Reading> {
        let states = before.into_iter().zip(after);
        let ports = self.ports.iter().zip(received).zip(states);
        ports
            .map(|((port, received), (before, after))| Reading {
                name: port.interface.name().into(),
                index: port.interface.index(),
                own_drops: received.drops.clone(),
                own_drops_in_interface: port.describe().port_type != PortType::AfPacket.name(),
                before,
                after,
            })
            .collect()
    }
}

/// Where and how a thread runs.
struct Place<'a> {
    core: Option<usize>,
    namespace: &'a NetworkNamespace,
    real_time: bool,
}

impl Place<'_> {
    /// Puts the calling thread there.
    fn take(&self) -> Result<(), TesterError> {
        self.namespace
            .enter()
            .map_err(|error| sys::system("enter the network namespace of a port", &error))?;
        if let Some(core) = self.core {
            sys::pin_thread(core)
                .map_err(|error| sys::system(format!("pin a thread to core {core}"), &error))?;
        }
        sys::prefer_thread();
        sys::tighten_timer_slack();
        if self.real_time {
            sys::make_real_time().map_err(|error| {
                sys::system("use real-time priority (leave it off, or run as root)", &error)
            })?;
        }
        Ok(())
    }
}

/// Starts a thread of the trial. If it fails, transmitters are told to stop.
fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    place: Option<Place<'scope>>,
    signals: &'scope TrialSignals,
    body: impl FnOnce() -> Result<T, TesterError> + Send + 'scope,
) -> ScopedJoinHandle<'scope, Result<T, TesterError>> {
    scope.spawn(move || {
        let placed = place.map_or(Ok(()), |place| place.take());
        placed.and_then(|()| body()).inspect_err(|_| signals.stop())
    })
}

/// The control thread's view of a running trial.
struct Watch<'a> {
    signals: &'a TrialSignals,
    interfaces: Vec<&'a Interface>,
    stop: &'a AtomicBool,
    next_look: Instant,
}

impl Watch<'_> {
    /// Sees a trial through. Whatever goes wrong, all threads end before this returns.
    fn conduct(
        &mut self,
        trial: &Trial,
        start: Instant,
        mut threads: Threads<'_>,
    ) -> Result<Outcome, TesterError> {
        let outcome = self.see_through(trial, start, &mut threads);
        if outcome.is_err() {
            self.signals.stop();
            self.signals.close(BTreeMap::new());
        }
        let failures = threads.join_all();
        match outcome {
            Err(noticed) if noticed != TesterError::Interrupted => Err(cause(failures, noticed)),
            outcome => outcome,
        }
    }

    fn see_through(
        &mut self,
        trial: &Trial,
        start: Instant,
        threads: &mut Threads<'_>,
    ) -> Result<Outcome, TesterError> {
        while !threads.transmit.iter().all(|thread| thread.is_finished()) {
            self.look_around(threads)?;
            clock::sleep(Duration::from_ms(1));
        }
        let transmissions = joined(&mut threads.transmit)?;
        let sent = sent_of_stream(&transmissions);
        let last = transmissions.iter().filter_map(|sent| sent.report.last_departure).max();
        let deadline = last.unwrap_or(start) + trial.waits.drain;
        self.signals.set_deadline(deadline);
        self.drain(expected_arrivals(trial, &sent), deadline, threads)?;
        let action = joined(&mut threads.action)?.pop();
        self.await_quiescence(threads)?;
        self.signals.close(sent);
        let received = joined(&mut threads.receive)?;
        Ok(Outcome { start, transmissions, received, action })
    }

    /// Waits for residual frames until the deadline, or until nothing is missing and nothing
    /// comes any more.
    fn drain(
        &mut self,
        expected: Option<u64>,
        deadline: Instant,
        threads: &Threads<'_>,
    ) -> Result<(), TesterError> {
        let mut silence = Silence::begin(self.signals);
        loop {
            let now = clock::now();
            let complete = expected == Some(self.signals.expected_arrivals());
            let quiet = silence.lasts(self.signals, now) >= COMPLETE_QUIET;
            if now >= deadline || (complete && quiet) {
                return Ok(());
            }
            self.look_around(threads)?;
            clock::sleep(deadline.since(now).min(Duration::from_ms(2)));
        }
    }

    /// Waits until nothing arrives any more, so that counters can be read.
    fn await_quiescence(&mut self, threads: &Threads<'_>) -> Result<(), TesterError> {
        let begun = clock::now();
        let mut silence = Silence::begin(self.signals);
        loop {
            let now = clock::now();
            if silence.lasts(self.signals, now) >= QUIET || now.since(begun) > LONGEST_QUIESCENCE {
                return Ok(());
            }
            self.look_around(threads)?;
            clock::sleep(Duration::from_ms(1));
        }
    }

    /// Fails if somebody wants to stop, an interface is gone or down, or a thread has failed.
    fn look_around(&mut self, threads: &Threads<'_>) -> Result<(), TesterError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(TesterError::Interrupted);
        }
        let failed = self.signals.stopped() || threads.receive.iter().any(|t| t.is_finished());
        if failed || clock::now() >= self.next_look {
            self.next_look = clock::now() + LOOK;
            self.interfaces.iter().try_for_each(|interface| interface.state_if_up().map(drop))?;
        }
        if failed {
            return Err(TesterError::System {
                what: "run a trial".into(),
                detail: "a thread of the tester ended early".into(),
            });
        }
        Ok(())
    }
}

impl Threads<'_> {
    /// Waits for all threads that are left; gives the errors with which they ended.
    fn join_all(self) -> Vec<TesterError> {
        let transmit = self.transmit.into_iter().filter_map(|thread| finish(thread).err());
        let receive = self.receive.into_iter().filter_map(|thread| finish(thread).err());
        let action = self.action.into_iter().filter_map(|thread| finish(thread).err());
        transmit.chain(receive).chain(action).collect()
    }
}

/// Of all that was said of a failure, what tells most: that a port is gone explains all the rest;
/// else what a thread says is the cause, and what was noticed from outside its effect.
fn cause(failures: Vec<TesterError>, noticed: TesterError) -> TesterError {
    let is_gone = |error: &TesterError| matches!(error, TesterError::PortGone { .. });
    if is_gone(&noticed) {
        return noticed;
    }
    let gone = failures.iter().position(is_gone);
    failures.into_iter().nth(gone.unwrap_or(0)).unwrap_or(noticed)
}

/// Waits for threads; the first error with which one ended is the error of all.
fn joined<T>(
    threads: &mut Vec<ScopedJoinHandle<'_, Result<T, TesterError>>>,
) -> Result<Vec<T>, TesterError> {
    threads.drain(..).map(finish).collect()
}

fn finish<T>(thread: ScopedJoinHandle<'_, Result<T, TesterError>>) -> Result<T, TesterError> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn sent_of_stream(transmissions: &[Transmission]) -> BTreeMap<StreamId, u64> {
    let mut sent = BTreeMap::new();
    for (stream, frames) in transmissions.iter().flat_map(|sent| &sent.report.sent_of_stream) {
        *sent.entry(*stream).or_default() += frames;
    }
    sent
}

/// How many arrivals there are when nothing is missing; `None` where nothing is expected.
fn expected_arrivals(trial: &Trial, sent: &BTreeMap<StreamId, u64>) -> Option<u64> {
    let signed = trial.streams.iter().filter(|s| s.frames.iter().all(|f| f.form.is_some()));
    let expected = signed.map(|stream| match &stream.expect {
        Expectation::Ports(ports) => {
            ports.len() as u64 * sent.get(&stream.id).copied().unwrap_or(0)
        }
        Expectation::Unchecked => 0,
    });
    Some(expected.sum()).filter(|arrivals| *arrivals > 0)
}

/// How long no frame has arrived on any port.
struct Silence {
    arrivals: u64,
    since: Instant,
}

impl Silence {
    fn begin(signals: &TrialSignals) -> Self {
        Silence { arrivals: signals.arrivals(), since: clock::now() }
    }
    fn lasts(&mut self, signals: &TrialSignals, now: Instant) -> Duration {
        let arrivals = signals.arrivals();
        if arrivals != self.arrivals {
            *self = Silence { arrivals, since: now };
        }
        now.since(self.since)
    }
}
