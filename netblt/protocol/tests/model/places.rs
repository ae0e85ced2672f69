//! Strangers that do a little: as much as is needed to hold a place, or memory. Who comes after them gets both.

use netblt::{
    Burst, ConnectionId, Ending, Endpoint, EndpointLimits, Event, Limits, Mode, Path, Secret,
    Timing,
};
use units::{Duration, Instant};
use wire::netblt::{Data, Header, Open, Packet, Repr};

/// One buffer takes all that anybody sends here.
const LIMITS: Limits = Limits {
    buffer_size_bytes: 40_000,
    data_packet_size_bytes: 10,
    burst: Burst { size_packets: 4, interval_ms: 10 },
    max_outstanding_buffers: 2,
    checksum_data: false,
    death_timer_s: 0,
};
const PLACES: usize = 32;

/// Who opens, by address and port.
#[derive(Clone, Copy)]
struct Peer {
    address: u32,
    port: u16,
    path: Path,
}

fn peer(address: u32, path: Path) -> Peer {
    Peer { address, port: 1000, path }
}
fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

struct Scene {
    endpoint: Endpoint<u32>,
    ended: Vec<(ConnectionId, Ending)>,
}

impl Scene {
    fn new() -> Scene {
        let limits = EndpointLimits {
            max_connections: PLACES,
            secret: Some(Secret([3, 4])),
            ..Default::default()
        };
        let mut endpoint = Endpoint::new(limits, Timing::default());
        endpoint.listen(7);
        Scene { endpoint, ended: Vec::new() }
    }
    fn say(&mut self, now: Instant, from: Peer, packet: Packet<'_>) {
        let header = Header::new(from.port, 7);
        let datagram = Repr { header, packet }.to_vec();
        self.endpoint.handle_datagram_by(from.path, now, from.address, &datagram);
        self.turn(now);
    }
    /// What a client does at every turn.
    fn turn(&mut self, now: Instant) {
        while self.endpoint.poll_transmit(now, &mut Vec::new()).is_some() {}
        while let Some((id, event)) = self.endpoint.poll_event() {
            if let Event::Closed(outcome) = event {
                self.ended.push((id, outcome));
            }
        }
        while self.endpoint.poll_transmit(now, &mut Vec::new()).is_some() {}
    }
    fn ask(&mut self, now: Instant, from: Peer) -> Option<netblt::Request<u32>> {
        let open = Open {
            connection_id: from.address,
            buffer_size_bytes: 40_000,
            transfer_size_bytes: 0,
            data_packet_size_bytes: 10,
            burst_size_packets: 4,
            burst_interval_ms: 10,
            death_timer_s: 0,
            mode: Mode::Write,
            checksum_data: false,
            max_outstanding_buffers: 2,
            client_string: "".into(),
        };
        self.say(now, from, Packet::Open(open));
        self.endpoint.poll_request()
    }
    /// Opens, and shows to have had the RESPONSE; None if there is no place.
    fn open(&mut self, now: Instant, from: Peer) -> Option<ConnectionId> {
        let request = self.ask(now, from)?;
        let id = self.endpoint.accept(now, &request, LIMITS, "")?;
        self.endpoint.with(id, |connection| connection.supply_buffer(Vec::new()));
        self.say(now, from, Packet::KeepAlive);
        self.has(id).then_some(id)
    }
    fn moves(&mut self, now: Instant, from: Peer, packet: u16) {
        let data = Data {
            buffer: 1,
            high_consecutive: 1,
            packet,
            checksum: 0,
            last_buffer: false,
            data: &[1; 10],
        };
        self.say(now, from, Packet::Data(data));
    }
    fn has(&self, id: ConnectionId) -> bool {
        self.endpoint.connection(id).is_some_and(|connection| !connection.is_over())
    }
    fn reasons(&self) -> Vec<String> {
        let reason = |(_, ending): &(_, Ending)| match ending {
            Ending::Aborted { by_peer: false, reason } => Some(reason.clone()),
            _ => None,
        };
        self.ended.iter().filter_map(reason).collect()
    }
}

