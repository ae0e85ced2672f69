//! The threads of one trial, seen through from the start to the last of them.

use crate::namespace::NetworkNamespace;
use crate::{Interface, Transmission, TrialSignals, clock, sys};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use trial::{Expectation, PortReceived, StreamId, TesterError, Trial};
use units::{Duration, Instant};

/// With nothing missing, residual frames could only be duplicates: they are waited for so long.
const COMPLETE_QUIET: Duration = Duration::from_ms(50);
/// How long nothing must arrive before counters are read: longer than any ring holds back
/// frames.
const QUIET: Duration = Duration::from_ms(10);
/// A device that never falls silent is not waited for longer.
const LONGEST_QUIESCENCE: Duration = Duration::from_ms(500);
/// How often interfaces are looked at while a trial runs.
const LOOK: Duration = Duration::from_ms(50);

/// The threads of a trial.
pub(crate) struct Threads<'scope> {
    pub transmit: Vec<ScopedJoinHandle<'scope, Result<Transmission, TesterError>>>,
    pub receive: Vec<ScopedJoinHandle<'scope, Result<Received, TesterError>>>,
    /// The device action; at most one.
    pub action: Vec<ScopedJoinHandle<'scope, Result<(Instant, Instant), TesterError>>>,
}

pub(crate) struct Received {
    pub account: PortReceived,
    pub drops: Vec<(String, u64)>,
    pub notes: Vec<String>,
}

/// What the threads brought home.
pub(crate) struct Outcome {
    pub start: Instant,
    pub transmissions: Vec<Transmission>,
    pub received: Vec<Received>,
    pub action: Option<(Instant, Instant)>,
}

/// Where and how a thread runs.
pub(crate) struct Place<'a> {
    pub core: Option<usize>,
    pub namespace: &'a NetworkNamespace,
    pub real_time: bool,
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
pub(crate) fn spawn<'scope, T: Send + 'scope>(
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
pub(crate) struct Watch<'a> {
    pub signals: &'a TrialSignals,
    pub interfaces: Vec<&'a Interface>,
    pub stop: &'a AtomicBool,
    pub next_look: Instant,
}

impl Watch<'_> {
    /// Sees a trial through. Whatever goes wrong, all threads end before this returns.
    pub fn conduct(
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
