//! Routing IPv6 (RFC 8200) with neighbour discovery (RFC 4861).

use super::routes::{Route, RouteTable};
use super::{Context, RouterLimits, Verdict, readdress};
use crate::Frame;
use crate::composed::addresses::Addresses;
use crate::composed::counters::Counter;
use crate::composed::neighbours::Neighbours;
use std::net::{IpAddr, Ipv6Addr};
use trial::PortId;
use units::{Duration, Instant};
use wire::ethernet::{self, HEADER_LEN, MacAddr};
use wire::icmpv6::{self, ND_HOP_LIMIT};
use wire::ipv4::Protocol;
use wire::ipv6::{self, Repr};
use wire::rip::{self, Command};
use wire::{learning, ripng, udp};

/// RFC 2080 section 2.3.
const RIP_TIMEOUT: Duration = Duration::from_secs(180);

#[derive(Clone, Debug)]
pub(crate) struct Ipv6 {
    routes: RouteTable<Ipv6Addr>,
    neighbours: Neighbours<Ipv6Addr>,
}

impl Ipv6 {
    pub(crate) fn new(addresses: &Addresses, limits: &RouterLimits) -> Self {
        let mut routes = RouteTable::new(128, limits.routes);
        let ever = Instant::FAR_FUTURE;
        for (port, interface) in addresses.interfaces.iter().enumerate() {
            let (address, length) = interface.ipv6;
            let route = Route { port: PortId(port as u16), via: None, gone_at: ever };
            routes.configure(address.to_bits(), length, route);
        }
        for fixed in &addresses.routes {
            let (IpAddr::V6(network), IpAddr::V6(via)) = (fixed.network, fixed.via) else {
                continue;
            };
            let Some(attached) = routes.find(Instant::ZERO, via.to_bits()) else { continue };
            let route = Route { port: attached.port, via: Some(via), gone_at: ever };
            routes.configure(network.to_bits(), fixed.prefix_length, route);
        }
        Ipv6 { routes, neighbours: Neighbours::new(limits.neighbours) }
    }

    pub(crate) fn clear(&mut self) {
        self.neighbours.clear();
    }

    pub(crate) fn handle(
        &mut self,
        context: &mut Context<'_>,
        header: &ethernet::Repr,
        frame: &mut Frame,
    ) -> Verdict {
        let Ok((packet, payload)) = Repr::parse(&frame[HEADER_LEN..]) else {
            return Verdict::dropped(Counter::HeaderErrors);
        };
        let is_ours = context.interfaces.iter().any(|port| port.ipv6.0 == packet.dst);
        if is_ours || packet.dst.is_multicast() {
            self.consume(context, header.src, &packet, payload);
            return Verdict::Consumed;
        }
        if header.dst.is_group() {
            return Verdict::dropped(Counter::NotForwarded);
        }
        self.forward(context, &packet, frame)
    }

    fn forward(&mut self, context: &mut Context<'_>, packet: &Repr, frame: &mut Frame) -> Verdict {
        let now = context.now;
        if packet.hop_limit <= 1 {
            return Verdict::dropped(Counter::HopsExceeded);
        }
        let Some(route) = self.routes.find(now, packet.dst.to_bits()) else {
            return Verdict::dropped(Counter::NoRoutes);
        };
        let (port, next_hop) = (route.port, route.via.unwrap_or(packet.dst));
        let out = context.interfaces[usize::from(port.0)];
        let Some((_, mac)) = self.neighbours.find(now, next_hop) else {
            if self.neighbours.may_ask(now, next_hop) {
                let question = learning::neighbor_solicitation(out.mac, out.ipv6.0, next_hop);
                context.said.push((port, question.into()));
            }
            return Verdict::dropped(Counter::NoNeighbours);
        };
        ipv6::decrement_hop_limit(&mut frame.bytes[HEADER_LEN..]);
        readdress(frame, out.mac, mac);
        Verdict::Forward { to: port, rules: 0 }
    }

    /// RIPng (RFC 2080 section 2.4.2): a response from the link, of a link-local address.
    fn believe(&mut self, context: &Context<'_>, packet: &Repr, payload: &[u8]) {
        let Ok((udp, data)) = udp::Repr::parse(payload) else { return };
        let is_of_link = packet.src.is_unicast_link_local() && packet.hop_limit == 255;
        if (udp.src_port, udp.dst_port) != (ripng::PORT, ripng::PORT) || !is_of_link {
            return;
        }
        let Ok((message, _)) = ripng::Repr::parse(data) else { return };
        if message.command != Command::Response {
            return;
        }
        let mut via = packet.src;
        for entry in message.entries {
            match entry {
                ripng::Entry::NextHop(hop) if hop.is_unicast_link_local() => via = hop,
                ripng::Entry::NextHop(_) => via = packet.src,
                ripng::Entry::Route { network, prefix_len: length @ 0..=128, metric, .. } => {
                    let reachable = u32::from(metric) < rip::UNREACHABLE;
                    let gone_at = if reachable { context.now + RIP_TIMEOUT } else { context.now };
                    let route = Route { port: context.port, via: Some(via), gone_at };
                    self.routes.learn(context.now, network.to_bits(), length, route);
                }
                ripng::Entry::Route { .. } => {}
            }
        }
    }

    /// Neighbour discovery (RFC 4861 sections 7.2.3 and 7.2.5) and echo; RIPng.
    fn consume(&mut self, context: &mut Context<'_>, from: MacAddr, packet: &Repr, payload: &[u8]) {
        if packet.next_header == Protocol::UDP {
            return self.believe(context, packet, payload);
        }
        let is_good = packet.next_header == Protocol::ICMPV6
            && icmpv6::verify(packet.src, packet.dst, payload).is_ok();
        let Some((message, data)) = icmpv6::Repr::parse(payload).ok().filter(|_| is_good) else {
            return;
        };
        let interface = *context.interface();
        let ours = interface.ipv6.0;
        match &message {
            icmpv6::Repr::NeighborSolicitation { target, source_mac }
                if packet.hop_limit == ND_HOP_LIMIT && *target == ours =>
            {
                let mac = source_mac.unwrap_or(from);
                self.neighbours.learn(context.now, packet.src, context.port, mac);
                if let Some(answer) = message.answer(interface.mac) {
                    let (src, dst) = ((interface.mac, ours), (from, packet.src));
                    context.answer(learning::neighbor_discovery(src, dst, &answer));
                }
            }
            icmpv6::Repr::NeighborAdvertisement { target, target_mac, .. }
                if packet.hop_limit == ND_HOP_LIMIT =>
            {
                let mac = target_mac.unwrap_or(from);
                self.neighbours.learn(context.now, *target, context.port, mac);
            }
            icmpv6::Repr::EchoRequest { identifier, sequence } => {
                let (identifier, sequence) = (*identifier, *sequence);
                let reply = icmpv6::Repr::EchoReply { identifier, sequence };
                let answer = reply.message(packet.dst, packet.src, data);
                let len = answer.len() as u16;
                let ip = Repr::new(packet.dst, packet.src, Protocol::ICMPV6, len);
                let ether_type = ethernet::EtherType::IPV6;
                let header = ethernet::Repr { dst: from, src: interface.mac, ether_type };
                context.answer(header.frame(&ip.packet(&answer)));
            }
            _ => {}
        }
    }
}
