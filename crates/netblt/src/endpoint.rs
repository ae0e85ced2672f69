//! Many connections behind one socket: told apart, woken in turn, bounded in number.

use crate::connection::{Connection, Opening};
use crate::event::Event;
use crate::terms::{Limits, Timing};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use units::{Duration, Instant};
use wire::netblt::{Header, Open, Packet, Repr, Text};

const FULL: &str = "no more connections";

/// The name of a connection at its endpoint; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId(u64);

/// What strangers can make an endpoint hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndpointLimits {
    /// Connections at once, in both directions, without those that are half open.
    pub max_connections: usize,
    /// OPENs that wait for the client's word at once; more are not listened to.
    pub max_requests: usize,
    /// Connections beside them of which nothing was heard but OPENs; one more, and the oldest of them
    /// gives way.
    pub max_half_open: usize,
    /// How long such a one is held at the most.
    pub half_open: Duration,
    /// Connections that are remembered after their end, so that a late OPEN of theirs opens no
    /// ghost; the oldest are forgotten first.
    pub max_remembered: usize,
    /// How long they are remembered.
    pub remember: Duration,
}

impl Default for EndpointLimits {
    fn default() -> Self {
        EndpointLimits {
            max_connections: 256,
            max_requests: 64,
            max_half_open: 64,
            half_open: Duration::from_secs(60),
            max_remembered: 4096,
            remember: Duration::from_secs(60),
        }
    }
}

/// One connection between two ports and two addresses (RFC 998 section 5.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key<A> {
    peer: A,
    local_port: u16,
    foreign_port: u16,
}

/// An OPEN that waits for the client's word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request<A> {
    /// Where it came from.
    pub peer: A,
    /// The port that it is for.
    pub port: u16,
    /// What it says.
    pub open: Open<'static>,
    foreign_port: u16,
    version: u8,
}

impl<A: Copy> Request<A> {
    fn key(&self) -> Key<A> {
        Key { peer: self.peer, local_port: self.port, foreign_port: self.foreign_port }
    }
    /// Answers speak the version of the OPEN: the formats are the same in all.
    fn header(&self) -> Header {
        Header { version: self.version, ..Header::new(self.port, self.foreign_port) }
    }
}

/// Connections of one host, told apart by address and ports. `A` is an address.
#[derive(Clone, Debug)]
pub struct Endpoint<A> {
    limits: EndpointLimits,
    timing: Timing,
    listening: BTreeSet<u16>,
    requests: VecDeque<Request<A>>,
    /// Keys of requests, waiting or in the client's hands.
    undecided: BTreeMap<Key<A>, u32>,
    connections: BTreeMap<ConnectionId, (Key<A>, Connection)>,
    keys: BTreeMap<Key<A>, ConnectionId>,
    /// Connections that nobody has proved to know of, with when they began: the oldest first.
    half_open: BTreeMap<ConnectionId, Instant>,
    /// Those of them that gave way, until their clients were told.
    gone: BTreeSet<ConnectionId>,
    /// When each connection wants to be woken.
    agenda: BTreeSet<(Instant, ConnectionId)>,
    wake: BTreeMap<ConnectionId, Instant>,
    /// Connections that have something to tell.
    eventful: BTreeSet<ConnectionId>,
    /// Answers that no connection gives.
    answers: VecDeque<(A, Header, Packet<'static>)>,
    remembered: VecDeque<(Instant, Key<A>, u32)>,
    next_id: u64,
    /// Timers run up to here and no further.
    heard_until: Instant,
}

impl<A: Copy + Ord> Endpoint<A> {
    /// An endpoint without connections that listens nowhere.
    pub fn new(limits: EndpointLimits, timing: Timing) -> Self {
        Endpoint {
            limits,
            timing,
            listening: BTreeSet::new(),
            requests: VecDeque::new(),
            undecided: BTreeMap::new(),
            connections: BTreeMap::new(),
            keys: BTreeMap::new(),
            half_open: BTreeMap::new(),
            gone: BTreeSet::new(),
            agenda: BTreeSet::new(),
            wake: BTreeMap::new(),
            eventful: BTreeSet::new(),
            answers: VecDeque::new(),
            remembered: VecDeque::new(),
            next_id: 0,
            heard_until: Instant::FAR_FUTURE,
        }
    }

