//! A value for each option that differs from what a short run has by itself.

use super::stage::Device;
use method::registry::SuiteName;

/// An option with a value.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// As in a configuration file.
    pub name: &'static str,
    /// As it is given.
    pub given: &'static [&'static str],
    /// What the run has besides, with it and without it, so that it can show.
    pub with: &'static [&'static str],
    /// Before which device.
    pub device: Device,
    /// With tests of these suites alone; of all where empty.
    pub only: &'static [SuiteName],
}

const fn sample(name: &'static str, given: &'static [&'static str]) -> Sample {
    Sample { name, given, with: &[], device: Device::Usual, only: &[] }
}

const fn shown(sample: Sample, with: &'static [&'static str]) -> Sample {
    Sample { with, ..sample }
}

const fn before(sample: Sample, device: Device) -> Sample {
    Sample { device, ..sample }
}

const fn with(sample: Sample, only: &'static [SuiteName]) -> Sample {
    Sample { only, ..sample }
}

const OTHERS: &[SuiteName] = &[
    SuiteName::Rfc2889,
    SuiteName::Rfc3918,
    SuiteName::Gigaswitch,
    SuiteName::Tolly,
    SuiteName::Harvard1990,
];
const PAIRS: &[SuiteName] = &[SuiteName::Rfc2544, SuiteName::Harvard1989, SuiteName::Harvard1990];
const MANY: &[SuiteName] =
    &[SuiteName::Rfc2889, SuiteName::Rfc3918, SuiteName::Gigaswitch, SuiteName::Tolly];
const BUT_TOLLY: &[SuiteName] = &[
    SuiteName::Rfc2544,
    SuiteName::Rfc2889,
    SuiteName::Rfc3918,
    SuiteName::Gigaswitch,
    SuiteName::Harvard1989,
    SuiteName::Harvard1990,
];

macro_rules! flags {
    ($($name:literal $($value:literal)?),* $(,)?) => {
        &[$(sample($name, &[concat!("--", $name) $(, $value)?])),*]
    };
}

macro_rules! settings {
    ($($name:literal = $value:literal),* $(,)?) => {
        &[$(sample($name, &["--set", concat!($name, "=", $value)])),*]
    };
}

/// Options that alter trials.
pub const FLAGS: &[Sample] = flags![
    "bidirectional",
    "destinations" "random",
    "random-ports",
    "random-macs",
    "vlan" "100",
    "ipv6-percent" "50",
    "protocol" "udp_ipv6",
    "modifiers" "broadcast",
    "duration" "50ms",
    "resolution" "10%",
    "loss-tolerance" "5%",
    "seed" "9",
    "line-rate" "2M",
    "skip-selftest",
];

/// Options that need more than a value to show.
pub const SPECIAL: &[Sample] = &[
    sample("destinations", &["--destinations", "both"]),
    before(sample("pattern", &["--pattern", "multi_port"]), Device::Wide),
    shown(sample("burst-frames", &["--burst-frames", "4"]), &["--search", "bisect"]),
    with(sample("search.policy", &["--search", "bisect"]), PAIRS),
    with(sample("search.policy", &["--search", "mlrsearch"]), MANY),
    with(sample("search.policy", &["--search", "adaptive"]), MANY),
    with(sample("search.max_trials_per_load", &["--set", "search.max_trials_per_load=4"]), PAIRS),
    with(
        shown(
            sample("search.max_trials_per_load", &["--set", "search.max_trials_per_load=4"]),
            &["--search", "tst009"],
        ),
        MANY,
    ),
    with(sample("search.trial_duration_s", &["--set", "search.trial_duration_s=0.1"]), PAIRS),
    with(sample("search.trial_duration_s", &["--set", "search.trial_duration_s=0.05"]), MANY),
    shown(
        sample("search.goals", &["--goal", "loss=20%", "--goal", "loss=0%"]),
        &["--search", "mlrsearch"],
    ),
    shown(
        sample("extension-headers", &["--extension-headers", "destination"]),
        &["--protocol", "udp_ipv6"],
    ),
    shown(
        sample("ipv6-prefixes", &["--ipv6-prefixes", "128"]),
        &["--protocol", "udp_ipv6", "--destinations", "random"],
    ),
    shown(sample("routing-updates", &["--routing-updates"]), &["--destinations", "random"]),
    shown(
        sample("trial.routing_wait_s", &["--set", "trial.routing_wait_s=0.7"]),
        &["--destinations", "random", "--routing-updates"],
    ),
    shown(
        sample("search.gap_step_ns", &["--set", "search.gap_step_ns=900000.0"]),
        &["--search", "step"],
    ),
    shown(
        sample("search.lowest_load_percent", &["--set", "search.lowest_load_percent=90.0"]),
        &["--search", "bisect"],
    ),
    shown(
        sample(
            "search.no_verification_above_lost_frames",
            &["--set", "search.no_verification_above_lost_frames=1"],
        ),
        &["--search", "tst009"],
    ),
];

