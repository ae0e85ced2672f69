//! Tests of multicast, in the layout of RFC 3918's reporting formats.

use super::chassis::{load_cell, rate_cell};
use super::{Table, fps};
use crate::number::{grouped, grouped_f64, microseconds};
use method::chassis::{ChassisConditions, ChassisResult, ChassisTest};
use method::rfc3918::{
    Burden, DelayOutcome, GroupCapacityResult, GroupDelayResult, GroupFlows, LatencySet,
    MulticastConditions, MulticastLatencyResult, MulticastThroughputResult, ScaledGroupsResult,
    Tunnel,
};

/// Lines of a latency table at most; there are more in the files of the run.
const LATENCY_LINES: usize = 200;

/// Columns of a result; none where it is of another kind.
pub(super) fn columns(result: &ChassisResult) -> Option<&'static [&'static str]> {
    Some(match result {
        ChassisResult::MulticastThroughput(result) => match result.conditions.test {
            ChassisTest::MixedClass => &[
                "size",
                "throughput, % of medium",
                "intended load, frames/s",
                "multicast offered",
                "copies received",
                "unicast offered",
                "received",
                "multicast, frames/s",
                "unicast, frames/s",
            ],
            ChassisTest::AggregatedMulticast => &[
                "size",
                "throughput, % of medium",
                "offered load, frames/s",
                "offered frames",
                "copies received",
                "AMT: ports",
                "frames/s of the source",
            ],
            _ => &[
                "size",
                "size as sent",
                "size as received",
                "throughput, % of medium",
                "offered load, frames/s",
                "offered frames",
                "throughput, frames/s",
            ],
        },
        ChassisResult::ScaledGroups(_) => &[
            "size",
            "groups",
            "offered load, frames/s",
            "frames transmitted",
            "frames received",
            "aggregate forwarding rate, frames/s",
            "loss, %",
        ],
        ChassisResult::MulticastLatency(_) => &[
            "size", "<burden", "ingress", "egress", "<group", "trials", "min us", "mean us",
            "max us",
        ],
        ChassisResult::GroupDelay(_) => &["size", "<method", "<burden", "egress", "delay, us", "<"],
        ChassisResult::GroupCapacity(_) => {
            &["groups a port", "frames sent", "frames received", "<every group forwarded"]
        }
        _ => return None,
    })
}

/// What the heading says on top of the test's name.
pub(super) fn found_in_words(result: &ChassisResult) -> Option<String> {
    let ChassisResult::GroupCapacity(result) = result else { return None };
    Some(match (result.found, result.failed) {
        _ if !result.invalid.is_empty() => "no valid result".into(),
        (Some(found), None) => format!("at least {} groups", grouped(found)),
        (Some(found), Some(failed)) => {
            format!("{} groups, {} failed", grouped(found), grouped(failed))
        }
        (None, _) => "not even the first groups were forwarded".into(),
    })
}

/// What every reporting format asks for.
pub(super) fn about(result: &ChassisResult) -> Vec<String> {
    let (conditions, multicast) = match result {
        ChassisResult::MulticastThroughput(r) => (&r.conditions, &r.multicast),
        ChassisResult::ScaledGroups(r) => (&r.conditions, &r.multicast),
        ChassisResult::MulticastLatency(r) => (&r.conditions, &r.multicast),
        ChassisResult::GroupDelay(r) => (&r.conditions, &r.multicast),
        ChassisResult::GroupCapacity(r) => (&r.conditions, &r.multicast),
        _ => return vec![],
    };
    let mut about = vec![hosts(conditions, multicast)];
    match result {
        ChassisResult::MulticastThroughput(result) => about.extend(tunnels(result)),
        ChassisResult::ScaledGroups(result) => about.push(match result.capacity {
            Some(capacity) => format!("the device takes {} groups", grouped(capacity)),
            None => "the capacity of groups was not measured in this run".into(),
        }),
        ChassisResult::MulticastLatency(result) => about.push(latency_in_words(result)),
        ChassisResult::GroupDelay(result) => about.push(delay_in_words(result)),
        _ => {}
    }
    about
}

fn hosts(conditions: &ChassisConditions, multicast: &MulticastConditions) -> String {
    let egress: Vec<String> = multicast.egress.iter().map(|port| port.0.to_string()).collect();
    let groups = match conditions.test {
        ChassisTest::GroupCapacity | ChassisTest::ScaledGroups => String::new(),
        _ if multicast.groups == 1 => "1 group, ".into(),
        _ => format!("{} groups, ", grouped(multicast.groups)),
    };
    format!(
        "{}; {groups}from port {} to {} egress interfaces ({}); trials of {} s; every port joined every \
         group, at {} reports a second, and a frame to each group proved it and primed the device",
        multicast.version,
        multicast.source.0,
        egress.len(),
        egress.join(", "),
        conditions.trial_duration.as_secs_f64(),
        fps(multicast.report_rate),
    )
}

