//! Two endpoints, a link between them, and two clients that take their time.

use crate::link::{Dice, Faults, Link, Nap};
use netblt::{
    Burst, ConnectionId, Counters, Ending, Endpoint, EndpointLimits, Event, Limits, Mode, Opening,
    RateControl, Timing,
};
use std::collections::VecDeque;
use units::{Duration, Instant};
use wire::netblt::{Packet, Repr};

/// The port that the passive client listens on.
pub const PORT: u16 = 7;

/// One run's circumstances.
#[derive(Clone, Debug)]
pub struct Case {
    pub seed: u64,
    pub faults: Faults,
    pub mode: Mode,
    /// Of the active and the passive end.
    pub limits: [Limits; 2],
    pub transfer_bytes: usize,
    /// The clients wait up to so long before each buffer.
    pub idle: Duration,
    /// An end whose client breaks off, when, and whether at once.
    pub break_off: Option<(usize, Instant, bool)>,
    /// How the sender's client lets the rate be found, if it does.
    pub adaptive: Option<RateControl>,
    /// The receiver's client offers these rates, one with each buffer.
    pub offers: Vec<Burst>,
    /// How the two hosts share their processors with others.
    pub naps: [Nap; 2],
    /// What a datagram that has come takes of a host's processor.
    pub work: Duration,
    /// The data packets that the first OPENs propose, one after another.
    pub packet_sizes: Vec<u16>,
    /// An end is told before each OPEN and RESPONSE that the path carries no more bytes of data in a packet.
    pub bound_bytes: Option<u16>,
}

impl Case {
    pub fn plain(seed: u64) -> Case {
        let limits = Limits {
            buffer_size_bytes: 4000,
            data_packet_size_bytes: 500,
            burst: Burst { size_packets: 4, interval_ms: 5 },
            max_outstanding_buffers: 4,
            checksum_data: true,
            death_timer_s: 60,
        };
        Case {
            seed,
            faults: Faults {
                loss_permille: 0,
                duplication_permille: 0,
                damage_permille: 0,
                delay: Duration::from_ms(20),
                jitter: Duration::ZERO,
                outlier: Duration::ZERO,
                cut_at: Instant::FAR_FUTURE,
                carried_bytes: [usize::MAX; 2],
                stalls: Nap::default(),
            },
            mode: Mode::Write,
            limits: [limits; 2],
            transfer_bytes: 50_000,
            idle: Duration::ZERO,
            break_off: None,
            adaptive: None,
            offers: vec![],
            naps: Default::default(),
            work: Duration::ZERO,
            packet_sizes: vec![],
            bound_bytes: None,
        }
    }
}

/// How it went.
#[derive(Debug)]
pub struct Finished {
    /// What each end was told; index 0 is the active end.
    pub outcomes: [Option<Ending>; 2],
    pub counters: [Counters; 2],
    pub sent: Vec<u8>,
    pub received: Vec<u8>,
    /// The receiver handed over everything.
    pub whole: bool,
    pub finished_at: Instant,
    /// The rate in force when a client looked last.
    pub burst_at_end: Option<Burst>,
}

struct End {
    endpoint: Endpoint<usize>,
    id: Option<ConnectionId>,
    outcome: Option<Ending>,
    counters: Counters,
    opened: bool,
    /// The client does its next thing then.
    client_at: Option<Instant>,
    /// Datagrams that have come and nobody has taken.
    socket: VecDeque<Vec<u8>>,
    /// With those that were.
    busy_until: Instant,
}

/// Datagrams that a host takes in between two looks at everything else.
const TAKEN_AT_ONCE: usize = 256;

pub struct World {
    case: Case,
    now: Instant,
    dice: Dice,
    link: Link,
    ends: [End; 2],
    sender: usize,
    data: Vec<u8>,
    given: usize,
    last_given: bool,
    received: Vec<(u32, Vec<u8>)>,
    last_received: bool,
    burst: Option<Burst>,
}

/// No transfer of these tests may take longer.
const FOREVER: Duration = Duration::from_secs(4 * 3600);

