//! A fabric with a queue at each input, first in, first out: what is behind a frame that cannot go
//! on waits with it (head-of-line blocking, RFC 2285 section 3.7.3), wherever it is bound for.

use super::buffer::{Buffer, Room};
use super::description::Arbitration;
use crate::{Departing, Frame, Lines};
use std::collections::VecDeque;
use trial::PortId;
use units::Instant;

/// One queue an input. Only its first frame is offered to the outputs; an output that is free takes
/// one of those that want it. A frame for several outputs leaves by each as it becomes free, and
/// makes room when it has left by all.
#[derive(Clone, Debug)]
pub(crate) struct Crossbar {
    arbitration: Arbitration,
    inputs: Vec<Input>,
    /// For each output the inputs whose first frame wants it, a bit each.
    wanted_by: Vec<u64>,
    /// Outputs that any wants, a bit each.
    wanted: u64,
    /// For each output the input that it served last.
    served: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Input {
    buffer: Buffer,
    waiting: VecDeque<Waiting>,
}

#[derive(Clone, Debug)]
struct Waiting {
    ready: Instant,
    /// Outputs that it has yet to leave by, a bit each.
    to: u64,
    frame: Frame,
}

impl Crossbar {
    pub(crate) fn new(ports: usize, room: Room, arbitration: Arbitration) -> Self {
        let input = Input { buffer: Buffer::new(room), waiting: VecDeque::new() };
        Crossbar {
            arbitration,
            inputs: vec![input; ports],
            wanted_by: vec![0; ports],
            wanted: 0,
            served: vec![0; ports],
        }
    }

    /// Puts a frame, ready at that time, into its input's queue; false where it is full.
    #[inline]
    pub(crate) fn push(&mut self, from: usize, to: u64, ready: Instant, frame: Frame) -> bool {
        let input = &mut self.inputs[from];
        if to == 0 || !input.buffer.take(frame.size().bytes().into()) {
            return to == 0;
        }
        input.waiting.push_back(Waiting { ready, to, frame });
        if input.waiting.len() == 1 {
            self.offer(from);
        }
        true
    }

    /// A frame that leaves now, and where it came in; otherwise when to ask again.
    #[inline]
    pub(crate) fn next(
        &mut self,
        now: Instant,
        lines: &Lines<'_>,
    ) -> Result<(Departing, usize), Instant> {
        let mut again = Instant::FAR_FUTURE;
        for output in bits(self.wanted) {
            let Some((input, ready)) = self.choose(output) else { continue };
            let port = PortId(output as u16);
            let leaves = ready.max(lines.free_at(port, now));
            if leaves <= now {
                return Ok((Departing { port, frame: self.take(input, output) }, input));
            }
            again = again.min(leaves);
        }
        Err(again)
    }

    /// Frames that wait at an input.
    pub(crate) fn waiting(&self, input: usize) -> u64 {
        self.inputs[input].buffer.frames()
    }

    /// Frames that wait at all inputs.
    pub(crate) fn all_waiting(&self) -> u64 {
        self.inputs.iter().map(|input| input.buffer.frames()).sum()
    }

    pub(crate) fn clear(&mut self) {
        for input in &mut self.inputs {
            input.waiting.clear();
            input.buffer.clear();
        }
        self.wanted_by.fill(0);
        self.wanted = 0;
    }

    /// Of the inputs whose first frame wants this output, the one whose turn it is, and when that
    /// frame is ready.
    fn choose(&self, output: usize) -> Option<(usize, Instant)> {
        let inputs = bits(self.wanted_by[output]);
        let ready = |input: usize| self.inputs[input].waiting.front().map(|first| first.ready);
        let count = self.inputs.len();
        let turn = |input: usize| (input + count - self.served[output] - 1) % count;
        let chosen = match self.arbitration {
            Arbitration::OldestFirst => inputs.min_by_key(|input| (ready(*input), turn(*input))),
            Arbitration::RoundRobin => inputs.min_by_key(|input| turn(*input)),
        };
        chosen.and_then(|input| Some((input, ready(input)?)))
    }

    /// Lets an input's first frame leave by an output.
    fn take(&mut self, from: usize, output: usize) -> Frame {
        self.served[output] = from;
        self.wanted_by[output] &= !(1 << from);
        if self.wanted_by[output] == 0 {
            self.wanted &= !(1 << output);
        }
        let input = &mut self.inputs[from];
        let Some(first) = input.waiting.front_mut() else { return Frame::default() };
        first.to &= !(1 << output);
        if first.to != 0 {
            return first.frame.clone();
        }
        let frame = input.waiting.pop_front().map(|first| first.frame).unwrap_or_default();
        input.buffer.give(frame.size().bytes().into());
        self.offer(from);
        frame
    }

    /// Offers an input's first frame to the outputs it is for.
    fn offer(&mut self, from: usize) {
        let to = self.inputs[from].waiting.front().map_or(0, |first| first.to);
        bits(to).for_each(|output| self.wanted_by[output] |= 1 << from);
        self.wanted |= to;
    }
}

/// The numbers of the bits that are set, ascending.
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = set.trailing_zeros() as usize;
        (set != 0).then(|| {
            set &= set - 1;
            lowest
        })
    })
}
