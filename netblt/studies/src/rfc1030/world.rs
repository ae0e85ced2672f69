//! Pairs of hosts and a path between them, event by event.

use super::host::{Host, HostModel, Span};
use super::path::{Dice, Path, Queue};
use netblt::{Burst, Limits, Timing};
use std::collections::BTreeMap;
use units::{Duration, Instant};

/// The parameters of RFC 1030's test program (section 3).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transfer {
    /// Burst size and interval.
    pub burst: Burst,
    /// Bytes of data in a packet.
    pub data_packet_size_bytes: u16,
    /// Bytes of a buffer.
    pub buffer_size_bytes: u32,
    /// Bytes of the transfer.
    pub transfer_size_bytes: u64,
    /// Buffers under way at once.
    pub outstanding_buffers: u16,
}

/// How a transfer went, in the columns of RFC 1030.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Data packets that did not come: sent less received.
    pub packets_lost: u64,
    /// Data packets that left the sender.
    pub data_packets_sent: u64,
    /// Data packets sent again.
    pub packets_retransmitted: u64,
    /// Data timers of the receiver that ran out.
    pub data_timeouts: u64,
    /// Data packets that came to the receiver's adapter while it was deaf.
    pub data_unheard: u64,
    /// Control packets that the receiver sent.
    pub control_packets: u64,
    /// Those of them that came to the sender's adapter while it was deaf.
    pub control_unheard: u64,
    /// Rate as the transfer size approaches infinity, in Mb/s.
    pub steady_state_mbps: f64,
    /// Bits transferred over the time from start to finish, in Mb/s.
    pub real_mbps: f64,
}

/// A network and the hosts at its ends; the first one sends.
#[derive(Clone, Debug)]
pub struct Bed {
    /// What lies between.
    pub path: Path,
    /// The hosts.
    pub hosts: [HostModel; 2],
    /// How their NETBLT sets its timers.
    pub timing: Timing,
}

enum Happening {
    /// A packet, or nothing but noise, ends at a host's adapter.
    Arrival { host: usize, start: Instant, packet: Option<Vec<u8>>, bytes: usize },
    /// Somebody else broadcasts.
    Noise,
}

struct World {
    now: Instant,
    /// A sender and its receiver, then the next.
    hosts: Vec<Host>,
    path: Path,
    dice: Dice,
    agenda: BTreeMap<(Instant, u64), Happening>,
    count: u64,
}

/// No transfer of the campaign takes an hour.
const TOO_LONG: Duration = Duration::from_secs(3600);

/// Runs one transfer. None if it does not come to its end.
pub fn run(bed: &Bed, transfer: &Transfer, seed: u64) -> Option<Measured> {
    let together = run_together(bed, &[(*transfer, Duration::ZERO)], seed)?;
    together.each.first().copied()
}

/// How one transfer went at its ends.
pub(super) struct Ends {
    /// Data packets that the sender handed to the wire.
    pub sent: Span,
    /// Data packets that the receiver put into their buffers.
    pub taken: Span,
    /// How long each took for that on average, where none waited for another.
    pub mean_wait: Duration,
}

/// Runs one transfer and looks at its ends.
pub(super) fn run_ends(bed: &Bed, transfer: &Transfer) -> Option<Ends> {
    let mut world = World::new(bed, &[(*transfer, Duration::ZERO)], 0);
    while world.hosts.iter().any(|host| host.ended.is_none()) {
        world.step().filter(|now| now.since(Instant::ZERO) < TOO_LONG)?;
    }
    let [sender, receiver] = &world.hosts[..] else { return None };
    Some(Ends {
        sent: sender.data_sent,
        taken: receiver.data_taken,
        mean_wait: Duration::from_ps(receiver.waits.as_ps() / receiver.data_taken.count().max(1)),
    })
}

/// How several transfers went that shared a path.
#[derive(Clone, PartialEq, Debug)]
pub struct Together {
    /// In their order.
    pub each: Vec<Measured>,
    /// Bits of all over the time from the first start to the last end, in Mb/s.
    pub real_mbps: f64,
    /// What became of their packets before the channel of a satellite.
    pub queue: Option<Queue>,
}

/// Runs several transfers at once, each between hosts of its own and begun after a wait of its own.
/// None if one does not come to its end.
pub fn run_together(bed: &Bed, transfers: &[(Transfer, Duration)], seed: u64) -> Option<Together> {
    let mut world = World::new(bed, transfers, seed);
    while world.hosts.iter().any(|host| host.ended.is_none()) {
        world.step().filter(|now| now.since(Instant::ZERO) < TOO_LONG)?;
    }
    let pairs = transfers.iter().zip(world.hosts.chunks(2));
    let each = pairs.map(|((transfer, wait), hosts)| measured(transfer, *wait, hosts));
    let bytes: u64 = transfers.iter().map(|(transfer, _)| transfer.transfer_size_bytes).sum();
    Some(Together {
        each: each.collect::<Option<_>>()?,
        real_mbps: mbps(bytes, world.now.since(Instant::ZERO)),
        queue: world.path.queue(),
    })
}

