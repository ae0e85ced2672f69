//! Which devices and ports use which options.

use crate::options::Options;
use crate::setup::Subject;
use method::{Destinations, Profile};
use testbed::{DeviceKind, FilterRules};

use DeviceKind::{
    L3fwd, LinuxBridge, LinuxMcast, LinuxRouter, Loopback, OvsDpdk, OvsUserspace, Testpmd,
};

/// Who uses an option.
struct Users {
    /// As in a configuration file.
    name: &'static str,
    /// Devices that are built here.
    built: &'static [DeviceKind],
    /// Interfaces of others.
    ports: bool,
}

const fn built(name: &'static str, built: &'static [DeviceKind]) -> Users {
    Users { name, built, ports: false }
}

const fn of_ports(name: &'static str) -> Users {
    Users { name, built: &[], ports: true }
}

const ALL: &[DeviceKind] =
    &[LinuxRouter, LinuxBridge, LinuxMcast, OvsUserspace, OvsDpdk, Testpmd, L3fwd, Loopback];
/// Those with interfaces.
const LINKED: &[DeviceKind] = &[LinuxRouter, LinuxBridge, LinuxMcast, OvsUserspace, Loopback];
/// Those with queues of a length that is ours to choose.
const QUEUED: &[DeviceKind] = &[LinuxRouter, LinuxBridge, LinuxMcast, OvsDpdk, Testpmd, L3fwd];
/// Those with threads of their own.
const THREADED: &[DeviceKind] =
    &[LinuxRouter, LinuxBridge, LinuxMcast, OvsUserspace, OvsDpdk, Testpmd, L3fwd];
const OF_THE_KERNEL: &[DeviceKind] = &[LinuxRouter, LinuxBridge, LinuxMcast];
const DEVICES: &[DeviceKind] = &[LinuxRouter, LinuxBridge, LinuxMcast, OvsUserspace];
const SWITCHES: &[DeviceKind] = &[LinuxBridge, OvsUserspace, OvsDpdk];
const ROUTERS: &[DeviceKind] = &[LinuxRouter, LinuxMcast];

/// Options of the device and of the tester's ports. A simulated device is described in its file and
/// uses none of them.
static OPTIONS: [Users; 37] = [
    built("filter", OF_THE_KERNEL),
    built("permit", OF_THE_KERNEL),
    built("neighbours", ROUTERS),
    built("routing", &[LinuxRouter]),
    built("tunnel", &[LinuxRouter]),
    built("routes-per-port", &[LinuxRouter]),
    built("feed", &[LinuxRouter]),
    built("feed-within", &[LinuxRouter]),
    built("address-ageing", SWITCHES),
    built("address-table", SWITCHES),
    built("snooping", &[LinuxBridge]),
    built("group-table", &[LinuxBridge]),
    built("group-membership", &[LinuxBridge]),
    built("multicast", &[LinuxMcast]),
    built("forward-mode", &[Testpmd]),
    built("port-count", LINKED),
    built("mtu", LINKED),
    built("input-queue", QUEUED),
    built("tx-queue", LINKED),
    built("device-threads", OF_THE_KERNEL),
    built("device-cpu", THREADED),
    built("tbf-rate", DEVICES),
    built("tbf-queue", DEVICES),
    built("tbf-burst", DEVICES),
    built("tbf-port", DEVICES),
    built("frame-limit", OF_THE_KERNEL),
    built("frame-limit-burst", OF_THE_KERNEL),
    built("drop-every", OF_THE_KERNEL),
    of_ports("agent-certificates"),
    of_ports("far-ports"),
    of_ports("far-netns"),
    of_ports("far-snmp"),
    of_ports("far-community"),
    of_ports("far-lag"),
    Users { name: "port-type", built: LINKED, ports: true },
    Users { name: "queues", built: OF_THE_KERNEL, ports: true },
    Users { name: "scheduling", built: ALL, ports: true },
];

fn of(name: &str) -> Option<&'static Users> {
    OPTIONS.iter().find(|option| option.name == name)
}

/// Whether the subject uses an option of this name; anything may, while none is named.
pub fn uses(name: &str, subject: Option<&Subject>) -> bool {
    of(name).is_some_and(|users| match subject {
        None => true,
        Some(Subject::Built(kind)) => users.built.contains(kind),
        Some(Subject::Between(_)) => users.ports,
        Some(Subject::Simulated(_)) => false,
    })
}

/// Who uses it, in words; none where it is no option of devices or ports.
pub fn users(name: &str) -> Option<String> {
    let users = of(name)?;
    let kinds = users.built.iter().map(|kind| format!("--device {}", kind.name()));
    let ports = users.ports.then(|| "--ports".to_owned());
    Some(kinds.chain(ports).collect::<Vec<_>>().join(", "))
}

/// The subject as the command line names it.
pub fn in_words(subject: &Subject) -> String {
    match subject {
        Subject::Built(kind) => format!("--device {}", kind.name()),
        Subject::Between(ports) => {
            let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
            format!("--ports {}", ports.join(","))
        }
        Subject::Simulated(name) => format!("--sim {name}"),
    }
}

/// Why an option does nothing without another one that is not given; none where it does.
pub fn does_nothing_alone(name: &str, options: &Options) -> Option<String> {
    let is_missing = match name {
        "permit" => options.filter.unwrap_or_default() == FilterRules::None,
        "feed-within" => options.feed.is_none(),
        "tbf-queue" | "tbf-burst" | "tbf-port" => options.tbf_rate.is_none(),
        "frame-limit-burst" => options.frame_limit.is_none(),
        "far-netns" | "far-snmp" => options.far_ports.is_none(),
        "far-community" | "far-lag" => options.far_snmp.is_none(),
        "search.gap_step_ns" => policy(options) != Some("step"),
        "routing-updates" | "ipv6-prefixes" => !has_random_destinations(options),
        "trial.routing_wait_s" => options.routing_updates != Some(true),
        "back_to_back.wait_s" => !has_drain(options),
        "loss-tolerance" => return has_goals(options).then(|| OWN_LOSS.to_owned()),
        _ => return None,
    };
    let with = match name {
        "permit" => "--filter 1, 10 or 25",
        "feed-within" => "--feed",
        "frame-limit-burst" => "--frame-limit",
        "far-netns" | "far-snmp" => "--far-ports",
        "far-community" | "far-lag" => "--far-snmp",
        "search.gap_step_ns" => "--search step",
        "routing-updates" | "ipv6-prefixes" => "--destinations random or both",
        "trial.routing_wait_s" => "--routing-updates",
        "back_to_back.wait_s" => "trial.drain_s above 0",
        _ => "--tbf-rate",
    };
    is_missing.then(|| format!("used with {with}"))
}

const OWN_LOSS: &str = "each --goal has a loss of its own";

fn policy(options: &Options) -> Option<&str> {
    options.search.as_ref()?.get("policy")?.as_str()
}

/// Whether there is a wait after trials besides the one for silence; only the RFC's profile has one.
fn has_drain(options: &Options) -> bool {
    let given = options.trial.as_ref().and_then(|trial| trial.get("drain_s"));
    let seconds = given.and_then(|drain| drain.as_float().or(drain.as_integer().map(|s| s as f64)));
    seconds.map_or(crate::suite::profile(options) == Profile::Rfc, |seconds| seconds > 0.0)
}

fn has_random_destinations(options: &Options) -> bool {
    options.destinations.is_some_and(|to| to != Destinations::One)
}

fn has_goals(options: &Options) -> bool {
    let goals = options.search.as_ref().and_then(|search| search.get("goals")?.as_array());
    goals.is_some_and(|goals| !goals.is_empty())
}
