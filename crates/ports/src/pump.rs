//! What every port with frames in user space shares: one side drives a [`Transmitter`], one a
//! [`Receiver`], a turn at a time ([`turns`](crate::turns)). A port type only gives and takes slots.
//!
//! Generic, so that nothing is dispatched dynamically for a frame.

use crate::clock::{self, TICK};
use crate::queues::{AccountQueue, SendQueue};
use crate::{CatchUp, ReceiveQueue, Transmission, TrialSignals};
use std::collections::BTreeMap;
use std::io;
use trial::{
    Emitted, Places, PortReceived, ReceivePlan, ReceivedSoFar, Receiver, SentSoFar, StreamId,
    TransmitPlan, Transmitter,
};
use units::{Duration, Instant};

/// How long a receiver with nothing to do gives its core away: short against the time in which
/// its ring fills, and without bearing on arrival times, which are taken before. Longer naps let
/// the sender run faster: both sides look at the same rings.
pub(crate) const NAP: Duration = Duration::from_us(600);

/// Where frames leave.
pub(crate) trait FrameSink {
    /// At most so many frames that are due already bear the time of one look at the clock: it costs
    /// about as much as building a frame, and they leave together anyway. Their stamps are early by
    /// less than half a microsecond.
    const FRAMES_OF_A_LOOK: usize = 8;
    /// Another plan is about to be sent, of frames of up to so many bytes without FCS: what places keep is of one plan.
    fn begin(&mut self, _longest_bytes: usize) {}
    /// At most so many frames are handed over before the system is told. Frames are only gathered
    /// when they are due anyway, so that gathering delays none.
    fn batch_frames(&self) -> usize {
        32
    }
    /// The slot of the plan whose frame is in the place that [`slot`](Self::slot) gives next: it was sent from there and
    /// nothing else was written there since.
    fn kept(&mut self) -> Option<usize> {
        None
    }
    /// Says which slot's frame was written to the place given last.
    fn keep(&mut self, _slot: usize) {}
    /// Place for the next frame; `None` while there is no room.
    fn slot(&mut self) -> Option<&mut [u8]>;
    /// Says whether the next frame handed over is to leave with an FCS that does not fit; only asked of
    /// those that make it.
    fn mark(&mut self, _bad_fcs: bool) {}
    /// Hands over the frame written to the place given last.
    fn commit(&mut self, len_bytes: usize);
    /// Tells the system to send what was handed over. Having nothing to send is no error.
    fn flush(&mut self) -> io::Result<()>;
    /// Frames handed over that the system has not done with yet.
    fn pending(&mut self) -> usize;
    /// Frames that the system has said so far it could not send.
    fn refused(&mut self) -> io::Result<u64>;
}

/// Where frames arrive.
pub(crate) trait FrameSource {
    /// How many queues it reads. Frames of different queues have no order among themselves.
    fn queues(&self) -> usize {
        1
    }
    /// Passes frames that wait in one of them, from 0, with their arrival times, to `take`; at least those
    /// that waited when it was called, up to a bound that keeps the caller responsive. Gives their number.
    fn take_waiting(&mut self, queue: usize, take: impl FnMut(Instant, &[u8])) -> io::Result<u64>;
}

/// Watches frames go by, for capturing.
pub(crate) trait Tap {
    /// Whether it wants no frame at all.
    fn is_idle(&self) -> bool;
    /// A frame left.
    fn sent(&mut self, at: Instant, emitted: &Emitted, frame: &[u8]);
    /// A frame arrived.
    fn received(&mut self, at: Instant, arrival: trial::Arrival, frame: &[u8]);
}

/// A plan that is sent through a sink, a turn at a time.
pub(crate) struct Sending<'a, S, T> {
    sink: &'a mut S,
    tap: &'a mut T,
    transmitter: Transmitter<'a>,
    refused_before: u64,
    queue: &'a SendQueue,
    /// How many queues send the plan.
    used: usize,
    has_ended: bool,
}

