//! Loss verification: a load that failed is tried again before it counts as failed (ETSI GS
//! NFV-TST 009 section 12.3.3, "binary search with loss verification"). Short interruptions of a
//! software device lose frames now and then at any load; a limit of its resources does so always.

use super::{Bounds, LoadVerdict, Search};

/// Wraps a search; see the module.
#[derive(Clone, Debug)]
pub struct LossVerification<S> {
    search: S,
    max_trials_per_load: u32,
    no_verification_above_lost_frames: Option<u64>,
    failures: u32,
}

impl<S: Search<TrialOutput = LoadVerdict>> LossVerification<S> {
    /// Tries a load up to `max_trials_per_load` times in all, the first trial included (max(r) in
    /// the standard); 1 verifies nothing. A trial that loses more than
    /// `no_verification_above_lost_frames` (z in the standard) fails at once.
    pub fn new(
        search: S,
        max_trials_per_load: u32,
        no_verification_above_lost_frames: Option<u64>,
    ) -> Self {
        LossVerification {
            search,
            max_trials_per_load,
            no_verification_above_lost_frames,
            failures: 0,
        }
    }
}

impl<S: Search<TrialOutput = LoadVerdict>> Search for LossVerification<S> {
    type Load = S::Load;
    type TrialOutput = LoadVerdict;

    fn next_load(&self) -> Option<S::Load> {
        self.search.next_load()
    }

    fn record(&mut self, load: S::Load, outcome: LoadVerdict) {
        if let LoadVerdict::Failed { lost_frames } = outcome {
            self.failures += 1;
            let z = self.no_verification_above_lost_frames;
            if self.failures < self.max_trials_per_load && z.is_none_or(|z| lost_frames <= z) {
                return;
            }
        }
        self.failures = 0;
        self.search.record(load, outcome);
    }

    fn bounds(&self) -> Bounds {
        self.search.bounds()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bisect, Range, Resolution, drive};
    use super::*;

    const RANGE: Range = Range { min: 1, max: 1_000 };
    const FINE: Resolution = Resolution { absolute: 1, relative: 0.0 };

    /// A device that carries 600, and loses a few frames in every third trial all the same.
    fn search(max_trials: u32, z: Option<u64>) -> (Bounds, u32) {
        let mut trials = 0;
        let mut search = LossVerification::new(Bisect::new(RANGE, FINE), max_trials, z);
        let bounds = drive(&mut search, |load, _| {
            trials += 1;
            let noise = if trials % 3 == 0 { 2 } else { 0 };
            let lost_frames = load.saturating_sub(600) * 10 + noise;
            let failed = LoadVerdict::Failed { lost_frames };
            Ok::<_, ()>(if lost_frames == 0 { LoadVerdict::Passed } else { failed })
        });
        (bounds.unwrap(), trials)
    }

    #[test]
    fn sporadic_loss_misleads_only_without_verification() {
        assert!(search(1, None).0.lower < Some(600));
        assert_eq!(search(2, None).0.lower, Some(600));
    }

    #[test]
    fn heavy_loss_is_believed_at_once() {
        let (bounds, trials) = search(2, Some(5));
        assert_eq!(bounds.lower, Some(600));
        assert!(trials < search(2, None).1);
    }
}
