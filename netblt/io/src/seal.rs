//! Sealed packets: the UDP form with authenticated encryption, from a key that both ends have.
//!
//! The formats are in docs/netblt.md. Two salts, one of each end, make the keys of a session: what
//! was recorded in an earlier one opens in no other. Each direction has its own key and counts its
//! packets, so that no nonce comes twice; a window of counts tells what came already.

mod code;
mod session;
mod window;

use code::{ANSWER, ASK, ASK_BYTES, Agreements, Asked, COOKIE};
use netblt::Header;
use ring::rand::{SecureRandom, SystemRandom};
use session::{Session, TAG_BYTES, Tagger};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use wire::netblt::{Packet, Repr};

pub use code::Code;
pub(crate) use session::{HEADER_BYTES, Salt, SessionId};

/// What sealing adds to a packet: a header and a tag.
pub const SEAL_BYTES: usize = HEADER_BYTES + TAG_BYTES;

/// What each of these datagrams begins with, before its kind. As plain NETBLT it would be of a type
/// that does not exist.
const MAGIC: [u8; 3] = *b"NBe";
const HELLO: u8 = 0x80;
const WELCOME: u8 = 0x81;
const SEALED: u8 = 0x82;
const REFUSAL: u8 = 0x83;
/// HELLO and WELCOME are of one length: nobody can have more sent to others than he sends.
const GREETING_BYTES: usize = 4 + 16 + 16 + TAG_BYTES;
const REFUSAL_BYTES: usize = 4 + 4 + 16;
/// Sessions at once; the one that was not used for longest goes first.
const MAX_SESSIONS: usize = 1024;
/// Sessions at once in which the other end has yet to show that it has the keys.
const MAX_UNPROVEN: usize = 64;
/// Packets that wait for a session.
const MAX_WAITING: usize = 8;
const KEY_NEEDED: &str =
    "this server takes sealed packets only: the same key is needed (--key-file)";

/// The key that both ends have: 32 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// From 64 hexadecimal digits, which may be followed by a line feed. A pass phrase is no key: it can
    /// be guessed.
    pub fn parse(text: &str) -> Result<Key, String> {
        let digits = text.trim_end().as_bytes();
        let value = |digit: u8| (digit as char).to_digit(16).map(|value| value as u8);
        let mut key = [0; 32];
        if digits.len() != 2 * key.len() {
            return Err(format!("a key has 64 hexadecimal digits, not {}", digits.len()));
        }
        for (byte, pair) in key.iter_mut().zip(digits.chunks(2)) {
            let (high, low) = (value(pair[0]), value(pair[1]));
            let (Some(high), Some(low)) = (high, low) else {
                return Err("a key has hexadecimal digits only".to_owned());
            };
            *byte = high << 4 | low;
        }
        Ok(Key(key))
    }
    /// A new one, and its digits; None if the system has no randomness.
    pub fn draw() -> Option<(Key, String)> {
        let mut key = [0; 32];
        SystemRandom::new().fill(&mut key).ok()?;
        let digits = key.iter().map(|byte| format!("{byte:02x}")).collect();
        Some((Key(key), digits))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Why the other end takes no packets of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It has no key.
    NoKey,
    /// It has another key.
    OtherKey,
    /// It has a key, and no code.
    NoCode,
    /// It has a code, and no key of ours.
    CodeNeeded,
    /// It has another code.
    OtherCode,
    /// It was given too many wrong codes.
    Burnt,
    /// It has a code, and twice in a row knew nothing of the key that was agreed on. Only we say so, of it.
    Forgetful,
}

impl Refusal {
    fn code(self) -> u8 {
        match self {
            Refusal::NoKey => 1,
            Refusal::OtherKey => 2,
            Refusal::NoCode => 3,
            Refusal::CodeNeeded | Refusal::Forgetful => 4,
            Refusal::OtherCode => 5,
            Refusal::Burnt => 6,
        }
    }
    fn of(code: u8) -> Option<Refusal> {
        use Refusal::*;
        let all = [NoKey, OtherKey, NoCode, CodeNeeded, OtherCode, Burnt];
        all.into_iter().find(|refusal| refusal.code() == code)
    }
    /// Whether asking once more would only use up another attempt.
    fn is_final(self) -> bool {
        matches!(self, Refusal::OtherCode | Refusal::Burnt | Refusal::Forgetful)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::NoKey => "the other end says that it has no key",
            Refusal::OtherKey => "the other end says that it has another key",
            Refusal::NoCode => "the other end says that it has a key, and no code",
            Refusal::CodeNeeded => "the other end says that it takes a code, and no key",
            Refusal::OtherCode => "the other end says that it has another code",
            Refusal::Burnt => "the other end says that it was given too many wrong codes, and has to be started anew",
            Refusal::Forgetful => {
                "the other end twice denied the key that was agreed on: somebody may be guessing the code"
            }
        })
    }
}

