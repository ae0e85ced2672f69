//! Which sequence numbers arrived: one bit a frame, so that loss and duplication are exact.

use serde::{Deserialize, Serialize};

/// Bits in a chunk; a chunk that is full is given back.
const CHUNK_BITS: u64 = 1 << 15;
const WORDS: usize = (CHUNK_BITS / 64) as usize;

#[derive(Clone, Debug)]
enum Chunk {
    Untouched,
    Part(Box<[u64; WORDS]>, u32),
    Full,
}

/// A set of sequence numbers. Memory is one bit for each number near or behind a gap; runs
/// without a gap cost a word for each 32,768 numbers.
#[derive(Clone, Debug, Default)]
pub struct SeenSet {
    chunks: Vec<Chunk>,
    count: u64,
}

/// What is not in the set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Missing {
    /// How many numbers.
    pub count: u64,
    /// How many runs of neighbouring missing numbers: the gaps of RFC 2544 section 10.
    pub gaps: u64,
    /// The lowest.
    pub first: Option<u64>,
    /// The highest.
    pub last: Option<u64>,
    /// Length of the longest run.
    pub longest_gap: u64,
}

impl SeenSet {
    /// The largest number that can be held; more would be a corrupted number, not a frame.
    pub const MAX_SEQUENCE: u64 = 1 << 42;

    /// Adds a number; false where it was there already, or is beyond [`Self::MAX_SEQUENCE`].
    #[inline]
    pub fn insert(&mut self, sequence: u64) -> bool {
        if sequence > Self::MAX_SEQUENCE {
            return false;
        }
        let index = (sequence / CHUNK_BITS) as usize;
        if index >= self.chunks.len() {
            self.chunks.resize(index + 1, Chunk::Untouched);
        }
        let chunk = &mut self.chunks[index];
        if matches!(chunk, Chunk::Untouched) {
            *chunk = Chunk::Part(Box::new([0; WORDS]), 0);
        }
        let Chunk::Part(words, filled) = chunk else { return false };
        let bit = sequence % CHUNK_BITS;
        let word = &mut words[(bit / 64) as usize];
        if *word & (1 << (bit % 64)) != 0 {
            return false;
        }
        *word |= 1 << (bit % 64);
        *filled += 1;
        if u64::from(*filled) == CHUNK_BITS {
            *chunk = Chunk::Full;
        }
        self.count += 1;
        true
    }

    /// A set counted elsewhere (in the kernel): bit `n % 64` of word `n / 64` stands for `n`.
    pub fn from_words(words: &[u64]) -> Self {
        let mut set = SeenSet::default();
        for chunk in words.chunks(WORDS) {
            let filled = chunk.iter().map(|word| word.count_ones()).sum::<u32>();
            set.count += u64::from(filled);
            set.chunks.push(match u64::from(filled) {
                0 => Chunk::Untouched,
                CHUNK_BITS => Chunk::Full,
                _ => {
                    let mut part = Box::new([0; WORDS]);
                    part[..chunk.len()].copy_from_slice(chunk);
                    Chunk::Part(part, filled)
                }
            });
        }
        set
    }

    /// Adds the numbers of another set; gives the runs of those that both had: from one, up to before another.
    pub fn add(&mut self, other: &SeenSet) -> Vec<(u64, u64)> {
        let mut both = vec![];
        self.chunks.resize(self.chunks.len().max(other.chunks.len()), Chunk::Untouched);
        for ((index, chunk), other) in (0u64..).zip(&mut self.chunks).zip(&other.chunks) {
            let before = chunk.filled();
            let first = index * CHUNK_BITS;
            both.extend(chunk.add(other).into_iter().map(|(from, to)| (first + from, first + to)));
            self.count += u64::from(chunk.filled() - before);
        }
        both
    }

