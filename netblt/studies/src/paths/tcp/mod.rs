//! A model of TCP at packet level: a sender with a congestion window, a receiver that acknowledges
//! every packet. Loss recovery is better than any real one, since acknowledgements name what came
//! (as SACK does, RFC 2018, without its limits): what differs between the algorithms is the window.

mod aggregation;
mod bbr;
mod cubic;
mod delivery;
mod reno;
mod vegas;

use crate::rfc1030::Dice;
use bbr::Bbr;
use cubic::Cubic;
use delivery::{Delivery, RateSample, Told};
use reno::Reno;
use std::collections::{BTreeSet, VecDeque};
use units::{Duration, Instant};
use vegas::Vegas;

/// Initial window in packets (RFC 6928).
const INITIAL_WINDOW: f64 = 10.0;
/// Later packets that must have come before one counts as lost (RFC 5681's three duplicates).
const OVERTAKEN_BY: u64 = 3;
/// Shortest retransmission timer (that of Linux; RFC 6298 has 1 s).
const MIN_TIMER: Duration = Duration::from_ms(200);
/// Packets that an acknowledgement names beside the cumulative number.
const NAMED: usize = 16;

/// Which window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// RFC 5681.
    Reno,
    /// RFC 9438, leaving slow start when delay rises (RFC 9406).
    Cubic,
    /// Brakmo and Peterson 1995: by delay.
    Vegas,
    /// BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): by what is delivered, paced.
    Bbr,
}

/// The window of one algorithm.
trait Window: std::fmt::Debug {
    /// In packets.
    fn packets(&self) -> f64;
    /// A packet was acknowledged after `round_trip`. The first of a round trip `begins` one.
    fn acknowledged(&mut self, now: Instant, round_trip: Duration, begins: bool);
    /// Packets were lost, the first time in a round trip.
    fn lost(&mut self, now: Instant);
    /// The timer ran out.
    fn timed_out(&mut self);
    /// Packets a second at which they leave; none if they leave as soon as the window allows.
    fn pacing_pps(&self) -> Option<f64> {
        None
    }
    /// What an acknowledgement tells of the rate of delivery, for those that are paced by it.
    fn sampled(&mut self, _now: Instant, _sample: &RateSample) {}
    /// Whether it keeps the rate below what the path may carry, so that rates say nothing of that.
    fn limits_itself(&self) -> bool {
        false
    }
}

/// What travels.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Segment {
    Data { number: u64, order: u64, sent: Instant },
    Ack { before: u64, named: Box<[u64; NAMED]>, order: u64, sent: Instant },
}

/// Both ends of a connection that always has data.
#[derive(Debug)]
pub(super) struct Tcp {
    window: Box<dyn Window>,
    starts_at: Instant,
    // The sender.
    delivery: Delivery,
    /// Pacing: nothing leaves earlier.
    next_at: Instant,
    next_number: u64,
    /// All before it are acknowledged.
    before: u64,
    acknowledged: BTreeSet<u64>,
    /// Transmissions under way, oldest first.
    flight: VecDeque<(u64, u64)>,
    in_flight: u64,
    again: BTreeSet<u64>,
    next_order: u64,
    newest_order: u64,
    /// One reduction for all that was under way when it was made.
    reduced_until: u64,
    /// From a loss until all numbers before this one are acknowledged.
    recovers_at: Option<u64>,
    round_ends: u64,
    timer: Option<Instant>,
    smoothed: Option<(Duration, Duration)>,
    backoff: u32,
    // The receiver.
    expected: u64,
    beyond: BTreeSet<u64>,
    latest: [u64; NAMED],
    count: usize,
}

impl Tcp {
    /// What the algorithm leaves to chance is drawn from the dice.
    pub fn new(algorithm: Algorithm, starts_at: Instant, dice: Dice) -> Tcp {
        let window: Box<dyn Window> = match algorithm {
            Algorithm::Reno => Box::new(Reno::new()),
            Algorithm::Cubic => Box::new(Cubic::new()),
            Algorithm::Vegas => Box::new(Vegas::new()),
            Algorithm::Bbr => Box::new(Bbr::new(dice)),
        };
        Tcp {
            window,
            starts_at,
            delivery: Delivery::default(),
            next_at: starts_at,
            next_number: 0,
            before: 0,
            acknowledged: BTreeSet::new(),
            flight: VecDeque::new(),
            in_flight: 0,
            again: BTreeSet::new(),
            next_order: 0,
            newest_order: 0,
            reduced_until: 0,
            recovers_at: None,
            round_ends: 0,
            timer: None,
            smoothed: None,
            backoff: 0,
            expected: 0,
            beyond: BTreeSet::new(),
            latest: [u64::MAX; NAMED],
            count: 0,
        }
    }

    /// When to come back at the latest.
    pub fn wake(&self) -> Option<Instant> {
        if self.next_order == 0 {
            return Some(self.starts_at);
        }
        let paced = (self.window.pacing_pps().is_some() && self.has_room()).then_some(self.next_at);
        [self.timer, paced].into_iter().flatten().min()
    }

    fn has_room(&self) -> bool {
        self.in_flight < self.window.packets().max(1.0) as u64
    }

