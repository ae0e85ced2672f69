//! DDP, AppleTalk's datagrams, with the long header.

use super::Address;
use crate::DecodeError;
use crate::bytes::require;
use crate::ethernet::{EtherType, MacAddr};
use crate::snap::{self, Oui};
use crate::view::{field, view};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where that begins which the checksum is of: behind it.
const COVERED: usize = 4;
/// Bytes of the long header.
pub const HEADER_LEN: usize = 13;
/// The most data that a datagram carries, in bytes.
pub const MAX_DATA_LEN: usize = 586;
/// Routers that a datagram may pass.
pub const MAX_HOPS: u8 = 15;

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

field! { Kind(u8) }

view! {
    /// A datagram as bytes.
    pub struct View(WHAT, HEADER_LEN), check: Self::check, payload: Self::payload_range;
    /// Routers passed, and two bits above that are zero.
    hops / set_hops: u8 = 0 as u16[10..16];
    /// Bytes of the datagram, header included, 10 bits.
    length / set_length: u16 = 0 as u16[0..10];
    /// The checksum; 0 is none.
    checksum / set_checksum: u16 = 2;
    /// Network of the destination.
    dst_network / set_dst_network: u16 = 4;
    /// Network of the source.
    src_network / set_src_network: u16 = 6;
    /// Node of the destination.
    dst_node / set_dst_node: u8 = 8;
    /// Node of the source.
    src_node / set_src_node: u8 = 9;
    /// Socket of the destination.
    dst_socket / set_dst_socket: u8 = 10;
    /// Socket of the source.
    src_socket / set_src_socket: u8 = 11;
    /// What follows.
    kind / set_kind: Kind = 12;
}

impl<T: AsRef<[u8]>> View<T> {
    fn check(&self) -> Result<(), DecodeError> {
        let length = usize::from(self.length());
        if self.hops() > MAX_HOPS {
            return Err(DecodeError::malformed(WHAT, "bits above its hop count that are not zero"));
        }
        if !(HEADER_LEN..=HEADER_LEN + MAX_DATA_LEN).contains(&length) {
            return Err(DecodeError::malformed(WHAT, "length outside 13 to 599"));
        }
        require(WHAT, self.0.as_ref(), length)
    }
    fn payload_range(&self) -> std::ops::Range<usize> {
        HEADER_LEN..self.length().into()
    }
    /// Destination.
    pub fn dst(&self) -> Endpoint {
        let address = Address::new(self.dst_network(), self.dst_node());
        Endpoint { address, socket: self.dst_socket() }
    }
    /// Source.
    pub fn src(&self) -> Endpoint {
        let address = Address::new(self.src_network(), self.src_node());
        Endpoint { address, socket: self.src_socket() }
    }
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
        let view = View::new_checked(bytes)?;
        let repr = Repr {
            hops: view.hops(),
            dst: view.dst(),
            src: view.src(),
            kind: view.kind(),
            payload_len: view.length() - HEADER_LEN as u16,
        };
        Ok((repr, view.payload()))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        HEADER_LEN
    }
    /// Writes the header with checksum 0, "none". Panics where `bytes` is too short or the payload
    /// longer than [`MAX_DATA_LEN`].
    pub fn emit(&self, bytes: &mut [u8]) {
        assert!(usize::from(self.payload_len) <= MAX_DATA_LEN, "DDP carries at most 586 bytes");
        let mut view = View::new_unchecked(bytes);
        view.set_hops(self.hops & MAX_HOPS);
        view.set_length(HEADER_LEN as u16 + self.payload_len);
        view.set_checksum(0);
        view.set_dst_network(self.dst.address.network);
        view.set_src_network(self.src.address.network);
        view.set_dst_node(self.dst.address.node);
        view.set_src_node(self.src.address.node);
        view.set_dst_socket(self.dst.socket);
        view.set_src_socket(self.src.socket);
        view.set_kind(self.kind);
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
    let mut view = View::new_unchecked(datagram);
    let hops = view.hops();
    if hops >= MAX_HOPS {
        return false;
    }
    view.set_hops(hops + 1);
    true
}

/// Computes and writes the checksum of a whole datagram.
pub fn fill_checksum(datagram: &mut [u8]) {
    let checksum = checksum(&datagram[COVERED..]);
    View::new_unchecked(datagram).set_checksum(checksum);
}

/// Refuses a datagram, cut to its length, with a wrong checksum; 0 is none and never wrong.
pub fn verify(datagram: &[u8]) -> Result<(), DecodeError> {
    require(WHAT, datagram, HEADER_LEN)?;
    let found = View::new_unchecked(datagram).checksum();
    let expected = checksum(&datagram[COVERED..]);
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
            crate::bytes::put_u16(&mut bytes, 0, length);
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
