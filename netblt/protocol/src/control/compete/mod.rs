//! A rate that competes: CUBIC's window (RFC 9438), sent as bursts.
//!
//! * **Window**: as many packets may be under way. It grows by what arrives and shrinks by what is lost, once
//!   in a round trip, by the law of CUBIC; HyStart++ (RFC 9406) ends slow start before a loss where delay
//!   rises.
//! * **Rate**: the window in a smoothed round trip. A queue makes the round trip longer, and the rate falls with
//!   it, as that of a sender does which waits for acknowledgements.
//! * **Loss**: a buffer that is not OK while one is that left later, or that the receiver asks for after
//!   a round trip ([`crate::gaps`]).
//! * **Silence**: who hears no OK sends a window more and then waits. After the timeout of RFC 6298 the
//!   window is one packet. Only the time up to which everything was read counts as silence: a host that is
//!   busy has heard nothing because it has not listened.

mod cubic;
mod scalable;
mod start;
#[cfg(test)]
mod tests;
mod timer;

use super::Arrival;
use crate::Burst;
use crate::pacer::Pace;
use cubic::{Cubic, INITIAL_WINDOW};
use scalable::{Answer, Scalable};
use start::SlowStart;
use timer::RoundTrips;
use units::{Duration, Instant};

/// RFC 7661 section 4.3: of the window, what must have left in a round trip for it to grow.
const USED: f64 = 0.5;
/// Round trips are not taken for shorter: bursts are of a millisecond (RFC 998 counts in those).
const LEAST_ROUND_S: f64 = 1e-5;
/// The slowest rate: RFC 998's longest interval is 65.535 s, RFC 6298's longest timeout 60 s.
const SLOWEST_PPS: f64 = 1.0 / 60.0;

/// The window of one sender and what it is turned into. Pure: time is an argument.
#[derive(Clone, Debug)]
pub struct Compete {
    origin: Instant,
    buffer_packets: u32,
    cubic: Cubic,
    start: SlowStart,
    trips: RoundTrips,
    /// Data packets that left.
    sent: u64,
    round: Round,
    /// One reduction for all that left before it.
    reduced_until: u64,
    /// When a buffer was OK last, or all was given up, and the packets that are not under way since.
    heard: Option<Heard>,
    silences: u32,
    /// Packets leave as those of L4S: what to make of marks.
    scalable: Option<Scalable>,
}

/// The round trip under way: over when packet number `until` is OK.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    first: u64,
    until: u64,
    began_s: f64,
    /// The one before used the window.
    used: bool,
    /// Since when the sender has had nothing to send.
    idle: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Heard {
    at: Instant,
    sent: u64,
}

impl Compete {
    pub fn new(now: Instant, buffer_packets: u32, handshake: Option<Duration>) -> Compete {
        // Nothing is heard of less than a buffer.
        let window = INITIAL_WINDOW.max(buffer_packets.into());
        Compete {
            origin: now,
            buffer_packets,
            cubic: Cubic::new(window),
            start: SlowStart::new(),
            trips: RoundTrips::from_handshake(handshake.map(Duration::as_secs_f64)),
            sent: 0,
            round: Round { until: 1, used: true, ..Round::default() },
            reduced_until: 0,
            heard: None,
            silences: 0,
            scalable: None,
        }
    }
    /// The same for packets that leave with ECT(1) (RFC 9331).
    pub fn scalable(self) -> Compete {
        Compete { scalable: Some(Scalable::default()), ..self }
    }
    pub fn is_scalable(&self) -> bool {
        self.scalable.is_some()
    }

    fn seconds(&self, at: Instant) -> f64 {
        at.since(self.origin).as_secs_f64()
    }
    pub fn sent(&self) -> u64 {
        self.sent
    }
    pub fn round_trip(&self) -> Option<Duration> {
        self.trips.shortest_s().map(Duration::from_secs_f64)
    }
    /// From a packet's departure to the word that it is missing, at most but for chance.
    pub fn word(&self) -> Duration {
        let buffer_s = f64::from(self.buffer_packets) / self.pps();
        Duration::from_secs_f64(self.trips.bound_s().unwrap_or(0.0) + buffer_s)
    }

