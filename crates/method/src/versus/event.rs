//! What a comparison says while it goes on. Saved, its events are the comparison: reports are made
//! from them, also of one that was cut off.

use super::{Ratio, Side, VersusConfig, VersusResult};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::{Duration, FrameRate};

/// Something that happened.
///
/// As JSON each event is an object with one member, the kind of the event. A reader must pass over
/// members that it does not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VersusEvent {
    /// The first event.
    VersusStarted(Box<VersusStarted>),
    /// A trial ended, fit for its purpose or not.
    VersusTrial(VersusTrial),
    /// The result as it stands.
    VersusLook(VersusLook),
    /// The last event of a comparison that came to its end.
    VersusFinished(Box<VersusResult>),
    /// The last event of one that did not: why.
    VersusStopped(String),
}

/// Version of the form in which comparisons are saved. Events without a version have the first.
pub const VERSUS_FORMAT: u32 = 1;

const fn first_format() -> u32 {
    1
}

/// How a comparison begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersusStarted {
    /// Version of the form of these events ([`VERSUS_FORMAT`] of who wrote them).
    #[serde(default = "first_format")]
    pub format: u32,
    /// Name and version of the program.
    pub program: String,
    /// A and B in the user's words.
    pub names: [String; 2],
    /// The devices in words.
    pub devices: [String; 2],
    /// Whether A and B are one device that is switched between them.
    pub is_shared: bool,
    /// As it was asked for: `64`, or the name of an IMIX.
    pub frame_size: String,
    /// What is sent, in words.
    pub traffic: String,
    /// No load is above it.
    pub ceiling: FrameRate,
    /// How.
    pub config: VersusConfig,
    /// Host, kernel, date, the device's settings.
    pub environment: BTreeMap<String, String>,
}

/// What a trial is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To find the loads.
    Loads,
    /// For the rate under overload.
    Rate,
    /// For latency and cost at a moderate load.
    Moderate,
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersusTrial {
    /// Which trial of the run, from 1.
    pub number: u64,
    /// Of which block, from 1; 0 before the first.
    pub block: usize,
    /// Of which side.
    pub side: Side,
    /// What for.
    pub purpose: Purpose,
    /// Its end, since the run began.
    pub at: Duration,
    /// Intended load.
    pub intended: FrameRate,
    /// Offered load.
    pub offered: FrameRate,
    /// Frames that left the tester.
    pub offered_frames: u64,
    /// Frames among them that did not come back.
    pub lost_frames: u64,
    /// Frames that arrived over the time from the first arrival to the last, a second; without the device's tokens.
    pub rate_fps: f64,
    /// Whether the device let more frames pass before its first loss than it keeps up.
    #[serde(default)]
    pub shows_tokens: bool,
    /// Median latency, in nanoseconds; `None` where none was measured.
    pub latency_p50_ns: Option<f64>,
    /// 99th percentile of it.
    pub latency_p99_ns: Option<f64>,
    /// Processor time of the device's threads for a frame forwarded, in nanoseconds; `None` where it
    /// has none or none was seen.
    pub cost_ns: Option<f64>,
    /// Why it says nothing of what it was made for; `None` where it does.
    pub unfit: Option<String>,
}

/// What is known after so many blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersusLook {
    /// Blocks made.
    pub blocks: usize,
    /// By metric.
    pub ratios: Vec<Ratio>,
}
