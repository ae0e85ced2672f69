//! Data packets in the long format, the only one used on Ethernet.

use super::Address;
use crate::DecodeError;
use crate::bytes::{put, require};
use serde::{Deserialize, Serialize};
use std::fmt;

const FLAGS: usize = 0;
const DST: usize = 3;
const SRC: usize = 11;
const VISITS: usize = 18;
/// Bytes of the header, without the length field and the padding before it.
pub const HEADER_LEN: usize = 21;
/// The most visits that the field can count.
pub const MAX_VISITS: u8 = 0x3f;

const KIND_MASK: u8 = 0x07;
const LONG: u8 = 0x06;
const SHORT: u8 = 0x02;
const RETURN_REQUESTED: u8 = 0x08;
const RETURNING: u8 = 0x10;
const INTRA_ETHERNET: u8 = 0x20;
const VERSION: u8 = 0x40;
const WHAT: &str = "DECnet data packet";

/// The header of a data packet. Area, subarea, next level-2 router, service class and protocol
/// type are zero in Phase IV: they are written so and not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Destination.
    pub dst: Address,
    /// Source.
    pub src: Address,
    /// The sender wants it back where it cannot be delivered.
    pub return_requested: bool,
    /// It is on its way back to its sender.
    pub returning: bool,
    /// Source and destination are on one Ethernet, as far as the sender knows.
    pub intra_ethernet: bool,
    /// Routers that it has visited, 6 bits.
    pub visits: u8,
    /// Bytes after the header.
    pub payload_len: u16,
}

/// Whether a message that starts with these flags is a data packet, readable or not.
pub(super) fn is_data(flags: u8) -> bool {
    matches!(flags & KIND_MASK, LONG | SHORT)
}

impl Repr {
    /// As an endnode sends it first: intra-Ethernet, no visits.
    pub const fn new(src: Address, dst: Address, payload_len: u16) -> Repr {
        Repr {
            dst,
            src,
            return_requested: false,
            returning: false,
            intra_ethernet: true,
            visits: 0,
            payload_len,
        }
    }
    pub(super) fn parse(message: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let flags = message[FLAGS];
        if flags & KIND_MASK != LONG {
            return Err(DecodeError::malformed(WHAT, "in the short format, not for Ethernet"));
        }
        if flags & VERSION != 0 {
            return Err(DecodeError::malformed(WHAT, "of a later version"));
        }
        require(WHAT, message, HEADER_LEN)?;
        let payload = &message[HEADER_LEN..];
        let repr = Repr {
            dst: Address::from_id(WHAT, message, DST)?,
            src: Address::from_id(WHAT, message, SRC)?,
            return_requested: flags & RETURN_REQUESTED != 0,
            returning: flags & RETURNING != 0,
            intra_ethernet: flags & INTRA_ETHERNET != 0,
            visits: message[VISITS] & MAX_VISITS,
            payload_len: payload.len() as u16,
        };
        Ok((repr, payload))
    }
    pub(super) fn emit(&self, message: &mut [u8]) {
        message[..HEADER_LEN].fill(0);
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        message[FLAGS] = LONG
            | flag(self.return_requested, RETURN_REQUESTED)
            | flag(self.returning, RETURNING)
            | flag(self.intra_ethernet, INTRA_ETHERNET);
        put(message, DST, &self.dst.mac().0);
        put(message, SRC, &self.src.mac().0);
        message[VISITS] = self.visits & MAX_VISITS;
    }
}

/// See [`count_visit`](super::count_visit); `message` starts with the flags.
pub(super) fn count_visit(message: &mut [u8], max_visits: u8) -> bool {
    let Some(field) = message.get_mut(VISITS) else { return false };
    let visits = *field & MAX_VISITS;
    if visits >= max_visits.min(MAX_VISITS) {
        return false;
    }
    *field += 1;
    true
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let visits = self.visits;
        write!(f, "DECnet {} > {} visits {visits}", self.src, self.dst)
    }
}
