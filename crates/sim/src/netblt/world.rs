//! Two hosts and a path between them, event by event.

use super::host::{Host, HostModel};
use super::path::{Dice, Path};
use netblt::{Burst, Counters, Limits, Timing};
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
    /// Data packets sent again.
    pub packets_retransmitted: u64,
    /// Data timers of the receiver that ran out.
    pub data_timeouts: u64,
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
    hosts: [Host; 2],
    path: Path,
    dice: Dice,
    agenda: BTreeMap<(Instant, u64), Happening>,
    count: u64,
}

/// No transfer of the campaign takes an hour.
const TOO_LONG: Duration = Duration::from_secs(3600);

/// Runs one transfer. None if it does not come to its end.
pub fn run(bed: &Bed, transfer: &Transfer, seed: u64) -> Option<Measured> {
    let mut world = World::new(bed, transfer, seed);
    loop {
        if let [Some(sender), Some(receiver)] = world.hosts.each_ref().map(|host| host.ended) {
            return world.measured(transfer, sender, receiver);
        }
        world.step().filter(|now| now.since(Instant::ZERO) < TOO_LONG)?;
    }
}

impl World {
    fn new(bed: &Bed, transfer: &Transfer, seed: u64) -> World {
        let limits = Limits {
            buffer_size_bytes: transfer.buffer_size_bytes,
            data_packet_size_bytes: transfer.data_packet_size_bytes,
            burst: transfer.burst,
            max_outstanding_buffers: transfer.outstanding_buffers,
            checksum_data: false,
            death_timer_s: 120,
        };
        let [near, far] = bed.hosts;
        let mut world = World {
            now: Instant::ZERO,
            hosts: [
                Host::sender(near, limits, bed.timing, transfer.transfer_size_bytes),
                Host::receiver(far, limits, bed.timing),
            ],
            path: bed.path.clone(),
            dice: Dice::new(seed),
            agenda: BTreeMap::new(),
            count: 0,
        };
        world.plan_noise();
        world
    }

    fn measured(&self, transfer: &Transfer, sent: Counters, got: Counters) -> Option<Measured> {
        let complete = got.data_bytes == transfer.transfer_size_bytes;
        let arrived = got.data_packets_received + got.duplicate_data_packets;
        let span_s = self.now.since(Instant::ZERO).as_secs_f64();
        complete.then_some(Measured {
            packets_lost: sent.data_packets_sent - arrived,
            packets_retransmitted: sent.data_packets_resent,
            data_timeouts: got.data_timeouts,
            steady_state_mbps: self.hosts[0].steady.mbps(transfer.buffer_size_bytes)?,
            real_mbps: 8.0 * got.data_bytes as f64 / span_s / 1e6,
        })
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
        for host in 0..2 {
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
        let carried = self.path.carry(self.now, from, bytes, &mut self.dice);
        self.hosts[from].sent(carried.off_the_wire);
        if let Some((start, end)) = carried.arrival {
            let arrival = Happening::Arrival { host: 1 - from, start, packet: Some(packet), bytes };
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
        for host in 0..hearers {
            self.plan(end, Happening::Arrival { host, start, packet: None, bytes });
        }
        self.plan_noise();
    }
}
