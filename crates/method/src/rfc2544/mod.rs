//! The tests of RFC 2544 section 26 with what later RFCs made of them; one file a test.

mod back_to_back;
mod frame_loss;
mod latency;
mod recovery;
mod reset;
mod throughput;

pub use back_to_back::{BackToBackResult, BurstFound, BurstOutcome, BurstSummary};
pub use frame_loss::{FrameLossResult, LossPoint, MaximumOf, frame_loss};
pub use latency::{LatencyDefinition, LatencyResult, LatencyTrial, Rfc2544Latency, Rfc8219Latency};
pub use recovery::{RecoveryOutcome, RecoveryResult, RecoveryTrial};
pub use reset::{ResetResult, ResetTrial};
pub use throughput::{ThroughputResult, throughput};
