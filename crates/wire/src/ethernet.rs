//! Ethernet: two MAC addresses and a type or a length (IEEE 802.3 clause 3). The FCS is the
//! interface's.

use crate::DecodeError;
use crate::bytes::{put, require};
use crate::view::{field, view};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use thiserror::Error;

/// Place of the destination in the header.
pub const DST: usize = 0;
/// Place of the source in the header.
pub const SRC: usize = 6;
/// Place of the type in the header: right behind the addresses.
pub const TYPE: usize = 12;
/// Bytes of the header.
pub const HEADER_LEN: usize = 14;
/// Bytes without FCS below which a frame must be padded.
pub const MIN_LEN_WITHOUT_FCS: usize = 60;
/// The largest length that an IEEE 802.3 length field states, in bytes.
pub const MAX_LENGTH: usize = 1500;

/// A 48-bit MAC address. Reads and prints as `02:00:5e:10:00:01`; `-` separates as well.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// All ones: every station.
    pub const BROADCAST: MacAddr = MacAddr([0xff; 6]);
    /// All zeros: no address.
    pub const ZERO: MacAddr = MacAddr([0; 6]);

    /// The low 48 bits of `value`.
    pub const fn from_u64(value: u64) -> MacAddr {
        let b = value.to_be_bytes();
        MacAddr([b[2], b[3], b[4], b[5], b[6], b[7]])
    }
    /// The address as a number.
    pub const fn to_u64(self) -> u64 {
        let b = self.0;
        u64::from_be_bytes([0, 0, b[0], b[1], b[2], b[3], b[4], b[5]])
    }
    /// Whether the group bit is set: multicast or broadcast.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }
    /// Whether the address was given by an administrator and not by a manufacturer.
    pub const fn is_locally_administered(self) -> bool {
        self.0[0] & 2 != 0
    }
    /// The group address of an IPv4 multicast group (RFC 1112 section 6.4).
    pub const fn of_ipv4_group(group: Ipv4Addr) -> MacAddr {
        let [_, b, c, d] = group.octets();
        MacAddr([0x01, 0x00, 0x5e, b & 0x7f, c, d])
    }
    /// The group address of an IPv6 multicast group (RFC 2464 section 7).
    pub const fn of_ipv6_group(group: Ipv6Addr) -> MacAddr {
        let o = group.octets();
        MacAddr([0x33, 0x33, o[12], o[13], o[14], o[15]])
    }
}

/// A text that is not a MAC address.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{0}` is not a MAC address: six pairs of hexadecimal digits, as in 02:00:00:00:00:01")]
pub struct MacAddrError(String);

impl FromStr for MacAddr {
    type Err = MacAddrError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || MacAddrError(text.to_string());
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut pairs = text.split(separator);
        let mut octets = [0; 6];
        for octet in &mut octets {
            let pair = pairs.next().ok_or_else(error)?;
            if pair.len() != 2 || !pair.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(error());
            }
            *octet = u8::from_str_radix(pair, 16).map_err(|_| error())?;
        }
        if pairs.next().is_some() {
            return Err(error());
        }
        Ok(MacAddr(octets))
    }
}
impl TryFrom<String> for MacAddr {
    type Error = MacAddrError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}
