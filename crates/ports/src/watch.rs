//! The threads of one trial, seen through from the start to the last of them.

use crate::pressure::{Looks, OwnThreads};
use crate::sampling::Sampling;
use crate::{Link, PerhapsFull, ReceiveQueue, Transmission, TrialSignals, clock, sys};
use kernel::{Namespace, thread};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use trial::{LATE_FROM, Patience, PortReceived, Residual, Residue, StreamId, TesterError, Trial};
use units::{Duration, Instant};

/// How often residual frames are looked for.
const LOOK_FOR_RESIDUE: Duration = Duration::from_ms(1);
/// How long nothing must arrive before counters are read: longer than any ring holds back
/// frames.
const QUIET: Duration = Duration::from_ms(10);
/// A device that never falls silent is not waited for longer.
const LONGEST_QUIESCENCE: Duration = Duration::from_ms(500);
/// How often interfaces are looked at while a trial runs.
const LOOK: Duration = Duration::from_ms(50);

/// The threads of a trial.
pub(crate) struct Threads<'scope> {
    /// Each sends for one port or for several.
    pub transmit: Vec<ScopedJoinHandle<'scope, Result<Vec<Transmission>, TesterError>>>,
    /// Each receives for one port or for several.
    pub receive: Vec<ScopedJoinHandle<'scope, Result<Vec<Received>, TesterError>>>,
    /// The device action; at most one.
    pub action: Vec<ScopedJoinHandle<'scope, Result<(Instant, Instant), TesterError>>>,
}

pub(crate) struct Received {
    pub account: PortReceived,
    pub drops: Vec<(String, u64)>,
    pub perhaps_full: Option<PerhapsFull>,
    pub notes: Vec<String>,
}

impl Received {
    /// Of each port once, from what its queues say, in the order of ports.
    pub fn of_ports(mut of_queues: Vec<Received>) -> Vec<Received> {
        of_queues.sort_by_key(|received| received.account.port);
        let mut ports: Vec<Received> = vec![];
        for queue in of_queues {
            match ports.last_mut().filter(|port| port.account.port == queue.account.port) {
                Some(port) => port.add_queue(queue),
                None => ports.push(queue),
            }
        }
        ports
    }

    /// All but one account of a port are empty ([`AccountQueue`](crate::queues::AccountQueue)).
    fn add_queue(&mut self, queue: Received) {
        if self.account == PortReceived::nothing(queue.account.port) {
            self.account = queue.account;
        }
        add_drops(&mut self.drops, queue.drops);
        self.perhaps_full = self.perhaps_full.or(queue.perhaps_full);
        self.notes.extend(queue.notes);
    }
}

/// Adds what another queue lost, counter by counter.
pub(crate) fn add_drops(all: &mut Vec<(String, u64)>, more: Vec<(String, u64)>) {
    for (counter, frames) in more {
        match all.iter_mut().find(|(known, _)| *known == counter) {
            Some((_, sum)) => *sum += frames,
            None => all.push((counter, frames)),
        }
    }
}

/// What the threads brought home, in the order of ports.
pub(crate) struct ThreadResults {
    pub start: Instant,
    /// When residual frames were no longer waited for.
    pub drained: Instant,
    /// For how long of that wait the machine was late.
    pub late: Duration,
    pub transmissions: Vec<Transmission>,
    pub received: Vec<Received>,
    pub action: Option<(Instant, Instant)>,
    /// When the observer ended sending, if it did.
    pub ended: Option<Instant>,
}

/// Where and how a thread runs.
pub(crate) struct Place<'a> {
    /// What it is called in the trial's evidence.
    pub name: String,
    pub core: Option<usize>,
    pub namespace: &'a Namespace,
    /// Real-time priority, if it is to have one.
    pub real_time: Option<i32>,
    /// Other ports may be served there too.
    pub shares: bool,
    /// Where it says what it had of its processor.
    pub own_threads: &'a OwnThreads,
}

impl Place<'_> {
    /// Whether one thread can serve what is to run here and there: on one core, where threads would
    /// only take turns, and in one namespace.
    pub fn is_shared_with(&self, other: &Place<'_>) -> bool {
        let both = self.shares && other.shares && self.core.is_some();
        both && self.core == other.core && self.namespace.number() == other.namespace.number()
    }

    /// Puts the calling thread there.
    fn take(&self) -> Result<(), TesterError> {
        self.namespace
            .enter()
            .map_err(|error| sys::system("enter the network namespace of a port", &error.into()))?;
        settle_thread(self.core)?;
        if let Some(priority) = self.real_time {
            thread::make_this_real_time(priority).map_err(|error| {
                sys::system("use real-time priority (leave it off, or run as root)", &error)
            })?;
        }
        Ok(())
    }
}

