//! AARP for AppleTalk over Ethernet: which MAC address has a node?

use super::{Address, BROADCAST_MAC};
use crate::DecodeError;
use crate::bytes::{array, put, put_u16, require, u16_at};
use crate::ethernet::{EtherType, MacAddr};
use crate::snap;
use serde::{Deserialize, Serialize};
use std::fmt;

const HARDWARE: usize = 0;
const PROTOCOL: usize = 2;
const LENGTHS: usize = 4;
const FUNCTION: usize = 6;
const SENDER_MAC: usize = 8;
const SENDER: usize = 14;
const TARGET_MAC: usize = 18;
const TARGET: usize = 24;
/// Bytes of the packet.
pub const LEN: usize = 28;

const HARDWARE_ETHERNET: u16 = 1;
const WHAT: &str = "AARP packet";

/// Question, answer, or claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// Who is the target?
    Request,
    /// The sender is.
    Response,
    /// The sender would like to be: does anybody have this address?
    Probe,
}

/// An AARP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Question, answer, or claim.
    pub function: Function,
    /// The sender's MAC address.
    pub sender_mac: MacAddr,
    /// The sender's address; in a probe the one it would like to have.
    pub sender: Address,
    /// The target's MAC address; zero where it is not known.
    pub target_mac: MacAddr,
    /// The target's address; in a probe again that of the sender.
    pub target: Address,
}

impl Repr {
    /// Asks for `target`'s MAC address.
    pub const fn request(sender_mac: MacAddr, sender: Address, target: Address) -> Repr {
        let (function, target_mac) = (Function::Request, MacAddr::ZERO);
        Repr { function, sender_mac, sender, target_mac, target }
    }
    /// Asks whether anybody has `address`.
    pub const fn probe(sender_mac: MacAddr, address: Address) -> Repr {
        let (function, target_mac) = (Function::Probe, MacAddr::ZERO);
        Repr { function, sender_mac, sender: address, target_mac, target: address }
    }
    /// Reads a packet; what follows it is padding. Refuses anything but AppleTalk over Ethernet.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        require(WHAT, bytes, LEN)?;
        if u16_at(bytes, HARDWARE) != HARDWARE_ETHERNET
            || u16_at(bytes, PROTOCOL) != EtherType::APPLETALK.0
            || u16_at(bytes, LENGTHS) != 0x0604
        {
            return Err(DecodeError::malformed(WHAT, "not for AppleTalk over Ethernet"));
        }
        let function = match u16_at(bytes, FUNCTION) {
            1 => Function::Request,
            2 => Function::Response,
            3 => Function::Probe,
            _ => return Err(DecodeError::malformed(WHAT, "neither request, response nor probe")),
        };
        let repr = Repr {
            function,
            sender_mac: MacAddr(array(bytes, SENDER_MAC)),
            sender: address_at(bytes, SENDER),
            target_mac: MacAddr(array(bytes, TARGET_MAC)),
            target: address_at(bytes, TARGET),
        };
        Ok((repr, &bytes[LEN..]))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        LEN
    }
    /// Writes the packet. Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        put_u16(bytes, HARDWARE, HARDWARE_ETHERNET);
        put_u16(bytes, PROTOCOL, EtherType::APPLETALK.0);
        put_u16(bytes, LENGTHS, 0x0604);
        let function = match self.function {
            Function::Request => 1,
            Function::Response => 2,
            Function::Probe => 3,
        };
        put_u16(bytes, FUNCTION, function);
        put(bytes, SENDER_MAC, &self.sender_mac.0);
        put_address(bytes, SENDER, self.sender);
        put(bytes, TARGET_MAC, &self.target_mac.0);
        put_address(bytes, TARGET, self.target);
    }
    /// The packet as a frame without FCS: responses to their target, the rest to all.
    pub fn frame(&self) -> Vec<u8> {
        let mut packet = [0; LEN];
        self.emit(&mut packet);
        let dst = match self.function {
            Function::Response => self.target_mac,
            Function::Request | Function::Probe => BROADCAST_MAC,
        };
        snap::Repr::ether_type(EtherType::AARP).frame(self.sender_mac, dst, &packet)
    }
    /// What the owner of `mac` and of the address asked for answers: requests and probes alike.
    /// `None` for a response.
    pub fn answer(&self, mac: MacAddr) -> Option<Repr> {
        (self.function != Function::Response).then_some(Repr {
            function: Function::Response,
            sender_mac: mac,
            sender: self.target,
            target_mac: self.sender_mac,
            target: self.sender,
        })
    }
}

/// Four bytes: zero, network, node.
fn address_at(bytes: &[u8], at: usize) -> Address {
    Address::new(u16_at(bytes, at + 1), bytes[at + 3])
}
fn put_address(bytes: &mut [u8], at: usize, address: Address) {
    bytes[at] = 0;
    put_u16(bytes, at + 1, address.network);
    bytes[at + 3] = address.node;
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.function {
            Function::Request => write!(f, "AARP who is {}? tell {}", self.target, self.sender),
            Function::Response => write!(f, "AARP {} is at {}", self.sender, self.sender_mac),
            Function::Probe => write!(f, "AARP is anybody {}?", self.target),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use proptest::prelude::*;

    const MAC: MacAddr = MacAddr([2, 0, 0x5e, 0x10, 0, 2]);
    const DEVICE: MacAddr = MacAddr([2, 0, 0x5e, 0x20, 0, 1]);
    const NODE: Address = Address::new(200, 20);

    /// Each was read by tshark.
    #[test]
    fn known_frames_byte_by_byte() {
        let padding = "0000 0000000000000000";
        let frame = |head: &str, rest: &str| hex(&format!("{head}{rest}{padding}"));
        let request = Repr::request(MAC, NODE, Address::new(200, 1));
        assert_eq!(
            request.frame(),
            frame(
                "090007ffffff02005e1000020024aaaa0300000080f30001809b06040001",
                "02005e1000020000c8140000000000000000c801",
            )
        );
        let probe = Repr::probe(MAC, NODE);
        assert_eq!(
            probe.frame(),
            frame(
                "090007ffffff02005e1000020024aaaa0300000080f30001809b06040003",
                "02005e1000020000c8140000000000000000c814",
            )
        );
        let asked = Repr::request(DEVICE, Address::new(200, 1), NODE);
        let response = asked.answer(MAC).unwrap();
        assert_eq!(
            response.frame(),
            frame(
                "02005e20000102005e1000020024aaaa0300000080f30001809b06040002",
                "02005e1000020000c81402005e2000010000c801",
            )
        );
        assert_eq!(response.to_string(), "AARP 200.20 is at 02:00:5e:10:00:02");
        assert_eq!(response.answer(DEVICE), None);
        assert_eq!(probe.answer(DEVICE).unwrap().target, NODE);
    }

    #[test]
    fn other_protocols_are_refused() {
        let bytes = hex("0001809b0604000102005e1000020000c8140000000000000000c801");
        for at in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            assert!(Repr::parse(&changed).is_err(), "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(a: [u8; 6], b: (u16, u8), c: [u8; 6], d: (u16, u8), n in 0..3) {
            let functions = [Function::Request, Function::Response, Function::Probe];
            let repr = Repr {
                function: functions[n as usize],
                sender_mac: MacAddr(a),
                sender: Address::new(b.0, b.1),
                target_mac: MacAddr(c),
                target: Address::new(d.0, d.1),
            };
            let mut bytes = [0xff; LEN];
            repr.emit(&mut bytes);
            prop_assert_eq!(Repr::parse(&bytes), Ok((repr, &[][..])));
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
        }
    }
}
