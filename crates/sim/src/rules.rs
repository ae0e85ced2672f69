//! Rules of impairment.

use crate::impair::passes;
use crate::{Fate, Rule};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use trial::{DeviceAction, PortId};
use units::{Duration, Instant};

/// Exactly one frame in `n` has this fate: frames n, 2n, 3n, ... of all that come in.
#[derive(Clone, Debug)]
pub struct EveryNth {
    /// At least 1.
    pub n: u64,
    /// What happens to it.
    pub fate: Fate,
    count: u64,
}

impl EveryNth {
    /// One frame in `n` has this fate.
    pub fn new(n: u64, fate: Fate) -> Self {
        EveryNth { n, fate, count: 0 }
    }
}

impl Rule for EveryNth {
    fn decide(&mut self, _now: Instant, _port: PortId, _frame: &[u8]) -> Fate {
        self.count += 1;
        if self.count.is_multiple_of(self.n) { self.fate } else { Fate::Pass }
    }
}

/// Each frame has this fate with some probability, whatever the load.
#[derive(Clone, Debug)]
pub struct Noise {
    fate: Fate,
    /// Below this the fate strikes, of 2^64.
    threshold: u64,
    random: Xoshiro256PlusPlus,
}

impl Noise {
    /// Strikes with `probability` (0 to 1), drawn from `seed`.
    pub fn new(probability: f64, fate: Fate, seed: u64) -> Self {
        let threshold = (probability * u64::MAX as f64) as u64;
        Noise { fate, threshold, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }
}

impl Rule for Noise {
    fn decide(&mut self, _now: Instant, _port: PortId, _frame: &[u8]) -> Fate {
        if self.random.next_u64() < self.threshold { self.fate } else { Fate::Pass }
    }
}

/// Passes frames while it has tokens, and drops the others: a token bucket without a queue, as firewalls and switches
/// limit rates with (single rate, RFC 2697 section 3, without its second bucket). One for all ports.
#[derive(Clone, Debug)]
pub struct Policer {
    fps: f64,
    burst_frames: f64,
    tokens: f64,
    filled_at: Instant,
}

impl Policer {
    /// `fps` tokens a second, one a frame, of which it keeps as many as `burst_frames`. It begins full.
    pub fn new(fps: f64, burst_frames: u64) -> Self {
        let burst_frames = burst_frames as f64;
        Policer { fps, burst_frames, tokens: burst_frames, filled_at: Instant::ZERO }
    }
}

impl Rule for Policer {
    fn decide(&mut self, now: Instant, _port: PortId, _frame: &[u8]) -> Fate {
        let earned = now.since(self.filled_at).as_secs_f64() * self.fps;
        self.filled_at = now;
        self.tokens = (self.tokens + earned).min(self.burst_frames);
        if self.tokens < 1.0 {
            return Fate::Drop;
        }
        self.tokens -= 1.0;
        Fate::Pass
    }
}

/// The device, or its link at one port, forwards nothing for a while after a [`DeviceAction`].
#[derive(Clone, Debug, Default)]
pub struct Outage {
    /// How long a software reset lasts.
    pub restart: Duration,
    /// What a link takes after it is up again until frames pass.
    pub link_recovery: Duration,
    /// From, until, and at which port (`None` for all).
    off: Option<(Instant, Instant, Option<PortId>)>,
}

impl Outage {
    /// A device that takes this long.
    pub fn new(restart: Duration, link_recovery: Duration) -> Self {
        Outage { restart, link_recovery, off: None }
    }

    fn is_off(&self, now: Instant, port: PortId) -> bool {
        self.off.is_some_and(|(from, until, at)| {
            from <= now && now < until && at.is_none_or(|at| passes(port, at))
        })
    }
}

impl Rule for Outage {
    fn decide(&mut self, now: Instant, port: PortId, _frame: &[u8]) -> Fate {
        if self.is_off(now, port) { Fate::Drop } else { Fate::Pass }
    }
    fn silences_output(&self, now: Instant, port: PortId) -> bool {
        self.is_off(now, port)
    }
    fn act(&mut self, now: Instant, action: &DeviceAction) -> Option<Instant> {
        let (over, off_until, port) = match action {
            DeviceAction::LinkReset { port, down_for } => {
                (now + *down_for, now + *down_for + self.link_recovery, Some(*port))
            }
            DeviceAction::SoftwareReset => (now + self.restart, now + self.restart, None),
        };
        self.off = Some((now, off_until, port));
        Some(over)
    }
}
