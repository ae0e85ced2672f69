//! A histogram of time spans with a bounded relative error and exact extremes and mean.

mod buckets;

use buckets::Buckets;
use serde::{Deserialize, Serialize};
use units::Duration;

/// Values below this many ticks have a bucket each.
const LINEAR: u64 = 1 << Histogram::PRECISION_BITS;

/// Counts of time spans, in ticks of the tester's clock.
///
/// Buckets are linear below 128 ticks and then 128 to each power of two, so a bucket is at most
/// 1/128 of its value wide: **a percentile is high by at most 0.79 %** (and by nothing below 128
/// ticks). Minimum, maximum, sum and count are exact. Histograms of equal tick merge by addition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    tick: Duration,
    count: u64,
    sum_ticks: u128,
    min_ticks: u64,
    max_ticks: u64,
    buckets: Buckets,
}

impl Histogram {
    /// Sub-buckets to a power of two, as a power of two.
    pub const PRECISION_BITS: u32 = 7;
    /// The largest value that is told apart from larger ones: 2^48 - 1 ticks.
    pub const MAX_VALUE_BITS: u32 = 48;
    /// Number of buckets; the in-kernel receiver uses the same layout.
    pub const BUCKETS: usize =
        ((Self::MAX_VALUE_BITS - Self::PRECISION_BITS + 1) as usize) << Self::PRECISION_BITS;
    /// Bound of the relative error of a percentile.
    pub const RELATIVE_ERROR: f64 = 1.0 / LINEAR as f64;

    /// An empty histogram whose values are whole numbers of `tick`.
    pub fn new(tick: Duration) -> Self {
        let buckets = Buckets::default();
        Self { tick, count: 0, sum_ticks: 0, min_ticks: u64::MAX, max_ticks: 0, buckets }
    }

    /// Puts together a histogram counted elsewhere (in the kernel) with the same buckets.
    pub fn from_parts(
        tick: Duration,
        buckets: &[u64],
        min_ticks: u64,
        max_ticks: u64,
        sum_ticks: u128,
    ) -> Self {
        let (count, buckets) = (buckets.iter().sum(), Buckets::of_all(buckets));
        Self { tick, count, sum_ticks, min_ticks, max_ticks, buckets }
    }

    /// The bucket of a value in ticks.
    #[inline]
    pub const fn bucket_of(ticks: u64) -> usize {
        if ticks < LINEAR {
            return ticks as usize;
        }
        let top_bit = 63 - ticks.leading_zeros();
        if top_bit >= Self::MAX_VALUE_BITS {
            return Self::BUCKETS - 1;
        }
        let shift = top_bit - Self::PRECISION_BITS;
        (((shift + 1) as usize) << Self::PRECISION_BITS)
            + ((ticks >> shift) & (LINEAR - 1)) as usize
    }

    /// The largest value, in ticks, that falls into a bucket.
    pub const fn bucket_upper_ticks(bucket: usize) -> u64 {
        let bucket = bucket as u64;
        if bucket < LINEAR {
            return bucket;
        }
        let shift = (bucket >> Self::PRECISION_BITS) - 1;
        (((bucket & (LINEAR - 1)) + LINEAR + 1) << shift) - 1
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, ticks: u64) {
        *self.buckets.at(Self::bucket_of(ticks)) += 1;
        self.count += 1;
        self.sum_ticks += u128::from(ticks);
        self.min_ticks = self.min_ticks.min(ticks);
        self.max_ticks = self.max_ticks.max(ticks);
    }

    /// Adds another histogram's counts.
    ///
    /// # Panics
    /// If the ticks differ: adding unlike units is a wrong number.
    pub fn merge(&mut self, other: &Histogram) {
        assert_eq!(self.tick, other.tick, "histograms of different ticks");
        self.buckets.add_all(other.buckets.filled());
        self.count += other.count;
        self.sum_ticks += other.sum_ticks;
        self.min_ticks = self.min_ticks.min(other.min_ticks);
        self.max_ticks = self.max_ticks.max(other.max_ticks);
    }

