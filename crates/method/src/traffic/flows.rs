//! Flows: so many different values of some fields, each in turn.

use super::{Destinations, Forwarding, Path, Traffic};
use crate::RunError;
use crate::protocol::Protocol;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use traffic::modifier::{Field, Ipv6Bits, Modifier, Pattern, sub_seed};
use traffic::template::FrameTemplate;

/// The first port number of a flow: those below belong to services.
const FIRST_PORT: u64 = 1_024;
/// Port numbers from there on.
pub(super) const FLOWS_MAX: u64 = 65_536 - FIRST_PORT;
/// Ready frames of a stream are held in memory, each once.
const READY_BYTES_MAX: u64 = 1 << 29;

/// So many flows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flows {
    /// How many, 1 to 64,512.
    pub count: u64,
    /// What tells one from another: these fields change together.
    pub vary: Vec<Vary>,
}

/// A field that tells flows apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Vary {
    /// UDP source port, from 1024 on.
    SrcPort,
    /// UDP destination port, from 1024 on.
    DstPort,
    /// Source MAC address, pseudo-random.
    SrcMac,
    /// A host in each destination network behind the other port.
    DstIp,
}

impl Vary {
    const ALL: [(&str, Vary); 4] = [
        ("src-port", Vary::SrcPort),
        ("dst-port", Vary::DstPort),
        ("src-mac", Vary::SrcMac),
        ("dst-ip", Vary::DstIp),
    ];
}

impl FromStr for Vary {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Vary::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, vary)| *vary).ok_or_else(|| {
            let names = Vary::ALL.map(|(name, _)| name).join(", ");
            format!("no field `{text}` tells flows apart; write one or more of {names}")
        })
    }
}

impl fmt::Display for Vary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = Vary::ALL.iter().find(|(_, vary)| vary == self);
        f.write_str(found.map_or("", |(name, _)| name))
    }
}

impl Traffic {
    /// How many flows a stream has, where flows were asked for.
    pub fn flows(&self) -> Option<u64> {
        self.config.flows.as_ref().map(|flows| flows.count)
    }

    pub(super) fn check_flows(&self) -> Result<(), RunError> {
        let Some(flows) = &self.config.flows else { return Ok(()) };
        let refuse = |what: String| Err(RunError::Config(what));
        if !(1..=FLOWS_MAX).contains(&flows.count) {
            return refuse(format!("{} flows: there can be 1 to {FLOWS_MAX}", flows.count));
        }
        let varies = |field| flows.vary.contains(&field);
        let has_ports = self.config.protocol.is_ip();
        if !has_ports && (varies(Vary::SrcPort) || varies(Vary::DstPort) || varies(Vary::DstIp)) {
            return refuse(format!(
                "{} has no ports and no IP addresses to vary: vary src-mac",
                self.config.protocol.name()
            ));
        }
        let is_random = self.config.destinations == Destinations::Random;
        if is_random || self.config.random_ports || self.config.random_macs {
            return refuse("flows have no random addresses or ports beside: vary them".into());
        }
        if self.config.ipv6_percent.is_some() {
            return refuse("flows are of one version of IP: leave out --ipv6-percent".into());
        }
        if flows.vary.is_empty() {
            return refuse("nothing tells the flows apart: write --vary dst-port".into());
        }
        let networks = self.hosts_known() as u64;
        if varies(Vary::DstIp) && self.topology.forwarding != Forwarding::Routed {
            return refuse("only a router tells destinations apart by IP: vary dst-port".into());
        }
        if varies(Vary::DstIp) && networks < flows.count {
            return refuse(format!(
                "{} flows by dst-ip need as many networks behind each port, the device has \
                 {networks}: --routes-per-port {}",
                flows.count, flows.count
            ));
        }
        let largest = u64::from(self.size.largest().bytes());
        if self.ready_frames(flows.count) * largest > READY_BYTES_MAX {
            return refuse(format!(
                "{} flows of {} sizes are {} different frames: too many to hold ready",
                flows.count,
                self.size.period(),
                self.ready_frames(flows.count)
            ));
        }
        Ok(())
    }

    /// Frames until each flow has had each size in the order of the mix.
    pub(super) fn ready_frames(&self, flows: u64) -> u64 {
        let sizes = self.size.period();
        let (mut a, mut b) = (flows.max(1), sizes.max(1));
        while b > 0 {
            (a, b) = (b, a % b);
        }
        flows.max(1) / a * sizes
    }

    /// Adds what tells a sender's flows apart.
    pub(super) fn vary_flows(
        &self,
        template: FrameTemplate,
        protocol: Protocol,
        (index, path): (usize, Path),
    ) -> FrameTemplate {
        let Some(Flows { count, vary }) = &self.config.flows else { return template };
        let ports = Pattern::Increment { start: FIRST_PORT, step: 1, count: *count };
        let seed = sub_seed(self.seed, 16 * index as u64 + 5);
        let port = self.topology.ports[path.from].port.0 + 1;
        let modifiers = vary.iter().flat_map(|vary| match vary {
            Vary::SrcPort => vec![Modifier::new(Field::UdpSrc, ports.clone())],
            Vary::DstPort => vec![Modifier::new(Field::UdpDst, ports.clone())],
            Vary::SrcMac => vec![Modifier::random_macs(Field::EthSrc, seed, port, *count)],
            Vary::DstIp => {
                let hosts = self.hosts(protocol, &self.topology.ports[path.to]);
                let hosts = hosts.into_iter().take(*count as usize);
                match protocol {
                    Protocol::UdpIpv6 => {
                        let (high, low) =
                            hosts.map(|host| ((host >> 64) as u64, host as u64)).unzip();
                        let high_64 = Ipv6Bits { lowest: 64, count: 64 };
                        vec![
                            Modifier::new(Field::Ipv6Dst(high_64), Pattern::List(high)),
                            Modifier::new(Field::Ipv6Dst(Ipv6Bits::LOW_64), Pattern::List(low)),
                        ]
                    }
                    _ => {
                        let hosts = hosts.map(|host| host as u64).collect();
                        vec![Modifier::new(Field::Ipv4Dst, Pattern::List(hosts))]
                    }
                }
            }
        });
        modifiers.fold(template, FrameTemplate::modifier)
    }
}