impl World {
    pub fn new(case: Case) -> World {
        let mut dice = Dice::new(case.seed);
        let data = dice.bytes(case.transfer_bytes);
        let link = Link::new(case.faults, case.seed ^ 0x5eed);
        let end = || End {
            endpoint: Endpoint::new(EndpointLimits::default(), Timing::default()),
            id: None,
            outcome: None,
            counters: Counters::default(),
            opened: false,
            client_at: None,
            socket: VecDeque::new(),
            busy_until: Instant::ZERO,
        };
        let mut ends = [end(), end()];
        ends[1].endpoint.listen(PORT);
        let opening = Opening {
            connection_id: case.seed as u32,
            mode: case.mode,
            transfer_size_bytes: data.len() as u32,
            client_string: "model",
        };
        let ports = (1, 1000, PORT);
        ends[0].id = ends[0].endpoint.open(Instant::ZERO, ports, case.limits[0], opening);
        if let Some(id) = ends[0].id {
            ends[0].endpoint.with(id, |connection| connection.try_packet_sizes(&case.packet_sizes));
        }
        let sender = usize::from(case.mode == Mode::Read);
        World {
            case,
            now: Instant::ZERO,
            dice,
            link,
            ends,
            sender,
            data,
            given: 0,
            last_given: false,
            received: vec![],
            last_received: false,
            burst: None,
        }
    }

    /// Runs until both ends are over and nothing is under way any more.
    pub fn run(mut self) -> Finished {
        loop {
            self.settle();
            let Some(next) = self.next() else { break };
            assert!(next.since(Instant::ZERO) < FOREVER, "no end in sight: {:?}", self.case);
            self.now = self.now.max(next);
            while let Some((to, datagram)) = self.link.arrival(self.now) {
                self.ends[to].socket.push_back(datagram);
            }
        }
        for end in &self.ends {
            assert_eq!(end.endpoint.connections().count(), 0, "a connection is left behind");
        }
        let [active, passive] = self.ends;
        self.received.sort();
        Finished {
            outcomes: [active.outcome, passive.outcome],
            counters: [active.counters, passive.counters],
            sent: self.data,
            received: self.received.into_iter().flat_map(|(_, data)| data).collect(),
            whole: self.last_received,
            finished_at: self.now,
            burst_at_end: self.burst,
        }
    }

    fn next(&self) -> Option<Instant> {
        let ends = self.ends.iter().zip(self.case.naps).flat_map(|(end, nap)| {
            let free = nap.awake(self.now).max(end.busy_until);
            let waiting = (!end.socket.is_empty()).then_some(self.now);
            [end.endpoint.poll_timeout(), end.client_at, waiting].map(|at| Some(at?.max(free)))
        });
        let break_off = self.case.break_off.map(|(_, at, _)| at);
        let idle = self.ends.iter().all(|end| end.endpoint.connections().count() == 0);
        let break_off = break_off.filter(|_| !idle);
        ends.chain([self.link.next_arrival(), break_off]).flatten().min()
    }

    /// Clients and endpoints do what is due now.
    fn settle(&mut self) {
        if let Some((end, at, at_once)) = self.case.break_off
            && at <= self.now
        {
            self.case.break_off = None;
            let (now, id) = (self.now, self.ends[end].id);
            id.map(|id| {
                self.ends[end].endpoint.with(id, |connection| match at_once {
                    true => connection.abort("enough, at once"),
                    false => connection.quit(now, "enough"),
                })
            });
        }
        for index in 0..2 {
            while self.is_free(index) && self.act(index) {}
        }
    }

    fn is_free(&self, index: usize) -> bool {
        self.now >= self.case.naps[index].awake(self.now).max(self.ends[index].busy_until)
    }

    /// As the loop of a program does it: some of what has come, the client, a packet.
    fn act(&mut self, index: usize) -> bool {
        let end = &mut self.ends[index];
        let some = end.socket.len().min(TAKEN_AT_ONCE);
        for datagram in end.socket.drain(..some) {
            end.endpoint.handle_datagram(self.now, 1 - index, &datagram);
        }
        end.busy_until = self.now + self.case.work * some as u64;
        if end.socket.is_empty() {
            end.endpoint.heard_until(self.now);
        }
        self.listen(index);
        if self.ends[index].client_at.is_some_and(|at| at <= self.now) {
            self.ends[index].client_at = None;
            self.client(index);
        }
        self.size_packets(index);
        let mut datagram = Vec::new();
        let to = self.ends[index].endpoint.poll_transmit(self.now, &mut datagram);
        if let Some(to) = to {
            self.assert_rate(index, &datagram);
            self.link.send(self.now, to, &datagram);
        }
        let End { client_at, socket, .. } = &self.ends[index];
        to.is_some() || !socket.is_empty() || client_at.is_some_and(|at| at <= self.now)
    }

