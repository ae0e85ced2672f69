//! 95 % confidence intervals, for the three kinds of numbers that runs hold. Each is `None`
//! where the values do not suffice for one.

/// Two-sided 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom (any table of it).
const STUDENT_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];
const NORMAL_975: f64 = 1.96;

/// Of the mean of independent repetitions: mean -+ t s / sqrt(n). At least two are needed.
pub fn mean_interval(values: &[f64]) -> Option<(f64, f64)> {
    let freedom = values.len().checked_sub(2)?;
    // Above 30 degrees of freedom the 30th is used: a little too wide, never too narrow.
    let t = STUDENT_975.get(freedom).unwrap_or(&STUDENT_975[29]);
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let half = t * (squares / (count - 1.0)).sqrt() / count.sqrt();
    Some((mean - half, mean + half))
}

/// Of the median of independent repetitions, without assuming a distribution: the k-th smallest
/// and the k-th largest, with the largest k for which fewer than k of n fair coins show heads
/// with a probability of at most 2.5 %. At least six are needed.
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len();
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // P(exactly k heads), beginning with none; in logarithms, since 2^-n is soon no number.
    let mut ln_probability = -(count as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    let mut rank = 0;
    for heads in 0..count / 2 {
        below += ln_probability.exp();
        if below > 0.025 {
            break;
        }
        rank = heads + 1;
        ln_probability += ((count - heads) as f64 / (heads + 1) as f64).ln();
    }
    (rank > 0).then(|| (sorted[rank - 1], sorted[count - rank]))
}

/// Of a share counted as `hits` of `count` (Wilson's score interval, 1927): sound also for no
/// hits at all.
pub fn wilson_interval(hits: u64, count: u64) -> Option<(f64, f64)> {
    if count == 0 {
        return None;
    }
    let (n, z) = (count as f64, NORMAL_975);
    let share = hits as f64 / n;
    let middle = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    Some(((middle - half).max(0.0), (middle + half).min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_mean_of_five() {
        // s = sqrt(2.5), so t s / sqrt(5) = 2.776 x 0.70711 = 1.9629.
        let (low, high) = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((low - 1.0371).abs() < 1e-3 && (high - 4.9629).abs() < 1e-3, "{low} {high}");
        assert_eq!(mean_interval(&[1.0]), None);
    }

    /// Ranks of the usual tables (Conover, table A3): n = 6 takes 1 and 6, n = 20 takes 6 and 15.
    #[test]
    fn a_median_of_six_and_of_twenty() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(median_interval(&values), Some((6.0, 15.0)));
        assert_eq!(median_interval(&values[..6]), Some((1.0, 6.0)));
        assert_eq!(median_interval(&values[..5]), None);
        assert_eq!(median_interval(&[]), None);
    }

    /// 15 of 148: 6.2 % to 16.0 % (Newcombe 1998, table I: 81/263, 15/148, 0/20, 1/29).
    #[test]
    fn shares_of_newcombes_table() {
        for (hits, count, low, high) in
            [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)]
        {
            let (l, h) = wilson_interval(hits, count).unwrap();
            assert!((l - low).abs() < 1e-4 && (h - high).abs() < 1e-4, "{hits}/{count}: {l} {h}");
        }
        assert_eq!(wilson_interval(0, 0), None);
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_estimate(values in prop::collection::vec(0.0f64..1e9, 6..40)) {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let (low, high) = mean_interval(&values).unwrap();
            prop_assert!(low <= mean && mean <= high);
            let (low, high) = median_interval(&values).unwrap();
            let below = values.iter().filter(|value| **value < low).count();
            let above = values.iter().filter(|value| **value > high).count();
            prop_assert!(below < values.len() / 2 && above < values.len() / 2);
        }
    }
}
