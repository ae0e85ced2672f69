//! Between which loads the capacity of a device lies that scatters from trial to trial, from few trials.
//!
//! Each trial shows what the capacity was *in it*: without loss, no less than what was offered; with a small
//! loss, what came out; with a large one, well below what was intended, and no more is taken from it, since
//! many devices forward less than they can when far more is asked of them. The truth sought is the median, the
//! load at which half of the trials lose frames. Assumed is a law:
//!
//! * the logarithm of the capacity is drawn anew for each trial, from a logistic distribution of median m
//!   and scale s;
//! * a device may forward what its capacity is, or collapse: forward less than that, by any share, as soon as
//!   more is asked of it;
//! * besides, frames are lost one by one at any load, so that a trial at load x loses none with a chance of
//!   exp(-h x / x0) only, x0 being a load in the middle of those tried.
//!
//! Bayes' rule gives m, s and h their weights, with nothing known beforehand of m and ln s, but that a large s
//! is rare. Each law says at which load half of the trials lose frames, and the interval leaves out the same
//! weight at each end. Trials are added near the median until it is narrow enough. Where the law does not hold,
//! neither need the interval ([`super::sequential`] assumes none, and takes twice the trials); how often it
//! does is measured in `tests/coverage`.

use super::{Bounds, Range, Upper};

/// The chance that the truth is outside of the interval, if the law holds.
pub const ERROR: f64 = 0.1;
/// The weight that the interval leaves out: somewhat less, for trials that end when the interval happens to be
/// narrow.
const LEFT_OUT: f64 = 0.07;
/// Trials after which the interval is stated as it is, less one for so many of full length that were made before.
const ENOUGH: u32 = 12;
const BEFORE: usize = 3;
/// Trials of full length without which nothing is stated; shorter ones guide until then.
const FEW: usize = 5;
/// Loads are tried above and below the median in turns: by this part of the scale, or of the way to the end of
/// the interval, where that is more.
const ASIDE: f64 = 0.5;
/// A loss that is no larger (a difference of logarithms) tells what the capacity was.
const NEARLY: f64 = 0.3;
/// Scales, from this share of the resolution up to the largest, each so many times the one before.
const LEAST_SCALE: f64 = 0.1;
const MOST_SCALE: f64 = 0.7;
const SCALE_STEP: f64 = 2.0;
/// Larger scales than this are the rarer the larger they are.
const RARE_SCALE: f64 = 0.05;
/// How likely it is held to be beforehand that a device collapses, that frames are lost one by one, that
/// neither is so, and that both are.
const COLLAPSES: f64 = 0.3;
const STRAYS: f64 = 0.2;
const NEITHER: f64 = 0.4;
const BOTH: f64 = 1.0 - COLLAPSES - STRAYS - NEITHER;
/// Frames lost one by one in a trial at the middle load, in the mean: the least, and so many more, each so many
/// times the one before.
const LEAST_STRAYS: f64 = 0.06;
const STRAYS_STEPS: u32 = 12;
const STRAYS_STEP: f64 = 1.6;
/// What a device that collapses loses is up to this (a difference of logarithms), the less the more likely.
const COLLAPSE: f64 = 0.5;
/// Half of such losses are of no larger a share of the frames, the others of any.
const FEW_FRAMES: f64 = 1e-3;
const OF_FEW: f64 = 0.5;
/// Halvings to find where half of the trials lose frames.
const HALVINGS: u32 = 24;
/// Medians weighed at a time, and how often those with weight are looked at more closely.
const MEDIANS: usize = 41;
const CLOSER: usize = 4;
/// Laws with less weight than this beside the likeliest are left out.
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
    fn span(self, exact: f64) -> Span {
        let log = |load: u64| (load.max(1) as f64).ln();
        match self {
            Capacity::AtLeast(load) => {
                let (low, high) = (log(load), f64::INFINITY);
                Span { load: low, low, high, collapsed: 0.0, astray: 0.0 }
            }
            Capacity::Exceeded { load, came_out: (low, high) } => {
                let (load, low, high) = (log(load), log(low), log(high.max(low)));
                let lost = load - high;
                if load - low > NEARLY {
                    let astray = (1.0 - OF_FEW) * (1.0 - NEARLY);
                    let (low, high) = (f64::NEG_INFINITY, load - NEARLY);
                    let collapsed = (1.0 - NEARLY / COLLAPSE).powi(2);
                    return Span { load, low, high, collapsed, astray };
                }
                let of_few = if lost <= FEW_FRAMES { OF_FEW / FEW_FRAMES } else { 0.0 };
                let astray = (1.0 - OF_FEW + of_few) * (high - low + exact).min(FEW_FRAMES);
                let likely = 2.0 / COLLAPSE * (1.0 - lost / COLLAPSE);
                let collapsed = likely * (high - low + exact);
                let (low, high) = (low - exact / 2.0, high + exact / 2.0);
                Span { load, low, high, collapsed, astray }
            }
        }
    }
}

