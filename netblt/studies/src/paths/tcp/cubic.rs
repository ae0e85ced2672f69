//! CUBIC's window (RFC 9438), in packets; slow start ends early when delay rises (RFC 9406, without
//! its conservative slow start).

use super::{INITIAL_WINDOW, Window};
use units::{Duration, Instant};

/// RFC 9438 section 4.1, in packets per cubed second.
const C: f64 = 0.4;
/// RFC 9438 section 4.6.
const BETA: f64 = 0.7;
/// RFC 9406 section 4.2.
const MIN_RISE: Duration = Duration::from_ms(4);
const MAX_RISE: Duration = Duration::from_ms(16);
const SAMPLES: u32 = 8;

#[derive(Debug)]
pub struct Cubic {
    window: f64,
    threshold: f64,
    before_loss: f64,
    epoch: Option<Instant>,
    /// Time from the epoch to the window before the loss.
    plateau_s: f64,
    /// What Reno would have (RFC 9438 section 4.3).
    reno: f64,
    /// Shortest round trip of the last round and of this one, with the samples of this.
    rounds: (Option<Duration>, Option<Duration>, u32),
}

impl Cubic {
    pub fn new() -> Cubic {
        Cubic {
            window: INITIAL_WINDOW,
            threshold: f64::INFINITY,
            before_loss: 0.0,
            epoch: None,
            plateau_s: 0.0,
            reno: 0.0,
            rounds: (None, None, 0),
        }
    }

    fn slow_start(&mut self, round_trip: Duration, begins: bool) {
        self.window += 1.0;
        if begins {
            self.rounds = (self.rounds.1, None, 0);
        }
        let (last, shortest, samples) = &mut self.rounds;
        *samples += 1;
        let shortest = *shortest.insert(shortest.map_or(round_trip, |old| old.min(round_trip)));
        if let Some(last) = last.filter(|_| *samples >= SAMPLES) {
            let rise = Duration::from_ps(last.as_ps() / 8).max(MIN_RISE).min(MAX_RISE);
            if shortest >= last + rise {
                self.threshold = self.window;
            }
        }
    }

    fn avoid_congestion(&mut self, now: Instant, round_trip: Duration) {
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.reno = self.window;
            self.before_loss = self.before_loss.max(self.window);
            self.plateau_s = ((self.before_loss - self.window) / C).cbrt();
            now
        });
        let at = |s: f64| C * (s - self.plateau_s).powi(3) + self.before_loss;
        let s = now.since(epoch).as_secs_f64();
        let target = at(s + round_trip.as_secs_f64()).clamp(self.window, 1.5 * self.window);
        let alpha =
            if self.reno < self.before_loss { 3.0 * (1.0 - BETA) / (1.0 + BETA) } else { 1.0 };
        self.reno += alpha / self.window;
        if at(s) < self.reno {
            self.window = self.window.max(self.reno);
        } else {
            self.window += (target - self.window) / self.window;
        }
    }

    fn reduce(&mut self) {
        // Fast convergence (RFC 9438 section 4.7).
        self.before_loss = match self.window < self.before_loss {
            true => self.window * (1.0 + BETA) / 2.0,
            false => self.window,
        };
        self.threshold = (self.window * BETA).max(2.0);
        self.epoch = None;
    }
}

impl Window for Cubic {
    fn packets(&self) -> f64 {
        self.window
    }
    fn acknowledged(&mut self, now: Instant, round_trip: Duration, begins: bool) {
        match self.window < self.threshold {
            true => self.slow_start(round_trip, begins),
            false => self.avoid_congestion(now, round_trip),
        }
    }
    fn lost(&mut self, _now: Instant) {
        self.reduce();
        self.window = self.threshold;
    }
    fn timed_out(&mut self) {
        self.reduce();
        self.window = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9438 section 4.2: it is back where it was after the cube root of W (1 - beta) / C.
    #[test]
    fn after_a_loss_the_window_is_back_when_the_cube_root_says() {
        let mut cubic = Cubic::new();
        let round_trip = Duration::from_ms(100);
        (10..1000).for_each(|_| cubic.acknowledged(Instant::ZERO, round_trip, false));
        cubic.lost(Instant::ZERO);
        assert_eq!(cubic.packets(), 700.0);
        let mut now = Instant::ZERO;
        while cubic.packets() < 999.0 {
            now += Duration::from_ps((round_trip.as_secs_f64() * 1e12 / cubic.packets()) as u64);
            cubic.acknowledged(now, round_trip, false);
        }
        let law_s = (1000.0f64 * 0.3 / 0.4).cbrt();
        let took_s = now.since(Instant::ZERO).as_secs_f64();
        // It aims a round trip ahead, and the cube is flat at its end.
        assert!((law_s - 2.0..law_s).contains(&took_s), "{took_s} for {law_s}");
    }
}
