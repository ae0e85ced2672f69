//! System recovery from overload (RFC 2544 section 26.5).

use crate::Conditions;
use serde::{Deserialize, Serialize};
use units::{Duration, FrameRate};

/// The result for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RecoveryResult {
    /// Under which conditions.
    pub conditions: Conditions,
    /// Why there is no result; `None` where there is one.
    pub not_measured: Option<String>,
    /// Throughput that the overload was computed from.
    pub throughput: Option<FrameRate>,
    /// 110 % of it, or the maximum if that is lower; of each direction.
    pub overload: Option<FrameRate>,
    /// Whether `overload` is the maximum and less than 110 % of the throughput.
    pub overload_is_maximum: bool,
    /// How long it lasted.
    pub overload_duration: Duration,
    /// Mean of the repetitions that count; the reported value.
    pub mean: Option<Duration>,
    /// The shortest.
    pub min: Option<Duration>,
    /// The longest.
    pub max: Option<Duration>,
    /// Repetition by repetition.
    pub trials: Vec<RecoveryTrial>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// One repetition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RecoveryTrial {
    /// What came of it.
    pub outcome: RecoveryOutcome,
    /// Frames lost before the load was halved.
    pub lost_in_overload: u64,
    /// Frames lost afterwards.
    pub lost_after: u64,
}

/// What came of a repetition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RecoveryOutcome {
    /// From the halving of the load to the departure of the last frame lost.
    Recovered {
        /// Zero where no frame was lost after the halving.
        time: Duration,
    },
    /// The overload lost no frame: there was nothing to recover from.
    NoOverload,
    /// Frames were lost until the end of the observation: it did not recover in that time.
    NotRecovered {
        /// How long was observed.
        observed: Duration,
    },
    /// The tester failed.
    Invalid {
        /// Why, in words.
        reasons: Vec<String>,
    },
}
