//! The truth of a row of processors, by arithmetic: each serves one frame after the other, and keeps
//! so many of each input waiting. No line of it is the simulator's.

use std::collections::{BTreeMap, VecDeque};
use units::Duration;

/// A frame: when it comes, in picoseconds, and at which input.
pub type Coming = (u64, usize);

/// A processor.
#[derive(Clone, Debug)]
pub struct Stage {
    /// What a frame takes it.
    pub service: Duration,
    /// Frames of each input that may wait, the one in service not counted.
    pub room: u64,
    /// Whether each input has one of its own.
    pub of_each_input: bool,
}

impl Stage {
    /// What leaves it, in order of time; of `frames`, in order, that which finds no room is lost.
    fn pass(&self, frames: &[Coming]) -> Vec<Coming> {
        let mut free_at: BTreeMap<usize, u64> = BTreeMap::new();
        let mut starts: BTreeMap<usize, VecDeque<u64>> = BTreeMap::new();
        let mut leaving = vec![];
        for (comes, input) in frames {
            let server = if self.of_each_input { *input } else { 0 };
            let free_at = free_at.entry(server).or_default();
            let waiting = starts.entry(*input).or_default();
            while waiting.front().is_some_and(|start| start <= comes) {
                waiting.pop_front();
            }
            if *free_at > *comes && waiting.len() as u64 >= self.room {
                continue;
            }
            let start = (*free_at).max(*comes);
            waiting.push_back(start);
            *free_at = start + self.service.as_ps();
            leaving.push((*free_at, *input));
        }
        // Those of different inputs may have overtaken each other.
        leaving.sort();
        leaving
    }
}

/// What comes out of all of them.
pub fn through(stages: &[Stage], mut frames: Vec<Coming>) -> Vec<Coming> {
    frames.sort();
    stages.iter().fold(frames, |frames, stage| stage.pass(&frames))
}

/// Nothing but one frame is there: what it takes.
pub fn alone(stages: &[Stage]) -> Duration {
    stages.iter().map(|stage| stage.service).sum()
}

#[test]
fn by_hand() {
    let stage = |service_us, room| Stage {
        service: Duration::from_us(service_us),
        room,
        of_each_input: false,
    };
    let every_us = |us: u64, count: u64| (0..count).map(|k| (k * us * 1_000_000, 0)).collect();
    // Served at 0, 10, 20; the one that comes at 4 waits, the one at 8 finds it waiting.
    let out = through(&[stage(10, 1)], every_us(4, 4));
    assert_eq!(out, [(10_000_000, 0), (20_000_000, 0), (30_000_000, 0)]);
    let out = through(&[stage(10, 0)], every_us(4, 4));
    assert_eq!(out, [(10_000_000, 0), (22_000_000, 0)]);
    let out = through(&[stage(10, 0), stage(13, 0)], every_us(4, 4));
    assert_eq!(out, [(23_000_000, 0)], "the second comes at 22, while the first is served");
}
