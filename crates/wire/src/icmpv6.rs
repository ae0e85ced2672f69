//! ICMP for IPv6 (RFC 4443) and neighbour discovery (RFC 4861).
//!
//! The checksum needs the addresses: [`verify`] it apart from [`Repr::parse`]. A receiver of
//! neighbour discovery must also see that the hop limit is 255 (RFC 4861 section 7.1).

mod options;

pub use options::Prefix;

use crate::DecodeError;
use crate::bytes::{ipv6_at, put, put_u16, put_u32, require, u16_at, u32_at};
use crate::checksum::{self, PseudoHeader};
use crate::ethernet::MacAddr;
use crate::ipv4::Protocol;
use options::{Options, PREFIX_OPTION_LEN, SOURCE_MAC, TARGET_MAC, emit_mac, emit_mtu};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv6Addr;

const TYPE: usize = 0;
const CODE: usize = 1;
const CHECKSUM: usize = 2;
const REST: usize = 4;
const TARGET: usize = 8;
/// Bytes before the data of an echo or an error.
pub const HEADER_LEN: usize = 8;
/// The hop limit that shows a neighbour discovery packet to come from the link itself.
pub const ND_HOP_LIMIT: u8 = 255;
const WHAT: &str = "ICMPv6 message";

const DESTINATION_UNREACHABLE: u8 = 1;
const PACKET_TOO_BIG: u8 = 2;
const TIME_EXCEEDED: u8 = 3;
const ECHO_REQUEST: u8 = 128;
const ECHO_REPLY: u8 = 129;
const ROUTER_SOLICITATION: u8 = 133;
const ROUTER_ADVERTISEMENT: u8 = 134;
const NEIGHBOR_SOLICITATION: u8 = 135;
const NEIGHBOR_ADVERTISEMENT: u8 = 136;

/// A message up to its data: neighbour discovery messages whole, of the others what stands before
/// the echoed bytes or the packet in error.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repr {
    /// A packet could not be delivered.
    DestinationUnreachable {
        /// Why: 0 no route, 1 prohibited, 3 address, 4 port.
        code: u8,
    },
    /// A packet was larger than the next link's MTU.
    PacketTooBig {
        /// That MTU in bytes.
        mtu: u32,
    },
    /// A packet's hop limit was used up (code 0), or the time of its fragments (1).
    TimeExceeded {
        /// Which of the two.
        code: u8,
    },
    /// Asks for an echo.
    EchoRequest {
        /// Who asks.
        identifier: u16,
        /// Which of its questions.
        sequence: u16,
    },
    /// The echo.
    EchoReply {
        /// Who asked.
        identifier: u16,
        /// Which of its questions.
        sequence: u16,
    },
    /// Asks routers to advertise themselves.
    RouterSolicitation {
        /// The asker's MAC address.
        source_mac: Option<MacAddr>,
    },
    /// A router tells of itself.
    RouterAdvertisement {
        /// Hop limit for hosts to use; 0 leaves it open.
        hop_limit: u8,
        /// Addresses come by DHCPv6.
        managed: bool,
        /// Other configuration comes by DHCPv6.
        other: bool,
        /// How long it is a default router, in seconds; 0 for not at all.
        lifetime_s: u16,
        /// How long a neighbour counts as reachable, in milliseconds; 0 leaves it open.
        reachable_ms: u32,
        /// Time between solicitations, in milliseconds; 0 leaves it open.
        retransmit_ms: u32,
        /// The router's MAC address.
        source_mac: Option<MacAddr>,
        /// The link's MTU in bytes.
        mtu: Option<u32>,
        /// Prefixes of the link.
        prefixes: Vec<Prefix>,
    },
    /// Asks for the MAC address of `target`.
    NeighborSolicitation {
        /// The address asked for.
        target: Ipv6Addr,
        /// The asker's MAC address.
        source_mac: Option<MacAddr>,
    },
    /// Tells the MAC address of `target`.
    NeighborAdvertisement {
        /// The sender is a router.
        router: bool,
        /// This answers a solicitation.
        solicited: bool,
        /// This replaces what is in the cache.
        override_cache: bool,
        /// The address asked for.
        target: Ipv6Addr,
        /// Its MAC address.
        target_mac: Option<MacAddr>,
    },
    /// Any other message.
    Other {
        /// Type.
        kind: u8,
        /// Code.
        code: u8,
        /// Bytes 4 to 7.
        rest: u32,
    },
}

