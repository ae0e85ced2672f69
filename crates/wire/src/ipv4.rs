//! IPv4 (RFC 791).

use crate::DecodeError;
use crate::bytes::{ipv4_at, put, put_u16, require, u16_at};
use crate::checksum::{self, Sum, checksum};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv4Addr;

const VERSION_IHL: usize = 0;
const TRAFFIC_CLASS: usize = 1;
const TOTAL_LENGTH: usize = 2;
const IDENTIFICATION: usize = 4;
const FRAGMENT: usize = 6;
const TTL: usize = 8;
const PROTOCOL: usize = 9;
const CHECKSUM: usize = 10;
pub(crate) const SRC: usize = 12;
pub(crate) const DST: usize = 16;
/// Bytes of a header without options.
pub const HEADER_LEN: usize = 20;
/// Bytes of options that a header can hold.
pub const MAX_OPTIONS_LEN: usize = 40;

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const WHAT: &str = "IPv4 header";

/// The protocol above IP: IPv4's protocol field and IPv6's next header (IANA "Protocol Numbers").
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Protocol(pub u8);

impl Protocol {
    /// IPv6 hop-by-hop options (RFC 8200 section 4.3).
    pub const HOP_BY_HOP: Protocol = Protocol(0);
    /// ICMP for IPv4 (RFC 792).
    pub const ICMPV4: Protocol = Protocol(1);
    /// Group membership (RFC 3376).
    pub const IGMP: Protocol = Protocol(2);
    /// An IPv4 packet within (RFC 2003).
    pub const IPV4: Protocol = Protocol(4);
    /// TCP (RFC 9293).
    pub const TCP: Protocol = Protocol(6);
    /// UDP (RFC 768).
    pub const UDP: Protocol = Protocol(17);
    /// An IPv6 packet within (RFC 2473).
    pub const IPV6: Protocol = Protocol(41);
    /// IPv6 routing header (RFC 8200 section 4.4).
    pub const ROUTING: Protocol = Protocol(43);
    /// IPv6 fragment header (RFC 8200 section 4.5).
    pub const FRAGMENT: Protocol = Protocol(44);
    /// Generic routing encapsulation (RFC 2784).
    pub const GRE: Protocol = Protocol(47);
    /// ICMP for IPv6 (RFC 4443).
    pub const ICMPV6: Protocol = Protocol(58);
    /// Nothing follows (RFC 8200 section 4.7).
    pub const NO_NEXT_HEADER: Protocol = Protocol(59);
    /// IPv6 destination options (RFC 8200 section 4.6).
    pub const DESTINATION_OPTIONS: Protocol = Protocol(60);
    /// Experimentation and testing (RFC 3692): test frames without a transport layer.
    pub const EXPERIMENTAL: Protocol = Protocol(253);
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Protocol::HOP_BY_HOP => f.write_str("hop-by-hop"),
            Protocol::ICMPV4 => f.write_str("ICMP"),
            Protocol::IGMP => f.write_str("IGMP"),
            Protocol::IPV4 => f.write_str("IPv4"),
            Protocol::TCP => f.write_str("TCP"),
            Protocol::UDP => f.write_str("UDP"),
            Protocol::IPV6 => f.write_str("IPv6"),
            Protocol::ROUTING => f.write_str("routing"),
            Protocol::FRAGMENT => f.write_str("fragment"),
            Protocol::GRE => f.write_str("GRE"),
            Protocol::ICMPV6 => f.write_str("ICMPv6"),
            Protocol::NO_NEXT_HEADER => f.write_str("nothing"),
            Protocol::DESTINATION_OPTIONS => f.write_str("destination options"),
            Protocol(other) => write!(f, "protocol {other}"),
        }
    }
}
impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An IPv4 header.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Differentiated services code point, 6 bits (RFC 2474).
    pub dscp: u8,
    /// Explicit congestion notification, 2 bits (RFC 3168).
    pub ecn: u8,
    /// Identification, of use to fragments.
    pub identification: u16,
    /// Routers must not fragment the packet.
    pub dont_fragment: bool,
    /// This is a fragment, and not the last.
    pub more_fragments: bool,
    /// Place of this fragment's payload, in units of 8 bytes, 13 bits.
    pub fragment_offset: u16,
    /// Time to live, in hops.
    pub ttl: u8,
    /// What follows.
    pub protocol: Protocol,
    /// Source.
    pub src: Ipv4Addr,
    /// Destination.
    pub dst: Ipv4Addr,
    /// Options, padded to a multiple of 4 bytes.
    pub options: Vec<u8>,
    /// Bytes after the header.
    pub payload_len: u16,
}

