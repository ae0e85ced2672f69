//! Novell IPX: the header and its four encapsulations on Ethernet; RIP and SAP in modules of
//! their own. All fields are big-endian. There is no address resolution: a node's address is its
//! MAC address.

pub mod rip;
pub mod sap;

use crate::DecodeError;
use crate::bytes::require;
use crate::ethernet::{self, EtherType, MacAddr};
use crate::llc::{self, Sap};
use crate::snap;
use crate::view::{field, view};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes of the header.
pub const HEADER_LEN: usize = 30;
/// Routers that a packet may pass.
pub const MAX_HOPS: u8 = 15;
/// The first field of every packet without checksum; raw 802.3 frames are known by it.
pub const NO_CHECKSUM: u16 = 0xffff;
const WHAT: &str = "IPX packet";

/// How IPX stands in an Ethernet frame. On one cable each is a network of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encapsulation {
    /// Right behind an 802.3 length: Novell's Ethernet_802.3, the first default.
    #[default]
    Raw,
    /// Behind EtherType 8137: Ethernet_II.
    EthernetII,
    /// Behind an 802.3 length and LLC E0 E0 03: Ethernet_802.2.
    Llc,
    /// Behind an 802.3 length and SNAP: Ethernet_SNAP.
    Snap,
}

impl Encapsulation {
    /// All four.
    pub const ALL: [Encapsulation; 4] =
        [Encapsulation::Raw, Encapsulation::EthernetII, Encapsulation::Llc, Encapsulation::Snap];

    /// A packet as a whole frame without FCS. Panics where the packet is too long for a length
    /// field.
    pub fn frame(self, src: MacAddr, dst: MacAddr, packet: &[u8]) -> Vec<u8> {
        match self {
            Encapsulation::Raw => {
                let ether_type = EtherType::length(packet.len());
                ethernet::Repr { dst, src, ether_type }.frame(packet)
            }
            Encapsulation::EthernetII => {
                ethernet::Repr { dst, src, ether_type: EtherType::IPX }.frame(packet)
            }
            Encapsulation::Llc => llc::Repr::datagram(Sap::IPX).frame(src, dst, packet),
            Encapsulation::Snap => snap::Repr::ether_type(EtherType::IPX).frame(src, dst, packet),
        }
    }
}

/// The protocol above.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Kind(pub u8);

impl Kind {
    /// Nothing in particular.
    pub const UNKNOWN: Kind = Kind(0);
    /// Routing information.
    pub const RIP: Kind = Kind(1);
    /// Packet exchange, of which SAP makes use.
    pub const PACKET_EXCHANGE: Kind = Kind(4);
    /// Sequenced packets.
    pub const SPX: Kind = Kind(5);
    /// NetWare core protocol.
    pub const NCP: Kind = Kind(17);
    /// NetBIOS, passed on by routers to all networks.
    pub const NETBIOS: Kind = Kind(20);
}

/// Well-known sockets; 4000 to 7FFF hexadecimal are for anybody.
pub mod socket {
    /// NetWare core protocol.
    pub const NCP: u16 = 0x0451;
    /// Service advertising.
    pub const SAP: u16 = 0x0452;
    /// Routing information.
    pub const RIP: u16 = 0x0453;
    /// Of test frames: one that decoders do not take for anything.
    pub const TEST: u16 = 0x5000;
}

/// An end of a packet's way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Endpoint {
    /// Network; 0 is the sender's own.
    pub network: u32,
    /// Node in it: its MAC address, or broadcast.
    pub node: MacAddr,
    /// Socket there: see [`socket`].
    pub socket: u16,
}

impl Endpoint {
    /// Network, node and socket.
    pub const fn new(network: u32, node: MacAddr, socket: u16) -> Endpoint {
        Endpoint { network, node, socket }
    }
}

field! { Kind(u8) }
field! { Endpoint { network: u32, node: MacAddr, socket: u16 } }

view! {
    /// A packet as bytes.
    pub struct View(WHAT, HEADER_LEN), check: Self::check, payload: Self::payload_range;
    /// The checksum, or [`NO_CHECKSUM`].
    checksum / set_checksum: u16 = 0;
    /// Bytes of the packet, header included.
    length / set_length: u16 = 2;
    /// Routers passed: the transport control field.
    hops / set_hops: u8 = 4;
    /// What follows.
    kind / set_kind: Kind = 5;
    /// Destination.
    dst / set_dst: Endpoint = 6;
    /// Source.
    src / set_src: Endpoint = 18;
}

impl<T: AsRef<[u8]>> View<T> {
    fn check(&self) -> Result<(), DecodeError> {
        let length = usize::from(self.length());
        if length < HEADER_LEN {
            return Err(DecodeError::malformed(WHAT, "length below that of its header"));
        }
        require(WHAT, self.0.as_ref(), length)
    }
    fn payload_range(&self) -> std::ops::Range<usize> {
        HEADER_LEN..self.length().into()
    }
}

/// An IPX header. Its checksum is not read, and written as none: few ever computed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Routers passed: the transport control field.
    pub hops: u8,
    /// What follows.
    pub kind: Kind,
    /// Destination.
    pub dst: Endpoint,
    /// Source.
    pub src: Endpoint,
    /// Bytes after the header.
    pub payload_len: u16,
}

