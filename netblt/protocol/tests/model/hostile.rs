//! Peers that lie. Nothing they send makes an end panic or hold more than its own limits say.

use crate::link::Dice;
use netblt::{
    Burst, Connection, ConnectionId, Counters, Ending, Endpoint, EndpointLimits, Event, Header,
    Limits, Mode, Opening, Timing,
};
use units::{Duration, Instant};
use wire::netblt::{Data, Kind, Message, Messages, NullAck, Open, Packet, Repr};

const LIMITS: Limits = Limits {
    buffer_size_bytes: 4000,
    data_packet_size_bytes: 1000,
    burst: Burst { size_packets: 4, interval_ms: 10 },
    max_outstanding_buffers: 2,
    checksum_data: false,
    death_timer_s: 30,
};
const HERE: Header = Header::new(7, 1000);
const THERE: Header = Header::new(1000, 7);

fn open(mode: Mode) -> Open<'static> {
    Open {
        connection_id: 99,
        buffer_size_bytes: u32::MAX,
        transfer_size_bytes: u32::MAX,
        data_packet_size_bytes: u16::MAX,
        burst_size_packets: u16::MAX,
        burst_interval_ms: 0,
        death_timer_s: 30,
        mode,
        checksum_data: false,
        max_outstanding_buffers: u16::MAX,
        client_string: "".into(),
    }
}

/// The passive end, which receives in WRITE and sends in READ.
fn passive(mode: Mode) -> Connection {
    let (now, timing) = (Instant::ZERO, Timing::default());
    let mut connection =
        Connection::accept(now, HERE, LIMITS, timing, &open(mode), "").expect("agreed");
    assert_eq!(connection.poll_event(), Some(Event::Opened));
    connection
}

fn data<'a>(buffer: u32, packet: u16, bytes: &'a [u8]) -> Data<'a> {
    Data { buffer, high_consecutive: 0, packet, checksum: 0, last_buffer: false, data: bytes }
}
fn control(sequence: u16, buffer: u32, kind: Kind<'static>) -> Messages<'static> {
    [Message { sequence, buffer, kind }].into_iter().collect()
}
fn datagram(header: Header, packet: Packet<'_>) -> Vec<u8> {
    Repr { header, packet }.to_vec()
}
fn transmissions(connection: &mut Connection, now: Instant) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| {
        let mut bytes = Vec::new();
        connection.poll_transmit(now, &mut bytes).then_some(bytes)
    })
    .collect()
}
fn aborted(connection: &mut Connection) -> Option<String> {
    std::iter::from_fn(|| connection.poll_event()).find_map(|event| match event {
        Event::Closed(Ending::Aborted { by_peer: false, reason }) => Some(reason),
        _ => None,
    })
}

#[test]
fn a_huge_proposal_is_cut_down_to_ones_own_limits() {
    let connection = passive(Mode::Write);
    let terms = connection.terms().expect("agreed");
    assert_eq!(terms.buffer_size_bytes, LIMITS.buffer_size_bytes);
    assert_eq!(terms.max_outstanding_buffers, 2);
    assert_eq!(connection.buffers_wanted(), 2);
}

#[test]
fn data_that_does_not_fit_is_left_out_and_ends_the_connection_only_after_much_of_it() {
    let now = Instant::ZERO;
    for misfit in [data(1, 0, &[1; 1001]), data(1, 4, &[1; 1000]), data(1, 0, &[0; 1004])] {
        let mut connection = passive(Mode::Write);
        connection.supply_buffer(Vec::new());
        (0..100).for_each(|_| connection.handle_packet(now, &Packet::Data(misfit)));
        assert_eq!(aborted(&mut connection), None);
        let Counters { misfit_data_packets, data_bytes, .. } = connection.counters();
        assert_eq!((misfit_data_packets, data_bytes), (100, 0));
        connection.handle_packet(now, &Packet::Data(misfit));
        assert!(aborted(&mut connection).expect("aborted").contains("do not fit"));
    }
}

