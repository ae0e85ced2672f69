//! What is stated of a test that was made twice: its first result, the repetition, or intervals that hold both.

use super::compare::agree;
use super::revise::Wide;
use crate::{Figure, Outcome};

/// What is to be stated of a test.
#[derive(Clone, Default, Debug)]
pub(super) struct Statement {
    /// Figures as intervals.
    wide: Vec<Wide>,
    /// Figures of the repetition that differ from the first result, and why they are stated.
    marked: Vec<(String, String)>,
    /// Why the repetition is stated, where no figure of its own was contradicted.
    rests_on: Option<String>,
    /// Every figure in which the two results differ holds both.
    pub holds_all: bool,
}

impl Statement {
    /// Whether something else than the first result is stated.
    pub(super) fn is_revised(&self) -> bool {
        !self.wide.is_empty() || !self.marked.is_empty() || self.rests_on.is_some()
    }

    /// The repetition is stated, which has another value of this figure.
    pub(super) fn repetition(&mut self, name: &str, why: String) {
        if !self.marked.iter().any(|(known, _)| known == name) {
            self.marked.push((name.to_owned(), why));
        }
    }

    /// An interval is stated that holds what both tests came to.
    pub(super) fn interval(&mut self, name: &str, interval: (f64, f64), why: String) {
        self.holds_all = true;
        match self.wide.iter_mut().find(|wide| wide.name == name) {
            Some(wide) => {
                wide.interval = hull([wide.interval, interval]).unwrap_or(interval);
                wide.why = format!("{}; {why}", wide.why);
            }
            None => self.wide.push(Wide { name: name.to_owned(), interval, why }),
        }
    }

    /// The repetition is stated, since it is made of what another test found.
    pub(super) fn rests_on(&mut self, why: String, holds_all: bool) {
        self.rests_on = Some(why);
        self.holds_all = holds_all;
    }
}

/// What is stated instead of the first result; `None` where that stands.
pub(super) fn state(
    statement: &Statement,
    first: &Outcome,
    again: Option<&Outcome>,
) -> Option<Outcome> {
    if !statement.is_revised() {
        return None;
    }
    // A test that rests on another is as invalid as its repetition; a contradicted one keeps its first number.
    let is_base = |outcome: &&Outcome| is_known(outcome) || statement.rests_on.is_some();
    let base = again.filter(is_base).unwrap_or(first).clone();
    let is_of_figure = |wide: &&Wide| {
        base.figures.iter().any(|figure| figure.name == wide.name && fits(figure, wide))
    };
    let mut wide: Vec<Wide> = statement.wide.iter().filter(is_of_figure).cloned().collect();
    if let Some(again) = again.filter(|again| statement.holds_all && is_known(again)) {
        let contradicted: Vec<String> = wide.iter().map(|wide| wide.name.clone()).collect();
        let others = differing(first, again);
        wide.extend(others.filter(|other| !contradicted.contains(&other.name)));
    }
    let mut stated = base.widened(&wide);
    for (name, why) in &statement.marked {
        for figure in stated.figures.iter_mut().filter(|f| f.name == *name && !f.is_revised()) {
            figure.revised.clone_from(why);
        }
    }
    let notes = statement.marked.iter().map(|(name, why)| format!("revised: {name}: {why}"));
    let notes = notes.chain(statement.rests_on.clone());
    Some(stated.noted(notes.collect()))
}

/// The figures that came to something else in the repetition, each with both results.
fn differing(first: &Outcome, again: &Outcome) -> impl Iterator<Item = Wide> {
    first.figures.iter().filter_map(|figure| {
        let other = again.figures.iter().find(|other| other.name == figure.name)?;
        let interval = hull([figure, other].into_iter().filter_map(Figure::interval))?;
        let why = format!("first {}, repeated {}", super::value(figure), super::value(other));
        (!agree(figure, other)).then(|| Wide { name: figure.name.clone(), interval, why })
    })
}

/// Whether the interval was made of values like that of the figure.
fn fits(figure: &Figure, wide: &Wide) -> bool {
    let own = figure.interval();
    own.is_some_and(|(low, high)| wide.interval.0 <= low && high <= wide.interval.1)
}

/// Whether an outcome says anything.
pub(super) fn is_known(outcome: &Outcome) -> bool {
    outcome.invalid.is_empty() && outcome.figures.iter().any(|figure| figure.value.is_some())
}

/// From the lowest end to the highest.
pub(super) fn hull(intervals: impl IntoIterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    intervals.into_iter().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}
