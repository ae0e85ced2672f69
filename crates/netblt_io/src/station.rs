//! A socket, an endpoint, and the clients of its connections: what turns packets into transfers.

use crate::agreement::{self, Answer, Offer, Proposal};
use crate::clock::Clock;
use crate::job::Job;
use crate::socket::Socket;
use netblt::{
    Connection, ConnectionId, Counters, Endpoint, EndpointLimits, Event, Limits, Mode, Opening,
    Outcome, Request, Timing,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use units::{Duration, Instant};

/// Packets taken in between two looks at everything else.
const MAX_RECEIVED_AT_ONCE: usize = 256;
/// How soon to look at threads again that read or write.
const THREAD_PAUSE: Duration = Duration::from_us(500);

/// Makes a connection's client, once both ends have agreed.
pub type Opener = Box<dyn FnOnce(&Connection) -> Result<Job, String> + Send>;

/// Decides on what others ask for.
pub trait Host {
    /// The mode is the active end's. Gives the answer and the client, or why not.
    fn decide(
        &mut self,
        peer: SocketAddr,
        mode: Mode,
        offer: Offer,
    ) -> Result<(Answer, Opener), String>;
}

/// One end of a transfer that is over.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Which.
    pub id: ConnectionId,
    /// With whom.
    pub peer: SocketAddr,
    /// How.
    pub outcome: Outcome,
    /// What happened.
    pub counters: Counters,
    /// From OPEN to the end.
    pub elapsed: Duration,
    /// Digest of a file that was received and is in its place.
    pub digest: Option<String>,
}

impl Ended {
    /// RFC 1030 section 3: the bits transferred over the time from start to finish.
    pub fn real_mbps(&self) -> f64 {
        mbps(self.counters.data_bytes, self.elapsed)
    }
    /// RFC 1030 section 3: without setup, and without recovery after the last data was first sent.
    /// At a receiver: from the first data to the last that was new.
    pub fn steady_state_mbps(&self) -> Option<f64> {
        let Counters { first_data_at, last_new_data_at, data_bytes, .. } = self.counters;
        let span = last_new_data_at?.since(first_data_at?);
        (span > Duration::ZERO).then(|| mbps(data_bytes, span))
    }
}

fn mbps(bytes: u64, span: Duration) -> f64 {
    bytes as f64 * 8.0 / span.as_secs_f64().max(1e-12) / 1e6
}

/// How far a transfer is.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Progress {
    /// Bytes handed over, the digest's among them.
    pub done_bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
    /// Packets sent again, or asked for again.
    pub repeated_packets: u64,
}

/// A socket with everything that happens on it.
pub struct Station {
    socket: Socket,
    clock: Clock,
    endpoint: Endpoint<SocketAddr>,
    limits: Limits,
    /// Connections that this station opens find their rate.
    adaptive: bool,
    /// Those that are to, and are not open yet.
    to_adapt: BTreeSet<ConnectionId>,
    openers: BTreeMap<ConnectionId, Opener>,
    jobs: BTreeMap<ConnectionId, Job>,
    started: BTreeMap<ConnectionId, Instant>,
    ended: Vec<Ended>,
    memory: Vec<u8>,
    last_turn: Instant,
}

impl Station {
    /// A station without connections.
    pub fn new(socket: Socket, endpoint: EndpointLimits, limits: Limits, timing: Timing) -> Self {
        // Bursts are to leave when they are due, not when the kernel finds it convenient.
        let _ = nix::sys::prctl::set_timerslack(1);
        Station {
            socket,
            clock: Clock::start(),
            endpoint: Endpoint::new(endpoint, timing),
            limits,
            adaptive: false,
            to_adapt: BTreeSet::new(),
            openers: BTreeMap::new(),
            jobs: BTreeMap::new(),
            started: BTreeMap::new(),
            ended: Vec::new(),
            memory: Vec::new(),
            last_turn: Instant::ZERO,
        }
    }

    /// Of connections opened from now on, the end that sends finds the rate that fits the path,
    /// within the limits.
    pub fn find_rates(&mut self) {
        self.adaptive = true;
    }
    /// Takes OPENs for this port.
    pub fn listen(&mut self, port: u16) {
        self.endpoint.listen(port);
    }

