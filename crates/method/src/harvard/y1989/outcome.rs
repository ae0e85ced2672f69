//! The figures of the router tests of 1989, and their tables.

use super::result::{CounterCheck, Ending, Harvard1989Result, Number, Unit};
use crate::TestKind;
use crate::clauses::Facts;
use crate::outcome::{self, Basis, Cell, Figure, Layout, Relation, capitalised};

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
        let not_measured = self.is_invalid().then(|| "no valid trial".to_owned());
        let outcome = self
            .conditions
            .outcome(test, figures, &invalid)
            .judged_by(Facts { not_measured, ..Facts::under(&self.conditions) })
            .laid_out(self.layout());
        self.counter_table().into_iter().fold(outcome, outcome::Outcome::laid_out).detailed(self)
    }

    /// A column a figure.
    fn layout(&self) -> Layout {
        let conditions = &self.conditions;
        let about = format!("{}; {}", conditions.traffic, conditions.medium());
        let heading = format!("{} (router tests of 1989)", capitalised(&self.test.to_string()));
        let mut layout = Layout::new(heading, vec![about], &["size"]).beside("-");
        if !self.figures.is_empty() {
            layout.columns.extend(self.figures.iter().map(Number::title));
            let cells = self.figures.iter().map(Number::cell);
            layout
                .rows
                .push([conditions.frame_size.clone().into()].into_iter().chain(cells).collect());
        }
        layout.noted(self.remarks())
    }

    /// Why there is no result, what the device did wrong, notes.
    fn remarks(&self) -> Vec<String> {
        let why = match &self.outcome {
            Ending::NotPossible { why } => Some(why.clone()),
            Ending::Measured | Ending::Invalid { .. } => None,
        };
        let wrong = self.misbehaviours.iter().map(|wrong| format!("MISBEHAVES: {wrong}"));
        why.into_iter().chain(wrong).chain(self.notes.iter().cloned()).collect()
    }

    /// The device's counters beside the tester's, frame for frame.
    fn counter_table(&self) -> Option<Layout> {
        const COLUMNS: [&str; 8] =
            ["<source", "<port", "<counter", "<counts", "device", "tester", "difference", "<"];
        let about =
            "the device's own counters over one trial beside what the tester sent and received";
        let heading = format!("Counters of the device, {} bytes", self.conditions.frame_size);
        let layout = Layout::new(heading, vec![about.into()], &COLUMNS);
        let checks = self.counters.iter();
        (!self.counters.is_empty())
            .then(|| checks.fold(layout, |layout, check| layout.row(check.cells())))
    }
}

impl CounterCheck {
    fn cells(&self) -> [Cell; 8] {
        let difference = self.device as i128 - self.tester as i128;
        [
            self.source.clone().into(),
            self.port.map_or_else(|| "all".into(), |port| port.0.to_string().into()),
            self.name.clone().into(),
            self.counted.to_string().into(),
            Cell::Count(self.device),
            Cell::Count(self.tester),
            if difference == 0 { "0".into() } else { format!("{difference:+}").into() },
            match (&self.explained, difference) {
                (_, 0) => "exact".into(),
                (Some(why), _) => why.clone().into(),
                (None, _) => "WRONG".into(),
            },
        ]
    }
}

impl Number {
    fn title(&self) -> String {
        match self.unit {
            // The name says what is counted.
            Unit::Frames | Unit::Entries | Unit::Bytes => self.name.clone(),
            _ => format!("{}, {}", self.name, self.unit.symbol()),
        }
    }

    fn cell(&self) -> Cell {
        let decimals = match self.unit {
            Unit::Frames | Unit::Bytes | Unit::Entries => 0,
            Unit::Fps | Unit::Us => 1,
            Unit::Percent | Unit::Seconds => 3,
        };
        let cell = |value| Cell::number(value, decimals);
        match (self.value, self.upper) {
            (Some(low), Some(high)) if self.is_interval && !self.at_least => {
                Cell::between(cell(low), cell(high))
            }
            (value, _) => Cell::optional(value, |value| cell(value).at_least_if(self.at_least)),
        }
    }

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

    fn of(value: f64, upper: f64, is_interval: bool, unit: Unit) -> Number {
        let (name, value, upper) = ("n".to_owned(), Some(value), Some(upper));
        let (at_least, known_as) = (false, None);
        Number { name, value, unit, at_least, upper, is_interval, known_as }
    }

    fn number(value: f64, upper: f64, is_interval: bool, unit: Unit) -> Figure {
        of(value, upper, is_interval, unit).figure("")
    }

    /// The table states what the figure does, not the lower end alone.
    #[test]
    fn an_interval_is_printed_as_one() {
        assert_eq!(of(0.0, 5.0, true, Unit::Fps).cell().to_string(), "0.0 .. 5.0");
        assert_eq!(of(11.0, 12.0, false, Unit::Fps).cell().to_string(), "11.0");
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
