//! Cookies of the UDP form: who opens proves to be where he says before anything is kept of him.
//!
//! An OPEN that asks for it (`"cookie":true`) is answered with CHALLENGE, which has the connection's
//! identifier and a cookie; the OPEN comes again behind ANSWER, which has the cookie. A cookie is made of
//! a secret, the address and a span of time: the one who gives it keeps nothing. Formats: docs/netblt.md.

use crate::agreement::Proposal;
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;
use wire::netblt::{Packet, Repr};

const CHALLENGE: [u8; 4] = *b"NBe\x84";
const ANSWER: [u8; 4] = *b"NBe\x85";
const COOKIE_BYTES: usize = 16;
/// A cookie is good in the span in which it was made and in the next.
const SPAN_S: u64 = 30;
/// OPENs under way of which an answer may come.
const MAX_OPENING: usize = 256;
/// Where a packet of NETBLT says its type, and that of OPEN.
const TYPE: usize = 3;
const OPEN: u8 = 0;

type Cookie = [u8; COOKIE_BYTES];

/// What a datagram is, besides a packet of NETBLT.
#[derive(Debug)]
pub enum Said<'a> {
    /// A packet, of which nothing is known.
    Packet(&'a [u8]),
    /// An OPEN from where it says.
    Proven(&'a [u8]),
    /// To be answered, and that is all.
    Answer(Vec<u8>),
    /// The other end knows this connection of ours and wants to know that we are here.
    Challenged { connection_id: u32, answer: Vec<u8> },
    /// Nothing to us.
    Nothing,
}

/// Both sides of it.
#[derive(Debug)]
pub struct Cookies {
    secret: Option<[u8; 32]>,
    started: Instant,
    /// Whether others may open connections here.
    pub gives: bool,
    /// OPENs of ours, by whom they are for and their identifier, and the cookie for them.
    opening: BTreeMap<(SocketAddr, u32), (Vec<u8>, Option<Cookie>)>,
}

impl Cookies {
    pub fn new() -> Cookies {
        let mut secret = [0; 32];
        let secret = SystemRandom::new().fill(&mut secret).ok().map(|()| secret);
        Cookies { secret, started: Instant::now(), gives: false, opening: BTreeMap::new() }
    }

    fn made(&self, peer: SocketAddr, connection_id: u32, span: u64) -> Option<Cookie> {
        let address = match peer.ip() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        let mut hasher = blake3::Hasher::new_keyed(self.secret.as_ref()?);
        hasher.update(&address.octets()).update(&peer.port().to_be_bytes());
        hasher.update(&connection_id.to_be_bytes()).update(&span.to_be_bytes());
        hasher.finalize().as_bytes().first_chunk().copied()
    }
    fn span(&self) -> u64 {
        self.started.elapsed().as_secs() / SPAN_S
    }
    fn is_good(&self, peer: SocketAddr, connection_id: u32, cookie: &[u8]) -> bool {
        let span = self.span();
        [span, span.wrapping_sub(1)].into_iter().any(|span| {
            self.made(peer, connection_id, span).is_some_and(|made| blake3_equal(&made, cookie))
        })
    }
    fn challenge(&self, peer: SocketAddr, connection_id: u32) -> Said<'static> {
        let Some(cookie) = self.made(peer, connection_id, self.span()) else {
            return Said::Nothing;
        };
        Said::Answer([&CHALLENGE[..], &connection_id.to_be_bytes(), &cookie].concat())
    }

    /// What a datagram that came means.
    pub fn open<'a>(&mut self, peer: SocketAddr, datagram: &'a [u8]) -> Said<'a> {
        if let Some(rest) = datagram.strip_prefix(&CHALLENGE) {
            return self.challenged(peer, rest);
        }
        if let Some(rest) = datagram.strip_prefix(&ANSWER).filter(|_| self.gives) {
            let Some((cookie, packet)) = rest.split_at_checked(COOKIE_BYTES) else {
                return Said::Nothing;
            };
            let Some(connection_id) = asks(packet) else { return Said::Nothing };
            return match self.is_good(peer, connection_id, cookie) {
                true => Said::Proven(packet),
                false => self.challenge(peer, connection_id),
            };
        }
        match asks(datagram).filter(|_| self.gives) {
            Some(connection_id) => self.challenge(peer, connection_id),
            None => Said::Packet(datagram),
        }
    }

    /// Only who got our OPEN knows its identifier.
    fn challenged(&mut self, peer: SocketAddr, rest: &[u8]) -> Said<'static> {
        let Some((connection_id, cookie)) = rest.split_first_chunk::<4>() else {
            return Said::Nothing;
        };
        let connection_id = u32::from_be_bytes(*connection_id);
        let known = self.opening.get_mut(&(peer, connection_id));
        let (Some((packet, kept)), Ok(cookie)) = (known, Cookie::try_from(cookie)) else {
            return Said::Nothing;
        };
        *kept = Some(cookie);
        Said::Challenged { connection_id, answer: answer(&cookie, packet) }
    }

    /// What leaves instead of a packet, if anything: an OPEN of ours goes with the cookie for it, as it was sent last.
    pub fn send(&mut self, peer: SocketAddr, packet: &[u8]) -> Option<Vec<u8>> {
        let connection_id = asks(packet)?;
        // What makes it as long as a data packet makes room for the cookie: together they are no longer than it.
        let own = Repr::parse(packet).ok()?.to_vec().len();
        let room = packet.len().saturating_sub(ANSWER.len() + COOKIE_BYTES);
        let packet = &packet[..room.max(own).min(packet.len())];
        if self.opening.len() >= MAX_OPENING {
            self.opening.pop_first();
        }
        let opening = self.opening.entry((peer, connection_id));
        let (last, cookie) = opening.or_default();
        packet.clone_into(last);
        cookie.map(|cookie| answer(&cookie, packet))
    }
}