    /// Connections that live.
    pub fn connections(&self) -> impl Iterator<Item = (ConnectionId, A, &Connection)> {
        self.connections.iter().map(|(id, (key, connection))| (*id, key.peer, connection))
    }
    /// A connection, to look at.
    pub fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections.get(&id).map(|(_, connection)| connection)
    }

    /// Takes OPENs for `port` from now on.
    pub fn listen(&mut self, port: u16) {
        self.listening.insert(port);
    }

    /// Opens a connection as the active end; None if one between these ports exists, or too many.
    pub fn open(
        &mut self,
        now: Instant,
        (peer, local_port, foreign_port): (A, u16, u16),
        limits: Limits,
        opening: Opening<'_>,
    ) -> Option<ConnectionId> {
        let key = Key { peer, local_port, foreign_port };
        let header = Header::new(local_port, foreign_port);
        if self.keys.contains_key(&key) || self.is_full() {
            return None;
        }
        Some(self.add(key, Connection::open(now, header, limits, self.timing, opening)))
    }

    /// The client agrees to a request. None if the OPEN makes no sense, or came too late: then it
    /// was refused. Where there is no room, the oldest connection gives way of which nothing was heard
    /// but OPENs.
    pub fn accept(
        &mut self,
        now: Instant,
        request: &Request<A>,
        limits: Limits,
        client_string: &str,
    ) -> Option<ConnectionId> {
        let (key, header) = (request.key(), request.header());
        self.undecided.remove(&key);
        let timing = self.timing;
        let connection =
            Connection::accept(now, header, limits, timing, &request.open, client_string);
        // Nobody gives way to what makes no sense.
        let wanted = connection.is_ok() && !self.keys.contains_key(&key);
        let free = wanted && !self.is_full() && self.make_room();
        match connection.and_then(|connection| free.then_some(connection).ok_or(FULL)) {
            Ok(connection) => {
                let id = self.add(key, connection);
                self.half_open.insert(id, now);
                Some(id)
            }
            Err(reason) => {
                self.answer(key.peer, header, Packet::Refused(reason.into()));
                None
            }
        }
    }

    /// The client does not agree.
    pub fn refuse(&mut self, request: &Request<A>, reason: &str) {
        self.undecided.remove(&request.key());
        let reason = Text::from(reason.to_owned());
        self.answer(request.peer, request.header(), Packet::Refused(reason));
    }

    /// Gives the client's commands to a connection. None if it is no more.
    pub fn with<R>(
        &mut self,
        id: ConnectionId,
        command: impl FnOnce(&mut Connection) -> R,
    ) -> Option<R> {
        let (_, connection) = self.connections.get_mut(&id)?;
        let result = command(connection);
        self.look_after(id);
        Some(result)
    }

    /// Who may never have heard our RESPONSE takes nobody's place.
    fn is_full(&self) -> bool {
        self.proven() >= self.limits.max_connections
    }
    fn proven(&self) -> usize {
        self.connections.len() - self.gone.len() - self.half_open.len()
    }

    /// Whether there is room for one more that is half open, now that the oldest such may have given
    /// way. Not while clients have yet to hear of so many.
    fn make_room(&mut self) -> bool {
        let EndpointLimits { max_half_open, .. } = self.limits;
        self.half_open.len() < max_half_open
            || (self.gone.len() < max_half_open && self.evict_half_open())
    }

