//! A link that changes its satellite, or its cell: for a moment nothing passes, and the delay is another one after
//! that.

use crate::rfc1030::Dice;
use units::{Duration, Instant};

/// When, for how long, and what becomes of the delay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Handovers {
    /// The first one, from the start.
    pub first: Duration,
    /// From the beginning of one to that of the next; more than an outage.
    pub every: Duration,
    /// So long nothing passes.
    pub outage: Duration,
    /// From then on the delay is longer by up to so much, drawn anew each time; at the start, too.
    pub detour: Duration,
    /// What leaves during an outage is lost. Otherwise it waits in the queue.
    pub loses: bool,
}

impl Handovers {
    /// Share of the time in which packets pass.
    pub fn open_share(&self) -> f64 {
        1.0 - self.outage.as_secs_f64() / self.every.as_secs_f64()
    }
    /// Handovers that began by then, and the time since the last one began.
    fn begun(&self, at: Instant) -> Option<(u64, Duration)> {
        let first = Instant::ZERO + self.first;
        let since = (at >= first).then(|| at.since(first))?;
        let (every, since) = (self.every.as_ps().max(1), since.as_ps());
        Some((since / every, Duration::from_ps(since % every)))
    }
    /// The earliest time from then on at which packets pass.
    fn opens(&self, at: Instant) -> Instant {
        let left = |(_, since): (u64, Duration)| self.outage.saturating_sub(since);
        at + self.begun(at).map_or(Duration::ZERO, left)
    }
    /// Time without passage up to then.
    fn closed(&self, until: Instant) -> Duration {
        let closed =
            |(before, since): (u64, Duration)| self.outage * before + since.min(self.outage);
        self.begun(until).map_or(Duration::ZERO, closed)
    }
}

/// [`Handovers`] at work.
#[derive(Clone, Debug)]
pub(super) struct Handover {
    model: Handovers,
    /// Delays drawn so far: one more than handovers.
    drawn: u64,
    extra: Duration,
}

impl Handover {
    pub fn new(model: Handovers) -> Handover {
        Handover { model, drawn: 0, extra: Duration::ZERO }
    }

    /// When the queue, which is free from `at` on, takes the next packet.
    pub fn starts(&self, at: Instant) -> Instant {
        if self.model.loses { at } else { self.model.opens(at) }
    }

    /// When a packet has left that is taken at `start`, if without outages it has at `done`.
    pub fn leaves(&self, start: Instant, done: Instant) -> Instant {
        if self.model.loses {
            return done;
        }
        let mut at = done;
        loop {
            let closed = self.model.closed(at).saturating_sub(self.model.closed(start));
            if done + closed == at {
                return at;
            }
            at = done + closed;
        }
    }

    /// Of a wait from `now` to `start`, that in which the queue shrank.
    pub fn served(&self, now: Instant, start: Instant) -> Duration {
        let waited = start.since(now);
        match self.model.loses {
            true => waited,
            false => {
                let closed = self.model.closed(start).saturating_sub(self.model.closed(now));
                waited.saturating_sub(closed)
            }
        }
    }

    /// What a packet that left at `at` takes beyond the delay; none if it left into an outage and is lost. Those times
    /// do not go back.
    pub fn passes(&mut self, at: Instant, dice: &mut Dice) -> Option<Duration> {
        let begun = self.model.begun(at);
        let wanted = begun.map_or(1, |(before, _)| before + 2);
        while self.drawn < wanted {
            self.extra = dice.within(self.model.detour);
            self.drawn += 1;
        }
        let within = begun.is_some_and(|(_, since)| since < self.model.outage);
        (!(within && self.model.loses)).then_some(self.extra)
    }
}
