//! Where the receive program keeps the bit of a frame that it has seen (`seen_bit` there).
//!
//! Frames that leave by different queues arrive, as a rule, on different processors. Were their bits in the order of
//! sequence numbers, all processors would write the same lines of the cache. So numbers are taken in blocks of a line for
//! each queue, and number `n` of a block has its bit in line `n mod queues`:
//!
//! ```text
//! numbers of a block, 2 queues   0 1 2 3 4 5 ... 1022 1023
//! line 0                         0 2 4 ... 1022
//! line 1                         1 3 5 ... 1023
//! ```

use trial::ExpectedStream;

/// Words of a line of the cache.
const LINE_WORDS: usize = 8;

/// Lines of a block are so many, of which this is the logarithm: a power of two of at least the queues that send.
pub(super) fn queues_log2(stream: &ExpectedStream) -> u32 {
    let queues = stream.by_queues.map_or(1, |by| u32::from(by.queues));
    queues.next_power_of_two().ilog2()
}

/// Words with a bit for each of so many numbers; whole blocks where there are several queues.
pub(super) fn words(numbers: u64, queues_log2: u32) -> usize {
    let words = numbers.div_ceil(64) as usize;
    if queues_log2 == 0 { words } else { words.next_multiple_of(LINE_WORDS << queues_log2) }
}

/// The bits in the order of numbers.
pub(super) fn in_order(words: Vec<u64>, queues_log2: u32) -> Vec<u64> {
    if queues_log2 == 0 {
        return words;
    }
    words
        .chunks(LINE_WORDS << queues_log2)
        .flat_map(|block| block_in_order(block, queues_log2))
        .collect()
}

fn block_in_order(block: &[u64], queues_log2: u32) -> Vec<u64> {
    let first = block[0];
    if (first == 0 || first == u64::MAX) && block.iter().all(|word| *word == first) {
        return block.to_vec();
    }
    let mut ordered = vec![0u64; block.len()];
    for (at, word) in block.iter().enumerate() {
        let (queue, mut left) = (at / LINE_WORDS, *word);
        while left != 0 {
            let bit = (at % LINE_WORDS) * 64 + left.trailing_zeros() as usize;
            let number = (bit << queues_log2) + queue;
            ordered[number / 64] |= 1 << (number % 64);
            left &= left - 1;
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the program has it.
    fn seen_bit(number: u64, queues_log2: u32) -> u64 {
        let in_block = number % (512 << queues_log2);
        let queue = in_block % (1 << queues_log2);
        number - in_block + queue * 512 + (in_block >> queues_log2)
    }

    #[test]
    fn every_number_has_a_bit_of_its_own_and_comes_back() {
        for queues_log2 in 0..=4 {
            let numbers: Vec<u64> = (0..40_000).filter(|n| n % 7 != 3 && n / 9_000 != 2).collect();
            let mut seen = vec![0u64; words(40_000, queues_log2)];
            for number in &numbers {
                let bit = seen_bit(*number, queues_log2);
                assert_eq!(seen[bit as usize / 64] >> (bit % 64) & 1, 0, "{number} of its own");
                seen[bit as usize / 64] |= 1 << (bit % 64);
            }
            let ordered = in_order(seen, queues_log2);
            let back: Vec<u64> = (0..ordered.len() as u64 * 64)
                .filter(|n| ordered[*n as usize / 64] >> (n % 64) & 1 == 1)
                .collect();
            assert_eq!(back, numbers, "{queues_log2}");
        }
    }

    #[test]
    fn queues_write_lines_of_their_own() {
        let line = |number| seen_bit(number, 1) / 512;
        let [even, odd] = [0, 1].map(|first| {
            (first..100_000).step_by(2).map(line).collect::<std::collections::BTreeSet<_>>()
        });
        assert!(even.is_disjoint(&odd));
    }
}
