//! A frame on a link, as a MAC sees it.

use std::ops::Deref;
use units::FrameSize;

/// The bytes of a frame without its FCS, and whether that FCS is good. Reads as its bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// Without FCS.
    pub bytes: Vec<u8>,
    /// The FCS does not fit the bytes: the frame was damaged on its way, or sent so on purpose.
    pub damaged: bool,
}

impl Frame {
    /// Its size with FCS.
    #[inline]
    pub fn size(&self) -> FrameSize {
        FrameSize::from_bytes_without_fcs(self.bytes.len() as u32)
    }
}

impl From<Vec<u8>> for Frame {
    fn from(bytes: Vec<u8>) -> Self {
        Frame { bytes, damaged: false }
    }
}

impl Deref for Frame {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}
