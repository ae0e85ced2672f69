//! Bridge protocol data units of the spanning tree (IEEE 802.1D): how bridges find a tree without
//! loops. A bridge never forwards them.

use crate::DecodeError;
use crate::bytes::require;
use crate::ethernet::MacAddr;
use crate::llc::{self, Sap};
use crate::view::{field, view};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where they go: the bridge group address, which no bridge forwards.
pub const BRIDGE_GROUP: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0, 0, 0]);

const NOTIFICATION_LEN: usize = 4;
const CONFIGURATION_LEN: usize = 35;
const RAPID_LEN: usize = 36;

const CONFIGURATION: u8 = 0x00;
const RAPID: u8 = 0x02;
const NOTIFICATION: u8 = 0x80;
const RAPID_VERSION: u8 = 2;
const WHAT: &str = "BPDU";

/// Bit of the flags: the topology changes.
pub const TOPOLOGY_CHANGE: u8 = 0x01;
/// Bit of the flags: a notification was heard.
pub const TOPOLOGY_CHANGE_ACKNOWLEDGED: u8 = 0x80;

/// A bridge's identifier: the lowest is the root.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct BridgeId {
    /// Set by the administrator; 0x8000 by default.
    pub priority: u16,
    /// The bridge's MAC address.
    pub mac: MacAddr,
}

/// A time in units of 1/256 s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time256(pub u16);

impl Time256 {
    /// Whole seconds.
    pub const fn from_secs(seconds: u8) -> Time256 {
        Time256((seconds as u16) << 8)
    }
}

field! { BridgeId { priority: u16, mac: MacAddr } }
field! { Time256(u16) }

view! {
    /// What stands behind the LLC header, as bytes: what all of them have.
    pub struct View(WHAT, NOTIFICATION_LEN), check: Self::check;
    /// Protocol; 0 is the spanning tree.
    protocol / set_protocol: u16 = 0;
    /// Version; 2 is the rapid one.
    version / set_version: u8 = 2;
    /// Type.
    kind / set_kind: u8 = 3;
}

impl<T: AsRef<[u8]>> View<T> {
    fn check(&self) -> Result<(), DecodeError> {
        match self.protocol() {
            0 => Ok(()),
            _ => Err(DecodeError::malformed(WHAT, "of another protocol than the spanning tree")),
        }
    }
}

view! {
    /// One with a configuration, as bytes: what follows the type.
    pub struct ConfigurationView(WHAT, CONFIGURATION_LEN);
    /// Topology change, its acknowledgment, and (rapid) proposal, role and state of the port.
    flags / set_flags: u8 = 4;
    /// The bridge that the sender takes for the root.
    root / set_root: BridgeId = 5;
    /// Cost of the way to it.
    root_cost / set_root_cost: u32 = 13;
    /// The sender.
    bridge / set_bridge: BridgeId = 17;
    /// Its port.
    port / set_port: u16 = 25;
    /// Age of what it tells.
    message_age / set_message_age: Time256 = 27;
    /// Age at which it is forgotten.
    max_age / set_max_age: Time256 = 29;
    /// Time from one of these to the next.
    hello_time / set_hello_time: Time256 = 31;
    /// Time that a port spends in each state before it forwards.
    forward_delay / set_forward_delay: Time256 = 33;
}

/// What a bridge says of itself and the root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Configuration {
    /// Topology change, its acknowledgment, and (rapid) proposal, role and state of the port.
    pub flags: u8,
    /// The bridge that the sender takes for the root.
    pub root: BridgeId,
    /// Cost of the way to it.
    pub root_cost: u32,
    /// The sender.
    pub bridge: BridgeId,
    /// Its port.
    pub port: u16,
    /// Age of what it tells.
    pub message_age: Time256,
    /// Age at which it is forgotten.
    pub max_age: Time256,
    /// Time from one of these to the next.
    pub hello_time: Time256,
    /// Time that a port spends in each state before it forwards.
    pub forward_delay: Time256,
}

impl Configuration {
    /// Of a bridge that takes itself for the root, with the standard's times: maximum age 20 s,
    /// hello 2 s, forward delay 15 s (IEEE 802.1D-1998 table 8-3).
    pub const fn of_root(bridge: BridgeId, port: u16) -> Configuration {
        Configuration {
            flags: 0,
            root: bridge,
            root_cost: 0,
            bridge,
            port,
            message_age: Time256(0),
            max_age: Time256::from_secs(20),
            hello_time: Time256::from_secs(2),
            forward_delay: Time256::from_secs(15),
        }
    }
    fn parse(bytes: &[u8]) -> Result<Configuration, DecodeError> {
        let view = ConfigurationView::new_checked(bytes)?;
        Ok(Configuration {
            flags: view.flags(),
            root: view.root(),
            root_cost: view.root_cost(),
            bridge: view.bridge(),
            port: view.port(),
            message_age: view.message_age(),
            max_age: view.max_age(),
            hello_time: view.hello_time(),
            forward_delay: view.forward_delay(),
        })
    }
    fn emit(&self, bytes: &mut [u8]) {
        let mut view = ConfigurationView::new_unchecked(bytes);
        view.set_flags(self.flags);
        view.set_root(self.root);
        view.set_root_cost(self.root_cost);
        view.set_bridge(self.bridge);
        view.set_port(self.port);
        view.set_message_age(self.message_age);
        view.set_max_age(self.max_age);
        view.set_hello_time(self.hello_time);
        view.set_forward_delay(self.forward_delay);
    }
}

