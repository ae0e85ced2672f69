//! ICMP for IPv4 (RFC 792): echo, and the errors that a device under test may send.

use crate::DecodeError;
use crate::checksum;
use crate::view::view;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Place of the checksum in a message, of IPv6 as well.
pub const CHECKSUM: usize = 2;
/// Bytes before the data.
pub const HEADER_LEN: usize = 8;
const WHAT: &str = "ICMP message";

const ECHO_REPLY: u8 = 0;
const DESTINATION_UNREACHABLE: u8 = 3;
const ECHO_REQUEST: u8 = 8;
const TIME_EXCEEDED: u8 = 11;
const FRAGMENTATION_NEEDED: u8 = 4;

view! {
    /// A message as bytes.
    pub struct View(WHAT, HEADER_LEN);
    /// Type.
    kind / set_kind: u8 = 0;
    /// Code.
    code / set_code: u8 = 1;
    /// The checksum.
    checksum / set_checksum: u16 = CHECKSUM;
    /// Bytes 4 to 7, whose meaning the type tells.
    rest / set_rest: u32 = 4;
    /// Of an echo: who asks.
    identifier / set_identifier: u16 = 4;
    /// Of an echo: which of its questions.
    sequence / set_sequence: u16 = 6;
    /// Of an error with type 3 and code 4: the MTU that was too small (RFC 1191 section 4).
    mtu / set_mtu: u16 = 6;
}

impl<T: AsRef<[u8]>> View<T> {
    /// Whether its data are those of an echo, which mean nothing to the network.
    pub fn is_echo(&self) -> bool {
        matches!(self.kind(), ECHO_REQUEST | ECHO_REPLY)
    }
}

checksum::of_whole_message!(View, WHAT);

/// The first eight bytes of a message. After an error's follows the packet that caused it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repr {
    /// Asks for an echo.
    EchoRequest {
        /// Who asks.
        identifier: u16,
        /// Which of its questions.
        sequence: u16,
    },
    /// The echo.
    EchoReply {
        /// Who asked.
        identifier: u16,
        /// Which of its questions.
        sequence: u16,
    },
    /// A packet could not be delivered.
    DestinationUnreachable {
        /// Why: 0 network, 1 host, 3 port, 4 too large and not to be fragmented, 13 filtered.
        code: u8,
        /// With code 4, the MTU that was too small (RFC 1191 section 4); else 0.
        mtu: u16,
    },
    /// A packet's time to live was used up (code 0), or that of its fragments (1).
    TimeExceeded {
        /// Which of the two.
        code: u8,
    },
    /// Any other message.
    Other {
        /// Type.
        kind: u8,
        /// Code.
        code: u8,
        /// Bytes 4 to 7.
        rest: u32,
    },
}

impl Repr {
    /// Reads a message and checks its checksum.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let view = View::new_checked(bytes)?;
        view.verify_checksum()?;
        let (code, identifier, sequence) = (view.code(), view.identifier(), view.sequence());
        let repr = match (view.kind(), code) {
            (ECHO_REQUEST, 0) => Repr::EchoRequest { identifier, sequence },
            (ECHO_REPLY, 0) => Repr::EchoReply { identifier, sequence },
            (DESTINATION_UNREACHABLE, FRAGMENTATION_NEEDED) => {
                Repr::DestinationUnreachable { code, mtu: view.mtu() }
            }
            (DESTINATION_UNREACHABLE, _) => Repr::DestinationUnreachable { code, mtu: 0 },
            (TIME_EXCEEDED, _) => Repr::TimeExceeded { code },
            (kind, _) => Repr::Other { kind, code, rest: view.rest() },
        };
        Ok((repr, view.payload()))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        HEADER_LEN
    }
    /// Writes the first eight bytes with checksum 0, to be [filled](fill_checksum) over the whole
    /// message. Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        let pair = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
        let (kind, code, rest) = match *self {
            Repr::EchoRequest { identifier, sequence } => {
                (ECHO_REQUEST, 0, pair(identifier, sequence))
            }
            Repr::EchoReply { identifier, sequence } => (ECHO_REPLY, 0, pair(identifier, sequence)),
            Repr::DestinationUnreachable { code, mtu } => {
                (DESTINATION_UNREACHABLE, code, pair(0, mtu))
            }
            Repr::TimeExceeded { code } => (TIME_EXCEEDED, code, 0),
            Repr::Other { kind, code, rest } => (kind, code, rest),
        };
        let mut view = View::new_unchecked(bytes);
        view.set_kind(kind);
        view.set_code(code);
        view.set_checksum(0);
        view.set_rest(rest);
    }
    /// A whole message with its checksum.
    pub fn message(&self, data: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_LEN];
        self.emit(&mut bytes);
        bytes.extend_from_slice(data);
        fill_checksum(&mut bytes);
        bytes
    }
}

