//! What is left of a run: each test as it was foretold, corrected by what the tests before it took, and repetitions
//! from the moment on when they are decided.

use crate::TestKind;
use crate::consistency::{Place, Repeat};
use crate::estimate::Foretold;
use std::collections::{BTreeMap, VecDeque};
use units::Duration;

/// Tests still to come, and what those took that have ended.
#[derive(Clone, Default, Debug)]
pub(crate) struct Outlook {
    todo: VecDeque<Share>,
    under_way: Option<(Share, Option<Place>)>,
    ended: BTreeMap<TestKind, Sums>,
    /// By place, one for each of its parts.
    took: BTreeMap<Place, Vec<Duration>>,
}

/// A test of a frame size.
#[derive(Clone, Copy, Debug)]
struct Share {
    test: TestKind,
    foretold: Foretold,
}

/// Of all sizes of a test that have ended.
#[derive(Clone, Copy, Default, Debug)]
struct Sums {
    sizes: f64,
    foretold_s: f64,
    took_s: f64,
    /// What was planned for the trials that were made.
    made_s: f64,
}

/// What the first tests take says little of others: so large a part of the run is held to take what it was foretold to.
const PRIOR: f64 = 0.3;
/// What was foretold counts as so much of a size that has ended.
const FORETOLD: f64 = 0.5;

impl Outlook {
    /// A test that comes after all others.
    pub fn expect(&mut self, test: TestKind, foretold: Foretold) {
        self.todo.push_back(Share { test, foretold });
    }

    /// The tests still to come are these instead.
    pub fn expect_only(&mut self, tests: impl IntoIterator<Item = (TestKind, Foretold)>) {
        self.todo.clear();
        tests.into_iter().for_each(|(test, foretold)| self.expect(test, foretold));
    }

    /// Only these are still to come. Each will take what it took before.
    pub fn repeat(&mut self, asked: &[Repeat]) {
        let known = |repeat: &Repeat| {
            let parts = self.took.get(&repeat.place).cloned().unwrap_or_default();
            let test = repeat.place.test;
            let known = move |took| Share { test, foretold: Foretold::known(took) };
            parts.into_iter().map(known)
        };
        self.todo = asked.iter().flat_map(known).collect();
    }

    /// What the tests to come will take.
    pub fn left(&self) -> Foretold {
        self.todo.iter().map(|share| self.corrected(share)).sum()
    }

    /// A test begins, at this place of the run where its results have one: what it will take. Tests before it that
    /// were foretold and not made are not to come any more.
    pub fn begin(&mut self, test: TestKind, place: Option<Place>) -> Foretold {
        let Some(at) = self.todo.iter().position(|share| share.test == test) else {
            let unforeseen = Share { test, foretold: Foretold::default() };
            self.under_way = Some((unforeseen, place));
            return Foretold::default();
        };
        let share = self.todo.drain(..=at).next_back().expect("found above");
        self.under_way = Some((share, place));
        self.corrected(&share)
    }

    /// The test under way, if there is one, has ended and took so long, with trials that were planned to take so many
    /// seconds.
    pub fn end(&mut self, took: Duration, made_s: f64) {
        let Some((share, place)) = self.under_way.take() else { return };
        if let Some(place) = place {
            self.took.entry(place).or_default().push(took);
        }
        if share.foretold.planned_s > 0.0 {
            let sums = self.ended.entry(share.test).or_default();
            sums.sizes += 1.0;
            sums.foretold_s += share.foretold.planned_s;
            sums.took_s += took.as_secs_f64();
            sums.made_s += made_s;
        }
    }

    /// Another size of a test takes what the sizes before it took, as far as these say it. Where tests needed fewer
    /// trials than foretold, the device carries what it is offered, and others need fewer, too; why a test needs more is
    /// its own affair.
    fn corrected(&self, share: &Share) -> Foretold {
        let Some(sums) = self.ended.get(&share.test) else {
            return share.foretold.scaled(self.made());
        };
        let part = FORETOLD / (sums.sizes + FORETOLD);
        let as_before_s = share.foretold.planned_s * sums.took_s / sums.foretold_s;
        let mut corrected = share.foretold.scaled(part);
        corrected.known_s += as_before_s * (1.0 - part);
        corrected
    }