impl Repr {
    /// As a node sends it.
    pub const fn new(kind: Kind, src: Endpoint, dst: Endpoint, payload_len: u16) -> Repr {
        Repr { hops: 0, kind, dst, src, payload_len }
    }
    /// Reads a header and cuts the payload to the length it states.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let view = View::new_checked(bytes)?;
        let repr = Repr {
            hops: view.hops(),
            kind: view.kind(),
            dst: view.dst(),
            src: view.src(),
            payload_len: view.length() - HEADER_LEN as u16,
        };
        Ok((repr, view.payload()))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        HEADER_LEN
    }
    /// Writes the header. Panics where `bytes` is too short or the payload too long for the
    /// length field.
    pub fn emit(&self, bytes: &mut [u8]) {
        let mut view = View::new_unchecked(bytes);
        view.set_checksum(NO_CHECKSUM);
        view.set_length(self.payload_len + HEADER_LEN as u16);
        view.set_hops(self.hops);
        view.set_kind(self.kind);
        view.set_dst(self.dst);
        view.set_src(self.src);
    }
    /// A whole packet.
    pub fn packet(&self, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_LEN];
        self.emit(&mut bytes);
        bytes.extend_from_slice(payload);
        bytes
    }
}

/// A broadcast on the sender's own cable, from and to one socket, as a frame without FCS.
fn broadcast(
    encapsulation: Encapsulation,
    kind: Kind,
    (network, node): (u32, MacAddr),
    socket: u16,
    message: &[u8],
) -> Vec<u8> {
    let src = Endpoint::new(network, node, socket);
    let dst = Endpoint::new(network, MacAddr::BROADCAST, socket);
    let packet = Repr::new(kind, src, dst, message.len() as u16).packet(message);
    encapsulation.frame(node, MacAddr::BROADCAST, &packet)
}

/// Counts a hop in the packet that starts `packet`: what a router does when it forwards. `false`,
/// and nothing changed, where the hops are used up. The caller has parsed the header.
pub fn count_hop(packet: &mut [u8]) -> bool {
    let mut view = View::new_unchecked(packet);
    let hops = view.hops();
    if hops >= MAX_HOPS {
        return false;
    }
    view.set_hops(hops + 1);
    true
}

impl fmt::Display for Encapsulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Encapsulation::Raw => "raw 802.3",
            Encapsulation::EthernetII => "Ethernet II",
            Encapsulation::Llc => "802.2",
            Encapsulation::Snap => "SNAP",
        })
    }
}
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Kind::RIP => f.write_str("RIP"),
            Kind::PACKET_EXCHANGE => f.write_str("PEP"),
            Kind::SPX => f.write_str("SPX"),
            Kind::NCP => f.write_str("NCP"),
            Kind::NETBIOS => f.write_str("NetBIOS"),
            Kind(other) => write!(f, "type {other}"),
        }
    }
}
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.node.0;
        let (network, socket) = (self.network, self.socket);
        write!(f, "{network:08x}.{a:02x}{b:02x}{c:02x}{d:02x}{e:02x}{g:02x}:{socket:04x}")
    }
}
impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IPX {} > {} hops {} {}", self.src, self.dst, self.hops, self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use proptest::prelude::*;

    const DEVICE: MacAddr = MacAddr([2, 0, 0x5e, 0x20, 0, 1]);
    const A: MacAddr = MacAddr([2, 0, 0x5e, 0x10, 0, 1]);
    const B: MacAddr = MacAddr([2, 0, 0x5e, 0x10, 0, 2]);

    /// From network 1 to network 2, with as much data as a frame of 64 bytes holds. Each was read
    /// by tshark.
    #[test]
    fn the_four_encapsulations_byte_by_byte() {
        let addresses = "0000000202005e10000250000000000102005e1000015000";
        let known = [
            (Encapsulation::Raw, 16, "002e", "ffff002e0000"),
            (Encapsulation::EthernetII, 16, "8137", "ffff002e0000"),
            (Encapsulation::Llc, 13, "002ee0e003", "ffff002b0000"),
            (Encapsulation::Snap, 8, "002eaaaa030000008137", "ffff00260000"),
        ];
        for (encapsulation, data_len, before, start) in known {
            let data: Vec<u8> = (0..data_len).collect();
            let mut expected = hex(&format!("02005e20000102005e100001{before}{start}{addresses}"));
            expected.extend_from_slice(&data);
            let src = Endpoint::new(1, A, socket::TEST);
            let dst = Endpoint::new(2, B, socket::TEST);
            let repr = Repr::new(Kind::UNKNOWN, src, dst, data_len.into());
            let packet = repr.packet(&data);
            let frame = encapsulation.frame(A, DEVICE, &packet);
            assert_eq!(frame, expected, "{encapsulation}");
            assert_eq!(Repr::parse(&frame[60 - packet.len()..]), Ok((repr, &data[..])));
        }
    }

    #[test]
    fn hops_are_counted_up_to_15() {
        let src = Endpoint::new(1, A, socket::TEST);
        let mut packet = Repr::new(Kind::UNKNOWN, src, src, 0).packet(&[]);
        for hops in 1..=15 {
            assert!(count_hop(&mut packet));
            assert_eq!(packet[4], hops);
        }
        assert!(!count_hop(&mut packet));
        assert_eq!(packet[4], 15);
    }

    #[test]
    fn an_address_in_a_line() {
        let endpoint = Endpoint::new(0x1f, A, socket::TEST);
        assert_eq!(endpoint.to_string(), "0000001f.02005e100001:5000");
    }

    fn any_endpoint() -> impl Strategy<Value = Endpoint> {
        any::<(u32, [u8; 6], u16)>()
            .prop_map(|(network, node, socket)| Endpoint::new(network, MacAddr(node), socket))
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(hops: u8, kind: u8, dst in any_endpoint(), src in any_endpoint(),
                                     payload in proptest::collection::vec(0u8.., 0..99)) {
            let payload_len = payload.len() as u16;
            let repr = Repr { hops, kind: Kind(kind), dst, src, payload_len };
            let mut bytes = repr.packet(&payload);
            bytes.push(0);
            prop_assert_eq!(Repr::parse(&bytes), Ok((repr, &payload[..])), "padding is cut off");
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
        }
    }
}
