//! Whether a received frame's checksums are good, decided on raw bytes for speed: the receiver
//! asks this of every frame when payloads are verified.

use crate::checksum::Sum;
use crate::ethernet::EtherType;
use crate::ipv4::Protocol;
use crate::ipv6::Extension;
use crate::{ethernet, ipv4, ipv6};

const FRAGMENT_BITS: u16 = 0x3fff;

/// False where the IPv4 header checksum or the UDP, TCP or ICMP checksum of a frame (without FCS)
/// is wrong, or missing where it must not be (UDP over IPv6), or the packet is cut short. Frames
/// without such a checksum (other protocols, IPv4 UDP with checksum 0, fragments) are good.
pub fn transport_is_good(frame: &[u8]) -> bool {
    let mut at = ethernet::HEADER_LEN - 2;
    let mut ether_type = word(frame, at).map(EtherType);
    while ether_type.is_some_and(EtherType::is_vlan) {
        at += 4;
        ether_type = word(frame, at).map(EtherType);
    }
    let packet = frame.get(at + 2..).unwrap_or_default();
    match ether_type {
        Some(EtherType::IPV4) => ipv4_is_good(packet),
        Some(EtherType::IPV6) => ipv6_is_good(packet),
        Some(_) => true,
        None => false,
    }
}

fn ipv4_is_good(packet: &[u8]) -> bool {
    let Some(&version_ihl) = packet.first() else { return false };
    let header_len = usize::from(version_ihl & 0x0f) * 4;
    let total_len = usize::from(word(packet, 2).unwrap_or(0));
    if header_len < ipv4::HEADER_LEN || total_len < header_len || packet.len() < total_len {
        return false;
    }
    if Sum::ZERO.bytes(&packet[..header_len]).folded() != 0xffff {
        return false;
    }
    let is_fragment = word(packet, 6).unwrap_or(0) & FRAGMENT_BITS != 0;
    let addresses = Sum::ZERO.bytes(&packet[ipv4::SRC..ipv4::HEADER_LEN]);
    is_fragment || payload_is_good(Protocol(packet[9]), &packet[header_len..total_len], addresses)
}

fn ipv6_is_good(packet: &[u8]) -> bool {
    let Some(payload_len) = word(packet, 4).map(usize::from) else { return false };
    let end = ipv6::HEADER_LEN + payload_len;
    let Some(mut payload) = packet.get(ipv6::HEADER_LEN..end) else { return false };
    let mut next = Protocol(packet[6]);
    while Extension::is_known(next) {
        let Some(&[number, len, ..]) = payload.first_chunk::<8>() else { return false };
        let len = if next == Protocol::FRAGMENT {
            if word(payload, 2).unwrap_or(0) & 0xfff9 != 0 {
                return true;
            }
            ipv6::FRAGMENT_HEADER_LEN
        } else {
            (usize::from(len) + 1) * 8
        };
        let Some(rest) = payload.get(len..) else { return false };
        (next, payload) = (Protocol(number), rest);
    }
    if next == Protocol::UDP && word(payload, 6) == Some(0) {
        return false;
    }
    payload_is_good(next, payload, Sum::ZERO.bytes(&packet[ipv6::SRC..ipv6::HEADER_LEN]))
}

/// `addresses` is the sum of the pseudo header's addresses (RFC 768, RFC 8200 section 8.1).
fn payload_is_good(protocol: Protocol, payload: &[u8], addresses: Sum) -> bool {
    let field = match protocol {
        Protocol::UDP => 6,
        Protocol::TCP => 16,
        Protocol::ICMPV4 | Protocol::ICMPV6 => 2,
        _ => return true,
    };
    let Some(checksum) = word(payload, field) else { return false };
    if protocol == Protocol::UDP && checksum == 0 {
        return true;
    }
    let before = match protocol {
        Protocol::ICMPV4 => Sum::ZERO,
        _ => addresses.word(protocol.0.into()).bytes(&(payload.len() as u32).to_be_bytes()),
    };
    before.bytes(payload).folded() == 0xffff
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
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

    /// Of each kind with a checksum, through tags and extension headers.
    #[test]
    fn damage_is_found_in_every_kind_of_frame() {
        use crate::ethernet::MacAddr;
        use crate::template::{FrameTemplate, Ipv4Layer, Ipv6Layer, Layer, TcpLayer, UdpLayer};
        let eth = FrameTemplate::ethernet(MacAddr::ZERO, MacAddr::BROADCAST);
        let v4 = || eth.clone().layer(Layer::Ipv4(Ipv4Layer::new([1; 4].into(), [2; 4].into())));
        let v6 = || eth.clone().layer(Layer::Ipv6(Ipv6Layer::new([1; 16].into(), [2; 16].into())));
        let fragment = Extension::Fragment { offset: 0, more: false, identification: 1 };
        let templates = [
            v4().layer(Layer::Udp(UdpLayer::default())).tagged(&[1, 2]),
            v4().layer(Layer::Tcp(TcpLayer::new(1, 2))),
            v4().layer(Layer::Icmpv4Echo { identifier: 1, sequence: 2 }),
            v6().layer(Layer::Icmpv6Echo { identifier: 1, sequence: 2 }),
            v6().layer(Layer::Ipv6Extension(Extension::destination_padding(8)))
                .layer(Layer::Ipv6Extension(fragment))
                .layer(Layer::Udp(UdpLayer::default())),
        ];
        for template in templates {
            let mut frame = template.build(0, units::FrameSize::from_bytes(200), None).unwrap();
            assert!(transport_is_good(&frame), "{template}");
            frame[190] ^= 4;
            assert!(!transport_is_good(&frame), "{template}");
        }
        let template = v6().layer(Layer::Udp(UdpLayer::default()));
        let mut frame = template.build(0, units::FrameSize::from_bytes(200), None).unwrap();
        frame[60..62].fill(0);
        assert!(!transport_is_good(&frame), "IPv6 does not allow UDP without checksum");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = transport_is_good(&bytes);
        }
    }
}
