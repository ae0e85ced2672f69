//! Picosecond time: [`Instant`] on a tester's own clock and [`Duration`] between two of them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

const PS_PER_NS: u64 = 1_000;
const PS_PER_US: u64 = 1_000_000;
const PS_PER_MS: u64 = 1_000_000_000;
const PS_PER_S: u64 = 1_000_000_000_000;

/// A span of time in whole picoseconds; up to 213 days.
///
/// Picoseconds, because every Ethernet rate from 10 Mb/s to 800 Gb/s is a whole number of them a
/// byte, while nanoseconds cannot hold a 64-byte frame time at 100 Gb/s (6.72 ns).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Duration(u64);

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// The longest span that can be held.
    pub const MAX: Duration = Duration(u64::MAX);

    /// A span of `ps` picoseconds.
    #[inline]
    pub const fn from_ps(ps: u64) -> Self {
        Duration(ps)
    }
    /// A span of `ns` nanoseconds.
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        Duration(ns * PS_PER_NS)
    }
    /// A span of `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Duration(us * PS_PER_US)
    }
    /// A span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Duration(ms * PS_PER_MS)
    }
    /// A span of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Duration(s * PS_PER_S)
    }
    /// A span of `s` seconds, rounded to the nearest picosecond; negative or not finite gives zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Duration((s * PS_PER_S as f64).round() as u64)
    }

    /// Whole picoseconds.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Whole nanoseconds, truncated.
    #[inline]
    pub const fn as_ns(self) -> u64 {
        self.0 / PS_PER_NS
    }
    /// Whole microseconds, truncated.
    pub const fn as_us(self) -> u64 {
        self.0 / PS_PER_US
    }
    /// Seconds as a float, for ratios and for people.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// Nanoseconds as a float, for ratios and for people.
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / PS_PER_NS as f64
    }
    /// How many whole ticks of a clock it is. Of a clock of nanoseconds, as most are, without a division: this is
    /// asked of every frame.
    #[inline]
    pub const fn in_ticks(self, tick: Duration) -> u64 {
        match tick.0 {
            0 | 1 => self.0,
            PS_PER_NS => self.0 / PS_PER_NS,
            other => self.0 / other,
        }
    }
    /// `self - other`, or zero where `other` is longer.
    #[inline]
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}

impl Add for Duration {
    type Output = Duration;
    /// Saturates at [`Duration::MAX`].
    #[inline]
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}
impl Sub for Duration {
    type Output = Duration;
    #[inline]
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0 - other.0)
    }
}
impl Mul<u64> for Duration {
    type Output = Duration;
    /// Saturates at [`Duration::MAX`].
    #[inline]
    fn mul(self, times: u64) -> Duration {
        Duration(self.0.saturating_mul(times))
    }
}
impl std::iter::Sum for Duration {
    fn sum<I: Iterator<Item = Duration>>(spans: I) -> Duration {
        spans.fold(Duration::ZERO, Add::add)
    }
}

impl fmt::Display for Duration {
    /// Four significant digits with the unit that suits the size: `6.72 ns`, `1.5 ms`, `60 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit_ps, unit) = match self.0 {
            0..PS_PER_NS => (1, "ps"),
            PS_PER_NS..PS_PER_US => (PS_PER_NS, "ns"),
            PS_PER_US..PS_PER_MS => (PS_PER_US, "us"),
            PS_PER_MS..PS_PER_S => (PS_PER_MS, "ms"),
            _ => (PS_PER_S, "s"),
        };
        let value = self.0 as f64 / unit_ps as f64;
        let decimals = if value < 10.0 { 3 } else { 2 };
        let text = format!("{value:.decimals$}");
        let text = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            &text
        };
        write!(f, "{text} {unit}")
    }
}
impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A point on a tester's clock, in picoseconds since that clock's zero. What zero means is the
/// tester's affair: start of the simulation, or boot of the machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instant(u64);

impl Instant {
    /// The clock's zero.
    pub const ZERO: Instant = Instant(0);
    /// Later than anything that happens.
    pub const FAR_FUTURE: Instant = Instant(u64::MAX);

    /// The point `ps` picoseconds after the clock's zero.
    #[inline]
    pub const fn from_ps(ps: u64) -> Self {
        Instant(ps)
    }
    /// The point `ns` nanoseconds after the clock's zero.
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        Instant(ns * PS_PER_NS)
    }
    /// Picoseconds since the clock's zero.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Nanoseconds since the clock's zero, truncated.
    #[inline]
    pub const fn as_ns(self) -> u64 {
        self.0 / PS_PER_NS
    }
    /// Whole ticks of a clock since its zero.
    #[inline]
    pub const fn in_ticks(self, tick: Duration) -> u64 {
        Duration(self.0).in_ticks(tick)
    }
    /// Time passed since `earlier`, or zero where `earlier` is in fact later.
    #[inline]
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    /// Saturates at [`Instant::FAR_FUTURE`].
    #[inline]
    fn add(self, span: Duration) -> Instant {
        Instant(self.0.saturating_add(span.0))
    }
}
impl AddAssign<Duration> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}
impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t+{}", Duration(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_whole_and_those_of_no_length_are_picoseconds() {
        let span = Duration::from_ps(7_999);
        let of = |tick_ps| span.in_ticks(Duration::from_ps(tick_ps));
        assert_eq!([of(0), of(1), of(1_000), of(4_000), of(8_000)], [7_999, 7_999, 7, 1, 0]);
        assert_eq!(Instant::from_ns(12).in_ticks(Duration::from_ns(5)), 2);
    }

    #[test]
    fn a_duration_prints_in_the_unit_that_suits_it() {
        assert_eq!(Duration::from_ps(6_720).to_string(), "6.72 ns");
        assert_eq!(Duration::from_us(1_500).to_string(), "1.5 ms");
        assert_eq!(Duration::from_secs(60).to_string(), "60 s");
        assert_eq!(Duration::ZERO.to_string(), "0 ps");
        assert_eq!(Duration::from_secs(100).to_string(), "100 s");
    }

    #[test]
    fn a_span_without_an_end_stays_so() {
        let mut span = Duration::MAX;
        span += Duration::from_ps(1);
        assert_eq!(span, Duration::MAX);
        assert_eq!(Duration::from_secs(1_000_000) * 1_000, Duration::MAX);
    }

    #[test]
    fn since_never_goes_negative() {
        let early = Instant::from_ns(5);
        let late = Instant::from_ns(9);
        assert_eq!(late.since(early), Duration::from_ns(4));
        assert_eq!(early.since(late), Duration::ZERO);
    }
}
