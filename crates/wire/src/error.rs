//! Why bytes are not what a parser was asked to read.

use thiserror::Error;

/// Why a parser refused its input. Parsers never panic, whatever the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum DecodeError {
    /// The bytes end before the structure does.
    #[error("{what} cut short: {needed} bytes needed, {got} there")]
    Truncated {
        /// The structure that was being read.
        what: &'static str,
        /// Bytes it takes.
        needed: usize,
        /// Bytes that were there.
        got: usize,
    },
    /// A field holds a value that the protocol does not allow, or that we do not read.
    #[error("{what}: {why}")]
    Malformed {
        /// The structure that was being read.
        what: &'static str,
        /// The rule that was broken.
        why: &'static str,
    },
    /// The structure is whole but its checksum says that it was damaged.
    #[error("{what}: bad checksum, {found:#06x} in place of {expected:#06x}")]
    Checksum {
        /// The structure that was being read.
        what: &'static str,
        /// The checksum in the bytes.
        found: u16,
        /// The checksum that the bytes should carry.
        expected: u16,
    },
}

impl DecodeError {
    pub(crate) const fn malformed(what: &'static str, why: &'static str) -> Self {
        DecodeError::Malformed { what, why }
    }
}
