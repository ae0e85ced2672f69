//! How fast data comes in, and from that how long to wait for more (RFC 998 section 5.2.2 with
//! RFC 1030's adaptive estimate, section 7 there).

use crate::{Burst, DataTimer};
use units::{Duration, Instant};

/// A running mean of the time between data packets.
#[derive(Clone, Debug)]
pub struct Arrivals {
    mean: Duration,
    last: Option<Instant>,
}

impl Arrivals {
    /// Starts from the rate agreed on.
    pub fn new(burst: Burst) -> Self {
        Arrivals { mean: burst.packet_interval(), last: None }
    }

    /// A data packet arrives.
    ///
    /// The mean reaches over several bursts, since within one the gaps say nothing of the rate. A
    /// gap counts for at most ten times the mean and two intervals: a pause is no slow network,
    /// but a network that has become slow is believed step by step.
    pub fn observe(&mut self, now: Instant, burst: Burst) {
        if let Some(last) = self.last {
            let gap = now.since(last).min(self.mean * 10 + burst.interval() * 2);
            let weight = 16.max(4 * u64::from(burst.size_packets));
            let kept = self.mean.as_ps() as u128 * u128::from(weight - 1);
            let mean = (kept + u128::from(gap.as_ps())) / u128::from(weight);
            self.mean = Duration::from_ps(mean as u64);
        }
        self.last = Some(now);
    }

    /// A single packet is asked for: the time until it comes is how long this end waited, and no measure
    /// of the network. Taken for one, it would lengthen the wait for the packet after.
    pub fn asked_for_one(&mut self) {
        self.last = None;
    }

    /// The data timer for `missing` packets: as long as they should take, stretched, some bursts
    /// for what may be ahead of them, and a margin. Round trips have no part in it (RFC 998 section
    /// 5.2.2). A sender keeps to its bursts, so no estimate below their rate is believed.
    pub fn data_timer(&self, missing: u64, burst: Burst, rule: DataTimer) -> Duration {
        let mean = self.mean.max(burst.packet_interval());
        let stretched = Duration::from_ps(mean.as_ps() / 100 * u64::from(rule.stretch_percent));
        stretched * missing + burst.interval() * u64::from(rule.spare_bursts) + rule.margin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BURST: Burst = Burst { size_packets: 5, interval_ms: 50 };

    fn timer(arrivals: &Arrivals, missing: u64) -> Duration {
        let rule =
            DataTimer { stretch_percent: 150, spare_bursts: 2, margin: Duration::from_ms(7) };
        arrivals.data_timer(missing, BURST, rule)
    }

    #[test]
    fn at_the_rate_agreed_on_the_timer_is_half_as_long_again_as_the_transfer() {
        let arrivals = Arrivals::new(BURST);
        // 10 packets of 10 ms, half again; two intervals; the margin.
        assert_eq!(timer(&arrivals, 10), Duration::from_ms(150 + 100 + 7));
    }

    #[test]
    fn a_network_that_slows_down_lengthens_the_timer_and_a_faster_one_does_not_shorten_it() {
        let mut slow = Arrivals::new(BURST);
        let mut fast = Arrivals::new(BURST);
        for k in 1..=400 {
            slow.observe(Instant::ZERO + Duration::from_ms(600) * k, BURST);
            fast.observe(Instant::ZERO + Duration::from_us(1) * k, BURST);
        }
        let rest = Duration::from_ms(100 + 7);
        let of_slow = timer(&slow, 10) - rest;
        assert!(of_slow > Duration::from_ms(8_900) && of_slow <= Duration::from_ms(9_000));
        assert_eq!(timer(&fast, 10), timer(&Arrivals::new(BURST), 10));
    }

    #[test]
    fn the_wait_for_what_was_asked_for_does_not_grow_by_itself() {
        let mut arrivals = Arrivals::new(BURST);
        let (before, mut now) = (timer(&arrivals, 16), Instant::ZERO);
        for _ in 0..100 {
            arrivals.observe(now, BURST);
            now += timer(&arrivals, 16);
            arrivals.asked_for_one();
        }
        assert_eq!(timer(&arrivals, 16), before);
    }

    #[test]
    fn bursts_are_not_taken_for_a_rate() {
        let mut arrivals = Arrivals::new(BURST);
        for k in 0..100 {
            let start = Instant::ZERO + BURST.interval() * k;
            (0..5).for_each(|n| arrivals.observe(start + Duration::from_us(10) * n, BURST));
        }
        let mean_ms = arrivals.mean.as_us() as f64 / 1e3;
        assert!((8.0..12.0).contains(&mean_ms), "{mean_ms}");
    }
}
