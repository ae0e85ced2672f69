//! Delay variation as RFC 8219 has it.

use super::{Table, about, fps, optional, trials_cell};
use crate::model::Group;
use crate::number::{grouped, grouped_f64, microseconds};
use method::rfc8219::{Between, IpdvResult, PdvResult};

/// Section 7.3.1.
pub(super) fn pdv(group: &Group<'_>) -> Option<Table> {
    let first = group.pdv.first()?;
    let mut lines = about(group, &first.conditions);
    lines.push(
        "PDV = D(99.9) - D(min) over every frame of a stream; the median of the repetitions, with \
         their 1st and 99th percentile"
            .into(),
    );
    lines.push(format!(
        "values are high by at most what its column says: delays are counted in buckets that are at \
         most {:.2} % of the delay wide",
        (trial::Histogram::RELATIVE_ERROR * 1e4).ceil() / 100.0
    ));
    let columns = [
        "frame size",
        "load fps",
        "PDV us",
        "p1 us",
        "p99 us",
        "high by at most us",
        "frames",
        "trials",
        "<verdict",
    ];
    let heading = "Packet delay variation (RFC 8219 section 7.3.1)";
    let mut table = Table::new(heading, lines, &columns);
    for result in &group.pdv {
        table.rows.push(pdv_row(result));
        let why = result.not_measured.iter().map(|why| format!("not measured: {why}"));
        table.note(&result.conditions.frame_size, why.chain(result.notes.iter().cloned()));
    }
    Some(table)
}

fn pdv_row(result: &PdvResult) -> Vec<String> {
    let found = result.pdv.as_ref();
    let invalid = result.trials.iter().filter(|trial| !trial.invalid.is_empty()).count();
    let frames = result.trials.iter().filter(|trial| trial.invalid.is_empty()).map(|t| t.frames);
    vec![
        result.conditions.frame_size.clone(),
        optional(result.rate, fps),
        optional(found, |pdv| at_most(pdv.median)),
        optional(found, |pdv| at_most(pdv.p1)),
        optional(found, |pdv| at_most(pdv.p99)),
        optional(found, |pdv| microseconds(pdv.median.high - pdv.median.low)),
        optional(found.and(Some(frames.sum())), grouped),
        trials_cell(result.trials.len() as u32, invalid as u32),
        verdict(&result.not_measured, result.rate_is_throughput).into(),
    ]
}

/// What cannot be told from no variation at all is only known not to be larger.
fn at_most(pdv: Between) -> String {
    let sign = if pdv.low < pdv.high && pdv.low.as_ps() == 0 { "<= " } else { "" };
    format!("{sign}{}", microseconds(pdv.high))
}

/// Section 7.3.2.
pub(super) fn ipdv(group: &Group<'_>) -> Option<Table> {
    let first = group.ipdv.first()?;
    let mut lines = about(group, &first.conditions);
    lines.push(
        "IPDV(i) = D(i) - D(i-1), with its sign; medians of the repetitions; no jitter of RFC 4689, \
         which is its absolute value"
            .into(),
    );
    let columns =
        ["frame size", "load fps", "min us", "median us", "max us", "pairs", "trials", "<verdict"];
    let heading = "Inter-packet delay variation (RFC 8219 section 7.3.2)";
    let mut table = Table::new(heading, lines, &columns);
    for result in &group.ipdv {
        table.rows.push(ipdv_row(result));
        let why = result.not_measured.iter().map(|why| format!("not measured: {why}"));
        table.note(&result.conditions.frame_size, why.chain(result.notes.iter().cloned()));
    }
    Some(table)
}

fn ipdv_row(result: &IpdvResult) -> Vec<String> {
    let found = result.ipdv.as_ref();
    let signed = |ps: i64| grouped_f64(ps as f64 / 1e6, 3);
    let invalid = result.trials.iter().filter(|trial| !trial.invalid.is_empty()).count();
    let pairs = result.trials.iter().filter(|trial| trial.invalid.is_empty()).map(|t| t.pairs);
    vec![
        result.conditions.frame_size.clone(),
        optional(result.rate, fps),
        optional(found, |ipdv| signed(ipdv.min_ps)),
        optional(found, |ipdv| signed(ipdv.median_ps)),
        optional(found, |ipdv| signed(ipdv.max_ps)),
        optional(found.and(Some(pairs.sum())), grouped),
        trials_cell(result.trials.len() as u32, invalid as u32),
        verdict(&result.not_measured, result.rate_is_throughput).into(),
    ]
}

fn verdict(not_measured: &Option<String>, rate_is_throughput: bool) -> &'static str {
    match (not_measured, rate_is_throughput) {
        (Some(_), _) => "not measured",
        (None, true) => "at throughput",
        (None, false) => "not at throughput",
    }
}