fn answer(cookie: &Cookie, packet: &[u8]) -> Vec<u8> {
    [&ANSWER[..], cookie, packet].concat()
}

/// Equal, in a time that does not tell where they differ.
fn blake3_equal(made: &Cookie, cookie: &[u8]) -> bool {
    made.len() == cookie.len() && made.iter().zip(cookie).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

/// The identifier of an OPEN that asks for a cookie.
fn asks(packet: &[u8]) -> Option<u32> {
    if packet.get(TYPE) != Some(&OPEN) {
        return None;
    }
    let Ok(Repr { packet: Packet::Open(open), .. }) = Repr::parse(packet) else { return None };
    Proposal::of(&open).ok().filter(|proposal| proposal.cookie).map(|_| open.connection_id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::netblt::{Header, Mode, Open};

    fn open(client_string: &str) -> Vec<u8> {
        let open = Open {
            connection_id: 77,
            buffer_size_bytes: 1,
            transfer_size_bytes: 0,
            data_packet_size_bytes: 1,
            burst_size_packets: 1,
            burst_interval_ms: 1,
            death_timer_s: 1,
            mode: Mode::Read,
            checksum_data: false,
            max_outstanding_buffers: 1,
            client_string: client_string.into(),
        };
        Repr { header: Header::new(1, 2), packet: Packet::Open(open) }.to_vec()
    }

    #[test]
    fn a_cookie_is_good_for_one_address_and_one_connection() {
        let [here, there]: [SocketAddr; 2] =
            ["192.0.2.1:5", "192.0.2.1:6"].map(|at| at.parse().unwrap());
        let server: SocketAddr = "192.0.2.9:20030".parse().unwrap();
        let (mut gives, mut asks) = (Cookies::new(), Cookies::new());
        gives.gives = true;
        let wish = open(r#"{"want":"memory","bytes":3,"cookie":true}"#);
        assert!(asks.send(server, &wish).is_none(), "there is none yet");
        let Said::Answer(challenge) = gives.open(here, &wish) else { panic!("challenged") };
        assert!(challenge.len() < wish.len());
        assert!(matches!(asks.open(there, &challenge), Said::Nothing), "nobody asked there");
        let Said::Challenged { connection_id: 77, answer } = asks.open(server, &challenge) else {
            panic!("answered")
        };
        assert!(matches!(gives.open(here, &answer), Said::Proven(packet) if packet == wish));
        assert!(matches!(gives.open(there, &answer), Said::Answer(_)), "for somebody else");
        assert_eq!(asks.send(server, &wish), Some(answer));
        // One that is as long as a data packet stays so with its cookie.
        let whole = [wish.clone(), vec![0; 1472 - wish.len()]].concat();
        let answer = asks.send(server, &whole).unwrap();
        assert!(answer.len() == 1472 && answer[20..].starts_with(&wish));
        assert!(matches!(gives.open(here, &answer), Said::Proven(packet) if packet.len() == 1452));
        let plain = open("file");
        assert!(matches!(gives.open(here, &plain), Said::Packet(_)), "others are not asked");
        assert!(matches!(asks.open(here, &wish), Said::Packet(_)), "who serves nothing gives none");
    }
}
