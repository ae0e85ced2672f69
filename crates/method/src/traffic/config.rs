//! The user's choice of traffic.

use super::{Attachment, Flows, Topology};
use crate::ipv6_traffic::ExtensionHeader;
use crate::protocol::Protocol;
use serde::{Deserialize, Serialize};
use traffic::template::FrameTemplate;
use wire::keepalive;

/// To whom frames are addressed (RFC 2544 section 12).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destinations {
    /// One pair of addresses.
    #[default]
    One,
    /// Through a router: hosts in 256 networks, at random. Through a bridge: MAC addresses, at
    /// random.
    Random,
    /// First one pair, then random ones: a suite is run once with each.
    Both,
}

impl Destinations {
    /// What a suite is run with, one after the other.
    pub const fn runs(self) -> &'static [Destinations] {
        match self {
            Destinations::One => &[Destinations::One],
            Destinations::Random => &[Destinations::Random],
            Destinations::Both => &[Destinations::One, Destinations::Random],
        }
    }
}

/// Prefix lengths that RFC 5180 section 5.2.1 has destinations iterate through.
pub const IPV6_PREFIXES: [u8; 4] = [48, 64, 126, 128];

/// The user's choice of traffic.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrafficConfig {
    /// What the frames are made of.
    pub protocol: Protocol,
    /// To whom they go.
    pub destinations: Destinations,
    /// Pseudo-random UDP ports (RFC 4814 section 4.5).
    pub random_ports: bool,
    /// Pseudo-random source MAC addresses (RFC 4814 section 4.2).
    pub random_macs: bool,
    /// VLAN identifiers, the outermost first; empty for untagged frames.
    pub vlans: Vec<u16>,
    /// Extension headers of IPv6 frames, in this order; sizes include them (RFC 5180 section 5.3).
    pub extension_headers: Vec<ExtensionHeader>,
    /// So many of a hundred frames are UDP over IPv6, where `protocol` is UDP over IPv4 (RFC 5180
    /// section 7); none for frames of one protocol.
    pub ipv6_percent: Option<u8>,
    /// Different frames of a stream before the first comes again, where anything is random.
    pub distinct_frames: u64,
    /// Whether routing updates announce the networks of random destinations before each trial (RFC 2544
    /// section 13), and every 30 s as long as it lasts.
    pub routing_updates: bool,
    /// Lengths of the prefixes of IPv6 destination networks: a suite is run once with each (RFC 5180
    /// section 5.2.1). Empty for the networks that the device has by itself, of /64.
    pub ipv6_prefixes: Vec<u8>,
    /// Flows, each in turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<Flows>,
    /// Packet filters configured on the device, in words, for the report (RFC 2544 section 11.4).
    pub filters: String,
}

impl Default for TrafficConfig {
    fn default() -> Self {
        TrafficConfig {
            protocol: Protocol::default(),
            destinations: Destinations::default(),
            random_ports: false,
            random_macs: false,
            vlans: vec![],
            extension_headers: vec![],
            ipv6_percent: None,
            distinct_frames: 1_024,
            routing_updates: false,
            ipv6_prefixes: vec![],
            flows: None,
            filters: String::new(),
        }
    }
}

impl TrafficConfig {
    /// What frames are made of: one protocol, or both versions of IP.
    pub(super) fn protocols(&self) -> Vec<Protocol> {
        let more = self.ipv6_percent.map(|_| Protocol::UdpIpv6);
        std::iter::once(self.protocol).chain(more).collect()
    }
    /// Whether any frame is IPv6.
    pub(crate) fn has_ipv6(&self) -> bool {
        self.ipv6_protocol().is_some()
    }
    pub(super) fn ipv6_protocol(&self) -> Option<Protocol> {
        self.protocols().into_iter().find(|protocol| *protocol == Protocol::UdpIpv6)
    }
    /// Frames of one protocol from a port to another, without anything random.
    pub(super) fn template(
        &self,
        protocol: Protocol,
        topology: &Topology,
        (from, to): (usize, usize),
    ) -> FrameTemplate {
        let (from, to) = (&topology.ports[from], &topology.ports[to]);
        let template = protocol.template(topology.forwarding, from, to);
        let headers = self.extension_headers.iter().map(|header| header.extension());
        template.tagged(&self.vlans).extended(headers.collect())
    }
    /// What tells the device of the end host at this port, in every protocol.
    pub(super) fn keep_alive(&self, host: &Attachment) -> keepalive::KeepAlive {
        let mut alive = self.protocol.keep_alive(host);
        for other in self.protocols().into_iter().skip(1) {
            let other = other.keep_alive(host);
            alive.frames.extend(other.frames);
            alive.period = alive.period.min(other.period);
        }
        alive
    }
}
