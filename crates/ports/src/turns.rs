//! The two threads that ports share: each serves its ports in turns. With a thread for each port, on
//! fewer cores, threads would take turns all the same, but for milliseconds at a time.

use crate::pump::{NAP, wait_for};
use crate::queues::{CATCH_UP, LONGEST_WAIT};
use crate::{CatchUp, ReceiveTurns, Transmission, TransmitTurns, TrialSignals, clock};
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
    ports: Vec<Box<dyn TransmitTurns + '_>>,
    stop_at: Instant,
    signals: &TrialSignals,
) -> Result<Vec<Transmission>, TesterError> {
    let mut senders = Senders::new(ports, stop_at);
    while let Some(due) = senders.due() {
        senders.answer(due, signals);
        let Some(now) = wait_for(due, stop_at, signals) else { break };
        senders.turn(now)?;
    }
    senders.catch_up()?;
    senders.answer(Instant::FAR_FUTURE, signals);
    let give_up = clock::now() + COMPLETION_TIMEOUT;
    while senders.pending()? > 0 && clock::now() <= give_up {
        clock::sleep(COMPLETION_LOOK);
    }
    senders.finish()
}

/// Sends and receives by one thread, where a core is all there is for both: two threads would take turns of
/// milliseconds there, in which a short queue overflows. For ports that send by one queue each. What was sent goes to
/// `sent` as soon as that is over; gives what was received, once the trial is closed.
pub(crate) fn exchange(
    senders: Vec<Box<dyn TransmitTurns + '_>>,
    receivers: Vec<Box<dyn ReceiveTurns + '_>>,
    stop_at: Instant,
    signals: &TrialSignals,
    mut sent: impl FnMut(Vec<Transmission>),
) -> Result<Vec<PortReceived>, TesterError> {
    let mut sending = Some(Senders::new(senders, stop_at));
    let mut receivers = Receivers::new(receivers);
    loop {
        let taken = receivers.turn(signals)?;
        if receivers.are_closed() {
            return Ok(receivers.into_accounts());
        }
        let mut due = Instant::FAR_FUTURE;
        if let Some(senders) = &mut sending {
            match senders.turn_if_due(signals)? {
                Some(next) => due = next,
                None => {
                    sending.take().map(Senders::finish).transpose()?.into_iter().for_each(&mut sent)
                }
            }
        }
        let left = due.since(clock::now());
        if taken == 0 && left > clock::SPIN {
            clock::sleep(receivers.nap().min(left.saturating_sub(clock::SPIN)));
        }
    }
}

/// Ports that send, each with its place in the schedule.
struct Senders<'a> {
    ports: Vec<Box<dyn TransmitTurns + 'a>>,
    lanes: Vec<Lane>,
    stop_at: Instant,
    /// The sample that was answered last.
    sampled: u64,
    /// When frames that interfaces still hold are given up, once all were handed over.
    give_up: Option<Instant>,
}

impl<'a> Senders<'a> {
    fn new(mut ports: Vec<Box<dyn TransmitTurns + 'a>>, stop_at: Instant) -> Self {
        let lanes = ports.iter_mut().map(|port| Lane::of(port.as_mut())).collect();
        Senders { ports, lanes, stop_at, sampled: 0, give_up: None }
    }

    /// When a port has its next turn; `None` when all have handed over all.
    fn due(&self) -> Option<Instant> {
        let all_sent = self.lanes.iter().all(|lane| lane.all_sent);
        let due = self.lanes.iter().filter_map(|lane| lane.due).min();
        due.filter(|_| !all_sent)
    }

    /// A turn for each port that is due.
    fn turn(&mut self, mut now: Instant) -> Result<(), TesterError> {
        for (port, lane) in self.ports.iter_mut().zip(&mut self.lanes) {
            if now >= self.stop_at {
                break;
            }
            if lane.due.is_some_and(|due| due <= now) {
                lane.turn(port.as_mut(), now)?;
                now = clock::now();
            }
        }
        Ok(())
    }

    /// The same without waiting for it; gives when the next turn is due, `None` when sending is over.
    fn turn_if_due(&mut self, signals: &TrialSignals) -> Result<Option<Instant>, TesterError> {
        let now = clock::now();
        if let Some(due) = self.due()
            && self.give_up.is_none()
            && now < self.stop_at
            && !signals.stopped()
        {
            self.answer(due, signals);
            if due <= now {
                self.turn(now)?;
            }
            return Ok(Some(self.due().unwrap_or(now)));
        }
        if self.give_up.is_none() {
            self.answer(Instant::FAR_FUTURE, signals);
        }
        let give_up = *self.give_up.get_or_insert(now + COMPLETION_TIMEOUT);
        let is_over = self.pending()? == 0 || now > give_up;
        Ok((!is_over).then(|| now + COMPLETION_LOOK))
    }

    /// Says what was sent, if somebody has asked, or may ask while nothing is due.
    fn answer(&mut self, due: Instant, signals: &TrialSignals) {
        let asked = signals.asked();
        if asked == 0 || (asked == self.sampled && due.since(clock::now()) < IDLE) {
            return;
        }
        self.sampled = asked;
        for port in &self.ports {
            signals.note_sent(asked, port.queue(), port.sent_so_far());
        }
    }

