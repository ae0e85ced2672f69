//! The queues at the device's outputs.

use super::buffer::{Buffer, Room};
use crate::{Departing, Frame, Lines};
use std::collections::VecDeque;
use trial::PortId;
use units::Instant;

/// One queue a port; a frame leaves when it is ready and its link is free.
#[derive(Clone, Debug)]
pub(crate) struct Outputs {
    queues: Vec<Output>,
    /// Ports with something to send, a bit each.
    busy: u64,
}

#[derive(Clone, Debug)]
struct Output {
    buffer: Buffer,
    waiting: VecDeque<(Instant, Frame)>,
}

impl Outputs {
    pub(crate) fn new(ports: usize, room: Room) -> Self {
        let output = Output { buffer: Buffer::new(room), waiting: VecDeque::new() };
        Outputs { queues: vec![output; ports], busy: 0 }
    }

    /// Puts a frame, ready at that time, into a port's queue; false where it is full.
    #[inline]
    pub(crate) fn push(&mut self, port: usize, ready: Instant, frame: Frame) -> bool {
        let output = &mut self.queues[port];
        if !output.buffer.take(frame.size().bytes().into()) {
            return false;
        }
        output.waiting.push_back((ready, frame));
        self.busy |= 1 << port;
        true
    }

    /// A frame that leaves now; otherwise when to ask again.
    #[inline]
    pub(crate) fn next(&mut self, now: Instant, lines: &Lines<'_>) -> Result<Departing, Instant> {
        let mut again = Instant::FAR_FUTURE;
        let mut busy = self.busy;
        while busy != 0 {
            let index = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            let port = PortId(index as u16);
            let Some((ready, _)) = self.queues[index].waiting.front() else { continue };
            let leaves = (*ready).max(lines.free_at(port, now));
            if leaves <= now
                && let Some(frame) = self.pop(index)
            {
                return Ok(Departing { port, frame });
            }
            again = again.min(leaves);
        }
        Err(again)
    }

    /// The last frame's time in a port's queue: what comes later does not overtake it.
    pub(crate) fn last_ready(&self, port: usize) -> Instant {
        self.queues[port].waiting.back().map_or(Instant::ZERO, |(ready, _)| *ready)
    }

    pub(crate) fn clear(&mut self) {
        for output in &mut self.queues {
            output.waiting.clear();
            output.buffer.clear();
        }
        self.busy = 0;
    }

    #[inline]
    fn pop(&mut self, index: usize) -> Option<Frame> {
        let output = &mut self.queues[index];
        let (_, frame) = output.waiting.pop_front()?;
        output.buffer.give(frame.size().bytes().into());
        if output.waiting.is_empty() {
            self.busy &= !(1 << index);
        }
        Some(frame)
    }
}
