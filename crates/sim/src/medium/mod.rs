//! A half-duplex medium that stations share by CSMA/CD (IEEE 802.3 clause 4).
//!
//! A station that hears another defers: it starts the minimum gap after the other's end. Two that
//! start before they hear each other collide. Each sends its jam, waits for a random number of slot
//! times (truncated binary exponential back-off) and tries again, sixteen times at most.
//!
//! ```text
//! A |preamble|frame ...           A starts, and B before it hears of that: B hears A at once,
//! B      |preamble|jam|           A hears B one propagation delay later. Both end with 32 bits
//!    |<-->| propagation           of jam, and back off from their own ends.
//! ```
//!
//! What one station sends reaches every other after the same propagation delay, as through a
//! repeater. Each knows only what it hears: there is no common time at which the medium is idle.

mod counts;
mod station;
#[cfg(test)]
mod tests;

pub(crate) use counts::{MacCounts, Uncarried};

use crate::Frame;
use crate::link::Pace;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use station::{InFlight, Station};
use std::collections::VecDeque;
use units::{Duration, FrameSize, Instant};

/// 512 bit times (IEEE 802.3 section 4.4.2: slotTime of 10 and 100 Mb/s).
pub(crate) const SLOT_BYTES: u64 = 64;
/// 32 bits (jamSize).
const JAM_BYTES: u64 = 4;
/// The attempt after which a frame is given up (attemptLimit).
const ATTEMPTS_MAX: u32 = 16;
/// From this attempt on the back-off grows no more (backoffLimit).
const BACKOFF_BITS_MAX: u32 = 10;

/// The two ends of a link, by the way that they send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    ToDevice,
    ToTester,
}

/// What becomes of a frame after the last attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AfterLimit {
    /// It is dropped, as IEEE 802.3 has it.
    Discards,
    /// The station above the MAC hands it over again: a tester does, so that it counts no frame as
    /// transmitted that never left (RFC 2285 section 3.5.2).
    TriesAgain,
}

#[derive(Clone, Debug)]
pub(crate) struct SharedMedium {
    stations: Vec<Station>,
    propagation: Duration,
    /// Preamble, jam, and the gap after others' frames.
    preamble: Duration,
    jam: Duration,
    gap: Duration,
    slot: Duration,
    /// What was on the medium of late: all that somebody may still hear or wait for.
    recent: VecDeque<OnAir>,
    /// The last start. Who waits then has heard something before.
    started_last: Instant,
    random: Xoshiro256PlusPlus,
}

/// A frame on the medium, or what a collision left of it.
#[derive(Clone, Copy, Debug)]
struct OnAir {
    by: usize,
    /// When its preamble began, at its own station.
    started: Instant,
    /// When it ends there.
    ends: Instant,
    collided: bool,
}

impl SharedMedium {
    /// A link between tester and device; paces of the two senders, by [`Way`].
    pub(crate) fn of_link(paces: [Pace; 2], propagation: Duration, seed: u64) -> Self {
        let [tester, device] = paces;
        let stations = [(tester, AfterLimit::TriesAgain), (device, AfterLimit::Discards)];
        SharedMedium::new(&stations, propagation, seed)
    }