    /// What was counted since it was as `earlier`. Smallest and largest value are those of their buckets,
    /// except where they are the extremes of all.
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let mut before = earlier.buckets.filled().peekable();
        let grown: Vec<(usize, u64)> = self
            .buckets
            .filled()
            .filter_map(|(bucket, count)| {
                while before.next_if(|(lower, _)| *lower < bucket).is_some() {}
                let then =
                    before.next_if(|(same, _)| *same == bucket).map_or(0, |(_, count)| count);
                Some((bucket, count.saturating_sub(then))).filter(|(_, count)| *count > 0)
            })
            .collect();
        let mut since = Histogram::new(self.tick);
        let (Some((lowest, _)), Some((highest, _))) = (grown.first(), grown.last()) else {
            return since;
        };
        since.count = grown.iter().map(|(_, count)| count).sum();
        since.sum_ticks = self.sum_ticks.saturating_sub(earlier.sum_ticks);
        since.min_ticks = match lowest {
            0 => 0,
            _ => (Self::bucket_upper_ticks(lowest - 1) + 1).max(self.min_ticks),
        };
        since.max_ticks = Self::bucket_upper_ticks(*highest).min(self.max_ticks);
        since.buckets.add_all(grown.into_iter());
        since
    }

    /// How many values were counted.
    pub const fn count(&self) -> u64 {
        self.count
    }
    /// Unit of the recorded values.
    pub const fn tick(&self) -> Duration {
        self.tick
    }
    /// The smallest value, exact.
    pub fn min(&self) -> Option<Duration> {
        (self.count > 0).then(|| self.span(self.min_ticks))
    }
    /// The largest value, exact.
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then(|| self.span(self.max_ticks))
    }
    /// The arithmetic mean, exact to a picosecond.
    pub fn mean(&self) -> Option<Duration> {
        let ps = (self.sum_ticks * u128::from(self.tick.as_ps())).checked_div(self.count.into())?;
        Some(Duration::from_ps(ps as u64))
    }

    /// The smallest recorded value `x` with F(x) >= `percent`/100 (RFC 2330 section 11.3: no
    /// interpolation), as the upper edge of its bucket and never above the maximum.
    pub fn percentile(&self, percent: f64) -> Option<Duration> {
        let edge = Self::bucket_upper_ticks(self.percentile_bucket(percent)?);
        Some(self.span(edge.clamp(self.min_ticks, self.max_ticks)))
    }

    /// The bucket in which that percentile lies.
    fn percentile_bucket(&self, percent: f64) -> Option<usize> {
        let rank = percentile_rank(percent, self.count);
        let mut below = 0;
        let mut filled = self.buckets.filled();
        let found = filled.find(|(_, count)| {
            below += count;
            below >= rank
        });
        found.map(|(bucket, _)| bucket)
    }

    /// Between which values that percentile lies: the edges of its bucket, as far as it holds values.
    pub fn percentile_between(&self, percent: f64) -> Option<(Duration, Duration)> {
        let bucket = self.percentile_bucket(percent)?;
        let low = match bucket {
            0 => 0,
            _ => Self::bucket_upper_ticks(bucket - 1) + 1,
        };
        let high = match bucket + 1 < Self::BUCKETS {
            true => Self::bucket_upper_ticks(bucket),
            false => u64::MAX,
        };
        Some((self.span(low.max(self.min_ticks)), self.span(high.min(self.max_ticks))))
    }

    /// Packet delay variation: D(99.9) - D(min) (RFC 5481 section 4.2, RFC 8219 section 7.3.1).
    pub fn pdv(&self) -> Option<Duration> {
        Some(self.percentile(99.9)?.saturating_sub(self.min()?))
    }

    /// The filled buckets: (largest value of the bucket, count), ascending.
    pub fn filled(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let filled = self.buckets.filled();
        filled.map(|(bucket, count)| (self.span(Self::bucket_upper_ticks(bucket)), count))
    }

    fn span(&self, ticks: u64) -> Duration {
        Duration::from_ps(ticks.saturating_mul(self.tick.as_ps()))
    }
}

