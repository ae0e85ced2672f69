//! A router of many protocols: which frames are its business, and what becomes of them.

mod appletalk;
mod decnet;
mod ipv4;
mod ipv6;
mod ipx;
mod routes;

use super::addresses::{Addresses, Interface};
use super::counters::Counter;
use super::description::Protocol;
use super::filter::FilterRule;
use super::neighbours::TableLimits;
use crate::Frame;
use trial::PortId;
use units::Instant;
use wire::ethernet::{self, EtherType, MacAddr};
use wire::llc::{self, Sap};
use wire::snap::{self, Oui};

/// What becomes of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It leaves, rewritten, at this port; so many filter rules were looked at.
    Forward { to: PortId, rules: u64 },
    /// It was for the router itself.
    Consumed,
    /// It is dropped, and counted so; so many filter rules were looked at.
    Dropped { why: Counter, rules: u64 },
}

impl Verdict {
    const fn dropped(why: Counter) -> Self {
        Verdict::Dropped { why, rules: 0 }
    }
}

/// What a protocol's router is told along with a frame, and where it leaves what it says itself.
pub(crate) struct Context<'a> {
    pub now: Instant,
    /// Where the frame came in.
    pub port: PortId,
    pub interfaces: &'a [Interface],
    /// Frames of the router's own: answers and questions.
    pub said: &'a mut Vec<(PortId, Frame)>,
}

impl Context<'_> {
    fn interface(&self) -> &Interface {
        &self.interfaces[usize::from(self.port.0)]
    }
    fn answer(&mut self, frame: Vec<u8>) {
        self.said.push((self.port, frame.into()));
    }
}

/// Bounds of the router's tables.
#[derive(Clone, Debug)]
pub(crate) struct RouterLimits {
    pub neighbours: TableLimits,
    /// Routes learned from routing updates.
    pub routes: u64,
}

/// The protocols that it routes.
#[derive(Clone, Debug)]
pub(crate) struct Router {
    interfaces: Vec<Interface>,
    /// Heard on every port beside the port's own: the one that DECnet asks of a node.
    decnet_mac: Option<MacAddr>,
    ipv4: Option<ipv4::Ipv4>,
    ipv6: Option<ipv6::Ipv6>,
    decnet: Option<decnet::Decnet>,
    appletalk: Option<appletalk::AppleTalk>,
    ipx: Option<ipx::Ipx>,
}

impl Router {
    pub(crate) fn new(
        protocols: &[Protocol],
        addresses: &Addresses,
        limits: &RouterLimits,
        filter: Vec<FilterRule>,
    ) -> Self {
        let has = |protocol| protocols.contains(&protocol);
        Router {
            ipv4: has(Protocol::Ipv4).then(|| ipv4::Ipv4::new(addresses, limits, filter)),
            ipv6: has(Protocol::Ipv6).then(|| ipv6::Ipv6::new(addresses, limits)),
            decnet: has(Protocol::Decnet).then(|| decnet::Decnet::new(addresses, limits)),
            appletalk: has(Protocol::Appletalk).then(|| appletalk::AppleTalk::new(limits)),
            ipx: has(Protocol::Ipx).then(|| ipx::Ipx::new(addresses, limits)),
            interfaces: addresses.interfaces.clone(),
            decnet_mac: has(Protocol::Decnet).then(|| addresses.decnet.mac()),
        }
    }

    /// What becomes of a frame of this protocol; `None` where it is none of the router's business.
    #[inline]
    pub(crate) fn handle(
        &mut self,
        now: Instant,
        port: PortId,
        protocol: Protocol,
        frame: &mut Frame,
        said: &mut Vec<(PortId, Frame)>,
    ) -> Option<(Protocol, Verdict)> {
        let (header, _) = ethernet::Repr::parse(frame).ok()?;
        let interface = self.interfaces.get(usize::from(port.0))?;
        let is_ours = header.dst == interface.mac || Some(header.dst) == self.decnet_mac;
        if !is_ours && !header.dst.is_group() {
            return None;
        }
        let mut context = Context { now, port, interfaces: &self.interfaces, said };
        let context = &mut context;
        let verdict = match protocol {
            Protocol::Ipv4 => self.ipv4.as_mut()?.handle(context, &header, frame),
            Protocol::Ipv6 => self.ipv6.as_mut()?.handle(context, &header, frame),
            Protocol::Decnet => self.decnet.as_mut()?.handle(context, &header, frame),
            Protocol::Appletalk => self.appletalk.as_mut()?.handle(context, &header, frame),
            Protocol::Ipx => self.ipx.as_mut()?.handle(context, &header, frame),
            Protocol::Bridged => return None,
        };
        Some((protocol, verdict))
    }

    /// Replaces the filter rules; false where no IPv4 is routed.
    pub(crate) fn set_filter(&mut self, rules: Vec<FilterRule>) -> bool {
        self.ipv4.iter_mut().for_each(|ipv4| ipv4.set_filter(rules.clone()));
        self.ipv4.is_some()
    }

    /// Forgets everything learned, as on a restart.
    pub(crate) fn clear(&mut self) {
        self.ipv4.iter_mut().for_each(ipv4::Ipv4::clear);
        self.ipv6.iter_mut().for_each(ipv6::Ipv6::clear);
        self.decnet.iter_mut().for_each(decnet::Decnet::clear);
        self.appletalk.iter_mut().for_each(appletalk::AppleTalk::clear);
        self.ipx.iter_mut().for_each(ipx::Ipx::clear);
    }
}

/// Which protocol a frame is of; `None` for those that no device here routes.
#[inline]
pub(crate) fn protocol_of_frame(frame: &[u8]) -> Option<Protocol> {
    protocol_of(ethernet::View::peek(frame)?)
}

/// The same: by its type, or by what follows its length.
#[inline]
fn protocol_of(frame: ethernet::View<&[u8]>) -> Option<Protocol> {
    match frame.ether_type() {
        EtherType::IPV4 | EtherType::ARP => Some(Protocol::Ipv4),
        EtherType::IPV6 => Some(Protocol::Ipv6),
        EtherType::DECNET => Some(Protocol::Decnet),
        EtherType::IPX => Some(Protocol::Ipx),
        length if length.is_length() => protocol_of_802_3(frame.payload()),
        _ => None,
    }
}

fn protocol_of_802_3(rest: &[u8]) -> Option<Protocol> {
    if rest.starts_with(&wire::ipx::NO_CHECKSUM.to_be_bytes()) {
        return Some(Protocol::Ipx);
    }
    if let Ok((snap, _)) = snap::Repr::parse(rest) {
        return match (snap.oui, snap.protocol) {
            (Oui::APPLE, EtherType::APPLETALK) | (Oui::ETHERTYPE, EtherType::AARP) => {
                Some(Protocol::Appletalk)
            }
            (Oui::ETHERTYPE, EtherType::IPX) => Some(Protocol::Ipx),
            _ => None,
        };
    }
    let (llc, _) = llc::Repr::parse(rest).ok()?;
    (llc == llc::Repr::datagram(Sap::IPX)).then_some(Protocol::Ipx)
}

/// Sends a frame, which has its header, on from this station to that one.
#[inline]
fn readdress(frame: &mut Frame, src: MacAddr, dst: MacAddr) {
    let mut header = ethernet::View::new_unchecked(&mut frame.bytes);
    header.set_dst(dst);
    header.set_src(src);
}
