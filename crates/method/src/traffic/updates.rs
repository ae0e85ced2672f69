//! What hosts say beside the test frames so that the device goes on knowing them: routing updates before
//! each trial (RFC 2544 section 13), and updates and keep-alives again in long trials.

use super::{Destinations, Forwarding, KEEP_ALIVE_FPS, Traffic};
use crate::protocol::Protocol;
use std::net::{Ipv4Addr, Ipv6Addr};
use trial::{
    Expectation, Insertion, PortLoad, Prelude, Role, Schedule, Segment, Stream, StreamFrame,
    StreamId, Trigger,
};
use units::{Duration, FrameRate};
use wire::ethernet::MacAddr;
use wire::rip::{self, RFC2544_METRIC};
use wire::{ipv6, learning, ripng};

/// RIP sends its table so often (RFC 2544 appendix C.2.3, RFC 2453 section 3.8, RFC 2080 section 2.3).
const INTERVAL: Duration = Duration::from_secs(30);
/// From one message of an update to the next: routing daemons lose what comes in bursts.
const BETWEEN_MESSAGES: Duration = Duration::from_ms(5);
/// Of the network between tester and device; version 2 has no use for it.
const LINK_PREFIX_LEN: u8 = 24;
/// Of the networks behind a port, unless others are asked for.
const USUAL_PREFIX_IPV6: u8 = 64;
const UPDATES: &str = "routing updates";

/// Frames that a port says again and again while a trial lasts.
struct Again {
    name: &'static str,
    frames: Vec<Vec<u8>>,
    period: Duration,
}

/// A question that tells the device the link-local address of a host.
fn link_local(mac: MacAddr, device: Ipv6Addr) -> Vec<u8> {
    learning::neighbor_solicitation(mac, ipv6::link_local(mac), device)
}

impl Traffic {
    /// Whether the device is told of the networks behind its ports.
    fn announces(&self) -> bool {
        self.config.routing_updates
            && self.config.destinations == Destinations::Random
            && self.topology.forwarding == Forwarding::Routed
    }

    /// In words, where there are updates.
    pub(super) fn updates_in_words(&self) -> Option<String> {
        let name =
            |protocol: &Protocol| if *protocol == Protocol::UdpIpv6 { "RIPng" } else { "RIP" };
        let names: Vec<&str> = self.config.protocols().iter().map(name).collect();
        self.announces()
            .then(|| format!("routing updates ({}) before each trial", names.join(", ")))
    }

    /// The update that a port's end host sends: all networks behind it, the host their next hop.
    fn update(&self, port: usize) -> Vec<Vec<u8>> {
        if !self.announces() {
            return vec![];
        }
        let of = |protocol: Protocol| match protocol {
            Protocol::UdpIpv6 => self.update_ipv6(port),
            _ => self.update_ipv4(port),
        };
        let frames = self.config.protocols().into_iter().flat_map(of);
        frames.map(|frame| self.tagged(frame)).collect()
    }

    /// By RIP version 2.
    fn update_ipv4(&self, port: usize) -> Vec<Vec<u8>> {
        let host = &self.topology.ports[port];
        let length = host.network_prefix_ipv4;
        let network =
            |bits: u128| (rip::network_of(Ipv4Addr::from_bits(bits as u32), length), length);
        let networks: Vec<_> =
            self.hosts(Protocol::UdpIpv4, host).into_iter().map(network).collect();
        let from = (host.mac, host.host_ipv4);
        rip::update_frames(rip::Version::V2, from, LINK_PREFIX_LEN, &networks, RFC2544_METRIC)
            .expect("version 2 has prefixes of any length, and the hops are few")
    }

    /// By RIPng. The next hop is the host's link-local address, so the device is told of that first.
    fn update_ipv6(&self, port: usize) -> Vec<Vec<u8>> {
        let host = &self.topology.ports[port];
        let length = self.config.ipv6_prefixes.first().copied().unwrap_or(USUAL_PREFIX_IPV6);
        let hosts = self.hosts(Protocol::UdpIpv6, host).into_iter();
        let networks: Vec<_> = hosts.map(|bits| (Ipv6Addr::from_bits(bits), length)).collect();
        let told = link_local(host.mac, host.device_ipv6);
        let update = ripng::update_frames(host.mac, &networks, RFC2544_METRIC);
        std::iter::once(told).chain(update.expect("the hops are few")).collect()
    }

