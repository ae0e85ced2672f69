//! The thread that answers for the hosts the tester plays on a port.

use super::hosts::{Heard, Told, hear, hear_told, question, told_by, vlan_of};
use super::kind::{Kind, kind_of};
use super::{ControlSocket, Host};
use crate::{clock, sys};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use trial::{QueryCounts, QueryResponder, TesterError};
use units::{Duration, Instant};
use wire::ethernet::MacAddr;
use wire::snmp;
use wire::vlan::{self, Tag};

/// How soon the thread notices that it should end.
const LOOK_MS: i32 = 50;
/// RFC 4861 section 10: MAX_MULTICAST_SOLICIT and RETRANS_TIMER; the same serve for ARP.
const QUESTIONS: usize = 3;
const QUESTION_INTERVAL: Duration = Duration::from_secs(1);
/// What management queries call themselves, and ask about (RFC 2544 appendix C.2.4.3).
const QUERY: i32 = 1;
const INTERFACE: u32 = 1;
/// More replies than this are only counted.
const REPLIES_KEPT: usize = 4096;
const PS_IN_MS: u64 = 1_000_000_000;
/// An interface that is down or gone is looked at again after this time.
const AFTER_ERROR: Duration = Duration::from_ms(50);

/// Answers ARP requests, neighbour solicitations and queries for members of groups, learns who told his
/// address, and keeps the replies of SNMP agents. Ends when dropped.
pub(crate) struct Responder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the control side of a port has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ControlCounts {
    /// Control frames of every kind.
    pub frames: u64,
    /// Whole answers to management queries (RFC 2544 section 11.2).
    pub management_answers: u64,
    /// Queries for members of multicast groups, and what hosts answered.
    pub group_queries: QueryCounts,
}

impl ControlCounts {
    /// What was seen since an earlier look.
    pub fn since(self, before: ControlCounts) -> ControlCounts {
        ControlCounts {
            frames: self.frames - before.frames,
            management_answers: self.management_answers - before.management_answers,
            group_queries: self.group_queries.since(before.group_queries),
        }
    }
}

/// A way to the control side of a port, for whoever does not hold the port: it is good for as long as the port
/// is open, and does nothing afterwards.
#[derive(Clone)]
pub struct ControlHandle(Arc<Shared>);

impl ControlHandle {
    /// Asks once for the hardware address of a neighbour in the VLAN of these tags; [`Self::neighbour`] has the
    /// answer later.
    ///
    /// # Errors
    /// Where the question cannot be sent.
    pub fn ask(
        &self,
        from: (MacAddr, IpAddr),
        (tags, neighbour): (&[Tag], IpAddr),
    ) -> io::Result<()> {
        match question(from, neighbour) {
            Some(question) if !self.0.end.load(Ordering::Relaxed) => {
                self.0.socket.send(&vlan::push(question, tags))
            }
            _ => Ok(()),
        }
    }

    /// From now on the port answers for these hosts.
    pub fn play(&self, hosts: Vec<Host>) {
        self.0.state().hosts = hosts;
    }

    /// Hosts stand by what these frames, which leave then, say of multicast groups.
    pub(crate) fn plan_said(&self, frames: impl IntoIterator<Item = (Instant, Vec<u8>)>) {
        self.0.members().plan(clock::now(), frames);
    }

    /// The hardware address that a neighbour in the VLAN of these tags has told, if it has told one.
    pub fn neighbour(&self, tags: &[Tag], address: IpAddr) -> Option<MacAddr> {
        self.0.state().neighbours.get(&(vlan_of(tags), address)).copied()
    }
}

struct Shared {
    socket: Box<dyn ControlSocket>,
    end: AtomicBool,
    frames: AtomicU64,
    answers: AtomicU64,
    state: Mutex<State>,
    members: Mutex<QueryResponder>,
}

#[derive(Default)]
struct State {
    hosts: Vec<Host>,
    told: Told,
    /// By VLAN and address.
    neighbours: BTreeMap<(Vec<Tag>, IpAddr), MacAddr>,
    replies: Vec<Vec<u8>>,
}

