//! Back-to-back frames: the longest burst without loss, and the buffer behind it (RFC 2544
//! section 26.4 as RFC 9004 has it).

use crate::{Conditions, Spread};
use serde::{Deserialize, Serialize};
use units::{Duration, FrameRate};

/// The result for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BackToBackResult {
    /// Under which conditions.
    pub conditions: Conditions,
    /// Why there is no result (RFC 9004 section 3 and 6.1); `None` where there is one.
    pub not_measured: Option<String>,
    /// Rate within a burst: the medium's maximum or, on a virtual link, the tester's.
    pub burst_rate: Option<FrameRate>,
    /// Whether `burst_rate` is the medium's theoretical maximum.
    pub burst_rate_is_theoretical: bool,
    /// Throughput used for the correction.
    pub throughput: Option<FrameRate>,
    /// Averages over the searches; `None` where no search came to an end.
    pub summary: Option<BurstSummary>,
    /// Search by search; N in the RFC.
    pub searches: Vec<BurstFound>,
    /// Smallest step of the searches, in frames.
    pub step_frames: u64,
    /// Longest burst tried, in frames.
    pub limit_frames: u64,
    /// The same as a time.
    pub limit: Duration,
    /// How the search was made, in words, with its parameters.
    pub search: String,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// What the searches of one size come to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BurstSummary {
    /// Of the burst lengths, in frames.
    pub frames: Spread,
    /// Mean burst / burst rate (RFC 9004 section 6.4).
    pub implied_buffer_time: Duration,
    /// Implied time corrected for the frames that the device forwarded meanwhile.
    pub corrected_buffer_time: Duration,
    /// The same in frames.
    pub corrected_buffer_frames: f64,
}

/// What one search found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BurstFound {
    /// The longest burst without loss; 0 where even the shortest lost frames.
    pub frames: u64,
    /// What the number is worth.
    pub outcome: BurstOutcome,
    /// Trials of the search.
    pub trials: u32,
}

/// What a burst length found is worth.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BurstOutcome {
    /// A burst of one step more lost frames.
    Measured,
    /// No burst up to the limit lost frames: the limit is too low.
    AtLimit,
    /// Longer bursts could not be sent validly: the tester was the limit.
    AtLeast {
        /// What kept the tester from going on.
        why: String,
    },
    /// Even a single frame was lost.
    NothingPassed,
    /// No valid trial.
    Invalid {
        /// Why, in words.
        reasons: Vec<String>,
    },
}
