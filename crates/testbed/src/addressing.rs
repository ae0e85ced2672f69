//! Who has which address: RFC 2544 appendix C.2.2 (IPv4), RFC 5180 section 8 as corrected by its
//! erratum (IPv6: 2001:2::/48).
//!
//! Test ports alternate between the two sides: port 0 is input network 1, port 1 output network 1,
//! port 2 input network 2, and so on; a side has at most 64 networks.
//!
//! | | input side, network n | output side, network n |
//! |---|---|---|
//! | IPv4 | 198.18.n.0/24 | 198.19.n.0/24 |
//! | IPv6 | 2001:2:0:(n-1)::/64 | 2001:2:0:8000+(n-1)::/64 |
//!
//! On each network the device is node 1, the tester's end host node 2 and the tester's phantom
//! router (the next hop of the destination networks) node 10 (hexadecimal a in IPv6).

use kernel::Network;
use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of one side at most (RFC 2544 appendix C.2.2).
pub const MAX_NETWORKS_PER_SIDE: usize = 64;
/// Destination networks behind each port (RFC 2544 section 12).
pub const DESTINATION_NETWORKS: usize = 256;

/// The side of the device a test port is attached to. Only addresses depend on it: frames may run
/// either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// 198.18.0.0/16, first half of 2001:2::/48.
    Input,
    /// 198.19.0.0/16, second half of 2001:2::/48.
    Output,
}

/// The nodes of one directly attached network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Nodes<A> {
    /// The device's port.
    pub device: A,
    /// The tester's end host.
    pub host: A,
    /// The router the tester pretends to be: next hop of the destination networks.
    pub phantom_router: A,
    /// Length of the network's prefix in bits.
    pub prefix_length: u8,
}

/// Everything that has an address on one test port's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PortAddresses {
    /// Side of the device.
    pub side: Side,
    /// Network of that side, from 1.
    pub network: u8,
    /// IPv4 nodes.
    pub ipv4: Nodes<Ipv4Addr>,
    /// IPv6 nodes.
    pub ipv6: Nodes<Ipv6Addr>,
}

impl PortAddresses {
    /// Addresses of test port `port` (from 0). Panics beyond 128 ports, which the configuration
    /// does not let through.
    pub fn of_port(port: usize) -> Self {
        assert!(port < 2 * MAX_NETWORKS_PER_SIDE, "test port {port} has no network");
        let side = if port.is_multiple_of(2) { Side::Input } else { Side::Output };
        let network = (port / 2 + 1) as u8;
        let v4 = |node| match side {
            Side::Input => Ipv4Addr::new(198, 18, network, node),
            Side::Output => Ipv4Addr::new(198, 19, network, node),
        };
        let v6 = |node| {
            Ipv6Addr::new(0x2001, 2, 0, ipv6_base(side) + u16::from(network) - 1, 0, 0, 0, node)
        };
        PortAddresses {
            side,
            network,
            ipv4: Nodes { device: v4(1), host: v4(2), phantom_router: v4(10), prefix_length: 24 },
            ipv6: Nodes { device: v6(1), host: v6(2), phantom_router: v6(10), prefix_length: 64 },
        }
    }

    /// Every address the tester's end has to answer address resolution for.
    pub fn tester_addresses(&self) -> [IpAddr; 4] {
        [
            self.ipv4.host.into(),
            self.ipv4.phantom_router.into(),
            self.ipv6.host.into(),
            self.ipv6.phantom_router.into(),
        ]
    }
}