    /// Whether the number was added.
    pub fn contains(&self, sequence: u64) -> bool {
        match self.chunks.get((sequence / CHUNK_BITS) as usize) {
            None | Some(Chunk::Untouched) => false,
            Some(Chunk::Full) => true,
            Some(Chunk::Part(words, _)) => {
                let bit = sequence % CHUNK_BITS;
                words[(bit / 64) as usize] & (1 << (bit % 64)) != 0
            }
        }
    }

    /// How many different numbers were added.
    pub const fn len(&self) -> u64 {
        self.count
    }
    /// Whether nothing was added.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Runs of neighbouring numbers that were added: from one, up to before another, ascending. A run
    /// may be told in several parts.
    pub fn runs(&self) -> impl Iterator<Item = (u64, u64)> {
        let chunks = (0u64..).zip(&self.chunks);
        chunks.flat_map(|(index, chunk)| {
            let first = index * CHUNK_BITS;
            let (whole, words): (_, &[u64]) = match chunk {
                Chunk::Untouched => (None, &[]),
                Chunk::Full => (Some((first, first + CHUNK_BITS)), &[]),
                Chunk::Part(words, _) => (None, &words[..]),
            };
            let words = (0u64..).zip(words);
            let parts = words.flat_map(move |(place, word)| runs_of(first + place * 64, *word));
            whole.into_iter().chain(parts)
        })
    }

    /// What is missing of the numbers below `sent`.
    pub fn missing_below(&self, sent: u64) -> Missing {
        let mut missing = Missing::default();
        let mut run = 0;
        let mut sequence = 0;
        while sequence < sent {
            let end = (sequence / CHUNK_BITS + 1) * CHUNK_BITS;
            match self.chunks.get((sequence / CHUNK_BITS) as usize) {
                Some(Chunk::Full) => {}
                Some(Chunk::Part(..)) => {
                    for number in sequence..end.min(sent) {
                        if !self.contains(number) {
                            missing.add_run(&mut run, number, 1);
                        }
                    }
                }
                None | Some(Chunk::Untouched) => {
                    missing.add_run(&mut run, sequence, end.min(sent) - sequence);
                }
            }
            sequence = end;
        }
        missing
    }
}

impl Chunk {
    /// How many of its numbers are in the set.
    fn filled(&self) -> u32 {
        match self {
            Chunk::Untouched => 0,
            Chunk::Part(_, filled) => *filled,
            Chunk::Full => CHUNK_BITS as u32,
        }
    }

    fn word(&self, at: usize) -> u64 {
        match self {
            Chunk::Untouched => 0,
            Chunk::Part(words, _) => words[at],
            Chunk::Full => u64::MAX,
        }
    }

    /// Adds another; gives the runs of numbers that both have, from the first of the chunk on.
    fn add(&mut self, other: &Chunk) -> Vec<(u64, u64)> {
        let mut both = vec![];
        let mut joined = Box::new([0; WORDS]);
        for (at, word) in joined.iter_mut().enumerate() {
            let (one, two) = (self.word(at), other.word(at));
            *word = one | two;
            both.extend(runs_of(at as u64 * 64, one & two));
        }
        let filled = joined.iter().map(|word| word.count_ones()).sum::<u32>();
        *self = match u64::from(filled) {
            0 => Chunk::Untouched,
            CHUNK_BITS => Chunk::Full,
            _ => Chunk::Part(joined, filled),
        };
        both
    }
}

/// Runs of ones in a word whose lowest bit stands for `first`.
fn runs_of(first: u64, mut word: u64) -> impl Iterator<Item = (u64, u64)> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let from = word.trailing_zeros();
        let length = (word >> from).trailing_ones();
        let ones = u64::MAX >> (64 - length);
        word &= !(ones << from);
        Some((first + u64::from(from), first + u64::from(from + length)))
    })
}

