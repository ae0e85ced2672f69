//! The tests of many ports: RFC 2889, RFC 3918, the GIGAswitch and the IP9000 tests.

use super::options::{
    EVERY_TRIAL, EVERY_TRIAL_OF_MANY, FULL_TRIALS, FULL_TRIALS_OF_MANY, JOIN_WAIT,
    LEARNING_INTERVAL, LEARNING_WAIT, MEMBERS, MEMBERSHIP, PORT_ADDRESSES, SEARCH_OF_MANY, SIZES,
    WAITS, WAITS_OF_MANY,
};
use super::{SuiteName, TestMethod};
use crate::TestKind;
use crate::chassis::ChassisTest;

type Options = &'static [&'static [&'static str]];

const fn test(
    suite: SuiteName,
    document: &'static str,
    (id, kind, section): (&'static str, ChassisTest, &'static str),
    options: Options,
) -> TestMethod {
    let kind = TestKind::Chassis(kind);
    TestMethod { id, suite, kind, document, section, needs: &[], options }
}

const fn rfc2889(test: (&'static str, ChassisTest, &'static str), options: Options) -> TestMethod {
    self::test(SuiteName::Rfc2889, "RFC 2889", test, options)
}

/// Test frames of the sizes asked for, in trials that end with a wait.
macro_rules! frames {
    ($($more:expr),*) => { &[EVERY_TRIAL, EVERY_TRIAL_OF_MANY, WAITS, WAITS_OF_MANY, SIZES, $($more),*] };
}
/// Test frames to groups that hosts have joined.
macro_rules! groups {
    ($($more:expr),*) => { &[EVERY_TRIAL, EVERY_TRIAL_OF_MANY, WAITS, WAITS_OF_MANY, SIZES, MEMBERS, MEMBERSHIP, LEARNING_INTERVAL, $($more),*] };
}
/// Test frames from port to port, in trials of full length.
macro_rules! mesh {
    ($($more:expr),*) => { &[EVERY_TRIAL, EVERY_TRIAL_OF_MANY, WAITS, WAITS_OF_MANY, SIZES, PORT_ADDRESSES, LEARNING_WAIT, LEARNING_INTERVAL, FULL_TRIALS, $($more),*] };
}

/// A pattern of ports at the highest load without loss, and at other loads.
const MESH: Options = mesh![
    SEARCH_OF_MANY,
    &["chassis.loads_percent"],
    FULL_TRIALS_OF_MANY,
    &["chassis.burst_frames"]
];
const ADDRESSES: &[&str] = &[
    "address-ageing",
    "chassis.addresses.ageing_s",
    "chassis.addresses.digest_s",
    "chassis.addresses.test_fps",
    "chassis.address_step",
];

/// RFC 2889.
pub(super) static RFC2889: [TestMethod; 14] = [
    rfc2889(("fully-meshed", ChassisTest::FullyMeshed, "section 5.1"), MESH),
    rfc2889(("one-to-many", ChassisTest::OneToMany, "section 5.2"), MESH),
    rfc2889(("many-to-one", ChassisTest::ManyToOne, "section 5.2"), MESH),
    rfc2889(("one-and-many", ChassisTest::OneAndMany, "section 5.2"), MESH),
    rfc2889(("backbone-local", ChassisTest::BackboneLocal, "section 5.3"), MESH),
    rfc2889(("backbone", ChassisTest::Backbone, "section 5.3"), MESH),
    rfc2889(("unidirectional", ChassisTest::Unidirectional, "section 5.4"), MESH),
    rfc2889(("congestion", ChassisTest::Congestion, "section 5.5"), mesh![FULL_TRIALS_OF_MANY]),
    rfc2889(
        ("forward-pressure", ChassisTest::ForwardPressure, "section 5.6"),
        mesh![
            SEARCH_OF_MANY,
            FULL_TRIALS_OF_MANY,
            &["chassis.burst_frames", "chassis.forward_pressure"]
        ],
    ),
    rfc2889(
        ("address-caching", ChassisTest::AddressCaching, "section 5.7"),
        &[
            EVERY_TRIAL,
            EVERY_TRIAL_OF_MANY,
            SIZES,
            LEARNING_WAIT,
            ADDRESSES,
            &[
                "chassis.addresses.initial_addresses",
                "chassis.addresses.max_addresses",
                "chassis.addresses.learning_fps",
            ],
        ],
    ),
    rfc2889(
        ("address-learning", ChassisTest::AddressLearning, "section 5.8"),
        &[
            EVERY_TRIAL,
            EVERY_TRIAL_OF_MANY,
            SIZES,
            LEARNING_WAIT,
            ADDRESSES,
            &[
                "chassis.addresses.rate_addresses",
                "chassis.addresses.max_learning_fps",
                "chassis.addresses.rate_resolution_fps",
            ],
        ],
    ),
    rfc2889(
        ("errored-frames", ChassisTest::ErroredFrames, "section 5.9"),
        mesh![FULL_TRIALS_OF_MANY, &["chassis.errored"]],
    ),
    rfc2889(("broadcast", ChassisTest::Broadcast, "section 5.10"), MESH),
    rfc2889(
        ("broadcast-latency", ChassisTest::BroadcastLatency, "section 5.10"),
        frames![PORT_ADDRESSES, &["chassis.broadcast_frames"]],
    ),
];

const fn rfc3918(test: (&'static str, ChassisTest, &'static str), options: Options) -> TestMethod {
    self::test(SuiteName::Rfc3918, "RFC 3918", test, options)
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
            FULL_TRIALS,
            SEARCH_OF_MANY,
            FULL_TRIALS_OF_MANY,
            $($more),*]
    };
}

