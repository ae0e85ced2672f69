//! The numbers of single tests of two ports.

use serde::{Deserialize, Serialize};

/// The tester's measurement of itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SelfTestConfig {
    /// Length of its trials, in seconds.
    pub trial_duration_s: f64,
    /// Resolution of its searches, in percent of the upper bound.
    pub resolution_percent: f64,
    /// Rate of the latency floor's trial at low load, in percent of the maximum found.
    pub low_rate_percent: f64,
    /// Rate of its trial at high load.
    pub high_rate_percent: f64,
}

/// Throughput.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ThroughputConfig {
    /// Further searches in which so much loss passes, in percent. Their results are not RFC 2544
    /// throughput and are labelled so.
    pub loss_tolerances_percent: Vec<f64>,
    /// How often the rate found is tried again with full-length trials; 0 only where the search
    /// itself used full-length ones.
    pub final_trials: u32,
}

/// Latency.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LatencyConfig {
    /// Trials for each frame size.
    pub repetitions: u32,
    /// Length of a trial, in seconds.
    pub stream_s: f64,
    /// When the first frame is tagged, in seconds from the start.
    pub first_tag_s: f64,
    /// Tagged frames of a trial, from `first_tag_s` on; the first is RFC 2544's.
    pub tags: u64,
}

/// Packet delay variation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PdvConfig {
    /// Trials for each frame size.
    pub repetitions: u32,
    /// Length of a trial, in seconds.
    pub stream_s: f64,
}

/// Inter-packet delay variation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IpdvConfig {
    /// Trials for each frame size.
    pub repetitions: u32,
    /// Length of a trial, in seconds.
    pub stream_s: f64,
    /// Frames in a row whose delays are kept one by one, for the median; minimum and maximum are of
    /// every frame.
    pub median_frames: u64,
}

/// Frame loss rate.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FrameLossConfig {
    /// From one load to the next, in percent of the maximum.
    pub step_percent: f64,
}

/// Back-to-back frames.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BackToBackConfig {
    /// Complete, independent searches for each frame size.
    pub repetitions: u32,
    /// Smallest step of a search, in frames.
    pub step_frames: u64,
    /// Resolution of a search in percent of the upper bound, where that is more than the step.
    pub resolution_percent: f64,
    /// Longest burst tried, in seconds at the burst rate.
    pub limit_s: f64,
    /// What that is raised to, by steps of a factor of 4, where no burst loses a frame (RFC 9004
    /// section 6.2).
    pub highest_limit_s: f64,
    /// Wait after a burst has been received, in seconds.
    pub wait_s: f64,
}

/// System recovery.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RecoveryConfig {
    /// Repetitions.
    pub repetitions: u32,
    /// Overload, in percent of the throughput.
    pub overload_percent: f64,
    /// How long it lasts, in seconds.
    pub overload_s: f64,
    /// How long frames are sent at half that rate afterwards, in seconds.
    pub observe_s: f64,
}

/// Reset.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResetConfig {
    /// What is done to the device.
    pub kinds: Vec<ResetKind>,
    /// Repetitions of each.
    pub repetitions: u32,
    /// How long traffic flows before, in seconds.
    pub before_s: f64,
    /// How long it flows afterwards, in seconds: longer than the device needs.
    pub after_s: f64,
    /// How long a link stays down, in seconds.
    pub link_down_s: f64,
    /// Load, in percent of the throughput; 100 in RFC 6201.
    pub rate_percent: f64,
}

/// What is done to the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetKind {
    /// Its link at the first receiving port goes down and up again.
    Link,
    /// Its forwarding software is restarted (RFC 6201 section 4.2).
    Software,
}

impl Default for SelfTestConfig {
    fn default() -> Self {
        SelfTestConfig {
            trial_duration_s: 5.0,
            resolution_percent: 0.5,
            low_rate_percent: 1.0,
            high_rate_percent: 90.0,
        }
    }
}

impl Default for ThroughputConfig {
    fn default() -> Self {
        ThroughputConfig { loss_tolerances_percent: vec![0.5], final_trials: 1 }
    }
}

impl Default for LatencyConfig {
    fn default() -> Self {
        LatencyConfig { repetitions: 20, stream_s: 120.0, first_tag_s: 60.0, tags: 1_000 }
    }
}

impl Default for PdvConfig {
    fn default() -> Self {
        PdvConfig { repetitions: 20, stream_s: 60.0 }
    }
}

impl Default for IpdvConfig {
    fn default() -> Self {
        IpdvConfig { repetitions: 20, stream_s: 60.0, median_frames: 10_000 }
    }
}

impl Default for FrameLossConfig {
    fn default() -> Self {
        FrameLossConfig { step_percent: 10.0 }
    }
}

impl Default for BackToBackConfig {
    fn default() -> Self {
        BackToBackConfig {
            repetitions: 50,
            step_frames: 1,
            resolution_percent: 0.0,
            limit_s: 30.0,
            highest_limit_s: 120.0,
            wait_s: 2.0,
        }
    }
}

impl Default for RecoveryConfig {
    fn default() -> Self {
        RecoveryConfig {
            repetitions: 3,
            overload_percent: 110.0,
            overload_s: 60.0,
            observe_s: 60.0,
        }
    }
}

impl Default for ResetConfig {
    fn default() -> Self {
        ResetConfig {
            kinds: vec![ResetKind::Link, ResetKind::Software],
            repetitions: 3,
            before_s: 15.0,
            after_s: 60.0,
            link_down_s: 1.0,
            rate_percent: 100.0,
        }
    }
}
