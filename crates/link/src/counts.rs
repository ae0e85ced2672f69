//! What became of the frames of one direction.

use serde::Serialize;
use units::Duration;

/// Lateness up to here is no different from what any kernel does to packets.
const FAITHFUL: Duration = Duration::from_ms(2);

/// Counts of one direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct WayCounts {
    /// Frames that came to the queue.
    pub arrived_frames: u64,
    /// The model: the queue was full.
    pub dropped_frames: u64,
    /// The model: lost by chance.
    pub lost_frames: u64,
    /// The model: overtaken by others. They were delivered as well.
    pub overtaken_frames: u64,
    /// The model: marked, since the queue was long and they may be (RFC 3168). They were delivered as well.
    pub marked_frames: u64,
    /// Handed to the other host.
    pub delivered_frames: u64,
    /// Frames that the link program lost before it saw them: it was too slow, or held up.
    pub missed_frames: u64,
    /// Frames that the other host's interface did not take.
    pub refused_frames: u64,
    /// Frames that were more than 2 ms later than the model has it.
    pub late_frames: u64,
    /// By how much the latest was later than the model has it, in picoseconds.
    pub latest_ps: u64,
}

impl WayCounts {
    /// Whether what the hosts saw is what the model decided: no frame was lost by the program itself,
    /// and at most one in a hundred was more than 2 ms late.
    pub fn is_faithful(&self) -> bool {
        let lost = self.missed_frames + self.refused_frames;
        lost == 0 && self.late_frames * 100 <= self.delivered_frames
    }

    pub(crate) fn delivered(&mut self, late: Duration) {
        self.delivered_frames += 1;
        self.late_frames += u64::from(late > FAITHFUL);
        self.latest_ps = self.latest_ps.max(late.as_ps());
    }
}
