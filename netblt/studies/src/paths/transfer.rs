//! A NETBLT transfer that never ends, by the very state machines that move files.
//!
//! The data itself is left out: a packet holds [`HELD_BYTES`] of zeros in place of its data, and the
//! path is told the length that it would have. No decision of the protocol rests on the content,
//! and a path of 1 Gb/s over 2 s has 250 MB under way.

use super::naps::Sleep;
use netblt::{
    Burst, Codepoint, Connection, Counters, Event, Limits, Mode, Opening, RateControl, Timing,
};
use units::Instant;
use wire::netblt::{DATA_HEADER_LEN, Header, Packet, Repr, is_data};

/// Bytes that a packet holds in place of its data.
const HELD_BYTES: u16 = 16;
/// IP's and UDP's headers.
const OUTER_BYTES: usize = 28;
const PORTS: [u16; 2] = [1000, 30];
/// What the passive end agrees to: everything.
const ANY: Limits = Limits {
    buffer_size_bytes: u32::MAX,
    data_packet_size_bytes: u16::MAX,
    burst: Burst { size_packets: u16::MAX, interval_ms: 0 },
    max_outstanding_buffers: u16::MAX,
    checksum_data: false,
    death_timer_s: 0,
};

/// How a NETBLT transfer is set up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TransferModel {
    /// The rate that is agreed on.
    pub burst: Burst,
    /// How the sender chooses a rate within that by what it learns of the path, if it does.
    pub control: Option<RateControl>,
    /// Packets in a buffer.
    pub buffer_packets: u16,
    /// Buffers under way at most.
    pub outstanding_buffers: u16,
}

/// Both ends: 0 sends, 1 receives.
#[derive(Debug)]
pub(super) struct Transfer {
    model: TransferModel,
    data_bytes: usize,
    starts_at: Instant,
    seed: u32,
    ends: [Option<Connection>; 2],
    /// Of the receiver's host.
    sleep: Sleep,
    /// Data packets that the receiver had at the last look.
    known: u64,
}

impl Transfer {
    pub fn new(
        model: TransferModel,
        data_bytes: usize,
        starts_at: Instant,
        seed: u32,
        sleep: Sleep,
    ) -> Transfer {
        Transfer { model, data_bytes, starts_at, seed, ends: [None, None], sleep, known: 0 }
    }

    /// The earliest time from then on at which an end runs.
    fn awake(&self, end: usize, at: Instant) -> Instant {
        if end == 1 { self.sleep.awake(at) } else { at }
    }

    fn open(&self, now: Instant) -> Connection {
        let limits = Limits {
            buffer_size_bytes: u32::from(self.model.buffer_packets) * u32::from(HELD_BYTES),
            data_packet_size_bytes: HELD_BYTES,
            burst: self.model.burst,
            max_outstanding_buffers: self.model.outstanding_buffers,
            ..ANY
        };
        let opening = Opening {
            connection_id: self.seed,
            mode: Mode::Write,
            transfer_size_bytes: 0,
            client_string: "",
        };
        Connection::open(now, Header::new(PORTS[0], PORTS[1]), limits, Timing::default(), opening)
    }

    /// When an end wants to be woken.
    pub fn wake(&self) -> Option<Instant> {
        match &self.ends {
            [None, _] => Some(self.starts_at),
            ends => {
                let wake = |(end, connection): (usize, &Option<Connection>)| {
                    Some(self.awake(end, connection.as_ref()?.poll_timeout()?))
                };
                ends.iter().enumerate().filter_map(wake).min()
            }
        }
    }

    /// A packet comes to an end, as its IP header says. Gives how many packets it brought that were new.
    pub fn handle(
        &mut self,
        now: Instant,
        end: usize,
        (bytes, came_as): (&[u8], Codepoint),
    ) -> u64 {
        let Ok(Repr { packet, .. }) = Repr::parse(bytes) else { return 0 };
        match (&mut self.ends[end], &packet) {
            (Some(connection), packet) => {
                connection.handle_datagram(now, packet, (bytes, came_as));
            }
            (slot, Packet::Open(open)) => {
                let header = Header::new(PORTS[1], PORTS[0]);
                *slot = Connection::accept(now, header, ANY, Timing::default(), open, "").ok();
            }
            _ => {}
        }
        self.serve(now, end);
        let count = self.counters(1).data_packets_received;
        count - std::mem::replace(&mut self.known, count)
    }

    /// Time has come to `now`.
    pub fn turn(&mut self, now: Instant) {
        if self.ends[0].is_none() && now >= self.starts_at {
            self.ends[0] = Some(self.open(now));
        }
        for end in 0..2 {
            let runs = self.awake(end, now) == now;
            let Some(connection) = self.ends[end].as_mut().filter(|_| runs) else { continue };
            if connection.poll_timeout().is_some_and(|at| at <= now) {
                connection.handle_timeout(now);
                self.serve(now, end);
            }
        }
    }

    /// The clients: one sends buffer after buffer, the other always has memory.
    fn serve(&mut self, now: Instant, end: usize) {
        let buffer = usize::from(self.model.buffer_packets) * usize::from(HELD_BYTES);
        let Some(connection) = &mut self.ends[end] else { return };
        while let Some(event) = connection.poll_event() {
            if let (Event::Opened, Some(control)) = (event, self.model.control) {
                connection.adapt_rate(now, control);
                connection.heed_marks();
            }
        }
        match end {
            0 => (0..connection.buffers_wanted())
                .for_each(|_| drop(connection.send_buffer(vec![0; buffer], false))),
            _ => {
                (0..connection.buffers_needed()).for_each(|_| connection.supply_buffer(Vec::new()))
            }
        }
    }

    /// The next packet of an end, what its IP header says, and its length in the eyes of the path, from that header
    /// on.
    pub fn poll(&mut self, now: Instant, end: usize) -> Option<(Vec<u8>, Codepoint, usize)> {
        let runs = self.awake(end, now) == now;
        let connection = self.ends[end].as_mut().filter(|_| runs)?;
        let mut bytes = Vec::new();
        if !connection.poll_transmit(now, &mut bytes) {
            return None;
        }
        let data = is_data(&bytes);
        let inner = if data { DATA_HEADER_LEN + self.data_bytes } else { bytes.len() };
        Some((bytes, connection.left_as(), OUTER_BYTES + inner))
    }

    pub fn counters(&self, end: usize) -> Counters {
        self.ends[end].as_ref().map(Connection::counters).unwrap_or_default()
    }
}
