//! OPEN and RESPONSE: what two ends agree on (RFC 998 sections 5.1 and 8).

use super::{HEADER_LEN, Text, WHAT};
use crate::DecodeError;
use crate::bytes::{require, u16_at, u32_at};
use std::fmt;

const CONNECTION_ID: usize = 12;
const BUFFER_SIZE: usize = 16;
const TRANSFER_SIZE: usize = 20;
const DATA_PACKET_SIZE: usize = 24;
const BURST_SIZE: usize = 26;
const BURST_INTERVAL: usize = 28;
const DEATH_TIMER: usize = 30;
const FLAGS: usize = 32;
const MAX_OUTSTANDING: usize = 34;
const CLIENT_STRING: usize = 36;

const MODE_FLAG: u16 = 1;
const CHECKSUM_FLAG: u16 = 2;

/// Which way the data goes, seen from the active end. RESPONSE repeats it unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The active end receives.
    Read,
    /// The active end sends.
    Write,
}

/// The body of an OPEN or a RESPONSE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Open<'a> {
    /// Tells this connection from an earlier one between the same ports.
    pub connection_id: u32,
    /// Bytes of every buffer but the last.
    pub buffer_size_bytes: u32,
    /// Bytes of the whole transfer, for the client only; 0 where unknown (our choice).
    pub transfer_size_bytes: u32,
    /// Bytes of data in every packet of a buffer but its last.
    pub data_packet_size_bytes: u16,
    /// Packets in a burst.
    pub burst_size_packets: u16,
    /// From the start of a burst to the start of the next; RFC 998 calls it burst rate.
    pub burst_interval_ms: u16,
    /// After so long a silence the sender of this packet takes the other end for dead.
    pub death_timer_s: u16,
    /// Which way the data goes.
    pub mode: Mode,
    /// Whether the data of DATA and LDATA is checksummed.
    pub checksum_data: bool,
    /// Buffers that may be under way before the first of them is OK.
    pub max_outstanding_buffers: u16,
    /// For the clients.
    pub client_string: Text<'a>,
}

impl<'a> Open<'a> {
    /// The same without a borrow.
    pub fn into_owned(self) -> Open<'static> {
        let Open { client_string, .. } = self;
        Open { client_string: client_string.into_owned(), ..self }
    }

    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        require(WHAT, bytes, CLIENT_STRING)?;
        let flags = u16_at(bytes, FLAGS);
        Ok(Open {
            connection_id: u32_at(bytes, CONNECTION_ID),
            buffer_size_bytes: u32_at(bytes, BUFFER_SIZE),
            transfer_size_bytes: u32_at(bytes, TRANSFER_SIZE),
            data_packet_size_bytes: u16_at(bytes, DATA_PACKET_SIZE),
            burst_size_packets: u16_at(bytes, BURST_SIZE),
            burst_interval_ms: u16_at(bytes, BURST_INTERVAL),
            death_timer_s: u16_at(bytes, DEATH_TIMER),
            mode: if flags & MODE_FLAG == 0 { Mode::Read } else { Mode::Write },
            checksum_data: flags & CHECKSUM_FLAG != 0,
            max_outstanding_buffers: u16_at(bytes, MAX_OUTSTANDING),
            client_string: Text::parse(&bytes[CLIENT_STRING..])?,
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let mode = if self.mode == Mode::Write { MODE_FLAG } else { 0 };
        let flags = mode | if self.checksum_data { CHECKSUM_FLAG } else { 0 };
        let longs = [self.connection_id, self.buffer_size_bytes, self.transfer_size_bytes];
        let words = [
            self.data_packet_size_bytes,
            self.burst_size_packets,
            self.burst_interval_ms,
            self.death_timer_s,
            flags,
            self.max_outstanding_buffers,
        ];
        debug_assert_eq!(CLIENT_STRING, HEADER_LEN + 4 * longs.len() + 2 * words.len());
        longs.iter().for_each(|long| out.extend_from_slice(&long.to_be_bytes()));
        words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
        self.client_string.emit(CLIENT_STRING, out);
    }
}

impl fmt::Display for Open<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = if self.mode == Mode::Write { "WRITE" } else { "READ" };
        write!(
            f,
            "{mode} id {:#010x}, buffers {} x {} bytes, packets {} bytes, burst {}/{} ms, \
             death timer {} s, data checksum {}, transfer {} bytes, \"{}\"",
            self.connection_id,
            self.max_outstanding_buffers,
            self.buffer_size_bytes,
            self.data_packet_size_bytes,
            self.burst_size_packets,
            self.burst_interval_ms,
            self.death_timer_s,
            if self.checksum_data { "on" } else { "off" },
            self.transfer_size_bytes,
            self.client_string,
        )
    }
}
