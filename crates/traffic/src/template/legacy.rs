//! Test frames of DECnet, AppleTalk and IPX.

use super::{FrameTemplate, Layer};
use serde::{Deserialize, Serialize};
use wire::appletalk::{self, ddp};
use wire::ethernet::MacAddr;
use wire::llc::Sap;
use wire::{decnet, ipx};

/// What a template says of IPX.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IpxLayer {
    /// Source.
    pub src: ipx::Endpoint,
    /// Destination.
    pub dst: ipx::Endpoint,
    /// Right behind Ethernet or a VLAN tag the type becomes a length: Novell's raw 802.3.
    #[serde(default)]
    pub raw: bool,
}

/// What a template says of a DECnet data packet. It starts with no visits, as one that stays on
/// its Ethernet, with one byte of padding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecnetLayer {
    /// Source.
    pub src: decnet::Address,
    /// Destination.
    pub dst: decnet::Address,
}

/// What a template says of DDP. There is no checksum: the signature changes from frame to frame,
/// and DDP's checksum, which rotates as it adds, with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DdpLayer {
    /// Source.
    pub src: ddp::Endpoint,
    /// Destination.
    pub dst: ddp::Endpoint,
    /// Type, where it is not to follow from the next layer.
    #[serde(default)]
    pub kind: Option<ddp::Kind>,
}

