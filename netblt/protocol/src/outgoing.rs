//! A buffer at the sender: the client's data, and which of its packets are to leave.

use std::collections::BTreeSet;
use units::Instant;

/// A buffer between the client's command and its OK.
#[derive(Clone, Debug)]
pub struct Outgoing {
    data: Vec<u8>,
    packet_bytes: usize,
    packets: u32,
    /// Packets that left and are wanted again.
    again: BTreeSet<u16>,
    /// When each packet that left did so the last time.
    left: Vec<Instant>,
    /// Whether any left twice.
    repeated: bool,
    /// GO has come.
    permitted: bool,
    /// Whether it is the last buffer of the transfer.
    pub last: bool,
}

/// A packet that is to leave.
pub struct Piece<'a> {
    pub packet: u16,
    pub data: &'a [u8],
    /// The last of its buffer.
    pub last: bool,
    /// It left before.
    pub again: bool,
}

impl Outgoing {
    pub fn new(data: Vec<u8>, packet_bytes: u16, packets: u32, last: bool) -> Self {
        let packet_bytes = usize::from(packet_bytes);
        Outgoing {
            data,
            packet_bytes,
            packets,
            again: BTreeSet::new(),
            left: Vec::new(),
            repeated: false,
            permitted: false,
            last,
        }
    }
    /// Before any left: packets of so many bytes.
    pub fn cut(&mut self, packet_bytes: u16, packets: u32) {
        (self.packet_bytes, self.packets) = (usize::from(packet_bytes), packets);
    }
    pub fn len(&self) -> usize {
        self.data.len()
    }
    /// The first packet that never left.
    fn next(&self) -> u32 {
        self.left.len() as u32
    }
    pub fn permit(&mut self) {
        self.permitted = true;
    }
    pub fn is_permitted(&self) -> bool {
        self.permitted
    }
    /// Packets in all.
    pub fn packets(&self) -> u32 {
        self.packets
    }
    /// Packets that are to leave.
    pub fn queued(&self) -> usize {
        (self.packets - self.next()) as usize + self.again.len()
    }
    pub fn has_packets(&self) -> bool {
        self.permitted && self.queued() > 0
    }
    /// Every packet left at least once.
    pub fn has_left(&self) -> bool {
        self.next() == self.packets
    }
    /// When all of it had left, if each packet did once.
    pub fn left_once(&self) -> Option<Instant> {
        self.left.last().copied().filter(|_| self.has_left() && !self.repeated)
    }
    /// Wants a packet again that left by `until`. Not if there is no such packet, or if it has yet to
    /// leave for the first time: a receiver cannot know the size of a short buffer, nor that a client
    /// is slow. Nor if it left later: then it was on its way when the receiver missed it.
    pub fn resend(&mut self, packet: u16, until: Instant) {
        if self.left.get(usize::from(packet)).is_some_and(|left| *left <= until) {
            self.again.insert(packet);
        }
    }
    /// The next packet, which leaves now: lowest number first.
    pub fn pop(&mut self, now: Instant) -> Option<Piece<'_>> {
        let (packet, again) = match self.again.pop_first() {
            Some(packet) => {
                self.left[usize::from(packet)] = now;
                self.repeated = true;
                (packet, true)
            }
            None if !self.has_left() => {
                let packet = self.next() as u16;
                self.left.push(now);
                (packet, false)
            }
            None => return None,
        };
        let start = usize::from(packet) * self.packet_bytes;
        let end = (start + self.packet_bytes).min(self.data.len());
        let last = u32::from(packet) + 1 == self.packets;
        Some(Piece { packet, data: &self.data[start..end], last, again })
    }
    pub fn into_data(self) -> Vec<u8> {
        self.data
    }
}
