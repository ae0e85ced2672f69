//! Multicast: one group to many ports, 65,536 groups to 31 ports, and a mesh of groups.
//!
//! In the mesh every output gets the packets of seven inputs, so the inputs send at a seventh of wire
//! speed: then it is the outputs that are at wire speed. (The document says that its inputs were.)

use super::{Row, TollyResult, constant, frames_of, need_ports, say_hello};
use crate::RunError;
use crate::bench::Bench;
use crate::chassis::{ChassisTest, Draft, Rack};
use std::net::Ipv4Addr;
use units::Duration;
use wire::ethernet::MacAddr;
use wire::igmp::{Record, RecordKind, Repr};
use wire::modifier::{Field, Modifier, Pattern};
use wire::test_frame;

/// Group number `number`: 225.0.0.0 and those after it.
pub fn group(number: u64) -> Ipv4Addr {
    Ipv4Addr::from_bits(0xe100_0000 | number as u32)
}

/// Records that a report of version 3 carries in a frame of 1,518 bytes.
const RECORDS: usize = 180;
/// From one report of a port to the next: longer than a large one takes at 100 Mb/s.
const BETWEEN_REPORTS: Duration = Duration::from_us(200);

/// The groups of one input, and the outputs that join all of them.
struct Groups {
    input: usize,
    first: u64,
    count: u64,
    outputs: Vec<usize>,
    packets: u64,
}

/// Any of the multicast tests.
pub fn multicast(
    bench: &mut Bench<'_>,
    rack: &Rack<'_>,
    test: ChassisTest,
) -> Result<TollyResult, RunError> {
    let config = &rack.config.tolly;
    let packets = config.multicast_packets;
    let one = |outputs: usize, count: u64, packets: u64| {
        vec![Groups { input: 0, first: 0, count, outputs: (1..=outputs).collect(), packets }]
    };
    let scenes: Vec<Vec<Groups>> = match test {
        ChassisTest::LargeScaleMulticast => {
            vec![one(config.group_outputs, config.groups, config.groups)]
        }
        ChassisTest::MulticastMesh => {
            let others = |input| (0..config.mesh_ports).filter(|port| *port != input).collect();
            let of = |input| Groups {
                input,
                first: input as u64,
                count: 1,
                outputs: others(input),
                packets,
            };
            vec![(0..config.mesh_ports).map(of).collect()]
        }
        _ => config.multicast_outputs.iter().map(|outputs| one(*outputs, 1, packets)).collect(),
    };
    let mut rows = vec![];
    for scene in scenes {
        rows.push(run(bench, rack, test, &scene)?);
    }
    Ok(TollyResult { conditions: rack.conditions(test), rows })
}

fn run(
    bench: &mut Bench<'_>,
    rack: &Rack<'_>,
    test: ChassisTest,
    scene: &[Groups],
) -> Result<super::TollyRow, RunError> {
    let ports = scene.iter().flat_map(|groups| groups.outputs.iter().chain([&groups.input]));
    need_ports(rack, test, ports.max().map_or(0, |last| last + 1))?;
    let outputs = scene.first().map_or(0, |groups| groups.outputs.len());
    // So many inputs as each output hears.
    let heard = scene.iter().filter(|groups| groups.outputs.contains(&1)).count().max(1);
    let row = Row {
        test,
        inputs: scene.len(),
        outputs,
        streams: scene.len() * outputs,
        load_percent: 100.0 / heard as f64,
        build: &|draft, rate| {
            for groups in scene {
                join(draft, rack, groups);
            }
            for groups in scene {
                say_hello(draft, rack, groups.input);
                let stream = stream(draft, rack, groups)?;
                draft.send(groups.input, constant(rate, groups.packets), vec![stream]);
            }
            Ok(())
        },
    };
    row.run(bench, rack)
}

/// As [`Repr::v3_join`] has it.
fn join_of(group: Ipv4Addr) -> Record {
    Record { kind: RecordKind::TO_EXCLUDE, group, sources: vec![] }
}

/// Every output asks for every group.
fn join(draft: &mut Draft, rack: &Rack<'_>, groups: &Groups) {
    let numbers: Vec<u64> = (groups.first..groups.first + groups.count).collect();
    let reports: Vec<Repr> = numbers
        .chunks(RECORDS)
        .map(|numbers| {
            let records = numbers.iter().map(|number| join_of(group(*number))).collect();
            Repr::V3Report { records }
        })
        .collect();
    for output in &groups.outputs {
        let host = rack.port(*output);
        let frame = |report: &Repr| report.frame((host.mac, host.host_ipv4));
        let frames: Vec<Vec<u8>> = reports.iter().map(frame).collect();
        let wait = BETWEEN_REPORTS * frames.len() as u64;
        draft.say(rack, *output, frames, wait);
    }
}

/// Packets to each of the groups in turn.
fn stream(
    draft: &mut Draft,
    rack: &Rack<'_>,
    groups: &Groups,
) -> Result<trial::StreamId, RunError> {
    let (source, first) = (rack.port(groups.input), group(groups.first));
    let mac = MacAddr::of_ipv4_group(first);
    let each = |start: u64| Pattern::Increment { start, step: 1, count: groups.count };
    let template = test_frame::template((source.mac, source.host_ipv4), (mac, first))
        .modifier(Modifier::new(Field::Ipv4Dst, each(first.to_bits().into())))
        .modifier(Modifier::new(Field::EthDst, each(mac.to_u64())));
    let frames = frames_of(rack, &template, (draft.key(), draft.next_id()))?;
    Ok(draft.stream(rack, groups.input, &groups.outputs, frames))
}
