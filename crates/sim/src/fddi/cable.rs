//! Tester and device on FDDI with tokens: one ring of both, or feed switches in between.
//!
//! Analyzers without full-duplex FDDI reach a full-duplex port through a feed switch, as in the tests of
//! DEC's GIGAswitch/FDDI: each of the tester's ports is a transmitter and a receiver on a ring each (T and
//! R), and one logical bridge domain joins both rings to a full-duplex link (FD) of the device:
//!
//! ```text
//! transmitter --T-- +--------+
//!        (ring)     | domain | ==FD== device
//! receiver ----R--- +--------+  (full duplex)
//! ```
//!
//! The domain bridges: what a frame's source shows to be on its rings does not reach the device.

use super::{Ring, RingCounts, STATION_LATENCY, StationSetup};
use crate::Frame;
use crate::link::Link;
use crate::medium::Way;
use crate::port::RingSetup;
use std::collections::BTreeSet;
use units::{Duration, Instant};
use wire::ethernet::{self, MacAddr};

/// The first station of each ring sends, or in a ring of both the tester.
const FIRST: usize = 0;

#[derive(Clone, Debug)]
pub(crate) struct RingCable {
    joined: Joined,
    ignores_token: bool,
}

#[derive(Clone, Debug)]
enum Joined {
    /// Tester and device on one ring.
    Shared(Ring),
    /// A feed switch in between.
    Fed(Box<Feed>),
}

/// A logical bridge domain of a feed switch and its links.
#[derive(Clone, Debug)]
struct Feed {
    transmit: Ring,
    receive: Ring,
    to_device: Link,
    to_tester: Link,
    /// Addresses behind the two rings.
    learned: BTreeSet<MacAddr>,
}

fn ring(setup: &RingSetup, fibre: Duration) -> Ring {
    let tester = StationSetup { bid: setup.ttrt, frames_per_token: setup.frames_per_token };
    let other = StationSetup { bid: setup.ttrt, frames_per_token: None };
    Ring::new(&[tester, other], STATION_LATENCY + fibre)
}

impl RingCable {
    pub(crate) fn shared(setup: &RingSetup, fibre: Duration) -> Self {
        RingCable { joined: Joined::Shared(ring(setup, fibre)), ignores_token: setup.ignores_token }
    }

    /// Through a feed switch, with full-duplex links to the device and from it.
    pub(crate) fn fed(setup: &RingSetup, fibre: Duration, links: (Link, Link)) -> Self {
        let freely = RingSetup { frames_per_token: None, ..*setup };
        let joined = Joined::Fed(Box::new(Feed {
            transmit: ring(setup, fibre),
            receive: ring(&freely, fibre),
            to_device: links.0,
            to_tester: links.1,
            learned: BTreeSet::new(),
        }));
        RingCable { joined, ignores_token: setup.ignores_token }
    }

    /// The ring on which the tester sends.
    fn of_tester(&mut self) -> &mut Ring {
        match &mut self.joined {
            Joined::Shared(ring) => ring,
            Joined::Fed(feed) => &mut feed.transmit,
        }
    }

    /// A tester that ignores the token where it must intends to send a frame each `interval`.
    pub(crate) fn intends(&mut self, interval: Duration) {
        if self.ignores_token {
            self.of_tester().overruns_after(FIRST, interval);
        }
    }

    /// What the ring on which the tester sends has counted.
    pub(crate) fn counts(&self) -> RingCounts {
        match &self.joined {
            Joined::Shared(ring) => ring.counts(),
            Joined::Fed(feed) => feed.transmit.counts(),
        }
    }

    pub(crate) fn free_at(&self, way: Way, now: Instant) -> Instant {
        match (&self.joined, way) {
            (Joined::Shared(ring), _) => ring.free_at(way as usize, now),
            (Joined::Fed(feed), Way::ToDevice) => feed.transmit.free_at(FIRST, now),
            (Joined::Fed(feed), Way::ToTester) => feed.to_tester.free_at(),
        }
    }

    pub(crate) fn send(&mut self, way: Way, now: Instant, frame: Frame) {
        match (&mut self.joined, way) {
            (Joined::Shared(ring), _) => ring.send(way as usize, now, frame),
            (Joined::Fed(feed), Way::ToDevice) => feed.transmit.send(FIRST, now, frame),
            (Joined::Fed(feed), Way::ToTester) => feed.to_tester.send(now, frame),
        }
    }

    /// Frames of one way that have not arrived: on rings and links, and between them.
    pub(crate) fn waiting(&self, way: Way) -> u64 {
        match (&self.joined, way) {
            (Joined::Shared(ring), _) => ring.waiting(way as usize),
            (Joined::Fed(feed), Way::ToDevice) => {
                feed.transmit.waiting(FIRST) + feed.to_device.in_flight()
            }
            (Joined::Fed(feed), Way::ToTester) => {
                feed.to_tester.in_flight() + feed.receive.waiting(FIRST)
            }
        }
    }

    /// Takes back what the tester still waits for a token with; how many frames.
    pub(crate) fn withdraw(&mut self) -> u64 {
        self.of_tester().withdraw(FIRST)
    }

    pub(crate) fn next_event(&self) -> Option<Instant> {
        match &self.joined {
            Joined::Shared(ring) => ring.next_event(),
            Joined::Fed(feed) => {
                let rings = [&feed.transmit, &feed.receive].map(Ring::next_event);
                let links = [&feed.to_device, &feed.to_tester].map(Link::next_arrival);
                rings.into_iter().chain(links).flatten().min()
            }
        }
    }

    pub(crate) fn receive(&mut self, way: Way, now: Instant) -> Option<(Instant, Frame)> {
        match (&mut self.joined, way) {
            (Joined::Shared(ring), _) => ring.receive(way as usize, now),
            (Joined::Fed(feed), Way::ToDevice) => {
                feed.pass_on(now);
                feed.to_device.receive(now)
            }
            (Joined::Fed(feed), Way::ToTester) => {
                feed.pass_on(now);
                feed.receive.receive(FIRST, now)
            }
        }
    }
}

impl Feed {
    fn pass_on(&mut self, now: Instant) {
        while let Some((at, frame)) = self.transmit.receive(FIRST, now) {
            let Some(header) = ethernet::View::peek(&frame.bytes) else { continue };
            self.learned.insert(header.src());
            match self.learned.contains(&header.dst()) {
                true => self.receive.send(FIRST, at, frame),
                false => self.to_device.send(at, frame),
            }
        }
        while let Some((at, frame)) = self.to_tester.receive(now) {
            self.receive.send(FIRST, at, frame);
        }
    }
}
