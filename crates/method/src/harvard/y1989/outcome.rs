//! The figures of the router tests of 1989.

use super::result::{Ending, Harvard1989Result, Number, Unit};
use crate::TestKind;
use crate::outcome::{self, Basis, Figure, Relation};

impl Harvard1989Result {
    /// The numbers of the test's table.
    pub fn outcome(&self) -> outcome::Outcome {
        let (why, invalid) = match &self.outcome {
            Ending::Measured => ("the test came to no figure".to_owned(), vec![]),
            Ending::NotPossible { why } => (why.clone(), vec![]),
            Ending::Invalid { reasons } => (reasons.join("; "), outcome::no_result(reasons)),
        };
        let figures = match self.figures.is_empty() {
            true => {
                let unit = outcome::Unit::None;
                vec![Figure::missing(outcome::NO_FIGURE, unit, Some(why))]
            }
            false => self.figures.iter().map(|number| number.figure(&why)).collect(),
        };
        let test = TestKind::Harvard1989(self.test);
        outcome::Outcome::new(test, &self.conditions, figures, &invalid)
    }
}

impl Number {
    fn figure(&self, why: &str) -> Figure {
        let (name, unit) = (self.name.clone(), outcome::Unit::from(self.unit));
        let figure = match (self.value, self.upper) {
            (Some(value), _) if self.at_least => {
                Figure::within(name, unit, Relation::AtLeast, (value, f64::INFINITY))
            }
            (Some(value), Some(upper)) if self.is_interval => {
                Figure::between(name, unit, (value, upper), Basis::SearchResolution)
            }
            (Some(value), Some(upper)) => {
                // Between two whole numbers in a row lies none.
                let is_whole = matches!(self.unit, Unit::Frames | Unit::Entries);
                let high = if is_whole { (upper - 1.0).max(value) } else { upper };
                let figure = Figure::single(name, unit, value);
                figure.bounded(Some((value, high)), Basis::SearchResolution)
            }
            (Some(value), None) => Figure::single(name, unit, value),
            (None, _) => Figure::missing(name, unit, Some(why.to_owned())),
        };
        match self.known_as {
            Some(known_as) => figure.called(known_as),
            None => figure,
        }
    }
}

impl From<Unit> for outcome::Unit {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::Fps => outcome::Unit::Fps,
            Unit::Frames => outcome::Unit::Frames,
            Unit::Percent => outcome::Unit::Percent,
            Unit::Us => outcome::Unit::Us,
            Unit::Seconds => outcome::Unit::Seconds,
            Unit::Bytes => outcome::Unit::Bytes,
            Unit::Entries => outcome::Unit::Entries,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: f64, upper: f64, is_interval: bool, unit: Unit) -> Figure {
        let (name, value, upper) = ("n".to_owned(), Some(value), Some(upper));
        let (at_least, known_as) = (false, None);
        let number = Number { name, value, unit, at_least, upper, is_interval, known_as };
        number.figure("")
    }

    /// No load passed, the lowest was 5 frames a second: the rate is somewhere up to that, not 0.
    #[test]
    fn where_nothing_passed_no_number_is_claimed() {
        let figure = number(0.0, 5.0, true, Unit::Fps);
        assert_eq!((figure.relation, figure.claim()), (Relation::Between, Some((0.0, 5.0))));
    }

    #[test]
    fn of_whole_things_the_next_that_failed_leaves_no_room() {
        assert_eq!(number(11.0, 12.0, false, Unit::Entries).bounds(), (11.0, 11.0));
        assert_eq!(number(11.0, 12.0, false, Unit::Fps).bounds(), (11.0, 12.0));
    }
}
