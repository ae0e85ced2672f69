//! UDP (RFC 768).

use crate::DecodeError;
use crate::bytes::require;
use crate::checksum::{self, PseudoHeader};
use crate::ethernet::{self, EtherType, MacAddr};
use crate::ipv4::{self, Protocol};
use crate::view::view;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddrV4;

/// Place of the source port in the header.
pub const SRC_PORT: usize = 0;
/// Place of the destination port in the header.
pub const DST_PORT: usize = 2;
/// Place of the checksum in the header.
pub const CHECKSUM: usize = 6;
/// Bytes of the header.
pub const HEADER_LEN: usize = 8;
/// The echo service (RFC 862), to which RFC 2544 appendix C sends its test frames.
pub const ECHO_PORT: u16 = 7;

const WHAT: &str = "UDP datagram";

view! {
    /// A datagram as bytes.
    pub struct View(WHAT, HEADER_LEN), check: Self::check, payload: Self::payload_range;
    /// Source port.
    src_port / set_src_port: u16 = SRC_PORT;
    /// Destination port.
    dst_port / set_dst_port: u16 = DST_PORT;
    /// Bytes of the datagram, header included.
    length / set_length: u16 = 4;
    /// The checksum; 0 is none.
    checksum / set_checksum: u16 = CHECKSUM;
}

impl<T: AsRef<[u8]>> View<T> {
    #[inline]
    fn check(&self) -> Result<(), DecodeError> {
        let length = usize::from(self.length());
        if length < HEADER_LEN {
            return Err(DecodeError::malformed(WHAT, "length below that of its header"));
        }
        require(WHAT, self.0.as_ref(), length)
    }
    #[inline]
    fn payload_range(&self) -> std::ops::Range<usize> {
        HEADER_LEN..self.length().into()
    }
    /// Refuses a datagram with a wrong checksum. None at all is good over IPv4 (RFC 768) and an error
    /// over IPv6 (RFC 8200 section 8.1).
    pub fn verify_checksum(&self, addresses: PseudoHeader) -> Result<(), DecodeError> {
        match (self.checksum(), addresses) {
            (0, PseudoHeader::V4(..)) => Ok(()),
            (0, PseudoHeader::V6(..)) => {
                Err(DecodeError::malformed(WHAT, "no checksum, which IPv6 does not allow"))
            }
            (found, _) => {
                let datagram = self.0.as_ref().get(..self.length().into()).unwrap_or_default();
                let before = addresses.sum(Protocol::UDP, datagram.len());
                checksum::verify(WHAT, before, datagram, found)
            }
        }
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> View<T> {
    /// Computes and writes the checksum of all the bytes; a computed 0 is sent as 0xffff, since 0
    /// means "none" (RFC 768).
    pub fn fill_checksum(&mut self, addresses: PseudoHeader) {
        checksum::fill(Protocol::UDP, addresses, self.0.as_mut());
    }
}

/// A UDP header without its checksum, which needs the addresses: see [`verify`] and
/// [`fill_checksum`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Bytes after the header.
    pub payload_len: u16,
}

impl Repr {
    /// Reads a header and cuts the payload to the length it states.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let view = View::new_checked(bytes)?;
        let repr = Repr {
            src_port: view.src_port(),
            dst_port: view.dst_port(),
            payload_len: view.length() - HEADER_LEN as u16,
        };
        Ok((repr, view.payload()))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        HEADER_LEN
    }
    /// Writes the header with checksum 0, "none". Panics where `bytes` is too short or the payload
    /// too long for the length field.
    pub fn emit(&self, bytes: &mut [u8]) {
        let mut view = View::new_unchecked(bytes);
        view.set_src_port(self.src_port);
        view.set_dst_port(self.dst_port);
        view.set_length(self.payload_len + HEADER_LEN as u16);
        view.set_checksum(0);
    }
    /// A whole datagram with its checksum.
    pub fn datagram(&self, addresses: PseudoHeader, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_LEN];
        self.emit(&mut bytes);
        bytes.extend_from_slice(payload);
        fill_checksum(addresses, &mut bytes);
        bytes
    }
}

