//! The comparison for spreadsheets: a row a metric, a row a trial.

use super::VersusReport;
use crate::csv::write;
use method::versus::{Bound, Metric, Purpose, Ratio, Side, VersusTrial};
use serde::Serialize;

/// One row a metric.
pub(super) fn results(report: &VersusReport) -> String {
    let result = report.result.as_ref();
    let confidence = report.started.as_ref().map(|started| started.config.confidence);
    let blocks = result.map(|result| result.blocks);
    let blocks = blocks.or(report.look.as_ref().map(|look| look.blocks));
    write(report.ratios().iter().map(|ratio| RatioRow::new(ratio, confidence, blocks)))
}

/// One row a trial.
pub(super) fn trials(report: &VersusReport) -> String {
    write(report.trials.iter().map(TrialRow::new))
}

#[derive(Serialize)]
struct RatioRow<'a> {
    metric: Metric,
    unit: &'static str,
    a: Option<f64>,
    a_is_at_least: bool,
    b: Option<f64>,
    b_is_at_least: bool,
    /// Empty where the ratio is only bounded: a bound is no value.
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    confidence: Option<f64>,
    blocks: Option<usize>,
    reason: &'a str,
}

impl<'a> RatioRow<'a> {
    fn new(ratio: &'a Ratio, confidence: Option<f64>, blocks: Option<usize>) -> Self {
        let (low, high) = match (ratio.interval, ratio.bound) {
            (Some(it), _) => (Some(it.low), Some(it.high)),
            (_, Some(Bound::AtLeast(low))) => (Some(low), None),
            (_, Some(Bound::AtMost(high))) => (None, Some(high)),
            _ => (None, None),
        };
        RatioRow {
            metric: ratio.metric,
            unit: ratio.metric.unit(),
            a: ratio.a,
            a_is_at_least: ratio.at_least[0],
            b: ratio.b,
            b_is_at_least: ratio.at_least[1],
            ratio: ratio.interval.map(|interval| interval.ratio),
            low,
            high,
            confidence,
            blocks,
            reason: ratio.why.as_deref().unwrap_or_default(),
        }
    }
}

#[derive(Serialize)]
struct TrialRow<'a> {
    number: u64,
    block: usize,
    side: Side,
    purpose: Purpose,
    at_s: f64,
    intended_fps: f64,
    offered_fps: f64,
    offered_frames: u64,
    lost_frames: u64,
    rate_fps: f64,
    latency_p50_ns: Option<f64>,
    latency_p99_ns: Option<f64>,
    cost_ns: Option<f64>,
    unfit: &'a str,
}

impl<'a> TrialRow<'a> {
    fn new(trial: &'a VersusTrial) -> Self {
        TrialRow {
            number: trial.number,
            block: trial.block,
            side: trial.side,
            purpose: trial.purpose,
            at_s: trial.at.as_secs_f64(),
            intended_fps: trial.intended.fps(),
            offered_fps: trial.offered.fps(),
            offered_frames: trial.offered_frames,
            lost_frames: trial.lost_frames,
            rate_fps: trial.rate_fps,
            latency_p50_ns: trial.latency_p50_ns,
            latency_p99_ns: trial.latency_p99_ns,
            cost_ns: trial.cost_ns,
            unfit: trial.unfit.as_deref().unwrap_or_default(),
        }
    }
}
