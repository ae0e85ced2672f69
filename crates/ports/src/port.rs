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
//!
//! Halves that [take turns](TransmitHalf::takes_turns) share such threads: one transmit thread and one
//! receive thread on each core, or one for both where receivers [join the sender](ReceiveHalf::joins_sender).

use crate::pump::NAP;
use crate::{CaptureWish, Captured};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use trial::{
    PortClock, PortDescription, PortId, PortReceived, ReceivePlan, ReceivedSoFar, SentSoFar,
    StreamId, TesterError, TransmitPlan, TransmitReport,
};
use units::{Duration, Instant};

/// One real port.
pub trait Port: Send {
    /// What it is.
    fn describe(&self) -> &PortDescription;
    /// Its two halves, to be used at the same time.
    fn halves(&mut self) -> Halves<'_>;
    /// Whether its clock is that of another host.
    fn is_elsewhere(&self) -> bool {
        false
    }
    /// From the announcement of a start until its threads can know of it, beyond what threads of this host need: a port
    /// of another host hears of it by a message.
    fn notice(&self) -> Duration {
        Duration::ZERO
    }
    /// By how much its clock may go wrong in a trial of that length that begins soon; zero where it is this host's.
    ///
    /// # Errors
    /// If the clock of its host cannot be asked.
    fn clock_error_in(&mut self, _span: Duration) -> Result<Duration, TesterError> {
        Ok(Duration::ZERO)
    }
    /// How well its clock was known in the trial that has ended; `None` where it is this host's.
    fn clock(&mut self) -> Option<PortClock> {
        None
    }
}

/// Both halves of a port.
pub struct Halves<'a> {
    /// Sends; where a port has several queues, by the first of them.
    pub transmit: &'a mut dyn TransmitHalf,
    /// The other queues that send, each in a thread of its own. All are given the whole plan and send the frames
    /// of their own flows ([`TransmitPlan::queues_of`]); they are prepared after the first.
    pub more_queues: Vec<&'a mut dyn TransmitHalf>,
    /// Receives.
    pub receive: &'a mut dyn ReceiveHalf,
}

impl<'a> Halves<'a> {
    /// Of a port with one queue.
    pub fn of(transmit: &'a mut dyn TransmitHalf, receive: &'a mut dyn ReceiveHalf) -> Self {
        Halves { transmit, more_queues: vec![], receive }
    }

    /// How many queues send.
    pub fn queues(&self) -> usize {
        1 + self.more_queues.len()
    }

    /// The queues that a plan makes use of, none without one; and the half that receives.
    pub fn used<'p>(
        self,
        plan: Option<&'p TransmitPlan>,
    ) -> (Vec<QueueWithPlan<'a, 'p>>, &'a mut dyn ReceiveHalf) {
        let Some(plan) = plan else { return (vec![], self.receive) };
        let used = plan.queues_of(self.queues());
        let queues = [self.transmit].into_iter().chain(self.more_queues).take(used);
        (queues.map(|queue| (queue, plan)).collect(), self.receive)
    }
}

/// A queue that sends, and what.
pub type QueueWithPlan<'a, 'p> = (&'a mut dyn TransmitHalf, &'p TransmitPlan);

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

    /// Whether it can send [in turns](Self::turns) with others. What the kernel sends by itself for
    /// as long as a call lasts cannot.
    fn takes_turns(&self) -> bool {
        false
    }

    /// The same as [`transmit`](Self::transmit), a turn at a time, so that several ports share a
    /// thread; `None` where it [cannot](Self::takes_turns).
    fn turns<'a>(
        &'a mut self,
        _plan: &'a TransmitPlan,
        _start: Instant,
    ) -> Result<Option<Box<dyn TransmitTurns + 'a>>, TesterError> {
        Ok(None)
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

/// A plan that a port sends a turn at a time.
pub trait TransmitTurns {
    /// When its next frame is due; `None` when all were handed over.
    fn next_due(&mut self) -> Option<Instant>;
    /// Hands over the frames that are due `now`, up to a bound that lets the others have their turn.
    fn turn(&mut self, now: Instant) -> Result<(), TesterError>;
    /// Frames handed over that the system has not done with yet; it is told to go on with them.
    fn pending(&mut self) -> Result<usize, TesterError>;
    /// What was handed over so far.
    fn sent_so_far(&self) -> SentSoFar;
    /// Ends it, with whatever was sent.
    fn finish(self: Box<Self>) -> Result<Transmission, TesterError>;
}

