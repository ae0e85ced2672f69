//! The frames of one port, laid out once before the trial so that sending is copying.

use crate::{Stream, StreamId};
use serde::{Deserialize, Serialize};
use wire::signature::Form;

/// Where one frame lies in the set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Slot {
    /// Of its first byte.
    pub offset_bytes: usize,
    /// Without FCS.
    pub len_bytes: usize,
    /// Signature to stamp at its end, if any.
    pub form: Option<Form>,
}

/// One stream's share of the set: **frame `n` of a stream is its slot `n mod period`**, on every
/// kind of port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SetStream {
    /// Which stream.
    pub id: StreamId,
    /// Index of its first slot.
    pub first_slot: usize,
    /// Number of its slots.
    pub period: usize,
    /// Whether its frames leave with a bad FCS.
    pub bad_fcs: bool,
}

/// All ready frames of a port, in one piece of memory.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FrameSet {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    streams: Vec<SetStream>,
}

impl FrameSet {
    /// Lays out the frames of these streams.
    pub fn new<'a>(streams: impl IntoIterator<Item = &'a Stream>) -> Self {
        let mut set = FrameSet::default();
        for stream in streams {
            set.streams.push(SetStream {
                id: stream.id,
                first_slot: set.slots.len(),
                period: stream.frames.len(),
                bad_fcs: stream.bad_fcs,
            });
            for frame in &stream.frames {
                set.slots.push(Slot {
                    offset_bytes: set.bytes.len(),
                    len_bytes: frame.bytes.len(),
                    form: frame.form,
                });
                set.bytes.extend_from_slice(&frame.bytes);
            }
        }
        set
    }
    /// All slots, stream by stream.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }
    /// The streams, in the order given.
    pub fn streams(&self) -> &[SetStream] {
        &self.streams
    }
    /// Bytes of one slot's frame, without FCS.
    #[inline]
    pub fn frame(&self, slot: &Slot) -> &[u8] {
        &self.bytes[slot.offset_bytes..slot.offset_bytes + slot.len_bytes]
    }
    /// Whether streams, slots and bytes fit each other. A set that was laid out here does; one that was read
    /// from elsewhere may not.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self) -> Result<(), String> {
        for slot in &self.slots {
            let end = slot.offset_bytes.checked_add(slot.len_bytes);
            if end.is_none_or(|end| end > self.bytes.len()) {
                return Err(format!("a frame ends beyond the {} bytes of all", self.bytes.len()));
            }
            if slot.len_bytes < slot.form.map_or(1, |form| form.len_bytes()) {
                return Err(format!("a frame of {} bytes has no room", slot.len_bytes));
            }
        }
        for stream in &self.streams {
            let end = stream.first_slot.checked_add(stream.period);
            if stream.period == 0 || end.is_none_or(|end| end > self.slots.len()) {
                return Err(format!("stream {} names frames that there are not", stream.id.0));
            }
        }
        Ok(())
    }
    /// Length of the longest frame, without FCS.
    pub fn longest_bytes(&self) -> usize {
        self.slots.iter().map(|slot| slot.len_bytes).max().unwrap_or(0)
    }
}
