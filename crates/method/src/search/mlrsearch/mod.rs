//! Multiple Loss Ratio search: the relevant bounds of several goals in one search, with trials of
//! growing length, and with repeated trials where a goal allows some of them to lose more
//! (draft-ietf-bmwg-mlrsearch-15; terms below are its).
//!
//! The standard says what a bound is and when a search may end; which load is tried next is left
//! to the implementation. Ours is in [`pursuit`], and in [`settling`] where a device is noisy.
//!
//! Departing from its recommendation, frames that the tester failed to send are no loss: such a
//! trial is invalid, decides nothing, and bounds the search from above as the tester's limit.

mod classification;
mod goal;
mod pursuit;
mod settling;

pub use classification::{Class, Tried};
pub use goal::SearchGoal;

use super::{Bounds, Range, Search, Upper};
use pursuit::{Pursuit, Step};
use std::collections::BTreeMap;
use units::Duration;

/// See the module.
#[derive(Clone, Debug)]
pub struct MlrSearch {
    record: Record,
    /// Lowest loss ratio first: low loads are tried before high ones.
    pursuits: Vec<Pursuit>,
    /// The place of each goal, as given, among the pursuits.
    order: Vec<usize>,
}

/// Everything measured.
#[derive(Clone, Debug)]
struct Record {
    range: Range,
    trials: BTreeMap<u64, Vec<Tried>>,
    limit: Option<TesterLimit>,
}

/// The lowest load that the tester could not offer validly.
#[derive(Clone, Copy, Debug)]
struct TesterLimit {
    load: u64,
    /// What it offered instead.
    reached: Option<u64>,
}

/// What a trial is to be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TimedLoad {
    /// Trial Load.
    pub load: u64,
    /// Trial Duration.
    pub duration: Duration,
    /// Goal Loss Ratio of the goal that asks for it.
    pub loss_ratio: f64,
}

/// What came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrialOutput {
    /// It was valid.
    Measured(Tried),
    /// The tester could not make it validly: nothing is known of the device.
    Undecided {
        /// The load that the tester offered instead, where it fell short.
        reached: Option<u64>,
    },
}

/// What a search came to for one goal.
#[derive(Clone, Debug)]
pub struct GoalResult {
    /// The goal.
    pub goal: SearchGoal,
    /// Relevant lower bound. Without an upper one, which makes the result irregular, the highest
    /// load of the range, itself a lower bound.
    pub lower: Option<u64>,
    /// Relevant upper bound, or what the tester could not offer below it.
    pub upper: Option<(u64, Upper)>,
    /// The relevant upper bound, where the device failed.
    pub failed: Option<u64>,
    /// Trials at `lower`.
    pub trials: Vec<Tried>,
}

impl MlrSearch {
    /// A search within `range` for `goals`, which [`SearchGoal::check`] accepts.
    pub fn new(range: Range, goals: &[SearchGoal]) -> Self {
        let max = range.max.max(1);
        let range = Range { min: range.min.clamp(1, max), max };
        let mut by_loss: Vec<usize> = (0..goals.len()).collect();
        by_loss.sort_by(|a, b| goals[*a].loss_ratio.total_cmp(&goals[*b].loss_ratio));
        let mut order = vec![0; goals.len()];
        by_loss.iter().enumerate().for_each(|(place, goal)| order[*goal] = place);
        MlrSearch {
            record: Record { range, trials: BTreeMap::new(), limit: None },
            pursuits: by_loss.iter().map(|goal| Pursuit::new(goals[*goal])).collect(),
            order,
        }
    }

    /// What is known so far, in the order of the goals.
    pub fn results(&self) -> Vec<GoalResult> {
        self.order.iter().map(|place| self.result(&self.pursuits[*place])).collect()
    }

    /// Valid trials made at a load.
    pub fn trials_at(&self, load: u64) -> &[Tried] {
        self.record.trials(load)
    }

    fn measured(&mut self, load: u64, tried: Tried) {
        let step = self.step().filter(|(_, step)| step.load == load);
        let before: Vec<_> = self.pursuits.iter().map(|p| p.belief(&self.record, load)).collect();
        self.record.trials.entry(load).or_default().push(tried);
        for (place, (pursuit, before)) in self.pursuits.iter_mut().zip(before).enumerate() {
            let own = step.filter(|(of, _)| *of == place).map(|(_, step)| step);
            pursuit.learn(&self.record, load, before, own);
        }
    }

    fn undecided(&mut self, load: u64, reached: Option<u64>) {
        if self.record.limit.is_none_or(|limit| load <= limit.load) {
            let reached = reached.filter(|reached| *reached < load);
            self.record.limit = Some(TesterLimit { load, reached });
            self.pursuits.iter_mut().for_each(|pursuit| pursuit.learn_limit(&self.record));
        }
    }