impl Repr {
    /// Reads a message; its checksum is [verified](verify) apart. Options of neighbour discovery
    /// that we do not know are passed over (RFC 4861 section 4.6).
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        require(WHAT, bytes, HEADER_LEN)?;
        let (kind, code) = (bytes[TYPE], bytes[CODE]);
        let rest = u32_at(bytes, REST);
        let (identifier, sequence) = (u16_at(bytes, REST), u16_at(bytes, REST + 2));
        let repr = match (kind, code) {
            (DESTINATION_UNREACHABLE, _) => Repr::DestinationUnreachable { code },
            (PACKET_TOO_BIG, _) => Repr::PacketTooBig { mtu: rest },
            (TIME_EXCEEDED, _) => Repr::TimeExceeded { code },
            (ECHO_REQUEST, 0) => Repr::EchoRequest { identifier, sequence },
            (ECHO_REPLY, 0) => Repr::EchoReply { identifier, sequence },
            (ROUTER_SOLICITATION..=NEIGHBOR_ADVERTISEMENT, 0) => {
                return Ok((parse_neighbor_discovery(kind, bytes)?, &[]));
            }
            _ => Repr::Other { kind, code, rest },
        };
        Ok((repr, &bytes[HEADER_LEN..]))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub fn header_len(&self) -> usize {
        let mac = |mac: &Option<MacAddr>| if mac.is_some() { 8 } else { 0 };
        match self {
            Repr::RouterSolicitation { source_mac } => 8 + mac(source_mac),
            Repr::RouterAdvertisement { source_mac, mtu, prefixes, .. } => {
                let mtu = if mtu.is_some() { 8 } else { 0 };
                16 + mac(source_mac) + mtu + PREFIX_OPTION_LEN * prefixes.len()
            }
            Repr::NeighborSolicitation { source_mac, .. } => 24 + mac(source_mac),
            Repr::NeighborAdvertisement { target_mac, .. } => 24 + mac(target_mac),
            _ => HEADER_LEN,
        }
    }
    /// Writes the message up to its data with checksum 0, to be [filled](fill_checksum).
    /// Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        let pair = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
        let (kind, code, rest) = match *self {
            Repr::DestinationUnreachable { code } => (DESTINATION_UNREACHABLE, code, 0),
            Repr::PacketTooBig { mtu } => (PACKET_TOO_BIG, 0, mtu),
            Repr::TimeExceeded { code } => (TIME_EXCEEDED, code, 0),
            Repr::EchoRequest { identifier, sequence } => {
                (ECHO_REQUEST, 0, pair(identifier, sequence))
            }
            Repr::EchoReply { identifier, sequence } => (ECHO_REPLY, 0, pair(identifier, sequence)),
            Repr::RouterSolicitation { .. } => (ROUTER_SOLICITATION, 0, 0),
            Repr::RouterAdvertisement { hop_limit, managed, other, lifetime_s, .. } => {
                let flags = u32::from(managed) << 23 | u32::from(other) << 22;
                let rest = u32::from(hop_limit) << 24 | flags | u32::from(lifetime_s);
                (ROUTER_ADVERTISEMENT, 0, rest)
            }
            Repr::NeighborSolicitation { .. } => (NEIGHBOR_SOLICITATION, 0, 0),
            Repr::NeighborAdvertisement { router, solicited, override_cache, .. } => {
                let flags = [router, solicited, override_cache];
                let flags = flags.iter().fold(0, |bits, flag| bits << 1 | u32::from(*flag));
                (NEIGHBOR_ADVERTISEMENT, 0, flags << 29)
            }
            Repr::Other { kind, code, rest } => (kind, code, rest),
        };
        bytes[TYPE] = kind;
        bytes[CODE] = code;
        put_u16(bytes, CHECKSUM, 0);
        put_u32(bytes, REST, rest);
        self.emit_body(bytes);
    }
    /// Writes what neighbour discovery has after the first eight bytes.
    fn emit_body(&self, bytes: &mut [u8]) {
        match self {
            Repr::RouterSolicitation { source_mac } => {
                emit_mac(SOURCE_MAC, *source_mac, &mut bytes[8..]);
            }
            Repr::NeighborSolicitation { target, source_mac } => {
                put(bytes, TARGET, &target.octets());
                emit_mac(SOURCE_MAC, *source_mac, &mut bytes[24..]);
            }
            Repr::NeighborAdvertisement { target, target_mac, .. } => {
                put(bytes, TARGET, &target.octets());
                emit_mac(TARGET_MAC, *target_mac, &mut bytes[24..]);
            }
            Repr::RouterAdvertisement {
                reachable_ms,
                retransmit_ms,
                source_mac,
                mtu,
                prefixes,
                ..
            } => {
                put_u32(bytes, 8, *reachable_ms);
                put_u32(bytes, 12, *retransmit_ms);
                let mut at = 16 + emit_mac(SOURCE_MAC, *source_mac, &mut bytes[16..]);
                at += emit_mtu(*mtu, &mut bytes[at..]);
                for (i, prefix) in prefixes.iter().enumerate() {
                    prefix.emit(&mut bytes[at + i * PREFIX_OPTION_LEN..]);
                }
            }
            _ => {}
        }
    }
    /// A whole message with its checksum.
    pub fn message(&self, src: Ipv6Addr, dst: Ipv6Addr, data: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; self.header_len()];
        self.emit(&mut bytes);
        bytes.extend_from_slice(data);
        fill_checksum(src, dst, &mut bytes);
        bytes
    }
    /// What the owner of `mac` and of this solicitation's target answers, as a host;
    /// `None` for a message that is no solicitation.
    pub fn answer(&self, mac: MacAddr) -> Option<Repr> {
        match self {
            Repr::NeighborSolicitation { target, .. } => Some(Repr::NeighborAdvertisement {
                router: false,
                solicited: true,
                override_cache: true,
                target: *target,
                target_mac: Some(mac),
            }),
            _ => None,
        }
    }
}