/// What became of a datagram that came in.
#[derive(Debug)]
pub struct Opened<'a> {
    /// A packet of NETBLT; empty if it was none.
    pub packet: &'a [u8],
    /// Datagrams that are to be sent back.
    pub answers: Vec<Vec<u8>>,
}

impl Opened<'_> {
    fn nothing() -> Self {
        Opened { packet: &[], answers: Vec::new() }
    }
    fn answer(datagram: Vec<u8>) -> Self {
        Opened { packet: &[], answers: vec![datagram] }
    }
}

/// We have said HELLO and wait for WELCOME.
#[derive(Debug)]
struct Greeting {
    salt: Salt,
    waiting: Vec<Vec<u8>>,
}

/// What both ends have.
#[derive(Debug)]
enum Secret {
    Nothing,
    Key(Key),
    Code(Box<Agreements>),
}

/// All sessions of a socket.
#[derive(Debug)]
pub struct Seals {
    secret: Secret,
    sessions: BTreeMap<SessionId, Session>,
    /// In which session packets to a peer are sealed.
    current: BTreeMap<SocketAddr, SessionId>,
    greetings: BTreeMap<SocketAddr, Greeting>,
    refusal: Option<Refusal>,
    /// An other end has denied a key that was agreed on, and none has had one since.
    denied: bool,
    out: Vec<u8>,
    /// Counts whatever happens, to tell what happened last.
    tick: u64,
}

