//! A busy host: what it was sent waits until it has a processor again.

use crate::rfc1030::Dice;
use units::{Duration, Instant};

/// How often a host is kept from its processor, and for how long.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Naps {
    /// From the end of one to the begin of the next on the mean, by chance that knows nothing of the one before.
    pub apart: Duration,
    /// Each takes so long at least,
    pub shortest: Duration,
    /// and so long at most, evenly by chance.
    pub longest: Duration,
}

impl Naps {
    /// Share of the time in which the host runs.
    pub fn awake_share(&self) -> f64 {
        let apart_s = self.apart.as_secs_f64();
        let nap_s = (self.shortest.as_secs_f64() + self.longest.as_secs_f64()) / 2.0;
        apart_s / (apart_s + nap_s)
    }
}

/// The naps of one run: from when to when, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Sleep(Vec<[Instant; 2]>);

impl Sleep {
    /// Draws those that begin within a time from the start.
    pub fn drawn(naps: Naps, length: Duration, dice: &mut Dice) -> Sleep {
        let (mut all, mut at) = (Vec::new(), Instant::ZERO);
        loop {
            let begin = at + dice.exponential(naps.apart);
            if begin >= Instant::ZERO + length {
                return Sleep(all);
            }
            let more = dice.within(naps.longest.saturating_sub(naps.shortest));
            at = (begin + naps.shortest + more).max(begin + Duration::from_us(1));
            all.push([begin, at]);
        }
    }

    /// The earliest time from then on at which the host runs.
    pub fn awake(&self, at: Instant) -> Instant {
        let begun = self.0.partition_point(|[begin, _]| *begin <= at);
        self.0[..begun].last().map_or(at, |[_, end]| at.max(*end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_sleeps_as_long_and_as_often_as_it_is_told() {
        let ms = Duration::from_ms;
        let naps = Naps { apart: ms(100), shortest: ms(1), longest: ms(20) };
        let sleep = Sleep::drawn(naps, Duration::from_secs(1000), &mut Dice::new(5));
        let lengths: Vec<Duration> = sleep.0.iter().map(|[begin, end]| end.since(*begin)).collect();
        assert!(lengths.iter().all(|length| *length >= ms(1) && *length <= ms(20)));
        // 1000 s of naps of 10.5 ms that are 100 ms apart.
        assert!((lengths.len() as f64 / (1e6 / 110.5) - 1.0).abs() < 0.04, "{}", lengths.len());
        let times = (0..1_000_000u64).map(|k| Instant::ZERO + ms(k));
        let awake = times.filter(|at| sleep.awake(*at) == *at).count() as f64 / 1e6;
        assert!((awake / naps.awake_share() - 1.0).abs() < 0.01, "{awake}");
    }

    #[test]
    fn who_sleeps_wakes_at_the_end_of_the_nap() {
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        let sleep = Sleep(vec![[at(10), at(15)], [at(20), at(21)]]);
        let awake = [9, 10, 14, 15, 19, 20, 21].map(|ms| sleep.awake(at(ms)));
        assert_eq!(awake, [9, 15, 15, 15, 19, 21, 21].map(at));
    }
}
