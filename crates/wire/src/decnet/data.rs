//! Data packets in the long format, the only one used on Ethernet.

use super::Address;
use crate::DecodeError;
use crate::bytes::require;
use crate::ethernet::MacAddr;
use crate::view::view;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes of the header, without the length field and the padding before it.
pub const HEADER_LEN: usize = 21;
/// The most visits that the field can count.
pub const MAX_VISITS: u8 = 0x3f;

const KIND_MASK: u8 = 0x07;
const LONG: u8 = 0x06;
const SHORT: u8 = 0x02;
const WHAT: &str = "DECnet data packet";

view! {
    /// A packet as bytes, without the length field and the padding before it.
    pub struct View(WHAT, HEADER_LEN), check: Self::check;
    /// Long (6) or short (2).
    format / set_format: u8 = 0 as u8[0..3];
    /// The sender wants it back where it cannot be delivered.
    return_requested / set_return_requested: bool = 0 as u8[3..4];
    /// It is on its way back to its sender.
    returning / set_returning: bool = 0 as u8[4..5];
    /// Source and destination are on one Ethernet, as far as the sender knows.
    intra_ethernet / set_intra_ethernet: bool = 0 as u8[5..6];
    /// It is of a version after Phase IV.
    is_later / set_is_later: bool = 0 as u8[6..7];
    /// Identifier of the destination: the MAC address that follows from its [`Address`].
    dst_id / set_dst_id: MacAddr = 3;
    /// Identifier of the source.
    src_id / set_src_id: MacAddr = 11;
    /// Routers that it has visited, 6 bits.
    visits / set_visits: u8 = 18 as u8[0..6];
}

impl<T: AsRef<[u8]>> View<T> {
    /// Reads the first byte alone.
    fn check(&self) -> Result<(), DecodeError> {
        match (self.format(), self.is_later()) {
            (LONG, false) => Ok(()),
            (LONG, true) => Err(DecodeError::malformed(WHAT, "of a later version")),
            _ => Err(DecodeError::malformed(WHAT, "in the short format, not for Ethernet")),
        }
    }
}

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
    /// Bytes that [`emit`](Repr::emit) writes.
    pub(crate) const fn header_len(&self) -> usize {
        HEADER_LEN
    }
    pub(crate) fn parse(message: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let view = View::new_unchecked(message);
        // Before the length: the short format is shorter.
        view.check()?;
        require(WHAT, message, HEADER_LEN)?;
        let repr = Repr {
            dst: Address::from_id(WHAT, view.dst_id())?,
            src: Address::from_id(WHAT, view.src_id())?,
            return_requested: view.return_requested(),
            returning: view.returning(),
            intra_ethernet: view.intra_ethernet(),
            visits: view.visits(),
            payload_len: view.payload().len() as u16,
        };
        Ok((repr, view.payload()))
    }
    pub(crate) fn emit(&self, message: &mut [u8]) {
        message[..HEADER_LEN].fill(0);
        let mut view = View::new_unchecked(message);
        view.set_format(LONG);
        view.set_return_requested(self.return_requested);
        view.set_returning(self.returning);
        view.set_intra_ethernet(self.intra_ethernet);
        view.set_dst_id(self.dst.mac());
        view.set_src_id(self.src.mac());
        view.set_visits(self.visits);
    }
}

/// See [`count_visit`](super::count_visit); `message` starts with the flags.
pub(super) fn count_visit(message: &mut [u8], max_visits: u8) -> bool {
    let Some(mut view) = View::peek(message) else { return false };
    let visits = view.visits();
    if visits >= max_visits.min(MAX_VISITS) {
        return false;
    }
    view.set_visits(visits + 1);
    true
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let visits = self.visits;
        write!(f, "DECnet {} > {} visits {visits}", self.src, self.dst)
    }
}
