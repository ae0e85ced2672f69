//! The kernel's multicast forwarding, driven by joins of the tester through FRR's pimd (RFC 3918): every
//! frame of every pair of port and group laid beside the kernel's own count of the group; the joins,
//! leaves and frames looked at on the wire by a script of its own.

use live::{Bed, Capture, Direction, GroupsCounted, can_run};
use method::chassis::ChassisTest;
use method::registry::SuiteName;
use method::rfc3918::{
    DelayOutcome, GroupDelayResult, MulticastLatencyResult, ScaledGroupsResult, Version,
};
use method::{Event, Outcome, Profile, Suite, SuiteConfig, TestKind};
use ports::PortType;
use std::collections::BTreeMap;
use std::process::Command;
use testbed::{DeviceKind, TestbedConfig};
use traffic::size::SizePattern;
use units::{FrameSize, LineRate};

const PORTS: usize = 4;
const GROUPS: u64 = 8;
/// 844 frames of 128 bytes a second.
const LINE: LineRate = LineRate::from_mbps(1);
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/multicast.py");

fn bed() -> Bed {
    Bed::build(&TestbedConfig { ports: PORTS, ..TestbedConfig::of(DeviceKind::LinuxMcast) })
}

/// Short trials at half of the nominal rate; one in which the tester was held up is repeated.
fn config(tests: &[ChassisTest]) -> SuiteConfig {
    let mut config = SuiteConfig::of_suite(SuiteName::Rfc3918, Profile::Quick);
    config.tests = tests.iter().copied().map(TestKind::Chassis).collect();
    config.frame_sizes = vec![SizePattern::Fixed(FrameSize::from_bytes(128))];
    config.trial.duration_s = 0.5;
    config.trial.drain_s = 1.0;
    config.trial.settle_s = 0.0;
    config.trial.invalid_retries = 5;
    config.trial.limits.late_after_us = 100_000;
    config.trial.limits.shortfall = 0.2;
    config.chassis.learning_interval_s = 0.001;
    let multicast = &mut config.chassis.multicast;
    multicast.version = Version::Igmpv3;
    multicast.groups = GROUPS;
    multicast.load_percent = Some(50.0);
    (multicast.matrix_initial, multicast.matrix_step, multicast.matrix_max) = (4, 4, GROUPS);
    multicast.matrix_load_percent = 50.0;
    (multicast.latency_s, multicast.latency_repetitions) = (0.5, 1);
    (multicast.join_timeout_s, multicast.leave_timeout_s) = (2.0, 4.0);
    // Every test has groups, or a device, of its own.
    multicast.leave_settle_s = 0.1;
    config
}

fn run(bed: &Bed, config: SuiteConfig) -> (Vec<Outcome>, u64) {
    let tester = bed.live(PortType::AF_PACKET, FrameSize::MAX_ETHERNET, LINE);
    let mut tester = GroupsCounted::new(tester, bed);
    let suite = Suite {
        program: "test".into(),
        device: "linux-mcast".into(),
        environment: BTreeMap::new(),
        config,
        topology: bed.topology(),
        self_test: None,
        more: &[],
    };
    let mut events: Vec<Event> = vec![];
    suite.run(&mut tester, None, &mut events).expect("a run");
    let result = |event: Event| match event {
        Event::TestFinished(outcome) => Some(*outcome),
        Event::Warning(why) if !why.starts_with("no self-test") => panic!("{why}"),
        _ => None,
    };
    (events.into_iter().filter_map(result).collect(), tester.agreed())
}

#[test]
fn groups_reach_who_joined_them_and_the_kernel_counted_the_same() {
    if !can_run("groups_reach_who_joined_them_and_the_kernel_counted_the_same") {
        return;
    }
    let bed = bed();
    let device = bed.device().expect("a device");
    let watch = |direction| Capture::start(device.namespace(), &device.interface(1), direction);
    let (joins, data) = (watch(Direction::In), watch(Direction::Out));
    let (results, agreed) = run(&bed, config(&[ChassisTest::ScaledGroups]));
    let (joins, data) = (joins.finish(1), data.finish(1));

    let matrix: ScaledGroupsResult = results[0].record().expect("its record");
    assert_eq!(matrix.invalid, Vec::<String>::new());
    assert_eq!(matrix.rows.iter().map(|row| row.groups).collect::<Vec<_>>(), [4, GROUPS]);
    for row in &matrix.rows {
        let listening = row.flows.iter();
        assert!(listening.clone().all(|port| port.complete == row.groups), "{row:?}");
        assert_eq!(listening.count(), PORTS - 1);
    }
    assert!(agreed >= 12 * (PORTS as u64 - 1), "{agreed} pairs compared");

    let mut script = Command::new("python3");
    script.arg(SCRIPT).args([joins.path(), data.path()]).arg(GROUPS.to_string());
    let said = script.output().expect("python3");
    let words = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "{words}{}", String::from_utf8_lossy(&said.stdout));
}

/// Delays are whatever they are; that they were measured, of every port, is not.
#[test]
fn joins_leaves_and_latency_are_measured_on_a_real_device() {
    if !can_run("joins_leaves_and_latency_are_measured_on_a_real_device") {
        return;
    }
    let bed = bed();
    let tests =
        [ChassisTest::GroupJoinDelay, ChassisTest::GroupLeaveDelay, ChassisTest::MulticastLatency];
    let (results, _) = run(&bed, config(&tests));
    let [joins, leaves, latency] = &results[..] else { panic!("{results:?}") };
    let measured = |outcome: &Outcome| {
        let result: GroupDelayResult = outcome.record().expect("its record");
        let ports = result.sets.iter().flat_map(|set| &set.ports);
        ports
            .map(|port| match port.outcome {
                DelayOutcome::Measured { delay } => delay.as_secs_f64(),
                _ => panic!("{result:?}"),
            })
            .collect::<Vec<_>>()
    };
    // Method A with one port, method B with two.
    assert_eq!(measured(joins).len(), 3);
    let left = measured(leaves);
    // Without fast leave the router first asks who else listens.
    assert!(left.len() == 3 && left.iter().all(|seconds| *seconds > 0.0), "{left:?}");
    let latency: MulticastLatencyResult = latency.record().expect("its record");
    assert_eq!(latency.invalid, Vec::<String>::new());
    assert_eq!(latency.sets[0].latencies.len() as u64, GROUPS * (PORTS as u64 - 1));
}
