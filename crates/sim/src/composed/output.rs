//! The queues at the device's outputs.

use super::buffer::{Buffer, Room};
use crate::{Departing, Frame, Lines};
use std::collections::VecDeque;
use trial::PortId;
use units::Instant;

/// One queue a port; a frame leaves when it is ready and its link is free. All of them may share
/// one memory.
#[derive(Clone, Debug)]
pub(crate) struct Outputs {
    queues: Vec<Output>,
    memory: Buffer,
    /// Frames that wait anywhere, by the port where they came in.
    waiting_from: Vec<u64>,
    /// Ports with something to send, a bit each.
    busy: u64,
}

#[derive(Clone, Debug)]
struct Output {
    buffer: Buffer,
    waiting: VecDeque<Waiting>,
    /// What the port's MAC itself has to say; goes before everything else and takes no room.
    urgent: VecDeque<Frame>,
}

#[derive(Clone, Debug)]
struct Waiting {
    ready: Instant,
    from: usize,
    frame: Frame,
}

impl Outputs {
    /// Each port's queue with this room, all together with that of `memory`.
    pub(crate) fn new(ports: usize, room: Room, memory: Room) -> Self {
        let (waiting, urgent) = (VecDeque::new(), VecDeque::new());
        let output = Output { buffer: Buffer::new(room), waiting, urgent };
        Outputs {
            queues: vec![output; ports],
            memory: Buffer::new(memory),
            waiting_from: vec![0; ports],
            busy: 0,
        }
    }

    /// Puts a frame that came in at `from`, ready at that time, into a port's queue; false where it
    /// is full.
    #[inline]
    pub(crate) fn push(&mut self, port: usize, from: usize, ready: Instant, frame: Frame) -> bool {
        let output = &mut self.queues[port];
        let size_bytes = frame.size().bytes().into();
        if !self.memory.fits(size_bytes) || !output.buffer.take(size_bytes) {
            return false;
        }
        self.memory.take(size_bytes);
        self.waiting_from[from] += 1;
        output.waiting.push_back(Waiting { ready, from, frame });
        self.busy |= 1 << port;
        true
    }

    /// Lets the port's MAC say something, before everything that waits.
    pub(crate) fn say(&mut self, port: usize, frame: Frame) {
        self.queues[port].urgent.push_back(frame);
        self.busy |= 1 << port;
    }

    /// A frame that leaves now and, unless it is the MAC's own, where it came in; otherwise when to
    /// ask again.
    #[inline]
    pub(crate) fn next(
        &mut self,
        now: Instant,
        lines: &Lines<'_>,
    ) -> Result<(Departing, Option<usize>), Instant> {
        let mut again = Instant::FAR_FUTURE;
        let mut busy = self.busy;
        while busy != 0 {
            let index = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            let port = PortId(index as u16);
            let Some(ready) = self.queues[index].first_ready() else { continue };
            let leaves = ready.max(lines.free_at(port, now));
            if leaves <= now
                && let Some((frame, from)) = self.pop(index)
            {
                return Ok((Departing { port, frame }, from));
            }
            again = again.min(leaves);
        }
        Err(again)
    }

    /// Frames that wait and came in at a port.
    pub(crate) fn waiting_from(&self, port: usize) -> u64 {
        self.waiting_from[port]
    }

    /// Frames that wait at all ports.
    pub(crate) fn all_waiting(&self) -> u64 {
        self.waiting_from.iter().sum()
    }

    /// The last frame's time in a port's queue: what comes later does not overtake it.
    pub(crate) fn last_ready(&self, port: usize) -> Instant {
        self.queues[port].waiting.back().map_or(Instant::ZERO, |last| last.ready)
    }

    pub(crate) fn clear(&mut self) {
        for output in &mut self.queues {
            output.waiting.clear();
            output.urgent.clear();
            output.buffer.clear();
        }
        self.memory.clear();
        self.waiting_from.fill(0);
        self.busy = 0;
    }

    #[inline]
    fn pop(&mut self, index: usize) -> Option<(Frame, Option<usize>)> {
        let output = &mut self.queues[index];
        let (frame, from) = match output.urgent.pop_front() {
            Some(frame) => (frame, None),
            None => {
                let Waiting { from, frame, .. } = output.waiting.pop_front()?;
                output.buffer.give(frame.size().bytes().into());
                self.memory.give(frame.size().bytes().into());
                self.waiting_from[from] -= 1;
                (frame, Some(from))
            }
        };
        if output.waiting.is_empty() && output.urgent.is_empty() {
            self.busy &= !(1 << index);
        }
        Some((frame, from))
    }
}

impl Output {
    fn first_ready(&self) -> Option<Instant> {
        match self.urgent.is_empty() {
            true => self.waiting.front().map(|first| first.ready),
            false => Some(Instant::ZERO),
        }
    }
}
