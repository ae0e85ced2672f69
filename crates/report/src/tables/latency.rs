//! Latency: the RFC 2544 number, the RFC 8219 numbers, and every frame, each under its own name.

use super::{Table, about, fps, optional};
use crate::model::Group;
use crate::number::{grouped, grouped_f64, microseconds, microseconds_of_ps};
use method::rfc2544::LatencyResult;
use trial::LatencyForm;
use units::Duration;

/// RFC 2544 section 26.2 and RFC 8219 section 7.2.
pub(super) fn table(group: &Group<'_>) -> Option<Table> {
    let first = group.latency.first()?;
    let mut lines = about(group, &first.conditions);
    let definition = |result: &LatencyResult| result.definition.in_words();
    let one = group.latency.iter().all(|result| definition(result) == definition(first));
    if one {
        lines.push(definition(first));
    }
    lines.push(
        "the tester's own floor, as stamped with its ports joined, is stated beside them, not subtracted"
            .into(),
    );
    let mut table = Table::new(
        "Latency (RFC 2544 section 26.2; typical and worst case RFC 8219 section 7.2)",
        lines,
        &[
            "frame size",
            "load fps",
            "RFC 2544 mean us",
            "min us",
            "max us",
            "typical us",
            "worst case us",
            "LIFO / FIFO / LILO / FILO mean us",
            "tester floor us, FILO",
            "frame time us",
            "trials",
            "<verdict",
        ],
    );
    for result in &group.latency {
        table.rows.push(row(result));
        let differing = (!one).then(|| definition(result));
        table.note(&result.conditions.frame_size, differing);
        notes(&mut table, result);
    }
    Some(table)
}

fn row(result: &LatencyResult) -> Vec<String> {
    let (rfc2544, rfc8219) = (result.rfc2544.as_ref(), result.rfc8219.as_ref());
    let invalid = result.trials.iter().filter(|trial| !trial.invalid.is_empty()).count();
    let in_form = |stamped| microseconds_of_ps(result.definition.ps(stamped));
    vec![
        result.conditions.frame_size.clone(),
        optional(result.rate, fps),
        optional(rfc2544, |l| in_form(l.mean)),
        optional(rfc2544, |l| in_form(l.min)),
        optional(rfc2544, |l| in_form(l.max)),
        optional(rfc8219, |l| in_form(l.typical)),
        optional(rfc8219, |l| in_form(l.worst_case)),
        optional(rfc2544, |l| forms(result, l.mean)),
        optional(result.tester_floor, microseconds),
        frame_time(result),
        super::trials_cell(result.trials.len() as u32, invalid as u32),
        verdict(result).into(),
    ]
}

/// A stamped latency in every form; a dash where they agree, or differ from frame to frame.
fn forms(result: &LatencyResult, stamped: Duration) -> String {
    if result.definition.other_forms().next().is_none() {
        return "-".into();
    }
    let bits = result.definition.bits();
    LatencyForm::ALL.map(|form| microseconds_of_ps(bits.in_form_ps(form, stamped))).join(" / ")
}

/// What the frame's bits take on the lines.
fn frame_time(result: &LatencyResult) -> String {
    match (result.definition.serialization_in, result.definition.serialization_out) {
        (Some(within), Some(out)) if within == out => microseconds(within),
        (Some(within), Some(out)) => format!("{} / {}", microseconds(within), microseconds(out)),
        _ => "-".into(),
    }
}

fn verdict(result: &LatencyResult) -> &'static str {
    match (&result.not_measured, result.rate_is_throughput) {
        (Some(_), _) => "not measured",
        (None, true) => "latency at throughput",
        (None, false) => "delay (not at throughput)",
    }
}

fn notes(table: &mut Table, result: &LatencyResult) {
    let size = &result.conditions.frame_size;
    table.note(size, result.not_measured.iter().map(|why| format!("not measured: {why}")));
    if let Some(rfc2544) = &result.rfc2544 {
        let repetitions = rfc2544.repetitions;
        table.note(size, [format!("the RFC 2544 mean is of {repetitions} tagged frames")]);
    }
    if let Some(rfc8219) = &result.rfc8219 {
        table.note(
            size,
            [format!(
                "typical and worst case are medians of {} trials with {} tagged frames each",
                rfc8219.repetitions, rfc8219.tags
            )],
        );
    }
    table.note(size, result.notes.iter().cloned());
}

/// Percentiles of all frames, to be told apart from the RFC's numbers.
pub(super) fn all_frames(group: &Group<'_>) -> Option<Table> {
    let first = group.latency.iter().find(|result| result.all_frames.is_some())?;
    let mut lines = about(group, &first.conditions);
    let definition = &first.definition;
    lines.push(format!("latency is {}: {}", definition.name, definition.form.meaning()));
    lines.push(format!(
        "percentiles are high by at most {:.2} %; minimum, mean and maximum are exact",
        (trial::Histogram::RELATIVE_ERROR * 1e4).ceil() / 100.0
    ));
    let mut table = Table::new(
        "Latency of every frame (neither the RFC 2544 nor the RFC 8219 number)",
        lines,
        &[
            "frame size",
            "frames",
            "min us",
            "mean us",
            "p50 us",
            "p90 us",
            "p99 us",
            "p99.9 us",
            "max us",
            "PDV us",
            "jitter us",
        ],
    );
    for result in &group.latency {
        let Some(all) = &result.all_frames else { continue };
        let spans = [all.min, all.mean, all.p50, all.p90, all.p99, all.p999, all.max];
        let mut row = vec![result.conditions.frame_size.clone(), grouped(all.count)];
        row.extend(spans.map(|stamped| microseconds_of_ps(result.definition.ps(stamped))));
        row.push(microseconds(all.pdv));
        row.push(optional(all.jitter_mean_ns, |ns| grouped_f64(ns / 1e3, 3)));
        table.rows.push(row);
    }
    let meaning = "packet delay variation D(99.9) - D(min) (RFC 5481 section 4.2)";
    table.notes.push(format!("PDV: {meaning}"));
    table.notes.push("jitter: mean of |D(i) - D(i-1)| (RFC 4689 section 3.2.5)".into());
    Some(table)
}
