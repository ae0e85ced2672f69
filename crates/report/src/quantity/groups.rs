//! The quantities of the tests of multicast (RFC 3918).

use super::many_ports::reasons;
use super::switch::spread_of;
use super::{Maker, Quantity, Relation};
use method::Spread;
use method::chassis::ChassisTest;
use method::rfc3918::{
    DelayOutcome, DelaySet, GroupCapacityResult, GroupDelayResult, LatencySet,
    MulticastLatencyResult, MulticastThroughputResult, PortDelay, ScaledGroupsResult,
};
use units::Duration;

pub(super) fn throughput(new: &Maker, result: &MulticastThroughputResult) -> Vec<Quantity> {
    let name = format!("throughput, {} groups", result.multicast.groups);
    let mut quantities = vec![new.load(&name, &result.throughput)];
    if let Some(classes) = &result.classes {
        quantities.push(new.single("multicast of it".into(), "fps", classes.multicast.fps()));
        quantities.push(new.single("unicast of it".into(), "fps", classes.unicast.fps()));
    }
    quantities
}

pub(super) fn scaled(new: &Maker, result: &ScaledGroupsResult) -> Vec<Quantity> {
    let of_row = |row: &method::rfc3918::MatrixRow| {
        let groups = row.groups;
        [
            new.forwarding(format!("forwarding rate, {groups} groups"), Some(&row.point)),
            new.loss_of(format!("loss, {groups} groups"), &row.point),
        ]
    };
    result.rows.iter().flat_map(of_row).collect()
}

pub(super) fn latency(new: &Maker, result: &MulticastLatencyResult) -> Vec<Quantity> {
    let mut quantities = vec![];
    for is_burdened in [false, true] {
        let with = if is_burdened { " with the burden" } else { "" };
        let sets: Vec<&LatencySet> =
            result.sets.iter().filter(|set| set.burden.is_some() == is_burdened).collect();
        for port in &result.multicast.egress {
            let all = sets.iter().flat_map(|set| &set.latencies);
            let here = all.filter(|tagged| tagged.port == *port);
            let ns: Vec<f64> = here.map(|tagged| tagged.latency.as_ns_f64()).collect();
            let name = |which: &str| format!("latency {which} at {port}{with}");
            if let Some(spread) = Spread::of(&ns) {
                quantities.extend(spread_of(new, &name, &spread));
            }
        }
        let widest = sets.iter().filter_map(|set| set.min_max()).max();
        quantities.extend(widest.map(|span: Duration| {
            let name = format!("min/max latency{with}, the largest of all trials");
            new.single(name, "ns", span.as_ns_f64()).called("min-max-latency")
        }));
    }
    match quantities.is_empty() {
        true => vec![new.missing("latency mean", "ns", &reasons(&result.invalid))],
        false => quantities,
    }
}

pub(super) fn delay(new: &Maker, result: &GroupDelayResult) -> Vec<Quantity> {
    let is_leave = result.conditions.test == ChassisTest::GroupLeaveDelay;
    let noun = if is_leave { "leave delay" } else { "join delay" };
    let figure = if is_leave { "leave-delay" } else { "join-delay" };
    let of_set = |set: &DelaySet| -> Vec<Quantity> {
        let method = set.method.map(|method| format!(", method {method}")).unwrap_or_default();
        let with = if set.burden.is_some() { ", with the burden" } else { "" };
        let name = |port: &PortDelay| format!("{noun} at {}{method}{with}", port.port);
        let of_port = |port: &PortDelay| of_outcome(new, name(port), &port.outcome).called(figure);
        set.ports.iter().map(of_port).collect()
    };
    match result.sets.is_empty() {
        true => vec![new.missing(noun, "ns", &reasons(&result.invalid)).called(figure)],
        false => result.sets.iter().flat_map(of_set).collect(),
    }
}

fn of_outcome(new: &Maker, name: String, outcome: &DelayOutcome) -> Quantity {
    match outcome {
        DelayOutcome::Measured { delay } => new.single(name, "ns", delay.as_ns_f64()),
        DelayOutcome::Never { waited } => Quantity {
            reason: "it took no effect as long as the tester waited".into(),
            ..new.within(name, "ns", Relation::AtLeast, (waited.as_ns_f64(), f64::INFINITY))
        },
        DelayOutcome::NotFromThere { why } => new.missing(&name, "ns", &Some(why.clone())),
    }
}

pub(super) fn capacity(new: &Maker, result: &GroupCapacityResult) -> Vec<Quantity> {
    let found = (result.found, result.failed);
    let quantity = new.count(("multicast group capacity", "groups"), found, &result.invalid);
    let reason = match (&result.ended, quantity.relation) {
        (Some(why), Relation::AtLeast) => why.clone(),
        _ => quantity.reason.clone(),
    };
    vec![Quantity { reason, ..quantity }.called("groups")]
}
