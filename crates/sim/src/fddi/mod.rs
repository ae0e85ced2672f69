//! FDDI: frames by symbols, and a ring with a timed token (ANSI X3.139 MAC, X3.148 PHY).
//!
//! Every time here follows from the standard's own constants. A symbol is 4 bits, 40 ns at 100 Mb/s:
//!
//! ```text
//! frame   preamble 16, SD 2, FC 2, addresses 12 + 12, information, FCS 8, ED 1, FS 3
//! token   preamble 16, SD 2, FC 2, ED 2                                  22 symbols, 880 ns
//! claim   a frame with 4 bytes of information: its sender's bid for TTRT  64 symbols, 2.56 us
//! ```
//!
//! An Ethernet frame of N bytes becomes an FDDI frame with LLC and SNAP headers: 8 N + 144 bits, as
//! RFC 2544 appendix B counts them; 152,439 frames of 64 bytes a second where no token is needed.

mod cable;
mod ring;
#[cfg(test)]
mod tests;

pub(crate) use cable::RingCable;
pub(crate) use ring::{Ring, RingCounts, StationSetup};

use units::{Duration, FrameSize, LineRate};

/// 100 Mb/s; 125 million code bits.
pub(crate) const RATE: LineRate = LineRate::from_mbps(100);

/// 4 bits.
const SYMBOL: Duration = Duration::from_ns(40);
const TOKEN_SYMBOLS: u64 = 16 + 2 + 2 + 2;
const CLAIM_SYMBOLS: u64 = 16 + 2 + 2 + 12 + 12 + 8 + 8 + 1 + 3;

/// Preamble and starting delimiter, before a frame's first bit, in bytes.
pub(crate) const BEFORE_BYTES: u32 = 8 + 1;
/// Frame control, and what LLC and SNAP headers have more than an Ethernet type.
pub(crate) const WITHIN_BYTES: u32 = 1 + 6;
/// Ending delimiter and frame status, 4 symbols.
pub(crate) const AFTER_BYTES: u32 = 2;

/// What a station adds to the latency of a ring: the standard's default for the largest ring is
/// 1,000 of them and 200 km of fibre at 5,085 ns, together 1.617 ms (D_Max).
pub(crate) const STATION_LATENCY: Duration = Duration::from_ns(600);
/// After so long without a frame or a token a station begins to claim (TVX).
const VALID_TRANSMISSION: Duration = Duration::from_us(2_500);
/// What stations bid for TTRT where nothing else is said.
pub(crate) const TTRT: Duration = Duration::from_ms(8);

/// From a frame's preamble to its frame status.
pub(crate) fn time_of_frame(size: FrameSize) -> Duration {
    let bytes = size.bytes() + BEFORE_BYTES + WITHIN_BYTES + AFTER_BYTES;
    RATE.time_of_bytes(bytes.into())
}
