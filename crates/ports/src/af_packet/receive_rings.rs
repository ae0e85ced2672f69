//! A ring for each receive queue of an interface: the kernel fills rings from several queues on several processors at a
//! time, so that only frames of one queue have an order.

use super::receive_ring::ReceiveRing;
use crate::clock;
use crate::control::OwnFrames;
use crate::pump::FrameSource;
use crate::pumped::TrialSource;
use crate::watch::add_drops;
use std::io;
use units::Instant;

/// Those of one interface; the first looks after what all have in common.
pub(super) struct ReceiveRings(Vec<ReceiveRing>);

impl ReceiveRings {
    /// One for each of so many receive queues, of so many blocks each. `rings` are those of the whole tester, these included.
    /// One for all where the kernel cannot tell queues apart.
    pub fn open(ifindex: u32, queues: usize, blocks: usize, rings: usize) -> io::Result<Self> {
        let open = |_| ReceiveRing::open(ifindex, blocks, rings);
        let mut all = (0..queues).map(open).collect::<io::Result<Vec<_>>>()?;
        if queues > 1 && ReceiveRing::share_queues(&all).is_err() {
            // One that has joined a group would go on with a part of the frames.
            all.clear();
            all.push(ReceiveRing::open(ifindex, blocks * queues, rings)?);
        }
        Ok(ReceiveRings(all))
    }
}

impl FrameSource for ReceiveRings {
    fn queues(&self) -> usize {
        self.0.len()
    }

    fn take_waiting(&mut self, queue: usize, take: impl FnMut(Instant, &[u8])) -> io::Result<u64> {
        match queue {
            0 => self.0[0].take_waiting(0, take),
            _ => Ok(self.0[queue].take_blocks(take)),
        }
    }
}

impl TrialSource for ReceiveRings {
    fn restart(&mut self, own: &OwnFrames) -> io::Result<()> {
        let now = clock::now();
        self.0.iter_mut().try_for_each(|ring| {
            ring.know(own);
            ring.restart(now)
        })
    }

    fn drops(&mut self) -> io::Result<Vec<(String, u64)>> {
        let mut sums = vec![];
        for ring in &mut self.0 {
            add_drops(&mut sums, vec![("AF_PACKET ring full (tp_drops)".into(), ring.dropped()?)]);
        }
        Ok(sums)
    }

    fn fault(&self) -> Option<(&'static str, &'static str)> {
        let fault = (
            "measure arrival times",
            "the time of day was set during the trial, and AF_PACKET stamps arrivals with it; stop \
             whatever sets it (NTP steps, VM time sync) and run again",
        );
        self.0[0].clock_was_set().then_some(fault)
    }
}
