//! Reno's window (RFC 5681), in packets.

use super::{INITIAL_WINDOW, Window};
use units::{Duration, Instant};

#[derive(Debug)]
pub struct Reno {
    window: f64,
    threshold: f64,
}

impl Reno {
    pub fn new() -> Reno {
        Reno { window: INITIAL_WINDOW, threshold: f64::INFINITY }
    }
}

impl Window for Reno {
    fn packets(&self) -> f64 {
        self.window
    }
    fn acknowledged(&mut self, _now: Instant, _round_trip: Duration, _begins: bool) {
        self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
    }
    fn lost(&mut self, _now: Instant) {
        self.threshold = (self.window / 2.0).max(2.0);
        self.window = self.threshold;
    }
    fn timed_out(&mut self) {
        self.threshold = (self.window / 2.0).max(2.0);
        self.window = 1.0;
    }
}
