//! Options turned into the configuration of a chassis run: RFC 2889, the GIGAswitch and the IP9000 tests.

use crate::failure::{Failure, Outcome};
use crate::options::{Options, Share, Sizes, Span, SuiteName};
use crate::setup::Subject;
use crate::{suite, topology};
use method::chassis::{ChassisConfig, ChassisTest};
use method::{Profile, SuiteConfig};
use serde_json::{Value, json};
use sim::StaticRoute;
use std::net::Ipv4Addr;
use wire::size::SizePattern;

/// Ports of a device that is built for these tests, where nothing else is said.
pub const PORTS: usize = 8;

/// The same for tests of multicast: each copy takes a port of the tester some time.
pub const MULTICAST_PORTS: usize = 4;

/// What the tests of many ports are to do; `None` where another suite is asked for.
pub fn configuration(options: &Options) -> Outcome<Option<ChassisConfig>> {
    let profile = options.profile.unwrap_or(Profile::Rfc);
    let base = match options.suite {
        Some(SuiteName::Rfc2889) => ChassisConfig::of(profile),
        Some(SuiteName::Rfc3918) => ChassisConfig::rfc3918(profile),
        Some(SuiteName::Gigaswitch) => ChassisConfig::gigaswitch(profile),
        Some(SuiteName::Tolly) => ChassisConfig::tolly(profile),
        _ => return Ok(None),
    };
    if options.test.is_some() {
        return Err(Failure::new("this suite has tests of other names")
            .help("write --set 'chassis.tests=[\"fully_meshed\", \"congestion\"]'"));
    }
    let trial = suite::trial_section(options)?;
    let mut config = base.layered(&json!({ "trial": trial })).map_err(Failure::new)?;
    apply(options, &mut config)?;
    if let Some(section) = &options.chassis {
        let section: Value = serde_json::to_value(section).map_err(Failure::new)?;
        config = config.layered(&section).map_err(Failure::new)?;
    }
    config.check().map_err(Failure::new)?;
    Ok(Some(config))
}

/// The tests of the IP9000 are those of a router; that of a million hosts takes one whose routes are
/// ours to set.
pub fn check_router(config: &ChassisConfig, subject: &Subject, is_routed: bool) -> Outcome<()> {
    if !is_routed {
        return Err(Failure::new("these are tests of routers: the device does not route")
            .help("simulate one with --sim ip9000"));
    }
    let has_routes = matches!(subject, Subject::Simulated(_));
    if config.tests.contains(&ChassisTest::InternetScale) && !has_routes {
        return Err(Failure::new("a million routes are set up in simulated devices only").help(
            "write --sim ip9000, or choose other tests: --set 'chassis.tests=[\"base_unicast\"]'",
        ));
    }
    Ok(())
}

/// Routes that a simulated device with so many ports needs for the tests.
pub fn routes(options: &Options, ports: usize) -> Outcome<Vec<StaticRoute>> {
    let Some(config) = configuration(options)? else { return Ok(vec![]) };
    if !config.tests.contains(&ChassisTest::InternetScale) {
        return Ok(vec![]);
    }
    let chassis = topology::chassis_of_simulation(ports, method::Forwarding::Routed);
    let to_host = |(host, via): (Ipv4Addr, Ipv4Addr)| StaticRoute {
        network: host.into(),
        prefix_length: 32,
        via: via.into(),
    };
    Ok(method::tolly::routes(&chassis, &config.tolly).map(to_host).collect())
}

fn apply(options: &Options, config: &mut ChassisConfig) -> Outcome<()> {
    if let Some(Sizes(sizes)) = &options.sizes {
        let fixed = |size: &SizePattern| match size {
            SizePattern::Fixed(size) => Ok(*size),
            mix => {
                let mix = String::from(mix.clone());
                Err(Failure::new(format!("these tests have one size at a time, not `{mix}`")))
            }
        };
        config.frame_sizes = sizes.iter().map(fixed).collect::<Outcome<_>>()?;
    }
    config.seed = options.seed.unwrap_or(config.seed);
    if let Some(Span(duration)) = options.duration {
        let seconds = duration.as_secs_f64();
        config.trial.duration_s = seconds;
        config.search_trial_s = config.search_trial_s.min(seconds);
        config.fanout.all_ports_trial_s = config.fanout.all_ports_trial_s.min(seconds);
        config.multicast.latency_s = config.multicast.latency_s.min(seconds);
    }
    if let Some(Share(share)) = options.resolution {
        config.resolution_percent = share * 100.0;
    }
    Ok(())
}

/// Puts what was decided where a configuration file has it.
pub fn as_options(config: &ChassisConfig, options: &mut Options) -> Outcome<()> {
    options.test = None;
    options.chassis = Some(serde_json::from_value(json!(config)).map_err(Failure::new)?);
    Ok(())
}

/// The configuration of the other suites agrees in what both have.
pub fn agree(config: &ChassisConfig, suite: &mut SuiteConfig) {
    suite.frame_sizes = config.frame_sizes.iter().copied().map(SizePattern::Fixed).collect();
    suite.trial = config.trial.clone();
    suite.seed = config.seed;
}
