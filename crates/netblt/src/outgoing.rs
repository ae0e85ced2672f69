//! A buffer at the sender: the client's data, and which of its packets are to leave.

use std::collections::BTreeSet;

/// A buffer between the client's command and its OK.
#[derive(Clone, Debug)]
pub struct Outgoing {
    data: Vec<u8>,
    packet_bytes: usize,
    packets: u32,
    /// The first packet that never left.
    next: u32,
    /// Packets that left and are wanted again.
    again: BTreeSet<u16>,
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
        let again = BTreeSet::new();
        Outgoing { data, packet_bytes, packets, next: 0, again, permitted: false, last }
    }
    pub fn permit(&mut self) {
        self.permitted = true;
    }
    /// Packets that are to leave.
    pub fn queued(&self) -> usize {
        (self.packets - self.next) as usize + self.again.len()
    }
    pub fn has_packets(&self) -> bool {
        self.permitted && self.queued() > 0
    }
    /// Every packet left at least once.
    pub fn has_left(&self) -> bool {
        self.next == self.packets
    }
    /// Wants a packet again. Not if there is no such packet, or if it has yet to leave for the
    /// first time: a receiver cannot know the size of a short buffer, nor that a client is slow.
    pub fn resend(&mut self, packet: u16) {
        if u32::from(packet) < self.next {
            self.again.insert(packet);
        }
    }
    /// The next packet, lowest number first.
    pub fn pop(&mut self) -> Option<Piece<'_>> {
        let (packet, again) = match self.again.pop_first() {
            Some(packet) => (packet, true),
            None if self.next < self.packets => {
                self.next += 1;
                ((self.next - 1) as u16, false)
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
