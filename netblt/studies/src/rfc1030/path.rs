//! What lies between two hosts.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{Duration, Instant};

/// IP header before NETBLT's packet.
const IP_HEADER_BYTES: usize = 20;
/// Preamble, header and FCS around an IP packet on a LAN of 10 Mb/s, and the time of a byte there.
const LAN_FRAMING_BYTES: usize = 26;
const LAN_BYTE: Duration = Duration::from_ns(800);
/// The smallest frame, with preamble.
const LAN_MIN_FRAME_BYTES: usize = 72;
/// Idle time between two frames.
const LAN_GAP: Duration = Duration::from_ns(9_600);

/// Seeded chance.
#[derive(Clone, Debug)]
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// The same seed gives the same chances.
    pub fn new(seed: u64) -> Dice {
        Dice(Xoshiro256PlusPlus::seed_from_u64(seed))
    }
    /// Evenly in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// Evenly from no time to this.
    pub fn within(&mut self, most: Duration) -> Duration {
        Duration::from_ps((most.as_ps() as f64 * self.unit()) as u64)
    }
    /// Exponentially distributed, for events that know nothing of each other.
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        Duration::from_secs_f64(-mean.as_secs_f64() * (1.0 - self.unit()).ln())
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Carried {
    /// It has left the sender's adapter.
    pub off_the_wire: Instant,
    /// On the receiver's wire from the first to the second; None if it was lost on its way.
    pub arrival: Option<(Instant, Instant)>,
}

/// Time of a NETBLT packet on a LAN of 10 Mb/s.
fn lan_time(packet_bytes: usize) -> Duration {
    let bytes = (packet_bytes + IP_HEADER_BYTES + LAN_FRAMING_BYTES).max(LAN_MIN_FRAME_BYTES);
    LAN_BYTE * bytes as u64
}

/// A LAN of 10 Mb/s on which one packet travels at a time.
#[derive(Clone, Debug)]
pub struct Lan {
    free_at: Instant,
    noise: Option<Noise>,
}

/// Other people's traffic.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Noise {
    /// Mean time between broadcasts, which every adapter takes in.
    pub broadcast_interval: Duration,
    /// Bytes of a broadcast.
    pub broadcast_bytes: usize,
    /// Chance that a packet is damaged.
    pub damage: f64,
}

impl Lan {
    /// A LAN with or without other people's traffic.
    pub fn new(noise: Option<Noise>) -> Lan {
        Lan { free_at: Instant::ZERO, noise }
    }
    fn occupy(&mut self, now: Instant, bytes: usize) -> (Instant, Instant) {
        let start = now.max(self.free_at);
        let end = start + lan_time(bytes);
        self.free_at = end + LAN_GAP;
        (start, end)
    }
}

/// The Wideband network between the sender's Ethernet and the far host (RFC 1030 section 7 and
/// appendix I).
#[derive(Clone, Debug)]
pub struct Wideband {
    lan: Lan,
    model: WidebandModel,
    /// The data subframe that is being filled, by number, and the bits in it.
    frame: (u64, u64),
    queue: Queue,
    /// What the gateways put on the LANs of the two ends.
    gateways: [Gateway; 2],
}

/// A gateway's side of a LAN: it puts one packet after the other on the wire, as fast as that takes them.
#[derive(Clone, Debug, Default)]
struct Gateway {
    /// When it is sending, in order.
    busy: Vec<(Instant, Instant)>,
}

impl Gateway {
    /// The first time from `at` on at which it can send what takes `time`. Forgets what is over by `now`.
    fn forward(&mut self, now: Instant, at: Instant, time: Duration) -> (Instant, Instant) {
        self.busy.retain(|(_, end)| *end + LAN_GAP > now);
        let mut start = at;
        for (from, until) in &self.busy {
            if start < *until + LAN_GAP && start + time + LAN_GAP > *from {
                start = *until + LAN_GAP;
            }
        }
        self.busy.push((start, start + time));
        self.busy.sort_unstable();
        (start, start + time)
    }
}

/// What became of the packets before the channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Queue {
    /// Longest wait for a channel frame.
    pub longest_wait: Duration,
    /// Fragments that the earth station had no room for.
    pub overflowed: u64,
}

/// One way through the satellite takes so long with its first reservation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WidebandModel {
    /// The sender's Ethernet.
    pub noise: Noise,
    /// Half of the 1.8 s round trip.
    pub one_way: Duration,
    /// Chance that a packet is lost, each way.
    pub loss: f64,
    /// Chance that a datagram has to be reserved for once more, which takes 600 ms.
    pub another_reservation: f64,
    /// The same for each fragment of a datagram that was fragmented.
    pub another_reservation_for_fragment: f64,
    /// Frames' worth of packets that the earth station can hold (RFC 1030 section 7: it "stops its
    /// transmit clock if it runs out of buffer space", and all collapses).
    pub queue_frames: u64,
}

/// A channel frame every 21.22 ms, with 24,054 usable bits (RFC 1030 appendix I).
pub const WIDEBAND_FRAME: Duration = Duration::from_us(21_220);
/// Usable bits of a channel frame.
pub const WIDEBAND_FRAME_BITS: u64 = 24_054;
/// "Packet delays tend to occur in multiples of 600 milliseconds" (RFC 1030 section 7).
const RESERVATION: Duration = Duration::from_ms(600);
/// Packets with more than 1,432 bytes of data were fragmented: 1,432 + 24 + 20.
const WIDEBAND_MTU_BYTES: usize = 1_476;

