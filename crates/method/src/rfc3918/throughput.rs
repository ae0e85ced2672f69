//! Aggregated multicast throughput (RFC 3918 section 4.3), and with tunnels before or behind the device
//! encapsulation, decapsulation and re-encapsulation throughput (section 4.4).

use super::Tunnel;
use super::group_membership::{GroupFlows, GroupMembership, MulticastConditions};
use crate::bench::{Bench, Ran};
use crate::chassis::{
    ChassisConditions, ChassisTest, LoadPoint, Loads, TestSetup, Throughput, highest_load_of,
};
use crate::subject::Ceiling;
use crate::{Finding, RunError};
use serde::{Deserialize, Serialize};
use trial::{InvalidReason, Schedule, TrialResult};
use units::{Duration, FrameRate};

/// The highest load that comes out everywhere it should.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MulticastThroughputResult {
    /// Under which conditions.
    pub conditions: ChassisConditions,
    /// And of multicasting.
    pub multicast: MulticastConditions,
    /// The highest load without loss at any port; the rate is that of the source, not multiplied by
    /// the number of ports (RFC 2432 section 3.2.3).
    pub throughput: Throughput,
    /// What the two classes of traffic had of it, in the mixed class test.
    pub classes: Option<MixedClasses>,
    /// What came of each group at each port at that load.
    pub flows: Vec<GroupFlows>,
}

/// Multicast and unicast of one stream (RFC 3918 section 4.1).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MixedClasses {
    /// Unicast frames for each multicast frame.
    pub unicast_per_multicast: u64,
    /// Multicast frames offered, and copies received over all ports.
    pub multicast_frames: (u64, u64),
    /// Unicast frames offered and received.
    pub unicast_frames: (u64, u64),
    /// Of the throughput, the multicast frames.
    pub multicast: FrameRate,
    /// And the unicast frames.
    pub unicast: FrameRate,
}

/// The test: one of those that differ in their tunnels only.
pub fn throughput(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
    test: ChassisTest,
) -> Result<MulticastThroughputResult, RunError> {
    let config = &rack.config.chassis.multicast;
    let mut stage = GroupMembership::new(rack, test)?;
    (stage.tunnel_in, stage.tunnel_out) = match test {
        ChassisTest::Encapsulation => (Tunnel::None, config.tunnel_out),
        // It takes off what encapsulation puts on.
        ChassisTest::Decapsulation => (config.tunnel_out, Tunnel::None),
        ChassisTest::Reencapsulation => (config.tunnel_in, config.tunnel_out),
        _ => (Tunnel::None, Tunnel::None),
    };
    check_tunnels(&stage)?;
    let send = |bench: &mut Bench<'_>, percent, duration| {
        load(bench, &stage, config.groups, percent, duration)
    };
    let mut loads = GroupLoads { stage: &stage, send: &send, last: None };
    let found = match stage.ready(bench, config.groups, Duration::ZERO)? {
        Ok(()) => highest_load_of(bench, rack.config, &mut loads)?,
        Err(why) => not_found(why),
    };
    let last = loads.last.take();
    if test == ChassisTest::AggregatedMulticast
        && let Some(percent) = found.load_percent
    {
        rack.known.multicast_percent.set(Some(percent));
    }
    stage.leave_all(bench)?;
    let last = last.as_ref();
    Ok(MulticastThroughputResult {
        conditions: rack.conditions(test),
        multicast: stage.conditions(config.groups, last),
        throughput: found,
        classes: None,
        flows: last.map_or_else(Vec::new, |result| stage.flows(result, config.groups)),
    })
}

