//! Results in `results.json`, test by test.

use super::latency::Summary;
use method::outcome::Relation;
use method::rfc2544::{
    BackToBackResult, BurstOutcome, FrameLossResult, LossPoint, MaximumOf, RecoveryOutcome,
    RecoveryResult, ResetResult, ThroughputResult,
};
use method::{
    Conditions as Under, CostFound, Direction, Finding, Modifier, RateFound, SelfTest, Spread,
};
use serde::Serialize;
use units::{Duration, FrameRate};

pub(super) fn fps(rate: Option<FrameRate>) -> Option<f64> {
    rate.map(FrameRate::fps)
}

pub(super) fn ps(span: Option<Duration>) -> Option<u64> {
    span.map(Duration::as_ps)
}

#[derive(Serialize)]
pub(super) struct Conditions<'a> {
    frame_size: &'a str,
    mean_frame_size_bytes: f64,
    direction: Direction,
    modifier: Modifier,
    traffic: &'a str,
    frame_formats: &'a [String],
    filters: &'a str,
    line_rate_bps: u64,
    line_rate_is_physical: bool,
    theoretical_fps: f64,
    tester_fps: Option<f64>,
    tester_reach_fps: Option<f64>,
    deviations: &'a [String],
    given_up: &'a [String],
}

impl<'a> From<&'a Under> for Conditions<'a> {
    fn from(under: &'a Under) -> Self {
        Conditions {
            frame_size: &under.frame_size,
            mean_frame_size_bytes: under.mean_frame_size_bytes,
            direction: under.direction,
            modifier: under.modifier,
            traffic: &under.traffic,
            frame_formats: &under.frame_formats,
            filters: &under.filters,
            line_rate_bps: under.line_rate.bps(),
            line_rate_is_physical: under.line_rate_is_physical,
            theoretical_fps: under.theoretical_max.fps(),
            tester_fps: fps(under.tester_max),
            tester_reach_fps: fps(under.tester_reach),
            deviations: &under.deviations,
            given_up: &under.given_up,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Rate<'a> {
    relation: Relation,
    rate_fps: Option<f64>,
    /// Of an MLRsearch goal.
    conditional_throughput_fps: Option<f64>,
    loss_tolerance_percent: f64,
    loss_percent: Option<f64>,
    percent_of_theoretical: Option<f64>,
    offered_fps: Option<f64>,
    upper_fps: Option<f64>,
    /// A higher load that one trial passed from the device's buffers.
    buffered_fps: Option<f64>,
    /// Frames that waited in the device at the end of that trial.
    standing_queue_frames: Option<f64>,
    resolution_fps: Option<f64>,
    trial_duration_ps: u64,
    trials: u32,
    invalid_trials: u32,
    /// Of all trials of the search, with their waits.
    test_time_ps: u64,
    trials_at_rate: u32,
    failed_trials_at_rate: u32,
    search_policy: method::SearchPolicy,
    search: &'a str,
    /// Why the rate is not simply the device's.
    reasons: Vec<&'a str>,
}

impl<'a> From<&'a RateFound> for Rate<'a> {
    fn from(found: &'a RateFound) -> Self {
        let (relation, rate) = found.relation();
        Rate {
            relation,
            rate_fps: fps(rate),
            conditional_throughput_fps: fps(found.conditional_throughput),
            loss_tolerance_percent: found.loss_tolerance_percent,
            loss_percent: match found.finding {
                Finding::NothingPassed { loss_percent, .. } => Some(loss_percent),
                _ => found.loss_percent,
            },
            percent_of_theoretical: found.percent_of_theoretical,
            offered_fps: fps(found.offered),
            upper_fps: fps(found.upper),
            buffered_fps: fps(found.buffered.map(|buffered| buffered.rate)),
            standing_queue_frames: found.buffered.map(|buffered| buffered.standing_queue_frames),
            resolution_fps: found.resolution_fps,
            trial_duration_ps: found.trial_duration.as_ps(),
            trials: found.trials,
            invalid_trials: found.invalid_trials,
            test_time_ps: found.test_time.as_ps(),
            trials_at_rate: found.trials_at_rate,
            failed_trials_at_rate: found.failed_trials_at_rate,
            search_policy: found.policy,
            search: &found.search,
            reasons: match &found.finding {
                Finding::AtLeast { why } | Finding::Between { why } => vec![why],
                Finding::Invalid { reasons } => reasons.iter().map(String::as_str).collect(),
                _ => vec![],
            },
        }
    }
}

#[derive(Serialize)]
pub(super) struct SelfTestSize<'a> {
    ports: &'a str,
    #[serde(flatten)]
    conditions: Conditions<'a>,
    maximum: Rate<'a>,
    reached: Option<Reached>,
    low_fps: f64,
    floor_low: Option<Summary>,
    high_fps: f64,
    floor_high: Option<Summary>,
}

/// What trials reached that asked for all of the medium.
#[derive(Serialize)]
struct Reached {
    p10_fps: f64,
    p50_fps: f64,
    p90_fps: f64,
    trials: u32,
}

