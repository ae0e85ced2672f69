//! How near the models come: to the figures of the fit, and to figures that were held out of it.

use crate::figures::{CLASSES, Cell, Of};
use crate::fit::{Sample, upper_bound};
use crate::model::{Key, Model, Product};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A figure counts as near within this share (`report::reproduction::WITHIN`).
pub const WITHIN: f64 = 0.05;
/// Seeds of the random splits; 30 of 100 figures are held out.
pub const SEEDS: [u64; 3] = [1, 2, 3];
const HELD_OUT: f64 = 0.3;
/// Samples of the bootstrap.
pub const SAMPLES: u64 = 200;

/// What is held out of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HeldOut {
    Nothing,
    /// A share of the figures of each product.
    Random(u64),
    /// One of [`CLASSES`].
    Class(usize),
}

impl HeldOut {
    pub fn all() -> Vec<HeldOut> {
        let random = SEEDS.map(HeldOut::Random);
        let classes = [1, 2, 3].map(HeldOut::Class);
        [HeldOut::Nothing].into_iter().chain(random).chain(classes).collect()
    }

    pub fn name(self) -> String {
        match self {
            HeldOut::Nothing => "nothing".into(),
            HeldOut::Random(seed) => format!("random 30 % (seed {seed})"),
            HeldOut::Class(class) => format!("all of {}", CLASSES[class]),
        }
    }

    /// Which figures are held out.
    pub fn of(self, cells: &[Cell]) -> Vec<bool> {
        match self {
            HeldOut::Nothing => vec![false; cells.len()],
            HeldOut::Class(class) => cells.iter().map(|cell| cell.class() == class).collect(),
            HeldOut::Random(seed) => {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                let mut held = vec![false; cells.len()];
                let mut left = (HELD_OUT * cells.len() as f64).round() as usize;
                while left > 0 {
                    let cell = below(&mut random, cells.len());
                    if !held[cell] {
                        held[cell] = true;
                        left -= 1;
                    }
                }
                held
            }
        }
    }
}

fn below(random: &mut Xoshiro256PlusPlus, count: usize) -> usize {
    (random.next_u64() % count as u64) as usize
}

/// Differences of informative figures.
#[derive(Clone, Debug, Default)]
pub struct Differences(pub Vec<f64>);

impl Differences {
    pub fn median_percent(&self) -> f64 {
        let mut sizes: Vec<f64> = self.0.iter().map(|difference| difference.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        100.0 * sizes.get(sizes.len() / 2).copied().unwrap_or(0.0)
    }

    pub fn within(&self) -> usize {
        self.0.iter().filter(|difference| difference.abs() <= WITHIN).count()
    }
}

impl Product {
    /// Of the informative figures that were held out; of nothing held out, of all.
    pub fn held_out(&self, cells: &[Cell], what: HeldOut, fitted: &Model) -> Differences {
        let held = what.of(cells);
        let judged = |cell: usize| held[cell] || what == HeldOut::Nothing;
        let any = (0..cells.len()).any(|cell| judged(cell) && cells[cell].is_informative());
        let model = match what {
            _ if !any => return Differences::default(),
            HeldOut::Nothing => fitted.clone(),
            _ => self.fit(&Sample::of(cells, |cell| !held[cell])),
        };
        let judged =
            cells.iter().enumerate().filter(|(at, cell)| judged(*at) && cell.is_informative());
        Differences(judged.map(|(_, cell)| self.difference(&model, cell)).collect())
    }

    /// What each number comes to in samples of the figures, drawn with repetition: between these it
    /// lies in 95 of 100 samples. Of a number that is only bounded: from nothing to its bound.
    pub fn intervals(&self, cells: &[Cell], fitted: &Model) -> Vec<(Key, f64, f64)> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1990);
        let samples = (0..SAMPLES).map(|_| {
            let mut weights = vec![0.0; cells.len()];
            (0..cells.len()).for_each(|_| weights[below(&mut random, cells.len())] += 1.0);
            self.fit_again(&Sample { cells, weights }, fitted)
        });
        let samples: Vec<Model> = samples.collect();
        let interval = |key: &Key| {
            let mut values: Vec<f64> =
                samples.iter().map(|model| model.get(key.0, key.1)).collect();
            values.sort_by(f64::total_cmp);
            let at = |share: f64| values[(share * (values.len() - 1) as f64).round() as usize];
            let value = fitted.get(key.0, key.1);
            match upper_bound(self, fitted, cells, *key) {
                Some(most) => (*key, 0.0, most),
                // The rounded number may lie outside by its last digit.
                None => (*key, at(0.025).min(value), at(0.975).max(value)),
            }
        };
        fitted.keys.iter().map(interval).collect()
    }

    /// By how many percent the informative figures of each class change, on average, if a number is
    /// a tenth greater.
    pub fn perturbed(&self, cells: &[Cell], fitted: &Model, (of, what): Key) -> [f64; 4] {
        let mut greater = fitted.clone();
        greater.put((of, what), 1.1 * fitted.get(of, what));
        let mut sums = [(0.0, 0_u32); 4];
        for cell in cells.iter().filter(|cell| cell.is_informative()) {
            let before = self.predict(fitted, cell);
            let change = match before {
                0.0 => 0.0,
                before => self.predict(&greater, cell) / before - 1.0,
            };
            let (sum, count) = &mut sums[cell.class()];
            *sum += change;
            *count += 1;
        }
        sums.map(|(sum, count)| 100.0 * sum / f64::from(count.max(1)))
    }
}

/// What a number is called in tables.
pub fn name((of, what): Key) -> String {
    match of {
        Of::All => what.name().into(),
        of => format!("{} {}", of.name(), what.name()),
    }
}
