//! What becomes of results that contradict each other: their tests are made once more, with those that rest on them;
//! then each contradiction is settled, confirmed, or both figures become intervals that hold every result.

use super::compare::{Pair, figure_of, pairs};
use super::contradiction::{Consistency, Contradiction, Ending, Revised, Side};
use super::stated::{Statement, hull, is_known, state};
use super::{Quantity, Standing};
use crate::{Figure, Outcome, RunError, TestKind};

/// A test of a frame size in a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    /// What has a tester, or a set-up of the device, of its own.
    pub lane: usize,
    /// Frame size and modifier.
    pub item: usize,
    pub test: TestKind,
}

/// An outcome with its place.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub place: Place,
    pub outcome: Outcome,
}

/// A test that is to be made once more, and why.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Repeat {
    pub place: Place,
    pub frame_size: String,
    pub because: String,
}

/// Makes tests once more, and says what each came to.
pub(crate) type Repeated<'r> = dyn FnMut(&[Repeat]) -> Result<Vec<Told>, RunError> + 'r;

/// Whether the first test is made of what the second found.
pub(crate) type RestsOn<'r> = dyn Fn(TestKind, TestKind) -> bool + 'r;

/// Compares the results of a run, and has tests repeated, each once at most, until none contradicts another that was
/// made once only.
pub(crate) fn settle(
    first: Vec<Told>,
    rests_on: &RestsOn<'_>,
    repeat: &mut Repeated<'_>,
) -> Result<Consistency, RunError> {
    let again = vec![None; first.len()];
    let mut results = Results { first, again, found: vec![], repeated: vec![] };
    let pairs_compared = pairs(&results.latest()).len() as u64;
    loop {
        let contradicted = results.contradicted();
        let asked = results.to_repeat(&contradicted, rests_on);
        let new = contradicted.into_iter().filter(|pair| !has(&results.found, pair));
        let new: Vec<Pair> = new.collect();
        results.found.extend(new);
        if asked.is_empty() {
            break;
        }
        let told = repeat(&asked)?;
        results.take(&asked, told);
    }
    Ok(results.conclude(pairs_compared, rests_on))
}

/// The results of a run, those of its tests and those of the repetitions.
struct Results {
    first: Vec<Told>,
    /// Of each first result that of the repetition.
    again: Vec<Option<Outcome>>,
    found: Vec<Pair>,
    repeated: Vec<Place>,
}

/// A contradiction with what became of it.
struct Ended {
    pair: Pair,
    ending: Ending,
}

fn has(pairs: &[Pair], pair: &Pair) -> bool {
    pairs.iter().any(|known| known.is_same(pair))
}

impl Results {
    /// The latest results; a repetition that came to no number leaves the first one.
    fn latest(&self) -> Vec<&Outcome> {
        let all = self.first.iter().zip(&self.again);
        all.map(|(told, again)| again.as_ref().filter(|o| is_known(o)).unwrap_or(&told.outcome))
            .collect()
    }

    fn contradicted(&self) -> Vec<Pair> {
        let mut pairs = pairs(&self.latest());
        pairs.retain(Pair::is_contradicted);
        pairs
    }

    /// The tests of these that were made once only, and those that rest on them, in the order of the run.
    fn to_repeat(&self, pairs: &[Pair], rests_on: &RestsOn<'_>) -> Vec<Repeat> {
        let mut asked: Vec<Option<String>> = vec![None; self.first.len()];
        for pair in pairs {
            let (mut less, mut more) = self.sides(pair);
            // Which may be those of a repetition.
            less.first.clone_from(&pair.less.figure);
            more.first.clone_from(&pair.more.figure);
            for at in [pair.less.at, pair.more.at] {
                asked[at].get_or_insert(Contradiction::before(pair.relation(), &less, &more));
            }
        }
        // Tests come after those on which they rest.
        for at in 0..asked.len() {
            let place = self.first[at].place;
            let base = (0..at).find(|base| {
                asked[*base].is_some() && rests(rests_on, place, self.first[*base].place)
            });
            if let Some(base) = base.filter(|_| asked[at].is_none()) {
                let test = self.first[base].place.test;
                asked[at] = Some(format!("it rests on {test}, which is repeated"));
            }
        }
        let mut repeats: Vec<Repeat> = vec![];
        for (told, because) in self.first.iter().zip(asked) {
            let is_new = !self.repeated.contains(&told.place)
                && !repeats.iter().any(|repeat| repeat.place == told.place);
            if let Some(because) = because.filter(|_| is_new) {
                let frame_size = told.outcome.conditions.frame_size.clone();
                repeats.push(Repeat { place: told.place, frame_size, because });
            }
        }
        repeats
    }

