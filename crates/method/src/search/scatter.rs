//! Between which loads the capacity of a device lies that scatters from trial to trial, from few trials.
//!
//! Each trial shows what the capacity was *in it*: without loss, no less than what was offered; with a small
//! loss, what came out; with a large one, below what was intended, and no more is taken from it, since many
//! devices forward less than they can when far more is asked of them. The truth sought is the median, the
//! load at which half of the trials lose frames. Assumed is a law:
//!
//! * the logarithm of the capacity is drawn anew for each trial, from a logistic distribution of median m
//!   and scale s;
//! * besides, a share f of the trials loses frames at any load.
//!
//! Bayes' rule gives m its weights, with nothing known beforehand of m and ln s; the interval leaves out
//! the same weight at each end. Trials are added near the median until it is narrow enough. Where the law does
//! not hold, neither need the interval ([`super::sequential`] assumes none, and takes twice the trials); how
//! often it does is measured in `tests/coverage`.

use super::{Bounds, Range, Upper};

/// The chance that the truth is outside of the interval, if the law holds.
pub const ERROR: f64 = 0.1;
/// Trials after which the interval is stated as it is.
const ENOUGH: u32 = 12;
/// Trials of full length without which nothing is stated; shorter ones guide until then.
const FEW: usize = 5;
/// Loads are tried this many scales above and below the median, in turns.
const ASIDE: f64 = 0.5;
/// A loss that is no larger (a difference of logarithms) tells what the capacity was.
const NEARLY: f64 = 0.1;
/// Scales, from this share of the resolution up to the largest, each so many times the one before.
const LEAST_SCALE: f64 = 0.1;
const MOST_SCALE: f64 = 0.7;
const SCALE_STEP: f64 = 1.6;
/// Shares of trials that lose frames at any load, and how likely they are held to be beforehand.
const FLOORS: [(f64, f64); 3] = [(0.0, 0.8), (0.1, 0.15), (0.3, 0.05)];
/// Medians weighed at a time, and how often those with weight are looked at more closely.
const MEDIANS: usize = 61;
const CLOSER: usize = 5;
/// Medians with less weight than this beside the likeliest are not looked at.
const LIGHT: f64 = 1e-4;

/// A trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shown {
    /// What it shows of the capacity in it.
    pub capacity: Capacity,
    /// Whether it had its full length.
    pub is_final: bool,
}

/// What a trial shows of the capacity in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capacity {
    /// Nothing was lost.
    AtLeast(u64),
    /// Frames were lost.
    Exceeded {
        /// What was intended.
        load: u64,
        /// Between which loads lies what came out, and would on and on.
        came_out: (u64, u64),
    },
}

impl Capacity {
    /// From where to where a trial tells of it: logarithms.
    fn span(self, exact: f64) -> (f64, f64) {
        let log = |load: u64| (load.max(1) as f64).ln();
        match self {
            Capacity::AtLeast(load) => (log(load), f64::INFINITY),
            Capacity::Exceeded { load, came_out: (low, high) } => {
                let (low, high) = (log(low), log(high.max(low)));
                match log(load) - low <= NEARLY {
                    true => (low - exact / 2.0, high + exact / 2.0),
                    false => (f64::NEG_INFINITY, log(load) - NEARLY),
                }
            }
        }
    }
}

/// A search by this estimate, once trials have contradicted each other.
#[derive(Clone, Debug)]
pub struct Scatter {
    range: Range,
    /// The interval is near enough at this share of its upper end.
    near: f64,
    /// The resolution, a difference of logarithms.
    step: f64,
    shown: Vec<Shown>,
    estimate: Estimate,
    trials: u32,
    /// The lowest load that the tester cannot offer.
    limit: Option<u64>,
    next: Option<u64>,
}

/// What is known of the median: logarithms of loads.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
struct Estimate {
    low: f64,
    median: f64,
    high: f64,
    /// The scale, in the mean of its logarithm.
    scale: f64,
}

impl Scatter {
    /// Goes on from the trials made so far.
    pub fn new(range: Range, near: f64, step: f64, shown: Vec<Shown>) -> Self {
        let estimate = Estimate::default();
        let (trials, limit, next) = (0, None, None);
        let mut search = Scatter { range, near, step, shown, estimate, trials, limit, next };
        search.plan();
        search
    }

    /// The load to try next; `None` when the interval is near enough, or as near as it comes.
    pub fn next_load(&self) -> Option<u64> {
        self.next
    }

    /// Takes in a trial at the load last asked for.
    pub fn record(&mut self, shown: Shown) {
        self.trials += 1;
        self.shown.push(shown);
        self.plan();
    }