fn mbps(bytes: u64, span: Duration) -> f64 {
    8.0 * bytes as f64 / span.as_secs_f64() / 1e6
}

fn measured(transfer: &Transfer, wait: Duration, hosts: &[Host]) -> Option<Measured> {
    let [sender, receiver] = hosts else { return None };
    let ((sent, first), (got, second)) = (sender.ended?, receiver.ended?);
    let complete = got.data_bytes == transfer.transfer_size_bytes;
    let arrived = got.data_packets_received + got.duplicate_data_packets;
    complete.then_some(Measured {
        packets_lost: sent.data_packets_sent - arrived,
        data_packets_sent: sent.data_packets_sent,
        packets_retransmitted: sent.data_packets_resent,
        data_timeouts: got.data_timeouts,
        data_unheard: receiver.unheard,
        control_packets: receiver.control_packets,
        control_unheard: sender.unheard,
        steady_state_mbps: sender.steady.mbps(transfer.buffer_size_bytes)?,
        real_mbps: mbps(got.data_bytes, first.max(second).since(Instant::ZERO + wait)),
    })
}

impl World {
    fn new(bed: &Bed, transfers: &[(Transfer, Duration)], seed: u64) -> World {
        let [near, far] = bed.hosts;
        let pair = |(index, (transfer, wait)): (usize, &(Transfer, Duration))| {
            let limits = Limits {
                buffer_size_bytes: transfer.buffer_size_bytes,
                data_packet_size_bytes: transfer.data_packet_size_bytes,
                burst: transfer.burst,
                max_outstanding_buffers: transfer.outstanding_buffers,
                checksum_data: false,
                death_timer_s: 120,
            };
            let task = (transfer.transfer_size_bytes, *wait);
            // Each host has chances of its own, apart from the path's.
            let [one, other] = [1, 2].map(|end| Dice::new(!seed ^ (2 * index as u64 + end)));
            let sender = Host::sender(near, limits, bed.timing, task, one);
            [sender, Host::receiver(far, limits, bed.timing, other)]
        };
        let mut world = World {
            now: Instant::ZERO,
            hosts: transfers.iter().enumerate().flat_map(pair).collect(),
            path: bed.path.clone(),
            dice: Dice::new(seed),
            agenda: BTreeMap::new(),
            count: 0,
        };
        world.plan_noise();
        world
    }

    /// Goes to the next thing that happens; None if there is nothing.
    fn step(&mut self) -> Option<Instant> {
        let wakes = self.hosts.iter().filter_map(|host| host.wake(self.now)).min();
        let arrival = self.agenda.keys().next().map(|(at, _)| *at);
        self.now = [wakes, arrival].into_iter().flatten().min()?.max(self.now);
        while let Some(entry) = self.agenda.first_entry().filter(|entry| entry.key().0 <= self.now)
        {
            match entry.remove() {
                Happening::Arrival { host, start, packet, bytes } => {
                    self.hosts[host].hear(self.now, start, packet, bytes);
                }
                Happening::Noise => self.broadcast(),
            }
        }
        for host in 0..self.hosts.len() {
            if self.hosts[host].wake(self.now).is_some_and(|at| at <= self.now)
                && let Some(packet) = self.hosts[host].go_on(self.now)
            {
                self.send(host, packet);
            }
        }
        Some(self.now)
    }

    fn plan(&mut self, at: Instant, happening: Happening) {
        self.count += 1;
        self.agenda.insert((at, self.count), happening);
    }

    fn send(&mut self, from: usize, packet: Vec<u8>) {
        let bytes = packet.len();
        let carried = self.path.carry(self.now, from % 2, bytes, &mut self.dice);
        self.hosts[from].sent(carried.off_the_wire);
        if let Some((start, end)) = carried.arrival {
            let arrival = Happening::Arrival { host: from ^ 1, start, packet: Some(packet), bytes };
            self.plan(end, arrival);
        }
    }

    fn plan_noise(&mut self) {
        if let Some(noise) = self.path.noise() {
            let at = self.now + self.dice.exponential(noise.broadcast_interval);
            self.plan(at, Happening::Noise);
        }
    }

    fn broadcast(&mut self) {
        let Some(noise) = self.path.noise() else { return };
        let bytes = noise.broadcast_bytes;
        let (start, end, hearers) = self.path.broadcast(self.now, bytes);
        for host in (0..self.hosts.len()).filter(|host| host % 2 < hearers) {
            self.plan(end, Happening::Arrival { host, start, packet: None, bytes });
        }
        self.plan_noise();
    }
}
