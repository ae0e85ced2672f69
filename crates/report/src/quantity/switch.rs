//! The quantities of the tests of switches: RFC 2889 and the GIGAswitch tests.

use super::many_ports::reasons;
use super::{Maker, Quantity, Relation};
use method::Spread;
use method::chassis::ChassisTest;
use method::gigaswitch::{ArpServerResult, ExtrapolationResult, FanoutResult};
use method::rfc2889::{
    AddressResult, BroadcastLatencyResult, CongestionResult, ErroredOutcome, ErroredResult,
    ErroredTrial, ForwardPressureResult, GapOutcome, MeshResult,
};

pub(super) fn mesh(new: &Maker, result: &MeshResult) -> Vec<Quantity> {
    let mut quantities = vec![
        new.load("throughput", &result.throughput),
        new.forwarding("forwarding rate at maximum offered load".into(), result.frmol()),
        new.forwarding("maximum forwarding rate".into(), result.mfr()),
    ];
    quantities.extend(result.points.iter().map(|point| {
        new.loss_of(format!("loss at {} % of the medium", point.load_percent), point)
    }));
    quantities.extend(result.frmol().map(|point| {
        let flooded = point.flood_count as f64;
        new.single("flood count at maximum offered load".into(), "frames", flooded)
            .called("flood-count")
    }));
    quantities
}

pub(super) fn congestion(new: &Maker, result: &CongestionResult) -> Vec<Quantity> {
    if !result.invalid.is_empty() {
        let why = reasons(&result.invalid);
        return vec![new.missing("loss at the uncongested port", "percent", &why)];
    }
    let lost = |(sent, received): (u64, u64)| (sent.saturating_sub(received), sent);
    let (uncongested, congested) = (lost(result.uncongested), lost(result.congested));
    vec![
        new.lost("loss at the uncongested port".into(), uncongested.0, uncongested.1)
            .called("uncongested-loss"),
        new.lost("loss at the congested port".into(), congested.0, congested.1)
            .called("congested-loss"),
        new.single("rate of the uncongested port".into(), "fps", result.uncongested_rate.fps()),
        new.single("rate of the congested port".into(), "fps", result.congested_rate.fps()),
        new.single("PAUSE frames".into(), "frames", result.pauses.0 as f64),
        new.single("flood count".into(), "frames", result.flood_count as f64).called("flood-count"),
    ]
}

pub(super) fn forward_pressure(new: &Maker, result: &ForwardPressureResult) -> Vec<Quantity> {
    const GAP: &str = "rate of frames sent with a gap of 88 bits";
    let gap = match &result.gap {
        GapOutcome::Detected { rate } | GapOutcome::NotDetected { rate } => {
            new.single(GAP.into(), "fps", rate.fps())
        }
        GapOutcome::NotTested { why } => new.missing(GAP, "fps", &Some(why.clone())),
    };
    vec![
        new.load("throughput", &result.throughput),
        new.forwarding("maximum forwarding rate".into(), result.mfr()),
        gap,
    ]
}

pub(super) fn addresses(new: &Maker, result: &AddressResult) -> Vec<Quantity> {
    let is_rate = result.conditions.test == ChassisTest::AddressLearning;
    let (name, unit) = match is_rate {
        true => ("address learning rate", "addresses/s"),
        false => ("address caching capacity", "addresses"),
    };
    // Where even the lowest failed, it is what the last trial tried.
    let lowest = result.trials.iter().filter(|trial| trial.learned == Some(false));
    let lowest = lowest.map(|trial| match is_rate {
        true => trial.learning_rate.fps_truncated(),
        false => trial.addresses,
    });
    let failed = result.failed.or_else(|| lowest.min().filter(|_| result.found.is_none()));
    let figure = if is_rate { "learning-rate" } else { "addresses" };
    vec![new.count((name, unit), (result.found, failed), &result.invalid).called(figure)]
}

pub(super) fn errored(new: &Maker, result: &ErroredResult) -> Vec<Quantity> {
    let of_trial = |trial: &ErroredTrial| {
        let name = match trial.load_percent {
            0.0 => format!("forwarded with {}", trial.kind),
            load => format!("forwarded with {} at {load} %", trial.kind),
        };
        match &trial.outcome {
            ErroredOutcome::NotTested { why } => new.missing(&name, "frames", &Some(why.clone())),
            ErroredOutcome::Passed | ErroredOutcome::Failed => {
                new.single(name, "frames", trial.errored.1 as f64).called("errored-frames")
            }
        }
    };
    result.trials.iter().map(of_trial).collect()
}

pub(super) fn broadcast_latency(new: &Maker, result: &BroadcastLatencyResult) -> Vec<Quantity> {
    let why = reasons(&result.invalid);
    let mut quantities = vec![];
    for port in &result.ports {
        let name = |which: &str| format!("latency {which} at {}", port.port);
        match &port.latency_ns {
            Some(spread) => quantities.extend(spread_of(new, &name, spread)),
            None => quantities.push(new.missing(&name("mean"), "ns", &why)),
        }
    }
    quantities
}

/// Smallest, mean and largest latency, which is in nanoseconds.
pub(super) fn spread_of(
    new: &Maker,
    name: &dyn Fn(&str) -> String,
    spread: &Spread,
) -> [Quantity; 3] {
    [
        new.single(name("min"), "ns", spread.min),
        new.single(name("mean"), "ns", spread.mean).called("latency"),
        new.single(name("max"), "ns", spread.max).called("latency-max"),
    ]
}

pub(super) fn fanout(new: &Maker, result: &FanoutResult) -> Vec<Quantity> {
    let mut quantities = vec![new.load("throughput", &result.throughput)];
    quantities
        .extend(result.point.as_ref().map(|point| new.loss_of("loss at that rate".into(), point)));
    quantities
}

pub(super) fn extrapolation(new: &Maker, result: &ExtrapolationResult) -> Vec<Quantity> {
    let between = |name: String, unit, (low, high): (f64, f64)| {
        let relation = if low == high { Relation::Equal } else { Relation::Between };
        new.within(name, unit, relation, (low, high))
    };
    let ports = result.ports;
    let mut quantities = vec![
        between("scaling factor".into(), "ratio", result.scaling_factor).called("scaling-factor"),
        between(format!("rate extrapolated to {ports} ports"), "fps", result.extrapolated),
    ];
    quantities.push(match result.all_ports {
        Some(all) => between(format!("rate of {ports} ports"), "fps", all),
        None => {
            let why = Some(format!("the device has fewer than {ports} ports"));
            new.missing(&format!("rate of {ports} ports"), "fps", &why)
        }
    });
    quantities
}

pub(super) fn arp_server(new: &Maker, result: &ArpServerResult) -> Vec<Quantity> {
    let found = (result.rate_fps, result.failed_fps);
    vec![new.count(("requests answered", "fps"), found, &result.invalid).called("requests")]
}
