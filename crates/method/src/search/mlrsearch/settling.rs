//! How a pursuit settles on a noisy device: one whose trials at the same load tell both ways.
//!
//! Near the load that a goal looks for, single trials of such a device mislead, and beliefs that
//! rest on one or two of them turn over again and again. Once that is seen, a staircase finds a
//! load to begin with: each low-loss trial moves it up, each high-loss trial down, in the
//! proportion that holds it still where the goal's exceed ratio of trials has high loss. Steps
//! double in a run of one direction and halve when it turns (after PEST: Taylor and Creelman,
//! J. Acoust. Soc. Am. 41, 1967). From there loads are decided one by one, each with all the
//! evidence that the goal demands. Where the trials at a bound were mixed, the next load is one
//! goal width on, since it is as likely to be told the other way as any load further off.

use super::pursuit::Pursuit;
use super::{Class, Record, SearchGoal, Tried};

/// Trials that decide a load, at most, from which on it pays to settle.
const MANY_TRIALS: f64 = 6.0;
/// A step doubles from this one on in a run of one direction.
const DOUBLES_FROM: u32 = 3;
/// Trials are mixed where their share of high loss is this near to the exceed ratio.
const MIXED_WITHIN: f64 = 0.2;
/// Loads decided alike, at mixed trials, before steps between them double.
const PATIENCE: i32 = 2;

/// What is learned of a noisy device on the way.
#[derive(Clone, Debug)]
pub(super) struct Settling {
    staircase: Staircase,
    /// The load being decided, once the staircase has ended.
    target: Option<u64>,
}

/// A staircase of trials at loads one after the other.
#[derive(Clone, Debug)]
struct Staircase {
    /// Natural logarithm of the load.
    position: f64,
    /// Difference of logarithms; the staircase ends when it falls below one goal width.
    step: f64,
    width: f64,
    exceed_ratio: f64,
    /// Steps of the present run of one direction.
    run: u32,
    is_rising: bool,
}

impl Staircase {
    /// Away from `load`, whose trials had low loss on the whole, or not.
    fn new(load: u64, is_low_loss: bool, goal: &SearchGoal) -> Self {
        let width = -(1.0 - goal.width).ln();
        let exceed_ratio = goal.exceed_ratio;
        let position = (load as f64).ln();
        let mut staircase = Staircase {
            position,
            step: width,
            width,
            exceed_ratio,
            run: 1,
            is_rising: is_low_loss,
        };
        staircase.advance();
        staircase
    }

    fn is_over(&self) -> bool {
        self.step < 0.99 * self.width
    }

    fn load(&self) -> u64 {
        self.position.exp() as u64
    }

    /// Takes in a trial at the load.
    fn record(&mut self, is_low_loss: bool) {
        self.run = if is_low_loss == self.is_rising { self.run + 1 } else { 1 };
        self.is_rising = is_low_loss;
        match self.run {
            1 => self.step /= 2.0,
            run if run >= DOUBLES_FROM => self.step *= 2.0,
            _ => {}
        }
        self.advance();
    }

    /// Up by the exceed ratio's share of a step, or down by that of the rest.
    fn advance(&mut self) {
        let (up, down) = (self.exceed_ratio, 1.0 - self.exceed_ratio);
        let share = if self.is_rising { up } else { -down };
        self.position += self.step * share / up.max(down);
    }
}

impl Settling {
    /// The load to try next.
    pub fn load(&self) -> u64 {
        self.target.unwrap_or_else(|| self.staircase.load())
    }
}

impl SearchGoal {
    /// Whether a load is decided by so many trials that a noisy device is worth settling on.
    fn takes_many_trials(&self) -> bool {
        let sum = self.duration_sum.as_secs_f64();
        self.exceed_ratio > 0.0 && sum / self.final_duration.as_secs_f64() >= MANY_TRIALS
    }
}

impl Pursuit {
    /// Settling, from the trial on that turned a belief over without being longer than those before.
    pub(super) fn begins_settling(
        &self,
        record: &Record,
        load: u64,
        before: Option<Class>,
    ) -> Option<Settling> {
        let after = self.belief(record, load);
        let is_turned = before.is_some() && after.is_some() && before != after;
        let trials = record.trials(load);
        let are_alike = trials.windows(2).all(|pair| pair[0].duration == pair[1].duration);
        let is_noisy = is_turned && are_alike && self.goal.takes_many_trials();
        is_noisy.then(|| {
            let staircase = Staircase::new(load, after == Some(Class::Lower), &self.goal);
            self.kept_within(record, Settling { staircase, target: None })
        })
    }

