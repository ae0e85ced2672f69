//! A socket, an endpoint, and the clients of its connections: what turns packets into transfers.

use crate::agreement::{Answer, Layout, Offer, Proposal, Reply, heeds_marks};
use crate::backlog::Backlog;
use crate::cap::Cap;
use crate::clock::Clock;
use crate::job::Job;
use crate::lateness::{Lateness, LatenessSummary};
use crate::ledger::{Ledger, Owner};
use crate::path_mtu::path_mtu_bytes;
use crate::seal::Refusal;
use crate::socket::{MAX_SEND_BYTES, Received, Socket, Towards, sleep_precisely};
use netblt::{
    Address, Burst, Connection, ConnectionId, Counters, Ending, Endpoint, EndpointLimits, Event,
    Limits, Mode, Opening, Path, RateControl, Request, Secret, Timing,
};
use ring::rand::{SecureRandom, SystemRandom};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use units::{Duration, Instant};

/// Packets taken in between two looks at everything else.
const MAX_RECEIVED_AT_ONCE: usize = 256;
/// Packets sent in between two looks at everything else: nobody's burst keeps others waiting.
const MAX_SENT_AT_ONCE: usize = 256;
/// How soon to look at threads again that read or write.
const THREAD_PAUSE: Duration = Duration::from_us(500);
/// Who wakes up within this time found packets waiting.
const AT_ONCE: Duration = Duration::from_us(20);

/// What a reader proposes who does not know the path: a train that floods none, and then 2.8 Mb/s in
/// packets of 1,400 bytes. Offers, or an end that finds the rate, make it more.
const FIRST_READ: Burst = Burst { size_packets: 32, interval_ms: 128 };

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
    pub outcome: Ending,
    /// What happened.
    pub counters: Counters,
    /// From OPEN to the end.
    pub elapsed: Duration,
    /// Whether this end sent the data.
    pub sends: bool,
    /// How the transfer was cut into buffers; None if the two ends never agreed.
    pub layout: Option<Layout>,
    /// Bytes of the file, or of memory, that arrived, or are known to have arrived at the other
    /// end; neither padding nor digest.
    pub payload_bytes: u64,
    /// Of these, what this end has passed on to its file system, or knows to have arrived at the other end. Whether it
    /// is kept, where the transfer is not complete, its client knows.
    pub stored_bytes: u64,
    /// Digest of a file that is whole, verified and in its place at the end that received it.
    pub digest: Option<String>,
    /// The plain layout was used, in which nobody verifies what arrived.
    pub plain: bool,
}

impl Ended {
    /// RFC 1030 section 3: the bits transferred over the time from start to finish. None if nothing
    /// was.
    pub fn real_mbps(&self) -> Option<f64> {
        (self.payload_bytes > 0).then(|| mbps(self.payload_bytes, self.elapsed))
    }
    /// RFC 1030 section 3: "the rate at which data is transmitted as the transfer size approaches
    /// infinity". Here: the payload of all buffers but the last, over the time from the first
    /// packet of the first to that of the last; neither setup nor late recovery is in it. None if
    /// there was one buffer only.
    pub fn steady_state_mbps(&self) -> Option<f64> {
        let Counters { first_data_at, newest_buffer, newest_buffer_at, .. } = self.counters;
        let span = newest_buffer_at?.since(first_data_at?);
        let bytes = self.layout?.payload_before(newest_buffer.into());
        (bytes > 0 && span > Duration::ZERO).then(|| mbps(bytes, span))
    }
}

fn mbps(bytes: u64, span: Duration) -> f64 {
    bytes as f64 * 8.0 / span.as_secs_f64().max(1e-12) / 1e6
}

/// How far a transfer is.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Progress {
    /// Bytes of payload that arrived, or are known to have arrived at the other end.
    pub done_bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
    /// Packets sent again, or asked for again.
    pub repeated_packets: u64,
}

/// The fastest rate that a sender may find, and how.
type Finding = (Burst, RateControl);

