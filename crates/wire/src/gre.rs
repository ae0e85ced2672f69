//! Generic routing encapsulation (RFC 2784, with the key and sequence number of RFC 2890): a packet of
//! any protocol within IP.

use crate::DecodeError;
use crate::bytes::require;
use crate::checksum::{self, Sum};
use crate::ethernet::{self, EtherType, MacAddr};
use crate::ipv4::{self, Protocol};
use crate::ipv6;
use crate::view::view;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv4Addr;

/// Bytes of a header without optional fields, the only one that is written.
pub const HEADER_LEN: usize = 4;

/// Routing and what RFC 2784 section 2.3 has receivers refuse, and the version, which is 0.
const REFUSED: u16 = 0x4c07;
const OPTION_LEN: usize = 4;
const WHAT: &str = "GRE header";

view! {
    /// A header and the packet within, as bytes.
    pub struct View(WHAT, HEADER_LEN), check: Self::check, payload: Self::payload_range;
    /// All flags, and the version.
    flags / set_flags: u16 = 0;
    /// There is a checksum.
    has_checksum / set_has_checksum: bool = 0 as u16[15..16];
    /// There is a key.
    has_key / set_has_key: bool = 0 as u16[13..14];
    /// There is a sequence number.
    has_sequence / set_has_sequence: bool = 0 as u16[12..13];
    /// What is within.
    protocol / set_protocol: EtherType = 2;
}

impl<T: AsRef<[u8]>> View<T> {
    fn check(&self) -> Result<(), DecodeError> {
        if self.flags() & REFUSED != 0 {
            let why = "of a version or with flags that are not read";
            return Err(DecodeError::malformed(WHAT, why));
        }
        require(WHAT, self.0.as_ref(), self.header_len())
    }
    fn payload_range(&self) -> std::ops::Range<usize> {
        self.header_len()..self.0.as_ref().len()
    }
    /// Bytes of the header, optional fields included.
    pub fn header_len(&self) -> usize {
        let options = [self.has_checksum(), self.has_key(), self.has_sequence()];
        HEADER_LEN + options.into_iter().filter(|there| *there).count() * OPTION_LEN
    }
    /// The checksum over header and packet, where there is one: the first optional field.
    pub fn checksum(&self) -> Option<u16> {
        let bytes = self.0.as_ref().get(HEADER_LEN..).filter(|_| self.has_checksum())?;
        bytes.first_chunk().map(|field| u16::from_be_bytes(*field))
    }
    /// Refuses a packet with a wrong checksum; none is good.
    pub fn verify_checksum(&self) -> Result<(), DecodeError> {
        match self.checksum() {
            Some(found) => checksum::verify(WHAT, Sum::ZERO, self.0.as_ref(), found),
            None => Ok(()),
        }
    }
}

/// A header. Checksum, key and sequence number are passed over, and never written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// What is within.
    pub protocol: EtherType,
}

impl Repr {
    /// Reads a header, and checks its checksum where it has one.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let view = View::new_checked(bytes)?;
        view.verify_checksum()?;
        Ok((Repr { protocol: view.protocol() }, view.payload()))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        HEADER_LEN
    }
    /// Writes the header. Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        let mut view = View::new_unchecked(bytes);
        view.set_flags(0);
        view.set_protocol(self.protocol);
    }
}

/// The packet of a frame, from one end of a tunnel over IPv4 to the other, as a frame without FCS.
/// Padding of the frame within is cut off where its packet says how long it is.
pub fn frame_over_ipv4(
    src: (MacAddr, Ipv4Addr),
    dst: (MacAddr, Ipv4Addr),
    within: &[u8],
) -> Result<Vec<u8>, DecodeError> {
    let (inner, packet) = ethernet::Repr::parse(within)?;
    let packet = without_padding(inner.ether_type, packet)?;
    let mut payload = vec![0; HEADER_LEN];
    Repr { protocol: inner.ether_type }.emit(&mut payload);
    payload.extend_from_slice(packet);
    let ip = ipv4::Repr::new(src.1, dst.1, Protocol::GRE, payload.len() as u16);
    let ether_type = EtherType::IPV4;
    let header = ethernet::Repr { dst: dst.0, src: src.0, ether_type };
    Ok(header.frame(&ip.packet(&payload)))
}

/// A packet as long as it says that it is; of a protocol that is not read here, all of it.
fn without_padding(protocol: EtherType, packet: &[u8]) -> Result<&[u8], DecodeError> {
    let len = match protocol {
        EtherType::IPV4 => {
            let (header, payload) = ipv4::Repr::parse(packet)?;
            header.header_len() + payload.len()
        }
        EtherType::IPV6 => ipv6::HEADER_LEN + ipv6::Repr::parse(packet)?.1.len(),
        _ => packet.len(),
    };
    Ok(&packet[..len])
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GRE of {}", self.protocol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 2784 section 2.1 and RFC 2890 section 2: checksum, key and sequence number in this order.
    #[test]
    fn optional_fields_are_passed_over() {
        let (repr, rest) = Repr::parse(&[0x30, 0, 0x08, 0, 0, 0, 0, 7, 0, 0, 0, 9, 0x45]).unwrap();
        assert_eq!((repr.protocol, rest), (EtherType::IPV4, &[0x45][..]));
        assert!(Repr::parse(&[0, 1, 0x88, 0x0b]).is_err(), "version 1 is PPTP's");
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
            let ends = (MacAddr::ZERO, Ipv4Addr::LOCALHOST);
            let _ = frame_over_ipv4(ends, ends, &bytes[..bytes.len().min(2_000)]);
        }
    }
}
