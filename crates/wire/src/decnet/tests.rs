use super::hello::{Endnode, HeardRouter, Level, Router};
use super::routing::{Distance, Segment};
use super::*;
use crate::testing::hex;
use proptest::prelude::*;

const NODE: Address = Address::new(2, 10);
const ROUTER: Address = Address::new(2, 20);

fn endnode_hello() -> Repr {
    Repr::EndnodeHello(Endnode::new(NODE, 15))
}

fn router_hello(level: Level) -> Repr {
    let heard = vec![HeardRouter { router: Address::new(2, 1), priority: 64, two_way: true }];
    let (block_size, priority, timer_s) = (1498, 64, 15);
    Repr::RouterHello(Router { router: ROUTER, level, block_size, priority, timer_s, heard })
}

/// Seven segments of one entry each.
fn level_1_routing() -> Repr {
    let entries = [(0, 1, 4), (10, 1, 4), (11, 1, 4), (12, 1, 4), (20, 0, 0), (30, 2, 8)];
    let mut segments: Vec<_> = entries
        .into_iter()
        .map(|(first, hops, cost)| Segment { first, distances: vec![Distance { hops, cost }] })
        .collect();
    segments.push(Segment { first: 1023, distances: vec![Distance::UNREACHABLE] });
    Repr::Routing(routing::Repr { level: Level::One, sender: ROUTER, segments })
}