    /// The tester cannot offer this load.
    pub fn limit(&mut self, load: u64) {
        self.limit = Some(self.limit.map_or(load, |limit| limit.min(load)));
        self.trials += 1;
        self.range.max = self.range.max.min(load.saturating_sub(1).max(self.range.min));
        self.plan();
    }

    fn plan(&mut self) {
        let finals: Vec<Shown> = self.shown.iter().copied().filter(|it| it.is_final).collect();
        let is_enough = finals.len() >= FEW;
        let told = if is_enough { &finals } else { &self.shown };
        self.estimate = Estimate::of(told, self.step);
        let Estimate { low, median, high, scale } = self.estimate;
        let is_near = 1.0 - (low - high).exp() <= self.near;
        let is_over = self.trials >= ENOUGH || (is_near && is_enough);
        let side = if self.trials.is_multiple_of(2) { ASIDE } else { -ASIDE };
        let load = ((median + side * scale).exp() as u64).clamp(self.range.min, self.range.max);
        self.next = (!is_over).then_some(load);
    }

    /// The interval as bounds. The lower one is no higher than a load that passed.
    pub fn bounds(&self) -> Bounds {
        let Range { min, max } = self.range;
        let low = self.estimate.low.exp() as u64;
        let high = (self.estimate.high.exp().ceil() as u64).clamp(min, max);
        let finals = self.shown.iter().filter(|it| it.is_final);
        let passed = finals.filter_map(|it| match it.capacity {
            Capacity::AtLeast(load) => Some(load),
            Capacity::Exceeded { .. } => None,
        });
        let lower = passed.max().map(|passed| low.clamp(min.min(passed), passed));
        let limit = self.limit.filter(|limit| *limit <= high).map(|load| (load, Upper::Undecided));
        Bounds { lower, upper: limit.or(Some((high, Upper::Failed))), failed: Some(high) }
    }
}

/// Weights of medians, for one grid of them.
struct Weights {
    medians: Vec<f64>,
    /// Of each median, relative to the largest.
    weights: Vec<f64>,
    /// The mean of the logarithm of the scale.
    log_scale: f64,
}

impl Estimate {
    fn of(shown: &[Shown], step: f64) -> Estimate {
        let exact = step * LEAST_SCALE;
        let spans: Vec<(f64, f64)> = shown.iter().map(|it| it.capacity.span(exact)).collect();
        let ends = spans.iter().flat_map(|(low, high)| [*low, *high]);
        let ends: Vec<f64> = ends.filter(|end| end.is_finite()).collect();
        let least = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if ends.is_empty() {
            return Estimate::default();
        }
        let (mut low, mut high) = (least - 0.1, most + 0.1);
        let mut weights = Weights::of(&spans, step, low, high);
        for _ in 0..CLOSER {
            (low, high) = weights.heavy();
            weights = Weights::of(&spans, step, low, high);
        }
        let [low, median, high] =
            [ERROR / 2.0, 0.5, 1.0 - ERROR / 2.0].map(|p| weights.quantile(p));
        Estimate { low, median, high, scale: weights.log_scale.exp() }
    }
}

impl Weights {
    fn of(spans: &[(f64, f64)], step: f64, low: f64, high: f64) -> Weights {
        let apart = (high - low) / (MEDIANS - 1) as f64;
        let medians: Vec<f64> = (0..MEDIANS).map(|index| low + apart * index as f64).collect();
        let scales: Vec<f64> =
            std::iter::successors(Some(step * LEAST_SCALE), |scale| Some(scale * SCALE_STEP))
                .take_while(|scale| *scale <= MOST_SCALE)
                .collect();
        let at = |median: f64| scales.iter().map(move |scale| (median, *scale));
        let cells: Vec<(usize, f64, f64)> = medians
            .iter()
            .enumerate()
            .flat_map(|(index, median)| at(*median).map(move |cell| (index, cell)))
            .map(|(index, (median, scale))| (index, scale, log_likelihood(spans, median, scale)))
            .collect();
        let best = cells.iter().map(|cell| cell.2).fold(f64::NEG_INFINITY, f64::max);
        let mut weights = vec![0.0; medians.len()];
        let (mut log_scale, mut sum) = (0.0, 0.0);
        for (index, scale, likelihood) in cells {
            let weight = (likelihood - best).exp();
            weights[index] += weight;
            log_scale += weight * scale.ln();
            sum += weight;
        }
        Weights { medians, weights, log_scale: log_scale / sum }
    }

