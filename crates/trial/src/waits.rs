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
/// Where nothing has come at all, it is waited for no less: as RFC 2544 section 23 d.
const NOTHING_YET: Duration = Duration::from_secs(2);

/// Whoever waits looks at least so often where the machine is not late. A look that comes later, or a thread that
/// has not had its turn for so long, says that the machine is.
pub const LATE_FROM: Duration = Duration::from_ms(20);
/// A machine that has been late for longer than this in all is waited for no longer.
pub const LATE_MAX: Duration = Duration::from_secs(5);

/// A wait that counts only while the machine is not late: whoever was to act meanwhile has not had the time to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    begun: Instant,
    looked_at: Instant,
    late: Duration,
}

impl Patience {
    /// Begins to wait.
    pub fn begin(now: Instant) -> Self {
        Patience { begun: now, looked_at: now, late: Duration::ZERO }
    }

    /// Looks at the clock. `held_up`: somebody who is waited for has not had a turn since the last look.
    pub fn look(&mut self, now: Instant, held_up: bool) {
        let step = now.since(self.looked_at);
        if held_up {
            self.late += step;
        } else if step > LATE_FROM {
            self.late += step.saturating_sub(LATE_FROM);
        }
        self.looked_at = now;
    }

    /// For how long the machine was late.
    pub fn late(&self) -> Duration {
        self.late
    }

    /// How long was waited, as far as it counts.
    pub fn waited(&self) -> Duration {
        self.looked_at.since(self.begun).saturating_sub(self.late)
    }

    /// Whether the machine has been late for so long that waiting says nothing.
    pub fn is_exhausted(&self) -> bool {
        self.late > LATE_MAX
    }
}

/// The waiting times of RFC 2544 section 23.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Waits {
    /// After the last frame left, for residual frames (d): not less where frames are missing.
    pub drain: Duration,
    /// Not more, even where the device still delivers frames.
    pub drain_max: Duration,
    /// Where nothing at all has come: longer than any frame is known to have taken.
    pub nothing_yet: Duration,
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
    /// When the last frame of an earlier trial arrived, if any has: the device was not empty.
    pub last_leftover: Option<Instant>,
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
    /// Residual frames are waited for for `drain` where frames are missing, and until nothing arrives any
    /// more, `drain_max` at most.
    pub const fn until_silence(drain: Duration, drain_max: Duration, settle: Duration) -> Self {
        Waits { drain, drain_max, nothing_yet: NOTHING_YET, settle }
    }

    /// As RFC 2544 section 23 has them, 2 s and 5 s, and no longer.
    pub const RFC2544: Waits = Waits::fixed(Duration::from_secs(2), Duration::from_secs(5));

    /// Residual frames are waited for for exactly so long.
    pub const fn fixed(drain: Duration, settle: Duration) -> Self {
        Waits { drain, drain_max: drain, nothing_yet: NOTHING_YET, settle }
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
        let quiet = silence(residue.longest_delay.unwrap_or(QUIET_MIN));
        // Looking at the clock takes a moment.
        ended_at.since(last_event) + Duration::from_ms(2) < quiet
    }

    /// When the wait for residual frames is over if nothing else arrives: once nothing has arrived
    /// for half as long again as the slowest frame so far took, so that a frame still under way would
    /// have taken far longer than any before it.
    pub fn drained_at(&self, residue: &Residue) -> Instant {
        let Residue { last_departure, last_arrival, last_leftover, longest_delay, outcome } =
            *residue;
        let at_most = last_departure + self.longest_drain();
        let last_event =
            last_departure.max(last_arrival.max(last_leftover).unwrap_or(last_departure));
        let delay = longest_delay.unwrap_or(QUIET_UNKNOWN);
        let over = match (outcome, last_arrival) {
            (Residual::NothingExpected, _) => last_departure + self.drain,
            (Residual::Complete, _) => last_event + delay.max(QUIET_COMPLETE),
            (Residual::Missing, None) => {
                let wait = self.nothing_yet.max(NOTHING_YET);
                (last_event + wait).max(last_departure + self.drain)
            }
            (Residual::Missing, Some(_)) => {
                (last_event + silence(delay)).max(last_departure + self.drain)
            }
        };
        over.min(at_most)
    }
}

