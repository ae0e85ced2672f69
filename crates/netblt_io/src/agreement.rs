//! What two clients say to each other in OPEN and RESPONSE, as JSON; and how the bytes of a
//! transfer are laid out in buffers.

use crate::ranges::Ranges;
use serde::{Deserialize, Serialize};

/// Bytes of a digest (BLAKE3).
pub const DIGEST_BYTES: u64 = 32;
/// Characters of ranges in a client string: OPEN and RESPONSE are to fit any path's MTU with a name
/// of 255 bytes beside it.
pub const RANGES_CHARS: usize = 600;

/// What the active client wants.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "want", rename_all = "kebab-case")]
pub enum Offer {
    /// To send a file.
    Put {
        /// Its name at the other end.
        name: String,
        /// Bytes.
        size: u64,
        /// Changes when the file does.
        version: String,
    },
    /// To receive a file.
    Get {
        /// Its name at the other end.
        name: String,
        /// What is here of it from an earlier attempt.
        #[serde(default)]
        have: String,
        /// Of which version.
        #[serde(default)]
        version: String,
    },
    /// Nothing but bytes, from memory to memory.
    Memory {
        /// How many.
        bytes: u64,
    },
}

/// An OPEN's client string.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Proposal {
    /// What is wanted.
    #[serde(flatten)]
    pub offer: Offer,
    /// Whichever end sends is to find the rate that fits the path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adaptive: bool,
}

/// What the passive client says to it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "agreed", rename_all = "kebab-case")]
pub enum Answer {
    /// Send it.
    Put {
        /// But not these bytes, which are here already.
        have: String,
    },
    /// Here it comes.
    Get {
        /// Bytes of the whole file.
        size: u64,
        /// Changes when the file does.
        version: String,
        /// Bytes that are not sent: those asked for if the version is still the same.
        have: String,
    },
    /// Go on.
    Memory,
}

/// The client string of a message.
pub fn to_string(message: &impl Serialize) -> String {
    serde_json::to_string(message).unwrap_or_default()
}

/// Reads a client string; the error is fit for the other end.
pub fn from_bytes<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("client string not understood: {error}"))
}

/// Ranges as a client string has them.
pub fn ranges(text: &str) -> Result<Ranges, String> {
    Ranges::parse(text).ok_or_else(|| format!("ranges not understood: {text}"))
}

/// How a transfer is cut into buffers.
///
/// A file's missing bytes and its digest fill buffers that are padded with zeros; an empty one
/// closes the transfer. The receiving client makes room for that one only when the file is whole,
/// verified and in its place, so that a transfer which is complete at the sending end is just that.
/// Bytes from memory fill buffers of which the last is as short as it happens to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Bytes that mean something.
    pub content_bytes: u64,
    /// Bytes of a buffer.
    pub buffer_bytes: u32,
    /// Whether an empty buffer closes the transfer.
    pub closing: bool,
}

impl Layout {
    /// Of a file of which so many bytes are missing.
    pub fn file(missing_bytes: u64, buffer_bytes: u32) -> Layout {
        Layout { content_bytes: missing_bytes + DIGEST_BYTES, buffer_bytes, closing: true }
    }
    /// Of bytes from memory.
    pub fn memory(content_bytes: u64, buffer_bytes: u32) -> Layout {
        Layout { content_bytes, buffer_bytes, closing: false }
    }
    /// Buffers with content.
    pub fn buffers(&self) -> u64 {
        self.content_bytes.div_ceil(self.buffer_bytes.into()).max(1)
    }
    /// Bytes of buffer `index` of those.
    pub fn len(&self, index: u64) -> usize {
        let rest = self.content_bytes - index * u64::from(self.buffer_bytes);
        let full = self.closing || rest >= self.buffer_bytes.into();
        if full { self.buffer_bytes as usize } else { rest as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_fills_whole_buffers_and_memory_what_it_takes() {
        let file = Layout::file(100, 50);
        assert_eq!((file.buffers(), file.len(0), file.len(2)), (3, 50, 50));
        let memory = Layout::memory(120, 50);
        assert_eq!((memory.buffers(), memory.len(0), memory.len(2)), (3, 50, 20));
        assert_eq!((Layout::memory(0, 50).buffers(), Layout::memory(0, 50).len(0)), (1, 0));
        assert_eq!(Layout::memory(100, 50).buffers(), 2);
    }

    #[test]
    fn messages_are_what_the_documentation_says() {
        let get = Offer::Get { name: "a\"b".into(), have: "0-9".into(), version: "v".into() };
        let text = to_string(&get);
        assert_eq!(text, r#"{"want":"get","name":"a\"b","have":"0-9","version":"v"}"#);
        assert_eq!(from_bytes(text.as_bytes()), Ok(get.clone()));
        for adaptive in [false, true] {
            let proposal = Proposal { offer: get.clone(), adaptive };
            let text = to_string(&proposal);
            assert_eq!(text.contains(r#","adaptive":true}"#), adaptive, "{text}");
            assert_eq!(from_bytes(text.as_bytes()), Ok(proposal));
            assert_eq!(from_bytes(text.as_bytes()), Ok(get.clone()), "understood by an older end");
        }
        assert_eq!(to_string(&Answer::Memory), r#"{"agreed":"memory"}"#);
        assert!(from_bytes::<Offer>(br#"{"want":"money"}"#).is_err());
        assert!(from_bytes::<Offer>(b"\xff").is_err());
    }
}
