//! The pursuit of one goal: which trial brings it on.
//!
//! Believe, then confirm. One short trial at a load is enough to believe something of it; the
//! bounds believed are brought together first, and only then is their evidence completed, the
//! weaker one's first, so that a wrong belief is found out early and costs little.

use super::settling::Settling;
use super::{Class, Record, SearchGoal, Tried};
use units::Duration;

/// A goal, and what was learned on the way to it.
#[derive(Clone, Debug)]
pub(super) struct Pursuit {
    pub goal: SearchGoal,
    /// Length of exploring trials; grows when a longer trial contradicts them.
    exploring: Duration,
    /// Predictions that failed since the last one that held: steps double with each.
    failed_predictions: u32,
    /// Once the device was seen to be noisy.
    settling: Option<Settling>,
}

/// The trial a pursuit asks for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Step {
    pub load: u64,
    pub duration: Duration,
    /// What an exploring trial is expected to say.
    expected: Option<Class>,
}

/// How far below an estimate the exploring trial is put, in goal widths: a step of one width up is then
/// above it, and the middle of the two a fifth of a width beside it.
const MARGIN: f64 = 0.3;

/// How many trials may be chance, where a goal bears some that lose more.
const DOUBTFUL_TRIALS: usize = 3;

impl Pursuit {
    pub fn new(goal: SearchGoal) -> Self {
        Pursuit { goal, exploring: goal.initial_duration, failed_predictions: 0, settling: None }
    }

    /// The trial to make next; `None` when the goal is reached, or cannot be.
    pub fn next(&self, record: &Record) -> Option<Step> {
        if self.is_over(record) {
            return None;
        }
        if let Some(settling) = &self.settling {
            return Some(self.confirm(settling.load()));
        }
        let (lower, upper) = (self.believed_lower(record), self.believed_upper(record));
        let (min, max) = (record.range.min, record.range.max);
        match (lower, upper) {
            (None, None) => Some(self.explore(max, None)),
            (Some(lower), None) if lower == max => Some(self.confirm(max)),
            (Some(lower), None) => {
                Some(self.explore(self.above(lower).min(max), Some(Class::Upper)))
            }
            (None, Some(upper)) if upper <= min => Some(self.confirm(min)),
            (_, Some(upper)) if self.is_doubtful(record, lower, upper) => {
                Some(self.explore(upper, None))
            }
            (None, Some(upper)) => Some(self.go_down(record, upper)),
            (Some(lower), Some(upper)) if self.goal.is_within_width(lower, upper) => {
                Some(self.confirm(self.weaker(record, lower, upper)))
            }
            (Some(lower), Some(upper)) => Some(self.go_between(record, lower, upper)),
        }
    }

    /// Learns from a trial at `load`, of which was believed what `before` says.
    pub fn learn(&mut self, record: &Record, load: u64, before: Option<Class>, step: Option<Step>) {
        self.settling = match self.settling.take() {
            Some(settling) => Some(self.settles(record, load, step.is_some(), settling)),
            None => self.begins_settling(record, load, before),
        };
        let after = self.belief(record, load);
        if let Some(expected) = step.and_then(|step| step.expected) {
            let is_right = after == Some(expected);
            self.failed_predictions = if is_right { 0 } else { self.failed_predictions + 1 };
        }
        let longest = record.trials(load).last().map_or(Duration::ZERO, |tried| tried.duration);
        let is_contradicted = before == Some(Class::Lower) && after == Some(Class::Upper);
        if is_contradicted && longest > self.exploring {
            self.explore_longer();
        }
    }

    /// Learns that the tester cannot offer some load.
    pub fn learn_limit(&mut self, record: &Record) {
        let settling = self.settling.take();
        self.settling = settling.map(|settling| self.kept_within(record, settling));
    }

    /// Half way to the final duration, in proportion; then all of it.
    fn explore_longer(&mut self) {
        let (initial, full) = (self.goal.initial_duration, self.goal.final_duration);
        let is_first = self.exploring == initial;
        let half_way = (initial.as_secs_f64() * full.as_secs_f64()).sqrt();
        self.exploring = if is_first { Duration::from_secs_f64(half_way).min(full) } else { full };
    }