    /// The oldest connection of which nothing was heard but OPENs gives way; false if there is none.
    /// Its peer is told, once, and may open another with the same identifier.
    pub fn evict_half_open(&mut self) -> bool {
        let Some((id, _)) = self.half_open.pop_first() else { return false };
        let Some((key, connection)) = self.connections.get_mut(&id) else { return false };
        connection.give_way();
        self.keys.remove(key);
        self.gone.insert(id);
        self.look_after(id);
        true
    }
    /// A connection has proved to be one. More may do so than there is room for.
    fn settle(&mut self, id: ConnectionId) {
        if self.proven() > self.limits.max_connections
            && let Some((_, connection)) = self.connections.get_mut(&id)
        {
            connection.abort(FULL);
        }
    }
    fn evict_outlived(&mut self, now: Instant) {
        let life = self.limits.half_open;
        while let Some((_, began)) = self.half_open.first_key_value()
            && *began + life <= now
        {
            self.evict_half_open();
        }
    }

    fn add(&mut self, key: Key<A>, connection: Connection) -> ConnectionId {
        let id = ConnectionId(self.next_id);
        self.next_id += 1;
        self.keys.insert(key, id);
        self.connections.insert(id, (key, connection));
        self.look_after(id);
        id
    }

    /// Notes when a connection is to be woken and whether it has something to tell.
    fn look_after(&mut self, id: ConnectionId) {
        let Some((_, connection)) = self.connections.get(&id) else { return };
        if let Some(old) = self.wake.remove(&id) {
            self.agenda.remove(&(old, id));
        }
        // One that is over is woken once more, to be forgotten.
        let over = connection.is_over().then_some(Instant::ZERO);
        if let Some(at) = over.or_else(|| connection.poll_timeout()) {
            self.wake.insert(id, at);
            self.agenda.insert((at, id));
        }
        if connection.has_events() {
            self.eventful.insert(id);
        }
    }

    /// Drops what is over, but remembers its name for a while.
    fn forget_if_over(&mut self, now: Instant, id: ConnectionId) {
        let over = |(_, connection): &(_, Connection)| connection.is_over();
        if !self.connections.get(&id).is_some_and(over) {
            return;
        }
        if let Some(old) = self.wake.remove(&id) {
            self.agenda.remove(&(old, id));
        }
        if self.eventful.contains(&id) {
            return;
        }
        let Some((key, connection)) = self.connections.remove(&id) else { return };
        self.half_open.remove(&id);
        if self.gone.remove(&id) {
            return;
        }
        self.keys.remove(&key);
        self.remembered.push_back((now + self.limits.remember, key, connection.connection_id()));
        if self.remembered.len() > self.limits.max_remembered {
            self.remembered.pop_front();
        }
    }

    /// Everything that came before `at` has been handed over, and perhaps not yet what came since: who
    /// wakes up late finds packets waiting, and nothing counts as missing that may be among them. From
    /// now on timers run up to this time only, however late it is; what may leave still does. An
    /// endpoint that never hears of it takes nothing to be waiting.
    pub fn heard_until(&mut self, at: Instant) {
        self.heard_until = at;
    }

    /// Takes in a datagram; bytes that are no packet of NETBLT are dropped as if lost. Gives the
    /// connection that it was for.
    pub fn handle_datagram(&mut self, now: Instant, peer: A, bytes: &[u8]) -> Option<ConnectionId> {
        let Repr { header, packet } = Repr::parse(bytes).ok()?;
        let key = Key { peer, local_port: header.foreign_port, foreign_port: header.local_port };
        if let Some(&id) = self.keys.get(&key) {
            let (_, connection) = self.connections.get_mut(&id)?;
            connection.count_received(bytes.len());
            connection.handle_packet(now, &packet);
            if !connection.is_half_open() && self.half_open.remove(&id).is_some() {
                self.settle(id);
            }
            self.look_after(id);
            return Some(id);
        }
        match packet {
            // Raw IP sockets hear what is meant for others on their host: who listens nowhere does
            // not answer for them.
            _ if self.listening.is_empty() => {}
            Packet::Open(open) => self.handle_open(now, key, answering(header), open),
            // Who still asks to quit has missed that we did.
            Packet::Quit(_) => self.answer(peer, answering(header), Packet::QuitAck),
            _ => {}
        }
        None
    }

