//! Test frames within tunnels: how long they become, and that they are whole inside.

use std::net::{Ipv4Addr, Ipv6Addr};
use traffic::test_frame;
use units::FrameSize;
use wire::ethernet::{EtherType, MacAddr};
use wire::ipv4::Protocol;
use wire::{gre, ip_in_ip, ipv4, ipv6};

const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const V4: Ipv4Addr = Ipv4Addr::new(198, 19, 1, 2);
const V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2);

#[test]
fn a_frame_of_64_becomes_one_of_88() {
    let (mac, host) = (MacAddr([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(198, 18, 1, 2));
    let within = test_frame::template((mac, host), (mac, host));
    let within = within.build(0, FrameSize::MIN_ETHERNET, None).unwrap();
    let frame = gre::frame_over_ipv4((mac, host), (mac, host), &within).unwrap();
    assert_eq!(frame.len() + 4, 88);
    let (outer, payload) = ipv4::Repr::parse(&frame[14..]).unwrap();
    let (repr, packet) = gre::Repr::parse(payload).unwrap();
    assert_eq!((outer.protocol, repr.protocol), (Protocol::GRE, EtherType::IPV4));
    assert_eq!(packet, &within[14..]);
}

/// RFC 8219 section 5: 20 bytes for 6in4; 40 for 4in6, 44 for GRE within IPv6.
#[test]
fn frames_grow_by_their_headers_alone() {
    let v4 = test_frame::template((MAC, V4), (MAC, V4));
    let v6 = test_frame::template_ipv6((MAC, V6), (MAC, V6));
    for size in [72, 128, 1518].map(FrameSize::from_bytes) {
        let within = v6.build(0, size, None).unwrap();
        let outer = ip_in_ip::frame_over_ipv4((MAC, V4), (MAC, V4), &within).unwrap();
        assert_eq!(outer.len(), within.len() + 20);
        let (ip, packet) = ipv4::Repr::parse(&outer[14..]).unwrap();
        assert_eq!((ip.protocol, packet), (Protocol::IPV6, &within[14..]));

        let within = v4.build(0, size, None).unwrap();
        let outer = ip_in_ip::frame_over_ipv6((MAC, V6), (MAC, V6), &within).unwrap();
        assert_eq!(outer.len(), within.len() + 40);
        let (ip, packet) = ipv6::Repr::parse(&outer[14..]).unwrap();
        assert_eq!((ip.next_header, packet), (Protocol::IPV4, &within[14..]));

        let outer = ip_in_ip::gre_frame_over_ipv6((MAC, V6), (MAC, V6), &within).unwrap();
        assert_eq!(outer.len(), within.len() + 44);
        let (ip, payload) = ipv6::Repr::parse(&outer[14..]).unwrap();
        let (header, packet) = gre::Repr::parse(payload).unwrap();
        assert_eq!((ip.next_header, header.protocol), (Protocol::GRE, EtherType::IPV4));
        assert_eq!(packet, &within[14..]);
    }
}
