//! One stream at one port in one trial: the rows of `streams.csv`, where every frame is accounted for.

use method::{TestKind, TrialRecord};
use serde::Serialize;
use std::collections::BTreeMap;
use trial::{BitTimes, LatencyForm, PortId, Role, StreamReceived, StreamResult, TesterDescription};
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
    /// What a frame's bits take on the line into the device, and on that out of it; empty where the ports'
    /// rates are not known.
    line_in_ps: Option<u64>,
    line_out_ps: Option<u64>,
    /// The mean by each definition; that of mixed sizes is exact, too. What follows is as stamped (FILO).
    latency_lifo_mean_ps: Option<i64>,
    latency_fifo_mean_ps: Option<i64>,
    latency_lilo_mean_ps: Option<i64>,
    latency_filo_mean_ps: Option<i64>,
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
    pub(crate) fn all_of(
        record: &'a TrialRecord,
        tester: Option<&'a TesterDescription>,
    ) -> impl Iterator<Item = StreamRow<'a>> {
        let result = &record.result;
        let by_id: BTreeMap<_, _> =
            result.streams.iter().map(|stream| (stream.id, stream)).collect();
        let at_ports = result.received.iter().flat_map(|port| &port.streams);
        at_ports.filter_map(move |received| {
            let stream = by_id.get(&received.stream)?;
            Some(StreamRow::new(record, (stream, received), tester))
        })
    }

    fn new(
        record: &'a TrialRecord,
        (stream, received): (&'a StreamResult, &StreamReceived),
        tester: Option<&TesterDescription>,
    ) -> Self {
        let (account, missing) = (&received.account, &received.missing);
        let start = record.result.started_at;
        let at = |time: Option<Instant>| Some(time?.since(start).as_ps());
        let ps = |time: Option<Duration>| time.map(Duration::as_ps);
        let (latency, gaps) = (&account.latency, &account.arrival_gaps);
        let tick_ps = latency.tick().as_ps() as f64;
        let bits = tester.and_then(|tester| bits_of(stream, received, tester));
        let mean = |form| Some(bits?.in_form_ps(form, latency.mean()?));
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
            line_in_ps: ps(bits.map(|bits| bits.sending)),
            line_out_ps: ps(bits.map(|bits| bits.receiving)),
            latency_lifo_mean_ps: mean(LatencyForm::Lifo),
            latency_fifo_mean_ps: mean(LatencyForm::Fifo),
            latency_lilo_mean_ps: mean(LatencyForm::Lilo),
            latency_filo_mean_ps: mean(LatencyForm::Filo),
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

/// What a stream's frames take on the lines, in the mean: zero on virtual links.
fn bits_of(
    stream: &StreamResult,
    received: &StreamReceived,
    tester: &TesterDescription,
) -> Option<BitTimes> {
    let time = |port: PortId, bytes: f64| {
        let port = tester.ports.iter().find(|described| described.id == port)?;
        let seconds = bytes * 8.0 / port.line_rate.bps() as f64;
        let is_physical = port.line_rate_is_physical;
        Some(if is_physical { Duration::from_secs_f64(seconds) } else { Duration::ZERO })
    };
    let account = &received.account;
    let out_bytes = account.unique_bytes as f64 / account.unique.max(1) as f64;
    let sending = time(stream.from, stream.mean_frame_size_bytes)?;
    Some(BitTimes { sending, receiving: time(received.port, out_bytes)? })
}
