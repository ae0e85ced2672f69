//! Bursts: so many packets back to back, once in an interval (RFC 998 section 4, RFC 1030
//! section 3).

use crate::Burst;
use units::{Duration, Instant};

/// A burst whose interval is no whole number of milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// Packets of a burst, at least 1.
    pub size_packets: u16,
    /// From the start of a burst to the start of the next.
    pub interval: Duration,
}

impl From<Burst> for Pace {
    fn from(burst: Burst) -> Pace {
        Pace { size_packets: burst.size_packets, interval: burst.interval() }
    }
}

/// Whole milliseconds more that are tried to name a pace.
const NAMES_MS: u16 = 32;
/// A name that is faster than the pace by no more than this is near enough.
const NAMED_RISE: f64 = 1.05;

impl Pace {
    fn packets_per_ms(self) -> f64 {
        f64::from(self.size_packets) / (self.interval.as_secs_f64() * 1e3).max(1e-9)
    }

    /// What a NULL-ACK says of this pace: a burst in whole milliseconds, never less restrictive than
    /// `limit` in size or interval (RFC 998 section 4). Among those that are no slower the first that is
    /// near enough, else the nearest.
    pub fn named(self, limit: Burst) -> Burst {
        let rate = self.packets_per_ms();
        let longest = (1.0 / rate).floor().min(f64::from(u16::MAX)) as u16;
        let first_ms = limit.interval_ms.max(longest).max(1);
        let (mut best, mut best_rise) = (Burst { interval_ms: first_ms, ..limit }, f64::INFINITY);
        for interval_ms in first_ms..=first_ms.saturating_add(NAMES_MS) {
            let packets = rate * f64::from(interval_ms);
            // A rate that was computed is not exact.
            let size_packets = (packets - 1e-6).ceil().max(1.0);
            if size_packets > f64::from(limit.size_packets) {
                continue;
            }
            let rise = size_packets / packets;
            if rise < best_rise {
                (best, best_rise) =
                    (Burst { size_packets: size_packets as u16, interval_ms }, rise);
            }
            if rise <= NAMED_RISE {
                break;
            }
        }
        best
    }
}

/// Says when the next packet may leave.
#[derive(Clone, Debug)]
pub struct Pacer {
    pace: Pace,
    slack: Duration,
    /// Start of the burst under way.
    start: Option<Instant>,
    /// Packets that may still leave in it.
    left: u16,
    /// No burst was due earlier: before, the pace was another.
    not_before: Instant,
}

impl Pacer {
    /// Nothing has left yet.
    pub fn new(pace: Pace, slack: Duration) -> Self {
        Pacer { pace, slack, start: None, left: 0, not_before: Instant::ZERO }
    }
    pub fn pace(&self) -> Pace {
        self.pace
    }
    /// From the next burst on. A faster pace holds from now and not from the start of the burst before:
    /// no burst is late by a pace that was not in force when it should have left.
    pub fn set_pace(&mut self, now: Instant, pace: Pace) {
        if self.next().is_some_and(|next| next > now) {
            self.not_before = now;
        }
        self.pace = pace;
    }
    /// When the burst after the one under way is due.
    fn next(&self) -> Option<Instant> {
        self.start.map(|start| (start + self.pace.interval).max(self.not_before))
    }

