//! Options that several tests have in common, by what they alter.

/// Of every trial that has signed frames.
pub(super) const EVERY_TRIAL: &[&str] =
    &["seed", "trial.invalid_retries", "trial.verify_checksums", "trial.limits"];

/// Waits after a trial.
pub(super) const WAITS: &[&str] = &["trial.drain_s", "trial.drain_max_s", "trial.settle_s"];

/// What tests between two ports have besides.
pub(super) const TWO_PORTS: &[&str] = &["sizes", "trial.learning_wait_s"];

/// Frames leave in bursts (RFC 2544 section 21).
pub(super) const BURSTS: &[&str] = &["burst-frames"];

/// Options of a test that say nothing to those that it is run before: they have loads of their own.
pub(super) const OF_ONE_TEST: &[&str] = BURSTS;

/// Hosts that make themselves known again during long trials.
pub(super) const KEEP_ALIVES: &[&str] = &["trial.keep_alives"];

/// What is sent, and which way.
pub(super) const TRAFFIC: &[&str] = &[
    "bidirectional",
    "protocol",
    "destinations",
    "random-ports",
    "random-macs",
    "vlan",
    "ipv6-percent",
];

/// The device is told of the networks of random destinations (RFC 2544 section 13).
pub(super) const ROUTING_UPDATES: &[&str] = &["routing-updates", "trial.routing_wait_s"];

/// Headers and networks of IPv6 (RFC 5180 sections 5.2.1 and 5.3).
pub(super) const IPV6: &[&str] = &["extension-headers", "ipv6-prefixes"];

/// The tester's measurement of itself.
pub(super) const SELF_TEST: &[&str] = &["self_test", "skip-selftest", "fresh-selftest"];

/// Trials that decide a result last so long.
pub(super) const FULL_TRIALS: &[&str] = &["duration", "trial.duration_s"];

/// Sizes of test frames.
pub(super) const SIZES: &[&str] = &["sizes"];

/// Source and destination addresses of each port.
pub(super) const PORT_ADDRESSES: &[&str] = &["chassis.addresses_per_port", "chassis.address_step"];

/// Time for what was learned to settle.
pub(super) const LEARNING_WAIT: &[&str] = &["trial.learning_wait_s"];

/// The interval of learning frames.
pub(super) const LEARNING_INTERVAL: &[&str] = &["chassis.learning_interval_s"];

/// The highest load without loss.
pub(super) const SEARCH_OF_MANY: &[&str] = &[
    "resolution",
    "search.policy",
    "search.goals",
    "search.resolution_percent",
    "search.trial_duration_s",
    "search.lowest_load_percent",
    "search.max_trials_per_load",
    "search.no_verification_above_lost_frames",
    "search.gap_step_ns",
];

/// The highest load with some loss.
pub(super) const LOSS_TOLERANCE: &[&str] =
    &["loss-tolerance", "throughput.loss_tolerances_percent"];

/// Frames through a switch, between any two ports.
pub(super) const TRAFFIC_OF_MANY: &[&str] = &["protocol", "random-ports", "vlan"];

/// The same where no address of a port is of the test's own.
pub(super) const TRAFFIC_OF_PORTS: &[&str] = &["random-macs", "ipv6-percent"];

/// Frames to groups.
pub(super) const TRAFFIC_OF_GROUPS: &[&str] = &["protocol", "random-ports"];

/// Joins and frames of groups behind VLANs.
pub(super) const VLAN_OF_GROUPS: &[&str] = &["vlan"];

/// Frames that take the place of some test frames (RFC 2544 section 11).
pub(super) const MODIFIERS: &[&str] = &["modifiers"];

/// Hosts that join groups, and leave them.
pub(super) const MEMBERS: &[&str] = &[
    "chassis.multicast.version",
    "chassis.multicast.report_fps",
    "chassis.multicast.verify_fps",
    "chassis.multicast.join_settle_s",
    "chassis.multicast.leave_settle_s",
];

/// How long the device remembers them.
pub(super) const MEMBERSHIP: &[&str] = &["chassis.multicast.membership_s"];

/// How long a join may take to show.
pub(super) const JOIN_WAIT: &[&str] = &["chassis.multicast.join_timeout_s"];