#[test]
fn a_length_that_counts_the_padding_is_taken_as_data_size_was_agreed() {
    // RFC 1030's packets of 1,438 bytes in a buffer of ten, as who counts the padding sends them.
    let limits = Limits { buffer_size_bytes: 2 * 1438, data_packet_size_bytes: 1438, ..LIMITS };
    let (now, timing) = (Instant::ZERO, Timing::default());
    let mut connection =
        Connection::accept(now, HERE, limits, timing, &open(Mode::Write), "").expect("agreed");
    assert_eq!(connection.poll_event(), Some(Event::Opened));
    connection.supply_buffer(Vec::new());
    let mut padded = vec![7; 1438];
    padded.extend([0, 0]);
    connection.handle_packet(now, &Packet::Data(data(1, 0, &padded)));
    connection.handle_packet(now, &Packet::LastData(data(1, 1, &padded)));
    let received = Event::Received { index: 0, data: vec![7; 2 * 1438], last: false };
    assert_eq!(connection.poll_event(), Some(received));
    assert_eq!(connection.counters().data_bytes, 2 * 1438);
}

#[test]
fn a_resend_names_no_packet_beyond_a_short_last_buffer() {
    let mut connection = passive(Mode::Write);
    connection.supply_buffer(Vec::new());
    transmissions(&mut connection, Instant::ZERO);
    // Packet 1 is LDATA, was lost, and is the last of a buffer that could hold four.
    let first = Data { high_consecutive: 1, last_buffer: true, ..data(1, 0, &[0; 1000]) };
    connection.handle_packet(Instant::ZERO, &Packet::Data(first));
    let later = Instant::ZERO + Duration::from_secs(1);
    connection.handle_timeout(later);
    let asked = transmissions(&mut connection, later);
    let Ok(Repr { packet: Packet::Control(messages), .. }) = Repr::parse(&asked[0]) else {
        panic!("{asked:?}");
    };
    let resends: Vec<Vec<u16>> = messages
        .iter()
        .filter_map(|message| match message.kind {
            Kind::Resend(missing) => Some(missing.iter().collect()),
            _ => None,
        })
        .collect();
    assert_eq!(resends, [[1]]);
}

