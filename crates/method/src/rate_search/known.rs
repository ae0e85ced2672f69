//! What searches for several goals at the same frame size know of each load.

use super::{PARTS, rate_of, worst_loss_ratio};
use crate::RateFound;
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
    /// Whether trials have shown that what the device carries varies: a queue that stands at the end of a trial
    /// is taken for that, and not for a buffer that carries too high a load for a while.
    pub(crate) varies: bool,
}

/// A valid trial.
#[derive(Clone)]
pub(crate) struct Tried {
    pub duration: Duration,
    pub result: TrialResult,
}

/// What a trial says of the rate without loss.
struct Shown {
    intended: FrameRate,
    /// What was offered, where nothing was lost.
    carried: Option<FrameRate>,
    duration: Duration,
}

impl Shown {
    fn of(intended: FrameRate, tried: &Tried) -> Shown {
        let offered = tried.result.least_offered_rate().map(|offered| offered.min(intended));
        let carried = offered.filter(|_| worst_loss_ratio(&tried.result) == 0.0);
        Shown { intended, carried, duration: tried.duration }
    }
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
    /// The valid trials of at least this length, with the rates intended.
    pub(crate) fn trials_of(
        &self,
        subject: &Subject<'_>,
        duration: Duration,
    ) -> impl Iterator<Item = (FrameRate, &TrialResult)> {
        let all = self.valid.iter().flat_map(|(load, tried)| tried.iter().map(move |t| (load, t)));
        let long = all.filter(move |(_, tried)| tried.duration >= duration);
        long.map(|(load, tried)| (rate_of(subject, *load), &tried.result))
    }
    /// The valid trials of at least this length that asked for this rate, or offered it.
    pub(crate) fn trials_at(
        &self,
        subject: &Subject<'_>,
        rate: FrameRate,
        duration: Duration,
    ) -> impl Iterator<Item = &TrialResult> {
        let at = self
            .trials_of(subject, duration)
            .filter(move |(intended, result)| *intended == rate || offers(result, rate));
        at.map(|(_, result)| result)
    }
    /// Whether more trials of full length failed at a rate found, or below, than its search saw fail. What an
    /// estimate says of a noisy device counts on such trials.
    pub(crate) fn contradicts(&self, subject: &Subject<'_>, found: &RateFound) -> bool {
        let (Some(rate), None) = (found.rate, found.confidence) else { return false };
        let no_faster = self.valid.iter().filter(|(load, _)| rate_of(subject, **load) <= rate);
        let fails = |tried: &&Tried| {
            let loss_percent = worst_loss_ratio(&tried.result) * 100.0;
            tried.duration >= found.trial_duration && loss_percent > found.loss_tolerance_percent
        };
        let failed = no_faster.flat_map(|(_, tried)| tried).filter(fails).count();
        failed > found.failed_trials_at_rate as usize
    }
    /// The lowest rate intended in a trial that lost frames and the highest offered in one that lost none,
    /// among trials that contradict each other: the first is no higher, and its trial no longer.
    pub(crate) fn contradiction(&self, subject: &Subject<'_>) -> Option<(FrameRate, FrameRate)> {
        let of_load = |(load, tried): (&u64, &VecDeque<Tried>)| {
            let intended = rate_of(subject, *load);
            tried.iter().map(|tried| Shown::of(intended, tried)).collect::<Vec<_>>()
        };
        let all: Vec<Shown> = self.valid.iter().flat_map(of_load).collect();
        let lossy = all.iter().filter(|shown| shown.carried.is_none());
        let contradicts = |lossy: &Shown, other: &Shown| {
            let carried = other.carried.filter(|carried| *carried >= lossy.intended)?;
            (other.duration >= lossy.duration).then_some((lossy.intended, carried))
        };
        let pairs =
            lossy.flat_map(|lossy| all.iter().filter_map(|other| contradicts(lossy, other)));
        pairs.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }
    /// Loss of all valid trials made, by load in parts of the ceiling: (load, loss in percent).
    pub(crate) fn losses(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.valid.iter().flat_map(|(load, tried)| {
            let loss = |tried: &Tried| worst_loss_ratio(&tried.result) * 100.0;
            tried.iter().map(move |tried| (*load as f64 / PARTS as f64, loss(tried)))
        })
    }
}
