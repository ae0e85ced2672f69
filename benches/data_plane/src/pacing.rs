//! How exact the pace is, and how low the latency, at given rates.

use crate::bed::Bed;
use crate::error::{BenchError, Result};
use crate::netanvil::{Netanvil, account};
use crate::subject::Subject;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use trial::{Histogram, InvalidReason, TrialResult};
use units::{Duration, FrameRate};

/// Rates at which pacing is measured, in frames a second. 14,880 is 10 Mbit/s of 64-byte frames.
pub const RATES_FPS: [u64; 4] = [14_880, 100_000, 500_000, 1_000_000];
/// How long frames are sent.
const TRIAL: Duration = Duration::from_ms(1_000);
const SIZE_BYTES: u32 = 64;

/// One rate on one port type.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Pace {
    /// Rate reached, in frames a second.
    pub offered_fps: f64,
    /// Why the rate was out of reach, if it was; the gaps are then those of what was reached.
    pub out_of_reach: Option<String>,
    /// Frames lost.
    pub lost_frames: u64,
    /// Gaps between arrivals, against the intended one.
    pub gaps: GapErrors,
    /// Smallest latency, in ns.
    pub latency_min_ns: f64,
    /// Median latency, in ns.
    pub latency_p50_ns: f64,
    /// 99th percentile of latency, in ns.
    pub latency_p99_ns: f64,
}

/// Gap between arrivals less the intended gap, in ns; early is negative.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct GapErrors {
    /// 1st percentile.
    pub p1_ns: f64,
    /// 10th percentile.
    pub p10_ns: f64,
    /// Median.
    pub p50_ns: f64,
    /// 90th percentile.
    pub p90_ns: f64,
    /// 99th percentile.
    pub p99_ns: f64,
    /// The gap furthest from the intended one.
    pub worst_ns: f64,
    /// 99 of 100 gaps are no further than this from the intended one, either way. An upper bound:
    /// of each bucket of the histogram the edge that is further away counts.
    pub within_p99_ns: f64,
}

/// Measures all rates in a row on one pair of ports.
pub fn measure(bed: &Bed, subject: Subject, stop: &Arc<AtomicBool>) -> Result<Vec<(u64, Pace)>> {
    let mut netanvil = Netanvil::open(bed, subject, true, stop)?;
    let mut measure = |fps: u64| {
        let rate = FrameRate::from_fps(fps);
        let result = netanvil.paced(SIZE_BYTES, rate, TRIAL)?;
        Ok((fps, pace(rate, &result)?))
    };
    RATES_FPS.iter().map(|fps| measure(*fps)).collect()
}

fn pace(rate: FrameRate, result: &TrialResult) -> Result<Pace> {
    let account = account(result)?;
    let nothing = || BenchError::Implausible("no frame arrived".into());
    let latency = |span: Option<Duration>| span.map(Duration::as_ns_f64).ok_or_else(nothing);
    let shortfall = result
        .invalid_reasons()
        .iter()
        .find(|reason| matches!(reason, InvalidReason::Shortfall { .. }));
    Ok(Pace {
        offered_fps: result.offered_rate().fps(),
        out_of_reach: shortfall.map(ToString::to_string),
        lost_frames: result.lost_frames(),
        gaps: gap_errors(&account.arrival_gaps, rate).ok_or_else(nothing)?,
        latency_min_ns: latency(account.latency.min())?,
        latency_p50_ns: latency(account.latency.percentile(50.0))?,
        latency_p99_ns: latency(account.latency.percentile(99.0))?,
    })
}

fn gap_errors(gaps: &Histogram, rate: FrameRate) -> Option<GapErrors> {
    let intended_ns = 1e9 / rate.fps();
    let error = |gap: Option<Duration>| gap.map(|gap| gap.as_ns_f64() - intended_ns);
    let (least, most) = (error(gaps.min())?, error(gaps.max())?);
    Some(GapErrors {
        p1_ns: error(gaps.percentile(1.0))?,
        p10_ns: error(gaps.percentile(10.0))?,
        p50_ns: error(gaps.percentile(50.0))?,
        p90_ns: error(gaps.percentile(90.0))?,
        p99_ns: error(gaps.percentile(99.0))?,
        worst_ns: if -least > most { least } else { most },
        within_p99_ns: within(gaps, intended_ns, 99.0),
    })
}

/// The distance from `intended_ns` within which `percent` of the spans certainly are.
fn within(gaps: &Histogram, intended_ns: f64, percent: f64) -> f64 {
    let tick_ns = gaps.tick().as_ns_f64();
    let distance = |upper: Duration| {
        let upper_ticks = upper.as_ps() / gaps.tick().as_ps();
        let bucket = Histogram::bucket_of(upper_ticks);
        let lower_ticks = match bucket {
            0 => 0,
            bucket => Histogram::bucket_upper_ticks(bucket - 1) + 1,
        };
        let edge = |ticks: u64| (ticks as f64 * tick_ns - intended_ns).abs();
        edge(lower_ticks).max(edge(upper_ticks))
    };
    let mut distances: Vec<(f64, u64)> =
        gaps.filled().map(|(upper, count)| (distance(upper), count)).collect();
    distances.sort_by(|a, b| a.0.total_cmp(&b.0));
    let rank = (percent / 100.0 * gaps.count() as f64).ceil() as u64;
    let mut so_far = 0;
    let found = distances.iter().find(|(_, count)| {
        so_far += count;
        so_far >= rank
    });
    found.map_or(f64::INFINITY, |(distance, _)| *distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(gaps_ns: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new(Duration::from_ns(1));
        gaps_ns.into_iter().for_each(|gap| histogram.record(gap));
        histogram
    }

    #[test]
    fn errors_are_signed_and_the_worst_is_the_furthest() {
        // Ninety-eight exact gaps, one early and one late by more.
        let exact = std::iter::repeat_n(100, 98);
        let gaps = histogram(exact.chain([90, 127]));
        let errors = gap_errors(&gaps, FrameRate::from_fps(10_000_000)).unwrap();
        assert_eq!((errors.p1_ns, errors.p50_ns, errors.p99_ns), (-10.0, 0.0, 0.0));
        assert_eq!((errors.worst_ns, errors.within_p99_ns), (27.0, 10.0));
    }

    #[test]
    fn a_wide_bucket_counts_with_its_further_edge() {
        // 2,000 ns shares a bucket with 1,992 to 1,999 and up to 2,007: 16 wide from 1,984 on is
        // the layout of the histogram there (128 to a power of two, 8 ns each).
        let gaps = histogram([2_000; 10]);
        let bound = within(&gaps, 2_000.0, 99.0);
        assert!((7.0..=8.0).contains(&bound), "{bound}");
    }
}
