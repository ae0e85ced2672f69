//! The time of day of a host beside its own clock, and by how much it may be wrong, where the host's chronyd says; and
//! how far the kernel pulls both.

use crate::chrony;
use kernel::time_of_day;
use ports::clock::{own_ns, realtime_ns};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

/// By how much CLOCK_REALTIME of a host is wrong at most, as the host has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// At most, when chronyd was asked.
    pub error_ns: u64,
    /// So much more in each second after that, in parts per 10^9.
    pub growth_ppb: u64,
    /// The host's own clock just before chronyd was asked, unconverted.
    pub asked_ns: u64,
}

impl Claim {
    /// By how much at this time of the host's own clock.
    pub fn error_at(&self, own_ns: u64) -> u64 {
        let passed = u128::from(own_ns.saturating_sub(self.asked_ns));
        let grown = (passed * u128::from(self.growth_ppb)).div_ceil(1_000_000_000);
        self.error_ns.saturating_add(u64::try_from(grown).unwrap_or(u64::MAX))
    }
}

/// CLOCK_REALTIME between two readings of this process's own clock, unconverted, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UtcReading {
    /// Its own clock before.
    pub before_ns: u64,
    /// CLOCK_REALTIME.
    pub realtime_ns: u64,
    /// Its own clock after.
    pub after_ns: u64,
    /// By how much CLOCK_REALTIME may be wrong.
    pub claim: Claim,
}

impl UtcReading {
    /// By how much CLOCK_REALTIME is wrong at most when this was read.
    pub fn claimed_ns(&self) -> u64 {
        self.claim.error_at(self.after_ns)
    }
}

/// Both clocks of a host run from one counter: beyond this, and what a reading takes, only who sets the time of day
/// changes their difference.
const SET_BEYOND_NS: u64 = 2_000;
/// Of so many readings the one that took the shortest time is kept.
const READINGS: usize = 64;

/// A claim, and the time of day less the host's own clock when it was made.
#[derive(Clone, Copy)]
struct Told {
    claim: Claim,
    apart_ns: u64,
}

/// Reads a host's time of day.
pub struct HostTime {
    ask: Box<dyn Fn() -> Option<Claim> + Send + Sync>,
    wrong_ns: AtomicI64,
    told: Mutex<Option<Told>>,
}

impl HostTime {
    /// That of this host, kept by chronyd.
    pub fn of_this_host() -> Self {
        Self::pretended(Box::new(chrony::ask), 0)
    }

    /// For tests: a host that claims this, and is wrong by that.
    pub fn pretended(ask: Box<dyn Fn() -> Option<Claim> + Send + Sync>, wrong_ns: i64) -> Self {
        let wrong_ns = AtomicI64::new(wrong_ns);
        HostTime { ask, wrong_ns, told: Mutex::new(None) }
    }

    /// For tests: somebody sets the time of day by so much.
    pub fn set_by(&self, ns: i64) {
        self.wrong_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// By how much the kernel has the clocks of this host run faster than its counter, in parts per 10^9.
    pub fn pulled_ppb(&self) -> i64 {
        time_of_day().map_or(0, |time| time.pulled_ppb)
    }

    /// Asks who keeps it how well it is kept. It takes some milliseconds, and a second at most.
    pub fn ask(&self) {
        // What was set while it was asked is not in its answer.
        let apart_ns = self.apart_ns();
        let told = (self.ask)().map(|claim| Told { claim, apart_ns });
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = told;
    }

    /// Reads it; `None` where nobody said how well it is kept, or it was set since.
    pub fn read(&self) -> Option<UtcReading> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let Told { claim, apart_ns } = (*told)?;
        let (before_ns, realtime_ns, after_ns) = self.clocks();
        let is_set = apart(before_ns, realtime_ns, after_ns).wrapping_sub(apart_ns) as i64;
        if is_set.unsigned_abs() > after_ns - before_ns + SET_BEYOND_NS {
            *told = None;
            return None;
        }
        Some(UtcReading { before_ns, realtime_ns, after_ns, claim })
    }

    /// The time of day between two readings of the own clock.
    fn clocks(&self) -> (u64, u64, u64) {
        let before_ns = own_ns();
        let realtime_ns = realtime_ns().wrapping_add_signed(self.wrong_ns.load(Ordering::Relaxed));
        (before_ns, realtime_ns, own_ns())
    }

    fn apart_ns(&self) -> u64 {
        let readings = (0..READINGS).map(|_| self.clocks());
        let read = readings
            .map(|(before, realtime, after)| (after - before, apart(before, realtime, after)));
        read.min().map_or(0, |(_, apart_ns)| apart_ns)
    }
}

fn apart(before_ns: u64, realtime_ns: u64, after_ns: u64) -> u64 {
    realtime_ns.wrapping_sub(before_ns.midpoint(after_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claiming() -> HostTime {
        let claim = || Some(Claim { error_ns: 100_000, growth_ppb: 0, asked_ns: own_ns() });
        HostTime::pretended(Box::new(claim), 0)
    }

    /// A claim says how wrong the time of day was; one that was set since is wrong by more.
    #[test]
    fn a_claim_ends_when_the_time_of_day_is_set() {
        let time = claiming();
        for step_ns in [400_000, -400_000, 20_000] {
            assert!(time.read().is_none(), "nobody was asked");
            time.ask();
            assert!((0..1_000).all(|_| time.read().is_some()));
            time.set_by(step_ns);
            assert!(time.read().is_none(), "{step_ns}");
        }
        time.ask();
        assert!(time.read().is_some(), "who is asked again knows of it");
    }
}
