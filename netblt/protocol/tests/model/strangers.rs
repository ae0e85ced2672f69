//! Strangers at an endpoint that trusts nobody: who ends what, and who gives way to whom.

use netblt::{
    Burst, ConnectionId, Ending, Endpoint, EndpointLimits, Event, Limits, Mode, Path, Secret,
    Timing,
};
use units::{Duration, Instant};
use wire::netblt::{Data, Header, Open, Packet, Repr};

const LIMITS: Limits = Limits {
    buffer_size_bytes: 4000,
    data_packet_size_bytes: 1000,
    burst: Burst { size_packets: 4, interval_ms: 10 },
    max_outstanding_buffers: 2,
    checksum_data: false,
    death_timer_s: 0,
};
const THERE: Header = Header::new(1000, 7);
const ID: u32 = 99;

fn open(connection_id: u32) -> Packet<'static> {
    Packet::Open(Open {
        connection_id,
        buffer_size_bytes: 4000,
        transfer_size_bytes: 0,
        data_packet_size_bytes: 1000,
        burst_size_packets: 4,
        burst_interval_ms: 10,
        death_timer_s: 0,
        mode: Mode::Write,
        checksum_data: false,
        max_outstanding_buffers: 2,
        client_string: "".into(),
    })
}
fn datagram(packet: Packet<'_>) -> Vec<u8> {
    Repr { header: THERE, packet }.to_vec()
}
fn named(packet: Packet<'_>, id: u32) -> Vec<u8> {
    [&datagram(packet)[..], b"NBid", &id.to_be_bytes()].concat()
}
fn at_s(s: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(s)
}

/// One that listens, with places for four.
fn endpoint() -> Endpoint<u32> {
    let limits = EndpointLimits {
        max_connections: 4,
        max_silent_per_source: 2,
        secret: Some(Secret([3, 4])),
        ..Default::default()
    };
    let mut endpoint = Endpoint::new(limits, Timing::default());
    endpoint.listen(7);
    endpoint
}
fn accepted(
    endpoint: &mut Endpoint<u32>,
    now: Instant,
    peer: u32,
    path: Path,
) -> Option<ConnectionId> {
    endpoint.handle_datagram_by(path, now, peer, &datagram(open(ID)));
    let request = endpoint.poll_request()?;
    let id = endpoint.accept(now, &request, LIMITS, "")?;
    endpoint.with(id, |connection| connection.supply_buffer(Vec::new()));
    Some(id)
}
fn closed(endpoint: &mut Endpoint<u32>, now: Instant) -> Vec<(ConnectionId, Ending)> {
    while endpoint.poll_transmit(now, &mut Vec::new()).is_some() {}
    let events = std::iter::from_fn(|| endpoint.poll_event());
    let ends = events.filter_map(|(id, event)| match event {
        Event::Closed(outcome) => Some((id, outcome)),
        _ => None,
    });
    ends.collect()
}

#[test]
fn only_who_knows_its_identifier_ends_a_connection_of_ours() {
    for (packet, ends) in [
        (datagram(Packet::Abort("swept".into())), false),
        (datagram(Packet::Quit("swept".into())), false),
        (named(Packet::Abort("swept".into()), ID + 1), false),
        (named(Packet::Quit("swept".into()), 0), false),
        (named(Packet::Abort("enough".into()), ID), true),
        (named(Packet::Quit("enough".into()), ID), true),
    ] {
        let (mut endpoint, now) = (endpoint(), Instant::ZERO);
        accepted(&mut endpoint, now, 1, Path::Named).expect("accepted");
        endpoint.handle_datagram(now, 1, &datagram(Packet::KeepAlive));
        endpoint.handle_datagram(now, 1, &packet);
        assert_eq!(!closed(&mut endpoint, now).is_empty(), ends, "{packet:x?}");
    }
    // RFC 998's own peers name nothing.
    let (mut endpoint, now) = (endpoint(), Instant::ZERO);
    accepted(&mut endpoint, now, 1, Path::Unproven).expect("accepted");
    endpoint.handle_datagram(now, 1, &datagram(Packet::Abort("enough".into())));
    assert_eq!(closed(&mut endpoint, now).len(), 1);
}