/// The [`DESTINATION_NETWORKS`] networks of one address family behind a port, all reached through
/// the port's phantom router (RFC 2544 sections 12, 13).
///
/// RFC 2544's own plan has only 190 networks a side (65 to 254), so smaller prefixes are used.
/// IPv4: the upper half of the side's /16 (198.18.128.0/17 or 198.19.128.0/17), which no attached
/// network uses, is cut into equal pieces, 256 for each port of the side, the first port's first.
/// With one port a side these are the /25s x.128.0, x.128.128, x.129.0 ... x.255.128; the prefix
/// grows by a bit each time the number of ports doubles, to /31 at 64. IPv6: /64s from
/// 2001:2:0:4000:: (input side) or 2001:2:0:c000:: (output side), 256 consecutive ones a port.
pub fn destination_networks(port: usize, ports: usize, ipv6: bool) -> Vec<Network> {
    let addresses = PortAddresses::of_port(port);
    let first = (usize::from(addresses.network) - 1) * DESTINATION_NETWORKS;
    let ports_of_side = ports.div_ceil(2).next_power_of_two();
    let network = |i: usize| {
        if ipv6 {
            let subnet = ipv6_base(addresses.side) + 0x4000 + (first + i) as u16;
            let address = Ipv6Addr::new(0x2001, 2, 0, subnet, 0, 0, 0, 0).into();
            return Network { address, prefix_length: 64 };
        }
        let prefix_length = 25 + ports_of_side.ilog2() as u8;
        let base = match addresses.side {
            Side::Input => Ipv4Addr::new(198, 18, 128, 0),
            Side::Output => Ipv4Addr::new(198, 19, 128, 0),
        };
        let offset = ((first + i) as u32) << (32 - prefix_length);
        Network { address: Ipv4Addr::from_bits(base.to_bits() + offset).into(), prefix_length }
    };
    (0..DESTINATION_NETWORKS).map(network).collect()
}

/// Prefix lengths of RFC 5180 section 5.2.1 besides the /64 of [`destination_networks`].
pub const OTHER_IPV6_PREFIXES: [u8; 3] = [48, 126, 128];

/// 256 IPv6 networks of one of [`OTHER_IPV6_PREFIXES`] behind a port, below 128, all reached through the port's
/// phantom router.
///
/// 2001:2::/48, which is for benchmarks, has no room for networks of /48: they are 2001:db8:N::/48, of the
/// prefix for documentation (RFC 3849), the input side from N = 0, the output side from 0x8000. Those of /126
/// are 2001:2:0:1000+n:: (output side 9000+n) and 0, 4, 8, ... in it, those of /128 the hosts 1 to 256 of
/// 2001:2:0:2000+n:: (a000+n), where n is the port's attached network.
pub fn networks_of_prefix(port: usize, prefix_length: u8) -> Vec<Network> {
    assert!(OTHER_IPV6_PREFIXES.contains(&prefix_length), "no networks of /{prefix_length}");
    let addresses = PortAddresses::of_port(port);
    let (base, attached) = (ipv6_base(addresses.side), u16::from(addresses.network));
    let first = (attached - 1) * DESTINATION_NETWORKS as u16;
    let network = |i: u16| {
        let address = match prefix_length {
            48 => Ipv6Addr::new(0x2001, 0xdb8, base + first + i, 0, 0, 0, 0, 0),
            126 => Ipv6Addr::new(0x2001, 2, 0, base + 0x1000 + attached, 0, 0, 0, 4 * i),
            _ => Ipv6Addr::new(0x2001, 2, 0, base + 0x2000 + attached, 0, 0, 0, i + 1),
        };
        Network { address: address.into(), prefix_length }
    };
    (0..DESTINATION_NETWORKS as u16).map(network).collect()
}

/// Host number `n`, below 65,536, behind a port, below 64: the whole of 100.64.0.0/10 (RFC 6598) is laid out
/// port by port, since the networks for benchmarks have no room for a million hosts.
pub fn routed_host(port: usize, n: u32) -> Network {
    assert!(port < 64 && n < 1 << 16, "no host {n} behind port {port}");
    let address = Ipv4Addr::from_bits(ROUTED_HOSTS.to_bits() | (port as u32) << 16 | n);
    Network { address: address.into(), prefix_length: 32 }
}

const ROUTED_HOSTS: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 0);

/// Ethernet address of the tester's end of a port: locally administered, the same in every run.
pub fn tester_mac(port: usize) -> [u8; 6] {
    [0x02, b'N', b'A', 0, port as u8, 2]
}

/// Ethernet address of the device's end of a port.
pub fn device_mac(port: usize) -> [u8; 6] {
    [0x02, b'N', b'A', 0, port as u8, 1]
}