/// A socket with everything that happens on it.
pub struct Station {
    socket: Socket,
    clock: Clock,
    backlog: Backlog,
    endpoint: Endpoint<SocketAddr>,
    limits: Limits,
    /// How connections that this station opens find their rate, if they do.
    adaptive: Option<RateControl>,
    /// Bytes of data in the packets that a connection of ours tries before those of the limits.
    packet_sizes: Vec<u16>,
    /// Connections whose packets may have to be shorter than what was said so far.
    sizing: BTreeSet<ConnectionId>,
    /// Those that are to, and are not open yet; none faster than this.
    to_adapt: BTreeMap<ConnectionId, Finding>,
    openers: BTreeMap<ConnectionId, Opener>,
    jobs: BTreeMap<ConnectionId, Job>,
    /// When each connection began, and whether this end sends.
    started: BTreeMap<ConnectionId, (Instant, bool)>,
    /// Memory that each connection which others opened may take.
    ledger: Ledger<ConnectionId>,
    /// Connections that are over, but not yet what their clients do with what came.
    concluding: Vec<(Ended, Job)>,
    ended: Vec<Ended>,
    /// When something was to leave for which this station waited.
    awaited: Option<Instant>,
    lateness: Lateness,
    /// What is read next may have waited for so long.
    late: Duration,
    cap: Cap,
}

impl Station {
    /// A station without connections.
    pub fn new(socket: Socket, endpoint: EndpointLimits, limits: Limits, timing: Timing) -> Self {
        sleep_precisely();
        let clock = Clock::start();
        // Who opens is a stranger, unless somebody knows better.
        let endpoint = EndpointLimits { secret: endpoint.secret.or_else(secret), ..endpoint };
        Station {
            socket,
            clock,
            backlog: Backlog::new(clock.now()),
            endpoint: Endpoint::new(endpoint, timing),
            limits,
            adaptive: None,
            packet_sizes: Vec::new(),
            sizing: BTreeSet::new(),
            to_adapt: BTreeMap::new(),
            openers: BTreeMap::new(),
            jobs: BTreeMap::new(),
            started: BTreeMap::new(),
            ledger: Ledger::new(),
            concluding: Vec::new(),
            ended: Vec::new(),
            awaited: None,
            lateness: Lateness::new(),
            late: Duration::ZERO,
            cap: Cap::none(),
        }
    }

    /// All connections together send at most so many bits a second, headers of UDP and IP aside.
    pub fn cap_rate(&mut self, bits_per_s: f64) {
        self.cap = Cap::of(bits_per_s, self.clock.now());
    }

