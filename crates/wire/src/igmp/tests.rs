use super::*;
use crate::testing::hex;
use proptest::prelude::*;

const HOST: (MacAddr, Ipv4Addr) = (MacAddr([2, 0, 0x5e, 0x10, 0, 2]), Ipv4Addr::new(198, 18, 1, 2));
const ROUTER: (MacAddr, Ipv4Addr) =
    (MacAddr([2, 0, 0x5e, 0x20, 0, 1]), Ipv4Addr::new(198, 18, 1, 1));
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 2, 3);

/// Each was read by tshark, its checksums too; the joins and leaves were understood by the Linux
/// bridge's multicast snooping.
fn known_frames() -> Vec<(Repr, (MacAddr, Ipv4Addr), Vec<u8>)> {
    let source_specific = Record {
        kind: RecordKind::ALLOW_SOURCES,
        group: Ipv4Addr::new(232, 1, 2, 3),
        sources: vec![Ipv4Addr::new(198, 18, 0, 2)],
    };
    let v3_query = V3Query {
        max_response_code: 100,
        group: Ipv4Addr::UNSPECIFIED,
        suppress: false,
        robustness: 2,
        interval_code: 125,
        sources: vec![],
    };
    let v2_query = Repr::Query { max_response_tenths: 100, group: Ipv4Addr::UNSPECIFIED };
    vec![
        (
            Repr::V1Report { group: GROUP },
            HOST,
            hex("01005e01 02030200 5e100002 08004500 001c1234 00000102 ef93c612 0102ef01
             02031200 fcfaef01 02030000 00000000 00000000 00000000 00000000"),
        ),
        (
            Repr::V2Report { group: GROUP },
            HOST,
            hex("01005e01 02030200 5e100002 08004600 00201234 00000102 5a8bc612 0102ef01
             02039404 00001600 f8faef01 02030000 00000000 00000000 00000000"),
        ),
        (
            Repr::Leave { group: GROUP },
            HOST,
            hex("01005e00 00020200 5e100002 08004600 00201234 00000102 6b8dc612 0102e000
             00029404 00001700 f7faef01 02030000 00000000 00000000 00000000"),
        ),
        (
            v2_query,
            ROUTER,
            hex("01005e00 00010200 5e200001 08004600 00201234 00000102 6b8fc612 0101e000
             00019404 00001164 ee9b0000 00000000 00000000 00000000 00000000"),
        ),
        (
            Repr::V3Query(v3_query),
            ROUTER,
            hex("01005e00 00010200 5e200001 080046c0 00241234 00000102 6acbc612 0101e000
             00019404 00001164 ec1e0000 0000027d 00000000 00000000 00000000"),
        ),
        (
            Repr::v3_join(GROUP),
            HOST,
            hex("01005e00 00160200 5e100002 080046c0 00281234 00000102 6ab1c612 0102e000
             00169404 00002200 e8f90000 00010400 0000ef01 02030000 00000000"),
        ),
        (
            Repr::v3_leave(GROUP),
            HOST,
            hex("01005e00 00160200 5e100002 080046c0 00281234 00000102 6ab1c612 0102e000
             00169404 00002200 e9f90000 00010300 0000ef01 02030000 00000000"),
        ),
        (
            Repr::V3Report { records: vec![source_specific] },
            HOST,
            hex("01005e00 00160200 5e100002 080046c0 002c1234 00000102 6aadc612 0102e000
             00169404 00002200 28e40000 00010500 0001e801 0203c612 00020000"),
        ),
    ]
}

/// Byte by byte, but for the identification, which is 0x1234 in the known frames and 0 in ours,
/// and the IP header's checksum over it.
#[test]
fn known_frames_are_built_and_read() {
    for (repr, src, mut known) in known_frames() {
        let (ip, message) = ipv4::Repr::parse(&known[14..]).unwrap();
        assert_eq!(Repr::parse(message), Ok((repr.clone(), &[][..])));
        let packet = ipv4::Repr { identification: 0, ..ip }.packet(message);
        known[14..14 + packet.len()].copy_from_slice(&packet);
        assert_eq!(repr.frame(src), known, "{repr}");
    }
}

#[test]
fn damage_is_found() {
    for (_, _, known) in known_frames() {
        let (_, message) = ipv4::Repr::parse(&known[14..]).unwrap();
        for at in 0..message.len() {
            let mut damaged = message.to_vec();
            damaged[at] ^= 0x10;
            assert!(Repr::parse(&damaged).is_err(), "byte {at}");
        }
    }
}

/// RFC 3376 section 4.1.1: (mantissa | 16) << (exponent + 3).
#[test]
fn codes_of_times() {
    assert_eq!([0, 100, 127].map(time_of_code), [0, 100, 127]);
    assert_eq!([0x80, 0x8f, 0x90, 0xff].map(time_of_code), [128, 248, 256, 31_744]);
}

/// A record with auxiliary data (RFC 3376 section 4.2.6: to be ignored) before another.
#[test]
fn auxiliary_data_is_passed_over() {
    let mut message = hex("22000000 00000002 04010000 ef010203 deadbeef 03000000 ef010204");
    View::new_unchecked(&mut message).fill_checksum();
    let (Repr::V3Report { records }, _) = Repr::parse(&message).unwrap() else { panic!() };
    let groups: Vec<_> = records.iter().map(|record| (record.kind, record.group)).collect();
    let second = Ipv4Addr::new(239, 1, 2, 4);
    assert_eq!(groups, [(RecordKind::TO_EXCLUDE, GROUP), (RecordKind::TO_INCLUDE, second)]);
}

fn any_address() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from_bits)
}
fn any_sources() -> impl Strategy<Value = Vec<Ipv4Addr>> {
    proptest::collection::vec(any_address(), 0..5)
}

fn any_repr() -> impl Strategy<Value = Repr> {
    let record = (any::<u8>(), any_address(), any_sources())
        .prop_map(|(kind, group, sources)| Record { kind: RecordKind(kind), group, sources });
    let query = (any::<(u8, bool, u8)>(), 0u8..8, any_address(), any_sources()).prop_map(
        |((max_response_code, suppress, interval_code), robustness, group, sources)| V3Query {
            max_response_code,
            group,
            suppress,
            robustness,
            interval_code,
            sources,
        },
    );
    prop_oneof![
        (any::<u8>(), any_address())
            .prop_map(|(max_response_tenths, group)| Repr::Query { max_response_tenths, group }),
        any_address().prop_map(|group| Repr::V1Report { group }),
        any_address().prop_map(|group| Repr::V2Report { group }),
        any_address().prop_map(|group| Repr::Leave { group }),
        query.prop_map(Repr::V3Query),
        proptest::collection::vec(record, 0..5).prop_map(|records| Repr::V3Report { records }),
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
    fn no_bytes_make_the_parser_panic(mut bytes: Vec<u8>, kind in 0usize..6) {
        let _ = Repr::parse(&bytes);
        if bytes.len() >= HEADER_LEN {
            let mut view = View::new_unchecked(&mut bytes);
            view.set_kind([QUERY, V1_REPORT, V2_REPORT, LEAVE, V3_REPORT, 0][kind]);
            view.fill_checksum();
            let _ = Repr::parse(&bytes);
        }
    }
}
