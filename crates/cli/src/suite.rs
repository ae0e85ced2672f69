//! Options turned into the configuration of a suite, and back.

use crate::failure::{Failure, Outcome};
use crate::options::{Options, Share, Sizes, Span, SuiteName, TestName};
use crate::tolly;
use method::harvard::Suite1990;
use method::harvard::y1989::Suite1989;
use method::registry;
use method::rfc3918::Version;
use method::{Direction, Method, Profile, Protocol, SuiteConfig, TestKind};
use serde_json::{Value, json};
use units::Duration;

/// Ports of a device that is built for tests of switches, where nothing else is said.
pub const SWITCH_PORTS: usize = 8;
/// The same for tests of multicast: each copy takes a port of the tester some time.
pub const MULTICAST_PORTS: usize = 4;
/// The same for tests between pairs of ports, where more than one pair is asked for.
pub const PATTERN_PORTS: usize = 4;

/// The profile that is asked for. Without one, RFC 2544 takes minutes; other suites are as their documents have them.
pub fn profile(options: &Options) -> Profile {
    options.profile.unwrap_or(match options.suite.unwrap_or_default() {
        SuiteName::Rfc2544 => Profile::Minutes,
        _ => Profile::Rfc,
    })
}

/// The numbers of the suite that is asked for.
pub fn base(options: &Options) -> SuiteConfig {
    let profile = profile(options);
    match options.suite.unwrap_or_default() {
        SuiteName::Tolly => tolly::base(options, profile),
        suite => SuiteConfig::of_suite(suite, profile),
    }
}

/// What the methods are to do: the profile's numbers, the sections of the file over them, and
/// the flags on top.
pub fn configuration(options: &Options) -> Outcome<SuiteConfig> {
    let mut config = base(options).over(&sections(options)?).map_err(Failure::new)?;
    let suite = options.suite.unwrap_or_default();
    if suite == SuiteName::Harvard1990 {
        config.tests = Suite1990::TESTS.to_vec();
        config.frame_sizes = Suite1990::frame_sizes();
    }
    if suite == SuiteName::Harvard1989 {
        config.method = Method::Harvard1989;
        config.frame_sizes = Suite1989::frame_sizes();
        let says = options.trial.as_ref().is_some_and(|trial| trial.contains_key("keep_alives"));
        config.trial.keep_alives |= !says;
    }
    apply(options, &mut config);
    // First, because what is checked below depends on them.
    choose_tests(suite, options, &mut config)?;
    if let Some(section) = &options.chassis {
        // It says more than a flag that several of its keys go by.
        config = config.over(&json!({ "chassis": section })).map_err(Failure::new)?;
    }
    if suite == SuiteName::Rfc3918 {
        agree_on_groups(options, &mut config)?;
    }
    config.check().map_err(Failure::new)?;
    if config.is_of_many_ports() {
        tolly::check(options, &config)?;
    }
    Ok(config)
}

/// Groups and the frames to them are of one version of IP: the one that is said.
fn agree_on_groups(options: &Options, config: &mut SuiteConfig) -> Outcome<()> {
    let multicast = options.chassis.as_ref().and_then(|section| section.get("multicast"));
    let version = multicast.and_then(|section| section.get("version"));
    let groups = &mut config.chassis.multicast;
    match options.protocol {
        Some(Protocol::UdpIpv6) if version.is_none() => groups.version = Version::Mldv2,
        None | Some(Protocol::UdpIpv4 | Protocol::UdpIpv6) => {}
        Some(other) => {
            return Err(Failure::new(format!(
                "--protocol: groups are of IP, not of {}",
                other.name()
            ))
            .help("write --protocol udp_ipv4 or udp_ipv6"));
        }
    }
    let own = if groups.version.is_ipv6() { Protocol::UdpIpv6 } else { Protocol::UdpIpv4 };
    if options.protocol.is_some_and(|asked| asked != own) {
        let version = groups.version;
        return Err(Failure::new(format!("--protocol: groups of {version} carry {}", own.name()))
            .help("leave out --protocol, or chassis.multicast.version"));
    }
    config.traffic.protocol = own;
    Ok(())
}

/// The same where the tests are those of many ports.
pub fn of_many_ports(options: &Options) -> Outcome<Option<SuiteConfig>> {
    Ok(Some(configuration(options)?).filter(SuiteConfig::is_of_many_ports))
}

/// The tests that `--test` names.
fn choose_tests(suite: SuiteName, options: &Options, config: &mut SuiteConfig) -> Outcome<()> {
    let Some(names) = &options.test else { return Ok(()) };
    let kinds = kinds(suite, names)?;
    match suite.section_of_tests() {
        None => config.tests = kinds,
        Some(_) => {
            let section = options.harvard_1989.as_ref();
            if section.is_some_and(|section| section.contains_key("tests")) {
                return Err(Failure::new("--test and harvard_1989.tests both name the tests")
                    .help("leave out one of them"));
            }
            let of_1989 = |kind: TestKind| match kind {
                TestKind::Harvard1989(test) => Some(test),
                _ => None,
            };
            config.harvard_1989.tests = kinds.into_iter().filter_map(of_1989).collect();
        }
    }
    Ok(())
}

