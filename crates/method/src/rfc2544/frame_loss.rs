//! Frame loss rate over the offered load (RFC 2544 section 26.3).

use crate::Conditions;
use serde::{Deserialize, Serialize};
use units::FrameRate;

/// The result for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FrameLossResult {
    /// Under which conditions.
    pub conditions: Conditions,
    /// The load that counts as 100 %, of each direction.
    pub maximum: FrameRate,
    /// Whose maximum that is.
    pub maximum_of: MaximumOf,
    /// Step of the load in percent of `maximum`; at most 10.
    pub step_percent: f64,
    /// From 100 % downwards.
    pub points: Vec<LossPoint>,
    /// Whether two successive trials were without loss, as the RFC wants it; otherwise the
    /// series ran down to its lowest step.
    pub ended_with_two_lossless: bool,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Whose maximum a load of 100 % is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaximumOf {
    /// The medium's theoretical maximum.
    Medium,
    /// The tester's own maximum: on a virtual link, which has no maximum itself, or where the
    /// tester does not reach the medium's.
    Tester,
}

/// Loss at one load.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LossPoint {
    /// Intended load in percent of `maximum`.
    pub percent_of_maximum: f64,
    /// Intended load in percent of the medium's theoretical maximum: the X axis.
    pub percent_of_theoretical: f64,
    /// Intended load of each direction.
    pub intended: FrameRate,
    /// Load really offered, mean of the directions.
    pub offered: FrameRate,
    /// Frames that should have come out (input count).
    pub expected_frames: u64,
    /// Frames that did (output count).
    pub received_frames: u64,
    /// (input - output) x 100 / input.
    pub loss_percent: f64,
    /// Why the point does not count; empty where it does.
    pub invalid: Vec<String>,
}
