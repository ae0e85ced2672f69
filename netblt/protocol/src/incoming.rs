//! A buffer at the receiver: where it is in its life, and which of its packets are there
//! (RFC 998 section 5.2.2).

use units::Instant;
use wire::netblt::Data;

/// What the receiver waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// For the acknowledgement of this control message.
    AckWait(u16),
    /// For the first packet, until the loose data timer runs out.
    Acked(Instant),
    /// For the rest, until the tight data timer runs out.
    Receiving(Instant),
}

impl State {
    /// When the data timer runs out.
    pub fn data_timer(self) -> Option<Instant> {
        match self {
            State::AckWait(_) => None,
            State::Acked(at) | State::Receiving(at) => Some(at),
        }
    }
    /// It runs out at another time, if it runs.
    pub fn set_data_timer(&mut self, to: Instant) {
        match self {
            State::AckWait(_) => {}
            State::Acked(at) | State::Receiving(at) => *at = to,
        }
    }
}

/// A buffer between its GO and its OK.
#[derive(Clone, Debug)]
pub struct Incoming {
    data: Vec<u8>,
    packet_bytes: usize,
    /// Bytes of a full buffer.
    full_bytes: usize,
    here: Vec<u64>,
    count: u32,
    /// Packets of the buffer: known with LDATA; before, those of a full one.
    packets: u32,
    ends_at: Option<usize>,
    pub state: State,
    /// When what is missing was asked for, the last time.
    pub asked: Option<Instant>,
    /// Packets that were asked for and have not come.
    pub owed: u32,
}

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placed {
    New,
    Duplicate,
    /// It does not fit what was agreed on or what came before.
    Misfit,
}

impl Incoming {
    /// An empty buffer, without memory until its first packet comes.
    pub fn new(full_bytes: usize, packet_bytes: u16, go: u16) -> Self {
        let packet_bytes = usize::from(packet_bytes);
        let packets = full_bytes.div_ceil(packet_bytes) as u32;
        Incoming {
            data: Vec::new(),
            packet_bytes,
            full_bytes,
            here: Vec::new(),
            count: 0,
            packets,
            ends_at: None,
            state: State::AckWait(go),
            asked: None,
            owed: 0,
        }
    }

