//! DATA, LDATA and NULL-ACK: what travels from the sender of data only (RFC 998 section 8).

use super::{DATA_HEADER_LEN, HEADER_LEN, WHAT};
use crate::DecodeError;
use crate::bytes::{require, u16_at, u32_at};
use crate::checksum::{Sum, checksum};
use std::fmt;

const BUFFER: usize = 12;
const HIGH_CONSECUTIVE: usize = 16;
const PACKET: usize = 18;
const DATA_CHECKSUM: usize = 20;
const FLAGS: usize = 22;
const LAST_BUFFER_FLAG: u16 = 1;

const NEW_BURST_SIZE: usize = 14;
const NEW_BURST_INTERVAL: usize = 16;
const NULL_ACK_LEN: usize = 20;

/// The body of a DATA or LDATA packet.
///
/// The length field counts the data but not the padding after it (our choice): nothing else would
/// tell how long the last packet of a transfer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data<'a> {
    /// The buffer that the data belongs to.
    pub buffer: u32,
    /// Highest control message number below which none is missing.
    pub high_consecutive: u16,
    /// Place of the data in its buffer, in packets from 0 (our choice of the first number).
    pub packet: u16,
    /// The data's own checksum; 0 where the connection has none.
    pub checksum: u16,
    /// Whether this buffer is the last of the transfer.
    pub last_buffer: bool,
    /// The data.
    pub data: &'a [u8],
}

impl<'a> Data<'a> {
    /// The same with its data's checksum filled in.
    #[must_use]
    pub fn checksummed(self) -> Self {
        Data { checksum: checksum(self.data), ..self }
    }
    /// Whether the data agrees with its checksum. Asked only where the connection checksums data.
    pub fn is_intact(&self) -> bool {
        Sum::ZERO.bytes(self.data).word(self.checksum).folded() == 0xffff
    }

    /// The caller has checked that the header is there.
    pub(super) fn parse(bytes: &'a [u8]) -> Self {
        Data {
            buffer: u32_at(bytes, BUFFER),
            high_consecutive: u16_at(bytes, HIGH_CONSECUTIVE),
            packet: u16_at(bytes, PACKET),
            checksum: u16_at(bytes, DATA_CHECKSUM),
            last_buffer: u16_at(bytes, FLAGS) & LAST_BUFFER_FLAG != 0,
            data: &bytes[DATA_HEADER_LEN..],
        }
    }
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.buffer.to_be_bytes());
        let flags = if self.last_buffer { LAST_BUFFER_FLAG } else { 0 };
        for word in [self.high_consecutive, self.packet, self.checksum, flags] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        out.extend_from_slice(self.data);
    }
}

/// The body of a NULL-ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NullAck {
    /// Highest control message number below which none is missing.
    pub high_consecutive: u16,
    /// Burst size in force now.
    pub burst_size_packets: u16,
    /// Burst interval in force now.
    pub burst_interval_ms: u16,
}

impl NullAck {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        require(WHAT, bytes, NULL_ACK_LEN)?;
        Ok(NullAck {
            high_consecutive: u16_at(bytes, HEADER_LEN),
            burst_size_packets: u16_at(bytes, NEW_BURST_SIZE),
            burst_interval_ms: u16_at(bytes, NEW_BURST_INTERVAL),
        })
    }
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let words = [self.high_consecutive, self.burst_size_packets, self.burst_interval_ms, 0];
        words.iter().for_each(|word: &u16| out.extend_from_slice(&word.to_be_bytes()));
    }
}

impl fmt::Display for Data<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = if self.last_buffer { " of the last buffer" } else { "" };
        let (buffer, packet, high) = (self.buffer, self.packet, self.high_consecutive);
        write!(f, "buffer {buffer} packet {packet}{last}, {} bytes, hc {high}", self.data.len())
    }
}

impl fmt::Display for NullAck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NullAck { high_consecutive, burst_size_packets, burst_interval_ms } = self;
        write!(f, "hc {high_consecutive}, burst {burst_size_packets}/{burst_interval_ms} ms")
    }
}
