//! Whether a received frame's checksums are good, decided on raw bytes for speed: the receiver
//! asks this of every frame when payloads are verified.

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const VLAN_TAGS: [u16; 2] = [0x8100, 0x88a8];
const TCP: u8 = 6;
const UDP: u8 = 17;

/// False where the IPv4 header checksum or the UDP or TCP checksum of a frame (without FCS) is
/// wrong, or the packet is cut short. Frames without such a checksum (other protocols, IPv4 UDP
/// with checksum 0, fragments) are good.
pub fn transport_is_good(frame: &[u8]) -> bool {
    let mut at = 12;
    let mut ethertype = word(frame, at);
    while ethertype.is_some_and(|ethertype| VLAN_TAGS.contains(&ethertype)) {
        at += 4;
        ethertype = word(frame, at);
    }
    let packet = frame.get(at + 2..).unwrap_or_default();
    match ethertype {
        Some(ETHERTYPE_IPV4) => ipv4_is_good(packet),
        Some(ETHERTYPE_IPV6) => ipv6_is_good(packet),
        Some(_) => true,
        None => false,
    }
}

fn ipv4_is_good(packet: &[u8]) -> bool {
    let Some(&version_ihl) = packet.first() else { return false };
    let header_len = usize::from(version_ihl & 0x0f) * 4;
    let total_len = usize::from(word(packet, 2).unwrap_or(0));
    if header_len < 20 || total_len < header_len || packet.len() < total_len {
        return false;
    }
    if sum(&packet[..header_len], 0) != 0xffff {
        return false;
    }
    let is_fragment = word(packet, 6).unwrap_or(0) & 0x3fff != 0;
    let addresses = sum_only(&packet[12..20]);
    is_fragment || payload_is_good(packet[9], &packet[header_len..total_len], addresses)
}

fn ipv6_is_good(packet: &[u8]) -> bool {
    let Some(payload_len) = word(packet, 4).map(usize::from) else { return false };
    let Some(payload) = packet.get(40..40 + payload_len) else { return false };
    payload_is_good(packet[6], payload, sum_only(&packet[8..40]))
}

/// `addresses` is the sum of the pseudo-header's addresses (RFC 768, RFC 8200 section 8.1).
fn payload_is_good(protocol: u8, payload: &[u8], addresses: u32) -> bool {
    let checksum_at = match protocol {
        UDP => 6,
        TCP => 16,
        _ => return true,
    };
    let Some(checksum) = word(payload, checksum_at) else { return false };
    if protocol == UDP && checksum == 0 {
        return true;
    }
    sum(payload, addresses + u32::from(protocol) + payload.len() as u32) == 0xffff
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
}

fn sum_only(bytes: &[u8]) -> u32 {
    u32::from(sum(bytes, 0))
}

/// Ones' complement sum (RFC 1071), eight bytes at a time: end-around carries of a wide sum fold
/// to the same 16 bits.
fn sum(bytes: &[u8], initial: u32) -> u16 {
    let mut chunks = bytes.chunks_exact(8);
    let mut wide = u128::from(initial);
    for chunk in &mut chunks {
        let chunk: [u8; 8] = chunk.try_into().expect("chunks of eight");
        wide += u128::from(u64::from_be_bytes(chunk));
    }
    let rest = chunks.remainder();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    wide += u128::from(u64::from_be_bytes(last));
    while wide > 0xffff {
        wide = (wide & 0xffff) + (wide >> 16);
    }
    wide as u16
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

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = transport_is_good(&bytes);
        }
    }
}