    /// The rate in packets a second.
    ///
    /// Where the window grows by `g` in a round trip, what left in the last one is less than the rate times its
    /// length. The rate at which a whole window is under way is higher by ln(1 + g) (1 + g) / g: that is
    /// 2 ln 2 in slow start, and 1 where it hardly grows.
    pub fn pps(&self) -> f64 {
        let gain = match self.cubic.is_slow_start() {
            true => {
                let growth = self.start.growth();
                growth.ln_1p() * (1.0 + growth) / growth
            }
            false => 1.0,
        };
        let round_s = self.trips.smoothed_s().unwrap_or(self.trips.timeout_s(self.silences));
        (gain * self.cubic.window() / round_s.max(LEAST_ROUND_S)).max(SLOWEST_PPS)
    }

    /// Bursts of that rate, none larger or sooner than `limit` allows: the packets of a millisecond.
    pub fn pace(&self, limit: Burst) -> Pace {
        let least_s = limit.interval().as_secs_f64().max(0.001);
        if self.trips.smoothed_s().is_none() {
            // A window, and another after each timeout.
            let size = self.cubic.window().min(limit.size_packets.into()).max(1.0) as u16;
            let interval_s = self.trips.timeout_s(self.silences).max(least_s);
            return Pace { size_packets: size, interval: Duration::from_secs_f64(interval_s) };
        }
        if self.is_quiet() {
            let interval_s = self.trips.timeout_s(self.silences).max(least_s);
            return Pace { size_packets: 1, interval: Duration::from_secs_f64(interval_s) };
        }
        let pps = self.pps().min(f64::from(limit.size_packets) / least_s);
        if let Some(pace) = self.scalable.as_ref().and_then(|it| it.pace(pps, limit)) {
            return pace;
        }
        // A rate that was computed is not exact.
        let size = (pps * least_s - 1e-6).ceil().clamp(1.0, limit.size_packets.into());
        let interval = Duration::from_secs_f64(size / pps).max(limit.interval());
        Pace { size_packets: size as u16, interval }
    }

    /// As much is under way as may be without a word: a window, what left before the word that is
    /// awaited can have come, and the buffers at both ends of it.
    pub fn is_quiet(&self) -> bool {
        let most = self.cubic.window() + 2.0 * f64::from(self.buffer_packets);
        self.heard.is_some_and(|heard| (self.sent - heard.sent) as f64 >= most)
    }

    /// A data packet leaves.
    pub fn departed(&mut self, now: Instant) {
        if let Some(since) = self.round.idle.take() {
            self.cubic.pause(now.since(since).as_secs_f64());
            self.heard = None;
        }
        self.heard.get_or_insert(Heard { at: now, sent: self.sent });
        self.sent += 1;
    }
    /// The sender has nothing to send: no word is owed, and the window is not used.
    pub fn idle(&mut self, now: Instant) {
        self.round.idle.get_or_insert(now);
    }

    /// The receiver asks for packets: those are under way no more (RFC 6675 section 4), but that it asks shows
    /// nothing of the way there.
    pub fn asked(&mut self, packets: u64) {
        if let Some(heard) = &mut self.heard {
            heard.sent = (heard.sent + packets).min(self.sent);
        }
    }

    /// A buffer is complete at the other end.
    pub fn completed(&mut self, now: Instant) {
        self.heard = Some(Heard { at: now, sent: self.sent });
        self.silences = 0;
        if !self.round.used {
            return;
        }
        let (now_s, packets) = (self.seconds(now), f64::from(self.buffer_packets));
        match (self.cubic.is_slow_start(), self.trips.smoothed_s()) {
            (true, _) => self.cubic.grow(packets, self.start.growth()),
            (false, Some(round_s)) => self.cubic.avoid_congestion(now_s, round_s, packets),
            (false, None) => {}
        }
    }

