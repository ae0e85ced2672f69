//! A guess of how the chance of loss grows with the load: it chooses loads and bets, and proves nothing.
//!
//! P(loss at x) = f + (1 - f) / (1 + exp(-(ln x - m) / k)), with weights on a grid of middles m, scales k and
//! floors f (a share of trials that loses frames at any load), by Bayes' rule from all trials.

/// Scales, as multiples of the one expected; each doubling from it is held for so much less likely.
const DOUBLINGS: std::ops::RangeInclusive<i32> = -2..=5;
const UNLIKELY: f64 = 0.35;
/// Floors, with what is held of them beforehand.
const FLOORS: [(f64, f64); 3] = [(0.0, 0.7), (0.1, 0.2), (0.3, 0.1)];
/// Middles, in scales from the centre.
const MIDDLES: std::ops::RangeInclusive<i32> = -6..=6;
const APART: f64 = 1.0;
/// A scale above this (a difference of logarithms) is none.
const WIDEST: f64 = 2.0;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Guess {
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    middle: f64,
    scale: f64,
    floor: f64,
    weight: f64,
}

impl Cell {
    fn loss(&self, log_load: f64) -> f64 {
        let grown = 1.0 / (1.0 + (-(log_load - self.middle) / self.scale).exp());
        self.floor + (1.0 - self.floor) * grown
    }
}

impl Guess {
    /// From trials (logarithm of the load, whether frames were lost), with middles around `centre` and a
    /// scale of about `scale`.
    pub fn of(trials: &[(f64, bool)], centre: f64, scale: f64) -> Self {
        let mut cells = vec![];
        for doublings in DOUBLINGS {
            let scale = scale * 2f64.powi(doublings);
            for (middle, (floor, weight)) in
                MIDDLES.flat_map(|at| FLOORS.map(|floor| (f64::from(at), floor)))
            {
                if scale <= WIDEST || doublings == 0 {
                    let weight = weight * UNLIKELY.powi(doublings.abs());
                    cells.push(Cell {
                        middle: centre + middle * APART * scale,
                        scale,
                        floor,
                        weight,
                    });
                }
            }
        }
        for (log_load, is_lossy) in trials {
            for cell in &mut cells {
                let loss = cell.loss(*log_load);
                cell.weight *= if *is_lossy { loss } else { 1.0 - loss };
            }
        }
        let all: f64 = cells.iter().map(|cell| cell.weight).sum();
        cells.iter_mut().for_each(|cell| cell.weight /= all.max(f64::MIN_POSITIVE));
        cells.retain(|cell| cell.weight > 1e-5);
        Guess { cells }
    }

    /// The chance of loss at a load, given by its logarithm.
    pub fn loss(&self, log_load: f64) -> f64 {
        self.cells.iter().map(|cell| cell.weight * cell.loss(log_load)).sum()
    }

    /// The middle in the mean, and the scale (in the mean of its logarithm).
    pub fn shape(&self) -> (f64, f64) {
        let mean = |of: &dyn Fn(&Cell) -> f64| {
            self.cells.iter().map(|cell| cell.weight * of(cell)).sum::<f64>()
        };
        (mean(&|cell| cell.middle), mean(&|cell| cell.scale.ln()).exp())
    }
}
