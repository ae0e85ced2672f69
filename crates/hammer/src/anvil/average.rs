//! The average rate over ten seconds: what was read off the counters of 1989 and 1990.

use serde::Serialize;
use units::Duration;

/// The averaging period, in seconds.
const PERIOD_S: u64 = 10;
const SECOND_PS: u64 = 1_000_000_000_000;

/// Frames and bytes of whole seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Average {
    /// Frames in these seconds.
    pub frames: u64,
    /// Their bytes, FCS included.
    pub bytes: u64,
    /// How many seconds: ten, or as many as have passed.
    pub seconds: u64,
}

impl Average {
    /// Frames a second.
    pub fn fps(&self) -> f64 {
        self.frames as f64 / self.seconds as f64
    }
    /// Bits a second of the frames themselves, without preamble and gap.
    pub fn bits_per_second(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.seconds as f64
    }
}

/// Counts by second, of the last ten whole ones and the one that runs.
#[derive(Clone, Debug, Default)]
pub struct TenSeconds {
    /// The second that each place holds at present, with its frames and bytes.
    places: [(u64, u64, u64); PERIOD_S as usize + 1],
}

impl TenSeconds {
    /// Counts a frame of so many bytes at this time from the start. Frames come about in order;
    /// one that is late by more than the period is passed over.
    pub fn count(&mut self, at: Duration, bytes: u32) {
        let second = at.as_ps() / SECOND_PS;
        let place = &mut self.places[(second % (PERIOD_S + 1)) as usize];
        if place.0 < second {
            *place = (second, 0, 0);
        }
        if place.0 == second {
            place.1 += 1;
            place.2 += u64::from(bytes);
        }
    }

    /// The average at this time: of the ten whole seconds before it, or of as many as there are;
    /// `None` within the first second.
    pub fn at(&self, now: Duration) -> Option<Average> {
        let end = now.as_ps() / SECOND_PS;
        let start = end.saturating_sub(PERIOD_S);
        let counted = self.places.iter().filter(|(second, ..)| (start..end).contains(second));
        let none = Average { seconds: end - start, ..Default::default() };
        let add = |sum: Average, (_, frames, bytes): &(u64, u64, u64)| Average {
            frames: sum.frames + frames,
            bytes: sum.bytes + bytes,
            ..sum
        };
        (end > 0).then(|| counted.fold(none, add))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Duration {
        Duration::from_ms(ms)
    }

    #[test]
    fn ten_whole_seconds_and_no_others() {
        let mut counts = TenSeconds::default();
        // Second s holds s + 1 frames of 100 bytes.
        for second in 0..12u64 {
            (0..=second).for_each(|frame| counts.count(at_ms(second * 1_000 + frame), 100));
        }
        assert_eq!(counts.at(at_ms(999)), None);
        let average = counts.at(at_ms(11_500)).unwrap();
        // Seconds 1 to 10: 2 + 3 + ... + 11.
        assert_eq!(average, Average { frames: 65, bytes: 6_500, seconds: 10 });
        assert_eq!((average.fps(), average.bits_per_second()), (6.5, 5_200.0));
        // Seconds 2 to 11.
        assert_eq!(counts.at(at_ms(12_000)).unwrap().frames, 75);
        // Nothing came for ten seconds.
        assert_eq!(counts.at(at_ms(22_000)).unwrap().fps(), 0.0);
    }

    #[test]
    fn fewer_seconds_at_first() {
        let mut counts = TenSeconds::default();
        (0..30).for_each(|tenth| counts.count(at_ms(tenth * 100), 64));
        assert_eq!(
            counts.at(at_ms(3_000)).unwrap(),
            Average { frames: 30, bytes: 1_920, seconds: 3 }
        );
        assert_eq!(counts.at(at_ms(2_999)).unwrap().fps(), 10.0);
    }

    #[test]
    fn a_frame_that_is_late_by_more_than_the_period_is_in_no_second() {
        let mut counts = TenSeconds::default();
        counts.count(at_ms(20_000), 64);
        counts.count(at_ms(9_000), 64);
        assert_eq!(counts.at(at_ms(21_000)).unwrap().frames, 1);
    }
}
