//! What is missing at the receiver though it has not been asked for yet.
//!
//! The receiver says OK in the order in which buffers become whole, and numbers what it says. A buffer that
//! left later than another and became whole earlier has overtaken it: some of the other was lost, or it
//! comes late. That is known once no message before that OK is missing.

use crate::sequence::at_or_before;
use std::collections::VecDeque;

/// Packets that must have overtaken a buffer for it to count as lost: RFC 5681 section 3.2 has three duplicate
/// acknowledgements, RFC 9002 section 6.1.1 three packets.
pub const OVERTAKEN_BY: u64 = 3;
/// OKs that may wait for messages before them. Those beyond say nothing; the next ones do.
const MOST_WAITING: usize = 4096;

/// OKs of buffers that were whole at the first attempt.
#[derive(Clone, Debug, Default)]
pub struct Gaps {
    /// Those before which messages are missing: their numbers, and the number of packets that had left
    /// with the buffer.
    waiting: VecDeque<(u16, u64)>,
    /// Of that number, the highest that is known to have arrived.
    arrived: u64,
}

impl Gaps {
    /// An OK came. Packets had left up to number `end` when its buffer had.
    pub fn arrived(&mut self, sequence: u16, end: u64) {
        if self.waiting.len() < MOST_WAITING {
            self.waiting.push_back((sequence, end));
        }
    }

    /// All messages up to `high_consecutive` have come. Gives the number of packets up to which
    /// everything has been overtaken that is not OK, if that is news.
    pub fn advance(&mut self, high_consecutive: u16) -> Option<u64> {
        let before = self.arrived;
        let arrived = &mut self.arrived;
        self.waiting.retain(|(sequence, end)| {
            let known = at_or_before(*sequence, high_consecutive);
            if known {
                *arrived = (*arrived).max(*end);
            }
            !known
        });
        (self.arrived > before).then_some(self.arrived)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ok_tells_of_gaps_once_no_message_before_it_is_missing() {
        let mut gaps = Gaps::default();
        gaps.arrived(2, 8);
        gaps.arrived(5, 24);
        assert_eq!(gaps.advance(3), Some(8));
        assert_eq!(gaps.advance(4), None, "4 may be the OK of what seems to be missing");
        assert_eq!(gaps.advance(5), Some(24));
        gaps.arrived(7, 16);
        assert_eq!(gaps.advance(7), None, "an older buffer says nothing new");
    }

    #[test]
    fn message_numbers_wrap() {
        let mut gaps = Gaps::default();
        gaps.arrived(2, 80);
        assert_eq!(gaps.advance(u16::MAX), None);
        assert_eq!(gaps.advance(2), Some(80));
    }
}
