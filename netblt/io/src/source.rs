//! Where bytes come from: a file, or memory.

use crate::agreement::Layout;
use crate::ranges::Ranges;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// Read at once while hashing what is not sent.
const CHUNK_BYTES: usize = 1 << 20;

/// Read, and hashed, at once of what is sent.
const WINDOW_BYTES: u64 = 1 << 18;

/// Fills buffers, one after another.
pub trait Source: Send {
    /// The content of buffer `index`; `buffer` has its length already.
    fn fill(&mut self, index: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// Whether the buffer filled last was the last one, where the layout does not say so.
    fn has_ended(&self) -> bool {
        false
    }
    /// How many bytes may be read before any of them is sent; 0 if the next may come much later than the last.
    fn bytes_at_once(&self) -> usize {
        0
    }
    /// The digest of all, once the last buffer was filled and if there is one.
    fn digest(&self) -> Option<String> {
        None
    }
}

/// Bytes that can be read from any place.
pub trait ReadAt: Send {
    /// Fills `buffer` with the bytes from `at` on.
    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()>;
}

/// A file as it was when it was opened: who reads it after it has changed gets an error, and no bytes of two versions.
pub struct OneVersion {
    file: File,
    size_bytes: u64,
    version: String,
}

impl OneVersion {
    /// Of a regular file; an error of any other.
    pub fn of(file: File) -> io::Result<OneVersion> {
        let metadata = file.metadata()?;
        match metadata.is_file() {
            true => {
                Ok(OneVersion { file, size_bytes: metadata.len(), version: version(&metadata) })
            }
            false => Err(io::Error::other("not a regular file")),
        }
    }
    /// Its size.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }
    /// What tells it from others, as far as size and time of modification do.
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl ReadAt for OneVersion {
    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        let read = self.file.read_exact_at(buffer, at);
        // Afterwards: the bytes are of this version or one before, of which the last look knew.
        match version(&self.file.metadata()?) == self.version {
            true => read,
            false => Err(io::Error::other(CHANGED)),
        }
    }
}

/// What a file would hold.
impl ReadAt for Arc<[u8]> {
    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        let from = usize::try_from(at).ok().and_then(|at| self.get(at..)?.get(..buffer.len()));
        buffer.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// Why a file is not read to its end.
pub const CHANGED: &str = "the file changed while it was read";

/// Changes when a file does, as far as its size and time of modification tell.
fn version(metadata: &Metadata) -> String {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{}@{}", metadata.len(), modified.map_or(0, |since| since.as_nanos()))
}

/// The missing bytes of a file, then the digest of all of it.
pub struct FileSource<F: ReadAt> {
    file: F,
    size: u64,
    missing: Ranges,
    hasher: blake3::Hasher,
    /// The hasher has seen everything before.
    hashed: u64,
    at: u64,
    digest: Option<[u8; 32]>,
    /// What was read of the file and not sent yet, from `window_at` on: many bytes at a time cost less.
    window: Vec<u8>,
    window_at: u64,
}

impl<F: ReadAt> FileSource<F> {
    /// Of a file of `size` bytes.
    pub fn new(file: F, size: u64, missing: Ranges) -> FileSource<F> {
        let hasher = blake3::Hasher::new();
        let window = Vec::new();
        let (hashed, at, window_at) = (0, 0, 0);
        FileSource { file, size, missing, hasher, hashed, at, digest: None, window, window_at }
    }

    /// Up to `len` bytes of what is missing from `start` on, which were hashed as they were read.
    fn read(&mut self, start: u64, len: u64) -> io::Result<&[u8]> {
        let end = self.window_at + self.window.len() as u64;
        if !(self.window_at..end).contains(&start) {
            self.hash_up_to(start)?;
            self.window.resize(len.min(WINDOW_BYTES) as usize, 0);
            self.file.read_exact_at(&mut self.window, start)?;
            self.hasher.update(&self.window);
            self.hashed += self.window.len() as u64;
            self.window_at = start;
        }
        Ok(&self.window[(start - self.window_at) as usize..])
    }

    fn hash_up_to(&mut self, end: u64) -> io::Result<()> {
        let mut chunk = Vec::new();
        while self.hashed < end {
            chunk.resize((end - self.hashed).min(CHUNK_BYTES as u64) as usize, 0);
            self.file.read_exact_at(&mut chunk, self.hashed)?;
            self.hasher.update(&chunk);
            self.hashed += chunk.len() as u64;
        }
        Ok(())
    }

    fn compute_digest(&mut self) -> io::Result<[u8; 32]> {
        if let Some(digest) = self.digest {
            return Ok(digest);
        }
        self.hash_up_to(self.size)?;
        Ok(*self.digest.insert(*self.hasher.finalize().as_bytes()))
    }
}

impl<F: ReadAt> Source for FileSource<F> {
    fn fill(&mut self, _index: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        let missing = self.missing.len_bytes();
        while !buffer.is_empty() {
            let taken = if let Some((start, len)) = self.missing.locate(self.at) {
                let read = self.read(start, len)?;
                let piece = buffer.len().min(read.len());
                buffer[..piece].copy_from_slice(&read[..piece]);
                piece
            } else {
                let digest = self.compute_digest()?;
                let rest = digest.get((self.at - missing) as usize..).unwrap_or(&[]);
                let piece = rest.len().min(buffer.len());
                buffer[..piece].copy_from_slice(&rest[..piece]);
                buffer[piece..].fill(0);
                buffer.len()
            };
            self.at += taken as u64;
            buffer = &mut buffer[taken..];
        }
        Ok(())
    }

    fn bytes_at_once(&self) -> usize {
        WINDOW_BYTES as usize
    }

    fn digest(&self) -> Option<String> {
        self.digest.map(|digest| blake3::Hash::from_bytes(digest).to_hex().to_string())
    }
}

/// Bytes that a client could have made: RFC 1030's test program.
#[derive(Clone, Debug)]
pub struct MemorySource(pub Layout);

/// The bytes from `start` on of what memory sources send, so that the other end can check them: byte
/// `at` is (`at` ^ `at` / 256) x 157, modulo 256.
pub fn memory_bytes(start: u64, mut bytes: &mut [u8]) {
    let mut at = start;
    while !bytes.is_empty() {
        // Up to the next multiple of 256 only the lowest digit changes: eight bits suffice, and the
        // processor does many at a time.
        let piece = bytes.len().min(256 - (at % 256) as usize);
        let (now, later) = bytes.split_at_mut(piece);
        let (low, high) = (at as u8, (at >> 8) as u8);
        for (offset, byte) in now.iter_mut().enumerate() {
            *byte = (low.wrapping_add(offset as u8) ^ high).wrapping_mul(157);
        }
        at += piece as u64;
        bytes = later;
    }
}

impl Source for MemorySource {
    fn fill(&mut self, index: u64, buffer: &mut [u8]) -> io::Result<()> {
        memory_bytes(index * u64::from(self.0.buffer_bytes), buffer);
        Ok(())
    }
    fn bytes_at_once(&self) -> usize {
        WINDOW_BYTES as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_sends_the_same_bytes_however_it_is_cut() {
        for (start, len) in [(0, 1000), (255, 2), (256, 256), (70_001, 513), (u64::MAX - 1000, 600)]
        {
            let mut bytes = vec![0; len];
            memory_bytes(start, &mut bytes);
            for (at, byte) in (start..).zip(bytes) {
                assert_eq!(u64::from(byte), (at ^ (at / 256)) % 256 * 157 % 256, "byte {at}");
            }
        }
    }
}
