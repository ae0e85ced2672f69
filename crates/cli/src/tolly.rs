//! The tests of the IP9000 on devices that are built here or simulated: which of them a device can do,
//! with how many ports, routes and groups.

use crate::encapsulated_groups;
use crate::failure::{Failure, Outcome};
use crate::options::{BitRate, Options, SuiteName};
use crate::setup::Subject;
use crate::topology;
use method::chassis::ChassisTest;
use method::rfc3918::{Version, group_v4};
use method::{Forwarding, Profile, SuiteConfig, TestKind};
use ports::PortType;
use sim::StaticRoute;
use std::net::Ipv4Addr;
use testbed::{DeviceKind, GroupRange, MulticastRouting, PortAddresses, TestbedConfig};

const INTERNET_SCALE: TestKind = TestKind::Chassis(ChassisTest::InternetScale);

/// What virtual links are taken for: a small machine carries a copy for each of some ports.
const NOMINAL_RATE: BitRate = BitRate(10_000_000);

/// Ports of a device that is built for these tests, where nothing else is said. The document had 32.
pub const PORTS: usize = 8;

/// The tests that a built device can do.
fn tests_of(kind: DeviceKind) -> &'static [ChassisTest] {
    match kind {
        DeviceKind::LinuxRouter => &[ChassisTest::InternetScale, ChassisTest::BaseUnicast],
        DeviceKind::LinuxMcast => &[
            ChassisTest::LargeScaleMulticast,
            ChassisTest::MulticastMesh,
            ChassisTest::BaseMulticast,
        ],
        DeviceKind::LinuxBridge
        | DeviceKind::OvsUserspace
        | DeviceKind::OvsDpdk
        | DeviceKind::Testpmd
        | DeviceKind::L3fwd
        | DeviceKind::Loopback => &[],
    }
}

/// The document's numbers, fitted to a device that is built with fewer ports or hosts.
pub fn base(options: &Options, profile: Profile) -> SuiteConfig {
    let mut config = SuiteConfig::of_suite(SuiteName::Tolly, profile);
    let Some(kind) = options.device else { return config };
    let tolly = &mut config.chassis.tolly;
    *tolly = tolly.clone().fitted(options.port_count.unwrap_or(PORTS));
    if let Some(hosts) = options.routes_per_port.filter(|hosts| *hosts > 0) {
        tolly.hosts_per_output = hosts.into();
    }
    // With none it is refused with a reason before anything is built.
    let tests = tests_of(kind);
    if !tests.is_empty() {
        config.tests = tests.iter().copied().map(TestKind::Chassis).collect();
    }
    // Ports of a small machine start too far apart for shorter trials.
    config.trial.duration_s = config.trial.duration_s.max(1.0);
    config.search.trial_duration_s = 1.0;
    config
}

/// What is not said, where a device is built for these tests.
pub fn defaults(options: &Options, config: &SuiteConfig) -> Options {
    let Some(kind) = options.device.filter(|_| is_tolly(options)) else {
        return Options::default();
    };
    let has_routes = config.tests.contains(&INTERNET_SCALE);
    Options {
        line_rate: Some(NOMINAL_RATE),
        port_count: Some(PORTS),
        // Inputs that send at once share processors.
        port_type: Some(PortType::AF_PACKET),
        routes_per_port: (kind == DeviceKind::LinuxRouter && has_routes)
            .then_some(config.chassis.tolly.hosts_per_output as u32),
        multicast: (kind == DeviceKind::LinuxMcast).then_some(MulticastRouting::Table),
        ..Options::default()
    }
}

