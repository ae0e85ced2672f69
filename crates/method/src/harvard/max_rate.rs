//! Max rate: the highest rate at which the device forwards every frame, found by steps of the gap
//! between frames: it is reduced until "a reduction of 1 in the ifg would not pass all the frames"
//! (router tests of 1990).

use super::{Setting, Sources};
use crate::bench::Bench;
use crate::rate_search::{Known, RateGoal, find_rate, judge_loss};
use crate::subject::Subject;
use crate::{Conditions, RateFound, RunError, SearchPolicy, TestKind};
use serde::{Deserialize, Serialize};
use units::Duration;

/// The result for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MaxRateResult {
    /// Where it belongs in the tables.
    pub setting: Setting,
    /// Under which conditions.
    pub conditions: Conditions,
    /// The rate of each stream.
    pub found: RateFound,
}

/// Searches for the shortest gap with which no frame is lost. Where there are two streams both have
/// the same rate, and neither may lose any.
pub fn max_rate(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    sources: &Sources,
    setting: Setting,
) -> Result<MaxRateResult, RunError> {
    let test = if setting.streams > 1 { TestKind::DualMaxRate } else { TestKind::MaxRate };
    let config = subject.config;
    let duration = Duration::from_secs_f64(config.harvard.max_rate_stream_s);
    let subject = subject.with_ceiling(sources.ceiling(subject));
    let goal = RateGoal {
        test,
        policy: SearchPolicy::Step,
        tolerance_percent: 0.0,
        resolution_percent: config.search.resolution_percent,
        lowest_load_percent: config.search.lowest_load_percent,
        max_trials_per_load: 1,
        gap_step_ns: Some(config.harvard.gap_step_ns),
        no_verification_above_lost_frames: None,
        search_duration: duration,
        final_duration: duration,
        final_trials: 0,
        noise: None,
        judge: &|result| judge_loss(result, 0.0),
    };
    let found = match sources.starved() {
        Some(why) => RateFound::not_sought(&goal, why),
        None => find_rate(bench, &subject, &goal, &mut Known::default())?,
    };
    Ok(MaxRateResult { setting, conditions: subject.conditions(), found })
}
