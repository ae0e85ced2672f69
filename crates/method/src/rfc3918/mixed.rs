//! Mixed class throughput (RFC 3918 section 4.1): multicast and unicast frames of one stream, in turn.

use super::group_membership::GroupMembership;
use super::throughput::{GroupLoads, MixedClasses, MulticastThroughputResult, not_found};
use crate::RunError;
use crate::bench::{Bench, Ran};
use crate::chassis::{ChassisTest, Draft, TestSetup, highest_load_of};
use trial::{Schedule, StreamId, TrialResult};
use units::{Duration, FrameRate};

const TEST: ChassisTest = ChassisTest::MixedClass;

/// The test: m1 u1 m2 u2 m3 u3 m4 u1 ..., unicast in round robin over all destination ports.
pub fn mixed_class(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
) -> Result<MulticastThroughputResult, RunError> {
    let config = &rack.config.chassis.multicast;
    let stage = GroupMembership::new(rack, TEST)?;
    let send = |bench: &mut Bench<'_>, percent, duration| load(bench, &stage, percent, duration);
    let mut loads = GroupLoads { stage: &stage, send: &send, last: None };
    let found = match stage.ready(bench, config.groups, Duration::ZERO)? {
        Ok(()) => highest_load_of(bench, rack.config, &mut loads)?,
        Err(why) => not_found(why),
    };
    let last = loads.last.take();
    stage.leave_all(bench)?;
    let last = last.as_ref();
    let classes = last.zip(found.rate).map(|(result, rate)| classes(&stage, result, rate));
    Ok(MulticastThroughputResult {
        conditions: rack.conditions(TEST),
        multicast: stage.conditions(config.groups, last),
        throughput: found,
        classes,
        flows: last.map_or_else(Vec::new, |result| stage.flows(result, config.groups)),
    })
}

fn classes(stage: &GroupMembership<'_, '_>, result: &TrialResult, rate: FrameRate) -> MixedClasses {
    let of = |pick: &dyn Fn(&trial::StreamResult) -> u64, multicast: bool| {
        let streams = result.streams.iter();
        let of_class = streams.filter(|stream| (stream.id == MULTICAST) == multicast);
        of_class.map(pick).sum::<u64>()
    };
    let unicast_per_multicast = stage.config().unicast_per_multicast;
    let share = 1.0 / (1 + unicast_per_multicast) as f64;
    MixedClasses {
        unicast_per_multicast,
        multicast_frames: (of(&|s| s.sent, true), of(&|s| s.received, true)),
        unicast_frames: (of(&|s| s.sent, false), of(&|s| s.received, false)),
        multicast: rate.scaled(share),
        unicast: rate.scaled(1.0 - share),
    }
}

/// The multicast stream is always the first.
const MULTICAST: StreamId = StreamId(1);

/// One load of both classes.
fn load(
    bench: &mut Bench<'_>,
    stage: &GroupMembership<'_, '_>,
    load_percent: f64,
    duration: Duration,
) -> Result<Ran, RunError> {
    let (groups, rate) = (stage.config().groups, stage.rate_of(load_percent));
    stage.ready_or_warn(bench, groups, duration)?;
    let size = stage.rack.size;
    let label = format!("{TEST}, {size} bytes: {load_percent:.4} % for {duration}");
    let ran = stage.rack.run(bench, TEST, &label, rate, &|draft| {
        stage.introduce(draft);
        let multicast = stage.data(draft, groups)?;
        draft.count_flows();
        let order = order(stage, draft, multicast)?;
        draft.send(stage.source, Schedule::constant(rate, duration), order);
        draft.modify(stage.rack)
    })?;
    stage.heard(bench, &ran, duration)?;
    Ok(ran)
}

/// A multicast frame, then so many unicast frames, each to the next port, until all have had as many.
fn order(
    stage: &GroupMembership<'_, '_>,
    draft: &mut Draft,
    multicast: StreamId,
) -> Result<Vec<StreamId>, RunError> {
    let mut unicast = vec![];
    for to in &stage.egress {
        let signature = (draft.key(), draft.next_id());
        let frames = unicast_frames(stage.rack, (stage.source, *to), signature)?;
        unicast.push(draft.stream(stage.rack, stage.source, &[*to], frames));
    }
    let mut turns = unicast.iter().copied().cycle();
    let mut order = vec![];
    for _ in 0..unicast.len() {
        order.push(multicast);
        order.extend(turns.by_ref().take(stage.config().unicast_per_multicast as usize));
    }
    Ok(order)
}

/// Frames from one port's host to another's: to the device where it routes, through it where it bridges; of
/// the protocol of the groups.
pub(super) fn unicast_frames(
    rack: &TestSetup<'_>,
    path: (usize, usize),
    (key, id): (wire::signature::Key, StreamId),
) -> Result<Vec<trial::StreamFrame>, RunError> {
    Ok(rack.traffic.frames_between(path, (key, id.0), &|template| template)?)
}
