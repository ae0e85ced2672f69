use super::*;
use crate::igmp::RecordKind;
use crate::testing::hex;
use proptest::prelude::*;

const GROUP: Ipv6Addr = Ipv6Addr::new(0xff15, 0, 0, 0, 0, 0, 1, 3);

fn host() -> (MacAddr, Ipv6Addr) {
    (MacAddr([2, 0, 0x5e, 0x10, 0, 2]), "fe80::5eff:fe10:2".parse().unwrap())
}
/// In the known frames from the MAC address of the host as well.
fn router() -> (MacAddr, Ipv6Addr) {
    (host().0, "fe80::5eff:fe20:1".parse().unwrap())
}

/// Each was read by tshark, its checksum too; the joins and leaves were understood by the Linux
/// bridge's multicast snooping.
fn known_frames() -> Vec<(Repr, (MacAddr, Ipv6Addr), Vec<u8>)> {
    let v2_query = V2Query {
        max_response_code: 10_000,
        group: Ipv6Addr::UNSPECIFIED,
        suppress: false,
        robustness: 2,
        interval_code: 125,
        sources: vec![],
    };
    let query = Repr::Query { max_response_ms: 10_000, group: Ipv6Addr::UNSPECIFIED };
    vec![
        (
            Repr::Report { group: GROUP },
            host(),
            hex("33330001 00030200 5e100002 86dd6000 00000020 0001fe80 00000000 00000000
             5efffe10 0002ff15 00000000 00000000 00000001 00033a00 05020000 01008300
             22e60000 0000ff15 00000000 00000000 00000001 0003"),
        ),
        (
            Repr::Done { group: GROUP },
            host(),
            hex("33330000 00020200 5e100002 86dd6000 00000020 0001fe80 00000000 00000000
             5efffe10 0002ff02 00000000 00000000 00000000 00023a00 05020000 01008400
             21fb0000 0000ff15 00000000 00000000 00000001 0003"),
        ),
        (
            query,
            router(),
            hex("33330000 00010200 5e100002 86dd6000 00000020 0001fe80 00000000 00000000
             5efffe20 0001ff02 00000000 00000000 00000000 00013a00 05020000 01008200
             fbf62710 00000000 00000000 00000000 00000000 0000"),
        ),
        (
            Repr::V2Query(v2_query),
            router(),
            hex("33330000 00010200 5e100002 86dd6000 00000024 0001fe80 00000000 00000000
             5efffe20 0001ff02 00000000 00000000 00000000 00013a00 05020000 01008200
             f9752710 00000000 00000000 00000000 00000000 0000027d 0000"),
        ),
        (
            Repr::v2_join(GROUP),
            host(),
            hex("33330000 00160200 5e100002 86dd6000 00000024 0001fe80 00000000 00000000
             5efffe10 0002ff02 00000000 00000000 00000000 00163a00 05020000 01008f00
             12e20000 00010400 0000ff15 00000000 00000000 00000001 0003"),
        ),
        (
            Repr::v2_leave(GROUP),
            host(),
            hex("33330000 00160200 5e100002 86dd6000 00000024 0001fe80 00000000 00000000
             5efffe10 0002ff02 00000000 00000000 00000000 00163a00 05020000 01008f00
             13e20000 00010300 0000ff15 00000000 00000000 00000001 0003"),
        ),
    ]
}

#[test]
fn known_frames_are_built_byte_by_byte_and_read() {
    for (repr, src, known) in known_frames() {
        assert_eq!(repr.frame(src), known, "{repr}");
        let (ip, payload) = ipv6::Repr::parse(&known[14..]).unwrap();
        let (_, _, message) = Extension::parse(ip.next_header, payload).unwrap();
        assert_eq!(icmpv6::verify(ip.src, ip.dst, message), Ok(()));
        assert_eq!(Repr::parse(message), Ok((repr, &[][..])));
    }
}

/// RFC 3810 section 5.1.3: (mantissa | 0x1000) << (exponent + 3).
#[test]
fn codes_of_times() {
    assert_eq!([0, 10_000, 32_767].map(response_time_ms), [0, 10_000, 32_767]);
    assert_eq!([0x8000, 0x9001, 0xffff].map(response_time_ms), [32_768, 65_552, 8_387_584]);
}

fn any_address() -> impl Strategy<Value = Ipv6Addr> {
    any::<u128>().prop_map(Ipv6Addr::from_bits)
}
fn any_sources() -> impl Strategy<Value = Vec<Ipv6Addr>> {
    proptest::collection::vec(any_address(), 0..5)
}

fn any_repr() -> impl Strategy<Value = Repr> {
    let record = (any::<u8>(), any_address(), any_sources())
        .prop_map(|(kind, group, sources)| Record { kind: RecordKind(kind), group, sources });
    let query = (any::<(u16, bool, u8)>(), 0u8..8, any_address(), any_sources()).prop_map(
        |((max_response_code, suppress, interval_code), robustness, group, sources)| V2Query {
            max_response_code,
            group,
            suppress,
            robustness,
            interval_code,
            sources,
        },
    );
    prop_oneof![
        (any::<u16>(), any_address())
            .prop_map(|(max_response_ms, group)| Repr::Query { max_response_ms, group }),
        any_address().prop_map(|group| Repr::Report { group }),
        any_address().prop_map(|group| Repr::Done { group }),
        query.prop_map(Repr::V2Query),
        proptest::collection::vec(record, 0..5).prop_map(|records| Repr::V2Report { records }),
    ]
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(repr in any_repr()) {
        let mut bytes = vec![0xff; repr.header_len()];
        repr.emit(&mut bytes);
        prop_assert_eq!(Repr::parse(&bytes), Ok((repr, &[][..])));
    }

    #[test]
    fn no_bytes_make_the_parser_panic(mut bytes: Vec<u8>, kind in 0usize..4) {
        let _ = Repr::parse(&bytes);
        if let Some(first) = bytes.first_mut() {
            *first = [QUERY, REPORT, DONE, V2_REPORT][kind];
            let _ = Repr::parse(&bytes);
        }
    }
}
