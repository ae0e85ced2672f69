//! One leg: what entered it, what left it, and where the rest went.

use super::{Fate, Leg, Part, Station};

impl Leg {
    pub(super) fn new((from, entered): (Station, u64), (to, left): (Station, u64)) -> Self {
        let mut leg = Leg { from, to, entered, left, parts: vec![], unknown: 0, surplus: 0 };
        leg.close();
        leg
    }

    pub(super) fn close(&mut self) {
        let out = self.left + self.parts.iter().map(|part| part.frames).sum::<u64>();
        self.unknown = self.entered.saturating_sub(out);
        self.surplus = out.saturating_sub(self.entered);
    }

    /// Names a place where frames went, whatever else is known.
    pub(super) fn name(&mut self, name: &str, fate: Fate, frames: u64) {
        if frames > 0 {
            self.parts.push(Part { name: name.into(), fate, frames });
            self.close();
        }
    }

    /// Names a place for no more frames than nobody names yet; gives how many are left. For counters
    /// of which it is not known on which side of a station they count, or whose frames.
    pub(super) fn name_within(&mut self, name: &str, fate: Fate, frames: u64) -> u64 {
        let here = frames.min(self.unknown);
        self.name(name, fate, here);
        frames - here
    }

    /// Whether counters contradict each other: more was dropped by name than went missing.
    pub fn disagrees(&self) -> bool {
        self.surplus > 0 && !self.parts.is_empty()
    }
}