fn ipv6_base(side: Side) -> u16 {
    match side {
        Side::Input => 0,
        Side::Output => 0x8000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ports_alternate_between_the_sides() {
        let (a, b, c) =
            (PortAddresses::of_port(0), PortAddresses::of_port(1), PortAddresses::of_port(2));
        assert_eq!(a.ipv4.device.to_string(), "198.18.1.1");
        assert_eq!(a.ipv6.host.to_string(), "2001:2::2");
        assert_eq!(b.ipv4.host.to_string(), "198.19.1.2");
        assert_eq!(b.ipv6.phantom_router.to_string(), "2001:2:0:8000::a");
        assert_eq!(c.ipv4.device.to_string(), "198.18.2.1");
        assert_eq!(c.ipv6.device.to_string(), "2001:2:0:1::1");
    }

    #[test]
    fn two_ports_have_the_slash_25s_of_the_upper_half() {
        let networks = destination_networks(1, 2, false);
        assert_eq!(networks[0].to_string(), "198.19.128.0/25");
        assert_eq!(networks[3].to_string(), "198.19.129.128/25");
        assert_eq!(networks[255].to_string(), "198.19.255.128/25");
        assert_eq!(networks[255].first_host().to_string(), "198.19.255.129");
        assert_eq!(destination_networks(0, 2, true)[1].to_string(), "2001:2:0:4001::/64");
        assert_eq!(destination_networks(1, 2, true)[255].to_string(), "2001:2:0:c0ff::/64");
    }

    #[test]
    fn networks_of_other_prefix_lengths_lie_beside_all_others() {
        let mut all: BTreeSet<u128> = BTreeSet::new();
        let bits = |address: IpAddr| match address {
            IpAddr::V6(address) => address.to_bits(),
            IpAddr::V4(_) => panic!("{address} is not IPv6"),
        };
        for port in 0..128 {
            all.extend(destination_networks(port, 128, true).iter().map(|n| bits(n.address)));
            all.insert(bits(PortAddresses::of_port(port).ipv6.device.into()));
            for length in OTHER_IPV6_PREFIXES {
                let networks = networks_of_prefix(port, length);
                for network in &networks {
                    let host_bits = u128::MAX.checked_shr(length.into()).unwrap_or(0);
                    assert_eq!(bits(network.address) & host_bits, 0, "{network}");
                    let within = bits(network.first_host()) & !host_bits;
                    assert_eq!(within, bits(network.address), "{network}");
                }
                all.extend(networks.iter().map(|network| bits(network.address)));
            }
        }
        // 4 lengths, 256 networks each, and the attached one.
        assert_eq!(all.len(), 128 * (4 * 256 + 1));
        assert_eq!(networks_of_prefix(1, 48)[255].to_string(), "2001:db8:80ff::/48");
        assert_eq!(networks_of_prefix(0, 126)[1].to_string(), "2001:2:0:1001::4/126");
        assert_eq!(networks_of_prefix(3, 128)[0].first_host().to_string(), "2001:2:0:a002::1");
    }

    /// No two destination networks overlap each other or an attached network, at any port count.
    #[test]
    fn networks_never_overlap() {
        for ports in [2, 3, 7, 16, 64, 128] {
            let mut v4 = BTreeSet::new();
            let mut v6 = BTreeSet::new();
            for port in 0..ports {
                for network in destination_networks(port, ports, false) {
                    let IpAddr::V4(address) = network.address else { panic!("IPv6 in IPv4") };
                    let size = 1u32 << (32 - network.prefix_length);
                    assert_eq!(address.to_bits() % size, 0, "{network} has host bits");
                    assert!(address.octets()[2] >= 128, "{network} overlaps attached networks");
                    assert!(v4.insert(address));
                }
                v6.extend(destination_networks(port, ports, true).iter().map(|n| n.address));
                assert!(v6.iter().all(|&n| n != PortAddresses::of_port(port).ipv6.device));
            }
            assert_eq!(v4.len(), ports * DESTINATION_NETWORKS);
            assert_eq!(v6.len(), ports * DESTINATION_NETWORKS);
        }
    }
}