/// What became of a plan to transmit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Transmission {
    /// What the transmitter counted.
    pub report: TransmitReport,
    /// Frames among them that were handed over but that the system says it did not send.
    pub not_sent_frames: u64,
    /// What a reader should know of how it was sent.
    pub notes: Vec<String>,
}

impl Transmission {
    /// Of each port once, from what its queues say, in the order of ports. Frames that a queue did not come to,
    /// though others were further, were not sent.
    pub fn of_ports(mut of_queues: Vec<Transmission>) -> Vec<Transmission> {
        of_queues.sort_by_key(|sent| sent.report.port);
        let mut ports: Vec<Transmission> = vec![];
        for queue in of_queues {
            match ports.last_mut().filter(|port| port.report.port == queue.report.port) {
                Some(port) => {
                    port.report.add_queue(queue.report);
                    port.not_sent_frames += queue.not_sent_frames;
                    port.notes.extend(queue.notes);
                }
                None => ports.push(queue),
            }
        }
        for port in &mut ports {
            let walked: u64 = port.report.sent_of_stream.iter().map(|(_, frames)| frames).sum();
            let left_out = walked.saturating_sub(port.report.sent_frames);
            if left_out > 0 {
                port.not_sent_frames += left_out;
                port.notes.push(format!(
                    "{}: a queue was {left_out} frames behind the others at the end",
                    port.report.port
                ));
            }
        }
        ports
    }
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

    /// Whether it can receive [in turns](Self::turns) with others.
    fn takes_turns(&self) -> bool {
        false
    }

    /// Whether the thread that sends on the same core is to serve it too: its queue is so short that it overflows while
    /// another thread has the core.
    fn joins_sender(&self) -> bool {
        false
    }

    /// The same as [`receive`](Self::receive), a turn at a time, so that several ports share a
    /// thread; `None` where it [cannot](Self::takes_turns).
    fn turns<'a>(&'a mut self, _plan: &'a ReceivePlan) -> Option<Box<dyn ReceiveTurns + 'a>> {
        None
    }

    /// Frames that the tester itself lost on this port since [`prepare`](Self::prepare), by the
    /// name of the counter; asked for after `receive` has returned.
    fn drops(&mut self) -> Result<Vec<(String, u64)>, TesterError>;

    /// How often its queue may have been full, where only the far end counts what was lost then; asked for after
    /// `receive` has returned.
    fn perhaps_full(&mut self) -> Option<PerhapsFull> {
        None
    }

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

/// A queue that may have been full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PerhapsFull {
    /// So many frames it holds.
    pub queue_frames: u64,
    /// How often so many were taken without finding it empty: whenever it was full, and sometimes when not.
    pub times: u64,
}

/// A port that receives a turn at a time.
pub trait ReceiveTurns {
    /// Accounts for frames that wait, up to a bound that lets the others have their turn; gives their
    /// number.
    fn turn(&mut self, signals: &TrialSignals) -> Result<u64, TesterError>;
    /// How long it may be left alone when nothing has arrived: short against the time in which its queue fills.
    fn nap(&self) -> Duration {
        NAP
    }
    /// Closes the account: so many frames of each stream were sent.
    fn finish(self: Box<Self>, sent: &BTreeMap<StreamId, u64>)
    -> Result<PortReceived, TesterError>;
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
    /// By port.
    arrivals: BTreeMap<PortId, Arrivals>,
    sent: OnceLock<BTreeMap<StreamId, u64>>,
    samples: Samples,
}

/// What ports say of the trial while it runs. Whoever wants a sample asks; each thread answers as soon as
/// it comes to it.
#[derive(Debug, Default)]
struct Samples {
    /// The number of the sample asked for last; 0 while none was.
    asked: AtomicU64,
    /// By port and queue, with the number of the sample that each is the answer to.
    sent: Mutex<BTreeMap<(PortId, usize), (u64, SentSoFar)>>,
    received: Mutex<BTreeMap<PortId, (u64, Vec<ReceivedSoFar>)>>,
}

