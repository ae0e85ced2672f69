//! Many connections at once between two endpoints over one bad link, in both directions, some with a
//! rate that is found: each comes to its own end, and nobody's data is anybody else's.

use crate::link::{Dice, Faults, Link};
use netblt::{
    Burst, ConnectionId, Ending, Endpoint, EndpointLimits, Event, Limits, Mode, Opening,
    RateControl, Timing,
};
use std::collections::BTreeMap;
use units::{Duration, Instant};

const PORT: u16 = 7;
const COUNT: u16 = 12;
const LIMITS: Limits = Limits {
    buffer_size_bytes: 2000,
    data_packet_size_bytes: 400,
    burst: Burst { size_packets: 6, interval_ms: 5 },
    max_outstanding_buffers: 5,
    checksum_data: true,
    death_timer_s: 60,
};

/// One transfer of the crowd, told apart by what the OPEN calls its size.
struct Transfer {
    mode: Mode,
    adaptive: Option<RateControl>,
    data: Vec<u8>,
    given: usize,
    closed_by_sender: bool,
    arrived: BTreeMap<u32, Vec<u8>>,
    outcomes: [Option<Ending>; 2],
}

struct Crowd {
    now: Instant,
    endpoints: [Endpoint<usize>; 2],
    link: Link,
    transfers: Vec<Transfer>,
    /// At each end.
    names: [BTreeMap<ConnectionId, usize>; 2],
}

impl Crowd {
    fn new(seed: u64, faults: Faults) -> Crowd {
        let mut dice = Dice::new(seed);
        let endpoint = || Endpoint::new(EndpointLimits::default(), Timing::default());
        let mut crowd = Crowd {
            now: Instant::ZERO,
            endpoints: [endpoint(), endpoint()],
            link: Link::new(faults, seed ^ 0xc0de),
            transfers: Vec::new(),
            names: Default::default(),
        };
        crowd.endpoints[1].listen(PORT);
        for name in 0..COUNT {
            let mode = if dice.permille(500) { Mode::Read } else { Mode::Write };
            let len = dice.below(60_000) as usize;
            let transfer = Transfer {
                mode,
                adaptive: dice.permille(500).then_some(match name % 2 {
                    0 => RateControl::Competitive,
                    _ => RateControl::Scavenging,
                }),
                data: dice.bytes(len),
                given: 0,
                closed_by_sender: false,
                arrived: BTreeMap::new(),
                outcomes: [None, None],
            };
            let opening = Opening {
                connection_id: u32::from(name) + 1,
                mode,
                transfer_size_bytes: name.into(),
                client_string: "crowd",
            };
            let ports = (1, 1000 + name, PORT);
            let id = crowd.endpoints[0].open(Instant::ZERO, ports, LIMITS, opening);
            crowd.names[0].insert(id.expect("room"), name.into());
            crowd.transfers.push(transfer);
        }
        crowd
    }

    fn run(mut self) -> Crowd {
        let forever = Instant::ZERO + Duration::from_secs(3600);
        loop {
            for end in 0..2 {
                while self.act(end) {}
            }
            let due = self.endpoints.iter().map(Endpoint::poll_timeout);
            let Some(next) = due.chain([self.link.next_arrival()]).flatten().min() else { break };
            assert!(next < forever, "no end in sight");
            self.now = self.now.max(next);
            while let Some((to, datagram)) = self.link.arrival(self.now) {
                self.endpoints[to].handle_datagram(self.now, 1 - to, &datagram);
            }
        }
        self
    }

    fn act(&mut self, end: usize) -> bool {
        while let Some(request) = self.endpoints[end].poll_request() {
            if let Some(id) = self.endpoints[end].accept(self.now, &request, LIMITS, "") {
                self.names[end].insert(id, request.open.transfer_size_bytes as usize);
            }
        }
        while let Some((id, event)) = self.endpoints[end].poll_event() {
            self.hear(end, id, event);
        }
        for (id, name) in self.names[end].clone() {
            self.pump(end, id, name);
        }
        let mut datagram = Vec::new();
        let to = self.endpoints[end].poll_transmit(self.now, &mut datagram);
        to.iter().for_each(|to| self.link.send(self.now, *to, &datagram));
        to.is_some()
    }

    fn hear(&mut self, end: usize, id: ConnectionId, event: Event) {
        let transfer = &mut self.transfers[self.names[end][&id]];
        match event {
            Event::Opened => {
                let (now, adaptive) = (self.now, transfer.adaptive);
                if let Some(rule) = adaptive {
                    self.endpoints[end].with(id, |connection| connection.adapt_rate(now, rule));
                }
            }
            Event::Received { index, data, .. } => {
                assert_eq!(transfer.arrived.insert(index, data), None, "twice");
            }
            Event::Closed(outcome) => {
                transfer.outcomes[end] = Some(outcome);
                self.names[end].remove(&id);
            }
            _ => {}
        }
    }

    /// The sender's client fills what is wanted, the receiver's always has memory.
    fn pump(&mut self, end: usize, id: ConnectionId, name: usize) {
        let transfer = &mut self.transfers[name];
        let sends = (end == 0) == (transfer.mode == Mode::Write);
        let Some(wanted) = self.endpoints[end].connection(id).map(|c| c.buffers_wanted()) else {
            return;
        };
        for _ in 0..wanted {
            if !sends {
                self.endpoints[end].with(id, |connection| connection.supply_buffer(Vec::new()));
            } else if !transfer.closed_by_sender {
                let until = (transfer.given + 2000).min(transfer.data.len());
                let last = until == transfer.data.len();
                let data = transfer.data[transfer.given..until].to_vec();
                let taken = self.endpoints[end].with(id, |c| c.send_buffer(data, last));
                if taken == Some(Ok(())) {
                    (transfer.given, transfer.closed_by_sender) = (until, last);
                }
            }
        }
    }
}

#[test]
fn a_crowd_of_connections_over_one_bad_link_comes_through() {
    let ms = Duration::from_ms;
    let mut complete = 0;
    for seed in (0..40).chain([crate::new_seed::new_seed()]) {
        let mut dice = Dice::new(seed);
        let faults = Faults {
            loss_permille: dice.below(120),
            duplication_permille: dice.below(100),
            damage_permille: dice.below(60),
            delay: ms(dice.below(200)),
            jitter: ms(dice.below(100)),
            outlier: ms(dice.below(5000)),
            cut_at: match dice.permille(200) {
                true => Instant::ZERO + ms(dice.below(3000)),
                false => Instant::FAR_FUTURE,
            },
            carried_bytes: [usize::MAX; 2],
            stalls: Default::default(),
        };
        let crowd = Crowd::new(seed, faults).run();
        let cut = faults.cut_at < Instant::FAR_FUTURE;
        for transfer in &crowd.transfers {
            let arrived: Vec<u8> = transfer.arrived.values().flatten().copied().collect();
            let done = transfer.outcomes.iter().flatten().any(Ending::is_complete);
            assert!(!done || arrived == transfer.data, "{seed}: {:?}", transfer.outcomes);
            assert!(done || cut, "{seed}: {:?}", transfer.outcomes);
            assert!(transfer.outcomes[0].is_some(), "{seed}: the active client was told");
            complete += usize::from(done);
        }
        for endpoint in &crowd.endpoints {
            assert_eq!(endpoint.connections().count(), 0, "{seed}: one is left behind");
        }
    }
    assert!(complete > 350, "{complete} of 480 complete");
}