/// With frames missing so much silence says that none of them is under way, where none has taken longer
/// than `delay`: the next one may take somewhat longer.
fn silence(delay: Duration) -> Duration {
    (delay + Duration::from_ps(delay.as_ps() / 2)).max(QUIET_MIN)
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
            last_leftover: None,
            longest_delay: Some(MS(delay_ms)),
            outcome,
        }
    }

    #[test]
    fn a_wait_counts_only_while_the_machine_is_not_late() {
        let mut patience = Patience::begin(at(0));
        (1..=100).for_each(|ms| patience.look(at(ms), false));
        assert_eq!((patience.waited(), patience.late()), (MS(100), Duration::ZERO));
        // The next look comes 500 ms later: 20 ms of it may be an ordinary one.
        patience.look(at(600), false);
        assert_eq!((patience.waited(), patience.late()), (MS(120), MS(480)));
        // Looks are in time, but a thread that is waited for has no turn.
        (601..=700).for_each(|ms| patience.look(at(ms), true));
        assert_eq!((patience.waited(), patience.late()), (MS(120), MS(580)));
        patience.look(at(701), false);
        assert_eq!(patience.waited(), MS(121));
        assert!(!patience.is_exhausted());
        patience.look(at(5_200), false);
        assert!(patience.is_exhausted(), "{patience:?}");
    }

    #[test]
    fn a_quick_device_is_waited_for_briefly_and_a_slow_one_for_its_own_delay() {
        let waits = Waits::until_silence(MS(0), MS(10_000), MS(0));
        assert_eq!(waits.drained_at(&residue(Some(1_000), 0, Complete)), at(1_010));
        assert_eq!(waits.drained_at(&residue(Some(1_000), 0, Missing)), at(1_020));
        assert_eq!(waits.drained_at(&residue(Some(1_900), 900, Missing)), at(3_250));
        assert_eq!(waits.drained_at(&residue(None, 0, Missing)), at(3_000));
        assert_eq!(waits.drained_at(&residue(None, 0, NothingExpected)), at(1_000));
    }

    #[test]
    fn the_wait_has_a_least_and_a_greatest_length() {
        let waits = Waits::until_silence(MS(2_000), MS(5_000), MS(0));
        assert_eq!(waits.drained_at(&residue(Some(1_001), 1, Missing)), at(3_000));
        assert_eq!(waits.drained_at(&residue(Some(2_900), 1_000, Missing)), at(4_400));
        assert_eq!(waits.drained_at(&residue(Some(5_900), 4_000, Missing)), at(6_000));
        let fixed = Waits::fixed(MS(100), MS(0));
        assert_eq!(fixed.drained_at(&residue(Some(1_050), 300, Missing)), at(1_100));
    }

    /// Four frames a device served one by one: the last one took 60 us longer than the three before it, of
    /// which each took 57 ms.
    #[test]
    fn a_frame_that_takes_a_little_longer_is_waited_for() {
        let waits = Waits::until_silence(MS(0), MS(10_000), MS(0));
        let before = residue(Some(998), 57, Missing);
        assert!(waits.drained_at(&before) >= at(1_057) + Duration::from_us(60));
        assert!(waits.cut_short(&before, at(1_057)));
    }

    #[test]
    fn a_device_that_has_shown_nothing_is_waited_for_as_long_as_it_is_known_to_keep_frames() {
        let waits = Waits::until_silence(MS(0), MS(10_000), MS(0));
        let slow = Waits { nothing_yet: MS(6_000), ..waits };
        assert_eq!(slow.drained_at(&residue(None, 0, Missing)), at(7_000));
        let slower = Waits { nothing_yet: MS(60_000), ..waits };
        assert_eq!(slower.drained_at(&residue(None, 0, Missing)), at(11_000), "and no longer");
        // Frames of the trial before still came 3 s after the last one left.
        let behind = Residue { last_leftover: Some(at(4_000)), ..residue(None, 0, Missing) };
        assert_eq!(waits.drained_at(&behind), at(6_000));
    }
}
