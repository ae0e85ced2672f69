use super::*;
use crate::modifier::{Ipv6Bits, Pattern};
use proptest::prelude::*;
use wire::checksum::PseudoHeader;
use wire::ethernet::{self, EtherType};
use wire::ipv4::{self, Protocol};
use wire::ipv6::{self, Extension};
use wire::signature::{self, Stamp};
use wire::{icmpv4, icmpv6, tcp, udp, vlan};

const SRC_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const DST_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const SRC_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 2);
const DST_V4: Ipv4Addr = Ipv4Addr::new(198, 19, 1, 2);
const SRC_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, 0, 2);
const DST_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0x8001, 0, 0, 0, 2);
const SIGNATURE: Signature = (Key::from_seed(0x1234), 7);

fn udp4() -> FrameTemplate {
    FrameTemplate::udp_ipv4((SRC_MAC, SRC_V4), (DST_MAC, DST_V4))
}
fn udp6() -> FrameTemplate {
    FrameTemplate::udp_ipv6((SRC_MAC, SRC_V6), (DST_MAC, DST_V6))
}
fn size(bytes: u32) -> FrameSize {
    FrameSize::from_bytes(bytes)
}

/// Reads a frame through the parsers and checks every checksum; the payload and the names of the
/// headers.
fn dissect(frame: &[u8]) -> (Vec<&'static str>, &[u8]) {
    let (eth, mut rest) = ethernet::Repr::parse(frame).unwrap();
    let mut names = vec!["eth"];
    let mut ether_type = eth.ether_type;
    while ether_type.is_vlan() {
        let (tag, inner) = vlan::Repr::parse(rest).unwrap();
        (ether_type, rest) = (tag.ether_type, inner);
        names.push("vlan");
    }
    let (addresses, mut protocol);
    match ether_type {
        EtherType::IPV4 => {
            let (ip, payload) = ipv4::Repr::parse(rest).unwrap();
            assert_eq!(payload.len() + ip.header_len(), rest.len(), "no padding");
            addresses = PseudoHeader::V4(ip.src, ip.dst);
            (protocol, rest) = (ip.protocol, payload);
            names.push("ipv4");
        }
        EtherType::IPV6 => {
            let (ip, payload) = ipv6::Repr::parse(rest).unwrap();
            assert_eq!(payload.len() + ipv6::HEADER_LEN, rest.len(), "no padding");
            addresses = PseudoHeader::V6(ip.src, ip.dst);
            (protocol, rest) = (ip.next_header, payload);
            names.push("ipv6");
        }
        _ => return (names, rest),
    }
    while Extension::is_known(protocol) {
        let (_, next, payload) = Extension::parse(protocol, rest).unwrap();
        (protocol, rest) = (next, payload);
        names.push("extension");
    }
    match (protocol, addresses) {
        (Protocol::UDP, _) => {
            udp::verify(addresses, rest).unwrap();
            names.push("udp");
            (names, udp::Repr::parse(rest).unwrap().1)
        }
        (Protocol::TCP, _) => {
            tcp::verify(addresses, rest).unwrap();
            names.push("tcp");
            (names, tcp::Repr::parse(rest).unwrap().1)
        }
        (Protocol::ICMPV4, _) => {
            names.push("icmp");
            (names, icmpv4::Repr::parse(rest).unwrap().1)
        }
        (Protocol::ICMPV6, PseudoHeader::V6(src, dst)) => {
            icmpv6::verify(src, dst, rest).unwrap();
            names.push("icmp");
            (names, icmpv6::Repr::parse(rest).unwrap().1)
        }
        _ => (names, rest),
    }
}

#[test]
fn the_form_of_the_signature_follows_from_the_size() {
    let forms = |template: &FrameTemplate, sizes: &[u32]| -> Vec<Option<Form>> {
        sizes.iter().map(|bytes| template.form_for(size(*bytes))).collect()
    };
    let (full, short, compact) = (Some(Form::Full), Some(Form::Short), Some(Form::Compact));
    assert_eq!(forms(&udp4(), &[63, 64, 1518]), [None, full, full]);
    assert_eq!(forms(&udp4().tagged(&[5]), &[64, 67, 68]), [short, short, full]);
    assert_eq!(forms(&udp4().tagged(&[5, 6]), &[64, 68, 72]), [compact, short, full]);
    let sizes = [63, 64, 71, 72, 79, 80, 83, 84];
    let expected = [None, compact, compact, compact, compact, short, short, full];
    assert_eq!(forms(&udp6(), &sizes), expected);
}

