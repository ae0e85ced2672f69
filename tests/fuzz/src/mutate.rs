//! Inputs made of other inputs, the same ones for the same seed.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Values at which lengths and counts go wrong.
const EDGES: [u64; 12] =
    [0, 1, 2, 4, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff];
/// Inputs grow no longer.
const LONGEST: usize = 4_096;

/// Makes inputs of seeds.
pub struct Mutator {
    random: Xoshiro256PlusPlus,
}

impl Mutator {
    /// One whose inputs are determined by this number.
    pub fn new(seed: u64) -> Mutator {
        Mutator { random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// One of the seeds with one to eight changes.
    pub fn mutation_of(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(8) {
            self.change(&mut bytes, seeds);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        if bytes.is_empty() {
            return bytes.push(self.random.next_u64() as u8);
        }
        let at = self.below(bytes.len());
        match self.below(8) {
            0 => bytes[at] ^= 1 << self.below(8),
            1 => bytes[at] = self.random.next_u64() as u8,
            2 => self.put_edge(&mut bytes[at..]),
            3 => bytes.truncate(at),
            4 => bytes.insert(at, self.random.next_u64() as u8),
            5 => {
                let end = at + self.below(bytes.len() - at).min(16);
                bytes.drain(at..end);
            }
            6 => {
                let end = at + self.below(bytes.len() - at);
                let piece = bytes[at..end].to_vec();
                let to = self.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => {
                let other = &seeds[self.below(seeds.len())];
                let from = self.below(other.len().max(1)).min(other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
    }

    /// A value at the edge of 1, 2 or 4 bytes, in either byte order.
    fn put_edge(&mut self, place: &mut [u8]) {
        let value = EDGES[self.below(EDGES.len())];
        let width = (1 << self.below(3)).min(place.len());
        match self.below(2) {
            0 => place[..width].copy_from_slice(&value.to_be_bytes()[8 - width..]),
            _ => place[..width].copy_from_slice(&value.to_le_bytes()[..width]),
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.random.next_u64() % bound as u64) as usize
    }
}
