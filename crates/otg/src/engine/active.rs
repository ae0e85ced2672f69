//! The ports of a configuration, open, and whoever sends through them.

use super::board::{Board, EVERY, Streams};
use super::capture::Captures;
use super::flow_trial::FlowTrial;
use crate::bgp::{Joint, Speakers};
use crate::device::{self, Interface as Address};
use kernel::{InterfaceCounters, InterfaceState};
use ports::{ControlHandle, Interface, LiveTester, clock};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use trial::{InvalidReason, Observer, PortId, PortSent, Sample, Tester, TrialResult, Validity};
use units::{Duration, LineRate};
use wire::ethernet::MacAddr;
use wire::signature::RunKey;
use wire::vlan::Tag;

/// How often silent gateways are asked again.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// How often a wait looks.
const LOOK: Duration = Duration::from_ms(10);

/// A port beside what sends through it.
pub struct Port {
    /// Its name.
    pub name: String,
    /// Its location, as the client wrote it.
    pub location: String,
    /// Its ARP and neighbour discovery.
    pub control: ControlHandle,
    /// Number of its interface.
    pub index: u32,
    /// Its interface, for state and counters.
    pub interface: Mutex<Interface>,
    /// As it was when the configuration was set.
    pub before: InterfaceCounters,
    /// Whether other sockets of the host see what arrives and is no test frame.
    pub passes_foreign: bool,
    /// The largest packet that the kernel sends through it.
    pub mtu_bytes: u32,
    /// Its rate.
    pub line: LineRate,
    /// Whether the medium itself has that rate, so that frames take time on it.
    pub is_physical: bool,
}

impl Port {
    /// As whoever speaks beside the tester needs it.
    pub fn joint(&self) -> Joint {
        let (name, index) = (self.name.clone(), self.index);
        Joint { name, index, passes_foreign: self.passes_foreign }
    }
}

/// Everything that belongs to one configuration.
pub struct ActiveConfiguration {
    /// In the order of the configuration.
    pub ports: Vec<Port>,
    /// Addresses of devices.
    pub addresses: Vec<Address>,
    /// Devices that speak BGP.
    pub speakers: Speakers,
    /// Flows.
    pub board: Mutex<Board>,
    /// What is captured.
    pub captures: Mutex<Captures>,
    tester: Mutex<LiveTester>,
    run_key: RunKey,
    /// What is wanted has changed: the trial that runs is to end.
    changed: AtomicBool,
    settled: Condvar,
    over: Arc<AtomicBool>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Ports whose link a client has set down.
    down: Mutex<BTreeSet<usize>>,
}