    /// Before the learning frames (RFC 2544 section 23 a).
    pub(super) fn routing_prelude(&self) -> Vec<Prelude> {
        let mut prelude = vec![];
        for index in self.receiving() {
            let port = self.topology.ports[index].port;
            let messages = self.update(index).into_iter();
            prelude.extend(messages.map(|frame| Prelude {
                port,
                frames: vec![frame],
                wait: BETWEEN_MESSAGES,
            }));
        }
        if let Some(last) = prelude.last_mut() {
            last.wait = self.routing_wait;
        }
        prelude
    }

    /// What a port that sends test frames, too, mixes in among them in a trial longer than the
    /// interval: one message after the other, each again after an interval.
    pub(super) fn updates_among(
        &self,
        port: usize,
        schedule: &Schedule,
    ) -> Option<(Stream, Insertion)> {
        let is_due = schedule.duration() > INTERVAL && self.receiving().contains(&port);
        let frames = if is_due { self.update(port) } else { vec![] };
        let every = INTERVAL.as_ps().checked_div(frames.len() as u64).map(Duration::from_ps)?;
        let id = self.keep_alive_id(self.topology.ports[port].port.0);
        let stream = self.said(port, id, UPDATES, frames);
        let trigger = Trigger::Interval { first: every, every };
        Some((stream, Insertion { stream: id, trigger }))
    }

    /// In a trial longer than a device need remember a host, or its routes: keep-alives and updates,
    /// again and again, out of the ports that only receive.
    pub(super) fn said_again(&self, schedule: &Schedule) -> Vec<(Stream, PortLoad)> {
        let sends = |port: &usize| self.turns.iter().any(|turn| turn.from == *port);
        let receivers = self.receiving().into_iter().filter(|port| !sends(port));
        let due = receivers.filter_map(|port| Some((port, self.again(port, schedule.duration())?)));
        due.map(|(index, Again { name, frames, period })| {
            let port = self.topology.ports[index].port;
            let id = self.keep_alive_id(port.0);
            let count = frames.len() as u64;
            let times = schedule.duration().as_ps().div_ceil(period.as_ps());
            let rate = FrameRate::from_fps(KEEP_ALIVE_FPS);
            let segment = Segment::bursty(rate, count, period, count * times);
            let schedule = Schedule { segments: vec![segment] };
            let load = PortLoad { port, schedule, order: vec![id], insertions: vec![] };
            (self.said(index, id, name, frames), load)
        })
        .collect()
    }

    /// Both together go by the shorter period of the two.
    fn again(&self, port: usize, lasts: Duration) -> Option<Again> {
        let alive = self.keep_alive(port);
        let alive = (self.keep_alives && lasts > alive.period).then_some(Again {
            name: "keep-alives",
            frames: alive.frames,
            period: alive.period,
        });
        let update = if lasts > INTERVAL { self.update(port) } else { vec![] };
        if update.is_empty() {
            return alive;
        }
        let Some(mut both) = alive else {
            return Some(Again { name: UPDATES, frames: update, period: INTERVAL });
        };
        both.frames.extend(update);
        let period = both.period.min(INTERVAL);
        Some(Again { name: "keep-alives and routing updates", period, ..both })
    }

    fn said(&self, port: usize, id: StreamId, name: &str, frames: Vec<Vec<u8>>) -> Stream {
        Stream {
            id,
            name: name.into(),
            role: Role::Modifier,
            from: self.topology.ports[port].port,
            expect: Expectation::Unchecked,
            frames: frames.into_iter().map(|bytes| StreamFrame { bytes, form: None }).collect(),
            fingerprint: None,
            given_up: vec![],
            bad_fcs: false,
            grows_by_bytes: 0,
        }
    }
}
