//! Many host routes at once: as many messages as fit go to the kernel in one piece, and only the last of
//! them asks for an answer.

use crate::addressing::{PortAddresses, routed_host};
use crate::device::Device;
use crate::error::{Result, TestbedError};
use crate::feed::Fed;
use kernel::{Rtnetlink, read_file};
use serde::Serialize;
use std::fmt;

/// Messages in one piece: 52 bytes each, and the kernel takes 200 KiB at once.
const BATCH: usize = 2_048;

/// What it took to load the host routes of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RouteLoad {
    /// Routes loaded.
    pub routes: u64,
    /// How long that took, in milliseconds.
    pub took_ms: u64,
    /// What the forwarding table of the namespace holds in memory, in bytes, as the kernel tells it
    /// (/proc/net/fib_triestat); `None` on a kernel without.
    pub table_bytes: Option<u64>,
    /// What fed them to the device; `None` where they were configured.
    pub fed: Option<Fed>,
}

impl fmt::Display for RouteLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} host routes", self.routes)?;
        if let Some(fed) = self.fed {
            write!(f, " by {}", fed.by)?;
        }
        write!(f, " in {:.2} s", self.took_ms as f64 / 1e3)?;
        let fed = self.fed;
        let memory = [
            ("kernel", self.table_bytes),
            ("BIRD", fed.and_then(|fed| fed.router_bytes)),
            ("its speaker", fed.and_then(|fed| fed.speaker_bytes)),
        ];
        let known = memory.into_iter().filter_map(|(whose, bytes)| Some((whose, bytes?)));
        for (index, (whose, bytes)) in known.enumerate() {
            let of = if index == 0 { ", memory:" } else { "," };
            write!(f, "{of} {whose} {:.1} MiB", bytes as f64 / (1 << 20) as f64)?;
        }
        Ok(())
    }
}

/// Gives every port of a router its host routes.
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "what it took is told")]
pub(crate) fn load(device: &Device) -> Result<RouteLoad> {
    let config = device.config();
    let begun = std::time::Instant::now();
    let mut netlink = device.namespace().netlink()?;
    for port in 0..config.ports {
        load_port(&mut netlink, &device.interface(port), port, config.routes_per_port)?;
    }
    let routes = config.ports as u64 * u64::from(config.routes_per_port);
    let took_ms = begun.elapsed().as_millis() as u64;
    Ok(RouteLoad { routes, took_ms, table_bytes: table_bytes(device), fed: None })
}

/// What the device's forwarding table holds in memory, in bytes.
pub(crate) fn table_bytes(device: &Device) -> Option<u64> {
    let read = || read_file("/proc/thread-self/net/fib_triestat");
    let statistics = device.namespace().run(read).ok()?.ok()?;
    main_table_bytes(&statistics)
}

/// Gives one port of a router its host routes, which it loses with its link.
pub(crate) fn load_again(device: &Device, port: usize) -> Result<()> {
    let (interface, routes) = (device.interface(port), device.config().routes_per_port);
    load_port(&mut device.namespace().netlink()?, &interface, port, routes)
}

fn load_port(netlink: &mut Rtnetlink, interface: &str, port: usize, routes: u32) -> Result<()> {
    let index = netlink.link_index(interface)?;
    let next_hop = PortAddresses::of_port(port).ipv4.phantom_router.into();
    let doing = format!("load {routes} host routes through {interface}");
    let hosts: Vec<u32> = (0..routes).collect();
    for batch in hosts.chunks(BATCH) {
        let networks = batch.iter().map(|host| routed_host(port, *host));
        netlink.set_routes(index, networks, next_hop, &doing)?;
    }
    Ok(())
}

/// The size of the main table: `Total size: 76543  kB` in the section `Main:` or, where local and main
/// table are one, the first.
fn main_table_bytes(statistics: &str) -> Option<u64> {
    let main = statistics.split_once("Main:").map_or(statistics, |(_, main)| main);
    let line = main.lines().find_map(|line| line.trim().strip_prefix("Total size:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Refuses numbers of routes for which there are no addresses.
pub(crate) fn check(ports: usize, routes_per_port: u32) -> Result<()> {
    let refuse = |message: String| Err(TestbedError::Configuration(message));
    if routes_per_port > HOSTS_OF_A_PORT_MAX {
        return refuse(format!("routes_per_port = {routes_per_port}: up to {HOSTS_OF_A_PORT_MAX}"));
    }
    if routes_per_port > 0 && ports > ROUTED_PORTS_MAX {
        return refuse(format!(
            "routes_per_port with {ports} ports: 100.64.0.0/10 has addresses for {ROUTED_PORTS_MAX}"
        ));
    }
    Ok(())
}

const HOSTS_OF_A_PORT_MAX: u32 = 1 << 16;
const ROUTED_PORTS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_the_main_table_is_found() {
        let text = "Basic info: size of leaf: 48 bytes, size of tnode: 40 bytes.\nLocal:\n\
                    \tTotal size: 3  kB\nMain:\n\tAver depth:     2.87\n\tNull ptrs: 6\n\
                    Total size: 98304  kB\n";
        assert_eq!(main_table_bytes(text), Some(98_304 << 10));
        assert_eq!(main_table_bytes("Id 1:\n\tTotal size: 2  kB\n"), Some(2_048));
        assert_eq!(main_table_bytes("junk"), None);
    }

    #[test]
    fn more_routes_than_addresses_are_refused() {
        assert!(check(16, 65_536).is_ok() && check(128, 0).is_ok());
        assert!(check(2, 65_537).unwrap_err().to_string().contains("65537"));
        assert!(check(65, 1).unwrap_err().to_string().contains("64"));
    }
}
