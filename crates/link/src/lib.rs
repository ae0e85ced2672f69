//! A link in real time: what two hosts in namespaces send to each other waits in a queue, leaves at a
//! rate, takes its time, and is lost or overtaken, as [`sim::paths::Link`] decides. It is the very
//! model that transfers are simulated over; here its packets are frames of the kernel.
//!
//! This is an edge of the project by nature: it reads the clock, waits, and moves frames. Therefore
//! it opts out of the ban on them. What becomes of a packet is decided in [`sim::paths`].
//!
//! The program that forwards is not infinitely fast. What it did late, and what it lost, is counted
//! apart from what the model lost: see [`WayCounts::is_faithful`].
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod counts;
mod frames;
mod in_flight;
mod running;

pub use counts::WayCounts;
pub use running::{LinkError, RealTimeLink};