#[test]
fn two_last_buffers_end_the_connection_with_abort() {
    let (mut last, mut other) = (data(1, 0, b"x"), data(2, 0, b"x"));
    (last.last_buffer, other.last_buffer) = (true, true);
    let cases: [(&[Packet<'_>], &str); 2] = [
        (&[Packet::LastData(last), Packet::LastData(other)], ""),
        (&[Packet::LastData(other), Packet::LastData(last)], "two last buffers"),
    ];
    for (packets, reason) in cases {
        let mut connection = passive(Mode::Write);
        (0..2).for_each(|_| connection.supply_buffer(Vec::new()));
        packets.iter().for_each(|packet| connection.handle_packet(Instant::ZERO, packet));
        match reason {
            // Buffer 2 was closed again when 1 turned out to be the last.
            "" => assert_eq!(aborted(&mut connection), None),
            reason => assert!(aborted(&mut connection).expect("aborted").contains(reason)),
        }
    }
}

#[test]
fn data_nobody_asked_for_takes_no_memory() {
    let mut connection = passive(Mode::Write);
    connection.supply_buffer(Vec::new());
    for buffer in 2..10_000 {
        connection.handle_packet(Instant::ZERO, &Packet::Data(data(buffer, 0, &[0; 1000])));
    }
    assert_eq!(connection.counters().data_packets_received, 0);
    assert_eq!(connection.counters().duplicate_data_packets, 9998);
}

#[test]
fn lies_of_a_receiver_are_malfunctions() {
    let ok = || Kind::Ok { burst_size_packets: 4, burst_interval_ms: 10, control_timer_ms: 1 };
    for (kind, reason) in [(ok(), "never was"), (Kind::Go, "")] {
        let mut connection = passive(Mode::Read);
        connection.handle_packet(Instant::ZERO, &Packet::Control(control(1, 1, kind)));
        match reason {
            "" => assert_eq!(aborted(&mut connection), None),
            reason => assert!(aborted(&mut connection).expect("aborted").contains(reason)),
        }
    }
    let mut connection = passive(Mode::Read);
    assert_eq!(connection.send_buffer(vec![0; 4000], false), Ok(()));
    connection.handle_packet(Instant::ZERO, &Packet::Control(control(1, 1, Kind::Go)));
    connection.handle_packet(Instant::ZERO, &Packet::Control(control(2, 1, ok())));
    assert!(aborted(&mut connection).expect("aborted").contains("never left"));
}

#[test]
fn a_flood_of_go_is_a_malfunction_before_it_takes_memory() {
    let mut connection = passive(Mode::Read);
    let mut sent = 0;
    while sent < 1000 && !connection.is_over() {
        sent += 1;
        let go = control(sent, sent.into(), Kind::Go);
        connection.handle_packet(Instant::ZERO, &Packet::Control(go));
        transmissions(&mut connection, Instant::ZERO);
    }
    assert!(sent <= 2 * LIMITS.max_outstanding_buffers + 16 + 1, "{sent}");
    assert!(aborted(&mut connection).expect("aborted").contains("GO for more"));
}

#[test]
fn a_request_to_resend_everything_cannot_beat_the_burst() {
    let mut connection = passive(Mode::Read);
    let now = Instant::ZERO;
    assert_eq!(connection.send_buffer(vec![7; 4000], false), Ok(()));
    transmissions(&mut connection, now);
    connection.handle_packet(now, &Packet::Control(control(1, 1, Kind::Go)));
    assert_eq!(transmissions(&mut connection, now).len(), 4);
    for sequence in 2..500 {
        let all = Kind::Resend((0..2000).collect());
        connection.handle_packet(now, &Packet::Control(control(sequence, 1, all)));
    }
    assert_eq!(transmissions(&mut connection, now).len(), 0, "the burst is over");
    let next = now + Duration::from_ms(10);
    assert_eq!(transmissions(&mut connection, next).len(), 4);
    assert_eq!(transmissions(&mut connection, next + Duration::from_ms(10)).len(), 0);
}

#[test]
fn an_open_with_another_identifier_is_aborted_and_changes_nothing() {
    let mut connection = passive(Mode::Write);
    transmissions(&mut connection, Instant::ZERO);
    let again = Packet::Open(open(Mode::Write));
    connection.handle_packet(Instant::ZERO, &again);
    let answers = transmissions(&mut connection, Instant::ZERO);
    let Ok(Repr { packet: Packet::Response(answer), .. }) = Repr::parse(&answers[0]) else {
        panic!("the same OPEN gets the RESPONSE again");
    };
    assert_eq!(answer.connection_id, 99);
    let other = Open { connection_id: 100, ..open(Mode::Write) };
    connection.handle_packet(Instant::ZERO, &Packet::Open(other));
    let answers = transmissions(&mut connection, Instant::ZERO);
    assert!(matches!(Repr::parse(&answers[0]), Ok(Repr { packet: Packet::Abort(_), .. })));
    assert!(!connection.is_over());
    assert_eq!(connection.poll_event(), None);
}

#[test]
fn an_abort_meant_for_a_stranger_at_the_same_ports_ends_no_transfer_that_runs() {
    let now = Instant::ZERO;
    let mut other = passive(Mode::Write);
    transmissions(&mut other, now);
    let stranger = Open { connection_id: 100, ..open(Mode::Write) };
    other.handle_packet(now, &Packet::Open(stranger));
    let abort = transmissions(&mut other, now).remove(0);
    let abort = Repr::parse(&abort).expect("good").packet;
    assert!(matches!(abort, Packet::Abort(_)));
    // Nothing of the transfer has come yet: our connection may be the stranger.
    let ended = |connection: &mut Connection| {
        std::iter::from_fn(|| connection.poll_event())
            .any(|event| matches!(event, Event::Closed(Ending::Aborted { by_peer: true, .. })))
    };
    let mut connection = passive(Mode::Read);
    connection.handle_packet(now, &abort);
    assert!(ended(&mut connection));
    let mut connection = passive(Mode::Read);
    connection.handle_packet(now, &Packet::Control(control(1, 1, Kind::Go)));
    connection.handle_packet(now, &abort);
    assert!(!ended(&mut connection) && !connection.is_over());
    connection.handle_packet(now, &Packet::Abort("anything else".into()));
    assert!(ended(&mut connection));
}

#[test]
fn a_response_need_not_repeat_the_mode() {
    let opening =
        Opening { connection_id: 99, mode: Mode::Write, transfer_size_bytes: 0, client_string: "" };
    let (now, timing) = (Instant::ZERO, Timing::default());
    let mut connection = Connection::open(now, THERE, LIMITS, timing, opening);
    let terms = Open {
        buffer_size_bytes: 1000,
        data_packet_size_bytes: 1000,
        burst_size_packets: 1,
        burst_interval_ms: 10,
        max_outstanding_buffers: 1,
        ..open(Mode::Read)
    };
    connection.handle_packet(now, &Packet::Response(terms));
    assert_eq!(connection.poll_event(), Some(Event::Opened));
    assert_eq!(connection.send_buffer(vec![0; 1000], false), Ok(()), "this end sends as it said");
}

#[test]
fn a_dally_lets_the_longest_timer_of_any_ok_run_out() {
    let now = Instant::ZERO;
    let mut connection = passive(Mode::Read);
    assert_eq!(connection.send_buffer(vec![0; 10], true), Ok(()));
    connection.handle_packet(now, &Packet::Control(control(1, 1, Kind::Go)));
    transmissions(&mut connection, now);
    let ok = |control_timer_ms| Kind::Ok {
        burst_size_packets: 4,
        burst_interval_ms: 10,
        control_timer_ms,
    };
    connection.handle_packet(now, &Packet::Control(control(2, 1, ok(500))));
    // The same OK again, by a timer that has doubled: the acknowledgement was lost.
    connection.handle_packet(now, &Packet::Control(control(2, 1, ok(60_000))));
    transmissions(&mut connection, now);
    assert!(connection.poll_timeout().expect("dallies") > now + Duration::from_secs(60));
}

#[test]
fn answers_have_the_version_of_the_open_and_an_identifier_used_again_is_refused() {
    let mut endpoint = Endpoint::<u32>::new(EndpointLimits::default(), Timing::default());
    endpoint.listen(7);
    let now = Instant::ZERO;
    let header = Header { version: 1, ..THERE };
    let hello = datagram(header, Packet::Open(open(Mode::Write)));
    let answer = |endpoint: &mut Endpoint<u32>| {
        let mut bytes = Vec::new();
        endpoint.poll_transmit(now, &mut bytes).expect("an answer");
        let Repr { header, packet } = Repr::parse(&bytes).expect("good");
        assert_eq!(header, Header { version: 1, ..HERE });
        packet.name().to_owned()
            + &match packet {
                Packet::Refused(reason) => format!(" {reason}"),
                _ => String::new(),
            }
    };
    endpoint.handle_datagram(now, 1, &hello);
    let request = endpoint.poll_request().expect("asked");
    let id = endpoint.accept(now, &request, LIMITS, "").expect("accepted");
    assert_eq!(answer(&mut endpoint), "RESPONSE");
    endpoint.with(id, |connection| connection.abort("over"));
    while endpoint.poll_event().is_some() {}
    assert_eq!(answer(&mut endpoint), "ABORT");
    assert_eq!(endpoint.poll_transmit(now, &mut Vec::new()), None);
    endpoint.handle_datagram(now, 1, &hello);
    assert_eq!(answer(&mut endpoint), "REFUSED this identifier was used a moment ago");
    let elsewhere = Header { version: 1, ..Header::new(1000, 8) };
    endpoint.handle_datagram(now, 1, &datagram(elsewhere, Packet::Open(open(Mode::Write))));
    let mut bytes = Vec::new();
    endpoint.poll_transmit(now, &mut bytes).expect("refused");
    assert_eq!(Repr::parse(&bytes).expect("good").header.version, 1);
}

#[test]
fn a_less_restrictive_response_is_aborted() {
    let opening =
        Opening { connection_id: 5, mode: Mode::Write, transfer_size_bytes: 0, client_string: "" };
    let (now, timing) = (Instant::ZERO, Timing::default());
    let mut connection = Connection::open(now, THERE, LIMITS, timing, opening);
    let stale = Open { connection_id: 4, ..open(Mode::Write) };
    connection.handle_packet(now, &Packet::Response(stale));
    assert_eq!(connection.poll_event(), None, "an answer to an earlier request");
    let greedy = Open { connection_id: 5, ..open(Mode::Write) };
    connection.handle_packet(now, &Packet::Response(greedy));
    assert!(aborted(&mut connection).expect("aborted").contains("less restrictive"));
}

/// An endpoint that listens, with little room.
fn narrow() -> Endpoint<u32> {
    let limits = EndpointLimits {
        max_connections: 5,
        max_half_open: 3,
        max_requests: 3,
        ..Default::default()
    };
    let mut endpoint = Endpoint::new(limits, Timing::default());
    endpoint.listen(7);
    endpoint
}
fn accept_all(endpoint: &mut Endpoint<u32>, now: Instant) -> Option<ConnectionId> {
    let requests: Vec<_> = std::iter::from_fn(|| endpoint.poll_request()).collect();
    requests.iter().filter_map(|request| endpoint.accept(now, request, LIMITS, "")).last()
}
/// What a client does at every turn: it hears what happened, and lets everything out.
fn turn(endpoint: &mut Endpoint<u32>, now: Instant) -> Vec<(ConnectionId, Event)> {
    let events = std::iter::from_fn(|| endpoint.poll_event()).collect();
    while endpoint.poll_transmit(now, &mut Vec::new()).is_some() {}
    events
}

#[test]
fn a_flood_of_opens_fills_no_more_than_the_limits() {
    let mut endpoint = narrow();
    let hello = datagram(THERE, Packet::Open(open(Mode::Write)));
    for stranger in 0..10_000 {
        endpoint.handle_datagram(Instant::ZERO, stranger, &hello);
        // A client that looks now and then, and does not care what happens.
        if stranger % 7 == 0 {
            accept_all(&mut endpoint, Instant::ZERO);
        }
    }
    // Three half open, and three that gave way to them, of which the client has not heard.
    assert_eq!(endpoint.connections().count(), 3 + 3);
    let mut answers = 0;
    while endpoint.poll_transmit(Instant::ZERO, &mut Vec::new()).is_some() {
        answers += 1;
    }
    assert_eq!(answers, 3 + 3 + 3, "responses, aborts, and no more refusals than may wait");
    turn(&mut endpoint, Instant::ZERO);
    assert_eq!(endpoint.connections().count(), 3);
}

/// However many strangers open: who has proved to be there stays, and who opens among them has time
/// to prove it while as many others come as may be half open.
#[test]
fn a_flood_of_opens_shuts_no_honest_peer_out() {
    let mut endpoint = narrow();
    let now = Instant::ZERO;
    let hello = datagram(THERE, Packet::Open(open(Mode::Write)));
    let alive = datagram(THERE, Packet::KeepAlive);
    let mut strangers = 1000..;
    let mut honest = Vec::new();
    for peer in 0..5 {
        endpoint.handle_datagram(now, peer, &hello);
        honest.extend(accept_all(&mut endpoint, now));
        for stranger in strangers.by_ref().take(2) {
            endpoint.handle_datagram(now, stranger, &hello);
            accept_all(&mut endpoint, now);
            turn(&mut endpoint, now);
        }
        endpoint.handle_datagram(now, peer, &alive);
    }
    for stranger in strangers.take(5000) {
        endpoint.handle_datagram(now, stranger, &hello);
        accept_all(&mut endpoint, now);
        let told = turn(&mut endpoint, now);
        assert!(told.iter().all(|(id, _)| !honest.contains(id)), "{told:?}");
    }
    let held: Vec<_> = endpoint.connections().map(|(id, _, _)| id).collect();
    assert_eq!(honest.len(), 5, "all places are taken by those who are there");
    assert!(honest.iter().all(|id| held.contains(id)));
    assert!(held.len() <= 5 + 3, "{held:?}");
}

#[test]
fn more_may_prove_to_be_there_than_there_is_room_for_and_the_last_are_sent_away() {
    let mut endpoint = narrow();
    let now = Instant::ZERO;
    let hello = datagram(THERE, Packet::Open(open(Mode::Write)));
    let alive = datagram(THERE, Packet::KeepAlive);
    let mut ids = Vec::new();
    for peers in [0..3, 3..6] {
        for peer in peers.clone() {
            endpoint.handle_datagram(now, peer, &hello);
            ids.extend(accept_all(&mut endpoint, now));
        }
        turn(&mut endpoint, now);
        peers.for_each(|peer| _ = endpoint.handle_datagram(now, peer, &alive));
    }
    let told = turn(&mut endpoint, now);
    let away = Ending::Aborted { by_peer: false, reason: "no more connections".to_owned() };
    assert_eq!(told, [(ids[5], Event::Closed(away))]);
    assert_eq!(endpoint.connections().count(), 5);
}

#[test]
fn who_gave_way_is_told_and_may_open_again_with_the_same_identifier() {
    let mut endpoint = narrow();
    let now = Instant::ZERO;
    let hello = datagram(THERE, Packet::Open(open(Mode::Write)));
    let mut first = None;
    for peer in 0..4 {
        endpoint.handle_datagram(now, peer, &hello);
        let id = accept_all(&mut endpoint, now);
        first = first.or(id);
    }
    let closed = Event::Closed(Ending::NoAnswer);
    let events: Vec<_> = std::iter::from_fn(|| endpoint.poll_event()).collect();
    assert!(events.contains(&(first.expect("accepted"), closed)), "{events:?}");
    let mut aborts = Vec::new();
    let mut bytes = Vec::new();
    while let Some(peer) = endpoint.poll_transmit(now, &mut bytes) {
        if matches!(Repr::parse(&bytes).expect("good").packet, Packet::Abort(_)) {
            aborts.push(peer);
        }
        bytes.clear();
    }
    assert_eq!(aborts, [0]);
    endpoint.handle_datagram(now, 0, &hello);
    assert!(accept_all(&mut endpoint, now).is_some());
}

#[test]
fn nobody_is_half_open_for_longer_than_a_minute_however_often_they_ask() {
    let mut endpoint = narrow();
    let hello = datagram(THERE, Packet::Open(open(Mode::Read)));
    let at = |s: u64| Instant::ZERO + Duration::from_secs(s);
    endpoint.handle_datagram(at(0), 1, &hello);
    let id = accept_all(&mut endpoint, at(0)).expect("accepted");
    for second in 1..60 {
        endpoint.handle_datagram(at(second), 1, &hello);
        assert!(turn(&mut endpoint, at(second)).iter().all(|(_, event)| *event == Event::Opened));
    }
    assert!(endpoint.poll_timeout().is_some_and(|due| due <= at(60)));
    turn(&mut endpoint, at(60));
    assert_eq!(turn(&mut endpoint, at(60)), [(id, Event::Closed(Ending::NoAnswer))]);
    assert_eq!(endpoint.connections().count(), 0);
}

#[test]
fn nobody_at_a_port_is_refused_and_other_strangers_are_not_answered() {
    let mut endpoint = Endpoint::<u32>::new(EndpointLimits::default(), Timing::default());
    endpoint.listen(8);
    let now = Instant::ZERO;
    endpoint.handle_datagram(now, 1, &datagram(THERE, Packet::Open(open(Mode::Read))));
    let mut bytes = Vec::new();
    assert_eq!(endpoint.poll_transmit(now, &mut bytes), Some(1));
    let refused = Repr::parse(&bytes).expect("good");
    assert!(matches!(refused, Repr { header: HERE, packet: Packet::Refused(_) }));
    let ack = NullAck { high_consecutive: 1, burst_size_packets: 1, burst_interval_ms: 1 };
    for packet in [Packet::Done, Packet::NullAck(ack), Packet::Abort("".into())] {
        endpoint.handle_datagram(now, 1, &datagram(THERE, packet));
    }
    assert_eq!(endpoint.poll_transmit(now, &mut Vec::new()), None);
    let mut client = Endpoint::<u32>::new(EndpointLimits::default(), Timing::default());
    client.handle_datagram(now, 1, &datagram(THERE, Packet::Open(open(Mode::Read))));
    client.handle_datagram(now, 1, &datagram(THERE, Packet::Quit("".into())));
    assert_eq!(client.poll_timeout(), None, "who listens nowhere does not answer for others");
}

/// Well-formed packets of every type with arbitrary contents, at both kinds of end, with time
/// going on: nothing panics, and what an end sends stays in bounds.
#[test]
fn arbitrary_packets_in_any_order_do_no_harm() {
    let new = crate::new_seed::new_seed();
    for seed in (0..400).chain(new..new + 20) {
        let mut dice = Dice::new(seed);
        let mode = if seed % 2 == 0 { Mode::Write } else { Mode::Read };
        let mut connection = passive(mode);
        let mut now = Instant::ZERO;
        for _ in 0..200 {
            if connection.buffers_wanted() > 0 {
                connection.supply_buffer(Vec::new());
                let _ = connection.send_buffer(vec![1; 4000], dice.permille(50));
            }
            let bytes = dice.bytes(1000);
            let packet = any_packet(&mut dice, &bytes);
            connection.handle_packet(now, &packet);
            now += Duration::from_us(dice.below(50_000));
            connection.handle_timeout(now);
            let sent = transmissions(&mut connection, now);
            assert!(sent.len() < 20, "{}", sent.len());
            sent.iter().for_each(|bytes| assert!(Repr::parse(bytes).is_ok()));
            while connection.poll_event().is_some() {}
        }
    }
}

fn any_packet<'a>(dice: &mut Dice, bytes: &'a [u8]) -> Packet<'a> {
    let small = |dice: &mut Dice| dice.below(6);
    let body = Data {
        buffer: small(dice) as u32,
        high_consecutive: small(dice) as u16,
        packet: small(dice) as u16,
        checksum: 0,
        last_buffer: dice.permille(50),
        data: if dice.permille(800) { bytes } else { &bytes[..dice.below(1000) as usize] },
    };
    let message = |dice: &mut Dice| Message {
        sequence: small(dice) as u16,
        buffer: small(dice) as u32,
        kind: match dice.below(3) {
            0 => Kind::Go,
            1 => Kind::Ok {
                burst_size_packets: small(dice) as u16,
                burst_interval_ms: small(dice) as u16,
                control_timer_ms: small(dice) as u16,
            },
            _ => Kind::Resend((0..small(dice) as u16).collect()),
        },
    };
    match dice.below(60) {
        0 => Packet::Abort("x".into()),
        1 => Packet::Quit("x".into()),
        2 => Packet::QuitAck,
        3 => Packet::Done,
        4 => Packet::Refused("x".into()),
        5 => Packet::Open(Open { connection_id: 98 + small(dice) as u32, ..open(Mode::Read) }),
        6 => Packet::Response(open(Mode::Write)),
        7 => Packet::KeepAlive,
        8..20 => Packet::NullAck(NullAck {
            high_consecutive: small(dice) as u16,
            burst_size_packets: small(dice) as u16,
            burst_interval_ms: small(dice) as u16,
        }),
        20..35 => Packet::Control((0..small(dice)).map(|_| message(dice)).collect()),
        35..50 => Packet::Data(body),
        _ => Packet::LastData(body),
    }
}
