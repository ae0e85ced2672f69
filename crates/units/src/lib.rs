//! The nouns of measurement: time in integer picoseconds, frame size with its FCS, line rate and
//! frame rate. Every other crate rests on these, and this one rests on nothing.
//!
//! Two rules live here and nowhere else:
//! * only [`FrameSize`] knows of FCS, preamble and inter-frame gap (RFC 1242 sections 3.5, 3.7);
//! * the departure of frame `k` is computed from `k` ([`FrameRate::departure`]), never accumulated,
//!   so that a schedule of a billion frames is exact at its end.

mod frame_size;
mod rate;
pub mod text;
mod time;

pub use frame_size::FrameSize;
pub use rate::{FrameRate, LineRate};
pub use time::{Duration, Instant};