impl Responder {
    /// Starts the thread. It answers for nobody yet. `seed` differs from port to port: hosts answer
    /// queries after a random time.
    pub fn start(socket: Box<dyn ControlSocket>, seed: u64) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            socket,
            end: AtomicBool::new(false),
            frames: AtomicU64::new(0),
            answers: AtomicU64::new(0),
            state: Mutex::default(),
            members: Mutex::new(QueryResponder::new(seed)),
        });
        let of_thread = shared.clone();
        let thread =
            std::thread::Builder::new().name("control".into()).spawn(move || of_thread.listen())?;
        Ok(Responder { shared, thread: Some(thread) })
    }

    /// A way to it that outlives a borrow of the port.
    pub fn handle(&self) -> ControlHandle {
        ControlHandle(self.shared.clone())
    }

    /// From now on answers for these hosts.
    pub fn set_hosts(&self, hosts: Vec<Host>) {
        self.shared.state().hosts = hosts;
    }

    /// Sends single frames (without FCS) at once.
    pub fn send(&self, frames: &[Vec<u8>]) -> io::Result<()> {
        self.shared.state().told.extend(frames.iter().filter_map(|frame| told_by(frame)));
        let now = clock::now();
        frames.iter().for_each(|frame| self.shared.members().note_sent(now, frame));
        frames.iter().try_for_each(|frame| self.shared.socket.send(frame))
    }

    /// What it has seen so far.
    pub fn counts(&self) -> ControlCounts {
        ControlCounts {
            frames: self.shared.frames.load(Ordering::Relaxed),
            management_answers: self.shared.answers.load(Ordering::Relaxed),
            group_queries: self.shared.members().counts(),
        }
    }

    /// Replies of SNMP agents since they were taken last: whole frames without FCS.
    pub fn take_replies(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.shared.state().replies)
    }

    /// Asks for the hardware address of a neighbour, from an address of the tester's.
    pub fn resolve(
        &self,
        port: &str,
        from: (MacAddr, IpAddr),
        neighbour: IpAddr,
    ) -> Result<MacAddr, TesterError> {
        let question = question(from, neighbour).ok_or_else(|| {
            TesterError::BadTrial(format!("{} and {neighbour} are of different families", from.1))
        })?;
        let neighbour_here = (vec![], neighbour);
        self.shared.state().neighbours.remove(&neighbour_here);
        for _ in 0..QUESTIONS {
            self.shared
                .socket
                .send(&question)
                .map_err(|error| sys::port_error(port, "ask for a gateway's address", &error))?;
            let give_up = clock::now() + QUESTION_INTERVAL;
            while clock::now() < give_up {
                if let Some(mac) = self.shared.state().neighbours.get(&neighbour_here) {
                    return Ok(*mac);
                }
                clock::sleep(Duration::from_ms(2));
            }
        }
        Err(TesterError::System {
            what: format!("{port}: resolve the gateway {neighbour}"),
            detail: format!(
                "nobody answered {QUESTIONS} questions from {} ({}); check the address, the cable \
                 and the device's side",
                from.1, from.0
            ),
        })
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.shared.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn members(&self) -> MutexGuard<'_, QueryResponder> {
        self.members.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn listen(&self) {
        let mut buffer = vec![0; 65_536];
        while !self.end.load(Ordering::Relaxed) {
            self.answer_queries();
            match self.socket.receive(&mut buffer, self.patience_ms()) {
                Ok(Some(frame)) => self.take(frame),
                Ok(None) => {}
                // Down or gone: the trial's own threads report that.
                Err(_) => clock::sleep(AFTER_ERROR),
            }
        }
    }

    /// How long to wait for a frame: no longer than until the next answer is due.
    fn patience_ms(&self) -> i32 {
        let Some(due) = self.members().next_due() else { return LOOK_MS };
        let left_ms = due.since(clock::now()).as_ps().div_ceil(PS_IN_MS);
        left_ms.min(LOOK_MS as u64) as i32
    }

    /// Sends what the hosts have to answer by now. The querier repeats a query whose answer cannot be sent.
    fn answer_queries(&self) {
        let now = clock::now();
        loop {
            let answer = self.members().answer(now);
            let Some(frame) = answer else { return };
            drop(self.socket.send(&frame));
        }
    }

    fn take(&self, frame: &[u8]) {
        let Some(kind) = kind_of(frame) else { return };
        self.frames.fetch_add(1, Ordering::Relaxed);
        if kind == Kind::GroupQuery {
            return self.members().hear(clock::now(), frame);
        }
        let mut state = self.state();
        if kind == Kind::SnmpReply {
            if snmp::Repr::is_answer(frame, QUERY, INTERFACE) {
                self.answers.fetch_add(1, Ordering::Relaxed);
            }
            if state.replies.len() < REPLIES_KEPT {
                state.replies.push(frame.to_vec());
            }
            return;
        }
        let heard = match hear(&state.hosts, frame) {
            Heard::Nothing => hear_told(&state.told, frame),
            heard => heard,
        };
        match heard {
            // An answer that cannot be sent will be asked for again.
            Heard::Question(answer) => drop(self.socket.send(&answer)),
            Heard::Told(vlan, address, mac) => {
                state.neighbours.insert((vlan, address), mac);
            }
            Heard::Nothing => {}
        }
    }
}
