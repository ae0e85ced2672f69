//! The control of NETBLT's rate put to the test: a matrix of paths, what uses them, and what comes
//! of it in figures that can be judged.

use super::{
    Algorithm, Bursts, Dice, Flow, LinkModel, Loss, Meters, Path, Run, TransferModel, run,
};
use netblt::{Burst, RateControl};
use units::{Duration, Instant};

/// Bytes of data in a packet, and of its headers from IP's on.
const DATA_BYTES: usize = 1400;
const JUMBO_DATA_BYTES: usize = 8900;
const HEADER_BYTES: usize = 52;
/// Rates from which packets are large.
const JUMBO_FROM_BPS: u64 = 10_000_000_000;
/// Of the path's rate, what a transfer at a fixed rate was told.
const FIXED_SHARE: f64 = 0.9;
/// Round trips of a run at the least.
const ROUND_TRIPS: f64 = 24.0;
/// Packets of a run, after which it has been long enough.
const ENOUGH_PACKETS: f64 = 200_000.0;

/// Who sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contender {
    /// NETBLT that chooses its rate by delay.
    Adaptive,
    /// NETBLT that chooses its rate by loss, as TCP does.
    Competitive,
    /// NETBLT that was told nine tenths of the path's rate.
    Fixed,
    /// A model of TCP.
    Tcp(Algorithm),
}

impl Contender {
    /// All of them.
    pub const ALL: [Contender; 6] = [
        Contender::Adaptive,
        Contender::Competitive,
        Contender::Fixed,
        Contender::Tcp(Algorithm::Reno),
        Contender::Tcp(Algorithm::Cubic),
        Contender::Tcp(Algorithm::Vegas),
    ];
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Contender::Adaptive => "NETBLT adaptive",
            Contender::Competitive => "NETBLT competitive",
            Contender::Fixed => "NETBLT fixed",
            Contender::Tcp(Algorithm::Reno) => "TCP Reno",
            Contender::Tcp(Algorithm::Cubic) => "TCP CUBIC",
            Contender::Tcp(Algorithm::Vegas) => "TCP Vegas",
            Contender::Tcp(Algorithm::Bbr) => "TCP BBR",
        }
    }
}

/// A path of the matrix.
#[derive(Clone, PartialEq, Debug)]
pub struct Road {
    /// Of the bottleneck, both ways.
    pub rate_bps: u64,
    /// Without a queue.
    pub round_trip: Duration,
    /// By chance, both ways.
    pub loss: Loss,
    /// Later rates.
    pub changes: Vec<(Duration, u64)>,
}

impl Road {
    /// A path whose rate stays.
    pub fn new(rate_bps: u64, round_trip_ms: u64, loss: Loss) -> Road {
        let round_trip = Duration::from_ms(round_trip_ms);
        Road { rate_bps, round_trip, loss, changes: Vec::new() }
    }
    /// Loss in bursts of some three packets, one in a hundred in all.
    pub fn bursty() -> Loss {
        Loss::Bursts(Bursts { to_bad: 0.0067, to_good: 0.33, loss_while_bad: 0.5 })
    }
    fn data_bytes(&self) -> usize {
        if self.rate_bps >= JUMBO_FROM_BPS { JUMBO_DATA_BYTES } else { DATA_BYTES }
    }
    /// Packets a second at a rate of the bottleneck.
    pub fn packets_per_s(&self, rate_bps: u64) -> f64 {
        rate_bps as f64 / 8.0 / (self.data_bytes() + HEADER_BYTES) as f64
    }
    /// Of new packets, what can arrive in a second: the rate less what is lost by chance.
    pub fn usable_pps(&self, rate_bps: u64) -> f64 {
        self.packets_per_s(rate_bps) * (1.0 - self.loss.mean())
    }
    /// A queue of a round trip, between 10 ms and 100 ms, and of 40 packets at least.
    fn queue_bytes(&self) -> u64 {
        let span = self.round_trip.max(Duration::from_ms(10)).min(Duration::from_ms(100));
        let bytes = self.rate_bps as f64 / 8.0 * span.as_secs_f64();
        (bytes as u64).max(40 * (self.data_bytes() + HEADER_BYTES) as u64)
    }
    /// The path as the simulation has it.
    pub fn path(&self) -> Path {
        let one_way = Duration::from_ps(self.round_trip.as_ps() / 2);
        let mut forward = LinkModel::plain(self.rate_bps, one_way, self.queue_bytes());
        forward.loss = self.loss;
        let back = LinkModel { queue_bytes: 1 << 40, ..forward.clone() };
        forward.changes = self.changes.clone();
        let (processing, naps, detours) = (Duration::ZERO, None, Vec::new());
        Path { forward, back, data_bytes: self.data_bytes(), processing, naps, detours }
    }

