//! How the tester is attached to the device.

use crate::encapsulation::Encapsulated;
use crate::protocol::LegacyAddresses;
use serde::{Deserialize, Serialize};
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
    /// The two ports: frames go from the first to the second, and back where both send.
    pub ports: [Attachment; 2],
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
    /// Addresses in other protocols.
    pub legacy: LegacyAddresses,
}

impl Topology {
    /// The same ports with addresses as they are, but joined back to back: for the self-test.
    pub fn looped(&self) -> Topology {
        Topology { forwarding: Forwarding::Looped, encapsulated: None, ..self.clone() }
    }
}
