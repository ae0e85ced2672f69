//! Routing IPv4 (RFC 1812): ARP, routes by configuration and by RIP, filters, hops.

use super::routes::{Route, RouteTable};
use super::{Context, RouterLimits, Verdict, readdress};
use crate::Frame;
use crate::composed::addresses::Addresses;
use crate::composed::counters::Counter;
use crate::composed::filter::{self, FilterRule};
use crate::composed::neighbours::Neighbours;
use std::net::{IpAddr, Ipv4Addr};
use trial::PortId;
use units::{Duration, Instant};
use wire::ethernet::{self, EtherType, HEADER_LEN, MacAddr};
use wire::ipv4::{Protocol, Repr};
use wire::{arp, icmpv4, ipv4, rip, udp};

/// A route that is not heard of for so long is gone (RFC 2453 section 3.8).
const RIP_TIMEOUT: Duration = Duration::from_secs(180);

#[derive(Clone, Debug)]
pub(crate) struct Ipv4 {
    routes: RouteTable<Ipv4Addr>,
    configured: RouteTable<Ipv4Addr>,
    neighbours: Neighbours<Ipv4Addr>,
    filter: Vec<FilterRule>,
}

impl Ipv4 {
    pub(crate) fn new(
        addresses: &Addresses,
        limits: &RouterLimits,
        filter: Vec<FilterRule>,
    ) -> Self {
        let mut routes = RouteTable::new(32, limits.routes);
        let ever = Instant::FAR_FUTURE;
        for (port, interface) in addresses.interfaces.iter().enumerate() {
            let (address, length) = interface.ipv4;
            let route = Route { port: PortId(port as u16), via: None, gone_at: ever };
            routes.configure(address.to_bits().into(), length, route);
        }
        for fixed in &addresses.routes {
            let (IpAddr::V4(network), IpAddr::V4(via)) = (fixed.network, fixed.via) else {
                continue;
            };
            let Some(attached) = routes.find(Instant::ZERO, via.to_bits().into()) else { continue };
            let route = Route { port: attached.port, via: Some(via), gone_at: ever };
            routes.configure(network.to_bits().into(), fixed.prefix_length, route);
        }
        Ipv4 {
            configured: routes.clone(),
            routes,
            neighbours: Neighbours::new(limits.neighbours),
            filter,
        }
    }

    pub(crate) fn set_filter(&mut self, rules: Vec<FilterRule>) {
        self.filter = rules;
    }

    pub(crate) fn clear(&mut self) {
        self.routes = self.configured.clone();
        self.neighbours.clear();
    }

    #[inline]
    pub(crate) fn handle(
        &mut self,
        context: &mut Context<'_>,
        header: &ethernet::Repr,
        frame: &mut Frame,
    ) -> Verdict {
        if header.ether_type == EtherType::ARP {
            return self.arp(context, frame);
        }
        let Ok((packet, payload)) = Repr::parse(&frame[HEADER_LEN..]) else {
            return Verdict::dropped(Counter::HeaderErrors);
        };
        if self.is_for_us(context, packet.dst) {
            self.consume(context, header.src, &packet, payload);
            return Verdict::Consumed;
        }
        if header.dst.is_group() {
            // RFC 1812 section 5.3.4: what came by a link broadcast is not forwarded.
            return Verdict::dropped(Counter::NotForwarded);
        }
        self.forward(context, &packet, frame)
    }

    fn is_for_us(&self, context: &Context<'_>, dst: Ipv4Addr) -> bool {
        let is_ours = context.interfaces.iter().any(|port| port.ipv4.0 == dst);
        is_ours
            || dst.is_multicast()
            || dst == Ipv4Addr::BROADCAST
            || is_net_broadcast(context, dst)
    }

    /// RFC 826: a sender whose request is for us, or who is known, is noted; and answered.
    fn arp(&mut self, context: &mut Context<'_>, frame: &Frame) -> Verdict {
        let Ok((arp, _)) = arp::Repr::parse(&frame[HEADER_LEN..]) else {
            return Verdict::dropped(Counter::HeaderErrors);
        };
        let interface = *context.interface();
        let is_for_us = arp.target_ip == interface.ipv4.0;
        let is_known = self.neighbours.find(context.now, arp.sender_ip).is_some();
        if is_for_us || is_known {
            self.neighbours.learn(context.now, arp.sender_ip, context.port, arp.sender_mac);
        }
        if is_for_us && let Some(answer) = arp.answer(interface.mac) {
            context.answer(answer.frame(arp.sender_mac));
        }
        Verdict::Consumed
    }