    /// Buffers of 8 packets; of 32 where there would be more than 4,000 of them in a round trip, which
    /// RFC 998's 16 bits for message numbers do not allow for. As many buffers as cannot be the limit.
    pub fn transfer(&self, contender: Contender) -> TransferModel {
        let pps = self.packets_per_s(self.rate_bps);
        let under_way = pps * self.round_trip.as_secs_f64();
        let buffer_packets = if under_way > 32_000.0 { 32 } else { 8 };
        let most = (4.0 * under_way + 0.4 * pps) / f64::from(buffer_packets) + 64.0;
        let control = match contender {
            Contender::Adaptive => Some(RateControl::Scavenging),
            Contender::Competitive => Some(RateControl::Competitive),
            Contender::Fixed | Contender::Tcp(_) => None,
        };
        let burst = match control {
            Some(_) => Burst { size_packets: u16::MAX, interval_ms: 1 },
            None => burst_of(FIXED_SHARE * pps),
        };
        let outstanding_buffers = most.min(60_000.0) as u16;
        TransferModel { burst, control, buffer_packets, outstanding_buffers }
    }
    pub(super) fn flow(&self, contender: Contender, start: Duration) -> Flow {
        match contender {
            Contender::Tcp(algorithm) => Flow::Tcp(algorithm, start),
            _ => Flow::Netblt(self.transfer(contender), start),
        }
    }
    /// The time of a burst at the bottleneck: of a millisecond, or of a packet if that takes longer.
    pub fn burst(&self) -> Duration {
        Duration::from_secs_f64((1.0 / self.packets_per_s(self.rate_bps)).max(0.001))
    }
    /// From the departure of a packet of data to its answer, without a queue.
    pub fn whole_round_trip(&self) -> Duration {
        self.round_trip + Duration::from_secs_f64(1.0 / self.packets_per_s(self.rate_bps))
    }
}

/// The burst of 1 to 20 ms that comes nearest to a rate and does not exceed it, or one packet.
fn burst_of(pps: f64) -> Burst {
    let candidates = (1..=20u16).map(|ms| (ms, (pps * f64::from(ms) / 1e3).floor()));
    let best = candidates.max_by(|a, b| (a.1 / f64::from(a.0)).total_cmp(&(b.1 / f64::from(b.0))));
    match best.filter(|(_, packets)| *packets >= 1.0) {
        Some((interval_ms, packets)) => Burst { size_packets: packets as u16, interval_ms },
        None => Burst { size_packets: 1, interval_ms: (1e3 / pps).ceil() as u16 },
    }
}

/// How one flow did on its own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Alone {
    /// New data against what is usable, over the second half.
    pub utilisation: f64,
    /// From OPEN, or the first packet, to the time from which 95 % of what is usable arrives.
    pub start_up: Option<Duration>,
    /// The queue that does not go away: of the shortest wait in each round trip (100 ms at least) of
    /// the second half, what nine tenths of them do not exceed.
    pub standing_queue: Duration,
    /// Share of packets dropped by the full queue, from the start.
    pub dropped: f64,
}

/// Runs one flow alone.
pub fn alone(road: &Road, contender: Contender, seed: u64) -> Alone {
    let pps = road.packets_per_s(road.rate_bps);
    let round_trip_s = road.whole_round_trip().as_secs_f64();
    let length_s = (ROUND_TRIPS * round_trip_s).max((ENOUGH_PACKETS / pps).min(12.0));
    let length = Duration::from_secs_f64(length_s);
    let usable = road.usable_pps(road.rate_bps);
    alone_over(&road.path(), (road, usable), contender, length, seed)
}

/// Runs one flow alone over a path that is a road's or resembles it, of which so many packets a second are usable.
pub(super) fn alone_over(
    path: &Path,
    (road, usable): (&Road, f64),
    contender: Contender,
    length: Duration,
    seed: u64,
) -> Alone {
    let round_trip = road.whole_round_trip();
    let bin = Duration::from_secs_f64((round_trip.as_secs_f64() / 4.0).min(0.05));
    let Run { meters, .. } = run(path, &[road.flow(contender, Duration::ZERO)], length, bin, seed);
    let half = Duration::from_ps(length.as_ps() / 2);
    let (came, dropped) = meters.drops(Duration::ZERO, length);
    let got = meters.packets(0, half, length) as f64;
    Alone {
        utilisation: got / (usable * (length - half).as_secs_f64()),
        start_up: reaches(&meters, 0.95 * usable, Duration::ZERO, length, round_trip),
        standing_queue: standing_queue(&meters, half, length, road.round_trip),
        dropped: dropped as f64 / came.max(1) as f64,
    }
}

/// The first time from which so many packets a second arrive, over two round trips and 60 packets.
fn reaches(
    meters: &Meters,
    pps: f64,
    from: Duration,
    to: Duration,
    round_trip: Duration,
) -> Option<Duration> {
    let least = Duration::from_ms(20).max(Duration::from_secs_f64(60.0 / pps));
    let bins = (round_trip * 2).max(least).as_ps().div_ceil(meters.bin.as_ps());
    let span = meters.bin * bins;
    let mut at = from;
    while at + span <= to {
        let arrived = meters.packets(0, at, at + span) as f64;
        if arrived >= pps * span.as_secs_f64() {
            return Some(at - from);
        }
        at += meters.bin;
    }
    None
}

