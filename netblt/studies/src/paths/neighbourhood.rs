//! NETBLT transfers and TCP connections on one path: what each gets of a fair share.

use super::study::{Contender, Road, Sharing};
use super::world::run;
use super::{Algorithm, Dice};
use units::Duration;

/// Who shares a path.
#[derive(Clone, PartialEq, Debug)]
pub struct Neighbourhood {
    /// The path.
    pub road: Road,
    /// NETBLT transfers, and what their way adds to the path's round trip.
    pub ours: (usize, Duration),
    /// TCP connections, and what their way adds; none for transfers among themselves.
    pub theirs: (usize, Duration),
    /// What those are.
    pub algorithm: Algorithm,
    /// Of a run, from start to end.
    pub length: Duration,
    /// Up to so long a host takes for each packet, by chance. Zero for exact hosts.
    pub chance: Duration,
}

impl Neighbourhood {
    /// Over one path, hosts that take up to the time of a packet at the bottleneck: as much as makes phase
    /// effects go away (Floyd and Jacobson, 1992, section 2.3).
    pub fn new(road: Road, ours: usize, theirs: usize, algorithm: Algorithm) -> Neighbourhood {
        let chance = Duration::from_secs_f64(1.0 / road.packets_per_s(road.rate_bps));
        let (ours, theirs) = ((ours, Duration::ZERO), (theirs, Duration::ZERO));
        let length = Duration::from_secs(60);
        Neighbourhood { road, ours, theirs, algorithm, length, chance }
    }

    /// Runs it with somebody in the place of the transfers, and gives what each got of an equal share:
    /// transfers first.
    pub fn shares(&self, ours: Contender, seed: u64) -> Sharing {
        let tcp = Contender::Tcp(self.algorithm);
        let who = [vec![ours; self.ours.0], vec![tcp; self.theirs.0]].concat();
        // All begin within the first tenth, each at a time left to chance.
        let mut dice = Dice::new(seed);
        let tenth_s = self.length.as_secs_f64() / 10.0;
        let flows: Vec<_> = who
            .iter()
            .map(|who| self.road.flow(*who, Duration::from_secs_f64(tenth_s * dice.unit())))
            .collect();
        let mut path = self.road.path();
        path.processing = self.chance;
        path.detours =
            [vec![self.ours.1; self.ours.0], vec![self.theirs.1; self.theirs.0]].concat();
        let run = run(&path, &flows, self.length, Duration::from_ms(20), seed);
        Sharing::measured(&self.road, &run.meters, flows.len(), self.length)
    }

    /// What those in the place of the transfers got on the mean, of a fair share. Where all have the same round trip
    /// that is an equal one. Where they have not, TCP does not share equally either: then it is what a TCP
    /// like the others gets in that place.
    pub fn share_of_fair(&self, ours: Contender, seed: u64) -> f64 {
        let place = |who| self.shares(who, seed).mean_share(0..self.ours.0);
        match self.ours.1 == self.theirs.1 {
            true => place(ours),
            false => place(ours) / place(Contender::Tcp(self.algorithm)),
        }
    }
}
