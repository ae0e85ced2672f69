//! In what groups frames leave.
//!
//! The kernel hands live frames to an interface in groups. One at a time keeps every departure
//! exact, and the first frame of a group waits for the last. So groups are as small as the rate
//! allows: by the rate at first, and larger as soon as the transmitter, though it has its core to
//! itself, falls behind (a device that runs in the sender's own context slows it down).

use super::layout::TransmitState;
use super::shared::SharedArray;
use crate::clock;
use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use trial::Schedule;
use units::{Duration, Instant};

/// Rates, in frames a second, up to which groups of one, four and sixteen suffice: about 60 % of
/// what each reaches on one core of a small virtual machine (2.4, 3.7 and 4.3 million).
const SUFFICE: [(f64, u32); 3] = [(1.5e6, 1), (2.5e6, 4), (3.4e6, 16)];
/// Larger ones are no faster.
const LARGEST: u32 = 64;
/// Groups grow by this factor.
const GROWTH: u32 = 4;
/// Falling behind by less than this is no reason yet.
const TOLERATED_LAG: Duration = Duration::from_ms(1);
/// A transmitter that is too slow falls behind by at least this share of the time.
const FALLS_BEHIND: f64 = 0.03;
/// So many times in a row: one that was kept from its core, by the host of a virtual machine for instance,
/// is on time again after that, and larger groups would only bunch its frames.
const SLOW_LOOKS: u32 = 5;
/// Groups that a rate needed are begun with from this share of it.
const NEARLY: f64 = 0.6;
/// Share of the time in which the transmitter must have had its core (the kernel's own work for the
/// frames takes some of it, more so with small groups): otherwise it fell behind
/// for want of that, and larger groups would not help.
const OWN_CORE: f64 = 0.5;

/// What was found out so far about one interface.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// (rate in frames a second, group size that it turned out to need).
    needed: Vec<(f64, u32)>,
}

impl Groups {
    /// The group size to begin with at a rate in frames a second.
    pub fn size_for(&self, rate: f64) -> u32 {
        let by_rate = SUFFICE.iter().find(|(upto, _)| rate <= *upto).map_or(LARGEST, |(_, n)| *n);
        let reached = |(from, _): &&(f64, u32)| rate >= NEARLY * from;
        let needed = self.needed.iter().filter(reached).map(|(_, size)| *size);
        needed.fold(by_rate, u32::max)
    }

    /// Remembers that a rate needed larger groups than it began with.
    pub fn note(&mut self, rate: f64, size: u32) {
        if size > self.size_for(rate) {
            self.needed.push((rate, size));
        }
    }
}

/// The highest rate of a schedule.
pub(super) fn fastest_fps(schedule: &Schedule) -> f64 {
    schedule.segments.iter().map(|segment| segment.rate.fps()).fold(0.0, f64::max)
}

/// Watches a transmission and lets its groups grow.
pub(super) struct GroupWatch<'a> {
    state: &'a SharedArray<TransmitState>,
    size: &'a AtomicU32,
    thread: ThreadClock,
    last: Look,
    slow_looks: SlowLooks,
}

/// What is seen of a transmission.
#[derive(Clone, Copy, Default, Debug)]
struct Look {
    at: Instant,
    thread_time: Duration,
    lag: Duration,
    frames: u64,
}

/// How many looks in a row showed a transmitter that is too slow for its groups.
#[derive(Clone, Copy, Default, Debug)]
struct SlowLooks(u32);

impl SlowLooks {
    /// Whether there have been enough of them, with the look at hand.
    fn are_enough(&mut self, last: &Look, look: &Look) -> bool {
        let span = look.at.since(last.at).as_secs_f64();
        let busy = look.thread_time.saturating_sub(last.thread_time).as_secs_f64();
        let behind = look.lag.saturating_sub(last.lag).as_secs_f64();
        let falls_behind = look.lag > TOLERATED_LAG && behind > FALLS_BEHIND * span;
        // A host's clocks count its absences as the thread's time. No frame leaves then.
        let had_its_core = busy >= OWN_CORE * span && look.frames > last.frames;
        self.0 = if falls_behind && had_its_core { self.0 + 1 } else { 0 };
        let are_enough = self.0 >= SLOW_LOOKS;
        if are_enough {
            self.0 = 0;
        }
        are_enough
    }
}

