//! DDP, AppleTalk's datagrams, with the long header.

use super::Address;
use crate::DecodeError;
use crate::bytes::{put_u16, require, u16_at};
use crate::ethernet::{EtherType, MacAddr};
use crate::snap::{self, Oui};
use serde::{Deserialize, Serialize};
use std::fmt;

const HOPS_LENGTH: usize = 0;
const CHECKSUM: usize = 2;
const DST_NETWORK: usize = 4;
const SRC_NETWORK: usize = 6;
const DST_NODE: usize = 8;
const SRC_NODE: usize = 9;
const DST_SOCKET: usize = 10;
const SRC_SOCKET: usize = 11;
const KIND: usize = 12;
/// Bytes of the long header.
pub const HEADER_LEN: usize = 13;
/// The most data that a datagram carries, in bytes.
pub const MAX_DATA_LEN: usize = 586;
/// Routers that a datagram may pass.
pub const MAX_HOPS: u8 = 15;

const LENGTH_MASK: u16 = 0x03ff;
const HOPS_SHIFT: u32 = 10;
const WHAT: &str = "DDP datagram";

/// What stands behind SNAP's LLC header before a datagram.
pub const SNAP: snap::Repr = snap::Repr { oui: Oui::APPLE, protocol: EtherType::APPLETALK };

/// The protocol above.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Kind(pub u8);

impl Kind {
    /// A routing table (RTMP).
    pub const RTMP_DATA: Kind = Kind(1);
    /// Names (NBP).
    pub const NAMES: Kind = Kind(2);
    /// Transactions (ATP).
    pub const TRANSACTIONS: Kind = Kind(3);
    /// Echo (AEP).
    pub const ECHO: Kind = Kind(4);
    /// Asks for a routing table (RTMP).
    pub const RTMP_REQUEST: Kind = Kind(5);
    /// Zones (ZIP).
    pub const ZONES: Kind = Kind(6);
}

/// An end of a datagram's way: a node's address and a socket there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Endpoint {
    /// Which node.
    pub address: Address,
    /// Which socket: see [`socket`].
    pub socket: u8,
}

/// Well-known sockets; 128 to 254 are for anybody.
pub mod socket {
    /// Routing tables.
    pub const RTMP: u8 = 1;
    /// Names.
    pub const NAMES: u8 = 2;
    /// The echoer.
    pub const ECHO: u8 = 4;
    /// Zones.
    pub const ZONES: u8 = 6;
    /// The first that is for anybody.
    pub const FIRST_DYNAMIC: u8 = 128;
}

/// A long header without its checksum, which needs the data: see [`verify`] and
/// [`fill_checksum`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Routers passed, up to [`MAX_HOPS`].
    pub hops: u8,
    /// Destination.
    pub dst: Endpoint,
    /// Source.
    pub src: Endpoint,
    /// What follows.
    pub kind: Kind,
    /// Bytes after the header, at most [`MAX_DATA_LEN`].
    pub payload_len: u16,
}

impl Repr {
    /// Reads a header and cuts the payload to the length it states.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        require(WHAT, bytes, HEADER_LEN)?;
        let hops_length = u16_at(bytes, HOPS_LENGTH);
        let length = usize::from(hops_length & LENGTH_MASK);
        let hops = (hops_length >> HOPS_SHIFT) as u8;
        if hops > MAX_HOPS {
            return Err(DecodeError::malformed(WHAT, "bits above its hop count that are not zero"));
        }
        if !(HEADER_LEN..=HEADER_LEN + MAX_DATA_LEN).contains(&length) {
            return Err(DecodeError::malformed(WHAT, "length outside 13 to 599"));
        }
        require(WHAT, bytes, length)?;
        let endpoint = |network: usize, node: usize, socket: usize| Endpoint {
            address: Address::new(u16_at(bytes, network), bytes[node]),
            socket: bytes[socket],
        };
        let repr = Repr {
            hops,
            dst: endpoint(DST_NETWORK, DST_NODE, DST_SOCKET),
            src: endpoint(SRC_NETWORK, SRC_NODE, SRC_SOCKET),
            kind: Kind(bytes[KIND]),
            payload_len: (length - HEADER_LEN) as u16,
        };
        Ok((repr, &bytes[HEADER_LEN..length]))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        HEADER_LEN
    }
    /// Writes the header with checksum 0, "none". Panics where `bytes` is too short or the payload
    /// longer than [`MAX_DATA_LEN`].
    pub fn emit(&self, bytes: &mut [u8]) {
        assert!(usize::from(self.payload_len) <= MAX_DATA_LEN, "DDP carries at most 586 bytes");
        let hops = u16::from(self.hops & MAX_HOPS) << HOPS_SHIFT;
        put_u16(bytes, HOPS_LENGTH, hops | (HEADER_LEN as u16 + self.payload_len));
        put_u16(bytes, CHECKSUM, 0);
        put_u16(bytes, DST_NETWORK, self.dst.address.network);
        put_u16(bytes, SRC_NETWORK, self.src.address.network);
        bytes[DST_NODE] = self.dst.address.node;
        bytes[SRC_NODE] = self.src.address.node;
        bytes[DST_SOCKET] = self.dst.socket;
        bytes[SRC_SOCKET] = self.src.socket;
        bytes[KIND] = self.kind.0;
    }
    /// A whole datagram with its checksum.
    pub fn datagram(&self, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_LEN];
        self.emit(&mut bytes);
        bytes.extend_from_slice(payload);
        fill_checksum(&mut bytes);
        bytes
    }
    /// A whole frame without FCS, with checksum.
    pub fn frame(&self, src: MacAddr, dst: MacAddr, payload: &[u8]) -> Vec<u8> {
        SNAP.frame(src, dst, &self.datagram(payload))
    }
}

