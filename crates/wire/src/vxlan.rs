//! Virtual extensible LAN (RFC 7348): an Ethernet frame within UDP.

use crate::DecodeError;
use crate::ethernet::{self, EtherType, MacAddr};
use crate::ipv4::{self, Protocol};
use crate::udp;
use crate::view::view;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv4Addr;

/// Bytes of the header.
pub const HEADER_LEN: usize = 8;
/// Where it is listened for (RFC 7348 section 5).
pub const PORT: u16 = 4789;
/// What a frame within grows by: Ethernet, IPv4, UDP and this header.
pub const OVERHEAD_IPV4: usize =
    ethernet::HEADER_LEN + ipv4::HEADER_LEN + udp::HEADER_LEN + HEADER_LEN;

/// The highest network identifier: 24 bits.
pub const NETWORK_MAX: u32 = 0xff_ffff;
const WHAT: &str = "VXLAN header";

view! {
    /// A header and the frame within, as bytes.
    pub struct View(WHAT, HEADER_LEN), check: Self::check;
    /// The network identifier is valid.
    is_valid / set_valid: bool = 0 as u8[3..4];
    /// Network identifier, 24 bits.
    network / set_network: u32 = 4 as u32[8..32];
}

impl<T: AsRef<[u8]>> View<T> {
    fn check(&self) -> Result<(), DecodeError> {
        match self.is_valid() {
            true => Ok(()),
            false => Err(DecodeError::malformed(WHAT, "no valid network identifier")),
        }
    }
}

/// A header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Network identifier, 24 bits.
    pub network: u32,
}

impl Repr {
    /// Reads a header: one without a valid network identifier is none.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let view = View::new_checked(bytes)?;
        Ok((Repr { network: view.network() }, view.payload()))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        HEADER_LEN
    }
    /// Writes the header; bits beyond 24 are cut off. Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        bytes[..HEADER_LEN].fill(0);
        let mut view = View::new_unchecked(bytes);
        view.set_valid(true);
        view.set_network(self.network);
    }
}

/// A frame, from one end of a tunnel over IPv4 to the other, as a frame without FCS. The UDP checksum is
/// zero, as RFC 7348 section 5 wants it, and the source port drawn from the frame within.
pub fn frame_over_ipv4(
    src: (MacAddr, Ipv4Addr),
    dst: (MacAddr, Ipv4Addr),
    network: u32,
    within: &[u8],
) -> Vec<u8> {
    let mut payload = vec![0; udp::HEADER_LEN + HEADER_LEN];
    let len = (HEADER_LEN + within.len()) as u16;
    udp::Repr { src_port: source_port(within), dst_port: PORT, payload_len: len }
        .emit(&mut payload);
    Repr { network }.emit(&mut payload[udp::HEADER_LEN..]);
    payload.extend_from_slice(within);
    let ip = ipv4::Repr::new(src.1, dst.1, Protocol::UDP, payload.len() as u16);
    let ether_type = EtherType::IPV4;
    let header = ethernet::Repr { dst: dst.0, src: src.0, ether_type };
    header.frame(&ip.packet(&payload))
}

/// Of the dynamic ports, by the addresses within.
fn source_port(within: &[u8]) -> u16 {
    let addresses = within.iter().take(2 * ethernet::HEADER_LEN);
    let hash = addresses.fold(0u16, |hash, byte| hash.rotate_left(5) ^ u16::from(*byte));
    0xc000 | hash
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VXLAN {}", self.network)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 7348 section 5: flags with the I bit, 24 reserved bits, the identifier, 8 reserved bits.
    #[test]
    fn network_5000_byte_by_byte() {
        let mut bytes = [0xff; HEADER_LEN];
        Repr { network: 5_000 }.emit(&mut bytes);
        assert_eq!(bytes, [0x08, 0, 0, 0, 0x00, 0x13, 0x88, 0]);
        assert_eq!(Repr::parse(&bytes), Ok((Repr { network: 5_000 }, &[][..])));
        assert!(Repr::parse(&[0; 8]).is_err());
    }

    #[test]
    fn a_frame_of_64_becomes_one_of_114() {
        let end = (MacAddr([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(198, 18, 1, 2));
        let within = [7; 60];
        let frame = frame_over_ipv4(end, end, 9, &within);
        assert_eq!((frame.len() + 4, frame.len() - within.len()), (114, OVERHEAD_IPV4));
        let (_, datagram) = ipv4::Repr::parse(&frame[14..]).unwrap();
        let (udp, payload) = udp::Repr::parse(datagram).unwrap();
        assert_eq!((udp.dst_port, &payload[HEADER_LEN..]), (PORT, &within[..]));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
        }
    }
}