    /// Of connections opened from now on, the end that sends finds the rate that fits the path,
    /// within the limits.
    pub fn find_rates(&mut self, rule: RateControl) {
        self.adaptive = Some(rule);
    }
    /// Connections opened from now on try data packets of these sizes, one after another, before those of the limits
    /// ([`Connection::try_packet_sizes`]).
    pub fn try_packet_sizes(&mut self, bytes: Vec<u16>) {
        self.packet_sizes = bytes;
    }
    /// Bytes of data in the packets of a connection; None before both ends have agreed.
    pub fn packet_size_bytes(&self, id: ConnectionId) -> Option<u16> {
        let terms = self.endpoint.connection(id)?.terms()?;
        Some(terms.data_packet_size_bytes)
    }
    /// How late what this station waited for has left.
    pub fn lateness(&self) -> Option<LatenessSummary> {
        self.lateness.summary()
    }
    /// What an other end said of our key, if it takes no packets of ours.
    pub fn refusal(&self) -> Option<Refusal> {
        self.socket.refusal()
    }
    /// Takes OPENs for this port.
    pub fn listen(&mut self, port: u16) {
        self.socket.listen();
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
            Offer::Memory { bytes } | Offer::Plain { bytes, .. } => *bytes,
            Offer::Get { .. } | Offer::Copy => 0,
        };
        let (most, mut limits) = (self.limits.burst, self.limits);
        if self.adaptive.is_some() && mode == Mode::Read {
            limits.burst = FIRST_READ.restricted_by(most);
        }
        let adaptive = self.adaptive.map(|_| (most.size_packets, most.interval_ms));
        let scavenge = self.adaptive == Some(RateControl::Scavenging);
        let l4s = self.adaptive == Some(RateControl::L4s);
        let (cookie, marks) = (self.socket.has_cookies(), self.socket.has_marks());
        let proposal = Proposal { offer: offer.clone(), adaptive, scavenge, l4s, cookie, marks };
        let client_string = &proposal.client_string();
        // What does not fit its field is unknown to it; the client string says it too.
        let transfer_size_bytes = u32::try_from(transfer_size_bytes).unwrap_or(0);
        let opening = Opening { connection_id, mode, transfer_size_bytes, client_string };
        let now = self.clock.now();
        let ports = (self.socket.key(peer), local_port, port);
        let id = self.endpoint.open(now, ports, limits, opening)?;
        if !self.packet_sizes.is_empty() {
            let sizes = &self.packet_sizes;
            self.endpoint.with(id, |connection| connection.try_packet_sizes(sizes));
            self.sizing.insert(id);
        }
        if let Some(rule) = self.adaptive {
            self.to_adapt.insert(id, (most, rule));
        }
        self.openers.insert(id, opener);
        self.started.insert(id, (now, mode == Mode::Write));
        Some(id)
    }

    /// What a connection sends leaves no faster than this from now on, headers aside; where the other end sends, it
    /// is asked to. It can be changed as often as one likes, up and down.
    pub fn bound_rate(&mut self, id: ConnectionId, most: Burst) {
        let now = self.clock.now();
        self.endpoint.with(id, |connection| connection.bound_rate(now, most));
    }
    /// Gives a client's command to a connection.
    pub fn quit(&mut self, id: ConnectionId, reason: &str) {
        let now = self.clock.now();
        self.endpoint.with(id, |connection| connection.quit(now, reason));
    }
    /// Breaks a connection off without waiting for the other end, which is told once. Gives how far it came; None if
    /// there is no such connection.
    pub fn give_up(&mut self, id: ConnectionId, reason: &str) -> Option<Ended> {
        self.endpoint.with(id, |connection| connection.abort(reason));
        self.act();
        // Who breaks off does so whatever becomes of this packet.
        let _ = self.transmit();
        if let Some(at) = self.concluding.iter().position(|(ended, _)| ended.id == id) {
            let (mut ended, _) = self.concluding.remove(at);
            ended.outcome = Ending::Aborted { by_peer: false, reason: reason.to_owned() };
            return Some(ended);
        }
        let at = self.ended.iter().position(|ended| ended.id == id)?;
        Some(self.ended.remove(at))
    }
    /// Connections that live, and those whose clients are not done with what came.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> {
        let concluding = self.concluding.iter().map(|(ended, _)| ended.id);
        self.endpoint.connections().map(|(id, _, _)| id).chain(concluding)
    }
    /// How far a transfer is; None before it began or after its end.
    pub fn progress(&self, id: ConnectionId) -> Option<Progress> {
        let job = self.jobs.get(&id)?;
        let (done_bytes, total_bytes) = (job.done_bytes(), job.layout().payload_bytes);
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
        self.size_packets();
        self.transmit()?;
        self.act();
        if self.backlog.is_behind() {
            return Ok(());
        }
        let now = self.clock.now();
        let due =
            self.endpoint.poll_timeout().unwrap_or(Instant::FAR_FUTURE).max(self.cap.free_at());
        let busy = |(id, job): (&ConnectionId, &Job)| {
            self.endpoint.connection(*id).is_some_and(|connection| job.is_busy(connection))
        };
        let busy = !self.concluding.is_empty() || self.jobs.iter().any(busy);
        let pause = if busy { THREAD_PAUSE.min(at_most) } else { at_most };
        let sends = self.jobs.values().any(|job| matches!(job, Job::Sending(_)));
        self.wait(now, due, pause, sends)
    }

    /// Waits until `due`, for a packet, or for `pause`. The kernel wakes nobody to the microsecond; a burst
    /// makes up for that.
    fn wait(&mut self, now: Instant, due: Instant, pause: Duration, sends: bool) -> io::Result<()> {
        let left = due.since(now);
        let precise = sends && left <= pause;
        self.awaited = (precise && left > Duration::ZERO).then_some(due);
        let asleep = left.min(pause);
        if asleep > Duration::ZERO {
            self.socket.wait(asleep)?;
        }
        // What came while this station was busy has waited since then, and so has what came after
        // the time at which it was to wake up. A packet that wakes it has not waited.
        let (woken, busy) = (self.clock.now(), now.since(self.backlog.heard_until()));
        self.late = match woken.since(now) {
            slept if slept > asleep => slept - asleep,
            slept if slept < AT_ONCE => busy + slept,
            _ => Duration::ZERO,
        };
        Ok(())
    }

    fn receive(&mut self) -> io::Result<()> {
        self.endpoint.note_lateness(self.late);
        for _ in 0..MAX_RECEIVED_AT_ONCE {
            let before = self.clock.now();
            let Some(Received { peer, packet, path, named, codepoint }) = self.socket.receive()?
            else {
                self.backlog.found_empty(before);
                break;
            };
            let now = self.clock.now();
            self.backlog.took_one(now);
            if let Some(connection_id) = named {
                self.endpoint.identify(peer, connection_id);
            }
            self.endpoint.came_as(codepoint);
            self.endpoint.handle_datagram_by(path, now, peer, packet);
        }
        self.endpoint.heard_until(self.backlog.heard_until());
        Ok(())
    }

    /// Memory is not for those of whom nothing was heard but OPENs, nor for those who move nothing, once it gets
    /// scarce for who asks.
    fn reclaim(&mut self, request: &Request<SocketAddr>) {
        let (now, owner) = (self.clock.now(), owner(request));
        while let Some(among) = self.ledger.scarce(owner) {
            let ledger = &self.ledger;
            if !self.endpoint.make_way(now, request, |id| ledger.held_bytes(id, among)) {
                return;
            }
            self.act();
        }
    }

    fn decide(&mut self, host: &mut dyn Host) {
        while let Some(request) = self.endpoint.poll_request() {
            self.reclaim(&request);
            let (owner, asked_bytes) = (owner(&request), request.open.buffer_size_bytes);
            let now = self.clock.now();
            match decision(host, &request) {
                Ok((answer, opener, adaptive)) => {
                    let sends = request.open.mode == Mode::Read;
                    let adapts = adaptive.is_some() && sends;
                    let marks = self.heeds_marks(request.open.client_string.as_bytes());
                    let answer = Reply { answer, adaptive: adapts, marks }.client_string();
                    let Some(limits) = self.ledger.afford(owner, self.limits, asked_bytes) else {
                        self.endpoint.refuse(&request, "no memory for more connections");
                        continue;
                    };
                    let id = self.endpoint.accept(now, &request, limits, &answer);
                    if let Some(id) = id {
                        let terms = self.endpoint.connection(id).and_then(Connection::terms);
                        let (size, most) = terms.map_or((0, 0), |terms| {
                            (terms.buffer_size_bytes, terms.max_outstanding_buffers)
                        });
                        self.ledger.enter(id, owner, size, most);
                        self.openers.insert(id, opener);
                        self.started.insert(id, (now, sends));
                        if sends {
                            self.sizing.insert(id);
                        }
                        adaptive.map(|most| self.to_adapt.insert(id, most));
                    }
                }
                Err(reason) => self.endpoint.refuse(&request, &reason),
            }
        }
    }

    /// A router may have said meanwhile that packets are too long: what this host knows of a path bounds those that are
    /// about to be agreed on.
    fn size_packets(&mut self) {
        let (now, envelope) = (self.clock.now(), self.socket.envelope());
        for id in std::mem::take(&mut self.sizing) {
            let found = self.endpoint.connections().find(|(other, _, _)| *other == id);
            let Some((_, peer, connection)) = found else { continue };
            let is_open = connection.terms().is_some() && !connection.is_half_open();
            if is_open {
                continue;
            }
            self.sizing.insert(id);
            if connection.sizes_packets_at().is_some_and(|at| at <= now)
                && let Some(mtu_bytes) = path_mtu_bytes(peer)
            {
                let bytes = envelope.data_bytes(peer, mtu_bytes);
                self.endpoint.with(id, |connection| connection.bound_packet_size(now, bytes));
            }
        }
    }

    /// Clients hear what happened and do their part.
    fn act(&mut self) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Opened => self.opened(id),
                Event::Received { index, data, last } => {
                    if let Some(job) = self.jobs.get_mut(&id) {
                        job.store(index, data, last);
                    }
                }
                Event::Sent { index, data } => {
                    if let Some(job) = self.jobs.get_mut(&id) {
                        job.take_back(index, data);
                    }
                }
                Event::Closed(outcome) => self.closed(id, outcome),
            }
            self.pump(id);
        }
        for id in self.jobs.keys().copied().collect::<Vec<_>>() {
            self.pump(id);
        }
        self.jobs.values_mut().for_each(Job::pass_on);
        self.conclude();
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
        let marks = self.heeds_marks(connection.peer_string());
        match opener(connection) {
            Ok(job) => {
                if job.confirms_last() {
                    self.endpoint.with(id, Connection::withhold_last_buffer);
                }
                self.jobs.insert(id, job);
                self.find_rate(id);
                if marks {
                    self.endpoint.with(id, Connection::heed_marks);
                }
            }
            Err(reason) => {
                self.endpoint.with(id, |connection| connection.abort(&reason));
            }
        }
    }

    /// Whether both ends know of marks, the other by its client string.
    fn heeds_marks(&self, peer_string: &[u8]) -> bool {
        self.socket.has_marks() && heeds_marks(peer_string)
    }

    /// The end that sends finds the rate; where it does not know how, the end that receives has it find one.
    fn find_rate(&mut self, id: ConnectionId) {
        let Some((most, rule)) = self.to_adapt.remove(&id) else { return };
        let now = self.clock.now();
        let sends = self.started.get(&id).is_some_and(|(_, sends)| *sends);
        self.endpoint.with(id, |connection| match (sends, connection.is_active()) {
            // What the receiver answered binds.
            (true, true) => connection.adapt_rate(now, rule),
            (true, false) => {
                connection.permit_rate(most);
                connection.adapt_rate(now, rule);
            }
            // The active end's OPEN says so.
            (false, false) => connection.adapt_rate(now, rule),
            (false, _) if Reply::adapts(connection.peer_string()) => {
                connection.permit_rate(most);
                connection.adapt_rate(now, rule);
            }
            (false, _) => connection.steer_offers(now, most),
        });
    }

    fn closed(&mut self, id: ConnectionId, outcome: Ending) {
        let Some(peer) = self.endpoint.connections().find(|found| found.0 == id).map(|c| c.1)
        else {
            return;
        };
        let counters = self.endpoint.connection(id).map(Connection::counters).unwrap_or_default();
        let mut job = self.jobs.remove(&id);
        // What came is kept, though the transfer may be over.
        if let Some(job) = &mut job {
            job.pass_on();
        }
        let (started, sends) = self.started.remove(&id).unwrap_or((Instant::ZERO, false));
        let elapsed = self.clock.now().since(started);
        self.openers.remove(&id);
        self.to_adapt.remove(&id);
        self.ledger.remove(id);
        let passive =
            self.endpoint.connection(id).is_some_and(|connection| !connection.is_active());
        if passive && outcome == Ending::NoAnswer {
            // Nothing began that could end.
            return;
        }
        let complete = outcome.is_complete();
        let layout = job.as_ref().map(Job::layout);
        let ended = Ended {
            id,
            peer,
            outcome,
            counters,
            elapsed,
            sends,
            layout,
            payload_bytes: job.as_ref().map_or(0, Job::done_bytes),
            stored_bytes: job.as_ref().map_or(0, Job::stored_bytes),
            digest: None,
            plain: layout.is_some_and(|layout| layout.plain),
        };
        match job.filter(|_| complete) {
            Some(job) => self.concluding.push((ended, job)),
            None => self.ended.push(ended),
        }
    }

    /// Clients of complete transfers come to an end.
    fn conclude(&mut self) {
        for (mut ended, mut job) in std::mem::take(&mut self.concluding) {
            match job.conclude() {
                None => {
                    self.concluding.push((ended, job));
                    continue;
                }
                Some(Err(reason)) => ended.outcome = Ending::Aborted { by_peer: false, reason },
                Some(Ok(())) => ended.digest = job.digest(),
            }
            self.ended.push(ended);
        }
    }

    /// Sends what may leave now; packets of one size to one peer in one call.
    fn transmit(&mut self) -> io::Result<()> {
        let mut batch = Batch::default();
        let now = self.clock.now();
        if let Some(awaited) = self.awaited.take_if(|awaited| *awaited <= now) {
            self.lateness.record(now.since(awaited));
        }
        for _ in 0..MAX_SENT_AT_ONCE {
            if !self.cap.is_free(now) {
                break;
            }
            let before = batch.bytes.len();
            let Some(peer) = self.endpoint.poll_transmit(now, &mut batch.bytes) else { break };
            self.cap.takes(batch.bytes.len() - before);
            let peer = (peer, self.endpoint.left_as());
            if !batch.takes(peer, before) {
                batch.flush(&mut self.socket, before)?;
            }
            batch.keep(peer);
        }
        let end = batch.bytes.len();
        batch.flush(&mut self.socket, end)
    }
}

