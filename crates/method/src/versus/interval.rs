//! The interval of a ratio from the logarithms of block ratios: Hodges and Lehmann's estimate, with
//! the interval that inverts Wilcoxon's signed-rank test (Hollander and Wolfe, Nonparametric
//! Statistical Methods, section 3.3). Exact for every symmetric distribution, and a block that was
//! disturbed weighs no more than another.

use serde::{Deserialize, Serialize};

/// Where a ratio lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// At least.
    pub low: f64,
    /// The estimate.
    pub ratio: f64,
    /// At most.
    pub high: f64,
}

impl Interval {
    /// Half of the width, as a share of the estimate.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.ratio
    }

    /// Whether a ratio lies within.
    pub fn holds(&self, ratio: f64) -> bool {
        self.low <= ratio && ratio <= self.high
    }
}

/// The interval from logarithms of ratios that misses the truth with a chance of at most `error`;
/// `None` where there are too few of them for that.
pub(super) fn interval(logs: &[f64], error: f64) -> Option<Interval> {
    let depth = depth(logs.len(), error)?;
    let mut means = vec![];
    for (index, first) in logs.iter().enumerate() {
        means.extend(logs[index..].iter().map(|second| (first + second) / 2.0));
    }
    means.sort_by(f64::total_cmp);
    let middle = (means[(means.len() - 1) / 2] + means[means.len() / 2]) / 2.0;
    let (low, high) = (means[depth - 1], means[means.len() - depth]);
    Some(Interval { low: low.exp(), ratio: middle.exp(), high: high.exp() })
}

/// How many of the sorted Walsh averages to go in from each end: the largest d with twice the
/// chance of a signed-rank sum below d no more than `error`.
fn depth(count: usize, error: f64) -> Option<usize> {
    let chances = signed_rank_chances(count);
    let mut below = 0.0;
    let mut depth = 0;
    for chance in chances {
        below += chance;
        if 2.0 * below > error {
            break;
        }
        depth += 1;
    }
    (depth > 0).then_some(depth)
}

/// The chance of each sum of signed ranks, from 0 to n (n + 1) / 2, where signs are fair coins.
fn signed_rank_chances(count: usize) -> Vec<f64> {
    let mut chances = vec![0.0; count * (count + 1) / 2 + 1];
    chances[0] = 1.0;
    for rank in 1..=count {
        for sum in (0..chances.len()).rev() {
            let with = if sum >= rank { chances[sum - rank] } else { 0.0 };
            chances[sum] = (chances[sum] + with) / 2.0;
        }
    }
    chances
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hollander and Wolfe, table A.4: for n = 8 the chance of a sum of at most 3 is 0.0195, so
    /// that of 2 x 0.0195 = 0.039 takes the fourth averages; for n = 5 the least is 2/32.
    #[test]
    fn depths_are_those_of_the_tables() {
        assert_eq!(depth(8, 0.04), Some(4));
        assert_eq!(depth(8, 0.0391), Some(4));
        assert_eq!(depth(8, 0.039), Some(3));
        assert_eq!(depth(5, 0.07), Some(1));
        assert_eq!(depth(5, 0.06), None);
        assert_eq!(depth(0, 0.5), None);
    }

    /// Walsh averages of 1, 2, 6 are 1, 1.5, 2, 3.5, 4, 6: their median is 2.75. With three values
    /// the least error is 2/8.
    #[test]
    fn the_estimate_is_the_median_of_the_means_of_pairs() {
        let interval = interval(&[1.0, 6.0, 2.0], 0.25).unwrap();
        assert!((interval.ratio.ln() - 2.75).abs() < 1e-12);
        assert!((interval.low.ln() - 1.0).abs() < 1e-12);
        assert!((interval.high.ln() - 6.0).abs() < 1e-12);
    }
}