fn parse_neighbor_discovery(kind: u8, bytes: &[u8]) -> Result<Repr, DecodeError> {
    let fixed_len = match kind {
        ROUTER_SOLICITATION => 8,
        ROUTER_ADVERTISEMENT => 16,
        _ => 24,
    };
    require(WHAT, bytes, fixed_len)?;
    let options = Options::parse(&bytes[fixed_len..])?;
    Ok(match kind {
        ROUTER_SOLICITATION => Repr::RouterSolicitation { source_mac: options.source_mac },
        ROUTER_ADVERTISEMENT => Repr::RouterAdvertisement {
            hop_limit: bytes[4],
            managed: bytes[5] & 0x80 != 0,
            other: bytes[5] & 0x40 != 0,
            lifetime_s: u16_at(bytes, 6),
            reachable_ms: u32_at(bytes, 8),
            retransmit_ms: u32_at(bytes, 12),
            source_mac: options.source_mac,
            mtu: options.mtu,
            prefixes: options.prefixes,
        },
        NEIGHBOR_SOLICITATION => Repr::NeighborSolicitation {
            target: ipv6_at(bytes, TARGET),
            source_mac: options.source_mac,
        },
        _ => Repr::NeighborAdvertisement {
            router: bytes[4] & 0x80 != 0,
            solicited: bytes[4] & 0x40 != 0,
            override_cache: bytes[4] & 0x20 != 0,
            target: ipv6_at(bytes, TARGET),
            target_mac: options.target_mac,
        },
    })
}

/// Computes and writes the checksum of a whole message.
pub fn fill_checksum(src: Ipv6Addr, dst: Ipv6Addr, message: &mut [u8]) {
    put_u16(message, CHECKSUM, 0);
    let sum = PseudoHeader::V6(src, dst).sum(Protocol::ICMPV6, message.len()).bytes(message);
    put_u16(message, CHECKSUM, sum.checksum());
}

/// Checks the checksum of a whole message.
pub fn verify(src: Ipv6Addr, dst: Ipv6Addr, message: &[u8]) -> Result<(), DecodeError> {
    require(WHAT, message, HEADER_LEN)?;
    let before = PseudoHeader::V6(src, dst).sum(Protocol::ICMPV6, message.len());
    checksum::verify(WHAT, before, message, CHECKSUM)
}

/// The multicast group in which the owner of `address` is asked for it (RFC 4291 section 2.7.1).
pub const fn solicited_node_group(address: Ipv6Addr) -> Ipv6Addr {
    let s = address.segments();
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | (s[6] & 0xff), s[7])
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repr::DestinationUnreachable { code } => {
                write!(f, "ICMPv6 destination unreachable code {code}")
            }
            Repr::PacketTooBig { mtu } => write!(f, "ICMPv6 packet too big, MTU {mtu}"),
            Repr::TimeExceeded { code } => write!(f, "ICMPv6 time exceeded code {code}"),
            Repr::EchoRequest { identifier, sequence } => {
                write!(f, "ICMPv6 echo request {identifier:#06x} sequence {sequence}")
            }
            Repr::EchoReply { identifier, sequence } => {
                write!(f, "ICMPv6 echo reply {identifier:#06x} sequence {sequence}")
            }
            Repr::RouterSolicitation { .. } => f.write_str("ND router solicitation"),
            Repr::RouterAdvertisement { lifetime_s, .. } => {
                write!(f, "ND router advertisement for {lifetime_s} s")
            }
            Repr::NeighborSolicitation { target, .. } => write!(f, "ND who has {target}?"),
            Repr::NeighborAdvertisement { target, target_mac: Some(mac), .. } => {
                write!(f, "ND {target} is at {mac}")
            }
            Repr::NeighborAdvertisement { target, .. } => write!(f, "ND {target} is here"),
            Repr::Other { kind, code, .. } => write!(f, "ICMPv6 type {kind} code {code}"),
        }
    }
}

#[cfg(test)]
mod tests;
