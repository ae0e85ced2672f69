//! The configuration of the tests of RFC 3918.

use super::{Tunnel, Version};
use crate::{Profile, RunError};
use serde::{Deserialize, Serialize};

/// What hosts, groups and loads are.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MulticastConfig {
    /// What hosts speak, on every port.
    pub version: Version,
    /// Groups of every test but those that vary it.
    pub groups: u64,
    /// Unicast frames for each multicast frame of the mixed class test.
    pub unicast_per_multicast: u64,
    /// Reports of each port, in frames a second: devices lose them when they come too fast.
    pub report_fps: u64,
    /// From the last report until frames to every group show that it took effect, in seconds; no less
    /// than the join delay.
    pub join_settle_s: f64,
    /// A join that has not taken effect by then never will, in seconds.
    pub join_timeout_s: f64,
    /// From the last leave until the device has surely forgotten, in seconds.
    pub leave_settle_s: f64,
    /// A leave that has not taken effect by then never will, in seconds.
    pub leave_timeout_s: f64,
    /// How long the device keeps a membership that is not reported again, in seconds (RFC 2236
    /// section 8.4: 260): hosts report again before.
    pub membership_s: f64,
    /// Rate of the frames that show whether joins took effect, in frames a second.
    pub verify_fps: u64,
    /// First number of groups of the scaled group forwarding matrix.
    pub matrix_initial: u64,
    /// And by how many it grows (section 4.2: 10).
    pub matrix_step: u64,
    /// And up to how many, or up to the capacity where that is less.
    pub matrix_max: u64,
    /// Load at which the matrix is measured, in percent of the medium.
    pub matrix_load_percent: f64,
    /// First number of groups of the capacity test.
    pub capacity_initial: u64,
    /// And by how many it grows.
    pub capacity_step: u64,
    /// And up to how many.
    pub capacity_max: u64,
    /// Length of a latency trial, in seconds (section 5.1: 120).
    pub latency_s: f64,
    /// Latency trials.
    pub latency_repetitions: u32,
    /// Load of latency and delay trials, in percent of the medium. The aggregated multicast throughput
    /// where left out, as sections 5 and 6 recommend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_percent: Option<f64>,
    /// From the start of traffic to the report or the leave, in seconds.
    pub before_report_s: f64,
    /// Load of the burdening ports, in percent of their medium.
    pub burden_percent: f64,
    /// What encapsulation puts on frames, decapsulation takes off, and re-encapsulation puts on.
    pub tunnel_out: Tunnel,
    /// What re-encapsulation takes off.
    pub tunnel_in: Tunnel,
}

impl Default for MulticastConfig {
    fn default() -> Self {
        MulticastConfig {
            version: Version::default(),
            groups: 10,
            unicast_per_multicast: 1,
            report_fps: 100,
            join_settle_s: 2.0,
            join_timeout_s: 10.0,
            leave_settle_s: 10.0,
            leave_timeout_s: 15.0,
            membership_s: 260.0,
            verify_fps: 1_000,
            matrix_initial: 10,
            matrix_step: 10,
            matrix_max: 100,
            matrix_load_percent: 100.0,
            capacity_initial: 10,
            capacity_step: 1_000,
            capacity_max: 65_536,
            latency_s: 120.0,
            latency_repetitions: 20,
            load_percent: None,
            before_report_s: 1.0,
            burden_percent: 50.0,
            tunnel_out: Tunnel::Gre,
            tunnel_in: Tunnel::Vxlan,
        }
    }
}

impl MulticastConfig {
    /// The numbers of a profile.
    pub fn of(profile: Profile) -> Self {
        match profile {
            Profile::Rfc => MulticastConfig::default(),
            Profile::Minutes | Profile::Quick => MulticastConfig {
                report_fps: 1_000,
                join_settle_s: 0.5,
                join_timeout_s: 3.0,
                leave_settle_s: 3.0,
                leave_timeout_s: 5.0,
                matrix_max: 30,
                capacity_max: 2_000,
                latency_s: 0.5,
                latency_repetitions: 2,
                before_report_s: 0.1,
                ..MulticastConfig::default()
            },
        }
    }

    /// Refuses what cannot be run.
    pub fn check(&self) -> Result<(), RunError> {
        let wrong = |what: &str| Err(RunError::Config(format!("multicast.{what}")));
        let times = [self.join_timeout_s, self.leave_timeout_s, self.latency_s, self.membership_s];
        let loads =
            [self.matrix_load_percent, self.burden_percent, self.load_percent.unwrap_or(1.0)];
        if !(1..=GROUPS_MAX).contains(&self.groups) || self.matrix_max > GROUPS_MAX {
            return wrong("groups: 1 to 65536");
        }
        if self.capacity_initial == 0 || self.capacity_step == 0 || self.matrix_step == 0 {
            return wrong("capacity_initial, capacity_step and matrix_step: 1 or more");
        }
        if self.capacity_max > GROUPS_MAX || self.capacity_initial > self.capacity_max {
            return wrong("capacity_max: capacity_initial to 65536");
        }
        if times.iter().any(|seconds| *seconds <= 0.0) || self.before_report_s <= 0.0 {
            return wrong("*_s: times must be above 0");
        }
        if loads.iter().any(|percent| !(*percent > 0.0 && *percent <= 100.0)) {
            return wrong("*_percent: above 0 up to 100");
        }
        if self.report_fps == 0 || self.verify_fps == 0 || self.latency_repetitions == 0 {
            return wrong("report_fps, verify_fps and latency_repetitions: 1 or more");
        }
        Ok(())
    }
}

/// Groups at most.
const GROUPS_MAX: u64 = 65_536;
