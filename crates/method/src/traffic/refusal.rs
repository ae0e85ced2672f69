//! What cannot be sent, or would not be forwarded, and why.

use super::{Destinations, Forwarding, Traffic};
use crate::encapsulation::{Encapsulated, Encapsulation};
use crate::modifiers::PORTS_WITH_UPDATES;
use crate::protocol::Protocol;
use crate::{Modifier, RunError};

impl Traffic {
    pub(super) fn check(&self) -> Result<(), RunError> {
        let is_random = self.config.destinations == Destinations::Random;
        let is_routed = self.topology.forwarding == Forwarding::Routed;
        let needs = |what: &str| Err(RunError::Config(what.to_string()));
        let protocol = self.config.protocol;
        if self.config.destinations == Destinations::Both {
            return needs(
                "one destination and random ones are two runs of a suite, as RFC 2544 has it: write \
                 --destinations one or random here",
            );
        }
        self.check_ipv6()?;
        self.check_flows()?;
        self.check_encapsulation()?;
        if protocol == Protocol::Ethernet && is_routed {
            return needs("a router forwards no Ethernet frames without IP: choose an IP protocol");
        }
        let is_legacy = !protocol.is_ip() && protocol != Protocol::Ethernet;
        if is_legacy && (is_random || self.config.random_ports || self.config.random_macs) {
            return needs(&format!(
                "{} has addresses that random ones would break: send to one destination, from one",
                protocol.name()
            ));
        }
        let known = self.hosts_known();
        let of = self.config.ipv6_prefixes.first().map(|length| format!(" (IPv6: /{length})"));
        let of = of.unwrap_or_default();
        if is_random && is_routed && known < 256 {
            return needs(&format!(
                "random destinations need 256 networks{of} behind each port, the device has {known}: \
                 configure them, or send to one destination"
            ));
        }
        self.check_updates()?;
        if matches!(self.modifier, Modifier::Management | Modifier::RoutingUpdate) && !is_routed {
            return needs("only a router has a management address and routes: leave out modifiers");
        }
        let last = self.own_senders().map(|sender| sender.port.0).max().unwrap_or(0);
        if self.modifier == Modifier::RoutingUpdate && last >= PORTS_WITH_UPDATES {
            return needs(&format!(
                "routing updates have networks of their own for {PORTS_WITH_UPDATES} ports: use fewer"
            ));
        }
        Ok(())
    }

    /// Ports joined back to back are told of nothing. Random destinations behind a router are of IPv4 or IPv6.
    fn check_updates(&self) -> Result<(), RunError> {
        if !self.config.routing_updates || self.topology.forwarding == Forwarding::Looped {
            return Ok(());
        }
        match self.topology.forwarding {
            Forwarding::Routed => Ok(()),
            _ => Err(RunError::Config(
                "only a router takes in routes: leave out --routing-updates".into(),
            )),
        }
    }

    fn check_encapsulation(&self) -> Result<(), RunError> {
        let Some(Encapsulated { kind, .. }) = &self.topology.encapsulated else { return Ok(()) };
        let refuse = |what: &str| Err(RunError::Config(format!("{kind}: {what}")));
        if self.config.ipv6_percent.is_some() {
            return refuse("what goes into it is of one version of IP: leave out --ipv6-percent");
        }
        if !self.config.vlans.is_empty() {
            return refuse("frames within it have no VLAN tags: leave out --vlan");
        }
        if *kind == Encapsulation::Siit && !self.config.extension_headers.is_empty() {
            return refuse("extension headers are not translated (RFC 7915 section 5.1)");
        }
        if self.modifier != Modifier::None {
            return refuse("modifiers are for plain routers: leave out --modifiers");
        }
        kind.check(self.config.protocol)
    }

    fn check_ipv6(&self) -> Result<(), RunError> {
        let refuse = |what: &str| Err(RunError::Config(what.to_string()));
        if !self.config.extension_headers.is_empty() && self.config.ipv6_protocol().is_none() {
            return refuse("extension headers are of IPv6: choose --protocol udp_ipv6");
        }
        if let [_, more, ..] = self.config.ipv6_prefixes[..] {
            return refuse(&format!(
                "IPv6 networks have prefixes of one length at a time: /{more} is another run of the suite"
            ));
        }
        match self.config.ipv6_percent {
            None => Ok(()),
            Some(1..=99) if self.config.protocol == Protocol::UdpIpv4 => Ok(()),
            Some(1..=99) => refuse("IPv6 is mixed into UDP over IPv4: leave out --protocol"),
            Some(_) => {
                refuse("a mix has 1 to 99 % of IPv6: choose a protocol for frames of one kind")
            }
        }
    }
}
