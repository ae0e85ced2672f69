//! Explicit congestion notification (RFC 3168) for data packets: a network that would drop a packet marks it instead.
//!
//! NETBLT has no field for it. Where the ends have agreed and a data packet came with a mark, each CONTROL packet from then on
//! says how many data packets came in all, and how many of them were marked; behind the packet, where its length
//! says that it is over, as [`crate::identity`] does.

use wire::ecn::Codepoint;

/// What the addition begins with.
const MAGIC: [u8; 4] = *b"NBce";
/// Bytes of it.
pub const MARKS_LEN: usize = 12;

/// Data packets that came since the beginning, modulo 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marks {
    /// In all, each time that one came.
    pub packets: u32,
    /// With a mark.
    pub marked: u32,
}

impl Marks {
    /// One more came.
    pub fn count(&mut self, codepoint: Codepoint) {
        self.packets = self.packets.wrapping_add(1);
        self.marked = self.marked.wrapping_add(u32::from(codepoint == Codepoint::Marked));
    }
    /// What came since it was so many.
    pub fn since(self, before: Marks) -> Marks {
        Marks {
            packets: self.packets.wrapping_sub(before.packets),
            marked: self.marked.wrapping_sub(before.marked),
        }
    }
    /// Adds this behind the CONTROL packet that ends `out`.
    pub fn say(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.packets.to_be_bytes());
        out.extend_from_slice(&self.marked.to_be_bytes());
    }
    /// What stands behind a packet.
    pub fn said(behind: &[u8]) -> Option<Marks> {
        let (numbers, _) = behind.strip_prefix(&MAGIC)?.as_chunks::<4>();
        let [packets, marked] = numbers else { return None };
        Some(Marks { packets: u32::from_be_bytes(*packets), marked: u32::from_be_bytes(*marked) })
    }
}

/// A path on which so many packets are marked from the first on marks everything: its marks say nothing
/// (RFC 9000 section 13.4.2.1 has the like; the number is ours).
const ALL_MARKED: u32 = 100;

/// What a sender makes of what it is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heeded {
    told: Marks,
    /// A packet came without a mark.
    is_proved: bool,
    /// The path is not fit for marks: packets leave as if nothing was agreed on.
    is_off: bool,
}

impl Heeded {
    /// Whether packets may leave as capable.
    pub fn is_on(&self) -> bool {
        !self.is_off
    }
    /// What the receiver has said.
    pub fn told(&self) -> Marks {
        self.told
    }
    /// The receiver says so. Gives whether packets were marked since it said so before.
    pub fn hear(&mut self, marks: Marks) -> bool {
        let since = marks.since(self.told);
        // What was overtaken is older, and no more can be marked than came.
        if since.packets >= 1 << 31 || since.marked > since.packets {
            return false;
        }
        self.told = marks;
        self.is_proved |= since.marked < since.packets;
        self.is_off |= !self.is_proved && marks.marked >= ALL_MARKED;
        since.marked > 0 && !self.is_off
    }
    /// The path may drop what is capable: nothing was heard of any packet (RFC 9000 section 13.4.2).
    pub fn give_up(&mut self) {
        self.is_off = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(packets: u32, marked: u32) -> Marks {
        Marks { packets, marked }
    }

    #[test]
    fn marks_are_said_and_heard() {
        let mut out = vec![];
        of(0x0102_0304, 5).say(&mut out);
        assert_eq!(out, [0x4e, 0x42, 0x63, 0x65, 1, 2, 3, 4, 0, 0, 0, 5]);
        assert_eq!((out.len(), Marks::said(&out)), (MARKS_LEN, Some(of(0x0102_0304, 5))));
        for cut in 0..out.len() {
            assert_eq!(Marks::said(&out[..cut]), None);
        }
        assert_eq!(Marks::said(b"NBid\0\0\0\x01\0\0\0\x01"), None);
    }

    #[test]
    fn a_mark_is_news_once() {
        let mut heeded = Heeded::default();
        assert!(!heeded.hear(of(10, 0)));
        assert!(heeded.hear(of(20, 1)));
        assert!(!heeded.hear(of(20, 1)) && !heeded.hear(of(30, 1)));
        // One that was overtaken, and one that cannot be.
        assert!(!heeded.hear(of(15, 0)) && !heeded.hear(of(31, 9)));
        assert!(heeded.hear(of(40, 2)));
    }

    #[test]
    fn counts_wrap() {
        let mut heeded = Heeded { told: of(u32::MAX, u32::MAX), is_proved: true, is_off: false };
        assert!(heeded.hear(of(3, 0)) && heeded.is_on());
        assert!(!heeded.hear(of(9, 0)));
    }

    #[test]
    fn a_path_that_marks_everything_is_not_heeded() {
        let mut heeded = Heeded::default();
        assert!(heeded.hear(of(ALL_MARKED - 1, ALL_MARKED - 1)) && heeded.is_on());
        assert!(!heeded.hear(of(ALL_MARKED, ALL_MARKED)) && !heeded.is_on());
        let mut heeded = Heeded::default();
        heeded.hear(of(50, 49));
        heeded.hear(of(500, 499));
        assert!(heeded.is_on(), "one came without");
    }
}
