//! Packets written out by hand from the figures of RFC 998 section 8; each checksum was worked
//! out apart from this code, as the complement of the ones' complement sum of the words shown.

use super::*;
use proptest::prelude::*;

const ACTIVE: Header = Header::new(0x0c01, 0x0801);
const PASSIVE: Header = Header::new(0x0801, 0x0c01);

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hex.bytes().filter_map(|c| (c as char).to_digit(16).map(|digit| digit as u8)).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Writing gives these bytes, and these bytes read give the same again.
fn assert_on_the_wire(header: Header, packet: Packet<'_>, hex: &str) {
    let repr = Repr { header, packet };
    let wire = bytes(hex);
    assert_eq!(repr.to_vec(), wire, "{repr}");
    assert_eq!(Repr::parse(&wire), Ok(repr));
}

fn open() -> Open<'static> {
    Open {
        connection_id: 0x1122_3344,
        buffer_size_bytes: 14320,
        transfer_size_bytes: 100_000,
        data_packet_size_bytes: 1432,
        burst_size_packets: 5,
        burst_interval_ms: 55,
        death_timer_s: 60,
        mode: Mode::Write,
        checksum_data: true,
        max_outstanding_buffers: 2,
        client_string: "memtest".into(),
    }
}

#[test]
fn open_and_response() {
    assert_on_the_wire(
        ACTIVE,
        Packet::Open(open()),
        "2a770400 002c0c01 08010000 11223344 000037f0 000186a0 05980005 0037003c 00030002 \
         6d656d74 65737400",
    );
    let answer = Open { burst_interval_ms: 60, client_string: "ok".into(), ..open() };
    assert_on_the_wire(
        PASSIVE,
        Packet::Response(answer),
        "6f570401 00280801 0c010000 11223344 000037f0 000186a0 05980005 003c003c 00030002 \
         6f6b0000",
    );
}

#[test]
fn header_only_packets() {
    assert_on_the_wire(ACTIVE, Packet::KeepAlive, "e7ef0402 000c0c01 08010000");
    assert_on_the_wire(PASSIVE, Packet::Done, "e7e6040b 000c0801 0c010000");
    assert_on_the_wire(ACTIVE, Packet::QuitAck, "e7ed0404 000c0c01 08010000");
}

#[test]
fn packets_with_a_reason() {
    let quit = "b7c60403 00180c01 08010000 636c6965 6e742067 6f6e6500";
    assert_on_the_wire(ACTIVE, Packet::Quit("client gone".into()), quit);
    let abort = "47f90405 00140c01 08010000 62616420 75696400";
    assert_on_the_wire(ACTIVE, Packet::Abort("bad uid".into()), abort);
    let refused = "1331040a 00180801 0c010000 6e6f2063 6c69656e 74000000";
    assert_on_the_wire(PASSIVE, Packet::Refused("no client".into()), refused);
}

#[test]
fn data_and_last_data() {
    let sixteen: Vec<u8> = (0..16).collect();
    let data = Data {
        buffer: 1,
        high_consecutive: 2,
        packet: 0,
        checksum: 0,
        last_buffer: false,
        data: &sixteen,
    };
    assert_on_the_wire(
        ACTIVE,
        Packet::Data(data.checksummed()),
        "200d0406 00280c01 08010000 00000001 00020000 c7bf0000 00010203 04050607 08090a0b \
         0c0d0e0f",
    );
    let last = Data { buffer: 2, packet: 1, last_buffer: true, data: b"HELLO", ..data };
    let padded = "cb650407 001d0c01 08010000 00000002 00020001 1c6e0001 48454c4c 4f000000";
    assert_on_the_wire(ACTIVE, Packet::LastData(last.checksummed()), padded);
    let unsummed = "e7d30407 001d0c01 08010000 00000002 00020001 00000001 48454c4c 4f000000";
    assert_on_the_wire(ACTIVE, Packet::LastData(last), unsummed);
}

#[test]
fn null_ack() {
    let ack = NullAck { high_consecutive: 5, burst_size_packets: 5, burst_interval_ms: 60 };
    assert_on_the_wire(
        ACTIVE,
        Packet::NullAck(ack),
        "e79b0408 00140c01 08010000 00050005 003c0000",
    );
}

#[test]
fn control_messages() {
    let go = |sequence, buffer| Message { sequence, buffer, kind: Kind::Go };
    assert_on_the_wire(
        PASSIVE,
        Packet::Control([go(1, 1), go(2, 2)].into_iter().collect()),
        "e7d20409 001c0801 0c010000 00000001 00000001 00000002 00000002",
    );
    let missing = Kind::Resend([3, 4, 9].into_iter().collect());
    assert_on_the_wire(
        PASSIVE,
        Packet::Control([Message { sequence: 3, buffer: 1, kind: missing }].into_iter().collect()),
        "e5bd0409 00200801 0c010000 02000003 00000001 00030000 00030004 00090000",
    );
    let whole = Kind::Ok { burst_size_packets: 5, burst_interval_ms: 60, control_timer_ms: 500 };
    let ok = Message { sequence: 4, buffer: 1, kind: whole };
    assert_on_the_wire(
        PASSIVE,
        Packet::Control([ok, go(5, 3)].into_iter().collect()),
        "e48e0409 00240801 0c010000 01000004 00000001 0005003c 01f40000 00000005 00000003",
    );
}

#[test]
fn data_that_was_damaged_is_known() {
    let mut wire = bytes("cb650407 001d0c01 08010000 00000002 00020001 1c6e0001 48454c4c 4f000000");
    wire[25] ^= 0x10;
    let Ok(Repr { packet: Packet::LastData(data), .. }) = Repr::parse(&wire) else {
        panic!("the header is good");
    };
    assert!(!data.is_intact());
}

