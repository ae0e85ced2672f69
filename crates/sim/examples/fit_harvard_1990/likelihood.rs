//! How likely the printed figures are under a model. Nothing here counts figures that come near.
//!
//! The error model: the rate that a device could forward is the model's times exp(e), and e has a
//! Laplace distribution about zero whose scale is one number of the product, fitted with the others.
//! Its tails are heavy: a misprint pulls the model no harder than its share. What was printed is that
//! rate in whole frames a second, so that a figure r says that it lay between r - 1/2 and r + 1/2. A
//! figure at the rate of the source says only that the device could forward that, or more. Below ten
//! frames a second an error is no longer relative: such rates count as ten.

use crate::figures::{Cell, Of};
use crate::model::{Model, Product, What};

/// Rates below this count as this.
const LEAST_FPS: f64 = 10.0;

impl Product {
    /// The logarithm of the probability of what was printed; each figure as often as `weights` say.
    pub fn log_likelihood(&self, model: &Model, cells: &[Cell], weights: &[f64]) -> f64 {
        let weighted = cells.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
        weighted.map(|(cell, weight)| weight * self.log_probability(model, cell)).sum()
    }

    fn log_probability(&self, model: &Model, cell: &Cell) -> f64 {
        let scale = model.get(Of::All, What::Error);
        let middle = self.capability_fps(model, cell).max(LEAST_FPS).ln();
        let at = |fps: f64| (fps.max(LEAST_FPS).ln() - middle) / scale;
        match cell.kept_up_fps() {
            Some(from) => log_below(-at(from)),
            None if cell.fps < LEAST_FPS => log_below(at(LEAST_FPS + 0.5)),
            None => log_between(at(cell.fps - 0.5), at(cell.fps + 0.5)),
        }
    }
}

/// The logarithm of the probability that a Laplace variable of scale 1 is below `at`.
fn log_below(at: f64) -> f64 {
    if at < 0.0 { 0.5_f64.ln() + at } else { (-0.5 * (-at).exp()).ln_1p() }
}

/// And that it is between these, `from` being the lower one.
fn log_between(from: f64, to: f64) -> f64 {
    if to <= 0.0 {
        0.5_f64.ln() + to + (-(from - to).exp()).ln_1p()
    } else if from >= 0.0 {
        log_between(-to, -from)
    } else {
        (1.0 - 0.5 * (from.exp() + (-to).exp())).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the density exp(-|x|) / 2, summed in a thousand strips.
    #[test]
    fn probabilities_are_areas_under_the_density() {
        let area = |from: f64, to: f64| {
            let strip = (to - from) / 1e3;
            let middle = |i: i32| from + (f64::from(i) + 0.5) * strip;
            (0..1_000).map(|i| 0.5 * (-middle(i).abs()).exp() * strip).sum::<f64>()
        };
        for (from, to) in [(-3.0, -1.0), (-1.0, 0.0), (-0.5, 2.0), (0.0, 1.0), (4.0, 4.1)] {
            assert!((log_between(from, to).exp() - area(from, to)).abs() < 1e-6, "{from} {to}");
        }
        for at in [-2.0, 0.0, 1.5] {
            assert!((log_below(at).exp() - area(-30.0, at)).abs() < 1e-3, "{at}");
        }
    }
}
