//! The Internet checksum (RFC 1071), its pseudo headers, and its incremental update (RFC 1624).

use crate::DecodeError;
use crate::bytes::put_u16;
use crate::ipv4::Protocol;
use crate::{icmpv4, tcp, udp};
use std::net::{Ipv4Addr, Ipv6Addr};

/// A ones' complement sum being made, not yet folded. Each piece added is taken to start on a
/// 16-bit boundary; a last odd byte is padded with zero (RFC 1071 section 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sum(u64);

/// A long sum is made of so many bytes at a time.
const BLOCK_BYTES: usize = 64;

/// The folded sum of whole blocks, in the machine's own order of bytes until the end (RFC 1071 section 2B).
fn of_blocks(blocks: &[[u8; BLOCK_BYTES]]) -> u16 {
    u16::from_be(Sum(of_words(blocks)).folded())
}

#[cfg(target_arch = "x86_64")]
fn of_words(blocks: &[[u8; BLOCK_BYTES]]) -> u64 {
    #[target_feature(enable = "avx2")]
    fn by_wide_registers(blocks: &[[u8; BLOCK_BYTES]]) -> u64 {
        in_lanes(blocks)
    }
    match std::is_x86_feature_detected!("avx2") {
        // SAFETY: a safe function, compiled for what the processor has.
        #[allow(unsafe_code)]
        true => unsafe { by_wide_registers(blocks) },
        false => in_lanes(blocks),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn of_words(blocks: &[[u8; BLOCK_BYTES]]) -> u64 {
    in_lanes(blocks)
}

/// The sum of 32-bit words, as many beside each other as registers take.
#[inline(always)]
fn in_lanes(blocks: &[[u8; BLOCK_BYTES]]) -> u64 {
    let mut lanes = [0u64; BLOCK_BYTES / 4];
    for block in blocks {
        let (words, _) = block.as_chunks::<4>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane += u64::from(u32::from_ne_bytes(*word));
        }
    }
    lanes.iter().sum()
}

impl Sum {
    /// The empty sum.
    pub const ZERO: Sum = Sum(0);

    /// This sum and that of `bytes`. Several words at a time: with end-around carry, a sum of wider words
    /// folds to the same 16 bits (RFC 1071 section 2C).
    #[must_use]
    #[inline]
    pub fn bytes(self, bytes: &[u8]) -> Sum {
        let (blocks, rest) = bytes.as_chunks::<BLOCK_BYTES>();
        let long = if blocks.is_empty() { 0 } else { of_blocks(blocks) };
        let (words, rest) = rest.as_chunks::<4>();
        let short: u64 = words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum();
        let last = match *rest {
            [] => 0,
            [high] => u16::from_be_bytes([high, 0]),
            [high, low, ..] => u16::from_be_bytes([high, low]),
        };
        let odd = if let [_, _, high] = *rest { u16::from_be_bytes([high, 0]) } else { 0 };
        Sum(self.0 + u64::from(long) + short + u64::from(last) + u64::from(odd))
    }
    /// This sum and one 16-bit word.
    #[must_use]
    pub const fn word(self, word: u16) -> Sum {
        Sum(self.0 + word as u64)
    }
    /// The sum folded to 16 bits.
    #[inline]
    pub const fn folded(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }
    /// The checksum field: the complement of the folded sum.
    pub const fn checksum(self) -> u16 {
        !self.folded()
    }
}

/// The checksum of a whole structure whose checksum field is zero.
pub fn checksum(bytes: &[u8]) -> u16 {
    Sum::ZERO.bytes(bytes).checksum()
}

/// Views of messages whose checksum is that of all their bytes, and of nothing else.
macro_rules! of_whole_message {
    ($view:ident, $what:expr) => {
        impl<T: AsRef<[u8]>> $view<T> {
            /// Refuses a message with a wrong checksum.
            pub fn verify_checksum(&self) -> Result<(), $crate::DecodeError> {
                use $crate::checksum::{Sum, verify};
                verify($what, Sum::ZERO, self.0.as_ref(), self.checksum())
            }
        }

        impl<T: AsRef<[u8]> + AsMut<[u8]>> $view<T> {
            /// Computes and writes the checksum of all the bytes.
            pub fn fill_checksum(&mut self) {
                self.set_checksum(0);
                self.set_checksum($crate::checksum::checksum(self.0.as_ref()));
            }
        }
    };
}
pub(crate) use of_whole_message;

/// The checksum after one 16-bit word under it changed (RFC 1624 section 3, equation 3).
#[inline]
pub const fn update(checksum: u16, old_word: u16, new_word: u16) -> u16 {
    Sum(!checksum as u64).word(!old_word).word(new_word).checksum()
}

/// The addresses under a transport checksum: IPv4 (RFC 768, RFC 9293 section 3.1) or IPv6
/// (RFC 8200 section 8.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PseudoHeader {
    /// Source and destination of an IPv4 packet.
    V4(Ipv4Addr, Ipv4Addr),
    /// Source and final destination of an IPv6 packet.
    V6(Ipv6Addr, Ipv6Addr),
}