impl Repr {
    /// A plain header: TTL 64, everything else zero or empty.
    pub fn new(src: Ipv4Addr, dst: Ipv4Addr, protocol: Protocol, payload_len: u16) -> Repr {
        Repr {
            dscp: 0,
            ecn: 0,
            identification: 0,
            dont_fragment: false,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol,
            src,
            dst,
            options: Vec::new(),
            payload_len,
        }
    }
    /// Reads a header, checks its checksum (RFC 1812 section 5.2.2), and cuts the payload to the
    /// length it states, so that Ethernet padding is off.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        require(WHAT, bytes, HEADER_LEN)?;
        if bytes[VERSION_IHL] >> 4 != 4 {
            return Err(DecodeError::malformed(WHAT, "version is not 4"));
        }
        let header_len = usize::from(bytes[VERSION_IHL] & 0xf) * 4;
        if header_len < HEADER_LEN {
            return Err(DecodeError::malformed(WHAT, "header length below 20 bytes"));
        }
        require(WHAT, bytes, header_len)?;
        checksum::verify(WHAT, Sum::ZERO, &bytes[..header_len], CHECKSUM)?;
        let total_len = usize::from(u16_at(bytes, TOTAL_LENGTH));
        if total_len < header_len {
            return Err(DecodeError::malformed(WHAT, "total length below that of its header"));
        }
        require("IPv4 packet", bytes, total_len)?;
        let fragment = u16_at(bytes, FRAGMENT);
        let repr = Repr {
            dscp: bytes[TRAFFIC_CLASS] >> 2,
            ecn: bytes[TRAFFIC_CLASS] & 3,
            identification: u16_at(bytes, IDENTIFICATION),
            dont_fragment: fragment & DONT_FRAGMENT != 0,
            more_fragments: fragment & MORE_FRAGMENTS != 0,
            fragment_offset: fragment & 0x1fff,
            ttl: bytes[TTL],
            protocol: Protocol(bytes[PROTOCOL]),
            src: ipv4_at(bytes, SRC),
            dst: ipv4_at(bytes, DST),
            options: bytes[HEADER_LEN..header_len].to_vec(),
            payload_len: (total_len - header_len) as u16,
        };
        Ok((repr, &bytes[header_len..total_len]))
    }
    /// Whether this is a part of a packet: then the payload does not start with, or does not hold
    /// all of, an upper-layer packet.
    pub const fn is_fragment(&self) -> bool {
        self.more_fragments || self.fragment_offset != 0
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub fn header_len(&self) -> usize {
        HEADER_LEN + self.options.len()
    }
    /// Writes the header with its checksum; bits beyond a field's width are cut off.
    ///
    /// # Panics
    /// If `bytes` is too short, if the options are longer than [`MAX_OPTIONS_LEN`] or no multiple
    /// of 4 bytes, or if header and payload are longer than 65,535 bytes.
    pub fn emit(&self, bytes: &mut [u8]) {
        let header_len = self.header_len();
        assert!(
            header_len.is_multiple_of(4) && self.options.len() <= MAX_OPTIONS_LEN,
            "IPv4 options of {} bytes",
            self.options.len()
        );
        let total_len = u16::try_from(header_len + usize::from(self.payload_len));
        let flags = (u16::from(self.dont_fragment) * DONT_FRAGMENT)
            | (u16::from(self.more_fragments) * MORE_FRAGMENTS);
        bytes[VERSION_IHL] = 0x40 | (header_len / 4) as u8;
        bytes[TRAFFIC_CLASS] = self.dscp << 2 | (self.ecn & 3);
        put_u16(bytes, TOTAL_LENGTH, total_len.expect("an IPv4 packet of at most 65,535 bytes"));
        put_u16(bytes, IDENTIFICATION, self.identification);
        put_u16(bytes, FRAGMENT, flags | (self.fragment_offset & 0x1fff));
        bytes[TTL] = self.ttl;
        bytes[PROTOCOL] = self.protocol.0;
        put_u16(bytes, CHECKSUM, 0);
        put(bytes, SRC, &self.src.octets());
        put(bytes, DST, &self.dst.octets());
        put(bytes, HEADER_LEN, &self.options);
        let field = checksum(&bytes[..header_len]);
        put_u16(bytes, CHECKSUM, field);
    }
    /// A whole packet.
    pub fn packet(&self, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; self.header_len()];
        self.emit(&mut bytes);
        bytes.extend_from_slice(payload);
        bytes
    }
}

