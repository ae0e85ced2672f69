//! Routing AppleTalk Phase 2 between attached networks, with AARP.

use super::{Context, RouterLimits, Verdict, readdress};
use crate::Frame;
use crate::composed::counters::Counter;
use crate::composed::neighbours::Neighbours;
use trial::PortId;
use wire::appletalk::{Address, aarp, ddp};
use wire::ethernet::{self, HEADER_LEN};
use wire::snap::{self, Oui};

/// Where the datagram stands in a frame.
const DDP: usize = HEADER_LEN + snap::HEADER_LEN;

#[derive(Clone, Debug)]
pub(crate) struct AppleTalk {
    neighbours: Neighbours<Address>,
}

impl AppleTalk {
    pub(crate) fn new(limits: &RouterLimits) -> Self {
        AppleTalk { neighbours: Neighbours::new(limits.neighbours) }
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
        let rest = header.ether_type.cut_padding(&frame[HEADER_LEN..]);
        let Ok((snap, datagram)) = rest.and_then(snap::Repr::parse) else {
            return Verdict::dropped(Counter::HeaderErrors);
        };
        if snap.oui != Oui::APPLE {
            return self.aarp(context, datagram);
        }
        let Ok((packet, payload)) = ddp::Repr::parse(datagram) else {
            return Verdict::dropped(Counter::HeaderErrors);
        };
        if ddp::verify(&datagram[..ddp::HEADER_LEN + payload.len()]).is_err() {
            return Verdict::dropped(Counter::HeaderErrors);
        }
        let dst = packet.dst.address;
        let is_ours = context.interfaces.iter().any(|port| port.appletalk == dst);
        if is_ours || dst.network == 0 || dst.node == Address::LOCAL_BROADCAST.node {
            return Verdict::Consumed;
        }
        if header.dst.is_group() {
            return Verdict::dropped(Counter::NotForwarded);
        }
        self.forward(context, dst, frame)
    }

    /// A request for us, or from somebody known, tells where its sender is; responses do always;
    /// a probe of a known address makes it uncertain again.
    fn aarp(&mut self, context: &mut Context<'_>, packet: &[u8]) -> Verdict {
        let Ok((aarp, _)) = aarp::Repr::parse(packet) else {
            return Verdict::dropped(Counter::HeaderErrors);
        };
        let interface = *context.interface();
        if aarp.function != aarp::Function::Probe {
            self.neighbours.learn(context.now, aarp.sender, context.port, aarp.sender_mac);
        }
        if aarp.target == interface.appletalk
            && let Some(answer) = aarp.answer(interface.mac)
        {
            context.answer(answer.frame());
        }
        Verdict::Consumed
    }

    fn forward(&mut self, context: &mut Context<'_>, dst: Address, frame: &mut Frame) -> Verdict {
        let mut ports = context.interfaces.iter().enumerate();
        let attached = ports.find(|(_, port)| port.appletalk.network == dst.network);
        let Some((port, out)) = attached else { return Verdict::dropped(Counter::NoRoutes) };
        let port = PortId(port as u16);
        let Some((_, mac)) = self.neighbours.find(context.now, dst) else {
            if self.neighbours.may_ask(context.now, dst) {
                let question = aarp::Repr::request(out.mac, out.appletalk, dst);
                context.said.push((port, question.frame().into()));
            }
            return Verdict::dropped(Counter::NoNeighbours);
        };
        if !ddp::count_hop(&mut frame.bytes[DDP..]) {
            return Verdict::dropped(Counter::HopsExceeded);
        }
        readdress(frame, out.mac, mac);
        Verdict::Forward { to: port, rules: 0 }
    }
}
