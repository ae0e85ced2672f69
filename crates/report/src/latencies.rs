//! Latencies in few buckets with round bounds, for monitoring. Reports have the whole histogram.

use trial::Histogram;
use units::Duration;

const fn us(us: u64) -> Duration {
    Duration::from_us(us)
}

/// 1, 2 and 5 of each power of ten from 1 us to 10 s.
pub const LATENCY_BOUNDS: [Duration; 22] = [
    us(1),
    us(2),
    us(5),
    us(10),
    us(20),
    us(50),
    us(100),
    us(200),
    us(500),
    us(1_000),
    us(2_000),
    us(5_000),
    us(10_000),
    us(20_000),
    us(50_000),
    us(100_000),
    us(200_000),
    us(500_000),
    us(1_000_000),
    us(2_000_000),
    us(5_000_000),
    us(10_000_000),
];

/// Frames above the bound before, up to each of [`LATENCY_BOUNDS`]; the last are above all. A frame counts by
/// the upper edge of its bucket in the histogram, which is too high by 0.79 % at most.
pub fn latency_buckets(latency: &Histogram) -> Vec<u64> {
    let mut frames = vec![0; LATENCY_BOUNDS.len() + 1];
    for (edge, count) in latency.filled() {
        frames[LATENCY_BOUNDS.partition_point(|bound| *bound < edge)] += count;
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_at_most_as_late_as_its_bucket_says() {
        let mut latency = Histogram::new(Duration::from_ns(1));
        // 900 ns, 1.5 us twice, 3 s, 20 s.
        for ns in [900, 1_500, 1_500, 3_000_000_000, 20_000_000_000] {
            latency.record(ns);
        }
        let frames = latency_buckets(&latency);
        assert_eq!((frames[0], frames[1], frames[20], frames[22]), (1, 2, 1, 1));
        assert_eq!(frames.iter().sum::<u64>(), 5);
        assert!(LATENCY_BOUNDS.is_sorted());
    }
}