    fn handle_open(&mut self, now: Instant, key: Key<A>, header: Header, open: Open<'_>) {
        let Key { peer, local_port: port, foreign_port } = key;
        self.remembered.retain(|(until, _, _)| *until > now);
        let known =
            |(_, old, id): &(Instant, Key<A>, u32)| *old == key && *id == open.connection_id;
        if self.undecided.contains_key(&key) {
            return;
        }
        let objection = if !self.listening.contains(&port) {
            Some("no client at this port")
        } else if self.remembered.iter().any(known) {
            Some("this identifier was used a moment ago")
        } else {
            self.is_full().then_some(FULL)
        };
        if let Some(reason) = objection {
            return self.answer(peer, header, Packet::Refused(reason.into()));
        }
        if self.undecided.len() >= self.limits.max_requests {
            return;
        }
        self.undecided.insert(key, open.connection_id);
        let open = open.into_owned();
        self.requests.push_back(Request {
            peer,
            port,
            open,
            foreign_port,
            version: header.version,
        });
    }

    /// Answers a stranger, unless too many wait for an answer already.
    fn answer(&mut self, peer: A, header: Header, packet: Packet<'static>) {
        if self.answers.len() < self.limits.max_requests {
            self.answers.push_back((peer, header, packet));
        }
    }

    /// The next OPEN that the client is to accept or refuse.
    pub fn poll_request(&mut self) -> Option<Request<A>> {
        self.requests.pop_front()
    }

    /// The next event of any connection. After [`Event::Closed`] the connection can be looked at
    /// until the next call of [`poll_transmit`](Endpoint::poll_transmit).
    pub fn poll_event(&mut self) -> Option<(ConnectionId, Event)> {
        while let Some(&id) = self.eventful.first() {
            let connection = self.connections.get_mut(&id).map(|(_, connection)| connection);
            if let Some(event) = connection.and_then(Connection::poll_event) {
                return Some((id, event));
            }
            self.eventful.remove(&id);
            self.look_after(id);
        }
        None
    }

    /// When to come back at the latest; a time that has passed means now, be it for an event.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let told = self.answers.is_empty() && self.requests.is_empty() && self.eventful.is_empty();
        if !told {
            return Some(Instant::ZERO);
        }
        let outlived = self.half_open.first_key_value();
        let outlived = outlived.map(|(_, began)| *began + self.limits.half_open);
        self.agenda.first().map(|(at, _)| *at).into_iter().chain(outlived).min()
    }

    /// Writes the next packet that may leave now to the end of `out` and says where to. The
    /// connections take turns by the time at which they became due.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<A> {
        self.evict_outlived(now);
        if let Some((peer, header, packet)) = self.answers.pop_front() {
            Repr { header, packet }.emit(out);
            return Some(peer);
        }
        let timers = now.min(self.heard_until);
        let mut from = Bound::Unbounded;
        // One whose timer has to wait stays where it is, and the next one has its turn.
        while let Some(&due) =
            self.agenda.range((from, Bound::Unbounded)).next().filter(|(at, _)| *at <= now)
        {
            let (_, id) = due;
            let (key, connection) = self.connections.get_mut(&id)?;
            connection.handle_timeout(timers);
            let (peer, sent) = (key.peer, connection.poll_transmit(now, out));
            self.look_after(id);
            self.forget_if_over(now, id);
            if sent {
                return Some(peer);
            }
            from = Bound::Excluded(due);
        }
        None
    }
}

/// The header of the answer to a packet.
fn answering(Header { version, local_port, foreign_port }: Header) -> Header {
    Header { version, local_port: foreign_port, foreign_port: local_port }
}
