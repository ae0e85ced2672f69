//! Who has which address: the test bed's plan, or the user's, as the methods want it.

use crate::failure::{Failure, Outcome};
use crate::options::Options;
use kernel::Network;
use method::{Attachment, Encapsulated, Encapsulation, Forwarding, LegacyAddresses, Topology};
use ports::{Host, OpenPort};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::net::Ipv6Addr;
use testbed::{
    DeviceKind, OTHER_IPV6_PREFIXES, TestPort, Testbed, TestbedConfig, Tunnel,
    destination_networks, networks_of_prefix,
};
use trial::PortId;
use wire::ethernet::MacAddr;

/// All ports of a test bed.
pub fn of_testbed(testbed: &Testbed) -> Topology {
    let config = testbed.config();
    let attach = |port: &TestPort| attachment(port, config);
    let ports: Vec<Attachment> = testbed.ports().iter().map(attach).collect();
    match (config.tunnel, &ports[..]) {
        (Some(tunnel), [near, far]) => with_tunnel(tunnel, [near.clone(), far.clone()]),
        _ => Topology::of(forwarding_of(config.device), ports),
    }
}

/// Two of these ports.
pub fn between(topology: &Topology, ports: [usize; 2]) -> Topology {
    let ports = ports.map(|port| topology.ports[port].clone()).to_vec();
    Topology { ports, ..topology.clone() }
}

/// The hosts on both sides of a tunnel, and its ends.
fn with_tunnel(tunnel: Tunnel, [mut near, outer]: [Attachment; 2]) -> Topology {
    let plan = tunnel.plan();
    let kind = match tunnel {
        Tunnel::Gre => Encapsulation::Gre,
        Tunnel::Gre6 => Encapsulation::Gre6,
        Tunnel::SixInFour => Encapsulation::SixInFour,
        Tunnel::FourInSix => Encapsulation::FourInSix,
        Tunnel::Vxlan => Encapsulation::Vxlan,
        Tunnel::Siit => Encapsulation::Siit,
    };
    near.host_ipv4 = plan.near_ipv4;
    let mut far =
        Attachment { host_ipv4: plan.far_ipv4, host_ipv6: plan.far_ipv6, ..outer.clone() };
    if tunnel == Tunnel::Vxlan {
        far.device_mac = MacAddr(plan.inner_mac);
    }
    let outer = Attachment { device_ipv4: plan.end_ipv4, device_ipv6: plan.end_ipv6, ..outer };
    let encapsulated = Encapsulated { kind, outer, network: plan.network };
    Topology {
        forwarding: Forwarding::Routed,
        ports: vec![near, far],
        encapsulated: Some(encapsulated),
    }
}

fn forwarding_of(device: DeviceKind) -> Forwarding {
    match device {
        DeviceKind::LinuxRouter | DeviceKind::LinuxMcast | DeviceKind::L3fwd => Forwarding::Routed,
        DeviceKind::LinuxBridge
        | DeviceKind::OvsUserspace
        | DeviceKind::OvsDpdk
        | DeviceKind::Testpmd => Forwarding::Bridged,
        DeviceKind::Loopback => Forwarding::Looped,
    }
}

fn attachment(port: &TestPort, config: &TestbedConfig) -> Attachment {
    let hosts = |ipv6| match (config.destination_networks, config.routes_per_port) {
        (true, _) => hosts_in_networks(port.port, config.ports, ipv6),
        (false, routes) if !ipv6 => {
            (0..routes).map(|n| testbed::routed_host(port.port, n).address).collect()
        }
        _ => vec![],
    };
    let (ipv4, ipv6) = (port.addresses.ipv4, port.addresses.ipv6);
    Attachment {
        port: PortId(port.port as u16),
        mac: MacAddr(port.mac),
        host_ipv4: ipv4.host,
        host_ipv6: ipv6.host,
        device_mac: MacAddr(port.device_mac.unwrap_or_default()),
        device_ipv4: ipv4.device,
        device_ipv6: ipv6.device,
        network_hosts_ipv4: hosts(false).into_iter().filter_map(v4).collect(),
        network_hosts_ipv6: hosts(true).into_iter().filter_map(v6).collect(),
        network_prefix_ipv4: match config.destination_networks {
            true => prefix_of_networks(port.port, config.ports),
            false => 32,
        },
        prefix_hosts_ipv6: prefix_hosts(port.port, &config.ipv6_prefixes),
        legacy: LegacyAddresses::plan(PortId(port.port as u16)),
    }
}

/// One host in each destination network behind a port.
fn hosts_in_networks(port: usize, ports: usize, ipv6: bool) -> Vec<IpAddr> {
    destination_networks(port, ports, ipv6).iter().map(|network| network.first_host()).collect()
}

/// One host in each IPv6 network of these prefix lengths behind a port.
fn prefix_hosts(port: usize, lengths: &[u8]) -> BTreeMap<u8, Vec<Ipv6Addr>> {
    let hosts = |length: &u8| {
        let networks = networks_of_prefix(port, *length);
        (*length, networks.iter().map(Network::first_host).filter_map(v6).collect())
    };
    lengths.iter().map(hosts).collect()
}

/// Of the IPv4 networks among them.
fn prefix_of_networks(port: usize, ports: usize) -> u8 {
    destination_networks(port, ports, false).first().map_or(32, |network| network.prefix_length)
}

fn v4(address: IpAddr) -> Option<std::net::Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    }
}

fn v6(address: IpAddr) -> Option<Ipv6Addr> {
    match address {
        IpAddr::V6(address) => Some(address),
        IpAddr::V4(_) => None,
    }
}

