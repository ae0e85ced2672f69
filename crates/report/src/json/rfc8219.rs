//! Delay variation in `results.json`.

use super::results::{Conditions, fps, ps};
use method::rfc8219::{Between, Ipdv as Signed, IpdvResult, PdvResult};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Pdv<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    not_measured: Option<&'a str>,
    load_fps: Option<f64>,
    load_is_throughput: bool,
    /// Median of the repetitions: the truth is not above it, and not below `pdv_low_ps`.
    pdv_ps: Option<u64>,
    pdv_low_ps: Option<u64>,
    pdv_p1_ps: Option<u64>,
    pdv_p99_ps: Option<u64>,
    repetitions: u64,
    trials: Vec<PdvTrial<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct PdvTrial<'a> {
    min_delay_ps: Option<u64>,
    pdv_ps: Option<u64>,
    pdv_low_ps: Option<u64>,
    frames: u64,
    lost_frames: u64,
    invalid_reasons: &'a [String],
}

fn low(pdv: Option<Between>) -> Option<u64> {
    ps(pdv.map(|pdv| pdv.low))
}
fn high(pdv: Option<Between>) -> Option<u64> {
    ps(pdv.map(|pdv| pdv.high))
}

impl<'a> From<&'a PdvResult> for Pdv<'a> {
    fn from(result: &'a PdvResult) -> Self {
        let found = result.pdv.as_ref();
        let trials = result.trials.iter().map(|trial| PdvTrial {
            min_delay_ps: ps(trial.min_delay),
            pdv_ps: high(trial.pdv),
            pdv_low_ps: low(trial.pdv),
            frames: trial.frames,
            lost_frames: trial.lost_frames,
            invalid_reasons: &trial.invalid,
        });
        Pdv {
            conditions: (&result.conditions).into(),
            not_measured: result.not_measured.as_deref(),
            load_fps: fps(result.rate),
            load_is_throughput: result.rate_is_throughput,
            pdv_ps: high(found.map(|pdv| pdv.median)),
            pdv_low_ps: low(found.map(|pdv| pdv.median)),
            pdv_p1_ps: high(found.map(|pdv| pdv.p1)),
            pdv_p99_ps: high(found.map(|pdv| pdv.p99)),
            repetitions: found.map_or(0, |pdv| pdv.repetitions),
            trials: trials.collect(),
            notes: &result.notes,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Ipdv<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    not_measured: Option<&'a str>,
    load_fps: Option<f64>,
    load_is_throughput: bool,
    /// `min_ps`, `median_ps` and `max_ps`, medians of the repetitions.
    ipdv: Option<&'a Signed>,
    repetitions: u64,
    trials: Vec<IpdvTrial<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct IpdvTrial<'a> {
    ipdv: Option<&'a Signed>,
    pairs: u64,
    median_pairs: u64,
    lost_frames: u64,
    invalid_reasons: &'a [String],
}

impl<'a> From<&'a IpdvResult> for Ipdv<'a> {
    fn from(result: &'a IpdvResult) -> Self {
        let trials = result.trials.iter().map(|trial| IpdvTrial {
            ipdv: trial.ipdv.as_ref(),
            pairs: trial.pairs,
            median_pairs: trial.median_pairs,
            lost_frames: trial.lost_frames,
            invalid_reasons: &trial.invalid,
        });
        Ipdv {
            conditions: (&result.conditions).into(),
            not_measured: result.not_measured.as_deref(),
            load_fps: fps(result.rate),
            load_is_throughput: result.rate_is_throughput,
            ipdv: result.ipdv.as_ref(),
            repetitions: result.repetitions,
            trials: trials.collect(),
            notes: &result.notes,
        }
    }
}