/// Computes and writes the checksum of a whole message.
pub fn fill_checksum(message: &mut [u8]) {
    View::new_unchecked(message).fill_checksum();
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repr::EchoRequest { identifier, sequence } => {
                write!(f, "ICMP echo request {identifier:#06x} sequence {sequence}")
            }
            Repr::EchoReply { identifier, sequence } => {
                write!(f, "ICMP echo reply {identifier:#06x} sequence {sequence}")
            }
            Repr::DestinationUnreachable { code: FRAGMENTATION_NEEDED, mtu } => {
                write!(f, "ICMP fragmentation needed, MTU {mtu}")
            }
            Repr::DestinationUnreachable { code, .. } => {
                write!(f, "ICMP destination unreachable code {code}")
            }
            Repr::TimeExceeded { code } => write!(f, "ICMP time exceeded code {code}"),
            Repr::Other { kind, code, .. } => write!(f, "ICMP type {kind} code {code}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 792 "Echo": 0800 + 1234 + 0001 + 6162 is 7b97, its complement 8468.
    #[test]
    fn echo_request_byte_vector() {
        let bytes = [8, 0, 0x84, 0x68, 0x12, 0x34, 0, 1, 0x61, 0x62];
        let (repr, data) = Repr::parse(&bytes).unwrap();
        assert_eq!(repr, Repr::EchoRequest { identifier: 0x1234, sequence: 1 });
        assert_eq!(data, *b"ab");
        assert_eq!(repr.message(data), bytes);
    }

    /// RFC 1191 section 4: type 3, code 4, the MTU in the last two of the eight bytes.
    #[test]
    fn fragmentation_needed_carries_the_mtu() {
        let bytes = [3, 4, 0xf7, 0x1f, 0, 0, 0x05, 0xdc];
        let (repr, _) = Repr::parse(&bytes).unwrap();
        assert_eq!(repr.to_string(), "ICMP fragmentation needed, MTU 1500");
    }

    proptest! {
        #[test]
        fn what_is_parsed_is_emitted_again(kind: u8, code: u8, rest: u32, data: Vec<u8>) {
            let repr = Repr::Other { kind, code, rest };
            let bytes = repr.message(&data);
            let (parsed, parsed_data) = Repr::parse(&bytes).unwrap();
            prop_assert_eq!(parsed_data, &data[..]);
            let again = parsed.message(&data);
            prop_assert_eq!(Repr::parse(&again), Ok((parsed, &data[..])));
        }

        #[test]
        fn a_damaged_message_is_refused(data: Vec<u8>, flip: usize) {
            let mut bytes = Repr::EchoReply { identifier: 1, sequence: 2 }.message(&data);
            let bit = flip % (bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Repr::parse(&bytes).is_err());
        }

        #[test]
        fn no_bytes_make_the_parser_panic(mut bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
            if bytes.len() >= HEADER_LEN {
                fill_checksum(&mut bytes);
                prop_assert!(Repr::parse(&bytes).is_ok());
            }
        }
    }
}
