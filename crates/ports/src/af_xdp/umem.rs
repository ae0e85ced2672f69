//! The memory in which an AF_XDP socket's frames lie: chunks, the first of which are for
//! receiving, the rest for sending.

use crate::sys::Mapping;
use std::io;

/// The kernel's own headroom before a received frame (linux/bpf.h: XDP_PACKET_HEADROOM).
const HEADROOM_BYTES: usize = 256;
const SMALL_CHUNK_BYTES: usize = 2048;
/// The largest: a page.
const LARGE_CHUNK_BYTES: usize = 4096;

/// Distance beyond its length from one chunk for receiving to the next, where chunks may lie
/// anywhere: two cache lines, so that the beginnings of frames, which are at the same place in
/// every chunk, share out all of a cache instead of crowding into a few of its sets.
const SPREAD_BYTES: usize = 128;
/// Where chunks may lie anywhere, the upper bits of a received frame's address are its distance
/// from its chunk (linux/if_xdp.h: XSK_UNALIGNED_BUF_OFFSET_SHIFT).
const OFFSET_SHIFT: u32 = 48;

/// How the memory is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// Of a chunk.
    pub chunk_bytes: usize,
    /// From one chunk for receiving to the next.
    stride_bytes: usize,
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
        let stride_bytes = chunk_bytes;
        Layout { chunk_bytes, stride_bytes, receive_chunks, transmit_slots, chunks_of_slot }
    }
    /// The same with chunks for receiving where the processor's caches hold more of them. Drivers
    /// that use the memory directly may want it otherwise.
    pub fn spread(self) -> Self {
        Layout { stride_bytes: self.chunk_bytes + SPREAD_BYTES, ..self }
    }
    /// Whether chunks may lie anywhere.
    pub fn is_spread(&self) -> bool {
        self.stride_bytes != self.chunk_bytes
    }
    /// Whether a frame may come in several pieces.
    pub fn in_pieces(&self, longest_bytes: usize) -> bool {
        longest_bytes + HEADROOM_BYTES > self.chunk_bytes
    }
    /// Bytes in all.
    pub fn len_bytes(&self) -> usize {
        self.receive_bytes() + self.transmit_slots * self.slot_bytes()
    }
    fn receive_bytes(&self) -> usize {
        (self.receive_chunks * self.stride_bytes).next_multiple_of(self.chunk_bytes)
    }
    /// Address of a chunk for receiving.
    pub fn chunk_address(&self, chunk: usize) -> usize {
        chunk * self.stride_bytes
    }
    /// Address of a slot for sending.
    pub fn slot_address(&self, slot: usize) -> usize {
        self.receive_bytes() + slot * self.slot_bytes()
    }
    /// Room in a slot for sending.
    pub fn slot_bytes(&self) -> usize {
        self.chunks_of_slot * self.chunk_bytes
    }
    /// The slot for sending to which an address belongs, if the address is its first chunk's.
    pub fn slot_at(&self, address: usize) -> Option<usize> {
        // A shift: this is asked for every frame that was sent.
        let chunk = address.checked_sub(self.receive_bytes())? >> self.chunk_bytes.trailing_zeros();
        chunk.is_multiple_of(self.chunks_of_slot).then_some(chunk / self.chunks_of_slot)
    }
    /// Address of the chunk and of the frame in it, of what the kernel says it has received.
    #[inline]
    pub fn received_at(&self, handle: u64) -> (usize, usize) {
        let base = (handle & ((1 << OFFSET_SHIFT) - 1)) as usize;
        match self.is_spread() {
            true => (base, base + (handle >> OFFSET_SHIFT) as usize),
            false => (base & !(self.chunk_bytes - 1), base),
        }
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
        for layout in [Layout::new(9014, 8, 4), Layout::new(9014, 8, 4).spread()] {
            for slot in 0..4 {
                let address = layout.slot_address(slot);
                assert_eq!(layout.slot_at(address), Some(slot));
                assert_eq!(layout.slot_at(address + layout.chunk_bytes), None);
            }
            assert_eq!(layout.slot_at(0), None);
            let end = layout.slot_address(3) + layout.slot_bytes();
            assert_eq!(end, layout.len_bytes());
        }
    }

    #[test]
    fn spread_chunks_share_no_byte_with_each_other_or_with_slots() {
        let layout = Layout::new(1518, 9, 4).spread();
        for chunk in 1..9 {
            let gap = layout.chunk_address(chunk) - layout.chunk_address(chunk - 1);
            assert!(gap > layout.chunk_bytes, "{gap}");
        }
        let end = layout.chunk_address(8) + layout.chunk_bytes;
        assert!(end <= layout.slot_address(0));
    }

    /// linux/if_xdp.h: aligned chunks are found by their size, others come with the frame's
    /// distance from the chunk in the upper 16 bits.
    #[test]
    fn a_received_frame_is_found_in_its_chunk() {
        let aligned = Layout::new(1518, 8, 4);
        assert_eq!(aligned.received_at(3 * 2048 + 256), (3 * 2048, 3 * 2048 + 256));
        let spread = aligned.spread();
        let base = spread.chunk_address(3);
        assert_eq!(spread.received_at(256 << 48 | base as u64), (base, base + 256));
    }
}
