//! Unicast: one stream for each pair of ports, and a million hosts behind sixteen of them.

use super::{Row, TollyConfig, TollyResult, TollyRow, constant, frames_of, need_ports, say_hello};
use crate::RunError;
use crate::Topology;
use crate::bench::Bench;
use crate::chassis::{ChassisTest, Draft, TestSetup};
use crate::search::{Bisect, LoadVerdict, Range, Resolution, drive};
use std::net::Ipv4Addr;
use traffic::modifier::{Field, Modifier, Pattern};
use traffic::test_frame;
use units::{Duration, FrameRate};

/// Host number `host`, below 65,536, behind port number `port`, below 64: the whole of 100.64.0.0/10
/// (RFC 6598) laid out port by port, since the networks for benchmarks have no room for a million hosts.
pub fn host_behind(port: usize, host: u64) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x6440_0000 | (port as u32) << 16 | host as u32)
}

/// The routing table of the Internet-scale test: each host with the next hop to it. The device has
/// to be configured so.
pub fn routes(
    chassis: &Topology,
    config: &TollyConfig,
) -> impl Iterator<Item = (Ipv4Addr, Ipv4Addr)> {
    let outputs = chassis.ports.iter().skip(first_output(config)).take(config.routed_outputs);
    let hosts = config.hosts_per_output;
    let next_hops: Vec<Ipv4Addr> = outputs.map(|port| port.host_ipv4).collect();
    (first_output(config)..)
        .zip(next_hops)
        .flat_map(move |(port, via)| (0..hosts).map(move |host| (host_behind(port, host), via)))
}

/// Outputs come after the most inputs.
fn first_output(config: &TollyConfig) -> usize {
    config.routed_inputs.iter().copied().max().unwrap_or(0)
}

/// Internet-scale routing: from 1, 2, 4 and 8 inputs a packet to every host behind 16 outputs.
pub fn internet_scale(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
) -> Result<TollyResult, RunError> {
    let test = ChassisTest::InternetScale;
    let config = &rack.config.chassis.tolly;
    let (first, outputs) = (first_output(config), config.routed_outputs);
    need_ports(rack, test, first + outputs)?;
    let mut rows = vec![];
    for inputs in &config.routed_inputs {
        let row = Row {
            test,
            inputs: *inputs,
            outputs,
            streams: inputs * outputs,
            load_percent: 100.0,
            prepare: &|_, _| Ok(()),
            build: &|draft, rate| {
                (first..first + outputs).for_each(|port| say_hello(draft, rack, port));
                (0..*inputs).try_for_each(|input| to_every_host(draft, rack, input, rate))
            },
        };
        rows.push(row.run(bench, rack)?);
    }
    Ok(TollyResult { conditions: rack.conditions(test), rows })
}

/// A stream to each output in turn, each input beginning with another one.
fn to_every_host(
    draft: &mut Draft,
    rack: &TestSetup<'_>,
    input: usize,
    rate: FrameRate,
) -> Result<(), RunError> {
    let config = &rack.config.chassis.tolly;
    let (first, outputs) = (first_output(config), config.routed_outputs);
    say_hello(draft, rack, input);
    let mut order = vec![];
    for turn in 0..outputs {
        let output = first + (input + turn) % outputs;
        let (source, host) = (rack.port(input), host_behind(output, 0));
        let hosts = Pattern::Increment {
            start: host.to_bits().into(),
            step: 1,
            count: config.hosts_per_output,
        };
        let template =
            test_frame::template((source.mac, source.host_ipv4), (source.device_mac, host))
                .modifier(Modifier::new(Field::Ipv4Dst, hosts));
        let frames = frames_of(rack, &template, (draft.key(), draft.next_id()))?;
        order.push(draft.stream(rack, input, &[output], frames));
    }
    draft.send(input, constant(rate, outputs as u64 * config.hosts_per_output), order);
    Ok(())
}

/// Loads in parts of the medium's maximum.
const PARTS: u64 = 1_000_000;

/// Base unicast: 16 streams, each from one port to another; in every iteration the highest rate
/// without loss, and the latency at it.
pub fn base_unicast(bench: &mut Bench<'_>, rack: &TestSetup<'_>) -> Result<TollyResult, RunError> {
    let test = ChassisTest::BaseUnicast;
    let streams = rack.config.chassis.tolly.unicast_streams;
    need_ports(rack, test, 2 * streams)?;
    let duration = Duration::from_secs_f64(rack.config.trial.duration_s);
    let row = Row {
        test,
        inputs: streams,
        outputs: streams,
        streams,
        load_percent: 100.0,
        prepare: &|_, _| Ok(()),
        build: &|draft, rate| {
            (0..2 * streams).for_each(|port| say_hello(draft, rack, port));
            (0..streams).try_for_each(|from| {
                let (source, target) = (rack.port(from), rack.port(from + streams));
                let template = test_frame::template(
                    (source.mac, source.host_ipv4),
                    (source.device_mac, target.host_ipv4),
                );
                let frames = frames_of(rack, &template, (draft.key(), draft.next_id()))?;
                let stream = draft.stream(rack, from, &[from + streams], frames);
                draft.send(from, constant(rate, rate.frames_in(duration)), vec![stream]);
                Ok(())
            })
        },
    };
    let mut all: Option<TollyRow> = None;
    for iteration in 1..=rack.config.chassis.tolly.iterations {
        let found = highest(&row, bench, rack, iteration)?;
        match &mut all {
            // The table shows the lowest of them; they are as near as the resolution.
            Some(all) => {
                all.load_percent = all.load_percent.min(found.load_percent);
                all.intended = all.intended.min(found.intended);
                all.iterations.extend(found.iterations);
                all.invalid.extend(found.invalid);
                all.upper = all.upper.max(found.upper);
            }
            None => all = Some(found),
        }
    }
    Ok(TollyResult { conditions: rack.conditions(test), rows: all.into_iter().collect() })
}

/// The highest load of a row without loss, with the iteration that proved it.
fn highest(
    row: &Row<'_>,
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
    iteration: u32,
) -> Result<TollyRow, RunError> {
    let found = |load_percent| TollyRow {
        inputs: row.inputs,
        outputs: row.outputs,
        streams: row.streams,
        load_percent,
        intended: rack.rate_of(load_percent),
        iterations: vec![],
        invalid: vec![],
        upper: None,
    };
    let (mut best, mut invalid, mut upper): (Option<TollyRow>, _, Option<FrameRate>) =
        (None, vec![], None);
    let relative = rack.config.search.resolution_percent / 100.0;
    let range = Range { min: PARTS / 1_000, max: PARTS };
    let mut search = Bisect::new(range, Resolution { absolute: 1, relative });
    drive(&mut search, |load, _| {
        let mut tried = found(load as f64 * 100.0 / PARTS as f64);
        let ran = row.once(bench, rack, tried.load_percent, iteration)?;
        tried.take(&ran, rack);
        let outcome = match tried.iterations.first() {
            None => LoadVerdict::Undecided,
            Some(one) if one.lost > 0 => LoadVerdict::Failed { lost_frames: one.lost },
            Some(_) => LoadVerdict::Passed,
        };
        match outcome {
            LoadVerdict::Passed => best = Some(tried),
            LoadVerdict::Undecided => invalid = tried.invalid,
            LoadVerdict::Failed { .. } => {
                upper = Some(upper.map_or(tried.intended, |known| known.min(tried.intended)));
            }
        }
        Ok::<_, RunError>(outcome)
    })?;
    let mut best = best.unwrap_or_else(|| found(0.0));
    best.invalid = invalid;
    best.upper = upper;
    Ok(best)
}