    /// Opens a connection to `port` at `peer`.
    pub fn open(
        &mut self,
        peer: SocketAddr,
        (local_port, port): (u16, u16),
        (mode, connection_id): (Mode, u32),
        offer: &Offer,
        opener: Opener,
    ) -> Option<ConnectionId> {
        let transfer_size_bytes = match offer {
            Offer::Put { size, .. } => *size,
            Offer::Memory { bytes } => *bytes,
            Offer::Get { .. } => 0,
        };
        let proposal = Proposal { offer: offer.clone(), adaptive: self.adaptive };
        let client_string = &agreement::to_string(&proposal);
        // What does not fit its field is unknown to it; the client string says it too.
        let transfer_size_bytes = u32::try_from(transfer_size_bytes).unwrap_or(0);
        let opening = Opening { connection_id, mode, transfer_size_bytes, client_string };
        let now = self.clock.now();
        let ports = (self.socket.key(peer), local_port, port);
        let id = self.endpoint.open(now, ports, self.limits, opening)?;
        if self.adaptive {
            self.to_adapt.insert(id);
        }
        self.openers.insert(id, opener);
        self.started.insert(id, now);
        Some(id)
    }

    /// Gives a client's command to a connection.
    pub fn quit(&mut self, id: ConnectionId, reason: &str) {
        let now = self.clock.now();
        self.endpoint.with(id, |connection| connection.quit(now, reason));
    }
    /// Connections that live.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> {
        self.endpoint.connections().map(|(id, _, _)| id)
    }
    /// How far a transfer is; None before it began or after its end.
    pub fn progress(&self, id: ConnectionId) -> Option<Progress> {
        let (done_bytes, total_bytes) = self.jobs.get(&id)?.progress();
        let counters = self.endpoint.connection(id)?.counters();
        let repeated_packets = counters.data_packets_resent + counters.packets_asked_again;
        Some(Progress { done_bytes, total_bytes, repeated_packets })
    }
    /// What ended since the last call.
    pub fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    /// Takes in, acts, sends, and waits for what comes next, but not for longer than `at_most`.
    pub fn turn(&mut self, at_most: Duration, host: &mut dyn Host) -> io::Result<()> {
        self.receive()?;
        self.decide(host);
        self.act();
        self.transmit()?;
        self.act();
        let now = self.clock.now();
        let due = self.endpoint.poll_timeout().unwrap_or(Instant::FAR_FUTURE);
        let busy = |(id, job): (&ConnectionId, &Job)| {
            self.endpoint.connection(*id).is_some_and(|connection| job.is_busy(connection))
        };
        let pause = if self.jobs.iter().any(busy) { THREAD_PAUSE.min(at_most) } else { at_most };
        let wait = due.since(now).min(pause);
        if wait > Duration::ZERO { self.socket.wait(wait) } else { Ok(()) }
    }

    fn receive(&mut self) -> io::Result<()> {
        for _ in 0..MAX_RECEIVED_AT_ONCE {
            let Some((peer, packet)) = self.socket.receive(&mut self.memory)? else { break };
            self.endpoint.handle_datagram(self.clock.now(), peer, packet);
        }
        Ok(())
    }

    fn decide(&mut self, host: &mut dyn Host) {
        while let Some(request) = self.endpoint.poll_request() {
            let now = self.clock.now();
            match decision(host, &request) {
                Ok((answer, opener, adaptive)) => {
                    let answer = agreement::to_string(&answer);
                    let id = self.endpoint.accept(now, &request, self.limits, &answer);
                    if let Some(id) = id {
                        self.openers.insert(id, opener);
                        self.started.insert(id, now);
                        if adaptive {
                            self.to_adapt.insert(id);
                        }
                    }
                }
                Err(reason) => self.endpoint.refuse(&request, &reason),
            }
        }
    }

    /// Clients hear what happened and do their part.
    fn act(&mut self) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Opened => self.opened(id),
                Event::Received { index, data, .. } => {
                    if let Some(job) = self.jobs.get_mut(&id) {
                        job.store(index, data);
                    }
                }
                Event::Sent { data, .. } => {
                    if let Some(job) = self.jobs.get_mut(&id) {
                        job.take_back(data);
                    }
                }
                Event::Closed(outcome) => self.closed(id, outcome),
            }
            self.pump(id);
        }
        for id in self.jobs.keys().copied().collect::<Vec<_>>() {
            self.pump(id);
        }
    }

    fn pump(&mut self, id: ConnectionId) {
        let now = self.clock.now();
        if let Some(job) = self.jobs.get_mut(&id) {
            self.endpoint.with(id, |connection| job.pump(now, connection));
        }
    }

    fn opened(&mut self, id: ConnectionId) {
        let Some(connection) = self.endpoint.connection(id) else { return };
        let Some(opener) = self.openers.remove(&id) else { return };
        match opener(connection) {
            Ok(job) => {
                self.jobs.insert(id, job);
                if self.to_adapt.remove(&id) {
                    let now = self.clock.now();
                    self.endpoint.with(id, |connection| connection.adapt_rate(now));
                }
            }
            Err(reason) => {
                self.endpoint.with(id, |connection| connection.abort(&reason));
            }
        }
    }

    fn closed(&mut self, id: ConnectionId, mut outcome: Outcome) {
        let Some(peer) = self.endpoint.connections().find(|found| found.0 == id).map(|c| c.1)
        else {
            return;
        };
        let counters = self.endpoint.connection(id).map(Connection::counters).unwrap_or_default();
        let job = self.jobs.remove(&id);
        let mut digest = None;
        if let Some(mut job) = job.filter(|_| outcome.is_complete()) {
            if let Err(reason) = job.conclude() {
                outcome = Outcome::Aborted { by_peer: false, reason };
            }
            digest = job.digest();
        }
        let started = self.started.remove(&id).unwrap_or(Instant::ZERO);
        let elapsed = self.clock.now().since(started);
        self.openers.remove(&id);
        self.to_adapt.remove(&id);
        self.ended.push(Ended { id, peer, outcome, counters, elapsed, digest });
    }

    /// Sends what may leave now; packets of one size to one peer in one call.
    fn transmit(&mut self) -> io::Result<()> {
        let mut batch = Batch::default();
        let mut packet = Vec::new();
        let now = self.clock.now();
        while let Some(peer) = self.endpoint.poll_transmit(now, &mut packet) {
            if !batch.takes(peer, packet.len()) {
                batch.flush(&mut self.socket)?;
            }
            batch.push(peer, &packet);
            packet.clear();
        }
        self.last_turn = now;
        batch.flush(&mut self.socket)
    }
}

