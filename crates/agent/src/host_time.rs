//! The time of day of a host beside its own clock, and by how much it may be wrong, where the host's chronyd says.

use crate::chrony;
use ports::clock::{own_ns, realtime_ns};
use serde::{Deserialize, Serialize};
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

/// Reads a host's time of day.
pub struct HostTime {
    ask: Box<dyn Fn() -> Option<Claim> + Send + Sync>,
    wrong_ns: i64,
    claim: Mutex<Option<Claim>>,
}

impl HostTime {
    /// That of this host, kept by chronyd.
    pub fn of_this_host() -> Self {
        Self::pretended(Box::new(chrony::ask), 0)
    }

    /// For tests: a host that claims this, and is wrong by that.
    pub fn pretended(ask: Box<dyn Fn() -> Option<Claim> + Send + Sync>, wrong_ns: i64) -> Self {
        HostTime { ask, wrong_ns, claim: Mutex::new(None) }
    }

    /// Asks who keeps it how well it is kept. It takes some milliseconds, and a second at most.
    pub fn ask(&self) {
        let claim = (self.ask)();
        *self.claim.lock().unwrap_or_else(PoisonError::into_inner) = claim;
    }

    /// Reads it; `None` where nobody said how well it is kept.
    pub fn read(&self) -> Option<UtcReading> {
        let claim = *self.claim.lock().unwrap_or_else(PoisonError::into_inner);
        let claim = claim?;
        let before_ns = own_ns();
        let realtime_ns = realtime_ns().wrapping_add_signed(self.wrong_ns);
        Some(UtcReading { before_ns, realtime_ns, after_ns: own_ns(), claim })
    }
}
