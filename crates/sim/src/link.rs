//! One direction of a full-duplex link: frames follow each other at line rate and take their time.

use crate::{Frame, fddi};
use std::collections::VecDeque;
use units::{Duration, FrameSize, Instant, LineRate};

/// How fast the sender of a direction is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// `None` for a virtual link, on which frames take no time.
    rate: Option<LineRate>,
    /// Picoseconds a byte, where that is a whole number: for every Ethernet rate it is.
    byte_ps: Option<u64>,
    /// Before a frame's first bit, and within it beside its own bytes.
    before_bytes: u32,
    within_bytes: u32,
    /// From the end of a frame to the next one's preamble, at least.
    gap: Duration,
}

impl Pace {
    /// A sender that keeps the minimum legal gap or `min_gap`, whichever is longer.
    #[cfg(test)]
    pub(crate) fn new(rate: Option<LineRate>, min_gap: Duration) -> Self {
        Pace::with_gap(rate, FrameSize::GAP_BYTES, min_gap)
    }

    /// A sender that keeps this gap, or `min_gap` where that is longer; below the legal one it breaks
    /// the rules.
    pub(crate) fn with_gap(rate: Option<LineRate>, gap_bytes: u32, min_gap: Duration) -> Self {
        Pace::framed(rate, (FrameSize::PREAMBLE_BYTES, 0, gap_bytes), min_gap)
    }

    /// A sender on FDDI, full duplex: delimiters and headers in place of Ethernet's preamble and gap.
    pub(crate) fn fddi(rate: Option<LineRate>, min_gap: Duration) -> Self {
        let bytes = (fddi::BEFORE_BYTES, fddi::WITHIN_BYTES, fddi::AFTER_BYTES);
        Pace::framed(rate, bytes, min_gap)
    }

    fn framed(
        rate: Option<LineRate>,
        (before_bytes, within_bytes, gap_bytes): (u32, u32, u32),
        min_gap: Duration,
    ) -> Self {
        let byte_ps = rate.and_then(|rate| {
            let byte_ps = 8_000_000_000_000 / rate.bps();
            (byte_ps * rate.bps() == 8_000_000_000_000).then_some(byte_ps)
        });
        let mut pace = Pace { rate, byte_ps, before_bytes, within_bytes, gap: Duration::ZERO };
        pace.gap = pace.time_of(gap_bytes.into()).max(min_gap);
        pace
    }

    #[inline]
    pub(crate) fn time_of(&self, bytes: u64) -> Duration {
        match (self.byte_ps, self.rate) {
            (Some(ps), _) => Duration::from_ps(ps * bytes),
            (None, Some(rate)) => rate.time_of_bytes(bytes),
            (None, None) => Duration::ZERO,
        }
    }

    /// From a frame's first bit to its last.
    #[inline]
    pub(crate) fn time_of_frame(&self, size: FrameSize) -> Duration {
        self.time_of((size.bytes() + self.within_bytes).into())
    }

    /// From a frame's end to the next one's preamble, at least.
    pub(crate) fn gap(&self) -> Duration {
        self.gap
    }

    /// From a frame's first bit to the next one's, at least.
    #[inline]
    pub(crate) fn period(&self, size: FrameSize) -> Duration {
        self.time_of((size.bytes() + self.before_bytes + self.within_bytes).into()) + self.gap
    }
}

/// One direction of a link between tester and device.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pace: Pace,
    propagation: Duration,
    /// The receiver is told of a frame when so many bytes are in; `None` for all of them.
    heard_after_bytes: Option<u32>,
    free_at: Instant,
    /// When its receiver hears of each, in order.
    in_flight: VecDeque<(Instant, Frame)>,
}

impl Link {
    pub(crate) fn new(pace: Pace, propagation: Duration, heard_after_bytes: Option<u32>) -> Self {
        let in_flight = VecDeque::new();
        Link { pace, propagation, heard_after_bytes, free_at: Instant::ZERO, in_flight }
    }

