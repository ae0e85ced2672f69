//! Generic routing encapsulation (RFC 2784, with the key and sequence number of RFC 2890): a packet of
//! any protocol within IP.

use crate::DecodeError;
use crate::bytes::{put_u16, require, u16_at};
use crate::checksum::{self, Sum};
use crate::ethernet::{self, EtherType, MacAddr};
use crate::ipv4::{self, Protocol};
use crate::ipv6;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv4Addr;

const FLAGS: usize = 0;
const PROTOCOL: usize = 2;
const CHECKSUM: usize = 4;
/// Bytes of a header without optional fields, the only one that is written.
pub const HEADER_LEN: usize = 4;

const HAS_CHECKSUM: u16 = 0x8000;
const HAS_KEY: u16 = 0x2000;
const HAS_SEQUENCE: u16 = 0x1000;
/// Routing and what RFC 2784 section 2.3 has receivers refuse, and the version, which is 0.
const REFUSED: u16 = 0x4c07;
const OPTION_LEN: usize = 4;
const WHAT: &str = "GRE header";

/// A header. Checksum, key and sequence number are passed over, and never written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// What is within.
    pub protocol: EtherType,
}

impl Repr {
    /// Reads a header, and checks its checksum where it has one.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        require(WHAT, bytes, HEADER_LEN)?;
        let flags = u16_at(bytes, FLAGS);
        if flags & REFUSED != 0 {
            return Err(DecodeError::malformed(
                WHAT,
                "of a version or with flags that are not read",
            ));
        }
        let options = [HAS_CHECKSUM, HAS_KEY, HAS_SEQUENCE];
        let count = options.into_iter().filter(|option| flags & option != 0).count();
        let len = HEADER_LEN + count * OPTION_LEN;
        require(WHAT, bytes, len)?;
        if flags & HAS_CHECKSUM != 0 {
            checksum::verify(WHAT, Sum::ZERO, bytes, CHECKSUM)?;
        }
        Ok((Repr { protocol: EtherType(u16_at(bytes, PROTOCOL)) }, &bytes[len..]))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        HEADER_LEN
    }
    /// Writes the header. Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        put_u16(bytes, FLAGS, 0);
        put_u16(bytes, PROTOCOL, self.protocol.0);
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
    use crate::test_frame;
    use proptest::prelude::*;
    use units::FrameSize;

    /// RFC 2784 section 2.1 and RFC 2890 section 2: checksum, key and sequence number in this order.
    #[test]
    fn optional_fields_are_passed_over() {
        let (repr, rest) = Repr::parse(&[0x30, 0, 0x08, 0, 0, 0, 0, 7, 0, 0, 0, 9, 0x45]).unwrap();
        assert_eq!((repr.protocol, rest), (EtherType::IPV4, &[0x45][..]));
        assert!(Repr::parse(&[0, 1, 0x88, 0x0b]).is_err(), "version 1 is PPTP's");
    }

    #[test]
    fn a_frame_of_64_becomes_one_of_88() {
        let (mac, host) = (MacAddr([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(198, 18, 1, 2));
        let within = test_frame::template((mac, host), (mac, host));
        let within = within.build(0, FrameSize::MIN_ETHERNET, None).unwrap();
        let frame = frame_over_ipv4((mac, host), (mac, host), &within).unwrap();
        assert_eq!(frame.len() + 4, 88);
        let (outer, payload) = ipv4::Repr::parse(&frame[14..]).unwrap();
        let (repr, packet) = Repr::parse(payload).unwrap();
        assert_eq!((outer.protocol, repr.protocol), (Protocol::GRE, EtherType::IPV4));
        assert_eq!(packet, &within[14..]);
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