/// A lock that a thread that panicked may have held: what it guards is counts, which stay readable.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl ActiveConfiguration {
    /// Of these ports; hosts answer from now on.
    pub fn new(
        ports: Vec<Port>,
        (addresses, speakers): (Vec<Address>, Speakers),
        (tester, board): (LiveTester, Board),
        (captures, run_key): (Captures, RunKey),
    ) -> Arc<ActiveConfiguration> {
        let active = Arc::new(ActiveConfiguration {
            ports,
            addresses,
            speakers,
            board: Mutex::new(board),
            captures: Mutex::new(captures),
            tester: Mutex::new(tester),
            run_key,
            changed: AtomicBool::new(false),
            settled: Condvar::new(),
            over: Arc::new(AtomicBool::new(false)),
            threads: Mutex::default(),
            down: Mutex::default(),
        });
        active.play(true);
        let asking = active.clone();
        lock(&active.threads).push(std::thread::spawn(move || asking.ask_on()));
        active
    }

    /// Sets the link of a port up or down.
    ///
    /// # Errors
    /// Where the kernel does not.
    pub fn set_link(&self, port: usize, up: bool) -> Result<(), String> {
        let mut down = lock(&self.down);
        let name = &self.ports[port].name;
        lock(&self.ports[port].interface)
            .set_up(up)
            .map_err(|error| format!("port {name}: {error}"))?;
        if up {
            down.remove(&port)
        } else {
            down.insert(port)
        };
        Ok(())
    }

    /// Has the hosts of all devices answer, or none.
    pub fn play(&self, plays: bool) {
        for (port, id) in self.ports.iter().zip(0..) {
            let hosts = device::hosts(&self.addresses, PortId(id));
            port.control.play(if plays { hosts } else { vec![] });
        }
    }

    /// The hardware address of a gateway in the VLAN of these tags, where it is known.
    pub fn gateway_mac(&self, port: PortId, tags: &[Tag], gateway: IpAddr) -> Option<MacAddr> {
        self.ports[usize::from(port.0)].control.neighbour(tags, gateway)
    }

    /// Asks for gateways that nobody has answered for, until the active is over.
    fn ask_on(&self) {
        while !self.over.load(Ordering::Relaxed) {
            self.ask();
            let until = clock::now() + ASK_EVERY;
            while clock::now() < until && !self.over.load(Ordering::Relaxed) {
                clock::sleep(LOOK);
            }
        }
    }

    /// Asks once for each gateway that is not known.
    pub fn ask(&self) {
        for address in self.addresses.iter().filter(|address| address.gateway_mac.is_none()) {
            if self.gateway_mac(address.port, &address.tags, address.gateway).is_none() {
                self.ask_for(address, address.gateway);
            }
        }
    }

    /// Asks once for a neighbour of a device's.
    pub fn ask_for(&self, from: &Address, neighbour: IpAddr) {
        let control = &self.ports[usize::from(from.port.0)].control;
        // A link that is down is told by whoever needs it.
        drop(control.ask((from.mac, from.ip), (&from.tags, neighbour)));
    }

    /// The state of a port's interface.
    ///
    /// # Errors
    /// Where it is gone.
    pub fn state(&self, port: usize) -> Result<InterfaceState, String> {
        lock(&self.ports[port].interface).state().map_err(|error| error.to_string())
    }

    /// Has somebody send what is wanted, where nobody does; whoever does takes it in.
    pub fn take_in(self: &Arc<ActiveConfiguration>) {
        let mut board = lock(&self.board);
        self.changed.store(true, Ordering::SeqCst);
        if !board.running {
            board.running = true;
            let active = self.clone();
            let mut threads = lock(&self.threads);
            threads.retain(|thread| !thread.is_finished());
            threads.push(std::thread::spawn(move || active.send()));
        }
    }

    /// Has the trial that runs end, if one does, and the next one begin.
    pub fn renew(self: &Arc<ActiveConfiguration>) -> bool {
        let (running, rounds) = {
            let board = lock(&self.board);
            (board.running, board.rounds)
        };
        if running {
            self.take_in();
            self.wait(rounds);
        }
        running
    }

    /// Waits until what was wanted has been taken in, and the trial before is accounted for.
    pub fn wait(&self, rounds: u64) {
        let mut board = lock(&self.board);
        while board.running && board.rounds <= rounds {
            let (again, _) = self
                .settled
                .wait_timeout(board, std::time::Duration::from_millis(100))
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            board = again;
        }
    }

    /// Ends all sending and asking, and waits for it.
    pub fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
        for flow in &mut lock(&self.board).flows {
            flow.transmit = super::board::Transmit::Stopped;
        }
        self.changed.store(true, Ordering::SeqCst);
        let threads = std::mem::take(&mut *lock(&self.threads));
        threads.into_iter().for_each(|thread| drop(thread.join()));
        self.speakers.end();
        // Whoever has the ports next finds them as they were.
        let down = std::mem::take(&mut *lock(&self.down));
        down.into_iter().for_each(|port| drop(self.set_link(port, true)));
    }

    /// Sends, trial after trial, until nothing is left to be sent.
    fn send(&self) {
        let mut tester = lock(&self.tester);
        loop {
            self.changed.store(false, Ordering::SeqCst);
            let flow_trial = {
                let mut board = lock(&self.board);
                board.rounds += 1;
                let captures = lock(&self.captures).requests(board.trials + 1);
                let flow_trial = match FlowTrial::of(&board, self.run_key, captures) {
                    Ok(Some(flow_trial)) => flow_trial,
                    Ok(None) => break finish(&mut board),
                    Err(why) => break break_off(&mut board, why),
                };
                board.trials += 1;
                self.settled.notify_all();
                flow_trial
            };
            let streams = &flow_trial.streams;
            let mut looks = Looks { active: self, streams, before: None, has_ended: false };
            let ran = tester.run_observed(&flow_trial.trial, &mut looks);
            let has_ended = looks.has_ended;
            let mut board = lock(&self.board);
            match ran {
                Ok(mut result) => {
                    if has_ended {
                        forgive_unbegun(&mut result.sent, &mut result.validity);
                    }
                    board.settle(&flow_trial.streams, &result, &flow_trial.due(&intended(&result)));
                    note(&mut board.notes, &result);
                    lock(&self.captures).settle(&flow_trial.trial.captures);
                    stop_done(&mut board);
                }
                Err(error) => break break_off(&mut board, error.to_string()),
            }
        }
        self.settled.notify_all();
    }
}

fn intended(result: &TrialResult) -> BTreeMap<PortId, u64> {
    result.sent.iter().map(|sent| (sent.report.port, sent.report.intended_frames)).collect()
}

