//! Devices built here: options turned into a test bed, and the test bed into a device that the
//! tester can act upon.

use crate::failure::{Failure, Outcome};
use crate::options::{Options, Sizes, Span, SuiteName};
use crate::{encapsulated_groups, scheduling, suite};
use method::Destinations;
use method::harvard::y1989::Harvard1989Config;
use std::collections::BTreeMap;
use std::sync::Arc;
use testbed::{
    Device, DeviceKind, DeviceThreads, Impairment, MulticastRouting, Routing, Testbed,
    TestbedConfig, Tunnel,
};

/// What the environment calls the MTU of the device's interfaces.
pub const DEVICE_MTU: &str = "device MTU";
/// Ethernet header and FCS, which an MTU does not count.
const ETHERNET_OVERHEAD_BYTES: u32 = 18;
/// RFC 8200 section 5.
const IPV6_LEAST_MTU_BYTES: u32 = 1280;
/// What a packet grows by at most in a tunnel: by VXLAN.
const LONGEST_TUNNEL_BYTES: u32 = 50;
/// A token bucket holds at least one frame of the MTU with its overhead on the line.
const LINE_OVERHEAD_BYTES: u32 = 14 + 24;

/// The test bed that the options describe around a device of this kind.
pub fn configuration(options: &Options, kind: DeviceKind) -> Outcome<TestbedConfig> {
    let defaults = TestbedConfig::of(kind);
    let multicast_tunnels =
        encapsulated_groups::tunnels(options, suite::of_many_ports(options)?.as_ref());
    let has_tunnels = options.tunnel.is_some() || !multicast_tunnels.is_empty();
    let room = if has_tunnels { LONGEST_TUNNEL_BYTES } else { 0 };
    let mtu_bytes = options.mtu.unwrap_or(mtu_for(options.sizes.as_ref()) + room);
    if mtu_bytes < IPV6_LEAST_MTU_BYTES {
        return Err(Failure::new(format!("an MTU of {mtu_bytes} bytes is too small")).help(format!(
            "interfaces that are built have IPv6 addresses, which take {IPV6_LEAST_MTU_BYTES} at least"
        )));
    }
    if options.multicast.is_some() && kind != DeviceKind::LinuxMcast {
        return Err(Failure::new("--multicast belongs to --device linux-mcast"));
    }
    if options.tunnel.is_some() && kind == DeviceKind::Loopback {
        return Err(Failure::new("--tunnel belongs to --device linux-router"));
    }
    let config = TestbedConfig {
        tunnel: options.tunnel,
        multicast_tunnels,
        ports: options.port_count.unwrap_or(match options.suite {
            Some(SuiteName::Rfc3918) if kind != DeviceKind::Loopback => suite::MULTICAST_PORTS,
            Some(SuiteName::Rfc2889 | SuiteName::Gigaswitch) if kind != DeviceKind::Loopback => {
                suite::SWITCH_PORTS
            }
            _ if options.pattern.is_some_and(|pattern| !pattern.is_pair()) => suite::PATTERN_PORTS,
            _ => defaults.ports,
        }),
        mtu_bytes,
        tester_mtu_bytes: longest_giant(options)
            .filter(|_| kind != DeviceKind::Loopback)
            .map(|bytes| mtu_bytes.max(bytes - ETHERNET_OVERHEAD_BYTES)),
        tx_queue_frames: options.tx_queue.unwrap_or(defaults.tx_queue_frames),
        queues: options.queues.unwrap_or(defaults.queues),
        input_queue_frames: options.input_queue.unwrap_or(defaults.input_queue_frames),
        neighbours: options.neighbours.unwrap_or_default(),
        destination_networks: matches!(kind, DeviceKind::LinuxRouter | DeviceKind::L3fwd)
            && options.destinations.is_some_and(|to| to != Destinations::One)
            && options.routes_per_port.is_none(),
        routing: routing(options, kind)?,
        ipv6_prefixes: match &options.ipv6_prefixes {
            // The usual networks are of this length.
            Some(lengths) => lengths.iter().copied().filter(|length| *length != 64).collect(),
            None => vec![],
        },
        networks_by_rip: options.routing == Some(Routing::Rip)
            && options.routing_updates == Some(true),
        routes_per_port: options.routes_per_port.unwrap_or_default(),
        feed: options.feed,
        feed_within_s: options.feed_within.map_or(defaults.feed_within_s, whole_seconds),
        address_ageing_s: options.address_ageing.map(whole_seconds),
        address_table: options.address_table,
        snooping: options.snooping.unwrap_or(
            options.suite == Some(SuiteName::Rfc3918) && kind == DeviceKind::LinuxBridge,
        ),
        group_table: options.group_table,
        group_membership_s: options.group_membership.map(whole_seconds),
        forward_mode: options.forward_mode,
        filter: options.filter.unwrap_or_default(),
        permit: options.permit.unwrap_or_default(),
        multicast: options.multicast.unwrap_or_default(),
        threads: options.device_threads.unwrap_or_default(),
        device_cpu: known_cpu(options.device_cpu)?.or_else(|| device_cpu(kind)),
        real_time_priority: scheduling::device_priority(options).filter(|_| !kind.polls()),
        impairments: impairments(options, mtu_bytes),
        ..defaults
    };
    config.check()?;
    Ok(config)
}

