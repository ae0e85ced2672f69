//! How many frames of each flow arrived. A flow is one frame of a stream's period: one group, one host.
//!
//! It costs nothing while frames arrive: which of them did is known by their numbers, one bit each, and
//! the number of a frame tells its flow. Only at the end there is a number of 4 bytes for each flow of a
//! stream on a port; what is kept are runs of flows alike.

use crate::SeenSet;
use serde::{Deserialize, Serialize};

/// Neighbouring flows of which equally many frames arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FlowRun {
    /// How many flows.
    pub flows: u64,
    /// Different frames in time, of each.
    pub frames: u64,
}

/// What arrived of each flow of a stream on one port.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FlowCounts {
    runs: Vec<FlowRun>,
}

impl FlowCounts {
    /// Of the frames `seen` below `sent`, which belong to `flows` flows in turn.
    pub fn of(seen: &SeenSet, flows: u64, sent: u64) -> Self {
        if flows == 0 {
            return FlowCounts::default();
        }
        // Where a run begins and ends its last incomplete turn; complete turns are the same to all.
        let mut steps = vec![0i32; flows as usize + 1];
        let mut turns = 0;
        for (from, to) in seen.runs() {
            let (from, to) = (from.min(sent), to.min(sent));
            turns += (to - from) / flows;
            let (first, rest) = (from % flows, (to - from) % flows);
            let mut add = |from: u64, to: u64| {
                steps[from as usize] += 1;
                steps[to as usize] -= 1;
            };
            match first + rest {
                end if end <= flows => add(first, end),
                end => {
                    add(first, flows);
                    add(0, end - flows);
                }
            }
        }
        let mut runs: Vec<FlowRun> = vec![];
        let mut above = 0i64;
        for step in &steps[..flows as usize] {
            above += i64::from(*step);
            let frames = turns + above.unsigned_abs();
            match runs.last_mut() {
                Some(run) if run.frames == frames => run.flows += 1,
                _ => runs.push(FlowRun { flows: 1, frames }),
            }
        }
        FlowCounts { runs }
    }

    /// Whether flows were not counted.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
    /// Runs of flows alike, in order.
    pub fn runs(&self) -> &[FlowRun] {
        &self.runs
    }
    /// Of each flow in order.
    pub fn counts(&self) -> impl Iterator<Item = u64> {
        self.runs.iter().flat_map(|run| (0..run.flows).map(|_| run.frames))
    }
    /// Flows of which at least one frame arrived.
    pub fn arrived(&self) -> u64 {
        self.runs.iter().filter(|run| run.frames > 0).map(|run| run.flows).sum()
    }
}

/// How many frames of a flow were sent, of a stream that sent so many of all its flows in turn.
pub fn sent_of_flow(sent: u64, flows: u64, flow: u64) -> u64 {
    sent / flows.max(1) + u64::from(flow < sent % flows.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn flows_alike_are_kept_as_one() {
        let mut seen = SeenSet::default();
        (0..100_000).for_each(|n| assert!(seen.insert(n)));
        let counts = FlowCounts::of(&seen, 1_000, 100_000);
        assert_eq!(counts.runs(), [FlowRun { flows: 1_000, frames: 100 }]);
        assert_eq!((sent_of_flow(7, 3, 0), sent_of_flow(7, 3, 1)), (3, 2));
    }

    proptest! {
        #[test]
        fn each_flow_is_counted_as_if_alone(
            numbers in prop::collection::btree_set(0u64..40_000, 0..300),
            from in 0u64..40_000, length in 0u64..35_000, flows in 1u64..100, sent in 0u64..80_000,
        ) {
            let mut seen = SeenSet::default();
            let mut expected = vec![0; flows as usize];
            let all = (from..from + length).chain(numbers);
            for n in all {
                if seen.insert(n) && n < sent {
                    expected[(n % flows) as usize] += 1;
                }
            }
            let counts = FlowCounts::of(&seen, flows, sent);
            prop_assert_eq!(counts.arrived(), expected.iter().filter(|n| **n > 0).count() as u64);
            prop_assert_eq!(counts.counts().collect::<Vec<_>>(), expected);
        }
    }
}