    /// What is known for certain: the relevant bounds.
    pub fn relevant_upper(&self, record: &Record) -> Option<u64> {
        let is_upper = |load: &u64| self.class(record, *load) == Some(Class::Upper);
        record.loads().find(is_upper)
    }
    pub fn relevant_lower(&self, record: &Record) -> Option<u64> {
        let upper = self.relevant_upper(record).unwrap_or(u64::MAX);
        let is_lower =
            |load: &u64| *load < upper && self.class(record, *load) == Some(Class::Lower);
        record.loads().rfind(is_lower)
    }

    fn is_over(&self, record: &Record) -> bool {
        let (lower, upper) = (self.relevant_lower(record), self.relevant_upper(record));
        let is_near = |lower: u64, upper: u64| self.goal.is_within_width(lower, upper);
        let is_closed = match (lower, upper) {
            (Some(lower), Some(upper)) => is_near(lower, upper),
            (Some(lower), None) => lower == record.range.max,
            (None, Some(upper)) => upper <= record.range.min,
            (None, None) => false,
        };
        let is_limited = record.limit.is_some_and(|limit| {
            limit.load <= record.range.min
                || lower.is_some_and(|lower| lower < limit.load && is_near(lower, limit.load))
        });
        is_closed || is_limited
    }

    pub(super) fn class(&self, record: &Record, load: u64) -> Option<Class> {
        self.goal.classify(record.trials(load))
    }

    /// What this load is, or else seems to be.
    pub fn belief(&self, record: &Record, load: u64) -> Option<Class> {
        let trials = record.trials(load);
        self.goal.classify(trials).or_else(|| self.goal.guess(trials, self.exploring))
    }

    /// The lowest load that seems an upper bound, or that the tester cannot offer.
    fn believed_upper(&self, record: &Record) -> Option<u64> {
        let is_upper = |load: &u64| self.belief(record, *load) == Some(Class::Upper);
        let limit = record.limit.map(|limit| limit.load);
        record.loads().find(is_upper).into_iter().chain(limit).min()
    }

    fn believed_lower(&self, record: &Record) -> Option<u64> {
        let upper = self.believed_upper(record).unwrap_or(u64::MAX);
        let is_lower =
            |load: &u64| *load < upper && self.belief(record, *load) == Some(Class::Lower);
        record.loads().rfind(is_lower)
    }

    /// Of two bounds not both certain, the one with less evidence.
    fn weaker(&self, record: &Record, lower: u64, upper: u64) -> u64 {
        let is_open = |load: u64| {
            record.limit.is_none_or(|limit| load < limit.load) && self.class(record, load).is_none()
        };
        let evidence =
            |load| record.trials(load).iter().map(|tried| tried.duration).sum::<Duration>();
        match (is_open(lower), is_open(upper)) {
            (true, true) if evidence(upper) < evidence(lower) => upper,
            (true, _) => lower,
            _ => upper,
        }
    }

    /// Whether chance may have made this upper bound: it was not expected, the goal bears such
    /// trials, there were few, and they lost little more than it allows.
    fn is_doubtful(&self, record: &Record, lower: Option<u64>, upper: u64) -> bool {
        let is_needed = lower.is_none_or(|lower| !self.goal.is_within_width(lower, upper));
        let is_limit = record.limit.is_some_and(|limit| limit.load <= upper);
        let is_open = self.class(record, upper).is_none();
        let is_slight = || {
            let estimate = self.estimate(record, upper).unwrap_or(0.0);
            estimate >= upper as f64 * (1.0 - self.goal.width)
        };
        let is_surprise = self.failed_predictions > 0 && self.goal.exceed_ratio > 0.0;
        let has_few = record.trials(upper).len() < DOUBTFUL_TRIALS;
        let may_be_chance = has_few && !self.was_doubted_in_vain(record, upper);
        is_needed && is_open && !is_limit && is_surprise && may_be_chance && is_slight()
    }

    /// Whether every trial had high loss at the next higher load that was doubted: then a slight
    /// loss is this device's rule, and no load on the way down is worth more than one trial.
    fn was_doubted_in_vain(&self, record: &Record, upper: u64) -> bool {
        let mut above = record.trials.range(upper + 1..).map(|(_, trials)| trials);
        let doubted = above.find(|trials| trials.len() >= DOUBTFUL_TRIALS);
        let is_high = |tried: &Tried| tried.loss_ratio() > self.goal.loss_ratio;
        doubted.is_some_and(|trials| trials.iter().all(is_high))
    }

    fn confirm(&self, load: u64) -> Step {
        Step { load, duration: self.goal.final_duration, expected: None }
    }