/// The tests of a suite that are called so.
fn kinds(suite: SuiteName, names: &[TestName]) -> Outcome<Vec<TestKind>> {
    names.iter().map(|name| Ok(name.test(suite)?.kind)).collect()
}

/// The tests that a configuration names.
pub fn kinds_of(config: &SuiteConfig) -> Vec<TestKind> {
    match config.method {
        Method::Rfc2544 => config.tests.clone(),
        Method::Harvard1989 => {
            config.harvard_1989.tests.iter().copied().map(TestKind::Harvard1989).collect()
        }
    }
}

/// What is said of trials. Damage anywhere in a frame is looked for, as RFC 1242 section 3.17 asks. Of short runs
/// on a device that is built on this machine it is not: there that work would be taken from the device.
fn trial_section(options: &Options) -> Outcome<Value> {
    let is_elsewhere = options.ports.is_some() || options.sim.is_some();
    let by_the_rfc = profile(options) == Profile::Rfc;
    let mut section = json!({ "verify_checksums": is_elsewhere || by_the_rfc });
    for (key, value) in options.trial.iter().flatten() {
        section[key] = serde_json::to_value(value).map_err(Failure::new)?;
    }
    Ok(section)
}

/// The sections of the configuration file as one JSON object.
fn sections(options: &Options) -> Outcome<Value> {
    let sections = [
        ("search", &options.search),
        ("self_test", &options.self_test),
        ("throughput", &options.throughput),
        ("latency", &options.latency),
        ("pdv", &options.pdv),
        ("ipdv", &options.ipdv),
        ("frame_loss", &options.frame_loss),
        ("back_to_back", &options.back_to_back),
        ("recovery", &options.recovery),
        ("reset", &options.reset),
        ("chassis", &options.chassis),
        ("harvard", &options.harvard),
        ("harvard_1989", &options.harvard_1989),
    ];
    let mut object = json!({ "trial": trial_section(options)? });
    for (name, section) in sections {
        if let Some(section) = section {
            object[name] = serde_json::to_value(section).map_err(Failure::new)?;
        }
    }
    Ok(object)
}

fn apply(options: &Options, config: &mut SuiteConfig) {
    if let Some(Sizes(sizes)) = &options.sizes {
        config.frame_sizes = sizes.clone();
    }
    match options.bidirectional {
        Some(true) => config.direction = Direction::Bidirectional,
        Some(false) => config.direction = Direction::Unidirectional,
        None => {}
    }
    config.burst_frames = options.burst_frames.unwrap_or(config.burst_frames);
    config.pattern = options.pattern.unwrap_or(config.pattern);
    if let Some(modifiers) = &options.modifiers {
        config.modifiers = modifiers.clone();
    }
    config.seed = options.seed.unwrap_or(config.seed);
    apply_durations(options, config);
    if let Some(Share(share)) = options.loss_tolerance {
        let percent = share * 100.0;
        config.throughput.loss_tolerances_percent =
            if percent > 0.0 { vec![percent] } else { vec![] };
    }
    apply_traffic(options, config);
}

fn apply_durations(options: &Options, config: &mut SuiteConfig) {
    if let Some(Share(share)) = options.resolution {
        config.search.resolution_percent = share * 100.0;
    }
    if let Some(Span(ageing)) = options.address_ageing {
        config.chassis.addresses.ageing_s = ageing.as_secs_f64().ceil();
    }
    let Some(Span(duration)) = options.duration else { return };
    let seconds = duration.as_secs_f64();
    config.trial.duration_s = seconds;
    let chassis = &mut config.chassis;
    chassis.fanout.all_ports_trial_s = chassis.fanout.all_ports_trial_s.min(seconds);
    chassis.multicast.latency_s = chassis.multicast.latency_s.min(seconds);
    // What a section says stands: a saved run has both, and goes on as it was.
    let says = |section: &Option<toml::Table>, key| {
        section.as_ref().is_some_and(|section| section.contains_key(key))
    };
    if !says(&options.harvard, "max_rate_stream_s") {
        config.harvard.max_rate_stream_s = seconds;
    }
    if !says(&options.harvard, "raw_rate_stream_s") {
        config.harvard.raw_rate_stream_s = seconds;
    }
    if !says(&options.harvard_1989, "rate_stream_s") {
        config.harvard_1989.rate_stream_s = seconds;
    }
    if !says(&options.search, "trial_duration_s") {
        config.search.trial_duration_s = config.search.trial_duration_s.min(seconds);
    }
}