/// From where to where a trial tells of the capacity: logarithms.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Span {
    /// The load.
    load: f64,
    low: f64,
    high: f64,
    /// The chance that a device that collapses loses as much.
    collapsed: f64,
    /// The chance that a loss for another reason looks so.
    astray: f64,
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
    /// No load is tried further from the median than this, a difference of logarithms.
    reach: f64,
    trials: u32,
    /// Trials at most.
    enough: u32,
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
        let reach = near;
        let before = shown.iter().filter(|shown| shown.is_final).count() / BEFORE;
        let enough = ENOUGH.saturating_sub(before as u32);
        let mut search =
            Scatter { range, near, step, shown, estimate, reach, trials, enough, limit, next };
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
        let at = |load: u64| (load.max(1) as f64).ln() - self.estimate.median;
        // On which side of the median this load was, the other outcome was the likelier.
        let is_surprise = match shown.capacity {
            Capacity::AtLeast(load) => at(load) > 0.0,
            Capacity::Exceeded { load, .. } => at(load) < 0.0,
        };
        if is_surprise {
            self.reach *= 2.0;
        }
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
        let is_over = self.trials >= self.enough || (is_near && is_enough);
        let aside = match self.trials.is_multiple_of(2) {
            true => (ASIDE * scale).max(ASIDE * (high - median)).min(self.reach),
            false => -(ASIDE * scale).max(ASIDE * (median - low)).min(self.reach),
        };
        let load = ((median + aside).exp() as u64).clamp(self.range.min, self.range.max);
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

/// A law that may be the device's, with its weight.
#[derive(Clone, Copy, Debug)]
struct Law {
    /// Logarithm of the median capacity, and the scale.
    median: f64,
    scale: f64,
    strays: f64,
    /// Logarithm of the middle of the loads tried.
    middle: f64,
    weight: f64,
}

impl Law {
    /// The chance that a trial loses a frame for another reason than the capacity.
    fn astray(&self, log_load: f64) -> f64 {
        1.0 - (-self.strays * (log_load - self.middle).exp()).exp()
    }

    /// The chance that the capacity of a trial is below a load.
    fn below(&self, log_load: f64) -> f64 {
        1.0 / (1.0 + ((self.median - log_load) / self.scale).exp())
    }

    /// Where half of the trials lose frames.
    fn half(&self) -> f64 {
        let none_lost = |at: f64| (1.0 - self.astray(at)) * (1.0 - self.below(at));
        if self.strays == 0.0 || none_lost(self.median - self.scale / 10.0) > 0.5 {
            return self.median;
        }
        let (mut low, mut high) = (self.median - 20.0, self.median);
        for _ in 0..HALVINGS {
            let at = (low + high) / 2.0;
            if none_lost(at) > 0.5 { low = at } else { high = at }
        }
        high
    }
}