    fn explore(&self, load: u64, expected: Option<Class>) -> Step {
        Step { load, duration: self.exploring, expected }
    }

    /// No lower bound yet: to where the forwarding rate says it is; when that fails, downwards in
    /// doubling steps.
    fn go_down(&self, record: &Record, upper: u64) -> Step {
        let estimate = self.estimate(record, upper);
        // Where not even the tester's own rate is known: half.
        let load = estimate.map_or(upper / 2, |estimate| self.below(record, estimate, upper));
        self.explore(load.clamp(record.range.min, upper - 1), Some(Class::Lower))
    }

    /// Whether the loss is as large here as at the next higher load: then it is none of the load's
    /// making, and steps are made four times as long instead of twice.
    fn is_load_indifferent(&self, record: &Record, upper: u64) -> bool {
        let mut higher = record.trials.range(upper..).map(|(_, trials)| loss_ratio(trials));
        match (higher.next(), higher.next()) {
            (Some(here), Some(above)) => here >= above / 2.0,
            _ => false,
        }
    }

    /// Both bounds, too far apart: first where the forwarding rate says, then in doubling steps
    /// from the nearer bound, then half way.
    fn go_between(&self, record: &Record, lower: u64, upper: u64) -> Step {
        let middle = self.middle(lower, upper);
        let has_failed = self.failed_predictions > 0;
        let estimate = self.estimate(record, upper);
        let below = estimate.map(|estimate| self.below(record, estimate, upper));
        let one_above = self.steps_above(lower, 1.0);
        let (load, expected) = match below {
            None => (middle, None),
            // The forwarding rate tells nothing here.
            Some(_) if self.is_load_indifferent(record, upper) => (middle, None),
            Some(below) if below > one_above => match has_failed && below <= middle {
                true => (middle, None),
                false => (below, Some(Class::Lower)),
            },
            Some(_) => match self.above(lower) {
                above if has_failed && above >= middle => (middle, None),
                above => (above, Some(Class::Upper)),
            },
        };
        self.explore(load.clamp(lower + 1, upper - 1), expected)
    }

    /// Where the loss would be what the goal allows, if the device forwarded at `upper` all it
    /// can; of a load beyond the tester, what the tester reached.
    fn estimate(&self, record: &Record, upper: u64) -> Option<f64> {
        if let Some(limit) = record.limit.filter(|limit| limit.load <= upper) {
            return limit.reached.map(|reached| reached as f64);
        }
        let forwarding_ratio = 1.0 - loss_ratio(record.trials(upper));
        Some(upper as f64 * forwarding_ratio / (1.0 - self.goal.loss_ratio))
    }

    /// A little below the estimate; after failures, at least as many widths below `upper`.
    fn below(&self, record: &Record, estimate: f64, upper: u64) -> u64 {
        let near = estimate * (1.0 - MARGIN * self.goal.width);
        let factor: f64 = if self.is_load_indifferent(record, upper) { 4.0 } else { 2.0 };
        let widths = match self.failed_predictions {
            0 => 0.0,
            failed => factor.powi(failed.min(30) as i32 - 1),
        };
        let far = upper as f64 * (1.0 - self.goal.width).powf(widths);
        near.min(far) as u64
    }

    /// One width above `lower`, doubled with each failure.
    fn above(&self, lower: u64) -> u64 {
        self.steps_above(lower, 2f64.powi(self.failed_predictions.min(60) as i32))
    }

    /// The highest load so many widths above.
    pub(super) fn steps_above(&self, lower: u64, widths: f64) -> u64 {
        let above = (lower as f64 / (1.0 - self.goal.width).powf(widths)) as u64;
        above.max(lower + 1)
    }

    /// Half way in proportion, rounded so that halving on ends with whole widths.
    pub(super) fn middle(&self, lower: u64, upper: u64) -> u64 {
        let widths = (lower as f64 / upper as f64).ln() / (1.0 - self.goal.width).ln();
        self.steps_above(lower, 2f64.powf(widths.max(1.0).log2().ceil() - 1.0).max(1.0))
    }
}

/// Of all trials at a load together.
fn loss_ratio(trials: &[Tried]) -> f64 {
    let expected: u64 = trials.iter().map(|tried| tried.expected_frames).sum();
    let lost: u64 = trials.iter().map(|tried| tried.lost_frames).sum();
    lost as f64 / expected.max(1) as f64
}
