//! ICMP for IPv6 (RFC 4443) and neighbour discovery (RFC 4861).
//!
//! The checksum needs the addresses: [`verify`] it apart from [`Repr::parse`]. A receiver of
//! neighbour discovery must also see that the hop limit is 255 (RFC 4861 section 7.1).

mod options;

pub use options::{OptionView, Prefix, PrefixView};

use crate::DecodeError;
use crate::checksum::{self, PseudoHeader};
use crate::ethernet::MacAddr;
use crate::ipv4::Protocol;
use crate::view::view;
use options::{Options, PREFIX_OPTION_LEN, SOURCE_MAC, TARGET_MAC, emit_mac, emit_mtu};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv6Addr;

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

view! {
    /// A message as bytes.
    pub struct View(WHAT, HEADER_LEN);
    /// Type.
    kind / set_kind: u8 = 0;
    /// Code.
    code / set_code: u8 = 1;
    /// The checksum.
    checksum / set_checksum: u16 = 2;
    /// Bytes 4 to 7, whose meaning the type tells.
    rest / set_rest: u32 = 4;
    /// Of an echo: who asks.
    identifier / set_identifier: u16 = 4;
    /// Of an echo: which of its questions.
    sequence / set_sequence: u16 = 6;
}

impl<T: AsRef<[u8]>> View<T> {
    /// Whether its data are those of an echo, which mean nothing to the network.
    pub fn is_echo(&self) -> bool {
        matches!(self.kind(), ECHO_REQUEST | ECHO_REPLY)
    }
    /// Refuses a message between these addresses with a wrong checksum.
    pub fn verify_checksum(&self, src: Ipv6Addr, dst: Ipv6Addr) -> Result<(), DecodeError> {
        let message = self.0.as_ref();
        let before = PseudoHeader::V6(src, dst).sum(Protocol::ICMPV6, message.len());
        checksum::verify(WHAT, before, message, self.checksum())
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> View<T> {
    /// Computes and writes the checksum of all the bytes, between these addresses.
    pub fn fill_checksum(&mut self, src: Ipv6Addr, dst: Ipv6Addr) {
        checksum::fill(Protocol::ICMPV6, PseudoHeader::V6(src, dst), self.0.as_mut());
    }
}

view! {
    /// A router advertisement as bytes (RFC 4861 section 4.2); its payload are options.
    pub struct RouterView(WHAT, 16);
    /// Hop limit for hosts to use; 0 leaves it open.
    hop_limit / set_hop_limit: u8 = 4;
    /// Addresses come by DHCPv6.
    managed / set_managed: bool = 5 as u8[7..8];
    /// Other configuration comes by DHCPv6.
    other / set_other: bool = 5 as u8[6..7];
    /// How long it is a default router, in seconds; 0 for not at all.
    lifetime_s / set_lifetime_s: u16 = 6;
    /// How long a neighbour counts as reachable, in milliseconds; 0 leaves it open.
    reachable_ms / set_reachable_ms: u32 = 8;
    /// Time between solicitations, in milliseconds; 0 leaves it open.
    retransmit_ms / set_retransmit_ms: u32 = 12;
}

view! {
    /// A neighbour solicitation or advertisement as bytes (RFC 4861 sections 4.3 and 4.4); its payload are
    /// options.
    pub struct NeighborView(WHAT, 24);
    /// Of an advertisement: the sender is a router.
    router / set_router: bool = 4 as u8[7..8];
    /// Of an advertisement: it answers a solicitation.
    solicited / set_solicited: bool = 4 as u8[6..7];
    /// Of an advertisement: it replaces what is in the cache.
    override_cache / set_override_cache: bool = 4 as u8[5..6];
    /// The address asked for.
    target / set_target: Ipv6Addr = 8;
}

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
        let view = View::new_checked(bytes)?;
        let (kind, code, rest) = (view.kind(), view.code(), view.rest());
        let (identifier, sequence) = (view.identifier(), view.sequence());
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
        Ok((repr, view.payload()))
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
            Repr::RouterAdvertisement { .. } => (ROUTER_ADVERTISEMENT, 0, 0),
            Repr::NeighborSolicitation { .. } => (NEIGHBOR_SOLICITATION, 0, 0),
            Repr::NeighborAdvertisement { .. } => (NEIGHBOR_ADVERTISEMENT, 0, 0),
            Repr::Other { kind, code, rest } => (kind, code, rest),
        };
        let mut view = View::new_unchecked(&mut *bytes);
        view.set_kind(kind);
        view.set_code(code);
        view.set_checksum(0);
        view.set_rest(rest);
        self.emit_body(bytes);
    }
    /// Writes what neighbour discovery has after the checksum.
    fn emit_body(&self, bytes: &mut [u8]) {
        match self {
            Repr::RouterSolicitation { source_mac } => {
                emit_mac(SOURCE_MAC, *source_mac, View::new_unchecked(bytes).payload_mut());
            }
            Repr::NeighborSolicitation { target, source_mac } => {
                let mut view = NeighborView::new_unchecked(bytes);
                view.set_target(*target);
                emit_mac(SOURCE_MAC, *source_mac, view.payload_mut());
            }
            Repr::NeighborAdvertisement {
                router,
                solicited,
                override_cache,
                target,
                target_mac,
            } => {
                let mut view = NeighborView::new_unchecked(bytes);
                view.set_router(*router);
                view.set_solicited(*solicited);
                view.set_override_cache(*override_cache);
                view.set_target(*target);
                emit_mac(TARGET_MAC, *target_mac, view.payload_mut());
            }
            Repr::RouterAdvertisement {
                hop_limit,
                managed,
                other,
                lifetime_s,
                reachable_ms,
                retransmit_ms,
                source_mac,
                mtu,
                prefixes,
            } => {
                let mut view = RouterView::new_unchecked(bytes);
                view.set_hop_limit(*hop_limit);
                view.set_managed(*managed);
                view.set_other(*other);
                view.set_lifetime_s(*lifetime_s);
                view.set_reachable_ms(*reachable_ms);
                view.set_retransmit_ms(*retransmit_ms);
                let options = view.payload_mut();
                let mut at = emit_mac(SOURCE_MAC, *source_mac, options);
                at += emit_mtu(*mtu, &mut options[at..]);
                for (i, prefix) in prefixes.iter().enumerate() {
                    prefix.emit(&mut options[at + i * PREFIX_OPTION_LEN..]);
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
    if kind == ROUTER_SOLICITATION {
        let options = Options::parse(View::new_checked(bytes)?.payload())?;
        return Ok(Repr::RouterSolicitation { source_mac: options.source_mac });
    }
    if kind == ROUTER_ADVERTISEMENT {
        let view = RouterView::new_checked(bytes)?;
        let options = Options::parse(view.payload())?;
        return Ok(Repr::RouterAdvertisement {
            hop_limit: view.hop_limit(),
            managed: view.managed(),
            other: view.other(),
            lifetime_s: view.lifetime_s(),
            reachable_ms: view.reachable_ms(),
            retransmit_ms: view.retransmit_ms(),
            source_mac: options.source_mac,
            mtu: options.mtu,
            prefixes: options.prefixes,
        });
    }
    let view = NeighborView::new_checked(bytes)?;
    let (target, options) = (view.target(), Options::parse(view.payload())?);
    Ok(match kind {
        NEIGHBOR_SOLICITATION => {
            Repr::NeighborSolicitation { target, source_mac: options.source_mac }
        }
        _ => Repr::NeighborAdvertisement {
            router: view.router(),
            solicited: view.solicited(),
            override_cache: view.override_cache(),
            target,
            target_mac: options.target_mac,
        },
    })
}

/// Computes and writes the checksum of a whole message.
pub fn fill_checksum(src: Ipv6Addr, dst: Ipv6Addr, message: &mut [u8]) {
    View::new_unchecked(message).fill_checksum(src, dst);
}

/// Checks the checksum of a whole message.
pub fn verify(src: Ipv6Addr, dst: Ipv6Addr, message: &[u8]) -> Result<(), DecodeError> {
    View::new_checked(message)?.verify_checksum(src, dst)
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
