//! Arrays that a BPF program and user space share through mapped memory.

use super::layout::Shared;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const WORD: usize = 8;

/// An array map (created with `BPF_F_MMAPABLE`) whose values are `T`. The program may write while
/// we read; therefore everything is read and written in whole atomic words.
pub(super) struct SharedArray<T> {
    start: NonNull<AtomicU64>,
    /// The first entry that is looked at, and how many are.
    first: usize,
    len: usize,
    values: PhantomData<T>,
}

// SAFETY: the mapping is owned, and all access to it is atomic.
unsafe impl<T> Send for SharedArray<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for SharedArray<T> {}

impl<T: Shared> SharedArray<T> {
    /// Maps `len` entries, from `first`, of the map behind `fd`.
    pub fn map(fd: BorrowedFd<'_>, first: usize, len: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        let null = std::ptr::null_mut();
        let bytes = (first + len) * size_of::<T>();
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
        let start = unsafe { libc::mmap(null, bytes, protection, flags, fd.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(SharedArray { start, first, len, values: PhantomData })
    }

    /// All words of these entries.
    pub fn words(&self) -> &[AtomicU64] {
        let [before, words] = [self.first, self.len].map(|len| len * size_of::<T>() / WORD);
        // SAFETY: so many words are mapped, page-aligned, for as long as `self` lives; every bit
        // pattern is a number, and everybody on this side only accesses them atomically.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(before), words) }
    }

    /// Sets all of it to zero.
    pub fn clear(&self) {
        self.words().iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// The word that lies `offset_bytes` into entry `index`.
    pub fn word(&self, index: usize, offset_bytes: usize) -> &AtomicU64 {
        &self.entry(index)[offset_bytes / WORD]
    }

    /// The half word that lies `offset_bytes` into entry `index`.
    pub fn half_word(&self, index: usize, offset_bytes: usize) -> &AtomicU32 {
        let word = self.word(index, offset_bytes);
        // SAFETY: four bytes within that word, aligned to four; only the program or one side
        // writes it as a half while the program runs.
        unsafe { &*std::ptr::from_ref(word).cast::<AtomicU32>().add(offset_bytes % WORD / 4) }
    }

    /// A copy of entry `index`; on the heap, as some are large.
    pub fn read(&self, index: usize) -> Box<T> {
        let mut copy = Box::<T>::new_uninit();
        let to = copy.as_mut_ptr().cast::<u64>();
        for (at, word) in self.entry(index).iter().enumerate() {
            // SAFETY: `Shared` promises that T is made of so many words, aligned to at most 8.
            unsafe { to.add(at).write(word.load(Ordering::Relaxed)) };
        }
        // SAFETY: every word was written, and `Shared` promises that any bits are a value.
        unsafe { copy.assume_init() }
    }

    /// Overwrites entry `index`.
    pub fn write(&self, index: usize, value: &T) {
        let from = std::ptr::from_ref(value).cast::<u64>();
        for (at, word) in self.entry(index).iter().enumerate() {
            // SAFETY: as in `read`; `Shared` promises that there is no padding.
            word.store(unsafe { from.add(at).read() }, Ordering::Relaxed);
        }
    }

    fn entry(&self, index: usize) -> &[AtomicU64] {
        assert!(index < self.len, "entry {index} of {}", self.len);
        let words = size_of::<T>() / WORD;
        &self.words()[index * words..(index + 1) * words]
    }
}

impl<T> Drop for SharedArray<T> {
    fn drop(&mut self) {
        let bytes = (self.first + self.len) * size_of::<T>();
        // SAFETY: exactly what was mapped, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), bytes) };
    }
}
