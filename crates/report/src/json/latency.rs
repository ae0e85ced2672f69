//! Latencies in `results.json`: the RFC 2544 number, the RFC 8219 numbers, and every frame.

use super::results::{Conditions, fps, ps};
use method::LatencySummary;
use method::rfc2544::LatencyResult;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Latency<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    not_measured: Option<&'a str>,
    load_fps: Option<f64>,
    load_is_throughput: bool,
    definition: &'a str,
    definition_meaning: &'a str,
    serialization_in_ps: Option<u64>,
    serialization_out_ps: Option<u64>,
    tester_floor_ps: Option<u64>,
    rfc2544: Option<Rfc2544>,
    rfc8219: Option<Rfc8219>,
    all_frames: Option<Summary>,
    trials: Vec<LatencyTrial<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct Rfc2544 {
    mean_ps: u64,
    min_ps: u64,
    max_ps: u64,
    repetitions: u64,
}

#[derive(Serialize)]
struct Rfc8219 {
    typical_ps: u64,
    typical_p1_ps: u64,
    typical_p99_ps: u64,
    worst_case_ps: u64,
    worst_case_p1_ps: u64,
    worst_case_p99_ps: u64,
    tags_frames: u64,
    repetitions: u64,
}

#[derive(Serialize)]
struct LatencyTrial<'a> {
    tagged_ps: Option<u64>,
    typical_ps: Option<u64>,
    worst_case_ps: Option<u64>,
    tags_received_frames: u64,
    lost_frames: u64,
    invalid_reasons: &'a [String],
}

impl<'a> From<&'a LatencyResult> for Latency<'a> {
    fn from(result: &'a LatencyResult) -> Self {
        let trials = result.trials.iter().map(|trial| LatencyTrial {
            tagged_ps: ps(trial.tagged),
            typical_ps: ps(trial.typical),
            worst_case_ps: ps(trial.worst_case),
            tags_received_frames: trial.tags_received,
            lost_frames: trial.lost_frames,
            invalid_reasons: &trial.invalid,
        });
        Latency {
            conditions: (&result.conditions).into(),
            not_measured: result.not_measured.as_deref(),
            load_fps: fps(result.rate),
            load_is_throughput: result.rate_is_throughput,
            definition: &result.definition.name,
            definition_meaning: &result.definition.meaning,
            serialization_in_ps: ps(result.definition.serialization_in),
            serialization_out_ps: ps(result.definition.serialization_out),
            tester_floor_ps: ps(result.tester_floor),
            rfc2544: result.rfc2544.as_ref().map(|latency| Rfc2544 {
                mean_ps: latency.mean.as_ps(),
                min_ps: latency.min.as_ps(),
                max_ps: latency.max.as_ps(),
                repetitions: latency.repetitions,
            }),
            rfc8219: result.rfc8219.as_ref().map(|latency| Rfc8219 {
                typical_ps: latency.typical.as_ps(),
                typical_p1_ps: latency.typical_p1_p99.0.as_ps(),
                typical_p99_ps: latency.typical_p1_p99.1.as_ps(),
                worst_case_ps: latency.worst_case.as_ps(),
                worst_case_p1_ps: latency.worst_case_p1_p99.0.as_ps(),
                worst_case_p99_ps: latency.worst_case_p1_p99.1.as_ps(),
                tags_frames: latency.tags,
                repetitions: latency.repetitions,
            }),
            all_frames: result.all_frames.as_ref().map(Summary::from),
            trials: trials.collect(),
            notes: &result.notes,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Summary {
    count_frames: u64,
    min_ps: u64,
    mean_ps: u64,
    p50_ps: u64,
    p90_ps: u64,
    p99_ps: u64,
    p999_ps: u64,
    max_ps: u64,
    pdv_ps: u64,
    jitter_mean_ns: Option<f64>,
    percentiles_high_by_at_most_percent: f64,
    /// (largest latency of the bucket in ps, frames in it), ascending.
    histogram_upper_ps_and_frames: Vec<(u64, u64)>,
}

impl From<&LatencySummary> for Summary {
    fn from(summary: &LatencySummary) -> Self {
        let buckets = summary.histogram.filled();
        Summary {
            count_frames: summary.count,
            min_ps: summary.min.as_ps(),
            mean_ps: summary.mean.as_ps(),
            p50_ps: summary.p50.as_ps(),
            p90_ps: summary.p90.as_ps(),
            p99_ps: summary.p99.as_ps(),
            p999_ps: summary.p999.as_ps(),
            max_ps: summary.max.as_ps(),
            pdv_ps: summary.pdv.as_ps(),
            jitter_mean_ns: summary.jitter_mean_ns,
            percentiles_high_by_at_most_percent: trial::Histogram::RELATIVE_ERROR * 100.0,
            histogram_upper_ps_and_frames: buckets.map(|(s, n)| (s.as_ps(), n)).collect(),
        }
    }
}
