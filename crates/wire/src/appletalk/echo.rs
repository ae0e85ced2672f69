//! AEP, AppleTalk's echo: one byte before the data. Test frames are echo requests.

use crate::DecodeError;
use crate::bytes::require;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes of the header.
pub const HEADER_LEN: usize = 1;
const WHAT: &str = "AEP packet";

/// Asks for an echo, or is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repr {
    /// Send me this back.
    Request,
    /// Here it is.
    Reply,
}

impl Repr {
    /// Reads the byte.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        require(WHAT, bytes, HEADER_LEN)?;
        let repr = match bytes[0] {
            1 => Repr::Request,
            2 => Repr::Reply,
            _ => return Err(DecodeError::malformed(WHAT, "neither request nor reply")),
        };
        Ok((repr, &bytes[HEADER_LEN..]))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        HEADER_LEN
    }
    /// Writes the byte. Panics where `bytes` is empty.
    pub fn emit(&self, bytes: &mut [u8]) {
        bytes[0] = match self {
            Repr::Request => 1,
            Repr::Reply => 2,
        };
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Repr::Request => "AEP request",
            Repr::Reply => "AEP reply",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_first_byte() {
        for byte in 0..=255u8 {
            let bytes = [byte, 7];
            match (byte, Repr::parse(&bytes)) {
                (1 | 2, Ok((repr, rest))) => {
                    let mut written = [0];
                    repr.emit(&mut written);
                    assert_eq!((written[0], rest), (byte, &[7][..]));
                }
                (1 | 2, Err(error)) => panic!("{byte}: {error}"),
                (_, parsed) => assert!(parsed.is_err(), "{byte}"),
            }
        }
        assert!(Repr::parse(&[]).is_err());
    }
}
