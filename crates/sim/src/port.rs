//! A port of the simulated tester and the link behind it.

use crate::Frame;
use crate::fddi::{self, RingCable, RingCounts};
use crate::link::{Link, Pace};
use crate::medium::{MacCounts, SharedMedium, Uncarried, Way};
use serde::{Deserialize, Serialize};
use trial::{ArrivalStamp, Capabilities, PortDescription, PortId};
use units::{Duration, FrameSize, Instant, LineRate};

/// Whether both ends may send at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplex {
    /// They may.
    #[default]
    Full,
    /// They share the medium (CSMA/CD).
    Half,
}

/// What a link is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// Ethernet.
    #[default]
    Ethernet,
    /// FDDI: full duplex between two stations without a token, or half duplex on a ring with one.
    Fddi,
}

/// The rings of FDDI with tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingSetup {
    /// What stations bid for the target token rotation time.
    pub ttrt: Duration,
    /// Frames that the tester sends by one token at most.
    pub frames_per_token: Option<u32>,
    /// The tester keeps its own time: a whole interval behind, it begins without the token.
    pub ignores_token: bool,
    /// Whether feed switches join the tester's rings to full-duplex links of the device.
    pub fed: bool,
}

impl Default for RingSetup {
    fn default() -> Self {
        RingSetup { ttrt: fddi::TTRT, frames_per_token: None, ignores_token: false, fed: false }
    }
}

/// A port of the simulated tester and the link behind it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SimPort {
    /// Ethernet, or FDDI.
    pub medium: Medium,
    /// Of FDDI with tokens.
    pub ring: RingSetup,
    /// Nominal rate of the link.
    pub line_rate: LineRate,
    /// Whether frames take their time at that rate; false for a virtual link.
    pub line_rate_is_physical: bool,
    /// One way, between tester and device.
    pub propagation: Duration,
    /// Who may send when.
    pub duplex: Duplex,
    /// The shortest gap, from the end of a frame to the next one's preamble, that the tester can
    /// send with; the legal minimum of 96 bit times where that is longer.
    pub min_gap: Duration,
    /// The gap in bytes in place of the legal 12, if the tester can send with another.
    pub tester_gap_bytes: u32,
    /// The same of the device.
    pub device_gap_bytes: u32,
}

impl SimPort {
    /// A link on which frames take their time.
    pub const fn physical(line_rate: LineRate) -> Self {
        SimPort {
            medium: Medium::Ethernet,
            ring: RingSetup {
                ttrt: fddi::TTRT,
                frames_per_token: None,
                ignores_token: false,
                fed: false,
            },
            line_rate,
            line_rate_is_physical: true,
            propagation: Duration::ZERO,
            duplex: Duplex::Full,
            min_gap: Duration::ZERO,
            tester_gap_bytes: FrameSize::GAP_BYTES,
            device_gap_bytes: FrameSize::GAP_BYTES,
        }
    }
    /// A link whose rate is only a name, as with a veth.
    pub const fn nominal(line_rate: LineRate) -> Self {
        SimPort { line_rate_is_physical: false, ..SimPort::physical(line_rate) }
    }
    /// The same with a propagation delay.
    pub const fn propagation(mut self, propagation: Duration) -> Self {
        self.propagation = propagation;
        self
    }
    /// The same with both ends sharing the medium.
    pub const fn half_duplex(mut self) -> Self {
        self.duplex = Duplex::Half;
        self
    }
    /// The same with FDDI of these rings.
    pub const fn fddi(mut self, ring: RingSetup) -> Self {
        (self.medium, self.ring) = (Medium::Fddi, ring);
        self
    }
    /// The same with a tester that needs a longer gap.
    pub const fn min_gap(mut self, min_gap: Duration) -> Self {
        self.min_gap = min_gap;
        self
    }