/// Each was read by tshark and by a decoder written from DEC's specifications.
fn known_frames() -> Vec<(Repr, MacAddr, MacAddr, Vec<u8>)> {
    vec![
        (
            endnode_hello(),
            NODE.mac(),
            ALL_ROUTERS,
            hex("ab000003 0000aa00 04000a08 60032200 0d020000 aa000400 0a0803da 05000000
             00000000 00000000 00000000 0f000002 aaaa0000 00000000 00000000"),
        ),
        (
            router_hello(Level::One),
            ROUTER.mac(),
            ALL_ROUTERS,
            hex("ab000003 0000aa00 04001408 60032200 0b020000 aa000400 140802da 0540000f
             00000f00 00000000 000007aa 00040001 08c00000 00000000 00000000"),
        ),
        (
            router_hello(Level::Two),
            ROUTER.mac(),
            ALL_ENDNODES,
            hex("ab000004 0000aa00 04001408 60032200 0b020000 aa000400 140801da 0540000f
             00000f00 00000000 000007aa 00040001 08c00000 00000000 00000000"),
        ),
        (
            level_1_routing(),
            ROUTER.mac(),
            ALL_ROUTERS,
            hex("ab000003 0000aa00 04001408 60033000 07140800 01000000 04040100 0a000404
             01000b00 04040100 0c000404 01001400 00000100 1e000808 0100ff03 ff7f719c"),
        ),
    ]
}

#[test]
fn known_frames_are_built_byte_by_byte_and_read() {
    for (repr, src, dst, bytes) in known_frames() {
        let context = repr.to_string();
        assert_eq!(repr.frame(src, dst, &[]), bytes, "{context}");
        assert_eq!(Repr::parse(&bytes[14..]), Ok((repr, &[][..])), "{context}");
    }
}

/// Nineteen entries in one segment.
#[test]
fn a_long_segment_byte_by_byte() {
    let bytes = hex("ab000003 0000aa00 04001408 60033000 07140800 13000a00 04040404 04040404
             04040404 04040404 04040404 04040404 04040404 04040404 04040404 04046a4c");
    let distances = vec![Distance { hops: 1, cost: 4 }; 19];
    let segments = vec![Segment { first: 10, distances }];
    let repr = Repr::Routing(routing::Repr { level: Level::One, sender: ROUTER, segments });
    assert_eq!(repr.frame(ROUTER.mac(), ALL_ROUTERS, &[]), bytes);
    let mut damaged = bytes[14..].to_vec();
    damaged[10] ^= 1;
    assert!(matches!(Repr::parse(&damaged), Err(DecodeError::Checksum { .. })));
}

/// A packet from 2.10 to 2.11 with an acknowledgment in its NSP header and twelve bytes of data.
fn data_frame() -> Vec<u8> {
    hex("aa000400 0108aa00 04000a08 60032c00 81260000 aa000400 0b080000 aa000400
             0a080000 00006001 20012000 80010000 01020304 05060708 090a0b0c")
}

#[test]
fn a_data_packet_byte_by_byte() {
    let frame = data_frame();
    let (repr, segment) = Repr::parse(&frame[14..]).unwrap();
    let Repr::Data(header) = &repr else { panic!("{repr}") };
    assert_eq!(*header, data::Repr::new(NODE, Address::new(2, 11), 22));
    let (transport, rest) = nsp::Repr::parse(segment).unwrap();
    let links = (transport.dst_link, transport.src_link);
    assert_eq!((links, transport.acknowledgment, transport.number), ((0x2001, 0x2001), Some(0), 1));
    assert_eq!(rest, (0..=12).collect::<Vec<u8>>());
    assert_eq!(repr.frame(NODE.mac(), Address::new(2, 1).mac(), segment), frame);
    assert_eq!(repr.to_string(), "DECnet 2.10 > 2.11 visits 0");
}

/// What a router does to the packet: the visit count, and nothing else, changes.
#[test]
fn visits_are_counted_up_to_the_limit() {
    let frame = data_frame();
    let mut bytes = frame[14..].to_vec();
    assert!(count_visit(&mut bytes, 2));
    let changed: Vec<_> = (0..bytes.len()).filter(|i| bytes[*i] != frame[14 + i]).collect();
    assert_eq!((changed, bytes[21]), (vec![21], 1));
    assert!(count_visit(&mut bytes, 2));
    assert!(!count_visit(&mut bytes, 2), "the limit is reached");
    assert_eq!(bytes[21], 2);
}

#[test]
fn what_phase_iv_does_not_allow_is_refused() {
    let refused = |frame: &[u8], at: usize, value: u8| {
        let mut bytes = frame[14..].to_vec();
        bytes[at] = value;
        Repr::parse(&bytes).is_err()
    };
    let hello = known_frames()[0].3.clone();
    assert!(refused(&hello, 3, 3), "version");
    assert!(refused(&hello, 34, 0xab), "test data");
    assert!(refused(&hello, 33, 129), "more test data than there may be");
    assert!(refused(&hello, 6, 0xab), "identifier");
    assert!(refused(&hello, 0, 47), "longer than the frame");
    let data = data_frame();
    assert!(refused(&data, 3, 0x66), "later version");
    assert!(refused(&data, 3, 0x22), "short format");
    assert!(refused(&data, 2, 0xff), "more padding than bytes");
    assert!(refused(&data, 2, 0x80), "padding of no bytes");
}

fn any_heard() -> impl Strategy<Value = HeardRouter> {
    (any::<u16>(), 0u8..128, any::<bool>()).prop_map(|(address, priority, two_way)| HeardRouter {
        router: Address(address),
        priority,
        two_way,
    })
}

fn any_level() -> impl Strategy<Value = Level> {
    prop_oneof![Just(Level::One), Just(Level::Two)]
}

fn any_repr() -> impl Strategy<Value = Repr> {
    let distance = (0u8..32, 0u16..1024).prop_map(|(hops, cost)| Distance { hops, cost });
    let segment = (any::<u16>(), proptest::collection::vec(distance, 0..20))
        .prop_map(|(first, distances)| Segment { first, distances });
    prop_oneof![
        any::<(u16, u16, bool, bool, bool)>().prop_map(|(dst, src, a, b, c)| {
            let header = data::Repr::new(Address(src), Address(dst), 0);
            Repr::Data(data::Repr {
                return_requested: a,
                returning: b,
                intra_ethernet: c,
                visits: (dst & 0x3f) as u8,
                ..header
            })
        }),
        any::<(u16, u16, Option<u16>, u16, u8)>().prop_map(
            |(node, block_size, peer, timer_s, n)| {
                let (node, neighbor, test_data_len) = (Address(node), peer.map(Address), n % 129);
                Repr::EndnodeHello(Endnode { node, block_size, neighbor, timer_s, test_data_len })
            }
        ),
        (any::<(u16, u16, u8, u16)>(), any_level(), proptest::collection::vec(any_heard(), 0..35))
            .prop_map(|((router, block_size, priority, timer_s), level, heard)| {
                let router = Address(router);
                Repr::RouterHello(Router { router, level, block_size, priority, timer_s, heard })
            }),
        (any::<u16>(), any_level(), proptest::collection::vec(segment, 0..6)).prop_map(
            |(sender, level, segments)| {
                Repr::Routing(routing::Repr { level, sender: Address(sender), segments })
            }
        ),
    ]
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(repr in any_repr(), fill: u8) {
        let mut bytes = vec![fill; repr.header_len()];
        repr.emit(&mut bytes);
        prop_assert_eq!(Repr::parse(&bytes), Ok((repr, &[][..])));
    }

    #[test]
    fn a_segment_header_reads_back(dst_link: u16, src_link: u16, ack: Option<u16>, number: u16) {
        let acknowledgment = ack.map(|number| number & 0x7fff);
        let repr = nsp::Repr { dst_link, src_link, acknowledgment, number: number & 0xfff };
        let mut bytes = vec![0; repr.header_len()];
        repr.emit(&mut bytes);
        prop_assert_eq!(nsp::Repr::parse(&bytes), Ok((repr, &[][..])));
    }

    #[test]
    fn no_bytes_make_the_parsers_panic(
        mut bytes: Vec<u8>, which in 0usize..5, damage: (usize, u8), limit: u8,
    ) {
        let _ = (Repr::parse(&bytes), nsp::Repr::parse(&bytes));
        count_visit(&mut bytes, limit);
        let frames: Vec<_> =
            known_frames().into_iter().map(|known| known.3).chain([data_frame()]).collect();
        let mut near = frames[which][14..].to_vec();
        let at = damage.0 % near.len();
        near[at] = damage.1;
        let _ = Repr::parse(&near);
        count_visit(&mut near, limit);
    }
}
