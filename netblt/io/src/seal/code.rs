//! A short code in place of a key: both ends agree on a key of their own by SPAKE2 (Abdalla and Pointcheval, 2005; the crate
//! `spake2` has it over Ed25519). Who listens learns nothing with which to try codes, and each key is forgotten with the
//! program: what was recorded opens for nobody who learns the code later. Who takes part can try one code each time, and
//! the end that listens counts these.
//!
//! ```text
//! client                                  server
//!   ASK  id, no cookie, element  ------->
//!        <-------  COOKIE  id, cookie           nothing is kept, nothing computed
//!   ASK  id, cookie, element     ------->
//!        <-------  ANSWER  id, element          both have the key
//!   HELLO, WELCOME with it, as with any key
//! ```

use super::session::{Salt, derive};
use super::{Key, MAGIC, MAX_SESSIONS, MAX_UNPROVEN, random_salt};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use spake2::{Ed25519Group, Identity, Password, Spake2};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

pub const ASK: u8 = 0x88;
pub const COOKIE: u8 = 0x89;
pub const ANSWER: u8 = 0x8a;
/// An element of the group, and a byte that tells the sides apart.
const ELEMENT_BYTES: usize = 33;
/// HMAC-SHA256 of the address.
const COOKIE_BYTES: usize = 32;
/// The longest of the three: nobody can have more sent to others than he sends.
pub const ASK_BYTES: usize = 4 + 16 + COOKIE_BYTES + ELEMENT_BYTES;
const ANSWER_BYTES: usize = 4 + 16 + ELEMENT_BYTES;
/// So many wrong codes, and nobody is answered any more. Of 2^40 codes that finds one with a chance of 10^-11.
pub const MOST_GUESSES: u32 = 10;

/// What people read to each other: symbols that are not taken for one another.
const SYMBOLS: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
/// 40 bits.
const CODE_SYMBOLS: usize = 8;
const OF_CODE: &[u8] = b"netanvil netblt 2 code";

/// A code that both ends have, such as `7KQM-2XWD`.
#[derive(Clone, PartialEq, Eq)]
pub struct Code(String);

impl Code {
    /// A new one; None if the system has no randomness.
    pub fn draw() -> Option<Code> {
        let mut bytes = [0; CODE_SYMBOLS];
        SystemRandom::new().fill(&mut bytes).ok()?;
        // 32 symbols: each has the same chance.
        let symbol = |byte: &u8| char::from(SYMBOLS[usize::from(byte % 32)]);
        Some(Code(bytes.iter().map(symbol).collect()))
    }

    /// As it was read or typed: hyphens, blanks, and small letters make no difference.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Code, String> {
        let typed = text.chars().filter(|symbol| *symbol != '-' && !symbol.is_whitespace());
        let symbols: String = typed.map(|symbol| symbol.to_ascii_uppercase()).collect();
        let is_known = |byte| SYMBOLS.contains(&byte);
        if symbols.len() != CODE_SYMBOLS || !symbols.bytes().all(is_known) {
            return Err(format!(
                "a code has {CODE_SYMBOLS} letters or digits, as the other end has printed it, without 0, 1, I and O"
            ));
        }
        Ok(Code(symbols))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = self.0.split_at(CODE_SYMBOLS / 2);
        write!(f, "{first}-{second}")
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(..)")
    }
}

/// What the client of an agreement waits for.
struct Asking {
    id: Salt,
    cookie: [u8; COOKIE_BYTES],
    element: Vec<u8>,
    state: Spake2<Ed25519Group>,
    waiting: Vec<Vec<u8>>,
}

impl Asking {
    fn datagram(&self) -> Vec<u8> {
        [&MAGIC[..], &[ASK], &self.id, &self.cookie, &self.element].concat()
    }
}

/// A key agreed on.
struct Agreed {
    key: Key,
    /// Of the ASK that led to it, and what was answered: it may have to be said again.
    id: Salt,
    answer: Vec<u8>,
    used: u64,
    /// The other end has shown that it has it.
    confirmed: bool,
}

/// All keys that a code has led to.
pub struct Agreements {
    code: Code,
    cookies: hmac::Key,
    asking: BTreeMap<SocketAddr, Asking>,
    agreed: BTreeMap<SocketAddr, Agreed>,
    guesses: u32,
}

/// What an ASK leads to.
pub enum Asked {
    /// Datagrams that are to be sent back.
    Answer(Vec<u8>),
    /// Too many wrong codes came.
    Burnt,
    Nothing,
}

impl fmt::Debug for Agreements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Agreements({} keys, {} wrong codes)", self.agreed.len(), self.guesses)
    }
}

fn sides() -> [Identity; 2] {
    [Identity::new(b"netanvil netblt client"), Identity::new(b"netanvil netblt server")]
}

/// The key that the elements led to; its own identifier separates it from others of the same code.
fn key_of(state: Spake2<Ed25519Group>, element: &[u8], id: &Salt) -> Option<Key> {
    let shared: [u8; 32] = state.finish(element).ok()?.try_into().ok()?;
    Some(Key(derive(&shared, id, OF_CODE)))
}

