//! What the tester's end of a link counts that the reader of a trial should know.

use crate::fddi::RingCounts;
use crate::medium::{MacCounts, Way};
use crate::port::Cable;

/// Up to some time.
pub(crate) struct LinkCounts {
    mac: Option<MacCounts>,
    ring: Option<RingCounts>,
}

impl LinkCounts {
    pub(crate) fn of(cable: &Cable) -> Self {
        LinkCounts { mac: cable.mac_counts(Way::ToDevice), ring: cable.ring_counts() }
    }

    /// What was counted since `before`, in words; `None` where nothing was.
    pub(crate) fn note_since(&self, before: &LinkCounts, port: usize) -> Option<String> {
        let (now, then) = self.mac.zip(before.mac).unwrap_or_default();
        let collided = now.since(&then).note(port);
        let (now, then) = self.ring.zip(before.ring).unwrap_or_default();
        let (claims, late) = (now.claims - then.claims, now.late_tokens - then.late_tokens);
        let claimed = (claims > 0)
            .then(|| format!("FDDI at port {port}: {claims} claims, {late} tokens were late"));
        collided.or(claimed)
    }
}
