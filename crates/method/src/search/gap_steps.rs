//! Steps of the gap between frames: it is raised until no frame is lost, and then taken back until
//! a reduction by one step would lose some (the "max rate" test of Bradner's router tests of 1990,
//! Harvard University; the operator's choice of the next gap is ours: strides double on the way
//! up and halve on the way back).
//!
//! Loads are thus spaced as the gap settings of a tester are: finely where they are low.

use super::{Bounds, LoadVerdict, Range, Search};

/// See the module.
#[derive(Clone, Debug)]
pub struct GapSteps {
    range: Range,
    /// One step as a share of the interval from frame to frame at the highest load.
    step: f64,
    /// In steps above the smallest gap: the largest known to lose frames, the smallest known not to.
    too_small: Option<u64>,
    enough: Option<u64>,
    bounds: Bounds,
}

impl GapSteps {
    /// A search over `range`, whose highest load has the smallest gap, in steps of this share of
    /// the interval from frame to frame there (above 0).
    pub fn new(range: Range, step: f64) -> Self {
        let min = range.min.clamp(1, range.max.max(1));
        let range = Range { min, max: range.max };
        GapSteps { range, step, too_small: None, enough: None, bounds: Bounds::default() }
    }

    /// The load with a gap of so many steps above the smallest.
    fn load(&self, steps: u64) -> u64 {
        let load = self.range.max as f64 / (1.0 + steps as f64 * self.step);
        (load as u64).max(self.range.min)
    }

    /// Steps to the first gap of the lowest load.
    fn last_step(&self) -> u64 {
        let ratio = self.range.max as f64 / self.range.min as f64;
        ((ratio - 1.0) / self.step).ceil() as u64
    }

    fn next_gap(&self) -> Option<u64> {
        match (self.too_small, self.enough) {
            (None, None) => Some(0),
            (None, Some(_)) => None,
            (Some(small), None) if small >= self.last_step() => None,
            // 0, 1, 3, 7, ...
            (Some(small), None) => Some((2 * small + 1).min(self.last_step())),
            (Some(small), Some(enough)) => {
                let is_one_step = enough - small <= 1;
                // Two gaps may round to the same load.
                let is_same = self.load(small) <= self.load(enough) + 1;
                (!is_one_step && !is_same).then(|| small + (enough - small) / 2)
            }
        }
    }
}

impl Search for GapSteps {
    type Load = u64;
    type TrialOutput = LoadVerdict;

    fn next_load(&self) -> Option<u64> {
        self.next_gap().map(|gap| self.load(gap))
    }

    fn record(&mut self, load: u64, outcome: LoadVerdict) {
        let Some(gap) = self.next_gap() else { return };
        match outcome {
            LoadVerdict::Passed => {
                self.enough = Some(gap);
                self.bounds.lower = self.bounds.lower.max(Some(load));
            }
            failed => {
                self.too_small = Some(gap);
                self.bounds.fail(load, failed);
            }
        }
    }

    fn bounds(&self) -> Bounds {
        self.bounds
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Upper, drive};
    use super::*;
    use proptest::prelude::*;

    const RANGE: Range = Range { min: 1_000, max: 1_000_000 };

    fn search(step: f64, capacity: u64) -> (Vec<u64>, Bounds) {
        let mut tried = vec![];
        let mut search = GapSteps::new(RANGE, step);
        let bounds = drive(&mut search, |load, _| {
            tried.push(load);
            let failed = LoadVerdict::Failed { lost_frames: 1 };
            Ok::<_, ()>(if load <= capacity { LoadVerdict::Passed } else { failed })
        });
        (tried, bounds.unwrap())
    }

    /// Steps of a quarter of the shortest interval: the loads are 4/4, 4/5, 4/7, 4/11 of the
    /// highest; then back by halves.
    #[test]
    fn the_gap_is_raised_until_nothing_is_lost_and_then_taken_back() {
        let (tried, bounds) = search(0.25, 450_000);
        assert_eq!(tried, vec![1_000_000, 800_000, 571_428, 363_636, 444_444, 500_000]);
        assert_eq!((bounds.lower, bounds.upper), (Some(444_444), Some((500_000, Upper::Failed))));
    }

    #[test]
    fn a_device_that_carries_the_smallest_gap_needs_one_trial() {
        assert_eq!(search(0.1, 1_000_000).0, vec![1_000_000]);
    }

    #[test]
    fn a_device_that_carries_nothing_is_tried_down_to_the_lowest_load() {
        let (tried, bounds) = search(0.1, 0);
        assert_eq!(tried.last(), Some(&1_000));
        assert_eq!((bounds.lower, bounds.upper), (None, Some((1_000, Upper::Failed))));
    }

    proptest! {
        /// One step less of a gap and frames are lost.
        #[test]
        fn a_reduction_by_one_step_would_not_pass(step in 0.0005f64..1.0, capacity in 0u64..1_100_000) {
            let (tried, bounds) = search(step, capacity);
            prop_assert!(tried.len() < 50);
            match (bounds.lower, bounds.upper) {
                (Some(lower), Some((upper, why))) => {
                    prop_assert_eq!(why, Upper::Failed);
                    prop_assert!(lower <= capacity && capacity < upper);
                    // In intervals of the highest load.
                    let interval = |load: u64| RANGE.max as f64 / load as f64;
                    let rounding = 2.0 * interval(lower) / lower as f64;
                    prop_assert!(interval(lower) - interval(upper) <= step * 1.000_001 + rounding);
                }
                (Some(lower), None) => prop_assert!(lower == RANGE.max && capacity >= lower),
                (None, upper) => {
                    prop_assert!(capacity < RANGE.min);
                    prop_assert_eq!(upper, Some((RANGE.min, Upper::Failed)));
                }
            }
        }

        /// Undecided loads never become the device's.
        #[test]
        fn undecided_loads_decide_nothing(capacity in 0u64..1_100_000, tester in 0u64..1_100_000) {
            let mut search = GapSteps::new(RANGE, 0.01);
            let bounds = drive(&mut search, |load, _| Ok::<_, ()>(match load {
                load if load > tester => LoadVerdict::Undecided,
                load if load > capacity => LoadVerdict::Failed { lost_frames: 1 },
                _ => LoadVerdict::Passed,
            })).unwrap();
            prop_assert!(bounds.lower.is_none_or(|lower| lower <= capacity.min(tester)));
            match bounds.upper {
                Some((upper, Upper::Failed)) => prop_assert!(upper > capacity && upper <= tester),
                Some((upper, Upper::Undecided)) => prop_assert!(upper > tester),
                None => prop_assert_eq!(bounds.lower, Some(RANGE.max)),
            }
        }
    }
}
