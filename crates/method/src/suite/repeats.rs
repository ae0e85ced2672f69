//! The end of a run: its results are held against each other, and tests that contradict each other are made once more.

use super::{Item, Own, Run, Suite};
use crate::bench::Bench;
use crate::consistency::{Consistency, Place, Repeat, Told, settle};
use crate::estimate::Estimate;
use crate::event::{Event, TestRepeated};
use crate::{Outcome, RunError, TestKind};

impl Run<'_> {
    pub(super) fn check_consistency(
        &mut self,
        bench: &mut Bench<'_>,
        rounds: &mut [Vec<Item>],
        own: &mut Own<'_>,
    ) -> Result<(), RunError> {
        let (first, suite) = (std::mem::take(&mut self.told), self.suite);
        let consistency = settle(first, &|test, base| suite.rests_on(test, base), &mut |asked| {
            self.plan_repetitions(bench.clock(), asked);
            self.repeat(bench, asked, rounds.iter_mut().flatten(), own)
        })?;
        judge_validity(&consistency, &mut self.invalid_tests);
        told_of(consistency).map_or(Ok(()), |event| bench.emit(event))
    }

    /// Tests are to be made once more, and nothing else is left of the run.
    pub(super) fn plan_repetitions(&mut self, now: Estimate, asked: &[Repeat]) {
        self.outlook.end(now.took(), now.made_s);
        self.outlook.repeat(asked);
    }

    /// Makes tests once more, with those of these items that they name, and gives what they came to.
    pub(super) fn repeat<'i>(
        &mut self,
        bench: &mut Bench<'_>,
        asked: &[Repeat],
        items: impl IntoIterator<Item = &'i mut Item>,
        own: &mut Own<'_>,
    ) -> Result<Vec<Told>, RunError> {
        let mut items: Vec<&mut Item> = items.into_iter().collect();
        let invalid_tests = self.invalid_tests.clone();
        self.is_repeating = true;
        for repeat in asked {
            let Place { item, test, .. } = repeat.place;
            let item = items.iter_mut().find(|known| known.number == item);
            let (Some(item), Some(how)) = (item, self.suite.run_of(test)) else { continue };
            bench.emit(Event::TestRepeated(TestRepeated {
                test,
                frame_size: repeat.frame_size.clone(),
                because: repeat.because.clone(),
            }))?;
            self.test_size(bench, (test, how), item, own)?;
        }
        self.is_repeating = false;
        self.invalid_tests = invalid_tests;
        Ok(std::mem::take(&mut self.told))
    }

    /// The same of tests of a tester that does not know itself; what they come to stays with the run.
    pub(crate) fn repeat_alone(
        &mut self,
        bench: &mut Bench<'_>,
        asked: &[Repeat],
        items: &mut [Item],
    ) -> Result<(), RunError> {
        self.told = self.repeat(bench, asked, items, &mut Own { known: None, looped: None })?;
        Ok(())
    }
}

impl Suite {
    /// Whether a test is made of what another found.
    pub(crate) fn rests_on(&self, test: TestKind, base: TestKind) -> bool {
        let of_test = self.method(test);
        of_test.is_some_and(|method| {
            let needed = method.needs.iter().filter_map(|id| method.suite.test(id));
            needed.into_iter().any(|needed| needed.kind == base)
        })
    }
}

/// The event that ends the comparison; none where there was nothing to compare.
pub(crate) fn told_of(consistency: Consistency) -> Option<Event> {
    let is_worth_telling = consistency.pairs_compared > 0;
    is_worth_telling.then(|| Event::ConsistencyChecked(Box::new(consistency)))
}

/// Tests whose stated result is not valid, instead of those whose first one was not.
pub(crate) fn judge_validity(consistency: &Consistency, invalid_tests: &mut Vec<String>) {
    for revised in &consistency.revised {
        let name = name_of(&revised.outcome);
        let is_listed = invalid_tests.contains(&name);
        match revised.outcome.invalid.is_empty() {
            true => invalid_tests.retain(|known| *known != name),
            false if !is_listed => invalid_tests.push(name),
            false => {}
        }
    }
}

/// Such as `throughput, 64`.
fn name_of(outcome: &Outcome) -> String {
    let (test, conditions) = (outcome.test, &outcome.conditions);
    match conditions.modifier {
        None | Some(crate::Modifier::None) => format!("{test}, {}", conditions.frame_size),
        Some(modifier) => format!("{test}, {}, with {modifier}", conditions.frame_size),
    }
}