impl Missing {
    /// Takes in missing numbers at or after the end of the last ones; `run` is the length of the
    /// run that ends at `last`.
    fn add_run(&mut self, run: &mut u64, from: u64, length: u64) {
        let continues = self.last.is_some_and(|last| last + 1 == from);
        self.gaps += u64::from(!continues);
        *run = if continues { *run + length } else { length };
        self.longest_gap = self.longest_gap.max(*run);
        self.count += length;
        self.first.get_or_insert(from);
        self.last = Some(from + length - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn gaps_are_runs_of_missing_numbers() {
        let mut seen = SeenSet::default();
        for sequence in [0, 1, 4, 5, 9] {
            assert!(seen.insert(sequence));
        }
        assert!(!seen.insert(4), "a second arrival is a duplicate");
        let missing = seen.missing_below(12);
        assert_eq!((missing.count, missing.gaps, missing.longest_gap), (7, 3, 3));
        assert_eq!((missing.first, missing.last), (Some(2), Some(11)));
    }

    #[test]
    fn a_gap_may_span_chunks() {
        let mut seen = SeenSet::default();
        seen.insert(0);
        seen.insert(3 * CHUNK_BITS);
        let missing = seen.missing_below(3 * CHUNK_BITS + 1);
        assert_eq!((missing.count, missing.gaps), (3 * CHUNK_BITS - 1, 1));
        assert_eq!(missing.longest_gap, 3 * CHUNK_BITS - 1);
    }

    #[test]
    fn full_chunks_are_given_back() {
        let mut seen = SeenSet::default();
        (0..2 * CHUNK_BITS).for_each(|sequence| assert!(seen.insert(sequence)));
        assert!(seen.chunks.iter().all(|chunk| matches!(chunk, Chunk::Full)));
        assert!(!seen.insert(7), "still known as seen");
        assert_eq!(seen.missing_below(2 * CHUNK_BITS), Missing::default());
    }

    proptest! {
        #[test]
        fn two_sets_add_up(
            one in prop::collection::vec(0u64..70_000, 0..400),
            two in prop::collection::vec(0u64..70_000, 0..400),
            whole in 0u64..3,
        ) {
            let set = |numbers: Vec<u64>, whole: u64| -> (SeenSet, BTreeSet<u64>) {
                let numbers: BTreeSet<u64> = numbers.into_iter().chain(0..whole * CHUNK_BITS).collect();
                let mut seen = SeenSet::default();
                numbers.iter().for_each(|number| { seen.insert(*number); });
                (seen, numbers)
            };
            let ((mut seen, one), (other, two)) = (set(one, whole), set(two, 2 - whole));
            let both: Vec<u64> = seen.add(&other).into_iter().flat_map(|(from, to)| from..to).collect();
            prop_assert_eq!(both, one.intersection(&two).copied().collect::<Vec<_>>());
            let told: Vec<u64> = seen.runs().flat_map(|(from, to)| from..to).collect();
            prop_assert_eq!(seen.len(), told.len() as u64);
            prop_assert_eq!(told, one.union(&two).copied().collect::<Vec<_>>());
        }

        #[test]
        fn agrees_with_an_ordinary_set(numbers in prop::collection::vec(0u64..70_000, 0..400)) {
            let mut seen = SeenSet::default();
            let mut set = BTreeSet::new();
            let mut words = vec![0u64; 70_000 / 64 + 1];
            for number in numbers {
                prop_assert_eq!(seen.insert(number), set.insert(number));
                words[(number / 64) as usize] |= 1 << (number % 64);
            }
            let missing = seen.missing_below(70_000);
            prop_assert_eq!(missing.count, 70_000 - set.len() as u64);
            prop_assert_eq!(missing.last, (0..70_000).rev().find(|n| !set.contains(n)));
            prop_assert_eq!(SeenSet::from_words(&words).missing_below(70_000), missing);
            let told: Vec<u64> = seen.runs().flat_map(|(from, to)| from..to).collect();
            prop_assert_eq!(told, set.into_iter().collect::<Vec<_>>());
        }
    }
}