/// Makes the calling thread fit for a half of a port.
///
/// # Errors
/// If it cannot be pinned to the core.
pub fn settle_thread(core: Option<usize>) -> Result<(), TesterError> {
    if let Some(core) = core {
        thread::pin_this(core)
            .map_err(|error| sys::system(format!("pin a thread to core {core}"), &error))?;
    }
    thread::prefer_this();
    thread::tighten_timer_slack();
    Ok(())
}

/// Starts a thread of the trial. If it fails, transmitters are told to stop.
pub(crate) fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    place: Option<Place<'scope>>,
    signals: &'scope TrialSignals,
    body: impl FnOnce() -> Result<T, TesterError> + Send + 'scope,
) -> ScopedJoinHandle<'scope, Result<T, TesterError>> {
    scope.spawn(move || {
        let done = match place {
            None => body(),
            Some(place) => place.take().and_then(|()| place.own_threads.watch(&place.name, body)),
        };
        done.inspect_err(|_| signals.stop())
    })
}

/// The control thread's view of a running trial.
pub(crate) struct Watch<'a> {
    pub signals: &'a TrialSignals,
    pub links: Vec<&'a dyn Link>,
    pub stop: &'a AtomicBool,
    /// Whether the device's threads are held up.
    pub looks: &'a mut Looks,
    pub next_look: Instant,
    pub sampling: Sampling<'a>,
}

