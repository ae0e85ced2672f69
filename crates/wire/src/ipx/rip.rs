//! IPX RIP: how IPX routers tell each other of networks.

use super::{Encapsulation, Kind, broadcast, socket};
use crate::DecodeError;
use crate::bytes::{put_u16, put_u32, require, u16_at, u32_at};
use crate::ethernet::MacAddr;
use serde::{Deserialize, Serialize};
use std::fmt;

const OPERATION_LEN: usize = 2;
const ENTRY_LEN: usize = 8;
/// Entries in one packet.
pub const MAX_ENTRIES: usize = 50;
/// The hops of a network that cannot be reached.
pub const UNREACHABLE: u16 = 16;
const WHAT: &str = "IPX RIP message";

/// Question or answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// How far are these networks?
    Request,
    /// That far; asked for or not.
    Response,
}

/// A network and how far it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Network number.
    pub network: u32,
    /// Routers on the way; [`UNREACHABLE`] where there is none.
    pub hops: u16,
    /// Time on the way in ticks of 1/18.2 s; a LAN counts 1.
    pub ticks: u16,
}

impl Entry {
    /// In a request: every network.
    pub const ALL_NETWORKS: Entry = Entry { network: u32::MAX, hops: u16::MAX, ticks: u16::MAX };
}

/// A RIP message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Question or answer.
    pub operation: Operation,
    /// At most [`MAX_ENTRIES`].
    pub entries: Vec<Entry>,
}

impl Repr {
    /// Reads the payload of a packet.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        require(WHAT, bytes, OPERATION_LEN)?;
        let operation = match u16_at(bytes, 0) {
            1 => Operation::Request,
            2 => Operation::Response,
            _ => return Err(DecodeError::malformed(WHAT, "neither request nor response")),
        };
        let entries = bytes[OPERATION_LEN..].chunks_exact(ENTRY_LEN);
        if entries.len() > MAX_ENTRIES {
            return Err(DecodeError::malformed(WHAT, "more than 50 entries"));
        }
        if !entries.remainder().is_empty() {
            return Err(DecodeError::malformed(WHAT, "its last entry is cut short"));
        }
        let entry = |bytes: &[u8]| Entry {
            network: u32_at(bytes, 0),
            hops: u16_at(bytes, 4),
            ticks: u16_at(bytes, 6),
        };
        Ok((Repr { operation, entries: entries.map(entry).collect() }, &[]))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub fn header_len(&self) -> usize {
        OPERATION_LEN + ENTRY_LEN * self.entries.len()
    }
    /// Writes the message. Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        let operation = match self.operation {
            Operation::Request => 1,
            Operation::Response => 2,
        };
        put_u16(bytes, 0, operation);
        for (bytes, entry) in bytes[OPERATION_LEN..].chunks_exact_mut(ENTRY_LEN).zip(&self.entries)
        {
            put_u32(bytes, 0, entry.network);
            put_u16(bytes, 4, entry.hops);
            put_u16(bytes, 6, entry.ticks);
        }
    }
    /// The message as a broadcast on its sender's cable, without FCS. `sender` is the number of
    /// that network and the sender's node.
    pub fn frame(&self, encapsulation: Encapsulation, sender: (u32, MacAddr)) -> Vec<u8> {
        let mut message = vec![0; self.header_len()];
        self.emit(&mut message);
        broadcast(encapsulation, Kind::RIP, sender, socket::RIP, &message)
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = match self.operation {
            Operation::Request => "request",
            Operation::Response => "response",
        };
        write!(f, "IPX RIP {operation} of {} entries", self.entries.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use proptest::prelude::*;

    const SENDER: (u32, MacAddr) = (2, MacAddr([2, 0, 0x5e, 0x10, 0, 2]));

    /// Both were read by tshark.
    #[test]
    fn known_frames_byte_by_byte() {
        let head = "ffffffffffff02005e100002";
        let addresses = "00000002ffffffffffff04530000000202005e1000020453";
        let entries = vec![
            Entry { network: 0x300, hops: 1, ticks: 2 },
            Entry { network: 0x301, hops: 2, ticks: 3 },
        ];
        let response = Repr { operation: Operation::Response, entries };
        let expected =
            hex(&format!("{head}0030ffff00300001{addresses}0002000003000001000200000301 00020003"));
        assert_eq!(response.frame(Encapsulation::Raw, SENDER), expected);

        let entries = vec![Entry::ALL_NETWORKS];
        let request = Repr { operation: Operation::Request, entries };
        let mut expected = hex(&format!("{head}0028ffff00280001{addresses}0001ffffffffffffffff"));
        expected.resize(60, 0);
        assert_eq!(request.frame(Encapsulation::Raw, SENDER), expected);
    }

    fn any_entry() -> impl Strategy<Value = Entry> {
        any::<(u32, u16, u16)>().prop_map(|(network, hops, ticks)| Entry { network, hops, ticks })
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(asks: bool,
                                     entries in proptest::collection::vec(any_entry(), 0..=50)) {
            let operation = if asks { Operation::Request } else { Operation::Response };
            let repr = Repr { operation, entries };
            let mut bytes = vec![0; repr.header_len()];
            repr.emit(&mut bytes);
            prop_assert_eq!(Repr::parse(&bytes), Ok((repr, &[][..])));
            bytes.push(0);
            prop_assert!(Repr::parse(&bytes).is_err(), "an entry cut short");
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
        }
    }
}