/// How frames may be lost.
struct Kind {
    /// Lost one by one in a trial at the middle load, in the mean.
    strays: f64,
    collapses: bool,
    /// How likely it is held to be beforehand.
    belief: f64,
}

fn kinds() -> impl Iterator<Item = Kind> {
    let one_by_one = [(false, STRAYS), (true, BOTH)].into_iter().flat_map(|(collapses, belief)| {
        (0..STRAYS_STEPS).map(move |step| Kind {
            strays: LEAST_STRAYS * STRAYS_STEP.powi(step as i32),
            collapses,
            belief: belief / f64::from(STRAYS_STEPS),
        })
    });
    let others = [(false, NEITHER), (true, COLLAPSES)].map(|(collapses, belief)| Kind {
        strays: 0.0,
        collapses,
        belief,
    });
    others.into_iter().chain(one_by_one)
}

/// The chance of what a trial showed, as far as median and scale tell it: laws of every kind share it.
struct ByCapacity {
    /// Where the device forwards what its capacity is.
    keeps_up: f64,
    /// Where it collapses.
    collapses: f64,
}

impl ByCapacity {
    fn of(law: &Law, span: &Span) -> Self {
        let Span { load, low, high, collapsed, .. } = *span;
        if high == f64::INFINITY {
            let none_lost = 1.0 - law.below(low);
            return ByCapacity { keeps_up: none_lost, collapses: none_lost };
        }
        let keeps_up = law.below(high) - law.below(low);
        ByCapacity { keeps_up, collapses: law.below(load) * collapsed }
    }
}

/// Factors that a product has before its logarithm is taken: none of them is below [`LEAST_CHANCE`], so that it
/// is a normal number still.
const FACTORS: usize = 16;
const LEAST_CHANCE: f64 = 1e-12;

/// The logarithm of the product of the chances of what each trial showed.
fn likelihood(collapses: bool, strays: &[f64], by_capacity: &[ByCapacity], spans: &[Span]) -> f64 {
    let (mut sum, mut product) = (0.0, 1.0);
    for (at, by) in by_capacity.iter().enumerate() {
        let by_capacity = if collapses { by.collapses } else { by.keeps_up };
        let chance = (1.0 - strays[at]) * by_capacity + strays[at] * spans[at].astray;
        product *= chance.max(LEAST_CHANCE);
        if at % FACTORS == FACTORS - 1 {
            sum += f64::ln(product);
            product = 1.0;
        }
    }
    sum + f64::ln(product)
}

/// Laws with medians on one grid.
struct Laws(Vec<Law>);

impl Estimate {
    fn of(shown: &[Shown], step: f64) -> Estimate {
        let exact = step * LEAST_SCALE;
        let spans: Vec<Span> = shown.iter().map(|it| it.capacity.span(exact)).collect();
        let ends = spans.iter().flat_map(|span| [span.low, span.high]);
        let mut ends: Vec<f64> = ends.filter(|end| end.is_finite()).collect();
        ends.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (ends.first(), ends.last()) else {
            return Estimate::default();
        };
        let middle = ends[ends.len() / 2];
        let mut laws = Laws::of(&spans, step, middle, (least - 0.1, most + 0.1));
        for _ in 0..CLOSER {
            laws = Laws::of(&spans, step, middle, laws.heavy());
        }
        laws.estimate()
    }
}

