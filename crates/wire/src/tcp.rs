//! TCP (RFC 9293).

use crate::DecodeError;
use crate::bytes::{put, put_u16, put_u32, require, u16_at, u32_at};
use crate::checksum::{self, PseudoHeader};
use crate::ipv4::Protocol;
use serde::{Deserialize, Serialize};
use std::fmt;

const SRC_PORT: usize = 0;
const DST_PORT: usize = 2;
const SEQUENCE: usize = 4;
const ACKNOWLEDGMENT: usize = 8;
const OFFSET_FLAGS: usize = 12;
const WINDOW: usize = 14;
const CHECKSUM: usize = 16;
const URGENT: usize = 18;
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
        require(WHAT, bytes, HEADER_LEN)?;
        let header_len = usize::from(bytes[OFFSET_FLAGS] >> 4) * 4;
        if header_len < HEADER_LEN {
            return Err(DecodeError::malformed(WHAT, "data offset below 20 bytes"));
        }
        require(WHAT, bytes, header_len)?;
        let repr = Repr {
            src_port: u16_at(bytes, SRC_PORT),
            dst_port: u16_at(bytes, DST_PORT),
            sequence: u32_at(bytes, SEQUENCE),
            acknowledgment: u32_at(bytes, ACKNOWLEDGMENT),
            flags: Flags(bytes[OFFSET_FLAGS + 1]),
            window: u16_at(bytes, WINDOW),
            urgent: u16_at(bytes, URGENT),
            options: bytes[HEADER_LEN..header_len].to_vec(),
        };
        Ok((repr, &bytes[header_len..]))
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
        put_u16(bytes, SRC_PORT, self.src_port);
        put_u16(bytes, DST_PORT, self.dst_port);
        put_u32(bytes, SEQUENCE, self.sequence);
        put_u32(bytes, ACKNOWLEDGMENT, self.acknowledgment);
        bytes[OFFSET_FLAGS] = (header_len as u8 / 4) << 4;
        bytes[OFFSET_FLAGS + 1] = self.flags.0;
        put_u16(bytes, WINDOW, self.window);
        put_u16(bytes, CHECKSUM, 0);
        put_u16(bytes, URGENT, self.urgent);
        put(bytes, HEADER_LEN, &self.options);
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
    put_u16(segment, CHECKSUM, 0);
    let sum = addresses.sum(Protocol::TCP, segment.len()).bytes(segment);
    put_u16(segment, CHECKSUM, sum.checksum());
}

/// Checks the checksum of a whole segment.
pub fn verify(addresses: PseudoHeader, segment: &[u8]) -> Result<(), DecodeError> {
    require(WHAT, segment, HEADER_LEN)?;
    let before = addresses.sum(Protocol::TCP, segment.len());
    checksum::verify(WHAT, before, segment, CHECKSUM)
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
