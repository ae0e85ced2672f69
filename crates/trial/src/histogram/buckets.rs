//! Counters of buckets, of which only a stretch from about the lowest filled one to about the highest takes
//! memory: a trial of thousands of streams has as many histograms, whose values are much alike.

use super::Histogram;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::collections::BTreeMap;

/// The stretch begins and ends at multiples of this, so that it seldom has to grow. A power of two.
const STEP: usize = 32;

/// How much is in each bucket.
#[derive(Clone, Debug, Default)]
pub(super) struct Buckets {
    /// Number of the bucket that is counted first.
    first: usize,
    counts: Vec<u64>,
}

impl Buckets {
    /// From all buckets, beginning with the first.
    pub fn of_all(counts: &[u64]) -> Self {
        let mut buckets = Buckets::default();
        buckets.add_all(counts.iter().copied().enumerate().filter(|(_, count)| *count > 0));
        buckets
    }

    /// The counter of a bucket.
    #[inline]
    pub fn at(&mut self, bucket: usize) -> &mut u64 {
        let mut index = bucket.wrapping_sub(self.first);
        if index >= self.counts.len() {
            self.make_room(bucket);
            index = bucket - self.first;
        }
        &mut self.counts[index]
    }

    #[cold]
    fn make_room(&mut self, bucket: usize) {
        let below = bucket & !(STEP - 1);
        if self.counts.is_empty() {
            self.first = below;
        } else if below < self.first {
            self.counts.splice(0..0, std::iter::repeat_n(0, self.first - below));
            self.first = below;
        }
        let needed = (below + STEP - self.first).max(self.counts.len());
        self.counts.reserve_exact(needed - self.counts.len());
        self.counts.resize(needed, 0);
    }

    /// Adds to buckets by their number.
    pub fn add_all(&mut self, filled: impl Iterator<Item = (usize, u64)>) {
        filled.for_each(|(bucket, count)| *self.at(bucket) += count);
    }

    /// What is filled, ascending: bucket and count.
    pub fn filled(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let all = (self.first..).zip(self.counts.iter().copied());
        all.filter(|(_, count)| *count > 0)
    }
}

impl PartialEq for Buckets {
    fn eq(&self, other: &Self) -> bool {
        self.filled().eq(other.filled())
    }
}

impl Eq for Buckets {}

/// Stored as `{bucket: count}` of what is filled.
impl Serialize for Buckets {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.filled())
    }
}

impl<'a> Deserialize<'a> for Buckets {
    fn deserialize<D: Deserializer<'a>>(from: D) -> Result<Self, D::Error> {
        let filled = BTreeMap::<usize, u64>::deserialize(from)?;
        if filled.last_key_value().is_some_and(|(bucket, _)| *bucket >= Histogram::BUCKETS) {
            return Err(D::Error::custom("a histogram bucket beyond the last one"));
        }
        let mut buckets = Buckets::default();
        buckets.add_all(filled.into_iter());
        Ok(buckets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is counted in whatever order: as a map has it, and no more room than the span needs.
        #[test]
        fn every_bucket_holds_what_was_put_there(
            values in prop::collection::vec(0..Histogram::BUCKETS, 0..200),
        ) {
            let (mut buckets, mut map) = (Buckets::default(), BTreeMap::new());
            for value in &values {
                *buckets.at(*value) += 1;
                *map.entry(*value).or_insert(0u64) += 1;
            }
            prop_assert!(buckets.filled().eq(map.clone()));
            if let (Some(least), Some(most)) = (values.iter().min(), values.iter().max()) {
                prop_assert!(buckets.counts.len() <= most - least + 2 * STEP);
            }
            let mut dense = vec![0; Histogram::BUCKETS];
            map.iter().for_each(|(bucket, count)| dense[*bucket] = *count);
            prop_assert_eq!(Buckets::of_all(&dense), buckets);
        }
    }

    #[test]
    fn a_bucket_that_does_not_exist_is_refused() {
        let read = |text: &str| serde_json::from_str::<Buckets>(text);
        assert!(read(&format!("{{\"{}\":1}}", Histogram::BUCKETS - 1)).is_ok());
        assert!(read(&format!("{{\"{}\":1}}", Histogram::BUCKETS)).is_err());
    }
}