    /// A buffer arrived at the first attempt. What its OK waited for in this host is no round trip.
    pub fn arrived(&mut self, now: Instant, arrival: &Arrival) {
        let sample_s = (now.since(arrival.left).as_secs_f64() - arrival.late.as_secs_f64())
            .max(self.trips.shortest_s().unwrap_or(LEAST_ROUND_S));
        let samples = self.cubic.window() / f64::from(self.buffer_packets);
        self.trips.observe(sample_s, samples);
        if let Some(scalable) = &mut self.scalable {
            scalable.observe(sample_s);
        }
        if self.cubic.is_slow_start() {
            self.start.observe(sample_s, self.buffer_packets.into());
        }
        if arrival.packets.end >= self.round.until {
            self.end_round(self.seconds(now));
        }
    }

    fn end_round(&mut self, now_s: f64) {
        let left = (self.sent - self.round.first) as f64;
        let took = (now_s - self.round.began_s) / self.trips.smoothed_s().unwrap_or(1.0);
        let first = self.round.first == 0;
        let used = first || left >= USED * self.cubic.window() * took.min(1.0);
        if self.cubic.is_slow_start() && self.start.end_round() {
            self.cubic.leave_slow_start();
        }
        let Round { idle, .. } = self.round;
        self.round = Round { first: self.sent, until: self.sent + 1, began_s: now_s, used, idle };
    }

    /// Of what is missing at the other end, the first packet was that number of all that left.
    pub fn lost(&mut self, first: u64) {
        if first < self.reduced_until {
            return;
        }
        self.cubic.reduce();
        self.reduced_until = self.sent;
    }

    /// Of so many packets more, among those that left up to number `arrived` or a little later, a network marked so
    /// many in place of dropping them. RFC 9438 section 4.6 has the window shrink as after a loss, and the kernel's
    /// CUBIC does so; who sends as L4S answers the share of marks.
    pub fn marked(&mut self, (packets, marked): (u32, u32), arrived: u64) {
        let (round_s, packet_s) = (self.trips.smoothed_s().unwrap_or(1.0), 1.0 / self.pps());
        let answer = self.scalable.as_mut().map_or(Answer::Classic, |scalable| {
            let least_s = self.trips.shortest_s().unwrap_or(f64::INFINITY);
            scalable.hear((packets, marked), (arrived, self.sent), least_s + 2.0 * packet_s)
        });
        if marked == 0 || (self.reduced_until > 0 && arrived <= self.reduced_until) {
            return;
        }
        match answer {
            Answer::Classic => self.cubic.reduce(),
            Answer::Share(share) => self.cubic.give_way(share, scalable::growth(round_s)),
        }
        self.reduced_until = self.sent;
    }
    /// Before so long has passed a packet is not taken for lost because others overtook it (RFC 8985 section 6.2: a
    /// round trip and a quarter). Who sends as L4S over a path that marks waits (RFC 9331 section 4.3); others count
    /// packets.
    pub fn overtaking(&self) -> Duration {
        let is_marked = self.scalable.as_ref().is_some_and(Scalable::is_marked);
        let wait_s = self.trips.shortest_s().zip(self.trips.smoothed_s()).filter(|_| is_marked);
        Duration::from_secs_f64(wait_s.map_or(0.0, |(least_s, round_s)| round_s + least_s / 4.0))
    }
    /// Nothing has been heard for a timeout, or more.
    pub fn is_silent(&self) -> bool {
        self.silences > 0
    }

    /// When silence has lasted for too long.
    pub fn timeout(&self) -> Option<Instant> {
        let idle = self.round.idle.is_some();
        let heard = self.heard.filter(|heard| !idle && self.sent > heard.sent)?;
        // Nothing is heard of less than a buffer.
        let buffer_s = f64::from(self.buffer_packets) / self.pps();
        Some(heard.at + Duration::from_secs_f64(self.trips.timeout_s(self.silences) + buffer_s))
    }
    /// Everything that came before `heard_until` is known.
    pub fn handle_timeout(&mut self, heard_until: Instant) {
        if self.timeout().is_none_or(|at| at > heard_until) {
            return;
        }
        // The first one is a loss; those after it are the same silence (RFC 5681 section 3.1).
        if self.silences == 0 {
            self.cubic.time_out();
            self.start = SlowStart::new();
        }
        self.silences += 1;
        self.reduced_until = self.sent;
        self.heard = Some(Heard { at: heard_until, sent: self.sent });
    }
}