#[test]
fn small_ipv6_frames_leave_udp_out_and_say_so() {
    for bytes in [64, 71] {
        let frame = udp6().build(0, size(bytes), Some(SIGNATURE)).unwrap();
        let (names, payload) = dissect(&frame);
        assert_eq!(names, ["eth", "ipv6"]);
        assert_eq!(frame[20], 253, "next header");
        assert_eq!(payload.len(), bytes as usize - 58);
        let given_up = udp6().given_up(size(bytes));
        assert!(given_up[0].contains("no UDP header"), "{given_up:?}");
        assert!(given_up[1].contains("no latency"), "{given_up:?}");
    }
    let frame = udp6().build(0, size(72), Some(SIGNATURE)).unwrap();
    assert_eq!(dissect(&frame).0, ["eth", "ipv6", "udp"]);
    assert_eq!(udp6().given_up(size(72)).len(), 1);
    assert!(udp6().given_up(size(84)).is_empty());
    assert!(udp4().given_up(size(64)).is_empty());
    let unsigned = udp6().build(0, size(66), None).unwrap();
    assert_eq!(dissect(&unsigned).0, ["eth", "ipv6", "udp"], "66 bytes hold UDP and no signature");
}

#[test]
fn a_size_that_is_too_small_says_what_would_do() {
    let tcp = FrameTemplate::ethernet(SRC_MAC, DST_MAC)
        .layer(Layer::Ipv4(Ipv4Layer::new(SRC_V4, DST_V4)))
        .layer(Layer::Tcp(TcpLayer::new(1024, 80)));
    assert_eq!(tcp.min_size(), size(64));
    let tagged = tcp.tagged(&[1, 2]);
    assert_eq!(tagged.min_size(), size(72));
    let error = tagged.build(0, size(71), Some(SIGNATURE)).unwrap_err();
    let expected = "a frame of 71 bytes is too small: at least 72 are needed for Ethernet 14 + \
                    802.1ad 4 + 802.1Q 4 + IPv4 20 + TCP 20 + signature 6 + FCS 4";
    assert_eq!(error.to_string(), expected);
    let error = udp4().build(0, size(63), Some(SIGNATURE)).unwrap_err();
    assert!(error.to_string().ends_with("and Ethernet's minimum of 64"), "{error}");
    assert_eq!(udp6().tagged(&[1]).min_size(), size(68));
    assert!(udp4().build(0, size(65_536), None).is_err());
}

#[test]
fn a_64_byte_frame_is_the_signature_behind_the_headers() {
    let frame = udp4().build(0, size(64), Some(SIGNATURE)).unwrap();
    assert_eq!(frame.len(), 60);
    let stamp = signature::read(Form::Full, SIGNATURE.0, &frame).unwrap();
    assert_eq!(stamp, Stamp { stream: 7, sequence: 0, transmit_ticks: 0 });
    assert_eq!(dissect(&frame), (vec!["eth", "ipv4", "udp"], &frame[42..]));
}

#[test]
fn the_payload_fills_the_frame() {
    let payload = |payload: Payload| {
        let frame = udp4().payload(payload).build(0, size(400), None).unwrap();
        dissect(&frame).1.to_vec()
    };
    let incrementing: Vec<u8> = (0..354).map(|i| i as u8).collect();
    assert_eq!(payload(Payload::Incrementing), incrementing);
    assert_eq!(payload(Payload::Zeros), vec![0; 354]);
    assert_eq!(payload(Payload::Constant(0xa5)), vec![0xa5; 354]);
    let random = payload(Payload::Random { seed: 1 });
    assert_eq!(random, payload(Payload::Random { seed: 1 }));
    assert_ne!(random, payload(Payload::Random { seed: 2 }));
}

#[test]
fn a_tunnel_has_good_checksums_inside_and_out() {
    let inner = udp4().layers;
    let template = udp4()
        .layer(Layer::Raw(vec![8, 0, 0, 0, 0, 0, 42, 0]))
        .layer(inner[0].clone())
        .layer(inner[1].clone())
        .layer(inner[2].clone())
        .modifier(Modifier::new(Field::Raw { offset: 80, width: 4 }, Pattern::List(vec![1, 2])));
    let first = template.build(0, size(200), Some(SIGNATURE)).unwrap();
    let second = template.build(1, size(200), Some(SIGNATURE)).unwrap();
    assert_eq!((&first[80..84], &second[80..84]), (&[0, 0, 0, 1][..], &[0, 0, 0, 2][..]));
    for frame in [first, second] {
        let (_, vxlan) = dissect(&frame);
        assert_eq!(dissect(&vxlan[8..]).0, ["eth", "ipv4", "udp"]);
    }
}

