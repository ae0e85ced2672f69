//! DECnet Phase IV on Ethernet: the routing layer's messages. All fields are little-endian.
//!
//! Behind EtherType 6003 stand a length (of what follows it, Ethernet padding not counted), as
//! many padding bytes as the first one says where its top bit is set, and the message. There is no
//! address resolution: a node that speaks DECnet takes the MAC address that follows from its
//! [`Address`], on each of its ports.

pub mod address;
pub mod data;
pub mod hello;
pub mod nsp;
pub mod routing;

pub use address::{ALL_ENDNODES, ALL_ROUTERS, Address};

use crate::DecodeError;
use crate::bytes::{put_u16_le, require, u16_le_at};
use crate::ethernet::{self, EtherType, MacAddr};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes of the length field before every message.
pub const LENGTH_LEN: usize = 2;
/// The largest message that an Ethernet frame holds, padding before it included: 1500 less the
/// length field.
pub const MAX_MESSAGE_LEN: usize = 1498;
const PADDING_BIT: u8 = 0x80;
const WHAT: &str = "DECnet message";

/// A message of the routing layer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repr {
    /// A packet in the long format.
    Data(data::Repr),
    /// An endnode says that it is there.
    EndnodeHello(hello::Endnode),
    /// A router says that it is there.
    RouterHello(hello::Router),
    /// A router's table.
    Routing(routing::Repr),
}

impl Repr {
    /// Reads a message with its length field; with a data packet comes its payload, cut to the
    /// length.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let message = &bytes[message_range(bytes)?];
        require(WHAT, message, 1)?;
        match message[0] {
            hello::ENDNODE => Ok((Repr::EndnodeHello(hello::Endnode::parse(message)?), &[])),
            hello::ROUTER => Ok((Repr::RouterHello(hello::Router::parse(message)?), &[])),
            routing::LEVEL_1 | routing::LEVEL_2 => {
                Ok((Repr::Routing(routing::Repr::parse(message)?), &[]))
            }
            flags if data::is_data(flags) => {
                let (header, payload) = data::Repr::parse(message)?;
                Ok((Repr::Data(header), payload))
            }
            _ => Err(DecodeError::malformed(WHAT, "of a kind that is not read")),
        }
    }
    /// Bytes that [`emit`](Repr::emit) writes: length field, padding byte and header of a data
    /// packet, or a whole message.
    pub fn header_len(&self) -> usize {
        let message_len = match self {
            Repr::Data(header) => 1 + header.header_len(),
            Repr::EndnodeHello(hello) => hello.len(),
            Repr::RouterHello(hello) => hello.len(),
            Repr::Routing(routing) => routing.len(),
        };
        LENGTH_LEN + message_len
    }
    /// Writes the message up to its payload. A data packet gets the one byte of padding that is
    /// customary. Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        let message = &mut bytes[LENGTH_LEN..];
        let mut payload_len = 0;
        match self {
            Repr::Data(header) => {
                message[0] = PADDING_BIT | 1;
                header.emit(&mut message[1..]);
                payload_len = usize::from(header.payload_len);
            }
            Repr::EndnodeHello(hello) => hello.emit(message),
            Repr::RouterHello(hello) => hello.emit(message),
            Repr::Routing(routing) => routing.emit(message),
        }
        put_u16_le(bytes, 0, (self.header_len() - LENGTH_LEN + payload_len) as u16);
    }
    /// A whole frame without FCS.
    pub fn frame(&self, src: MacAddr, dst: MacAddr, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; self.header_len()];
        self.emit(&mut bytes);
        bytes.extend_from_slice(payload);
        ethernet::Repr { dst, src, ether_type: EtherType::DECNET }.frame(&bytes)
    }
}

/// Counts a visit in the data packet that starts `bytes`, length field first: what a router does
/// when it forwards. `false`, and nothing changed, where the packet has visited `max_visits`
/// nodes before. The caller has parsed the message.
pub fn count_visit(bytes: &mut [u8], max_visits: u8) -> bool {
    let Ok(range) = message_range(bytes) else { return false };
    data::count_visit(&mut bytes[range], max_visits)
}

/// Where in `bytes`, length field first, the message is, without padding before or after it.
fn message_range(bytes: &[u8]) -> Result<std::ops::Range<usize>, DecodeError> {
    require(WHAT, bytes, LENGTH_LEN)?;
    let end = LENGTH_LEN + usize::from(u16_le_at(bytes, 0));
    require(WHAT, bytes, end)?;
    let padding = match bytes[LENGTH_LEN..end].first() {
        Some(first) if first & PADDING_BIT != 0 => usize::from(first & !PADDING_BIT),
        _ => 0,
    };
    if LENGTH_LEN + padding > end {
        return Err(DecodeError::malformed(WHAT, "more padding than its length"));
    }
    let start = LENGTH_LEN + padding;
    if bytes[start..end].first().is_some_and(|first| first & PADDING_BIT != 0) {
        return Err(DecodeError::malformed(WHAT, "padding that does not say its length"));
    }
    Ok(start..end)
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repr::Data(header) => header.fmt(f),
            Repr::EndnodeHello(hello) => hello.fmt(f),
            Repr::RouterHello(hello) => hello.fmt(f),
            Repr::Routing(routing) => routing.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
