//! Multicast: one group to many ports, 65,536 groups to 31 ports, and a mesh of groups.
//!
//! In the mesh every output gets the packets of seven inputs, so the inputs send at a seventh of wire
//! speed: then it is the outputs that are at wire speed. (The document says that its inputs were.)
//!
//! Every group of every line is its own, so that a device whose groups stand in a table, where nobody
//! can leave one, can be set up for all of them at once: [`memberships`].

use super::{Row, TollyConfig, TollyResult, TollyRow, constant, need_ports};
use crate::bench::Bench;
use crate::chassis::{ChassisTest, TestSetup};
use crate::rfc3918::GroupMembership;
use crate::{RunError, TestKind};

/// Groups of the large-scale test come first; these after them.
const MESH_GROUPS: u64 = 65_536;
/// And these after the mesh's.
const BASE_GROUPS: u64 = MESH_GROUPS + 64;

/// The groups of one input, and the outputs that join all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Membership {
    /// Port where packets to them go in.
    pub input: usize,
    /// Number of the first: see [`group_v4`](crate::rfc3918::group_v4).
    pub first: u64,
    /// How many.
    pub count: u64,
    /// Ports where the packets come out.
    pub outputs: Vec<usize>,
}

/// The groups of all lines of these tests, none in two of them. A device whose groups are configured
/// has to be configured so.
pub fn memberships(config: &TollyConfig, tests: &[TestKind]) -> Vec<Membership> {
    let of = |test: &TestKind| match test {
        TestKind::Chassis(test) => scenes(config, *test),
        _ => vec![],
    };
    tests.iter().flat_map(of).flatten().collect()
}

/// What is sent in each line of a test.
fn scenes(config: &TollyConfig, test: ChassisTest) -> Vec<Vec<Membership>> {
    let one = |first, count, outputs: usize| {
        vec![Membership { input: 0, first, count, outputs: (1..=outputs).collect() }]
    };
    match test {
        ChassisTest::LargeScaleMulticast => vec![one(0, config.groups, config.group_outputs)],
        ChassisTest::MulticastMesh => {
            let others = |input| (0..config.mesh_ports).filter(|port| *port != input).collect();
            let of = |input| Membership {
                input,
                first: MESH_GROUPS + input as u64,
                count: 1,
                outputs: others(input),
            };
            vec![(0..config.mesh_ports).map(of).collect()]
        }
        ChassisTest::BaseMulticast => {
            let rows = (BASE_GROUPS..).zip(&config.multicast_outputs);
            rows.map(|(first, outputs)| one(first, 1, *outputs)).collect()
        }
        _ => vec![],
    }
}

/// Any of the multicast tests.
pub fn multicast(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
    test: ChassisTest,
) -> Result<TollyResult, RunError> {
    let mut rows = vec![];
    for scene in scenes(&rack.config.chassis.tolly, test) {
        rows.push(run(bench, rack, test, &scene)?);
    }
    Ok(TollyResult { conditions: rack.conditions(test), rows })
}

fn run(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
    test: ChassisTest,
    scene: &[Membership],
) -> Result<TollyRow, RunError> {
    let ports = scene.iter().flat_map(|groups| groups.outputs.iter().chain([&groups.input]));
    need_ports(rack, test, ports.max().map_or(0, |last| last + 1))?;
    let outputs = scene.first().map_or(0, |groups| groups.outputs.len());
    // So many inputs as each output hears.
    let heard = scene.iter().filter(|groups| groups.outputs.contains(&1)).count().max(1);
    let stages = scene.iter().map(|groups| stage(rack, test, groups));
    let stages: Vec<_> = stages.collect::<Result<_, RunError>>()?;
    let packets = match test {
        ChassisTest::LargeScaleMulticast => rack.config.chassis.tolly.groups,
        _ => rack.config.chassis.tolly.multicast_packets,
    };
    let row = Row {
        test,
        inputs: scene.len(),
        outputs,
        streams: scene.len() * outputs,
        load_percent: 100.0 / heard as f64,
        // Whether or not all of them joined: what is then not forwarded is the result.
        prepare: &|bench, rate| {
            let trial = rate.departure(packets);
            let mut all = stages.iter().zip(scene);
            all.try_for_each(|(stage, groups)| stage.ready_or_warn(bench, groups.count, trial))
        },
        build: &|draft, rate| {
            stages[0].introduce(draft);
            draft.count_flows();
            for (stage, groups) in stages.iter().zip(scene) {
                let stream = stage.data(draft, groups.count)?;
                draft.send(groups.input, constant(rate, packets), vec![stream]);
            }
            Ok(())
        },
    };
    let row = row.run(bench, rack)?;
    stages.iter().try_for_each(|stage| stage.leave_all(bench))?;
    Ok(row)
}

/// The hosts that join the groups, and the input that sends to them.
fn stage<'r, 'a>(
    rack: &'r TestSetup<'a>,
    test: ChassisTest,
    groups: &Membership,
) -> Result<GroupMembership<'r, 'a>, RunError> {
    let mut stage = GroupMembership::with_egress(rack, test, groups.outputs.clone())?;
    (stage.source, stage.first) = (groups.input, groups.first);
    Ok(stage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_group_is_in_two_lines() {
        let all = memberships(&TollyConfig::default(), &ChassisTest::TOLLY.map(TestKind::Chassis));
        assert_eq!(all.len(), 1 + 8 + 4);
        let numbers = all.iter().flat_map(|groups| groups.first..groups.first + groups.count);
        let numbers: Vec<u64> = numbers.collect();
        let different: BTreeSet<u64> = numbers.iter().copied().collect();
        assert_eq!((numbers.len(), different.len()), (65_536 + 8 + 4, 65_536 + 8 + 4));
        assert!(all.iter().all(|groups| !groups.outputs.contains(&groups.input)));
    }
}
