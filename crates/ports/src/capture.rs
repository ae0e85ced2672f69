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
    /// What several queues of a port kept, in the order in which it left or arrived. Each kept the first
    /// `max_frames` of its own: so many of all are the first of the port.
    pub fn of_queues(queues: impl IntoIterator<Item = Captured>, max_frames: u64) -> Captured {
        let mut all = Captured::default();
        for queue in queues {
            all.frames.extend(queue.frames);
            all.missed += queue.missed;
        }
        all.frames.sort_by_key(|frame| frame.at);
        all.frames.truncate(usize::try_from(max_frames).unwrap_or(usize::MAX));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_frames_of_a_port_are_kept_whatever_queue_sent_them() {
        let queue = |times: &[u64]| Captured {
            frames: times
                .iter()
                .map(|ns| CapturedFrame { at: Instant::from_ns(*ns), bytes: vec![] })
                .collect(),
            missed: 1,
        };
        let port = Captured::of_queues([queue(&[1, 4, 5]), queue(&[2, 3, 9])], 3);
        let times: Vec<u64> = port.frames.iter().map(|frame| frame.at.as_ns()).collect();
        assert_eq!((times, port.missed), (vec![1, 2, 3], 2));
    }
}
