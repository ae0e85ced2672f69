//! AppleTalk Phase 2 on Ethernet (EtherTalk): addresses, and one module a protocol. All fields are
//! big-endian; every frame is an 802.3 frame with SNAP.

pub mod aarp;
pub mod ddp;
pub mod echo;
pub mod rtmp;

use crate::ethernet::MacAddr;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Where AppleTalk's broadcasts go.
pub const BROADCAST_MAC: MacAddr = MacAddr([0x09, 0x00, 0x07, 0xff, 0xff, 0xff]);

/// A node's address: network and node. Reads and prints as `100.10`.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct Address {
    /// The network; 0 is the sender's own, FF00 to FFFE are for starting up.
    pub network: u16,
    /// The node in it, 1 to 253; 0 is any, 255 all.
    pub node: u8,
}

impl Address {
    /// Every node of this network.
    pub const LOCAL_BROADCAST: Address = Address::new(0, 255);

    /// Network and node.
    pub const fn new(network: u16, node: u8) -> Address {
        Address { network, node }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.network, self.node)
    }
}

/// A text that is no AppleTalk address.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{0}` is no AppleTalk address: a network up to 65535 and a node up to 255, as in 100.10")]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = || {
            let (network, node) = text.split_once('.')?;
            Some(Address::new(network.parse().ok()?, node.parse().ok()?))
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

    #[test]
    fn texts_that_are_no_address_are_refused() {
        for text in ["", "100", "65536.1", "1.256", "1.2.3", "1."] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
        assert_eq!("100.10".parse(), Ok(Address::new(100, 10)));
    }

    proptest! {
        #[test]
        fn the_text_form_reads_back(network: u16, node: u8, text: String) {
            let address = Address::new(network, node);
            prop_assert_eq!(address.to_string().parse(), Ok(address));
            let _ = text.parse::<Address>();
        }
    }
}
