//! Multicast group capacity (RFC 3918 section 7.1): the most groups of which frames reach every port
//! that joined them. A device that floods groups that nobody joined shows none: a frame to such a group goes with
//! each trial, and if it comes out the trial has failed.

use super::group_membership::{GroupFlows, GroupMembership, MulticastConditions};
use crate::RunError;
use crate::bench::Bench;
use crate::chassis::{ChassisConditions, ChassisTest, TestSetup, shortfall_words};
use serde::{Deserialize, Serialize};
use units::Duration;

/// How many groups a device forwards.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GroupCapacityResult {
    /// Under which conditions.
    pub conditions: ChassisConditions,
    /// And of multicasting.
    pub multicast: MulticastConditions,
    /// The most groups of which a frame reached every port; `None` where not even the first number
    /// did.
    pub found: Option<u64>,
    /// The least number that failed; the truth lies below it.
    pub failed: Option<u64>,
    /// Whether the search ended at the highest number tried and not at the device's limit.
    pub at_least: bool,
    /// Why it ended before the highest number, where it did.
    pub ended: Option<String>,
    /// Every trial, in order.
    pub trials: Vec<CapacityTrial>,
    /// Why nothing is known; empty where something is.
    pub invalid: Vec<String>,
}

/// One number of groups.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CapacityTrial {
    /// Groups that each port joined.
    pub groups: u64,
    /// Frames sent, one to each group.
    pub sent: u64,
    /// Frames received, sum of all ports.
    pub received: u64,
    /// What came of each group at each port.
    pub flows: Vec<GroupFlows>,
    /// Whether every group was forwarded everywhere, and nobody's was not; `None` where the tester fell short.
    pub passed: Option<bool>,
    /// Whether a frame to a group that nobody had joined came out, too.
    #[serde(default)]
    pub floods: bool,
}

/// The test: groups are added until one is not forwarded, and then the limit between the last two
/// numbers is found to the group.
pub fn capacity(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
) -> Result<GroupCapacityResult, RunError> {
    let test = ChassisTest::GroupCapacity;
    let config = &rack.config.chassis.multicast;
    let stage = GroupMembership::new(rack, test)?;
    let mut search = Search {
        stage: &stage,
        joined: 0,
        joined_at: Duration::ZERO,
        trials: vec![],
        invalid: vec![],
    };
    let (mut low, mut high) = (0, None);
    let mut groups = config.capacity_initial;
    let ended = loop {
        if let Some(why) = stage.too_many(groups) {
            break Some(why);
        }
        match search.trial(bench, groups)? {
            Some(true) => low = groups,
            Some(false) => high = Some(groups),
            None => break None,
        }
        if search.floods() && (low == 0 || search.trial(bench, low)? != Some(true)) {
            break Some(search.why_flooded(low, groups));
        }
        groups = match high {
            // "Until the first failure" (section 7.1).
            None if low == config.capacity_max => break None,
            None => (low + config.capacity_step).min(config.capacity_max),
            Some(high) if high - low < 2 => break None,
            Some(high) => low + (high - low) / 2,
        };
    };
    search.shrink(bench, 0)?;
    if low == 0 && search.floods() {
        search.invalid.extend(ended.clone());
    }
    let found = (low > 0 && search.invalid.is_empty()).then_some(low);
    if high.is_some() {
        rack.tables.groups.set(found);
    }
    Ok(GroupCapacityResult {
        conditions: rack.conditions(test),
        multicast: stage.conditions(found.unwrap_or(0), None),
        found,
        failed: high,
        at_least: found.is_some() && high.is_none(),
        ended,
        trials: search.trials,
        invalid: search.invalid,
    })
}

struct Search<'s, 'r, 'a> {
    stage: &'s GroupMembership<'r, 'a>,
    /// Groups that ports have joined.
    joined: u64,
    /// When the oldest of their reports was sent, by the bench's clock.
    joined_at: Duration,
    trials: Vec<CapacityTrial>,
    invalid: Vec<String>,
}

impl Search<'_, '_, '_> {
    /// Whether so many groups are forwarded.
    fn trial(&mut self, bench: &mut Bench<'_>, groups: u64) -> Result<Option<bool>, RunError> {
        let mut from = self.joined;
        if self.joined > groups {
            // What a full device did not take it would not take now: everybody asks again.
            self.shrink(bench, groups)?;
            from = 0;
        }
        let age = bench.clock().elapsed.saturating_sub(self.joined_at);
        if age > Duration::from_secs_f64(self.stage.config().membership_s / 2.0) {
            from = 0;
        }
        if from == 0 {
            self.joined_at = bench.clock().elapsed;
        }
        let unsaid = self.stage.say(bench, (from, groups), true)?;
        self.joined = groups;
        // Beyond all that is ever joined.
        let nobodys = self.stage.config().capacity_max + 1;
        let ran = self.stage.probe_beside(bench, groups, Some(nobodys))?;
        let invalid = [unsaid, shortfall_words(&ran)].concat();
        let flows = self.stage.flows(&ran.result, groups);
        let floods = self.stage.floods(&ran);
        let passed = !floods && flows.iter().all(|port| port.complete == groups);
        let outcome = invalid.is_empty().then_some(passed);
        self.trials.push(CapacityTrial {
            groups,
            sent: ran.result.offered_frames(),
            received: ran.result.forwarded_frames(),
            flows,
            passed: outcome,
            floods,
        });
        self.invalid.extend(invalid);
        Ok(outcome)
    }

    /// Whether the last trial failed since nobody's group came out.
    fn floods(&self) -> bool {
        self.trials.last().is_some_and(|trial| trial.floods && trial.passed == Some(false))
    }

    /// Of a device that flooded with so many groups, and with as many as it had passed with before.
    fn why_flooded(&self, passed: u64, groups: u64) -> String {
        match passed {
            0 => format!(
                "the device floods groups that nobody joined: that {groups} came out does not show that it holds them"
            ),
            _ => format!(
                "with {groups} groups the device began to flood groups that nobody joined, and went on with {passed}: \
                 it takes fewer than {groups}, and lost its table"
            ),
        }
    }

    /// Ports leave all groups but the first so many.
    fn shrink(&mut self, bench: &mut Bench<'_>, groups: u64) -> Result<(), RunError> {
        if self.joined > groups {
            self.stage.leave(bench, (groups, self.joined))?;
            self.joined = groups;
        }
        Ok(())
    }
}
