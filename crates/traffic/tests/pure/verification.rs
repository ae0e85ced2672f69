//! `wire::verify` over frames of each kind that a template builds.

use traffic::template::{FrameTemplate, Ipv4Layer, Ipv6Layer, Layer, TcpLayer, UdpLayer};
use wire::ethernet::MacAddr;
use wire::ipv6::Extension;
use wire::verify::transport_is_good;

/// Of each kind with a checksum, through tags and extension headers.
#[test]
fn damage_is_found_in_every_kind_of_frame() {
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
