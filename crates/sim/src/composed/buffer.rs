//! Room for frames that wait.

/// How much may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Room {
    pub frames: u64,
    /// FCS included.
    pub bytes: u64,
}

#[cfg(test)]
impl Room {
    pub(crate) const fn frames(frames: u64) -> Self {
        Room { frames, bytes: u64::MAX }
    }
}

/// What is in it.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    room: Room,
    frames: u64,
    bytes: u64,
}

impl Buffer {
    pub(crate) fn new(room: Room) -> Self {
        Buffer { room, frames: 0, bytes: 0 }
    }

    /// Whether there is room for a frame.
    #[inline]
    pub(crate) fn fits(&self, size_bytes: u64) -> bool {
        self.frames < self.room.frames && self.bytes + size_bytes <= self.room.bytes
    }

    /// Takes in a frame; false where there is no room.
    #[inline]
    pub(crate) fn take(&mut self, size_bytes: u64) -> bool {
        let fits = self.fits(size_bytes);
        if fits {
            self.frames += 1;
            self.bytes += size_bytes;
        }
        fits
    }

    /// A frame leaves.
    #[inline]
    pub(crate) fn give(&mut self, size_bytes: u64) {
        self.frames -= 1;
        self.bytes -= size_bytes;
    }

    pub(crate) fn frames(&self) -> u64 {
        self.frames
    }

    pub(crate) fn clear(&mut self) {
        self.frames = 0;
        self.bytes = 0;
    }
}