    /// Takes in what repetitions came to: the outcomes of a place in their order.
    fn take(&mut self, asked: &[Repeat], told: Vec<Told>) {
        for Repeat { place, .. } in asked {
            self.repeated.push(*place);
            let outcomes = told.iter().filter(|told| told.place == *place);
            let of_place = (0..self.first.len()).filter(|at| self.first[*at].place == *place);
            for (at, told) in of_place.zip(outcomes).collect::<Vec<_>>() {
                self.again[at] = Some(told.outcome.clone());
            }
        }
    }

    /// Every result of a figure.
    fn results(&self, quantity: &Quantity, at: usize, name: &str) -> Vec<(f64, f64)> {
        let all = [Some(&self.first[at].outcome), self.again[at].as_ref()].into_iter().flatten();
        let figures = all.filter_map(|outcome| figure_of(quantity, outcome, name));
        figures.filter_map(|figure| figure.interval()).collect()
    }

    /// Both figures of a pair, as they were measured first, and as the repetitions have them.
    fn sides(&self, pair: &Pair) -> (Side, Side) {
        let rule = pair.relation();
        let side = |quantity: &Quantity, at: usize, figure: &Figure| {
            let outcome = &self.first[at].outcome;
            let first = figure_of(quantity, outcome, &figure.name);
            let first = first.unwrap_or_else(|| figure.clone());
            let again = self.again[at].as_ref();
            let again = again.and_then(|outcome| figure_of(quantity, outcome, &figure.name));
            Side {
                test: outcome.test,
                frame_size: outcome.conditions.frame_size.clone(),
                conditions: outcome.conditions.in_words.clone(),
                stated: first.clone(),
                first,
                again: again.filter(|figure| figure.value.is_some()),
            }
        };
        (
            side(&rule.less, pair.less.at, &pair.less.figure),
            side(&rule.more, pair.more.at, &pair.more.figure),
        )
    }

    fn conclude(self, pairs_compared: u64, rests_on: &RestsOn<'_>) -> Consistency {
        let remaining = self.contradicted();
        let mut ended: Vec<Ended> =
            self.found.iter().map(|pair| self.ended(pair, has(&remaining, pair))).collect();
        let mut stated = self.stated(&ended, rests_on);
        while self.widen(&mut ended, &stated) {
            stated = self.stated(&ended, rests_on);
        }
        let contradictions = ended.iter().map(|ended| self.contradiction(ended, &stated)).collect();
        let revised = self.first.iter().zip(stated);
        let revised = revised.filter_map(|(told, outcome)| {
            let first = &told.outcome;
            Some(Revised {
                test: first.test,
                frame_size: first.conditions.frame_size.clone(),
                conditions: first.conditions.in_words.clone(),
                first_figure: first.figures.first().map_or_else(String::new, |f| f.name.clone()),
                outcome: outcome?,
            })
        });
        Consistency { pairs_compared, contradictions, revised: revised.collect() }
    }

    /// What is stated in place of each first result that does not stand.
    fn stated(&self, ended: &[Ended], rests_on: &RestsOn<'_>) -> Vec<Option<Outcome>> {
        let statements = self.statements(ended, rests_on).into_iter().zip(&self.first);
        let stated = statements
            .zip(&self.again)
            .map(|((statement, told), again)| state(&statement, &told.outcome, again.as_ref()));
        stated.collect()
    }

    /// Of results and repetitions, each alike enough, those that would be stated can contradict each other still, or
    /// those of a third test: such figures are to hold every result of both. Whether there were any.
    fn widen(&self, ended: &mut Vec<Ended>, stated: &[Option<Outcome>]) -> bool {
        let results = self.first.iter().zip(stated);
        let results: Vec<&Outcome> =
            results.map(|(told, stated)| stated.as_ref().unwrap_or(&told.outcome)).collect();
        let mut is_new = false;
        for pair in pairs(&results).into_iter().filter(Pair::is_contradicted) {
            match ended.iter_mut().find(|known| known.pair.is_same(&pair)) {
                Some(Ended { ending: Ending::Confirmed | Ending::Widened, .. }) => continue,
                Some(settled) => settled.ending = Ending::Widened,
                None => ended.push(Ended { pair, ending: Ending::Widened }),
            }
            is_new = true;
        }
        is_new
    }