/// All places are held by addresses that somebody makes up, each with a packet every three seconds.
#[test]
fn who_moves_a_packet_now_and_then_keeps_nobody_out() {
    let mut scene = Scene::new();
    // Two of the 32 move: one fast, and one who is where it says and in no hurry.
    let (fast, steady) = (peer(0, Path::Unproven), peer(1, Path::Named));
    let kept = [fast, steady].map(|from| scene.open(at_ms(0), from).expect("a place"));
    let slow: Vec<Peer> = (2..PLACES as u32).map(|at| peer(at, Path::Unproven)).collect();
    for from in &slow {
        assert!(scene.open(at_ms(0), *from).is_some());
    }
    for step in 0..600u16 {
        let now = at_ms(u64::from(step) * 20);
        scene.moves(now, fast, step);
        if step % 150 == 0 {
            slow.iter().for_each(|from| scene.moves(now, *from, step / 150));
            scene.moves(now, steady, step / 150);
        }
    }
    let now = at_ms(12_000);
    assert_eq!(scene.ended, [], "nobody waits");
    assert!(scene.open(now, peer(100, Path::Unproven)).is_none(), "who may not be there either");
    let newcomers: Vec<_> =
        (101..120).map(|address| scene.open(now, peer(address, Path::Named))).collect();
    assert!(newcomers.iter().all(Option::is_some), "{newcomers:?}");
    assert_eq!(scene.reasons(), ["too slow while others waited"; 19]);
    assert!(kept.iter().all(|id| scene.has(*id)), "they move, or are where they say");
    assert!(scene.endpoint.connections().count() <= PLACES);
}

/// Whoever opens anew instead, with one packet each time, is no faster by that.
#[test]
fn nobody_is_fast_by_a_packet_at_the_start() {
    let mut scene = Scene::new();
    for address in 0..PLACES as u32 {
        let from = peer(address, Path::Unproven);
        scene.open(at_ms(0), from).expect("a place");
        scene.moves(at_ms(10), from, 0);
    }
    assert!(scene.open(at_ms(50), peer(100, Path::Named)).is_some());
}

/// Who is where it says and slow keeps its place, also when others wait.
#[test]
fn a_slow_path_that_is_proved_keeps_its_place() {
    let mut scene = Scene::new();
    let peers: Vec<Peer> = (0..PLACES as u32).map(|address| peer(address, Path::Named)).collect();
    for from in &peers {
        scene.open(at_ms(0), *from).expect("a place");
    }
    for second in 0..10u16 {
        let now = at_ms(u64::from(second) * 1000);
        peers.iter().for_each(|from| scene.moves(now, *from, second));
    }
    assert!(scene.open(at_ms(9100), peer(100, Path::Named)).is_none());
    assert_eq!(scene.ended, []);
}

#[test]
fn one_source_leaves_a_quarter_of_the_places_to_others() {
    let mut scene = Scene::new();
    let open = |scene: &mut Scene, address, port| {
        let from = Peer { address, port, path: Path::Named };
        let id = scene.open(at_ms(0), from);
        (0..20).for_each(|packet| scene.moves(at_ms(0), from, packet));
        id.is_some()
    };
    let own = (1000..1040).filter(|port| open(&mut scene, 1, *port)).count();
    assert_eq!(own, PLACES / 4 * 3);
    let others = (2..100).filter(|address| open(&mut scene, *address, 1000)).count();
    assert_eq!(others, PLACES / 4);
    assert_eq!(scene.ended, [], "and nobody was sent away who had a place");
}

/// Memory, of which each holds what `held` says.
#[test]
fn those_who_only_live_make_way_the_greediest_first() {
    let held = |ids: &[ConnectionId], id| {
        ids.iter().position(|other| *other == id).map_or(0, |at| 1 + at as u64)
    };
    for (path, after_ms) in [(Path::Named, 100), (Path::Unproven, 4000)] {
        let mut scene = Scene::new();
        let (moving, steady) = (peer(0, Path::Unproven), peer(1, Path::Named));
        let mut ids = vec![scene.open(at_ms(0), steady).expect("a place")];
        for address in 2..6 {
            ids.push(scene.open(at_ms(0), peer(address, Path::Unproven)).expect("a place"));
        }
        ids.push(scene.open(at_ms(0), moving).expect("a place"));
        for packet in 0..after_ms / 4 {
            scene.moves(at_ms(4 * packet), moving, packet as u16);
            scene.moves(at_ms(4 * packet), steady, packet as u16);
        }
        let now = at_ms(after_ms - 1);
        if path == Path::Unproven {
            let early = scene.ask(now, peer(99, path)).expect("asked");
            assert!(!scene.endpoint.make_way(now, &early, |id| held(&ids, id)), "too early");
        }
        let now = at_ms(after_ms);
        let request = scene.ask(now, peer(100, path)).expect("asked");
        while scene.endpoint.make_way(now, &request, |id| held(&ids, id)) {
            scene.turn(now);
        }
        let gone: Vec<ConnectionId> = scene.ended.iter().map(|(id, _)| *id).collect();
        assert_eq!(gone, [ids[4], ids[3], ids[2], ids[1]]);
    }
}
