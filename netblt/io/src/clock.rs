//! The clock that NETBLT's timers run on: monotonic, from zero.

use std::time::Instant as Std;
use units::{Duration, Instant};

/// Time since this clock was made.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Std);

impl Clock {
    /// Zero is now.
    pub fn start() -> Clock {
        Clock(Std::now())
    }
    /// The time now.
    pub fn now(&self) -> Instant {
        Instant::ZERO + Duration::from_ns(self.0.elapsed().as_nanos() as u64)
    }
}
