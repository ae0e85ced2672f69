//! What a simulated tester cannot do: the proof that invalid trials never decide anything.

use units::{Duration, FrameRate, Instant};

/// Limits of the tester itself; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// A port sends no faster than this; what is due earlier leaves later.
    pub max_rate: Option<FrameRate>,
    /// The tester stands still now and then and catches up in a bunch.
    pub stall: Option<Stall>,
    /// The tester itself loses every so-many-th frame that it receives, and counts it.
    pub loses_every: Option<u64>,
}

/// Times at which a tester stands still.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// From one to the next; the first comes this long after the start of a trial.
    pub every: Duration,
    /// How long it lasts.
    pub lasts: Duration,
}

/// When a port's frames really leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    limits: Limits,
    start: Instant,
    last: Option<Instant>,
}

impl Sender {
    pub(crate) fn new(limits: Limits, start: Instant) -> Self {
        Sender { limits, start, last: None }
    }

    /// The earliest moment from `due` on at which this tester can send.
    pub(crate) fn departure(&self, due: Instant) -> Instant {
        let interval = self.limits.max_rate.map_or(Duration::ZERO, FrameRate::interval);
        let paced = self.last.map_or(due, |last| due.max(last + interval));
        let Some(stall) = self.limits.stall else { return paced };
        let period = stall.every + stall.lasts;
        let since = paced.since(self.start).as_ps();
        let (periods, into) = (since / period.as_ps(), since % period.as_ps());
        if into < stall.every.as_ps() { paced } else { self.start + period * (periods + 1) }
    }

    pub(crate) fn has_sent(&mut self, at: Instant) {
        self.last = Some(at);
    }
}