fn tunnels(result: &MulticastThroughputResult) -> Option<String> {
    let multicast = &result.multicast;
    let of = |tunnel: Tunnel, side: &str| match tunnel {
        Tunnel::None => format!("none at {side} interfaces"),
        tunnel => format!("{tunnel}, one at each {side} interface with all groups"),
    };
    let has_any = (multicast.tunnel_in, multicast.tunnel_out) != (Tunnel::None, Tunnel::None);
    has_any.then(|| {
        format!(
            "tunnels: {}; {}",
            of(multicast.tunnel_in, "ingress"),
            of(multicast.tunnel_out, "egress")
        )
    })
}

fn latency_in_words(result: &MulticastLatencyResult) -> String {
    format!(
        "one tagged frame to each group at the mid-point of trials of {} s at {} frames/s ({} % of the \
         medium); from the completion of its transmission to the completion of its arrival \
         (store and forward: {} us on the source's line are taken off)",
        result.duration.as_secs_f64(),
        fps(result.intended),
        grouped_f64(result.load_percent, 2),
        microseconds(result.source_line),
    )
}

fn delay_in_words(result: &GroupDelayResult) -> String {
    let what = match result.conditions.test {
        ChassisTest::GroupLeaveDelay => {
            "from the last bit of the leave to the last bit of the last frame forwarded"
        }
        _ => {
            "from the last bit of the report to the first bit of the first frame forwarded; method A: no \
             port had joined the group (MFDB state 0); method B: another port had (state 1)"
        }
    };
    format!(
        "{what}; traffic at {} % of the medium, a frame every {} us: no delay is told more finely",
        grouped_f64(result.load_percent, 2),
        microseconds(result.resolution)
    )
}

pub(super) fn fill(table: &mut Table, result: &ChassisResult, size: &str) {
    match result {
        ChassisResult::MulticastThroughput(result) => throughput(table, result, size),
        ChassisResult::ScaledGroups(result) => scaled(table, result, size),
        ChassisResult::MulticastLatency(result) => latency(table, result, size),
        ChassisResult::GroupDelay(result) => delay(table, result, size),
        ChassisResult::GroupCapacity(result) => capacity(table, result),
        _ => {}
    }
}

fn throughput(table: &mut Table, result: &MulticastThroughputResult, size: &str) {
    let found = &result.throughput;
    let point = found.point.as_ref();
    let of = |print: &dyn Fn(&method::chassis::LoadPoint) -> String| {
        point.map_or_else(|| "-".into(), print)
    };
    let ports = result.multicast.egress.len() as u64;
    let offered = of(&|point| fps(point.offered));
    let sent = of(&|point| grouped(point.offered_frames / ports.max(1)));
    let received = of(&|point| grouped(point.received_frames));
    let mut row = vec![size.to_string()];
    match (&result.classes, result.conditions.test) {
        (Some(classes), _) => row.extend([
            load_cell(found),
            rate_cell(found),
            grouped(classes.multicast_frames.0),
            grouped(classes.multicast_frames.1),
            grouped(classes.unicast_frames.0),
            grouped(classes.unicast_frames.1),
            fps(classes.multicast),
            fps(classes.unicast),
        ]),
        (None, ChassisTest::MixedClass) => {
            row.extend([load_cell(found), rate_cell(found)]);
            row.extend(std::iter::repeat_n("-".to_string(), 6));
        }
        (None, ChassisTest::AggregatedMulticast) => {
            row.extend([load_cell(found), offered, sent, received, ports.to_string()]);
            row.push(rate_cell(found));
        }
        _ => {
            let received = result.multicast.received_size_bytes;
            row.push(result.multicast.sent_size_bytes.to_string());
            row.push(received.map_or_else(|| "-".into(), |bytes| grouped_f64(bytes, 0)));
            row.extend([load_cell(found), offered, sent, rate_cell(found)]);
        }
    }
    table.rows.push(row);
    let ratio = result.classes.as_ref().map(|classes| {
        format!(
            "{} unicast frames for each multicast frame, round robin over the egress interfaces",
            classes.unicast_per_multicast
        )
    });
    table.note(size, ratio);
    table.note(size, flows(&result.flows));
}

/// What came of each group at each port, in words; nothing where there are none.
fn flows(flows: &[GroupFlows]) -> Option<String> {
    let (complete, partial, silent) = flows
        .iter()
        .fold((0, 0, 0), |(c, p, s), port| (c + port.complete, p + port.partial, s + port.silent));
    let first = flows.iter().find_map(|port| Some((port.port, port.first_missed.as_ref()?)));
    let first = first.map_or(String::new(), |(port, group)| {
        format!("; the first frame missed is one to {group} at {port}")
    });
    (!flows.is_empty()).then(|| {
        format!(
            "of {} pairs of egress interface and group {} had every frame, {} some, {} none{first}",
            grouped(complete + partial + silent),
            grouped(complete),
            grouped(partial),
            grouped(silent),
        )
    })
}

