//! Frames kept whole, besides being counted.

use trial::{CaptureRequest, StreamId};
use units::Instant;

/// Which frames a half of a port is to keep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaptureWish {
    /// Only these streams; empty for every frame, foreign ones too.
    pub streams: Vec<StreamId>,
    /// At most so many frames: the first ones.
    pub max_frames: u64,
}

/// A frame as it left or arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CapturedFrame {
    /// When: the time from which latencies are computed too.
    pub at: Instant,
    /// Without FCS.
    pub bytes: Vec<u8>,
}

/// What was kept.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Captured {
    /// In the order in which they left or arrived.
    pub frames: Vec<CapturedFrame>,
    /// Frames that were wanted but could not be kept.
    pub missed: u64,
}

impl CaptureWish {
    /// What a request wants of either half.
    pub fn of(request: &CaptureRequest) -> Self {
        CaptureWish { streams: request.streams.clone(), max_frames: request.max_frames }
    }

    /// Whether frames of this stream are wanted.
    pub fn wants(&self, stream: StreamId) -> bool {
        self.streams.is_empty() || self.streams.contains(&stream)
    }
}

impl Captured {
    /// What several queues of a port kept of what they sent, in the order in which it left.
    pub fn of_queues(queues: impl IntoIterator<Item = Captured>) -> Captured {
        let mut all = Captured::default();
        for queue in queues {
            all.frames.extend(queue.frames);
            all.missed += queue.missed;
        }
        all.frames.sort_by_key(|frame| frame.at);
        all
    }
}
