//! Delay: "the time delay between the end of the input frame and the start of the output frame" of
//! a stream with a large gap (router tests of 1990), where an oscilloscope was read.

use super::Setting;
use crate::bench::Bench;
use crate::found::LatencySummary;
use crate::rfc2544::summarise;
use crate::subject::Subject;
use crate::{Conditions, RunError, TestKind};
use serde::{Deserialize, Serialize};
use units::{Duration, FrameRate};

/// The result for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DelayResult {
    /// Where it belongs in the tables.
    pub setting: Setting,
    /// Under which conditions.
    pub conditions: Conditions,
    /// From the moment the tester stamps a frame to the moment it has it back, of every frame;
    /// `None` where none came back, or the trial was invalid.
    pub from_stamp_to_arrival: Option<LatencySummary>,
    /// What is in that beside the delay: the time of the frame's bits on both lines. Zero on a
    /// virtual link.
    pub on_the_lines: Duration,
    /// Frames that did not come back.
    pub lost_frames: u64,
    /// Why it does not count; empty where it does.
    pub invalid: Vec<String>,
}

impl DelayResult {
    /// End of the input frame to start of the output frame: smallest, median and largest.
    pub fn delay(&self) -> Option<[Duration; 3]> {
        let summary = self.from_stamp_to_arrival.as_ref()?;
        let delay = |time: Duration| time.saturating_sub(self.on_the_lines);
        Some([summary.min, summary.p50, summary.max].map(delay))
    }
}

/// Sends frames far apart and times each.
pub fn delay(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    setting: Setting,
) -> Result<DelayResult, RunError> {
    let config = &subject.config.harvard;
    let duration = Duration::from_secs_f64(config.delay_stream_s);
    let rate = FrameRate::from_fps_f64(1.0 / config.delay_gap_s);
    let test = TestKind::Delay;
    let label = format!("{test}, {}: a frame every {}", subject.size_in_words(), rate.interval());
    let ran = bench.run(subject.request(test, label, rate, duration))?;
    let invalid = ran.invalid_reasons();
    let size = subject.traffic.size().size_at(0);
    let lines = [subject.line_rate(), subject.receiving_line_rate()];
    let on_the_lines = match subject.line_rate_is_physical() {
        true => lines.into_iter().map(|line| size.serialization_time(line)).sum(),
        false => Duration::ZERO,
    };
    Ok(DelayResult {
        setting,
        conditions: subject.conditions(),
        from_stamp_to_arrival: summarise(&ran.result).filter(|_| invalid.is_empty()),
        on_the_lines,
        lost_frames: ran.result.lost_frames(),
        invalid,
    })
}
