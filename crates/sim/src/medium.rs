//! A half-duplex link: tester and device share one medium by CSMA/CD (IEEE 802.3 clause 4).
//!
//! A station that finds the medium busy waits for its end and the minimum gap. Two that start
//! within the propagation delay of each other, or that waited for the same end, collide: both send
//! their jam, wait for a random number of slot times (truncated binary exponential backoff) and
//! try again, sixteen times at most.

use crate::Frame;
use crate::link::Pace;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use units::{Duration, Instant};

/// 512 bit times.
const SLOT_BYTES: u64 = 64;
/// Preamble, start-of-frame delimiter and 32 bits of jam: what is heard of a collision at least.
const COLLISION_BYTES: u64 = 12;
const ATTEMPTS_MAX: u32 = 16;
const BACKOFF_BITS_MAX: u32 = 10;

/// The two ends of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    ToDevice,
    ToTester,
}

#[derive(Clone, Debug)]
pub(crate) struct Medium {
    stations: [Station; 2],
    propagation: Duration,
    /// When a station that listens may start.
    idle_at: Instant,
    on_air: Option<OnAir>,
    random: Xoshiro256PlusPlus,
    collisions: u64,
}

/// One end, by the way it sends.
#[derive(Clone, Debug)]
struct Station {
    pace: Pace,
    /// Frames to be sent, and since when.
    waiting: VecDeque<(Instant, Frame)>,
    backoff_until: Instant,
    attempts: u32,
    given_up: u64,
    /// Frames on their way to the other end, by the arrival of their last bit.
    in_flight: VecDeque<(Instant, Frame)>,
}

/// The frame that was started last.
#[derive(Clone, Copy, Debug)]
struct OnAir {
    by: usize,
    started: Instant,
    attempts: u32,
}

impl Medium {
    /// Paces of the two senders, by [`Way`].
    pub(crate) fn new(paces: [Pace; 2], propagation: Duration, seed: u64) -> Self {
        Medium {
            stations: paces.map(Station::new),
            propagation,
            idle_at: Instant::ZERO,
            on_air: None,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            collisions: 0,
        }
    }

    /// When a station may start a frame as far as it can tell at `now`; [`Instant::FAR_FUTURE`]
    /// while it still has one to get rid of.
    pub(crate) fn free_at(&self, way: Way, now: Instant) -> Instant {
        let station = &self.stations[way as usize];
        if !station.waiting.is_empty() {
            return Instant::FAR_FUTURE;
        }
        if self.is_unheard(way as usize, now) { now } else { self.idle_at }
    }

    /// Puts a frame on the medium as soon as it is free.
    pub(crate) fn send(&mut self, way: Way, now: Instant, frame: Frame) {
        self.stations[way as usize].waiting.push_back((now, frame));
        self.advance(now);
    }

    /// When something happens next: a frame starts or arrives.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        let arrivals = self.stations.iter().filter_map(|s| s.in_flight.front().map(|(at, _)| *at));
        let attempts = (0..2).filter_map(|station| self.attempt_at(station));
        arrivals.chain(attempts).min()
    }

    /// The next frame whose last bit has arrived, and when.
    pub(crate) fn receive(&mut self, way: Way, now: Instant) -> Option<(Instant, Frame)> {
        self.advance(now);
        let in_flight = &mut self.stations[way as usize].in_flight;
        in_flight.front().filter(|(at, _)| *at <= now)?;
        in_flight.pop_front()
    }

    /// Collisions so far.
    pub(crate) fn collisions(&self) -> u64 {
        self.collisions
    }

    /// Frames that a sender gave up after the last attempt.
    pub(crate) fn given_up(&self, way: Way) -> u64 {
        self.stations[way as usize].given_up
    }

    /// Whether the other end's frame has not reached this station yet at `at`.
    fn is_unheard(&self, station: usize, at: Instant) -> bool {
        self.on_air.is_some_and(|air| air.by != station && at <= air.started + self.propagation)
    }

    /// When a station will start the frame it has.
    fn attempt_at(&self, index: usize) -> Option<Instant> {
        let station = &self.stations[index];
        let (ready, _) = station.waiting.front()?;
        let wants = (*ready).max(station.backoff_until);
        match self.on_air {
            Some(air) if self.is_unheard(index, wants.max(air.started)) => {
                Some(wants.max(air.started))
            }
            _ => Some(wants.max(self.idle_at)),
        }
    }

    fn advance(&mut self, now: Instant) {
        loop {
            let attempts = (0..2).filter_map(|index| Some((self.attempt_at(index)?, index)));
            let Some((at, index)) = attempts.min().filter(|(at, _)| *at <= now) else { return };
            if self.is_unheard(index, at) { self.collide(at) } else { self.start(index, at) }
        }
    }

    fn start(&mut self, index: usize, at: Instant) {
        let station = &mut self.stations[index];
        let Some((_, frame)) = station.waiting.pop_front() else { return };
        self.idle_at = at + station.pace.period(frame.size());
        self.on_air = Some(OnAir { by: index, started: at, attempts: station.attempts });
        station.attempts = 0;
        let arrives = at + station.pace.time_of_frame(frame.size()) + self.propagation;
        station.in_flight.push_back((arrives, frame));
    }

    /// The other end starts before it hears what is on the air: both go back.
    fn collide(&mut self, at: Instant) {
        self.collisions += 1;
        if let Some(air) = self.on_air.take() {
            let station = &mut self.stations[air.by];
            station.attempts = air.attempts;
            let withdrawn = station.in_flight.pop_back().map(|(_, frame)| (air.started, frame));
            station.waiting.extend(withdrawn);
            station.waiting.rotate_right(1);
        }
        let heard_until = at + self.stations[0].pace.time_of(COLLISION_BYTES);
        for station in &mut self.stations {
            station.back_off(heard_until, &mut self.random);
        }
        self.idle_at = heard_until + self.stations[0].pace.gap();
    }
}