impl<'a, S: FrameSink, T: Tap> Sending<'a, S, T> {
    /// Nothing is sent yet.
    pub fn new(
        sink: &'a mut S,
        tap: &'a mut T,
        (plan, queue): (&'a TransmitPlan, &'a SendQueue),
        start: Instant,
    ) -> io::Result<Self> {
        let refused_before = sink.refused()?;
        sink.begin(plan.set.longest_bytes());
        let used = queue.used(plan);
        let transmitter = Transmitter::of_queue(plan, start, TICK, (queue.number, used));
        Ok(Sending { sink, tap, transmitter, refused_before, queue, used, has_ended: false })
    }

    /// Which of its port's queues it is.
    pub fn queue(&self) -> usize {
        self.queue.number
    }

    /// Goes on to where the foremost queue of its port has ended, once all have.
    pub fn catch_up(&mut self) -> CatchUp {
        if self.used == 1 {
            return CatchUp::Done;
        }
        let meeting = &self.queue.meeting;
        if !std::mem::replace(&mut self.has_ended, true) {
            meeting.end(self.transmitter.walked());
        }
        let Some(foremost) = meeting.foremost() else { return CatchUp::Awaits };
        self.transmitter.go_on_to(foremost);
        self.transmitter.next_due().map_or(CatchUp::Done, CatchUp::Behind)
    }

    /// When the next frame is due; `None` when all were handed over.
    pub fn next_due(&mut self) -> Option<Instant> {
        self.transmitter.next_due()
    }

    /// Sends the frame that is due, and those that have become due by then.
    pub fn turn(&mut self, now: Instant) -> io::Result<()> {
        send_due(self.sink, self.tap, &mut self.transmitter, now);
        self.sink.flush()
    }

    /// Frames that the system has not done with; it is told to go on with them.
    pub fn pending(&mut self) -> io::Result<usize> {
        let pending = self.sink.pending();
        if pending > 0 {
            self.sink.flush()?;
        }
        Ok(pending)
    }

    /// What was handed over so far.
    pub fn sent_so_far(&self) -> SentSoFar {
        SentSoFar::of(self.transmitter.report())
    }

    /// Ends it, with whatever was sent.
    pub fn finish(self) -> io::Result<Transmission> {
        let not_sent_frames =
            self.sink.refused()? - self.refused_before + self.sink.pending() as u64;
        let report = self.transmitter.into_report();
        Ok(Transmission { report, not_sent_frames, notes: vec![] })
    }
}

/// Waits until `due`; `None` if the trial ends before.
pub(crate) fn wait_for(due: Instant, stop_at: Instant, signals: &TrialSignals) -> Option<Instant> {
    loop {
        let now = clock::now();
        if now >= stop_at || signals.stopped() {
            return None;
        }
        if now >= due {
            return Some(now);
        }
        clock::pause_before(due, now);
    }
}

/// Hands over the frame that is due, and those that have become due by then.
fn send_due<S: FrameSink>(
    sink: &mut S,
    tap: &mut impl Tap,
    transmitter: &mut Transmitter<'_>,
    now: Instant,
) {
    match tap.is_idle() && transmitter.only_stream().is_some() {
        true => send_run(sink, transmitter, now),
        false => send_each(sink, tap, transmitter, now),
    }
}

/// The same where frames need no choice and nobody watches them.
fn send_run<S: FrameSink>(sink: &mut S, transmitter: &mut Transmitter<'_>, mut now: Instant) {
    let (mut sent, batch_frames) = (0, sink.batch_frames());
    while sent < batch_frames {
        let most = (batch_frames - sent).min(S::FRAMES_OF_A_LOOK);
        let frames = transmitter.emit_run(now, most, &mut PlacesOf(sink));
        sent += frames;
        let next = transmitter.next_due().filter(|_| frames > 0);
        now = clock::now();
        if next.is_none_or(|next| next > now) {
            return;
        }
    }
}

/// A sink as places for a run.
struct PlacesOf<'a, S>(&'a mut S);

impl<S: FrameSink> Places for PlacesOf<'_, S> {
    #[inline]
    fn place(&mut self) -> Option<(&mut [u8], Option<usize>)> {
        let kept = self.0.kept();
        self.0.slot().map(|slot| (slot, kept))
    }
    #[inline]
    fn written(&mut self, slot: usize, len_bytes: usize) {
        self.0.keep(slot);
        self.0.mark(false);
        self.0.commit(len_bytes);
    }
}

