//! An OPEN that is as long as the data packets that it proposes: it arrives where they do.

use netblt::{Burst, Connection, Event, Header, Limits, Mode, Opening, Timing};
use units::Instant;
use wire::netblt::{DATA_HEADER_LEN, Open, Packet, Repr};

const HERE: Header = Header::new(2000, 30);
const THERE: Header = Header::new(30, 2000);
const LIMITS: Limits = Limits {
    buffer_size_bytes: 11_200,
    data_packet_size_bytes: 1400,
    burst: Burst { size_packets: 4, interval_ms: 10 },
    max_outstanding_buffers: 2,
    checksum_data: false,
    death_timer_s: 30,
};
const START: Instant = Instant::ZERO;

fn sender() -> Connection {
    let opening =
        Opening { connection_id: 9, mode: Mode::Write, transfer_size_bytes: 0, client_string: "" };
    let mut sender = Connection::open(START, HERE, LIMITS, Timing::default(), opening);
    sender.try_longer_packets(1448);
    sender
}

/// The next packet of its own, as a datagram.
fn datagram(from: &mut Connection, now: Instant) -> Vec<u8> {
    let mut bytes = vec![];
    assert!(from.poll_transmit(now, &mut bytes), "it has something to say");
    bytes
}

/// Bytes of data in a packet, and of a buffer, that it proposes.
fn proposed(datagram: &[u8]) -> (u16, u32) {
    let Packet::Open(Open { data_packet_size_bytes, buffer_size_bytes, .. }) =
        Repr::parse(datagram).unwrap().packet
    else {
        panic!("no OPEN")
    };
    (data_packet_size_bytes, buffer_size_bytes)
}

/// An end that receives, as it answers this OPEN.
fn receiver(open: &[u8]) -> Connection {
    let Packet::Open(open) = Repr::parse(open).unwrap().packet else { panic!("no OPEN") };
    let limits = Limits { data_packet_size_bytes: 9000, buffer_size_bytes: 1 << 20, ..LIMITS };
    Connection::accept(START, THERE, limits, Timing::default(), &open, "").unwrap()
}

fn answer(sender: &mut Connection, receiver: &mut Connection, now: Instant) -> Option<u16> {
    let response = datagram(receiver, now);
    sender.handle_packet(now, &Repr::parse(&response).unwrap().packet);
    (sender.poll_event() == Some(Event::Opened))
        .then(|| sender.terms().expect("agreed").data_packet_size_bytes)
}

#[test]
fn a_path_that_carries_the_open_carries_the_data() {
    let mut sender = sender();
    let open = datagram(&mut sender, START);
    assert_eq!(open.len(), DATA_HEADER_LEN + 1448);
    assert_eq!(proposed(&open), (1448, 8 * 1448), "buffers of as many packets");
    assert_eq!(answer(&mut sender, &mut receiver(&open), START), Some(1448));
    sender.send_buffer(vec![7; 8 * 1448], true).expect("a whole buffer");
}

#[test]
fn where_nothing_answers_packets_are_shorter_from_then_on() {
    let mut sender = sender();
    datagram(&mut sender, START);
    for _ in 0..2 {
        let now = sender.poll_timeout().expect("it waits for an answer");
        sender.handle_timeout(now);
        let open = datagram(&mut sender, now);
        assert_eq!(proposed(&open), (1400, 11_200));
        assert!(open.len() < 100, "nothing is added: {}", open.len());
    }
    let now = sender.poll_timeout().expect("it waits for an answer");
    sender.handle_timeout(now);
    let open = datagram(&mut sender, now);
    assert_eq!(answer(&mut sender, &mut receiver(&open), now), Some(1400));
}

#[test]
fn a_late_answer_to_the_first_open_counts() {
    let mut sender = sender();
    let mut receiver = receiver(&datagram(&mut sender, START));
    datagram(&mut receiver, START);
    let now = sender.poll_timeout().expect("it waits for an answer");
    sender.handle_timeout(now);
    let again = datagram(&mut sender, now);
    receiver.handle_packet(now, &Repr::parse(&again).unwrap().packet);
    assert_eq!(answer(&mut sender, &mut receiver, now), Some(1448));
}

#[test]
fn packets_that_are_not_longer_change_nothing() {
    let opening =
        Opening { connection_id: 9, mode: Mode::Write, transfer_size_bytes: 0, client_string: "" };
    let mut plain = Connection::open(START, HERE, LIMITS, Timing::default(), opening);
    let mut asked = plain.clone();
    asked.try_longer_packets(1400);
    assert_eq!(datagram(&mut asked, START), datagram(&mut plain, START));
}
