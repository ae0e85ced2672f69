//! One interface: driver, queues, XDP, offloads, timestamps, and whether it is free for tests.

use super::{Check, sysfs};
use kernel::{InterfaceFacts, REWRITING_FEATURES};
use std::net::IpAddr;
use std::process::Command;

/// All checks of one interface.
pub fn examine(name: &str) -> Vec<Check> {
    let facts = match InterfaceFacts::read(name) {
        Ok(facts) => facts,
        Err(error) => {
            return vec![Check::fail("interface", error.to_string(), "ip -br link").of(name)];
        }
    };
    let mut checks = vec![driver(&facts), link(&facts), queues(&facts), mtu(&facts)];
    checks.extend([in_use(&facts), other_sockets(&facts), program_attached(&facts)]);
    checks.extend([xdp_mode(&facts), zero_copy(&facts), offloads(&facts), timestamps(&facts)]);
    checks.into_iter().map(|check| check.of(name)).collect()
}

fn driver(facts: &InterfaceFacts) -> Check {
    let driver = facts.driver.as_deref().unwrap_or("unknown");
    match (&facts.kind, facts.ethernet) {
        (_, false) => {
            Check::fail("driver", format!("{driver}: not Ethernet"), "use an Ethernet interface")
        }
        (Some(kind), true) => Check::ok("driver", format!("{driver} (virtual: {kind})")),
        (None, true) => Check::ok("driver", driver),
    }
}

fn link(facts: &InterfaceFacts) -> Check {
    let name = &facts.name;
    match (facts.up, facts.carrier, facts.speed_mbps.filter(|_| facts.kind.is_none())) {
        (false, ..) => Check::fail("link", "down", format!("sudo ip link set {name} up")),
        (_, false, _) => Check::fail(
            "link",
            "no carrier",
            format!("set the other end up and check the cable: ip link show {name}"),
        ),
        (.., Some(mbps)) => Check::ok("link", format!("up, {mbps} Mbit/s")),
        (.., None) => Check::ok("link", "up; no line rate of its own: set --line-rate"),
    }
}

fn queues(facts: &InterfaceFacts) -> Check {
    let Some(channels) = facts.channels else {
        return Check::ok("queues", "the driver does not report them");
    };
    let (receive, transmit, both) = (channels.receive, channels.transmit, channels.combined);
    Check::ok("queues", format!("{receive} receive, {transmit} transmit, {both} combined"))
}

fn mtu(facts: &InterfaceFacts) -> Check {
    let mtu = facts.mtu_bytes;
    let found = format!("{mtu} bytes: frames up to {} bytes with FCS", mtu + 18);
    match mtu {
        ..1500 => Check::warn(
            "MTU",
            format!("{found}; the sizes of RFC 2544 go up to 1518"),
            format!("sudo ip link set {} mtu 1500", facts.name),
        ),
        _ => Check::ok("MTU", found),
    }
}

/// RFC 6815: not on networks that are in use.
fn in_use(facts: &InterfaceFacts) -> Check {
    if facts.has_default_route {
        return Check::fail(
            "in use",
            "carries the default route: netanvil refuses to send test traffic on it (RFC 6815)",
            "use a separate interface for tests",
        );
    }
    if facts.controller.is_some() {
        return Check::fail(
            "in use",
            "port of a bridge or bond of this host",
            format!("sudo ip link set {} nomaster", facts.name),
        );
    }
    match &addresses_in_use(facts)[..] {
        [] => Check::ok("in use", "no addresses, no default route"),
        addresses => Check::warn(
            "in use",
            format!("has addresses ({}): the host sends on it", addresses.join(", ")),
            format!("sudo ip addr flush dev {}", facts.name),
        ),
    }
}

/// Addresses somebody gave it; link-local IPv6 ones the kernel gives by itself.
pub fn addresses_in_use(facts: &InterfaceFacts) -> Vec<String> {
    let given = facts.addresses.iter().filter(|address| match address {
        IpAddr::V4(_) => true,
        IpAddr::V6(address) => !address.is_unicast_link_local(),
    });
    given.map(IpAddr::to_string).collect()
}

