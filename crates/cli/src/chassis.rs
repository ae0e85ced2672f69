//! Options turned into the configuration of a chassis run: RFC 2889, the GIGAswitch and the IP9000 tests.

use crate::failure::{Failure, Outcome};
use crate::options::{Options, Share, Sizes, Span, SuiteName};
use crate::{suite, tolly};
use method::chassis::ChassisConfig;
use method::{Profile, SuiteConfig, TestKind};
use serde_json::{Value, json};
use units::Duration;
use wire::size::SizePattern;

/// Ports of a device that is built for these tests, where nothing else is said.
pub const PORTS: usize = 8;

/// The same for tests of multicast: each copy takes a port of the tester some time.
pub const MULTICAST_PORTS: usize = 4;

/// The same for tests between pairs of ports, where more than one pair is asked for.
pub const PATTERN_PORTS: usize = 4;

/// What the tests of many ports are to do; `None` where another suite is asked for.
pub fn configuration(options: &Options) -> Outcome<Option<ChassisConfig>> {
    let profile = options.profile.unwrap_or(Profile::Rfc);
    let base = match options.suite {
        Some(SuiteName::Rfc2889) => ChassisConfig::of(profile),
        Some(SuiteName::Rfc3918) => ChassisConfig::rfc3918(profile),
        Some(SuiteName::Gigaswitch) => ChassisConfig::gigaswitch(profile),
        Some(SuiteName::Tolly) => tolly::base(options, profile),
        _ => return Ok(None),
    };
    let trial = suite::trial_section(options)?;
    let mut config = base.layered(&json!({ "trial": trial })).map_err(Failure::new)?;
    apply(options, &mut config)?;
    if let Some(section) = &options.chassis {
        let section: Value = serde_json::to_value(section).map_err(Failure::new)?;
        config = config.layered(&section).map_err(Failure::new)?;
    }
    if let Some(names) = &options.test {
        suite::named_once("chassis", &options.chassis)?;
        let kinds = suite::kinds(options.suite.unwrap_or_default(), names)?;
        let of_many = |kind: TestKind| match kind {
            TestKind::Chassis(test) => Some(test),
            _ => None,
        };
        config.tests = kinds.into_iter().filter_map(of_many).collect();
    }
    config.check().map_err(Failure::new)?;
    tolly::check(options, &config)?;
    Ok(Some(config))
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
    if let Some(Span(ageing)) = options.address_ageing {
        config.addresses.ageing_s = ageing.as_secs_f64().ceil();
    }
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

/// Puts what was decided where a configuration file has it. What an option of the run says, the
/// section does not say again.
pub fn as_options(config: &ChassisConfig, options: &mut Options) -> Outcome<()> {
    let mut section: toml::Table = serde_json::from_value(json!(config)).map_err(Failure::new)?;
    for key in ["profile", "seed", "frame_sizes", "trial", "resolution_percent"] {
        section.remove(key);
    }
    options.sizes =
        Some(Sizes(config.frame_sizes.iter().copied().map(SizePattern::Fixed).collect()));
    options.seed = Some(config.seed);
    options.duration = Some(Span(Duration::from_secs_f64(config.trial.duration_s)));
    options.resolution = Some(Share(config.resolution_percent / 100.0));
    let mut trial: toml::Table =
        serde_json::from_value(json!(config.trial)).map_err(Failure::new)?;
    trial.remove("duration_s");
    options.trial = Some(trial);
    if options.address_ageing.is_some() {
        let addresses = section.get_mut("addresses").and_then(toml::Value::as_table_mut);
        addresses.map(|addresses| addresses.remove("ageing_s"));
    }
    options.chassis = Some(section);
    Ok(())
}

/// The configuration of the other suites agrees in what both have.
pub fn agree(config: &ChassisConfig, suite: &mut SuiteConfig) {
    suite.frame_sizes = config.frame_sizes.iter().copied().map(SizePattern::Fixed).collect();
    suite.trial = config.trial.clone();
    suite.seed = config.seed;
}
