//! Which bytes of a file are here, and how that is said in a client string.

use std::ops::Range;

/// Ranges that neither touch nor overlap, in rising order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ranges(Vec<Range<u64>>);

impl Ranges {
    /// Adds a range.
    pub fn insert(&mut self, new: Range<u64>) {
        if new.is_empty() {
            return;
        }
        let first = self.0.partition_point(|old| old.end < new.start);
        let beyond = self.0.partition_point(|old| old.start <= new.end);
        let merged = self.0[first..beyond]
            .iter()
            .fold(new, |all, old| all.start.min(old.start)..all.end.max(old.end));
        self.0.splice(first..beyond, [merged]);
    }
    /// The ranges.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().cloned()
    }
    /// Bytes in them.
    pub fn len_bytes(&self) -> u64 {
        self.iter().map(|range| range.end - range.start).sum()
    }
    /// Whether all bytes of the others are in these.
    pub fn contains(&self, others: &Ranges) -> bool {
        others.iter().all(|other| {
            self.iter().any(|range| range.start <= other.start && other.end <= range.end)
        })
    }
    /// What of a file of `size` bytes is not in them.
    pub fn missing(&self, size: u64) -> Ranges {
        let mut gaps = Vec::new();
        let mut at = 0;
        for range in self.iter() {
            if at < range.start.min(size) {
                gaps.push(at..range.start.min(size));
            }
            at = at.max(range.end);
        }
        if at < size {
            gaps.push(at..size);
        }
        Ranges(gaps)
    }
    /// The same or less, so that its text has at most `most` characters: what is left out is sent
    /// again. The smallest ranges go first.
    pub fn abridged(&self, most: usize) -> Ranges {
        // A peer decides how many there are, so that each is looked at once.
        let mut kept = self.0.clone();
        kept.sort_by_key(|range| std::cmp::Reverse((range.end - range.start, range.start)));
        let mut chars = 0;
        let mut fits = |range: &Range<u64>| {
            chars += text_chars(range) + usize::from(chars > 0);
            chars <= most
        };
        let count = kept.iter().take_while(|range| fits(range)).count();
        kept.truncate(count);
        kept.sort_by_key(|range| range.start);
        Ranges(kept)
    }
    /// The place in the file of byte `at` of these ranges laid end to end, and how many bytes
    /// follow it there; None beyond the end.
    pub fn locate(&self, mut at: u64) -> Option<(u64, u64)> {
        for range in self.iter() {
            let len = range.end - range.start;
            if at < len {
                return Some((range.start + at, len - at));
            }
            at -= len;
        }
        None
    }
    /// Reads what [`Display`](std::fmt::Display) wrote.
    pub fn parse(text: &str) -> Option<Ranges> {
        let mut ranges = Ranges::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (start, end) = part.split_once('-')?;
            let range = start.parse().ok()?..end.parse().ok()?;
            if range.start >= range.end {
                return None;
            }
            ranges.insert(range);
        }
        Some(ranges)
    }
}

/// Characters of a range's text: two numbers and a hyphen.
fn text_chars(range: &Range<u64>) -> usize {
    let digits = |number: u64| number.checked_ilog10().map_or(1, |log| log as usize + 1);
    digits(range.start) + 1 + digits(range.end)
}

impl std::fmt::Display for Ranges {
    /// `0-4096,8192-9000`: from the first byte to the one after the last.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, Range { start, end }) in self.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{start}-{end}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_missing_lies_between() {
        let mut here = Ranges::default();
        [10..20, 30..40, 20..25].into_iter().for_each(|range| here.insert(range));
        assert_eq!(here.to_string(), "10-25,30-40");
        assert_eq!(here.missing(50).to_string(), "0-10,25-30,40-50");
        assert_eq!(here.missing(35).to_string(), "0-10,25-30");
        assert_eq!(here.missing(5).to_string(), "0-5");
        assert_eq!(here.missing(50).locate(12), Some((27, 3)));
        assert_eq!(here.missing(50).locate(25), None);
    }

    #[test]
    fn a_long_text_leaves_the_smallest_out() {
        let mut here = Ranges::default();
        [0..100, 200..201, 300..350].into_iter().for_each(|range| here.insert(range));
        assert_eq!(here.abridged(100), here);
        assert_eq!(here.abridged(14).to_string(), "0-100,300-350");
        assert_eq!(here.abridged(0), Ranges::default());
    }

    /// A file of which every other packet came. Written out once for each that is left out, a million would take weeks.
    #[test]
    fn a_million_ranges_are_abridged_in_one_pass() {
        let here = Ranges((0..1_000_000).map(|at| 2000 * at..2000 * at + 1000).collect());
        let kept = here.abridged(600);
        assert!((590..=600).contains(&kept.to_string().len()), "{kept}");
        assert!(here.contains(&kept));
    }

    proptest! {
        /// The definition itself: the smallest goes, and of equals the first, until the text is short enough.
        #[test]
        fn what_is_left_out_is_the_smallest(
            parts in proptest::collection::vec((0u64..12_000, 1u64..40), 0..60), most in 0usize..300,
        ) {
            let mut ranges = Ranges::default();
            parts.into_iter().for_each(|(start, len)| ranges.insert(start..start + len));
            let mut kept = ranges.clone();
            while kept.to_string().len() > most {
                let smallest = (0..kept.0.len()).min_by_key(|&at| kept.0[at].end - kept.0[at].start);
                kept.0.remove(smallest.expect("no text is too long that has none"));
            }
            prop_assert_eq!(ranges.abridged(most), kept);
        }

        /// The definition itself, byte by byte.
        #[test]
        fn ranges_are_sets_of_bytes(parts in proptest::collection::vec((0u64..60, 0u64..9), 0..9)) {
            let mut ranges = Ranges::default();
            let mut bytes = [false; 80];
            for (start, len) in parts {
                ranges.insert(start..start + len);
                (start..start + len).for_each(|at| bytes[at as usize] = true);
            }
            let here = |at: u64, ranges: &Ranges| ranges.iter().any(|range| range.contains(&at));
            for at in 0..80 {
                prop_assert_eq!(here(at, &ranges), bytes[at as usize]);
                prop_assert_eq!(here(at, &ranges.missing(80)), !bytes[at as usize]);
                let mut more = ranges.clone();
                more.insert(at..at + 1);
                prop_assert!(more.contains(&ranges));
                prop_assert_eq!(ranges.contains(&more), bytes[at as usize]);
            }
            prop_assert!(ranges.0.windows(2).all(|pair| pair[0].end < pair[1].start));
            prop_assert_eq!(Ranges::parse(&ranges.to_string()), Some(ranges));
        }
    }
}
