//! One stream at one port in one trial: the rows of `streams.csv`, where every frame is accounted for.

use method::{TestKind, TrialRecord};
use serde::Serialize;
use std::collections::BTreeMap;
use trial::{Role, StreamReceived, StreamResult};
use units::{Duration, Instant};

/// Counts are frames and times are picoseconds, since the trial's start where they are points in time.
/// A cell is empty where there is nothing to say.
#[derive(Serialize)]
pub(crate) struct StreamRow<'a> {
    trial: u64,
    test: TestKind,
    frame_size: &'a str,
    stream: u16,
    name: &'a str,
    role: Role,
    from_port: u16,
    at_port: u16,
    /// Whether it should arrive at that port.
    is_expected: bool,
    sent_frames: u64,
    /// Different frames that arrived in time.
    received_frames: u64,
    lost_frames: u64,
    /// Runs of neighbouring frames lost, and the longest (RFC 2544 section 10).
    loss_gaps: u64,
    longest_loss_gap_frames: u64,
    duplicate_frames: u64,
    reordered_frames: u64,
    /// RFC 4737 section 4.2.2, the largest.
    reorder_extent_frames: u64,
    late_frames: u64,
    corrupted_frames: u64,
    wrong_length_frames: u64,
    first_arrival_ps: Option<u64>,
    last_arrival_ps: Option<u64>,
    longest_silence_ps: Option<u64>,
    peak_1s_fps: Option<f64>,
    peak_10s_fps: Option<f64>,
    latency_min_ps: Option<u64>,
    latency_mean_ps: Option<u64>,
    latency_p50_ps: Option<u64>,
    latency_p99_ps: Option<u64>,
    latency_p99_9_ps: Option<u64>,
    latency_max_ps: Option<u64>,
    /// D(99.9) - D(min) (RFC 5481 section 4.2).
    pdv_ps: Option<u64>,
    /// Mean of |D(i) - D(i-1)| (RFC 4689 section 3.2.5).
    jitter_mean_ps: Option<f64>,
    arrival_gap_min_ps: Option<u64>,
    arrival_gap_p50_ps: Option<u64>,
    arrival_gap_max_ps: Option<u64>,
}

impl<'a> StreamRow<'a> {
    /// Of every stream at every port where it should or did arrive.
    pub(crate) fn all_of(record: &'a TrialRecord) -> impl Iterator<Item = StreamRow<'a>> {
        let result = &record.result;
        let by_id: BTreeMap<_, _> =
            result.streams.iter().map(|stream| (stream.id, stream)).collect();
        let at_ports = result.received.iter().flat_map(|port| &port.streams);
        at_ports.filter_map(move |received| {
            let stream = by_id.get(&received.stream)?;
            Some(StreamRow::new(record, stream, received))
        })
    }

    fn new(record: &'a TrialRecord, stream: &'a StreamResult, received: &StreamReceived) -> Self {
        let (account, missing) = (&received.account, &received.missing);
        let start = record.result.started_at;
        let at = |time: Option<Instant>| Some(time?.since(start).as_ps());
        let ps = |time: Option<Duration>| time.map(Duration::as_ps);
        let (latency, gaps) = (&account.latency, &account.arrival_gaps);
        let tick_ps = latency.tick().as_ps() as f64;
        StreamRow {
            trial: record.number,
            test: record.test,
            frame_size: &record.frame_size,
            stream: stream.id.0,
            name: &stream.name,
            role: stream.role,
            from_port: stream.from.0,
            at_port: received.port.0,
            is_expected: received.expected,
            sent_frames: stream.sent,
            received_frames: account.unique,
            lost_frames: missing.count,
            loss_gaps: missing.gaps,
            longest_loss_gap_frames: missing.longest_gap,
            duplicate_frames: account.duplicates,
            reordered_frames: account.reordered,
            reorder_extent_frames: account.reorder_extent_max_frames,
            late_frames: account.late,
            corrupted_frames: account.corrupted,
            wrong_length_frames: account.wrong_length,
            first_arrival_ps: at(account.first_at),
            last_arrival_ps: at(account.last_at),
            longest_silence_ps: ps(account.longest_silence.map(|silence| silence.duration())),
            peak_1s_fps: account.peak_rate_fps(1),
            peak_10s_fps: account.peak_rate_fps(10),
            latency_min_ps: ps(latency.min()),
            latency_mean_ps: ps(latency.mean()),
            latency_p50_ps: ps(latency.percentile(50.0)),
            latency_p99_ps: ps(latency.percentile(99.0)),
            latency_p99_9_ps: ps(latency.percentile(99.9)),
            latency_max_ps: ps(latency.max()),
            pdv_ps: ps(latency.pdv()),
            jitter_mean_ps: account.variation.mean_abs_ticks().map(|ticks| ticks * tick_ps),
            arrival_gap_min_ps: ps(gaps.min()),
            arrival_gap_p50_ps: ps(gaps.percentile(50.0)),
            arrival_gap_max_ps: ps(gaps.max()),
        }
    }
}
