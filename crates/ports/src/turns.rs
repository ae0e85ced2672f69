//! The two threads that ports share: each serves its ports in turns. With a thread for each port, on
//! fewer cores, threads would take turns all the same, but for milliseconds at a time.

use crate::pump::{NAP, wait_for};
use crate::{ReceiveTurns, Transmission, TransmitTurns, TrialSignals, clock};
use trial::{PortReceived, TesterError};
use units::{Duration, Instant};

/// How long a transmitter waits at the end for frames that the interface still holds.
const COMPLETION_TIMEOUT: Duration = Duration::from_ms(1_000);
/// A transmitter with nothing to do for so long answers before it is asked.
const IDLE: Duration = Duration::from_ms(2);
/// How often it looks for them.
const COMPLETION_LOOK: Duration = Duration::from_us(20);

/// Sends all plans, each frame when it is due. Of several ports that are behind each hands over a
/// batch, round after round.
pub(crate) fn transmit(
    mut ports: Vec<Box<dyn TransmitTurns + '_>>,
    stop_at: Instant,
    signals: &TrialSignals,
) -> Result<Vec<Transmission>, TesterError> {
    let mut lanes: Vec<Lane> = ports.iter_mut().map(|port| Lane::of(port.as_mut())).collect();
    let mut sampled = 0;
    while lanes.iter().any(|lane| !lane.all_sent) {
        let Some(due) = lanes.iter().filter_map(|lane| lane.due).min() else { break };
        answer(&ports, (due, &mut sampled), signals);
        let Some(mut now) = wait_for(due, stop_at, signals) else { break };
        for (port, lane) in ports.iter_mut().zip(&mut lanes) {
            if now >= stop_at {
                break;
            }
            if lane.due.is_some_and(|due| due <= now) {
                lane.turn(port.as_mut(), now)?;
                now = clock::now();
            }
        }
    }
    answer(&ports, (Instant::FAR_FUTURE, &mut sampled), signals);
    await_completion(&mut ports)?;
    ports.into_iter().map(|port| port.finish()).collect()
}

