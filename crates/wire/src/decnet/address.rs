//! Node addresses: an area of 6 bits, a node of 10, and the MAC address that follows from them.

use crate::DecodeError;
use crate::ethernet::MacAddr;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Where hellos of endnodes and routers and routing messages go.
pub const ALL_ROUTERS: MacAddr = MacAddr([0xab, 0, 0, 3, 0, 0]);
/// Where the hello of the designated router goes as well.
pub const ALL_ENDNODES: MacAddr = MacAddr([0xab, 0, 0, 4, 0, 0]);

/// The first four bytes of the MAC address of every Phase IV node.
const MAC_PREFIX: [u8; 4] = [0xaa, 0x00, 0x04, 0x00];
const NODE_BITS: u32 = 10;
/// The highest area.
pub const MAX_AREA: u8 = 63;
/// The highest node of an area.
pub const MAX_NODE: u16 = 1023;

/// A node address. Reads and prints as `2.10`: area 2, node 10.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Address(pub u16);

impl Address {
    /// Area and node.
    ///
    /// # Panics
    /// If the area is above 63 or the node above 1023.
    pub const fn new(area: u8, node: u16) -> Address {
        assert!(area <= MAX_AREA && node <= MAX_NODE, "area up to 63, node up to 1023");
        Address((area as u16) << NODE_BITS | node)
    }
    /// The area; nodes are in 1 to 63.
    pub const fn area(self) -> u8 {
        (self.0 >> NODE_BITS) as u8
    }
    /// The node within its area; nodes are 1 to 1023.
    pub const fn node(self) -> u16 {
        self.0 & MAX_NODE
    }
    /// The MAC address that this node has: AA-00-04-00, then the address, low byte first.
    pub const fn mac(self) -> MacAddr {
        let [low, high] = self.0.to_le_bytes();
        let [a, b, c, d] = MAC_PREFIX;
        MacAddr([a, b, c, d, low, high])
    }
    /// The node that has this MAC address; `None` for one of another form.
    pub fn of_mac(mac: MacAddr) -> Option<Address> {
        let [a, b, c, d, low, high] = mac.0;
        ([a, b, c, d] == MAC_PREFIX).then_some(Address(u16::from_le_bytes([low, high])))
    }
    /// Reads a node's identifier: its MAC address.
    pub(super) fn from_id(what: &'static str, id: MacAddr) -> Result<Address, DecodeError> {
        Address::of_mac(id)
            .ok_or(DecodeError::malformed(what, "a node identifier that is not AA-00-04-00-xx-xx"))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.area(), self.node())
    }
}
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no node address.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{0}` is no DECnet address: an area up to 63 and a node up to 1023, as in 2.10")]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = || {
            let (area, node) = text.split_once('.')?;
            let (area, node) = (area.parse::<u8>().ok()?, node.parse::<u16>().ok()?);
            (area <= MAX_AREA && node <= MAX_NODE).then(|| Address::new(area, node))
        };
        parts().ok_or_else(|| AddressError(text.to_string()))
    }
}
impl TryFrom<String> for Address {
    type Error = AddressError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}
impl From<Address> for String {
    fn from(address: Address) -> String {
        address.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2.10 is (2 << 10) + 10 = 080A hexadecimal, hence AA-00-04-00-0A-08.
    #[test]
    fn the_mac_address_of_2_10() {
        let address: Address = "2.10".parse().unwrap();
        assert_eq!(address, Address(0x080a));
        assert_eq!(address.mac().to_string(), "aa:00:04:00:0a:08");
        assert_eq!(Address::of_mac(address.mac()), Some(address));
        assert_eq!(Address::of_mac(MacAddr::BROADCAST), None);
    }

    #[test]
    fn texts_that_are_no_address_are_refused() {
        for text in ["", "2", "64.1", "2.1024", "2.10.1", "-1.5", "2."] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_text_form_reads_back(address: u16, text: String) {
            let address = Address(address);
            prop_assert_eq!(address.to_string().parse(), Ok(address));
            prop_assert_eq!(Address::new(address.area(), address.node()), address);
            let _ = text.parse::<Address>();
        }
    }
}
