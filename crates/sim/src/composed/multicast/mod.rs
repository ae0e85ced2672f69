//! Multicast: hosts say which groups they want, and each frame of a group is copied to them.
//!
//! A device that bridges snoops on what hosts say (RFC 4541) and copies frames as they are; one that
//! routes takes a hop off and sends each copy as its own. Either way there is one table. Hosts may also
//! be reached through a tunnel, of GRE or VXLAN, to the address of the device's port: who speaks through
//! one is a member there, and has its copies by the same way.

mod querier;
mod report;
mod table;
#[cfg(test)]
mod tests;
mod tunnel;

pub(crate) use querier::Querier;
pub(crate) use table::{Copies, Medium};

use super::addresses::Interface;
use super::counters::Counter;
use super::description;
use crate::Frame;
use report::{GroupFrame, Version};
use table::{GroupTable, Place};
use trial::PortId;
use tunnel::Tunnels;
use units::Instant;
use wire::ethernet::{self, EtherType, HEADER_LEN, MacAddr};
use wire::{ipv4, ipv6};

/// What becomes of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It is none of the business of multicasting.
    NotOurs,
    /// It was a host's message.
    Heard,
    /// It is dropped, and counted so.
    Dropped(Counter),
    /// Copies of it leave.
    Copied(Copies),
}

/// A device's multicasting.
#[derive(Clone, Debug)]
pub(crate) struct Multicast {
    plan: description::Multicast,
    table: GroupTable,
    tunnels: Tunnels,
    interfaces: Vec<Interface>,
    querier: Option<Querier>,
    /// What is routed; the rest is snooped on.
    routes: (bool, bool),
}

impl Multicast {
    pub(crate) fn new(
        plan: &description::Multicast,
        interfaces: &[Interface],
        routes_ipv4: bool,
        routes_ipv6: bool,
    ) -> Self {
        Multicast {
            plan: plan.clone(),
            table: GroupTable::new(plan.clone()),
            tunnels: Tunnels::new(interfaces.len()),
            interfaces: interfaces.to_vec(),
            querier: Querier::of(plan, interfaces),
            routes: (routes_ipv4, routes_ipv6),
        }
    }

    /// Looks at a frame that came in, and takes it out of its tunnel where it came by one.
    pub(crate) fn handle(
        &mut self,
        now: Instant,
        port: PortId,
        frame: &mut Frame,
        said: &mut Vec<(PortId, Frame)>,
    ) -> Outcome {
        let Ok((mut header, _)) = ethernet::Repr::parse(frame) else { return Outcome::NotOurs };
        let mut from = Place { port, medium: Medium::Plain };
        let interface = self.interfaces[usize::from(port.0)];
        if self.plan.tunnels && header.dst == interface.mac {
            let Some((medium, within)) = self.tunnels.unwrap(&interface, port, frame) else {
                return Outcome::NotOurs;
            };
            from.medium = medium;
            frame.bytes = within;
            let Ok((inner, _)) = ethernet::Repr::parse(frame) else {
                return Outcome::Dropped(Counter::HeaderErrors);
            };
            header = inner;
        }
        let is_tagged = matches!(header.ether_type, EtherType::VLAN | EtherType::SERVICE_VLAN);
        let routes = self.routes.0 || self.routes.1;
        if !header.dst.is_group() || (is_tagged && routes) {
            return Outcome::NotOurs;
        }
        match report::read(header.ether_type, frame) {
            None => Outcome::NotOurs,
            Some(GroupFrame::Ignored) => Outcome::Heard,
            Some(GroupFrame::Said { version, changes }) => {
                self.ask_the_rest(from, &changes, said);
                self.hear(now, from, version, changes)
            }
            Some(GroupFrame::Data { group, source, hops }) => {
                self.forward(now, from, (header.ether_type, group, source, hops), frame)
            }
        }
    }

    /// A copy as it leaves by a medium at a port; `None` where nobody is known at the other end.
    pub(crate) fn copy(&self, medium: Medium, port: PortId, mut frame: Frame) -> Option<Frame> {
        let interface = &self.interfaces[usize::from(port.0)];
        let mut header = ethernet::View::peek(&mut frame.bytes)?;
        if self.is_routed(header.ether_type()) {
            header.set_src(interface.mac);
        }
        self.tunnels.wrap(interface, medium, port, frame)
    }

