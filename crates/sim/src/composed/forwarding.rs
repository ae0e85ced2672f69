//! Where a frame goes: by its addresses, or by the port it came in at.

use super::bridge::LearningTable;
use super::counters::Counter;
use super::description::Protocol;
use super::filter::FilterRule;
use super::multicast::{Copies, Medium, Multicast, Outcome};
use super::router::{Router, Verdict};
use crate::Frame;
use crate::device::partner;
use trial::PortId;
use units::Instant;
use wire::ethernet::{self, MacAddr};

/// What was decided of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Decision {
    /// Ports where it leaves, a bit each; none where it is dropped or was for the device itself.
    pub to: u64,
    pub protocol: Protocol,
    /// Filter rules looked at.
    pub rules: u64,
    /// Why it is dropped, if it is.
    pub dropped: Option<Counter>,
    /// Where copies leave by what, where it is for a multicast group that somebody asked for.
    pub copies: Option<Copies>,
    /// It came in a tunnel and was taken out of it.
    pub decapsulated: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Forwarding {
    /// Ports are joined in pairs.
    Pairs,
    /// By addresses: what is the router's business is routed, the rest bridged.
    Tables {
        multicast: Option<Box<Multicast>>,
        router: Option<Box<Router>>,
        bridge: Option<LearningTable>,
        all_ports: u64,
    },
}

/// A bridge forwards nothing that is sent to these (IEEE 802.1D clause 7.12.6):
/// 01-80-C2-00-00-00 to -0F.
const RESERVED: u64 = 0x0180_c200_0000;

impl Forwarding {
    /// Decides over a frame, of a protocol that may be routed or of none, and rewrites it where it
    /// is.
    #[inline]
    pub(crate) fn decide(
        &mut self,
        now: Instant,
        port: PortId,
        protocol: Option<Protocol>,
        frame: &mut Frame,
        said: &mut Vec<(PortId, Frame)>,
    ) -> Decision {
        let bridged = Decision::bridged();
        let Forwarding::Tables { multicast, router, bridge, all_ports } = self else {
            return Decision { to: 1 << partner(port).0, ..bridged };
        };
        if let Some(multicast) = multicast {
            let before = frame.bytes.len();
            let outcome = multicast.handle(now, port, frame, said);
            let decapsulated = frame.bytes.len() != before;
            if outcome != Outcome::NotOurs {
                learn_source(now, bridge, frame, port);
            }
            let ours = Decision { protocol: protocol.unwrap_or(Protocol::Bridged), ..bridged };
            match outcome {
                Outcome::NotOurs => {}
                Outcome::Heard => return ours,
                Outcome::Dropped(why) => return Decision { dropped: Some(why), ..ours },
                Outcome::Copied(copies) => {
                    return Decision {
                        to: copies.ports(),
                        copies: Some(copies),
                        decapsulated,
                        ..ours
                    };
                }
            }
        }
        let routed = match (router, protocol) {
            (Some(router), Some(protocol)) => router.handle(now, port, protocol, frame, said),
            _ => None,
        };
        if let Some((protocol, verdict)) = routed {
            let none = Decision { protocol, ..bridged };
            return match verdict {
                Verdict::Forward { to, rules } => Decision { to: 1 << to.0, rules, ..none },
                Verdict::Consumed => none,
                Verdict::Dropped { why, rules } => Decision { rules, dropped: Some(why), ..none },
            };
        }
        let not_forwarded = Decision { dropped: Some(Counter::NotForwarded), ..bridged };
        let Some(table) = bridge else { return not_forwarded };
        let Ok((header, _)) = ethernet::Repr::parse(frame) else { return not_forwarded };
        table.learn(now, header.src, port);
        match table.find(now, header.dst) {
            _ if is_reserved(header.dst) => not_forwarded,
            Some(to) if to == port => not_forwarded,
            Some(to) => Decision { to: 1 << to.0, ..bridged },
            None => Decision { to: *all_ports & !(1 << port.0), ..bridged },
        }
    }

    /// A copy of a frame of a multicast group as it leaves at a port; `None` where the other end of
    /// its tunnel is not known.
    pub(crate) fn copy(&self, medium: Medium, port: PortId, frame: Frame) -> Option<Frame> {
        match self {
            Forwarding::Tables { multicast: Some(multicast), .. } => {
                multicast.copy(medium, port, frame)
            }
            _ => Some(frame),
        }
    }

    /// When the device asks for members of groups next.
    pub(crate) fn next_query(&self) -> Instant {
        let next = match self {
            Forwarding::Tables { multicast: Some(multicast), .. } => multicast.next_query(),
            _ => None,
        };
        next.unwrap_or(Instant::FAR_FUTURE)
    }

    /// Its general queries that are due, and when they are.
    pub(crate) fn due_queries(&mut self, now: Instant) -> Option<(Instant, Vec<(PortId, Frame)>)> {
        match self {
            Forwarding::Tables { multicast: Some(multicast), .. } => multicast.due_queries(now),
            _ => None,
        }
    }

    /// Replaces the filter rules; false where nothing here filters.
    pub(crate) fn set_filter(&mut self, rules: Vec<FilterRule>) -> bool {
        match self {
            Forwarding::Tables { router: Some(router), .. } => router.set_filter(rules),
            _ => false,
        }
    }

    /// Forgets everything learned.
    pub(crate) fn clear(&mut self) {
        if let Forwarding::Tables { multicast, router, bridge, .. } = self {
            multicast.iter_mut().for_each(|multicast| multicast.clear());
            router.iter_mut().for_each(|router| router.clear());
            bridge.iter_mut().for_each(LearningTable::clear);
        }
    }
}

impl Decision {
    const fn bridged() -> Self {
        Decision {
            to: 0,
            protocol: Protocol::Bridged,
            rules: 0,
            dropped: None,
            copies: None,
            decapsulated: false,
        }
    }
}

/// What bridges learn from every frame, whatever becomes of it.
fn learn_source(now: Instant, bridge: &mut Option<LearningTable>, frame: &Frame, port: PortId) {
    let Some(table) = bridge else { return };
    if let Ok((header, _)) = ethernet::Repr::parse(frame) {
        table.learn(now, header.src, port);
    }
}

fn is_reserved(mac: MacAddr) -> bool {
    mac.to_u64() & !0xf == RESERVED
}