    /// The next packet that the sender may send now.
    pub fn poll(&mut self, now: Instant) -> Option<Segment> {
        if now < self.starts_at {
            return None;
        }
        if self.timer.is_some_and(|at| at <= now) {
            self.time_out(now);
        }
        let pacing_pps = self.window.pacing_pps();
        if !self.has_room() || pacing_pps.is_some() && now < self.next_at {
            return None;
        }
        if let Some(pps) = pacing_pps {
            self.next_at = self.next_at.max(now) + Duration::from_secs_f64(1.0 / pps);
            self.delivery.left(now, self.next_order, self.in_flight);
        }
        let number = self.again.pop_first().unwrap_or_else(|| {
            self.next_number += 1;
            self.next_number - 1
        });
        let order = self.next_order;
        self.next_order += 1;
        self.flight.push_back((order, number));
        self.in_flight += 1;
        if self.timer.is_none() {
            self.set_timer(now);
        }
        Some(Segment::Data { number, order, sent: now })
    }

    fn set_timer(&mut self, now: Instant) {
        let value =
            self.smoothed.map_or(Duration::from_secs(1), |(mean, variation)| mean + variation * 4);
        self.timer = Some(now + value.max(MIN_TIMER) * (1 << self.backoff));
    }

    fn time_out(&mut self, now: Instant) {
        self.backoff = (self.backoff + 1).min(6);
        for (_, number) in std::mem::take(&mut self.flight) {
            if !self.is_acknowledged(number) {
                self.again.insert(number);
            }
        }
        self.in_flight = 0;
        self.reduced_until = self.next_order;
        self.recovers_at = Some(self.next_number);
        self.window.timed_out();
        self.set_timer(now);
    }

    fn is_acknowledged(&self, number: u64) -> bool {
        number < self.before || self.acknowledged.contains(&number)
    }

    /// Data comes to the receiver: the acknowledgement, and whether it was new.
    pub fn receive(&mut self, number: u64, order: u64, sent: Instant) -> (Segment, bool) {
        let new = number >= self.expected && self.beyond.insert(number);
        while self.beyond.remove(&self.expected) {
            self.expected += 1;
        }
        self.latest[self.count % NAMED] = number;
        self.count += 1;
        (Segment::Ack { before: self.expected, named: Box::new(self.latest), order, sent }, new)
    }

    /// An acknowledgement comes to the sender.
    pub fn acknowledge(
        &mut self,
        now: Instant,
        before: u64,
        named: &[u64],
        order: u64,
        sent: Instant,
    ) {
        let round_trip = now.since(sent);
        self.measure(round_trip);
        self.newest_order = self.newest_order.max(order);
        let mut new = before.saturating_sub(self.before);
        new -= self.acknowledged.range(..before).count() as u64;
        self.before = self.before.max(before);
        self.acknowledged = self.acknowledged.split_off(&self.before);
        self.again = self.again.split_off(&self.before);
        for number in named.iter().filter(|number| **number >= self.before && **number != u64::MAX)
        {
            new += u64::from(self.acknowledged.insert(*number));
            self.again.remove(number);
        }
        let lost = self.settle(now);
        if self.window.pacing_pps().is_some() {
            let recovering = self.recovers_at.is_some();
            let told = Told { new, in_flight: self.in_flight, lost, recovering };
            let sample = self.delivery.arrived(now, order, told, round_trip);
            self.window.sampled(now, &sample);
            if self.window.limits_itself() {
                self.delivery.limit(self.in_flight);
            }
        }
        for _ in 0..new {
            let begins = order >= self.round_ends;
            if begins {
                self.round_ends = self.next_order;
            }
            self.window.acknowledged(now, round_trip, begins);
        }
        if new > 0 {
            self.backoff = 0;
            self.set_timer(now);
        }
    }

    /// What has come and what was overtaken is under way no more. Gives how many were overtaken.
    fn settle(&mut self, now: Instant) -> u64 {
        let (mut lost, mut reduces) = (0, false);
        let overtaken = self.newest_order.saturating_sub(OVERTAKEN_BY);
        while let Some(&(order, number)) = self.flight.front() {
            let arrived = self.is_acknowledged(number);
            if !arrived && order >= overtaken {
                break;
            }
            self.flight.pop_front();
            if !arrived {
                self.again.insert(number);
                lost += 1;
                reduces |= order >= self.reduced_until;
            }
        }
        // Named ones behind the front count as arrived at once.
        let behind =
            self.flight.iter().take(2 * NAMED).filter(|(_, number)| self.is_acknowledged(*number));
        self.in_flight = (self.flight.len() - behind.count()) as u64;
        if self.recovers_at.is_some_and(|number| self.before >= number) {
            self.recovers_at = None;
        }
        if reduces {
            self.reduced_until = self.next_order;
            self.window.lost(now);
        }
        if lost > 0 {
            self.recovers_at.get_or_insert(self.next_number);
        }
        lost
    }

    fn measure(&mut self, sample: Duration) {
        let half = Duration::from_ps(sample.as_ps() / 2);
        let (mean, variation) = self.smoothed.unwrap_or((sample, half));
        let error = Duration::from_ps(sample.as_ps().abs_diff(mean.as_ps()));
        let mix = |old: Duration, new: Duration, parts: u64| {
            Duration::from_ps(old.as_ps() - old.as_ps() / parts + new.as_ps() / parts)
        };
        self.smoothed = Some((mix(mean, sample, 8), mix(variation, error, 4)));
    }
}
