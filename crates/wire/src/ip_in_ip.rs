//! A packet right within another one: IPv6 in IPv4 (RFC 4213) and IPv4 or IPv6 in IPv6 (RFC 2473); and
//! GRE within IPv6 (RFC 7676).

use crate::DecodeError;
use crate::ethernet::{self, EtherType, MacAddr};
use crate::gre;
use crate::ipv4::{self, Protocol};
use crate::ipv6;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The packet of a frame, from one end of a tunnel over IPv4 to the other, as a frame without FCS.
/// Padding of the frame within is cut off.
pub fn frame_over_ipv4(
    src: (MacAddr, Ipv4Addr),
    dst: (MacAddr, Ipv4Addr),
    within: &[u8],
) -> Result<Vec<u8>, DecodeError> {
    let (protocol, packet) = packet_of(within)?;
    let ip = ipv4::Repr::new(src.1, dst.1, protocol, packet.len() as u16);
    let header = ethernet::Repr { dst: dst.0, src: src.0, ether_type: EtherType::IPV4 };
    Ok(header.frame(&ip.packet(packet)))
}

/// The same over IPv6, without a tunnel encapsulation limit (RFC 2473 section 4.1.1).
pub fn frame_over_ipv6(
    src: (MacAddr, Ipv6Addr),
    dst: (MacAddr, Ipv6Addr),
    within: &[u8],
) -> Result<Vec<u8>, DecodeError> {
    let (protocol, packet) = packet_of(within)?;
    Ok(over_ipv6(src, dst, protocol, packet))
}

/// The same with a GRE header between.
pub fn gre_frame_over_ipv6(
    src: (MacAddr, Ipv6Addr),
    dst: (MacAddr, Ipv6Addr),
    within: &[u8],
) -> Result<Vec<u8>, DecodeError> {
    let (inner, _) = ethernet::Repr::parse(within)?;
    let (_, packet) = packet_of(within)?;
    let mut payload = vec![0; gre::HEADER_LEN];
    gre::Repr { protocol: inner.ether_type }.emit(&mut payload);
    payload.extend_from_slice(packet);
    Ok(over_ipv6(src, dst, Protocol::GRE, &payload))
}

fn over_ipv6(
    src: (MacAddr, Ipv6Addr),
    dst: (MacAddr, Ipv6Addr),
    protocol: Protocol,
    payload: &[u8],
) -> Vec<u8> {
    let ip = ipv6::Repr::new(src.1, dst.1, protocol, payload.len() as u16);
    let header = ethernet::Repr { dst: dst.0, src: src.0, ether_type: EtherType::IPV6 };
    header.frame(&ip.packet(payload))
}

/// The packet of a frame, without padding, and its number within another.
fn packet_of(frame: &[u8]) -> Result<(Protocol, &[u8]), DecodeError> {
    let (header, packet) = ethernet::Repr::parse(frame)?;
    let (protocol, len) = match header.ether_type {
        EtherType::IPV4 => {
            let (ip, payload) = ipv4::Repr::parse(packet)?;
            (Protocol::IPV4, ip.header_len() + payload.len())
        }
        EtherType::IPV6 => {
            let (_, payload) = ipv6::Repr::parse(packet)?;
            (Protocol::IPV6, ipv6::HEADER_LEN + payload.len())
        }
        _ => return Err(DecodeError::malformed("frame", "of no version of IP")),
    };
    Ok((protocol, &packet[..len]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const V4: Ipv4Addr = Ipv4Addr::new(198, 19, 1, 2);
    const V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2);

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let bytes = &bytes[..bytes.len().min(2_000)];
            let _ = frame_over_ipv4((MAC, V4), (MAC, V4), bytes);
            let _ = frame_over_ipv6((MAC, V6), (MAC, V6), bytes);
            let _ = gre_frame_over_ipv6((MAC, V6), (MAC, V6), bytes);
        }
    }
}