impl From<method::Reached> for Reached {
    fn from(reached: method::Reached) -> Self {
        Reached {
            p10_fps: reached.p10.fps(),
            p50_fps: reached.p50.fps(),
            p90_fps: reached.p90.fps(),
            trials: reached.trials,
        }
    }
}

pub(super) fn self_test(self_test: &SelfTest) -> impl Iterator<Item = SelfTestSize<'_>> {
    self_test.sizes.iter().map(|size| SelfTestSize {
        ports: &self_test.ports,
        conditions: (&size.conditions).into(),
        maximum: (&size.maximum).into(),
        reached: size.reached.map(Reached::from),
        low_fps: size.low_rate.fps(),
        floor_low: size.floor_low.as_ref().map(Summary::from),
        high_fps: size.high_rate.fps(),
        floor_high: size.floor_high.as_ref().map(Summary::from),
    })
}

#[derive(Serialize)]
pub(super) struct Throughput<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    throughput: Rate<'a>,
    /// Not RFC 2544 throughput.
    with_loss_tolerance: Vec<Rate<'a>>,
    cost: Option<Cost<'a>>,
    notes: &'a [String],
}

/// What a frame costs the device; `why` where that is not known.
#[derive(Serialize, Default)]
struct Cost<'a> {
    load_fps: Option<f64>,
    trials: Option<u32>,
    low_ns: Option<f64>,
    high_ns: Option<f64>,
    processors: Option<f64>,
    capacity_low_fps: Option<f64>,
    capacity_high_fps: Option<f64>,
    /// Where it does not go with the throughput.
    contradiction: Option<String>,
    why: Option<&'a str>,
}

impl<'a> Cost<'a> {
    fn of(found: &'a CostFound, throughput: &RateFound) -> Self {
        match found {
            CostFound::Unknown { why } => Cost { why: Some(why), ..Cost::default() },
            CostFound::Measured(cost) => Cost {
                load_fps: Some(cost.load.fps()),
                trials: Some(cost.trials),
                low_ns: Some(cost.low_ns),
                high_ns: Some(cost.high_ns),
                processors: Some(cost.processors),
                capacity_low_fps: Some(cost.capacity_low.fps()),
                capacity_high_fps: Some(cost.capacity_high.fps()),
                contradiction: cost.contradiction(throughput),
                why: None,
            },
        }
    }
}

impl<'a> From<&'a ThroughputResult> for Throughput<'a> {
    fn from(result: &'a ThroughputResult) -> Self {
        Throughput {
            conditions: (&result.conditions).into(),
            throughput: (&result.throughput).into(),
            with_loss_tolerance: result.with_tolerance.iter().map(Rate::from).collect(),
            cost: result.cost.as_ref().map(|cost| Cost::of(cost, &result.throughput)),
            notes: &result.notes,
        }
    }
}

#[derive(Serialize)]
pub(super) struct FrameLoss<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    maximum_fps: f64,
    maximum_of: MaximumOf,
    step_percent: f64,
    points: Vec<Point<'a>>,
    ended_with_two_lossless: bool,
    notes: &'a [String],
}

#[derive(Serialize)]
struct Point<'a> {
    load_percent_of_maximum: f64,
    load_percent_of_theoretical: f64,
    intended_fps: f64,
    offered_fps: f64,
    expected_frames: u64,
    received_frames: u64,
    loss_percent: f64,
    invalid_reasons: &'a [String],
}

impl<'a> From<&'a FrameLossResult> for FrameLoss<'a> {
    fn from(result: &'a FrameLossResult) -> Self {
        FrameLoss {
            conditions: (&result.conditions).into(),
            maximum_fps: result.maximum.fps(),
            maximum_of: result.maximum_of,
            step_percent: result.step_percent,
            points: result.points.iter().map(Point::from).collect(),
            ended_with_two_lossless: result.ended_with_two_lossless,
            notes: &result.notes,
        }
    }
}

impl<'a> From<&'a LossPoint> for Point<'a> {
    fn from(point: &'a LossPoint) -> Self {
        Point {
            load_percent_of_maximum: point.percent_of_maximum,
            load_percent_of_theoretical: point.percent_of_theoretical,
            intended_fps: point.intended.fps(),
            offered_fps: point.offered.fps(),
            expected_frames: point.expected_frames,
            received_frames: point.received_frames,
            loss_percent: point.loss_percent,
            invalid_reasons: &point.invalid,
        }
    }
}

#[derive(Serialize)]
pub(super) struct BackToBack<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    not_measured: Option<&'a str>,
    burst_rate_fps: Option<f64>,
    burst_rate_is_theoretical: bool,
    throughput_fps: Option<f64>,
    /// Over the searches, in frames.
    burst_frames: Option<Spread>,
    implied_buffer_time_ps: Option<u64>,
    corrected_buffer_time_ps: Option<u64>,
    corrected_buffer_frames: Option<f64>,
    searches: Vec<Search<'a>>,
    step_frames: u64,
    limit_frames: u64,
    limit_ps: u64,
    search: &'a str,
    notes: &'a [String],
}

