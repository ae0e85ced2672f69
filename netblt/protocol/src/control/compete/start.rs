//! When slow start ends before a loss: HyStart++ (RFC 9406 section 4).

/// RFC 9406 section 4.3: MIN_RTT_THRESH and MAX_RTT_THRESH.
const MIN_RISE_S: f64 = 0.004;
const MAX_RISE_S: f64 = 0.016;
/// The same section: MIN_RTT_DIVISOR.
const RISE_DIVISOR: f64 = 8.0;
/// The same section: N_RTT_SAMPLE is 8 acknowledgements. TCP sends one for every second packet (RFC 5681
/// section 4.2), so that they stand for this many packets; an OK stands for a buffer.
const SAMPLE_PACKETS: f64 = 16.0;
/// The same section: CSS_GROWTH_DIVISOR and CSS_ROUNDS.
const CONSERVATIVE_DIVISOR: f64 = 4.0;
const CONSERVATIVE_ROUNDS: u32 = 5;

/// Slow start, round by round.
#[derive(Clone, Debug)]
pub struct SlowStart {
    /// Shortest round trips of the last round and of this one.
    last_s: f64,
    current_s: f64,
    /// Packets that the samples of this round stand for.
    sampled: f64,
    conservative: Option<Conservative>,
}

/// Conservative slow start: delay rose, and it is tried whether that was chance.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// Shortest round trip of the round in which it rose.
    baseline_s: f64,
    rounds: u32,
}

impl SlowStart {
    pub fn new() -> SlowStart {
        let (last_s, current_s) = (f64::INFINITY, f64::INFINITY);
        SlowStart { last_s, current_s, sampled: 0.0, conservative: None }
    }

    /// Packets by which the window grows for each that arrived.
    pub fn growth(&self) -> f64 {
        self.conservative.map_or(1.0, |_| 1.0 / CONSERVATIVE_DIVISOR)
    }

    /// A round trip was measured by the OK of so many packets.
    pub fn observe(&mut self, round_trip_s: f64, packets: f64) {
        self.current_s = self.current_s.min(round_trip_s);
        self.sampled += packets;
        if self.sampled < SAMPLE_PACKETS {
            return;
        }
        match self.conservative {
            Some(css) if self.current_s < css.baseline_s => self.conservative = None,
            Some(_) => {}
            None => {
                let rise_s = (self.last_s / RISE_DIVISOR).clamp(MIN_RISE_S, MAX_RISE_S);
                if self.last_s.is_finite() && self.current_s >= self.last_s + rise_s {
                    self.conservative =
                        Some(Conservative { baseline_s: self.current_s, rounds: 0 });
                }
            }
        }
    }

    /// A round trip is over. True if slow start is, too.
    pub fn end_round(&mut self) -> bool {
        (self.last_s, self.current_s, self.sampled) = (self.current_s, f64::INFINITY, 0.0);
        let Some(css) = &mut self.conservative else { return false };
        css.rounds += 1;
        css.rounds >= CONSERVATIVE_ROUNDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round of four buffers of eight packets.
    fn round(start: &mut SlowStart, round_trip_s: f64) -> bool {
        (0..4).for_each(|_| start.observe(round_trip_s, 8.0));
        start.end_round()
    }

    #[test]
    fn a_round_trip_that_rises_by_an_eighth_slows_growth_and_ends_it_five_rounds_later() {
        let mut start = SlowStart::new();
        assert!(!round(&mut start, 0.080) && start.growth() == 1.0);
        assert!(!round(&mut start, 0.089) && start.growth() == 1.0, "an eighth is 10 ms");
        // 0.089 / 8 is 11.1 ms.
        assert!(!round(&mut start, 0.1002) && start.growth() == 0.25);
        let over: Vec<bool> = (0..4).map(|_| round(&mut start, 0.1002)).collect();
        assert_eq!(over, [false, false, false, true]);
    }

    #[test]
    fn a_rise_that_goes_away_was_chance() {
        let mut start = SlowStart::new();
        round(&mut start, 0.020);
        round(&mut start, 0.0241);
        assert_eq!(start.growth(), 0.25, "4 ms more");
        round(&mut start, 0.0240);
        assert_eq!(start.growth(), 1.0);
    }

    #[test]
    fn few_samples_say_nothing() {
        let mut start = SlowStart::new();
        round(&mut start, 0.020);
        start.observe(0.200, 8.0);
        assert_eq!(start.growth(), 1.0);
        start.observe(0.020, 8.0);
        assert_eq!(start.growth(), 1.0);
    }
}
