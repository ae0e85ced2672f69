//! Trials that contradict each other: frames were lost in one, and another carried as much. The device is
//! noisy then.

use super::Resolution;
use super::scatter::{Capacity, Shown};

/// A loss of no larger a share is little.
const LITTLE: f64 = 0.08;

/// A trial made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// The load intended.
    pub asked: u64,
    /// The load that it tells of: what was offered where nothing was lost, else what was intended.
    pub load: u64,
    /// Between which loads lies what the device carried in it and would carry on and on.
    pub sustained: (u64, u64),
    pub is_lossy: bool,
    pub is_final: bool,
}

impl Seen {
    pub fn shown(&self) -> Shown {
        let Seen { load, sustained, is_lossy, is_final, .. } = *self;
        let capacity = match is_lossy {
            false => Capacity::AtLeast(sustained.0),
            true => Capacity::Exceeded { load, came_out: sustained },
        };
        Shown { capacity, is_final }
    }

    /// Whether this trial lost frames at a load that the other carried without loss, or came to less than the
    /// other, with or without loss, at the same load. A longer trial may lose what a shorter one did not. What
    /// comes out at different loads proves nothing, nor what does where much is lost: many a device forwards
    /// more, or less, the more is asked of it, and for some time afterwards.
    fn contradicts(&self, other: &Seen, resolution: Resolution) -> bool {
        // What is counted in whole frames may vary a little.
        let slack = resolution.step(self.load) / 4 + 1;
        let is_below =
            !other.is_lossy && other.sustained.0 >= self.load && (other.is_final || !self.is_final);
        let is_less = other.asked == self.asked
            && self.has_lost_little()
            && other.sustained.0.saturating_sub(slack) > self.sustained.1
            && other.is_final == self.is_final;
        self.is_lossy && (is_below || is_less)
    }

    fn has_lost_little(&self) -> bool {
        self.sustained.1 as f64 >= (1.0 - LITTLE) * self.load as f64
    }
}

/// Between which loads the truth may lie, where the last trial contradicts another.
pub(super) fn of_last(seen: &[Seen], resolution: Resolution) -> Option<(u64, u64)> {
    let last = seen.last()?;
    let pairs = seen.iter().flat_map(|seen| [(seen, last), (last, seen)]);
    let found = pairs.filter(|(lossy, other)| lossy.contradicts(other, resolution));
    let spread = found.map(|(lossy, other)| {
        (lossy.load.min(other.sustained.0), lossy.load.max(other.sustained.0))
    });
    spread.max_by_key(|(low, high)| high - low)
}
