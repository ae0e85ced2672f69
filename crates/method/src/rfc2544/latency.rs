//! Latency at the throughput rate (RFC 2544 section 26.2), with RFC 8219 section 7.2's typical
//! and worst-case latency from the same trials.

use crate::{Conditions, LatencySummary};
use serde::{Deserialize, Serialize};
use units::{Duration, FrameRate};

/// The result for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LatencyResult {
    /// Under which conditions.
    pub conditions: Conditions,
    /// Why there is no result; `None` where there is one.
    pub not_measured: Option<String>,
    /// Load of each direction; the throughput found before.
    pub rate: Option<FrameRate>,
    /// False where `rate` is not the throughput: then the numbers are a delay, not a latency
    /// (RFC 3511 section 5.10).
    pub rate_is_throughput: bool,
    /// Between which moments time was taken.
    pub definition: LatencyDefinition,
    /// The RFC 2544 number.
    pub rfc2544: Option<Rfc2544Latency>,
    /// The RFC 8219 numbers.
    pub rfc8219: Option<Rfc8219Latency>,
    /// **Every** frame of all repetitions and directions; neither the RFC 2544 nor the RFC 8219
    /// number, to be labelled separately.
    pub all_frames: Option<LatencySummary>,
    /// What the tester adds by itself, from the self-test: minimum at a low rate.
    pub tester_floor: Option<Duration>,
    /// Trial by trial.
    pub trials: Vec<LatencyTrial>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Between which moments a latency is taken.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LatencyDefinition {
    /// Such as "transmit stamp to arrival".
    pub name: String,
    /// From which moment to which, in words.
    pub meaning: String,
    /// Time of the frame's bits on the sending line (RFC 1242 conversions); `None` on a virtual
    /// link, where frames take no time and all definitions agree.
    pub serialization_in: Option<Duration>,
    /// The same on the receiving line.
    pub serialization_out: Option<Duration>,
}

/// RFC 2544 section 26.2: the mean of single tagged frames.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rfc2544Latency {
    /// The reported value: mean over the repetitions.
    pub mean: Duration,
    /// The smallest.
    pub min: Duration,
    /// The largest.
    pub max: Duration,
    /// Repetitions whose tagged frame arrived.
    pub repetitions: u64,
}

/// RFC 8219 section 7.2: many tagged frames.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rfc8219Latency {
    /// Typical latency: median over the repetitions of each one's median.
    pub typical: Duration,
    /// Worst-case latency: median over the repetitions of each one's 99.9th percentile.
    pub worst_case: Duration,
    /// 1st and 99th percentile of the typical latencies.
    pub typical_p1_p99: (Duration, Duration),
    /// 1st and 99th percentile of the worst-case latencies.
    pub worst_case_p1_p99: (Duration, Duration),
    /// Tagged frames in each repetition.
    pub tags: u64,
    /// Repetitions.
    pub repetitions: u64,
}

/// One repetition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LatencyTrial {
    /// Of the one frame tagged as RFC 2544 has it; `None` where it was lost.
    pub tagged: Option<Duration>,
    /// Median of the tagged frames (RFC 8219).
    pub typical: Option<Duration>,
    /// 99.9th percentile of the tagged frames; with fewer than 1,000 of them the largest.
    pub worst_case: Option<Duration>,
    /// Tagged frames that arrived.
    pub tags_received: u64,
    /// Frames lost in the trial.
    pub lost_frames: u64,
    /// Why it does not count; empty where it does.
    pub invalid: Vec<String>,
}
