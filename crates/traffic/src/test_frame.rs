//! The test frame of RFC 2544 appendix C.2.6.4: a UDP echo request of incrementing octets.
//!
//! Ours carries a good UDP checksum, which the signature keeps good; the appendix prints 0, none:
//! [`literal`]. The UDP lengths that the appendix prints for 256 to 1280 bytes are misprints.

use crate::template::{FrameTemplate, Ipv4Layer, Ipv6Layer, Layer, UdpChecksum};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::ethernet::MacAddr;

/// Time to live of the appendix's frames.
pub const TTL: u8 = 10;

/// The test frame between these stations and hosts, with UDP checksum.
pub fn template(src: (MacAddr, Ipv4Addr), dst: (MacAddr, Ipv4Addr)) -> FrameTemplate {
    let mut template = FrameTemplate::udp_ipv4(src, dst);
    for layer in &mut template.layers {
        if let Layer::Ipv4(Ipv4Layer { ttl, .. }) = layer {
            *ttl = TTL;
        }
    }
    template
}

/// The test frame as the appendix prints it: without UDP checksum.
pub fn literal(src: (MacAddr, Ipv4Addr), dst: (MacAddr, Ipv4Addr)) -> FrameTemplate {
    let mut template = template(src, dst);
    for layer in &mut template.layers {
        if let Layer::Udp(udp) = layer {
            udp.checksum = UdpChecksum::Off;
        }
    }
    template
}

/// The same over IPv6 (RFC 5180 leaves the form open). Below 72 bytes it has no room for UDP; see
/// [`FrameTemplate::udp_ipv6`].
pub fn template_ipv6(src: (MacAddr, Ipv6Addr), dst: (MacAddr, Ipv6Addr)) -> FrameTemplate {
    let mut template = FrameTemplate::udp_ipv6(src, dst);
    for layer in &mut template.layers {
        if let Layer::Ipv6(Ipv6Layer { hop_limit, .. }) = layer {
            *hop_limit = TTL;
        }
    }
    template
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::FrameSize;
    use wire::bytes::u16_at;

    const SRC_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const DST_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

    /// Size, IP total length, UDP length, header checksum for 198.18.1.2 to 198.19.1.2 and for
    /// 198.18.65.2 to 198.19.65.2. Worked from RFC 791 and RFC 768; the lengths of 64, 128 and
    /// 1518 are also those that RFC 2544 C.2.6.4 prints.
    const TABLE: [(u32, u16, u16, u16, u16); 8] = [
        (64, 0x002e, 0x001a, 0x2296, 0xa295),
        (128, 0x006e, 0x005a, 0x2256, 0xa255),
        (256, 0x00ee, 0x00da, 0x21d6, 0xa1d5),
        (512, 0x01ee, 0x01da, 0x20d6, 0xa0d5),
        (768, 0x02ee, 0x02da, 0x1fd6, 0x9fd5),
        (1024, 0x03ee, 0x03da, 0x1ed6, 0x9ed5),
        (1280, 0x04ee, 0x04da, 0x1dd6, 0x9dd5),
        (1518, 0x05dc, 0x05c8, 0x1ce8, 0x9ce7),
    ];

    fn between(network: u8) -> FrameTemplate {
        let host = |second| Ipv4Addr::new(198, second, network, 2);
        literal((SRC_MAC, host(18)), (DST_MAC, host(19)))
    }

    #[test]
    fn lengths_and_checksums_of_the_appendix() {
        for (bytes, total_len, udp_len, near, phantom) in TABLE {
            let size = FrameSize::from_bytes(bytes);
            let frame = between(1).build(0, size, None).unwrap();
            assert_eq!(frame.len() + 4, bytes as usize);
            assert_eq!(u16_at(&frame, 16), total_len, "{bytes}");
            assert_eq!(u16_at(&frame, 24), near, "{bytes}");
            assert_eq!(u16_at(&frame, 38), udp_len, "{bytes}");
            assert_eq!(u16_at(&frame, 40), 0, "no UDP checksum");
            let frame = between(65).build(0, size, None).unwrap();
            assert_eq!(u16_at(&frame, 24), phantom, "{bytes}");
        }
    }

    /// RFC 2544 C.2.6.4, every byte of the frame of 64.
    #[test]
    fn the_64_byte_frame_byte_by_byte() {
        #[rustfmt::skip]
        let expected = [
            2, 0, 0, 0, 0, 2,  2, 0, 0, 0, 0, 1,  0x08, 0x00,
            0x45, 0x00, 0x00, 0x2e,  0x00, 0x00, 0x00, 0x00,  0x0a, 0x11, 0x22, 0x96,
            198, 18, 1, 2,  198, 19, 1, 2,
            0xc0, 0x20, 0x00, 0x07,  0x00, 0x1a, 0x00, 0x00,
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
        ];
        let frame = between(1).build(0, FrameSize::MIN_ETHERNET, None).unwrap();
        assert_eq!(frame, expected);
    }

    #[test]
    fn the_hop_limit_is_that_of_the_appendix() {
        let address = |last| Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, last);
        let template = template_ipv6((SRC_MAC, address(1)), (DST_MAC, address(2)));
        let frame = template.build(0, FrameSize::from_bytes(84), None).unwrap();
        assert_eq!((frame[20], frame[21]), (17, TTL));
    }
}
