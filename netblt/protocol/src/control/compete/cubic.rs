//! CUBIC's window (RFC 9438), in packets. Times are seconds since the control began.

/// RFC 9438 section 5: C, in packets per cubed second.
const C: f64 = 0.4;
/// RFC 9438 section 4.6: beta_cubic.
const BETA: f64 = 0.7;
/// RFC 9438 section 4.3: alpha_cubic, the growth that is as fast as Reno's with beta_cubic in place of a half.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// RFC 9438 section 4.2: the window aimed at is at most half as large again.
const MOST_AHEAD: f64 = 1.5;
/// RFC 9438 section 4.6 bounds ssthresh by two packets.
const LEAST_THRESHOLD: f64 = 2.0;
/// RFC 5681 section 3.1: the window after a timeout.
const LOSS_WINDOW: f64 = 1.0;
/// RFC 6928.
pub const INITIAL_WINDOW: f64 = 10.0;

/// The window and what its growth goes by.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: f64,
    threshold: f64,
    /// W_max, and cwnd_prior of section 4.3.
    most: f64,
    before_reduction: f64,
    epoch: Option<Epoch>,
    timed_out: bool,
    /// Packets by which the estimate of Reno grows in a round trip once the window is back.
    reno_growth: f64,
}

/// Growth since a reduction.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began_s: f64,
    /// K: from then until the window is W_max again.
    plateau_s: f64,
    /// W_est of section 4.3.
    reno: f64,
}

impl Cubic {
    pub fn new(window: f64) -> Cubic {
        Cubic {
            window,
            threshold: f64::INFINITY,
            most: 0.0,
            before_reduction: 0.0,
            epoch: None,
            timed_out: false,
            reno_growth: 1.0,
        }
    }

    pub fn window(&self) -> f64 {
        self.window
    }
    pub fn is_slow_start(&self) -> bool {
        self.window < self.threshold
    }
    /// Slow start ends without a loss.
    pub fn leave_slow_start(&mut self) {
        self.threshold = self.window;
    }
    /// In slow start so many packets arrived, each worth `growth` of one.
    pub fn grow(&mut self, packets: f64, growth: f64) {
        self.window = (self.window + packets * growth).min(self.threshold.max(self.window));
    }