impl Watch<'_> {
    /// Sees a trial through. Whatever goes wrong, all threads end before this returns.
    pub fn conduct(
        &mut self,
        trial: &Trial,
        start: Instant,
        mut threads: Threads<'_>,
    ) -> Result<ThreadResults, TesterError> {
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
    ) -> Result<ThreadResults, TesterError> {
        while !threads.transmit.iter().all(|thread| thread.is_finished()) {
            self.look_around(threads)?;
            self.sampling.look(self.signals, start);
            clock::sleep(Duration::from_ms(1));
        }
        let ended = self.sampling.ended;
        let transmissions = Transmission::of_ports(joined(&mut threads.transmit)?.concat());
        let sent = sent_of_stream(&transmissions);
        let last = transmissions.iter().filter_map(|sent| sent.report.last_departure).max();
        let mut silence = Silence::begin(self.signals);
        let (drained, late) =
            self.drain(trial, (last.unwrap_or(start), &sent), threads, &mut silence)?;
        self.signals.set_deadline(drained);
        let action = joined(&mut threads.action)?.pop();
        self.await_quiescence(threads, silence)?;
        self.signals.close(sent);
        let received = joined(&mut threads.receive)?;
        let received = Received::of_ports(received.into_iter().flatten().collect());
        Ok(ThreadResults { start, drained, late, transmissions, received, action, ended })
    }

    /// Waits for residual frames; gives the time at which that was over, and for how long of it the machine was
    /// late: that does not count. A machine that is late for too long is not waited for.
    fn drain(
        &mut self,
        trial: &Trial,
        (last_departure, sent): (Instant, &BTreeMap<StreamId, u64>),
        threads: &Threads<'_>,
        silence: &mut Silence,
    ) -> Result<(Instant, Duration), TesterError> {
        let expected = trial.expected_arrivals(sent);
        let (mut arrived, mut last_arrival) = (0, None);
        let (mut leftover, mut last_leftover) = (None, None);
        let mut turns = Turns::begin(self.signals, clock::now());
        self.looks.mind_waits();
        loop {
            let real = clock::now();
            silence.lasts(self.signals, real);
            // All times of the wait are without those in which the machine was late.
            let late = turns.look(self.signals, self.looks.is_one_waiting(), real);
            let now = Instant::from_ps(real.as_ps().saturating_sub(late.as_ps()));
            if self.signals.last_leftover() != leftover {
                leftover = self.signals.last_leftover();
                last_leftover = Some(now);
            }
            let arrived_now = self.signals.expected_arrivals();
            if arrived_now > arrived {
                (arrived, last_arrival) = (arrived_now, Some(now));
            }
            let over = trial.waits.drained_at(&Residue {
                last_departure,
                last_arrival,
                last_leftover,
                longest_delay: self.signals.longest_delay(),
                outcome: Residual::of(arrived, expected),
            });
            if now >= over || turns.patience.is_exhausted() {
                return Ok((real, late));
            }
            self.look_around(threads)?;
            clock::sleep(over.since(now).min(LOOK_FOR_RESIDUE));
        }
    }

    /// Waits until nothing arrives any more and no thread of the device waits for a processor, so that counters can be
    /// read. A silence in which residual frames were waited for counts.
    fn await_quiescence(
        &mut self,
        threads: &Threads<'_>,
        mut silence: Silence,
    ) -> Result<(), TesterError> {
        let begun = clock::now();
        loop {
            let now = clock::now();
            let is_quiet =
                silence.lasts(self.signals, now) >= QUIET && !self.looks.is_one_waiting();
            if is_quiet || now.since(begun) > LONGEST_QUIESCENCE {
                return Ok(());
            }
            self.look_around(threads)?;
            clock::sleep(Duration::from_ms(1));
        }
    }

    /// Fails if somebody wants to stop, an interface is gone or down, or a thread has failed.
    fn look_around(&mut self, threads: &Threads<'_>) -> Result<(), TesterError> {
        self.looks.look(clock::now());
        if self.stop.load(Ordering::Relaxed) {
            return Err(TesterError::Interrupted);
        }
        let stopped = self.signals.stopped() && self.sampling.ended.is_none();
        let failed = stopped || threads.receive.iter().any(|t| t.is_finished());
        if failed || clock::now() >= self.next_look {
            self.next_look = clock::now() + LOOK;
            self.links.iter().try_for_each(|link| link.state_if_up().map(drop))?;
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

/// Whether the control thread, the receivers and the device's threads have their turns while residual frames are waited
/// for.
struct Turns {
    patience: Patience,
    /// Of this host: looks of each, and since when there are no more.
    receivers: BTreeMap<ReceiveQueue, (u64, Instant)>,
}

impl Turns {
    fn begin(signals: &TrialSignals, now: Instant) -> Self {
        let looks = signals.looks().into_iter();
        let receivers = looks.map(|(queue, looks)| (queue, (looks, now))).collect();
        Turns { patience: Patience::begin(now), receivers }
    }

    /// Gives for how long the machine was late so far. `held_up`: a thread of the device has no processor.
    fn look(&mut self, signals: &TrialSignals, mut held_up: bool, now: Instant) -> Duration {
        for (queue, looks) in signals.looks() {
            let (seen, since) = self.receivers.entry(queue).or_insert((looks, now));
            if looks != *seen {
                (*seen, *since) = (looks, now);
            }
            held_up |= now.since(*since) > LATE_FROM;
        }
        self.patience.look(now, held_up);
        self.patience.late()
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use trial::PortId;

    /// Frames of port 1 came by its second queue last; both of its sockets lost some.
    #[test]
    fn what_receive_queues_say_is_of_one_port() {
        let queue = |port, foreign, lost| Received {
            account: PortReceived { foreign, ..PortReceived::nothing(PortId(port)) },
            drops: vec![("ring full".into(), lost), ("no buffer".into(), 1)],
            perhaps_full: None,
            notes: vec![format!("{lost}")],
        };
        let ports = Received::of_ports(vec![queue(1, 0, 3), queue(0, 5, 0), queue(1, 9, 4)]);
        let [zero, one] = &ports[..] else { panic!() };
        assert_eq!((zero.account.foreign, one.account.foreign), (5, 9));
        assert_eq!(one.drops, [("ring full".to_string(), 7), ("no buffer".to_string(), 2)]);
        assert_eq!(one.notes, ["3", "4"]);
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    /// Two receivers look every millisecond but for 300 ms of one, in which the control thread has its turns; then the
    /// control thread has none for 200 ms.
    #[test]
    fn a_receiver_or_a_control_thread_without_a_turn_is_late() {
        let signals = TrialSignals::new([PortId(0), PortId(1)]);
        let mut turns = Turns::begin(&signals, at(0));
        let mut late = Duration::ZERO;
        for ms in 1..=600 {
            signals.note_look(PortId(0));
            if !(101..=400).contains(&ms) {
                signals.note_arrivals(PortId(1), 0, 0);
            }
            late = turns.look(&signals, false, at(ms));
        }
        // The first 20 ms without a turn are not late yet.
        assert_eq!(late, Duration::from_ms(280));
        signals.note_look(PortId(0));
        signals.note_look(PortId(1));
        assert_eq!(turns.look(&signals, false, at(800)), Duration::from_ms(280 + 180));
        assert_eq!(turns.patience.waited(), Duration::from_ms(800 - 460));
        signals.note_look(PortId(0));
        signals.note_look(PortId(1));
        assert_eq!(turns.look(&signals, true, at(810)), Duration::from_ms(280 + 180 + 10));
    }
}
