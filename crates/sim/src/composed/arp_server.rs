//! A switch that answers ARP requests for others: who is where it has learned from their own
//! requests, and what it knows need not be asked of the whole network.

use super::description;
use crate::Frame;
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use trial::PortId;
use units::{Duration, Instant};
use wire::arp::{self, Operation};
use wire::ethernet::MacAddr;

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    /// The server answers it.
    Taken,
    /// It would, but too many wait.
    NoRoom,
    /// It is none of its business: not ARP, or nobody that it knows.
    NotServed,
}

#[derive(Clone, Debug)]
pub(crate) struct ArpServer {
    per_request: Duration,
    /// Requests that may wait, the one in service not counted.
    room: u64,
    entries: u64,
    known: BTreeMap<Ipv4Addr, (MacAddr, PortId)>,
    /// Responses, and when each will be ready.
    ready: VecDeque<(Instant, PortId, Frame)>,
}

impl ArpServer {
    pub(crate) fn new(plan: &description::ArpServer) -> Self {
        ArpServer {
            per_request: plan.per_request.0,
            room: plan.requests.unwrap_or(u64::MAX),
            entries: plan.entries.unwrap_or(u64::MAX),
            known: BTreeMap::new(),
            ready: VecDeque::new(),
        }
    }

    /// Looks at a frame that came in.
    pub(crate) fn handle(&mut self, now: Instant, port: PortId, frame: &[u8]) -> Request {
        let Some(request) = request_of(frame) else { return Request::NotServed };
        let is_new = !self.known.contains_key(&request.sender_ip);
        if !is_new || (self.known.len() as u64) < self.entries {
            self.known.insert(request.sender_ip, (request.sender_mac, port));
        }
        let Some((mac, at)) = self.known.get(&request.target_ip).copied() else {
            return Request::NotServed;
        };
        if at == port {
            return Request::NotServed;
        }
        let unserved = self.ready.iter().filter(|(ready, ..)| *ready > now).count() as u64;
        if unserved > self.room {
            return Request::NoRoom;
        }
        let begins = self.ready.back().map_or(now, |(ready, ..)| now.max(*ready));
        let reply = arp::Repr {
            operation: Operation::Reply,
            sender_mac: mac,
            sender_ip: request.target_ip,
            target_mac: request.sender_mac,
            target_ip: request.sender_ip,
        };
        let frame = reply.frame(request.sender_mac);
        self.ready.push_back((begins + self.per_request, port, frame.into()));
        Request::Taken
    }

    /// The next response that is ready by now.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<(PortId, Frame)> {
        self.ready.front().filter(|(ready, ..)| *ready <= now)?;
        self.ready.pop_front().map(|(_, port, frame)| (port, frame))
    }

    /// When the next response will be ready.
    pub(crate) fn next_ready(&self) -> Instant {
        self.ready.front().map_or(Instant::FAR_FUTURE, |(ready, ..)| *ready)
    }

    pub(crate) fn clear(&mut self) {
        self.known.clear();
        self.ready.clear();
    }
}

fn request_of(frame: &[u8]) -> Option<arp::Repr> {
    let (header, packet) = wire::ethernet::Repr::parse(frame).ok()?;
    let is_arp = header.ether_type == wire::ethernet::EtherType::ARP;
    let (repr, _) = is_arp.then(|| arp::Repr::parse(packet).ok()).flatten()?;
    (repr.operation == Operation::Request).then_some(repr)
}
