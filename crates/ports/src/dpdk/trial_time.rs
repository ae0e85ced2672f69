//! Whose the receive queue of a device is: a trial's, or between trials the control side's.

use std::sync::atomic::{AtomicU64, Ordering};
use units::{Duration, Instant};

/// A trial that was prepared and never ran, since another port failed, has the queue no longer than this.
const LONGEST_PREPARATION: Duration = Duration::from_secs(5);
const NOBODY: u64 = 0;
const TRIAL: u64 = u64::MAX;

/// [`NOBODY`], [`TRIAL`], or the time until which a prepared trial has it, in ps.
#[derive(Default)]
pub(super) struct TrialTime(AtomicU64);

impl TrialTime {
    /// A trial is about to begin: what arrives from now on is its own.
    pub fn prepare(&self, now: Instant) {
        self.0.store((now + LONGEST_PREPARATION).as_ps(), Ordering::Release);
    }

    /// The trial receives.
    #[inline]
    pub fn run(&self) {
        if self.0.load(Ordering::Relaxed) != TRIAL {
            self.0.store(TRIAL, Ordering::Release);
        }
    }

    /// It has ended.
    pub fn end(&self) {
        self.0.store(NOBODY, Ordering::Release);
    }

    /// Whether a trial has the queue.
    pub fn is_a_trials(&self, now: Instant) -> bool {
        self.0.load(Ordering::Acquire) > now.as_ps()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_the_trials_from_its_preparation_to_its_end() {
        let (time, now) = (TrialTime::default(), Instant::from_ns(1_000));
        assert!(!time.is_a_trials(now));
        time.prepare(now);
        assert!(time.is_a_trials(now + Duration::from_secs(4)));
        assert!(!time.is_a_trials(now + Duration::from_secs(5)), "it never ran");
        time.run();
        assert!(time.is_a_trials(now + Duration::from_secs(3_600)));
        time.end();
        assert!(!time.is_a_trials(now));
    }
}
