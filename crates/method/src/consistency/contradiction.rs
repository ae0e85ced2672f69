//! A contradiction between results of a run, and what became of it: for the record, and in words.

use super::compare::{agree, exceeds};
use super::{Relation, Standing};
use crate::outcome::capitalised;
use crate::{Figure, Outcome, TestKind};
use serde::{Deserialize, Serialize};

/// What the results of a run say of each other; told once, when all tests have ended.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Consistency {
    /// Pairs of figures that were compared.
    pub pairs_compared: u64,
    /// Those that contradicted their relation, and what became of each.
    pub contradictions: Vec<Contradiction>,
    /// Results that are stated instead of those that the tests came to first.
    pub revised: Vec<Revised>,
}

/// A result that is stated instead of the first of its test.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Revised {
    /// The first result, to be known by.
    pub test: TestKind,
    /// Its frame size as it was asked for.
    pub frame_size: String,
    /// Its conditions in words.
    pub conditions: String,
    /// The name of its first figure.
    pub first_figure: String,
    /// What is stated.
    pub outcome: Outcome,
}

/// Two figures of a run that contradicted each other.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Contradiction {
    /// The relation's name.
    pub relation: String,
    /// What it says.
    pub says: String,
    /// From what it follows.
    pub source: String,
    /// How far it holds.
    pub standing: Standing,
    /// The figure that was to be no more than the other, and was.
    pub less: Side,
    /// The other.
    pub more: Side,
    /// What became of them.
    pub ending: Ending,
}

/// One figure of a contradiction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Side {
    /// Of which test.
    pub test: TestKind,
    /// As it was asked for.
    pub frame_size: String,
    /// Conditions in words.
    pub conditions: String,
    /// As it was when the contradiction was found.
    pub first: Figure,
    /// As the repetition has it; `None` where that came to none.
    pub again: Option<Figure>,
    /// As it is stated.
    pub stated: Figure,
}

/// What became of a contradiction when its tests were repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// One of the tests came to the same again and the other to more, or both to more: what had slowed the device
    /// down has passed, and the repetition is stated.
    Settled,
    /// Both came to the same again, and the relation only usually holds: both are stated as measured.
    Confirmed,
    /// The contradiction stayed, a test came to less than before, neither came to the same again, or what would be
    /// stated contradicts itself still: the figures are intervals that hold every result of both.
    Widened,
}

impl Revised {
    /// Whether it is stated instead of this one.
    pub fn replaces(&self, first: &Outcome) -> bool {
        let name = first.figures.first().map_or("", |figure| &figure.name);
        (self.test, &*self.frame_size, &*self.conditions, &*self.first_figure)
            == (first.test, &first.conditions.frame_size, &first.conditions.in_words, name)
    }
}

impl Consistency {
    /// Puts what is stated in the place of first results.
    pub fn revise(&self, results: &mut [Outcome]) {
        for result in results {
            let instead = self.revised.iter().find(|revised| revised.replaces(result));
            if let Some(revised) = instead {
                *result = revised.outcome.clone();
            }
        }
    }

    /// The contradictions of a figure.
    pub fn of_figure<'a>(
        &'a self,
        outcome: &'a Outcome,
        figure: &'a Figure,
    ) -> impl Iterator<Item = &'a Contradiction> {
        let is_it = move |side: &Side| side.is_of(outcome, figure);
        self.contradictions.iter().filter(move |known| is_it(&known.less) || is_it(&known.more))
    }

    /// In a sentence, how many there were.
    pub fn in_words(&self) -> String {
        let compared =
            count(self.pairs_compared as usize, "pair of results was", "pairs of results were");
        match self.contradictions.len() {
            0 => format!("{compared} compared; none contradict each other"),
            some => {
                let contradict = if some == 1 { "contradicts" } else { "contradict" };
                format!("{compared} compared; {some} {contradict} what must hold between them")
            }
        }
    }
}

fn count(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

impl Contradiction {
    /// Before the repetition: which tests contradict each other, and why.
    pub(super) fn before(rule: &Relation, less: &Side, more: &Side) -> String {
        format!(
            "{} is {}, but {} is {}; {}",
            less.name(),
            value(&less.first),
            more.name(),
            value(&more.first),
            rule.says
        )
    }

    /// In words: what was measured, what must hold and why, what the repetitions came to, and what is stated.
    pub fn in_words(&self) -> String {
        let Contradiction { less, more, .. } = self;
        let usually = if self.standing == Standing::Usual { "usually " } else { "" };
        format!(
            "{} was {}, {} was {}. {} ({}). Repeated: {} and {}. {}",
            capitalised(&less.name()),
            value(&less.first),
            more.name(),
            value(&more.first),
            capitalised(&format!("{usually}{}", self.says)),
            self.source,
            less.repeated(),
            more.repeated(),
            self.ending_in_words()
        )
    }

    fn ending_in_words(&self) -> String {
        let stated = |side: &Side| format!("{} {}", side.name(), value(&side.stated));
        match self.ending {
            Ending::Settled => format!(
                "The contradiction did not come again; the report states {} and {}",
                stated(&self.less),
                stated(&self.more)
            ),
            Ending::Confirmed => {
                "Both came to the same again; the report states them as measured".into()
            }
            Ending::Widened => format!(
                "Device, host or tester changed between the tests; the report states intervals that hold \
                 every result: {}; {}",
                stated(&self.less),
                stated(&self.more)
            ),
        }
    }
}

impl Side {
    /// `max rate (filtering, 64 bytes)`; the test's name once where the figure has it.
    fn name(&self) -> String {
        let (test, size) = (self.test.to_string(), size_in_words(&self.frame_size));
        match self.first.name == test {
            true => format!("{test} ({size})"),
            false => format!("{} ({test}, {size})", self.first.name),
        }
    }

    fn is_of(&self, outcome: &Outcome, figure: &Figure) -> bool {
        let conditions = &outcome.conditions;
        (self.test, &self.frame_size, &self.conditions, &self.first.name)
            == (outcome.test, &conditions.frame_size, &conditions.in_words, &figure.name)
    }

    /// Why it is not stated as it was measured first.
    pub(super) fn revised(&self, other: &Side, says: &str, ending: Ending) -> String {
        let (first, again, other) = (value(&self.first), self.repeated(), other.name());
        match ending {
            Ending::Settled => {
                format!(
                    "first {first}, which contradicted {other} ({says}); the repetition does not"
                )
            }
            Ending::Confirmed | Ending::Widened => {
                format!("first {first}, repeated {again}; contradicts {other} ({says})")
            }
        }
    }

    /// Whether the repetition came to the same.
    pub(super) fn is_steady(&self) -> bool {
        self.again.as_ref().is_some_and(|again| agree(&self.first, again))
    }

    /// Whether the repetition came to more.
    pub(super) fn is_faster(&self) -> bool {
        let again = self.again.as_ref().and_then(Figure::interval);
        again.zip(self.first.interval()).is_some_and(|(again, first)| exceeds(again, first))
    }

    fn repeated(&self) -> String {
        self.again.as_ref().map_or_else(|| "no result".into(), value)
    }
}

fn size_in_words(size: &str) -> String {
    if size.parse::<u32>().is_ok() { format!("{size} bytes") } else { size.to_owned() }
}

/// A figure's value, or the interval that it is known to lie in, with its unit.
pub(super) fn value(figure: &Figure) -> String {
    let (value, unit) = figure.printed();
    format!("{value} {unit}").trim_end().to_owned()
}
