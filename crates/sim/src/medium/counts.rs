//! What a MAC on a half-duplex medium counts.

use crate::Counter;

/// Counters of one MAC, by the names of IEEE 802.3 section 30.3.1.1 (RFC 3635 has them as dot3Stats).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct MacCounts {
    /// Frames without a collision whose first attempt found the medium taken
    /// (aFramesWithDeferredXmissions).
    pub deferred: u64,
    /// Frames that left after one collision (aSingleCollisionFrames).
    pub single_collisions: u64,
    /// Frames that left after more (aMultipleCollisionFrames).
    pub multiple_collisions: u64,
    /// Collisions more than a slot time into a frame (aLateCollisions), also counted as collisions.
    pub late_collisions: u64,
    /// Frames given up after the last attempt (aFramesAbortedDueToXSColls).
    pub excessive_collisions: u64,
    /// Collisions that the station noticed: no counter of the standard has their sum.
    pub collisions: u64,
    /// Frames that collided after their station had finished and heard nothing of it: on a cable
    /// longer than the standard allows.
    pub unnoticed: u64,
}

/// Frames that a station wanted to send and the medium has not carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Uncarried {
    /// They wait, or have not arrived yet.
    pub waiting: u64,
    /// Given up after the last attempt, since the beginning.
    pub given_up: u64,
    /// Collided and nobody noticed, since the beginning.
    pub unnoticed: u64,
}

impl Uncarried {
    /// Lost since `before`.
    pub(crate) fn lost_since(&self, before: &Uncarried) -> u64 {
        self.given_up - before.given_up + self.unnoticed - before.unnoticed
    }
}

impl MacCounts {
    /// One of the counters; `None` for one that a MAC does not have.
    pub(crate) fn get(&self, counter: Counter) -> Option<u64> {
        match counter {
            Counter::DeferredFrames => Some(self.deferred),
            Counter::SingleCollisionFrames => Some(self.single_collisions),
            Counter::MultipleCollisionFrames => Some(self.multiple_collisions),
            Counter::LateCollisions => Some(self.late_collisions),
            Counter::ExcessiveCollisions => Some(self.excessive_collisions),
            _ => None,
        }
    }

    /// What was counted since `before`.
    pub(crate) fn since(&self, before: &MacCounts) -> MacCounts {
        MacCounts {
            deferred: self.deferred - before.deferred,
            single_collisions: self.single_collisions - before.single_collisions,
            multiple_collisions: self.multiple_collisions - before.multiple_collisions,
            late_collisions: self.late_collisions - before.late_collisions,
            excessive_collisions: self.excessive_collisions - before.excessive_collisions,
            collisions: self.collisions - before.collisions,
            unnoticed: self.unnoticed - before.unnoticed,
        }
    }

    /// What the reader of a trial should know; `None` where the medium was there when wanted.
    pub(crate) fn note(&self, port: usize) -> Option<String> {
        let all = [
            (self.collisions, "collisions"),
            (self.deferred, "frames deferred"),
            (self.single_collisions, "after one collision"),
            (self.multiple_collisions, "after more"),
            (self.late_collisions, "late collisions"),
            (self.excessive_collisions, "excessive collisions"),
            (self.unnoticed, "lost in collisions that nobody noticed"),
        ];
        let told = all.iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = told.map(|(count, what)| format!("{count} {what}")).collect();
        (!words.is_empty()).then(|| format!("half duplex at port {port}: {}", words.join(", ")))
    }
}