    fn step(&self) -> Option<(usize, Step)> {
        let steps = self.pursuits.iter().map(|pursuit| pursuit.next(&self.record));
        steps.enumerate().find_map(|(place, step)| Some((place, step?)))
    }

    fn result(&self, pursuit: &Pursuit) -> GoalResult {
        let record = &self.record;
        let lower = pursuit.relevant_lower(record);
        let failed = pursuit.relevant_upper(record).map(|load| (load, Upper::Failed));
        let limit = record.limit.map(|limit| (limit.load, Upper::Undecided));
        let limit = limit.filter(|(load, _)| lower.is_none_or(|lower| lower < *load));
        GoalResult {
            goal: pursuit.goal,
            lower,
            failed: failed.map(|(load, _)| load),
            upper: failed.into_iter().chain(limit).min_by_key(|(load, _)| *load),
            trials: lower.map_or(vec![], |load| record.trials(load).to_vec()),
        }
    }
}

impl Search for MlrSearch {
    type Load = TimedLoad;
    type TrialOutput = TrialOutput;

    fn next_load(&self) -> Option<TimedLoad> {
        let (place, step) = self.step()?;
        let loss_ratio = self.pursuits[place].goal.loss_ratio;
        Some(TimedLoad { load: step.load, duration: step.duration, loss_ratio })
    }

    fn record(&mut self, load: TimedLoad, outcome: TrialOutput) {
        match outcome {
            TrialOutput::Measured(tried) => self.measured(load.load, tried),
            TrialOutput::Undecided { reached } => self.undecided(load.load, reached),
        }
    }

    /// Those of the first goal.
    fn bounds(&self) -> Bounds {
        self.order
            .first()
            .map_or(Bounds::default(), |place| self.result(&self.pursuits[*place]).bounds())
    }
}

impl Record {
    fn trials(&self, load: u64) -> &[Tried] {
        self.trials.get(&load).map_or(&[], Vec::as_slice)
    }
    fn loads(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        self.trials.keys().copied()
    }
}

