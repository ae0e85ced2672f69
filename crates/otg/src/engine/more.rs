//! What the specification has no place for, at a path of its own that clients of the specification never ask for:
//! latency as a histogram, jitter, copies and order, and whether the tester kept up.

use super::Engine;
use super::active::lock;
use super::board::{Board, Counts, FlowState, Transmit};
use crate::error::Refused;
use crate::flow::FlowPlan;
use serde::Serialize;
use trial::Histogram;
use units::Duration;

/// A flow that is counted.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowDetails {
    /// Its name.
    pub name: String,
    /// Frames sent.
    pub frames_tx: u64,
    /// Frames received, copies included.
    pub frames_rx: u64,
    /// Frames missing; while it is sent, as far as that is known.
    pub frames_lost: u64,
    /// Second copies. This and the two below count what has ended, and grow when sending ends or pauses.
    pub duplicates: u64,
    /// Frames that came behind a later one.
    pub reordered: u64,
    /// Frames whose signature was damaged.
    pub corrupted: u64,
    /// Whether the counts say something about the device; nothing while it is sent.
    pub tester_kept_up: Option<bool>,
    /// Why not.
    pub tester_fell_short: Vec<String>,
    /// Mean of the absolute differences of latency between neighbours (RFC 4689 section 3.2.5).
    pub jitter_mean_ns: Option<f64>,
    /// From stamp to arrival, where frames bear a time.
    pub latency: Option<LatencyDetails>,
}

/// How latencies are spread.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LatencyDetails {
    /// Frames with a latency.
    pub frames: u64,
    /// Least.
    pub min_ns: f64,
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: f64,
    /// Percentile 99.
    pub p99_ns: f64,
    /// Percentile 99.9.
    pub p999_ns: f64,
    /// Greatest.
    pub max_ns: f64,
    /// The filled buckets, ascending: up to which latency, and how many frames.
    pub histogram: Vec<Bucket>,
}

/// A bucket.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Bucket {
    /// Its greatest latency.
    pub up_to_ns: f64,
    /// Its frames.
    pub frames: u64,
}

impl Engine {
    /// Every flow with metrics, in the order of the configuration.
    ///
    /// # Errors
    /// Where there is no configuration.
    pub fn flow_details(&self) -> Result<Vec<FlowDetails>, Refused> {
        let active = self.active()?;
        let board = lock(&active.board);
        let all = board.plans.iter().zip(&board.flows).filter(|(plan, _)| plan.is_counted);
        Ok(all.map(|(plan, flow)| details(&board, plan, flow)).collect())
    }
}

fn details(board: &Board, plan: &FlowPlan, flow: &FlowState) -> FlowDetails {
    let totals: Vec<Counts> = flow.legs.iter().map(|leg| leg.total()).collect();
    let sum = |of: fn(&Counts) -> u64| totals.iter().map(of).sum::<u64>();
    let is_sent = flow.transmit == Transmit::Started && board.running;
    let histograms = totals.iter().filter_map(|counts| counts.latency.as_ref());
    let latency = histograms.cloned().reduce(|mut all, more| {
        all.merge(&more);
        all
    });
    let mut variation = trial::DelayVariation::default();
    totals.iter().for_each(|counts| variation.merge(&counts.variation));
    let tick = latency.as_ref().map(Histogram::tick);
    let jitter = tick.zip(variation.mean_abs_ticks());
    FlowDetails {
        name: plan.name.clone(),
        frames_tx: sum(|counts| counts.sent),
        frames_rx: sum(|counts| counts.received),
        frames_lost: sum(|counts| counts.lost),
        duplicates: sum(|counts| counts.duplicates),
        reordered: sum(|counts| counts.reordered),
        corrupted: sum(|counts| counts.corrupted),
        tester_kept_up: (!is_sent && sum(|counts| counts.sent) > 0)
            .then_some(flow.fell_short.is_empty()),
        tester_fell_short: flow.fell_short.iter().cloned().collect(),
        jitter_mean_ns: jitter.map(|(tick, ticks)| tick.as_ns_f64() * ticks),
        latency: latency.filter(|all| all.count() > 0).map(|all| spread(&all)),
    }
}

fn spread(all: &Histogram) -> LatencyDetails {
    let ns = |span: Option<Duration>| span.unwrap_or_default().as_ns_f64();
    let bucket = |(upper, frames): (Duration, u64)| Bucket { up_to_ns: upper.as_ns_f64(), frames };
    LatencyDetails {
        frames: all.count(),
        min_ns: ns(all.min()),
        mean_ns: ns(all.mean()),
        p50_ns: ns(all.percentile(50.0)),
        p99_ns: ns(all.percentile(99.0)),
        p999_ns: ns(all.percentile(99.9)),
        max_ns: ns(all.max()),
        histogram: all.filled().map(bucket).collect(),
    }
}