impl Seals {
    /// Packets pass as they are.
    pub fn without_key() -> Seals {
        Seals {
            secret: Secret::Nothing,
            sessions: BTreeMap::new(),
            current: BTreeMap::new(),
            greetings: BTreeMap::new(),
            refusal: None,
            denied: false,
            out: Vec::new(),
            tick: 0,
        }
    }
    /// Packets are sealed, and none pass that are not.
    pub fn with_key(key: Key) -> Seals {
        Seals { secret: Secret::Key(key), ..Seals::without_key() }
    }
    /// The same with keys that a code leads to; None if the system has no randomness.
    pub fn with_code(code: Code) -> Option<Seals> {
        let secret = Secret::Code(Box::new(Agreements::by(code)?));
        Some(Seals { secret, ..Seals::without_key() })
    }
    /// Whether packets are sealed.
    pub fn is_keyed(&self) -> bool {
        !matches!(self.secret, Secret::Nothing)
    }
    /// The key between us and a peer.
    fn key(&self, peer: SocketAddr) -> Option<Key> {
        match &self.secret {
            Secret::Nothing => None,
            Secret::Key(key) => Some(key.clone()),
            Secret::Code(agreements) => agreements.key(peer).cloned(),
        }
    }
    /// What the other end said when we greeted it.
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }

    /// What to send instead of packets of `len` bytes, and the length of each; None to send them as
    /// they are. Without a session with `peer` that is HELLO, and the packets wait.
    pub fn seal(&mut self, peer: SocketAddr, packets: &[u8], len: usize) -> Option<(&[u8], usize)> {
        if !self.is_keyed() {
            return None;
        }
        self.out.clear();
        self.tick += 1;
        let session = self.current.get(&peer).and_then(|id| self.sessions.get_mut(id));
        let Some(session) = session.filter(|session| !session.is_used_up()) else {
            let Some(key) = self.key(peer) else {
                self.ask(peer, packets, len);
                return Some((&self.out, ASK_BYTES));
            };
            self.greet(peer, &key, packets, len);
            return Some((&self.out, GREETING_BYTES));
        };
        session.used = self.tick;
        packets.chunks(len).for_each(|packet| session.seal(packet, &mut self.out));
        Some((&self.out, len + HEADER_BYTES + TAG_BYTES))
    }

    /// Asks for a key, unless the other end has said that it is of no use.
    fn ask(&mut self, peer: SocketAddr, packets: &[u8], len: usize) {
        let Secret::Code(agreements) = &mut self.secret else { return };
        if self.refusal.is_some_and(Refusal::is_final) {
            return;
        }
        self.out = agreements.ask(peer, packets.chunks(len), MAX_WAITING).unwrap_or_default();
    }

    fn greet(&mut self, peer: SocketAddr, key: &Key, packets: &[u8], len: usize) {
        if self.greetings.len() >= MAX_UNPROVEN && !self.greetings.contains_key(&peer) {
            self.greetings.pop_first();
        }
        let greeting = match self.greetings.entry(peer) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(free) => {
                // Nothing leaves unsealed, also if the system has no randomness.
                let Some(salt) = random_salt() else { return };
                free.insert(Greeting { salt, waiting: Vec::new() })
            }
        };
        for packet in packets.chunks(len) {
            if greeting.waiting.len() < MAX_WAITING {
                greeting.waiting.push(packet.to_vec());
            }
        }
        let tagger = Tagger::of_hello(&key.0, &greeting.salt);
        self.out = greeting_of(HELLO, &greeting.salt, &Salt::default(), &tagger);
    }

    /// Opens a datagram in place.
    pub fn open<'a>(&mut self, peer: SocketAddr, datagram: &'a mut [u8]) -> Opened<'a> {
        self.tick += 1;
        let kind = datagram.strip_prefix(&MAGIC).and_then(|rest| rest.first().copied());
        match (kind, &mut self.secret) {
            (Some(HELLO | ASK), Secret::Nothing) => refuse(datagram, Refusal::NoKey.code()),
            (_, Secret::Nothing) => Opened { packet: datagram, answers: Vec::new() },
            (Some(ASK), Secret::Key(_)) => refuse(datagram, Refusal::NoCode.code()),
            (Some(ASK), Secret::Code(agreements)) => {
                match agreements.asked(peer, datagram, self.tick) {
                    Asked::Answer(answer) => Opened::answer(answer),
                    Asked::Burnt => refuse(datagram, Refusal::Burnt.code()),
                    Asked::Nothing => Opened::nothing(),
                }
            }
            (Some(COOKIE), Secret::Code(agreements)) => {
                let answers = agreements.prove(peer, datagram).into_iter().collect();
                Opened { packet: &[], answers }
            }
            (Some(ANSWER), Secret::Code(_)) => self.agreed(peer, datagram),
            (Some(HELLO), _) => self.hello(peer, datagram),
            (Some(WELCOME), _) => self.welcome(peer, datagram),
            (Some(SEALED), _) => self.sealed(peer, datagram),
            (Some(REFUSAL), _) => self.refused(peer, datagram),
            _ => plain(datagram),
        }
    }

    /// There is a key now: HELLO with it.
    fn agreed<'a>(&mut self, peer: SocketAddr, datagram: &[u8]) -> Opened<'a> {
        let Secret::Code(agreements) = &mut self.secret else { return Opened::nothing() };
        let waiting = agreements.conclude(peer, datagram, self.tick);
        let Some((waiting, key)) = waiting.zip(self.key(peer)) else { return Opened::nothing() };
        self.greetings.remove(&peer);
        waiting.iter().for_each(|packet| self.greet(peer, &key, packet, packet.len()));
        Opened { packet: &[], answers: vec![std::mem::take(&mut self.out)] }
    }

    /// Only who was greeted, or asked, can refuse: it knows the salt.
    fn refused<'a>(&mut self, peer: SocketAddr, datagram: &[u8]) -> Opened<'a> {
        if datagram.len() != REFUSAL_BYTES {
            return Opened::nothing();
        }
        let (code, salt) = (datagram[4], &datagram[8..]);
        let was_greeted = self.greetings.get(&peer).is_some_and(|greeting| greeting.salt == salt);
        let was_asked = match &self.secret {
            Secret::Code(agreements) => agreements.has_asked(peer, salt),
            _ => false,
        };
        if !(was_greeted || was_asked) {
            return Opened::nothing();
        }
        if let Secret::Code(agreements) = &mut self.secret {
            agreements.forget(peer);
            if code == Refusal::CodeNeeded.code() {
                // It was started anew, or had to forget the key: there will be another one. But our HELLO told it
                // whether it had guessed the code, so that nobody is believed twice.
                if was_greeted && std::mem::replace(&mut self.denied, true) {
                    self.refusal = Some(Refusal::Forgetful);
                }
                return Opened::nothing();
            }
        }
        self.refusal = Refusal::of(code).or(self.refusal);
        Opened::nothing()
    }

    /// The other end wants a session. It has shown that it has the key, or repeats what somebody
    /// else said: a session counts when a packet in it has come.
    fn hello<'a>(&mut self, peer: SocketAddr, datagram: &[u8]) -> Opened<'a> {
        let Some((client, _)) = salts(datagram) else { return Opened::nothing() };
        let Some(key) = self.key(peer) else {
            return refuse(datagram, Refusal::CodeNeeded.code());
        };
        if !Tagger::of_hello(&key.0, &client).is_good(datagram) {
            let Secret::Code(agreements) = &mut self.secret else {
                return refuse(datagram, Refusal::OtherKey.code());
            };
            agreements.count_guess(peer);
            return refuse(datagram, Refusal::OtherCode.code());
        }
        if let Secret::Code(agreements) = &mut self.secret {
            agreements.confirm(peer);
        }
        let known = |session: &&Session| session.is_answer_to(peer, &client);
        let server = match self.sessions.values().find(known) {
            Some(session) => session.server_salt,
            None => match random_salt() {
                Some(salt) => salt,
                None => return Opened::nothing(),
            },
        };
        let tagger = Tagger::of_welcome(&key.0, &client, &server);
        let session = Session::new(&key.0, peer, client, server, false, self.tick);
        self.make_room();
        self.sessions.entry(session.id).or_insert(session);
        Opened::answer(greeting_of(WELCOME, &client, &server, &tagger))
    }

    /// The other end has answered our HELLO: what waited can leave.
    fn welcome<'a>(&mut self, peer: SocketAddr, datagram: &[u8]) -> Opened<'a> {
        let (Some(key), Some((client, server))) = (self.key(peer), salts(datagram)) else {
            return Opened::nothing();
        };
        let awaited = self.greetings.get(&peer).is_some_and(|greeting| greeting.salt == client);
        if !awaited || !Tagger::of_welcome(&key.0, &client, &server).is_good(datagram) {
            return Opened::nothing();
        }
        let waiting = self.greetings.remove(&peer).map(|greeting| greeting.waiting);
        let mut session = Session::new(&key.0, peer, client, server, true, self.tick);
        let seal = |packet: Vec<u8>| {
            let mut sealed = Vec::new();
            session.seal(&packet, &mut sealed);
            sealed
        };
        let answers = waiting.into_iter().flatten().map(seal).collect();
        (self.refusal, self.denied) = (None, false);
        self.make_room();
        let id = session.id;
        self.sessions.insert(id, session);
        self.make_current(peer, id);
        Opened { packet: &[], answers }
    }

    fn sealed<'a>(&mut self, peer: SocketAddr, datagram: &'a mut [u8]) -> Opened<'a> {
        let Some(id) = session::id_of(datagram) else { return Opened::nothing() };
        let found = self.sessions.get_mut(&id).filter(|session| session.peer == peer);
        let Some(session) = found else { return Opened::nothing() };
        let was_proven = session.proven;
        let Some(packet) = session.open(datagram) else { return Opened::nothing() };
        session.used = self.tick;
        if !was_proven {
            self.make_current(peer, id);
        }
        Opened { packet, answers: Vec::new() }
    }

    /// From now on packets to this peer are sealed in this session; older ones of it end.
    fn make_current(&mut self, peer: SocketAddr, id: SessionId) {
        self.sessions.retain(|other, session| session.peer != peer || *other == id);
        self.current.insert(peer, id);
    }

    /// Forgets sessions, unproven ones first.
    fn make_room(&mut self) {
        for (proven, most) in [(false, MAX_UNPROVEN), (true, MAX_SESSIONS)] {
            let of_kind = || self.sessions.iter().filter(|(_, s)| s.proven == proven);
            let oldest = of_kind().min_by_key(|(_, session)| session.used).map(|(id, _)| *id);
            if let Some(id) = oldest.filter(|_| of_kind().count() >= most)
                && let Some(session) = self.sessions.remove(&id)
                && self.current.get(&session.peer) == Some(&id)
            {
                self.current.remove(&session.peer);
            }
        }
    }
}

