//! Pacing that cannot harm: how much of its lateness a transmitter makes up for, and how much it
//! gives up.
//!
//! A transmitter that was held up is behind its schedule. Were it to send faster until it is back,
//! it would offer bunches that nobody asked for, and a device that loses frames of a bunch would be
//! blamed for the tester's doing. So a transmitter makes up for no more than its *credit*: the rest
//! of the lateness is given up, and every later departure moves by as much. The load is then that
//! of a token bucket: at any time at most the intended rate and, beyond it, the frames of one
//! credit.
//!
//! ```text
//! lateness  |\                      held up for d, credit c:
//!           | \  d - c given up     the schedule slips by d - c,
//!        c  |..\____                only c is made up for
//!           |       \____
//! ```
//!
//! Hence a loss is the device's, at a load that never exceeded the intended rate and credit; and a
//! trial without loss proves that the device carried the load that was really offered.

use serde::{Deserialize, Serialize};
use units::Duration;

/// What a transmitter gave up of its lateness. The transmit program of the `xdp` port counts the
/// same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slips {
    /// The most lateness that is made up for.
    pub credit: Duration,
    /// By how much the end of the schedule has moved.
    pub total: Duration,
    /// How often it moved.
    pub times: u64,
}

impl Slips {
    /// A transmitter that makes up for this much.
    pub fn new(credit: Duration) -> Self {
        Slips { credit, ..Slips::default() }
    }

    /// Takes in the lateness of the frame that has just left.
    #[inline]
    pub fn observe(&mut self, lateness: Duration) {
        if lateness > self.credit {
            self.total += lateness.saturating_sub(self.credit);
            self.times += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_exceeds_the_credit_is_given_up() {
        let us = Duration::from_us;
        let mut slips = Slips::new(us(100));
        [0, 99, 100].into_iter().for_each(|late| slips.observe(us(late)));
        assert_eq!((slips.total, slips.times), (Duration::ZERO, 0));
        slips.observe(us(5_100));
        slips.observe(us(101));
        assert_eq!((slips.total, slips.times), (us(5_001), 2));
    }
}