/// Counts a hop in the datagram that starts `datagram`: what a router does when it forwards. The
/// checksum does not cover it. `false`, and nothing changed, where the hops are used up. The
/// caller has parsed the header.
pub fn count_hop(datagram: &mut [u8]) -> bool {
    let field = u16_at(datagram, HOPS_LENGTH);
    if field >> HOPS_SHIFT >= u16::from(MAX_HOPS) {
        return false;
    }
    put_u16(datagram, HOPS_LENGTH, field + (1 << HOPS_SHIFT));
    true
}

/// Computes and writes the checksum of a whole datagram.
pub fn fill_checksum(datagram: &mut [u8]) {
    let checksum = checksum(&datagram[DST_NETWORK..]);
    put_u16(datagram, CHECKSUM, checksum);
}

/// Refuses a datagram, cut to its length, with a wrong checksum; 0 is none and never wrong.
pub fn verify(datagram: &[u8]) -> Result<(), DecodeError> {
    require(WHAT, datagram, HEADER_LEN)?;
    let found = u16_at(datagram, CHECKSUM);
    let expected = checksum(&datagram[DST_NETWORK..]);
    match found == 0 || found == expected {
        true => Ok(()),
        false => Err(DecodeError::Checksum { what: WHAT, found, expected }),
    }
}

/// Of what follows the checksum field: each byte is added and the sum rotated left by a bit; a 0
/// is sent as FFFF, since 0 means none.
fn checksum(bytes: &[u8]) -> u16 {
    let sum =
        bytes.iter().fold(0u16, |sum, byte| sum.wrapping_add(u16::from(*byte)).rotate_left(1));
    if sum == 0 { 0xffff } else { sum }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Kind::RTMP_DATA => f.write_str("RTMP"),
            Kind::NAMES => f.write_str("NBP"),
            Kind::TRANSACTIONS => f.write_str("ATP"),
            Kind::ECHO => f.write_str("AEP"),
            Kind::RTMP_REQUEST => f.write_str("RTMP request"),
            Kind::ZONES => f.write_str("ZIP"),
            Kind(other) => write!(f, "type {other}"),
        }
    }
}
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.address, self.socket)
    }
}
impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DDP {} > {} hops {} {}", self.src, self.dst, self.hops, self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use proptest::prelude::*;

    /// An echo request from 100.10 to 200.20, whose checksum was found right by the algorithm of
    /// another implementation.
    fn echo_request() -> Vec<u8> {
        hex("0026959a00c80064140a0480040100010203040506070 8090a0b0c0d0e0f101112131415161 7")
    }

    fn header() -> Repr {
        Repr {
            hops: 0,
            dst: Endpoint { address: Address::new(200, 20), socket: socket::ECHO },
            src: Endpoint { address: Address::new(100, 10), socket: 128 },
            kind: Kind::ECHO,
            payload_len: 25,
        }
    }

    #[test]
    fn a_known_datagram_byte_by_byte() {
        let bytes = echo_request();
        let (repr, payload) = Repr::parse(&bytes).unwrap();
        assert_eq!(repr, header());
        assert_eq!(verify(&bytes), Ok(()));
        assert_eq!(repr.datagram(payload), bytes);
        assert_eq!(repr.to_string(), "DDP 100.10:128 > 200.20:4 hops 0 AEP");
        let (device, port) = (MacAddr([2, 0, 0x5e, 0x20, 0, 1]), MacAddr([2, 0, 0x5e, 0x10, 0, 1]));
        let frame = repr.frame(port, device, payload);
        assert_eq!(frame[..22], hex("02005e20000102005e100001002eaaaa03080007809b"));
        assert_eq!((&frame[22..], frame.len()), (&bytes[..], 60));
    }

    /// The hop count is outside of the checksum.
    #[test]
    fn hops_are_counted_up_to_15() {
        let mut bytes = echo_request();
        for hops in 1..=15 {
            assert!(count_hop(&mut bytes));
            assert_eq!(Repr::parse(&bytes).unwrap().0.hops, hops);
        }
        assert_eq!((bytes[0], bytes[1]), (0x3c, 0x26));
        assert!(!count_hop(&mut bytes));
        assert_eq!(verify(&bytes), Ok(()));
    }

    #[test]
    fn lengths_that_cannot_be_are_refused() {
        let with_length = |length: u16| {
            let mut bytes = echo_request();
            bytes.resize(700, 0);
            put_u16(&mut bytes, 0, length);
            Repr::parse(&bytes).map(|(repr, _)| repr.payload_len)
        };
        assert!(with_length(12).is_err());
        assert_eq!(with_length(599), Ok(586));
        assert!(with_length(600).is_err());
        assert!(with_length(0x8026).is_err(), "the top bits are zero");
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(hops in 0u8..16, dst: (u16, u8, u8), src: (u16, u8, u8),
                                     kind: u8, payload in proptest::collection::vec(0u8.., 0..586),
                                     damage: (usize, u8)) {
            let endpoint = |(network, node, socket)| {
                Endpoint { address: Address::new(network, node), socket }
            };
            let (dst, src) = (endpoint(dst), endpoint(src));
            let payload_len = payload.len() as u16;
            let repr = Repr { hops, dst, src, kind: Kind(kind), payload_len };
            let mut bytes = repr.datagram(&payload);
            prop_assert_eq!(Repr::parse(&bytes), Ok((repr, &payload[..])));
            prop_assert_eq!(verify(&bytes), Ok(()));
            let at = 4 + damage.0 % (bytes.len() - 4);
            bytes[at] ^= 1 << (damage.1 % 8);
            prop_assert!(verify(&bytes).is_err(), "one bit of damage is always found");
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes: Vec<u8>) {
            let _ = (Repr::parse(&bytes), verify(&bytes));
        }
    }
}