    /// The same with other gaps than the legal minimum of 12 bytes, on the tester's side and the
    /// device's.
    pub const fn gaps(mut self, tester_bytes: u32, device_bytes: u32) -> Self {
        (self.tester_gap_bytes, self.device_gap_bytes) = (tester_bytes, device_bytes);
        self
    }

    pub(crate) fn describe(&self, id: PortId) -> PortDescription {
        PortDescription {
            id,
            name: format!("sim{}", id.0),
            port_type: "simulated".into(),
            reason: "virtual time".into(),
            capabilities: Capabilities {
                arrivals: ArrivalStamp::Medium,
                virtual_time: true,
                ..Capabilities::default()
            },
            line_rate: self.line_rate,
            line_rate_is_physical: self.line_rate_is_physical,
            max_frame_size_bytes: 65_535,
            mac: format!("02:00:00:00:00:{:02x}", id.0),
            driver: "none".into(),
        }
    }

    /// The link, whose tester end runs fast by `error_ppm`.
    pub(crate) fn cable(&self, id: PortId, error_ppm: i32, heard_after: Option<u32>) -> Cable {
        let rate = self.line_rate_is_physical.then_some(self.line_rate);
        let fast = rate.map(|rate| off_by(rate, error_ppm));
        let tester = Pace::with_gap(fast, self.tester_gap_bytes, self.min_gap);
        let device = Pace::with_gap(rate, self.device_gap_bytes, Duration::ZERO);
        if self.medium == Medium::Fddi {
            return self.fddi_cable(fast, rate, heard_after);
        }
        match self.duplex {
            Duplex::Full => Cable::Full {
                to_device: Link::new(tester, self.propagation, heard_after),
                to_tester: Link::new(device, self.propagation, None),
            },
            Duplex::Half => {
                Cable::Half(SharedMedium::of_link([tester, device], self.propagation, id.0.into()))
            }
        }
    }
}

impl SimPort {
    fn fddi_cable(
        &self,
        tester: Option<LineRate>,
        device: Option<LineRate>,
        heard_after: Option<u32>,
    ) -> Cable {
        let tester = Pace::fddi(tester, self.min_gap);
        let device = Pace::fddi(device, Duration::ZERO);
        let to_device = Link::new(tester, self.propagation, heard_after);
        let to_tester = Link::new(device, self.propagation, None);
        match (self.ring.fed, self.duplex) {
            (true, _) => {
                let links = (to_device, to_tester);
                Cable::Ring(RingCable::fed(&self.ring, self.propagation, links))
            }
            (false, Duplex::Full) => Cable::Full { to_device, to_tester },
            (false, Duplex::Half) => Cable::Ring(RingCable::shared(&self.ring, self.propagation)),
        }
    }
}

fn off_by(rate: LineRate, error_ppm: i32) -> LineRate {
    let bps = u128::from(rate.bps()) * (1_000_000 + i128::from(error_ppm)).max(1) as u128;
    LineRate::from_bps(((bps + 500_000) / 1_000_000).max(1) as u64)
}

/// A link with both its directions.
#[derive(Clone, Debug)]
pub(crate) enum Cable {
    Full { to_device: Link, to_tester: Link },
    Half(SharedMedium),
    Ring(RingCable),
}

impl Cable {
    /// When a frame may start, as far as its sender can tell at `now`.
    #[inline]
    pub(crate) fn free_at(&self, way: Way, now: Instant) -> Instant {
        match (self, way) {
            (Cable::Full { to_device, .. }, Way::ToDevice) => to_device.free_at(),
            (Cable::Full { to_tester, .. }, Way::ToTester) => to_tester.free_at(),
            (Cable::Half(medium), _) => medium.free_at(way, now),
            (Cable::Ring(rings), _) => rings.free_at(way, now),
        }
    }

