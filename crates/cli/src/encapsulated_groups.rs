//! Encapsulation, decapsulation and re-encapsulation throughput (RFC 3918 section 4.4) on the kernel's
//! multicast forwarding: which tunnels it needs at each port, and which groups stand in its table.

use crate::failure::{Failure, Outcome};
use crate::options::{Options, SuiteName};
use method::chassis::ChassisTest;
use method::rfc3918::{self, group_v4};
use method::{SuiteConfig, TestKind};
use testbed::{DeviceKind, GroupRange, MulticastRouting, PortAddresses, TestbedConfig, Tunnel};

/// By what frames come in and go out: a tunnel of this kind, or the port itself.
struct Way {
    into: Option<Tunnel>,
    out_of: Option<Tunnel>,
}

/// The way of the one test that is asked for, where it is one of these on such a device.
fn way(config: &SuiteConfig) -> Option<Way> {
    let (into, out_of) =
        (kind(config.chassis.multicast.tunnel_in), kind(config.chassis.multicast.tunnel_out));
    match config.tests[..] {
        [TestKind::Chassis(ChassisTest::Encapsulation)] => Some(Way { into: None, out_of }),
        [TestKind::Chassis(ChassisTest::Decapsulation)] => Some(Way { into: out_of, out_of: None }),
        [TestKind::Chassis(ChassisTest::Reencapsulation)] => Some(Way { into, out_of }),
        _ => None,
    }
}

fn kind(tunnel: rfc3918::Tunnel) -> Option<Tunnel> {
    match tunnel {
        rfc3918::Tunnel::None => None,
        rfc3918::Tunnel::Gre => Some(Tunnel::Gre),
        rfc3918::Tunnel::Vxlan => Some(Tunnel::Vxlan),
    }
}

fn is_asked_for(options: &Options) -> bool {
    options.suite == Some(SuiteName::Rfc3918) && options.multicast == Some(MulticastRouting::Table)
}

/// Refuses what a table of groups cannot be tested for.
pub fn check(options: &Options, config: &SuiteConfig) -> Outcome<()> {
    if !is_asked_for(options) {
        return Ok(());
    }
    if way(config).is_none() {
        return Err(Failure::new(
            "--multicast table: nobody can join or leave what stands in a table, which is what these \
             tests are about",
        )
        .help("leave it out, or run the tests of `netanvil run tolly`")
        .help(
            "or one of the three with tunnels: --test encapsulation \
             (decapsulation, reencapsulation); the table has one input for a group",
        ));
    }
    match config.chassis.multicast.version.is_ipv6() {
        true => Err(Failure::new("--multicast table holds groups of IPv4")
            .help("leave out chassis.multicast.version")),
        false => Ok(()),
    }
}

/// The tunnels that each port needs.
pub fn tunnels(options: &Options, config: Option<&SuiteConfig>) -> Vec<Tunnel> {
    let way = config.filter(|_| is_asked_for(options)).and_then(way);
    let mut kinds: Vec<Tunnel> =
        way.into_iter().flat_map(|way| way.into.into_iter().chain(way.out_of)).collect();
    kinds.dedup();
    kinds
}

/// The groups of the test, from the host at port 0 to those at all others.
pub fn groups(config: &SuiteConfig, testbed: &TestbedConfig) -> Vec<GroupRange> {
    let is_table =
        testbed.device == DeviceKind::LinuxMcast && !testbed.multicast_tunnels.is_empty();
    let Some(way) = way(config).filter(|_| is_table) else { return vec![] };
    let interface = |kind: Option<Tunnel>, port: usize| match kind {
        Some(kind) => testbed.tunnel_interface(kind, port),
        None => Some(port),
    };
    let outputs = (1..testbed.ports).filter_map(|port| interface(way.out_of, port)).collect();
    let Some(input) = interface(way.into, 0) else { return vec![] };
    vec![GroupRange {
        input,
        source: PortAddresses::of_port(0).ipv4.host,
        first: group_v4(0),
        groups: config.chassis.multicast.groups as u32,
        outputs,
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::Profile;

    #[test]
    fn groups_leave_by_the_tunnels_of_all_ports_but_the_first() {
        let mut config = SuiteConfig::of_suite(SuiteName::Rfc3918, Profile::Quick);
        config.chassis.multicast.tunnel_out = rfc3918::Tunnel::Vxlan;
        config.chassis.multicast.tunnel_in = rfc3918::Tunnel::Gre;
        let options = Options {
            suite: Some(SuiteName::Rfc3918),
            multicast: Some(MulticastRouting::Table),
            ..Options::default()
        };
        let found = |test| {
            let config = SuiteConfig { tests: vec![TestKind::Chassis(test)], ..config.clone() };
            let testbed = TestbedConfig {
                ports: 4,
                multicast_tunnels: tunnels(&options, Some(&config)),
                ..TestbedConfig::of(DeviceKind::LinuxMcast)
            };
            let groups = groups(&config, &testbed).remove(0);
            (testbed.multicast_tunnels, groups.input, groups.outputs)
        };
        use Tunnel::{Gre, Vxlan};
        assert_eq!(found(ChassisTest::Encapsulation), (vec![Vxlan], 0, vec![5, 6, 7]));
        assert_eq!(found(ChassisTest::Decapsulation), (vec![Vxlan], 4, vec![1, 2, 3]));
        let both = (vec![Gre, Vxlan], 4, vec![9, 10, 11]);
        assert_eq!(found(ChassisTest::Reencapsulation), both);
        assert!(check(&options, &config).is_err(), "several tests");
    }
}
