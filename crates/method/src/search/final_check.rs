//! The final check: whether a load found by short trials also passes full-length ones, and if
//! not, the search on downwards with full-length trials only (RFC 2544 section 24: the final
//! determination should be made with full-length trials).

use super::{Bounds, LoadVerdict, Resolution, Search};

/// Starts at the load found; steps down, each step twice the one before, until a load passes;
/// then halves what is left. See the module.
#[derive(Clone, Debug)]
pub struct FinalCheck {
    candidate: u64,
    step: u64,
    min: u64,
    resolution: Resolution,
    passes_needed: u32,
    passes: u32,
    bounds: Bounds,
}

impl FinalCheck {
    /// Checks `found`, above which a search came to `bounds`; a load counts once it passed
    /// `passes_needed` trials in a row. Never goes below `min`.
    pub fn new(
        found: u64,
        bounds: Bounds,
        min: u64,
        resolution: Resolution,
        passes_needed: u32,
    ) -> Self {
        FinalCheck {
            candidate: found,
            step: resolution.step(found),
            min: min.clamp(1, found.max(1)),
            resolution,
            passes_needed: passes_needed.max(1),
            passes: 0,
            bounds: Bounds { lower: None, ..bounds },
        }
    }
}

impl Search for FinalCheck {
    type Load = u64;
    type TrialOutput = LoadVerdict;

    fn next_load(&self) -> Option<u64> {
        let Some(lower) = self.bounds.lower else {
            let is_over = self.bounds.upper.is_some_and(|(upper, _)| upper <= self.min);
            return (!is_over).then_some(self.candidate);
        };
        let (upper, _) = self.bounds.upper?;
        (!self.resolution.is_met(lower, upper)).then(|| lower + (upper - lower) / 2)
    }

    fn record(&mut self, load: u64, outcome: LoadVerdict) {
        if outcome == LoadVerdict::Passed {
            self.passes += 1;
            if self.passes >= self.passes_needed {
                self.passes = 0;
                self.bounds.lower = self.bounds.lower.max(Some(load));
            }
            return;
        }
        self.passes = 0;
        self.bounds.fail(load, outcome);
        if self.bounds.lower.is_none() {
            self.candidate = load.saturating_sub(self.step).max(self.min);
            self.step = self.step.saturating_mul(2);
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

    fn check(found: u64, upper: u64, capacity: u64, passes: u32) -> (Vec<u64>, Bounds) {
        let mut tried = vec![];
        let before = Bounds { upper: Some((upper, Upper::Failed)), ..Bounds::default() };
        let mut check = FinalCheck::new(found, before, 1, FINE, passes);
        let bounds = drive(&mut check, |load, _| {
            tried.push(load);
            let failed = LoadVerdict::Failed { lost_frames: 1 };
            Ok::<_, ()>(if load <= capacity { LoadVerdict::Passed } else { failed })
        });
        (tried, bounds.unwrap())
    }

    #[test]
    fn a_load_that_passes_again_is_the_result() {
        let (tried, bounds) = check(500, 501, 500, 3);
        assert_eq!(tried, vec![500, 500, 500]);
        assert_eq!((bounds.lower, bounds.upper), (Some(500), Some((501, Upper::Failed))));
    }

    #[test]
    fn a_load_that_fails_at_full_length_is_searched_downwards() {
        let (tried, bounds) = check(500, 501, 490, 1);
        assert_eq!(tried, vec![500, 499, 497, 493, 485, 489, 491, 490]);
        assert_eq!((bounds.lower, bounds.upper), (Some(490), Some((491, Upper::Failed))));
    }

    proptest! {
        #[test]
        fn it_ends_with_the_truth(found in 1u64..1 << 32, capacity: u64, passes in 1u32..4) {
            let capacity = capacity % (found + 2);
            let (tried, bounds) = check(found, found + 1, capacity, passes);
            prop_assert!(tried.len() < 300);
            let truth = capacity.min(found);
            prop_assert_eq!(bounds.lower, (truth > 0).then_some(truth));
            prop_assert_eq!(bounds.upper, Some((truth + 1, Upper::Failed)));
        }
    }
}
