//! Packets that are acknowledged at once, beyond the rate: Linux's BBR allows as many more under way, lest it be silent
//! between such acknowledgements (`net/ipv4/tcp_bbr.c`, bbr_update_ack_aggregation).

use units::{Duration, Instant};

/// bbr_extra_acked_win_rtts: of two windows of so many round trips the most counts.
const WINDOW_ROUNDS: u32 = 5;
/// bbr_extra_acked_max_us: no more than what is delivered in that time.
const MOST_S: f64 = 0.1;

/// The most of the last five to ten round trips.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aggregation {
    most: [f64; 2],
    current: usize,
    rounds: u32,
    /// Since when acknowledgements have come faster than the rate, and how many.
    since: Option<Instant>,
    acknowledged: f64,
}

impl Aggregation {
    /// Packets that may be under way beyond the window.
    pub fn most(&self, rate_pps: Option<f64>) -> f64 {
        self.most[0].max(self.most[1]).min(rate_pps.unwrap_or(0.0) * MOST_S).floor()
    }

    /// So many packets are acknowledged while the highest rate and the window are those.
    pub fn observe(
        &mut self,
        now: Instant,
        begins: bool,
        new: u64,
        (rate_pps, window): (Option<f64>, f64),
    ) {
        let Some(rate_pps) = rate_pps.filter(|_| new > 0) else { return };
        if begins {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                (self.rounds, self.current) = (0, 1 - self.current);
                self.most[self.current] = 0.0;
            }
        }
        let took = self.since.map_or(Duration::ZERO, |since| now.since(since));
        let mut expected = rate_pps * took.as_secs_f64();
        if self.acknowledged <= expected {
            (self.since, self.acknowledged, expected) = (Some(now), 0.0, 0.0);
        }
        self.acknowledged += new as f64;
        let extra = (self.acknowledged - expected).min(window);
        self.most[self.current] = self.most[self.current].max(extra);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 1,000 packets a second, one in a millisecond is what is expected; of 20 at once 19 are more, and that
    /// is forgotten after ten round trips.
    #[test]
    fn what_comes_at_once_counts_for_five_to_ten_round_trips() {
        let mut aggregation = Aggregation::default();
        let pps = Some(1000.0);
        let mut at = Instant::ZERO;
        let mut steady = |aggregation: &mut Aggregation, rounds: u32| {
            for _ in 0..rounds {
                for packet in 0..10 {
                    at += Duration::from_ms(1);
                    aggregation.observe(at, packet == 0, 1, (pps, 100.0));
                }
            }
            at
        };
        let at = steady(&mut aggregation, 11);
        assert!(aggregation.most(pps) <= 2.0, "{aggregation:?}");
        aggregation.observe(at + Duration::from_ms(1), false, 20, (pps, 100.0));
        assert!((19.0..=21.0).contains(&aggregation.most(pps)), "{aggregation:?}");
        assert_eq!(aggregation.most(Some(50.0)), 5.0, "a tenth of a second at the most");
    }
}
