//! How much a transmitter that fell behind caught up with, by sending faster than intended.
//!
//! A stall itself harms no device: it only delays frames. What follows does: to be back on
//! schedule the tester sends a bunch faster than its rate, and a device may lose frames of a bunch
//! that it would not lose of the intended load. Lateness falls by exactly what a bunch catches up
//! with, so the falls of lateness, added up, bound what bunches can have cost: with lateness
//! fallen by `d` at rate `r`, `d * r` frames more left than the schedule allowed in that time.
//!
//! ```text
//! lateness   peak
//!   ^        /\  peak          counted: both falls, from each peak to the trough after it
//!   |       /  \/\             ignored: ups and downs smaller than the bound of lateness
//!   |______/      \____
//! ```

use serde::{Deserialize, Serialize};
use units::Duration;

/// The falls of lateness so far. The transmit program of the `xdp` port counts the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatchUp {
    /// Falls that are over, added up.
    pub ended: Duration,
    /// How often lateness began to fall.
    pub bunches: u64,
    /// Whether it is falling now.
    pub is_falling: bool,
    /// Where it began to fall.
    pub peak: Duration,
    /// The lowest since it began to fall; before that, the highest.
    pub extreme: Duration,
}

impl CatchUp {
    /// Takes in the lateness of the next frame. It has turned when it is more than `bound` away
    /// from the last extreme.
    #[inline]
    pub fn observe(&mut self, lateness: Duration, bound: Duration) {
        if self.is_falling {
            if lateness <= self.extreme {
                self.extreme = lateness;
            } else if lateness > self.extreme + bound {
                self.ended = self.total();
                self.is_falling = false;
                self.extreme = lateness;
            }
        } else if lateness >= self.extreme {
            self.extreme = lateness;
        } else if lateness + bound < self.extreme {
            self.is_falling = true;
            self.bunches += 1;
            self.peak = self.extreme;
            self.extreme = lateness;
        }
    }

    /// All falls of lateness, that under way included.
    pub fn total(&self) -> Duration {
        let fallen = self.peak.saturating_sub(self.extreme);
        if self.is_falling { self.ended + fallen } else { self.ended }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOUND: Duration = Duration::from_us(20);

    fn of(lateness_us: &[u64]) -> CatchUp {
        let mut catch_up = CatchUp::default();
        lateness_us.iter().for_each(|us| catch_up.observe(Duration::from_us(*us), BOUND));
        catch_up
    }

    #[test]
    fn each_fall_counts_from_its_peak_to_its_trough() {
        let catch_up = of(&[0, 5, 100, 90, 70, 50, 30, 120, 60, 0, 0]);
        assert_eq!(catch_up.total(), Duration::from_us(70 + 120));
        assert_eq!(catch_up.bunches, 2);
    }

    #[test]
    fn small_ups_and_downs_and_stalls_never_caught_up_with_do_not_count() {
        assert_eq!(of(&[0, 19, 0, 20, 1, 15, 0]).total(), Duration::ZERO);
        assert_eq!(of(&[0, 100, 200, 300, 290, 300]).total(), Duration::ZERO);
        assert_eq!(of(&[0, 100, 60, 70, 60, 75, 40]).total(), Duration::from_us(60));
    }

    proptest! {
        /// With every turn counted the falls are the sum of all steps down; a bound only hides
        /// falls that are no larger than itself.
        #[test]
        fn falls_are_all_steps_down(lateness_us in proptest::collection::vec(0u64..500, 1..100)) {
            let exact: u64 = lateness_us.windows(2).map(|w| w[0].saturating_sub(w[1])).sum();
            let mut catch_up = CatchUp::default();
            lateness_us.iter().for_each(|us| catch_up.observe(Duration::from_us(*us), Duration::ZERO));
            prop_assert_eq!(catch_up.total(), Duration::from_us(exact));
            let bounded = of(&lateness_us).total().as_ns() / 1_000;
            prop_assert!(bounded <= exact);
            let highest = *lateness_us.iter().max().unwrap();
            let last = *lateness_us.last().unwrap();
            prop_assert!(bounded + 20 >= highest - last);
        }
    }
}
