//! SipHash (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012) of messages of 15
//! bytes: the longest that fit into the block that also holds the length, and so the cheapest for
//! each byte. `bpf/signature.h` of the crate `ports` has the same in C.

const LENGTH: u64 = 15;

/// A 128-bit key, spread over the state with which every message begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct State([u64; 4]);

impl State {
    /// Of a key: its first eight bytes and its last, both little-endian.
    pub(crate) const fn new(k0: u64, k1: u64) -> Self {
        // "somepseudorandomlygeneratedbytes" (section 2.1).
        State([
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ])
    }

    /// Its words, for those who compute elsewhere.
    pub(crate) const fn words(self) -> [u64; 4] {
        self.0
    }

    /// SipHash-1-3 of a message of 15 bytes: eight in `first`, seven in `rest`, whose highest byte
    /// is ignored; both little-endian.
    #[inline]
    pub(crate) const fn hash13(self, first: u64, rest: u64) -> u64 {
        self.hash::<1, 3>(first, rest)
    }

    /// The same with as many rounds a block, and at the end, as wanted.
    #[inline]
    const fn hash<const C: u32, const D: u32>(mut self, first: u64, rest: u64) -> u64 {
        self.absorb::<C>(first);
        self.absorb::<C>(rest << 8 >> 8 | LENGTH << 56);
        self.0[2] ^= 0xff;
        let mut round = 0;
        while round < D {
            self.round();
            round += 1;
        }
        let [a, b, c, d] = self.0;
        a ^ b ^ c ^ d
    }

    #[inline]
    const fn absorb<const C: u32>(&mut self, word: u64) {
        self.0[3] ^= word;
        let mut round = 0;
        while round < C {
            self.round();
            round += 1;
        }
        self.0[0] ^= word;
    }

    /// SipRound (figure 2.1).
    #[inline]
    const fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.0;
        a = a.wrapping_add(b);
        b = b.rotate_left(13) ^ a;
        a = a.rotate_left(32);
        c = c.wrapping_add(d);
        d = d.rotate_left(16) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(21) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        c = c.rotate_left(32);
        self.0 = [a, b, c, d];
    }
}

/// Not shown: whoever knows it can forge test frames.
impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("State(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::hash::{DefaultHasher, Hasher};

    /// Appendix A of the paper: key 00 01 ... 0f, message 00 01 ... 0e, SipHash-2-4.
    #[test]
    fn the_papers_test_vector() {
        let state = State::new(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        assert_eq!(
            state.words(),
            [
                0x7469_6861_7371_6475,
                0x6b61_7f6d_656e_6665,
                0x6b7f_6261_6d67_7361,
                0x7b6b_696e_727e_6c7b,
            ],
            "the paper's state after initialisation"
        );
        let hash = state.hash::<2, 4>(0x0706_0504_0302_0100, 0x000e_0d0c_0b0a_0908);
        assert_eq!(hash, 0xa129_ca61_49be_45e5);
    }

    proptest! {
        /// The standard library's hasher is SipHash-1-3 with a key of zeroes.
        #[test]
        fn agrees_with_the_standard_library(message: [u8; 15]) {
            let mut theirs = DefaultHasher::new();
            theirs.write(&message);
            let mut bytes = [0; 16];
            bytes[..15].copy_from_slice(&message);
            let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
            prop_assert_eq!(State::new(0, 0).hash13(word(0), word(8)), theirs.finish());
        }

        /// A key counts: with one bit of it changed half of the bits of the hash change.
        #[test]
        fn every_bit_of_the_key_counts(k0: u64, k1: u64, bit in 0u32..128, first: u64, rest: u64) {
            let other = match bit {
                0..64 => State::new(k0 ^ 1 << bit, k1),
                _ => State::new(k0, k1 ^ 1 << (bit - 64)),
            };
            let changed = State::new(k0, k1).hash13(first, rest) ^ other.hash13(first, rest);
            prop_assert!((8..=56).contains(&changed.count_ones()), "{changed:064b}");
        }
    }
}
