//! Trials of multicast laid beside what the kernel counts of each group: each frame of every pair of port
//! and group.

use crate::Bed;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use trial::{Tester, TesterDescription, TesterError, Trial, TrialResult};
use units::Duration;

/// Wraps a tester; see the module.
pub struct GroupsCounted<'a, T> {
    tester: T,
    bed: &'a Bed,
    /// Pairs of port and group that agreed.
    agreed: u64,
}

impl<'a, T> GroupsCounted<'a, T> {
    /// A tester on this test bed.
    pub fn new(tester: T, bed: &'a Bed) -> Self {
        GroupsCounted { tester, bed, agreed: 0 }
    }

    /// Pairs of port and group that agreed: a test must see that there were any.
    pub fn agreed(&self) -> u64 {
        self.agreed
    }

    fn packets(&self) -> BTreeMap<Ipv4Addr, u64> {
        let counters = self.bed.device().expect("a device").group_counters().expect("counters");
        counters.into_iter().map(|entry| (entry.group, entry.packets)).collect()
    }

    fn compare(&mut self, trial: &Trial, result: &TrialResult, before: &BTreeMap<Ipv4Addr, u64>) {
        let after = self.packets();
        for received in result.received.iter().flat_map(|port| &port.streams) {
            let stream = trial.streams.iter().find(|stream| stream.id == received.stream);
            let frames = &stream.expect("a stream of the trial").frames;
            for (frame, arrived) in frames.iter().zip(received.flows.counts()) {
                let target = &frame.bytes[30..34];
                let group = Ipv4Addr::new(target[0], target[1], target[2], target[3]);
                // The frame for which the kernel makes its entry is not in the entry's count.
                let Some(then) = before.get(&group) else { continue };
                let counted = after.get(&group).map_or(0, |now| now - then);
                let (label, port) = (&trial.label, received.port);
                assert_eq!(arrived, counted, "{label}: {group} at {port}");
                self.agreed += 1;
            }
        }
    }
}

impl<T: Tester> Tester for GroupsCounted<'_, T> {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        let before = self.packets();
        let result = self.tester.run(trial)?;
        if trial.count_flows && result.is_valid() && result.lost_frames() == 0 {
            self.compare(trial, &result, &before);
        }
        Ok(result)
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.tester.pause(span)
    }
}
