//! What searches for several goals at the same frame size know of each load.

use super::{PARTS, rate_of, worst_loss_ratio};
use crate::subject::Subject;
use std::collections::{BTreeMap, VecDeque};
use trial::TrialResult;
use units::{Duration, FrameRate};

/// What is known of each load so far, so that another goal need not try it again.
#[derive(Clone, Default)]
pub(crate) struct Known {
    /// Valid trials.
    pub(super) valid: BTreeMap<u64, VecDeque<Tried>>,
    /// Loads that stayed invalid at this trial length, and why: what the tester cannot offer it
    /// cannot offer for any goal.
    pub(super) undecided: BTreeMap<(u64, Duration), Vec<String>>,
}

/// A valid trial.
#[derive(Clone)]
pub(crate) struct Tried {
    pub duration: Duration,
    pub result: TrialResult,
}

/// Whether so much was offered in a trial, to the resolution of a load.
fn offers(result: &TrialResult, rate: FrameRate) -> bool {
    let offered = result.least_offered_rate();
    offered.is_some_and(|offered| (offered.fps() / rate.fps() - 1.0).abs() < 1e-6)
}

impl Known {
    /// A trial at this load of at least this length, once.
    pub(crate) fn take(&mut self, load: u64, duration: Duration) -> Option<Tried> {
        let tried = self.valid.get_mut(&load)?;
        let index = tried.iter().position(|tried| tried.duration >= duration)?;
        tried.remove(index)
    }
    /// Takes in a trial made at the ceiling before the search.
    pub(crate) fn add_at_ceiling(&mut self, duration: Duration, result: TrialResult) {
        self.add(PARTS, duration, result);
    }
    /// Takes in a valid trial.
    pub(crate) fn add(&mut self, load: u64, duration: Duration, result: TrialResult) {
        self.valid.entry(load).or_default().push_back(Tried { duration, result });
    }
    /// All valid trials.
    pub(crate) fn trials(&self) -> impl Iterator<Item = &TrialResult> {
        self.valid.values().flatten().map(|tried| &tried.result)
    }
    /// The valid trials of at least this length that asked for this rate, or offered it.
    pub(crate) fn trials_at(
        &self,
        subject: &Subject<'_>,
        rate: FrameRate,
        duration: Duration,
    ) -> impl Iterator<Item = &TrialResult> {
        let all = self.valid.iter().flat_map(|(load, tried)| tried.iter().map(move |t| (load, t)));
        let long = all.filter(move |(_, tried)| tried.duration >= duration);
        let at = long.filter(move |(load, tried)| {
            rate_of(subject, **load) == rate || offers(&tried.result, rate)
        });
        at.map(|(_, tried)| &tried.result)
    }
    /// Loss of all valid trials made, by load in parts of the ceiling: (load, loss in percent).
    pub(crate) fn losses(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.valid.iter().flat_map(|(load, tried)| {
            let loss = |tried: &Tried| worst_loss_ratio(&tried.result) * 100.0;
            tried.iter().map(move |tried| (*load as f64 / PARTS as f64, loss(tried)))
        })
    }
}
