//! Frames of earlier trials that arrive in a later one: they were still within the device.

use serde::{Deserialize, Serialize};
use units::Instant;
use wire::signature::EARLIER_TRIALS;

/// Frames of earlier trials of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftovers {
    /// Of the trial before, of the one before that, and so on.
    pub frames: [u64; EARLIER_TRIALS],
    /// When the last of them arrived.
    pub last_at: Option<Instant>,
}

impl Leftovers {
    /// One more, of the trial so many trials ago.
    pub(crate) fn add(&mut self, ago: usize, now: Instant) {
        self.frames[ago - 1] += 1;
        self.last_at = self.last_at.max(Some(now));
    }
    /// Those that came by another receive queue of the port, too.
    pub fn merge(&mut self, other: &Leftovers) {
        self.frames.iter_mut().zip(other.frames).for_each(|(all, more)| *all += more);
        self.last_at = self.last_at.max(other.last_at);
    }
    /// All of them.
    pub fn total(&self) -> u64 {
        self.frames.iter().sum()
    }
    /// Whether none came.
    pub fn is_empty(&self) -> bool {
        self.total() == 0
    }
    /// How many trials ago that trial was of which the latest came.
    pub fn trials_ago(&self) -> impl Iterator<Item = (u64, u64)> {
        (1..).zip(self.frames).filter(|(_, frames)| *frames > 0)
    }
}
