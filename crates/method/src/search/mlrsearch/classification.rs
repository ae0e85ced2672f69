//! What the trials at one load say of it (MLRsearch, "Load Classification Logic" and "Conditional
//! Throughput Logic").

use super::SearchGoal;
use units::Duration;

/// A valid trial at some load. Its effective duration is its duration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tried {
    /// Trial Duration.
    pub duration: Duration,
    /// Frames expected at the outputs, all of them together.
    pub expected_frames: u64,
    /// Frames among them that did not arrive.
    pub lost_frames: u64,
}

/// What a load is with respect to a goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// A lower bound: enough low-loss time, whatever further trials would bring.
    Lower,
    /// An upper bound: too much high-loss time, whatever further trials would bring.
    Upper,
}

/// Durations of the trials at one load, in picoseconds. (As real numbers: an exceed ratio is one,
/// and sums of some hours are still exact.)
#[derive(Clone, Copy, Default, Debug)]
struct Sums {
    full_low: f64,
    full_high: f64,
    short_low: f64,
    short_high: f64,
}

impl Tried {
    /// Trial Loss Ratio, 0 to 1; 0 where no frame was expected.
    pub fn loss_ratio(&self) -> f64 {
        self.lost_frames as f64 / self.expected_frames.max(1) as f64
    }
}

impl SearchGoal {
    /// What this load is; `None` while trials to come could still make it either.
    pub fn classify(&self, trials: &[Tried]) -> Option<Class> {
        self.decide(&self.sums(trials, self.final_duration), self.duration_sum.as_ps() as f64)
    }

    /// What this load would be if trials of `duration` were full-length ones, and no more of them
    /// were to come: a guess. `None` where there is nothing to guess from.
    pub(super) fn guess(&self, trials: &[Tried], duration: Duration) -> Option<Class> {
        let sums = self.sums(trials, duration);
        (sums.full_low + self.bad(&sums) > 0.0).then(|| self.decide(&sums, 0.0))?
    }

    /// Conditional throughput as a share of the load: 1 less the loss ratio that the trials keep
    /// below for all but the exceed ratio of the duration sum. Time that is missing counts as
    /// lost whole. Means something at a lower bound only.
    pub fn conditional_forwarding_ratio(&self, trials: &[Tried]) -> f64 {
        let mut full: Vec<(f64, f64)> = trials
            .iter()
            .filter(|tried| tried.duration >= self.final_duration)
            .map(|tried| (tried.loss_ratio(), tried.duration.as_ps() as f64))
            .collect();
        full.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let measured: f64 = full.iter().map(|(_, time)| time).sum();
        let whole = measured.max(self.duration_sum.as_ps() as f64);
        let mut needed = whole * (1.0 - self.exceed_ratio);
        for (loss_ratio, time) in full {
            needed -= time;
            if needed <= 0.0 {
                return 1.0 - loss_ratio;
            }
        }
        0.0
    }

    fn sums(&self, trials: &[Tried], full_length: Duration) -> Sums {
        let mut sums = Sums::default();
        for tried in trials {
            let is_full = tried.duration >= full_length;
            let sum = match (is_full, tried.loss_ratio() > self.loss_ratio) {
                (true, false) => &mut sums.full_low,
                (true, true) => &mut sums.full_high,
                (false, false) => &mut sums.short_low,
                (false, true) => &mut sums.short_high,
            };
            *sum += tried.duration.as_ps() as f64;
        }
        sums
    }

    /// Time that speaks against the load. Short low-loss trials only make up for short high-loss
    /// ones; they never speak for it.
    fn bad(&self, sums: &Sums) -> f64 {
        let made_up = sums.short_low * self.exceed_ratio / (1.0 - self.exceed_ratio);
        sums.full_high + (sums.short_high - made_up).max(0.0)
    }

