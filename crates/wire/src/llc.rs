//! LLC (IEEE 802.2): what stands behind an Ethernet header whose type field is a length.

use crate::DecodeError;
use crate::bytes::{array, put, require};
use crate::ethernet::{self, EtherType, MacAddr};
use crate::view::{field, view};
use serde::{Deserialize, Serialize};
use std::fmt;

const CONTROL: usize = 2;
/// Bytes of the header of an unnumbered frame.
pub const HEADER_LEN: usize = 3;
const NUMBERED_HEADER_LEN: usize = 4;
/// The low two bits of an unnumbered frame's control field.
const UNNUMBERED_BITS: u8 = 0b11;
const WHAT: &str = "LLC header";

/// A service access point: which protocol follows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sap(pub u8);

impl Sap {
    /// The link layer itself: XID and TEST frames.
    pub const NULL: Sap = Sap(0x00);
    /// The spanning tree (IEEE 802.1D).
    pub const SPANNING_TREE: Sap = Sap(0x42);
    /// SNAP: an EtherType follows (IEEE 802).
    pub const SNAP: Sap = Sap(0xaa);
    /// Novell IPX.
    pub const IPX: Sap = Sap(0xe0);
}

impl fmt::Display for Sap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Sap::NULL => f.write_str("null"),
            Sap::SPANNING_TREE => f.write_str("spanning tree"),
            Sap::SNAP => f.write_str("SNAP"),
            Sap::IPX => f.write_str("IPX"),
            Sap(other) => write!(f, "{other:#04x}"),
        }
    }
}

/// The control field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// One byte, its low two bits set: see [`UNNUMBERED_INFORMATION`](Control::UNNUMBERED_INFORMATION).
    Unnumbered(u8),
    /// Two bytes: an information or supervisory frame of a connection.
    Numbered([u8; 2]),
}

impl Control {
    /// A datagram: UI.
    pub const UNNUMBERED_INFORMATION: Control = Control::Unnumbered(0x03);
    /// A TEST command whose answer is wanted.
    pub const TEST: Control = Control::Unnumbered(0xf3);
}

field! { Sap(u8) }

view! {
    /// What the 802.3 length counts, as bytes.
    pub struct View(WHAT, HEADER_LEN), check: Self::check, payload: Self::payload_range;
    /// Whose it is at the destination.
    dsap / set_dsap: Sap = 0;
    /// Whose it is at the source.
    ssap / set_ssap: Sap = 1;
    /// The only byte of an unnumbered frame's control field, or the first of two.
    first_control / set_first_control: u8 = CONTROL;
}

impl<T: AsRef<[u8]>> View<T> {
    fn check(&self) -> Result<(), DecodeError> {
        require(WHAT, self.0.as_ref(), self.header_len())
    }
    fn payload_range(&self) -> std::ops::Range<usize> {
        self.header_len()..self.0.as_ref().len()
    }
    fn is_unnumbered(&self) -> bool {
        self.first_control() & UNNUMBERED_BITS == UNNUMBERED_BITS
    }
    /// Bytes of the header.
    pub fn header_len(&self) -> usize {
        if self.is_unnumbered() { HEADER_LEN } else { NUMBERED_HEADER_LEN }
    }
    /// Kind of frame.
    pub fn control(&self) -> Control {
        match self.is_unnumbered() {
            true => Control::Unnumbered(self.first_control()),
            false => Control::Numbered(array(self.0.as_ref(), CONTROL)),
        }
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> View<T> {
    /// Writes the kind of frame.
    pub fn set_control(&mut self, control: Control) {
        match control {
            Control::Unnumbered(byte) => self.set_first_control(byte),
            Control::Numbered(both) => put(self.0.as_mut(), CONTROL, &both),
        }
    }
}

/// An LLC header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Whose it is at the destination.
    pub dsap: Sap,
    /// Whose it is at the source; its lowest bit says that this is a response.
    pub ssap: Sap,
    /// Kind of frame.
    pub control: Control,
}

impl Repr {
    /// A datagram between the same service access points.
    pub const fn datagram(sap: Sap) -> Repr {
        Repr { dsap: sap, ssap: sap, control: Control::UNNUMBERED_INFORMATION }
    }
    /// Reads a header from the bytes that the 802.3 length counts.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let view = View::new_checked(bytes)?;
        let repr = Repr { dsap: view.dsap(), ssap: view.ssap(), control: view.control() };
        Ok((repr, view.payload()))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        match self.control {
            Control::Unnumbered(_) => HEADER_LEN,
            Control::Numbered(_) => NUMBERED_HEADER_LEN,
        }
    }
    /// Writes the header. Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        let mut view = View::new_unchecked(bytes);
        view.set_dsap(self.dsap);
        view.set_ssap(self.ssap);
        view.set_control(self.control);
    }
    /// A whole frame without FCS. Panics where the payload is too long for a length field.
    pub fn frame(&self, src: MacAddr, dst: MacAddr, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; self.header_len()];
        self.emit(&mut bytes);
        bytes.extend_from_slice(payload);
        ethernet::Repr { dst, src, ether_type: EtherType::length(bytes.len()) }.frame(&bytes)
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dsap == self.ssap {
            write!(f, "LLC {}", self.dsap)?;
        } else {
            write!(f, "LLC {} > {}", self.ssap, self.dsap)?;
        }
        match self.control {
            Control::UNNUMBERED_INFORMATION => Ok(()),
            Control::Unnumbered(control) => write!(f, " control {control:#04x}"),
            Control::Numbered([first, second]) => write!(f, " control {first:#04x} {second:#04x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use proptest::prelude::*;

    const SRC: MacAddr = MacAddr([2, 0, 0x5e, 0x10, 0, 2]);

    /// A TEST frame between null service access points, from which a bridge learns its source:
    /// the length counts three bytes, the rest is padding.
    #[test]
    fn a_test_frame_byte_by_byte() {
        let repr = Repr { dsap: Sap::NULL, ssap: Sap::NULL, control: Control::TEST };
        let mut expected = hex("ffffffffffff 02005e100002 0003 0000f3");
        expected.resize(60, 0);
        assert_eq!(repr.frame(SRC, MacAddr::BROADCAST, &[]), expected);
    }

    /// Information and supervisory frames have two bytes of control.
    #[test]
    fn numbered_frames_have_a_longer_header() {
        let (repr, rest) = Repr::parse(&[0x04, 0x05, 0x02, 0x08, 9]).unwrap();
        assert_eq!(repr.control, Control::Numbered([0x02, 0x08]));
        assert_eq!(rest, [9]);
        assert!(Repr::parse(&[0x04, 0x05, 0x02]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_read_is_written(bytes in proptest::collection::vec(any::<u8>(), 4..40)) {
            let (repr, rest) = Repr::parse(&bytes).unwrap();
            let mut written = vec![0; repr.header_len()];
            repr.emit(&mut written);
            written.extend_from_slice(rest);
            prop_assert_eq!(written, bytes);
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
        }
    }
}
