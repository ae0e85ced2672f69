//! The tests of RFC 2889 for LAN switches, in the terms of RFC 2285; one file a test.

mod addresses;
mod broadcast;
mod congestion;
mod errored;
mod forward_pressure;
mod layout;
mod mesh;
mod outcome;

pub use addresses::{
    AddressResult, AddressTrial, caching, caching_estimate, learning_rate, learning_rate_estimate,
};
pub use broadcast::{BroadcastLatencyResult, PortLatency, broadcast_latency};
pub use congestion::{CongestionResult, CongestionVerdict, congestion};
pub use errored::{ErroredKind, ErroredOutcome, ErroredResult, ErroredTrial, errored};
pub use forward_pressure::{ForwardPressureResult, GapOutcome, forward_pressure};
pub use mesh::{MeshResult, mesh};