fn apply_traffic(options: &Options, config: &mut SuiteConfig) {
    let traffic = &mut config.traffic;
    traffic.protocol = options.protocol.unwrap_or(traffic.protocol);
    traffic.destinations = options.destinations.unwrap_or(traffic.destinations);
    traffic.routing_updates = options.routing_updates.unwrap_or(traffic.routing_updates);
    traffic.random_ports = options.random_ports.unwrap_or(traffic.random_ports);
    traffic.random_macs = options.random_macs.unwrap_or(traffic.random_macs);
    if let Some(vlans) = &options.vlan {
        traffic.vlans = vlans.clone();
    }
    if let Some(headers) = &options.extension_headers {
        traffic.extension_headers = headers.clone();
    }
    if let Some(prefixes) = &options.ipv6_prefixes {
        traffic.ipv6_prefixes = prefixes.clone();
    }
    traffic.ipv6_percent = options.ipv6_percent.or(traffic.ipv6_percent);
}

/// The options that say the same as `config` does, every one of them; not what `given` says by a flag.
pub fn as_options(config: &SuiteConfig, given: &Options) -> Outcome<Options> {
    let section = |value: Value, covered: &[&str]| -> Outcome<Option<toml::Table>> {
        let mut table: toml::Table = serde_json::from_value(value).map_err(Failure::new)?;
        covered.iter().for_each(|key| {
            table.remove(*key);
        });
        Ok((!table.is_empty()).then_some(table))
    };
    let tests = config
        .tests
        .iter()
        .filter_map(|test| Some(TestName::of(registry::of_kind(*test)?)))
        .collect();
    let tolerance = config.throughput.loss_tolerances_percent.first().copied().unwrap_or(0.0);
    let mut chassis = section(json!(config.chassis), &[])?;
    if given.address_ageing.is_some() {
        let addresses = chassis.as_mut().and_then(|section| section.get_mut("addresses"));
        addresses.and_then(toml::Value::as_table_mut).map(|table| table.remove("ageing_s"));
    }
    let one_tolerance = config.throughput.loss_tolerances_percent.len() <= 1;
    Ok(Options {
        profile: Some(config.profile),
        test: (config.method != Method::Harvard1989).then_some(tests),
        sizes: Some(Sizes(config.frame_sizes.clone())),
        bidirectional: Some(config.direction == Direction::Bidirectional),
        pattern: Some(config.pattern),
        burst_frames: Some(config.burst_frames),
        modifiers: Some(config.modifiers.clone()),
        seed: Some(config.seed),
        duration: Some(Span(Duration::from_secs_f64(config.trial.duration_s))),
        resolution: Some(Share(config.search.resolution_percent / 100.0)),
        loss_tolerance: one_tolerance.then_some(Share(tolerance / 100.0)),
        protocol: Some(config.traffic.protocol),
        destinations: Some(config.traffic.destinations),
        routing_updates: Some(config.traffic.routing_updates),
        random_ports: Some(config.traffic.random_ports),
        random_macs: Some(config.traffic.random_macs),
        vlan: Some(config.traffic.vlans.clone()),
        extension_headers: Some(config.traffic.extension_headers.clone()),
        ipv6_prefixes: (!config.traffic.ipv6_prefixes.is_empty())
            .then(|| config.traffic.ipv6_prefixes.clone()),
        ipv6_percent: config.traffic.ipv6_percent,
        trial: section(json!(config.trial), &["duration_s"])?,
        search: section(json!(config.search), &["resolution_percent"])?,
        self_test: section(json!(config.self_test), &[])?,
        throughput: section(
            json!(config.throughput),
            if one_tolerance { &["loss_tolerances_percent"] } else { &[] },
        )?,
        latency: section(json!(config.latency), &[])?,
        pdv: section(json!(config.pdv), &[])?,
        ipdv: section(json!(config.ipdv), &[])?,
        frame_loss: section(json!(config.frame_loss), &[])?,
        back_to_back: section(json!(config.back_to_back), &[])?,
        recovery: section(json!(config.recovery), &[])?,
        reset: section(json!(config.reset), &[])?,
        chassis,
        harvard: section(json!(config.harvard), &[])?,
        harvard_1989: section(json!(config.harvard_1989), &[])?,
        ..Options::default()
    })
}

/// Packet filters in words, for the head of a table (RFC 2544 section 11.4).
pub fn filters_in_words(config: &testbed::TestbedConfig) -> String {
    use testbed::{FilterRules, PermitPosition};
    let rules = match config.filter {
        FilterRules::None => return String::new(),
        FilterRules::One => return "1 rule, which permits the test stream".into(),
        FilterRules::Ten => 10,
        FilterRules::TwentyFive => 25,
    };
    let place = match config.permit {
        PermitPosition::Last => "the permit last",
        PermitPosition::Middle => "the permit in the middle",
    };
    format!("{rules} rules, {place}")
}
