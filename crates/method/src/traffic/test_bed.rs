//! The test bed for a reader: which port of the tester stands on which network of the device.

use crate::Forwarding;
use crate::traffic::Topology;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, Ipv6Addr};
use trial::PortId;
use wire::ethernet::MacAddr;

/// How the tester's ports are attached to the device, and who has which address.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TestBed {
    /// How frames get through the device.
    pub forwarding: Forwarding,
    /// In order of their numbers.
    pub ports: Vec<PlacedPort>,
    /// How frames of the second port differ from those of the first, in words, where they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encapsulated: Option<String>,
    /// The test bed of a document that the run repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<OriginalBed>,
}

/// The picture of a test bed in a document.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OriginalBed {
    /// Which, as a heading of this run's.
    pub heading: String,
    /// What it shows, and how this run's differs.
    pub about: String,
}

/// One port of the tester on the device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlacedPort {
    /// The port.
    pub port: PortId,
    /// The tester's end host there.
    pub host: Placed,
    /// The device there; `None` where it does not route and has no address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Placed>,
    /// IPv4 networks behind the port beside its own (RFC 2544 section 12).
    #[serde(default)]
    pub networks: u64,
}

/// Addresses of one side of a link.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Placed {
    /// Hardware address.
    pub mac: MacAddr,
    /// IPv4 address.
    pub ipv4: Ipv4Addr,
    /// IPv6 address.
    pub ipv6: Ipv6Addr,
}

impl TestBed {
    /// The same as that of a document: heading, and what the document's has.
    pub(crate) fn of_document(self, original: Option<[&str; 2]>) -> TestBed {
        let original = original
            .map(|[heading, about]| OriginalBed { heading: heading.into(), about: about.into() });
        TestBed { original, ..self }
    }
}

impl From<&Topology> for TestBed {
    fn from(topology: &Topology) -> TestBed {
        let routes = topology.forwarding == Forwarding::Routed;
        let ports = topology.ports.iter().map(|at| PlacedPort {
            port: at.port,
            host: Placed { mac: at.mac, ipv4: at.host_ipv4, ipv6: at.host_ipv6 },
            device: routes.then_some(Placed {
                mac: at.device_mac,
                ipv4: at.device_ipv4,
                ipv6: at.device_ipv6,
            }),
            networks: at.network_hosts_ipv4.len() as u64,
        });
        let encapsulated = topology.encapsulated.as_ref().map(|it| it.kind.to_string());
        TestBed {
            forwarding: topology.forwarding,
            ports: ports.collect(),
            encapsulated,
            original: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_has_no_addresses_and_a_router_those_of_its_networks() {
        let routed = TestBed::from(&Topology::plan(Forwarding::Routed));
        let device = routed.ports[1].device.as_ref().expect("a router");
        // RFC 2544 appendix C.2.2: node 1 of the second network is the device, node 2 the tester.
        assert_eq!(device.ipv4, Ipv4Addr::new(198, 19, 1, 1));
        assert_eq!(routed.ports[1].host.ipv4, Ipv4Addr::new(198, 19, 1, 2));
        let bridged = TestBed::from(&Topology::plan(Forwarding::Bridged));
        assert!(bridged.ports.iter().all(|port| port.device.is_none()));
    }
}
