//! Keeps frames while a port sends or receives: into memory reserved beforehand, so that the fast
//! path only copies bytes. Files are written afterwards.

use crate::capture::{CaptureWish, Captured, CapturedFrame};
use crate::pump::Tap;
use trial::{Arrival, Emitted};
use units::Instant;

/// More memory than this no capture takes; frames that find no room are counted as missed.
const BYTES_MAX: usize = 256 << 20;

/// The frames kept of one half of a port; none while nothing is wished for.
#[derive(Default)]
pub(crate) struct Recorder {
    wish: Option<CaptureWish>,
    /// When each frame went by, and where it ends in `bytes`.
    frames: Vec<(Instant, usize)>,
    bytes: Vec<u8>,
    missed: u64,
}

impl Recorder {
    /// Keeps other frames from the next trial on.
    pub fn set_wish(&mut self, wish: Option<CaptureWish>) {
        self.wish = wish;
    }

    /// Reserves memory for frames up to `longest_bytes`, and forgets those kept before.
    pub fn prepare(&mut self, longest_bytes: usize) {
        let wanted = self.wish.as_ref().map_or(0, |wish| wish.max_frames);
        let most = (BYTES_MAX / longest_bytes.max(1)) as u64;
        let frames = wanted.min(most) as usize;
        self.frames = Vec::with_capacity(frames);
        self.bytes = Vec::with_capacity(frames * longest_bytes);
        self.missed = 0;
    }

    /// What was kept.
    pub fn take(&mut self) -> Captured {
        let mut start = 0;
        let frames = std::mem::take(&mut self.frames).into_iter().map(|(at, end)| {
            let bytes = self.bytes[start..end].to_vec();
            start = end;
            CapturedFrame { at, bytes }
        });
        let frames = frames.collect();
        self.bytes = vec![];
        Captured { frames, missed: std::mem::take(&mut self.missed) }
    }

    fn keep(&mut self, at: Instant, frame: &[u8], max_frames: u64) {
        if self.frames.len() as u64 + self.missed >= max_frames {
            return;
        }
        let room = self.bytes.capacity() - self.bytes.len();
        if self.frames.len() == self.frames.capacity() || room < frame.len() {
            self.missed += 1;
            return;
        }
        self.bytes.extend_from_slice(frame);
        self.frames.push((at, self.bytes.len()));
    }
}

impl Tap for Recorder {
    #[inline]
    fn is_idle(&self) -> bool {
        self.wish.is_none()
    }

    #[inline]
    fn sent(&mut self, at: Instant, emitted: &Emitted, frame: &[u8]) {
        let Some(wish) = &self.wish else { return };
        if wish.wants(emitted.stream) {
            self.keep(at, frame, wish.max_frames);
        }
    }

    #[inline]
    fn received(&mut self, at: Instant, arrival: Arrival, frame: &[u8]) {
        let Some(wish) = &self.wish else { return };
        let wanted = match arrival {
            Arrival::Ours(stream) | Arrival::Misdirected(stream) => wish.wants(stream),
            Arrival::Leftover(_) | Arrival::Forged | Arrival::Corrupted | Arrival::Foreign => {
                wish.streams.is_empty()
            }
        };
        if wanted {
            self.keep(at, frame, wish.max_frames);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trial::StreamId;

    fn recorder(streams: &[u16], max_frames: u64) -> Recorder {
        let streams = streams.iter().map(|id| StreamId(*id)).collect();
        let mut recorder = Recorder::default();
        recorder.set_wish(Some(CaptureWish { streams, max_frames }));
        recorder.prepare(4);
        recorder
    }

    fn bytes_of(recorder: &mut Recorder) -> Vec<Vec<u8>> {
        recorder.take().frames.into_iter().map(|frame| frame.bytes).collect()
    }

    #[test]
    fn only_wanted_streams_are_kept_and_only_the_first_frames() {
        let mut some = recorder(&[7], 2);
        for (stream, byte) in [(7, 1), (8, 2), (7, 3), (7, 4)] {
            some.received(Instant::ZERO, Arrival::Ours(StreamId(stream)), &[byte]);
        }
        some.received(Instant::ZERO, Arrival::Foreign, &[9]);
        assert_eq!(bytes_of(&mut some), [[1], [3]]);
        let mut all = recorder(&[], 9);
        all.received(Instant::ZERO, Arrival::Foreign, &[9, 9]);
        all.received(Instant::ZERO, Arrival::Misdirected(StreamId(1)), &[1]);
        assert_eq!(bytes_of(&mut all), [vec![9, 9], vec![1]]);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let mut recorder = recorder(&[], 2);
        recorder.received(Instant::ZERO, Arrival::Foreign, &[1; 8]);
        recorder.received(Instant::ZERO, Arrival::Foreign, &[2; 8]);
        let captured = recorder.take();
        assert_eq!((captured.frames.len(), captured.missed), (1, 1));
    }

    #[test]
    fn without_a_wish_nothing_is_kept() {
        let mut recorder = Recorder::default();
        recorder.prepare(1500);
        recorder.received(Instant::ZERO, Arrival::Foreign, &[1]);
        assert_eq!(recorder.take(), Captured::default());
    }
}