/// Tells who has said HELLO, or ASK, why nothing comes of it.
fn refuse<'a>(datagram: &[u8], code: u8) -> Opened<'a> {
    let is_whole = matches!(datagram.len(), GREETING_BYTES | ASK_BYTES);
    let Some(salt) = datagram.get(4..20).filter(|_| is_whole) else { return Opened::nothing() };
    Opened::answer([&MAGIC[..], &[REFUSAL, code, 0, 0, 0], salt].concat())
}

/// A plain OPEN is told why nothing comes of it, in words that any NETBLT understands.
fn plain<'a>(datagram: &[u8]) -> Opened<'a> {
    match Repr::parse(datagram) {
        Ok(Repr { header, packet: Packet::Open(_) }) => {
            let Header { local_port, foreign_port, version } = header;
            let header = Header { local_port: foreign_port, foreign_port: local_port, version };
            Opened::answer(Repr { header, packet: Packet::Refused(KEY_NEEDED.into()) }.to_vec())
        }
        _ => Opened::nothing(),
    }
}

fn greeting_of(kind: u8, client: &Salt, server: &Salt, tagger: &Tagger) -> Vec<u8> {
    let mut greeting = [&MAGIC[..], &[kind], client, server].concat();
    let tag = tagger.tag(&greeting);
    greeting.extend_from_slice(&tag);
    greeting
}

/// The two salts of HELLO or WELCOME.
fn salts(greeting: &[u8]) -> Option<(Salt, Salt)> {
    if greeting.len() != GREETING_BYTES {
        return None;
    }
    let salt = |at: usize| greeting.get(at..at + 16)?.try_into().ok();
    Some((salt(4)?, salt(20)?))
}

fn random_salt() -> Option<Salt> {
    let mut salt = Salt::default();
    SystemRandom::new().fill(&mut salt).ok().map(|()| salt)
}

#[cfg(test)]
mod tests;