    /// Sends a frame, at `now` or as soon as the link is free.
    #[inline]
    pub(crate) fn send(&mut self, way: Way, now: Instant, frame: Frame) {
        match (self, way) {
            (Cable::Full { to_device, .. }, Way::ToDevice) => to_device.send(now, frame),
            (Cable::Full { to_tester, .. }, Way::ToTester) => to_tester.send(now, frame),
            (Cable::Half(medium), _) => medium.send(way, now, frame),
            (Cable::Ring(rings), _) => rings.send(way, now, frame),
        }
    }

    /// What the MAC of an end has counted so far; `None` on a full-duplex link, where nothing collides.
    pub(crate) fn mac_counts(&self, way: Way) -> Option<MacCounts> {
        match self {
            Cable::Full { .. } | Cable::Ring(_) => None,
            Cable::Half(medium) => Some(medium.counts(way)),
        }
    }

    /// What an end wanted to send and the link has not carried: nothing on a full-duplex link.
    pub(crate) fn uncarried(&self, way: Way) -> Uncarried {
        match self {
            Cable::Full { .. } => Uncarried::default(),
            Cable::Half(medium) => medium.uncarried(way),
            Cable::Ring(rings) => Uncarried { waiting: rings.waiting(way), ..Uncarried::default() },
        }
    }

    /// Takes back what the tester has not got rid of; how many frames.
    pub(crate) fn withdraw(&mut self) -> u64 {
        match self {
            Cable::Full { .. } => 0,
            Cable::Half(medium) => medium.withdraw(Way::ToDevice),
            Cable::Ring(rings) => rings.withdraw(),
        }
    }

    /// The tester is going to send a frame each `interval`.
    pub(crate) fn intends(&mut self, interval: Duration) {
        if let Cable::Ring(rings) = self {
            rings.intends(interval);
        }
    }

    /// What the ring on which the tester sends has counted, where there is one.
    pub(crate) fn ring_counts(&self) -> Option<RingCounts> {
        match self {
            Cable::Ring(rings) => Some(rings.counts()),
            _ => None,
        }
    }

    /// When something happens on the link.
    #[inline]
    pub(crate) fn next_event(&self) -> Option<Instant> {
        match self {
            Cable::Full { to_device, to_tester } => {
                to_device.next_arrival().into_iter().chain(to_tester.next_arrival()).min()
            }
            Cable::Half(medium) => medium.next_event(),
            Cable::Ring(rings) => rings.next_event(),
        }
    }

    /// The next frame that the device has heard of by now, when, and when it left where that was not its
    /// first attempt.
    #[inline]
    pub(crate) fn receive_from_tester(
        &mut self,
        now: Instant,
    ) -> Option<(Instant, Frame, Option<Instant>)> {
        match self {
            Cable::Full { to_device, .. } => {
                to_device.receive(now).map(|(heard, frame)| (heard, frame, None))
            }
            Cable::Half(medium) => medium.receive_from_tester(now),
            Cable::Ring(rings) => {
                rings.receive(Way::ToDevice, now).map(|(heard, frame)| (heard, frame, None))
            }
        }
    }

    /// The next frame that was heard of by now, and when.
    #[inline]
    pub(crate) fn receive(&mut self, way: Way, now: Instant) -> Option<(Instant, Frame)> {
        match (self, way) {
            (Cable::Full { to_device, .. }, Way::ToDevice) => to_device.receive(now),
            (Cable::Full { to_tester, .. }, Way::ToTester) => to_tester.receive(now),
            (Cable::Half(medium), _) => medium.receive(way, now),
            (Cable::Ring(rings), _) => rings.receive(way, now),
        }
    }
}

/// The device's view of its links: when it may send.
pub struct Lines<'a>(pub(crate) &'a [Cable]);

impl Lines<'_> {
    /// When the next frame may start at a port, as far as can be told at `now`. A device that does
    /// not ask has an endless queue at its output, as a virtual link has.
    #[inline]
    pub fn free_at(&self, port: PortId, now: Instant) -> Instant {
        let cable = self.0.get(usize::from(port.0));
        cable.map_or(Instant::ZERO, |cable| cable.free_at(Way::ToTester, now))
    }
}
