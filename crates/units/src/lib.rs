//! The nouns of measurement: time in integer picoseconds, frame size with its FCS, line rate and
//! frame rate. Every other crate rests on these, and this one rests on nothing.
//!
//! Two rules live here and nowhere else:
//! * only [`FrameSize`] knows of FCS, preamble and inter-frame gap (RFC 1242 sections 3.5, 3.7);
//! * the departure of frame `k` is computed from `k` ([`FrameRate::departure`]), never accumulated,
//!   so that a schedule of a billion frames is exact at its end.
//!
//! # Example
//!
//! The highest rate of 64-byte frames on 1 Gb/s Ethernet, and when frame 1,000,000 of such a stream leaves
//! (RFC 2544 appendix B):
//!
//! ```
//! use units::{Duration, FrameSize, LineRate};
//!
//! let rate = LineRate::from_gbps(1).max_frame_rate(FrameSize::from_bytes(64));
//! assert_eq!(rate.fps_truncated(), 1_488_095);
//! // Preamble and gap included a frame takes 84 bytes: 672 ns. No rounding adds up.
//! assert_eq!(rate.departure(1_000_000), Duration::from_us(672_000));
//! ```

mod frame_size;
mod rate;
pub mod text;
mod time;

pub use frame_size::FrameSize;
pub use rate::{FrameRate, LineRate};
pub use time::{Duration, Instant};
