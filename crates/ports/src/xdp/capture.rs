//! Copies of frames, which the programs put into a ring buffer.

use super::layout::CaptureState;
use super::program::{Object, failed};
use super::shared::SharedArray;
use crate::capture::{CaptureWish, Captured, CapturedFrame};
use aya::maps::{Map, MapData, RingBuf};
use std::mem::offset_of;
use std::sync::atomic::Ordering::Relaxed;
use trial::TesterError;
use units::Instant;

/// Bytes before a copied frame: when, how long, how much of it.
const HEAD_BYTES: usize = 16;
/// What a record of a short frame takes in the ring, the ring's own header included.
const SMALL_RECORD_BYTES: u64 = 264;
/// The same of a long one.
const LARGE_RECORD_BYTES: u64 = 9_624;
/// Frames up to this long are short.
const SMALL_BYTES: usize = 240;
/// More memory than this no capture takes; frames that find no room are counted as missed.
const RING_BYTES_MAX: u64 = 256 << 20;
const PAGE_BYTES: u64 = 4096;

/// Frames being captured.
pub(super) struct Capture {
    ring: RingBuf<MapData>,
    state: SharedArray<CaptureState>,
    captured: Captured,
}

/// Entries of the ring that a wish takes, in bytes: a power of two.
pub(super) fn ring_bytes(wish: Option<&CaptureWish>, longest_bytes: usize) -> usize {
    let record = if longest_bytes <= SMALL_BYTES { SMALL_RECORD_BYTES } else { LARGE_RECORD_BYTES };
    let wanted = wish.map_or(0, |wish| wish.max_frames.saturating_mul(record));
    wanted.clamp(PAGE_BYTES, RING_BYTES_MAX).next_power_of_two() as usize
}

impl Capture {
    /// Takes the ring out of a program's maps.
    pub fn new(port: &str, object: &mut Object, wish: &CaptureWish) -> Result<Self, TesterError> {
        let state: SharedArray<CaptureState> = object.array("capture_state", 0, 1)?;
        state.word(0, offset_of!(CaptureState, wanted)).store(wish.max_frames, Relaxed);
        let map = object.take_map("captured").unwrap_or_else(|| unreachable!("in every object"));
        let ring = open(map).map_err(|error| failed(port, "open a ring for captures", &error))?;
        Ok(Capture { ring, state, captured: Captured::default() })
    }

    /// Takes what waits in the ring.
    pub fn fetch(&mut self) {
        while let Some(record) = self.ring.next() {
            let Some((head, bytes)) = record.split_at_checked(HEAD_BYTES) else { continue };
            let at_ns = u64::from_ne_bytes(head[..8].try_into().expect("eight bytes"));
            let stored = u32::from_ne_bytes(head[12..].try_into().expect("four bytes")) as usize;
            let bytes = bytes.get(..stored).unwrap_or_default().to_vec();
            self.captured.frames.push(CapturedFrame { at: Instant::from_ns(at_ns), bytes });
        }
        self.captured.missed = self.state.word(0, offset_of!(CaptureState, lost)).load(Relaxed);
    }

    /// All that was captured.
    pub fn into_captured(mut self) -> Captured {
        self.fetch();
        self.captured
    }
}

fn open(map: Map) -> Result<RingBuf<MapData>, aya::maps::MapError> {
    RingBuf::try_from(map)
}
