//! Whether a received frame's checksums are good, decided on raw bytes for speed: the receiver
//! asks this of every frame when payloads are verified.

use crate::checksum::{self, Sum};
use crate::ethernet::EtherType;
use crate::ipv4::Protocol;
use crate::ipv6::{self, Extension, ExtensionView, FragmentView};
use crate::{ipv4, udp, vlan};

/// False where the IPv4 header checksum or the UDP, TCP or ICMP checksum of a frame (without FCS) is
/// wrong, or missing where it must not be (UDP over IPv6), or the packet is cut short, or UDP's length
/// cannot be. Frames without such a checksum (other protocols, IPv4 UDP with checksum 0, fragments) are
/// good, and so are those with a routing header of an unknown type. The version of IP is not looked at, as
/// `ports/bpf/verify.h` does not.
pub fn transport_is_good(frame: &[u8]) -> bool {
    match vlan::behind_tags(frame, usize::MAX) {
        Some((EtherType::IPV4, packet)) => ipv4_is_good(packet),
        Some((EtherType::IPV6, packet)) => ipv6_is_good(packet).unwrap_or(false),
        other => other.is_some(),
    }
}

fn ipv4_is_good(packet: &[u8]) -> bool {
    let Some(view) = ipv4::View::peek(packet) else { return false };
    let (header_len, total_len) = (view.header_len(), usize::from(view.total_len()));
    if header_len < ipv4::HEADER_LEN || total_len < header_len || packet.len() < total_len {
        return false;
    }
    let addresses = Sum::ZERO.bytes(&packet[ipv4::SRC..ipv4::HEADER_LEN]);
    Sum::ZERO.bytes(&packet[..header_len]).folded() == 0xffff
        && (view.is_fragment() || payload_is_good(view.protocol(), view.payload(), addresses))
}

/// `None` where the packet is cut short.
fn ipv6_is_good(packet: &[u8]) -> Option<bool> {
    let view = ipv6::View::peek(packet)?;
    let end = ipv6::HEADER_LEN + usize::from(view.payload_len());
    let (mut next, mut payload) = (view.next_header(), packet.get(ipv6::HEADER_LEN..end)?);
    let mut destination = Some(view.dst());
    while Extension::is_known(next) {
        if next == Protocol::FRAGMENT {
            let fragment = FragmentView::peek(payload)?;
            if fragment.offset() != 0 || fragment.more() {
                return Some(true);
            }
            (next, payload) = (fragment.next_header(), fragment.payload());
        } else {
            let extension = ExtensionView::new_checked(payload).ok()?;
            if next == Protocol::ROUTING {
                destination = destination.and_then(|dst| extension.final_destination(dst));
            }
            (next, payload) = (extension.next_header(), extension.payload());
        }
    }
    if next == Protocol::UDP && udp::View::peek(payload)?.checksum() == 0 {
        return Some(false);
    }
    // Nobody but the route's end knows the checksum of a route of an unknown type.
    let Some(destination) = destination else { return Some(true) };
    let addresses = Sum::ZERO.bytes(&packet[ipv6::SRC..ipv6::DST]).bytes(&destination.octets());
    Some(payload_is_good(next, payload, addresses))
}

/// `addresses` is the sum of the pseudo header's addresses (RFC 768, RFC 8200 section 8.1).
fn payload_is_good(protocol: Protocol, payload: &[u8], addresses: Sum) -> bool {
    let payload = match protocol {
        // What is behind the datagram is no part of it.
        Protocol::UDP => match udp::View::new_checked(payload) {
            Ok(datagram) => &payload[..datagram.length().into()],
            Err(_) => return false,
        },
        _ => payload,
    };
    let Some(field) = checksum::place(protocol) else { return true };
    let Some(found) = payload.get(field..field + 2) else { return false };
    if protocol == Protocol::UDP && found == [0, 0] {
        return true;
    }
    let before = match protocol {
        Protocol::ICMPV4 => Sum::ZERO,
        _ => addresses.word(protocol.0.into()).bytes(&(payload.len() as u32).to_be_bytes()),
    };
    before.bytes(payload).folded() == 0xffff
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 2544 appendix C's test frame for 64 bytes, whose header checksum 198.18.1.2 ->
    /// 198.19.1.2 is 2296.
    fn test_frame() -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        let ip = [0x45, 0, 0, 0x2e, 0, 0, 0, 0, 10, 17, 0x22, 0x96];
        frame[14..26].copy_from_slice(&ip);
        frame[26..34].copy_from_slice(&[198, 18, 1, 2, 198, 19, 1, 2]);
        frame[34..42].copy_from_slice(&[0xc0, 0x20, 0, 7, 0, 0x1a, 0, 0]);
        // c612 + 0102 + c613 + 0102 + 11 + 1a + c020 + 0007 + 001a = 24e95, folded 4e97.
        frame[40..42].copy_from_slice(&(!0x4e97u16).to_be_bytes());
        frame
    }

    #[test]
    fn a_good_frame_is_good_and_each_flipped_bit_is_found() {
        let frame = test_frame();
        assert!(transport_is_good(&frame));
        for bit in 20 * 8..60 * 8 {
            let mut bad = frame.clone();
            bad[bit / 8] ^= 0x80 >> (bit % 8);
            // Turning off fragment-free flags, the protocol or making other packets of it aside,
            // what is left of header and payload must not pass.
            if !(20..24).contains(&(bit / 8)) {
                assert!(!transport_is_good(&bad), "bit {bit}");
            }
        }
    }

    #[test]
    fn a_udp_checksum_of_zero_is_none() {
        let mut frame = test_frame();
        frame[40..42].copy_from_slice(&[0, 0]);
        assert!(transport_is_good(&frame));
        frame[55] = 1;
        assert!(transport_is_good(&frame));
    }

    /// The packet may be longer than the datagram in it, but not shorter.
    #[test]
    fn what_is_behind_a_datagram_is_not_summed() {
        let mut frame = test_frame();
        frame.extend([0xab; 5]);
        // Total length 002e + 5, so that the header's checksum is 5 less.
        frame[16..18].copy_from_slice(&0x33u16.to_be_bytes());
        frame[24..26].copy_from_slice(&0x2291u16.to_be_bytes());
        assert!(transport_is_good(&frame));
        for length in [0u16, 7, 0x1a + 6] {
            frame[38..40].copy_from_slice(&length.to_be_bytes());
            assert!(!transport_is_good(&frame), "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = transport_is_good(&bytes);
        }
    }
}
