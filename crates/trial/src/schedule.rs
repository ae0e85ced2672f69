//! When each frame of a port leaves, computed from its number.

use crate::cycle::Cycle;
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
    /// Where frames differ in length: `rate` is their mean then, and each is followed by a gap in
    /// proportion to its own length. So a mix reaches all of the medium, and no frame is asked for
    /// before the medium is done with the one before it. `None` for even spacing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_length: Option<Cycle>,
}

impl Segment {
    /// A constant load.
    pub fn constant(rate: FrameRate, frames: u64) -> Self {
        Segment { frames, rate, bursts: None, by_length: None }
    }
    /// Bursts of `burst_frames` at `rate`, one every `period` (RFC 2544 section 21).
    pub fn bursty(rate: FrameRate, burst_frames: u64, period: Duration, frames: u64) -> Self {
        Segment { frames, rate, bursts: Some((burst_frames.max(1), period)), by_length: None }
    }
    /// Departure of this segment's frame `k`, from the segment's start; `first` frames of the
    /// schedule are before it.
    fn departure(&self, first: u64, k: u64) -> Duration {
        let (bursts, in_burst) = match self.bursts {
            None => (Duration::ZERO, k),
            Some((frames, period)) => (period * (k / frames), k % frames),
        };
        bursts
            + match &self.by_length {
                None => self.rate.departure(in_burst),
                Some(cycle) => {
                    let bytes = |frames| cycle.bytes_before(frames);
                    let since_burst = bytes(first + k) - bytes(first + k - in_burst);
                    cycle.byte_rate(self.rate).departure(since_burst)
                }
            }
    }
    /// From the first departure until the next segment's first: the spacing of the last frame
    /// is kept, so that a change of rate inserts no gap (RFC 2544 section 26.5).
    fn duration(&self, first: u64) -> Duration {
        self.departure(first, self.frames)
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
    /// Whether it can be computed with. One that was made here can; one that was read from elsewhere may not.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        let mut frames: u64 = 0;
        for segment in &self.segments {
            let sum = frames.checked_add(segment.frames).filter(|sum| *sum < u64::MAX / 2);
            frames = sum.ok_or("a schedule of more frames than can be counted")?;
            if segment.bursts.is_some_and(|(burst, _)| burst == 0) {
                return Err("a burst without frames".into());
            }
            let bytes = segment.by_length.as_ref().map(Cycle::each_bytes);
            if bytes.is_some_and(|bytes| bytes.is_empty() || bytes.contains(&0)) {
                return Err("frames without length".into());
            }
        }
        Ok(())
    }
    /// How many frames in all.
    pub fn frames(&self) -> u64 {
        self.segments.iter().map(|segment| segment.frames).sum()
    }
    /// Intended time from the first departure to one spacing after the last.
    pub fn duration(&self) -> Duration {
        self.starts().map(|(segment, first, _)| segment.duration(first)).sum()
    }
    /// Each segment with the number of its first frame and the time of its start.
    pub fn starts(&self) -> impl Iterator<Item = (&Segment, u64, Duration)> {
        let mut next = (0, Duration::ZERO);
        self.segments.iter().map(move |segment| {
            let (first, start) = next;
            next = (first + segment.frames, start + segment.duration(first));
            (segment, first, start)
        })
    }
    /// Whether each frame has a time of its own, whatever its length: they are bursts of one.
    pub fn is_timed(&self) -> bool {
        let alone = |segment: &Segment| segment.bursts.is_some_and(|(frames, _)| frames == 1);
        !self.segments.is_empty() && self.segments.iter().all(alone)
    }
    /// The same for frames of these lengths.
    pub fn by_length(mut self, cycle: &Cycle) -> Schedule {
        self.segments.iter_mut().for_each(|segment| segment.by_length = Some(cycle.clone()));
        self
    }
    /// Frames of the longest cycle of lengths; 0 where frames are evenly spaced.
    pub(crate) fn cycle_frames(&self) -> u64 {
        let cycles = self.segments.iter().filter_map(|segment| segment.by_length.as_ref());
        cycles.map(Cycle::frames).max().unwrap_or(0)
    }
    /// Departure of frame `k` from the schedule's start; past the last frame the last segment
    /// is continued.
    pub fn departure(&self, k: u64) -> Duration {
        let last = self.segments.len().saturating_sub(1);
        let mut of = self.starts().enumerate();
        let of =
            of.find(|(index, (segment, first, _))| k < first + segment.frames || *index == last);
        of.map_or(Duration::ZERO, |(_, (segment, first, start))| {
            start + segment.departure(first, k - first)
        })
    }
    /// How many frames are due before `elapsed` since the schedule's start.
    pub fn frames_before(&self, elapsed: Duration) -> u64 {
        let (mut due, mut not_due) = (0, self.frames());
        while due < not_due {
            let middle = due + (not_due - due) / 2;
            match self.departure(middle) < elapsed {
                true => due = middle + 1,
                false => not_due = middle,
            }
        }
        due
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

/// The departures of a schedule in order, without a division a frame where frames are evenly spaced:
/// quotient and remainder are carried along exactly, so each value equals [`Schedule::departure`].
#[derive(Clone, Debug)]
pub struct Departures {
    segments: std::vec::IntoIter<Segment>,
    pace: Option<Pace>,
    /// Where the next segment starts.
    next_start: Duration,
    /// Frames so far.
    frame: u64,
}

/// The state within one segment.
#[derive(Clone, Debug)]
struct Pace {
    left: u64,
    at: Duration,
    /// Spacing of frames, or of bytes on the medium, is `whole_ps` and `part`/`parts` of a picosecond.
    whole_ps: u64,
    part: u64,
    parts: u64,
    carried: u64,
    burst: Option<Burst>,
    by_length: Option<Cycle>,
}

#[derive(Clone, Debug)]
struct Burst {
    frames: u64,
    left: u64,
    period: Duration,
    started: Duration,
}

/// How long the frame is that leaves now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Length {
    /// As the schedule's cycle has it.
    Planned,
    /// This many bytes on the medium.
    Bytes(u32),
    /// This many, in the place of another frame: what follows comes no sooner than after a mean one, so
    /// that the rate of frames stays what it is.
    Inserted(u32),
}

impl Schedule {
    /// Every departure, from the first.
    pub fn departures(&self) -> Departures {
        let mut departures = Departures {
            segments: self.segments.clone().into_iter(),
            pace: None,
            next_start: Duration::ZERO,
            frame: 0,
        };
        departures.settle();
        departures
    }
}

impl Departures {
    /// When the next frame leaves.
    #[inline]
    pub fn peek(&self) -> Option<Duration> {
        self.pace.as_ref().map(|pace| pace.at)
    }

