//! IPv4 (RFC 791).

use crate::DecodeError;
use crate::bytes::{put, require};
use crate::checksum::{self, Sum, checksum};
use crate::ecn::Codepoint;
use crate::view::{field, view};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv4Addr;

/// Place of the header's checksum.
pub const CHECKSUM: usize = 10;
/// Place of the source address in the header.
pub const SRC: usize = 12;
/// Place of the destination address in the header.
pub const DST: usize = 16;
/// Bytes of a header without options.
pub const HEADER_LEN: usize = 20;
/// Bytes of options that a header can hold.
pub const MAX_OPTIONS_LEN: usize = 40;

const VERSION: u8 = 4;
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

field! { Protocol(u8) }

view! {
    /// A packet as bytes.
    pub struct View(WHAT, HEADER_LEN), check: Self::check, payload: Self::payload_range;
    /// Version; 4.
    version / set_version: u8 = 0 as u8[4..8];
    /// Words of 4 bytes in the header.
    header_words / set_header_words: u8 = 0 as u8[0..4];
    /// Differentiated services code point, 6 bits (RFC 2474).
    dscp / set_dscp: u8 = 1 as u8[2..8];
    /// Explicit congestion notification, 2 bits (RFC 3168).
    ecn / set_ecn: u8 = 1 as u8[0..2];
    /// Bytes of the packet, header included.
    total_len / set_total_len: u16 = 2;
    /// Identification, of use to fragments.
    identification / set_identification: u16 = 4;
    /// Routers must not fragment the packet.
    dont_fragment / set_dont_fragment: bool = 6 as u16[14..15];
    /// This is a fragment, and not the last.
    more_fragments / set_more_fragments: bool = 6 as u16[13..14];
    /// Place of this fragment's payload, in units of 8 bytes, 13 bits.
    fragment_offset / set_fragment_offset: u16 = 6 as u16[0..13];
    /// Time to live, in hops.
    ttl / set_ttl: u8 = TTL;
    /// What follows.
    protocol / set_protocol: Protocol = 9;
    /// Time to live and protocol: the word of the checksum in which a hop is counted.
    ttl_protocol / set_ttl_protocol: u16 = TTL;
    /// Version, length, and the octet of DSCP and ECN: the word of the checksum in which a mark is counted.
    version_ecn / set_version_ecn: u16 = 0;
    /// The header's checksum.
    checksum / set_checksum: u16 = CHECKSUM;
    /// Source.
    src / set_src: Ipv4Addr = SRC;
    /// Destination.
    dst / set_dst: Ipv4Addr = DST;
}

const TTL: usize = 8;

impl<T: AsRef<[u8]>> View<T> {
    /// Version and length of the header.
    #[inline]
    fn check_header(&self) -> Result<(), DecodeError> {
        if self.version() != VERSION {
            return Err(DecodeError::malformed(WHAT, "version is not 4"));
        }
        if self.header_len() < HEADER_LEN {
            return Err(DecodeError::malformed(WHAT, "header length below 20 bytes"));
        }
        require(WHAT, self.0.as_ref(), self.header_len())
    }
    #[inline]
    fn check_total(&self) -> Result<(), DecodeError> {
        let total_len = usize::from(self.total_len());
        if total_len < self.header_len() {
            return Err(DecodeError::malformed(WHAT, "total length below that of its header"));
        }
        require("IPv4 packet", self.0.as_ref(), total_len)
    }
    #[inline]
    fn check(&self) -> Result<(), DecodeError> {
        self.check_header()?;
        self.check_total()
    }
    #[inline]
    fn payload_range(&self) -> std::ops::Range<usize> {
        self.header_len()..self.total_len().into()
    }
    /// Bytes of the header, options included.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.header_words()) * 4
    }
    /// The header, options included; empty where the bytes end before.
    #[inline]
    fn header(&self) -> &[u8] {
        self.0.as_ref().get(..self.header_len()).unwrap_or_default()
    }
    /// The options, padding included.
    #[inline]
    pub fn options(&self) -> &[u8] {
        self.header().get(HEADER_LEN..).unwrap_or_default()
    }
    /// Whether this is a part of a packet: then the payload does not start with, or does not hold
    /// all of, an upper-layer packet.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.more_fragments() || self.fragment_offset() != 0
    }
    /// Refuses a header with a wrong checksum.
    #[inline]
    pub fn verify_checksum(&self) -> Result<(), DecodeError> {
        checksum::verify(WHAT, Sum::ZERO, self.header(), self.checksum())
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> View<T> {
    /// Computes and writes the header's checksum.
    pub fn fill_checksum(&mut self) {
        self.set_checksum(0);
        self.set_checksum(checksum(self.header()));
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
        let view = View::new_unchecked(bytes);
        view.check_header()?;
        // Before the total length: where that is damaged, the checksum is the better reason.
        view.verify_checksum()?;
        view.check_total()?;
        let repr = Repr {
            dscp: view.dscp(),
            ecn: view.ecn(),
            identification: view.identification(),
            dont_fragment: view.dont_fragment(),
            more_fragments: view.more_fragments(),
            fragment_offset: view.fragment_offset(),
            ttl: view.ttl(),
            protocol: view.protocol(),
            src: view.src(),
            dst: view.dst(),
            options: view.options().to_vec(),
            payload_len: view.total_len() - view.header_len() as u16,
        };
        Ok((repr, view.payload()))
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
        bytes[..HEADER_LEN].fill(0);
        put(bytes, HEADER_LEN, &self.options);
        let mut view = View::new_unchecked(bytes);
        view.set_version(VERSION);
        view.set_header_words((header_len / 4) as u8);
        view.set_dscp(self.dscp);
        view.set_ecn(self.ecn);
        view.set_total_len(total_len.expect("an IPv4 packet of at most 65,535 bytes"));
        view.set_identification(self.identification);
        view.set_dont_fragment(self.dont_fragment);
        view.set_more_fragments(self.more_fragments);
        view.set_fragment_offset(self.fragment_offset);
        view.set_ttl(self.ttl);
        view.set_protocol(self.protocol);
        view.set_src(self.src);
        view.set_dst(self.dst);
        view.fill_checksum();
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
    let mut view = View::new_unchecked(packet);
    let (ttl, old) = (view.ttl(), view.ttl_protocol());
    if ttl <= 1 {
        return false;
    }
    view.set_ttl(ttl - 1);
    view.set_checksum(checksum::update(view.checksum(), old, view.ttl_protocol()));
    true
}

/// Marks the packet of the header that starts `packet` as one that met congestion, if it may be marked, and mends the
/// checksum (RFC 1624); gives whether it was. The caller has parsed the header.
pub fn mark(packet: &mut [u8]) -> bool {
    let mut view = View::new_unchecked(packet);
    if !Codepoint::of_octet(view.ecn()).may_be_marked() {
        return false;
    }
    let old = view.version_ecn();
    view.set_ecn(Codepoint::Marked.octet());
    view.set_checksum(checksum::update(view.checksum(), old, view.version_ecn()));
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
                let mut view = View::new_unchecked(&mut bytes);
                view.set_version(VERSION);
                view.fill_checksum();
                let _ = Repr::parse(&bytes);
            }
        }
    }
}
