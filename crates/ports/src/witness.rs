//! A witness on each core: a thread that does nothing but look at the clock, and so learns for how
//! long it was away. What it misses, a transmitter on that core would miss too.

use crate::{clock, sys};
use kernel::thread;
use trial::{Histogram, TesterError};
use units::{Duration, FrameRate, Instant};

/// Shorter gaps between two looks are the clock's and the processor's own (interrupts), and hold up
/// nothing: a frame may leave 20 us late ([`trial::ValidityLimits`]).
const ABSENCE: Duration = Duration::from_us(5);

/// When a thread that wanted to run on a core could not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Absences {
    /// The core.
    pub core: usize,
    /// How long it was watched.
    pub watched: Duration,
    /// Absences of more than 5 us, in nanoseconds.
    pub lengths: Histogram,
    /// All of them together.
    pub away: Duration,
}

impl Absences {
    fn watch(core: usize, watched: Duration) -> Self {
        let begun = clock::now();
        let mut absences = Absences {
            core,
            watched,
            lengths: Histogram::new(Duration::from_ns(1)),
            away: Duration::ZERO,
        };
        let mut last = begun;
        while last.since(begun) < watched {
            let now = clock::now();
            absences.note(last, now);
            last = now;
        }
        absences.watched = last.since(begun);
        absences
    }

    fn note(&mut self, last: Instant, now: Instant) {
        let gap = now.since(last);
        if gap > ABSENCE {
            self.lengths.record(gap.as_ns());
            self.away += gap;
        }
    }

    /// Share of the time in which it was away, 0 to 1.
    pub fn share(&self) -> f64 {
        self.away.as_secs_f64() / self.watched.as_secs_f64()
    }

    /// The longest absence.
    pub fn longest(&self) -> Duration {
        self.lengths.max().unwrap_or(Duration::ZERO)
    }

    /// The rate up to which frames that an absence held back find room in a queue of so many frames when
    /// they leave at once; `None` where there was no absence.
    pub fn rate_within(&self, queue_frames: u32) -> Option<FrameRate> {
        let longest = self.longest().as_secs_f64();
        (longest > 0.0).then(|| FrameRate::from_fps_f64(f64::from(queue_frames) / longest))
    }
}

/// Watches every core that this process may use, all at once, for so long.
pub fn watch_cores(watched: Duration) -> Result<Vec<Absences>, TesterError> {
    let cores = thread::allowed_cores();
    std::thread::scope(|scope| {
        let watch = |core: usize| {
            scope.spawn(move || {
                thread::pin_this(core)?;
                thread::prefer_this();
                Ok(Absences::watch(core, watched))
            })
        };
        let threads: Vec<_> = cores.into_iter().map(watch).collect();
        let results = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        results
            .collect::<std::io::Result<_>>()
            .map_err(|error| sys::system("watch the processors", &error))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_gaps_worth_the_name_are_absences() {
        let at = |us| Instant::ZERO + Duration::from_us(us);
        let mut absences = Absences {
            core: 0,
            watched: Duration::from_ms(10),
            lengths: Histogram::new(Duration::from_ns(1)),
            away: Duration::ZERO,
        };
        for (last, now) in [(0, 1), (1, 6), (6, 106), (200, 1_100)] {
            absences.note(at(last), at(now));
        }
        assert_eq!(absences.lengths.count(), 2);
        assert_eq!(absences.away, Duration::from_ms(1));
        assert!((absences.share() - 0.1).abs() < 1e-9);
        assert_eq!(absences.longest(), Duration::from_us(900));
        // 900 frames in 900 us are a million a second.
        assert_eq!(absences.rate_within(900), Some(FrameRate::from_fps(1_000_000)));
    }

    /// Two threads on one core are each away for about half of the time.
    #[test]
    fn a_witness_that_shares_its_core_is_away_while_the_other_runs() {
        let core = thread::allowed_cores()[0];
        let watch = || {
            thread::pin_this(core).expect("pinned");
            Absences::watch(core, Duration::from_ms(200))
        };
        let both = std::thread::scope(|scope| {
            [scope.spawn(watch), scope.spawn(watch)].map(|thread| thread.join().expect("no panic"))
        });
        for absences in both {
            // Whatever else runs there takes its part, too.
            assert!((0.2..1.0).contains(&absences.share()), "{absences:?}");
            assert!(absences.longest() > Duration::from_us(500), "{absences:?}");
        }
    }
}