    /// Learns from a trial at `load`, which was this pursuit's own or another's.
    pub(super) fn settles(
        &self,
        record: &Record,
        load: u64,
        is_own: bool,
        mut settling: Settling,
    ) -> Settling {
        let last = record.trials(load).last();
        if let Some(last) = last.filter(|_| is_own && !settling.staircase.is_over()) {
            settling.staircase.record(last.loss_ratio() <= self.goal.loss_ratio);
        }
        self.kept_within(record, settling)
    }

    /// The same at a load that can still be decided.
    pub(super) fn kept_within(&self, record: &Record, mut settling: Settling) -> Settling {
        let lowest = self.relevant_lower(record).unwrap_or(record.range.min);
        let highest = self.ceiling(record).map_or(record.range.max, |upper| upper - 1).max(lowest);
        let staircase = &mut settling.staircase;
        staircase.position = staircase.position.clamp((lowest as f64).ln(), (highest as f64).ln());
        let is_open = |load: u64| {
            self.class(record, load).is_none() && record.limit.is_none_or(|limit| load < limit.load)
        };
        if staircase.is_over() && !settling.target.is_some_and(is_open) {
            settling.target = Some(self.next_target(record, staircase.load()));
        }
        settling
    }

    /// The lowest load that is an upper bound for certain, or that the tester cannot offer.
    fn ceiling(&self, record: &Record) -> Option<u64> {
        let limit = record.limit.map(|limit| limit.load);
        self.relevant_upper(record).into_iter().chain(limit).min()
    }

    fn next_target(&self, record: &Record, start: u64) -> u64 {
        let (min, max) = (record.range.min, record.range.max);
        match (self.relevant_lower(record), self.ceiling(record)) {
            (None, None) => self.tried_near(record, start.clamp(min, max)),
            (Some(lower), None) => self.steps_above(lower, self.stride(record, lower)).min(max),
            (None, Some(upper)) => self.steps_below(upper, self.stride(record, upper)).max(min),
            (Some(lower), Some(upper)) => self.target_between(record, lower, upper),
        }
    }

    /// One width from the bound with the more mixed trials, or half way where both are clear.
    fn target_between(&self, record: &Record, lower: u64, upper: u64) -> u64 {
        let (above, below) = (self.steps_above(lower, 1.0), self.steps_below(upper, 1.0));
        let (at_lower, at_upper) = (self.clearness(record, lower), self.clearness(record, upper));
        let load = match above >= below || at_lower.min(at_upper) >= MIXED_WITHIN {
            true => self.middle(lower, upper),
            false if at_lower <= at_upper => above,
            false => below,
        };
        load.max(lower + 1).min(upper - 1)
    }

    /// How far the share of high-loss trials at a load is from the exceed ratio. What the tester
    /// could not offer is as clear as can be.
    fn clearness(&self, record: &Record, load: u64) -> f64 {
        let is_full = |tried: &&Tried| tried.duration >= self.goal.final_duration;
        let full: Vec<&Tried> = record.trials(load).iter().filter(is_full).collect();
        let high = full.iter().filter(|tried| tried.loss_ratio() > self.goal.loss_ratio).count();
        match full.len() {
            0 => 1.0,
            all => (high as f64 / all as f64 - self.goal.exceed_ratio).abs(),
        }
    }

    /// Widths to go on from `bound`, while there is none on the other side.
    fn stride(&self, record: &Record, bound: u64) -> f64 {
        let decided = record.loads().filter(|load| self.class(record, *load).is_some()).count();
        let is_mixed = self.clearness(record, bound) < MIXED_WITHIN;
        let patience = if is_mixed { PATIENCE } else { 1 };
        2f64.powi((decided as i32 - patience).clamp(0, 30))
    }

    /// The load within two widths of this one that has the most trials already, or else this one.
    fn tried_near(&self, record: &Record, load: u64) -> u64 {
        let near = self.steps_below(load, 2.0)..=self.steps_above(load, 2.0);
        let limit = record.limit.map_or(u64::MAX, |limit| limit.load);
        let tried = record.trials.range(near).filter(|(load, _)| **load < limit);
        tried.max_by_key(|(_, trials)| trials.len()).map_or(load, |(load, _)| *load)
    }

    /// The lowest load so many widths below.
    fn steps_below(&self, upper: u64, widths: f64) -> u64 {
        let below = (upper as f64 * (1.0 - self.goal.width).powf(widths)).ceil() as u64;
        below.min(upper.saturating_sub(1)).max(1)
    }
}
