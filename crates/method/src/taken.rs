//! What trials take of a device's tokens: one frame more than it keeps up is one token less, until it has come again.

use std::collections::VecDeque;
use trial::TrialResult;
use units::{Duration, FrameRate, Instant};

/// Tokens that so many trials have not used up, or given time to come again, are not remembered.
const TRIALS_MAX: usize = 256;

/// What came out of the last trials, and when they began.
#[derive(Clone, Default, Debug)]
pub(crate) struct Taken {
    trials: VecDeque<(Instant, u64)>,
}

impl Taken {
    /// Takes a trial down, whatever it decided.
    pub(crate) fn add(&mut self, result: &TrialResult) {
        self.trials.push_back((result.started_at, result.forwarded_frames()));
        if self.trials.len() > TRIALS_MAX {
            self.trials.pop_front();
        }
    }

    /// How long a device that has `rate` tokens a second still lacks some of those that it had at first.
    pub(crate) fn owed(&self, rate: FrameRate, now: Instant) -> Duration {
        let ends = self.trials.iter().skip(1).map(|(begun, _)| *begun).chain([now]);
        let owed = self.trials.iter().zip(ends).fold(0.0, |owed: f64, ((begun, frames), end)| {
            let came = rate.fps() * end.since(*begun).as_secs_f64();
            (owed + *frames as f64 - came).max(0.0)
        });
        let seconds = owed / rate.fps();
        if seconds.is_finite() { Duration::from_secs_f64(seconds) } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 tokens a second. 600 frames came out, and after a second nothing is owed; 2,500, and after a second 1,500 are.
    #[test]
    fn what_came_out_beyond_the_rate_is_owed() {
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let taken = Taken { trials: [(at(0), 600), (at(1), 2_500)].into() };
        let rate = FrameRate::from_fps(1_000);
        assert_eq!(taken.owed(rate, at(2)), Duration::from_ms(1_500));
        assert_eq!(taken.owed(rate, at(4)), Duration::ZERO);
        assert_eq!(Taken::default().owed(rate, at(4)), Duration::ZERO);
    }
}
