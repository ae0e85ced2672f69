//! Sequence numbers of control messages: 16 bits that start at 1 and wrap (RFC 998 section 5.2.1;
//! the wrap is our choice, in the arithmetic of RFC 1982).

use std::collections::BTreeSet;

/// How far `a` is ahead of `b`: below 32,768 where it is ahead or equal.
pub fn ahead(a: u16, b: u16) -> u16 {
    a.wrapping_sub(b)
}

/// Whether `a` is `b` or a number before it.
pub fn at_or_before(a: u16, b: u16) -> bool {
    ahead(b, a) < 1 << 15
}

/// What a sender of data knows of the control messages that have come.
#[derive(Clone, Debug, Default)]
pub struct Window {
    high_consecutive: u16,
    /// Those beyond a hole. At most 32,767, however hostile the peer.
    beyond: BTreeSet<u16>,
}

impl Window {
    /// The highest number below which none is missing; 0 before the first.
    pub fn high_consecutive(&self) -> u16 {
        self.high_consecutive
    }

    /// Whether a message has not come yet.
    pub fn is_new(&self, sequence: u16) -> bool {
        !at_or_before(sequence, self.high_consecutive) && !self.beyond.contains(&sequence)
    }

    /// Notes a message; false if it is old or a duplicate.
    pub fn accept(&mut self, sequence: u16) -> bool {
        if at_or_before(sequence, self.high_consecutive) || !self.beyond.insert(sequence) {
            return false;
        }
        while self.beyond.remove(&self.high_consecutive.wrapping_add(1)) {
            self.high_consecutive = self.high_consecutive.wrapping_add(1);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_holds_the_acknowledgement_until_it_is_filled() {
        let mut window = Window::default();
        assert!(window.accept(1) && window.accept(3) && window.accept(4));
        assert_eq!(window.high_consecutive(), 1);
        assert!(!window.accept(3), "duplicate beyond the hole");
        assert!(window.accept(2));
        assert_eq!(window.high_consecutive(), 4);
        assert!(!window.accept(2), "duplicate below");
    }

    #[test]
    fn numbers_wrap() {
        let mut window = Window::default();
        for number in 1..=200_000u32 {
            assert!(window.accept(number as u16));
        }
        assert_eq!(window.high_consecutive(), 200_000u32 as u16);
        assert!(!window.accept(window.high_consecutive().wrapping_sub(30_000)));
    }
}