/// What has arrived at a port so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ArrivalsSoFar {
    /// Frames of any kind.
    pub all: u64,
    /// Different frames that should arrive there.
    pub expected: u64,
    /// The longest delay of one, where frames carry their transmit times.
    pub longest_delay: Option<Duration>,
    /// When the last frame of an earlier trial came.
    pub last_leftover: Option<Instant>,
}

/// The same, as threads tell each other.
#[derive(Debug, Default)]
struct Arrivals {
    /// How often its receiver has looked.
    looks: AtomicU64,
    /// Its receiver runs on another host, whose word takes its time.
    is_elsewhere: AtomicBool,
    /// Frames of any kind.
    all: AtomicU64,
    /// Different frames that should arrive there.
    expected: AtomicU64,
    /// The longest delay of one, in ps, plus one; 0 while none is known.
    longest_delay_ps: AtomicU64,
    /// When the last frame of an earlier trial came, in ps; 0 while none has.
    last_leftover_ps: AtomicU64,
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

    /// A receiver says that it has looked for frames on its port once more.
    #[inline]
    pub fn note_look(&self, port: PortId) {
        if let Some(arrivals) = self.arrivals.get(&port) {
            // One thread writes it.
            let looks = arrivals.looks.load(Ordering::Relaxed);
            arrivals.looks.store(looks.wrapping_add(1), Ordering::Relaxed);
        }
    }
    /// How often each port's receiver on this host has looked so far.
    pub fn looks(&self) -> BTreeMap<PortId, u64> {
        let here = self.arrivals.iter().filter(|(_, a)| !a.is_elsewhere.load(Ordering::Relaxed));
        here.map(|(port, a)| (*port, a.looks.load(Ordering::Relaxed))).collect()
    }
    /// A receiver says how many frames have arrived on its port so far: of any kind (foreign
    /// ones too), and different frames where they are expected.
    #[inline]
    pub fn note_arrivals(&self, port: PortId, all: u64, expected: u64) {
        self.note_look(port);
        if let Some(arrivals) = self.arrivals.get(&port) {
            arrivals.all.store(all, Ordering::Relaxed);
            arrivals.expected.store(expected, Ordering::Relaxed);
        }
    }
    /// A receiver says how long the slowest frame that should arrive on its port took so far.
    #[inline]
    pub fn note_longest_delay(&self, port: PortId, delay: Option<Duration>) {
        if let (Some(arrivals), Some(delay)) = (self.arrivals.get(&port), delay) {
            let delay_ps = delay.as_ps().saturating_add(1);
            arrivals.longest_delay_ps.fetch_max(delay_ps, Ordering::Relaxed);
        }
    }
    /// The longest delay of any frame so far, where frames carry their transmit times.
    pub fn longest_delay(&self) -> Option<Duration> {
        let delays = self.arrivals.values().map(|a| a.longest_delay_ps.load(Ordering::Relaxed));
        delays.max()?.checked_sub(1).map(Duration::from_ps)
    }
    /// A receiver says when the last frame of an earlier trial arrived on its port.
    #[inline]
    pub fn note_leftover(&self, port: PortId, last_at: Option<Instant>) {
        if let (Some(arrivals), Some(at)) = (self.arrivals.get(&port), last_at) {
            arrivals.last_leftover_ps.store(at.as_ps(), Ordering::Relaxed);
        }
    }
    /// When the last frame of an earlier trial arrived on any port.
    pub fn last_leftover(&self) -> Option<Instant> {
        let times = self.arrivals.values().map(|a| a.last_leftover_ps.load(Ordering::Relaxed));
        times.max().filter(|ps| *ps > 0).map(Instant::from_ps)
    }
    /// Frames of any kind that have arrived on all ports so far, to tell quiescence.
    pub fn arrivals(&self) -> u64 {
        self.arrivals.values().map(|arrivals| arrivals.all.load(Ordering::Relaxed)).sum()
    }
    /// Different frames that have arrived so far where they are expected, to tell that nothing
    /// is missing any more.
    pub fn expected_arrivals(&self) -> u64 {
        self.arrivals.values().map(|arrivals| arrivals.expected.load(Ordering::Relaxed)).sum()
    }

