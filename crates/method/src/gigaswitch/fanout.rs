//! The de-multiplexed fan-out: each transmitter to 4 (or 2) receivers in turn, never its own.

use crate::RunError;
use crate::bench::Bench;
use crate::chassis::{
    ChassisConditions, ChassisTest, LoadPoint, Pattern, PortMatrix, TestSetup, Throughput,
    highest_load, point_at,
};
use serde::{Deserialize, Serialize};
use units::{Duration, FrameRate};

/// What so many ports carry at once.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FanoutResult {
    /// Under which conditions.
    pub conditions: ChassisConditions,
    /// Receivers of each transmitter.
    pub receivers: usize,
    /// The highest rate at which the counts of all transmitters and of all receivers are equal.
    pub throughput: Throughput,
    /// A trial of full length at that rate.
    pub point: Option<LoadPoint>,
    /// Each pair of ports in it.
    pub matrix: Option<PortMatrix>,
}

impl FanoutResult {
    /// Frames a second and port at which none were lost: the lower and the upper bound of the
    /// truth. The upper one is the lower where nothing but the medium or the tester set the limit.
    pub fn per_port_fps(&self) -> Option<(f64, f64)> {
        let rate = self.throughput.rate?;
        let medium = self.conditions.theoretical_max.fps();
        let upper = self.throughput.upper_percent.map(|percent| medium * percent / 100.0);
        Some((rate.fps(), upper.unwrap_or(rate.fps())))
    }
    /// The sum of all ports.
    pub fn total(&self) -> Option<FrameRate> {
        self.throughput.rate.map(|rate| rate.scaled(self.conditions.ports as f64))
    }
}

/// The test with the ports of `rack`.
pub fn fanout(bench: &mut Bench<'_>, rack: &TestSetup<'_>) -> Result<FanoutResult, RunError> {
    let test = ChassisTest::Fanout;
    let receivers = rack.config.chassis.fanout.receivers_of(rack.ports);
    let pattern = Pattern::Fanout { receivers };
    if rack.ports < pattern.fewest_ports() {
        return Err(RunError::Config(format!(
            "a fan-out to {receivers} receivers needs {} ports or more",
            pattern.fewest_ports()
        )));
    }
    let throughput = highest_load(bench, rack, test, pattern)?;
    let duration = Duration::from_secs_f64(rack.config.trial.duration_s);
    let at_rate = match throughput.load_percent {
        Some(load) => Some(point_at(bench, rack, (test, pattern), load, duration)?),
        None => None,
    };
    let (point, matrix) = at_rate.unzip();
    Ok(FanoutResult { conditions: rack.conditions(test), receivers, throughput, point, matrix })
}