impl GoalResult {
    /// Conditional throughput at the relevant lower bound, in units of the load.
    pub fn conditional_throughput(&self) -> Option<f64> {
        let lower = self.lower? as f64;
        Some(lower * self.goal.conditional_forwarding_ratio(&self.trials))
    }
    /// As bounds of any search.
    pub fn bounds(&self) -> Bounds {
        Bounds { lower: self.lower, upper: self.upper, failed: self.failed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Carries `capacity` frames a second, and stores `buffer` more; the tester offers no more
    /// than `tester`.
    #[derive(Clone, Copy, Debug)]
    struct Bed {
        capacity: u64,
        buffer: u64,
        tester: u64,
    }

    impl Bed {
        fn run(&self, search: &mut MlrSearch) -> usize {
            for trials in 0.. {
                let Some(asked) = search.next_load() else { return trials };
                let TimedLoad { load, duration, .. } = asked;
                assert!(trials < 1_000, "no end: {search:?}");
                if load > self.tester {
                    search.record(asked, TrialOutput::Undecided { reached: Some(self.tester) });
                    continue;
                }
                let excess = load.saturating_sub(self.capacity) as f64 * duration.as_secs_f64();
                let tried = Tried {
                    duration,
                    expected_frames: (load as f64 * duration.as_secs_f64()) as u64,
                    lost_frames: (excess - self.buffer as f64).max(0.0).ceil() as u64,
                };
                search.record(asked, TrialOutput::Measured(tried));
            }
            unreachable!()
        }

        /// The highest load whose trials of this length meet the goal.
        fn truth(&self, goal: &SearchGoal) -> f64 {
            let stored = self.buffer as f64 / goal.final_duration.as_secs_f64();
            (self.capacity as f64 + stored) / (1.0 - goal.loss_ratio)
        }
    }

    /// Of one final duration, as the specification recommends: a buffer makes throughput depend
    /// on it.
    fn goals() -> impl Strategy<Value = Vec<SearchGoal>> {
        let goal = (0.0f64..0.1, 0.0f64..0.8, 0u64..60, 0.002f64..0.05);
        let durations = (1u64..4, 0u64..60);
        (durations, proptest::collection::vec(goal, 1..4)).prop_map(|((initial, more), goals)| {
            let goal = |(loss_ratio, exceed_ratio, sum, width): (f64, f64, u64, f64)| SearchGoal {
                // Often none.
                loss_ratio: (loss_ratio - 0.05).max(0.0),
                exceed_ratio: (exceed_ratio - 0.3).max(0.0),
                initial_duration: Duration::from_secs(initial),
                final_duration: Duration::from_secs(initial + more),
                duration_sum: Duration::from_secs(initial + more + sum),
                width,
            };
            goals.into_iter().map(goal).collect()
        })
    }

    proptest! {
        /// Of devices that do the same each time, every goal's truth lies between its bounds,
        /// which are as near as it wants them.
        #[test]
        fn bounds_bracket_the_truth(
            goals in goals(), capacity in 1u64..12_000_000, buffer in 0u64..100_000,
        ) {
            let range = Range { min: 10_000, max: 10_000_000 };
            let bed = Bed { capacity, buffer, tester: u64::MAX };
            let mut search = MlrSearch::new(range, &goals);
            bed.run(&mut search);
            for (goal, result) in goals.iter().zip(search.results()) {
                prop_assert_eq!(*goal, result.goal);
                let truth = bed.truth(goal);
                // A frame more or less at the bound.
                let slack = 2.0 / goal.initial_duration.as_secs_f64();
                match (result.lower, result.upper) {
                    (Some(lower), None) => prop_assert_eq!(lower, range.max),
                    (None, upper) => prop_assert_eq!(upper, Some((range.min, Upper::Failed))),
                    (Some(lower), Some((upper, why))) => {
                        prop_assert_eq!(why, Upper::Failed);
                        prop_assert!((upper - lower) as f64 <= (goal.width * upper as f64).max(1.0));
                    }
                }
                prop_assert!(result.lower.is_none_or(|lower| lower as f64 <= truth + slack));
                let upper = result.upper.map_or(f64::INFINITY, |(upper, _)| upper as f64);
                prop_assert!(upper >= truth - slack, "{} of {}", upper, truth);
                let conditional = result.conditional_throughput();
                prop_assert_eq!(conditional.is_some(), result.lower.is_some());
                if let (Some(fps), Some(lower)) = (conditional, result.lower) {
                    prop_assert!(fps <= lower as f64);
                    prop_assert!(fps >= lower as f64 * (1.0 - goal.loss_ratio) - 1e-6);
                }
            }
        }

        /// What the tester cannot offer is never the device's bound.
        #[test]
        fn an_invalid_trial_decides_nothing(
            goals in goals(), capacity in 1u64..12_000_000, tester in 1u64..12_000_000,
        ) {
            let range = Range { min: 10_000, max: 10_000_000 };
            let mut search = MlrSearch::new(range, &goals);
            Bed { capacity, buffer: 0, tester }.run(&mut search);
            for (goal, result) in goals.iter().zip(search.results()) {
                let truth = capacity as f64 / (1.0 - goal.loss_ratio);
                match result.upper {
                    Some((upper, Upper::Failed)) => {
                        prop_assert!(upper <= tester && upper as f64 >= truth - 2.0);
                    }
                    Some((upper, Upper::Undecided)) => {
                        prop_assert!(upper > tester);
                        prop_assert!(result.lower.is_none_or(|lower| lower <= tester));
                    }
                    None => prop_assert!(tester >= range.max && result.lower == Some(range.max)),
                }
            }
        }
    }

    /// Exploring trials of 1 s do not see what fills a buffer within a minute; they are made
    /// longer, and there are few of them.
    #[test]
    fn what_short_trials_overlook_costs_little() {
        let goal = SearchGoal { initial_duration: Duration::from_secs(1), ..SearchGoal::RFC2544 };
        let bed = Bed { capacity: 500_000, buffer: 100_000, tester: u64::MAX };
        let mut search = MlrSearch::new(Range { min: 1_000, max: 1_000_000 }, &[goal]);
        let trials = bed.run(&mut search);
        let result = &search.results()[0];
        assert!(result.lower.unwrap() <= 501_666 && result.upper.unwrap().0 > 501_666);
        assert!(trials <= 16, "{trials}");
    }

    #[test]
    fn results_come_in_the_order_of_the_goals() {
        let tolerant = SearchGoal { loss_ratio: 0.01, ..SearchGoal::RFC2544 };
        let goals = [tolerant, SearchGoal::RFC2544];
        let mut search = MlrSearch::new(Range { min: 1, max: 1_000_000 }, &goals);
        Bed { capacity: 700_000, buffer: 0, tester: u64::MAX }.run(&mut search);
        let lowers: Vec<_> = search.results().iter().map(|result| result.lower).collect();
        assert!(lowers[0] > Some(700_000) && lowers[1] <= Some(700_000), "{lowers:?}");
    }
}