impl Station {
    fn new(pace: Pace) -> Self {
        Station {
            pace,
            waiting: VecDeque::new(),
            backoff_until: Instant::ZERO,
            attempts: 0,
            given_up: 0,
            in_flight: VecDeque::new(),
        }
    }

    fn back_off(&mut self, from: Instant, random: &mut Xoshiro256PlusPlus) {
        self.attempts += 1;
        if self.attempts >= ATTEMPTS_MAX {
            self.waiting.pop_front();
            self.given_up += 1;
            self.attempts = 0;
            return;
        }
        let slots = random.next_u64() >> (64 - self.attempts.min(BACKOFF_BITS_MAX));
        self.backoff_until = from + self.pace.time_of(SLOT_BYTES * slots) + self.pace.gap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::LineRate;

    fn medium() -> Medium {
        let pace = Pace::new(Some(LineRate::from_mbps(10)), Duration::ZERO);
        Medium::new([pace; 2], Duration::from_us(2), 7)
    }

    fn at_us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    /// Everything that arrives, in order: which way and when.
    fn arrivals(medium: &mut Medium) -> Vec<(Way, Instant)> {
        let mut arrivals = vec![];
        while let Some(now) = medium.next_event() {
            for way in [Way::ToDevice, Way::ToTester] {
                arrivals.extend(medium.receive(way, now).map(|(at, _)| (way, at)));
            }
        }
        arrivals
    }

    /// 64 bytes at 10 Mb/s: 51.2 us, and 67.2 us from start to start; 2 us on the way.
    #[test]
    fn a_station_that_hears_another_waits_for_its_end() {
        let mut medium = medium();
        medium.send(Way::ToDevice, at_us(0), vec![0; 60].into());
        assert_eq!(medium.free_at(Way::ToTester, at_us(10)), Instant::from_ns(67_200));
        medium.send(Way::ToTester, at_us(10), vec![0; 60].into());
        let expected = [(Way::ToDevice, 53_200), (Way::ToTester, 120_400)];
        assert_eq!(arrivals(&mut medium), expected.map(|(way, ns)| (way, Instant::from_ns(ns))));
        assert_eq!(medium.collisions(), 0);
    }

    #[test]
    fn two_that_start_together_collide_and_get_through_one_after_the_other() {
        for second_starts_us in [0, 1, 2] {
            let mut medium = medium();
            medium.send(Way::ToDevice, at_us(0), vec![0; 60].into());
            medium.send(Way::ToTester, at_us(second_starts_us), vec![0; 60].into());
            let arrivals = arrivals(&mut medium);
            assert!(medium.collisions() >= 1);
            assert_eq!(arrivals.len(), 2, "nothing is lost");
            // After the collision (9.6 us), a gap (9.6 us), and then whole frames.
            assert!(arrivals[0].1 >= Instant::from_ns(9_600 + 9_600 + 51_200));
            assert!(arrivals[1].1.since(arrivals[0].1) >= Duration::from_ns(67_200));
        }
    }

    /// Both have a frame every 200 us, that is two thirds of the medium: everything gets through,
    /// one after the other.
    #[test]
    fn both_get_their_turn() {
        let mut medium = medium();
        let mut arrivals = vec![];
        for round in 0..500 {
            let now = at_us(200 * round);
            while let Some(at) = medium.next_event().filter(|at| *at <= now) {
                let ways = [Way::ToDevice, Way::ToTester];
                arrivals.extend(ways.iter().filter_map(|way| medium.receive(*way, at)));
            }
            medium.send(Way::ToDevice, now, vec![0; 60].into());
            medium.send(Way::ToTester, now, vec![0; 60].into());
        }
        arrivals
            .extend(self::arrivals(&mut medium).into_iter().map(|(_, at)| (at, Frame::default())));
        assert_eq!((arrivals.len(), medium.given_up(Way::ToTester)), (1_000, 0));
        assert!(medium.collisions() >= 100, "they often start together");
        let spacing = arrivals.windows(2).map(|pair| pair[1].0.since(pair[0].0)).min();
        assert!(spacing >= Some(Duration::from_ns(67_200)), "{spacing:?}");
    }

    /// Two stations that always have something to send: the one that wins starts afresh, the other
    /// backs off longer and longer. That is how CSMA/CD is (the capture effect).
    #[test]
    fn the_winner_of_a_collision_captures_the_medium() {
        let mut medium = medium();
        for _ in 0..200 {
            medium.send(Way::ToDevice, at_us(0), vec![0; 60].into());
            medium.send(Way::ToTester, at_us(0), vec![0; 60].into());
        }
        let ways: Vec<Way> = arrivals(&mut medium).into_iter().map(|(way, _)| way).collect();
        let turns = ways.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(turns < 100, "{turns} turns in 400 frames");
        assert!(medium.collisions() < 100);
    }
}