    /// What was planned for the trials made over what was foretold, but for tests that could not be made.
    fn made(&self) -> f64 {
        let made = self.ended.values().filter(|sums| sums.made_s > 0.0);
        let (made_s, foretold_s) =
            made.fold((0.0, 0.0), |sum, it| (sum.0 + it.made_s, sum.1 + it.foretold_s));
        let to_come_s: f64 = self.todo.iter().map(|share| share.foretold.planned_s).sum();
        let prior_s = PRIOR * (foretold_s + to_come_s);
        if prior_s > 0.0 { ((made_s + prior_s) / (foretold_s + prior_s)).min(1.0) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn place(item: usize) -> Option<Place> {
        Some(Place { lane: 0, item, test: TestKind::Throughput })
    }

    /// Ten seconds in five trials.
    const SEARCH: Foretold = Foretold { planned_s: 10.0, trials: 5.0, known_s: 0.0 };

    fn planned(seconds: f64) -> Foretold {
        Foretold { planned_s: seconds, ..Foretold::default() }
    }

    fn left(outlook: &Outlook) -> Duration {
        outlook.left().in_all(0.0)
    }

    /// What was foretold counts as half a size.
    #[test]
    fn another_size_takes_what_those_before_it_took() {
        let mut outlook = Outlook::default();
        (0..4).for_each(|_| outlook.expect(TestKind::Throughput, SEARCH));
        assert_eq!(left(&outlook), S(40));
        for (took, next) in [(40, 30), (60, 42)] {
            outlook.begin(TestKind::Throughput, place(0));
            outlook.end(S(took), 10.0);
            let others = 2 * u64::from(took == 40) + u64::from(took == 60);
            assert_eq!(left(&outlook), S((others + 1) * next));
        }
    }

    /// Five trials that wait two seconds longer each; what another size took has its waits in it.
    #[test]
    fn waits_lengthen_each_trial_to_come() {
        let mut outlook = Outlook::default();
        (0..2).for_each(|_| outlook.expect(TestKind::Throughput, SEARCH));
        assert_eq!(outlook.left().in_all(2.0), S(40));
        outlook.begin(TestKind::Throughput, place(0));
        outlook.end(S(20), 10.0);
        assert_eq!(outlook.left().in_all(2.0), S(20));
        assert_eq!(SEARCH.in_all(-3.0), S(5), "half of what is planned");
    }

    /// A search of 10 s of 40 foretold needed trials of 4: the rest is held to need (4 + 12) / (10 + 12) of what was
    /// foretold. One that needed more says nothing of other tests.
    #[test]
    fn other_tests_are_corrected_by_the_trials_that_were_made() {
        for (made_s, expected_s) in [(4.0, 30.0 * 16.0 / 22.0), (28.0, 30.0)] {
            let mut outlook = Outlook::default();
            outlook.expect(TestKind::Throughput, SEARCH);
            outlook.expect(TestKind::Latency, planned(30.0));
            outlook.begin(TestKind::Throughput, place(0));
            outlook.end(S(60), made_s);
            let left_s = left(&outlook).as_secs_f64();
            assert!((left_s - expected_s).abs() < 1e-6, "{left_s}");
        }
    }

    /// What one size cannot be tested for says little of others, and nothing of other tests.
    #[test]
    fn a_test_that_ends_at_once_says_nothing_of_other_tests() {
        let mut outlook = Outlook::default();
        for test in [TestKind::Throughput, TestKind::Throughput, TestKind::Latency] {
            outlook.expect(test, planned(10.0));
        }
        outlook.begin(TestKind::Throughput, place(0));
        outlook.end(Duration::ZERO, 0.0);
        assert_eq!(left(&outlook).as_secs_f64().round(), 13.0);
    }

    #[test]
    fn tests_that_were_not_made_are_not_to_come_any_more() {
        let mut outlook = Outlook::default();
        outlook.expect(TestKind::Throughput, planned(7.0));
        outlook.expect(TestKind::Latency, planned(5.0));
        outlook.expect(TestKind::FrameLoss, planned(3.0));
        assert_eq!(outlook.begin(TestKind::Latency, None), planned(5.0));
        assert_eq!(left(&outlook), S(3));
        assert_eq!(outlook.begin(TestKind::Pdv, None), Foretold::default(), "nobody foretold it");
        assert_eq!(left(&outlook), S(3));
    }

    #[test]
    fn a_repetition_takes_what_the_test_took_before() {
        let mut outlook = Outlook::default();
        for item in 0..2 {
            outlook.expect(TestKind::Throughput, planned(10.0));
            outlook.begin(TestKind::Throughput, place(item));
            outlook.end(S(20 + item as u64), 10.0);
        }
        assert_eq!(left(&outlook), Duration::ZERO);
        let of = |item| Repeat {
            place: place(item).unwrap(),
            frame_size: "64".into(),
            because: "a contradiction".into(),
        };
        outlook.repeat(&[of(0), of(1)]);
        assert_eq!(left(&outlook), S(41));
        assert_eq!(outlook.begin(TestKind::Throughput, place(0)), Foretold::known(S(20)));
        assert_eq!(left(&outlook), S(21));
    }
}
