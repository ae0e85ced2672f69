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
    /// The tester's clock runs fast by so many parts in a million (slow where negative): its
    /// frames leave and are serialised so much faster, and it cannot see that.
    pub clock_error_ppm: i32,
    /// Its clock tells times apart no finer than this; a picosecond where zero.
    pub timestamp_resolution: Duration,
    /// It stops sending where the device asks it to by PAUSE frames. Otherwise it only counts them.
    pub honours_pause: bool,
}

/// Times at which a tester stands still.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// From one to the next; the first comes this long after the start of a trial.
    pub every: Duration,
    /// How long it lasts.
    pub lasts: Duration,
}

impl Limits {
    /// What the tester's clock shows at a moment of true time.
    #[inline]
    pub(crate) fn reads(&self, truth: Instant) -> Instant {
        self.scale(truth, i64::from(self.clock_error_ppm) + MILLION, MILLION)
    }

    /// The moment of true time at which the tester's clock shows this, rounded up: never before.
    #[inline]
    pub(crate) fn moment(&self, shown: Instant) -> Instant {
        self.scale(shown, MILLION, i64::from(self.clock_error_ppm) + MILLION)
    }

    #[inline]
    fn scale(&self, at: Instant, times: i64, over: i64) -> Instant {
        if self.clock_error_ppm == 0 {
            return at;
        }
        let (times, over) = (times.max(1) as u128, over.max(1) as u128);
        let ps = (u128::from(at.as_ps()) * times).div_ceil(over);
        Instant::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// The tester's tick.
    pub(crate) fn tick(&self) -> Duration {
        self.timestamp_resolution.max(Duration::from_ps(1))
    }
}

const MILLION: i64 = 1_000_000;

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
    #[inline]
    pub(crate) fn departure(&self, due: Instant) -> Instant {
        let interval = self.limits.max_rate.map_or(Duration::ZERO, FrameRate::interval);
        let paced = self.last.map_or(due, |last| due.max(last + interval));
        let Some(stall) = self.limits.stall else { return paced };
        let period = stall.every + stall.lasts;
        let since = paced.since(self.start).as_ps();
        let (periods, into) = (since / period.as_ps(), since % period.as_ps());
        if into < stall.every.as_ps() { paced } else { self.start + period * (periods + 1) }
    }

    #[inline]
    pub(crate) fn has_sent(&mut self, at: Instant) {
        self.last = Some(at);
    }
}