    /// From where to where there is weight.
    fn heavy(&self) -> (f64, f64) {
        let most = self.weights.iter().copied().fold(0.0, f64::max);
        let is_heavy = |weight: &f64| *weight >= LIGHT * most;
        let first = self.weights.iter().position(is_heavy).unwrap_or(0);
        let last = self.weights.iter().rposition(is_heavy).unwrap_or(MEDIANS - 1);
        (self.medians[first.saturating_sub(1)], self.medians[(last + 1).min(MEDIANS - 1)])
    }

    /// Below which median this share of the weight lies.
    fn quantile(&self, share: f64) -> f64 {
        let all: f64 = self.weights.iter().sum();
        let apart = self.medians[1] - self.medians[0];
        let mut below = 0.0;
        for (median, weight) in self.medians.iter().zip(&self.weights) {
            if below + weight >= share * all {
                let part = (share * all - below) / weight.max(f64::MIN_POSITIVE);
                return median + (part - 0.5) * apart;
            }
            below += weight;
        }
        self.medians[MEDIANS - 1]
    }
}

fn log_likelihood(spans: &[(f64, f64)], median: f64, scale: f64) -> f64 {
    // The chance that the capacity of a trial is below a load.
    let below = |log_load: f64| 1.0 / (1.0 + ((median - log_load) / scale).exp());
    // And that a loss at any load looks so: as much as any other, in the scale of logarithms.
    let chances: Vec<(f64, f64)> = spans
        .iter()
        .map(|(low, high)| {
            let at_any_load = if high.is_finite() { (high - low).min(1.0) } else { 0.0 };
            (below(*high) - below(*low), at_any_load)
        })
        .collect();
    let with_floor = |(floor, belief): (f64, f64)| -> f64 {
        let of = |(chance, at_any_load): &(f64, f64)| {
            ((1.0 - floor) * chance + floor * at_any_load).max(1e-12).ln()
        };
        belief.ln() + chances.iter().map(of).sum::<f64>()
    };
    let all = FLOORS.map(with_floor);
    let best = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    best + all.iter().map(|one| (one - best).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(load: u64) -> Shown {
        Shown { capacity: Capacity::AtLeast(load), is_final: true }
    }

    fn lossy(came_out: u64, load: u64) -> Shown {
        let capacity = Capacity::Exceeded { load, came_out: (came_out, came_out) };
        Shown { capacity, is_final: true }
    }

    fn interval(shown: &[Shown]) -> (f64, f64) {
        let Estimate { low, high, .. } = Estimate::of(shown, 0.01);
        (low.exp(), high.exp())
    }

    /// Twelve measurements that scatter by 2 %: the classical interval of their mean is wider than what
    /// separates the quartiles, and so is this one by about the same.
    #[test]
    fn exact_measurements_give_the_classical_interval() {
        let at = [-30i64, -22, -16, -11, -6, -2, 2, 6, 11, 16, 22, 30]
            .map(|o| (1_000_000 + 1_000 * o) as u64);
        let shown: Vec<Shown> = at.iter().map(|at| lossy(*at, at + 5_000)).collect();
        let (low, high) = interval(&shown);
        // The standard deviation is 17.8 thousandths; Student's t of 11 degrees at 90 % is 1.796.
        let half = 1.796 * 17.8e3 / 12f64.sqrt();
        assert!((low - (1e6 - half)).abs() < 0.25 * half, "{low} for {}", 1e6 - half);
        assert!((high - (1e6 + half)).abs() < 0.25 * half, "{high} for {}", 1e6 + half);
    }

    #[test]
    fn more_trials_give_a_narrower_interval() {
        let few = [lossy(980_000, 1_010_000), clean(1_000_000), clean(990_000)];
        let few = [few[0], few[1], few[2], lossy(990_000, 1_000_000)];
        let many: Vec<Shown> = few.iter().cycle().take(24).copied().collect();
        let width = |(low, high): (f64, f64)| high / low - 1.0;
        assert!(width(interval(&many)) < 0.6 * width(interval(&few)));
    }

    /// A trial that lost three frames at a tenth of the load does not move the median far.
    #[test]
    fn a_stray_loss_does_not_lead_astray() {
        let steady = [lossy(999_000, 1_005_000), clean(995_000), lossy(999_500, 1_010_000)];
        let mut shown: Vec<Shown> = steady.iter().cycle().take(9).copied().collect();
        shown.push(lossy(99_990, 100_000));
        let (low, high) = interval(&shown);
        assert!(low > 900_000.0 && high < 1_100_000.0, "{low} .. {high}");
    }

    #[test]
    fn nothing_and_nonsense_do_not_panic() {
        interval(&[]);
        interval(&[lossy(0, 1)]);
        interval(&[lossy(5, 5), clean(0), clean(u64::MAX), lossy(u64::MAX, 1)]);
    }
}