/// Options of built devices and of real ports, which a simulated run does not use.
pub const OF_DEVICES: &[Sample] = flags![
    "filter" "10",
    "permit" "middle",
    "neighbours" "dynamic",
    "routing" "rip",
    "tunnel" "gre",
    "routes-per-port" "10",
    "feed" "bgp",
    "feed-within" "1min",
    "address-table" "50",
    "snooping",
    "group-table" "9",
    "group-membership" "4s",
    "multicast" "table",
    "forward-mode" "mac",
    "port-count" "4",
    "mtu" "2000",
    "input-queue" "50",
    "tx-queue" "50",
    "device-threads" "inline",
    "device-cpu" "1",
    "tbf-rate" "1M",
    "tbf-queue" "9",
    "tbf-burst" "3000",
    "tbf-port" "0",
    "frame-limit" "1000",
    "frame-limit-burst" "9",
    "drop-every" "9",
    "agent-certificates" "lab",
    "far-ports" "d1,d2",
    "far-netns" "lab",
    "far-snmp" "10.0.0.1",
    "far-community" "private",
    "far-lag" "1s",
    "port-type" "af_packet",
    "queues" "2",
    "scheduling" "normal",
];

/// Keys of sections.
pub const SETTINGS: &[Sample] = settings![
    "trial.duration_s" = "0.05",
    "trial.learning_wait_s" = "0.2",
    "trial.drain_s" = "0.3",
    // Less than this and the tester fails its own test.
    "trial.drain_max_s" = "0.005",
    "trial.settle_s" = "0.3",
    "search.resolution_percent" = "10.0",
    "self_test.trial_duration_s" = "0.2",
    "self_test.low_rate_percent" = "20.0",
    "self_test.high_rate_percent" = "50.0",
    "throughput.final_trials" = "3",
    "throughput.loss_tolerances_percent" = "[5.0]",
    "latency.repetitions" = "2",
    "latency.stream_s" = "0.7",
    "latency.first_tag_s" = "0.3",
    "latency.tags" = "50",
    "pdv.repetitions" = "2",
    "pdv.stream_s" = "0.5",
    "ipdv.repetitions" = "2",
    "ipdv.stream_s" = "0.5",
    "ipdv.median_frames" = "50",
    "frame_loss.step_percent" = "20.0",
    "back_to_back.repetitions" = "2",
    "back_to_back.step_frames" = "2",
    "back_to_back.limit_s" = "0.1",
    "recovery.repetitions" = "2",
    "recovery.overload_percent" = "120.0",
    "recovery.overload_s" = "0.5",
    "recovery.observe_s" = "0.5",
    "reset.kinds" = "[\"link\"]",
    "reset.repetitions" = "2",
    "reset.before_s" = "0.5",
    "reset.after_s" = "2.0",
    "reset.link_down_s" = "0.5",
    "reset.rate_percent" = "50.0",
    "harvard.raw_rate_stream_s" = "0.2",
    "harvard.max_rate_stream_s" = "0.2",
    "harvard.gap_step_ns" = "100000.0",
    "harvard.delay_stream_s" = "0.2",
    "harvard.delay_gap_s" = "0.05",
    "harvard_1989.idle_s" = "1.0",
    "harvard_1989.delay_gap_s" = "0.01",
    "harvard_1989.delay_stream_s" = "0.5",
    "harvard_1989.rate_stream_s" = "0.2",
    "harvard_1989.gap_step_ns" = "200000.0",
    "harvard_1989.burst_period_ms" = "100.0",
    "harvard_1989.bursts" = "2",
    "harvard_1989.filters" = "[3]",
    "harvard_1989.routes" = "20",
    "harvard_1989.table_limit" = "4",
    "harvard_1989.table_fps" = "50",
    "harvard_1989.error_frames" = "10",
    "harvard_1989.error_fps" = "20",
    "harvard_1989.error_sizes" = "[100, 50, 1700]",
    "harvard_1989.echo_fps" = "5",
    "harvard_1989.mix" = "\"imix:64,128\"",
    "harvard_1989.protocols" = "[\"udp_ipv4\"]",
    "harvard_1989.nfs_datagrams" = "2",
];

