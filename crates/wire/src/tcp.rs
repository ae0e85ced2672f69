//! TCP (RFC 9293).

use crate::DecodeError;
use crate::bytes::{put, require};
use crate::checksum::{self, PseudoHeader};
use crate::ipv4::Protocol;
use crate::view::{field, view};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Place of the source port in the header.
pub const SRC_PORT: usize = 0;
/// Place of the destination port in the header.
pub const DST_PORT: usize = 2;
/// Place of the checksum in the header.
pub const CHECKSUM: usize = 16;
/// Bytes of a header without options.
pub const HEADER_LEN: usize = 20;
/// Bytes of options that a header can hold.
pub const MAX_OPTIONS_LEN: usize = 40;
const WHAT: &str = "TCP segment";

/// Control bits, lowest first: FIN, SYN, RST, PSH, ACK, URG, ECE, CWR.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// Push.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgment number counts.
    pub const ACK: Flags = Flags(0x10);
}

impl std::ops::BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        let set = NAMES.iter().enumerate().filter(|(bit, _)| self.0 & 1 << bit != 0);
        let names: Vec<&str> = set.map(|(_, name)| *name).collect();
        f.write_str(if names.is_empty() { "no flags" } else { "" })?;
        f.write_str(&names.join("+"))
    }
}

field! { Flags(u8) }

view! {
    /// A segment as bytes.
    pub struct View(WHAT, HEADER_LEN), check: Self::check, payload: Self::payload_range;
    /// Source port.
    src_port / set_src_port: u16 = SRC_PORT;
    /// Destination port.
    dst_port / set_dst_port: u16 = DST_PORT;
    /// Sequence number.
    sequence / set_sequence: u32 = 4;
    /// Acknowledgment number.
    acknowledgment / set_acknowledgment: u32 = 8;
    /// The data offset: words of 4 bytes in the header.
    header_words / set_header_words: u8 = 12 as u8[4..8];
    /// Four bits that are zero.
    reserved / set_reserved: u8 = 12 as u8[0..4];
    /// Control bits.
    flags / set_flags: Flags = 13;
    /// Window.
    window / set_window: u16 = 14;
    /// The checksum.
    checksum / set_checksum: u16 = CHECKSUM;
    /// Urgent pointer.
    urgent / set_urgent: u16 = 18;
}

impl<T: AsRef<[u8]>> View<T> {
    #[inline]
    fn check(&self) -> Result<(), DecodeError> {
        if self.header_len() < HEADER_LEN {
            return Err(DecodeError::malformed(WHAT, "data offset below 20 bytes"));
        }
        require(WHAT, self.0.as_ref(), self.header_len())
    }
    #[inline]
    fn payload_range(&self) -> std::ops::Range<usize> {
        self.header_len()..self.0.as_ref().len()
    }
    /// Bytes of the header, options included.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.header_words()) * 4
    }
    /// The options, padding included.
    pub fn options(&self) -> &[u8] {
        self.0.as_ref().get(HEADER_LEN..self.header_len()).unwrap_or_default()
    }
    /// Refuses a segment with a wrong checksum.
    pub fn verify_checksum(&self, addresses: PseudoHeader) -> Result<(), DecodeError> {
        let segment = self.0.as_ref();
        let before = addresses.sum(Protocol::TCP, segment.len());
        checksum::verify(WHAT, before, segment, self.checksum())
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> View<T> {
    /// Computes and writes the checksum of all the bytes.
    pub fn fill_checksum(&mut self, addresses: PseudoHeader) {
        checksum::fill(Protocol::TCP, addresses, self.0.as_mut());
    }
}

/// A TCP header without its checksum, which needs the addresses: see [`verify`] and
/// [`fill_checksum`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgment number.
    pub acknowledgment: u32,
    /// Control bits.
    pub flags: Flags,
    /// Window.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
    /// Options, padded to a multiple of 4 bytes.
    pub options: Vec<u8>,
}

