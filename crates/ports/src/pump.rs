//! The two loops that every port with frames in user space shares: one drives a
//! [`Transmitter`], one a [`Receiver`]. A port type only gives and takes slots.
//!
//! Generic, so that nothing is dispatched dynamically for a frame.

use crate::clock::{self, TICK};
use crate::{Transmission, TrialSignals};
use std::io;
use trial::{Emitted, PortReceived, ReceivePlan, Receiver, TransmitPlan, Transmitter};
use units::{Duration, Instant};

/// At most so many frames are handed over before the system is told. Frames are only gathered
/// when they are due anyway, so that gathering delays none.
const BATCH_FRAMES: usize = 32;
/// At most so many frames that are due already bear the time of one look at the clock: it costs
/// about as much as building a frame, and they leave together anyway. Their stamps are early by
/// less than half a microsecond.
const FRAMES_OF_A_LOOK: usize = 8;
/// How long a transmitter waits at the end for frames that the interface still holds.
const COMPLETION_TIMEOUT: Duration = Duration::from_ms(1_000);
/// How long a receiver with nothing to do gives its core away: short against the time in which
/// its ring fills, and without bearing on arrival times, which are taken before. Longer naps let
/// the sender run faster: both sides look at the same rings.
const NAP: Duration = Duration::from_us(600);

/// Where frames leave.
pub(crate) trait FrameSink {
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
    /// Passes frames that wait, with their arrival times, to `take`; at least those that waited
    /// when it was called, up to a bound that keeps the caller responsive. Gives their number.
    fn take_waiting(&mut self, take: impl FnMut(Instant, &[u8])) -> io::Result<u64>;
}

/// Watches frames go by, for capturing.
pub(crate) trait Tap {
    /// A frame left.
    fn sent(&mut self, at: Instant, emitted: &Emitted, frame: &[u8]);
    /// A frame arrived.
    fn received(&mut self, at: Instant, arrival: trial::Arrival, frame: &[u8]);
}

/// Sends a whole plan through a sink.
pub(crate) fn transmit(
    sink: &mut impl FrameSink,
    tap: &mut impl Tap,
    plan: &TransmitPlan,
    start: Instant,
    stop_at: Instant,
    signals: &TrialSignals,
) -> io::Result<Transmission> {
    let refused_before = sink.refused()?;
    let mut transmitter = Transmitter::new(plan, start, TICK);
    while let Some(due) = transmitter.next_due() {
        let Some(now) = wait_for(due, stop_at, signals) else { break };
        send_due(sink, tap, &mut transmitter, now);
        sink.flush()?;
    }
    let unfinished = await_completion(sink)?;
    let report = transmitter.into_report();
    let not_sent_frames = sink.refused()? - refused_before + unfinished;
    Ok(Transmission { report, not_sent_frames, notes: vec![] })
}

/// Waits until `due`; `None` if the trial ends before.
fn wait_for(due: Instant, stop_at: Instant, signals: &TrialSignals) -> Option<Instant> {
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
fn send_due(
    sink: &mut impl FrameSink,
    tap: &mut impl Tap,
    transmitter: &mut Transmitter<'_>,
    mut now: Instant,
) {
    for frames in 1..=BATCH_FRAMES {
        let Some(slot) = sink.slot() else { return };
        let emitted = transmitter.emit(now, slot);
        tap.sent(now, &emitted, &slot[..emitted.len_bytes]);
        sink.mark(emitted.bad_fcs);
        sink.commit(emitted.len_bytes);
        let Some(next) = transmitter.next_due() else { return };
        if next > now || frames % FRAMES_OF_A_LOOK == 0 {
            now = clock::now();
        }
        if next > now {
            return;
        }
    }
}

/// Waits for the interface to be done with every frame; gives how many it never was done with.
fn await_completion(sink: &mut impl FrameSink) -> io::Result<u64> {
    let give_up = clock::now() + COMPLETION_TIMEOUT;
    loop {
        let pending = sink.pending();
        if pending == 0 || clock::now() > give_up {
            return Ok(pending as u64);
        }
        sink.flush()?;
        clock::sleep(Duration::from_us(20));
    }
}

/// Accounts for what a source gives until the trial is closed.
pub(crate) fn receive(
    source: &mut impl FrameSource,
    tap: &mut impl Tap,
    plan: &ReceivePlan,
    signals: &TrialSignals,
) -> io::Result<PortReceived> {
    let mut receiver = Receiver::new(plan, Instant::ZERO, TICK);
    let mut arrivals = 0;
    loop {
        // Read before the frames are: what arrives after closing belongs to no trial.
        let closed = signals.closed();
        if let Some(start) = signals.start() {
            receiver.set_start(start);
        }
        receiver.set_deadline(signals.deadline());
        let taken = source.take_waiting(|at, frame| {
            let arrival = receiver.absorb(at, frame);
            tap.received(at, arrival, frame);
        })?;
        arrivals += taken;
        signals.note_arrivals(plan.port, arrivals, receiver.expected_arrivals());
        if taken > 0 {
            continue;
        }
        if let Some(sent) = closed {
            return Ok(receiver.into_received(|id| sent.get(&id).copied().unwrap_or(0)));
        }
        clock::sleep(NAP);
    }
}
