//! The tests of many ports: RFC 2889, RFC 3918, the GIGAswitch and the IP9000 tests.

use super::options::{
    BURSTS, EVERY_TRIAL, FULL_TRIALS, JOIN_WAIT, LEARNING_INTERVAL, LEARNING_WAIT, LOSS_TOLERANCE,
    MEMBERS, MEMBERSHIP, MODIFIERS, PORT_ADDRESSES, SEARCH_OF_MANY, SELF_TEST, SIZES,
    TRAFFIC_OF_GROUPS, TRAFFIC_OF_MANY, TRAFFIC_OF_PORTS, VLAN_OF_GROUPS, WAITS,
};
use super::{ManyTest, Run, SuiteName, TestMethod};
use crate::chassis::ChassisTest;
use crate::{RunError, TestKind, gigaswitch, rfc2889, rfc3918, tolly};

type Options = &'static [&'static [&'static str]];

const fn test(
    suite: SuiteName,
    document: &'static str,
    (id, kind, section): (&'static str, ChassisTest, &'static str),
    options: Options,
    run: ManyTest,
) -> TestMethod {
    let (kind, run) = (TestKind::Chassis(kind), Run::Many(run));
    TestMethod { id, suite, kind, document, section, needs: &[], options, run }
}

/// Which of several tests that share a function.
fn of_many(test: TestKind) -> Result<ChassisTest, RunError> {
    match test {
        TestKind::Chassis(test) => Ok(test),
        _ => Err(RunError::Config(format!("{test} is no test of many ports"))),
    }
}

/// A test that is a function of its own, and one of several that share a function.
macro_rules! by {
    ($run:path) => {
        ManyTest::new(|bench, rack, _| Ok(vec![$run(bench, rack)?.outcome()]))
    };
    ($run:path, test) => {
        ManyTest::new(|bench, rack, test| Ok(vec![$run(bench, rack, of_many(test)?)?.outcome()]))
    };
}

const fn rfc2889(
    test: (&'static str, ChassisTest, &'static str),
    options: Options,
    run: ManyTest,
) -> TestMethod {
    self::test(SuiteName::Rfc2889, "RFC 2889", test, options, run)
}

/// Test frames of the sizes asked for, in trials that end with a wait.
macro_rules! frames {
    ($($more:expr),*) => { &[EVERY_TRIAL, WAITS, SIZES, $($more),*] };
}
/// Test frames to groups that hosts have joined.
macro_rules! groups {
    ($($more:expr),*) => { &[EVERY_TRIAL, WAITS, SIZES, TRAFFIC_OF_GROUPS, MEMBERS, MEMBERSHIP, LEARNING_INTERVAL, $($more),*] };
}
/// Test frames from port to port, in trials of full length.
macro_rules! mesh {
    ($($more:expr),*) => { &[EVERY_TRIAL, WAITS, SIZES, TRAFFIC_OF_MANY, TRAFFIC_OF_PORTS, SELF_TEST, PORT_ADDRESSES, LEARNING_WAIT, LEARNING_INTERVAL, FULL_TRIALS, $($more),*] };
}

/// A pattern of ports at the highest load without loss, and at other loads.
const MESH: Options =
    mesh![SEARCH_OF_MANY, LOSS_TOLERANCE, MODIFIERS, BURSTS, &["chassis.loads_percent"]];
const ADDRESSES: &[&str] = &[
    "address-ageing",
    "chassis.addresses.ageing_s",
    "chassis.addresses.digest_s",
    "chassis.addresses.test_fps",
    "chassis.address_step",
];

/// RFC 2889.
pub(super) static RFC2889: [TestMethod; 14] = [
    rfc2889(
        ("fully-meshed", ChassisTest::FullyMeshed, "section 5.1"),
        MESH,
        by!(rfc2889::mesh, test),
    ),
    rfc2889(("one-to-many", ChassisTest::OneToMany, "section 5.2"), MESH, by!(rfc2889::mesh, test)),
    rfc2889(("many-to-one", ChassisTest::ManyToOne, "section 5.2"), MESH, by!(rfc2889::mesh, test)),
    rfc2889(
        ("one-and-many", ChassisTest::OneAndMany, "section 5.2"),
        MESH,
        by!(rfc2889::mesh, test),
    ),
    rfc2889(
        ("backbone-local", ChassisTest::BackboneLocal, "section 5.3"),
        MESH,
        by!(rfc2889::mesh, test),
    ),
    rfc2889(("backbone", ChassisTest::Backbone, "section 5.3"), MESH, by!(rfc2889::mesh, test)),
    rfc2889(
        ("unidirectional", ChassisTest::Unidirectional, "section 5.4"),
        MESH,
        by!(rfc2889::mesh, test),
    ),
    rfc2889(
        ("congestion", ChassisTest::Congestion, "section 5.5"),
        mesh![],
        by!(rfc2889::congestion),
    ),
    rfc2889(
        ("forward-pressure", ChassisTest::ForwardPressure, "section 5.6"),
        mesh![SEARCH_OF_MANY, LOSS_TOLERANCE, MODIFIERS, BURSTS, &["chassis.forward_pressure"]],
        by!(rfc2889::forward_pressure),
    ),
    rfc2889(
        ("address-caching", ChassisTest::AddressCaching, "section 5.7"),
        &[
            EVERY_TRIAL,
            SIZES,
            TRAFFIC_OF_MANY,
            LEARNING_WAIT,
            ADDRESSES,
            &[
                "chassis.addresses.initial_addresses",
                "chassis.addresses.max_addresses",
                "chassis.addresses.learning_fps",
            ],
        ],
        by!(rfc2889::caching).of_smallest().taking(rfc2889::caching_estimate),
    ),
    rfc2889(
        ("address-learning", ChassisTest::AddressLearning, "section 5.8"),
        &[
            EVERY_TRIAL,
            SIZES,
            TRAFFIC_OF_MANY,
            LEARNING_WAIT,
            ADDRESSES,
            &[
                "chassis.addresses.rate_addresses",
                "chassis.addresses.max_learning_fps",
                "chassis.addresses.rate_resolution_fps",
            ],
        ],
        by!(rfc2889::learning_rate).of_smallest().taking(rfc2889::learning_rate_estimate),
    ),
    rfc2889(
        ("errored-frames", ChassisTest::ErroredFrames, "section 5.9"),
        mesh![&["chassis.errored"]],
        by!(rfc2889::errored),
    ),
    rfc2889(("broadcast", ChassisTest::Broadcast, "section 5.10"), MESH, by!(rfc2889::mesh, test)),
    rfc2889(
        ("broadcast-latency", ChassisTest::BroadcastLatency, "section 5.10"),
        frames![TRAFFIC_OF_MANY, TRAFFIC_OF_PORTS, PORT_ADDRESSES, &["chassis.broadcast_frames"]],
        by!(rfc2889::broadcast_latency),
    ),
];

const fn rfc3918(
    test: (&'static str, ChassisTest, &'static str),
    options: Options,
    run: ManyTest,
) -> TestMethod {
    self::test(SuiteName::Rfc3918, "RFC 3918", test, options, run)
}

const GROUP_COUNT: &[&str] = &["chassis.multicast.groups"];
/// The aggregated multicast throughput, at which delays are measured, is found where it is not known.
const LOAD: &[&str] = &["chassis.multicast.load_percent"];
const BURDEN: &[&str] = &["chassis.multicast.burden_percent"];
const LATENCY: &[&str] = &["chassis.multicast.latency_s"];
const REPETITIONS: &[&str] = &["chassis.multicast.latency_repetitions"];
const SAID: &[&str] = &["chassis.multicast.before_report_s"];
const LEAVE_WAIT: &[&str] = &["chassis.multicast.leave_timeout_s"];

/// The highest load to groups.
macro_rules! throughput_and {
    ($($more:expr),*) => {
        groups![GROUP_COUNT,
            SELF_TEST,
            FULL_TRIALS,
            SEARCH_OF_MANY,
            $($more),*]
    };
}

/// RFC 3918, in the order in which its tests rest on one another.
pub(super) static RFC3918: [TestMethod; 13] = [
    rfc3918(
        ("group-capacity", ChassisTest::GroupCapacity, "section 7.1"),
        groups![
            VLAN_OF_GROUPS,
            &[
                "chassis.multicast.capacity_initial",
                "chassis.multicast.capacity_step",
                "chassis.multicast.capacity_max",
            ]
        ],
        by!(rfc3918::capacity).of_smallest(),
    ),
    rfc3918(
        ("aggregated-multicast", ChassisTest::AggregatedMulticast, "section 4.3"),
        throughput_and!(VLAN_OF_GROUPS, LOSS_TOLERANCE, MODIFIERS, JOIN_WAIT),
        by!(rfc3918::throughput, test),
    ),
    rfc3918(
        ("mixed-class", ChassisTest::MixedClass, "section 4.1"),
        throughput_and!(
            VLAN_OF_GROUPS,
            LOSS_TOLERANCE,
            MODIFIERS,
            JOIN_WAIT,
            &["chassis.multicast.unicast_per_multicast"]
        ),
        by!(rfc3918::mixed_class),
    ),
    rfc3918(
        ("scaled-groups", ChassisTest::ScaledGroups, "section 4.2"),
        groups![
            VLAN_OF_GROUPS,
            MODIFIERS,
            JOIN_WAIT,
            FULL_TRIALS,
            &[
                "chassis.multicast.matrix_initial",
                "chassis.multicast.matrix_step",
                "chassis.multicast.matrix_max",
                "chassis.multicast.matrix_load_percent",
            ]
        ],
        by!(rfc3918::scaled_groups),
    ),
    rfc3918(
        ("encapsulation", ChassisTest::Encapsulation, "section 4.4.1"),
        throughput_and!(LOSS_TOLERANCE, MODIFIERS, JOIN_WAIT, &["chassis.multicast.tunnel_out"]),
        by!(rfc3918::throughput, test),
    ),
    rfc3918(
        ("decapsulation", ChassisTest::Decapsulation, "section 4.4.2"),
        throughput_and!(LOSS_TOLERANCE, MODIFIERS, JOIN_WAIT, &["chassis.multicast.tunnel_out"]),
        by!(rfc3918::throughput, test),
    ),
    rfc3918(
        ("reencapsulation", ChassisTest::Reencapsulation, "section 4.4.3"),
        throughput_and!(
            LOSS_TOLERANCE,
            MODIFIERS,
            JOIN_WAIT,
            &["chassis.multicast.tunnel_in", "chassis.multicast.tunnel_out"]
        ),
        by!(rfc3918::throughput, test),
    ),
    rfc3918(
        ("multicast-latency", ChassisTest::MulticastLatency, "section 5.1"),
        throughput_and!(VLAN_OF_GROUPS, JOIN_WAIT, LOAD, LATENCY, REPETITIONS),
        by!(rfc3918::latency, test),
    ),
    rfc3918(
        ("min-max-latency", ChassisTest::MinMaxLatency, "section 5.2"),
        throughput_and!(VLAN_OF_GROUPS, JOIN_WAIT, LOAD, LATENCY),
        by!(rfc3918::latency, test),
    ),
    rfc3918(
        ("group-join-delay", ChassisTest::GroupJoinDelay, "section 6.1"),
        throughput_and!(VLAN_OF_GROUPS, JOIN_WAIT, LOAD, SAID),
        by!(rfc3918::join_delay, test),
    ),
    rfc3918(
        ("group-leave-delay", ChassisTest::GroupLeaveDelay, "section 6.2"),
        throughput_and!(VLAN_OF_GROUPS, JOIN_WAIT, LEAVE_WAIT, LOAD, SAID),
        by!(rfc3918::leave_delay),
    ),
    rfc3918(
        ("burdened-latency", ChassisTest::BurdenedLatency, "section 8.1"),
        throughput_and!(VLAN_OF_GROUPS, JOIN_WAIT, LOAD, LATENCY, REPETITIONS, BURDEN),
        by!(rfc3918::latency, test),
    ),
    rfc3918(
        ("burdened-join-delay", ChassisTest::BurdenedJoinDelay, "section 8.2"),
        throughput_and!(VLAN_OF_GROUPS, JOIN_WAIT, LOAD, SAID, BURDEN),
        by!(rfc3918::join_delay, test),
    ),
];

const fn gigaswitch(
    id: &'static str,
    kind: ChassisTest,
    options: Options,
    run: ManyTest,
) -> TestMethod {
    let document = "DIGITAL GIGAswitch/FDDI System tests";
    test(SuiteName::Gigaswitch, document, (id, kind, ""), options, run)
}

/// Requests carry no signature, and nothing in them is random.
const REPEATED: &[&str] = &["trial.invalid_retries", "trial.limits"];

/// The tests of DEC's GIGAswitch/FDDI.
pub(super) static GIGASWITCH: [TestMethod; 3] = [
    gigaswitch(
        "extrapolation",
        ChassisTest::Extrapolation,
        mesh![SEARCH_OF_MANY, LOSS_TOLERANCE, MODIFIERS, BURSTS, &["chassis.fanout"]],
        ManyTest::new(|bench, rack, _| gigaswitch::extrapolation(bench, rack)),
    ),
    gigaswitch(
        "fanout",
        ChassisTest::Fanout,
        mesh![
            SEARCH_OF_MANY,
            LOSS_TOLERANCE,
            MODIFIERS,
            BURSTS,
            &["chassis.fanout.receivers", "chassis.fanout.receivers_of_few"]
        ],
        by!(gigaswitch::fanout),
    ),
    gigaswitch(
        "arp-server",
        ChassisTest::ArpServer,
        &[REPEATED, WAITS, &["chassis.learning_interval_s", "chassis.arp_server"]],
        by!(gigaswitch::arp_server).of_smallest(),
    ),
];

const fn tolly(
    id: &'static str,
    kind: ChassisTest,
    section: &'static str,
    options: Options,
    run: ManyTest,
) -> TestMethod {
    test(SuiteName::Tolly, "Tolly Group 8276,", (id, kind, section), options, run)
}

const ITERATIONS: &[&str] = &["chassis.tolly.iterations"];

/// The Tolly Group's tests of the IP9000.
pub(super) static TOLLY: [TestMethod; 5] = [
    tolly(
        "internet-scale",
        ChassisTest::InternetScale,
        "figure 2",
        &[
            EVERY_TRIAL,
            WAITS,
            ITERATIONS,
            LEARNING_WAIT,
            &[
                "chassis.tolly.routed_inputs",
                "chassis.tolly.routed_outputs",
                "chassis.tolly.hosts_per_output",
            ],
        ],
        by!(tolly::internet_scale),
    ),
    tolly(
        "large-scale-multicast",
        ChassisTest::LargeScaleMulticast,
        "figure 3",
        frames![
            ITERATIONS,
            MEMBERS,
            LEARNING_INTERVAL,
            &["chassis.tolly.groups", "chassis.tolly.group_outputs"]
        ],
        by!(tolly::multicast, test),
    ),
    tolly(
        "multicast-mesh",
        ChassisTest::MulticastMesh,
        "figure 4",
        frames![
            ITERATIONS,
            MEMBERS,
            LEARNING_INTERVAL,
            &["chassis.tolly.mesh_ports", "chassis.tolly.multicast_packets"]
        ],
        by!(tolly::multicast, test),
    ),
    tolly(
        "base-unicast",
        ChassisTest::BaseUnicast,
        "figure 5",
        frames![
            ITERATIONS,
            LEARNING_WAIT,
            FULL_TRIALS,
            &["resolution", "search.resolution_percent", "chassis.tolly.unicast_streams"]
        ],
        by!(tolly::base_unicast),
    ),
    tolly(
        "base-multicast",
        ChassisTest::BaseMulticast,
        "figure 6",
        frames![
            ITERATIONS,
            MEMBERS,
            LEARNING_INTERVAL,
            &["chassis.tolly.multicast_outputs", "chassis.tolly.multicast_packets"]
        ],
        by!(tolly::multicast, test),
    ),
];