impl Repr {
    /// Reads a header; the payload is the rest of the IP packet.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let view = View::new_checked(bytes)?;
        let repr = Repr {
            src_port: view.src_port(),
            dst_port: view.dst_port(),
            sequence: view.sequence(),
            acknowledgment: view.acknowledgment(),
            flags: view.flags(),
            window: view.window(),
            urgent: view.urgent(),
            options: view.options().to_vec(),
        };
        Ok((repr, view.payload()))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub fn header_len(&self) -> usize {
        HEADER_LEN + self.options.len()
    }
    /// Writes the header with checksum 0, to be filled. Panics where `bytes` is too short, or the
    /// options are longer than [`MAX_OPTIONS_LEN`] or no multiple of 4 bytes.
    pub fn emit(&self, bytes: &mut [u8]) {
        let header_len = self.header_len();
        assert!(
            header_len.is_multiple_of(4) && self.options.len() <= MAX_OPTIONS_LEN,
            "TCP options of {} bytes",
            self.options.len()
        );
        put(bytes, HEADER_LEN, &self.options);
        let mut view = View::new_unchecked(bytes);
        view.set_src_port(self.src_port);
        view.set_dst_port(self.dst_port);
        view.set_sequence(self.sequence);
        view.set_acknowledgment(self.acknowledgment);
        view.set_header_words((header_len / 4) as u8);
        view.set_reserved(0);
        view.set_flags(self.flags);
        view.set_window(self.window);
        view.set_checksum(0);
        view.set_urgent(self.urgent);
    }
    /// A whole segment with its checksum.
    pub fn segment(&self, addresses: PseudoHeader, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; self.header_len()];
        self.emit(&mut bytes);
        bytes.extend_from_slice(payload);
        fill_checksum(addresses, &mut bytes);
        bytes
    }
}

/// Computes and writes the checksum of a whole segment.
pub fn fill_checksum(addresses: PseudoHeader, segment: &mut [u8]) {
    View::new_unchecked(segment).fill_checksum(addresses);
}

/// Checks the checksum of a whole segment.
pub fn verify(addresses: PseudoHeader, segment: &[u8]) -> Result<(), DecodeError> {
    require(WHAT, segment, HEADER_LEN)?;
    View::new_unchecked(segment).verify_checksum(addresses)
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (src, dst, sequence) = (self.src_port, self.dst_port, self.sequence);
        write!(f, "TCP {src} > {dst} {} sequence {sequence}", self.flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    /// RFC 9293 section 3.1 and, for the option, section 3.7.1 (kind 2, length 4, MSS 1460).
    #[rustfmt::skip]
    const SYN: [u8; 24] = [
        0xc0, 0x20, 0x00, 0x50,  0x00, 0x00, 0x00, 0x01,  0, 0, 0, 0,
        0x60, 0x02, 0xff, 0xff,  0, 0, 0, 0,  2, 4, 0x05, 0xb4,
    ];

    #[test]
    fn syn_with_mss_byte_vector() {
        let (repr, payload) = Repr::parse(&SYN).unwrap();
        assert_eq!((repr.src_port, repr.dst_port, repr.sequence), (49184, 80, 1));
        assert_eq!((repr.flags, repr.window), (Flags::SYN, 65_535));
        assert_eq!(repr.options, [2, 4, 5, 0xb4]);
        assert!(payload.is_empty());
        assert_eq!(repr.to_string(), "TCP 49184 > 80 SYN sequence 1");
        assert_eq!((Flags::SYN | Flags::ACK).to_string(), "SYN+ACK");
    }

    /// The checksum worked by hand: pseudo header c612+0102+c613+0102+0006+0018 is 18e47, the
    /// segment above is c020+0050+0001+6002+ffff+0204+05b4 or 2282a; together 3b671, folded
    /// b674, complement 498b.
    #[test]
    fn checksum_byte_vector() {
        let addresses =
            PseudoHeader::V4(Ipv4Addr::new(198, 18, 1, 2), Ipv4Addr::new(198, 19, 1, 2));
        let segment = Repr::parse(&SYN).unwrap().0.segment(addresses, &[]);
        assert_eq!(segment[16..18], [0x49, 0x8b]);
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed_and_verifies(ports: (u16, u16), numbers: (u32, u32),
                                                  flags: u8, window: u16, urgent: u16,
                                                  words in 0usize..=10, payload: Vec<u8>,
                                                  a: [u8; 4], b: [u8; 4], flip: usize) {
            let repr = Repr {
                src_port: ports.0, dst_port: ports.1,
                sequence: numbers.0, acknowledgment: numbers.1,
                flags: Flags(flags), window, urgent,
                options: vec![1; words * 4],
            };
            let addresses = PseudoHeader::V4(a.into(), b.into());
            let mut segment = repr.segment(addresses, &payload);
            prop_assert_eq!(Repr::parse(&segment), Ok((repr, &payload[..])));
            prop_assert_eq!(verify(addresses, &segment), Ok(()));
            let bit = flip % (segment.len() * 8);
            segment[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(verify(addresses, &segment).is_err());
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
            let _ = verify(PseudoHeader::V4(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST), &bytes);
        }
    }
}