/// `/proc/net/packet`, column Iface.
fn other_sockets(facts: &InterfaceFacts) -> Check {
    let table = sysfs::text("/proc/net/packet").unwrap_or_default();
    let index = facts.index.to_string();
    let here = |line: &&str| line.split_whitespace().nth(4) == Some(&index);
    match table.lines().skip(1).filter(here).count() {
        0 => Check::ok("packet sockets", "none open"),
        count => Check::warn(
            "packet sockets",
            format!("{count} open: other programs capture or send here"),
            "sudo ss -0 -p    (lists the processes)",
        ),
    }
}

fn program_attached(facts: &InterfaceFacts) -> Check {
    match facts.xdp_attached {
        true => Check::warn(
            "XDP program",
            "one is attached: `xdp` and `af_xdp` ports cannot be opened",
            format!("sudo ip link set dev {} xdp off", facts.name),
        ),
        false => Check::ok("XDP program", "none attached"),
    }
}

/// Drivers of Linux 6 with native XDP.
const NATIVE: [&str; 26] = [
    "ixgbe",
    "ixgbevf",
    "i40e",
    "ice",
    "igb",
    "igc",
    "mlx5_core",
    "mlx4_en",
    "virtio_net",
    "veth",
    "bnxt_en",
    "ena",
    "nfp",
    "qede",
    "sfc",
    "tun",
    "gve",
    "mana",
    "hv_netvsc",
    "stmmac",
    "atlantic",
    "tsnep",
    "vmxnet3",
    "mvneta",
    "fsl_dpaa2_eth",
    "thunder-nic",
];
/// Drivers among them with AF_XDP zero-copy.
const ZERO_COPY: [&str; 8] =
    ["ixgbe", "i40e", "ice", "igc", "mlx5_core", "stmmac", "tsnep", "fsl_dpaa2_eth"];

fn xdp_mode(facts: &InterfaceFacts) -> Check {
    let driver = facts.driver.as_deref().unwrap_or("unknown");
    match NATIVE.contains(&driver) {
        true => Check::ok("XDP", "native"),
        false => Check::warn(
            "XDP",
            format!(
                "generic only: driver {driver} has no XDP; slower, and latency includes the stack"
            ),
            "use a card with native XDP (ixgbe, i40e, ice, igc, mlx5, bnxt, ...), or --port-type af_packet",
        ),
    }
}

fn zero_copy(facts: &InterfaceFacts) -> Check {
    match facts.driver.as_deref().is_some_and(|driver| ZERO_COPY.contains(&driver)) {
        true => Check::ok("zero-copy", "AF_XDP without a copy"),
        false => Check::ok("zero-copy", "no: AF_XDP copies frames"),
    }
}

/// With these offloads the host sees merged, split or unfinished frames, not those on the wire.
fn offloads(facts: &InterfaceFacts) -> Check {
    let on = facts.features_on(&REWRITING_FEATURES);
    let fixed: Vec<_> = on.iter().filter(|name| !facts.features[**name].switchable).collect();
    if !fixed.is_empty() {
        let list: Vec<String> = fixed.iter().map(ToString::to_string).collect();
        return Check::warn(
            "offloads",
            format!("on, and the driver cannot switch them off: {}", list.join(", ")),
            "use another network card; results list the offloads left on",
        );
    }
    match on.is_empty() {
        true => Check::ok("offloads", "none that changes frames"),
        false => Check::warn(
            "offloads",
            format!("on: {}; netanvil switches them off while it uses the port", on.join(", ")),
            format!(
                "sudo ethtool -K {}{}",
                facts.name,
                on.iter().map(|name| format!(" {name} off")).collect::<String>()
            ),
        ),
    }
}

fn timestamps(facts: &InterfaceFacts) -> Check {
    let output = Command::new("ethtool").args(["-T", &facts.name]).output();
    match output {
        Ok(output) if String::from_utf8_lossy(&output.stdout).contains("hardware-receive") => {
            Check::ok(
                "timestamps",
                "hardware timestamps available; netanvil uses the kernel's clock",
            )
        }
        Ok(_) => Check::ok("timestamps", "software only: netanvil uses the kernel's clock"),
        Err(_) => Check::warn(
            "timestamps",
            "unknown: the ethtool program is missing",
            "sudo apt-get install ethtool",
        ),
    }
}