fn whole_seconds(Span(time): Span) -> u32 {
    time.as_secs_f64().ceil() as u32
}

/// The tests of 1989 feed routes by RIP, to a router that takes them in where this host can have one.
fn routing(options: &Options, kind: DeviceKind) -> Outcome<Routing> {
    let feeds = options.suite == Some(SuiteName::Harvard1989)
        && kind == DeviceKind::LinuxRouter
        && options.feed.is_none();
    match (options.routing, testbed::rip_shortfall()) {
        (Some(Routing::Rip), Some(why)) => {
            Err(Failure::new(why).help("or leave out --routing rip"))
        }
        (Some(routing), _) => Ok(routing),
        (None, None) if feeds => Ok(Routing::Rip),
        (None, _) => Ok(Routing::Static),
    }
}

/// The longest frame with an error that the suite sends, in bytes; what the device's end of a link takes
/// stays as it is.
fn longest_giant(options: &Options) -> Option<u32> {
    match options.suite? {
        SuiteName::Harvard1989 => {
            let section = options.harvard_1989.as_ref();
            let sizes = section.and_then(|section| section.get("error_sizes")?.as_array());
            let largest = sizes.into_iter().flatten().filter_map(toml::Value::as_integer).max();
            let default = Harvard1989Config::default().error_sizes.into_iter().max()?;
            Some(largest.map_or(default, |bytes| bytes.clamp(1_519, 65_535) as u32))
        }
        SuiteName::Rfc2889 => Some(1_519),
        _ => None,
    }
}

/// Large enough for every frame size asked for.
fn mtu_for(sizes: Option<&Sizes>) -> u32 {
    let sizes = sizes.map_or(&[][..], |sizes| &sizes.0);
    let largest = sizes.iter().map(|size| size.largest().bytes()).max().unwrap_or(0);
    largest.max(1518) - ETHERNET_OVERHEAD_BYTES
}

/// Refuses a processor that this host does not have. Their numbers have gaps where some are offline.
fn known_cpu(cpu: Option<usize>) -> Outcome<Option<usize>> {
    let Some(number) = cpu else { return Ok(None) };
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = text.trim().rsplit(['-', ',']).next().and_then(|last| last.parse::<usize>().ok());
    match last.filter(|last| number > *last) {
        None => Ok(cpu),
        Some(last) => Err(Failure::new(format!("--device-cpu {number}: no such processor"))
            .help(format!("this host has processors 0 to {last}"))),
    }
}

/// The last processor, which leaves the first ones to the tester.
fn device_cpu(kind: DeviceKind) -> Option<usize> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (kind != DeviceKind::Loopback && cores > 1).then_some(cores - 1)
}

fn impairments(options: &Options, mtu_bytes: u32) -> Vec<Impairment> {
    let one_frame = mtu_bytes + LINE_OVERHEAD_BYTES;
    let rate_limit = options.tbf_rate.map(|rate| Impairment::RateLimit {
        port: options.tbf_port.unwrap_or(1),
        rate_bps: rate.0,
        burst_bytes: options.tbf_burst.unwrap_or(one_frame),
        queue_frames: options.tbf_queue.unwrap_or(100),
        overhead_bytes: 24,
    });
    let frame_limit = options.frame_limit.map(|fps| Impairment::FrameRateLimit {
        frames_per_second: fps,
        burst_frames: options.frame_limit_burst.unwrap_or(5),
    });
    let drops = options.drop_every.map(|every| Impairment::DropEvery { every });
    rate_limit.into_iter().chain(frame_limit).chain(drops).collect()
}

