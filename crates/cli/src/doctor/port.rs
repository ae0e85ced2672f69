//! One interface: driver, queues, XDP, offloads, timestamps, and whether it is free for tests.

use super::{Check, sysfs};
use crate::interface;
use std::process::Command;

/// All checks of one interface.
pub fn examine(name: &str) -> Vec<Check> {
    let directory = format!("/sys/class/net/{name}");
    if !std::path::Path::new(&directory).exists() {
        let found = format!("there is no interface {name} in this network namespace");
        return vec![Check::fail("interface", found, "ip -br link").of(name)];
    }
    let mut checks = vec![driver(&directory), link(name, &directory), queues(&directory)];
    checks.extend([mtu(&directory), in_use(name), other_sockets(name), program_attached(name)]);
    checks.extend(xdp(&directory));
    checks.extend(offloads(name));
    checks.extend(timestamps(name));
    checks.into_iter().map(|check| check.of(name)).collect()
}

fn driver(directory: &str) -> Check {
    let driver = sysfs::link_name(format!("{directory}/device/driver"));
    Check::ok("driver", driver.unwrap_or_else(|| "none: a virtual interface".into()))
}

fn link(name: &str, directory: &str) -> Check {
    let speed: Option<i64> = sysfs::number(format!("{directory}/speed"));
    let speed = speed.filter(|mbps| *mbps > 0).map(|mbps| format!(", {mbps} Mbit/s"));
    match sysfs::text(format!("{directory}/operstate")).as_deref() {
        Some("up" | "unknown") => Check::ok(
            "link",
            format!("up{}", speed.unwrap_or(", speed not known: use --line-rate".into())),
        ),
        state => Check::fail(
            "link",
            state.unwrap_or("unknown"),
            format!("sudo ip link set {name} up    (and look at the cable)"),
        ),
    }
}

fn queues(directory: &str) -> Check {
    let count = |prefix: &str| {
        std::fs::read_dir(format!("{directory}/queues")).map_or(0, |entries| {
            entries
                .flatten()
                .filter(|e| e.file_name().to_string_lossy().starts_with(prefix))
                .count()
        })
    };
    Check::ok("queues", format!("{} receive, {} transmit", count("rx-"), count("tx-")))
}

fn mtu(directory: &str) -> Check {
    let mtu: u32 = sysfs::number(format!("{directory}/mtu")).unwrap_or(0);
    Check::ok("MTU", format!("{mtu} bytes: frames up to {} bytes with FCS", mtu + 18))
}

/// RFC 6815: not on networks that are in use.
fn in_use(name: &str) -> Check {
    match interface::Use::of(name) {
        interface::Use { default_route: true, .. } => Check::fail(
            "in use",
            "it carries the default route: netanvil will not load it (RFC 6815)",
            "use an interface of its own for tests",
        ),
        interface::Use { addresses, .. } if !addresses.is_empty() => Check::warn(
            "in use",
            format!("it has addresses ({}): the host speaks on it", addresses.join(", ")),
            format!("sudo ip addr flush dev {name}"),
        ),
        _ => Check::ok("in use", "no addresses, no default route"),
    }
}

fn other_sockets(name: &str) -> Check {
    match interface::packet_sockets(name) {
        0 => Check::ok("packet sockets", "none open"),
        count => Check::warn(
            "packet sockets",
            format!("{count} open: somebody captures or sends here"),
            "sudo ss -0 -p    (lists the processes)",
        ),
    }
}

fn program_attached(name: &str) -> Check {
    let output = Command::new("ip").args(["-d", "link", "show", "dev", name]).output();
    let text = output.map_or(String::new(), |o| String::from_utf8_lossy(&o.stdout).into_owned());
    match text.contains("prog/xdp") {
        true => Check::warn(
            "XDP program",
            "one is attached already: `xdp` and `af_xdp` ports cannot be opened",
            format!("sudo ip link set dev {name} xdp off"),
        ),
        false => Check::ok("XDP program", "none attached"),
    }
}

/// Drivers of Linux 6.x that run XDP programs themselves, and which of them send and receive
/// AF_XDP frames without a copy.
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
const ZERO_COPY: [&str; 8] =
    ["ixgbe", "i40e", "ice", "igc", "mlx5_core", "stmmac", "tsnep", "fsl_dpaa2_eth"];

fn xdp(directory: &str) -> Vec<Check> {
    let Some(driver) = sysfs::link_name(format!("{directory}/device/driver")) else {
        return vec![Check::ok("XDP", "native on veth, generic on other virtual interfaces")];
    };
    let native = NATIVE.contains(&&*driver);
    let zero_copy = ZERO_COPY.contains(&&*driver);
    let mode = match native {
        true => Check::ok("XDP", "native"),
        false => Check::warn(
            "XDP",
            format!(
                "generic only: {driver} has no XDP of its own; slower, and latency includes the stack"
            ),
            "use a card with native XDP (ixgbe, i40e, ice, igc, mlx5, bnxt, ...)",
        ),
    };
    let copy = match zero_copy {
        true => Check::ok("zero-copy", "AF_XDP without a copy"),
        false => Check::ok("zero-copy", "no: AF_XDP copies frames"),
    };
    vec![mode, copy]
}

/// Merged or unfinished frames are not what was on the wire.
const MISLEADING: [&str; 5] = [
    "generic-receive-offload",
    "large-receive-offload",
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "rx-gro-hw",
];

fn offloads(name: &str) -> Vec<Check> {
    let Some(text) = ethtool("-k", name) else { return vec![] };
    let on: Vec<&str> = MISLEADING
        .into_iter()
        .filter(|feature| text.lines().any(|line| line.trim() == format!("{feature}: on")))
        .collect();
    if on.is_empty() {
        return vec![Check::ok("offloads", "off where they would merge or split frames")];
    }
    let short = ["gro", "lro", "tso", "gso", "rx-gro-hw"];
    let switches: String = MISLEADING
        .iter()
        .zip(short)
        .filter(|(feature, _)| on.contains(feature))
        .map(|(_, short)| format!(" {short} off"))
        .collect();
    vec![Check::warn(
        "offloads",
        format!("on: {}; netanvil switches them off while it uses the port", on.join(", ")),
        format!("sudo ethtool -K {name}{switches}"),
    )]
}

fn timestamps(name: &str) -> Vec<Check> {
    let Some(text) = ethtool("-T", name) else {
        let mend = "sudo apt-get install ethtool";
        return vec![Check::warn("offloads", "unknown without the ethtool program", mend)];
    };
    let hardware = text.contains("hardware-receive");
    vec![Check::ok(
        "timestamps",
        match hardware {
            true => "hardware can stamp; netanvil stamps in the kernel's clock",
            false => "software only: the kernel's clock at the interface",
        },
    )]
}

fn ethtool(what: &str, name: &str) -> Option<String> {
    let output = Command::new("ethtool").args([what, name]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
