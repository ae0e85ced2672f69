//! Binary search for the highest load that passes: the maximum first (a device that carries it
//! needs one trial), then always the middle (RFC 2544 section 26.1; ETSI GS NFV-TST 009 section
//! 12.3.2).

use super::{Bounds, LoadVerdict, Range, Resolution, Search};

/// See the module.
#[derive(Clone, Debug)]
pub struct Bisect {
    range: Range,
    resolution: Resolution,
    bounds: Bounds,
}

impl Bisect {
    /// A search over `range` down to `resolution`.
    pub fn new(range: Range, resolution: Resolution) -> Self {
        let min = range.min.clamp(1, range.max.max(1));
        Bisect { range: Range { min, max: range.max }, resolution, bounds: Bounds::default() }
    }
}

impl Search for Bisect {
    type Load = u64;
    type TrialOutput = LoadVerdict;

    fn next_load(&self) -> Option<u64> {
        let lower = self.bounds.lower.unwrap_or(0);
        let Some((upper, _)) = self.bounds.upper else {
            return (lower < self.range.max).then_some(self.range.max);
        };
        if upper <= self.range.min {
            return None;
        }
        let is_met = self.bounds.lower.is_some() && self.resolution.is_met(lower, upper);
        (!is_met).then(|| (lower + (upper - lower) / 2).max(self.range.min))
    }

    fn record(&mut self, load: u64, outcome: LoadVerdict) {
        match outcome {
            LoadVerdict::Passed => self.bounds.lower = self.bounds.lower.max(Some(load)),
            failed => self.bounds.fail(load, failed),
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

    const FINE: Resolution = Resolution { absolute: 1, relative: 0.0 };

    /// The loads tried on a device that carries `capacity`, and the bounds found.
    fn search(range: Range, resolution: Resolution, capacity: u64) -> (Vec<u64>, Bounds) {
        let mut tried = vec![];
        let mut bisect = Bisect::new(range, resolution);
        let bounds = drive(&mut bisect, |load, _| {
            tried.push(load);
            let failed = LoadVerdict::Failed { lost_frames: load.saturating_sub(capacity) };
            Ok::<_, ()>(if load <= capacity { LoadVerdict::Passed } else { failed })
        });
        (tried, bounds.unwrap())
    }

    #[test]
    fn a_device_that_carries_the_maximum_needs_one_trial() {
        let (tried, bounds) = search(Range { min: 1, max: 1_000 }, FINE, 1_000);
        assert_eq!(tried, vec![1_000]);
        assert_eq!((bounds.lower, bounds.upper), (Some(1_000), None));
    }

    #[test]
    fn a_device_that_carries_nothing_is_tried_down_to_the_minimum() {
        let (tried, bounds) = search(Range { min: 10, max: 1_000 }, FINE, 0);
        assert_eq!(tried, vec![1_000, 500, 250, 125, 62, 31, 15, 10]);
        assert_eq!((bounds.lower, bounds.upper), (None, Some((10, Upper::Failed))));
    }

    proptest! {
        #[test]
        fn the_truth_lies_within_the_resolution(
            min in 1u64..100, span in 0u64..1 << 40, capacity: u64,
            absolute in 1u64..1_000, relative in 0.0f64..0.1,
        ) {
            let range = Range { min, max: min + span };
            let capacity = capacity % (range.max + 10);
            let resolution = Resolution { absolute, relative };
            let (tried, bounds) = search(range, resolution, capacity);
            prop_assert!(tried.len() < 64 && tried.iter().all(|load| (min..=range.max).contains(load)));
            match bounds.upper {
                None => prop_assert!(bounds.lower == Some(range.max) && range.max <= capacity),
                Some((upper, _)) => {
                    prop_assert!(upper > capacity);
                    match bounds.lower {
                        None => prop_assert_eq!(upper, range.min),
                        Some(lower) => {
                            prop_assert!(lower <= capacity);
                            let allowed = (absolute as f64).max(upper as f64 * relative);
                            prop_assert!((upper - lower) as f64 <= allowed);
                        }
                    }
                }
            }
        }

        /// Undecided loads never become the device's, whatever the device carries.
        #[test]
        fn undecided_loads_decide_nothing(capacity in 0u64..2_000, tester in 0u64..2_000) {
            let mut bisect = Bisect::new(Range { min: 1, max: 1_000 }, FINE);
            let bounds = drive(&mut bisect, |load, _| Ok::<_, ()>(match load {
                load if load > tester => LoadVerdict::Undecided,
                load if load > capacity => LoadVerdict::Failed { lost_frames: 1 },
                _ => LoadVerdict::Passed,
            })).unwrap();
            let truth = capacity.min(tester).min(1_000);
            prop_assert_eq!(bounds.lower, (truth > 0).then_some(truth));
            let expected = match () {
                () if truth == 1_000 => None,
                () if tester <= capacity => Some((tester + 1, Upper::Undecided)),
                () => Some((capacity + 1, Upper::Failed)),
            };
            prop_assert_eq!(bounds.upper, expected);
        }
    }
}
