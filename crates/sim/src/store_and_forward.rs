//! A store-and-forward device: a queue of finite length before a server of known speed.

use crate::device::partner;
use crate::{Departing, DeviceUnderTest, Frame, Lines};
use std::collections::VecDeque;
use trial::PortId;
use units::{Duration, FrameRate, Instant};

/// How much may wait for the server, the frame in service not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueLimit {
    /// So many frames.
    Frames(u64),
    /// So many bytes, FCS included.
    Bytes(u64),
}

/// Who forwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Servers {
    /// Each output port has a server and a queue of its own.
    PerPort,
    /// One server and one queue for all.
    Shared,
}

/// A device that forwards between ports in pairs (0 and 1, 2 and 3, ...), first come, first
/// served, and drops what finds its queue full.
#[derive(Clone, Debug)]
pub struct StoreAndForward {
    per_frame: Duration,
    per_byte: Duration,
    queue: QueueLimit,
    delay: Duration,
    servers: Servers,
    lanes: Vec<Lane>,
    dropped: u64,
}

/// One server with its queue.
#[derive(Clone, Debug, Default)]
struct Lane {
    waiting: VecDeque<Departing>,
    waiting_bytes: u64,
    in_service: Option<(Instant, Departing)>,
    /// Served, and ready to leave at this time; in order.
    served: VecDeque<(Instant, Departing)>,
}

impl StoreAndForward {
    /// A device that serves a frame in `per_frame` + `per_byte` x size (FCS included).
    pub fn new(per_frame: Duration, per_byte: Duration, queue: QueueLimit) -> Self {
        StoreAndForward {
            per_frame,
            per_byte,
            queue,
            delay: Duration::ZERO,
            servers: Servers::PerPort,
            lanes: vec![],
            dropped: 0,
        }
    }
    /// A device that forwards this many frames a second, whatever their size.
    pub fn with_capacity(capacity: FrameRate, queue: QueueLimit) -> Self {
        Self::new(capacity.interval(), Duration::ZERO, queue)
    }
    /// Adds a constant delay after service.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
    /// Says who forwards; each port for itself by default.
    pub fn servers(mut self, servers: Servers) -> Self {
        self.servers = servers;
        self
    }
    /// Frames dropped so far because a queue was full.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn lane_of(&mut self, out: PortId) -> &mut Lane {
        let index = if self.servers == Servers::Shared { 0 } else { usize::from(out.0) };
        if index >= self.lanes.len() {
            self.lanes.resize_with(index + 1, Lane::default);
        }
        &mut self.lanes[index]
    }

    fn service_time(&self, frame: &Frame) -> Duration {
        self.per_frame + self.per_byte * with_fcs(frame)
    }

    /// Ends every service that is over by `now` and starts the next ones.
    fn advance(&mut self, now: Instant) {
        for index in 0..self.lanes.len() {
            while let Some((done, _)) = self.lanes[index].in_service
                && done <= now
            {
                let delay = self.delay;
                let lane = &mut self.lanes[index];
                let finished = lane.in_service.take().map(|(_, frame)| frame);
                lane.served.extend(finished.map(|frame| (done + delay, frame)));
                let next = lane.waiting.pop_front();
                lane.waiting_bytes -= next.as_ref().map_or(0, |next| with_fcs(&next.frame));
                let service = next.as_ref().map(|next| self.service_time(&next.frame));
                self.lanes[index].in_service = service.map(|s| done + s).zip(next);
            }
        }
    }
}

impl DeviceUnderTest for StoreAndForward {
    fn handle_frame(&mut self, now: Instant, port: PortId, frame: Frame) {
        self.advance(now);
        let queue = self.queue;
        let done = now + self.service_time(&frame);
        let size = with_fcs(&frame);
        let departing = Departing { port: partner(port), frame };
        let lane = self.lane_of(departing.port);
        if lane.in_service.is_none() {
            lane.in_service = Some((done, departing));
        } else if queue.has_room(lane, size) {
            lane.waiting_bytes += size;
            lane.waiting.push_back(departing);
        } else {
            self.dropped += 1;
        }
    }