    /// Sends what is left up to where the foremost queue of each port has ended, for as long as that may take.
    fn catch_up(&mut self) -> Result<(), TesterError> {
        let give_up = clock::now() + LONGEST_WAIT;
        let mut stop_at = Instant::FAR_FUTURE;
        loop {
            let now = clock::now();
            let (mut awaits, mut behind) = (false, false);
            for port in &mut self.ports {
                match port.catch_up() {
                    CatchUp::Done => {}
                    CatchUp::Awaits => awaits = true,
                    CatchUp::Behind(due) => {
                        behind = true;
                        stop_at = stop_at.min(now + CATCH_UP);
                        if due <= now {
                            port.turn(now)?;
                        }
                    }
                }
            }
            if now >= stop_at || now >= give_up || !(awaits || behind) {
                return Ok(());
            }
            if !behind {
                self.pending()?;
                clock::sleep(COMPLETION_LOOK);
            }
        }
    }

    /// Frames that the interfaces are not done with.
    fn pending(&mut self) -> Result<usize, TesterError> {
        self.ports.iter_mut().map(|port| port.pending()).sum()
    }

    fn finish(self) -> Result<Vec<Transmission>, TesterError> {
        self.ports.into_iter().map(|port| port.finish()).collect()
    }
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

/// Accounts for what arrives on all ports until the trial is closed.
pub(crate) fn receive(
    ports: Vec<Box<dyn ReceiveTurns + '_>>,
    signals: &TrialSignals,
) -> Result<Vec<PortReceived>, TesterError> {
    let mut receivers = Receivers::new(ports);
    loop {
        let taken = receivers.turn(signals)?;
        if receivers.are_closed() {
            return Ok(receivers.into_accounts());
        }
        if taken == 0 {
            clock::sleep(receivers.nap());
        }
    }
}

/// Ports that receive, each until its account is closed.
struct Receivers<'a> {
    ports: Vec<Option<Box<dyn ReceiveTurns + 'a>>>,
    accounts: Vec<Option<PortReceived>>,
}

impl<'a> Receivers<'a> {
    fn new(ports: Vec<Box<dyn ReceiveTurns + 'a>>) -> Self {
        let accounts = ports.iter().map(|_| None).collect();
        Receivers { ports: ports.into_iter().map(Some).collect(), accounts }
    }

    /// A turn for each port; gives how many frames were taken.
    fn turn(&mut self, signals: &TrialSignals) -> Result<u64, TesterError> {
        // Read before the frames are: what arrives after closing belongs to no trial.
        let closed = signals.closed();
        let mut taken = 0;
        for (open, account) in self.ports.iter_mut().zip(&mut self.accounts) {
            let Some(port) = open else { continue };
            let of_port = port.turn(signals)?;
            taken += of_port;
            if let Some(sent) = closed.filter(|_| of_port == 0) {
                *account = open.take().map(|port| port.finish(sent)).transpose()?;
            }
        }
        Ok(taken)
    }

    fn are_closed(&self) -> bool {
        self.ports.iter().all(Option::is_none)
    }

    /// How long they may be left alone when nothing has arrived.
    fn nap(&self) -> Duration {
        self.ports.iter().flatten().map(|port| port.nap()).min().unwrap_or(NAP)
    }

    fn into_accounts(self) -> Vec<PortReceived> {
        self.accounts.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::tests::report_of;
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use trial::{PortId, StreamId};

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

    /// Sending is over before the trial is closed, and both sides have had their turns by then.
    #[test]
    fn one_thread_sends_and_receives() {
        let (log, now) = (Log::default(), clock::now());
        let signals = TrialSignals::new([]);
        let senders: Vec<Box<dyn TransmitTurns + '_>> = vec![
            Box::new(sender(0, now, 2, &log)),
            Box::new(sender(1, now + Duration::from_ms(2), 1, &log)),
        ];
        // Takes a frame in each of its turns, of which it has more than senders do.
        let listener = Listener { port: 1, turns: vec![1; 50] };
        let mut sent = vec![];
        let received = exchange(
            senders,
            vec![Box::new(listener)],
            now + Duration::from_secs(1),
            &signals,
            |all| {
                sent.extend(all.iter().map(|sent| (sent.report.port.0, sent.not_sent_frames)));
                signals.close(BTreeMap::from([(StreamId(1), 3)]));
            },
        )
        .unwrap();
        assert_eq!(sent, [(0, 0), (1, 0)]);
        assert_eq!(received.iter().map(|port| port.foreign).collect::<Vec<_>>(), [3]);
    }

    /// What an interface never takes is given up when the trial has to stop, and is known as not sent.
    #[test]
    fn one_thread_stops_in_time() {
        let (log, now) = (Log::default(), clock::now());
        let signals = TrialSignals::new([]);
        let stuck = Sender { stuck: true, ..sender(0, now, 2, &log) };
        let mut unsent = vec![];
        let until = now + Duration::from_ms(5);
        let listener = Listener { port: 1, turns: vec![] };
        exchange(vec![Box::new(stuck)], vec![Box::new(listener)], until, &signals, |all| {
            unsent.extend(all.iter().map(|sent| sent.not_sent_frames));
            signals.close(BTreeMap::from([(StreamId(1), 0)]));
        })
        .unwrap();
        assert_eq!(unsent, [2]);
        assert!(clock::now() >= until);
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