/// Refuses, before anything is built, what the device cannot do.
pub fn check(options: &Options, config: &SuiteConfig) -> Outcome<()> {
    if !is_tolly(options) {
        let is_ipv6 = config.chassis.multicast.version.is_ipv6();
        if is_ipv6 && options.device == Some(DeviceKind::LinuxMcast) {
            return Err(Failure::new(
                "linux-mcast forwards groups of IPv4 alone: Debian's FRR has no pim6d to route those of IPv6",
            )
            .help("test MLD on --device linux-bridge, which snoops it, or on --sim multicast"));
        }
        return encapsulated_groups::check(options, config);
    }
    let Some(kind) = options.device else { return Ok(()) };
    let can = tests_of(kind);
    if can.is_empty() {
        return Err(not_a_router());
    }
    let can = |test: &&TestKind| match test {
        TestKind::Chassis(test) => *test == ChassisTest::BaseUnicast || can.contains(test),
        _ => false,
    };
    if let Some(test) = config.tests.iter().find(|test| !can(test)) {
        let other = match kind {
            DeviceKind::LinuxRouter => "--device linux-mcast",
            _ => "--device linux-router",
        };
        return Err(Failure::new(format!("{test}: not on this device"))
            .help(format!("test it with {other}, or with --sim ip9000")));
    }
    let is_table = options.multicast == Some(MulticastRouting::Table);
    if is_table && config.chassis.multicast.version != Version::Igmpv3 {
        return Err(Failure::new("--multicast table holds groups of IPv4 that need no joins")
            .help("leave out chassis.multicast.version, or write --multicast daemon"));
    }
    Ok(())
}

/// Refuses what does not route, and routes that nobody here can set.
pub fn check_router(config: &SuiteConfig, subject: &Subject, is_routed: bool) -> Outcome<()> {
    if !is_routed {
        return Err(not_a_router());
    }
    if config.tests.contains(&INTERNET_SCALE) && matches!(subject, Subject::Between(_)) {
        return Err(Failure::new("the routes of a device between interfaces are not ours to set")
            .help(
                "write --device linux-router or --sim ip9000, or choose other tests: \
             --test base-unicast",
            ));
    }
    Ok(())
}

fn not_a_router() -> Failure {
    Failure::new("these are tests of routers: the device does not route").help(
        "test --device linux-router or --device linux-mcast, or simulate one with --sim ip9000",
    )
}

fn is_tolly(options: &Options) -> bool {
    options.suite == Some(SuiteName::Tolly)
}

/// Routes that a simulated device with so many ports needs for the tests.
pub fn routes(config: &SuiteConfig, ports: usize) -> Vec<StaticRoute> {
    if !config.tests.contains(&INTERNET_SCALE) {
        return vec![];
    }
    let chassis = topology::of_simulation(ports, Forwarding::Routed);
    let to_host = |(host, via): (Ipv4Addr, Ipv4Addr)| StaticRoute {
        network: host.into(),
        prefix_length: 32,
        via: via.into(),
    };
    method::tolly::routes(&chassis, &config.chassis.tolly).map(to_host).collect()
}

/// Groups that stand in the table of a device that is built so.
pub fn groups(config: &SuiteConfig, testbed: &TestbedConfig) -> Vec<GroupRange> {
    if testbed.device != DeviceKind::LinuxMcast || testbed.multicast != MulticastRouting::Table {
        return vec![];
    }
    let memberships = method::tolly::memberships(&config.chassis.tolly, &config.tests).into_iter();
    let range = |groups: method::tolly::Membership| GroupRange {
        input: groups.input,
        source: PortAddresses::of_port(groups.input).ipv4.host,
        first: group_v4(groups.first),
        groups: groups.count as u32,
        outputs: groups.outputs,
    };
    memberships.map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two plans of addresses that must be one.
    #[test]
    fn hosts_are_where_the_device_has_routes_to() {
        for (port, host) in [(0, 0), (8, 1), (23, 65_535), (63, 4_711)] {
            let routed = testbed::routed_host(port, host).address;
            assert_eq!(routed, method::tolly::host_behind(port, host.into()));
        }
    }

    #[test]
    fn groups_of_a_table_are_those_of_the_tests() {
        let options = Options {
            suite: Some(SuiteName::Tolly),
            device: Some(DeviceKind::LinuxMcast),
            ..Options::default()
        };
        let config = base(&options, Profile::Quick);
        let table = TestbedConfig {
            multicast: MulticastRouting::Table,
            ..TestbedConfig::of(DeviceKind::LinuxMcast)
        };
        let ranges = groups(&config, &table);
        assert_eq!(ranges.len(), 1 + PORTS + 1);
        assert_eq!(ranges[0].groups, 8_192);
        assert_eq!(ranges[0].source.to_string(), "198.18.1.2");
        assert_eq!(ranges[0].first.to_string(), "239.192.0.1");
        assert!(ranges.iter().all(|range| range.outputs.len() == PORTS - 1));
        assert!(groups(&config, &TestbedConfig::of(DeviceKind::LinuxMcast)).is_empty());
    }
}
