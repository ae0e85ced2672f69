//! Who has which address: the test bed's plan, or the user's, as the methods want it.

use crate::failure::{Failure, Outcome};
use crate::options::Options;
use method::{Attachment, Forwarding, Topology};
use ports::OpenPort;
use std::net::IpAddr;
use testbed::{DeviceKind, TestPort, Testbed, destination_networks};
use trial::PortId;
use wire::ethernet::MacAddr;

/// The first two ports of a test bed.
pub fn of_testbed(testbed: &Testbed) -> Topology {
    let config = testbed.config();
    let forwarding = match config.device {
        DeviceKind::LinuxRouter => Forwarding::Routed,
        DeviceKind::LinuxBridge => Forwarding::Bridged,
        DeviceKind::Loopback => Forwarding::Looped,
    };
    let networks = config.destination_networks;
    let attach = |port: &TestPort| attachment(port, config.ports, networks);
    let ports = testbed.ports();
    Topology { forwarding, ports: [attach(&ports[0]), attach(&ports[1])] }
}

fn attachment(port: &TestPort, ports: usize, networks: bool) -> Attachment {
    let hosts = |ipv6| match networks {
        true => destination_networks(port.port, ports, ipv6),
        false => vec![],
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
        network_hosts_ipv4: hosts(false).iter().filter_map(|n| v4(n.first_host())).collect(),
        network_hosts_ipv6: hosts(true).iter().filter_map(|n| v6(n.first_host())).collect(),
    }
}

fn v4(address: IpAddr) -> Option<std::net::Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    }
}

fn v6(address: IpAddr) -> Option<std::net::Ipv6Addr> {
    match address {
        IpAddr::V6(address) => Some(address),
        IpAddr::V4(_) => None,
    }
}

/// Two simulated ports: what the device does with addresses is nothing.
pub fn of_simulation() -> Topology {
    let attach = |port: usize| {
        let addresses = testbed::PortAddresses::of_port(port);
        let networks = |ipv6| destination_networks(port, 2, ipv6);
        Attachment {
            port: PortId(port as u16),
            mac: MacAddr(testbed::tester_mac(port)),
            host_ipv4: addresses.ipv4.host,
            host_ipv6: addresses.ipv6.host,
            device_mac: MacAddr(testbed::device_mac(port)),
            device_ipv4: addresses.ipv4.device,
            device_ipv6: addresses.ipv6.device,
            network_hosts_ipv4: networks(false).iter().filter_map(|n| v4(n.first_host())).collect(),
            network_hosts_ipv6: networks(true).iter().filter_map(|n| v6(n.first_host())).collect(),
        }
    };
    Topology { forwarding: Forwarding::Routed, ports: [attach(0), attach(1)] }
}

/// Interfaces with the user's addresses. Two gateways make a router; none makes a bridge.
pub fn of_interfaces(ports: &[OpenPort], options: &Options) -> Outcome<Topology> {
    let gateways = options.gateway.as_deref().unwrap_or_default();
    let forwarding = match gateways.len() {
        0 => Forwarding::Bridged,
        2 => Forwarding::Routed,
        _ => return Err(Failure::new("--gateway needs two addresses, one for each port")),
    };
    let mut topology = of_simulation();
    topology.forwarding = forwarding;
    for (index, port) in ports.iter().enumerate().take(2) {
        let attachment = &mut topology.ports[index];
        let mac = port.describe().mac.parse();
        attachment.mac = mac.map_err(|error| Failure::new(format!("{error}")))?;
        attachment.network_hosts_ipv4.clear();
        attachment.network_hosts_ipv6.clear();
        match addresses_of(options, index)? {
            Some(IpAddr::V4(address)) => attachment.host_ipv4 = address,
            Some(IpAddr::V6(address)) => attachment.host_ipv6 = address,
            None => {}
        }
        match gateways.get(index) {
            Some(IpAddr::V4(address)) => attachment.device_ipv4 = *address,
            Some(IpAddr::V6(address)) => attachment.device_ipv6 = *address,
            None => {}
        }
    }
    Ok(topology)
}

/// The tester's own address at a port.
fn addresses_of(options: &Options, index: usize) -> Outcome<Option<IpAddr>> {
    let Some(addresses) = &options.address else { return Ok(None) };
    let wrong = |text: &str| {
        Failure::new(format!("`{text}` is no address")).help("write 198.18.1.2/24,198.19.1.2/24")
    };
    match addresses.get(index) {
        Some(text) => {
            let address = text.split_once('/').map_or(text.as_str(), |(address, _)| address);
            address.parse().map(Some).map_err(|_| wrong(text))
        }
        None => Err(Failure::new("--address needs two addresses, one for each port")),
    }
}