/// `hex` with its first two bytes replaced by the checksum that makes it good.
fn summed(hex: &str) -> Vec<u8> {
    let mut wire = bytes(hex);
    put_u16(&mut wire, CHECKSUM, 0);
    let sum = checksum(covered(&wire));
    put_u16(&mut wire, CHECKSUM, sum);
    wire
}

#[test]
fn what_cannot_be_is_refused() {
    for (hex, why) in [
        ("00000402 000c0c01 0801", "12 bytes needed, 10 there"),
        ("00000402 00080c01 08010000", "length below that of its header"),
        ("00000402 00100c01 08010000", "16 bytes needed, 12 there"),
        ("00000402 000d0c01 08010000 00", "length is no multiple of four"),
        ("0000040c 000c0c01 08010000", "unknown packet type"),
        ("00000400 000c0c01 08010000", "36 bytes needed, 12 there"),
        ("00000406 000c0c01 08010000 00000000 00000000 00000000", "24 bytes needed, 12 there"),
        ("00000405 00100c01 08010000 74686973", "a string without an end"),
        ("00000408 00100c01 08010000 00010005", "20 bytes needed, 16 there"),
        ("00000409 00100801 0c010000 03000003", "8 bytes needed, 4 there"),
        ("00000409 00140801 0c010000 03000003 00000001", "unknown control message type"),
        (
            "00000409 001c0801 0c010000 02000003 00000001 00040000 00010002",
            "20 bytes needed, 16 there",
        ),
    ] {
        let error = Repr::parse(&summed(hex)).expect_err(hex).to_string();
        assert!(error.contains(why), "{error}");
    }
    let damaged = Repr::parse(&[0xe7, 0xf0, 4, 2, 0, 12, 12, 1, 8, 1, 0, 0]);
    assert!(matches!(damaged, Err(DecodeError::Checksum { found: 0xe7f0, expected: 0xe7ef, .. })));
}

#[test]
fn text_is_cut_where_the_length_field_ends_and_escaped_where_a_terminal_would_obey() {
    let long = "x".repeat(70_000);
    let wire = Repr { header: ACTIVE, packet: Packet::Abort(long.as_str().into()) }.to_vec();
    assert_eq!(wire.len(), 65_532);
    assert!(Repr::parse(&wire).is_ok());
    assert_eq!(Text::new(b"a\x1b[2Jb\0c").to_string(), "a\\u{1b}[2Jb");
}

fn any_text() -> impl Strategy<Value = Text<'static>> {
    proptest::collection::vec(1u8.., 0..40).prop_map(|bytes| Text::new(&bytes).into_owned())
}

fn any_message() -> impl Strategy<Value = Message<'static>> {
    let kind = prop_oneof![
        Just(Kind::Go),
        (0u16.., 0u16.., 0u16..).prop_map(|(size, interval, timer)| Kind::Ok {
            burst_size_packets: size,
            burst_interval_ms: interval,
            control_timer_ms: timer,
        }),
        proptest::collection::vec(0u16.., 0..9)
            .prop_map(|numbers| Kind::Resend(numbers.into_iter().collect())),
    ];
    (0u16.., 0u32.., kind).prop_map(|(sequence, buffer, kind)| Message { sequence, buffer, kind })
}

proptest! {
    #[test]
    fn what_is_written_is_read(local_port: u16, foreign_port: u16, version: u8, text in any_text(),
                               messages in proptest::collection::vec(any_message(), 0..9),
                               data: Vec<u8>, id: u32, checksum_data: bool, flip: usize) {
        let header = Header { version, local_port, foreign_port };
        let open = Open { connection_id: id, checksum_data, client_string: text.clone(), ..open() };
        let body = Data { buffer: id, high_consecutive: local_port, packet: foreign_port,
            checksum: 0, last_buffer: checksum_data, data: &data }.checksummed();
        prop_assert!(body.is_intact());
        for packet in [Packet::Open(open), Packet::Refused(text.clone()), Packet::Data(body),
                       Packet::Control(messages.clone().into_iter().collect())] {
            let repr = Repr { header, packet };
            let mut wire = repr.to_vec();
            prop_assert!(wire.len().is_multiple_of(4));
            prop_assert_eq!(Repr::parse(&wire), Ok(repr.clone()));
            // A single bit turned over where the checksum covers is always found.
            let covered = if matches!(repr.packet, Packet::Data(_)) { DATA_HEADER_LEN } else { wire.len() };
            let bit = flip % (8 * covered);
            wire[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Repr::parse(&wire).is_err());
        }
        let read: Vec<_> = messages.iter().cloned().collect::<Messages<'_>>().iter()
            .map(Message::into_owned).collect();
        prop_assert_eq!(read, messages);
    }

    #[test]
    fn no_bytes_make_the_parser_panic(mut bytes: Vec<u8>, kind in 0u8..13) {
        let _ = Repr::parse(&bytes);
        if bytes.len() >= HEADER_LEN {
            // Past length, type and checksum, to the bodies.
            let length = bytes.len() as u16 & !3;
            put_u16(&mut bytes, LENGTH, length);
            bytes[TYPE] = kind;
            bytes.truncate(usize::from(length));
            if kind != 6 && kind != 7 || bytes.len() >= DATA_HEADER_LEN {
                put_u16(&mut bytes, CHECKSUM, 0);
                let sum = checksum(covered(&bytes));
                put_u16(&mut bytes, CHECKSUM, sum);
            }
            if let Ok(repr) = Repr::parse(&bytes) {
                let _ = repr.to_string();
            }
        }
    }
}
