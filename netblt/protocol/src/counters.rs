//! What happened on a connection; ratios are for others to derive.

use units::{Duration, Instant};

/// Counts of one end, from the start of its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets of any type sent.
    pub packets_sent: u64,
    /// Packets of any type taken in.
    pub packets_received: u64,
    /// Bytes of the packets sent: NETBLT's headers and padding, not those of what carries it.
    pub bytes_sent: u64,
    /// Bytes of the packets taken in, likewise.
    pub bytes_received: u64,
    /// DATA and LDATA sent, the first time or again.
    pub data_packets_sent: u64,
    /// DATA and LDATA sent again.
    pub data_packets_resent: u64,
    /// DATA and LDATA that brought something new.
    pub data_packets_received: u64,
    /// DATA and LDATA that were there already.
    pub duplicate_data_packets: u64,
    /// DATA and LDATA whose data was damaged.
    pub damaged_data_packets: u64,
    /// DATA and LDATA that fit neither what was agreed on nor what came before.
    pub misfit_data_packets: u64,
    /// DATA and LDATA that a network marked in place of dropping them, as far as this end knows: those that came, or
    /// those that the other end said came.
    pub marked_data_packets: u64,
    /// CONTROL packets sent.
    pub control_packets_sent: u64,
    /// Control messages that came more than once.
    pub duplicate_control_messages: u64,
    /// Packet numbers asked for again.
    pub packets_asked_again: u64,
    /// Data timers that ran out.
    pub data_timeouts: u64,
    /// Control timers that ran out.
    pub control_timeouts: u64,
    /// Packets that made no sense in the state of the connection.
    pub unexpected_packets: u64,
    /// ABORT, QUIT and the like from the peer's address that would have ended another connection, or came
    /// without the identifier of this one, or while such came: somebody may be guessing.
    pub stray_closings: u64,
    /// Bytes of the client's data that were sent or delivered, each once.
    pub data_bytes: u64,
    /// Departure or arrival of the first data packet.
    pub first_data_at: Option<Instant>,
    /// Sender: departure of the last data packet that left for the first time. Receiver: arrival
    /// of the last that was new.
    pub last_new_data_at: Option<Instant>,
    /// Place in the transfer, from 0, of the newest buffer of which data left or arrived.
    pub newest_buffer: u32,
    /// Departure or arrival of the first data of that buffer.
    pub newest_buffer_at: Option<Instant>,
    /// Smoothed round trip of control messages; zero before the first was measured.
    pub round_trip: Duration,
}

impl Counters {
    pub(crate) fn new_data(&mut self, now: Instant, buffer: u32, bytes: usize) {
        let newer = self.newest_buffer_at.is_none() || buffer > self.newest_buffer;
        if newer && bytes > 0 {
            self.newest_buffer = buffer;
            self.newest_buffer_at = Some(now);
        }
        self.data_bytes += bytes as u64;
        self.first_data_at.get_or_insert(now);
        self.last_new_data_at = Some(now);
    }
}
