//! Vegas' window (Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
//! Internet", 1995), in packets: it keeps between two and four packets of its own in the queue.

use super::{INITIAL_WINDOW, Window};
use units::{Duration, Instant};

/// Packets in the queue, at least and at most, in congestion avoidance.
const QUEUED: std::ops::RangeInclusive<f64> = 2.0..=4.0;
/// Packets in the queue that end slow start.
const QUEUED_AT_START: f64 = 1.0;

#[derive(Debug)]
pub struct Vegas {
    window: f64,
    slow_start: bool,
    /// In slow start it grows in every other round.
    grows: bool,
    shortest: Option<Duration>,
    shortest_of_round: Option<Duration>,
}

impl Vegas {
    pub fn new() -> Vegas {
        let (shortest, shortest_of_round) = (None, None);
        Vegas { window: INITIAL_WINDOW, slow_start: true, grows: true, shortest, shortest_of_round }
    }

    fn end_round(&mut self) {
        let (Some(base), Some(now)) = (self.shortest, self.shortest_of_round.take()) else {
            return;
        };
        let queued = self.window * (1.0 - base.as_secs_f64() / now.as_secs_f64());
        if self.slow_start {
            self.grows = !self.grows;
            self.slow_start = queued <= QUEUED_AT_START;
        } else if queued < *QUEUED.start() {
            self.window += 1.0;
        } else if queued > *QUEUED.end() {
            self.window = (self.window - 1.0).max(2.0);
        }
    }
}

impl Window for Vegas {
    fn packets(&self) -> f64 {
        self.window
    }
    fn acknowledged(&mut self, _now: Instant, round_trip: Duration, begins: bool) {
        let least = |old: Option<Duration>| Some(old.map_or(round_trip, |old| old.min(round_trip)));
        self.shortest = least(self.shortest);
        if begins {
            self.end_round();
        }
        self.shortest_of_round = least(self.shortest_of_round);
        if self.slow_start && self.grows {
            self.window += 1.0;
        }
    }
    fn lost(&mut self, _now: Instant) {
        self.slow_start = false;
        self.window = (self.window * 0.75).max(2.0);
    }
    fn timed_out(&mut self) {
        self.slow_start = false;
        self.window = 2.0;
    }
}