    /// Any number of stations of one rate, the first of which gives the medium its bit time.
    pub(crate) fn new(stations: &[(Pace, AfterLimit)], propagation: Duration, seed: u64) -> Self {
        let time_of = |bytes| stations.first().map_or(Duration::ZERO, |(p, _)| p.time_of(bytes));
        SharedMedium {
            stations: stations.iter().map(|(pace, after)| Station::new(*pace, *after)).collect(),
            propagation,
            preamble: time_of(FrameSize::PREAMBLE_BYTES.into()),
            jam: time_of(JAM_BYTES),
            gap: time_of(FrameSize::GAP_BYTES.into()),
            slot: time_of(SLOT_BYTES),
            recent: VecDeque::new(),
            started_last: Instant::ZERO,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// When a station may start a frame as far as it can tell at `now`; [`Instant::FAR_FUTURE`]
    /// while it still has one to get rid of.
    pub(crate) fn free_at(&self, way: Way, now: Instant) -> Instant {
        match self.stations[way as usize].waiting.is_empty() {
            true => self.clear_at(way as usize, now),
            false => Instant::FAR_FUTURE,
        }
    }

    /// When the station would have been free if it had the medium to itself.
    pub(crate) fn free_alone_at(&self, way: Way) -> Instant {
        self.stations[way as usize].free_alone_at
    }

    /// Puts a frame on the medium as soon as it is free.
    pub(crate) fn send(&mut self, way: Way, now: Instant, frame: Frame) {
        self.send_from(way as usize, now, frame);
    }

    pub(crate) fn send_from(&mut self, station: usize, now: Instant, frame: Frame) {
        self.stations[station].take(now, frame);
        self.advance(now);
    }

    /// When something happens next: a frame starts or arrives.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        let arrivals = self.stations.iter().filter_map(Station::next_arrival);
        let attempts = (0..self.stations.len()).filter_map(|station| self.attempt_at(station));
        arrivals.chain(attempts).min()
    }

    /// The next frame whose last bit has arrived, and when.
    pub(crate) fn receive(&mut self, way: Way, now: Instant) -> Option<(Instant, Frame)> {
        self.receive_of(way as usize, now).map(|sent| (sent.arrives, sent.frame))
    }

    /// The same of the tester's frames; and when one left that had collided before.
    pub(crate) fn receive_from_tester(
        &mut self,
        now: Instant,
    ) -> Option<(Instant, Frame, Option<Instant>)> {
        let sent = self.receive_of(Way::ToDevice as usize, now)?;
        Some((sent.arrives, sent.frame, sent.is_again.then_some(sent.started)))
    }

    fn receive_of(&mut self, station: usize, now: Instant) -> Option<InFlight> {
        self.advance(now);
        self.stations[station].arrived(now)
    }

    /// What a station's MAC has counted since the beginning.
    pub(crate) fn counts(&self, way: Way) -> MacCounts {
        self.stations[way as usize].counts
    }

    /// What a station wanted to send and the medium has not carried.
    pub(crate) fn uncarried(&self, way: Way) -> Uncarried {
        self.stations[way as usize].uncarried()
    }

    /// Takes back what a station has not got rid of; how many frames.
    pub(crate) fn withdraw(&mut self, way: Way) -> u64 {
        self.stations[way as usize].withdraw()
    }

    /// When a station may start that wants to from `wants` on (the process Deference of section 4.2.8).
    fn clear_at(&self, station: usize, wants: Instant) -> Instant {
        // Until when it defers, and from when on it starts then whatever it hears.
        let (mut until, mut deaf_from) = (Instant::ZERO, Instant::ZERO);
        for air in &self.recent {
            let (ends, from) = match air.by == station {
                true => (self.gap_after_own(air), air.ends),
                false => {
                    let heard = air.started + self.propagation;
                    let turn = if heard < until && wants <= until { deaf_from } else { wants };
                    if heard >= turn {
                        continue;
                    }
                    let ends = self.gap_after(air, station);
                    // The last third of the gap (interFrameSpacingPart2): a station that is a little
                    // faster does not take the medium for ever.
                    (ends, Instant::from_ps(ends.as_ps() - self.gap.as_ps() / 3))
                }
            };
            if ends > until {
                (until, deaf_from) = (ends, from);
            }
        }
        wants.max(until)
    }

    /// When the station that sent this may start its next frame.
    fn gap_after_own(&self, air: &OnAir) -> Instant {
        air.ends + if air.collided { self.gap } else { self.stations[air.by].pace.gap() }
    }

    /// When a station may start that waited for the end of another's frame. Its own longer gap is
    /// one between frames of its own; one below the legal minimum it uses here, too.
    fn gap_after(&self, air: &OnAir, station: usize) -> Instant {
        air.ends + self.propagation + self.gap.min(self.stations[station].pace.gap())
    }

    /// Whether others still hear it, or have yet to, at `at`.
    fn is_on_the_way(&self, at: Instant, air: &OnAir) -> bool {
        air.ends + self.propagation > at
    }

    /// When a station will start the frame it has.
    fn attempt_at(&self, station: usize) -> Option<Instant> {
        let wants = self.stations[station].wants_at()?;
        Some(self.clear_at(station, wants.max(self.started_last)))
    }

    fn advance(&mut self, now: Instant) {
        loop {
            let all = 0..self.stations.len();
            let attempts = all.filter_map(|index| Some((self.attempt_at(index)?, index)));
            let Some((at, index)) = attempts.min().filter(|(at, _)| *at <= now) else { return };
            self.started_last = at;
            self.forget_before(at);
            self.start(index, at);
        }
    }

    /// Nobody starts before `at` any more.
    fn forget_before(&mut self, at: Instant) {
        let SharedMedium { stations, propagation, gap, .. } = self;
        self.recent.retain(|air| {
            let longest = (*propagation + *gap).max(stations[air.by].pace.gap());
            air.ends + longest >= at
        });
    }

    fn start(&mut self, index: usize, at: Instant) {
        let others = self.recent.iter().filter(|air| air.by != index);
        let has_deferred = others.clone().any(|air| self.gap_after(air, index) == at);
        let overlapping = others.filter(|air| self.is_on_the_way(at, air));
        let first_overlapping = overlapping.map(|air| air.started).min();
        let Some(ends) = self.stations[index].start(at, self.propagation, has_deferred) else {
            return;
        };
        let ends = ends + self.preamble;
        let mut air = OnAir { by: index, started: at, ends, collided: false };
        if let Some(other) = first_overlapping {
            self.collide_others(index, at);
            self.collide(&mut air, at.max(other + self.propagation));
        }
        self.recent.push_back(air);
    }

    /// Everything of others that is on its way to a station which starts at `at` collides with it.
    fn collide_others(&mut self, station: usize, at: Instant) {
        for index in 0..self.recent.len() {
            let mut air = self.recent[index];
            if air.by != station && !air.collided && self.is_on_the_way(at, &air) {
                self.collide(&mut air, at + self.propagation);
                self.recent[index] = air;
            }
        }
    }

    /// A station hears another at `heard` while it sends. One whose frame is over by then never knows
    /// that nobody received it.
    fn collide(&mut self, air: &mut OnAir, heard: Instant) {
        air.collided = true;
        let station = &mut self.stations[air.by];
        if heard >= air.ends {
            station.lose_unnoticed(air.started);
            return;
        }
        air.ends = heard.max(air.started + self.preamble) + self.jam;
        // Later than one slot time into the transmission (dot3StatsLateCollisions, RFC 3635).
        let is_late = heard.since(air.started) > self.slot;
        let span = (air.started, air.ends);
        station.back_off(span, self.slot, is_late, &mut self.random);
    }
}