    pub(crate) fn clear(&mut self) {
        self.table.clear();
        self.tunnels.clear();
    }

    /// When the device asks for members next.
    pub(crate) fn next_query(&self) -> Option<Instant> {
        self.querier.as_ref().map(Querier::next)
    }

    /// Its general queries that are due, and when they are.
    pub(crate) fn due_queries(&mut self, now: Instant) -> Option<(Instant, Vec<(PortId, Frame)>)> {
        self.querier.as_mut()?.due(now)
    }

    /// Somebody leaves a group: whoever is left there is to say so.
    fn ask_the_rest(
        &self,
        from: Place,
        changes: &[(u128, table::Change)],
        said: &mut Vec<(PortId, Frame)>,
    ) {
        let Some(querier) = self.querier.as_ref().filter(|_| from.medium == Medium::Plain) else {
            return;
        };
        let left = changes.iter().filter(|(_, change)| change.leaves());
        said.extend(left.filter_map(|(group, _)| querier.last_member(from.port, *group)));
    }

    fn hear(
        &mut self,
        now: Instant,
        from: Place,
        version: Version,
        changes: Vec<(u128, table::Change)>,
    ) -> Outcome {
        let is_understood = match version {
            Version::Igmp(version) => self.plan.igmp.contains(&version),
            Version::Mld(version) => self.plan.mld.contains(&version),
        };
        if !is_understood {
            return Outcome::Heard;
        }
        let mut all = true;
        for (group, change) in changes {
            let key = self.key(group);
            all &= self.table.hear(now, from, key, change);
        }
        if all { Outcome::Heard } else { Outcome::Dropped(Counter::GroupsRefused) }
    }

    fn forward(
        &mut self,
        now: Instant,
        from: Place,
        (ether_type, group, source, hops): (EtherType, u128, u128, u8),
        frame: &mut Frame,
    ) -> Outcome {
        let key = self.key(group);
        let is_routed = self.is_routed(ether_type);
        let floods = self.plan.floods_when_full && self.table.has_overflowed()
            || self.plan.floods_unknown && !self.table.knows(now, key);
        if !is_routed && floods {
            return Outcome::NotOurs;
        }
        let copies = self.table.copies(now, key, source, from);
        if is_routed {
            if hops <= 1 {
                return Outcome::Dropped(Counter::HopsExceeded);
            }
            if !self.came_the_right_way(from.port, source) {
                return Outcome::Dropped(Counter::NoRoutes);
            }
            let packet = &mut frame.bytes[HEADER_LEN..];
            match ether_type {
                EtherType::IPV4 => ipv4::decrement_ttl(packet),
                _ => ipv6::decrement_hop_limit(packet),
            };
        }
        match copies.count() {
            0 => Outcome::Dropped(Counter::NotForwarded),
            _ => Outcome::Copied(copies),
        }
    }

    fn is_routed(&self, ether_type: EtherType) -> bool {
        if ether_type == EtherType::IPV4 { self.routes.0 } else { self.routes.1 }
    }

    /// What the table knows a group by: itself, or its hardware address, which 32 groups of IPv4
    /// share (RFC 1112 section 6.4).
    fn key(&self, group: u128) -> u128 {
        if !self.plan.by_mac {
            return group;
        }
        let group = std::net::Ipv6Addr::from_bits(group);
        let mac =
            group.to_ipv4_mapped().map_or(MacAddr::of_ipv6_group(group), MacAddr::of_ipv4_group);
        mac.to_u64().into()
    }

    /// Reverse path forwarding: the source is on the network where its frames come in.
    fn came_the_right_way(&self, port: PortId, source: u128) -> bool {
        let interface = &self.interfaces[usize::from(port.0)];
        let address = std::net::Ipv6Addr::from_bits(source);
        let (ours, bits, length) = match address.to_ipv4_mapped() {
            Some(_) => (interface.ipv4.0.to_ipv6_mapped().to_bits(), 32, interface.ipv4.1),
            None => (interface.ipv6.0.to_bits(), 128, interface.ipv6.1),
        };
        (ours ^ source).checked_shr(bits - u32::from(length)).unwrap_or(0) == 0
    }
}