fn decision(
    host: &mut dyn Host,
    request: &Request<SocketAddr>,
) -> Result<(Answer, Opener, bool), String> {
    let Proposal { offer, adaptive } =
        agreement::from_bytes(request.open.client_string.as_bytes())?;
    let (answer, opener) = host.decide(request.peer, request.open.mode, offer)?;
    Ok((answer, opener, adaptive))
}

/// Packets of one size to one peer; a shorter one ends it.
#[derive(Default)]
struct Batch {
    peer: Option<SocketAddr>,
    len: usize,
    bytes: Vec<u8>,
    ended: bool,
}

impl Batch {
    fn takes(&self, peer: SocketAddr, len: usize) -> bool {
        self.peer.is_none() || (self.peer == Some(peer) && len <= self.len && !self.ended)
    }
    fn push(&mut self, peer: SocketAddr, packet: &[u8]) {
        if self.peer.is_none() {
            self.len = packet.len();
        }
        self.peer = Some(peer);
        self.ended = packet.len() < self.len;
        self.bytes.extend_from_slice(packet);
    }
    fn flush(&mut self, socket: &mut Socket) -> io::Result<()> {
        if let Some(peer) = self.peer.take() {
            socket.send(peer, &self.bytes, self.len)?;
        }
        self.bytes.clear();
        self.ended = false;
        Ok(())
    }
}