/// Of a port whose trial was ended before more than its first frame was due, and before that one left, nobody knows
/// whether it would have fallen short; the next trial sends the frame.
fn forgive_unbegun(sent: &mut [PortSent], validity: &mut Validity) {
    let is_unbegun =
        |sent: &PortSent| sent.report.sent_frames == 0 && sent.report.intended_frames <= 1;
    let unbegun: BTreeSet<PortId> =
        sent.iter().filter(|sent| is_unbegun(sent)).map(|sent| sent.report.port).collect();
    let ports = sent.iter_mut().filter(|sent| unbegun.contains(&sent.report.port));
    ports.for_each(|sent| sent.report.intended_frames = 0);
    let Validity::Invalid(reasons) = validity else { return };
    reasons.retain(
        |reason| !matches!(reason, InvalidReason::Shortfall { port, .. } if unbegun.contains(port)),
    );
    if reasons.is_empty() {
        *validity = Validity::Valid;
    }
}

/// A flow all of whose frames have left is stopped.
fn stop_done(board: &mut Board) {
    for flow in &mut board.flows {
        let is_done = flow.legs.iter().all(|leg| leg.remaining == Some(0));
        if is_done && flow.transmit == super::board::Transmit::Started {
            flow.transmit = super::board::Transmit::Stopped;
        }
    }
}

fn finish(board: &mut Board) {
    stop_done(board);
    board.running = false;
}

fn break_off(board: &mut Board, why: String) {
    for flow in &mut board.flows {
        flow.transmit = super::board::Transmit::Stopped;
        flow.legs.iter_mut().for_each(|leg| leg.live = Default::default());
    }
    board.broken = Some(why);
    board.running = false;
}

/// What the client should know of the tester itself: the model has no other place for it.
fn note(notes: &mut Vec<String>, result: &TrialResult) {
    let new: BTreeSet<String> = result
        .invalid_reasons()
        .iter()
        .map(|reason| format!("the tester fell short: {reason}"))
        .collect();
    for reason in new {
        if !notes.contains(&reason) && notes.len() < 20 {
            notes.push(reason);
        }
    }
}

/// Looks at a trial.
struct Looks<'a> {
    active: &'a ActiveConfiguration,
    streams: &'a Streams,
    before: Option<Sample>,
    /// It was ended because something else is wanted.
    has_ended: bool,
}

impl Observer for Looks<'_> {
    fn every(&self) -> Option<Duration> {
        Some(EVERY)
    }

    fn observe(&mut self, sample: &Sample) {
        lock(&self.active.board).sample(self.streams, sample, self.before.as_ref());
        self.before = Some(sample.clone());
    }

    fn ends(&mut self) -> bool {
        self.has_ended |= self.active.changed.load(Ordering::SeqCst);
        self.has_ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trial::{Deferred, Histogram, Paused, Slips, TransmitReport, ValidityLimits};
    use units::FrameRate;

    /// A port at 50 frames a second of whose frames so many were due.
    fn sent(port: u16, due: u64, sent_frames: u64) -> PortSent {
        let report = TransmitReport {
            port: PortId(port),
            intended_frames: due,
            sent_frames,
            sent_bytes: 0,
            sent_of_stream: vec![],
            first_departure: None,
            last_departure: None,
            lateness: Histogram::new(Duration::from_ns(1)),
            late_frames: 0,
            late_after: Duration::from_us(20),
            slips: Slips::default(),
            paused: Paused::default(),
            deferred: Deferred::default(),
            by_length: None,
        };
        PortSent { report, intended_rate: FrameRate::from_fps(50), dropped_by_tester: 0 }
    }

    /// What is left of the reasons, by port, and the frames that count as due.
    fn forgiven(mut all: Vec<PortSent>) -> (Vec<PortId>, Vec<u64>) {
        let mut validity = trial::validity::judge(&ValidityLimits::default(), &all, &[], &[]);
        assert_ne!(validity, Validity::Valid);
        forgive_unbegun(&mut all, &mut validity);
        let reasons = match validity {
            Validity::Valid => vec![],
            Validity::Invalid(reasons) => reasons,
        };
        let port = |reason: &InvalidReason| match reason {
            InvalidReason::Shortfall { port, .. } => *port,
            other => panic!("{other}"),
        };
        (
            reasons.iter().map(port).collect(),
            all.iter().map(|sent| sent.report.intended_frames).collect(),
        )
    }

    #[test]
    fn a_pause_before_the_first_frame_is_no_shortfall() {
        assert_eq!(forgiven(vec![sent(0, 1, 0)]), (vec![], vec![0]));
        assert_eq!(forgiven(vec![sent(0, 0, 0)]), (vec![], vec![0]));
        // One that lagged behind stays, whatever the other did.
        assert_eq!(forgiven(vec![sent(0, 1, 0), sent(1, 5, 0)]), (vec![PortId(1)], vec![0, 5]));
    }
}