    fn poll_output(&mut self, now: Instant, _lines: &Lines<'_>) -> Option<Departing> {
        self.advance(now);
        let ready = |lane: &Lane| lane.served.front().is_some_and(|(at, _)| *at <= now);
        let lane = self.lanes.iter_mut().find(|lane| ready(lane))?;
        lane.served.pop_front().map(|(_, frame)| frame)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let served = self.lanes.iter().filter_map(|lane| lane.served.front().map(|(at, _)| *at));
        let service = self.lanes.iter().filter_map(|lane| Some(lane.in_service.as_ref()?.0));
        served.chain(service).min()
    }

    fn keeps_frames(&self) -> u64 {
        let kept = |lane: &Lane| {
            lane.waiting.len() + usize::from(lane.in_service.is_some()) + lane.served.len()
        };
        self.lanes.iter().map(kept).sum::<usize>() as u64
    }

    fn drops(&self) -> Vec<(String, u64)> {
        vec![("queue full".into(), self.dropped)]
    }
}

impl QueueLimit {
    fn has_room(self, lane: &Lane, size: u64) -> bool {
        match self {
            QueueLimit::Frames(limit) => (lane.waiting.len() as u64) < limit,
            QueueLimit::Bytes(limit) => lane.waiting_bytes + size <= limit,
        }
    }
}

fn with_fcs(frame: &Frame) -> u64 {
    frame.size().bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    /// Everything that comes out, driven as a tester would.
    fn drain(device: &mut StoreAndForward) -> Vec<(u64, u16, usize)> {
        let mut out = vec![];
        while let Some(now) = device.poll_timeout() {
            while let Some(departing) = device.poll_output(now, &Lines(&[])) {
                let at = now.since(Instant::ZERO).as_us();
                out.push((at, departing.port.0, departing.frame.len()));
            }
        }
        out
    }

    #[test]
    fn frames_are_served_one_after_the_other_and_then_delayed() {
        let mut device = StoreAndForward::new(
            Duration::from_us(10),
            Duration::from_ns(100),
            QueueLimit::Frames(9),
        )
        .delay(Duration::from_us(7));
        // 60 bytes and FCS: 10 us + 64 x 0.1 us, that is 16.4 us each, and 7 us of delay.
        device.handle_frame(at_us(0), PortId(0), vec![0; 60].into());
        device.handle_frame(at_us(1), PortId(0), vec![0; 60].into());
        assert_eq!(drain(&mut device), vec![(23, 1, 60), (39, 1, 60)]);
    }

    #[test]
    fn a_full_queue_drops_and_the_frame_in_service_does_not_count() {
        let service = Duration::from_us(10);
        let mut device = StoreAndForward::new(service, Duration::ZERO, QueueLimit::Frames(2));
        for at in [0, 1, 2, 3] {
            device.handle_frame(at_us(at), PortId(0), vec![at as u8; 60].into());
        }
        assert_eq!(device.dropped(), 1);
        assert_eq!(drain(&mut device).len(), 3);

        let mut device = StoreAndForward::new(service, Duration::ZERO, QueueLimit::Bytes(128));
        for (at, len) in [(0, 60), (1, 60), (2, 61), (3, 60)] {
            device.handle_frame(at_us(at), PortId(0), vec![0; len].into());
        }
        assert_eq!(device.dropped(), 1, "64 + 65 bytes do not fit, 64 + 64 do");
    }

    #[test]
    fn ports_share_a_server_only_where_told() {
        let run = |servers| {
            let service = Duration::from_us(10);
            let device = StoreAndForward::new(service, Duration::ZERO, QueueLimit::Frames(9));
            let mut device = device.servers(servers);
            device.handle_frame(at_us(0), PortId(0), vec![0; 60].into());
            device.handle_frame(at_us(0), PortId(1), vec![0; 60].into());
            drain(&mut device)
        };
        assert_eq!(run(Servers::PerPort), vec![(10, 0, 60), (10, 1, 60)]);
        assert_eq!(run(Servers::Shared), vec![(10, 1, 60), (20, 0, 60)]);
    }
}