impl Laws {
    fn of(spans: &[Span], step: f64, middle: f64, (low, high): (f64, f64)) -> Laws {
        let apart = (high - low) / (MEDIANS - 1) as f64;
        let least = step * LEAST_SCALE;
        let scales = std::iter::successors(Some(least), |scale| Some(scale * SCALE_STEP));
        let scales: Vec<f64> = scales.take_while(|scale| *scale <= MOST_SCALE).collect();
        let law = |median, scale, strays| Law { median, scale, strays, middle, weight: 0.0 };
        // Exponentials cost most: those of the strays are the same for every median and scale.
        let strays = |kind: Kind| {
            let of_kind = law(0.0, 1.0, kind.strays);
            let at = |span: &Span| if span.high == f64::INFINITY { span.low } else { span.high };
            let chances = spans.iter().map(|span| of_kind.astray(at(span)));
            (chances.collect::<Vec<f64>>(), kind)
        };
        let kinds: Vec<(Vec<f64>, Kind)> = kinds().map(strays).collect();
        let mut laws = vec![];
        for index in 0..MEDIANS {
            let median = low + apart * index as f64;
            for scale in &scales {
                let any = law(median, *scale, 0.0);
                let by_capacity: Vec<_> = spans.iter().map(|it| ByCapacity::of(&any, it)).collect();
                let rare = -(scale / RARE_SCALE).max(1.0).ln();
                for (strays, Kind { strays: mean, collapses, belief }) in &kinds {
                    let likelihood = likelihood(*collapses, strays, &by_capacity, spans);
                    let weight = belief.ln() + rare + likelihood;
                    laws.push(Law { weight, ..law(median, *scale, *mean) });
                }
            }
        }
        let best = laws.iter().map(|law| law.weight).fold(f64::NEG_INFINITY, f64::max);
        laws.iter_mut().for_each(|law| law.weight = (law.weight - best).exp());
        laws.retain(|law| law.weight >= LIGHT);
        Laws(laws)
    }

    /// From where to where there is weight.
    fn heavy(&self) -> (f64, f64) {
        let medians = self.0.iter().map(|law| law.median);
        let low = medians.clone().fold(f64::INFINITY, f64::min);
        let high = medians.fold(f64::NEG_INFINITY, f64::max);
        let aside = ((high - low) / (MEDIANS - 1) as f64).max(1e-9);
        (low - aside, high + aside)
    }

    fn estimate(&self) -> Estimate {
        let mut halves: Vec<(f64, f64)> =
            self.0.iter().map(|law| (law.half(), law.weight)).collect();
        halves.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all: f64 = halves.iter().map(|(_, weight)| weight).sum();
        let quantile = |share: f64| {
            let mut below = 0.0;
            let at = halves.iter().find(|(_, weight)| {
                below += weight;
                below >= share * all
            });
            at.or(halves.last()).map_or(0.0, |(half, _)| *half)
        };
        let log_scales: f64 = self.0.iter().map(|law| law.weight * law.scale.ln()).sum();
        let [low, median, high] = [LEFT_OUT / 2.0, 0.5, 1.0 - LEFT_OUT / 2.0].map(quantile);
        Estimate { low, median, high, scale: (log_scales / all).exp() }
    }
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

    /// Trials of 0.4 s on a kernel's router that loses more the more is asked of it. All without loss were
    /// below all with loss, but one that was held up: that one does not make the others a scatter.
    #[test]
    fn one_bad_trial_does_not_hide_where_a_device_collapses() {
        let clean_at =
            [899, 899, 847, 874, 886, 887, 883, 811, 956, 896, 922, 931, 1_033, 968, 883];
        let more_clean = [816, 887, 842, 936, 888, 1_000, 946, 935];
        let lossy_at =
            [(827, 847), (985, 1_052), (992, 1_058), (902, 1_084), (947, 1_087), (947, 1_064)];
        let mut shown: Vec<Shown> =
            clean_at.iter().chain(&more_clean).map(|load| clean(load * 1_000)).collect();
        shown.extend(lossy_at.iter().map(|(out, load)| lossy(out * 1_000, load * 1_000)));
        let (low, high) = interval(&shown);
        assert!(low < 1_033_000.0 && high > 1_052_000.0, "{low} .. {high}");
        assert!(1.0 - low / high < 0.12, "{low} .. {high}");
    }

    #[test]
    fn nothing_and_nonsense_do_not_panic() {
        interval(&[]);
        interval(&[lossy(0, 1)]);
        interval(&[lossy(5, 5), clean(0), clean(u64::MAX), lossy(u64::MAX, 1)]);
    }
}
