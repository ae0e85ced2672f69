//! Packet sockets stamp arrivals with CLOCK_REALTIME; the tester counts in CLOCK_MONOTONIC. Both
//! run from the same counter at the same pace, so their difference is a constant, until somebody
//! sets the time of day.

use crate::clock;
use units::Instant;

/// Readings of which the one taken in the shortest time is kept.
const READINGS: usize = 64;
/// Beyond this a difference is not reading noise. Reading both clocks takes tens of nanoseconds;
/// only an interrupted reading takes longer, and that is read again.
const TOLERANCE_NS: u64 = 2_000;

/// What to subtract from CLOCK_REALTIME to get CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub(super) struct RealtimeOffset {
    offset_ns: u64,
    was_set: bool,
}

impl RealtimeOffset {
    /// Measures it, to about ten nanoseconds.
    pub fn measure() -> Self {
        let (_, offset_ns) = (0..READINGS).map(|_| read()).min().expect("some readings");
        RealtimeOffset { offset_ns, was_set: false }
    }

    /// The point on the tester's clock.
    #[inline]
    pub fn to_monotonic(self, seconds: u32, nanoseconds: u32) -> Instant {
        let realtime_ns = u64::from(seconds) * 1_000_000_000 + u64::from(nanoseconds);
        Instant::from_ns(clock::mapped(realtime_ns.saturating_sub(self.offset_ns)))
    }

    /// Looks whether the difference still holds, and notes it if not.
    pub fn check(&mut self) {
        let (took, offset) = read();
        if offset.abs_diff(self.offset_ns) > TOLERANCE_NS && took < TOLERANCE_NS / 2 {
            self.was_set = true;
        }
    }

    /// Whether [`check`](Self::check) has found that the time of day was set.
    pub fn was_set(self) -> bool {
        self.was_set
    }
}

/// One reading: (how long it took, difference of the clocks), in nanoseconds.
fn read() -> (u64, u64) {
    let before = clock::read_ns(libc::CLOCK_MONOTONIC);
    let realtime = clock::read_ns(libc::CLOCK_REALTIME);
    let after = clock::read_ns(libc::CLOCK_MONOTONIC);
    (after - before, realtime.saturating_sub(before.midpoint(after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converting_gives_the_time_at_which_the_stamp_was_taken() {
        let offset = RealtimeOffset::measure();
        for _ in 0..1_000 {
            let before = clock::now();
            let stamp_ns = clock::read_ns(libc::CLOCK_REALTIME);
            let after = clock::now();
            let seconds = (stamp_ns / 1_000_000_000) as u32;
            let converted = offset.to_monotonic(seconds, (stamp_ns % 1_000_000_000) as u32);
            // Ten nanoseconds either way are the reading noise of the offset.
            let slack = units::Duration::from_ns(50);
            assert!(converted + slack >= before && after + slack >= converted);
        }
    }

    #[test]
    fn a_clock_set_by_an_hour_is_noticed() {
        let mut offset = RealtimeOffset::measure();
        (0..100).for_each(|_| offset.check());
        assert!(!offset.was_set());
        offset.offset_ns += 3_600_000_000_000;
        offset.check();
        assert!(offset.was_set());
    }
}
