//! What the threads of one trial tell each other.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use trial::{PortId, ReceivedSoFar, SentSoFar, StreamId};
use units::{Duration, Instant};

/// What the threads of one trial tell each other.
#[derive(Debug, Default)]
pub struct TrialSignals {
    stop: AtomicBool,
    start: OnceLock<Instant>,
    /// In ps; 0 while there is none.
    deadline_ps: AtomicU64,
    arrivals: BTreeMap<ReceiveQueue, Arrivals>,
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
    received: Mutex<BTreeMap<ReceiveQueue, (u64, Vec<ReceivedSoFar>)>>,
}

/// One of the queues from which a port receives, each in a thread of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ReceiveQueue {
    /// The port.
    pub port: PortId,
    /// Its number, from 0.
    pub number: usize,
}

/// The first one, which is the only one of most ports.
impl From<PortId> for ReceiveQueue {
    fn from(port: PortId) -> Self {
        ReceiveQueue { port, number: 0 }
    }
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

/// The same, as threads tell each other; each writes lines of the cache of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
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
    /// Signals for a trial on these ports, each named once for each queue from which it receives.
    pub fn new(ports: impl IntoIterator<Item = PortId>) -> Self {
        let mut arrivals: BTreeMap<ReceiveQueue, Arrivals> = BTreeMap::new();
        for port in ports {
            let number = arrivals.keys().filter(|queue| queue.port == port).count();
            arrivals.insert(ReceiveQueue { port, number }, Arrivals::default());
        }
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

    /// A receiver says that it has looked for frames once more.
    #[inline]
    pub fn note_look(&self, queue: impl Into<ReceiveQueue>) {
        if let Some(arrivals) = self.arrivals.get(&queue.into()) {
            // One thread writes it.
            let looks = arrivals.looks.load(Ordering::Relaxed);
            arrivals.looks.store(looks.wrapping_add(1), Ordering::Relaxed);
        }
    }
    /// How often each receiver on this host has looked so far.
    pub fn looks(&self) -> BTreeMap<ReceiveQueue, u64> {
        let here = self.arrivals.iter().filter(|(_, a)| !a.is_elsewhere.load(Ordering::Relaxed));
        here.map(|(queue, a)| (*queue, a.looks.load(Ordering::Relaxed))).collect()
    }
    /// A receiver says how many frames have arrived on its port so far: of any kind (foreign
    /// ones too), and different frames where they are expected.
    #[inline]
    pub fn note_arrivals(&self, queue: impl Into<ReceiveQueue>, all: u64, expected: u64) {
        let queue = queue.into();
        self.note_look(queue);
        if let Some(arrivals) = self.arrivals.get(&queue) {
            arrivals.all.store(all, Ordering::Relaxed);
            arrivals.expected.store(expected, Ordering::Relaxed);
        }
    }
    /// A receiver says how long the slowest frame that should arrive on its port took so far.
    #[inline]
    pub fn note_longest_delay(&self, queue: impl Into<ReceiveQueue>, delay: Option<Duration>) {
        if let (Some(arrivals), Some(delay)) = (self.arrivals.get(&queue.into()), delay) {
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
    pub fn note_leftover(&self, queue: impl Into<ReceiveQueue>, last_at: Option<Instant>) {
        if let (Some(arrivals), Some(at)) = (self.arrivals.get(&queue.into()), last_at) {
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
    /// What has arrived at a port that receives from one queue so far, in the words in which its receiver says it.
    pub fn arrivals_at(&self, port: PortId) -> ArrivalsSoFar {
        let Some(arrivals) = self.arrivals.get(&port.into()) else {
            return ArrivalsSoFar::default();
        };
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
        if let Some(arrivals) = self.arrivals.get(&port.into()) {
            arrivals.is_elsewhere.store(true, Ordering::Relaxed);
        }
        self.note_arrivals(port, so_far.all, so_far.expected);
        self.note_longest_delay(port, so_far.longest_delay);
        self.note_leftover(port, so_far.last_leftover);
    }
    /// A receiver answers.
    pub fn note_received(
        &self,
        queue: impl Into<ReceiveQueue>,
        sample: u64,
        received: Vec<ReceivedSoFar>,
    ) {
        let mut all = self.samples.received.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(queue.into(), (sample, received));
    }
    /// The latest answers, and how many of them are to the question asked last.
    pub fn answers(&self) -> (Vec<SentSoFar>, Vec<ReceivedSoFar>, usize) {
        let asked = self.asked();
        let sent = self.samples.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let received = self.samples.received.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = sent.values().map(|(n, _)| n).chain(received.values().map(|(n, _)| n));
        let fresh = numbers.filter(|number| **number == asked).count();
        let sent = SentSoFar::of_ports(sent.values().map(|(_, sent)| sent.clone()));
        let received = received.values().flat_map(|(_, received)| received.clone());
        (sent, ReceivedSoFar::of_ports(received), fresh)
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
