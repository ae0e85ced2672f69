//! How the tester is attached to the device.

use crate::RunError;
use crate::encapsulation::Encapsulated;
use crate::protocol::LegacyAddresses;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use trial::PortId;
use wire::ethernet::MacAddr;

/// How frames get through the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Forwarding {
    /// By IP address: frames go to the device's own MAC address.
    Routed,
    /// By MAC address: frames go to the other port's MAC address.
    Bridged,
    /// There is no device: ports are joined back to back.
    Looped,
}

/// How the tester's ports are attached to the device, and who has which address.
#[derive(Clone, PartialEq, Debug)]
pub struct Topology {
    /// How frames get through.
    pub forwarding: Forwarding,
    /// All ports, in order of their numbers; which of them send to which is the
    /// [`Pattern`](crate::Pattern)'s. Where the device routes, each has a network of its own.
    pub ports: Vec<Attachment>,
    /// How frames of the second port differ from those of the first, where they do.
    pub encapsulated: Option<Encapsulated>,
}

/// One port of the tester on the device.
#[derive(Clone, PartialEq, Debug)]
pub struct Attachment {
    /// The port.
    pub port: PortId,
    /// The tester's MAC address here.
    pub mac: MacAddr,
    /// The tester's end host here.
    pub host_ipv4: Ipv4Addr,
    /// The same in IPv6.
    pub host_ipv6: Ipv6Addr,
    /// The device's MAC address here; without meaning where it does not route.
    pub device_mac: MacAddr,
    /// The device's address here.
    pub device_ipv4: Ipv4Addr,
    /// The same in IPv6.
    pub device_ipv6: Ipv6Addr,
    /// A host in each destination network behind this port (RFC 2544 section 12).
    pub network_hosts_ipv4: Vec<Ipv4Addr>,
    /// The same in IPv6.
    pub network_hosts_ipv6: Vec<Ipv6Addr>,
    /// Length of the prefixes of the IPv4 networks.
    pub network_prefix_ipv4: u8,
    /// Hosts in IPv6 networks with prefixes of other lengths, by that length (RFC 5180 section 5.2.1).
    pub prefix_hosts_ipv6: BTreeMap<u8, Vec<Ipv6Addr>>,
    /// Addresses in other protocols.
    pub legacy: LegacyAddresses,
}

impl Topology {
    /// Of these ports, with nothing encapsulated.
    pub fn of(forwarding: Forwarding, ports: Vec<Attachment>) -> Topology {
        Topology { forwarding, ports, encapsulated: None }
    }

    /// Ports 0 and 1, each as [`Attachment::plan`] has it.
    pub fn plan(forwarding: Forwarding) -> Topology {
        Topology::of(forwarding, [0, 1].map(|port| Attachment::plan(PortId(port))).to_vec())
    }

    /// The same ports with addresses as they are, but joined back to back: for the self-test.
    pub fn looped(&self) -> Topology {
        Topology { forwarding: Forwarding::Looped, encapsulated: None, ..self.clone() }
    }

    /// Refuses addresses that two ports share: a device would take them for one, and frames of one port
    /// for those of the other.
    pub fn check(&self) -> Result<(), RunError> {
        for (index, port) in self.ports.iter().enumerate() {
            for other in &self.ports[..index] {
                if let Some(shared) = shared_address(other, port) {
                    return Err(RunError::Config(format!(
                        "{} and {} have the same address, {shared}: give each its own",
                        other.port, port.port
                    )));
                }
            }
        }
        Ok(())
    }
}

/// An address that two ports have both; loopback addresses stand for none.
fn shared_address(one: &Attachment, other: &Attachment) -> Option<String> {
    let ipv6 = one.host_ipv6 == other.host_ipv6 && !one.host_ipv6.is_loopback();
    if one.mac == other.mac {
        Some(one.mac.to_string())
    } else if one.host_ipv4 == other.host_ipv4 {
        Some(one.host_ipv4.to_string())
    } else {
        ipv6.then(|| one.host_ipv6.to_string())
    }
}

impl Attachment {
    /// The addresses of RFC 2544 appendix C.2.2 and RFC 5180 section 8: ports take turns on the input and
    /// the output side; on each network the device is node 1 and the tester's host node 2. Ethernet
    /// addresses are locally administered, those of a simulated device's own plan; there are no
    /// destination networks behind the port.
    ///
    /// # Panics
    /// Beyond port 127, which has no network.
    pub fn plan(port: PortId) -> Attachment {
        assert!(port.0 < 128, "{port} has no network");
        let (side, network) = (port.0 % 2, port.0 / 2);
        let ipv4 = |node| Ipv4Addr::new(198, 18 + side as u8, network as u8 + 1, node);
        let ipv6 = |node| Ipv6Addr::new(0x2001, 2, 0, 0x8000 * side + network, 0, 0, 0, node);
        let mac = |node| MacAddr([2, 0, 0, 0, port.0 as u8, node]);
        Attachment {
            port,
            mac: mac(2),
            host_ipv4: ipv4(2),
            host_ipv6: ipv6(2),
            device_mac: mac(1),
            device_ipv4: ipv4(1),
            device_ipv6: ipv6(1),
            network_hosts_ipv4: vec![],
            network_hosts_ipv6: vec![],
            network_prefix_ipv4: 24,
            prefix_hosts_ipv6: BTreeMap::new(),
            legacy: LegacyAddresses::plan(port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_has_the_addresses_of_the_simulators_plan() {
        for (interface, port) in sim::Addresses::plan(6).interfaces.iter().zip(0..) {
            let plan = Attachment::plan(PortId(port));
            let device = (plan.device_mac, plan.device_ipv4, plan.device_ipv6);
            assert_eq!(device, (interface.mac, interface.ipv4.0, interface.ipv6.0));
            assert_ne!(plan.mac, plan.device_mac);
            assert_eq!(plan.host_ipv4.octets()[..3], plan.device_ipv4.octets()[..3]);
            assert_eq!(plan.host_ipv6.segments()[..4], plan.device_ipv6.segments()[..4]);
        }
    }
}
