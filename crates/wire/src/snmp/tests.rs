use super::*;
use proptest::prelude::*;

const COUNTERS: InterfaceCounters = InterfaceCounters {
    sys_up_time_ticks: 12_345,
    if_in_octets: u32::MAX,
    if_out_octets: 0x8000_0000,
    if_in_ucast_pkts: 0,
    if_out_ucast_pkts: 127,
};

/// Encoded by hand after RFC 3416 and X.690: sysUpTime.0 is 1.3.6.1.2.1.1.3.0.
#[rustfmt::skip]
const GET_SYS_UP_TIME: [u8; 40] = [
    0x30, 38,
        0x02, 1, 1,
        0x04, 6, b'p', b'u', b'b', b'l', b'i', b'c',
        0xa0, 25,
            0x02, 1, 0x2a,  0x02, 1, 0,  0x02, 1, 0,
            0x30, 14,
                0x30, 12,
                    0x06, 8, 0x2b, 6, 1, 2, 1, 1, 3, 0,
                    0x05, 0,
];

#[test]
fn get_request_byte_vector() {
    let (repr, rest) = Repr::parse(&GET_SYS_UP_TIME).unwrap();
    assert_eq!(repr.kind, Kind::GetRequest);
    assert_eq!(repr.community, b"public");
    assert_eq!(repr.request_id, 42);
    assert_eq!(repr.bindings.len(), 1);
    assert_eq!(repr.bindings[0].0.to_string(), "1.3.6.1.2.1.1.3.0");
    assert_eq!(repr.bindings[0].1, Value::Null);
    assert!(rest.is_empty());
    assert_eq!(repr.emit(), GET_SYS_UP_TIME);
}

/// RFC 3416 section 3: GetNextRequest and SetRequest are PDUs like the others, with tags [1] and [3].
#[test]
fn requests_differ_by_their_tags() {
    let get = Repr::parse(&GET_SYS_UP_TIME).unwrap().0;
    for (kind, tag) in [(Kind::GetNextRequest, 0xa1), (Kind::SetRequest, 0xa3)] {
        let request = Repr { kind, ..get.clone() }.emit();
        let mut expected = GET_SYS_UP_TIME;
        expected[13] = tag;
        assert_eq!(request, expected);
        assert_eq!(Repr::parse(&request).unwrap().0.kind, kind);
    }
}

/// X.690 section 8.19.5 has 2.999.3 as 88 37 03; sections 8.3 and 8.1.3.5 rule the rest.
#[test]
fn ber_byte_vectors() {
    assert_eq!(ber::oid(&Oid(vec![2, 999, 3])), [6, 3, 0x88, 0x37, 0x03]);
    assert_eq!(Reader::new(&[6, 3, 0x88, 0x37, 0x03]).oid(), Ok(Oid(vec![2, 999, 3])));
    assert_eq!(ber::integer(127), [2, 1, 0x7f]);
    assert_eq!(ber::integer(128), [2, 2, 0x00, 0x80]);
    assert_eq!(ber::integer(-128), [2, 1, 0x80]);
    assert_eq!(ber::integer(-129), [2, 2, 0xff, 0x7f]);
    assert_eq!(ber::value(&Value::Counter32(u32::MAX)), [0x41, 5, 0, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(ber::element(4, &[7; 201])[..3], [4, 0x81, 201]);
    assert_eq!(ber::element(4, &[7; 435])[..4], [4, 0x82, 0x01, 0xb3]);
}

#[test]
fn the_answer_to_the_query_of_rfc2544() {
    let query = Repr::interface_query("public", 7, 3);
    assert_eq!(query.bindings[4].0.to_string(), "1.3.6.1.2.1.2.2.1.17.3");
    let bytes = query.answer(3, COUNTERS).emit();
    let (answer, _) = Repr::parse(&bytes).unwrap();
    assert_eq!(answer.interface_counters(7, 3), Ok(COUNTERS));
    assert!(answer.interface_counters(8, 3).is_err(), "another query's");
    assert!(answer.interface_counters(7, 4).is_err(), "another interface's");
    assert!(query.interface_counters(7, 3).is_err(), "no answer at all");
    assert!(query.answer(4, COUNTERS).interface_counters(7, 3).is_err(), "no such instance");
    let failed = Repr { error_status: 5, ..answer };
    assert!(failed.interface_counters(7, 3).is_err());
}

/// RFC 2544 section 11.2: the answer must fit one frame.
#[test]
fn query_and_answer_fit_one_frame_each() {
    let query = Repr::interface_query("public", i32::MAX, u32::MAX);
    assert!(query.emit().len() < 1472);
    assert!(query.answer(u32::MAX, COUNTERS).emit().len() < 1472);
}

fn any_oid() -> impl Strategy<Value = Oid> {
    let tail = proptest::collection::vec(any::<u32>(), 0..9);
    (0u32..2, 0u32..40, tail)
        .prop_map(|(first, second, tail)| Oid([&[first, second], &tail[..]].concat()))
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::Integer),
        any::<u32>().prop_map(Value::Counter32),
        any::<u32>().prop_map(Value::TimeTicks),
        Just(Value::NoSuchObject),
        Just(Value::NoSuchInstance),
        any::<Vec<u8>>().prop_map(|contents| Value::Other(0x46, contents)),
    ]
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(community: Vec<u8>, response: bool, request_id: i32,
                                 error: (i32, i32),
                                 bindings in proptest::collection::vec((any_oid(), any_value()), 0..9)) {
        let repr = Repr {
            community,
            kind: if response { Kind::Response } else { Kind::GetRequest },
            request_id,
            error_status: error.0,
            error_index: error.1,
            bindings,
        };
        let bytes = repr.emit();
        prop_assert_eq!(Repr::parse(&bytes), Ok((repr, &[][..])));
    }

    #[test]
    fn no_bytes_make_the_parser_panic(bytes: Vec<u8>) {
        let _ = Repr::parse(&bytes);
    }

    /// Damage deep inside a whole message, where random bytes do not come.
    #[test]
    fn no_damage_makes_the_parser_panic(damage in proptest::collection::vec((0usize..200, any::<u8>()), 1..9),
                                        len in 0usize..200) {
        let mut bytes = Repr::interface_query("public", 7, 300).answer(300, COUNTERS).emit();
        for (at, octet) in damage {
            let at = at % bytes.len();
            bytes[at] = octet;
        }
        bytes.truncate(len);
        if let Ok((repr, _)) = Repr::parse(&bytes) {
            let _ = repr.interface_counters(7, 300);
            let _ = repr.to_string();
        }
    }
}