/// Tunnels need a router with an address at each port, and formats that differ.
fn check_tunnels(stage: &GroupMembership<'_, '_>) -> Result<(), RunError> {
    let (into, out_of) = (stage.tunnel_in, stage.tunnel_out);
    let refuse = |why: &str| Err(RunError::Config(why.into()));
    if (into, out_of) == (Tunnel::None, Tunnel::None) {
        return match stage.test {
            ChassisTest::AggregatedMulticast => Ok(()),
            _ => {
                refuse("no tunnel is configured: set multicast.tunnel_in and multicast.tunnel_out")
            }
        };
    }
    if !stage.rack.config.traffic.vlans.is_empty() {
        return refuse("frames within a tunnel have no VLAN tags: leave out --vlan");
    }
    if stage.rack.chassis.forwarding != crate::Forwarding::Routed {
        return refuse("tunnels end at a router: this device bridges");
    }
    if stage.test == ChassisTest::Reencapsulation && into == out_of {
        return refuse(
            "re-encapsulation is from one format to another: let multicast.tunnel_in and \
                       multicast.tunnel_out differ",
        );
    }
    Ok(())
}

/// A search that could not be begun.
pub(super) fn not_found(why: String) -> Throughput {
    Throughput {
        finding: Finding::Invalid { reasons: vec![why] },
        load_percent: None,
        rate: None,
        upper_percent: None,
        point: None,
        lossy_at_rate: None,
        trials: 0,
        invalid_trials: 0,
        with_tolerance: vec![],
    }
}

/// Sends a load of so many percent for so long.
pub(super) type Send<'s> = dyn Fn(&mut Bench<'_>, f64, Duration) -> Result<Ran, RunError> + 's;

/// Loads of whatever is sent to the groups.
pub(super) struct GroupLoads<'s, 'r, 'a> {
    pub stage: &'s GroupMembership<'r, 'a>,
    pub send: &'s Send<'s>,
    /// The last trial without loss.
    pub last: Option<TrialResult>,
}

impl Loads for GroupLoads<'_, '_, '_> {
    fn rate_of(&self, percent: f64) -> FrameRate {
        self.stage.rate_of(percent)
    }

    fn tester(&self) -> Option<Ceiling> {
        self.stage.rack.tester
    }

    fn point(
        &mut self,
        bench: &mut Bench<'_>,
        load_percent: f64,
        duration: Duration,
    ) -> Result<LoadPoint, RunError> {
        let ran = (self.send)(bench, load_percent, duration)?;
        let point = LoadPoint::of((load_percent, self.rate_of(load_percent)), duration, &ran);
        if point.invalid.is_empty() && ran.result.lost_frames() == 0 {
            self.last = Some(ran.result);
        }
        Ok(point)
    }
}

/// One load of all groups in turn.
pub(super) fn load(
    bench: &mut Bench<'_>,
    stage: &GroupMembership<'_, '_>,
    groups: u64,
    load_percent: f64,
    duration: Duration,
) -> Result<Ran, RunError> {
    stage.ready_or_warn(bench, groups, duration)?;
    let rate = stage.rate_of(load_percent);
    let (rack, test) = (stage.rack, stage.test);
    let label =
        format!("{test}, {} bytes: {groups} groups, {load_percent:.4} % for {duration}", rack.size);
    let expected = stage.rack.size.bytes() + stage.tunnel_out.overhead_bytes();
    let check = |result: &TrialResult| wrong_size(stage, result, expected);
    let ran = rack.run_checked(bench, test, (&label, rate, rack.waits()), &check, &|draft| {
        stage.introduce(draft);
        let id = stage.data(draft, groups)?;
        draft.count_flows();
        draft.send(stage.source, Schedule::constant(rate, duration), vec![id]);
        draft.modify(rack)
    })?;
    stage.heard(bench, &ran, duration)?;
    Ok(ran)
}

/// Frames that came out longer or shorter than the tunnels make them were not forwarded correctly.
fn wrong_size(
    stage: &GroupMembership<'_, '_>,
    result: &TrialResult,
    expected: u32,
) -> Option<InvalidReason> {
    let mean = stage.conditions(0, Some(result)).received_size_bytes?;
    (mean != f64::from(expected)).then(|| InvalidReason::Other {
        what: format!(
            "frames came out with {mean:.1} bytes instead of {expected}: not as {} makes them",
            match stage.tunnel_out {
                Tunnel::None => "a device without a tunnel".to_string(),
                tunnel => tunnel.to_string(),
            }
        ),
    })
}
