//! NSP, DECnet's transport: data segments, which test frames carry so that they are whole packets
//! to any decoder. No connection stands behind them.

use crate::DecodeError;
use crate::bytes::{put_u16_le, require, u16_le_at};
use crate::view::{U16Le, view};
use serde::{Deserialize, Serialize};
use std::fmt;

const SEGMENT: usize = 5;
/// Bytes of a data segment's header without acknowledgment.
pub const HEADER_LEN: usize = 7;
const ACKNOWLEDGMENT_LEN: usize = 2;

/// A whole message in one data segment: its beginning and its end.
const DATA: u8 = 0x60;
/// Set in the field behind the links where it is an acknowledgment and not the segment's number.
const IS_ACKNOWLEDGMENT: u16 = 0x8000;
const NUMBER_MASK: u16 = 0x0fff;
const WHAT: &str = "NSP data segment";

view! {
    /// A data segment as bytes.
    pub struct View(WHAT, HEADER_LEN);
    /// Which message of NSP it is.
    flags / set_flags: u8 = 0;
    /// The destination's number of the connection.
    dst_link / set_dst_link: u16 = 1 as U16Le;
    /// The source's.
    src_link / set_src_link: u16 = 3 as U16Le;
    /// The segment's number or, with the top bit, an acknowledgment before it.
    first_word / set_first_word: u16 = SEGMENT as U16Le;
}

/// The header of a data segment that is a whole message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// The destination's number of the connection.
    pub dst_link: u16,
    /// The source's.
    pub src_link: u16,
    /// What is acknowledged: a qualifier and a number of 12 bits, top bit left out.
    pub acknowledgment: Option<u16>,
    /// The segment's number, 12 bits.
    pub number: u16,
}

impl Repr {
    /// The first segment of a connection, of the shortest header: no acknowledgment.
    pub const fn new(src_link: u16, dst_link: u16) -> Repr {
        Repr { dst_link, src_link, acknowledgment: None, number: 1 }
    }
    /// Reads a header from the payload of a data packet; refuses other messages of NSP.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let view = View::new_checked(bytes)?;
        if view.flags() != DATA {
            return Err(DecodeError::malformed(WHAT, "another message of NSP"));
        }
        let mut at = SEGMENT;
        let field = view.first_word();
        let acknowledgment = (field & IS_ACKNOWLEDGMENT != 0).then_some(field & !IS_ACKNOWLEDGMENT);
        if acknowledgment.is_some() {
            at += ACKNOWLEDGMENT_LEN;
            require(WHAT, bytes, at + 2)?;
        }
        let repr = Repr {
            dst_link: view.dst_link(),
            src_link: view.src_link(),
            acknowledgment,
            number: u16_le_at(bytes, at) & NUMBER_MASK,
        };
        Ok((repr, &bytes[at + 2..]))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        HEADER_LEN + if self.acknowledgment.is_some() { ACKNOWLEDGMENT_LEN } else { 0 }
    }
    /// Writes the header. Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        let mut view = View::new_unchecked(&mut *bytes);
        view.set_flags(DATA);
        view.set_dst_link(self.dst_link);
        view.set_src_link(self.src_link);
        let mut at = SEGMENT;
        if let Some(acknowledgment) = self.acknowledgment {
            put_u16_le(bytes, at, acknowledgment | IS_ACKNOWLEDGMENT);
            at += ACKNOWLEDGMENT_LEN;
        }
        put_u16_le(bytes, at, self.number & NUMBER_MASK);
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NSP {:#06x} > {:#06x} segment {}", self.src_link, self.dst_link, self.number)
    }
}
