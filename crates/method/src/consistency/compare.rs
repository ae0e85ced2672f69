//! Which figures of a run a relation speaks of, and whether they contradict it.

use super::{Measure, Pick, Quantity, RELATIONS, Relation, Sizes};
use crate::outcome::Unit;
use crate::{Figure, Outcome};

/// Numbers that differ by less than this share are not told apart: departures are whole ticks, trials have an end,
/// and a device does not repeat itself to the frame.
pub const CLOSE: f64 = 0.01;

/// Whether two measurements of one number are alike: their intervals meet, or nearly do.
pub fn agree(a: &Figure, b: &Figure) -> bool {
    match (a.interval(), b.interval()) {
        (Some(a), Some(b)) => !exceeds(a, b) && !exceeds(b, a),
        (None, None) => true,
        _ => false,
    }
}

/// Whether all of one interval is above all of another.
pub(super) fn exceeds(a: (f64, f64), b: (f64, f64)) -> bool {
    a.0 > b.1 * (1.0 + CLOSE)
}

/// A figure of one of the outcomes.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Chosen {
    /// Place of its outcome.
    pub at: usize,
    pub figure: Figure,
    /// What follows the beginning of its name by which it was chosen.
    tail: Option<String>,
    /// Of its frames; `None` of a mix.
    size_bytes: Option<u32>,
}

/// Two figures that a relation speaks of.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Pair {
    /// Place of the relation in the table.
    pub relation: usize,
    pub less: Chosen,
    pub more: Chosen,
}

impl Chosen {
    /// What a number of it has to be multiplied by to be compared.
    pub(super) fn weight(&self, measure: Measure) -> f64 {
        match measure {
            Measure::Frames => 1.0,
            Measure::Bytes => self.size_bytes.map_or(1.0, f64::from),
        }
    }

    fn weighed(&self, measure: Measure) -> Option<(f64, f64)> {
        let weight = self.weight(measure);
        self.figure.interval().map(|(low, high)| (low * weight, high * weight))
    }
}

impl Pair {
    pub(super) fn relation(&self) -> &'static Relation {
        &RELATIONS[self.relation]
    }

    /// Whether the two figures contradict the relation, as far as they are known.
    pub(super) fn is_contradicted(&self) -> bool {
        contradict(self.relation(), &self.less, &self.more)
    }

    /// The same two figures, whatever their values. What follows from an outcome has no name of its own.
    pub(super) fn is_same(&self, other: &Pair) -> bool {
        let rule = self.relation();
        let alike = |quantity: &Quantity, a: &Chosen, b: &Chosen| {
            let is_derived = matches!(quantity.figure, Pick::Derived(_));
            a.at == b.at && (is_derived || a.figure.name == b.figure.name)
        };
        self.relation == other.relation
            && alike(&rule.less, &self.less, &other.less)
            && alike(&rule.more, &self.more, &other.more)
    }
}

fn contradict(rule: &Relation, less: &Chosen, more: &Chosen) -> bool {
    let sides = less.weighed(rule.measure).zip(more.weighed(rule.measure));
    sides.is_some_and(|(less, more)| exceeds(less, more))
}

/// With which sizes a size is compared: the next one, and those further off that it contradicts where none between the two
/// contradicts either. Intervals of sizes in a row meet, and those of the ends need not.
fn in_a_row<'c>(rule: &Relation, less: &Chosen, mut others: Vec<&'c Chosen>) -> Vec<&'c Chosen> {
    let distance = |more: &&Chosen| Some(more.size_bytes?.abs_diff(less.size_bytes?));
    others.sort_by_key(distance);
    let is_compared = |at: usize| {
        let (between, more) = (&others[..at], others[at]);
        let explained = |c: &&Chosen| contradict(rule, less, c) || contradict(rule, c, more);
        at == 0 || contradict(rule, less, more) && !between.iter().any(explained)
    };
    (0..others.len()).filter(|at| is_compared(*at)).map(|at| others[at]).collect()
}

