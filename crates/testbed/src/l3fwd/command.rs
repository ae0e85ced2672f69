//! How l3fwd is started: pure.
//!
//! The options are those of DPDK 22.11: "EAL parameters" (Linux) for what stands before `--`, "L3 Forwarding Sample
//! Application" for what stands behind.

use crate::addressing::{PortAddresses, destination_networks, device_mac, tester_mac};
use crate::polling::{PORTS, Place, mac_text, memif_far_end};
use std::net::IpAddr;
use std::path::Path;

/// Without huge pages DPDK takes all of its memory at the start. Of it the tables of routes have 64 MiB each (a longest
/// prefix of IPv4: 2^24 entries of 4 bytes; of IPv6: 65,536 groups of 256 entries of 4 bytes).
pub(super) const MEMORY_MB: u32 = 256;

/// The arguments of l3fwd, with sockets and rules in a folder.
pub(super) fn arguments(place: Place, folder: &Path) -> Vec<String> {
    let Place { forwarding_cpu, has_huge_pages, .. } = place;
    // DPDK refuses --in-memory together with --no-huge ("not compatible").
    let memory = match has_huge_pages {
        true => "--in-memory".to_owned(),
        false => format!("--no-huge --no-shconf -m {MEMORY_MB}"),
    };
    let mut line = format!("-v --lcores 0@{forwarding_cpu} {memory} --no-pci --file-prefix device");
    for port in 0..PORTS {
        let device = memif_far_end(port as u32, port, device_mac(port), folder);
        line += &format!(" --vdev {device}");
    }
    // One lcore, since each sends by a queue of its own, and a memif of one ring has none for a second one. DPDK keeps
    // its other threads off the processor of an lcore. memif does not tell what is in a frame.
    line += " -- -p 0x3 --config=(0,0,0),(1,0,0) --lookup=lpm --no-numa --parse-ptype";
    for port in 0..PORTS {
        line += &format!(" --eth-dest={port},{}", mac_text(tester_mac(port)));
    }
    for version in [4, 6] {
        line += &format!(" --rule_ipv{version}={}", rules_file(folder, version));
    }
    line.split(' ').map(String::from).collect()
}

/// Where the routes of a version of IP are.
pub(super) fn rules_file(folder: &Path, version: u8) -> String {
    folder.join(format!("ipv{version}.rules")).display().to_string()
}

/// Routes to the network at each port, and where asked for to those behind its host: `R198.18.1.0/24 0`. l3fwd takes 1,024 of
/// each version (IPV4_L3FWD_LPM_MAX_RULES).
pub(super) fn rules(version: u8, has_networks: bool) -> String {
    let of_port = |port| {
        let addresses = PortAddresses::of_port(port);
        let (host, length): (IpAddr, u8) = match version {
            4 => (addresses.ipv4.host.into(), addresses.ipv4.prefix_length),
            _ => (addresses.ipv6.host.into(), addresses.ipv6.prefix_length),
        };
        let behind = match has_networks {
            true => destination_networks(port, PORTS, version == 6),
            false => vec![],
        };
        let behind = behind.into_iter().map(|to| (to.address, to.prefix_length));
        let all = std::iter::once((network(host, length), length)).chain(behind);
        all.map(|(network, length)| format!("R{network}/{length} {port}\n")).collect::<String>()
    };
    (0..PORTS).map(of_port).collect()
}

/// The network of a host.
fn network(host: IpAddr, length: u8) -> IpAddr {
    match host {
        IpAddr::V4(host) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            IpAddr::V4((u32::from(host) & mask).into())
        }
        IpAddr::V6(host) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            IpAddr::V6((u128::from(host) & mask).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { main_cpu: 0, forwarding_cpu: 1, has_huge_pages: false };

    #[test]
    fn the_whole_command_without_huge_pages() {
        let sockets = ["0", "1"].map(|port| {
            format!(
                "--vdev net_memif{port},role=server,socket=/run/netanvil/7.0.l3fwd/{port}.sock,\
                 socket-abstract=no,mac=02:4e:41:00:0{port}:01"
            )
        });
        let expected = format!(
            "-v --lcores 0@1 --no-huge --no-shconf -m 256 --no-pci --file-prefix device {} {} \
             -- -p 0x3 --config=(0,0,0),(1,0,0) --lookup=lpm --no-numa --parse-ptype \
             --eth-dest=0,02:4e:41:00:00:02 --eth-dest=1,02:4e:41:00:01:02 \
             --rule_ipv4=/run/netanvil/7.0.l3fwd/ipv4.rules --rule_ipv6=/run/netanvil/7.0.l3fwd/ipv6.rules",
            sockets[0], sockets[1]
        );
        assert_eq!(arguments(PLACE, Path::new("/run/netanvil/7.0.l3fwd")).join(" "), expected);
        let huge = arguments(Place { has_huge_pages: true, ..PLACE }, Path::new("/x")).join(" ");
        assert!(huge.contains(" --in-memory ") && !huge.contains("no-huge"), "{huge}");
    }

    /// The networks of RFC 2544 appendix C.2.2 and RFC 5180 section 8.
    #[test]
    fn each_network_is_behind_its_port() {
        assert_eq!(rules(4, false), "R198.18.1.0/24 0\nR198.19.1.0/24 1\n");
        assert_eq!(rules(6, false), "R2001:2::/64 0\nR2001:2:0:8000::/64 1\n");
        // 256 networks behind each port (RFC 2544 section 12).
        for version in [4, 6] {
            let rules = rules(version, true);
            for port in 0..PORTS {
                let to = rules.lines().filter(|rule| rule.ends_with(&format!(" {port}"))).count();
                assert_eq!(to, 257);
            }
        }
    }
}
