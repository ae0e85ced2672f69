//! What test frames are made of, and what each protocol needs to get through a device.

use crate::traffic::{Attachment, Forwarding};
use serde::{Deserialize, Serialize};
use traffic::template::FrameTemplate;
use traffic::test_frame;
use trial::{Fingerprint, PortId};
use wire::decnet;
use wire::ethernet::MacAddr;
use wire::ipx::Encapsulation;
use wire::{appletalk, keepalive};

/// What test frames are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// UDP echo requests over IPv4 (RFC 2544 appendix C.2.6.4).
    #[default]
    UdpIpv4,
    /// UDP over IPv6 (RFC 5180).
    UdpIpv6,
    /// Ethernet frames without network layer, for bridges.
    Ethernet,
    /// Data packets of DECnet Phase IV.
    Decnet,
    /// Echo requests of AppleTalk Phase 2; frames have at most 625 bytes.
    Appletalk,
    /// Novell IPX right behind an 802.3 length.
    IpxRaw,
    /// Novell IPX behind an EtherType.
    IpxEthernet,
    /// Novell IPX behind LLC.
    IpxLlc,
    /// Novell IPX behind SNAP.
    IpxSnap,
}

impl Protocol {
    /// Whether addresses are IP addresses.
    pub const fn is_ip(self) -> bool {
        matches!(self, Protocol::UdpIpv4 | Protocol::UdpIpv6)
    }
    /// How IPX stands in the frame, where it is IPX.
    pub const fn ipx(self) -> Option<Encapsulation> {
        match self {
            Protocol::IpxRaw => Some(Encapsulation::Raw),
            Protocol::IpxEthernet => Some(Encapsulation::EthernetII),
            Protocol::IpxLlc => Some(Encapsulation::Llc),
            Protocol::IpxSnap => Some(Encapsulation::Snap),
            _ => None,
        }
    }
    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::UdpIpv4 => "UDP over IPv4",
            Protocol::UdpIpv6 => "UDP over IPv6",
            Protocol::Ethernet => "Ethernet",
            Protocol::Decnet => "DECnet Phase IV",
            Protocol::Appletalk => "AppleTalk Phase 2",
            Protocol::IpxRaw => "IPX in raw 802.3",
            Protocol::IpxEthernet => "IPX in Ethernet II",
            Protocol::IpxLlc => "IPX in 802.2",
            Protocol::IpxSnap => "IPX in SNAP",
        }
    }

    /// The test frames from one port's end host to another's.
    pub(crate) fn template(
        self,
        forwarding: Forwarding,
        from: &Attachment,
        to: &Attachment,
    ) -> FrameTemplate {
        let next_hop = self.next_hop(forwarding, from, to);
        match self {
            Protocol::UdpIpv4 => {
                test_frame::template((from.mac, from.host_ipv4), (next_hop, to.host_ipv4))
            }
            Protocol::UdpIpv6 => {
                test_frame::template_ipv6((from.mac, from.host_ipv6), (next_hop, to.host_ipv6))
            }
            Protocol::Ethernet => FrameTemplate::ethernet(from.mac, next_hop),
            Protocol::Decnet => {
                let (src, dst) = (from.legacy.host_decnet, to.legacy.host_decnet);
                FrameTemplate::decnet(src, dst, next_hop)
            }
            Protocol::Appletalk => FrameTemplate::appletalk(
                (from.mac, from.legacy.host_appletalk),
                (next_hop, to.legacy.host_appletalk),
            ),
            Protocol::IpxRaw | Protocol::IpxEthernet | Protocol::IpxLlc | Protocol::IpxSnap => {
                let node = |port: &Attachment| (port.legacy.ipx_network, port.mac);
                let encapsulation = self.ipx().unwrap_or_default();
                FrameTemplate::ipx(encapsulation, node(from), node(to), next_hop)
            }
        }
    }
    /// To which MAC address frames go: the router's, or the other port's. With DECnet both have
    /// the one that follows from their node's address.
    fn next_hop(self, forwarding: Forwarding, from: &Attachment, to: &Attachment) -> MacAddr {
        match (forwarding, self) {
            (Forwarding::Routed, Protocol::Decnet) => from.legacy.device_decnet.mac(),
            (_, Protocol::Decnet) => to.legacy.host_decnet.mac(),
            (Forwarding::Routed, _) => from.device_mac,
            (Forwarding::Bridged | Forwarding::Looped, _) => to.mac,
        }
    }

    /// Our source address, as it stands in untagged frames: no frame of the device's own bears it.
    pub(crate) fn fingerprint(self, from: &Attachment) -> Fingerprint {
        let word = |bytes: [u8; 4]| u32::from_be_bytes(bytes);
        let [.., a, b, c, d] = from.mac.0;
        let node = word([a, b, c, d]);
        let (offset_bytes, value, mask) = match self {
            Protocol::UdpIpv4 => (26, from.host_ipv4.to_bits(), u32::MAX),
            Protocol::UdpIpv6 => (34, from.host_ipv6.to_bits() as u32, u32::MAX),
            Protocol::Ethernet => (12, 0x88b5_0000, 0xffff_0000),
            // The last four bytes of the source's identifier: 14 + length 2 + padding 1 + 13.
            Protocol::Decnet => {
                let [.., a, b, c, d] = from.legacy.host_decnet.mac().0;
                (30, word([a, b, c, d]), u32::MAX)
            }
            // Source network, destination node (left out), source node: 14 + SNAP 8 + 6.
            Protocol::Appletalk => {
                let appletalk::Address { network, node } = from.legacy.host_appletalk;
                let [high, low] = network.to_be_bytes();
                (28, word([high, low, 0, node]), 0xffff_00ff)
            }
            // The last four bytes of the source node: 24 bytes into IPX.
            Protocol::IpxRaw | Protocol::IpxEthernet => (14 + 24, node, u32::MAX),
            Protocol::IpxLlc => (17 + 24, node, u32::MAX),
            Protocol::IpxSnap => (22 + 24, node, u32::MAX),
        };
        Fingerprint { offset_bytes, value, mask }
    }

    /// What tells the device of the end host at this port (RFC 2544 section 23 b), and must be sent
    /// again after its period.
    pub(crate) fn keep_alive(self, host: &Attachment) -> keepalive::KeepAlive {
        let legacy = &host.legacy;
        match self {
            Protocol::UdpIpv6 => {
                keepalive::neighbor_solicitation((host.mac, host.host_ipv6), host.device_ipv6)
            }
            Protocol::UdpIpv4 => keepalive::arp((host.mac, host.host_ipv4), host.device_ipv4),
            // A device that both bridges and routes may keep ARP from its bridge.
            Protocol::Ethernet => keepalive::bridge(host.mac),
            Protocol::Decnet => keepalive::decnet_endnode(legacy.host_decnet, SILENT_TIMER_S),
            Protocol::Appletalk => {
                keepalive::aarp((host.mac, legacy.host_appletalk), legacy.device_appletalk)
            }
            Protocol::IpxRaw | Protocol::IpxEthernet | Protocol::IpxLlc | Protocol::IpxSnap => {
                let encapsulation = self.ipx().unwrap_or_default();
                let behind = [legacy.ipx_network | BEHIND_HOST];
                keepalive::ipx_rip(encapsulation, (legacy.ipx_network, host.mac), &behind)
            }
        }
    }
}