/// RFC 3918, in the order in which its tests rest on one another.
pub(super) static RFC3918: [TestMethod; 13] = [
    rfc3918(
        ("group-capacity", ChassisTest::GroupCapacity, "section 7.1"),
        groups![&[
            "chassis.multicast.capacity_initial",
            "chassis.multicast.capacity_step",
            "chassis.multicast.capacity_max",
        ]],
    ),
    rfc3918(
        ("aggregated-multicast", ChassisTest::AggregatedMulticast, "section 4.3"),
        throughput_and!(JOIN_WAIT),
    ),
    rfc3918(
        ("mixed-class", ChassisTest::MixedClass, "section 4.1"),
        throughput_and!(JOIN_WAIT, &["chassis.multicast.unicast_per_multicast"]),
    ),
    rfc3918(
        ("scaled-groups", ChassisTest::ScaledGroups, "section 4.2"),
        groups![
            JOIN_WAIT,
            FULL_TRIALS,
            FULL_TRIALS_OF_MANY,
            &[
                "chassis.multicast.matrix_initial",
                "chassis.multicast.matrix_step",
                "chassis.multicast.matrix_max",
                "chassis.multicast.matrix_load_percent",
            ]
        ],
    ),
    rfc3918(
        ("encapsulation", ChassisTest::Encapsulation, "section 4.4.1"),
        throughput_and!(JOIN_WAIT, &["chassis.multicast.tunnel_out"]),
    ),
    rfc3918(
        ("decapsulation", ChassisTest::Decapsulation, "section 4.4.2"),
        throughput_and!(JOIN_WAIT, &["chassis.multicast.tunnel_out"]),
    ),
    rfc3918(
        ("reencapsulation", ChassisTest::Reencapsulation, "section 4.4.3"),
        throughput_and!(
            JOIN_WAIT,
            &["chassis.multicast.tunnel_in", "chassis.multicast.tunnel_out"]
        ),
    ),
    rfc3918(
        ("multicast-latency", ChassisTest::MulticastLatency, "section 5.1"),
        throughput_and!(JOIN_WAIT, LOAD, LATENCY, REPETITIONS),
    ),
    rfc3918(
        ("min-max-latency", ChassisTest::MinMaxLatency, "section 5.2"),
        throughput_and!(JOIN_WAIT, LOAD, LATENCY),
    ),
    rfc3918(
        ("group-join-delay", ChassisTest::GroupJoinDelay, "section 6.1"),
        throughput_and!(JOIN_WAIT, LOAD, SAID),
    ),
    rfc3918(
        ("group-leave-delay", ChassisTest::GroupLeaveDelay, "section 6.2"),
        throughput_and!(JOIN_WAIT, LEAVE_WAIT, LOAD, SAID),
    ),
    rfc3918(
        ("burdened-latency", ChassisTest::BurdenedLatency, "section 8.1"),
        throughput_and!(JOIN_WAIT, LOAD, LATENCY, REPETITIONS, BURDEN),
    ),
    rfc3918(
        ("burdened-join-delay", ChassisTest::BurdenedJoinDelay, "section 8.2"),
        throughput_and!(JOIN_WAIT, LOAD, SAID, BURDEN),
    ),
];

const fn gigaswitch(id: &'static str, kind: ChassisTest, options: Options) -> TestMethod {
    test(SuiteName::Gigaswitch, "DIGITAL GIGAswitch/FDDI System tests", (id, kind, ""), options)
}

/// Requests carry no signature, and nothing in them is random.
const REPEATED: &[&str] = &["trial.invalid_retries", "trial.limits"];
const REPEATED_OF_MANY: &[&str] = &["chassis.trial.invalid_retries", "chassis.trial.limits"];

/// The tests of DEC's GIGAswitch/FDDI.
pub(super) static GIGASWITCH: [TestMethod; 3] = [
    gigaswitch(
        "extrapolation",
        ChassisTest::Extrapolation,
        mesh![SEARCH_OF_MANY, FULL_TRIALS_OF_MANY, &["chassis.burst_frames", "chassis.fanout"]],
    ),
    gigaswitch(
        "fanout",
        ChassisTest::Fanout,
        mesh![
            SEARCH_OF_MANY,
            FULL_TRIALS_OF_MANY,
            &["chassis.burst_frames", "chassis.fanout.receivers"]
        ],
    ),
    gigaswitch(
        "arp-server",
        ChassisTest::ArpServer,
        &[
            REPEATED,
            REPEATED_OF_MANY,
            WAITS,
            WAITS_OF_MANY,
            &["chassis.learning_interval_s", "chassis.arp_server"],
        ],
    ),
];

const fn tolly(
    id: &'static str,
    kind: ChassisTest,
    section: &'static str,
    options: Options,
) -> TestMethod {
    test(SuiteName::Tolly, "Tolly Group 8276,", (id, kind, section), options)
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
            EVERY_TRIAL_OF_MANY,
            WAITS,
            WAITS_OF_MANY,
            ITERATIONS,
            LEARNING_WAIT,
            &[
                "chassis.tolly.routed_inputs",
                "chassis.tolly.routed_outputs",
                "chassis.tolly.hosts_per_output",
            ],
        ],
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
    ),
    tolly(
        "base-unicast",
        ChassisTest::BaseUnicast,
        "figure 5",
        frames![
            ITERATIONS,
            LEARNING_WAIT,
            FULL_TRIALS,
            &["resolution", "chassis.resolution_percent", "chassis.tolly.unicast_streams"]
        ],
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
    ),
];