/// What nobody foresees.
fn secret() -> Option<Secret> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    let (words, _) = bytes.as_chunks::<8>();
    Some(Secret([u64::from_be_bytes(words[0]), u64::from_be_bytes(words[1])]))
}

/// Whose memory a connection takes.
fn owner(request: &Request<SocketAddr>) -> Owner {
    match request.path() {
        Path::Unproven => Owner::Unproven,
        Path::Named | Path::Sealed => Owner::Source(request.peer.source()),
    }
}

fn decision(
    host: &mut dyn Host,
    request: &Request<SocketAddr>,
) -> Result<(Answer, Opener, Option<Finding>), String> {
    let proposal = Proposal::of(&request.open)?;
    let rule = proposal.rate_control();
    let Proposal { offer, adaptive, .. } = proposal;
    let (answer, opener) = host.decide(request.peer, request.open.mode, offer)?;
    let most =
        adaptive.map(|(size_packets, interval_ms)| (Burst { size_packets, interval_ms }, rule));
    Ok((answer, opener, most))
}

/// Packets of one size to one peer, one after another; a shorter one ends it.
#[derive(Default)]
struct Batch {
    peer: Option<Towards>,
    len: usize,
    bytes: Vec<u8>,
    /// Bytes of packets that are kept.
    kept: usize,
    ended: bool,
}