#[derive(Serialize)]
struct Search<'a> {
    burst_frames: u64,
    outcome: &'a BurstOutcome,
    trials: u32,
}

impl<'a> From<&'a BackToBackResult> for BackToBack<'a> {
    fn from(result: &'a BackToBackResult) -> Self {
        let summary = result.summary.as_ref();
        let searches = result.searches.iter().map(|search| Search {
            burst_frames: search.frames,
            outcome: &search.outcome,
            trials: search.trials,
        });
        BackToBack {
            conditions: (&result.conditions).into(),
            not_measured: result.not_measured.as_deref(),
            burst_rate_fps: fps(result.burst_rate),
            burst_rate_is_theoretical: result.burst_rate_is_theoretical,
            throughput_fps: fps(result.throughput),
            burst_frames: summary.map(|summary| summary.frames),
            implied_buffer_time_ps: summary.map(|summary| summary.implied_buffer_time.as_ps()),
            corrected_buffer_time_ps: summary.map(|summary| summary.corrected_buffer_time.as_ps()),
            corrected_buffer_frames: summary.map(|summary| summary.corrected_buffer_frames),
            searches: searches.collect(),
            step_frames: result.step_frames,
            limit_frames: result.limit_frames,
            limit_ps: result.limit.as_ps(),
            search: &result.search,
            notes: &result.notes,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Recovery<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    not_measured: Option<&'a str>,
    throughput_fps: Option<f64>,
    overload_fps: Option<f64>,
    overload_is_maximum: bool,
    overload_ps: u64,
    mean_ps: Option<u64>,
    min_ps: Option<u64>,
    max_ps: Option<u64>,
    trials: Vec<RecoveryTrial<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct RecoveryTrial<'a> {
    /// `recovered`, `no_overload`, `not_recovered` or `invalid`.
    outcome: &'static str,
    recovery_ps: Option<u64>,
    observed_ps: Option<u64>,
    lost_frames: u64,
    invalid_reasons: &'a [String],
}

impl<'a> From<&'a RecoveryResult> for Recovery<'a> {
    fn from(result: &'a RecoveryResult) -> Self {
        let trials = result.trials.iter().map(|trial| {
            let (outcome, recovery, observed, reasons): (_, _, _, &[String]) = match &trial.outcome
            {
                RecoveryOutcome::Recovered { time } => ("recovered", Some(*time), None, &[]),
                RecoveryOutcome::NoOverload => ("no_overload", None, None, &[]),
                RecoveryOutcome::NotRecovered { observed, .. } => {
                    ("not_recovered", None, Some(*observed), &[])
                }
                RecoveryOutcome::Invalid { reasons } => ("invalid", None, None, reasons),
            };
            RecoveryTrial {
                outcome,
                recovery_ps: ps(recovery),
                observed_ps: ps(observed),
                lost_frames: trial.lost_frames,
                invalid_reasons: reasons,
            }
        });
        Recovery {
            conditions: (&result.conditions).into(),
            not_measured: result.not_measured.as_deref(),
            throughput_fps: fps(result.throughput),
            overload_fps: fps(result.overload),
            overload_is_maximum: result.overload_is_maximum,
            overload_ps: result.overload_duration.as_ps(),
            mean_ps: ps(result.mean),
            min_ps: ps(result.min),
            max_ps: ps(result.max),
            trials: trials.collect(),
            notes: &result.notes,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Reset<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    not_measured: Option<&'a str>,
    reset: String,
    load_fps: Option<f64>,
    mean_by_loss_ps: Option<u64>,
    mean_by_time_stamps_ps: Option<u64>,
    mean_lost_frames: Option<f64>,
    trials: Vec<ResetTrial<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct ResetTrial<'a> {
    by_loss_ps: Option<u64>,
    by_time_stamps_ps: Option<u64>,
    lost_frames: u64,
    action_took_ps: Option<u64>,
    no_loss: bool,
    invalid_reasons: &'a [String],
}

impl<'a> From<&'a ResetResult> for Reset<'a> {
    fn from(result: &'a ResetResult) -> Self {
        let trials = result.trials.iter().map(|trial| ResetTrial {
            by_loss_ps: ps(trial.by_loss),
            by_time_stamps_ps: ps(trial.by_timestamps),
            lost_frames: trial.lost_frames,
            action_took_ps: ps(trial.action_took),
            no_loss: trial.no_loss,
            invalid_reasons: &trial.invalid,
        });
        Reset {
            conditions: (&result.conditions).into(),
            not_measured: result.not_measured.as_deref(),
            reset: method::rfc2544::action_in_words(&result.action),
            load_fps: fps(result.rate),
            mean_by_loss_ps: ps(result.mean_by_loss),
            mean_by_time_stamps_ps: ps(result.mean_by_timestamps),
            mean_lost_frames: result.mean_lost_frames,
            trials: trials.collect(),
            notes: &result.notes,
        }
    }
}
