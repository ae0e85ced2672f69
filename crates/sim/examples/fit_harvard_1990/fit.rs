//! The numbers that make the printed figures likeliest.

use crate::figures::Cell;
use crate::model::{Key, Model, Product, What};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// From how many beginnings a model is fitted: each length of `start`, then as many spread about.
const BEGINNINGS: usize = 18;
/// How often a fit leaves the best so far, to come back to it or to a better one.
const HOPS: u64 = 60;
/// By what factor at most it leaves it.
const HOP: f64 = 2.0;
/// How wide and how fine the search goes, as factors of a number.
const WIDEST: f64 = 1.6;
const FINE: f64 = 1.001;
const COARSE: f64 = 1.01;
/// Where a repeated fit begins, near the one of all figures.
const NEAR: f64 = 1.1;
/// The shortest frame and the longest, in bytes: what a length can be.
const LENGTHS: (f64, f64) = (64.0, 1_518.0);
/// A gain of likelihood that is worth a step, and one that is worth another model.
const GAIN: f64 = 1e-7;
const WORTH: f64 = 0.01;

/// The figures of a fit, and how often each counts.
pub struct Sample<'a> {
    pub cells: &'a [Cell],
    pub weights: Vec<f64>,
}

impl<'a> Sample<'a> {
    pub fn of_all(cells: &'a [Cell]) -> Self {
        Sample { cells, weights: vec![1.0; cells.len()] }
    }

    /// Those alone that are kept.
    pub fn of(cells: &'a [Cell], keeps: impl Fn(usize) -> bool) -> Self {
        let weights = (0..cells.len()).map(|cell| f64::from(u8::from(keeps(cell)))).collect();
        Sample { cells, weights }
    }
}

impl Product {
    /// The likeliest that is found from every beginning, and near the best of them; to three digits.
    pub fn fit(&self, sample: &Sample<'_>) -> Model {
        let begin = |seed| {
            let model = self.start(sample.cells, &sample.weights, seed);
            self.climb(model, sample, WIDEST, COARSE)
        };
        let better = |best: (f64, Model), next: (f64, Model)| {
            if next.0 > best.0 + WORTH { next } else { best }
        };
        let best = (0..BEGINNINGS).map(begin).reduce(better).expect("a beginning");
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1990);
        let hop = |best: (f64, Model), _| {
            let from = hopped(&best.1, &mut random);
            better(best, self.climb(from, sample, WIDEST, COARSE))
        };
        let (_, model) = (0..HOPS).fold(best, hop);
        let (best, mut model) = self.climb(model, sample, NEAR, FINE);
        self.return_idle(&mut model, best, sample);
        for (of, what) in model.keys.clone() {
            // Three digits are as much as the figures bear.
            let value = rounded(model.get(of, what));
            model.put((of, what), value);
            // What does nothing is no number of the model.
            if value <= 0.002 && what != What::PerFrame && what != What::Error {
                model.remove((of, what));
            }
        }
        model
    }

    /// A number that makes nothing likelier stays where the rule puts it.
    fn return_idle(&self, model: &mut Model, best: f64, sample: &Sample<'_>) {
        let start = self.start(sample.cells, &sample.weights, 0);
        for (of, what) in model.keys.clone() {
            let found = model.get(of, what);
            model.put((of, what), start.get(of, what));
            if self.log_likelihood(model, sample.cells, &sample.weights) < best - WORTH {
                model.put((of, what), found);
            }
        }
    }

    /// Again, from the numbers of a fit of nearly the same figures.
    pub fn fit_again(&self, sample: &Sample<'_>, from: &Model) -> Model {
        self.climb(from.clone(), sample, NEAR, 1.003).1
    }

    /// Pattern search: one number after the other by a factor, and two at once where that leads no
    /// further, since a frame's cost can go up as its bytes' goes down; in ever smaller steps.
    fn climb(
        &self,
        mut model: Model,
        sample: &Sample<'_>,
        widest: f64,
        finest: f64,
    ) -> (f64, Model) {
        let likelihood = |model: &Model| self.log_likelihood(model, sample.cells, &sample.weights);
        let mut best = likelihood(&model);
        let mut step = widest;
        while step > finest {
            let before = model.clone();
            let mut moved = single(&mut model, &mut best, step, &likelihood);
            if moved {
                onward(&before, &mut model, &mut best, &likelihood);
            } else {
                moved = double(&mut model, &mut best, step, &likelihood);
            }
            if !moved {
                step = 1.0 + (step - 1.0) * 0.6;
            }
        }
        (best, model)
    }
}

