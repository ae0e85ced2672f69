//! Which counts came already (as RFC 6479 does it for IPsec: a ring of words of bits).

const WORDS: usize = 128;
/// So many of the newest counts are known. The word that is being filled was cleared as a whole, so
/// that the counts before it in its place are not.
const KNOWN: u64 = 64 * (WORDS as u64 - 1);

/// Counts that came, among the newest.
#[derive(Clone, Debug)]
pub struct Window {
    /// One more than the highest count that came.
    next: u64,
    came: Box<[u64; WORDS]>,
}

impl Window {
    /// Nothing came.
    pub fn new() -> Self {
        Window { next: 0, came: Box::new([0; WORDS]) }
    }

    /// Whether a count may still come: it has not, and is not too old to tell.
    pub fn may_come(&self, count: u64) -> bool {
        count < u64::MAX
            && (count >= self.next
                || (self.next - count <= KNOWN && self.came[word(count)] & bit(count) == 0))
    }

    /// It came, and was genuine.
    pub fn came(&mut self, count: u64) {
        if count >= self.next {
            // Words that begin anew, all of them after a great leap.
            let (first, last) = (self.next.div_ceil(64), count / 64);
            let first = first.max(last.saturating_sub(WORDS as u64 - 1));
            (first..=last).for_each(|number| self.came[number as usize % WORDS] = 0);
            self.next = count + 1;
        }
        self.came[word(count)] |= bit(count);
    }
}

fn word(count: u64) -> usize {
    (count / 64) as usize % WORDS
}
fn bit(count: u64) -> u64 {
    1 << (count % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a set that forgets nothing.
        #[test]
        fn every_count_comes_once_and_none_that_is_too_old(
            steps in prop::collection::vec((0u64..20_000, any::<bool>()), 1..400),
        ) {
            let (mut window, mut all, mut highest) = (Window::new(), BTreeSet::new(), 0u64);
            for (step, back) in steps {
                let count = if back { highest.saturating_sub(step) } else { highest + step % 300 };
                let may = window.may_come(count);
                if may {
                    prop_assert!(!all.contains(&count), "{count} twice");
                    window.came(count);
                } else {
                    prop_assert!(all.contains(&count) || highest + 1 - count > KNOWN);
                }
                if may {
                    all.insert(count);
                    highest = highest.max(count);
                }
            }
        }
    }

    #[test]
    fn a_leap_forgets_everything_before() {
        let mut window = Window::new();
        (0..100).for_each(|count| window.came(count));
        window.came(1 << 40);
        assert!(!window.may_come(50) && !window.may_come(1 << 40));
        assert!(window.may_come((1 << 40) - 1) && window.may_come((1 << 40) + 1));
        assert!(!window.may_come(u64::MAX), "no count follows it");
    }
}
