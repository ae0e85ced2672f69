//! Reset: how long the device does not forward (RFC 2544 section 26.6 as RFC 6201 has it).

use crate::Conditions;
use serde::{Deserialize, Serialize};
use trial::DeviceAction;
use units::{Duration, FrameRate};

/// The result of one kind of reset.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ResetResult {
    /// Under which conditions.
    pub conditions: Conditions,
    /// Why there is no result; `None` where there is one.
    pub not_measured: Option<String>,
    /// What was done to the device.
    pub action: DeviceAction,
    /// Load of each direction.
    pub rate: Option<FrameRate>,
    /// Mean of the repetitions by the frame-loss method.
    pub mean_by_loss: Option<Duration>,
    /// Mean of the repetitions by the timestamp method.
    pub mean_by_timestamps: Option<Duration>,
    /// Mean loss in frames.
    pub mean_lost_frames: Option<f64>,
    /// Repetition by repetition.
    pub trials: Vec<ResetTrial>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// One repetition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ResetTrial {
    /// Frames lost / offered rate; `None` where the tester could not send throughout, so that
    /// this method would report too little (RFC 6201 section 1.3).
    pub by_loss: Option<Duration>,
    /// First frame received after it - last frame received before it; `None` where the device
    /// did not forward again before the trial ended.
    pub by_timestamps: Option<Duration>,
    /// Frames lost.
    pub lost_frames: u64,
    /// How long the action itself took on the tester's clock.
    pub action_took: Option<Duration>,
    /// No frame was lost: "no loss" is the result.
    pub no_loss: bool,
    /// Why it does not count; empty where it does.
    pub invalid: Vec<String>,
}
