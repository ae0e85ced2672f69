//! Searches: policies that choose the next load. They know numbers only, of frames a second or
//! of frames in a burst; a method gives the numbers their meaning.
//!
//! A search ends with [`Bounds`]: what passed below, what did not above. **An undecided load (a
//! trial that stayed invalid) is never taken for a loss of the device**: the search goes on below
//! it, and the bounds say that the upper one is not the device's.

pub mod adaptive;
mod bisect;
mod contradiction;
mod final_check;
mod gap_steps;
mod loss_verification;
pub mod mlrsearch;
pub mod scatter;
pub mod sequential;

pub use adaptive::Adaptive;
pub use bisect::Bisect;
pub use final_check::FinalCheck;
pub use gap_steps::GapSteps;
pub use loss_verification::LossVerification;

/// A policy for the next load.
pub trait Search {
    /// What a search chooses of a trial: the load, and where it is the search's choice, the
    /// length.
    type Load: Copy;
    /// What it is told of a trial.
    type TrialOutput;
    /// The load to try next; `None` when the search is over.
    fn next_load(&self) -> Option<Self::Load>;
    /// Takes in what came of the load last asked for.
    fn record(&mut self, load: Self::Load, outcome: Self::TrialOutput);
    /// What is known so far.
    fn bounds(&self) -> Bounds;
}

/// What came of one trial at a load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadVerdict {
    /// The goal was met.
    Passed,
    /// The device did not meet the goal.
    Failed {
        /// Frames that it lost.
        lost_frames: u64,
    },
    /// The tester failed, again and again: nothing is known of the device.
    Undecided,
}

/// Between which loads the truth lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// The highest load that passed.
    pub lower: Option<u64>,
    /// The lowest load above it that did not, and why.
    pub upper: Option<(u64, Upper)>,
    /// The lowest load at which the device failed the goal: that of `upper`, or above it where
    /// `upper` is the tester's.
    pub failed: Option<u64>,
}

/// Why a load is an upper bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Upper {
    /// The device failed the goal.
    Failed,
    /// The tester could not try it validly.
    Undecided,
}

impl Bounds {
    fn fail(&mut self, load: u64, outcome: LoadVerdict) {
        let why = if outcome == LoadVerdict::Undecided { Upper::Undecided } else { Upper::Failed };
        if self.upper.is_none_or(|(upper, _)| load <= upper) {
            self.upper = Some((load, why));
        }
        if why == Upper::Failed {
            self.failed = Some(self.failed.map_or(load, |failed| failed.min(load)));
        }
    }
}

/// From where to where a search goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The lowest load tried, at least 1.
    pub min: u64,
    /// The highest, and the first.
    pub max: u64,
}

/// When bounds are near enough: a search stops when they are no further apart than the larger of
/// the two.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Resolution {
    /// In units of the load, at least 1.
    pub absolute: u64,
    /// As a share of the upper bound, 0 to 1.
    pub relative: f64,
}

impl Resolution {
    fn is_met(&self, lower: u64, upper: u64) -> bool {
        upper - lower <= self.step(upper)
    }
    /// The step allowed below `upper`, at least 1.
    fn step(&self, upper: u64) -> u64 {
        self.absolute.max((upper as f64 * self.relative) as u64).max(1)
    }
}

/// Runs a search to its end.
pub fn drive<S: Search, E>(
    search: &mut S,
    mut trial: impl FnMut(S::Load, Bounds) -> Result<S::TrialOutput, E>,
) -> Result<Bounds, E> {
    while let Some(load) = search.next_load() {
        let outcome = trial(load, search.bounds())?;
        search.record(load, outcome);
    }
    Ok(search.bounds())
}