    fn size_packets(&mut self, index: usize) {
        let (now, end) = (self.now, &mut self.ends[index]);
        let (Some(bytes), Some(id)) = (self.case.bound_bytes, end.id) else { return };
        let Some(connection) = end.endpoint.connection(id) else { return };
        if connection.sizes_packets_at().is_some_and(|at| at <= now) {
            end.endpoint.with(id, |connection| connection.bound_packet_size(now, bytes));
        }
    }

    /// What an end says of its rate is one that RFC 998 has words for, and no faster than it can do.
    fn assert_rate(&self, index: usize, datagram: &[u8]) {
        let Packet::NullAck(ack) = Repr::parse(datagram).expect("our own").packet else { return };
        let (size_packets, interval_ms) = (ack.burst_size_packets, ack.burst_interval_ms);
        let said = Burst { size_packets, interval_ms };
        assert!(size_packets > 0 && interval_ms > 0, "{said:?}");
        assert_eq!(said.restricted_by(self.case.limits[index].burst), said, "{:?}", self.case);
        // A pause is no rate: told of one, the receiver would wait for minutes for what it misses.
        let scavenges = self.case.adaptive == Some(RateControl::Scavenging);
        let a_second = 1000 * u32::from(size_packets) >= u32::from(interval_ms);
        assert!(!scavenges || a_second, "{said:?} {:?}", self.case);
    }

    fn listen(&mut self, index: usize) {
        let (now, limits) = (self.now, self.case.limits[index]);
        let end = &mut self.ends[index];
        while let Some(request) = end.endpoint.poll_request() {
            end.id = end.endpoint.accept(now, &request, limits, "agreed");
        }
        while let Some((id, event)) = self.ends[index].endpoint.poll_event() {
            self.ends[index].id = Some(id);
            match event {
                Event::Opened => {
                    self.ends[index].opened = true;
                    if let Some(rule) = self.case.adaptive {
                        let endpoint = &mut self.ends[index].endpoint;
                        endpoint.with(id, |connection| connection.adapt_rate(now, rule));
                    }
                }
                Event::Received { index, data, last } => {
                    self.last_received |= last;
                    self.received.push((index, data));
                }
                Event::Sent { .. } => {}
                Event::Closed(outcome) => {
                    let end = &mut self.ends[index];
                    assert_eq!(end.outcome, None, "told twice");
                    end.outcome = Some(outcome);
                    end.counters = end.endpoint.connection(id).expect("still there").counters();
                }
            }
            let wait = Duration::from_ps(self.dice.below(self.case.idle.as_ps() + 1));
            self.ends[index].client_at.get_or_insert(self.now + wait);
        }
    }

    /// The client does one thing, and comes back if there is more to do.
    fn client(&mut self, index: usize) {
        let Some(id) = self.ends[index].id.filter(|_| self.ends[index].opened) else { return };
        let Some(connection) = self.ends[index].endpoint.connection(id) else { return };
        let wanted = connection.buffers_wanted();
        self.burst = connection.burst().or(self.burst);
        if wanted == 0 {
            return;
        }
        if index == self.sender {
            let full = connection.terms().expect("opened").buffer_size_bytes as usize;
            let end = (self.given + full).min(self.data.len());
            let last = end == self.data.len();
            let data = self.data[self.given..end].to_vec();
            let taken = self.ends[index].endpoint.with(id, |c| c.send_buffer(data, last));
            assert_eq!(taken, Some(Ok(())));
            (self.given, self.last_given) = (end, last);
        } else {
            let offer = (!self.case.offers.is_empty()).then(|| self.case.offers.remove(0));
            self.ends[index].endpoint.with(id, |c| {
                c.supply_buffer(Vec::new());
                if let Some(burst) = offer {
                    c.offer_burst(burst);
                }
            });
        }
        let wait = Duration::from_ps(self.dice.below(self.case.idle.as_ps() + 1));
        self.ends[index].client_at = Some(self.now + wait);
    }
}
