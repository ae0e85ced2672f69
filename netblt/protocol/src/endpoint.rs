//! Many connections behind one socket: told apart, woken in turn, bounded in number.

mod places;

use crate::connection::{Connection, Opening, closes};
use crate::event::Event;
use crate::guard::Secret;
use crate::identity;
use crate::strays::Strays;
use crate::terms::{Limits, Timing};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::ops::Bound;
use units::{Duration, Instant};
use wire::ecn::Codepoint;
use wire::netblt::{Header, Open, Packet, Repr, Text};

/// Characters of a reason to refuse: an answer is not to be longer than three times an OPEN.
const REASON_CHARS: usize = 80;

/// An address of an end.
pub trait Address: Copy + Ord {
    /// Who it belongs to, as far as it tells: addresses of one source share quotas.
    fn source(&self) -> u128 {
        0
    }
}
impl Address for () {}
impl Address for usize {
    fn source(&self) -> u128 {
        *self as u128
    }
}
impl Address for u32 {
    fn source(&self) -> u128 {
        (*self).into()
    }
}
/// An IPv4 address is a source, mapped into IPv6 or not. Of an IPv6 address the first 64 bits are: a network has
/// that many at least.
impl Address for SocketAddr {
    fn source(&self) -> u128 {
        match self.ip().to_canonical() {
            IpAddr::V4(v4) => u32::from(v4).into(),
            IpAddr::V6(v6) => u128::from(v6) >> 64 << 64,
        }
    }
}

/// What is known of where a packet came from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Path {
    /// What it says.
    Unproven,
    /// Its sender repeated a cookie that was sent there, and its end names connections.
    Named,
    /// It is authenticated.
    Sealed,
}

/// The name of a connection at its endpoint; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId(u64);

/// What strangers can make an endpoint hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndpointLimits {
    /// Connections at once, in both directions, without those that are half open. With a secret, those that
    /// others opened from one source are at most three quarters of it.
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
    /// Half-open connections of one source; one more, and its own oldest gives way.
    pub max_half_open_per_source: usize,
    /// Connections of one source in which nothing moves, though the other end should move it, for
    /// longer than `silent`; of more the oldest end. Where all places are taken, who is silent for a
    /// fifth of that gives way to others, and who is slow and has proved no path to others who have.
    pub max_silent_per_source: usize,
    /// See there.
    pub silent: Duration,
    /// The longest that nothing may move for in any connection.
    pub progress: Duration,
    /// With it, whoever opens a connection is taken for a stranger until the path is proved; without
    /// it everybody is trusted, and the limits on silence and progress do not hold.
    pub secret: Option<Secret>,
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
            max_half_open_per_source: 16,
            max_silent_per_source: 16,
            silent: Duration::from_secs(20),
            progress: Duration::from_secs(120),
            secret: None,
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
    path: Path,
    /// Of the datagram.
    bytes: usize,
    /// It is longer than it says.
    is_lengthened: bool,
}

impl<A: Copy> Request<A> {
    /// What is known of where it came from.
    pub fn path(&self) -> Path {
        self.path
    }
    /// What its answer names, if it names connections.
    fn name(&self) -> Option<u32> {
        (self.path == Path::Named).then_some(self.open.connection_id)
    }
    fn key(&self) -> Key<A> {
        Key { peer: self.peer, local_port: self.port, foreign_port: self.foreign_port }
    }
    /// Answers speak the version of the OPEN: the formats are the same in all.
    fn header(&self) -> Header {
        Header { version: self.version, ..Header::new(self.port, self.foreign_port) }
    }
}