/// The end of the first channel frame that begins after `now`.
fn frame_end(now: Instant) -> Instant {
    Instant::ZERO + WIDEBAND_FRAME * (now.as_ps() / WIDEBAND_FRAME.as_ps() + 2)
}

impl Wideband {
    /// The network at rest.
    pub fn new(model: WidebandModel) -> Wideband {
        let queue = Queue { longest_wait: Duration::ZERO, overflowed: 0 };
        let gateways = [Gateway::default(), Gateway::default()];
        Wideband { lan: Lan::new(Some(model.noise)), model, frame: (0, 0), queue, gateways }
    }

    /// The end of the channel frame that carries so many bits offered at `now`; None if the queue
    /// before the channel is full.
    fn channel(&mut self, now: Instant, bits: u64) -> Option<Instant> {
        let next = now.as_ps() / WIDEBAND_FRAME.as_ps() + 1;
        if self.frame.0 < next {
            self.frame = (next, 0);
        }
        if self.frame.1 + bits > WIDEBAND_FRAME_BITS {
            self.frame = (self.frame.0 + 1, 0);
        }
        if self.frame.0 > next + self.model.queue_frames {
            self.queue.overflowed += 1;
            return None;
        }
        let wait = WIDEBAND_FRAME * (self.frame.0 - next);
        self.queue.longest_wait = self.queue.longest_wait.max(wait);
        self.frame.1 += bits;
        Some(Instant::ZERO + WIDEBAND_FRAME * (self.frame.0 + 1))
    }

    fn carry(&mut self, now: Instant, from: usize, bytes: usize, dice: &mut Dice) -> Carried {
        // The far host is on a quiet Ethernet of its own and lets nobody wait.
        let (_, off_the_wire) = match from {
            0 => self.lan.occupy(now, bytes),
            _ => (now, now + lan_time(bytes)),
        };
        let whole_at = self.cross(off_the_wire, from, bytes, dice);
        // "The gateways would aggregate groups of packets coming from the same satellite frame" (section 7).
        let gateway = &mut self.gateways[1 - from];
        let arrival = whole_at.map(|at| gateway.forward(now, at, lan_time(bytes)));
        Carried { off_the_wire, arrival }
    }

    /// Through the satellite: whole, or in two fragments of which neither may be lost.
    fn cross(
        &mut self,
        now: Instant,
        from: usize,
        bytes: usize,
        dice: &mut Dice,
    ) -> Option<Instant> {
        let datagram = bytes + IP_HEADER_BYTES;
        let fragments = if datagram > WIDEBAND_MTU_BYTES {
            vec![WIDEBAND_MTU_BYTES, datagram - WIDEBAND_MTU_BYTES + IP_HEADER_BYTES]
        } else {
            vec![datagram]
        };
        let again = match fragments.len() {
            1 => self.model.another_reservation,
            _ => self.model.another_reservation_for_fragment,
        };
        let mut whole_at = now;
        for fragment in fragments {
            // Control packets take the little that the other direction reserves of a frame.
            let sent = match from {
                0 => self.channel(now, 8 * fragment as u64)?,
                _ => frame_end(now),
            };
            if dice.unit() < self.model.loss {
                return None;
            }
            let mut at = sent + self.model.one_way.saturating_sub(WIDEBAND_FRAME);
            while dice.unit() < again {
                at += RESERVATION;
            }
            whole_at = whole_at.max(at);
        }
        Some(whole_at)
    }
}

/// One of the networks of RFC 1030. Host 0 is the near end.
#[derive(Clone, Debug)]
pub enum Path {
    /// Both hosts on one LAN.
    Lan(Lan),
    /// A satellite between them.
    Wideband(Wideband),
}

impl Path {
    /// Takes a packet of `bytes` from the adapter of host `from`.
    pub fn carry(&mut self, now: Instant, from: usize, bytes: usize, dice: &mut Dice) -> Carried {
        match self {
            Path::Lan(lan) => {
                let (start, end) = lan.occupy(now, bytes);
                let damage = lan.noise.map_or(0.0, |noise| noise.damage);
                let arrival = (dice.unit() >= damage).then_some((start, end));
                Carried { off_the_wire: end, arrival }
            }
            Path::Wideband(wideband) => wideband.carry(now, from, bytes, dice),
        }
    }

    /// What became of the packets before the channel of a satellite.
    pub fn queue(&self) -> Option<Queue> {
        match self {
            Path::Lan(_) => None,
            Path::Wideband(wideband) => Some(wideband.queue),
        }
    }
    /// Other people's traffic on the near LAN.
    pub fn noise(&self) -> Option<Noise> {
        match self {
            Path::Lan(lan) => lan.noise,
            Path::Wideband(wideband) => wideband.lan.noise,
        }
    }
    /// A broadcast on the near LAN: when it is on the wire, and at how many of two ends it is heard.
    pub fn broadcast(&mut self, now: Instant, bytes: usize) -> (Instant, Instant, usize) {
        match self {
            Path::Lan(lan) => {
                let (start, end) = lan.occupy(now, bytes);
                (start, end, 2)
            }
            Path::Wideband(wideband) => {
                let (start, end) = wideband.lan.occupy(now, bytes);
                (start, end, 1)
            }
        }
    }
}