impl<'a> GroupWatch<'a> {
    /// Watches a transmission of the calling thread; `size` is the group size that it uses.
    pub fn new(state: &'a SharedArray<TransmitState>, size: &'a AtomicU32) -> Self {
        let last = Look { at: clock::now(), ..Look::default() };
        let (thread, slow_looks) = (ThreadClock::of_this_thread(), SlowLooks::default());
        GroupWatch { state, size, thread, last, slow_looks }
    }

    /// True if the groups have just been made larger.
    pub fn look(&mut self) -> bool {
        let at = clock::now();
        let frames = self.state.word(0, offset_of!(TransmitState, frame)).load(Relaxed);
        let lag = at.since(self.due());
        let look = Look { at, thread_time: self.thread.read(), lag, frames };
        let last = std::mem::replace(&mut self.last, look);
        let size = self.size.load(Relaxed);
        let grows = self.slow_looks.are_enough(&last, &look) && size < LARGEST;
        if grows {
            self.size.store((size * GROWTH).min(LARGEST), Relaxed);
        }
        grows
    }

    /// When the next frame was due by the schedule with which it began. What was given up of the
    /// lateness since is lag all the same.
    fn due(&self) -> Instant {
        let word = |offset| self.state.word(0, offset).load(Relaxed);
        let start_ns = word(offset_of!(TransmitState, start_ns));
        Instant::from_ns(start_ns + word(offset_of!(TransmitState, due)))
    }
}

/// How much processor time a thread has had.
struct ThreadClock(libc::clockid_t);

impl ThreadClock {
    fn of_this_thread() -> Self {
        let mut clock = 0;
        // SAFETY: the calling thread lives, and `clock` is writable.
        let error = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) };
        assert_eq!(error, 0, "{}", io::Error::from_raw_os_error(error));
        ThreadClock(clock)
    }

    fn read(&self) -> Duration {
        Duration::from_ns(clock::read_ns(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_as_small_as_the_rate_allows() {
        let sizes = [14_880.0, 1e6, 2e6, 3e6, 14_880_952.0];
        let sizes = sizes.map(|fps| Groups::default().size_for(fps));
        assert_eq!(sizes, [1, 1, 4, 16, 64]);
    }

    /// Looks each 5 ms at a thread that always seems to have its core: so much further behind each time,
    /// and so many frames further. Says whether the groups grow.
    fn grows(looks: &[(u64, u64)]) -> bool {
        let mut slow_looks = SlowLooks::default();
        let mut last = Look::default();
        looks.iter().any(|(behind_us, frames)| {
            let span = Duration::from_ms(5);
            let look = Look {
                at: last.at + span,
                thread_time: last.thread_time + span,
                lag: last.lag + Duration::from_us(*behind_us),
                frames: last.frames + frames,
            };
            slow_looks.are_enough(&std::mem::replace(&mut last, look), &look)
        })
    }

    #[test]
    fn groups_grow_where_the_transmitter_is_always_too_slow() {
        assert!(grows(&[(1_500, 3_500); 8]));
    }

    /// A virtual machine whose host ran something else for 24 ms, and one that is away for 0.2 ms often.
    #[test]
    fn groups_do_not_grow_because_the_core_was_away() {
        let away =
            [(0, 74), (3_000, 30), (5_000, 0), (5_000, 0), (5_000, 0), (5_000, 0), (1_000, 60)];
        let on_time = [(0, 74); 3];
        let often = [(200, 72), (200, 72), (0, 74), (200, 72), (0, 74), (200, 72), (200, 72)];
        let all: Vec<_> = away.into_iter().chain(on_time).chain(often).collect();
        assert!(!grows(&all.repeat(3)));
    }

    #[test]
    fn what_a_rate_needed_is_remembered_for_higher_ones() {
        let mut groups = Groups::default();
        groups.note(6e5, 4);
        groups.note(9e5, 16);
        groups.note(2e6, 4);
        let sizes = [3.5e5, 5e5, 1e6].map(|fps| groups.size_for(fps));
        assert_eq!(sizes, [1, 4, 16]);
    }
}
