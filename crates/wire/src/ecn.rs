//! Explicit congestion notification: the two bits of IP's header by which a network marks a packet in place of dropping
//! it (RFC 3168 section 5).

/// What the two bits say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Codepoint {
    /// Not-ECT: a network drops it where there is no room.
    #[default]
    NotCapable,
    /// ECT(0): a network may mark it instead.
    Capable,
    /// ECT(1): a network may mark it, early and often, and the sender slows down by the share of marks (RFC 9331
    /// section 4.1).
    Scalable,
    /// CE: a network did.
    Marked,
}

impl Codepoint {
    /// Of the octet in IPv4's header or IPv6's that has it in its two lowest bits.
    pub fn of_octet(octet: u8) -> Codepoint {
        match octet & 0b11 {
            0b00 => Codepoint::NotCapable,
            0b01 => Codepoint::Scalable,
            0b10 => Codepoint::Capable,
            _ => Codepoint::Marked,
        }
    }
    /// Whether a network may mark the packet: ECT(0) or ECT(1) (RFC 3168 section 5).
    pub fn may_be_marked(self) -> bool {
        matches!(self, Codepoint::Capable | Codepoint::Scalable)
    }
    /// That octet, of a packet without a traffic class.
    pub fn octet(self) -> u8 {
        match self {
            Codepoint::NotCapable => 0b00,
            Codepoint::Scalable => 0b01,
            Codepoint::Capable => 0b10,
            Codepoint::Marked => 0b11,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3168 section 5, figure 1.
    #[test]
    fn two_bits_are_four_codepoints() {
        let all = [0b00, 0b01, 0b10, 0b11].map(|bits| Codepoint::of_octet(0xb8 | bits));
        use Codepoint::{Capable, Marked, NotCapable, Scalable};
        assert_eq!(all, [NotCapable, Scalable, Capable, Marked]);
        assert_eq!(all.map(Codepoint::octet), [0, 1, 2, 3]);
        assert_eq!(all.map(Codepoint::may_be_marked), [false, true, true, false]);
    }
}