    /// Asks all ports what they have counted so far.
    pub fn ask(&self) {
        self.samples.asked.fetch_add(1, Ordering::Relaxed);
    }
    /// The number of the sample asked for last.
    #[inline]
    pub fn asked(&self) -> u64 {
        self.samples.asked.load(Ordering::Relaxed)
    }
    /// A transmitter answers: a queue of a port, from 0.
    pub fn note_sent(&self, sample: u64, queue: usize, sent: SentSoFar) {
        let mut all = self.samples.sent.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert((sent.port, queue), (sample, sent));
    }
    /// What has arrived at a port so far, in the words in which its receiver says it.
    pub fn arrivals_at(&self, port: PortId) -> ArrivalsSoFar {
        let Some(arrivals) = self.arrivals.get(&port) else { return ArrivalsSoFar::default() };
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        ArrivalsSoFar {
            all: read(&arrivals.all),
            expected: read(&arrivals.expected),
            longest_delay: read(&arrivals.longest_delay_ps).checked_sub(1).map(Duration::from_ps),
            last_leftover: Some(read(&arrivals.last_leftover_ps))
                .filter(|ps| *ps > 0)
                .map(Instant::from_ps),
        }
    }
    /// A receiver elsewhere says all of it at once.
    pub fn note_all(&self, port: PortId, so_far: ArrivalsSoFar) {
        if let Some(arrivals) = self.arrivals.get(&port) {
            arrivals.is_elsewhere.store(true, Ordering::Relaxed);
        }
        self.note_arrivals(port, so_far.all, so_far.expected);
        self.note_longest_delay(port, so_far.longest_delay);
        self.note_leftover(port, so_far.last_leftover);
    }
    /// A receiver answers.
    pub fn note_received(&self, port: PortId, sample: u64, received: Vec<ReceivedSoFar>) {
        let mut all = self.samples.received.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(port, (sample, received));
    }
    /// The latest answers, and how many of them are to the question asked last.
    pub fn answers(&self) -> (Vec<SentSoFar>, Vec<ReceivedSoFar>, usize) {
        let asked = self.asked();
        let sent = self.samples.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let received = self.samples.received.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = sent.values().map(|(n, _)| n).chain(received.values().map(|(n, _)| n));
        let fresh = numbers.filter(|number| **number == asked).count();
        let sent = SentSoFar::of_ports(sent.values().map(|(_, sent)| sent.clone()));
        let received = received.values().flat_map(|(_, received)| received.clone()).collect();
        (sent, received, fresh)
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use trial::{FrameSet, Schedule, Transmitter};
    use wire::signature::Key;

    /// The report of a port that was to send nothing, and has.
    pub(crate) fn report_of(port: u16) -> TransmitReport {
        let plan = TransmitPlan {
            port: PortId(port),
            key: Key::from_seed(1),
            set: FrameSet::new(&[]),
            order: vec![],
            insertions: vec![],
            schedule: Schedule::default(),
            late_after: Duration::ZERO,
            credit: Duration::MAX,
        };
        Transmitter::new(&plan, Instant::ZERO, crate::clock::TICK).into_report()
    }

    /// A queue that has sent so many frames and come so far on the walk of its port.
    fn queue(port: u16, sent: u64, walked: u64) -> Transmission {
        let report = TransmitReport {
            sent_frames: sent,
            sent_of_stream: vec![(StreamId(1), walked)],
            ..report_of(port)
        };
        Transmission { report, not_sent_frames: 0, notes: vec![] }
    }

    #[test]
    fn what_a_queue_did_not_come_to_was_not_sent() {
        let of = |queues| -> Vec<(u16, u64, u64)> {
            let ports = Transmission::of_ports(queues).into_iter();
            ports.map(|t| (t.report.port.0, t.report.sent_frames, t.not_sent_frames)).collect()
        };
        assert_eq!(
            of(vec![queue(1, 5, 5), queue(0, 5, 10), queue(0, 5, 10)]),
            [(0, 10, 0), (1, 5, 0)]
        );
        assert_eq!(of(vec![queue(0, 5, 10), queue(0, 3, 7)]), [(0, 8, 2)]);
    }
}
