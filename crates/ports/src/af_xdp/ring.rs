//! A ring shared with the kernel: one side produces entries, the other consumes them.

use crate::sys::Mapping;
use std::io;
use std::marker::PhantomData;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, Ordering};

const NEED_WAKEUP: u32 = 1;

/// A ring of `T`, of which this process is producer or consumer for good.
pub(super) struct Ring<T> {
    mapping: Mapping,
    offsets: libc::xdp_ring_offset,
    size: u32,
    /// Next entry that we fill or read.
    ours: u32,
    /// How far the kernel was when we looked last.
    theirs: u32,
    entries: PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    /// Maps a ring of `size` entries (a power of two).
    pub fn map(
        socket: RawFd,
        offsets: libc::xdp_ring_offset,
        size: u32,
        page_offset: i64,
    ) -> io::Result<Self> {
        assert!(size.is_power_of_two());
        let len = offsets.desc as usize + size as usize * size_of::<T>();
        let mapping = Mapping::of(socket, len, page_offset)?;
        Ok(Ring { mapping, offsets, size, ours: 0, theirs: 0, entries: PhantomData })
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: `at` checks bounds and alignment; the ring's words are only ever accessed
        // atomically, by us and the kernel.
        unsafe { AtomicU32::from_ptr(self.mapping.at::<u32>(offset as usize)) }
    }
    fn entry(&self, index: u32) -> *mut T {
        let index = (index & (self.size - 1)) as usize;
        self.mapping.at::<T>(self.offsets.desc as usize + index * size_of::<T>())
    }

    /// Whether the kernel asks to be told of new entries.
    pub fn needs_wakeup(&self) -> bool {
        self.word(self.offsets.flags).load(Ordering::Relaxed) & NEED_WAKEUP != 0
    }

    /// As producer: puts an entry in, to be seen after [`publish`](Self::publish); false if the
    /// ring is full.
    #[inline]
    pub fn push(&mut self, value: T) -> bool {
        if self.ours.wrapping_sub(self.theirs) == self.size {
            self.theirs = self.word(self.offsets.consumer).load(Ordering::Acquire);
            if self.ours.wrapping_sub(self.theirs) == self.size {
                return false;
            }
        }
        // SAFETY: the entry lies in the ring, and between the kernel's index and ours, where it
        // is ours to write.
        unsafe { self.entry(self.ours).write(value) };
        self.ours = self.ours.wrapping_add(1);
        true
    }
    /// As producer: shows the kernel what was put in.
    #[inline]
    pub fn publish(&mut self) {
        self.word(self.offsets.producer).store(self.ours, Ordering::Release);
    }
    /// As consumer: the next entry, to be given back by [`release`](Self::release).
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.ours == self.theirs {
            self.theirs = self.word(self.offsets.producer).load(Ordering::Acquire);
            if self.ours == self.theirs {
                return None;
            }
        }
        // SAFETY: the entry lies in the ring, and between our index and the kernel's, where the
        // kernel has written it and writes no more; `T` is made of integers.
        let value = unsafe { self.entry(self.ours).read() };
        self.ours = self.ours.wrapping_add(1);
        Some(value)
    }
    /// As consumer: how many entries wait to be read.
    pub fn waiting(&self) -> usize {
        self.word(self.offsets.producer).load(Ordering::Acquire).wrapping_sub(self.ours) as usize
    }
    /// As consumer: gives the kernel the room of what was read.
    #[inline]
    pub fn release(&mut self) {
        self.word(self.offsets.consumer).store(self.ours, Ordering::Release);
    }
}