impl FrameTemplate {
    /// IPX from and to [`ipx::socket::TEST`], in this encapsulation, from and to these networks and
    /// nodes; `next_hop` is the router's MAC address, or the destination's own.
    pub fn ipx(
        encapsulation: ipx::Encapsulation,
        src: (u32, MacAddr),
        dst: (u32, MacAddr),
        next_hop: MacAddr,
    ) -> Self {
        use ipx::Encapsulation::{EthernetII, Llc, Raw, Snap};
        let endpoint = |(network, node)| ipx::Endpoint::new(network, node, ipx::socket::TEST);
        let raw = encapsulation == Raw;
        let template = Self::ethernet(src.1, next_hop);
        let template = match encapsulation {
            Raw | EthernetII => template,
            Llc => template.layer(Layer::Llc { sap: Sap::IPX }),
            Snap => template.layer(Layer::Snap),
        };
        template.layer(Layer::Ipx(IpxLayer { src: endpoint(src), dst: endpoint(dst), raw }))
    }
    /// DECnet data from one node to another, each at the MAC address that follows from its
    /// address; `next_hop` is the router's, or the destination's own.
    pub fn decnet(src: decnet::Address, dst: decnet::Address, next_hop: MacAddr) -> Self {
        Self::ethernet(src.mac(), next_hop)
            .layer(Layer::Decnet(DecnetLayer { src, dst }))
            .layer(Layer::NspData)
    }
    /// An AppleTalk echo request from one node to another; no frame has more than 625 bytes.
    pub fn appletalk(
        src: (MacAddr, appletalk::Address),
        dst: (MacAddr, appletalk::Address),
    ) -> Self {
        let endpoint = |address, socket| ddp::Endpoint { address, socket };
        Self::ethernet(src.0, dst.0)
            .layer(Layer::Snap)
            .layer(Layer::Ddp(DdpLayer {
                src: endpoint(src.1, ddp::socket::FIRST_DYNAMIC),
                dst: endpoint(dst.1, ddp::socket::ECHO),
                kind: None,
            }))
            .layer(Layer::AppletalkEcho)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::BuildError;
    use proptest::prelude::*;
    use units::FrameSize;
    use wire::decode::summarize;
    use wire::ipx::Encapsulation;
    use wire::signature::{self, Form, Key};

    const A: MacAddr = MacAddr([2, 0, 0x5e, 0x10, 0, 1]);
    const B: MacAddr = MacAddr([2, 0, 0x5e, 0x10, 0, 2]);
    const DEVICE: MacAddr = MacAddr([2, 0, 0x5e, 0x20, 0, 1]);

    fn ipx(encapsulation: Encapsulation) -> FrameTemplate {
        FrameTemplate::ipx(encapsulation, (1, A), (2, B), DEVICE)
    }
    fn decnet() -> FrameTemplate {
        let router = decnet::Address::new(2, 1);
        let [src, dst] = [10, 11].map(|node| decnet::Address::new(2, node));
        FrameTemplate::decnet(src, dst, router.mac())
    }
    fn appletalk() -> FrameTemplate {
        let address = appletalk::Address::new;
        FrameTemplate::appletalk((A, address(100, 10)), (DEVICE, address(200, 20)))
    }

    /// Each stream with the bytes before its payload (Ethernet 14; raw IPX 30, LLC 3, SNAP 8;
    /// DECnet 24, NSP 7; DDP 13, AEP 1) and the form that its smallest frame therefore carries.
    fn streams() -> [(FrameTemplate, usize, Form); 6] {
        [
            (ipx(Encapsulation::Raw), 14 + 30, Form::Short),
            (ipx(Encapsulation::EthernetII), 14 + 30, Form::Short),
            (ipx(Encapsulation::Llc), 14 + 3 + 30, Form::Compact),
            (ipx(Encapsulation::Snap), 14 + 8 + 30, Form::Compact),
            (decnet(), 14 + 24 + 7, Form::Short),
            (appletalk(), 14 + 8 + 13 + 1, Form::Full),
        ]
    }

    #[test]
    fn every_size_is_a_whole_frame_of_its_protocol() {
        for (template, headers_len, smallest_form) in streams() {
            assert_eq!(template.form_for(FrameSize::MIN_ETHERNET), Some(smallest_form));
            for bytes in 64..=1518 {
                let size = FrameSize::from_bytes(bytes);
                if size > template.max_size() {
                    break;
                }
                let frame = template.build(0, size, Some((Key::from_seed(5), 9))).unwrap();
                let summary = summarize(&frame);
                assert_eq!(summary.fault, None, "{summary}");
                assert_eq!(summary.payload_len_bytes, frame.len() - headers_len, "{summary}");
                let form = template.form_for(size).unwrap();
                assert_eq!(signature::read(form, Key::from_seed(5), &frame).unwrap().stream, 9);
            }
        }
    }

    #[test]
    fn headers_are_what_the_template_says() {
        let line = |template: &FrameTemplate| {
            summarize(&template.build(0, FrameSize::from_bytes(100), None).unwrap()).to_string()
        };
        assert!(line(&decnet()).contains("DECnet 2.10 > 2.11 visits 0 / NSP"));
        let text = line(&appletalk());
        assert!(text.contains("SNAP Apple AppleTalk / DDP 100.10:128 > 200.20:4 hops 0 AEP"));
        let snap = line(&ipx(Encapsulation::Snap));
        assert!(snap.contains("SNAP IPX / IPX 00000001.02005e100001:5000 > 00000002"), "{snap}");
        assert!(line(&ipx(Encapsulation::Raw)).contains("length 82 / IPX"));
        assert!(line(&ipx(Encapsulation::Llc)).contains("length 82 / LLC IPX / IPX"));
        assert!(line(&ipx(Encapsulation::EthernetII)).contains("IPX / IPX"));
    }

    /// Ethernet 14, LLC and SNAP 8, DDP 13, data 586, FCS 4: 625.
    #[test]
    fn a_protocol_says_where_it_ends() {
        let limits = [
            (appletalk(), 625, "DDP carries at most 586 bytes of data"),
            (decnet(), 1518, "1498"),
            (ipx(Encapsulation::Raw), 1518, "802.3 length"),
            (ipx(Encapsulation::Snap), 1518, "802.3 length"),
            (ipx(Encapsulation::Raw).tagged(&[5]), 1522, "802.3 length"),
            (appletalk().tagged(&[5]), 629, "DDP"),
        ];
        for (template, bytes, part) in limits {
            let largest = FrameSize::from_bytes(bytes);
            assert_eq!(template.max_size(), largest, "{template}");
            assert!(template.build(0, largest, None).is_ok());
            let above = template.build(0, FrameSize::from_bytes(bytes + 1), None).unwrap_err();
            assert!(matches!(above, BuildError::TooLarge { maximum, .. } if maximum == largest));
            let text = above.to_string();
            assert!(text.contains(part) && text.contains(&bytes.to_string()), "{text}");
        }
    }

    #[test]
    fn layers_that_cannot_follow_each_other_are_refused() {
        let ethernet = || FrameTemplate::ethernet(A, B);
        let layer = |template: FrameTemplate, place: usize| template.layers[place].clone();
        let wrong = [
            ethernet().layer(layer(appletalk(), 2)),
            ethernet().layer(Layer::NspData),
            ethernet().layer(Layer::AppletalkEcho),
            ethernet().layer(Layer::Snap).layer(Layer::Snap),
            ethernet()
                .layer(Layer::Llc { sap: Sap::SPANNING_TREE })
                .layer(layer(ipx(Encapsulation::EthernetII), 1)),
            ethernet().layer(Layer::Snap).layer(layer(ipx(Encapsulation::Raw), 1)),
            decnet()
                .layer(layer(FrameTemplate::udp_ipv4((A, [1; 4].into()), (B, [2; 4].into())), 1)),
        ];
        for template in wrong {
            let built = template.build(0, FrameSize::from_bytes(200), None);
            assert!(matches!(built, Err(BuildError::Layer { .. })), "{template}");
        }
    }

    proptest! {
        #[test]
        fn a_template_is_plain_data(network: u32, node: u16, raw: bool) {
            let encapsulation = if raw { Encapsulation::Raw } else { Encapsulation::Snap };
            let address = decnet::Address(node);
            let templates = [
                FrameTemplate::ipx(encapsulation, (network, A), (2, B), DEVICE),
                FrameTemplate::decnet(address, address, address.mac()),
                appletalk(),
            ];
            for template in templates {
                let text = serde_json::to_string(&template).unwrap();
                prop_assert_eq!(serde_json::from_str::<FrameTemplate>(&text).unwrap(), template);
            }
        }
    }
}
