//! Traffic as JSON, an object a line.

use method::generator::{GeneratorConfig, Mix, Second, StreamTotals, Totals, TrafficCriterion};
use method::versus::Met;
use serde_json::{Value, json};
use trial::Histogram;
use units::{Duration, FrameRate};

/// What will be sent.
pub fn start(device: &str, mix: &Mix, config: &GeneratorConfig, rate: FrameRate) -> Value {
    let streams = mix.streams().map(|(name, traffic, weight)| {
        json!({
            "name": name,
            "weight": weight,
            "traffic": traffic.describe(),
            "frame_size": traffic.frame_size(),
            "not_measured": traffic.given_up(),
        })
    });
    json!({
        "event": "start",
        "device": device,
        "streams": streams.collect::<Vec<_>>(),
        "sending_ports": mix.senders().len(),
        "rate_per_port_fps": rate.fps(),
        "duration_s": config.duration.map(Duration::as_secs_f64),
    })
}

/// Another load.
pub fn load(rate: FrameRate) -> Value {
    json!({ "event": "load", "rate_per_port_fps": rate.fps() })
}

/// Nothing is sent for a while.
pub fn paused() -> Value {
    json!({ "event": "paused" })
}

/// About a second.
pub fn second(second: &Second) -> Value {
    json!({
        "event": "second",
        "until_s": second.until.as_secs_f64(),
        "length_s": second.length.as_secs_f64(),
        "sent_frames": second.sent,
        "received_frames": second.received,
        "lost_frames": second.lost,
        "reordered_frames": second.reordered,
        "duplicate_frames": second.duplicates,
        "latency": second.latency.as_ref().map(latency),
    })
}

/// What became of it.
pub fn summary(totals: &Totals, judged: &[(TrafficCriterion, Met)], suspects: &[String]) -> Value {
    let criteria: Vec<Value> = judged
        .iter()
        .map(|(criterion, met)| json!({ "criterion": criterion.to_string(), "met": met }))
        .collect();
    let reasons: Vec<String> = totals.invalid.iter().map(ToString::to_string).collect();
    json!({
        "event": "summary",
        "sent_frames": totals.sent,
        "sent_bytes": totals.sent_bytes,
        "received_frames": totals.received,
        "lost_frames": totals.lost,
        "loss_ratio": totals.loss_ratio(),
        "reordered_frames": totals.reordered,
        "duplicate_frames": totals.duplicates,
        "corrupted_frames": totals.corrupted,
        "late_frames": totals.late,
        "misdirected_frames": totals.misdirected,
        "dropped_at": totals.dropped_at,
        "sent_fps": totals.sent_rate().fps(),
        "received_fps": totals.received_rate().fps(),
        "sending_s": totals.sending.as_secs_f64(),
        "load_share": totals.load_share(),
        "stretches": totals.stretches,
        "between_stretches_s": totals.between.as_secs_f64(),
        "streams": totals.streams.iter().map(stream).collect::<Vec<_>>(),
        "flows": totals.flows.map(|(flows, _)| flows),
        "flows_with_loss": totals.flows.map(|(_, with_loss)| with_loss),
        "latency": totals.latency.as_ref().map(latency),
        "latency_error_ns": totals.clock_error.as_ns_f64(),
        "latency_error_known_by": totals.clock_known_by,
        "tester_kept_up": totals.invalid.is_empty(),
        "tester_fell_short": reasons,
        "notes": totals.notes,
        "criteria": criteria,
        "suspects": suspects,
    })
}

/// Traffic that broke off, in place of its summary.
pub fn failed(error: &str) -> Value {
    json!({ "event": "failed", "error": error })
}

fn stream((name, totals): (&String, &StreamTotals)) -> Value {
    json!({
        "name": name,
        "sent_frames": totals.sent,
        "received_frames": totals.received,
        "lost_frames": totals.lost,
        "reordered_frames": totals.reordered,
        "latency": totals.latency.as_ref().map(latency),
    })
}

fn latency(latency: &Histogram) -> Value {
    let ns = |span: Option<Duration>| span.map(Duration::as_ns_f64);
    json!({
        "frames": latency.count(),
        "min_ns": ns(latency.min()),
        "mean_ns": ns(latency.mean()),
        "p50_ns": ns(latency.percentile(50.0)),
        "p99_ns": ns(latency.percentile(99.0)),
        "p999_ns": ns(latency.percentile(99.9)),
        "max_ns": ns(latency.max()),
        "buckets": report::latency_buckets(latency),
    })
}
