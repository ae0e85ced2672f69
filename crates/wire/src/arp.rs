//! ARP for IPv4 over Ethernet (RFC 826).

use crate::DecodeError;
use crate::ethernet::{self, EtherType, MacAddr};
use crate::view::view;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv4Addr;

/// Bytes of the packet.
pub const LEN: usize = 28;

const HARDWARE_ETHERNET: u16 = 1;
const REQUEST: u16 = 1;
const REPLY: u16 = 2;
/// Of a MAC and of an IPv4 address.
const LENGTHS: [u8; 2] = [6, 4];
const WHAT: &str = "ARP packet";

/// Question or answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Who has the target's IP address?
    Request,
    /// The sender has.
    Reply,
}

view! {
    /// A packet as bytes.
    pub struct View(WHAT, LEN);
    /// Kind of hardware; 1 is Ethernet.
    hardware / set_hardware: u16 = 0;
    /// The protocol whose addresses these are.
    protocol / set_protocol: EtherType = 2;
    /// Bytes of a hardware address and of one of the protocol.
    lengths / set_lengths: [u8; 2] = 4;
    /// Question (1) or answer (2).
    operation / set_operation: u16 = 6;
    /// The sender's MAC address.
    sender_mac / set_sender_mac: MacAddr = 8;
    /// The sender's IP address.
    sender_ip / set_sender_ip: Ipv4Addr = 14;
    /// The target's MAC address; without meaning in a request.
    target_mac / set_target_mac: MacAddr = 18;
    /// The target's IP address.
    target_ip / set_target_ip: Ipv4Addr = 24;
}

/// An ARP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Question or answer.
    pub operation: Operation,
    /// The sender's MAC address.
    pub sender_mac: MacAddr,
    /// The sender's IP address.
    pub sender_ip: Ipv4Addr,
    /// The target's MAC address; without meaning in a request.
    pub target_mac: MacAddr,
    /// The target's IP address.
    pub target_ip: Ipv4Addr,
}

impl Repr {
    /// Reads a packet; what follows it is padding. Refuses anything but IPv4 over Ethernet.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let view = View::new_checked(bytes)?;
        if (view.hardware(), view.protocol(), view.lengths())
            != (HARDWARE_ETHERNET, EtherType::IPV4, LENGTHS)
        {
            return Err(DecodeError::malformed(WHAT, "not for IPv4 over Ethernet"));
        }
        let operation = match view.operation() {
            REQUEST => Operation::Request,
            REPLY => Operation::Reply,
            _ => return Err(DecodeError::malformed(WHAT, "neither request nor reply")),
        };
        let repr = Repr {
            operation,
            sender_mac: view.sender_mac(),
            sender_ip: view.sender_ip(),
            target_mac: view.target_mac(),
            target_ip: view.target_ip(),
        };
        Ok((repr, view.payload()))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        LEN
    }
    /// Writes the packet. Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        let mut view = View::new_unchecked(bytes);
        view.set_hardware(HARDWARE_ETHERNET);
        view.set_protocol(EtherType::IPV4);
        view.set_lengths(LENGTHS);
        let operation = match self.operation {
            Operation::Request => REQUEST,
            Operation::Reply => REPLY,
        };
        view.set_operation(operation);
        view.set_sender_mac(self.sender_mac);
        view.set_sender_ip(self.sender_ip);
        view.set_target_mac(self.target_mac);
        view.set_target_ip(self.target_ip);
    }
    /// The packet as a frame of the minimum size from its sender to `dst`, without FCS.
    pub fn frame(&self, dst: MacAddr) -> Vec<u8> {
        let mut packet = [0; LEN];
        self.emit(&mut packet);
        let header = ethernet::Repr { dst, src: self.sender_mac, ether_type: EtherType::ARP };
        header.frame(&packet)
    }
    /// What the owner of `mac` and of this request's target address answers; `None` for a packet
    /// that is no request.
    pub fn answer(&self, mac: MacAddr) -> Option<Repr> {
        (self.operation == Operation::Request).then_some(Repr {
            operation: Operation::Reply,
            sender_mac: mac,
            sender_ip: self.target_ip,
            target_mac: self.sender_mac,
            target_ip: self.sender_ip,
        })
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operation {
            Operation::Request => {
                write!(f, "ARP who has {}? tell {}", self.target_ip, self.sender_ip)
            }
            Operation::Reply => write!(f, "ARP {} is at {}", self.sender_ip, self.sender_mac),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 826, "Packet format", with the numbers of its section on definitions:
    /// hardware 1, protocol 0x0800, lengths 6 and 4, opcode 1.
    #[test]
    fn request_byte_vector() {
        #[rustfmt::skip]
        let bytes = [
            0x00, 0x01, 0x08, 0x00, 6, 4, 0x00, 0x01,
            2, 0, 0, 0, 0, 1,  198, 18, 1, 2,
            0, 0, 0, 0, 0, 0,  198, 18, 1, 1,
            0xaa,
        ];
        let (repr, padding) = Repr::parse(&bytes).unwrap();
        assert_eq!(repr.operation, Operation::Request);
        assert_eq!(repr.to_string(), "ARP who has 198.18.1.1? tell 198.18.1.2");
        assert_eq!(padding, [0xaa]);
        let answer = repr.answer(MacAddr([2, 0, 0, 0, 0, 9])).unwrap();
        assert_eq!(answer.to_string(), "ARP 198.18.1.1 is at 02:00:00:00:00:09");
        assert_eq!(answer.target_mac, repr.sender_mac);
        assert_eq!(answer.answer(MacAddr::ZERO), None);
    }

    #[test]
    fn other_hardware_is_refused() {
        let mut bytes = [0; LEN];
        let repr = Repr {
            operation: Operation::Reply,
            sender_mac: MacAddr::ZERO,
            sender_ip: Ipv4Addr::UNSPECIFIED,
            target_mac: MacAddr::ZERO,
            target_ip: Ipv4Addr::UNSPECIFIED,
        };
        repr.emit(&mut bytes);
        for at in 0..8 {
            let mut changed = bytes;
            changed[at] ^= 0x40;
            assert!(Repr::parse(&changed).is_err(), "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(reply: bool, a: [u8; 6], b: [u8; 4], c: [u8; 6], d: [u8; 4]) {
            let repr = Repr {
                operation: if reply { Operation::Reply } else { Operation::Request },
                sender_mac: MacAddr(a),
                sender_ip: b.into(),
                target_mac: MacAddr(c),
                target_ip: d.into(),
            };
            let mut bytes = [0; LEN];
            repr.emit(&mut bytes);
            prop_assert_eq!(Repr::parse(&bytes), Ok((repr, &[][..])));
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
        }
    }
}