    /// Packets arrived, beyond slow start (sections 4.2 to 4.5).
    pub fn avoid_congestion(&mut self, now_s: f64, round_trip_s: f64, packets: f64) {
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin(now_s),
        };
        let cubic = |s: f64| C * (s - epoch.plateau_s).powi(3) + self.most;
        let since_s = now_s - epoch.began_s;
        let target = cubic(since_s + round_trip_s).clamp(self.window, MOST_AHEAD * self.window);
        let alpha = if epoch.reno < self.before_reduction { ALPHA } else { self.reno_growth };
        let reno = epoch.reno + alpha * packets / self.window;
        self.window = match cubic(since_s) < reno {
            true => self.window.max(reno),
            false => self.window + (target - self.window) * (packets / self.window).min(1.0),
        };
        self.epoch = Some(Epoch { reno, ..epoch });
    }

    fn begin(&mut self, now_s: f64) -> Epoch {
        // After a timeout, and after slow start that no loss ended, K is 0 (section 4.8).
        if std::mem::take(&mut self.timed_out) || self.most < self.window {
            self.most = self.window;
        }
        let plateau_s = ((self.most - self.window) / C).cbrt();
        Epoch { began_s: now_s, plateau_s, reno: self.window }
    }

    /// Time in which the sender had nothing to send does not count (section 5.8).
    pub fn pause(&mut self, for_s: f64) {
        if let Some(epoch) = &mut self.epoch {
            epoch.began_s += for_s;
        }
    }

    /// Packets were lost, for the first time in a round trip (sections 4.6 and 4.7).
    pub fn reduce(&mut self) {
        self.before_reduction = self.window;
        self.reno_growth = 1.0;
        self.most = match self.window < self.most {
            true => self.window * (1.0 + BETA) / 2.0,
            false => self.window,
        };
        self.threshold = (self.window * BETA).max(LEAST_THRESHOLD);
        self.window = self.threshold;
        self.epoch = None;
    }

    /// A network marked packets early: the window shrinks by a share, and then grows by so many packets in a round trip,
    /// or by the cubic where that is more.
    pub fn give_way(&mut self, share: f64, growth: f64) {
        (self.most, self.before_reduction, self.reno_growth) = (self.window, 0.0, growth);
        self.threshold = (self.window * (1.0 - share)).max(LEAST_THRESHOLD);
        self.window = self.window.min(self.threshold);
        self.epoch = None;
    }

    /// Nothing was heard for a timeout (section 4.8).
    pub fn time_out(&mut self) {
        self.reduce();
        self.window = LOSS_WINDOW;
        self.timed_out = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At so many packets, beyond slow start.
    fn at(window: f64) -> Cubic {
        let mut cubic = Cubic::new(window);
        cubic.leave_slow_start();
        cubic
    }

    /// Lets the window grow over a round trip until it has the size, and gives the time.
    fn time_to(cubic: &mut Cubic, round_trip_s: f64, window: f64) -> f64 {
        let mut now_s = 0.0;
        while cubic.window() < window {
            cubic.avoid_congestion(now_s, round_trip_s, 8.0);
            now_s += 8.0 * round_trip_s / cubic.window();
        }
        now_s
    }

    /// RFC 9438 section 4.2: K is the cube root of W_max (1 - beta) / C. The target is a round trip ahead.
    #[test]
    fn the_window_is_back_after_the_cube_root() {
        let mut cubic = at(1000.0);
        cubic.reduce();
        assert_eq!(cubic.window(), 700.0);
        let k_s = (1000.0f64 * 0.3 / 0.4).cbrt();
        let took_s = time_to(&mut cubic, 0.1, 999.9);
        assert!((k_s - 1.0..k_s).contains(&took_s), "{took_s} for {k_s}");
    }

    /// RFC 9438 section 4.3: on a short path the window grows by alpha in each round trip, and by one
    /// from where it was before.
    #[test]
    fn on_a_short_path_growth_is_reno_s() {
        let mut cubic = at(20.0);
        cubic.reduce();
        let took_s = time_to(&mut cubic, 0.002, 20.0);
        let law_s = 6.0 / (0.9 / 1.7) * 0.002;
        assert!((took_s / law_s - 1.0).abs() < 0.1, "{took_s} for {law_s}");
        let (began, mut now_s) = (cubic.window(), took_s);
        while now_s < took_s + 0.020 {
            cubic.avoid_congestion(now_s, 0.002, 8.0);
            now_s += 8.0 * 0.002 / cubic.window();
        }
        let grown = cubic.window() - began;
        assert!((9.0..=11.5).contains(&grown), "{grown} in ten round trips");
    }

    /// RFC 9438 section 4.7.
    #[test]
    fn who_is_reduced_before_it_is_back_leaves_more_to_others() {
        let mut cubic = at(100.0);
        cubic.reduce();
        cubic.reduce();
        assert!((cubic.most - 70.0 * 0.85).abs() < 1e-9 && (cubic.window() - 49.0).abs() < 1e-9);
    }

    #[test]
    fn after_a_timeout_slow_start_goes_to_the_threshold_and_no_further() {
        let mut cubic = at(100.0);
        cubic.time_out();
        assert_eq!(cubic.window(), 1.0);
        while cubic.is_slow_start() {
            cubic.grow(8.0, 1.0);
        }
        assert_eq!(cubic.window(), 70.0);
        cubic.avoid_congestion(5.0, 0.1, 8.0);
        assert_eq!(cubic.epoch.map(|epoch| epoch.plateau_s), Some(0.0));
    }

    #[test]
    fn no_loss_takes_the_window_below_two_packets() {
        let mut cubic = at(3.0);
        (0..9).for_each(|_| cubic.reduce());
        assert_eq!(cubic.window(), 2.0);
    }
}
