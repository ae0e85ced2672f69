//! Routing DECnet Phase IV between endnodes of one area: a node is where its hello came from.

use super::{Context, RouterLimits, Verdict, readdress};
use crate::Frame;
use crate::composed::addresses::Addresses;
use crate::composed::counters::Counter;
use crate::composed::neighbours::Neighbours;
use units::Duration;
use wire::decnet::{self, Address, Repr, data};
use wire::ethernet::{self, HEADER_LEN};

/// A node is gone after three of the intervals that its hello states (BCT3MULT).
const HELLO_MULTIPLIER: u64 = 3;

#[derive(Clone, Debug)]
pub(crate) struct Decnet {
    own: Address,
    adjacencies: Neighbours<Address>,
}

impl Decnet {
    pub(crate) fn new(addresses: &Addresses, limits: &RouterLimits) -> Self {
        Decnet { own: addresses.decnet, adjacencies: Neighbours::new(limits.neighbours) }
    }

    pub(crate) fn clear(&mut self) {
        self.adjacencies.clear();
    }

    pub(crate) fn handle(
        &mut self,
        context: &mut Context<'_>,
        header: &ethernet::Repr,
        frame: &mut Frame,
    ) -> Verdict {
        let Ok((message, _)) = Repr::parse(&frame[HEADER_LEN..]) else {
            return Verdict::dropped(Counter::HeaderErrors);
        };
        match message {
            Repr::EndnodeHello(hello) => {
                if hello.node.area() == self.own.area() {
                    let stays = Duration::from_secs(HELLO_MULTIPLIER * u64::from(hello.timer_s));
                    let (now, node, port) = (context.now, hello.node, context.port);
                    self.adjacencies.learn_until(now, now + stays, node, port, node.mac());
                }
                Verdict::Consumed
            }
            Repr::RouterHello(_) | Repr::Routing(_) => Verdict::Consumed,
            Repr::Data(packet) if packet.dst == self.own => Verdict::Consumed,
            Repr::Data(_) if header.dst.is_group() => Verdict::dropped(Counter::NotForwarded),
            Repr::Data(packet) => self.forward(context, &packet, frame),
        }
    }

    fn forward(
        &mut self,
        context: &mut Context<'_>,
        packet: &data::Repr,
        frame: &mut Frame,
    ) -> Verdict {
        let Some((port, mac)) = self.adjacencies.find(context.now, packet.dst) else {
            return Verdict::dropped(Counter::NoNeighbours);
        };
        if !decnet::count_visit(&mut frame.bytes[HEADER_LEN..], data::MAX_VISITS) {
            return Verdict::dropped(Counter::HopsExceeded);
        }
        readdress(frame, self.own.mac(), mac);
        Verdict::Forward { to: port, rules: 0 }
    }
}
