//! The tests of RFC 2544 section 26 with what later RFCs made of them; one file a test.

mod back_to_back;
mod frame_loss;
mod latency;
mod outcome;
mod recovery;
mod reset;
mod throughput;

pub use back_to_back::{BackToBackResult, BurstFound, BurstOutcome, BurstSummary, back_to_back};
pub use frame_loss::{FrameLossResult, LossPoint, MaximumOf, frame_loss};
pub(crate) use latency::summarise;
pub use latency::{LatencyResult, LatencyTrial, Rfc2544Latency, Rfc8219Latency, latency};
pub use outcome::action_in_words;
pub(crate) use outcome::invalid_of;
pub use recovery::{RecoveryOutcome, RecoveryResult, RecoveryTrial, recovery};
pub use reset::{ResetResult, ResetTrial, reset};
pub use throughput::{InterBurstGap, ThroughputResult, throughput};

use crate::Finding;
use units::FrameRate;

/// The rate at which other tests run: the throughput; where no load was without loss, the highest
/// with the least tolerance, and a note that says so.
pub(crate) fn known_rate(result: &ThroughputResult) -> Result<(FrameRate, Option<String>), String> {
    if let Some(rate) = result.throughput.rate {
        return Ok((rate, None));
    }
    let tolerant = result.with_tolerance.iter().find_map(|found| Some((found.rate?, found)));
    match tolerant {
        Some((rate, found)) => {
            let tolerance = found.loss_tolerance_percent;
            let note = format!(
                "measured at {rate:.1}, which loses up to {tolerance} % of its frames: no load was \
                 without loss, so there is no throughput"
            );
            Ok((rate, Some(note)))
        }
        None if matches!(result.throughput.finding, Finding::Invalid { .. }) => {
            Err("the throughput is not known: no trial of it was valid".into())
        }
        None => Err("there is no throughput: no load came through".into()),
    }
}