/// Keys of the section of the tests of many ports.
pub const CHASSIS: &[Sample] = settings![
    "chassis.loads_percent" = "[80.0]",
    "chassis.addresses_per_port" = "4",
    "chassis.learning_interval_s" = "0.05",
    "chassis.broadcast_frames" = "2",
    "chassis.addresses.ageing_s" = "8.0",
    "chassis.addresses.digest_s" = "0.5",
    "chassis.addresses.initial_addresses" = "4",
    "chassis.addresses.learning_fps" = "200",
    "chassis.addresses.max_addresses" = "40",
    "chassis.addresses.max_learning_fps" = "300",
    "chassis.addresses.rate_addresses" = "10",
    "chassis.addresses.test_fps" = "200",
    "chassis.arp_server.addresses" = "3",
    "chassis.arp_server.max_fps" = "60",
    "chassis.arp_server.requests" = "10",
    "chassis.arp_server.resolution_fps" = "20",
    "chassis.errored.loads_percent" = "[50.0]",
    "chassis.fanout.all_ports_trial_s" = "0.5",
    "chassis.fanout.extrapolate_to" = "3",
    "chassis.fanout.ports" = "[4]",
    "chassis.fanout.receivers" = "1",
    "chassis.fanout.receivers_of_few" = "1",
    "chassis.forward_pressure.step_percent" = "5.0",
    "chassis.multicast.version" = "\"igmpv2\"",
    "chassis.multicast.groups" = "4",
    "chassis.multicast.unicast_per_multicast" = "2",
    "chassis.multicast.report_fps" = "200",
    "chassis.multicast.join_settle_s" = "0.7",
    "chassis.multicast.leave_settle_s" = "1.0",
    "chassis.multicast.leave_timeout_s" = "2.0",
    "chassis.multicast.verify_fps" = "100",
    "chassis.multicast.matrix_initial" = "3",
    "chassis.multicast.matrix_step" = "1",
    "chassis.multicast.matrix_max" = "3",
    "chassis.multicast.matrix_load_percent" = "30.0",
    "chassis.multicast.capacity_initial" = "3",
    "chassis.multicast.capacity_step" = "2",
    "chassis.multicast.capacity_max" = "5",
    "chassis.multicast.latency_s" = "0.3",
    "chassis.multicast.latency_repetitions" = "1",
    "chassis.multicast.load_percent" = "20.0",
    "chassis.multicast.before_report_s" = "0.2",
    "chassis.multicast.burden_percent" = "20.0",
    "chassis.tolly.iterations" = "2",
    "chassis.tolly.routed_inputs" = "[2]",
    "chassis.tolly.routed_outputs" = "1",
    "chassis.tolly.hosts_per_output" = "10",
    "chassis.tolly.unicast_streams" = "1",
    "chassis.tolly.multicast_outputs" = "[3]",
    "chassis.tolly.multicast_packets" = "10",
    "chassis.tolly.mesh_ports" = "2",
    "chassis.tolly.groups" = "8",
    "chassis.tolly.group_outputs" = "3",
];