    /// Goes on to the frame after the next, which is so long.
    #[inline]
    pub(crate) fn advance(&mut self, length: Length) {
        let Some(pace) = &mut self.pace else { return };
        match &pace.by_length {
            None => pace.advance(),
            Some(cycle) => {
                let bytes = cycle.charge(length, self.frame);
                pace.advance_by(bytes.into());
            }
        }
        self.frame += 1;
        if pace.left == 0 {
            self.next_start = pace.at;
            self.settle();
        }
    }

    /// Moves on to a segment that has frames.
    fn settle(&mut self) {
        self.pace = self
            .segments
            .by_ref()
            .find(|segment| segment.frames > 0)
            .map(|segment| Pace::new(segment, self.next_start));
    }
}

impl Iterator for Departures {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let next = self.peek()?;
        self.advance(Length::Planned);
        Some(next)
    }
}

impl Pace {
    fn new(segment: Segment, start: Duration) -> Self {
        let unit = match &segment.by_length {
            None => segment.rate,
            Some(cycle) => cycle.byte_rate(segment.rate),
        };
        let (units, seconds) = unit.as_fraction();
        let units = units.max(1);
        let ps = u128::from(seconds) * 1_000_000_000_000;
        let whole_ps = u64::try_from(ps / u128::from(units)).unwrap_or(u64::MAX);
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
            part: (ps % u128::from(units)) as u64,
            parts: units,
            carried: 0,
            burst,
            by_length: segment.by_length,
        }
    }

    #[inline]
    fn advance(&mut self) {
        self.at += Duration::from_ps(self.whole_ps);
        self.carried += self.part;
        if self.carried >= self.parts {
            self.carried -= self.parts;
            self.at += Duration::from_ps(1);
        }
        self.count();
    }

    fn advance_by(&mut self, bytes: u64) {
        let carried = u128::from(self.carried) + u128::from(self.part) * u128::from(bytes);
        let parts = u128::from(self.parts);
        self.carried = (carried % parts) as u64;
        self.at += Duration::from_ps(self.whole_ps) * bytes
            + Duration::from_ps(u64::try_from(carried / parts).unwrap_or(u64::MAX));
        self.count();
    }

    #[inline]
    fn count(&mut self) {
        self.left -= 1;
        let Some(burst) = &mut self.burst else { return };
        burst.left -= 1;
        if burst.left == 0 {
            burst.left = burst.frames;
            burst.started += burst.period;
            self.at = burst.started;
            self.carried = 0;
        }
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
        let bursts = Schedule { segments: vec![bursts] };
        assert_eq!(bursts.departure(15), Duration::from_us(15));
        assert_eq!(bursts.departure(16), Duration::from_ms(1));
        assert_eq!(bursts.departure(33), Duration::from_us(2_001));
        assert_eq!(bursts.duration(), Duration::from_ms(4));
    }

    /// Two frames of 84 bytes on the medium and one of 1,538: at half of 10 Gb/s a byte takes 1.6 ns.
    #[test]
    fn a_gap_is_in_proportion_to_the_frame_before_it() {
        let cycle = Cycle::new(vec![84, 84, 1_538]);
        let half = FrameRate::new(10_000_000_000 * 3, (84 + 84 + 1_538) * 8).scaled(0.5);
        let segments = vec![Segment::constant(half, 5)];
        let schedule = Schedule { segments }.by_length(&cycle);
        let ns: Vec<u64> = (0..5).map(|k| schedule.departure(k).as_ps() / 1_000).collect();
        assert_eq!(ns, [0, 134, 268, 2_729, 2_863]);
    }

    /// A schedule of frames of these lengths, and the cycle.
    fn by_length(rate: FrameRate, lengths: &[u32], frames: u64) -> Schedule {
        let segments = vec![Segment::constant(rate, frames)];
        Schedule { segments }.by_length(&Cycle::new(lengths.to_vec()))
    }

    #[test]
    fn frames_before_a_moment_are_those_whose_departure_lies_before_it() {
        let schedule = Schedule::constant(FrameRate::from_fps(1_000), Duration::from_ms(10));
        let before = |us| schedule.frames_before(Duration::from_us(us));
        assert_eq!([before(0), before(1), before(1_000), before(1_001)], [0, 1, 1, 2]);
        assert_eq!((before(9_001), before(1_000_000)), (10, 10));
    }

    proptest! {
        /// What the medium needs is stated here anew: 8 bits a byte, preamble and gap included.
        #[test]
        fn no_stretch_of_a_mix_needs_more_than_the_medium_has(
            lengths in prop::collection::vec(84u32..9_100, 1..40),
            bps in prop_oneof![Just(10_000_000u64), Just(1_000_000_000), Just(100_000_000_000), 1u64..400_000_000_000],
        ) {
            let bits: u64 = lengths.iter().map(|bytes| u64::from(*bytes) * 8).sum();
            let maximum = FrameRate::new(bps * lengths.len() as u64, bits);
            let schedule = by_length(maximum, &lengths, 3 * lengths.len() as u64);
            let departures: Vec<_> = schedule.departures().collect();
            let needs = |k: usize| {
                u128::from(lengths[k % lengths.len()]) * 8 * 1_000_000_000_000 / u128::from(bps)
            };
            for from in 0..departures.len() {
                let mut needed = 0;
                for to in from + 1..departures.len() {
                    needed += needs(to - 1);
                    let has = departures[to].saturating_sub(departures[from]);
                    // Times are whole picoseconds.
                    prop_assert!(u128::from(has.as_ps()) + 1 >= needed, "{from}..{to}: {needed}");
                }
            }
        }

        #[test]
        fn whole_cycles_take_as_long_as_evenly_spaced_frames(
            lengths in prop::collection::vec(84u32..9_100, 1..40),
            (rate, per) in (1u64..90_000_000, 1u64..5_000),
            cycles in 1u64..100,
        ) {
            let rate = FrameRate::new(rate, per);
            let frames = cycles * lengths.len() as u64;
            let even = Schedule { segments: vec![Segment::constant(rate, frames)] };
            let mixed = by_length(rate, &lengths, frames);
            prop_assert_eq!(mixed.duration(), even.duration());
            prop_assert_eq!(mixed.mean_rate(), rate);
        }

        #[test]
        fn departures_one_by_one_equal_those_by_number(
            segments in prop::collection::vec((0u64..200, 1u64..90_000_000, 1u64..5_000, 0u64..9), 1..4),
            lengths in prop::option::of(prop::collection::vec(84u32..9_100, 1..20)),
        ) {
            let segments = segments.into_iter().map(|(frames, rate, per, burst)| Segment {
                frames,
                rate: FrameRate::new(rate, per),
                bursts: (burst > 0).then(|| (burst, FrameRate::new(rate, per).departure(burst))),
                by_length: None,
            });
            let mut schedule = Schedule { segments: segments.collect() };
            if let Some(lengths) = lengths {
                schedule = schedule.by_length(&Cycle::new(lengths));
            }
            let mut k = 0;
            for departure in schedule.departures() {
                prop_assert_eq!(departure, schedule.departure(k), "frame {}", k);
                k += 1;
            }
            prop_assert_eq!(k, schedule.frames());
        }
    }
}