/// Says what was sent, if somebody has asked, or may ask while nothing is due.
fn answer(
    ports: &[Box<dyn TransmitTurns + '_>],
    (due, sampled): (Instant, &mut u64),
    signals: &TrialSignals,
) {
    let asked = signals.asked();
    if asked == 0 || (asked == *sampled && due.since(clock::now()) < IDLE) {
        return;
    }
    *sampled = asked;
    ports.iter().for_each(|port| signals.note_sent(asked, port.sent_so_far()));
}

/// When a port has its next turn.
struct Lane {
    /// `None` once nothing is left to do.
    due: Option<Instant>,
    /// It only waits for frames that the interface still holds.
    all_sent: bool,
}

impl Lane {
    fn of(port: &mut dyn TransmitTurns) -> Self {
        let due = port.next_due();
        Lane { due, all_sent: due.is_none() }
    }

    fn turn(&mut self, port: &mut dyn TransmitTurns, now: Instant) -> Result<(), TesterError> {
        if !self.all_sent {
            port.turn(now)?;
            self.due = port.next_due();
            self.all_sent = self.due.is_none();
        }
        if self.all_sent {
            self.due = (port.pending()? > 0).then(|| now + COMPLETION_LOOK);
        }
        Ok(())
    }
}

/// Waits for the interfaces to be done with every frame.
fn await_completion(ports: &mut [Box<dyn TransmitTurns + '_>]) -> Result<(), TesterError> {
    let give_up = clock::now() + COMPLETION_TIMEOUT;
    loop {
        let pending = ports.iter_mut().map(|port| port.pending()).sum::<Result<usize, _>>()?;
        if pending == 0 || clock::now() > give_up {
            return Ok(());
        }
        clock::sleep(COMPLETION_LOOK);
    }
}

/// Accounts for what arrives on all ports until the trial is closed.
pub(crate) fn receive(
    ports: Vec<Box<dyn ReceiveTurns + '_>>,
    signals: &TrialSignals,
) -> Result<Vec<PortReceived>, TesterError> {
    let mut ports: Vec<_> = ports.into_iter().map(Some).collect();
    let mut accounts: Vec<Option<PortReceived>> = ports.iter().map(|_| None).collect();
    loop {
        // Read before the frames are: what arrives after closing belongs to no trial.
        let closed = signals.closed();
        let mut taken = 0;
        for (open, account) in ports.iter_mut().zip(&mut accounts) {
            let Some(port) = open else { continue };
            let of_port = port.turn(signals)?;
            taken += of_port;
            if let Some(sent) = closed.filter(|_| of_port == 0) {
                *account = open.take().map(|port| port.finish(sent)).transpose()?;
            }
        }
        if ports.iter().all(Option::is_none) {
            return Ok(accounts.into_iter().flatten().collect());
        }
        if taken == 0 {
            let naps = ports.iter().flatten().map(|port| port.nap());
            clock::sleep(naps.min().unwrap_or(NAP));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use trial::{FrameSet, PortId, Schedule, StreamId, TransmitPlan, TransmitReport, Transmitter};
    use wire::signature::Key;

    /// What was done, and by which port.
    type Log = RefCell<Vec<(&'static str, u16)>>;

    /// A port with so many frames to send, all due at once.
    struct Sender<'a> {
        port: u16,
        due: Instant,
        left: u32,
        /// There is no room for its frames.
        stuck: bool,
        /// Looks at the interface until it is done.
        pending: usize,
        log: &'a Log,
    }

    impl TransmitTurns for Sender<'_> {
        fn next_due(&mut self) -> Option<Instant> {
            (self.left > 0).then_some(self.due)
        }
        fn turn(&mut self, now: Instant) -> Result<(), TesterError> {
            assert!(now >= self.due, "before its time");
            self.log.borrow_mut().push(("turn", self.port));
            self.left -= u32::from(!self.stuck);
            Ok(())
        }
        fn pending(&mut self) -> Result<usize, TesterError> {
            self.log.borrow_mut().push(("pending", self.port));
            self.pending = self.pending.saturating_sub(1);
            Ok(self.pending)
        }
        fn sent_so_far(&self) -> trial::SentSoFar {
            trial::SentSoFar::of(&report_of(self.port))
        }
        fn finish(self: Box<Self>) -> Result<Transmission, TesterError> {
            Ok(Transmission {
                report: report_of(self.port),
                not_sent_frames: u64::from(self.left),
                notes: vec![],
            })
        }
    }

    fn report_of(port: u16) -> TransmitReport {
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
        Transmitter::new(&plan, Instant::ZERO, clock::TICK).into_report()
    }

    fn sender(port: u16, due: Instant, left: u32, log: &Log) -> Sender<'_> {
        Sender { port, due, left, stuck: false, pending: 0, log }
    }

    /// Port, and frames that it did not send.
    fn send(senders: Vec<Sender<'_>>, stop_at: Instant) -> Vec<(u16, u64)> {
        let ports = senders.into_iter().map(|sender| Box::new(sender) as Box<dyn TransmitTurns>);
        let sent = transmit(ports.collect(), stop_at, &TrialSignals::new([])).unwrap();
        sent.iter().map(|sent| (sent.report.port.0, sent.not_sent_frames)).collect()
    }

    #[test]
    fn ports_that_are_behind_take_turns_and_one_without_room_holds_up_none() {
        let (log, now) = (Log::default(), clock::now());
        let stuck = Sender { stuck: true, ..sender(1, now, 2, &log) };
        let senders = vec![sender(0, now, 2, &log), stuck, sender(2, now, 2, &log)];
        let unsent = send(senders, now + Duration::from_ms(20));
        assert_eq!(unsent, [(0, 0), (1, 2), (2, 0)]);
        let turns = log.borrow();
        let turns: Vec<u16> =
            turns.iter().filter(|(what, _)| *what == "turn").map(|(_, port)| *port).collect();
        assert_eq!(turns[..6], [0, 1, 2, 0, 1, 2]);
        assert!(turns[6..].iter().all(|port| *port == 1));
    }

    /// Frames that the interface could not take at once do not wait for the next frame of another port.
    #[test]
    fn what_an_interface_still_holds_is_seen_to_while_others_wait() {
        let (log, now) = (Log::default(), clock::now());
        let holds = Sender { pending: 4, ..sender(0, now, 1, &log) };
        let later = sender(1, now + Duration::from_ms(30), 1, &log);
        assert_eq!(send(vec![holds, later], now + Duration::from_secs(1)), [(0, 0), (1, 0)]);
        let log = log.borrow();
        let last = log.iter().position(|done| *done == ("turn", 1)).unwrap();
        assert_eq!(log[1..last].iter().filter(|done| **done == ("pending", 0)).count(), 4);
    }

    /// A port at which so many frames wait.
    struct Listener {
        port: u16,
        turns: Vec<u64>,
    }

    impl ReceiveTurns for Listener {
        fn turn(&mut self, signals: &TrialSignals) -> Result<u64, TesterError> {
            let taken = self.turns.pop().unwrap_or(0);
            if self.port == 0 && self.turns.is_empty() && signals.closed().is_none() {
                signals.close(BTreeMap::from([(StreamId(1), 7)]));
            }
            Ok(taken)
        }
        fn finish(
            self: Box<Self>,
            sent: &BTreeMap<StreamId, u64>,
        ) -> Result<PortReceived, TesterError> {
            assert!(self.turns.is_empty(), "frames wait that came before the end");
            let (port, foreign) = (PortId(self.port), sent[&StreamId(1)]);
            let leftovers = trial::Leftovers::default();
            Ok(PortReceived {
                port,
                streams: vec![],
                foreign,
                foreign_bytes: 0,
                corrupted: 0,
                forged: 0,
                leftovers,
            })
        }
    }

    #[test]
    fn each_account_is_closed_when_nothing_waits_at_its_port() {
        let ports = [(0, vec![3, 2]), (1, vec![1, 1, 1, 1]), (2, vec![])];
        let ports =
            ports.map(|(port, turns)| Box::new(Listener { port, turns }) as Box<dyn ReceiveTurns>);
        let received = receive(ports.into(), &TrialSignals::new([])).unwrap();
        let received: Vec<_> = received.iter().map(|port| (port.port.0, port.foreign)).collect();
        assert_eq!(received, [(0, 7), (1, 7), (2, 7)]);
    }
}