    /// When the next packet may leave.
    pub fn due(&self) -> Instant {
        match self.start {
            None => Instant::ZERO,
            Some(start) if self.left > 0 => start,
            Some(start) => self.next().unwrap_or(start),
        }
    }
    /// A packet leaves; some have waited for it without a break since `waiting_since`.
    ///
    /// A burst that ran dry goes on if packets come before its interval is over (our choice). Only
    /// lateness is made up for: where nothing waited when the burst was due, it starts now.
    pub fn sent(&mut self, now: Instant, waiting_since: Instant) {
        let next = self.next();
        if self.left == 0 || next.is_some_and(|next| next <= now) {
            let earliest = Instant::from_ps(now.as_ps().saturating_sub(self.slack.as_ps()));
            let late = next.filter(|next| waiting_since <= *next);
            self.start = Some(late.map_or(now, |due| due.max(earliest)));
            self.left = self.pace.size_packets;
        }
        self.left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of so many packets in so many microseconds.
    fn name(size_packets: u16, us: u64, limit: (u16, u16)) -> (u16, u16) {
        let pace = Pace { size_packets, interval: Duration::from_us(us) };
        let limit = Burst { size_packets: limit.0, interval_ms: limit.1 };
        let Burst { size_packets, interval_ms } = pace.named(limit);
        (size_packets, interval_ms)
    }

    #[test]
    fn a_pace_has_a_name_in_whole_milliseconds_within_what_was_offered() {
        assert_eq!(name(5, 40_000, (5, 40)), (5, 40));
        // Half as fast again as 1 / 1 is: 11 ms name it to 4 %.
        assert_eq!(name(1, 1_900, (65_535, 1)), (6, 11));
        // Short of a millisecond by what a computer's numbers are short of.
        assert_eq!(name(5, 2_999, (5, 3)), (5, 3));
        assert_eq!(name(100, 999, (65_535, 1)), (101, 1));
        // One packet at a time is all that may be named: 1 ms is the nearest that is no slower.
        assert_eq!(name(1, 1_900, (1, 1)), (1, 1));
        assert_eq!(name(1, 20_000_000, (65_535, 1)), (1, 20_000));
        assert_eq!(name(32, 1_000_000, (65_535, 1)), (1, 31));
    }

    #[test]
    fn no_name_is_less_restrictive_than_the_offer_nor_twice_as_fast_as_the_pace() {
        for (size, ms) in [(1, 1), (3, 2), (5, 3), (7, 40), (65_535, 1), (16, 1), (1, 999)] {
            let limit = Burst { size_packets: size, interval_ms: ms };
            for step in 1..400u64 {
                let slower = 1.0 + (step * step) as f64 / 300.0;
                let size_packets = (f64::from(size) / slower).floor().max(1.0);
                let ms = (f64::from(ms) * slower * size_packets / f64::from(size)).min(65e3);
                let interval = Duration::from_secs_f64(ms.max(limit.interval_ms.into()) / 1e3);
                let pace = Pace { size_packets: size_packets as u16, interval };
                let named = pace.named(limit);
                assert_eq!(named.restricted_by(limit), named, "{limit:?} {pace:?} {named:?}");
                let rise = Pace::from(named).packets_per_ms() / pace.packets_per_ms();
                assert!((0.99..2.0).contains(&rise), "{limit:?} {pace:?} {named:?}");
            }
        }
    }

    const BURST: Burst = Burst { size_packets: 2, interval_ms: 10 };

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    /// Leaves as early as it may, but never at a time that `busy` turns later.
    fn departures(slack_ms: u64, busy: impl Fn(u64) -> u64) -> Vec<u64> {
        let mut pacer = Pacer::new(BURST.into(), Duration::from_ms(slack_ms));
        let mut now = at_ms(0);
        (0..8)
            .map(|_| {
                let due = pacer.due().max(now);
                now = at_ms(busy(due.as_ps() / 1_000_000_000));
                pacer.sent(now, Instant::ZERO);
                now.as_ps() / 1_000_000_000
            })
            .collect()
    }

    /// Packets leave as early as they may, each no earlier than it is ready.
    fn departures_of(slack_ms: u64, ready_ms: &[u64]) -> Vec<u64> {
        let mut pacer = Pacer::new(BURST.into(), Duration::from_ms(slack_ms));
        let mut now = at_ms(0);
        let leaves = |ready: &u64| {
            let waiting_since = at_ms(*ready);
            now = pacer.due().max(now).max(waiting_since);
            pacer.sent(now, waiting_since);
            now.as_ps() / 1_000_000_000
        };
        ready_ms.iter().map(leaves).collect()
    }

    #[test]
    fn so_many_packets_once_in_an_interval() {
        assert_eq!(departures(0, |due| due), [0, 0, 10, 10, 20, 20, 30, 30]);
    }

    #[test]
    fn a_late_burst_is_made_up_for_within_the_slack_only() {
        let late_once = |due: u64| if (8..17).contains(&due) { 17 } else { due };
        assert_eq!(departures(0, late_once), [0, 0, 17, 17, 27, 27, 37, 37]);
        assert_eq!(departures(5, late_once), [0, 0, 17, 17, 22, 22, 32, 32]);
        assert_eq!(departures(9, late_once), [0, 0, 17, 17, 20, 20, 30, 30]);
    }

    #[test]
    fn after_a_wait_for_packets_the_full_interval_runs_from_the_start_of_the_next_burst() {
        // Whole bursts, then a wait; the slack is for lateness, of which there is none.
        assert_eq!(departures_of(9, &[0, 0, 15, 15, 15, 15]), [0, 0, 15, 15, 25, 25]);
        // The same after a burst that ran dry before it was whole.
        assert_eq!(departures_of(9, &[0, 15, 15, 15, 15]), [0, 15, 15, 25, 25]);
        // A burst that ran dry goes on within its interval, and the next keeps its time.
        assert_eq!(departures_of(9, &[0, 6, 6, 6, 6]), [0, 6, 10, 10, 20]);
    }
    #[test]
    fn a_faster_pace_makes_up_for_nothing_that_the_slower_one_held_back() {
        let slow = Burst { size_packets: 1, interval_ms: 1000 };
        let mut pacer = Pacer::new(slow.into(), Duration::from_ms(50));
        pacer.sent(at_ms(0), Instant::ZERO);
        pacer.set_pace(at_ms(300), BURST.into());
        let mut departures = Vec::new();
        for _ in 0..6 {
            let now = pacer.due();
            pacer.sent(now, Instant::ZERO);
            departures.push(now.as_ps() / 1_000_000_000);
        }
        assert_eq!(departures, [300, 300, 310, 310, 320, 320]);
        // What was late by the old pace is late still.
        pacer.set_pace(at_ms(345), Burst { size_packets: 1, interval_ms: 10 }.into());
        assert_eq!(pacer.due(), at_ms(330));
    }
}