impl Batch {
    /// Whether the packet that was written behind the first `before` bytes may stay there.
    fn takes(&self, peer: Towards, before: usize) -> bool {
        let fits = self.bytes.len() <= MAX_SEND_BYTES && self.bytes.len() - before <= self.len;
        self.peer.is_none() || (self.peer == Some(peer) && fits && !self.ended)
    }
    /// The packet written last belongs to it.
    fn keep(&mut self, peer: Towards) {
        let len = self.bytes.len() - self.kept;
        if self.peer.is_none() {
            self.len = len;
        }
        self.peer = Some(peer);
        self.ended = len < self.len;
        self.kept = self.bytes.len();
    }
    /// Sends the first `end` bytes, which are all that was kept.
    fn flush(&mut self, socket: &mut Socket, end: usize) -> io::Result<()> {
        if let Some(peer) = self.peer.take() {
            socket.send_as(peer, &self.bytes[..end], self.len)?;
        }
        self.bytes.drain(..end);
        (self.kept, self.ended) = (0, false);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netblt::Codepoint;

    #[test]
    fn a_batch_is_sent_before_it_outgrows_a_call() {
        let peer = ("127.0.0.1:1".parse().unwrap(), Codepoint::NotCapable);
        let mut batch = Batch::default();
        let mut pushed = 0;
        loop {
            let before = batch.bytes.len();
            batch.bytes.resize(before + 1400, 0);
            if !batch.takes(peer, before) {
                break;
            }
            batch.keep(peer);
            pushed += 1;
        }
        assert_eq!(pushed, MAX_SEND_BYTES / 1400);
        let large = Batch { bytes: vec![0; 65_500], ..Batch::default() };
        assert!(large.takes(peer, 0), "a packet of any size alone");
    }

    #[test]
    fn a_batch_has_packets_of_one_size_and_one_peer_and_a_shorter_one_at_its_end() {
        let [a, b] = ["127.0.0.1:1", "127.0.0.1:2"]
            .map(|peer| (peer.parse().unwrap(), Codepoint::NotCapable));
        let mut batch = Batch::default();
        let write = |batch: &mut Batch, peer, len: usize| {
            let before = batch.bytes.len();
            batch.bytes.resize(before + len, 0);
            let takes = batch.takes(peer, before);
            match takes {
                true => batch.keep(peer),
                false => batch.bytes.truncate(before),
            }
            takes
        };
        assert!(write(&mut batch, a, 100) && write(&mut batch, a, 100));
        assert!(!write(&mut batch, b, 100), "another peer");
        assert!(!write(&mut batch, a, 101), "longer");
        assert!(!write(&mut batch, (a.0, Codepoint::Capable), 100), "may be marked");
        assert!(write(&mut batch, a, 40));
        assert!(!write(&mut batch, a, 40), "behind a shorter one");
    }
}
