//! One station of a half-duplex medium: its frames, its back-off and its counters.

use super::{ATTEMPTS_MAX, AfterLimit, BACKOFF_BITS_MAX, MacCounts, Uncarried};
use crate::Frame;
use crate::link::Pace;
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use units::{Duration, Instant};

#[derive(Clone, Debug)]
pub(super) struct Station {
    pub pace: Pace,
    after_limit: AfterLimit,
    /// Frames to be sent.
    pub waiting: VecDeque<Waiting>,
    backoff_until: Instant,
    /// The end of the last frame and its gap, had its first attempt gone through.
    pub free_alone_at: Instant,
    pub counts: MacCounts,
    /// Frames on their way to the other stations, by the arrival of their last bit.
    in_flight: VecDeque<InFlight>,
}

#[derive(Clone, Debug)]
pub(super) struct Waiting {
    since: Instant,
    frame: Frame,
    /// Whether it was on the medium before.
    is_again: bool,
    collisions: u32,
    has_deferred: bool,
}

#[derive(Clone, Debug)]
pub(super) struct InFlight {
    pub arrives: Instant,
    pub started: Instant,
    pub frame: Frame,
    /// Whether it was on the medium before.
    pub is_again: bool,
    collisions: u32,
    has_deferred: bool,
}

impl Station {
    pub(super) fn new(pace: Pace, after_limit: AfterLimit) -> Self {
        Station {
            pace,
            after_limit,
            waiting: VecDeque::new(),
            backoff_until: Instant::ZERO,
            free_alone_at: Instant::ZERO,
            counts: MacCounts::default(),
            in_flight: VecDeque::new(),
        }
    }

    pub(super) fn take(&mut self, now: Instant, frame: Frame) {
        let waiting =
            Waiting { since: now, frame, is_again: false, collisions: 0, has_deferred: false };
        self.waiting.push_back(waiting);
    }

    /// When it wants to start its next frame.
    pub(super) fn wants_at(&self) -> Option<Instant> {
        self.waiting.front().map(|first| first.since.max(self.backoff_until))
    }

    /// Starts its next frame; when the frame ends, its preamble not counted.
    pub(super) fn start(
        &mut self,
        at: Instant,
        propagation: Duration,
        has_deferred: bool,
    ) -> Option<Instant> {
        let Waiting { frame, is_again, collisions, has_deferred: had, .. } =
            self.waiting.pop_front()?;
        let size = frame.size();
        let ends = at + self.pace.time_of_frame(size);
        let has_deferred = if is_again { had } else { has_deferred };
        if !is_again {
            self.free_alone_at = at + self.pace.period(size);
        }
        let arrives = ends + propagation;
        self.in_flight.push_back(InFlight {
            arrives,
            started: at,
            frame,
            is_again,
            collisions,
            has_deferred,
        });
        Some(ends)
    }

    pub(super) fn next_arrival(&self) -> Option<Instant> {
        self.in_flight.front().map(|first| first.arrives)
    }

    /// The next frame that has arrived by now; only then is it known to have left.
    pub(super) fn arrived(&mut self, now: Instant) -> Option<InFlight> {
        self.next_arrival().filter(|arrives| *arrives <= now)?;
        let sent = self.in_flight.pop_front()?;
        match sent.collisions {
            0 => self.counts.deferred += u64::from(sent.has_deferred),
            1 => self.counts.single_collisions += 1,
            _ => self.counts.multiple_collisions += 1,
        }
        Some(sent)
    }

    pub(super) fn uncarried(&self) -> Uncarried {
        let discards = self.after_limit == AfterLimit::Discards;
        Uncarried {
            waiting: (self.waiting.len() + self.in_flight.len()) as u64,
            given_up: if discards { self.counts.excessive_collisions } else { 0 },
            unnoticed: self.counts.unnoticed,
        }
    }

    /// Takes back what has not left, or only just and after collisions; how many frames.
    pub(super) fn withdraw(&mut self) -> u64 {
        let before = self.uncarried().waiting;
        self.waiting.clear();
        self.in_flight.retain(|sent| !sent.is_again);
        before - self.uncarried().waiting
    }

    /// Takes the frame off the medium that started then.
    fn take_off(&mut self, started: Instant) -> Option<InFlight> {
        let index = self.in_flight.iter().rposition(|sent| sent.started == started)?;
        self.in_flight.remove(index)
    }

    /// The frame on the medium that started then is lost, and the station knows nothing of it.
    pub(super) fn lose_unnoticed(&mut self, started: Instant) {
        self.counts.unnoticed += u64::from(self.take_off(started).is_some());
    }

    /// Takes back the frame on the medium, whose jam ends at `ends`, and waits 0 to 2^n - 1 slot times
    /// after collision n (truncated binary exponential back-off).
    pub(super) fn back_off(
        &mut self,
        (started, ends): (Instant, Instant),
        slot: Duration,
        is_late: bool,
        random: &mut Xoshiro256PlusPlus,
    ) {
        self.counts.collisions += 1;
        self.counts.late_collisions += u64::from(is_late);
        let Some(sent) = self.take_off(started) else { return };
        let InFlight { started: since, frame, collisions, has_deferred, .. } = sent;
        let collisions = collisions + 1;
        let mut again = Waiting { since, frame, is_again: true, collisions, has_deferred };
        self.backoff_until = ends;
        if again.collisions == ATTEMPTS_MAX {
            self.counts.excessive_collisions += 1;
            (again.collisions, again.has_deferred) = (0, false);
            if self.after_limit == AfterLimit::Discards {
                return;
            }
        } else {
            let slots = random.next_u64() >> (64 - again.collisions.min(BACKOFF_BITS_MAX));
            self.backoff_until = ends + slot * slots;
        }
        self.waiting.push_front(again);
    }
}