impl PseudoHeader {
    /// The pseudo header's sum for an upper-layer packet of `len_bytes`.
    pub fn sum(self, protocol: Protocol, len_bytes: usize) -> Sum {
        let addresses = match self {
            PseudoHeader::V4(src, dst) => Sum::ZERO.bytes(&src.octets()).bytes(&dst.octets()),
            PseudoHeader::V6(src, dst) => Sum::ZERO.bytes(&src.octets()).bytes(&dst.octets()),
        };
        addresses.word(u16::from(protocol.0)).bytes(&(len_bytes as u32).to_be_bytes())
    }
}

/// Where in its header a protocol above IP has its checksum; `None` for those that we know none of.
pub const fn place(protocol: Protocol) -> Option<usize> {
    match protocol {
        Protocol::UDP => Some(udp::CHECKSUM),
        Protocol::TCP => Some(tcp::CHECKSUM),
        Protocol::ICMPV4 | Protocol::ICMPV6 => Some(icmpv4::CHECKSUM),
        _ => None,
    }
}

/// Computes and writes the checksum of a protocol above IP over a whole segment, where we know of one.
pub fn fill(protocol: Protocol, addresses: PseudoHeader, segment: &mut [u8]) {
    let Some(at) = place(protocol) else { return };
    put_u16(segment, at, 0);
    let before = match protocol {
        Protocol::ICMPV4 => Sum::ZERO,
        _ => addresses.sum(protocol, segment.len()),
    };
    let checksum = before.bytes(segment).checksum();
    let is_udp = protocol == Protocol::UDP;
    put_u16(segment, at, if is_udp { udp::on_the_wire(checksum) } else { checksum });
}

/// Refuses `bytes` whose checksum, which was `found` in them, does not match them and what `before` sums.
#[inline]
pub(crate) fn verify(
    what: &'static str,
    before: Sum,
    bytes: &[u8],
    found: u16,
) -> Result<(), DecodeError> {
    let whole = before.bytes(bytes);
    if whole.folded() == 0xffff {
        return Ok(());
    }
    Err(DecodeError::Checksum { what, found, expected: whole.word(!found).checksum() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1071 section 3: the words 0001 f203 f4f5 f6f7 sum to ddf2.
    #[test]
    fn the_example_of_rfc1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::ZERO.bytes(&bytes).folded(), 0xddf2);
        assert_eq!(checksum(&bytes), 0x220d);
    }

    /// RFC 1624 section 4: where the method of RFC 1141 gives the wrong zero.
    #[test]
    fn the_example_of_rfc1624() {
        assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn an_odd_byte_is_padded_with_zero_on_its_right() {
        assert_eq!(checksum(&[0x12, 0x34, 0x56]), checksum(&[0x12, 0x34, 0x56, 0x00]));
    }

    /// With carries out of every word, and with none at all.
    #[test]
    fn long_sums_carry_around() {
        for len in [64, 65, 128, 1_480, 9_001] {
            assert_eq!(Sum::ZERO.bytes(&vec![0; len]).folded(), 0);
            // Words of ffff are zero in ones' complement; a last byte alone is ff00.
            let odd = if len % 2 == 1 { 0xff00 } else { 0xffff };
            assert_eq!(Sum::ZERO.bytes(&vec![0xff; len]).folded(), odd);
        }
    }

    proptest! {
        /// The definition itself: 16-bit words, one by one.
        #[test]
        fn wide_words_sum_like_narrow_ones(
            a in proptest::collection::vec(0u8.., 0..2_000), b: Vec<u8>,
        ) {
            let narrow = |bytes: &[u8]| -> u64 {
                bytes.chunks(2).map(|pair| match pair {
                    [high, low] => u64::from(u16::from_be_bytes([*high, *low])),
                    _ => u64::from(pair[0]) << 8,
                }).sum()
            };
            let total = narrow(&a) + narrow(&b);
            let folded = if total == 0 { 0 } else { ((total - 1) % 0xffff + 1) as u16 };
            prop_assert_eq!(Sum::ZERO.bytes(&a).bytes(&b).folded(), folded);
        }

        #[test]
        fn updating_equals_computing_anew(mut bytes in proptest::collection::vec(1u8.., 20),
                                          word in 0usize..10, new: u16) {
            let before = checksum(&bytes);
            let old = crate::bytes::u16_at(&bytes, 2 * word);
            crate::bytes::put_u16(&mut bytes, 2 * word, new);
            prop_assert_eq!(update(before, old, new), checksum(&bytes));
        }

        #[test]
        fn bytes_with_their_checksum_verify(mut bytes in proptest::collection::vec(0u8.., 4..99)) {
            crate::bytes::put_u16(&mut bytes, 2, 0);
            let field = checksum(&bytes);
            crate::bytes::put_u16(&mut bytes, 2, field);
            prop_assert_eq!(verify("test", Sum::ZERO, &bytes, field), Ok(()));
            bytes[0] ^= 1;
            let expected = DecodeError::Checksum {
                what: "test", found: field, expected: checksum(&without_field(&bytes)),
            };
            prop_assert_eq!(verify("test", Sum::ZERO, &bytes, field), Err(expected));
        }
    }

    fn without_field(bytes: &[u8]) -> Vec<u8> {
        let mut copy = bytes.to_vec();
        copy[2..4].fill(0);
        copy
    }
}
