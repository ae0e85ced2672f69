//! Where bytes go that become no file.

use crate::agreement::{DIGEST_BYTES, Layout};
use crate::sink::Sink;
use crate::source::memory_bytes;
use std::io;
use std::sync::mpsc::Sender;

/// Checks what a memory source sends, and keeps nothing.
#[derive(Clone, Debug)]
pub struct MemorySink(pub Layout);

impl Sink for MemorySink {
    fn store(&mut self, index: u64, data: &[u8]) -> io::Result<()> {
        let mut expected = [0; 4096];
        let mut at = index * u64::from(self.0.buffer_bytes);
        let right = data.chunks(expected.len()).all(|piece| {
            let expected = &mut expected[..piece.len()];
            memory_bytes(at, expected);
            at += piece.len() as u64;
            piece == expected
        });
        if right { Ok(()) } else { Err(io::Error::other("what arrived is not what was sent")) }
    }
    fn finish(&mut self) -> io::Result<Option<String>> {
        Ok(None)
    }
}

/// Gives a file's bytes to whoever waits for them, once they are whole and verified.
pub struct BytesSink {
    layout: Layout,
    bytes: Vec<u8>,
    wanted: Sender<Vec<u8>>,
}

impl BytesSink {
    /// For a file of which nothing is here.
    pub fn new(layout: Layout, wanted: Sender<Vec<u8>>) -> BytesSink {
        BytesSink { layout, bytes: Vec::new(), wanted }
    }
}

impl Sink for BytesSink {
    fn store(&mut self, index: u64, data: &[u8]) -> io::Result<()> {
        let too_large = |_| io::Error::from(io::ErrorKind::OutOfMemory);
        let start =
            usize::try_from(index * u64::from(self.layout.buffer_bytes)).map_err(too_large)?;
        let all = usize::try_from(self.layout.content_bytes).map_err(too_large)?;
        // Padding is not kept. Memory is taken for what came, whatever was announced.
        let data = &data[..data.len().min(all.saturating_sub(start))];
        let end = start + data.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[start..end].copy_from_slice(data);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<Option<String>> {
        let mut bytes = std::mem::take(&mut self.bytes);
        let told = bytes.split_off(bytes.len().saturating_sub(DIGEST_BYTES as usize));
        let digest = blake3::hash(&bytes);
        if told != digest.as_bytes() {
            let wrong = "the bytes do not have their sender's digest (they changed meanwhile?)";
            return Err(io::Error::new(io::ErrorKind::InvalidData, wrong));
        }
        // Who does not wait any more needs none.
        let _ = self.wanted.send(bytes);
        Ok(Some(digest.to_hex().to_string()))
    }
}
