//! What is left of a run: each test as it was foretold, corrected by what the tests before it took, and repetitions
//! from the moment on when they are decided.

use crate::TestKind;
use crate::consistency::{Place, Repeat};
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
    foretold: Duration,
    /// It has been made before and took so long.
    is_known: bool,
}

/// Of tests that have ended.
#[derive(Clone, Copy, Default, Debug)]
struct Sums {
    foretold_s: f64,
    took_s: f64,
}

/// What the first tests take says little of others: at first as much as so large a part of the run is held to take
/// what it was foretold to.
const PRIOR: f64 = 0.1;
/// A test that took less of what was foretold came to an end at once: this device, or this port, cannot do it.
const NOT_MADE: f64 = 0.1;

impl Outlook {
    /// A test that comes after all others.
    pub fn expect(&mut self, test: TestKind, foretold: Duration) {
        self.todo.push_back(Share { test, foretold, is_known: false });
    }

    /// The tests still to come are these instead.
    pub fn expect_only(&mut self, tests: impl IntoIterator<Item = (TestKind, Duration)>) {
        self.todo.clear();
        tests.into_iter().for_each(|(test, foretold)| self.expect(test, foretold));
    }

    /// Only these are still to come. Each will take what it took before.
    pub fn repeat(&mut self, asked: &[Repeat]) {
        let known = |repeat: &Repeat| {
            let parts = self.took.get(&repeat.place).cloned().unwrap_or_default();
            let test = repeat.place.test;
            parts.into_iter().map(move |foretold| Share { test, foretold, is_known: true })
        };
        self.todo = asked.iter().flat_map(known).collect();
    }

    /// What the tests to come will take.
    pub fn left(&self) -> Duration {
        let overall = self.overall();
        self.todo.iter().map(|share| self.corrected(share, overall)).sum()
    }

    /// A test begins, at this place of the run where its results have one: what it will take. Tests before it that
    /// were foretold and not made are not to come any more.
    pub fn begin(&mut self, test: TestKind, place: Option<Place>) -> Duration {
        let Some(at) = self.todo.iter().position(|share| share.test == test) else {
            let unforeseen = Share { test, foretold: Duration::ZERO, is_known: true };
            self.under_way = Some((unforeseen, place));
            return Duration::ZERO;
        };
        let share = self.todo.drain(..=at).next_back().expect("found above");
        self.under_way = Some((share, place));
        self.corrected(&share, self.overall())
    }

    /// The test under way, if there is one, has ended and took so long.
    pub fn end(&mut self, took: Duration) {
        let Some((share, place)) = self.under_way.take() else { return };
        if let Some(place) = place {
            self.took.entry(place).or_default().push(took);
        }
        if !share.is_known {
            let sums = self.ended.entry(share.test).or_default();
            sums.foretold_s += share.foretold.as_secs_f64();
            sums.took_s += took.as_secs_f64();
        }
    }

    /// Another size of a test takes what the sizes before it took; other tests as much more or less than foretold as
    /// those before them.
    fn corrected(&self, share: &Share, overall: f64) -> Duration {
        let same = self.ended.get(&share.test).filter(|sums| sums.foretold_s > 0.0);
        let factor = match same {
            _ if share.is_known => 1.0,
            // One size that cannot be tested does not mean that another takes no time.
            Some(sums) => (sums.took_s / sums.foretold_s).max(NOT_MADE),
            None => overall,
        };
        Duration::from_secs_f64(share.foretold.as_secs_f64() * factor)
    }

    /// What tests took over what they were foretold to take.
    fn overall(&self) -> f64 {
        let ended = || self.ended.values();
        let to_come: f64 = self.todo.iter().map(|share| share.foretold.as_secs_f64()).sum();
        let all = to_come + ended().map(|sums| sums.foretold_s).sum::<f64>();
        let prior_s = PRIOR * all;
        let made = || ended().filter(|sums| sums.took_s >= NOT_MADE * sums.foretold_s);
        let foretold_s: f64 = made().map(|sums| sums.foretold_s).sum();
        let took_s: f64 = made().map(|sums| sums.took_s).sum();
        if prior_s > 0.0 { (took_s + prior_s) / (foretold_s + prior_s) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn place(item: usize) -> Option<Place> {
        Some(Place { lane: 0, item, test: TestKind::Throughput })
    }

    #[test]
    fn another_size_takes_what_the_first_one_took() {
        let mut outlook = Outlook::default();
        for _ in 0..3 {
            outlook.expect(TestKind::Throughput, S(10));
        }
        assert_eq!(outlook.left(), S(30));
        assert_eq!(outlook.begin(TestKind::Throughput, place(0)), S(10));
        outlook.end(S(50));
        assert_eq!(outlook.left(), S(100));
        assert_eq!(outlook.begin(TestKind::Throughput, place(1)), S(50));
    }

    /// 10 s of 100 were foretold and took 30: the rest is held to take (30 + 10) / (10 + 10) of what was foretold.
    #[test]
    fn other_tests_are_corrected_by_what_all_took() {
        let mut outlook = Outlook::default();
        outlook.expect(TestKind::Throughput, S(10));
        outlook.expect(TestKind::Latency, S(90));
        outlook.begin(TestKind::Throughput, place(0));
        outlook.end(S(30));
        assert_eq!(outlook.left(), S(180));
    }

    #[test]
    fn another_size_takes_some_time_even_where_the_first_one_took_none() {
        let mut outlook = Outlook::default();
        outlook.expect(TestKind::Throughput, S(10));
        outlook.expect(TestKind::Throughput, S(10));
        outlook.begin(TestKind::Throughput, place(0));
        outlook.end(Duration::ZERO);
        assert_eq!(outlook.left(), S(1));
        assert_eq!(outlook.begin(TestKind::Throughput, place(1)), S(1));
    }

    #[test]
    fn what_cannot_be_done_says_nothing_of_other_tests() {
        let mut outlook = Outlook::default();
        outlook.expect(TestKind::Throughput, S(50));
        outlook.expect(TestKind::Latency, S(50));
        outlook.begin(TestKind::Throughput, place(0));
        outlook.end(Duration::ZERO);
        assert_eq!(outlook.left(), S(50));
    }

    #[test]
    fn tests_that_were_not_made_are_not_to_come_any_more() {
        let mut outlook = Outlook::default();
        outlook.expect(TestKind::Throughput, S(7));
        outlook.expect(TestKind::Latency, S(5));
        outlook.expect(TestKind::FrameLoss, S(3));
        assert_eq!(outlook.begin(TestKind::Latency, None), S(5));
        assert_eq!(outlook.left(), S(3));
        assert_eq!(outlook.begin(TestKind::Pdv, None), Duration::ZERO, "nobody foretold it");
        assert_eq!(outlook.left(), S(3));
    }

    #[test]
    fn a_repetition_takes_what_the_test_took_before() {
        let mut outlook = Outlook::default();
        for item in 0..2 {
            outlook.expect(TestKind::Throughput, S(10));
            outlook.begin(TestKind::Throughput, place(item));
            outlook.end(S(20 + item as u64));
        }
        assert_eq!(outlook.left(), Duration::ZERO);
        let of = |item| Repeat {
            place: place(item).unwrap(),
            frame_size: "64".into(),
            because: "a contradiction".into(),
        };
        outlook.repeat(&[of(0), of(1)]);
        assert_eq!(outlook.left(), S(41));
        assert_eq!(outlook.begin(TestKind::Throughput, place(0)), S(20));
        assert_eq!(outlook.left(), S(21));
    }
}
