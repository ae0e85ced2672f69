//! The path without a queue: its shortest round trip, and whether it is still known.

/// How long the shortest round trip is believed without being seen again.
const BELIEVED_S: f64 = 3.0;
const BELIEVED_ROUND_TRIPS: f64 = 10.0;
/// Attempts to see it again before a longer one is believed, and the time between two.
const ATTEMPTS: u32 = 6;
const BETWEEN_S: f64 = 1.0;
const BETWEEN_ROUND_TRIPS: f64 = 4.0;
/// Shortest time between two attempts while the queue is too long.
const LONG_S: f64 = 0.3;
/// Attempts of who came to a queue that was full.
const DOUBTS: u32 = 4;
/// A hidden queue is let run empty from this length on.
const HIDDEN_S: f64 = 0.001;
/// Round trips within so much of the shortest one, as a share of the queue aimed at, are it.
const NEAR: f64 = 0.2;

/// The shortest round trip.
#[derive(Clone, Copy, Debug, Default)]
pub struct Base {
    shortest_s: Option<f64>,
    /// What the transfer's own first packets may have added to it.
    hidden_s: f64,
    hidden_attempts: u32,
    /// Attempts to come, however often the shortest is seen.
    doubts: u32,
    seen_s: f64,
    attempts: u32,
    tried_s: f64,
    /// Until then next to nothing was sent.
    empties_until_s: f64,
    /// Shortest since the first attempt.
    since_first_attempt_s: Option<f64>,
}

impl Base {
    pub fn shortest_s(&self) -> Option<f64> {
        self.shortest_s
    }
    /// So much of the shortest round trip may be a queue that this transfer made itself.
    pub fn hidden_s(&self) -> f64 {
        self.hidden_s
    }
    /// Up to so many packets were before the one with the shortest round trip.
    pub fn hide(&mut self, packets: f64, service_pps: f64) {
        self.hidden_s = (packets / service_pps).min(self.shortest_s.unwrap_or(0.0));
    }

    /// What came first met a queue that was full: the path without one is shorter.
    pub fn doubt(&mut self) {
        self.doubts = DOUBTS;
    }
    /// So much of the shortest round trip may be a queue that others made.
    pub fn doubted_s(&self) -> f64 {
        if self.doubts > 0 { self.shortest_s.unwrap_or(0.0) / 2.0 } else { 0.0 }
    }

    /// A round trip was `round_trip_s`, where a queue of `aim_s` is aimed at.
    pub fn observe(&mut self, now_s: f64, round_trip_s: f64, aim_s: f64) {
        let shorter = self.shortest_s.is_none_or(|shortest| round_trip_s < shortest);
        if let (true, Some(old)) = (shorter, self.shortest_s) {
            self.hidden_s = (self.hidden_s - (old - round_trip_s)).max(0.0);
        }
        if shorter {
            self.shortest_s = Some(round_trip_s);
        }
        if self.shortest_s.is_some_and(|shortest| round_trip_s <= shortest + NEAR * aim_s) {
            self.seen_s = now_s;
            self.attempts = 0;
            self.since_first_attempt_s = None;
        } else if self.attempts > 0 {
            let least = self.since_first_attempt_s.unwrap_or(f64::INFINITY);
            self.since_first_attempt_s = Some(least.min(round_trip_s));
        }
    }

    /// Whether it is time to let the queue run empty; `long` if it has been longer than it should
    /// be for some rounds, as when others have come who do not know the path without it.
    ///
    /// What was heard last left at `left_s`: before an attempt was seen, there is no other.
    pub fn wants_emptying(&mut self, now_s: f64, left_s: f64, long: bool) -> bool {
        let Some(shortest) = self.shortest_s else { return false };
        if left_s < self.empties_until_s {
            return false;
        }
        if self.hidden_s > HIDDEN_S || self.doubts > 0 && now_s - self.tried_s > BETWEEN_S {
            return true;
        }
        if long && now_s - self.tried_s > LONG_S.max(BETWEEN_ROUND_TRIPS * shortest) {
            return true;
        }
        let old = now_s - self.seen_s > BELIEVED_S.max(BELIEVED_ROUND_TRIPS * shortest);
        let again = now_s - self.tried_s > BETWEEN_S.max(BETWEEN_ROUND_TRIPS * shortest);
        if old && again && self.attempts >= ATTEMPTS {
            // The path itself has become longer, or others keep the queue full.
            self.shortest_s = self.since_first_attempt_s.or(self.shortest_s);
            self.attempts = 0;
            self.seen_s = now_s;
            self.since_first_attempt_s = None;
            return false;
        }
        old && again
    }
    /// An attempt begins, and ends at `until_s`.
    pub fn emptied(&mut self, now_s: f64, until_s: f64) {
        self.attempts += 1;
        self.doubts = self.doubts.saturating_sub(1);
        self.tried_s = now_s;
        self.empties_until_s = until_s;
        // The first one may come too early to reach all of it.
        self.hidden_attempts += u32::from(self.hidden_s > 0.0);
        if self.hidden_attempts >= 2 {
            self.hidden_s = 0.0;
        }
    }
}
