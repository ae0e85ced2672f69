//! Frames on their way: each is due at a time, in the order of times.

use std::collections::{BTreeMap, VecDeque};
use units::Instant;

/// Memory of frames that is kept for others.
const MAX_SPARE: usize = 4096;

/// Frames between two hosts.
#[derive(Debug, Default)]
pub struct InFlight {
    /// In the order in which they left the queue.
    in_order: VecDeque<(Instant, Vec<u8>)>,
    /// Those that others overtake.
    overtaken: BTreeMap<(Instant, u64), Vec<u8>>,
    count: u64,
    spare: Vec<Vec<u8>>,
}

impl InFlight {
    /// A frame is due at a time; `late` if frames after it may be due earlier.
    pub fn push(&mut self, at: Instant, frame: Vec<u8>, late: bool) {
        if late {
            self.count += 1;
            self.overtaken.insert((at, self.count), frame);
        } else {
            self.in_order.push_back((at, frame));
        }
    }
    /// When the next frame is due.
    pub fn next(&self) -> Option<Instant> {
        let in_order = self.in_order.front().map(|(at, _)| *at);
        let overtaken = self.overtaken.first_key_value().map(|((at, _), _)| *at);
        in_order.into_iter().chain(overtaken).min()
    }
    /// The next frame that is due by now, and since when.
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, Vec<u8>)> {
        let next = self.next().filter(|at| *at <= now)?;
        if self.in_order.front().is_some_and(|(at, _)| *at == next) {
            return self.in_order.pop_front();
        }
        self.overtaken.pop_first().map(|((at, _), frame)| (at, frame))
    }

    /// Memory for a frame.
    pub fn memory(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }
    /// Memory that is not needed any more.
    pub fn recycle(&mut self, memory: Vec<u8>) {
        if self.spare.len() < MAX_SPARE {
            self.spare.push(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_when_they_are_due() {
        let at = |ps| Instant::from_ps(ps);
        let mut frames = InFlight::default();
        frames.push(at(10), vec![1], false);
        frames.push(at(40), vec![2], true);
        frames.push(at(20), vec![3], false);
        frames.push(at(40), vec![4], true);
        frames.push(at(50), vec![5], false);
        assert_eq!(frames.pop(at(9)), None);
        let mut order = Vec::new();
        while let Some((due, frame)) = frames.pop(at(49)) {
            order.push((due.as_ps(), frame[0]));
        }
        assert_eq!(order, [(10, 1), (20, 3), (40, 2), (40, 4)]);
        assert_eq!(frames.next(), Some(at(50)));
    }
}
