//! The waiting times of a trial (RFC 2544 section 23), and when the wait for residual frames is
//! over.

use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

/// With frames missing, silence of less than this proves nothing: so long a device, its queue or
/// the tester's own rings may keep frames for want of a processor.
const QUIET_MIN: Duration = Duration::from_ms(20);
/// With nothing missing only a second copy of a frame could still come.
const QUIET_COMPLETE: Duration = Duration::from_ms(10);
/// Silence that is waited for where frames carry no transmit time, so that no delay is known.
const QUIET_UNKNOWN: Duration = Duration::from_ms(200);
/// Where nothing has come at all, it is waited for so long: as RFC 2544 section 23 d.
const NOTHING_YET: Duration = Duration::from_secs(2);

/// The waiting times of RFC 2544 section 23.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Waits {
    /// After the last frame left, for residual frames (d): not less where frames are missing.
    pub drain: Duration,
    /// Not more, even where the device still delivers frames.
    pub drain_max: Duration,
    /// After that, for the device to settle before the next trial (e).
    pub settle: Duration,
}

/// What is known of residual frames at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Residue {
    /// When the last frame left.
    pub last_departure: Instant,
    /// When the last frame of the trial arrived, if any has.
    pub last_arrival: Option<Instant>,
    /// The longest delay of any frame so far; `None` where frames carry no transmit time.
    pub longest_delay: Option<Duration>,
    /// What has come of the frames that should arrive.
    pub outcome: Residual,
}

/// What has come of the frames that should arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Residual {
    /// None should.
    NothingExpected,
    /// Some are missing.
    Missing,
    /// All have arrived.
    Complete,
}

impl Residual {
    /// Where so many frames have arrived of those expected.
    pub fn of(arrived: u64, expected: Option<u64>) -> Self {
        match expected {
            None => Residual::NothingExpected,
            Some(expected) if arrived >= expected => Residual::Complete,
            Some(_) => Residual::Missing,
        }
    }
}

impl Waits {
    /// As RFC 2544 section 23 has them, 2 s and 5 s, and no longer.
    pub const RFC2544: Waits = Waits::fixed(Duration::from_secs(2), Duration::from_secs(5));

    /// Residual frames are waited for for exactly so long.
    pub const fn fixed(drain: Duration, settle: Duration) -> Self {
        Waits { drain, drain_max: drain, settle }
    }

    /// The longest wait for residual frames.
    pub fn longest_drain(&self) -> Duration {
        self.drain_max.max(self.drain)
    }

    /// Whatever arrives, residual frames are waited for for so long, where any are expected or none.
    pub fn least_drain(&self, expects: bool) -> Duration {
        if expects { QUIET_COMPLETE.min(self.longest_drain()) } else { self.drain }
    }

    /// Whether the device was still putting out frames at the end of the wait: what is missing may be
    /// within it.
    pub fn cut_short(&self, residue: &Residue, ended_at: Instant) -> bool {
        let (Residual::Missing, Some(last)) = (residue.outcome, residue.last_arrival) else {
            return false;
        };
        let last_event = last.max(residue.last_departure);
        let quiet = residue.longest_delay.unwrap_or(QUIET_MIN).max(QUIET_MIN);
        // Looking at the clock takes a moment.
        ended_at.since(last_event) + Duration::from_ms(2) < quiet
    }

    /// When the wait for residual frames is over if nothing else arrives: once nothing has arrived
    /// for as long as the slowest frame so far took, so that a frame still under way would have
    /// taken longer than any before it.
    pub fn drained_at(&self, residue: &Residue) -> Instant {
        let Residue { last_departure, last_arrival, longest_delay, outcome } = *residue;
        let at_most = last_departure + self.longest_drain();
        let last_event = last_arrival.map_or(last_departure, |at| at.max(last_departure));
        let delay = longest_delay.unwrap_or(QUIET_UNKNOWN);
        let over = match (outcome, last_arrival) {
            (Residual::NothingExpected, _) => last_departure + self.drain,
            (Residual::Complete, _) => last_event + delay.max(QUIET_COMPLETE),
            (Residual::Missing, None) => last_departure + self.drain.max(NOTHING_YET),
            (Residual::Missing, Some(_)) => {
                (last_event + delay.max(QUIET_MIN)).max(last_departure + self.drain)
            }
        };
        over.min(at_most)
    }
}

#[cfg(test)]
mod tests {
    use super::Residual::*;
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_ms;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + MS(ms)
    }

    /// The last frame left at 1,000 ms.
    fn residue(last_arrival_ms: Option<u64>, delay_ms: u64, outcome: Residual) -> Residue {
        Residue {
            last_departure: at(1_000),
            last_arrival: last_arrival_ms.map(at),
            longest_delay: Some(MS(delay_ms)),
            outcome,
        }
    }

    #[test]
    fn a_quick_device_is_waited_for_briefly_and_a_slow_one_for_its_own_delay() {
        let waits = Waits { drain: Duration::ZERO, drain_max: MS(10_000), settle: MS(0) };
        assert_eq!(waits.drained_at(&residue(Some(1_000), 0, Complete)), at(1_010));
        assert_eq!(waits.drained_at(&residue(Some(1_000), 0, Missing)), at(1_020));
        assert_eq!(waits.drained_at(&residue(Some(1_900), 900, Missing)), at(2_800));
        assert_eq!(waits.drained_at(&residue(None, 0, Missing)), at(3_000));
        assert_eq!(waits.drained_at(&residue(None, 0, NothingExpected)), at(1_000));
    }

    #[test]
    fn the_wait_has_a_least_and_a_greatest_length() {
        let waits = Waits { drain: MS(2_000), drain_max: MS(5_000), settle: MS(0) };
        assert_eq!(waits.drained_at(&residue(Some(1_001), 1, Missing)), at(3_000));
        assert_eq!(waits.drained_at(&residue(Some(2_900), 1_000, Missing)), at(3_900));
        assert_eq!(waits.drained_at(&residue(Some(5_900), 4_000, Missing)), at(6_000));
        let fixed = Waits::fixed(MS(100), MS(0));
        assert_eq!(fixed.drained_at(&residue(Some(1_050), 300, Missing)), at(1_100));
    }
}
