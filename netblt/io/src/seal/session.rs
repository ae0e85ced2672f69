//! Keys of a session (HKDF, RFC 5869, with SHA-256), and what is sealed with them (AES-256-GCM, RFC 5116:
//! processors have instructions for it, and it keeps up with packets that are not sealed).

use super::window::Window;
use super::{MAGIC, SEALED};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, Tag, UnboundKey};
use ring::hkdf;
use std::fmt;
use std::net::SocketAddr;

/// What an end throws in.
pub type Salt = [u8; 16];
/// What tells sessions apart on the wire; derived like the keys.
pub type SessionId = [u8; 8];

/// Kind, session and count, before what is sealed.
pub const HEADER_BYTES: usize = 4 + 8 + 8;
/// After what is sealed.
pub const TAG_BYTES: usize = 16;

const OF_HELLO: &[u8] = b"netanvil netblt 2 hello";
const OF_WELCOME: &[u8] = b"netanvil netblt 2 welcome";
const OF_SESSION: &[u8] = b"netanvil netblt 2 session";
const TO_SERVER: &[u8] = b"netanvil netblt 2 client to server";
const TO_CLIENT: &[u8] = b"netanvil netblt 2 server to client";

/// Packets that one key seals: with more, AES-GCM would tell more of them than RFC 9001 (section 6.6,
/// appendix B.1) has it tell of QUIC's, 2^-57 of an attacker's chance. Some 400 GB.
pub const MOST_SEALED: u64 = 1 << 28;

/// Bytes for one purpose.
pub fn derive<const N: usize>(key: &[u8; 32], salt: &[u8], purpose: &[u8]) -> [u8; N] {
    struct Bytes(usize);
    impl hkdf::KeyType for Bytes {
        fn len(&self) -> usize {
            self.0
        }
    }
    let mut bytes = [0; N];
    hkdf::Salt::new(hkdf::HKDF_SHA256, salt)
        .extract(key)
        .expand(&[purpose], Bytes(N))
        .and_then(|derived| derived.fill(&mut bytes))
        .expect("fewer than 255 blocks");
    bytes
}

fn cipher(key: &[u8; 32], salt: &[u8], purpose: &[u8]) -> LessSafeKey {
    let key = UnboundKey::new(&AES_256_GCM, &derive::<32>(key, salt, purpose));
    LessSafeKey::new(key.expect("a key of 32 bytes"))
}

/// Shows that a greeting was made by somebody who has the key. Its own key makes one tag only, which
/// is why the nonce can be zero.
pub struct Tagger(LessSafeKey);

impl Tagger {
    pub fn of_hello(key: &[u8; 32], client: &Salt) -> Tagger {
        Tagger(cipher(key, client, OF_HELLO))
    }
    pub fn of_welcome(key: &[u8; 32], client: &Salt, server: &Salt) -> Tagger {
        Tagger(cipher(key, &[*client, *server].concat(), OF_WELCOME))
    }
    /// The tag of a greeting without one.
    pub fn tag(&self, greeting: &[u8]) -> [u8; TAG_BYTES] {
        let tag = self.0.seal_in_place_separate_tag(nonce(0), Aad::from(greeting), &mut []);
        as_bytes(&tag.expect("short enough"))
    }
    /// Whether the tag at the end of a greeting is the one.
    pub fn is_good(&self, greeting: &[u8]) -> bool {
        let Some((rest, tag)) = greeting.split_last_chunk::<TAG_BYTES>() else { return false };
        self.0.open_in_place(nonce(0), Aad::from(rest), &mut { *tag }).is_ok()
    }
}

/// Keys between two ends, and what was sealed with them.
pub struct Session {
    pub id: SessionId,
    pub peer: SocketAddr,
    pub server_salt: Salt,
    client_salt: Salt,
    /// The other end has the keys: it is no echo.
    pub proven: bool,
    /// When it was used last.
    pub used: u64,
    ours: LessSafeKey,
    theirs: LessSafeKey,
    /// Packets sealed: the count of the next one.
    pub sealed: u64,
    came: Window,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({:02x?} with {})", self.id, self.peer)
    }
}

impl Session {
    /// Between salts; `client` if ours is the client's.
    pub fn new(
        key: &[u8; 32],
        peer: SocketAddr,
        client_salt: Salt,
        server_salt: Salt,
        client: bool,
        used: u64,
    ) -> Session {
        let salt = [client_salt, server_salt].concat();
        let (ours, theirs) = if client { (TO_SERVER, TO_CLIENT) } else { (TO_CLIENT, TO_SERVER) };
        Session {
            id: derive(key, &salt, OF_SESSION),
            peer,
            server_salt,
            client_salt,
            proven: client,
            used,
            ours: cipher(key, &salt, ours),
            theirs: cipher(key, &salt, theirs),
            sealed: 0,
            came: Window::new(),
        }
    }

    /// Whether this came of a HELLO of that salt, and nothing has come in it yet.
    pub fn is_answer_to(&self, peer: SocketAddr, client_salt: &Salt) -> bool {
        !self.proven && self.peer == peer && self.client_salt == *client_salt
    }

    /// Whether its key has sealed as many packets as it may.
    pub fn is_used_up(&self) -> bool {
        self.sealed >= MOST_SEALED
    }

    /// Adds a sealed packet to the end of `out`.
    pub fn seal(&mut self, packet: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&MAGIC);
        out.push(SEALED);
        out.extend_from_slice(&self.id);
        out.extend_from_slice(&self.sealed.to_be_bytes());
        out.extend_from_slice(packet);
        let (header, content) = out[start..].split_at_mut(HEADER_BYTES);
        let tag =
            self.ours.seal_in_place_separate_tag(nonce(self.sealed), Aad::from(header), content);
        out.extend_from_slice(&as_bytes(&tag.expect("short enough")));
        self.sealed += 1;
    }

    /// Opens a sealed packet in place; None if it came already, or is not genuine.
    pub fn open<'a>(&mut self, datagram: &'a mut [u8]) -> Option<&'a [u8]> {
        let (header, sealed) = datagram.split_at_mut_checked(HEADER_BYTES)?;
        let count = u64::from_be_bytes(header[12..].try_into().ok()?);
        if !self.came.may_come(count) {
            return None;
        }
        let content = self.theirs.open_in_place(nonce(count), Aad::from(header), sealed).ok()?;
        self.came.came(count);
        self.proven = true;
        Some(content)
    }
}

/// The session of a sealed packet.
pub fn id_of(datagram: &[u8]) -> Option<SessionId> {
    datagram.get(4..12)?.try_into().ok()
}

/// Four zero bytes and the count: no two packets of a key have the same.
fn nonce(count: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&count.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

fn as_bytes(tag: &Tag) -> [u8; TAG_BYTES] {
    tag.as_ref().try_into().expect("tags of AES-GCM have 16 bytes")
}