fn send_each<S: FrameSink>(
    sink: &mut S,
    tap: &mut impl Tap,
    transmitter: &mut Transmitter<'_>,
    mut now: Instant,
) {
    for frames in 1..=sink.batch_frames() {
        let kept = sink.kept();
        let Some(slot) = sink.slot() else { return };
        let emitted = transmitter.emit_over(now, slot, kept);
        tap.sent(now, &emitted, &slot[..emitted.len_bytes]);
        sink.keep(emitted.slot);
        sink.mark(emitted.bad_fcs);
        sink.commit(emitted.len_bytes);
        let Some(next) = transmitter.next_due() else { return };
        if next > now || frames % S::FRAMES_OF_A_LOOK == 0 {
            now = clock::now();
        }
        if next > now {
            return;
        }
    }
}

/// A plan whose frames a source gives, a turn at a time.
pub(crate) struct Listening<'a, S, T> {
    source: &'a mut S,
    tap: &'a mut T,
    plan: &'a ReceivePlan,
    /// One for each queue that the source reads.
    receivers: Vec<Receiver<'a>>,
    queue: &'a AccountQueue,
    arrivals: u64,
    /// The sample that was answered last.
    sampled: u64,
}

impl<'a, S: FrameSource, T: Tap> Listening<'a, S, T> {
    /// Nothing has arrived yet.
    pub fn new(
        source: &'a mut S,
        tap: &'a mut T,
        (plan, queue): (&'a ReceivePlan, &'a AccountQueue),
    ) -> Self {
        let receivers = (0..source.queues()).map(|_| Receiver::new(plan, Instant::ZERO, TICK));
        let receivers = receivers.collect();
        Listening { source, tap, plan, receivers, queue, arrivals: 0, sampled: 0 }
    }

    /// Accounts for frames that wait; gives their number.
    pub fn turn(&mut self, signals: &TrialSignals) -> io::Result<u64> {
        let taken = self.take(signals)?;
        let queue = ReceiveQueue { port: self.plan.port, number: self.queue.number };
        if taken > 0 {
            self.arrivals += taken;
            self.note_arrivals(queue, signals);
        }
        signals.note_look(queue);
        let asked = signals.asked();
        if asked != self.sampled {
            self.sampled = asked;
            let so_far = self.receivers.iter().flat_map(Receiver::so_far);
            signals.note_received(queue, asked, ReceivedSoFar::of_ports(so_far));
        }
        Ok(taken)
    }

    /// Frames of each queue go to a receiver of its own.
    fn take(&mut self, signals: &TrialSignals) -> io::Result<u64> {
        let mut taken = 0;
        for (queue, receiver) in self.receivers.iter_mut().enumerate() {
            if let Some(start) = signals.start() {
                receiver.set_start(start);
            }
            receiver.set_deadline(signals.deadline());
            taken += self.source.take_waiting(queue, |at, frame| {
                let arrival = receiver.absorb(at, frame);
                self.tap.received(at, arrival, frame);
            })?;
        }
        Ok(taken)
    }

    fn note_arrivals(&self, queue: ReceiveQueue, signals: &TrialSignals) {
        let receivers = || self.receivers.iter();
        let expected = receivers().map(Receiver::expected_arrivals).sum();
        signals.note_arrivals(queue, self.arrivals, expected);
        signals.note_longest_delay(queue, receivers().filter_map(Receiver::longest_delay).max());
        signals.note_leftover(queue, receivers().filter_map(Receiver::last_leftover).max());
    }

    /// Where the frames come from.
    pub fn source(&self) -> &S {
        self.source
    }

    /// Closes the account: so many frames of each stream were sent.
    pub fn finish(self, sent: &BTreeMap<StreamId, u64>) -> PortReceived {
        let mut queues = self.receivers.into_iter().map(Receiver::into_queue_account);
        let mut all = queues.next().unwrap_or_default();
        queues.for_each(|queue| all.add_queue(queue, self.plan));
        let sent_of = |id: StreamId| sent.get(&id).copied().unwrap_or(0);
        self.queue.close(all, self.plan, sent_of)
    }
}