/// The numbers of one protocol, of the filters or of all frames somewhere else, or those of two of these; lengths
/// anywhere between the shortest frame and the longest.
fn hopped(model: &Model, random: &mut Xoshiro256PlusPlus) -> Model {
    let mut model = model.clone();
    let mut any = || model.keys[(random.next_u64() % model.keys.len() as u64) as usize].0;
    let of = [any(), any()];
    for key in model.keys.clone().into_iter().filter(|key| of.contains(&key.0)) {
        let share = f64::from(random.next_u32()) / f64::from(u32::MAX);
        let value = match key.1.is_bytes() {
            true => LENGTHS.0 * (LENGTHS.1 / LENGTHS.0).powf(share),
            false => model.get(key.0, key.1) * HOP.powf(2.0 * share - 1.0),
        };
        model.put(key, value);
    }
    model
}

/// Keeps what is likelier.
fn accept(
    model: &mut Model,
    best: &mut f64,
    changes: &[(Key, f64)],
    likelihood: &impl Fn(&Model) -> f64,
) -> bool {
    let before: Vec<(Key, f64)> =
        changes.iter().map(|((of, what), _)| ((*of, *what), model.get(*of, *what))).collect();
    for (key, factor) in changes {
        let value = model.get(key.0, key.1) * factor;
        let (least, most) = if key.1.is_bytes() { LENGTHS } else { (1e-4, 1e5) };
        model.put(*key, value.clamp(least, most));
    }
    let now = likelihood(model);
    if now > *best + GAIN {
        *best = now;
        return true;
    }
    before.into_iter().for_each(|(key, value)| model.put(key, value));
    false
}

fn single(
    model: &mut Model,
    best: &mut f64,
    step: f64,
    likelihood: &impl Fn(&Model) -> f64,
) -> bool {
    let mut moved = false;
    for key in model.keys.clone() {
        for factor in [step, 1.0 / step] {
            if accept(model, best, &[(key, factor)], likelihood) {
                moved = true;
                break;
            }
        }
    }
    moved
}

fn double(
    model: &mut Model,
    best: &mut f64,
    step: f64,
    likelihood: &impl Fn(&Model) -> f64,
) -> bool {
    let mut moved = false;
    let keys: Vec<Key> = model.keys.iter().copied().filter(|key| key.1 != What::Error).collect();
    for (at, first) in keys.iter().enumerate() {
        for second in &keys[at + 1..] {
            for [a, b] in [[step, 1.0 / step], [1.0 / step, step], [step, step]] {
                moved |= accept(model, best, &[(*first, a), (*second, b)], likelihood);
            }
        }
    }
    moved
}

/// The way of a whole round once more.
fn onward(before: &Model, model: &mut Model, best: &mut f64, likelihood: &impl Fn(&Model) -> f64) {
    let way = |(of, what): Key| ((of, what), model.get(of, what) / before.get(of, what));
    let changes: Vec<(Key, f64)> = model.keys.clone().into_iter().map(way).collect();
    accept(model, best, &changes, likelihood);
}

/// To three digits, and no finer than a nanosecond a frame or a picosecond a byte needs.
pub fn rounded(value: f64) -> f64 {
    let digits = (2.0 - value.abs().max(1e-4).log10().floor()).max(0.0) as usize;
    format!("{value:.digits$}").parse().unwrap_or(value)
}

/// What the logarithm of the likelihood may lose in 95 of 100 samples: half of 3.84, of chi-squared.
const LOSS: f64 = 1.92;
/// How finely a bound is looked for.
const BOUND: f64 = 1.01;

/// The greatest that a number can be that the figures bound from above alone: without it, they are no
/// less likely. `None` for a number that they tell more of.
pub fn upper_bound(product: &Product, model: &Model, cells: &[Cell], key: Key) -> Option<f64> {
    let weights = vec![1.0; cells.len()];
    let likelihood = |value: f64| {
        let mut changed = model.clone();
        changed.put(key, value);
        product.log_likelihood(&changed, cells, &weights)
    };
    let value = model.get(key.0, key.1);
    let best = likelihood(value);
    let is_length = key.1.is_bytes() || key.1 == What::Error;
    if is_length || best - likelihood(1e-4) >= LOSS {
        return None;
    }
    let greater = (0..2_000).map(|step| value * BOUND.powi(step));
    greater.take_while(|value| best - likelihood(*value) < LOSS).last()
}
