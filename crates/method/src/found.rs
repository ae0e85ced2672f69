//! Findings that several tests share: a rate found by a search, a spread of repetitions, a
//! summary of latencies.

mod figure;

use crate::SearchPolicy;
use serde::{Deserialize, Serialize};
use trial::Histogram;
use units::{Duration, FrameRate};

/// What a search for a rate has come to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Finding {
    /// The device carries `rate`, and loses frames at `upper`.
    Measured,
    /// The device carries the medium's theoretical maximum.
    AtTheoreticalMaximum,
    /// The device carries `rate`; above it the tester, not the device, was the limit. To be
    /// printed as ">= rate".
    AtLeast {
        /// What kept the tester from going on.
        why: String,
    },
    /// The device carries `rate` and loses frames at `upper`, which are further apart than was
    /// asked for: of the loads between, the tester could not decide which pass.
    Between {
        /// What kept it from that.
        why: String,
    },
    /// The device did not even carry the lowest load tried.
    NothingPassed {
        /// That load.
        lowest: FrameRate,
        /// Loss there, in percent.
        loss_percent: f64,
    },
    /// No valid trial: the tester failed, and nothing is known of the device.
    Invalid {
        /// Why, in words.
        reasons: Vec<String>,
    },
}

/// A rate found by a search. Rates are those of one direction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RateFound {
    /// Loss that still counts as passing, in percent. **Only 0 is RFC 2544 throughput.**
    pub loss_tolerance_percent: f64,
    /// What was found.
    pub finding: Finding,
    /// The highest load that the device was seen to keep up. Where no queue grew in the trial that
    /// passed, that is the highest intended load that passed one of full length; where one did, what
    /// came out of the device meanwhile (see `buffered`).
    pub rate: Option<FrameRate>,
    /// The chance, 0 to 1, with which the load at which half of the trials lose frames lies between `rate`
    /// and `upper`: stated where trials contradicted each other, and `None` where none did.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// A higher load that passed only because the trial ended before the device's buffers were full.
    #[serde(default)]
    pub buffered: Option<Buffered>,
    /// What came out at `rate`, of an MLRsearch goal: the forwarding rate that all but the exceed
    /// ratio of its trials kept (draft-ietf-bmwg-mlrsearch-15, "Conditional Throughput").
    #[serde(default)]
    pub conditional_throughput: Option<FrameRate>,
    /// `rate` as a percentage of the medium's theoretical maximum.
    pub percent_of_theoretical: Option<f64>,
    /// Load really offered in the trial that passed, as measured at departure.
    pub offered: Option<FrameRate>,
    /// Loss in the trial that passed, in percent; 0 for throughput.
    pub loss_percent: Option<f64>,
    /// The lowest load at which the device failed; where it never did, the lowest that the tester
    /// could not try validly.
    pub upper: Option<FrameRate>,
    /// `upper` - `rate`, in frames a second: the truth lies between.
    pub resolution_fps: Option<f64>,
    /// The same as a percentage of the medium's theoretical maximum.
    pub resolution_percent_of_theoretical: Option<f64>,
    /// Length of the trial that decided `rate`.
    pub trial_duration: Duration,
    /// All trials of the search.
    pub trials: u32,
    /// Trials among them that were invalid; none of them decided anything.
    pub invalid_trials: u32,
    /// Time that the search took: its trials with their waits.
    #[serde(default)]
    pub test_time: Duration,
    /// Full-length trials at `rate`.
    pub trials_at_rate: u32,
    /// Those among them that did not pass (loss verification repeats a load that lost).
    pub failed_trials_at_rate: u32,
    /// Who chose the loads.
    #[serde(default)]
    pub policy: SearchPolicy,
    /// How the search was made, in words, with its parameters.
    pub search: String,
}

/// A load that a device carries for the length of a trial, and no longer: what it does not forward in
/// time it keeps. By the letter of RFC 2544 section 26.1 it is the throughput of a trial so long.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Buffered {
    /// The load, intended, of each direction.
    pub rate: FrameRate,
    /// Length of the trial that it passed.
    pub trial_duration: Duration,
    /// Frames that still stood in the device's queue when the last one left the tester.
    pub standing_queue_frames: f64,
    /// Frames for which it needed no queue, since it had tokens for them: the most that a trial of the search let out
    /// beyond the limit. The device may have tokens for more, which earlier trials had used up.
    #[serde(default)]
    pub token_frames: f64,
}

