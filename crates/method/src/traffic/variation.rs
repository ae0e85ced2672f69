//! What varies from frame to frame: ports and addresses, and to which hosts frames go.

use super::{Attachment, Destinations, Forwarding, Path, Traffic};
use crate::protocol::Protocol;
use traffic::modifier as vary;
use traffic::modifier::{Field, Ipv6Bits, sub_seed};
use traffic::template::FrameTemplate;

impl Traffic {
    /// Adds what changes from frame to frame.
    pub(super) fn vary(
        &self,
        template: FrameTemplate,
        protocol: Protocol,
        (index, path): (usize, Path),
    ) -> FrameTemplate {
        let count = self.config.distinct_frames.max(1);
        let seed = |purpose: u64| sub_seed(self.seed, 16 * index as u64 + purpose);
        let port = self.topology.ports[path.from].port.0 + 1;
        let mut template = match protocol.is_ip() {
            true => self.with_random_ports(template, index),
            false => template,
        };
        if self.config.random_macs {
            let macs = vary::Modifier::random_macs(Field::EthSrc, seed(3), port, count);
            template = template.modifier(macs);
        }
        template = self.vary_flows(template, protocol, (index, path));
        if self.config.destinations == Destinations::Random {
            for modifier in self.random_destinations(path, protocol, (seed(4), count)) {
                template = template.modifier(modifier);
            }
        }
        template
    }

    /// With UDP ports at random, where that is asked for (RFC 4814 section 4.5).
    pub(crate) fn with_random_ports(&self, template: FrameTemplate, index: usize) -> FrameTemplate {
        if !self.config.random_ports {
            return template;
        }
        let seed = sub_seed(self.seed, 16 * index as u64);
        let modifiers = vary::Modifier::random_udp_ports(seed, self.config.distinct_frames.max(1));
        modifiers.into_iter().fold(template, FrameTemplate::modifier)
    }

    pub(super) fn random_destinations(
        &self,
        path: Path,
        protocol: Protocol,
        (seed, count): (u64, u64),
    ) -> Vec<vary::Modifier> {
        use vary::Modifier;
        if self.topology.forwarding != Forwarding::Routed {
            let port = self.topology.ports[path.to].port.0 + 1;
            return vec![Modifier::random_macs(Field::EthDst, seed, port, count)];
        }
        let hosts = self.hosts(protocol, &self.topology.ports[path.to]);
        let draw = |i: u64| hosts[(sub_seed(seed, i) % hosts.len() as u64) as usize];
        let list =
            |part: fn(u128) -> u64| vary::Pattern::List((0..count).map(draw).map(part).collect());
        match protocol {
            Protocol::UdpIpv4 => vec![Modifier::new(Field::Ipv4Dst, list(|host| host as u64))],
            _ => vec![
                Modifier::new(
                    Field::Ipv6Dst(Ipv6Bits { lowest: 64, count: 64 }),
                    list(|host| (host >> 64) as u64),
                ),
                Modifier::new(Field::Ipv6Dst(Ipv6Bits::LOW_64), list(|host| host as u64)),
            ],
        }
    }

    /// Destination networks that every protocol has, behind every port that receives.
    pub(super) fn hosts_known(&self) -> usize {
        let receivers = self.receivers();
        let known = |protocol| {
            receivers.iter().map(move |port| self.hosts(protocol, port).len()).collect::<Vec<_>>()
        };
        self.config.protocols().into_iter().flat_map(known).min().unwrap_or(0)
    }

    /// A host in each destination network behind a port, as numbers.
    pub(super) fn hosts(&self, protocol: Protocol, port: &Attachment) -> Vec<u128> {
        match protocol {
            Protocol::UdpIpv6 => {
                let hosts = match self.config.ipv6_prefixes.first() {
                    None | Some(64) => &port.network_hosts_ipv6[..],
                    Some(length) => {
                        port.prefix_hosts_ipv6.get(length).map_or(&[][..], |hosts| hosts)
                    }
                };
                hosts.iter().map(|a| a.to_bits()).collect()
            }
            _ => port.network_hosts_ipv4.iter().map(|a| a.to_bits().into()).collect(),
        }
    }
}
