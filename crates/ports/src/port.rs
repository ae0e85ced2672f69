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
use crate::{CaptureWish, Captured, TrialSignals};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trial::{
    PortClock, PortDescription, PortReceived, ReceivePlan, SentSoFar, StreamId, TesterError,
    TransmitPlan, TransmitReport,
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
    /// Receives; where a port has several queues, from the first of them.
    pub receive: &'a mut dyn ReceiveHalf,
    /// The other queues from which it receives, each in a thread of its own and with an account of its own. The last
    /// of them to end gives what all have received.
    pub more_receivers: Vec<&'a mut dyn ReceiveHalf>,
}

impl<'a> Halves<'a> {
    /// Of a port with one queue.
    pub fn of(transmit: &'a mut dyn TransmitHalf, receive: &'a mut dyn ReceiveHalf) -> Self {
        Halves { transmit, more_queues: vec![], receive, more_receivers: vec![] }
    }

    /// Of a port with these queues, at least one each way.
    ///
    /// # Panics
    /// Without one.
    pub fn of_queues<T: TransmitHalf, R: ReceiveHalf>(
        transmit: &'a mut [T],
        receive: &'a mut [R],
    ) -> Self {
        let (first, others) = transmit.split_first_mut().expect("a port has a queue");
        let more_queues = others.iter_mut().map(|queue| queue as &mut dyn TransmitHalf).collect();
        let (receive, others) = receive.split_first_mut().expect("a port has a queue");
        let more_receivers = others.iter_mut().map(|queue| queue as &mut dyn ReceiveHalf).collect();
        Halves { transmit: first, more_queues, receive, more_receivers }
    }

    /// How many queues send.
    pub fn queues(&self) -> usize {
        1 + self.more_queues.len()
    }

    /// From how many it receives.
    pub fn receivers(&self) -> usize {
        1 + self.more_receivers.len()
    }

    /// The queues that a plan makes use of, none without one; and all that receive.
    pub fn used<'p>(
        self,
        plan: Option<&'p TransmitPlan>,
    ) -> (Vec<QueueWithPlan<'a, 'p>>, Vec<&'a mut dyn ReceiveHalf>) {
        let used = plan.map_or(0, |plan| plan.queues_of(self.queues()));
        let queues = [self.transmit].into_iter().chain(self.more_queues).take(used);
        let queues = queues.zip(plan.into_iter().cycle()).collect();
        (queues, [self.receive].into_iter().chain(self.more_receivers).collect())
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
    /// Which of its port's queues it is, from 0.
    fn queue(&self) -> usize {
        0
    }
    /// Sending has ended, or was ended: what is left to do so that the queues of a port end at the same frame of it.
    /// Asked over and over until nothing is.
    fn catch_up(&mut self) -> CatchUp {
        CatchUp::Done
    }
    /// What was handed over so far.
    fn sent_so_far(&self) -> SentSoFar;
    /// Ends it, with whatever was sent.
    fn finish(self: Box<Self>) -> Result<Transmission, TesterError>;
}

/// Whether a queue that has ended is where the foremost queue of its port is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CatchUp {
    /// It is.
    Done,
    /// Others still send: nobody knows yet.
    Awaits,
    /// It is behind, and its next frame is due then.
    Behind(Instant),
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
    /// [`note_arrivals`](TrialSignals::note_arrivals) at least every few milliseconds. Of the queues of a port the last
    /// one to end gives the account of all, and the others an empty one.
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

    /// Frames that the tester itself lost on this port, or this queue of it, since [`prepare`](Self::prepare), by the
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use trial::{FrameSet, PortId, Schedule, Transmitter};
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
