//! One queue that sends against two: the same port, the same pair with two queues at either end, the same frames.

use crate::bed::Bed;
use crate::competitor::Arena;
use crate::error::Result;
use crate::netanvil::Netanvil;
use crate::subject::Subject;
use serde::Serialize;

/// What is compared.
pub const QUEUES: [u16; 2] = [1, 2];
/// Frames that the port sends in turn; each queue has every other one.
const READY_FRAMES: usize = 64;

/// The ports that can have several.
pub const SUBJECTS: [Subject; 2] = [Subject::Xdp, Subject::AfXdp];

/// So many queues at one size.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct QueueRate {
    /// netanvil's port.
    pub subject: Subject,
    /// Queues that send, and on an `af_xdp` port threads that receive.
    pub queues: u16,
    /// FCS included.
    pub size_bytes: u32,
    /// One a round.
    pub rounds: Vec<Round>,
}

/// Transmit to receive, as fast as the port can.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Round {
    /// Frames a second that left.
    pub sent_fps: f64,
    /// Frames a second that were accounted for.
    pub received_fps: f64,
    /// Frames that did not arrive.
    pub lost_frames: u64,
}

/// Measures one case on a fresh pair.
pub fn measure(arena: &Arena<'_>, subject: Subject, queues: u16, size_bytes: u32) -> Result<Round> {
    let bed = Bed::with_queues(QUEUES[1])?;
    let port = Netanvil::open_queues(&bed, subject, (queues, true), &arena.stop)?;
    let flat_out = port.with_ready_frames(READY_FRAMES).flat_out(size_bytes)?;
    Ok(Round {
        sent_fps: flat_out.sent_fps,
        received_fps: flat_out.received_fps,
        lost_frames: flat_out.lost_frames,
    })
}

impl QueueRate {
    /// Frames a second that were accounted for, median.
    pub fn received_fps(&self) -> f64 {
        crate::results::median(self.rounds.iter().map(|round| round.received_fps))
    }
}