/// Takes one hop off the time to live of the header that starts `packet`, and mends the checksum
/// as a router does (RFC 1624). `false`, and nothing changed, where the time to live is used up
/// (RFC 1812 section 5.3.1). The caller has parsed the header.
#[inline]
pub fn decrement_ttl(packet: &mut [u8]) -> bool {
    if packet[TTL] <= 1 {
        return false;
    }
    let old = u16_at(packet, TTL);
    packet[TTL] -= 1;
    let field = checksum::update(u16_at(packet, CHECKSUM), old, u16_at(packet, TTL));
    put_u16(packet, CHECKSUM, field);
    true
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IPv4 {} > {} TTL {} {}", self.src, self.dst, self.ttl, self.protocol)?;
        if self.dscp != 0 {
            write!(f, " DSCP {}", self.dscp)?;
        }
        if self.is_fragment() {
            let more = if self.more_fragments { "+" } else { "" };
            write!(f, " fragment at {}{more}", u32::from(self.fragment_offset) * 8)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The header of the RFC 2544 C.2.6.4 test frame of 64 bytes, with the checksum that RFC 791
    /// gives for 198.18.1.2 to 198.19.1.2.
    #[rustfmt::skip]
    const TEST_FRAME_HEADER: [u8; 20] = [
        0x45, 0x00, 0x00, 0x2e, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x11, 0x22, 0x96,
        198, 18, 1, 2,  198, 19, 1, 2,
    ];

    fn test_frame_header() -> Repr {
        let (src, dst) = (Ipv4Addr::new(198, 18, 1, 2), Ipv4Addr::new(198, 19, 1, 2));
        Repr { ttl: 10, ..Repr::new(src, dst, Protocol::UDP, 26) }
    }

    #[test]
    fn header_of_the_rfc2544_test_frame() {
        let mut packet = [0; 46 + 4];
        packet[..20].copy_from_slice(&TEST_FRAME_HEADER);
        let (repr, payload) = Repr::parse(&packet).unwrap();
        assert_eq!(repr, test_frame_header());
        assert_eq!(payload.len(), 26, "padding is cut off");
        let mut emitted = [0; 20];
        repr.emit(&mut emitted);
        assert_eq!(emitted, TEST_FRAME_HEADER);
    }

    #[test]
    fn every_single_damaged_bit_is_seen() {
        for bit in 0..160 {
            let mut packet = [0; 100];
            packet[..20].copy_from_slice(&TEST_FRAME_HEADER);
            packet[bit / 8] ^= 1 << (bit % 8);
            assert!(Repr::parse(&packet).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_hop_leaves_a_good_checksum() {
        let mut packet = test_frame_header().packet(&[0; 26]);
        for ttl in (1..10).rev() {
            assert!(decrement_ttl(&mut packet));
            assert_eq!(Repr::parse(&packet).unwrap().0.ttl, ttl);
        }
        let before = packet.clone();
        assert!(!decrement_ttl(&mut packet));
        assert_eq!(packet, before);
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(dscp in 0u8..64, ecn in 0u8..4, identification: u16,
                                     flags in 0u8..4, fragment_offset in 0u16..0x2000, ttl: u8,
                                     protocol: u8, src: [u8; 4], dst: [u8; 4],
                                     words in 0usize..=10, payload: Vec<u8>) {
            let repr = Repr {
                dscp, ecn, identification, fragment_offset, ttl,
                dont_fragment: flags & 1 != 0,
                more_fragments: flags & 2 != 0,
                protocol: Protocol(protocol),
                src: src.into(),
                dst: dst.into(),
                options: vec![1; words * 4],
                payload_len: payload.len() as u16,
            };
            let packet = repr.packet(&payload);
            prop_assert_eq!(Repr::parse(&packet), Ok((repr, &payload[..])));
        }

        #[test]
        fn no_bytes_make_the_parser_panic(mut bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
            if bytes.len() >= 20 {
                let header_len = 20.max(usize::from(bytes[0] & 0xf) * 4).min(bytes.len());
                put_u16(&mut bytes, CHECKSUM, 0);
                let field = checksum(&bytes[..header_len]);
                put_u16(&mut bytes, CHECKSUM, field);
                bytes[0] = 0x40 | (bytes[0] & 0xf);
                let _ = Repr::parse(&bytes);
            }
        }
    }
}