/// A connection of which nothing was heard but OPENs.
#[derive(Clone, Copy, Debug)]
struct HalfOpen {
    began: Instant,
    source: u128,
    /// The path is proved.
    proven: bool,
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
    half_open: BTreeMap<ConnectionId, HalfOpen>,
    /// Those of them that gave way, until their clients were told.
    gone: BTreeSet<ConnectionId>,
    /// When each connection wants to be woken.
    agenda: BTreeSet<(Instant, ConnectionId)>,
    wake: BTreeMap<ConnectionId, Instant>,
    /// Connections that have something to tell.
    eventful: BTreeSet<ConnectionId>,
    /// Answers that no connection gives.
    answers: VecDeque<(A, Header, Packet<'static>, Option<u32>)>,
    remembered: VecDeque<(Instant, Key<A>, u32)>,
    strays: Strays<A>,
    next_id: u64,
    /// Timers run up to here and no further.
    heard_until: Instant,
    /// What is taken in may have waited for so long.
    late: Duration,
    /// What is taken in came as.
    came_as: Codepoint,
    /// The packet that was written last is to leave as.
    left_as: Codepoint,
    /// When to look next for connections in which nothing moves.
    watch: Instant,
}

impl<A: Address> Endpoint<A> {
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
            strays: Strays::new(),
            next_id: 0,
            heard_until: Instant::FAR_FUTURE,
            late: Duration::ZERO,
            came_as: Codepoint::NotCapable,
            left_as: Codepoint::NotCapable,
            watch: Instant::ZERO,
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
        let connection = self.connection_for(now, request, limits, client_string);
        // Nobody gives way to what makes no sense.
        let wanted = connection.is_ok() && !self.keys.contains_key(&key);
        let (source, proven) = (key.peer.source(), request.path > Path::Unproven);
        let place = self.place(now, source, proven);
        let room = wanted && place.is_ok() && self.make_room(source, proven);
        let place = place.and(if room { Ok(()) } else { Err(places::FULL) });
        match connection.and_then(|connection| place.map(|()| connection)) {
            Ok(connection) => {
                let id = self.add(key, connection);
                self.half_open.insert(id, HalfOpen { began: now, source, proven });
                Some(id)
            }
            Err(reason) => {
                self.answer(key.peer, header, Packet::Refused(reason.into()), request.name());
                None
            }
        }
    }