impl Agreements {
    /// None if the system has no randomness.
    pub fn by(code: Code) -> Option<Agreements> {
        let cookies = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).ok()?;
        let (asking, agreed) = (BTreeMap::new(), BTreeMap::new());
        Some(Agreements { code, cookies, asking, agreed, guesses: 0 })
    }

    fn password(&self) -> Password {
        Password::new(self.code.0.as_bytes())
    }

    /// The key of a peer, if there is one.
    pub fn key(&self, peer: SocketAddr) -> Option<&Key> {
        self.agreed.get(&peer).map(|agreed| &agreed.key)
    }

    /// Whether a datagram of this identifier was ours.
    pub fn has_asked(&self, peer: SocketAddr, id: &[u8]) -> bool {
        self.asking.get(&peer).is_some_and(|asking| asking.id == id)
    }

    /// The client's first words, again each time that there is something to send; `packets` of it wait, up to `most`.
    pub fn ask(
        &mut self,
        peer: SocketAddr,
        packets: std::slice::Chunks<'_, u8>,
        most: usize,
    ) -> Option<Vec<u8>> {
        if !self.asking.contains_key(&peer) {
            if self.asking.len() >= MAX_UNPROVEN {
                self.asking.pop_first();
            }
            let [client, server] = sides();
            let (state, element) = Spake2::start_a(&self.password(), &client, &server);
            let (id, cookie, waiting) = (random_salt()?, [0; COOKIE_BYTES], Vec::new());
            self.asking.insert(peer, Asking { id, cookie, element, state, waiting });
        }
        let asking = self.asking.get_mut(&peer)?;
        let free = most.saturating_sub(asking.waiting.len());
        asking.waiting.extend(packets.take(free).map(<[u8]>::to_vec));
        Some(asking.datagram())
    }

    /// The server has not seen yet that we are where we say: the ASK that shows it.
    pub fn prove(&mut self, peer: SocketAddr, datagram: &[u8]) -> Option<Vec<u8>> {
        let asking = self.asking.get_mut(&peer)?;
        let (id, cookie) = parts(datagram)?;
        if asking.id != id {
            return None;
        }
        asking.cookie = cookie.try_into().ok()?;
        Some(asking.datagram())
    }

    /// The server's element has come: from now on there is a key. What waited for it.
    pub fn conclude(
        &mut self,
        peer: SocketAddr,
        datagram: &[u8],
        tick: u64,
    ) -> Option<Vec<Vec<u8>>> {
        let (id, element) = parts(datagram)?;
        if datagram.len() != ANSWER_BYTES || !self.has_asked(peer, &id) {
            return None;
        }
        let Asking { id, state, waiting, .. } = self.asking.remove(&peer)?;
        let key = key_of(state, element, &id)?;
        self.keep(peer, Agreed { key, id, answer: Vec::new(), used: tick, confirmed: true });
        Some(waiting)
    }

    /// Somebody has the code, or tries one.
    pub fn asked(&mut self, peer: SocketAddr, datagram: &[u8], tick: u64) -> Asked {
        let is_whole = datagram.len() == ASK_BYTES;
        let Some((id, rest)) = parts(datagram).filter(|_| is_whole) else { return Asked::Nothing };
        let (cookie, element) = rest.split_at(COOKIE_BYTES);
        if hmac::verify(&self.cookies, &owner(peer, &id), cookie).is_err() {
            let cookie = hmac::sign(&self.cookies, &owner(peer, &id));
            return Asked::Answer([&MAGIC[..], &[COOKIE], &id, cookie.as_ref()].concat());
        }
        if self.guesses >= MOST_GUESSES {
            return Asked::Burnt;
        }
        if let Some(agreed) = self.agreed.get(&peer).filter(|agreed| agreed.id == id) {
            return Asked::Answer(agreed.answer.clone());
        }
        let [client, server] = sides();
        let (state, own) = Spake2::start_b(&self.password(), &client, &server);
        let Some(key) = key_of(state, element, &id) else { return Asked::Nothing };
        let answer = [&MAGIC[..], &[ANSWER], &id, &own].concat();
        let confirmed = false;
        self.keep(peer, Agreed { key, id, answer: answer.clone(), used: tick, confirmed });
        Asked::Answer(answer)
    }

    /// The other end has the key.
    pub fn confirm(&mut self, peer: SocketAddr) {
        if let Some(agreed) = self.agreed.get_mut(&peer) {
            agreed.confirmed = true;
        }
    }

    /// The other end has another key than we: it had another code. After the last guess all keys go that nobody has
    /// shown to have: each may be one guess more, made before.
    pub fn count_guess(&mut self, peer: SocketAddr) {
        // Who has shown the key had the code. Another key from that address is somebody else's, and no guess.
        if self.agreed.get(&peer).is_none_or(|agreed| agreed.confirmed) {
            return;
        }
        self.agreed.remove(&peer);
        self.guesses += 1;
        if self.guesses >= MOST_GUESSES {
            self.agreed.retain(|_, agreed| agreed.confirmed);
        }
    }

    /// The other end knows nothing of the key: it was started anew, or had to forget it.
    pub fn forget(&mut self, peer: SocketAddr) {
        self.agreed.remove(&peer);
    }

    /// Keys that nobody has shown to have make room first.
    fn keep(&mut self, peer: SocketAddr, agreed: Agreed) {
        let order = |agreed: &Agreed| (agreed.confirmed, agreed.used);
        if self.agreed.len() >= MAX_SESSIONS
            && let Some((&oldest, _)) = self.agreed.iter().min_by_key(|(_, agreed)| order(agreed))
        {
            self.agreed.remove(&oldest);
        }
        self.agreed.insert(peer, agreed);
    }
}

/// The identifier, and what follows it.
fn parts(datagram: &[u8]) -> Option<(Salt, &[u8])> {
    let (_, rest) = datagram.split_at_checked(MAGIC.len() + 1)?;
    let (id, rest) = rest.split_first_chunk()?;
    Some((*id, rest))
}

/// For whom a cookie is.
fn owner(peer: SocketAddr, id: &Salt) -> Vec<u8> {
    [peer.to_string().as_bytes(), id].concat()
}