/// Every pair of known figures that a relation speaks of.
pub(super) fn pairs(outcomes: &[&Outcome]) -> Vec<Pair> {
    let of_one = |(relation, rule): (usize, &Relation)| {
        let (all_less, all_more) = (choose(&rule.less, outcomes), choose(&rule.more, outcomes));
        let mut found = vec![];
        for less in &all_less {
            let partners = all_more.iter().filter(|more| are_partners(rule, outcomes, less, more));
            let partners: Vec<&Chosen> = match rule.sizes {
                Sizes::Same => partners.collect(),
                Sizes::LessIsLarger | Sizes::LessIsSmaller => {
                    in_a_row(rule, less, partners.collect())
                }
            };
            found.extend(partners.into_iter().map(|more| (less.clone(), more.clone())));
        }
        found.into_iter().map(move |(less, more)| Pair { relation, less, more })
    };
    RELATIONS.iter().enumerate().flat_map(of_one).collect()
}

/// The figures of a quantity that are known.
fn choose(quantity: &Quantity, outcomes: &[&Outcome]) -> Vec<Chosen> {
    let of_outcome = |(at, outcome): (usize, &&Outcome)| {
        let is_asked = quantity.test.is_none_or(|test| test == outcome.test);
        let size_bytes = outcome.conditions.frame_size.parse().ok();
        let chosen = move |(figure, tail)| Chosen { at, figure, tail, size_bytes };
        let figures = if is_asked { picked(quantity.figure, outcome) } else { vec![] };
        figures.into_iter().map(chosen).collect::<Vec<_>>()
    };
    let all = outcomes.iter().enumerate().flat_map(of_outcome);
    all.filter(|chosen| chosen.figure.unit == Unit::Fps && chosen.figure.interval().is_some())
        .collect()
}

/// A quantity's figure of that name; of one that follows from the outcome, whatever its name.
pub(super) fn figure_of(quantity: &Quantity, outcome: &Outcome, name: &str) -> Option<Figure> {
    let is_derived = matches!(quantity.figure, Pick::Derived(_));
    let figures = picked(quantity.figure, outcome).into_iter().map(|(figure, _)| figure);
    figures.into_iter().find(|figure| is_derived || figure.name == name)
}

fn picked(pick: Pick, outcome: &Outcome) -> Vec<(Figure, Option<String>)> {
    let figures = outcome.figures.iter();
    match pick {
        Pick::Named(name) => {
            figures.filter(|figure| figure.name == name).map(|f| (f.clone(), None)).collect()
        }
        Pick::Beginning(start) => figures
            .filter_map(|figure| {
                let tail = figure.name.strip_prefix(start)?;
                Some((figure.clone(), Some(tail.to_owned())))
            })
            .collect(),
        Pick::Known(names) => figures
            .filter(|figure| figure.known_as.is_some_and(|name| names.contains(&name)))
            .map(|figure| (figure.clone(), None))
            .collect(),
        Pick::Derived(derive) => derive(outcome).map(|figure| (figure, None)).into_iter().collect(),
    }
}

fn are_partners(rule: &Relation, outcomes: &[&Outcome], less: &Chosen, more: &Chosen) -> bool {
    let (a, b) = (&outcomes[less.at].conditions, &outcomes[more.at].conditions);
    let is_of_size = match (rule.sizes, less.size_bytes, more.size_bytes) {
        (Sizes::Same, ..) => a.frame_size == b.frame_size,
        (Sizes::LessIsLarger, Some(less), Some(more)) => less > more,
        (Sizes::LessIsSmaller, Some(less), Some(more)) => less < more,
        _ => false,
    };
    let is_of_any = rule.less.test.is_none() && rule.more.test.is_none();
    let is_of_one_test =
        outcomes[less.at].test == outcomes[more.at].test && less.figure.name == more.figure.name;
    let has_tail = less.tail.is_some() && more.tail.is_some();
    is_of_size
        && (a.direction, a.modifier) == (b.direction, b.modifier)
        && (!rule.same_conditions || a.in_words == b.in_words)
        && (!is_of_any || is_of_one_test)
        && (!has_tail || less.tail == more.tail)
}