fn standing_queue(meters: &Meters, from: Duration, to: Duration, round_trip: Duration) -> Duration {
    let window = round_trip.max(Duration::from_ms(100)).min(to - from);
    let count = (to - from).as_ps() / window.as_ps();
    let mut shortest: Vec<Duration> =
        (0..count).map(|k| meters.least_wait(from + window * k, from + window * (k + 1))).collect();
    shortest.sort();
    shortest.get(shortest.len() * 9 / 10).copied().unwrap_or(Duration::ZERO)
}

/// How the control takes a rate that falls to a half and later comes back.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// From the fall to the last moment before which the queue was longer than 10 ms and two bursts for a whole
    /// round trip.
    pub down: Option<Duration>,
    /// From the rise to the time from which 95 % of what is usable arrives.
    pub up: Option<Duration>,
}

/// Runs one flow over a path whose rate falls to a half after 30 round trips and rises again after 30
/// more (and at least a second each).
pub fn change(road: &Road, contender: Contender, seed: u64) -> Change {
    let round_trip = road.whole_round_trip();
    let third = (round_trip * 30).max(Duration::from_secs(1));
    let road = Road {
        changes: vec![(third, road.rate_bps / 2), (third * 2, road.rate_bps)],
        ..road.clone()
    };
    let bin = Duration::from_secs_f64((round_trip.as_secs_f64() / 4.0).min(0.02));
    let flow = [road.flow(contender, Duration::ZERO)];
    let Run { meters, .. } = run(&road.path(), &flow, third * 3, bin, seed);
    let fallen = Road::new(road.rate_bps / 2, 0, road.loss);
    let bearable = fallen.burst() * 2 + Duration::from_ms(10);
    let mut down = None;
    let mut at = third * 2;
    // Backwards to the last time it was too long, as a standing queue is.
    while at > third && meters.least_wait(at - round_trip, at) <= bearable {
        at = at - meters.bin;
        down = Some(at - third);
    }
    let usable = road.usable_pps(road.rate_bps);
    let up = reaches(&meters, 0.95 * usable, third * 2, third * 3, round_trip);
    Change { down, up }
}

/// How flows share a path.
#[derive(Clone, PartialEq, Debug)]
pub struct Sharing {
    /// What each got, against an equal share of all that is usable.
    pub shares: Vec<f64>,
    /// New data of all against what is usable.
    pub utilisation: f64,
    /// As for one flow.
    pub standing_queue: Duration,
}

impl Sharing {
    /// Of so many flows, over the last half.
    pub(super) fn measured(
        road: &Road,
        meters: &Meters,
        flows: usize,
        length: Duration,
    ) -> Sharing {
        let half = Duration::from_ps(length.as_ps() / 2);
        let usable = road.usable_pps(road.rate_bps) * (length - half).as_secs_f64();
        let count = flows as f64;
        let got = |flow| meters.packets(flow, half, length) as f64;
        let shares: Vec<f64> = (0..flows).map(|flow| got(flow) * count / usable).collect();
        Sharing {
            utilisation: shares.iter().sum::<f64>() / count,
            standing_queue: standing_queue(meters, half, length, road.round_trip),
            shares,
        }
    }
    /// Jain's index: 1 if all are equal, 1/n if one has everything (Jain, Chiu and Hawe 1984).
    pub fn jain(&self) -> f64 {
        let sum: f64 = self.shares.iter().sum();
        let squares: f64 = self.shares.iter().map(|share| share * share).sum();
        sum * sum / (self.shares.len() as f64 * squares)
    }
    /// Mean share of some of the flows.
    pub fn mean_share(&self, flows: std::ops::Range<usize>) -> f64 {
        let count = flows.len() as f64;
        self.shares[flows].iter().sum::<f64>() / count
    }
}

/// Runs flows together, which begin one after the other within the first tenth, each at a time left to
/// chance, and measures them over the last half.
pub fn share(road: &Road, contenders: &[Contender], length: Duration, seed: u64) -> Sharing {
    let count = contenders.len() as u64;
    let apart = length.as_secs_f64() / 10.0 / count as f64;
    let mut dice = Dice::new(seed);
    let starts = (0..count).map(|k| Duration::from_secs_f64(apart * (k as f64 + dice.unit())));
    let flows: Vec<Flow> = contenders
        .iter()
        .zip(starts)
        .map(|(contender, start)| road.flow(*contender, start))
        .collect();
    let run = run(&road.path(), &flows, length, Duration::from_ms(20), seed);
    Sharing::measured(road, &run.meters, flows.len(), length)
}

/// New packets a second and wait at the queue over time, of one flow alone: for a plot.
pub fn course(
    road: &Road,
    contender: Contender,
    length: Duration,
    seed: u64,
) -> Vec<(Instant, f64, Duration)> {
    let bin = Duration::from_ps(length.as_ps() / 200);
    let run = run(&road.path(), &[road.flow(contender, Duration::ZERO)], length, bin, seed);
    let point = |k: usize| {
        let from = bin * k as u64;
        let pps = run.meters.packets(0, from, from + bin) as f64 / bin.as_secs_f64();
        (Instant::ZERO + from, pps, run.meters.most_wait(from, from + bin))
    };
    (0..200).map(point).collect()
}