/// A bridge protocol data unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repr {
    /// Of the spanning tree protocol.
    Configuration(Configuration),
    /// Of its rapid successor.
    Rapid(Configuration),
    /// Tells the root that the topology changed.
    TopologyChangeNotification,
}

impl Repr {
    /// Reads what stands behind the LLC header.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let view = View::new_checked(bytes)?;
        let (len, parsed): (usize, fn(Configuration) -> Repr) = match view.kind() {
            NOTIFICATION => return Ok((Repr::TopologyChangeNotification, view.payload())),
            CONFIGURATION => (CONFIGURATION_LEN, Repr::Configuration),
            RAPID if view.version() >= RAPID_VERSION => (RAPID_LEN, Repr::Rapid),
            _ => return Err(DecodeError::malformed(WHAT, "of a type that is not read")),
        };
        require(WHAT, bytes, len)?;
        Ok((parsed(Configuration::parse(bytes)?), &bytes[len..]))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        match self {
            Repr::Configuration(_) => CONFIGURATION_LEN,
            Repr::Rapid(_) => RAPID_LEN,
            Repr::TopologyChangeNotification => NOTIFICATION_LEN,
        }
    }
    /// Writes it. Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        bytes[..self.header_len()].fill(0);
        let mut view = View::new_unchecked(&mut *bytes);
        match self {
            Repr::Configuration(configuration) => configuration.emit(bytes),
            Repr::Rapid(configuration) => {
                view.set_version(RAPID_VERSION);
                view.set_kind(RAPID);
                configuration.emit(bytes);
            }
            Repr::TopologyChangeNotification => view.set_kind(NOTIFICATION),
        }
    }
    /// As a frame without FCS.
    pub fn frame(&self, src: MacAddr) -> Vec<u8> {
        let mut bytes = vec![0; self.header_len()];
        self.emit(&mut bytes);
        llc::Repr::datagram(Sap::SPANNING_TREE).frame(src, BRIDGE_GROUP, &bytes)
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, configuration) = match self {
            Repr::TopologyChangeNotification => return f.write_str("STP topology change"),
            Repr::Configuration(configuration) => ("STP", configuration),
            Repr::Rapid(configuration) => ("RSTP", configuration),
        };
        let BridgeId { priority, mac } = configuration.root;
        write!(f, "{name} root {priority:#06x} {mac} cost {}", configuration.root_cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use proptest::prelude::*;

    const MAC: MacAddr = MacAddr([2, 0, 0x5e, 0x10, 0, 1]);

    /// All three were read by tshark.
    #[test]
    fn known_frames_byte_by_byte() {
        let configuration = Configuration::of_root(BridgeId { priority: 0x8000, mac: MAC }, 0x8001);
        let known = [
            (
                Repr::Configuration(configuration),
                "0180c200000002005e1000010026424203000000
                 0000800002005e1000010000000080000200 5e1000018001000014000200 0f00",
            ),
            (Repr::TopologyChangeNotification, "0180c200000002005e100001000742420300000080"),
            (
                Repr::Rapid(Configuration { flags: 0x7c, ..configuration }),
                "0180c200000002005e1000010027424203000002
                 027c800002005e1000010000000080000200 5e1000018001000014000200 0f0000",
            ),
        ];
        for (repr, text) in known {
            let mut expected = hex(text);
            assert_eq!(Repr::parse(&expected[17..]), Ok((repr, &[][..])));
            expected.resize(60, 0);
            assert_eq!(repr.frame(MAC), expected, "{repr}");
        }
    }

    #[test]
    fn what_is_no_bpdu_is_refused() {
        assert!(Repr::parse(&hex("0001000080")).is_err(), "protocol");
        assert!(Repr::parse(&hex("0000000180")).is_err(), "type");
        assert!(Repr::parse(&[0; 34]).is_err(), "cut short");
        assert!(Repr::parse(&hex("00000002")).is_err(), "rapid in version 0");
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(flags: u8, root: (u16, [u8; 6]), root_cost: u32,
                                     bridge: (u16, [u8; 6]), port: u16, times: [u16; 4], n in 0..3) {
            let id = |(priority, mac)| BridgeId { priority, mac: MacAddr(mac) };
            let [message_age, max_age, hello_time, forward_delay] = times.map(Time256);
            let (root, bridge) = (id(root), id(bridge));
            let configuration = Configuration {
                flags, root, root_cost, bridge, port, message_age, max_age, hello_time,
                forward_delay,
            };
            let repr = match n {
                0 => Repr::Configuration(configuration),
                1 => Repr::Rapid(configuration),
                _ => Repr::TopologyChangeNotification,
            };
            let mut bytes = vec![0xff; repr.header_len()];
            repr.emit(&mut bytes);
            prop_assert_eq!(Repr::parse(&bytes), Ok((repr, &[][..])));
        }

        #[test]
        fn no_bytes_make_the_parser_panic(mut bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
            if bytes.len() > 3 {
                bytes[..2].fill(0);
                bytes[3] &= 2;
                let _ = Repr::parse(&bytes);
            }
        }
    }
}
