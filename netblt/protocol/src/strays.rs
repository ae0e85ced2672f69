//! Packets that would end connections which are not there. A few come when ends forget each other; many
//! come from somebody who does not know the ports and tries all of them.

use std::collections::BTreeMap;
use units::{Duration, Instant};

/// More than so many, without a pause as long as that, are a sweep.
const FEW: u32 = 8;
const PAUSE: Duration = Duration::from_secs(10);
/// Peers that are remembered; each has a connection.
const MOST_PEERS: usize = 1024;

/// Strays by the address that they came from.
#[derive(Clone, Debug)]
pub struct Strays<A> {
    seen: BTreeMap<A, (u32, Instant)>,
}

impl<A: Copy + Ord> Strays<A> {
    /// None came.
    pub fn new() -> Self {
        Strays { seen: BTreeMap::new() }
    }
    /// One came; whether it is one of a sweep.
    pub fn came(&mut self, now: Instant, peer: A) -> bool {
        if self.seen.len() >= MOST_PEERS {
            self.seen.retain(|_, (_, last)| *last + PAUSE > now);
        }
        if self.seen.len() < MOST_PEERS {
            let (count, last) = self.seen.entry(peer).or_insert((0, now));
            *count = if *last + PAUSE > now { count.saturating_add(1) } else { 1 };
            *last = now;
        }
        self.is_swept(now, peer)
    }
    /// Whether somebody sweeps ports from this address.
    pub fn is_swept(&self, now: Instant, peer: A) -> bool {
        self.seen.get(&peer).is_some_and(|(count, last)| *count > FEW && *last + PAUSE > now)
    }
}