/// A datagram over IPv4 as a whole frame without FCS, TTL 64: queries and the like, from a station
/// and its socket to another.
pub fn frame_ipv4(
    src: (MacAddr, SocketAddrV4),
    dst: (MacAddr, SocketAddrV4),
    payload: &[u8],
) -> Vec<u8> {
    let (src_ip, dst_ip) = (*src.1.ip(), *dst.1.ip());
    let repr =
        Repr { src_port: src.1.port(), dst_port: dst.1.port(), payload_len: payload.len() as u16 };
    let datagram = repr.datagram(PseudoHeader::V4(src_ip, dst_ip), payload);
    let ip = ipv4::Repr::new(src_ip, dst_ip, Protocol::UDP, datagram.len() as u16);
    let ethernet = ethernet::Repr { dst: dst.0, src: src.0, ether_type: EtherType::IPV4 };
    ethernet.frame(&ip.packet(&datagram))
}

/// Computes and writes the checksum of a whole datagram; a computed 0 is sent as 0xffff, since 0
/// means "none" (RFC 768).
pub fn fill_checksum(addresses: PseudoHeader, datagram: &mut [u8]) {
    View::new_unchecked(datagram).fill_checksum(addresses);
}

/// The checksum field for a computed checksum.
pub const fn on_the_wire(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}

/// Checks the checksum of a whole datagram: see [`View::verify_checksum`].
pub fn verify(addresses: PseudoHeader, datagram: &[u8]) -> Result<(), DecodeError> {
    View::new_checked(datagram)?.verify_checksum(addresses)
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UDP {} > {} {} bytes", self.src_port, self.dst_port, self.payload_len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    /// Worked by hand after RFC 768: pseudo header c612+0102+c613+0102+0011+000a, datagram
    /// c020+0007+000a+0000+0102 sum to 24f77, folded 4f79, complement b086.
    #[test]
    fn checksum_byte_vector() {
        let addresses =
            PseudoHeader::V4(Ipv4Addr::new(198, 18, 1, 2), Ipv4Addr::new(198, 19, 1, 2));
        let repr = Repr { src_port: 49184, dst_port: ECHO_PORT, payload_len: 2 };
        let datagram = repr.datagram(addresses, &[1, 2]);
        assert_eq!(datagram, [0xc0, 0x20, 0, 7, 0, 10, 0xb0, 0x86, 1, 2]);
    }

    #[test]
    fn no_checksum_is_good_over_ipv4_only() {
        let mut bytes = [0; HEADER_LEN];
        Repr { src_port: 1, dst_port: 2, payload_len: 0 }.emit(&mut bytes);
        let v4 = PseudoHeader::V4(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
        let v6 = PseudoHeader::V6(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        assert_eq!(verify(v4, &bytes), Ok(()));
        assert!(verify(v6, &bytes).is_err());
    }

    #[test]
    fn lengths_that_cannot_be_are_refused() {
        assert!(Repr::parse(&[0, 1, 0, 2, 0, 7, 0, 0]).is_err());
        assert!(Repr::parse(&[0, 1, 0, 2, 0, 9, 0, 0]).is_err());
        let (_, payload) = Repr::parse(&[0, 1, 0, 2, 0, 9, 0, 0, 5, 6]).unwrap();
        assert_eq!(payload, [5], "padding is cut off");
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed_and_verifies(src_port: u16, dst_port: u16, payload: Vec<u8>,
                                                  a: [u8; 16], b: [u8; 16], flip: usize) {
            let repr = Repr { src_port, dst_port, payload_len: payload.len() as u16 };
            let addresses = PseudoHeader::V6(a.into(), b.into());
            let mut datagram = repr.datagram(addresses, &payload);
            prop_assert_eq!(Repr::parse(&datagram), Ok((repr, &payload[..])));
            prop_assert_eq!(verify(addresses, &datagram), Ok(()));
            let bit = flip % (datagram.len() * 8);
            datagram[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(verify(addresses, &datagram).is_err());
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
            let _ = verify(PseudoHeader::V6(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST), &bytes);
        }
    }
}