    fn decide(&self, sums: &Sums, duration_sum: f64) -> Option<Class> {
        let bad = self.bad(sums);
        let whole = (sums.full_low + bad).max(duration_sum);
        let allowed = whole * self.exceed_ratio;
        let passes_at_best = bad <= allowed;
        let passes_at_worst = whole - sums.full_low <= allowed;
        match (passes_at_best, passes_at_worst) {
            (true, true) => Some(Class::Lower),
            (false, false) => Some(Class::Upper),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(count: usize, seconds: u64, lost_permille: u64) -> Vec<Tried> {
        let duration = Duration::from_secs(seconds);
        vec![Tried { duration, expected_frames: 1_000, lost_frames: lost_permille }; count]
    }

    fn goal(final_s: u64, sum_s: u64, loss_ratio: f64, exceed_ratio: f64) -> SearchGoal {
        SearchGoal {
            loss_ratio,
            exceed_ratio,
            final_duration: Duration::from_secs(final_s),
            duration_sum: Duration::from_secs(sum_s),
            ..SearchGoal::RFC2544
        }
    }

    /// The worked example of the specification: six points in a search at one load, four goals.
    /// At points 5 and 6 its tables call the load a lower bound for the fourth goal, against its
    /// own text and code (exceed ratios of 43 % and 27 % where 20 % are allowed).
    #[test]
    fn the_example_of_the_specification() {
        use Class::{Lower, Upper};
        let goals = [
            goal(60, 60, 0.0, 0.0),
            goal(60, 120, 0.0, 0.5),
            goal(1, 120, 0.005, 0.5),
            goal(60, 60, 0.005, 0.2),
        ];
        let points = [
            (trials(59, 1, 0), [None, None, None, None]),
            (trials(1, 1, 10), [Some(Upper), None, None, None]),
            (trials(59, 1, 10), [Some(Upper), None, None, Some(Upper)]),
            (trials(1, 1, 0), [Some(Upper), None, Some(Lower), Some(Upper)]),
            (trials(1, 60, 1), [Some(Upper), None, Some(Lower), Some(Upper)]),
            (trials(1, 60, 0), [Some(Upper), Some(Lower), Some(Lower), Some(Upper)]),
        ];
        let mut at_load = vec![];
        for (number, (added, expected)) in points.into_iter().enumerate() {
            at_load.extend(added);
            let classes = goals.map(|goal| goal.classify(&at_load));
            assert_eq!(classes, expected, "point {}", number + 1);
        }
        assert_eq!(goals[1].conditional_forwarding_ratio(&at_load), 1.0);
        assert_eq!(goals[2].conditional_forwarding_ratio(&at_load), 1.0);
        assert_eq!(goals[3].conditional_forwarding_ratio(&at_load), 0.999);
    }

    #[test]
    fn a_load_that_was_not_tried_is_nothing() {
        let goal = SearchGoal::TST009;
        assert_eq!(goal.classify(&[]), None);
        assert_eq!(goal.guess(&[], goal.initial_duration), None);
        assert_eq!(goal.conditional_forwarding_ratio(&[]), 0.0);
    }

    #[test]
    fn missing_time_counts_as_lost() {
        let goal = goal(1, 4, 0.005, 0.5);
        assert_eq!(goal.conditional_forwarding_ratio(&trials(1, 1, 0)), 0.0);
        assert_eq!(goal.conditional_forwarding_ratio(&trials(2, 1, 2)), 0.998);
    }

    #[test]
    fn attributes_out_of_range_are_refused_by_name() {
        assert_eq!(SearchGoal::RFC2544.check(), Ok(()));
        assert_eq!(SearchGoal::TST009.check(), Ok(()));
        let wrong = [
            (goal(60, 60, 1.0, 0.0), "loss ratio"),
            (goal(60, 60, 0.0, 1.0), "exceed ratio"),
            (goal(60, 59, 0.0, 0.0), "duration sum"),
            (goal(30, 60, 0.0, 0.0), "initial trial duration"),
            (SearchGoal { width: 0.0, ..SearchGoal::RFC2544 }, "width"),
        ];
        for (goal, name) in wrong {
            assert!(goal.check().unwrap_err().contains(name), "{name}");
        }
    }
}
