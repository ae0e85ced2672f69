//! Routing Novell IPX between attached networks and those that RIP tells of.

use super::routes::{Route, RouteTable};
use super::{Context, RouterLimits, Verdict, readdress};
use crate::Frame;
use crate::composed::addresses::Addresses;
use crate::composed::counters::Counter;
use trial::PortId;
use units::{Duration, Instant};
use wire::ethernet::{self, EtherType, HEADER_LEN, MacAddr};
use wire::ipx::{self, Kind, Repr, rip};
use wire::{llc, snap};

/// Three updates missed.
const RIP_TIMEOUT: Duration = Duration::from_secs(180);

#[derive(Clone, Debug)]
pub(crate) struct Ipx {
    networks: RouteTable<MacAddr>,
    configured: RouteTable<MacAddr>,
}

impl Ipx {
    pub(crate) fn new(addresses: &Addresses, limits: &RouterLimits) -> Self {
        let mut networks = RouteTable::new(32, limits.routes);
        for (port, interface) in addresses.interfaces.iter().enumerate() {
            let port = PortId(port as u16);
            let attached = Route { port, via: None, gone_at: Instant::FAR_FUTURE };
            networks.configure(interface.ipx_network.into(), 32, attached);
        }
        Ipx { configured: networks.clone(), networks }
    }

    pub(crate) fn clear(&mut self) {
        self.networks = self.configured.clone();
    }

    pub(crate) fn handle(
        &mut self,
        context: &mut Context<'_>,
        header: &ethernet::Repr,
        frame: &mut Frame,
    ) -> Verdict {
        let at = HEADER_LEN + encapsulation_len(header.ether_type, &frame[HEADER_LEN..]);
        let Some(Ok((packet, payload))) = frame.get(at..).map(Repr::parse) else {
            return Verdict::dropped(Counter::HeaderErrors);
        };
        if packet.dst.node == MacAddr::BROADCAST || header.dst.is_group() {
            if packet.kind == Kind::RIP {
                self.believe(context, header.src, payload);
            }
            return Verdict::Consumed;
        }
        let network = self.networks.find(context.now, packet.dst.network.into());
        let Some(route) = network else { return Verdict::dropped(Counter::NoRoutes) };
        let out = &context.interfaces[usize::from(route.port.0)];
        if route.via.is_none() && packet.dst.node == out.mac {
            return Verdict::Consumed;
        }
        let (to, mac) = (route.port, route.via.unwrap_or(packet.dst.node));
        if !ipx::count_hop(&mut frame.bytes[at..]) {
            return Verdict::dropped(Counter::HopsExceeded);
        }
        readdress(frame, out.mac, mac);
        Verdict::Forward { to, rules: 0 }
    }

    fn believe(&mut self, context: &Context<'_>, from: MacAddr, message: &[u8]) {
        let Ok((message, _)) = rip::Repr::parse(message) else { return };
        if message.operation != rip::Operation::Response {
            return;
        }
        for entry in &message.entries {
            let reachable = entry.hops < rip::UNREACHABLE;
            let gone_at = if reachable { context.now + RIP_TIMEOUT } else { context.now };
            let route = Route { port: context.port, via: Some(from), gone_at };
            self.networks.learn(context.now, entry.network.into(), 32, route);
        }
    }
}

/// Bytes between the Ethernet header and IPX's: one of the four encapsulations.
fn encapsulation_len(ether_type: EtherType, rest: &[u8]) -> usize {
    match ether_type {
        EtherType::IPX => 0,
        _ if rest.starts_with(&[0xff, 0xff]) => 0,
        _ if snap::Repr::parse(rest).is_ok() => snap::HEADER_LEN,
        _ => llc::HEADER_LEN,
    }
}