    /// When a frame may start at the earliest: after the one before it and the minimum gap.
    #[inline]
    pub(crate) fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Takes the link for a frame, at `now` or as soon as it is free; when its receiver hears of
    /// it.
    #[inline]
    pub(crate) fn take(&mut self, now: Instant, size: FrameSize) -> Instant {
        let starts = now.max(self.free_at);
        self.free_at = starts + self.pace.period(size);
        let heard = match self.heard_after_bytes {
            Some(bytes) if bytes < size.bytes() => self.pace.time_of(bytes.into()),
            _ => self.pace.time_of_frame(size),
        };
        starts + heard + self.propagation
    }

    /// Puts a frame on the link, at `now` or as soon as the link is free.
    pub(crate) fn send(&mut self, now: Instant, frame: Frame) {
        let heard = self.take(now, frame.size());
        self.in_flight.push_back((heard, frame));
    }

    /// Keeps a frame that has taken the link already.
    pub(crate) fn keep(&mut self, heard: Instant, frame: Frame) {
        self.in_flight.push_back((heard, frame));
    }

    /// Frames that have not been heard of.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight.len() as u64
    }

    /// When the receiver hears of the next frame.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.in_flight.front().map(|(heard, _)| *heard)
    }

    /// The next frame that was heard of by now, and when.
    #[inline]
    pub(crate) fn receive(&mut self, now: Instant) -> Option<(Instant, Frame)> {
        self.next_arrival().filter(|heard| *heard <= now)?;
        self.in_flight.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(rate: LineRate, min_gap: Duration) -> Link {
        Link::new(Pace::new(Some(rate), min_gap), Duration::ZERO, None)
    }

    /// RFC 2544 appendix B: (N + 20) bytes from frame to frame; and each Ethernet rate is exact.
    #[test]
    fn frames_follow_each_other_at_line_rate() {
        for (mbps, period_ps) in [(10, 67_200_000), (1_000, 672_000), (800_000, 840)] {
            let mut link = link(LineRate::from_mbps(mbps), Duration::ZERO);
            link.send(Instant::ZERO, vec![0; 60].into());
            assert_eq!(link.free_at(), Instant::from_ps(period_ps));
            link.send(Instant::ZERO, vec![0; 60].into());
            let arrivals = [(); 2].map(|()| link.receive(Instant::FAR_FUTURE).unwrap().0);
            assert_eq!(arrivals[1].since(arrivals[0]).as_ps(), period_ps);
        }
    }

    /// A gap of 11.4 us at 10 Mb/s: 57.6 us for 72 bytes with preamble, so 69 us a frame.
    #[test]
    fn a_tester_may_need_a_longer_gap() {
        let mut link = link(LineRate::from_mbps(10), Duration::from_ns(11_400));
        link.send(Instant::ZERO, vec![0; 60].into());
        assert_eq!(link.free_at(), Instant::ZERO + Duration::from_us(69));
    }

    /// RFC 2544 appendix B, the FDDI column: 152,439 frames of 64 bytes a second.
    #[test]
    fn frames_on_fddi_follow_each_other_at_its_own_rate() {
        let pace = Pace::fddi(Some(fddi::RATE), Duration::ZERO);
        for (bytes, fps) in [(64, 152_439), (512, 23_585), (1_518, 8_138)] {
            let period = pace.period(FrameSize::from_bytes(bytes));
            assert_eq!((1e12 / period.as_ps() as f64).round() as u64, fps);
        }
    }

    #[test]
    fn a_frame_may_be_heard_of_before_it_is_whole() {
        let pace = Pace::new(Some(LineRate::from_mbps(10)), Duration::ZERO);
        let mut link = Link::new(pace, Duration::from_us(1), Some(14));
        link.send(Instant::ZERO, vec![0; 1_514].into());
        // 14 bytes at 0.8 us and the propagation.
        assert_eq!(link.next_arrival(), Some(Instant::from_ns(12_200)));
    }
}