/// Which of `count` values, the smallest being the first, is the smallest `x` with
/// F(x) >= `percent`/100 (RFC 2330 section 11.3). In whole numbers, down to a thousandth of a
/// percent: 99.9 % of 1,000 is the 999th, which a product of floating point numbers misses.
pub fn percentile_rank(percent: f64, count: u64) -> u64 {
    const PARTS: u128 = 100_000;
    let parts = (percent / 100.0 * PARTS as f64).round() as u128;
    let rank = (u128::from(count) * parts).div_ceil(PARTS) as u64;
    rank.clamp(1, count.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NS: Duration = Duration::from_ns(1);

    #[test]
    fn what_was_counted_since_is_the_rest() {
        let mut histogram = Histogram::new(NS);
        [5, 100, 3_000].into_iter().for_each(|ns| histogram.record(ns));
        let earlier = histogram.clone();
        assert_eq!(histogram.since(&earlier), Histogram::new(NS));
        [7, 90, 90, 1_000].into_iter().for_each(|ns| histogram.record(ns));
        let since = histogram.since(&earlier);
        assert_eq!((since.count(), since.min()), (4, Some(Duration::from_ns(7))));
        assert_eq!(since.percentile(50.0), Some(Duration::from_ns(90)));
        // Buckets from 512 on are 4 wide: 1,000 lies in 1,000 to 1,003.
        assert_eq!(since.max(), Some(Duration::from_ns(1_003)));
        assert_eq!(since.mean(), Some(Duration::from_ps(1_187_000 / 4)));
        histogram.record(9_999);
        assert_eq!(histogram.since(&earlier).max(), Some(Duration::from_ns(9_999)), "of all");
    }

    /// By counting: 999 of 1,000 values are 99.9 % of them, whatever their number of thousands.
    #[test]
    fn ranks_of_percentiles_are_whole_numbers() {
        for thousands in 1..=200 {
            assert_eq!(percentile_rank(99.9, thousands * 1_000), thousands * 999);
            assert_eq!(percentile_rank(99.0, thousands * 1_000), thousands * 990);
        }
        assert_eq!(percentile_rank(99.9, 1_001), 1_000);
        assert_eq!((percentile_rank(50.0, 5), percentile_rank(0.0, 5)), (3, 1));
        assert_eq!((percentile_rank(100.0, 7), percentile_rank(50.0, 0)), (7, 1));
    }

    /// RFC 2330 section 11.3's own example, shifted to be positive (+5).
    #[test]
    fn percentiles_as_rfc2330() {
        let mut histogram = Histogram::new(NS);
        for value in [0, 3, 9, 12, 12, 23] {
            histogram.record(value);
        }
        assert_eq!(histogram.percentile(50.0), Some(Duration::from_ns(9)));
        assert_eq!(histogram.percentile(25.0), Some(Duration::from_ns(3)));
        assert_eq!(histogram.percentile(100.0), Some(Duration::from_ns(23)));
        assert_eq!(Histogram::new(NS).percentile(50.0), None);
    }

    #[test]
    fn pdv_is_the_spread_from_the_minimum() {
        let mut histogram = Histogram::new(NS);
        (10..=100).for_each(|value| histogram.record(value));
        assert_eq!(histogram.pdv(), Some(Duration::from_ns(90)));
    }

    proptest! {
        #[test]
        fn a_bucket_holds_its_value_within_the_stated_error(ticks in 0u64..(1 << 48)) {
            let bucket = Histogram::bucket_of(ticks);
            prop_assert!(bucket < Histogram::BUCKETS);
            let upper = Histogram::bucket_upper_ticks(bucket);
            prop_assert!(upper >= ticks);
            let error = (upper - ticks) as f64;
            prop_assert!(error <= ticks as f64 * Histogram::RELATIVE_ERROR);
            prop_assert!(bucket == 0 || Histogram::bucket_upper_ticks(bucket - 1) < ticks);
        }

        #[test]
        fn a_percentile_lies_between_the_edges_of_its_bucket(
            mut values in proptest::collection::vec(0u64..1 << 40, 1..300), percent in 0.0f64..=100.0,
        ) {
            let mut histogram = Histogram::new(NS);
            values.iter().for_each(|value| histogram.record(*value));
            values.sort();
            let rank = percentile_rank(percent, values.len() as u64);
            let truth = Duration::from_ns(values[rank as usize - 1]);
            let (low, high) = histogram.percentile_between(percent).unwrap();
            prop_assert!(low <= truth && truth <= high, "{low} {truth} {high}");
            prop_assert_eq!(histogram.percentile(percent), Some(high));
            let width = (high - low).as_ps() as f64;
            prop_assert!(width <= truth.as_ps() as f64 * Histogram::RELATIVE_ERROR);
        }

        #[test]
        fn merging_equals_recording_together(a: Vec<u32>, b: Vec<u32>) {
            let fill = |values: &[u32]| {
                let mut histogram = Histogram::new(NS);
                values.iter().for_each(|v| histogram.record(u64::from(*v)));
                histogram
            };
            let mut merged = fill(&a);
            merged.merge(&fill(&b));
            prop_assert_eq!(merged, fill(&[a, b].concat()));
        }

        #[test]
        fn stored_and_read_again_it_is_the_same(values: Vec<u32>) {
            let mut histogram = Histogram::new(NS);
            values.iter().for_each(|v| histogram.record(u64::from(*v)));
            let json = serde_json::to_string(&histogram).unwrap();
            let again: Histogram = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(again, histogram);
        }
    }
}
