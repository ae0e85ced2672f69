//! A policer: what exceeds a rate is dropped at once, and nothing waits.

use units::{Duration, Instant};

const PS_PER_S: u128 = 1_000_000_000_000;

/// A single rate and a single bucket of tokens, as routers police (RFC 2697 has two buckets).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Policer {
    /// At which the bucket is filled, in bits counted from the IP header on.
    pub rate_bps: u64,
    /// What the bucket holds; it is full at the start.
    pub bucket_bytes: u64,
}

/// A [`Policer`] at work.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    policer: Policer,
    /// In units of 1 / 10^12 bit, which a bit a second adds in a picosecond: nothing is rounded.
    tokens: u128,
    filled_at: Instant,
}

impl Bucket {
    pub fn new(policer: Policer) -> Bucket {
        let tokens = Bucket::units(policer.bucket_bytes);
        Bucket { policer, tokens, filled_at: Instant::ZERO }
    }

    fn units(bytes: u64) -> u128 {
        u128::from(bytes) * 8 * PS_PER_S
    }

    /// Whether a packet passes; its tokens are gone then. Packets come in the order of time.
    pub fn passes(&mut self, now: Instant, bytes: usize) -> bool {
        let since: Duration = now.since(self.filled_at);
        let more = u128::from(since.as_ps()) * u128::from(self.policer.rate_bps);
        self.tokens = (self.tokens + more).min(Bucket::units(self.policer.bucket_bytes));
        self.filled_at = now;
        let left = self.tokens.checked_sub(Bucket::units(bytes as u64));
        self.tokens = left.unwrap_or(self.tokens);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn passed_bytes(bucket: &mut Bucket, packets: impl Iterator<Item = (Instant, usize)>) -> u64 {
        packets
            .filter(|(at, bytes)| bucket.passes(*at, *bytes))
            .map(|(_, bytes)| bytes as u64)
            .sum()
    }

    /// Ten times the rate for a second: 10,000 bytes of the bucket and 125,000 of the rate.
    #[test]
    fn of_too_much_exactly_the_bucket_and_the_rate_pass() {
        let policer = Policer { rate_bps: 1_000_000, bucket_bytes: 10_000 };
        let offered = |count| (0..=count).map(|k| (Instant::from_ps(k * 100_000_000), 125));
        assert_eq!(passed_bytes(&mut Bucket::new(policer), offered(10_000)), 135_000);
        // A bucket that is left alone is full again, and no fuller.
        let mut bucket = Bucket::new(policer);
        passed_bytes(&mut bucket, offered(10_000));
        let later = Instant::ZERO + Duration::from_secs(100);
        assert_eq!(passed_bytes(&mut bucket, (0..1000).map(|_| (later, 125))), 10_000);
    }

    proptest! {
        /// Whatever comes: no more than the bucket and the rate pass, and less only by a packet that did not fit.
        #[test]
        fn no_more_than_the_bucket_and_the_rate_pass(
            rate_bps in 10_000u64..100_000_000,
            bucket_bytes in 3000u64..100_000,
            gaps_us in proptest::collection::vec((0u64..2000, 40usize..1500), 1..400),
        ) {
            let mut bucket = Bucket::new(Policer { rate_bps, bucket_bytes });
            let (mut at, mut passed, mut last_dropped) = (Instant::ZERO, 0.0, false);
            for (gap_us, bytes) in gaps_us {
                at += Duration::from_us(gap_us);
                last_dropped = !bucket.passes(at, bytes);
                passed += if last_dropped { 0.0 } else { bytes as f64 };
                let most = bucket_bytes as f64
                    + rate_bps as f64 / 8.0 * at.since(Instant::ZERO).as_secs_f64();
                prop_assert!(passed <= most + 1e-3, "{passed} of {most}");
            }
            let tokens = bucket.tokens as f64 / 8e12;
            prop_assert!(!last_dropped || tokens < 1500.0, "{tokens} bytes left of what was dropped");
        }
    }
}
