//! OPENs, and answers to them, that are as long as the data packets that they propose: they arrive where those do.

use crate::link::Dice;
use crate::new_seed::new_seed;
use crate::world::{Case, World};
use netblt::{Burst, Codepoint, Connection, Event, Header, Limits, Mode, Opening, Timing};
use units::{Duration, Instant};
use wire::netblt::{DATA_HEADER_LEN, Open, Packet, Repr};

const HERE: Header = Header::new(2000, 30);
const THERE: Header = Header::new(30, 2000);
const LIMITS: Limits = Limits {
    buffer_size_bytes: 9600,
    data_packet_size_bytes: 1200,
    burst: Burst { size_packets: 4, interval_ms: 10 },
    max_outstanding_buffers: 2,
    checksum_data: false,
    death_timer_s: 30,
};
const START: Instant = Instant::ZERO;

/// The end that opens.
fn opener(mode: Mode) -> Connection {
    let opening = Opening { connection_id: 9, mode, transfer_size_bytes: 0, client_string: "" };
    let mut opener = Connection::open(START, HERE, LIMITS, Timing::default(), opening);
    opener.try_packet_sizes(&[1448, 1400]);
    opener
}

/// The next packet of its own, as a datagram.
fn datagram(from: &mut Connection, now: Instant) -> Vec<u8> {
    let mut bytes = vec![];
    assert!(from.poll_transmit(now, &mut bytes), "it has something to say");
    bytes
}

/// The next OPEN, once nothing has answered the one before.
fn next_open(opener: &mut Connection) -> (Instant, Vec<u8>) {
    let now = opener.poll_timeout().expect("it waits for an answer");
    opener.handle_timeout(now);
    (now, datagram(opener, now))
}

fn hand_over(to: &mut Connection, now: Instant, datagram: &[u8]) {
    let packet = Repr::parse(datagram).unwrap().packet;
    to.handle_datagram(now, &packet, (datagram, Codepoint::NotCapable));
}

/// Bytes of data in a packet, and of a buffer, that an OPEN proposes or a RESPONSE agrees to, and those of the datagram.
fn said(datagram: &[u8]) -> (u16, u32, usize) {
    match Repr::parse(datagram).unwrap().packet {
        Packet::Open(said) | Packet::Response(said) => {
            (said.data_packet_size_bytes, said.buffer_size_bytes, datagram.len())
        }
        other => panic!("{other:?}"),
    }
}

/// An end that answers an OPEN; `old` ones know nothing of long answers.
fn answerer(open: &[u8], old: bool) -> Connection {
    let Packet::Open(said) = Repr::parse(open).unwrap().packet else { panic!("no OPEN") };
    let limits = Limits { data_packet_size_bytes: 9000, buffer_size_bytes: 1 << 20, ..LIMITS };
    let mut end = Connection::accept(START, THERE, limits, Timing::default(), &said, "").unwrap();
    if !old {
        hand_over(&mut end, START, open);
    }
    end
}

/// Bytes of data in the packets that the opener has agreed to.
fn agreed(opener: &mut Connection) -> Option<u16> {
    (opener.poll_event() == Some(Event::Opened))
        .then(|| opener.terms().expect("agreed").data_packet_size_bytes)
}

fn answer(opener: &mut Connection, answerer: &mut Connection, now: Instant) -> Option<u16> {
    let response = datagram(answerer, now);
    hand_over(opener, now, &response);
    agreed(opener)
}

#[test]
fn a_path_that_carries_the_open_carries_the_data() {
    let mut sender = opener(Mode::Write);
    let open = datagram(&mut sender, START);
    assert_eq!(said(&open), (1448, 8 * 1448, DATA_HEADER_LEN + 1448), "buffers of as many packets");
    let mut receiver = answerer(&open, false);
    let response = datagram(&mut receiver, START);
    assert!(response.len() < 100, "no data goes this way: {}", response.len());
    hand_over(&mut sender, START, &response);
    assert_eq!(agreed(&mut sender), Some(1448));
    sender.send_buffer(vec![7; 8 * 1448], true).expect("a whole buffer");
}