/// A hello that holds for half an hour, so that none is needed within a trial.
const SILENT_TIMER_S: u16 = 600;
/// The IPX network behind a tester's port, of which its RIP tells: the cable's with this bit.
const BEHIND_HOST: u32 = 0x1_0000;

/// Addresses in the protocols of 1990.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LegacyAddresses {
    /// The tester's DECnet node here.
    pub host_decnet: decnet::Address,
    /// The device, if it routes DECnet: the same node on all its ports.
    pub device_decnet: decnet::Address,
    /// The tester's AppleTalk node here.
    pub host_appletalk: appletalk::Address,
    /// The device's.
    pub device_appletalk: appletalk::Address,
    /// Number of the IPX network here; the nodes' addresses are their MAC addresses.
    pub ipx_network: u32,
}

impl LegacyAddresses {
    /// The plan of simulated devices. Port `p`, counted from 0, is on AppleTalk network
    /// 100 (p + 1), the device its node 1 and the tester node 10, and on IPX network p + 1; the
    /// device is DECnet node 2.1 and the tester 2.(10 + p).
    pub fn plan(port: PortId) -> LegacyAddresses {
        let network = 100 * (port.0 + 1);
        LegacyAddresses {
            host_decnet: decnet::Address::new(2, 10 + port.0),
            device_decnet: decnet::Address::new(2, 1),
            host_appletalk: appletalk::Address::new(network, 10),
            device_appletalk: appletalk::Address::new(network, 1),
            ipx_network: u32::from(port.0) + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};
    use units::FrameSize;
    use wire::decode::summarize;

    const ALL: [Protocol; 9] = [
        Protocol::UdpIpv4,
        Protocol::UdpIpv6,
        Protocol::Ethernet,
        Protocol::Decnet,
        Protocol::Appletalk,
        Protocol::IpxRaw,
        Protocol::IpxEthernet,
        Protocol::IpxLlc,
        Protocol::IpxSnap,
    ];

    fn port(number: u16) -> Attachment {
        let low = number as u8;
        Attachment {
            port: PortId(number),
            mac: MacAddr([2, 0, 0, 0, low, 2]),
            host_ipv4: Ipv4Addr::new(198, 18 + low, 1, 2),
            host_ipv6: Ipv6Addr::new(0x2001, 2, 0, number, 0, 0, 0, 2 + number),
            device_mac: MacAddr([2, 0, 0, 0, low, 1]),
            device_ipv4: Ipv4Addr::new(198, 18 + low, 1, 1),
            device_ipv6: Ipv6Addr::new(0x2001, 2, 0, number, 0, 0, 0, 1),
            network_hosts_ipv4: vec![],
            network_hosts_ipv6: vec![],
            network_prefix_ipv4: 24,
            prefix_hosts_ipv6: Default::default(),
            legacy: LegacyAddresses::plan(PortId(number)),
        }
    }

    /// Each way's frames bear the print of their sender, in every size and however many tags there
    /// are, and not that of the other way's.
    #[test]
    fn fingerprints_tell_the_directions_apart() {
        let ports = [port(0), port(1)];
        for protocol in ALL {
            let template = protocol.template(Forwarding::Routed, &ports[0], &ports[1]);
            let [own, other] = [0, 1].map(|sender| protocol.fingerprint(&ports[sender]));
            for bytes in [64, 100, 625] {
                let frame = template.build(0, FrameSize::from_bytes(bytes), None).unwrap();
                assert!(own.matches(&frame), "{protocol:?} of {bytes} bytes");
                assert_eq!(other.matches(&frame), protocol == Protocol::Ethernet, "{protocol:?}");
            }
        }
    }

    #[test]
    fn frames_go_to_the_router_or_to_the_other_host() {
        let ports = [port(0), port(1)];
        for protocol in ALL {
            let [routed, bridged] = [Forwarding::Routed, Forwarding::Bridged].map(|forwarding| {
                let template = protocol.template(forwarding, &ports[0], &ports[1]);
                template.build(0, FrameSize::from_bytes(100), None).unwrap()
            });
            let (router, host) = match protocol {
                Protocol::Decnet => ("aa:00:04:00:01:08", "aa:00:04:00:0b:08"),
                _ => ("02:00:00:00:00:01", "02:00:00:00:01:02"),
            };
            assert_eq!(routed[..6], router.parse::<MacAddr>().unwrap().0, "{protocol:?}");
            assert_eq!(bridged[..6], host.parse::<MacAddr>().unwrap().0, "{protocol:?}");
            assert_eq!(routed[6..], bridged[6..], "{protocol:?}");
        }
    }

    /// A bridge learns where test frames are to go from the source of the keep-alive.
    #[test]
    fn keep_alives_come_from_the_address_to_which_a_bridge_forwards() {
        let ports = [port(0), port(1)];
        for protocol in ALL {
            let template = protocol.template(Forwarding::Bridged, &ports[0], &ports[1]);
            let frame = template.build(0, FrameSize::from_bytes(100), None).unwrap();
            for alive in protocol.keep_alive(&ports[1]).frames {
                assert_eq!(alive[6..12], frame[..6], "{protocol:?}");
                assert_eq!(summarize(&alive).fault, None);
            }
        }
    }
}
