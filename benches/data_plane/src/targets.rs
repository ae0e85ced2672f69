//! What the ports are to reach, and whether they did.

use crate::memif::Way;
use crate::queues::QueueRate;
use crate::results::{Results, TransmitReceive};
use crate::subject::Subject;
use serde::Serialize;
use std::fmt;

/// Size for which rates are promised, FCS included.
const SIZE_BYTES: u32 = 64;

/// A target and what was measured against it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// In words, with its bound.
    pub target: String,
    /// What was measured, in words.
    pub measured: String,
    /// How it came out.
    pub outcome: Outcome,
}

/// How a target came out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Met.
    Pass,
    /// Missed.
    Fail,
    /// What it takes was not measured.
    NotMeasured,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Outcome::Pass => "PASS",
            Outcome::Fail => "**FAIL**",
            Outcome::NotMeasured => "not measured",
        })
    }
}

/// Judges everything.
pub fn judge(results: &Results) -> Vec<Verdict> {
    let mut verdicts = vec![
        beside(results, Subject::Xdp, Subject::TestpmdAfXdp, 4.0),
        beside(results, Subject::AfXdp, Subject::TestpmdAfXdp, 1.0),
        beside(results, Subject::AfPacket, Subject::TestpmdAfPacket, 1.2),
        frame_building(results),
    ];
    verdicts.extend([14_880, 500_000].map(|rate_fps| gap_error(results, rate_fps)));
    verdicts.push(latency_floor(results));
    let memif = [(Way::ToTestpmd, 0.9), (Way::ToReceiver, 0.9), (Way::ThroughTestpmd, 1.0)];
    verdicts.extend(memif.map(|(way, at_least)| over_memif(results, way, at_least)));
    verdicts.push(two_queues(results));
    verdicts
}

/// Linear to the processors there are, less a tenth.
fn two_queues(results: &Results) -> Verdict {
    let target =
        format!("netanvil xdp: two queues at least 1.8 x what one sends ({SIZE_BYTES} bytes)");
    let rate =
        |queues| results.queue_rate(Subject::Xdp, queues, SIZE_BYTES).map(QueueRate::received_fps);
    match (rate(1), rate(2)) {
        (Some(one), Some(two)) => {
            let ratio = two / one;
            let measured =
                format!("{ratio:.2} x ({:.2} to {:.2} M frames/s)", two / 1e6, one / 1e6);
            Verdict::new(target, measured, ratio >= 1.8)
        }
        _ => Verdict::not_measured(target),
    }
}

/// netanvil's rate **without loss** against all that the other tool receives, losses or not.
fn beside(results: &Results, ours: Subject, theirs: Subject, at_least: f64) -> Verdict {
    let target = format!(
        "{ours}: transmit to receive without loss at least {at_least:.1} x what {theirs} receives \
         ({SIZE_BYTES} bytes)"
    );
    let ours = results.exchange(ours, SIZE_BYTES).and_then(TransmitReceive::no_loss_fps);
    let theirs = results.exchange(theirs, SIZE_BYTES);
    let theirs = theirs.map(|case| case.median(|exchange| exchange.received_fps()));
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        return Verdict::not_measured(target);
    };
    let ratio = ours / theirs;
    let measured = format!("{ratio:.2} x ({:.2} to {:.2} M frames/s)", ours / 1e6, theirs / 1e6);
    Verdict::new(target, measured, ratio >= at_least)
}

fn over_memif(results: &Results, way: Way, at_least: f64) -> Verdict {
    let target = format!(
        "netanvil dpdk over memif, {}: at least {at_least:.1} x testpmd ({SIZE_BYTES} bytes)",
        way.name()
    );
    match results.memif_ratio(way, SIZE_BYTES) {
        Some(ratio) => Verdict::new(target, format!("{ratio:.2} x"), ratio >= at_least),
        None => Verdict::not_measured(target),
    }
}

fn frame_building(results: &Results) -> Verdict {
    let target = format!("frame building: at least 20 M frames/s on one core ({SIZE_BYTES} bytes)");
    let mut loops = results.frame_building.iter();
    match loops.find(|rate| rate.name == "build" && rate.size_bytes == SIZE_BYTES) {
        Some(rate) => {
            let measured = format!("{:.1} M frames/s", rate.fps / 1e6);
            Verdict::new(target, measured, rate.fps >= 20e6)
        }
        None => Verdict::not_measured(target),
    }
}

fn gap_error(results: &Results, rate_fps: u64) -> Verdict {
    let target =
        format!("netanvil xdp: gap error p99 at most 1 us either way at {rate_fps} frames/s");
    match results.pacing(Subject::Xdp, rate_fps) {
        Some(case) => {
            let late_ns = case.median(|pace| pace.gaps.p99_ns);
            let within_ns = case.median(|pace| pace.gaps.within_p99_ns);
            let reached = case.was_reached();
            let not = if reached { "" } else { "; the rate was not reached" };
            let measured = format!(
                "99 % within {within_ns:.0} ns (p99 of the longer ones {late_ns:.0} ns); a bare spinning thread \
                 was away {:.2} % of the time{not}",
                away_percent(results)
            );
            Verdict::new(target, measured, reached && within_ns <= 1_000.0)
        }
        None => Verdict::not_measured(target),
    }
}

/// Median over the rounds.
fn away_percent(results: &Results) -> f64 {
    crate::results::median(results.spinning.iter().map(|round| round.away_percent))
}

fn latency_floor(results: &Results) -> Verdict {
    let target = "netanvil xdp: latency floor at most 1 us".to_string();
    let floors = results.pacing.iter().filter(|case| case.subject == Subject::Xdp);
    let floors = floors.map(|case| case.median(|pace| pace.latency_min_ns));
    match floors.min_by(f64::total_cmp) {
        Some(floor_ns) => Verdict::new(target, format!("{floor_ns:.0} ns"), floor_ns <= 1_000.0),
        None => Verdict::not_measured(target),
    }
}

impl Verdict {
    fn new(target: String, measured: String, met: bool) -> Self {
        Verdict { target, measured, outcome: if met { Outcome::Pass } else { Outcome::Fail } }
    }
    fn not_measured(target: String) -> Self {
        Verdict { target, measured: "-".into(), outcome: Outcome::NotMeasured }
    }
}
