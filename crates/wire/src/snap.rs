//! SNAP (IEEE 802; for IP RFC 1042): an EtherType behind an 802.3 length, LLC header included.

use crate::DecodeError;
use crate::ethernet::{EtherType, MacAddr};
use crate::llc::{self, Sap};
use crate::view::{field, view};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes of the LLC header and SNAP's own.
pub const HEADER_LEN: usize = 8;
const WHAT: &str = "SNAP header";

/// Whose protocol number it is: an organizationally unique identifier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Oui(pub [u8; 3]);

impl Oui {
    /// The protocol number is an EtherType (RFC 1042).
    pub const ETHERTYPE: Oui = Oui([0, 0, 0]);
    /// Apple's, for DDP.
    pub const APPLE: Oui = Oui([0x08, 0x00, 0x07]);
}

field! { Oui([u8; 3]) }

view! {
    /// What the 802.3 length counts, as bytes: LLC header, SNAP's own, and what they announce.
    pub struct View(WHAT, HEADER_LEN), check: Self::check;
    /// Whose number the protocol's is.
    oui / set_oui: Oui = 3;
    /// The number.
    protocol / set_protocol: EtherType = 6;
}

impl<T: AsRef<[u8]>> View<T> {
    fn check(&self) -> Result<(), DecodeError> {
        let (llc, _) = llc::Repr::parse(self.0.as_ref())?;
        match llc == llc::Repr::datagram(Sap::SNAP) {
            true => Ok(()),
            false => Err(DecodeError::malformed(WHAT, "its LLC header is not AA AA 03")),
        }
    }
}

/// A SNAP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Who gave the protocol its number.
    pub oui: Oui,
    /// The number.
    pub protocol: EtherType,
}

impl Repr {
    /// What announces this EtherType.
    pub const fn ether_type(protocol: EtherType) -> Repr {
        Repr { oui: Oui::ETHERTYPE, protocol }
    }
    /// Reads both headers from the bytes that the 802.3 length counts.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let view = View::new_checked(bytes)?;
        Ok((Repr { oui: view.oui(), protocol: view.protocol() }, view.payload()))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        HEADER_LEN
    }
    /// Writes both headers. Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        llc::Repr::datagram(Sap::SNAP).emit(bytes);
        let mut view = View::new_unchecked(bytes);
        view.set_oui(self.oui);
        view.set_protocol(self.protocol);
    }
    /// A whole frame without FCS. Panics where the payload is too long for a length field.
    pub fn frame(&self, src: MacAddr, dst: MacAddr, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_LEN];
        self.emit(&mut bytes);
        bytes.extend_from_slice(payload);
        llc::Repr::datagram(Sap::SNAP).frame(src, dst, &bytes[llc::HEADER_LEN..])
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.oui {
            Oui::ETHERTYPE => write!(f, "SNAP {}", self.protocol),
            Oui::APPLE => write!(f, "SNAP Apple {}", self.protocol),
            Oui([a, b, c]) => write!(f, "SNAP {a:02x}-{b:02x}-{c:02x} {}", self.protocol),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use proptest::prelude::*;

    /// RFC 1042, "Header Format": AA AA 03, 00-00-00, the EtherType; the length counts these 8.
    #[test]
    fn a_frame_byte_by_byte() {
        let src = MacAddr([2, 0, 0x5e, 0x10, 0, 1]);
        let frame = Repr::ether_type(EtherType::IPV4).frame(src, MacAddr::BROADCAST, &[0x45]);
        let mut expected = hex("ffffffffffff 02005e100001 0009 aaaa03 000000 0800 45");
        expected.resize(60, 0);
        assert_eq!(frame, expected);
    }

    #[test]
    fn another_llc_header_is_refused() {
        assert!(Repr::parse(&hex("e0e003 000000 0800")).is_err());
        assert!(Repr::parse(&hex("aaaa13 000000 0800")).is_err());
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(oui: [u8; 3], protocol: u16) {
            let repr = Repr { oui: Oui(oui), protocol: EtherType(protocol) };
            let mut bytes = [0; HEADER_LEN];
            repr.emit(&mut bytes);
            prop_assert_eq!(Repr::parse(&bytes), Ok((repr, &[][..])));
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
        }
    }
}