#[test]
fn where_nothing_answers_packets_are_ever_shorter() {
    let mut sender = opener(Mode::Write);
    datagram(&mut sender, START);
    let (_, open) = next_open(&mut sender);
    assert_eq!(said(&open), (1400, 8 * 1400, DATA_HEADER_LEN + 1400));
    for _ in 0..2 {
        let (_, open) = next_open(&mut sender);
        assert_eq!((said(&open).0, said(&open).1), (1200, 9600));
        assert!(open.len() < 100, "nothing is added: {}", open.len());
    }
    let (now, open) = next_open(&mut sender);
    assert_eq!(answer(&mut sender, &mut answerer(&open, false), now), Some(1200));
}

#[test]
fn a_late_answer_to_the_first_open_counts_for_who_sends() {
    let mut sender = opener(Mode::Write);
    let mut receiver = answerer(&datagram(&mut sender, START), false);
    datagram(&mut receiver, START);
    let (now, again) = next_open(&mut sender);
    hand_over(&mut receiver, now, &again);
    assert_eq!(answer(&mut sender, &mut receiver, now), Some(1448));
}

#[test]
fn an_open_is_as_long_as_data_with_its_padding() {
    let mut sender = opener(Mode::Write);
    datagram(&mut sender, START);
    sender.bound_packet_size(sender.poll_timeout().unwrap(), 1293);
    let (now, open) = next_open(&mut sender);
    assert_eq!(said(&open), (1293, 8 * 1293, DATA_HEADER_LEN + 1293 + 3));
    assert_eq!(answer(&mut sender, &mut answerer(&open, false), now), Some(1293));
    sender.send_buffer(vec![7; 8 * 1293], true).expect("a whole buffer");
}

/// What the host hears after the first OPEN, by a router that has it dropped, counts for the second.
#[test]
fn what_a_router_says_of_the_path_bounds_the_next_open() {
    let mut sender = opener(Mode::Write);
    datagram(&mut sender, START);
    let again = sender.poll_timeout().unwrap();
    assert_eq!(sender.sizes_packets_at(), Some(again));
    sender.bound_packet_size(again, 1348);
    let (_, open) = next_open(&mut sender);
    assert_eq!(said(&open), (1348, 8 * 1348, DATA_HEADER_LEN + 1348));
    sender.bound_packet_size(again, 1100);
    let (now, open) = next_open(&mut sender);
    assert_eq!((said(&open).0, said(&open).1), (1100, 8800));
    assert_eq!(answer(&mut sender, &mut answerer(&open, false), now), Some(1100));
}

/// The answer goes the way that data will go.
#[test]
fn who_reads_gets_an_answer_that_is_as_long_as_data() {
    let mut reader = opener(Mode::Read);
    let open = datagram(&mut reader, START);
    assert_eq!(said(&open), (1448, 8 * 1448, DATA_HEADER_LEN + 1448));
    let mut sender = answerer(&open, false);
    let response = datagram(&mut sender, START);
    assert_eq!(said(&response), (1448, 8 * 1448, DATA_HEADER_LEN + 1448));
    hand_over(&mut reader, START, &response);
    assert_eq!(agreed(&mut reader), Some(1448));
}

/// Buffers stay as they are: who sends has begun to fill them. What is agreed on has to be the same at both ends, whichever
/// answer arrives.
#[test]
fn who_reads_asks_for_less_until_an_answer_arrives() {
    let mut reader = opener(Mode::Read);
    let mut sender = answerer(&datagram(&mut reader, START), false);
    let long = datagram(&mut sender, START);
    let (now, open) = next_open(&mut reader);
    hand_over(&mut sender, now, &open);
    let shorter = datagram(&mut sender, now);
    assert_eq!(said(&shorter), (1400, 8 * 1448, DATA_HEADER_LEN + 1400));
    hand_over(&mut reader, now, &long);
    assert_eq!(agreed(&mut reader), None, "late: the other end has heard of less since");
    let (now, open) = next_open(&mut reader);
    hand_over(&mut sender, now, &open);
    hand_over(&mut reader, now, &shorter);
    assert_eq!(agreed(&mut reader), None, "late");
    let least = datagram(&mut sender, now);
    assert_eq!((said(&least).0, said(&least).1), (1200, 8 * 1448));
    assert!(least.len() < 100, "the OPEN was no longer: {}", least.len());
    hand_over(&mut reader, now, &least);
    assert_eq!(agreed(&mut reader), Some(1200));
    assert_eq!(sender.terms().unwrap().data_packet_size_bytes, 1200);
}

