//! What a page is told of a line of a record: the numbers of a trial by the same rule as every report
//! ([`TrialRow`]), without what a page does not draw.

use method::consistency::Contradiction;
use method::{Event, Outcome, SearchBounds, TestStarted, TrialRecord, TrialStarted};
use report::TrialRow;
use serde_json::{Value, json};
use trial::Histogram;
use units::Duration;

/// Of an event of a run.
pub fn of_event(event: &Event) -> Value {
    match event {
        Event::RunStarted(run) => json!({
            "kind": "run_started",
            "program": run.program,
            "device": run.device,
            "environment": run.environment,
            "tester": run.tester.name,
            "ports": run.tester.ports.iter().map(|port| json!({
                "name": port.name,
                "type": port.port_type,
                "line_rate": port.line_rate.to_string(),
                "is_physical": port.line_rate_is_physical,
            })).collect::<Vec<_>>(),
            "is_virtual": run.tester.ports.iter().all(|port| port.capabilities.virtual_time),
            "estimate_s": run.estimate.as_secs_f64(),
            "test_bed": report::html::test_bed(run),
        }),
        Event::TestStarted(TestStarted { test, frame_size, remaining, .. }) => json!({
            "kind": "test_started",
            "test": test.to_string(),
            "frame_size": frame_size,
            "remaining_s": remaining.as_secs_f64(),
        }),
        Event::TrialStarted(started) => trial_started(started),
        Event::TrialFinished(record) => trial_finished(record),
        Event::TestFinished(outcome) => outcome_of(outcome),
        Event::TestRepeated(again) => json!({
            "kind": "test_repeated",
            "test": again.test.to_string(),
            "frame_size": again.frame_size,
            "because": again.because,
        }),
        Event::ConsistencyChecked(found) => json!({
            "kind": "consistency",
            "summary": found.in_words(),
            "contradictions": found.contradictions.iter().map(Contradiction::in_words).collect::<Vec<_>>(),
            "revised": found.revised.iter().map(|it| outcome_of(&it.outcome)).collect::<Vec<_>>(),
        }),
        Event::SelfTestFinished(_) => json!({ "kind": "self_test_finished" }),
        Event::Warning(text) => json!({ "kind": "warning", "text": text }),
        Event::Note(text) => json!({ "kind": "note", "text": text }),
        Event::RunFinished(finished) => json!({
            "kind": "run_finished",
            "trials": finished.trials,
            "invalid_trials": finished.invalid_trials,
            "invalid_tests": finished.invalid_tests,
            "stopped_by": finished.stopped_by,
        }),
    }
}

/// Of a line that `netanvil traffic --json` printed: itself, under the same name for its kind.
pub fn of_traffic(mut line: Value) -> Value {
    if let Some(line) = line.as_object_mut() {
        let kind = line.remove("event").unwrap_or_default();
        line.insert("kind".into(), kind);
    }
    line
}

/// Of a line that cannot be read, or means nothing to a page.
pub fn unreadable(line: u64, detail: &str) -> Value {
    json!({ "kind": "unreadable", "line": line, "detail": detail })
}

fn trial_started(started: &TrialStarted) -> Value {
    let bounds = started.bounds.as_ref().map(|SearchBounds { lower, upper, unit }| {
        json!({ "lower": lower, "upper": upper, "unit": unit })
    });
    json!({
        "kind": "trial_started",
        "number": started.number,
        "test": started.test.to_string(),
        "frame_size": started.frame_size,
        "label": started.label,
        "attempt": started.attempt,
        "intended_fps": started.intended.fps(),
        "intended_frames": started.intended_frames,
        "duration_s": started.duration.as_secs_f64(),
        "bounds": bounds,
        "remaining_s": started.remaining.as_secs_f64(),
    })
}

fn trial_finished(record: &TrialRecord) -> Value {
    let row = TrialRow::of(record);
    json!({
        "kind": "trial",
        "number": row.number,
        "test": row.test.to_string(),
        "frame_size": row.frame_size,
        "label": row.label,
        "attempt": row.attempt,
        "duration_s": row.duration.as_secs_f64(),
        "intended_per_port_fps": record.intended.fps(),
        "intended_fps": row.intended.fps(),
        "offered_fps": row.offered.fps(),
        "forwarded_fps": record.result.forwarding_rate().fps(),
        "sent_frames": row.offered_frames,
        "expected_frames": row.expected_frames,
        "received_frames": row.forwarded_frames,
        "lost_frames": row.lost_frames,
        "loss_ratio": row.loss_ratio(),
        "reordered_frames": row.reordered_frames,
        "latency": record.result.own_latency().as_ref().and_then(latency),
        "verdict": record.verdict,
        "faults": row.faults,
        "notes": row.notes,
    })
}

fn outcome_of(outcome: &Outcome) -> Value {
    let figures = outcome.figures.iter().map(|figure| {
        let (value, unit) = figure.printed();
        let reason = [&figure.reason[..], &figure.revised[..]].concat();
        json!({ "name": figure.name, "value": value, "unit": unit, "reason": reason })
    });
    json!({
        "kind": "outcome",
        "test": outcome.test.to_string(),
        "frame_size": outcome.conditions.frame_size,
        "figures": figures.collect::<Vec<_>>(),
        "invalid": outcome.invalid,
        "deviations": outcome.conditions.deviations,
    })
}

fn latency(latency: &Histogram) -> Option<Value> {
    let ns = |span: Option<Duration>| span.map(Duration::as_ns_f64);
    (latency.count() > 0).then(|| {
        json!({
            "frames": latency.count(),
            "min_ns": ns(latency.min()),
            "mean_ns": ns(latency.mean()),
            "p50_ns": ns(latency.percentile(50.0)),
            "p99_ns": ns(latency.percentile(99.0)),
            "max_ns": ns(latency.max()),
        })
    })
}