#[test]
fn layers_that_cannot_follow_each_other_are_refused() {
    let refuses = |template: FrameTemplate, part: &str| {
        let error = template.build(0, size(200), None).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refuses(FrameTemplate::new(), "layer 1, none: the first layer must be Ethernet");
    refuses(FrameTemplate::new().layer(Layer::vlan(1)), "the first layer must be Ethernet");
    let eth = || FrameTemplate::ethernet(SRC_MAC, DST_MAC);
    refuses(eth().layer(Layer::Udp(UdpLayer::default())), "stand behind IP");
    refuses(eth().layer(Layer::vlan(4096)), "12 bits");
    refuses(udp4().layer(Layer::vlan(1)), "behind Ethernet or another tag");
    let off = UdpLayer { checksum: UdpChecksum::Off, ..UdpLayer::default() };
    let ipv6 = eth().layer(Layer::Ipv6(Ipv6Layer::new(SRC_V6, DST_V6)));
    refuses(ipv6.clone().layer(Layer::Udp(off)), "RFC 8200 section 8.1");
    let fragment = Extension::Fragment { offset: 1, more: false, identification: 0 };
    refuses(ipv6.layer(Layer::Ipv6Extension(fragment)), "whole packet");
}

#[test]
fn modifiers_that_cannot_be_applied_are_refused() {
    let refuses = |field, pattern, part: &str| {
        let template = udp4().modifier(Modifier::new(field, pattern));
        let error = template.build(0, size(64), Some(SIGNATURE)).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    let count = |count| Pattern::Increment { start: 0, step: 1, count };
    refuses(Field::TcpSrc, count(2), "no such field");
    refuses(Field::VlanId { tag: 0 }, count(2), "no such field");
    refuses(Field::UdpSrc, count(65_537), "do not fit");
    refuses(Field::UdpSrc, count(0), "count is 0");
    refuses(Field::UdpSrc, Pattern::List(vec![]), "list is empty");
    refuses(Field::UdpSrc, Pattern::Decrement { start: 1, step: 1, count: 3 }, "do not fit");
    refuses(Field::Raw { offset: 24, width: 1 }, count(2), "checksum or the signature");
    refuses(Field::Raw { offset: 40, width: 3 }, count(2), "checksum or the signature");
    refuses(Field::Raw { offset: 59, width: 1 }, count(2), "checksum or the signature");
    refuses(Field::Raw { offset: 60, width: 1 }, count(2), "beyond the end");
    refuses(Field::Raw { offset: 0, width: 9 }, count(2), "width");
    let compact = udp6().build(0, size(64), Some((Key::from_seed(0), u16::MAX)));
    assert_eq!(compact, Err(BuildError::StreamNumber { most: 0xfffe }));
}

#[test]
fn each_field_is_where_its_parser_reads_it() {
    let with = |template: FrameTemplate, field, value| {
        template
            .modifier(Modifier::new(field, Pattern::List(vec![value])))
            .build(0, size(128), Some(SIGNATURE))
            .unwrap()
    };
    let eth = |frame: &[u8]| ethernet::Repr::parse(frame).unwrap().0;
    let ipv4 = |frame: &[u8]| ipv4::Repr::parse(&frame[14..]).unwrap().0;
    let ipv6 = |frame: &[u8]| ipv6::Repr::parse(&frame[14..]).unwrap().0;
    let mac = 0x0201_0203_0405;
    assert_eq!(eth(&with(udp4(), Field::EthSrc, mac)).src, MacAddr::from_u64(mac));
    assert_eq!(eth(&with(udp4(), Field::EthDst, mac)).dst, MacAddr::from_u64(mac));
    assert_eq!(ipv4(&with(udp4(), Field::Ipv4Src, 0x0102_0304)).src, Ipv4Addr::new(1, 2, 3, 4));
    assert_eq!(ipv4(&with(udp4(), Field::Ipv4Dst, 0x0102_0304)).dst, Ipv4Addr::new(1, 2, 3, 4));
    assert_eq!(ipv4(&with(udp4(), Field::Dscp, 46)).dscp, 46);
    assert_eq!(ipv6(&with(udp6(), Field::Dscp, 46)).dscp, 46);
    let low = Field::Ipv6Src(Ipv6Bits::LOW_64);
    assert_eq!(ipv6(&with(udp6(), low, 0xabcd)).src.to_string(), "2001:2:0:1::abcd");
    let subnet = Field::Ipv6Dst(Ipv6Bits::SUBNET);
    assert_eq!(ipv6(&with(udp6(), subnet, 0x8765)).dst.to_string(), "2001:2:0:8765::2");
    let tags = udp4().tagged(&[100, 200]);
    let tagged = with(tags, Field::VlanId { tag: 1 }, 0xabc);
    let (outer, rest) = vlan::Repr::parse(&tagged[14..]).unwrap();
    let (inner, _) = vlan::Repr::parse(rest).unwrap();
    assert_eq!((outer.id, inner.id, inner.priority), (100, 0xabc, 0));
    assert_eq!(eth(&tagged).ether_type, EtherType::SERVICE_VLAN);
    assert_eq!(outer.ether_type, EtherType::VLAN);
    let udp = |frame: &[u8]| udp::Repr::parse(&frame[34..]).unwrap().0;
    assert_eq!(udp(&with(udp4(), Field::UdpSrc, 5)).src_port, 5);
    assert_eq!(udp(&with(udp4(), Field::UdpDst, 5)).dst_port, 5);
}

/// A template as a person writes it: what is left out has its default.
#[test]
fn a_template_is_read_from_json() {
    let text = r#"{
        "layers": [
            {"ethernet": {"src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"}},
            {"vlan": {"id": 100}},
            {"ipv4": {"src": "198.18.1.2", "dst": "198.19.1.2", "dscp": 46}},
            {"udp": {"src_port": 49184, "dst_port": 7}}
        ],
        "payload": {"random": {"seed": 3}},
        "modifiers": [
            {"field": "udp_src", "pattern": {"random": {"seed": 1, "min": 1024, "max": 65535, "count": 64}}},
            {"field": {"vlan_id": {"tag": 0}}, "pattern": {"list": [100, 200]}}
        ]
    }"#;
    let read: FrameTemplate = serde_json::from_str(text).unwrap();
    let pattern = Pattern::Random { seed: 1, min: 1024, max: 65_535, step: 1, count: 64 };
    let expected = FrameTemplate::ethernet(SRC_MAC, DST_MAC)
        .layer(Layer::vlan(100))
        .layer(Layer::Ipv4(Ipv4Layer { dscp: 46, ..Ipv4Layer::new(SRC_V4, DST_V4) }))
        .layer(Layer::Udp(UdpLayer::default()))
        .payload(Payload::Random { seed: 3 })
        .modifier(Modifier::new(Field::UdpSrc, pattern))
        .modifier(Modifier::new(Field::VlanId { tag: 0 }, Pattern::List(vec![100, 200])));
    assert_eq!(read, expected);
    assert!(serde_json::from_str::<FrameTemplate>(&text.replace("dscp", "dscpp")).is_err());
}

fn any_template() -> impl Strategy<Value = FrameTemplate> {
    let tags = proptest::collection::vec(0u16..4096, 0..3);
    let payload = prop_oneof![
        Just(Payload::Incrementing),
        Just(Payload::Zeros),
        any::<u8>().prop_map(Payload::Constant),
        any::<u64>().prop_map(|seed| Payload::Random { seed }),
    ];
    let eth = FrameTemplate::ethernet(SRC_MAC, DST_MAC);
    let v4 = eth.clone().layer(Layer::Ipv4(Ipv4Layer::new(SRC_V4, DST_V4)));
    let v6 = eth.clone().layer(Layer::Ipv6(Ipv6Layer::new(SRC_V6, DST_V6)));
    let tcp = Layer::Tcp(TcpLayer::new(1024, 80));
    let chain = v6
        .clone()
        .layer(Layer::Ipv6Extension(Extension::hop_by_hop_padding(8)))
        .layer(Layer::Ipv6Extension(Extension::experimental_routing(24)))
        .layer(Layer::Ipv6Extension(Extension::Fragment {
            offset: 0,
            more: false,
            identification: 1,
        }))
        .layer(Layer::Ipv6Extension(Extension::destination_padding(8)));
    let template = prop_oneof![
        Just(eth),
        Just(udp4()),
        Just(udp6()),
        Just(v4.clone().layer(tcp.clone())),
        Just(v6.clone().layer(tcp)),
        Just(v4.layer(Layer::Icmpv4Echo { identifier: 1, sequence: 2 })),
        Just(v6.layer(Layer::Icmpv6Echo { identifier: 1, sequence: 2 })),
        Just(chain.layer(Layer::Udp(UdpLayer::default()))),
    ];
    (template, tags, payload)
        .prop_map(|(template, tags, payload)| template.tagged(&tags).payload(payload))
}

/// Modifiers of which every template has the fields, and some that only a few have.
fn modifiers_for(template: &FrameTemplate, seed: u64) -> Vec<Modifier> {
    let random = |field, max| {
        Modifier::new(field, Pattern::Random { seed, min: 0, max, step: 1, count: 1000 })
    };
    let has = |found: fn(&Layer) -> bool| template.layers.iter().any(found);
    let mut modifiers = vec![
        Modifier::random_macs(Field::EthSrc, seed, 1, 1000),
        random(Field::EthDst, 0xffff_ffff_ffff),
    ];
    if has(|layer| matches!(layer, Layer::Vlan { .. })) {
        modifiers.push(random(Field::VlanId { tag: 0 }, 4095));
    }
    if has(|layer| matches!(layer, Layer::Ipv4(_))) {
        modifiers.push(random(Field::Ipv4Src, u32::MAX.into()));
        modifiers.push(random(Field::Ipv4Dst, u32::MAX.into()));
        modifiers.push(random(Field::Dscp, 63));
    }
    if has(|layer| matches!(layer, Layer::Ipv6(_))) {
        modifiers.push(random(Field::Ipv6Src(Ipv6Bits::LOW_64), u64::MAX));
        modifiers.push(random(Field::Ipv6Dst(Ipv6Bits { lowest: 3, count: 30 }), 0x3fff_ffff));
        modifiers.push(random(Field::Dscp, 63));
    }
    if has(|layer| matches!(layer, Layer::Udp(_))) {
        modifiers.extend(Modifier::random_udp_ports(seed, 1000));
    }
    if has(|layer| matches!(layer, Layer::Tcp(_))) {
        modifiers.extend(Modifier::random_tcp_ports(seed, 1000));
    }
    modifiers
}

proptest! {
    #[test]
    fn a_saved_template_reads_back(template in any_template(), seed: u64) {
        let modifiers = modifiers_for(&template, seed);
        let template = FrameTemplate { modifiers, ..template };
        let text = serde_json::to_string(&template).unwrap();
        prop_assert_eq!(serde_json::from_str::<FrameTemplate>(&text).unwrap(), template);
    }

    #[test]
    fn every_frame_is_whole_signed_and_keeps_its_checksums_when_stamped(
        template in any_template(), above in 0u32..1500, seed: u64, index: u64,
        key: u64, stream in 0u16..0xffff, sequence: u64, transmit_ticks: u64,
    ) {
        let modifiers = modifiers_for(&template, seed);
        let template = FrameTemplate { modifiers, ..template };
        let size = size(template.min_size().bytes() + above);
        let form = template.form_for(size).unwrap();
        let stream = stream.min(form.stream_max());
        let mut frame = template.build(index, size, Some((Key::from_seed(key), stream))).unwrap();
        prop_assert_eq!(frame.len(), size.bytes_without_fcs());
        let stamp = signature::read(form, Key::from_seed(key), &frame).unwrap();
        prop_assert_eq!((stamp.stream, stamp.sequence, stamp.transmit_ticks), (stream, 0, 0));
        dissect(&frame);
        signature::write(form, Key::from_seed(key), Stamp { stream, sequence, transmit_ticks }, &mut frame);
        dissect(&frame);
        let again = template.build(index % template.period(), size, Some((Key::from_seed(key), stream)));
        let again = again.unwrap();
        let headers = frame.len() - form.len_bytes();
        prop_assert_eq!(&frame[..headers], &again[..headers]);
    }

    #[test]
    fn below_the_minimum_nothing_is_built_and_from_it_on_everything(template in any_template()) {
        let minimum = template.min_size();
        let below = size(minimum.bytes() - 1);
        let error = template.build(0, below, Some(SIGNATURE)).unwrap_err();
        let is_too_small = matches!(error, BuildError::TooSmall { minimum: m, .. } if m == minimum);
        prop_assert!(is_too_small, "{}", error);
        prop_assert_eq!(template.form_for(below), None);
        prop_assert!(template.build(0, minimum, Some(SIGNATURE)).is_ok());
    }

    #[test]
    fn a_raw_modifier_anywhere_leaves_good_checksums(offset in 60u16..900, width in 1u8..=8,
                                                     index: u64, seed: u64) {
        let max = u64::MAX >> (64 - 8 * u32::from(width));
        let pattern = Pattern::Random { seed, min: 0, max, step: 1, count: 1000 };
        let field = Field::Raw { offset, width };
        let template = udp4().modifier(Modifier::new(field, pattern.clone()));
        let frame = template.build(index, size(1000), Some(SIGNATURE)).unwrap();
        dissect(&frame);
        let bytes = &frame[offset.into()..usize::from(offset) + usize::from(width)];
        let value = bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        prop_assert_eq!(value, pattern.value_at(index));
    }
}