/// The end that answers knows its own way back better.
#[test]
fn who_sends_bounds_what_a_reader_asks_for() {
    let mut reader = opener(Mode::Read);
    let mut sender = answerer(&datagram(&mut reader, START), false);
    assert!(sender.sizes_packets_at().is_some_and(|at| at <= START));
    sender.bound_packet_size(START, 1348);
    assert_eq!(answer(&mut reader, &mut sender, START), Some(1348));
    assert_eq!(sender.terms().unwrap().data_packet_size_bytes, 1348);
}

/// It keeps to what it answered first, and its answers are short.
#[test]
fn who_reads_from_an_older_end_takes_its_first_answer() {
    let mut reader = opener(Mode::Read);
    let mut sender = answerer(&datagram(&mut reader, START), true);
    let response = datagram(&mut sender, START);
    assert!(response.len() < 100, "{}", response.len());
    let (now, _) = next_open(&mut reader);
    hand_over(&mut reader, now, &response);
    assert_eq!(agreed(&mut reader), Some(1448));
}

/// Once anything but OPENs has come, the other end counts on what was agreed.
#[test]
fn packets_keep_their_size_once_the_reader_has_heard_of_it() {
    let mut reader = opener(Mode::Read);
    let open = datagram(&mut reader, START);
    let (_, shorter) = next_open(&mut reader.clone());
    let mut sender = answerer(&open, false);
    assert_eq!(answer(&mut reader, &mut sender, START), Some(1448));
    reader.supply_buffer(vec![]);
    let control = datagram(&mut reader, START);
    hand_over(&mut sender, START, &control);
    hand_over(&mut sender, START, &shorter);
    sender.bound_packet_size(START, 100);
    assert_eq!(sender.terms().unwrap().data_packet_size_bytes, 1448);
}

/// A hostile reader asks for packets that nobody can number (RFC 998 section 8: 16 bits).
#[test]
fn packets_stay_countable() {
    let mut reader = opener(Mode::Read);
    let open = datagram(&mut reader, START);
    let Packet::Open(said) = Repr::parse(&open).unwrap().packet else { panic!("no OPEN") };
    let large = Open { buffer_size_bytes: 100_000, ..said };
    let limits = Limits { data_packet_size_bytes: 9000, buffer_size_bytes: 1 << 20, ..LIMITS };
    let timing = Timing::default();
    let mut sender = Connection::accept(START, THERE, limits, timing, &large, "").unwrap();
    for (asked, kept) in [(0, 1448), (1, 1448), (2, 2)] {
        let packet = Packet::Open(Open { data_packet_size_bytes: asked, ..large.clone() });
        sender.handle_packet(START, &packet);
        assert_eq!(sender.terms().unwrap().data_packet_size_bytes, kept, "{asked} bytes");
    }
}

/// Paths that swallow long datagrams in either direction, lose some, and reorder them, with round trips up to 4 s: the
/// transfer comes through, with packets that fit.
#[test]
fn whatever_a_path_carries_the_transfer_comes_through() {
    let new = new_seed();
    // In the first a path carries the data of a packet, and not with the bytes that pad it.
    for seed in [1_214_715_333].into_iter().chain(0..400).chain(new..new + 100) {
        let mut dice = Dice::new(seed);
        let mut case = Case::plain(seed);
        case.mode = if dice.permille(500) { Mode::Read } else { Mode::Write };
        case.limits[0] = LIMITS;
        case.limits[1] =
            Limits { data_packet_size_bytes: 9000, buffer_size_bytes: 1 << 20, ..LIMITS };
        case.packet_sizes = vec![1448, 1400];
        // At least what the last OPENs propose.
        case.faults.carried_bytes =
            [0, 1].map(|_| DATA_HEADER_LEN + dice.between(1200, 1500) as usize);
        case.faults.delay = Duration::from_ms(dice.below(2000));
        case.faults.jitter = Duration::from_ms(dice.below(300));
        case.faults.loss_permille = dice.below(50);
        case.bound_bytes = dice.permille(300).then(|| dice.between(1000, 1500) as u16);
        let ended = World::new(case.clone()).run();
        assert!(ended.outcomes.iter().flatten().all(|end| end.is_complete()), "{case:?}");
        assert_eq!(ended.received, ended.sent, "{case:?}");
    }
}