/// Keys that show only before another device, or beside another key.
pub const HIDDEN: &[Sample] = &[
    before(
        shown(
            sample("back_to_back.highest_limit_s", &["--set", "back_to_back.highest_limit_s=0.2"]),
            &["--set", "back_to_back.limit_s=0.05"],
        ),
        Device::Deep,
    ),
    shown(
        sample(
            "back_to_back.resolution_percent",
            &["--set", "back_to_back.resolution_percent=60.0"],
        ),
        &["--set", "back_to_back.step_frames=1"],
    ),
    shown(
        sample("chassis.address_step", &["--set", "chassis.address_step=7"]),
        &["--set", "chassis.addresses_per_port=4"],
    ),
    shown(
        sample(
            "chassis.addresses.rate_resolution_fps",
            &["--set", "chassis.addresses.rate_resolution_fps=100"],
        ),
        &["--set", "chassis.addresses.rate_addresses=40"],
    ),
    shown(
        sample(
            "chassis.multicast.join_timeout_s",
            &["--set", "chassis.multicast.join_timeout_s=1.0"],
        ),
        &[
            "--set",
            "chassis.multicast.groups=20",
            "--set",
            "chassis.multicast.matrix_initial=20",
            "--set",
            "chassis.multicast.matrix_max=20",
        ],
    ),
    with(
        shown(
            sample("trial.keep_alives", &["--set", "trial.keep_alives=true"]),
            &["--duration", "22s", "--set", "search.trial_duration_s=21.0", "--resolution", "50%"],
        ),
        &[SuiteName::Rfc2544],
    ),
    // It is on by itself.
    with(
        shown(
            sample("trial.keep_alives", &["--set", "trial.keep_alives=false"]),
            &[
                "--duration",
                "22s",
                "--set",
                "harvard_1989.delay_stream_s=22.0",
                "--resolution",
                "50%",
            ],
        ),
        &[SuiteName::Harvard1989],
    ),
    with(sample("trial.keep_alives", &["--set", "trial.keep_alives=true"]), OTHERS),
    shown(
        sample("address-ageing", &["--address-ageing", "8s"]),
        &["--set", "-chassis.addresses.ageing_s"],
    ),
    // Formats in and out have to differ.
    shown(
        sample(
            "chassis.multicast.tunnel_out",
            &["--set", "chassis.multicast.tunnel_out=\"vxlan\""],
        ),
        &["--set", "chassis.multicast.tunnel_in=\"none\""],
    ),
    shown(
        sample("chassis.multicast.tunnel_in", &["--set", "chassis.multicast.tunnel_in=\"gre\""]),
        &["--set", "chassis.multicast.tunnel_out=\"none\""],
    ),
    sample("chassis.multicast.membership_s", &["--set", "chassis.multicast.membership_s=1.0"]),
    shown(
        sample("back_to_back.wait_s", &["--set", "back_to_back.wait_s=0.3"]),
        &["--set", "trial.drain_s=0.1"],
    ),
    with(sample("sizes", &["--sizes", "256"]), BUT_TOLLY),
    with(sample("sizes", &["--sizes", "1518"]), &[SuiteName::Tolly]),
];

/// Options that say what a trial is worth and alter no frame, so that a short run before a device and a tester without
/// faults is the same with them. `limits.rs` shows their effect before those that have faults; that of the resolution
/// of the self-test is shown in `known_truth/selftest.rs` of the methods. That all are refused where no test uses
/// them is shown here.
pub const NOT_SHOWN: &[Sample] = settings![
    "search.error_percent" = "10.0",
    "self_test.resolution_percent" = "1.0",
    "trial.invalid_retries" = "5",
    "trial.verify_checksums" = "false",
    "trial.limits.shortfall" = "0.2",
    "trial.limits.unwanted" = "0.2",
    "trial.limits.late_after_us" = "50",
    "trial.limits.late_intervals" = "9",
    "trial.limits.credit_us" = "50",
    "trial.limits.credit_frames" = "9",
    "harvard_1989.delay_varies_ms" = "1.0",
];

/// Options of every run, whose effect other tests show: what is tested, and what becomes of the results.
pub const OF_THE_RUN: &[&str] = &[
    "help",
    "suite",
    "test",
    "tests",
    "profile",
    "device",
    "sim",
    "ports",
    "address",
    "gateway",
    "accept",
    "capture",
    "page",
    "wide",
    "capture-streams",
    "capture-ports",
    "device-info",
    "out",
    "set",
    "config",
    "print-config",
    "resume",
    "stdin-control",
    "fresh-selftest",
    "yes",
    "json",
    "quiet",
    // As flags; their samples have the names of a file.
    "search",
    "goal",
];

/// Every sample for a suite.
pub fn of(suite: SuiteName) -> impl Iterator<Item = &'static Sample> {
    let all = [FLAGS, SPECIAL, OF_DEVICES, SETTINGS, CHASSIS, HIDDEN].into_iter().flatten();
    all.filter(move |sample| sample.only.is_empty() || sample.only.contains(&suite))
}