impl From<MacAddr> for String {
    fn from(address: MacAddr) -> String {
        address.to_string()
    }
}
impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}
impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What follows the header: an EtherType, or a length where it is below 0x600.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4 (RFC 894).
    pub const IPV4: EtherType = EtherType(0x0800);
    /// ARP (RFC 826).
    pub const ARP: EtherType = EtherType(0x0806);
    /// IPv6 (RFC 2464).
    pub const IPV6: EtherType = EtherType(0x86dd);
    /// The configuration test protocol, or loopback, of Ethernet version 2 (section 8).
    pub const LOOPBACK: EtherType = EtherType(0x9000);
    /// A customer VLAN tag (IEEE 802.1Q).
    pub const VLAN: EtherType = EtherType(0x8100);
    /// A service VLAN tag: the outer one of QinQ (IEEE 802.1ad).
    pub const SERVICE_VLAN: EtherType = EtherType(0x88a8);
    /// DECnet Phase IV routing.
    pub const DECNET: EtherType = EtherType(0x6003);
    /// AppleTalk's datagrams, behind SNAP.
    pub const APPLETALK: EtherType = EtherType(0x809b);
    /// AppleTalk's address resolution, behind SNAP.
    pub const AARP: EtherType = EtherType(0x80f3);
    /// Novell IPX.
    pub const IPX: EtherType = EtherType(0x8137);
    /// A packet of a PPP session (RFC 2516).
    pub const PPPOE_SESSION: EtherType = EtherType(0x8864);
    /// Local experimental EtherType 1 (IEEE 802): a test frame without a network layer.
    pub const EXPERIMENTAL: EtherType = EtherType(0x88b5);
    /// Local experimental EtherType 2 (IEEE 802 section 9.2.4).
    pub const EXPERIMENTAL_2: EtherType = EtherType(0x88b6);

    /// The length field of an IEEE 802.3 frame with `bytes` before its padding.
    ///
    /// # Panics
    /// Above [`MAX_LENGTH`].
    pub const fn length(bytes: usize) -> EtherType {
        assert!(bytes <= MAX_LENGTH, "a length field states at most 1500 bytes");
        EtherType(bytes as u16)
    }
    /// Cuts the padding off what follows a length field; what follows a type stays as it is.
    /// Refuses a length of which there are fewer bytes, or that no frame may state.
    pub fn cut_padding(self, rest: &[u8]) -> Result<&[u8], DecodeError> {
        if !self.is_length() {
            return Ok(rest);
        }
        let length = usize::from(self.0);
        if length > MAX_LENGTH {
            return Err(DecodeError::malformed(
                "802.3 length",
                "1501 to 1535 is neither length nor type",
            ));
        }
        require("802.3 frame", rest, length)?;
        Ok(&rest[..length])
    }
    /// Whether the field is an IEEE 802.3 length and not a type.
    pub const fn is_length(self) -> bool {
        self.0 < 0x600
    }
    /// Whether a VLAN tag follows.
    pub const fn is_vlan(self) -> bool {
        matches!(self, EtherType::VLAN | EtherType::SERVICE_VLAN)
    }
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            EtherType::IPV4 => f.write_str("IPv4"),
            EtherType::ARP => f.write_str("ARP"),
            EtherType::IPV6 => f.write_str("IPv6"),
            EtherType::VLAN => f.write_str("802.1Q"),
            EtherType::SERVICE_VLAN => f.write_str("802.1ad"),
            EtherType::DECNET => f.write_str("DECnet"),
            EtherType::APPLETALK => f.write_str("AppleTalk"),
            EtherType::AARP => f.write_str("AARP"),
            EtherType::IPX => f.write_str("IPX"),
            EtherType(length) if self.is_length() => write!(f, "length {length}"),
            EtherType(other) => write!(f, "{other:#06x}"),
        }
    }
}
impl fmt::Debug for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

field! { MacAddr([u8; 6]) }
field! { EtherType(u16) }

view! {
    /// A frame without FCS, as bytes.
    pub struct View("Ethernet header", HEADER_LEN);
    /// Destination.
    dst / set_dst: MacAddr = DST;
    /// Source.
    src / set_src: MacAddr = SRC;
    /// What follows.
    ether_type / set_ether_type: EtherType = TYPE;
}

/// An Ethernet header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Destination.
    pub dst: MacAddr,
    /// Source.
    pub src: MacAddr,
    /// What follows.
    pub ether_type: EtherType,
}

