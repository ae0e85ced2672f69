//! The tester measures itself before it measures a device.

use crate::{Conditions, LatencySummary, RateFound};
use serde::{Deserialize, Serialize};
use units::FrameRate;

/// What the tester can do by itself, its ports looped back to back.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SelfTest {
    /// Port types and names, in words.
    pub ports: String,
    /// By frame size.
    pub sizes: Vec<SelfTestSize>,
}

/// What the tester can do with one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SelfTestSize {
    /// How it was measured.
    pub conditions: Conditions,
    /// The highest rate offered in full and received without loss.
    pub maximum: RateFound,
    /// Rate of `floor_low`.
    pub low_rate: FrameRate,
    /// Latency at a low rate: the tester's own floor, its smallest share in every latency.
    pub floor_low: Option<LatencySummary>,
    /// Rate of `floor_high`.
    pub high_rate: FrameRate,
    /// Latency near the maximum.
    pub floor_high: Option<LatencySummary>,
}

impl SelfTest {
    /// What was measured for a frame size.
    pub fn of_size(&self, frame_size: &str) -> Option<&SelfTestSize> {
        self.sizes.iter().find(|size| size.conditions.frame_size == frame_size)
    }
}