/// Title of the device, for the head of a report.
pub fn in_words(config: &TestbedConfig) -> String {
    let kind = match config.device {
        DeviceKind::LinuxRouter => "Linux router in network namespaces",
        DeviceKind::LinuxBridge if config.snooping => {
            "Linux bridge with IGMP/MLD snooping in network namespaces"
        }
        DeviceKind::LinuxBridge => "Linux bridge in network namespaces",
        DeviceKind::OvsUserspace => "Open vSwitch (user-space datapath) in network namespaces",
        DeviceKind::LinuxMcast => match config.multicast {
            MulticastRouting::Daemon => "Linux multicast router (FRR's pimd) in network namespaces",
            MulticastRouting::Table if config.multicast_tunnels.is_empty() => {
                "Linux multicast router (static group table) in network namespaces"
            }
            MulticastRouting::Table => {
                "Linux multicast router (static group table without joins; a tunnel at each port) \
                 in network namespaces"
            }
        },
        // Its release is known once it runs.
        DeviceKind::OvsDpdk => return "Open vSwitch with DPDK".into(),
        DeviceKind::Testpmd => return "DPDK's testpmd over memif".into(),
        DeviceKind::L3fwd => return "DPDK's l3fwd over memif".into(),
        DeviceKind::Loopback => return "no device: tester ports back to back".into(),
    };
    let threads = match config.threads {
        _ if config.device == DeviceKind::OvsUserspace => "one forwarding thread",
        DeviceThreads::Threaded => "threaded NAPI",
        DeviceThreads::Inline => "forwards in the sender's system call and can hardly drop",
    };
    let routing = match (config.device, config.routing) {
        (DeviceKind::LinuxRouter, Routing::Rip) => ", RIP (BIRD)",
        _ => "",
    };
    let routes = match config.routes_per_port {
        0 => String::new(),
        routes => {
            let by =
                config.feed.map(|feed| format!(", learned by {feed} (BIRD)")).unwrap_or_default();
            format!(", {routes} host routes behind each of {} ports{by}", config.ports)
        }
    };
    let table = match config.address_table {
        Some(entries) => format!(", at most {entries} addresses"),
        None => String::new(),
    };
    let groups = match config.group_table {
        Some(groups) => format!(", at most {groups} groups per port"),
        None => String::new(),
    };
    let ageing = match config.address_ageing_s {
        Some(seconds) => format!(", ageing time {seconds} s"),
        None => String::new(),
    };
    let limits: String =
        config.impairments.iter().map(|limit| format!(", {}", limit_in_words(limit))).collect();
    let tunnel = config.tunnel.map_or("", tunnel_in_words);
    format!("{kind}{tunnel}, {threads}{routing}{routes}{table}{ageing}{groups}{limits}")
}

fn tunnel_in_words(tunnel: Tunnel) -> &'static str {
    match tunnel {
        Tunnel::Gre => " with a GRE tunnel over IPv4",
        Tunnel::Gre6 => " with a GRE tunnel over IPv6",
        Tunnel::SixInFour => " with an IPv6-in-IPv4 tunnel (sit)",
        Tunnel::FourInSix => " with an IPv4-in-IPv6 tunnel (segment routing)",
        Tunnel::Vxlan => " with a VXLAN tunnel over IPv4",
        Tunnel::Siit => " with a stateless translator (TAYGA, in user space)",
    }
}

fn limit_in_words(limit: &Impairment) -> String {
    match limit {
        Impairment::RateLimit { port, rate_bps, queue_frames, .. } => {
            format!("tbf {rate_bps} bit/s out of port {port} behind {queue_frames} frames")
        }
        Impairment::FrameRateLimit { frames_per_second, .. } => {
            format!("at most {frames_per_second} frames/s")
        }
        Impairment::DropEvery { every } => format!("drops 1 in {every} frames"),
    }
}

/// Every setting of the device, as RFC 2544 section 7 wants it in the report.
pub fn settings(testbed: &Testbed) -> BTreeMap<String, String> {
    let config = testbed.config();
    let as_text = toml::to_string(config).unwrap_or_default();
    let mut settings = BTreeMap::from([
        ("device configuration".to_owned(), as_text),
        (DEVICE_MTU.to_owned(), format!("{} bytes at every port", config.mtu_bytes)),
    ]);
    if let Some(device) = testbed.device() {
        if let Some(rules) = device.rule_set() {
            settings.insert("device rules (nft)".into(), rules);
        }
        settings.insert("device threads".into(), threads(&device));
        if let Some(facts) = device.switch_facts() {
            settings.insert("device switch".into(), facts);
        }
        if let Some(load) = device.route_load() {
            settings.insert("device routes".into(), load.to_string());
        }
        if config.device == DeviceKind::LinuxRouter && config.routing == Routing::Static {
            let shortfall = testbed::rip_shortfall();
            let why = shortfall.unwrap_or_else(|| "not asked for (--routing rip)".into());
            settings.insert("routes by RIP".into(), format!("none are taken in: {why}"));
        }
    }
    settings
}

fn threads(device: &Arc<Device>) -> String {
    let lines = device.threads().into_iter().map(|port| {
        let place = match port.pinned_to_cpu {
            Some(cpu) => format!("pinned to processor {cpu}"),
            None => "not pinned".into(),
        };
        let state = if port.threaded { "threaded NAPI" } else { "no threaded NAPI" };
        let shortfall = port.shortfall.map(|why| format!(" ({why})")).unwrap_or_default();
        format!("{}: {state}, {place}{shortfall}", port.interface)
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() { "inline".into() } else { lines.join("; ") }
}