    fn connection_for(
        &self,
        now: Instant,
        request: &Request<A>,
        limits: Limits,
        string: &str,
    ) -> Result<Connection, &'static str> {
        let (header, timing, open) = (request.header(), self.timing, &request.open);
        let mut connection = match (self.limits.secret, request.path) {
            (Some(secret), Path::Unproven) => {
                let client = (string, secret, self.next_id, request.bytes);
                Connection::accept_unproven(now, header, limits, timing, open, client)?
            }
            _ => Connection::accept(now, header, limits, timing, open, string)?,
        };
        if request.path == Path::Named {
            connection.identify();
        }
        if request.is_lengthened {
            connection.answer_at_length();
        }
        Ok(connection)
    }

    /// The other end of a connection that is being opened names connections: it proved so by naming
    /// this one.
    pub fn identify(&mut self, peer: A, connection_id: u32) {
        let opening = |key: &Key<A>, connection: &Connection| {
            key.peer == peer
                && connection.connection_id() == connection_id
                && connection.is_active()
                && connection.terms().is_none()
        };
        for (key, connection) in self.connections.values_mut() {
            if opening(key, connection) {
                connection.identify();
            }
        }
    }

    /// The client does not agree.
    pub fn refuse(&mut self, request: &Request<A>, reason: &str) {
        self.undecided.remove(&request.key());
        let reason = match request.path {
            Path::Unproven => reason.chars().take(REASON_CHARS).collect(),
            _ => reason.to_owned(),
        };
        let refused = Packet::Refused(Text::from(reason));
        self.answer(request.peer, request.header(), refused, request.name());
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
    /// Datagrams that are taken in from now on may have waited for so long in this host: its process did
    /// not run. A sender takes no such wait for a queue on the path.
    pub fn note_lateness(&mut self, late: Duration) {
        self.late = late;
    }

    /// The IP header of datagrams that are taken in from now on says this.
    pub fn came_as(&mut self, codepoint: Codepoint) {
        self.came_as = codepoint;
    }
    /// The IP header of the packet that [`poll_transmit`](Endpoint::poll_transmit) wrote last is to say this.
    pub fn left_as(&self) -> Codepoint {
        self.left_as
    }

    /// Takes in a datagram; bytes that are no packet of NETBLT are dropped as if lost. Gives the
    /// connection that it was for.
    pub fn handle_datagram(&mut self, now: Instant, peer: A, bytes: &[u8]) -> Option<ConnectionId> {
        self.handle_datagram_by(Path::Unproven, now, peer, bytes)
    }

    /// The same for a datagram of which more is known.
    pub fn handle_datagram_by(
        &mut self,
        path: Path,
        now: Instant,
        peer: A,
        bytes: &[u8],
    ) -> Option<ConnectionId> {
        let Repr { header, packet } = Repr::parse(bytes).ok()?;
        let key = Key { peer, local_port: header.foreign_port, foreign_port: header.local_port };
        if let (Path::Named, Packet::Open(open)) = (path, &packet) {
            self.displace(&key, open.connection_id);
        }
        if closes(&packet) && path < Path::Sealed && self.is_stray(now, &key) {
            return None;
        }
        if let Some(&id) = self.keys.get(&key) {
            let (_, connection) = self.connections.get_mut(&id)?;
            connection.count_received(bytes.len());
            connection.note_lateness(self.late);
            connection.handle_datagram(now, &packet, (bytes, self.came_as));
            if !connection.is_half_open() && self.half_open.remove(&id).is_some() {
                self.settle(now, id);
            }
            self.look_after(id);
            return Some(id);
        }
        match packet {
            // Raw IP sockets hear what is meant for others on their host: who listens nowhere does
            // not answer for them.
            _ if self.listening.is_empty() => {}
            Packet::Open(open) => {
                self.handle_open(now, key, (path, answering(header)), (open, bytes));
            }
            // Who still asks to quit has missed that we did.
            Packet::Quit(_) => {
                // What it named is not longer than what came.
                let named = identity::named(bytes);
                self.answer(peer, answering(header), Packet::QuitAck, named);
            }
            _ => {}
        }
        None
    }

    /// Whether a packet that ends connections is not to be heeded. Of a peer that names none, ports and
    /// address are all there is: while such packets come for ports that have no connection, somebody
    /// sweeps them, and none of that address ends one. All connections with it are told.
    fn is_stray(&mut self, now: Instant, key: &Key<A>) -> bool {
        let first = Key { local_port: 0, foreign_port: 0, ..*key };
        let peers = self.keys.range(first..).take_while(|(other, _)| other.peer == key.peer);
        let ids: Vec<ConnectionId> = peers.map(|(_, id)| *id).collect();
        let meant = self.keys.get(key).and_then(|id| self.connections.get(id));
        let nameless = meant.map(|(_, connection)| connection.is_nameless());
        let stray = match nameless {
            None if ids.is_empty() => false,
            None => self.strays.came(now, key.peer),
            Some(nameless) => nameless && self.strays.is_swept(now, key.peer),
        };
        if nameless.is_none() || stray {
            for id in ids {
                self.connections.get_mut(&id).into_iter().for_each(|(_, c)| c.note_stray());
            }
        }
        stray
    }

    /// Somebody who is not where he said holds the ports of one who is.
    fn displace(&mut self, key: &Key<A>, connection_id: u32) {
        let Some(&id) = self.keys.get(key) else { return };
        let ghost = self.connections.get(&id).is_some_and(|(_, connection)| {
            !connection.is_active()
                && !connection.has_proven_path()
                && connection.connection_id() != connection_id
        });
        if ghost {
            self.evict(id);
        }
    }

    fn handle_open(
        &mut self,
        now: Instant,
        key: Key<A>,
        (path, header): (Path, Header),
        (open, datagram): (Open<'_>, &[u8]),
    ) {
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
            self.place(now, peer.source(), path > Path::Unproven).err()
        };
        if let Some(reason) = objection {
            let named = (path == Path::Named).then_some(open.connection_id);
            return self.answer(peer, header, Packet::Refused(reason.into()), named);
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
            path,
            bytes: datagram.len(),
            is_lengthened: identity::is_lengthened(datagram),
        });
    }

    /// Answers a stranger, unless too many wait for an answer already.
    fn answer(&mut self, peer: A, header: Header, packet: Packet<'static>, named: Option<u32>) {
        if self.answers.len() < self.limits.max_requests {
            self.answers.push_back((peer, header, packet, named));
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
        let outlived = outlived.map(|(_, half)| half.began + self.limits.half_open);
        let watched =
            (self.limits.secret.is_some() && !self.connections.is_empty()).then_some(self.watch);
        let due = self.agenda.first().map(|(at, _)| *at);
        due.into_iter().chain(outlived).chain(watched).min()
    }

    /// Writes the next packet that may leave now to the end of `out` and says where to. The
    /// connections take turns by the time at which they became due.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<A> {
        self.evict_outlived(now);
        self.watch(now);
        self.left_as = Codepoint::NotCapable;
        if let Some((peer, header, packet, named)) = self.answers.pop_front() {
            Repr { header, packet }.emit(out);
            if let Some(connection_id) = named {
                identity::name(connection_id, out);
            }
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
            self.left_as = connection.left_as();
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