    fn forward(&mut self, context: &mut Context<'_>, packet: &Repr, frame: &mut Frame) -> Verdict {
        let now = context.now;
        if packet.ttl <= 1 {
            return Verdict::dropped(Counter::HopsExceeded);
        }
        let (permitted, rules) = filter::decide(&self.filter, packet.src, packet.dst);
        if !permitted {
            return Verdict::Dropped { why: Counter::Filtered, rules };
        }
        let Some(route) = self.routes.find(now, packet.dst.to_bits().into()) else {
            return Verdict::Dropped { why: Counter::NoRoutes, rules };
        };
        let (port, next_hop) = (route.port, route.via.unwrap_or(packet.dst));
        let out = context.interfaces[usize::from(port.0)];
        let Some((_, mac)) = self.neighbours.find(now, next_hop) else {
            if self.neighbours.may_ask(now, next_hop) {
                let question = arp::Repr {
                    operation: arp::Operation::Request,
                    sender_mac: out.mac,
                    sender_ip: out.ipv4.0,
                    target_mac: MacAddr::ZERO,
                    target_ip: next_hop,
                };
                context.said.push((port, question.frame(MacAddr::BROADCAST).into()));
            }
            return Verdict::Dropped { why: Counter::NoNeighbours, rules };
        };
        ipv4::decrement_ttl(&mut frame.bytes[HEADER_LEN..]);
        readdress(frame, out.mac, mac);
        Verdict::Forward { to: port, rules }
    }

    /// What is for the router itself: echo requests are answered, RIP is believed.
    fn consume(&mut self, context: &mut Context<'_>, from: MacAddr, packet: &Repr, payload: &[u8]) {
        match packet.protocol {
            Protocol::ICMPV4 => {
                if let Some(answer) = echo(context, from, packet, payload) {
                    context.answer(answer);
                }
            }
            Protocol::UDP => {
                let Ok((udp, data)) = udp::Repr::parse(payload) else { return };
                if udp.dst_port == rip::PORT
                    && let Ok((message, _)) = rip::Repr::parse(data)
                {
                    self.believe(context, packet.src, &message);
                }
            }
            _ => {}
        }
    }

    /// RFC 2453 section 3.9.2, and of version 1 the networks by class (RFC 1058 section 3.2).
    fn believe(&mut self, context: &Context<'_>, from: Ipv4Addr, message: &rip::Repr) {
        if message.command != rip::Command::Response {
            return;
        }
        for entry in &message.entries {
            let length = match message.version {
                rip::Version::V1 => length_by_class(entry.network),
                rip::Version::V2 => entry.mask.to_bits().leading_ones() as u8,
            };
            let reachable = entry.metric < rip::UNREACHABLE;
            let via = if entry.next_hop.is_unspecified() { from } else { entry.next_hop };
            let gone_at = if reachable { context.now + RIP_TIMEOUT } else { context.now };
            let route = Route { port: context.port, via: Some(via), gone_at };
            self.routes.learn(context.now, entry.network.to_bits().into(), length, route);
        }
    }
}

fn is_net_broadcast(context: &Context<'_>, dst: Ipv4Addr) -> bool {
    let (address, length) = context.interface().ipv4;
    let hosts = u32::MAX.checked_shr(length.into()).unwrap_or(0);
    dst.to_bits() == address.to_bits() | hosts
}

fn length_by_class(network: Ipv4Addr) -> u8 {
    match network.octets()[0] {
        0..128 => 8,
        128..192 => 16,
        _ => 24,
    }
}

fn echo(context: &Context<'_>, from: MacAddr, packet: &Repr, payload: &[u8]) -> Option<Vec<u8>> {
    let (message, data) = icmpv4::Repr::parse(payload).ok()?;
    let icmpv4::Repr::EchoRequest { identifier, sequence } = message else { return None };
    let answer = icmpv4::Repr::EchoReply { identifier, sequence }.message(data);
    let ip = Repr::new(packet.dst, packet.src, Protocol::ICMPV4, answer.len() as u16);
    let ether_type = EtherType::IPV4;
    let header = ethernet::Repr { dst: from, src: context.interface().mac, ether_type };
    Some(header.frame(&ip.packet(&answer)))
}
