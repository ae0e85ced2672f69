//! Scaled group forwarding matrix (RFC 3918 section 4.2): the forwarding rate as groups are added.

use super::group_membership::{GroupFlows, GroupMembership, MulticastConditions};
use super::throughput::load;
use crate::RunError;
use crate::bench::Bench;
use crate::chassis::{ChassisConditions, ChassisTest, LoadPoint, TestSetup};
use serde::{Deserialize, Serialize};
use units::Duration;

/// Forwarding rates by the number of groups.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ScaledGroupsResult {
    /// Under which conditions.
    pub conditions: ChassisConditions,
    /// And of multicasting.
    pub multicast: MulticastConditions,
    /// The capacity of groups, which none of them exceeds; `None` where it was not measured before.
    pub capacity: Option<u64>,
    /// In order of the number of groups.
    pub rows: Vec<MatrixRow>,
    /// Why nothing is known; empty where something is.
    pub invalid: Vec<String>,
}

/// One number of groups.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MatrixRow {
    /// In all.
    pub groups: u64,
    /// What came out; its rates are sums of all ports.
    pub point: LoadPoint,
    /// What came of each group at each port.
    pub flows: Vec<GroupFlows>,
}

/// The test.
pub fn scaled_groups(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
) -> Result<ScaledGroupsResult, RunError> {
    let test = ChassisTest::ScaledGroups;
    let config = &rack.config.chassis.multicast;
    let stage = GroupMembership::new(rack, test)?;
    let duration = Duration::from_secs_f64(rack.config.trial.duration_s);
    let capacity = rack.tables.groups.get();
    let most = config.matrix_max.min(capacity.unwrap_or(u64::MAX));
    let (mut rows, mut invalid) = (vec![], vec![]);
    for groups in (config.matrix_initial..=most).step_by(config.matrix_step as usize) {
        if let Err(why) = stage.ready(bench, groups, duration)? {
            invalid.push(why);
            break;
        }
        let percent = config.matrix_load_percent;
        let ran = load(bench, &stage, groups, percent, duration)?;
        let mut point = LoadPoint::of((percent, stage.rate_of(percent)), duration, &ran);
        let copies = point.received_frames as f64 / point.offered_frames.max(1) as f64;
        point.forwarding_rate = point.offered.scaled(copies * stage.egress.len() as f64);
        invalid.extend(point.invalid.clone());
        rows.push(MatrixRow { groups, point, flows: stage.flows(&ran.result, groups) });
    }
    if rows.is_empty() && invalid.is_empty() {
        invalid.push(format!(
            "the device takes {most} groups, and the matrix begins with {}: set \
             multicast.matrix_initial",
            config.matrix_initial
        ));
    }
    stage.leave_all(bench)?;
    let multicast = stage.conditions(most, None);
    Ok(ScaledGroupsResult { conditions: rack.conditions(test), multicast, capacity, rows, invalid })
}
