//! The memory in which an AF_XDP socket's frames lie: chunks, the first of which are for
//! receiving, the rest for sending.

use crate::sys::Mapping;
use std::io;

/// The kernel's own headroom before a received frame (linux/bpf.h: XDP_PACKET_HEADROOM).
const HEADROOM_BYTES: usize = 256;
const SMALL_CHUNK_BYTES: usize = 2048;
/// The largest: a page.
const LARGE_CHUNK_BYTES: usize = 4096;

/// How the memory is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// Of a chunk.
    pub chunk_bytes: usize,
    /// Chunks for receiving.
    pub receive_chunks: usize,
    /// Frames that can wait to be sent.
    pub transmit_slots: usize,
    /// Neighbouring chunks that one frame to be sent takes.
    pub chunks_of_slot: usize,
}

impl Layout {
    /// For frames up to `longest_bytes` (without FCS).
    pub fn new(longest_bytes: usize, receive_chunks: usize, transmit_slots: usize) -> Self {
        let one_small = longest_bytes + HEADROOM_BYTES <= SMALL_CHUNK_BYTES;
        let chunk_bytes = if one_small { SMALL_CHUNK_BYTES } else { LARGE_CHUNK_BYTES };
        let chunks_of_slot = longest_bytes.div_ceil(chunk_bytes);
        Layout { chunk_bytes, receive_chunks, transmit_slots, chunks_of_slot }
    }
    /// Whether a frame may come in several pieces.
    pub fn in_pieces(&self, longest_bytes: usize) -> bool {
        longest_bytes + HEADROOM_BYTES > self.chunk_bytes
    }
    /// Bytes in all.
    pub fn len_bytes(&self) -> usize {
        (self.receive_chunks + self.transmit_slots * self.chunks_of_slot) * self.chunk_bytes
    }
    /// Address of a slot for sending.
    pub fn slot_address(&self, slot: usize) -> usize {
        (self.receive_chunks + slot * self.chunks_of_slot) * self.chunk_bytes
    }
    /// Room in a slot for sending.
    pub fn slot_bytes(&self) -> usize {
        self.chunks_of_slot * self.chunk_bytes
    }
    /// The slot for sending to which an address belongs, if the address is its first chunk's.
    pub fn slot_at(&self, address: usize) -> Option<usize> {
        let chunk = (address / self.chunk_bytes).checked_sub(self.receive_chunks)?;
        chunk.is_multiple_of(self.chunks_of_slot).then_some(chunk / self.chunks_of_slot)
    }
    /// Address of the chunk in which an address lies.
    pub fn chunk_of(&self, address: usize) -> usize {
        address & !(self.chunk_bytes - 1)
    }
}

/// The memory itself.
pub(super) struct Umem {
    pub layout: Layout,
    pub memory: Mapping,
}

impl Umem {
    /// Allocates it.
    pub fn new(layout: Layout) -> io::Result<Self> {
        Ok(Umem { layout, memory: Mapping::anonymous(layout.len_bytes())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_frames_take_a_small_chunk_and_jumbo_frames_several_large_ones() {
        let standard = Layout::new(1518, 8, 4);
        assert_eq!((standard.chunk_bytes, standard.chunks_of_slot), (2048, 1));
        assert!(!standard.in_pieces(1518));
        let jumbo = Layout::new(9014, 8, 4);
        assert_eq!((jumbo.chunk_bytes, jumbo.chunks_of_slot), (4096, 3));
        assert!(jumbo.in_pieces(9014));
        assert_eq!(jumbo.len_bytes(), (8 + 4 * 3) * 4096);
    }

    #[test]
    fn a_slot_is_known_by_its_first_chunk_alone() {
        let layout = Layout::new(9014, 8, 4);
        for slot in 0..4 {
            let address = layout.slot_address(slot);
            assert_eq!(layout.slot_at(address), Some(slot));
            assert_eq!(layout.slot_at(address + layout.chunk_bytes), None);
        }
        assert_eq!(layout.slot_at(0), None);
    }
}
