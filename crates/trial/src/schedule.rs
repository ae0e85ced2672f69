//! When each frame of a port leaves, computed from its number.

use serde::{Deserialize, Serialize};
use units::{Duration, FrameRate};

/// Some frames at one pace: evenly spaced, or in bursts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// How many frames.
    pub frames: u64,
    /// Spacing of neighbouring frames (within a burst, where there are bursts).
    pub rate: FrameRate,
    /// Frames in a burst and time from one burst's start to the next one's; `None` for a
    /// constant load (RFC 1242 section 3.4).
    pub bursts: Option<(u64, Duration)>,
}

impl Segment {
    /// A constant load.
    pub fn constant(rate: FrameRate, frames: u64) -> Self {
        Segment { frames, rate, bursts: None }
    }
    /// Bursts of `burst_frames` at `rate`, one every `period` (RFC 2544 section 21).
    pub fn bursty(rate: FrameRate, burst_frames: u64, period: Duration, frames: u64) -> Self {
        Segment { frames, rate, bursts: Some((burst_frames.max(1), period)) }
    }
    /// Departure of this segment's frame `k`, from the segment's start.
    pub fn departure(&self, k: u64) -> Duration {
        match self.bursts {
            None => self.rate.departure(k),
            Some((frames, period)) => period * (k / frames) + self.rate.departure(k % frames),
        }
    }
    /// From the first departure until the next segment's first: the spacing of the last frame
    /// is kept, so that a change of rate inserts no gap (RFC 2544 section 26.5).
    pub fn duration(&self) -> Duration {
        self.departure(self.frames)
    }
}

/// All departures of a port: segments, one after the other without a gap.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Schedule {
    /// In order of departure.
    pub segments: Vec<Segment>,
}

impl Schedule {
    /// A constant load for as many frames as leave within `duration`.
    pub fn constant(rate: FrameRate, duration: Duration) -> Self {
        Schedule { segments: vec![Segment::constant(rate, rate.frames_in(duration))] }
    }
    /// How many frames in all.
    pub fn frames(&self) -> u64 {
        self.segments.iter().map(|segment| segment.frames).sum()
    }
    /// Intended time from the first departure to one spacing after the last.
    pub fn duration(&self) -> Duration {
        self.segments.iter().map(Segment::duration).sum()
    }
    /// Departure of frame `k` from the schedule's start; past the last frame the last segment
    /// is continued.
    pub fn departure(&self, k: u64) -> Duration {
        let mut start = Duration::ZERO;
        let mut first = 0;
        let last = self.segments.len().saturating_sub(1);
        for (index, segment) in self.segments.iter().enumerate() {
            if k < first + segment.frames || index == last {
                return start + segment.departure(k - first);
            }
            start += segment.duration();
            first += segment.frames;
        }
        start
    }
    /// Mean intended rate over the whole schedule.
    pub fn mean_rate(&self) -> FrameRate {
        let seconds = self.duration().as_secs_f64();
        if seconds == 0.0 {
            return FrameRate::ZERO;
        }
        match &self.segments[..] {
            [only] if only.bursts.is_none() => only.rate,
            _ => FrameRate::from_fps_f64(self.frames() as f64 / seconds),
        }
    }
}

/// The departures of a schedule in order, without a division a frame: quotient and remainder are
/// carried along exactly, so each value equals [`Schedule::departure`].
#[derive(Clone, Debug)]
pub struct Departures {
    segments: std::vec::IntoIter<Segment>,
    pace: Option<Pace>,
    next_start: Duration,
}

/// The state within one segment.
#[derive(Clone, Debug)]
struct Pace {
    left: u64,
    at: Duration,
    /// Spacing is `whole_ps` and `part`/`parts` of a picosecond.
    whole_ps: u64,
    part: u64,
    parts: u64,
    carried: u64,
    burst: Option<Burst>,
}

#[derive(Clone, Debug)]
struct Burst {
    frames: u64,
    left: u64,
    period: Duration,
    started: Duration,
}

impl Schedule {
    /// Every departure, from the first.
    pub fn departures(&self) -> Departures {
        Departures {
            segments: self.segments.clone().into_iter(),
            pace: None,
            next_start: Duration::ZERO,
        }
    }
}

impl Iterator for Departures {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        loop {
            if let Some(pace) = self.pace.as_mut().filter(|pace| pace.left > 0) {
                return Some(pace.depart());
            }
            let segment = self.segments.next()?;
            self.pace = Some(Pace::new(&segment, self.next_start));
            self.next_start += segment.duration();
        }
    }
}

impl Pace {
    fn new(segment: &Segment, start: Duration) -> Self {
        let (frames, seconds) = segment.rate.as_fraction();
        let frames = frames.max(1);
        let ps = u128::from(seconds) * 1_000_000_000_000;
        let whole_ps = u64::try_from(ps / u128::from(frames)).unwrap_or(u64::MAX);
        let burst = segment.bursts.map(|(frames, period)| Burst {
            frames,
            left: frames,
            period,
            started: start,
        });
        Pace {
            left: segment.frames,
            at: start,
            whole_ps,
            part: (ps % u128::from(frames)) as u64,
            parts: frames,
            carried: 0,
            burst,
        }
    }

    fn depart(&mut self) -> Duration {
        let now = self.at;
        self.left -= 1;
        self.at += Duration::from_ps(self.whole_ps);
        self.carried += self.part;
        if self.carried >= self.parts {
            self.carried -= self.parts;
            self.at += Duration::from_ps(1);
        }
        if let Some(burst) = &mut self.burst {
            burst.left -= 1;
            if burst.left == 0 {
                burst.left = burst.frames;
                burst.started += burst.period;
                self.at = burst.started;
                self.carried = 0;
            }
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_change_of_rate_inserts_no_gap() {
        let fast = Segment::constant(FrameRate::from_fps(1_000), 10);
        let slow = Segment::constant(FrameRate::from_fps(100), 5);
        let schedule = Schedule { segments: vec![fast, slow] };
        assert_eq!(schedule.frames(), 15);
        assert_eq!(schedule.departure(9), Duration::from_ms(9));
        assert_eq!(schedule.departure(10), Duration::from_ms(10));
        assert_eq!(schedule.departure(11), Duration::from_ms(20));
        assert_eq!(schedule.duration(), Duration::from_ms(60));
    }

    #[test]
    fn bursts_start_on_their_period() {
        let bursts = Segment::bursty(FrameRate::from_fps(1_000_000), 16, Duration::from_ms(1), 64);
        assert_eq!(bursts.departure(15), Duration::from_us(15));
        assert_eq!(bursts.departure(16), Duration::from_ms(1));
        assert_eq!(bursts.departure(33), Duration::from_us(2_001));
        assert_eq!(bursts.duration(), Duration::from_ms(4));
    }

    proptest! {
        #[test]
        fn departures_one_by_one_equal_those_by_number(
            segments in prop::collection::vec((1u64..200, 1u64..90_000_000, 1u64..5_000, 0u64..9), 1..4)
        ) {
            let segments = segments.into_iter().map(|(frames, rate, per, burst)| Segment {
                frames,
                rate: FrameRate::new(rate, per),
                bursts: (burst > 0).then(|| (burst, FrameRate::new(rate, per).departure(burst))),
            });
            let schedule = Schedule { segments: segments.collect() };
            let mut k = 0;
            for departure in schedule.departures() {
                prop_assert_eq!(departure, schedule.departure(k), "frame {}", k);
                k += 1;
            }
            prop_assert_eq!(k, schedule.frames());
        }
    }
}
