//! Whose the receive queues of a device are: a trial's, or between trials the control side's.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use units::{Duration, Instant};

/// A trial that was prepared and never ran, since another port failed, has the queue no longer than this.
const LONGEST_PREPARATION: Duration = Duration::from_secs(5);
const NOBODY: u64 = 0;
const TRIAL: u64 = u64::MAX;

/// Of one device.
pub(super) struct TrialTime {
    /// [`NOBODY`], [`TRIAL`], or the time until which a prepared trial has them, in ps.
    until: AtomicU64,
    queues: usize,
    /// Queues for which the trial has ended.
    ended: AtomicUsize,
}

impl TrialTime {
    /// Of a device with so many receive queues.
    pub fn of(queues: usize) -> Self {
        TrialTime { until: AtomicU64::new(NOBODY), queues, ended: AtomicUsize::new(0) }
    }

    /// A trial is about to begin: what arrives from now on is its own. All queues are prepared before one of them runs.
    pub fn prepare(&self, now: Instant) {
        self.ended.store(0, Ordering::Relaxed);
        self.until.store((now + LONGEST_PREPARATION).as_ps(), Ordering::Release);
    }

    /// The trial receives.
    #[inline]
    pub fn run(&self) {
        if self.until.load(Ordering::Relaxed) != TRIAL {
            self.until.store(TRIAL, Ordering::Release);
        }
    }

    /// It has ended for a queue: the last one gives all back.
    pub fn end(&self) {
        if self.ended.fetch_add(1, Ordering::AcqRel) + 1 >= self.queues {
            self.until.store(NOBODY, Ordering::Release);
        }
    }

    /// Whether a trial has the queue.
    pub fn is_a_trials(&self, now: Instant) -> bool {
        self.until.load(Ordering::Acquire) > now.as_ps()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_the_trials_from_its_preparation_to_its_end() {
        let (time, now) = (TrialTime::of(1), Instant::from_ns(1_000));
        assert!(!time.is_a_trials(now));
        time.prepare(now);
        assert!(time.is_a_trials(now + Duration::from_secs(4)));
        assert!(!time.is_a_trials(now + Duration::from_secs(5)), "it never ran");
        time.run();
        assert!(time.is_a_trials(now + Duration::from_secs(3_600)));
        time.end();
        assert!(!time.is_a_trials(now));
    }

    #[test]
    fn queues_are_the_trials_until_the_last_one_ends() {
        let (time, now) = (TrialTime::of(2), Instant::from_ns(1_000));
        for _ in 0..2 {
            time.prepare(now);
            time.prepare(now);
            time.run();
            time.end();
            assert!(time.is_a_trials(now), "the other one receives");
            time.end();
            assert!(!time.is_a_trials(now));
        }
    }
}
