//! A radio link, on which packets leave in groups: a station of Wi-Fi sends all that waits when the channel is its
//! own, a cell of LTE in each subframe, again where that failed. The order is kept.

use crate::rfc1030::Dice;
use units::{Duration, Instant};

/// A turn that failed so often succeeds.
const MOST_REPEATS: u32 = 8;

/// When packets leave, and how long a group of them takes. Nothing of the link's rate is lost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Turns {
    /// From a turn to the next, at least; more than nothing.
    pub every: Duration,
    /// Up to so much more, by chance.
    pub spread: Duration,
    /// Share of the turns that fail, and are repeated until they succeed.
    pub failing: f64,
    /// Each repetition takes so long. What comes later waits for it, as order is kept.
    pub repeat: Duration,
}

/// [`Turns`] at work.
#[derive(Clone, Debug)]
pub(super) struct Radio {
    turns: Turns,
    turn: Instant,
    /// When what leaves in that turn is at the receiver.
    arrives: Instant,
}

impl Radio {
    pub fn new(turns: Turns) -> Radio {
        Radio { turns, turn: Instant::ZERO, arrives: Instant::ZERO }
    }

    /// When what would arrive at `at` does. Those times do not go back.
    pub fn released(&mut self, at: Instant, dice: &mut Dice) -> Instant {
        while self.turn < at {
            let spread = match self.turns.spread {
                Duration::ZERO => Duration::ZERO,
                spread => dice.within(spread),
            };
            self.turn += self.turns.every.max(Duration::from_us(1)) + spread;
            let repeats = match self.turns.failing {
                0.0 => 0,
                share => (0..MOST_REPEATS).take_while(|_| dice.unit() < share).count() as u64,
            };
            self.arrives = self.arrives.max(self.turn + self.turns.repeat * repeats);
        }
        self.arrives
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_ms(1);

    /// Of packets each 100 us for 100 s, when each would arrive and does.
    fn released(turns: Turns) -> Vec<(Instant, Instant)> {
        let (mut radio, mut dice) = (Radio::new(turns), Dice::new(3));
        let due = (1..=1_000_000).map(|k| Instant::ZERO + Duration::from_us(100) * k);
        due.map(|at| (at, radio.released(at, &mut dice))).collect()
    }
    fn groups(times: &[(Instant, Instant)]) -> Vec<Instant> {
        let mut groups: Vec<Instant> = times.iter().map(|(_, at)| *at).collect();
        assert!(groups.is_sorted(), "in order");
        groups.dedup();
        groups
    }

    #[test]
    fn packets_arrive_in_groups_at_the_next_turn() {
        let times =
            released(Turns { every: MS * 5, spread: Duration::ZERO, failing: 0.0, repeat: MS });
        for (due, at) in &times {
            assert_eq!(at.as_ps() % (MS * 5).as_ps(), 0, "{at:?}");
            assert!(*at >= *due && at.since(*due) < MS * 5, "{due:?}: {at:?}");
        }
        assert_eq!(groups(&times).len(), 20_000);
    }

    #[test]
    fn turns_are_as_far_apart_as_chance_has_it() {
        let times = released(Turns { every: MS * 2, spread: MS * 8, failing: 0.0, repeat: MS });
        let groups = groups(&times);
        let gaps = groups.windows(2).map(|pair| pair[1].since(pair[0]));
        assert!(gaps.clone().all(|gap| gap >= MS * 2 && gap <= MS * 10));
        // 2 ms and half of 8 ms on the mean.
        assert!((groups.len() as f64 / (100_000.0 / 6.0) - 1.0).abs() < 0.02, "{}", groups.len());
    }

    /// A turn in ten waits for 8 ms, one in a hundred for 16; those in these 8 ms wait with it.
    #[test]
    fn what_failed_comes_later_and_what_is_behind_it_waits() {
        let turns = Turns { every: MS, spread: Duration::ZERO, failing: 0.1, repeat: MS * 8 };
        let times = released(turns);
        groups(&times);
        let on_time = times.iter().filter(|(due, at)| at.since(*due) < MS).count() as f64;
        // Neither its own turn failed nor one of the seven before it, and none of the eight before those twice.
        let share = 0.9f64.powi(8) * (1.0 - 0.01f64).powi(8);
        let got = on_time / times.len() as f64;
        assert!((got / share - 1.0).abs() < 0.05, "{got} for {share}");
    }
}