impl Repr {
    /// Reads a header; the rest of the frame, padding included, comes with it.
    #[inline]
    pub fn parse(frame: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let view = View::new_checked(frame)?;
        let repr = Repr { dst: view.dst(), src: view.src(), ether_type: view.ether_type() };
        Ok((repr, view.payload()))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        HEADER_LEN
    }
    /// Writes the header over the first bytes of `frame`. Panics where it is too short.
    pub fn emit(&self, frame: &mut [u8]) {
        let mut view = View::new_unchecked(frame);
        view.set_dst(self.dst);
        view.set_src(self.src);
        view.set_ether_type(self.ether_type);
    }
    /// A whole frame without FCS: header, payload, and zeros up to the minimum of 60 bytes.
    pub fn frame(&self, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; (HEADER_LEN + payload.len()).max(MIN_LEN_WITHOUT_FCS)];
        self.emit(&mut frame);
        put(&mut frame, HEADER_LEN, payload);
        frame
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ethernet {} > {} {}", self.src, self.dst, self.ether_type)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The first fourteen bytes of the learning frame printed in RFC 2544 C.2.6.1.
    #[test]
    fn header_of_the_rfc2544_learning_frame() {
        let bytes = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x08, 0x06, 9];
        let (repr, rest) = Repr::parse(&bytes).unwrap();
        assert_eq!(repr.dst, MacAddr::BROADCAST);
        assert_eq!(repr.src, MacAddr([2, 0, 0, 0, 0, 1]));
        assert_eq!(repr.ether_type, EtherType::ARP);
        assert_eq!(rest, [9]);
    }

    #[test]
    fn addresses_of_multicast_groups() {
        // RFC 1112 section 6.4: the low 23 bits of the group, so 224.128.64.32 loses its top bit.
        let group = MacAddr::of_ipv4_group(Ipv4Addr::new(224, 128, 64, 32));
        assert_eq!(group.to_string(), "01:00:5e:00:40:20");
        // RFC 2464 section 7: 33:33 and the last four octets.
        let group = MacAddr::of_ipv6_group("ff02::1:ff28:9c5a".parse().unwrap());
        assert_eq!(group.to_string(), "33:33:ff:28:9c:5a");
        assert!(group.is_group());
    }

    #[test]
    fn texts_that_are_no_address_are_refused() {
        for text in
            ["", "02:00:00:00:00", "02:00:00:00:00:01:02", "02:00:00:00:00:+1", "2:0:0:0:0:1"]
        {
            assert!(text.parse::<MacAddr>().is_err(), "{text}");
        }
        assert_eq!("02-00-00-00-00-FE".parse(), Ok(MacAddr([2, 0, 0, 0, 0, 0xfe])));
    }

    #[test]
    fn a_short_frame_is_padded_to_60_bytes() {
        let repr = Repr { dst: MacAddr::BROADCAST, src: MacAddr::ZERO, ether_type: EtherType::ARP };
        let frame = repr.frame(&[7]);
        assert_eq!((frame.len(), frame[14], frame[15]), (60, 7, 0));
    }

    #[test]
    fn a_length_cuts_the_padding_and_a_type_does_not() {
        let rest = [1, 2, 3, 0, 0];
        assert_eq!(EtherType::length(3).cut_padding(&rest), Ok(&rest[..3]));
        assert_eq!(EtherType::IPX.cut_padding(&rest), Ok(&rest[..]));
        assert!(EtherType::length(6).cut_padding(&rest).is_err(), "cut short");
        assert!(EtherType(1501).cut_padding(&[0; 1600]).is_err(), "neither length nor type");
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(dst: [u8; 6], src: [u8; 6], ether_type: u16) {
            let repr = Repr { dst: MacAddr(dst), src: MacAddr(src), ether_type: EtherType(ether_type) };
            let mut bytes = [0; HEADER_LEN];
            repr.emit(&mut bytes);
            prop_assert_eq!(Repr::parse(&bytes), Ok((repr, &[][..])));
            prop_assert_eq!(repr.dst.to_string().parse(), Ok(repr.dst));
            prop_assert_eq!(MacAddr::from_u64(repr.src.to_u64()), repr.src);
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes: Vec<u8>, text: String) {
            let _ = Repr::parse(&bytes);
            let _ = text.parse::<MacAddr>();
        }
    }
}