    fn ended(&self, pair: &Pair, stays: bool) -> Ended {
        let (less, more) = self.sides(pair);
        let is_usual = pair.relation().standing == Standing::Usual;
        let ending = match (less.is_steady(), more.is_steady()) {
            (true, true) if stays && is_usual => Ending::Confirmed,
            (true, true) if !stays => Ending::Settled,
            // What disturbs a device takes time from it: one that is faster now was disturbed before, and one that
            // is slower now may be disturbed still.
            (true, false) if !stays && more.is_faster() => Ending::Settled,
            (false, true) if !stays && less.is_faster() => Ending::Settled,
            (false, false) if !stays && less.is_faster() && more.is_faster() => Ending::Settled,
            _ => Ending::Widened,
        };
        Ended { pair: pair.clone(), ending }
    }

    /// What is stated of each first result.
    fn statements(&self, ended: &[Ended], rests_on: &RestsOn<'_>) -> Vec<Statement> {
        let mut all: Vec<Statement> = self.first.iter().map(|_| Statement::default()).collect();
        for Ended { pair, ending } in ended {
            let (rule, (less, more)) = (pair.relation(), self.sides(pair));
            let (of_less, of_more) =
                (pair.less.weight(rule.measure), pair.more.weight(rule.measure));
            let weighed = |quantity, side: &Side, at, weight: f64| {
                let results = self.results(quantity, at, &side.first.name).into_iter();
                results.map(move |(low, high)| (low * weight, high * weight)).collect::<Vec<_>>()
            };
            let all_results = [
                weighed(&rule.less, &less, pair.less.at, of_less),
                weighed(&rule.more, &more, pair.more.at, of_more),
            ];
            let both = hull(all_results.concat());
            let sides =
                [(pair.less.at, &less, &more, of_less), (pair.more.at, &more, &less, of_more)];
            for (at, side, other, weight) in sides {
                let why = side.revised(other, rule.says, *ending);
                match (ending, both) {
                    (Ending::Settled, _) if !side.is_steady() => {
                        all[at].repetition(&side.first.name, why)
                    }
                    (Ending::Widened, Some((low, high))) => {
                        let interval = (low / weight, high / weight);
                        all[at].interval(&side.first.name, interval, why);
                    }
                    _ => {}
                }
            }
        }
        for at in 0..all.len() {
            let place = self.first[at].place;
            let base = (0..at).find(|base| {
                all[*base].is_revised() && rests(rests_on, place, self.first[*base].place)
            });
            let made_again = self.again[at].is_some();
            if let Some(base) = base.filter(|_| made_again && !all[at].is_revised()) {
                let test = self.first[base].place.test;
                let holds_all = all[base].holds_all;
                all[at].rests_on(
                    format!("made again: it rests on {test}, which is revised"),
                    holds_all,
                );
            }
        }
        all
    }

    fn contradiction(&self, ended: &Ended, stated: &[Option<Outcome>]) -> Contradiction {
        let (rule, pair) = (ended.pair.relation(), &ended.pair);
        let (mut less, mut more) = self.sides(pair);
        for (side, quantity, at) in
            [(&mut less, &rule.less, pair.less.at), (&mut more, &rule.more, pair.more.at)]
        {
            let outcome = stated[at].as_ref().unwrap_or(&self.first[at].outcome);
            let figure = outcome.figures.iter().find(|f| f.name == side.first.name);
            let is_itself = |figure: &&Figure| figure.unit == side.first.unit;
            let derived = || figure_of(quantity, outcome, &side.first.name);
            side.stated =
                figure.filter(is_itself).cloned().or_else(derived).unwrap_or(side.first.clone());
        }
        Contradiction {
            relation: rule.id.into(),
            says: rule.says.into(),
            source: rule.source.into(),
            standing: rule.standing,
            less,
            more,
            ending: ended.ending,
        }
    }
}

/// Whether a test is made of what another of the same frame size found.
fn rests(rests_on: &RestsOn<'_>, place: Place, base: Place) -> bool {
    (place.lane, place.item) == (base.lane, base.item) && rests_on(place.test, base.test)
}