/// Mean and extremes of repetitions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// How many repetitions.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Standard deviation of the sample (n - 1); 0 for a single one.
    pub standard_deviation: f64,
}

impl Spread {
    /// Of these values; `None` where there are none.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        (count > 0).then(|| Spread {
            count: count as u64,
            mean,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            standard_deviation: (squares / (count.max(2) - 1) as f64).sqrt(),
        })
    }

    /// The same with so much added to each value.
    pub fn shifted(self, by: f64) -> Spread {
        Spread { mean: self.mean + by, min: self.min + by, max: self.max + by, ..self }
    }
}

/// The median: of an even number of values the mean of the two in the middle (RFC 8219 section
/// 7.2 by way of RFC 2330 section 11.3); `None` of none.
pub fn median(values: &[Duration]) -> Option<Duration> {
    let mut sorted = values.to_vec();
    sorted.sort();
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some(Duration::from_ps(lower.as_ps() + (upper.as_ps() - lower.as_ps()) / 2))
}

/// The smallest value with F(x) >= `percent`/100, without interpolation (RFC 2330 section 11.3).
pub fn percentile(values: &[Duration], percent: f64) -> Option<Duration> {
    let mut sorted = values.to_vec();
    sorted.sort();
    let rank = trial::percentile_rank(percent, sorted.len() as u64);
    sorted.get(rank as usize - 1).copied()
}

/// Latencies of all frames of a trial, in numbers, with the histogram they come from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Frames measured.
    pub count: u64,
    /// Exact.
    pub min: Duration,
    /// Exact.
    pub mean: Duration,
    /// Percentiles are high by at most `Histogram::RELATIVE_ERROR`.
    pub p50: Duration,
    /// 90th percentile.
    pub p90: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// 99.9th percentile.
    pub p999: Duration,
    /// Exact.
    pub max: Duration,
    /// Packet delay variation D(99.9) - D(min) (RFC 5481 section 4.2).
    pub pdv: Duration,
    /// Mean of |D(i) - D(i-1)| (RFC 4689 section 3.2.5), in nanoseconds.
    pub jitter_mean_ns: Option<f64>,
    /// Everything.
    pub histogram: Histogram,
}

impl LatencySummary {
    /// Of a histogram and the mean jitter in nanoseconds; `None` where nothing was measured.
    pub fn of(histogram: Histogram, jitter_mean_ns: Option<f64>) -> Option<Self> {
        Some(LatencySummary {
            count: histogram.count(),
            min: histogram.min()?,
            mean: histogram.mean()?,
            p50: histogram.percentile(50.0)?,
            p90: histogram.percentile(90.0)?,
            p99: histogram.percentile(99.0)?,
            p999: histogram.percentile(99.9)?,
            max: histogram.max()?,
            pdv: histogram.pdv()?,
            jitter_mean_ns,
            histogram,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_of_repetitions() {
        let spread = Spread::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((spread.mean, spread.min, spread.max), (5.0, 2.0, 9.0));
        // Sum of squares is 32; 32 / 7 = 4.571..., whose root is 2.138...
        assert!((spread.standard_deviation - 2.13809).abs() < 1e-5);
        assert_eq!(Spread::of(&[3.0]).unwrap().standard_deviation, 0.0);
        assert_eq!(Spread::of(&[]), None);
    }

    /// RFC 2330 section 11.3's example {-5, -2, 4, 7, 7, 18}, shifted by 5 to be positive.
    #[test]
    fn percentiles_and_median() {
        let values: Vec<_> = [23, 3, 9, 12, 0, 12].into_iter().map(Duration::from_ns).collect();
        assert_eq!(percentile(&values, 50.0), Some(Duration::from_ns(9)));
        assert_eq!(percentile(&values, 25.0), Some(Duration::from_ns(3)));
        assert_eq!(percentile(&values, 99.9), Some(Duration::from_ns(23)));
        assert_eq!(median(&values), Some(Duration::from_ps(10_500)));
        assert_eq!(median(&values[..1]), Some(Duration::from_ns(23)));
        assert_eq!((median(&[]), percentile(&[], 50.0)), (None, None));
    }
}