    /// The data of `packet`, `ends` for LDATA, without padding that its length counts: RFC 998
    /// section 8 can be read so. Up to three zero bytes beyond where the packet must end are none.
    pub fn without_padding<'a>(&self, packet: &Data<'a>, ends: bool) -> &'a [u8] {
        let start = usize::from(packet.packet) * self.packet_bytes;
        let rest = self.full_bytes.saturating_sub(start);
        let room = if ends { self.packet_bytes.min(rest) } else { self.packet_bytes };
        match packet.data.split_at_checked(room) {
            Some((data, [] | [0] | [0, 0] | [0, 0, 0])) => data,
            _ => packet.data,
        }
    }

    /// Packets not here yet.
    pub fn missing(&self) -> u64 {
        u64::from(self.packets - self.count)
    }
    /// Packets not here yet that exist for certain. A `last` buffer of which LDATA has not come may
    /// be short: after a DATA packet there is another one, but who knows of more.
    pub fn missing_numbers(&self, last: bool) -> impl Iterator<Item = u16> {
        let certain = match self.highest() {
            Some(highest) if last && self.ends_at.is_none() => (highest + 2).min(self.packets),
            _ => self.packets,
        };
        let here =
            |n: &u32| self.here.get(*n as usize / 64).is_some_and(|w| w >> (n % 64) & 1 == 1);
        (0..certain).filter(move |n| !here(n)).map(|n| n as u16)
    }
    /// The highest packet that is here.
    pub fn highest(&self) -> Option<u32> {
        let highest =
            |(index, word): (usize, &u64)| Some(64 * index as u32 + word.checked_ilog2()?);
        self.here.iter().enumerate().rev().find_map(highest)
    }
    /// Something new came: whether it was owed.
    pub fn take_owed(&mut self) -> bool {
        let owed = self.owed > 0;
        self.owed = self.owed.saturating_sub(1);
        owed
    }
    pub fn is_whole(&self) -> bool {
        self.ends_at.is_some() && self.count == self.packets
    }
    pub fn is_untouched(&self) -> bool {
        self.count == 0
    }

    /// Puts a packet in its place; `ends` for LDATA. The first one is put into `memory` of the client.
    pub fn place(
        &mut self,
        packet: &Data<'_>,
        ends: bool,
        memory: impl FnOnce() -> Vec<u8>,
    ) -> Placed {
        let start = usize::from(packet.packet) * self.packet_bytes;
        let end = start + packet.data.len();
        if !self.fits(packet, end, ends) {
            return Placed::Misfit;
        }
        if self.count == 0 {
            self.data = memory();
            self.make_room();
        }
        let (word, bit) = (usize::from(packet.packet) / 64, 1 << (packet.packet % 64));
        if self.here[word] & bit != 0 {
            return Placed::Duplicate;
        }
        self.here[word] |= bit;
        self.count += 1;
        self.data[start..end].copy_from_slice(packet.data);
        if ends {
            self.packets = u32::from(packet.packet) + 1;
            self.ends_at = Some(end);
        }
        Placed::New
    }

    fn fits(&self, packet: &Data<'_>, end: usize, ends: bool) -> bool {
        let number = u32::from(packet.packet);
        let inside = end <= self.full_bytes && number < self.packets;
        if !ends {
            // A full packet, and not the one known to be the last.
            let known_last = self.ends_at.is_some() && number + 1 == self.packets;
            return inside && packet.data.len() == self.packet_bytes && !known_last;
        }
        let whole_buffer = packet.last_buffer || end == self.full_bytes;
        let not_empty = !packet.data.is_empty() || number == 0;
        let same_end = self.ends_at.is_none_or(|known| known == end);
        inside
            && packet.data.len() <= self.packet_bytes
            && whole_buffer
            && not_empty
            && same_end
            && !self.reaches_beyond(number)
    }

    /// Whether a packet after `number` is here.
    fn reaches_beyond(&self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, number % 64);
        self.here.iter().enumerate().skip(word).any(|(index, here)| {
            let beyond = if index > word { *here } else { here.checked_shr(bit + 1).unwrap_or(0) };
            beyond != 0
        })
    }

    fn make_room(&mut self) {
        if self.data.capacity() == 0 {
            // Fresh zero pages, touched packet by packet.
            self.data = vec![0; self.full_bytes];
        } else {
            self.data.resize(self.full_bytes, 0);
        }
        self.here = vec![0; (self.packets as usize).div_ceil(64)];
    }

    /// The client's memory, holding the data if the buffer is whole.
    pub fn into_data(mut self) -> Vec<u8> {
        self.data.truncate(self.ends_at.unwrap_or(usize::MAX));
        self.data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u16, data: &[u8], last_buffer: bool) -> Data<'_> {
        Data { buffer: 1, high_consecutive: 0, packet: number, checksum: 0, last_buffer, data }
    }
    fn empty() -> Incoming {
        Incoming::new(10, 4, 1)
    }

    fn put(buffer: &mut Incoming, packet: &Data<'_>, ends: bool) -> Placed {
        buffer.place(packet, ends, Vec::new)
    }

    #[test]
    fn packets_find_their_place_in_any_order() {
        let mut buffer = empty();
        assert_eq!(put(&mut buffer, &packet(2, b"ij", false), true), Placed::New);
        assert_eq!(put(&mut buffer, &packet(0, b"abcd", false), false), Placed::New);
        assert_eq!(put(&mut buffer, &packet(0, b"abcd", false), false), Placed::Duplicate);
        assert_eq!(buffer.missing_numbers(false).collect::<Vec<_>>(), [1]);
        assert!(!buffer.is_whole());
        assert_eq!(put(&mut buffer, &packet(1, b"efgh", false), false), Placed::New);
        assert!(buffer.is_whole());
        assert_eq!(buffer.into_data(), b"abcdefghij");
    }

    #[test]
    fn the_last_buffer_may_be_short_or_empty() {
        let mut short = empty();
        assert_eq!(put(&mut short, &packet(1, b"e", true), true), Placed::New);
        assert_eq!(short.missing(), 1);
        assert_eq!(put(&mut short, &packet(0, b"abcd", true), false), Placed::New);
        assert_eq!(short.into_data(), b"abcde");
        let mut none = empty();
        assert_eq!(put(&mut none, &packet(0, b"", true), true), Placed::New);
        assert!(none.is_whole());
        assert_eq!(none.into_data(), b"");
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let mut buffer = empty();
        for (number, data, last_buffer, ends) in [
            (0, &b"abc"[..], false, false), // short, but not LDATA
            (2, b"ijkl", false, false),     // beyond the end
            (3, b"", true, true),           // no such packet
            (1, b"efgh", false, true),      // ends early, though not the last buffer
            (1, b"", true, true),           // nothing in a packet that is not the first
            (0, b"abcde", true, true),      // longer than a packet
        ] {
            let misfit = put(&mut buffer, &packet(number, data, last_buffer), ends);
            assert_eq!(misfit, Placed::Misfit, "packet {number}");
        }
        assert_eq!(put(&mut buffer, &packet(1, b"efgh", true), false), Placed::New);
        assert_eq!(put(&mut buffer, &packet(0, b"abcd", true), true), Placed::Misfit, "1 is here");
        assert_eq!(put(&mut buffer, &packet(2, b"ij", true), true), Placed::New);
        assert_eq!(put(&mut buffer, &packet(2, b"i", true), true), Placed::Misfit, "another end");
    }

    #[test]
    fn padding_that_the_length_counts_is_no_data() {
        let buffer = empty();
        for (number, data, ends, expected) in [
            (0, &b"abcd\0\0\0"[..], false, &b"abcd"[..]),
            (0, b"abcd\0\0\0\0", false, b"abcd\0\0\0\0"), // more than padding can be
            (0, b"abcdx", false, b"abcdx"),               // no zeros
            (0, b"abc\0", false, b"abc\0"),               // where data is to be
            (2, b"ij\0\0", true, b"ij"),                  // up to the end of a full buffer
            (2, b"ij\0\0", false, b"ij\0\0"),
            (0, b"ab\0\0", true, b"ab\0\0"), // of a short one nothing tells
            (9, b"\0", true, b""),
        ] {
            let packet = packet(number, data, true);
            assert_eq!(buffer.without_padding(&packet, ends), expected, "{number} {data:?}");
        }
    }

    #[test]
    fn of_a_last_buffer_without_its_end_only_what_exists_is_missing() {
        let missing = |buffer: &Incoming, last| buffer.missing_numbers(last).collect::<Vec<_>>();
        let mut buffer = Incoming::new(400, 4, 1);
        assert_eq!(missing(&buffer, true).len(), 100, "nothing is known of it");
        put(&mut buffer, &packet(2, b"ijkl", true), false);
        assert_eq!(missing(&buffer, true), [0, 1, 3]);
        assert_eq!(missing(&buffer, false).len(), 99);
        put(&mut buffer, &packet(70, b"ijkl", true), false);
        assert_eq!(missing(&buffer, true).last(), Some(&71));
        put(&mut buffer, &packet(72, b"x", true), true);
        assert_eq!(missing(&buffer, true).last(), Some(&71));
        put(&mut buffer, &packet(71, b"ijkl", true), false);
        assert_eq!(missing(&buffer, true).last(), Some(&69));
    }

    #[test]
    fn the_memory_given_is_the_memory_handed_over() {
        let given = Vec::with_capacity(64);
        let address = given.as_ptr();
        let mut buffer = Incoming::new(4, 4, 1);
        buffer.place(&packet(0, b"abcd", false), true, || given);
        let handed_over = buffer.into_data();
        assert_eq!(handed_over.as_ptr(), address);
    }
}
