//! One direction of a link: frames follow each other at line rate and take their time.

use std::collections::VecDeque;
use units::{Duration, FrameSize, Instant, LineRate};

/// One direction of a link between tester and device.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// `None` for a virtual link, on which frames take no time.
    rate: Option<LineRate>,
    propagation: Duration,
    free_at: Instant,
    /// Arrival of the last bit, in order.
    in_flight: VecDeque<(Instant, Vec<u8>)>,
}

impl Link {
    pub(crate) fn new(rate: Option<LineRate>, propagation: Duration) -> Self {
        Link { rate, propagation, free_at: Instant::ZERO, in_flight: VecDeque::new() }
    }

    /// When a frame may start at the earliest: after the one before it and the minimum gap.
    pub(crate) fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Puts a frame (without FCS) on the link, at `now` or as soon as the link is free.
    pub(crate) fn send(&mut self, now: Instant, frame: Vec<u8>) {
        let starts = now.max(self.free_at);
        let size = FrameSize::from_bytes_without_fcs(frame.len() as u32);
        let time_of = |span: fn(FrameSize, LineRate) -> Duration| {
            self.rate.map_or(Duration::ZERO, |rate| span(size, rate))
        };
        self.free_at = starts + time_of(FrameSize::time_at_line_rate);
        let arrives = starts + time_of(FrameSize::serialization_time) + self.propagation;
        self.in_flight.push_back((arrives, frame));
    }

    /// When the next frame's last bit arrives.
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.in_flight.front().map(|(arrives, _)| *arrives)
    }

    /// The next frame, if it has arrived.
    pub(crate) fn receive(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.next_arrival().filter(|arrives| *arrives <= now)?;
        self.in_flight.pop_front().map(|(_, frame)| frame)
    }
}