fn scaled(table: &mut Table, result: &ScaledGroupsResult, size: &str) {
    let ports = result.multicast.egress.len().max(1) as u64;
    for row in &result.rows {
        table.rows.push(vec![
            size.into(),
            grouped(row.groups),
            fps(row.point.offered),
            grouped(row.point.offered_frames / ports),
            grouped(row.point.received_frames),
            match row.point.invalid.is_empty() {
                true => fps(row.point.forwarding_rate),
                false => "invalid".into(),
            },
            grouped_f64(row.point.loss_percent, 3),
        ]);
    }
    table.note(size, result.rows.last().and_then(|row| flows(&row.flows)));
}

fn latency(table: &mut Table, result: &MulticastLatencyResult, size: &str) {
    for burdened in [false, true] {
        let sets: Vec<&LatencySet> =
            result.sets.iter().filter(|set| set.burden.is_some() == burdened).collect();
        // Every set has the same ones, by port and then by group.
        let first = sets.first().into_iter().flat_map(|set| &set.latencies);
        let mut lines: Vec<(u16, &str)> =
            first.map(|tagged| (tagged.port.0, tagged.group.as_str())).collect();
        if lines.len() > LATENCY_LINES {
            table.note(size, ["each group is in the files of the run".to_string()]);
            lines.iter_mut().for_each(|line| line.1 = "all");
            lines.dedup();
        }
        for (port, group) in lines {
            let of = |tagged: &&method::rfc3918::TaggedLatency| {
                tagged.port.0 == port && (group == "all" || tagged.group == group)
            };
            let all = sets.iter().flat_map(|set| &set.latencies).filter(of);
            let ns: Vec<f64> = all.map(|tagged| tagged.latency.as_ps() as f64 / 1e3).collect();
            let Some(spread) = method::Spread::of(&ns) else { continue };
            let us = |ns: f64| grouped_f64(ns / 1e3, 3);
            table.rows.push(vec![
                size.into(),
                burden_word(sets.first().and_then(|set| set.burden.as_ref())),
                result.multicast.source.0.to_string(),
                port.to_string(),
                group.into(),
                sets.len().to_string(),
                us(spread.min),
                us(spread.mean),
                us(spread.max),
            ]);
        }
        let min_max = sets.iter().filter_map(|set| set.min_max()).max();
        table.note(size, min_max.map(|span| {
            let with = if burdened { " with the burden" } else { "" };
            format!("Min/Max multicast latency, MAX(M) - MIN(M), the largest of {} trials{with}: {} us", sets.len(), microseconds(span))
        }));
        table.note(size, sets.iter().find_map(|set| set.burden.as_ref()).map(burden_in_words));
    }
}

fn burden_word(burden: Option<&Burden>) -> String {
    burden.map_or_else(|| "none".into(), |burden| format!("{} ports", burden.ports))
}

fn burden_in_words(burden: &Burden) -> String {
    let flooded = match burden.flood_count {
        0 => "no frame of it came out elsewhere: unicast addresses were learned".to_string(),
        count => format!(
            "{} frames of it came out elsewhere: unicast addresses were NOT learned",
            grouped(count)
        ),
    };
    format!(
        "burden: {} ports fully meshed at {} % of their medium each, {} frames/s offered in all, {} frames \
         lost; {flooded}",
        burden.ports,
        grouped_f64(burden.load_percent, 2),
        fps(burden.offered),
        grouped(burden.lost_frames),
    )
}

fn delay(table: &mut Table, result: &GroupDelayResult, size: &str) {
    for set in &result.sets {
        for port in &set.ports {
            let (delay, words) = match &port.outcome {
                DelayOutcome::Measured { delay } => (microseconds(*delay), String::new()),
                DelayOutcome::Never { waited } => {
                    ("never".into(), format!("no effect within {:.3} s", waited.as_secs_f64()))
                }
                DelayOutcome::NotFromThere { why } => ("-".into(), why.clone()),
            };
            table.rows.push(vec![
                size.into(),
                set.method.map_or_else(|| "-".into(), |method| method.to_string()),
                burden_word(set.burden.as_ref()),
                port.port.0.to_string(),
                delay,
                words,
            ]);
        }
        table.note(size, set.burden.as_ref().map(burden_in_words));
    }
}

fn capacity(table: &mut Table, result: &GroupCapacityResult) {
    for trial in &result.trials {
        table.rows.push(vec![
            grouped(trial.groups),
            grouped(trial.sent),
            grouped(trial.received),
            match trial.passed {
                Some(true) => "yes".into(),
                Some(false) => "no".into(),
                None => "invalid".into(),
            },
        ]);
    }
    let size = result.conditions.frame_size.to_string();
    table.note(&size, result.ended.iter().map(|why| format!("ended early: {why}")));
    let failed = result.trials.iter().find(|trial| trial.passed == Some(false));
    table.note(
        &size,
        failed.and_then(|trial| {
            Some(format!("with {} groups, {}", grouped(trial.groups), flows(&trial.flows)?))
        }),
    );
}