/// Who knows a peer of RFC 998 alone, and its own port, sweeps the other.
#[test]
fn a_sweep_over_ports_ends_no_connection_and_is_reported() {
    for close in [Packet::Abort("swept".into()), Packet::Quit("swept".into())] {
        let (mut endpoint, now) = (endpoint(), Instant::ZERO);
        let id = accepted(&mut endpoint, now, 1, Path::Unproven).expect("accepted");
        endpoint.handle_datagram(now, 1, &datagram(Packet::KeepAlive));
        for port in 1..=u16::MAX {
            let header = Header::new(port, 7);
            let swept = Repr { header, packet: close.clone() }.to_vec();
            endpoint.handle_datagram(now, 1, &swept);
        }
        assert_eq!(closed(&mut endpoint, now), []);
        let counters = endpoint.connection(id).expect("it lives").counters();
        assert!(counters.stray_closings > 60_000, "{counters:?}");
        // Somebody else's sweep is not the peer's.
        let other = accepted(&mut endpoint, now, 2, Path::Unproven).expect("accepted");
        endpoint.handle_datagram(now, 2, &datagram(Packet::KeepAlive));
        endpoint.handle_datagram(now, 2, &datagram(close.clone()));
        let ends = closed(&mut endpoint, now);
        assert!(ends.len() == 1 && ends[0].0 == other, "{ends:?}");
        // When it is over, its own word counts again.
        endpoint.handle_datagram(at_s(15), 1, &datagram(close));
        assert_eq!(closed(&mut endpoint, at_s(15)).len(), 1);
    }
}

#[test]
fn who_holds_the_ports_of_another_gives_way_when_that_one_proves_to_be_there() {
    let (mut endpoint, now) = (endpoint(), Instant::ZERO);
    let ghost = accepted(&mut endpoint, now, 1, Path::Unproven).expect("accepted");
    endpoint.handle_datagram_by(Path::Named, now, 1, &datagram(open(ID + 1)));
    let request = endpoint.poll_request().expect("asked");
    assert!(endpoint.accept(now, &request, LIMITS, "").is_some());
    assert_eq!(closed(&mut endpoint, now), [(ghost, Ending::NoAnswer)]);
}

/// Alive, and nothing moves: four hold all places, and the fifth gets one.
#[test]
fn who_only_lives_gives_its_place_to_who_comes() {
    for (path, after_s) in [(Path::Unproven, 5), (Path::Named, 0)] {
        let mut endpoint = endpoint();
        for peer in 0..4 {
            accepted(&mut endpoint, at_s(0), peer, Path::Unproven).expect("accepted");
            endpoint.handle_datagram(at_s(0), peer, &datagram(Packet::KeepAlive));
        }
        let now = at_s(after_s);
        (0..4)
            .for_each(|peer| _ = endpoint.handle_datagram(now, peer, &datagram(Packet::KeepAlive)));
        let fifth = accepted(&mut endpoint, now, 9, path).expect("accepted");
        endpoint.handle_datagram(now, 9, &datagram(Packet::KeepAlive));
        let ends = closed(&mut endpoint, now);
        assert_eq!(ends.len(), 1);
        assert!(ends.iter().all(|(id, _)| *id != fifth), "{ends:?}");
    }
}

#[test]
fn of_one_source_few_may_be_silent_and_nobody_for_ever() {
    let mut endpoint = endpoint();
    for port in 0..3u16 {
        let header = Header::new(1000 + port, 7);
        let hello = Repr { header, packet: open(u32::from(port)) }.to_vec();
        endpoint.handle_datagram(at_s(0), 1, &hello);
        let request = endpoint.poll_request().expect("asked");
        let id = endpoint.accept(at_s(0), &request, LIMITS, "").expect("accepted");
        endpoint.with(id, |connection| connection.supply_buffer(Vec::new()));
        endpoint.handle_datagram(at_s(0), 1, &Repr { header, packet: Packet::KeepAlive }.to_vec());
    }
    // Twelve seconds are nothing.
    assert_eq!(closed(&mut endpoint, at_s(12)), []);
    assert_eq!(closed(&mut endpoint, at_s(21)).len() + closed(&mut endpoint, at_s(21)).len(), 1);
    assert_eq!(endpoint.connections().count(), 2);
    let data = Data {
        buffer: 1,
        high_consecutive: 1,
        packet: 0,
        checksum: 0,
        last_buffer: false,
        data: &[1; 1000],
    };
    let left: Vec<ConnectionId> = endpoint.connections().map(|(id, _, _)| id).collect();
    // One of them moves.
    for port in 0..3u16 {
        let header = Header::new(1000 + port, 7);
        let moves = Repr { header, packet: Packet::Data(data) }.to_vec();
        if endpoint.handle_datagram(at_s(100), 1, &moves) == Some(left[0]) {
            break;
        }
    }
    let mut ends = closed(&mut endpoint, at_s(125));
    ends.extend(closed(&mut endpoint, at_s(125)));
    assert_eq!(ends.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [left[1]]);
}
