//! The most that all connections of a station send together.

use units::{Duration, Instant};

/// What a station may be ahead of its rate by, in time: a turn of its loop, and some more.
const DEPTH: Duration = Duration::from_ms(5);

/// When bytes may leave.
#[derive(Clone, Copy, Debug)]
pub struct Cap {
    /// None for no bound.
    ps_per_byte: Option<f64>,
    /// All that left is paid for by then.
    paid: Instant,
    /// The last time that was looked at.
    now: Instant,
}

impl Cap {
    /// Anything may leave.
    pub fn none() -> Cap {
        Cap { ps_per_byte: None, paid: Instant::ZERO, now: Instant::ZERO }
    }
    /// At most this rate from `now` on.
    pub fn of(bits_per_s: f64, now: Instant) -> Cap {
        Cap { ps_per_byte: Some(8e12 / bits_per_s), paid: now, now }
    }
    /// Whether a packet may leave.
    pub fn is_free(&mut self, now: Instant) -> bool {
        self.now = now;
        self.paid <= now + DEPTH
    }
    /// When one may.
    pub fn free_at(&self) -> Instant {
        Instant::from_ps(self.paid.as_ps().saturating_sub(DEPTH.as_ps()))
    }
    /// Bytes leave.
    pub fn takes(&mut self, bytes: usize) {
        if let Some(ps) = self.ps_per_byte {
            self.paid = self.paid.max(self.now) + Duration::from_ps((ps * bytes as f64) as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_leaves_than_the_rate_and_what_it_is_ahead_by() {
        let (mut now, mut bytes) = (Instant::ZERO, 0u64);
        let mut cap = Cap::of(80e6, now);
        while now < Instant::ZERO + Duration::from_secs(1) {
            while cap.is_free(now) {
                cap.takes(1000);
                bytes += 1000;
            }
            assert!(cap.free_at() > now);
            now += Duration::from_us(300);
        }
        // 10 MB a second; 5 ms are 50 kB.
        assert!((10_000_000..=10_052_000).contains(&bytes), "{bytes}");
        let mut free = Cap::none();
        free.takes(usize::MAX / 2);
        assert!(free.is_free(Instant::ZERO));
    }
}
