//! Throughput, frame loss and forwarding rates of a pattern of ports (RFC 2889 sections 5.1 to 5.4,
//! and the forwarding part of 5.10).

use crate::RunError;
use crate::bench::Bench;
use crate::chassis::{
    ChassisConditions, ChassisTest, LoadPoint, Pattern, PortMatrix, TestSetup, Throughput,
    highest_load, point_at,
};
use serde::{Deserialize, Serialize};
use units::Duration;

/// What a pattern of ports carries.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MeshResult {
    /// Under which conditions.
    pub conditions: ChassisConditions,
    /// Who sends to whom.
    pub pattern: Pattern,
    /// The highest load without loss.
    pub throughput: Throughput,
    /// Loss and forwarding rate at other loads, the highest first; the first is at the maximum
    /// offered load, and its forwarding rate the FRMOL of RFC 2285 section 3.6.2.
    pub points: Vec<LoadPoint>,
    /// Each pair of ports at the maximum offered load.
    pub matrix: Option<PortMatrix>,
}

impl MeshResult {
    /// The forwarding rate at the maximum offered load (RFC 2285 section 3.6.2).
    pub fn frmol(&self) -> Option<&LoadPoint> {
        self.points.iter().find(|point| point.load_percent == 100.0 && point.invalid.is_empty())
    }
    /// The maximum forwarding rate of all loads tried (RFC 2285 section 3.6.3).
    pub fn mfr(&self) -> Option<&LoadPoint> {
        let points = self.points.iter().chain(&self.throughput.point);
        let valid = points.filter(|point| point.invalid.is_empty());
        valid.max_by(|a, b| a.forwarding_rate.fps().total_cmp(&b.forwarding_rate.fps()))
    }
}

/// The pattern of a test.
fn pattern_of(test: ChassisTest) -> Pattern {
    match test {
        ChassisTest::OneToMany => Pattern::OneToMany,
        ChassisTest::ManyToOne => Pattern::ManyToOne,
        ChassisTest::OneAndMany => Pattern::OneAndMany,
        ChassisTest::Backbone => Pattern::Backbone,
        ChassisTest::Unidirectional => Pattern::Unidirectional,
        ChassisTest::Broadcast => Pattern::Broadcast,
        // With local traffic, two halves are one mesh (section 5.3.3).
        _ => Pattern::FullMesh,
    }
}

/// One of the tests that differ in their pattern only.
pub fn mesh(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
    test: ChassisTest,
) -> Result<MeshResult, RunError> {
    let pattern = pattern_of(test);
    if rack.ports < pattern.fewest_ports() {
        let fewest = pattern.fewest_ports();
        return Err(RunError::Config(format!("{test} needs {fewest} ports or more")));
    }
    let rack = &rack.with_ports(pattern.ports_of(rack.ports));
    let throughput = highest_load(bench, rack, test, pattern)?;
    let duration = Duration::from_secs_f64(rack.config.trial.duration_s);
    let mut loads = rack.config.chassis.loads_percent.clone();
    loads.sort_by(|a, b| b.total_cmp(a));
    let mut points = vec![];
    let mut at_maximum = None;
    for load in loads {
        let (point, matrix) = point_at(bench, rack, (test, pattern), load, duration)?;
        at_maximum.get_or_insert(matrix);
        points.push(point);
    }
    let conditions = rack.conditions(test);
    Ok(MeshResult { conditions, pattern, throughput, points, matrix: at_maximum })
}
