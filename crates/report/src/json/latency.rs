//! Latencies in `results.json`: the RFC 2544 number, the RFC 8219 numbers, and every frame.

use super::results::{Conditions, fps, ps};
use method::LatencySummary;
use method::rfc2544::LatencyResult;
use serde::Serialize;
use std::collections::BTreeMap;
use trial::LatencyForm;
use units::Duration;

#[derive(Serialize)]
pub(super) struct Latency<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    not_measured: Option<&'a str>,
    load_fps: Option<f64>,
    load_is_throughput: bool,
    definition: &'a str,
    definition_meaning: &'a str,
    /// The RFC 2544 mean in each form.
    mean_ps_by_form: BTreeMap<String, i64>,
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
    mean_ps: i64,
    min_ps: i64,
    max_ps: i64,
    repetitions: u64,
}

#[derive(Serialize)]
struct Rfc8219 {
    typical_ps: i64,
    typical_p1_ps: i64,
    typical_p99_ps: i64,
    worst_case_ps: i64,
    worst_case_p1_ps: i64,
    worst_case_p99_ps: i64,
    tags_frames: u64,
    repetitions: u64,
}

#[derive(Serialize)]
struct LatencyTrial<'a> {
    tagged_ps: Option<i64>,
    typical_ps: Option<i64>,
    worst_case_ps: Option<i64>,
    tags_received_frames: u64,
    lost_frames: u64,
    invalid_reasons: &'a [String],
}

/// LIFO, FIFO, LILO and FILO, in small letters; of mixed sizes, whose forms differ from frame to frame,
/// what was stamped.
fn by_form(result: &LatencyResult) -> BTreeMap<String, i64> {
    let Some(rfc2544) = &result.rfc2544 else { return BTreeMap::new() };
    let forms = LatencyForm::ALL.into_iter().filter(|form| {
        let is_stamped = result.definition.form == LatencyForm::Filo;
        !is_stamped || *form == LatencyForm::Filo || result.definition.serialization_in.is_some()
    });
    let in_form = |form| result.definition.bits().in_form_ps(form, rfc2544.mean);
    forms.map(|form| (form.to_string().to_lowercase(), in_form(form))).collect()
}

impl<'a> From<&'a LatencyResult> for Latency<'a> {
    fn from(result: &'a LatencyResult) -> Self {
        let in_form = |stamped: Duration| result.definition.ps(stamped);
        let trials = result.trials.iter().map(|trial| LatencyTrial {
            tagged_ps: trial.tagged.map(in_form),
            typical_ps: trial.typical.map(in_form),
            worst_case_ps: trial.worst_case.map(in_form),
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
            mean_ps_by_form: by_form(result),
            serialization_in_ps: ps(result.definition.serialization_in),
            serialization_out_ps: ps(result.definition.serialization_out),
            tester_floor_ps: ps(result.tester_floor),
            rfc2544: result.rfc2544.as_ref().map(|latency| Rfc2544 {
                mean_ps: in_form(latency.mean),
                min_ps: in_form(latency.min),
                max_ps: in_form(latency.max),
                repetitions: latency.repetitions,
            }),
            rfc8219: result.rfc8219.as_ref().map(|latency| Rfc8219 {
                typical_ps: in_form(latency.typical),
                typical_p1_ps: in_form(latency.typical_p1_p99.0),
                typical_p99_ps: in_form(latency.typical_p1_p99.1),
                worst_case_ps: in_form(latency.worst_case),
                worst_case_p1_ps: in_form(latency.worst_case_p1_p99.0),
                worst_case_p99_ps: in_form(latency.worst_case_p1_p99.1),
                tags_frames: latency.tags,
                repetitions: latency.repetitions,
            }),
            all_frames: result.all_frames.as_ref().map(|all| Summary::of(all, &in_form)),
            trials: trials.collect(),
            notes: &result.notes,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Summary {
    count_frames: u64,
    min_ps: i64,
    mean_ps: i64,
    p50_ps: i64,
    p90_ps: i64,
    p99_ps: i64,
    p999_ps: i64,
    max_ps: i64,
    pdv_ps: u64,
    jitter_mean_ns: Option<f64>,
    percentiles_high_by_at_most_percent: f64,
    /// (largest latency of the bucket in ps, frames in it), ascending.
    histogram_upper_ps_and_frames: Vec<(i64, u64)>,
}

/// As stamped.
impl From<&LatencySummary> for Summary {
    fn from(summary: &LatencySummary) -> Self {
        Summary::of(summary, &|stamped| stamped.as_ps() as i64)
    }
}

impl Summary {
    /// With latencies in another form.
    fn of(summary: &LatencySummary, in_form: &dyn Fn(Duration) -> i64) -> Self {
        let buckets = summary.histogram.filled();
        Summary {
            count_frames: summary.count,
            min_ps: in_form(summary.min),
            mean_ps: in_form(summary.mean),
            p50_ps: in_form(summary.p50),
            p90_ps: in_form(summary.p90),
            p99_ps: in_form(summary.p99),
            p999_ps: in_form(summary.p999),
            max_ps: in_form(summary.max),
            pdv_ps: summary.pdv.as_ps(),
            jitter_mean_ns: summary.jitter_mean_ns,
            percentiles_high_by_at_most_percent: trial::Histogram::RELATIVE_ERROR * 100.0,
            histogram_upper_ps_and_frames: buckets.map(|(s, n)| (in_form(s), n)).collect(),
        }
    }
}
