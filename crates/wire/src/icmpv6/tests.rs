use super::*;
use proptest::prelude::*;

fn address(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

/// RFC 4861 section 4.3 and 4.6.1: type 135, reserved, target, source link-layer address option.
#[test]
fn neighbor_solicitation_byte_vector() {
    #[rustfmt::skip]
    let bytes = [
        135, 0, 0, 0,  0, 0, 0, 0,
        0x20, 0x01, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
        1, 1, 2, 0, 0, 0, 0, 9,
    ];
    let (repr, rest) = Repr::parse(&bytes).unwrap();
    let mac = MacAddr([2, 0, 0, 0, 0, 9]);
    let target = address("2001:2::1");
    assert_eq!(repr, Repr::NeighborSolicitation { target, source_mac: Some(mac) });
    assert!(rest.is_empty());
    let answer = repr.answer(mac).unwrap();
    assert_eq!(answer.to_string(), "ND 2001:2::1 is at 02:00:00:00:00:09");
    assert_eq!(answer.answer(mac), None);
    let mut emitted = [0; 32];
    answer.emit(&mut emitted);
    // RFC 4861 section 4.4: flags R, S, O are the top three bits; option 2 is the target's.
    assert_eq!(emitted[..8], [136, 0, 0, 0, 0x60, 0, 0, 0]);
    assert_eq!(emitted[24..], [2, 1, 2, 0, 0, 0, 0, 9]);
}

/// RFC 4291 section 2.7.1: the solicited-node group of 4037::01:800:200e:8c6c.
#[test]
fn solicited_node_group_of_rfc4291() {
    let group = solicited_node_group(address("4037::1:800:200e:8c6c"));
    assert_eq!(group, address("ff02::1:ff0e:8c6c"));
}

/// RFC 4861 section 4.2, 4.6.2 and 4.6.4.
#[test]
fn router_advertisement_byte_vector() {
    #[rustfmt::skip]
    let bytes = [
        134, 0, 0, 0,  64, 0xc0, 0x07, 0x08,  0, 0, 0x75, 0x30,  0, 0, 0x03, 0xe8,
        5, 1, 0, 0,  0, 0, 0x05, 0xdc,
        3, 4, 64, 0xc0,  0, 0, 0x0e, 0x10,  0, 0, 0x07, 0x08,  0, 0, 0, 0,
        0x20, 0x01, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        14, 1, 0, 0, 0, 0, 0, 0,
    ];
    let (repr, _) = Repr::parse(&bytes).unwrap();
    let expected = Repr::RouterAdvertisement {
        hop_limit: 64,
        managed: true,
        other: true,
        lifetime_s: 1800,
        reachable_ms: 30_000,
        retransmit_ms: 1_000,
        source_mac: None,
        mtu: Some(1500),
        prefixes: vec![Prefix {
            prefix: address("2001:2::"),
            len: 64,
            on_link: true,
            autonomous: true,
            valid_s: 3600,
            preferred_s: 1800,
        }],
    };
    assert_eq!(repr, expected);
    let mut emitted = vec![0xff; repr.header_len()];
    repr.emit(&mut emitted);
    assert_eq!(emitted, bytes[..bytes.len() - 8], "without the option we do not know");
}

/// RFC 4861 section 4.6: a packet with an option of length 0 must be discarded.
#[test]
fn an_option_of_length_zero_is_refused() {
    let mut bytes = [0; 32];
    bytes[0] = 135;
    bytes[24] = 1;
    assert!(matches!(Repr::parse(&bytes), Err(DecodeError::Malformed { .. })));
}

/// Worked by hand: pseudo header 2001 + 0002 + 1 twice (the second 0002 at its end), length 8 and
/// next header 3a; message 8000 + 1234 + 0001. In all d280, complement 2d7f.
#[test]
fn echo_request_checksum_byte_vector() {
    let repr = Repr::EchoRequest { identifier: 0x1234, sequence: 1 };
    let message = repr.message(address("2001:2::1"), address("2001:2::2"), &[]);
    assert_eq!(message, [128, 0, 0x2d, 0x7f, 0x12, 0x34, 0, 1]);
}

fn any_mac() -> impl Strategy<Value = Option<MacAddr>> {
    proptest::option::of(any::<[u8; 6]>().prop_map(MacAddr))
}

fn any_prefix() -> impl Strategy<Value = Prefix> {
    (any::<[u8; 16]>(), any::<[bool; 2]>(), any::<(u8, u32, u32)>()).prop_map(
        |(octets, flags, (len, valid_s, preferred_s))| Prefix {
            prefix: octets.into(),
            len,
            on_link: flags[0],
            autonomous: flags[1],
            valid_s,
            preferred_s,
        },
    )
}

fn any_repr() -> impl Strategy<Value = Repr> {
    let prefixes = proptest::collection::vec(any_prefix(), 0..4);
    let mtu = proptest::option::of(any::<u32>());
    prop_oneof![
        any::<u8>().prop_map(|code| Repr::DestinationUnreachable { code }),
        any::<u32>().prop_map(|mtu| Repr::PacketTooBig { mtu }),
        any::<u8>().prop_map(|code| Repr::TimeExceeded { code }),
        any::<(u16, u16)>()
            .prop_map(|(identifier, sequence)| Repr::EchoRequest { identifier, sequence }),
        any::<(u16, u16)>()
            .prop_map(|(identifier, sequence)| Repr::EchoReply { identifier, sequence }),
        any_mac().prop_map(|source_mac| Repr::RouterSolicitation { source_mac }),
        (any::<(u8, bool, bool, u16, u32, u32)>(), any_mac(), mtu, prefixes).prop_map(
            |(fixed, source_mac, mtu, prefixes)| Repr::RouterAdvertisement {
                hop_limit: fixed.0,
                managed: fixed.1,
                other: fixed.2,
                lifetime_s: fixed.3,
                reachable_ms: fixed.4,
                retransmit_ms: fixed.5,
                source_mac,
                mtu,
                prefixes,
            }
        ),
        (any::<[u8; 16]>(), any_mac()).prop_map(|(target, source_mac)| {
            Repr::NeighborSolicitation { target: target.into(), source_mac }
        }),
        (any::<[bool; 3]>(), any::<[u8; 16]>(), any_mac()).prop_map(
            |([router, solicited, override_cache], target, target_mac)| {
                let target = target.into();
                Repr::NeighborAdvertisement {
                    router,
                    solicited,
                    override_cache,
                    target,
                    target_mac,
                }
            }
        ),
        (200u8.., any::<(u8, u32)>()).prop_map(|(kind, (code, rest))| Repr::Other {
            kind,
            code,
            rest
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed_and_verifies(repr in any_repr(), a: [u8; 16], b: [u8; 16],
                                              flip: usize) {
        let (src, dst) = (a.into(), b.into());
        let mut message = repr.message(src, dst, &[]);
        prop_assert_eq!(Repr::parse(&message), Ok((repr, &[][..])));
        prop_assert_eq!(verify(src, dst, &message), Ok(()));
        let bit = flip % (message.len() * 8);
        message[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(verify(src, dst, &message).is_err());
    }

    #[test]
    fn no_bytes_make_the_parser_panic(kind: u8, mut bytes: Vec<u8>) {
        if bytes.len() > 2 {
            bytes[0] = kind;
            bytes[1] = 0;
        }
        let _ = Repr::parse(&bytes);
        let _ = verify(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, &bytes);
    }
}
