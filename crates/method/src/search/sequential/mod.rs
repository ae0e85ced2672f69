//! A sequential test for noisy devices: at which load do half of the trials lose frames, with a stated
//! probability of error?
//!
//! Nothing is assumed of the device but that trials are independent and that a higher load does not
//! lose less often. Of each load x two claims are tested, "the truth is above x" and "the truth is
//! below x", by a bet on every trial: before the trial a share g of the money is put on loss, and what
//! the trial then shows multiplies the money by g / (1/2) or (1 - g) / (1/2). If the truth is above x,
//! trials at x and below lose frames with a chance of one half at most, so that no way of betting on
//! loss there (g >= 1/2) makes money in the mean; and by Ville's inequality (Etude critique de la notion
//! de collectif, 1939) the money ever grows to 1/a with a chance of a at most. So a load x at which it did is
//! no truth, with an error of a, however long the search went on and whatever loads it chose. The
//! interval stated is that of all loads not so excluded. (It is Wald's sequential probability ratio
//! test, Ann. Math. Statist. 16, 1945, with a learned alternative; as a confidence sequence see
//! Waudby-Smith and Ramdas, J. R. Stat. Soc. B 86, 2024.)
//!
//! The bets, and the loads to try, follow a guess of the chance of loss at a load ([`guess`]). A bad guess costs
//! trials, never the stated probability.

mod evidence;
mod guess;

pub use evidence::Evidence;

use super::{Bounds, Range, Upper};
use guess::Guess;

/// How far from the middle loads are tried, in scales of the guess: where 95 % of the trials lose frames, or
/// none; and 85 % once both ends are known.
const FAR: f64 = 2.9;
const NEARER: f64 = 1.7;
/// Trials, after which the interval is stated as it is.
const ENOUGH: u32 = 16;
/// Trials, after which the search is given up where an end is still open.
const MOST: u32 = 30;
/// The scale expected (of a logistic distribution) as a share of the largest contradiction, and of the mean
/// deviation of what came out.
const OF_SPREAD: f64 = 0.4;
const OF_SCATTER: f64 = 0.7;
/// Where the trials do not suffice for the chance of error asked for.
const LARGER_ERRORS: [f64; 3] = [0.1, 0.2, 0.4];

/// A search by this test, once trials have contradicted each other.
#[derive(Clone, Debug)]
pub struct Sequential {
    range: Range,
    error: f64,
    /// The interval is near enough at this share of its upper end.
    near: f64,
    evidence: Evidence,
    guess: Guess,
    /// What the device's capacity was seen to scatter by, as a difference of logarithms, and where.
    scale: f64,
    centre: f64,
    trials: u32,
    /// The lowest load that the tester cannot offer.
    limit: Option<u64>,
    /// The load to try next.
    next: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Above,
    Below,
}

impl Sequential {
    /// Goes on from `evidence`; the truth seems to be within `spread`, known no better than by `step` (a
    /// difference of logarithms).
    pub fn new(
        range: Range,
        error: f64,
        near: f64,
        step: f64,
        evidence: Evidence,
        (low, high): (u64, u64),
    ) -> Self {
        let (low, high) = ((low.max(1) as f64).ln(), (high.max(1) as f64).ln());
        let scale = OF_SPREAD * (high - low).max(step);
        let guess = Guess::of(&[], low, scale);
        let centre = (low + high) / 2.0;
        let (trials, limit, next) = (0, None, None);
        let mut search =
            Sequential { range, error, near, evidence, guess, scale, centre, trials, limit, next };
        search.plan();
        search
    }

    /// The chance of error of what is stated: the one asked for, or the least of the larger ones at which both
    /// ends are known. `None` where one stays open.
    pub fn error(&self) -> Option<f64> {
        let errors =
            [self.error].into_iter().chain(LARGER_ERRORS.into_iter().filter(|e| *e > self.error));
        let is_known = |error: &f64| match self.evidence.interval(*error) {
            (_, Some(high)) if high <= self.range.min => true,
            (Some(low), _) if low >= self.range.max => true,
            (low, high) => low.is_some() && high.is_some(),
        };
        errors.into_iter().find(is_known)
    }

    /// The interval, but for the chance of error.
    pub fn interval(&self) -> (Option<u64>, Option<u64>) {
        self.evidence.interval(self.error)
    }

    /// The load to try next; `None` when the interval is near enough, or as near as it comes.
    pub fn next_load(&self) -> Option<u64> {
        self.next
    }

    /// Chooses the next load by what is known now.
    fn plan(&mut self) {
        if let Some(estimate) = self.evidence.estimate() {
            self.centre = (estimate.max(1) as f64).ln();
        }
        let scatter = self.evidence.scatter(self.centre).unwrap_or(0.0);
        let scale = self.scale.max(OF_SCATTER * scatter);
        self.guess = Guess::of(&self.evidence.outcomes(), self.centre, scale);
        self.next = self.side().map(|side| self.load(side));
    }

    /// The side to look at next.
    fn side(&self) -> Option<Side> {
        if self.trials >= MOST {
            return None;
        }
        match self.interval() {
            // Nothing is below the range, and nothing above it.
            (_, Some(high)) if high <= self.range.min => None,
            (Some(low), _) if low >= self.range.max => None,
            (None, Some(_)) => Some(Side::Below),
            (Some(_), None) => Some(Side::Above),
            (None, None) => {
                let on_loss = self.evidence.against_above(self.range.max);
                let on_none = self.evidence.against_below(self.range.min - 1);
                Some(if on_loss <= on_none { Side::Above } else { Side::Below })
            }
            (Some(low), Some(high)) => {
                let is_near = (high - low) as f64 <= self.near * high as f64;
                if is_near || self.trials >= ENOUGH {
                    return None;
                }
                let (low, high) = ((low as f64).ln(), (high as f64).ln());
                let (middle, _) = self.guess.shape();
                Some(if high - middle > middle - low { Side::Above } else { Side::Below })
            }
        }
    }

    /// A load that is likely to be told to lie on its side; nearer to the middle once both ends are known.
    fn load(&self, side: Side) -> u64 {
        let (low, high) = self.interval();
        let scales = if low.is_some() && high.is_some() { NEARER } else { FAR };
        let (middle, scale) = self.guess.shape();
        let load = match side {
            Side::Above => (middle + scales * scale).exp(),
            Side::Below => (middle - scales * scale).exp(),
        };
        (load as u64).clamp(self.range.min, self.range.max)
    }

    /// Takes in a trial at the load last asked for, which tells of `load`; where frames were lost, this
    /// came out.
    pub fn record(&mut self, asked: u64, load: u64, carried: Option<u64>) {
        self.trials += 1;
        let guess = self.guess.loss((asked.max(1) as f64).ln());
        self.evidence.record(load, carried, guess);
        self.plan();
    }

    /// The tester cannot offer this load.
    pub fn limit(&mut self, load: u64) {
        self.limit = Some(self.limit.map_or(load, |limit| limit.min(load)));
        self.trials += 1;
        self.range.max = self.range.max.min(load.saturating_sub(1).max(self.range.min));
        self.plan();
    }

    /// The same as bounds.
    pub fn bounds(&self) -> Bounds {
        let (low, high) = self.evidence.interval(self.error().unwrap_or(self.error));
        let limit = self.limit.map(|load| (load, Upper::Undecided));
        let upper = high.map(|load| (load, Upper::Failed)).or(limit);
        Bounds { lower: low, upper, failed: high }
    }
}