/// So many simulated ports, by the test bed's plan.
pub fn of_simulation(ports: usize, forwarding: Forwarding) -> Topology {
    let attach = |port| simulated_attachment(port, ports);
    Topology::of(forwarding, (0..ports).map(attach).collect())
}

fn simulated_attachment(port: usize, ports: usize) -> Attachment {
    let addresses = testbed::PortAddresses::of_port(port);
    let hosts = |ipv6| hosts_in_networks(port, ports, ipv6);
    Attachment {
        port: PortId(port as u16),
        mac: MacAddr(testbed::tester_mac(port)),
        host_ipv4: addresses.ipv4.host,
        host_ipv6: addresses.ipv6.host,
        device_mac: MacAddr(testbed::device_mac(port)),
        device_ipv4: addresses.ipv4.device,
        device_ipv6: addresses.ipv6.device,
        network_hosts_ipv4: hosts(false).into_iter().filter_map(v4).collect(),
        network_hosts_ipv6: hosts(true).into_iter().filter_map(v6).collect(),
        network_prefix_ipv4: prefix_of_networks(port, ports),
        prefix_hosts_ipv6: prefix_hosts(port, &OTHER_IPV6_PREFIXES),
        legacy: LegacyAddresses::plan(PortId(port as u16)),
    }
}

/// Interfaces with the user's addresses. A gateway for each makes a router, whose hardware addresses are
/// asked for; none makes a bridge. With random destinations a router must have routes to
/// [`destination_networks`] by way of the tester's addresses.
pub fn of_interfaces(ports: &[OpenPort], options: &Options) -> Outcome<Topology> {
    let forwarding = match options.gateway.as_deref().map(<[IpAddr]>::len) {
        None => Forwarding::Bridged,
        Some(gateways) if gateways == ports.len() => Forwarding::Routed,
        Some(gateways) => {
            return Err(Failure::new(format!(
                "--gateway has {gateways} addresses for {} ports: write one for each",
                ports.len()
            )));
        }
    };
    let mut topology = of_simulation(ports.len(), forwarding);
    for (index, port) in ports.iter().enumerate() {
        let attachment = &mut topology.ports[index];
        let mac = port.describe().mac.parse();
        attachment.mac = mac.map_err(|error| Failure::new(format!("{error}")))?;
        let own = address_of(options, index)?;
        match own {
            Some(IpAddr::V4(address)) => attachment.host_ipv4 = address,
            Some(IpAddr::V6(address)) => attachment.host_ipv6 = address,
            None => {}
        }
        port.play(vec![host(attachment.mac, own)]);
        if let Some(gateway) = options.gateway.as_ref().map(|gateways| gateways[index]) {
            attach_to_router(attachment, port, own, gateway)?;
        }
    }
    Ok(topology)
}

/// A forwarder of DPDK that is built here: its addresses are planned, since none answers ARP.
pub fn of_forwarder(ports: &[OpenPort], config: &TestbedConfig) -> Outcome<Topology> {
    let mut topology = of_interfaces(ports, &Options::default())?;
    topology.forwarding = forwarding_of(config.device);
    if topology.forwarding == Forwarding::Routed {
        for attachment in &mut topology.ports {
            attachment.prefix_hosts_ipv6.clear();
            if !config.destination_networks {
                attachment.network_hosts_ipv4.clear();
                attachment.network_hosts_ipv6.clear();
            }
        }
    }
    Ok(topology)
}

fn attach_to_router(
    attachment: &mut Attachment,
    port: &OpenPort,
    own: Option<IpAddr>,
    gateway: IpAddr,
) -> Outcome<()> {
    let own = own.ok_or_else(|| {
        Failure::new("--gateway needs the tester's own addresses beside it")
            .help("write --address 198.18.1.2/24,198.19.1.2/24")
    })?;
    match gateway {
        IpAddr::V4(address) => attachment.device_ipv4 = address,
        IpAddr::V6(address) => attachment.device_ipv6 = address,
    }
    attachment.device_mac = port.resolve((attachment.mac, own), gateway).map_err(Failure::new)?;
    Ok(())
}

/// The hosts that the tester plays at a port of a test bed.
pub fn hosts_of(port: &TestPort) -> Host {
    let addresses = port.addresses.tester_addresses().into_iter();
    played(MacAddr(port.mac), addresses)
}

fn host(mac: MacAddr, address: Option<IpAddr>) -> Host {
    played(mac, address.into_iter())
}

/// Beside its addresses a host has its link-local one, which is the next hop of what it announces by RIPng.
fn played(mac: MacAddr, addresses: impl Iterator<Item = IpAddr>) -> Host {
    let own = addresses.chain([wire::ipv6::link_local(mac).into()]);
    let networks = own.map(|address| (address, bits(address))).collect();
    Host { mac, tags: vec![], networks, except: vec![] }
}

/// The length of a prefix that means one address.
fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The tester's own address at a port.
fn address_of(options: &Options, index: usize) -> Outcome<Option<IpAddr>> {
    let Some(addresses) = &options.address else { return Ok(None) };
    let wrong = |text: &str| {
        Failure::new(format!("`{text}` is no address")).help("write 198.18.1.2/24,198.19.1.2/24")
    };
    match addresses.get(index) {
        Some(text) => {
            let address = text.split_once('/').map_or(text.as_str(), |(address, _)| address);
            address.parse().map(Some).map_err(|_| wrong(text))
        }
        None => Err(Failure::new(format!(
            "--address has {} addresses, none for port {index}: write one for each port",
            addresses.len()
        ))),
    }
}
