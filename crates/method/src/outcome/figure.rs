//! Single measured numbers with what is known of their uncertainty.

use super::interval::{mean_interval, wilson_interval};
use super::{FigureName, Unit, number, reasons};
use serde::{Deserialize, Serialize};
use units::FrameRate;

/// How the truth relates to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// It is the value, within its uncertainty.
    Equal,
    /// It is the value or more: tester-limited.
    AtLeast,
    /// It lies somewhere from the value to a higher one, further apart than was asked for.
    Between,
    /// It is less than the value.
    Below,
    /// Nothing is known of it.
    Unknown,
}

/// Where an uncertainty comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The truth lies between the highest load that passed and the lowest that did not.
    SearchResolution,
    /// 95 % confidence interval of a mean of repetitions (Student).
    RepeatedMean,
    /// 95 % confidence interval of a median of repetitions (order statistics).
    RepeatedMedian,
    /// 95 % confidence interval of a share of frames counted in one trial (Wilson). What the
    /// device does differently from one trial to the next is not in it.
    Counting,
    /// The least and the most processor time that can be the device's, over all trials.
    ProcessorTime,
    /// Every result of tests that contradicted each other and were made twice.
    Contradiction,
    /// Besides whatever else, what the clocks of two hosts may differ by, which is a hard bound.
    Clocks,
    /// There is nothing to learn it from.
    None,
}

/// One measured number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Unique within test, size and conditions.
    pub name: String,
    /// What acceptance criteria call it; `None` where none speaks of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_as: Option<FigureName>,
    /// Of the value and its bounds.
    pub unit: Unit,
    /// The number, where there is one; of an interval the lower end, of an upper bound that bound.
    pub value: Option<f64>,
    /// What it says of the truth.
    pub relation: Relation,
    /// The truth is no less, as far as the run shows; `None` where it does not show.
    pub low: Option<f64>,
    /// The truth is no more, likewise.
    pub high: Option<f64>,
    /// Where `low` and `high` come from.
    pub basis: Basis,
    /// Why the truth is not known better; empty where there is nothing to explain.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why it is not what was measured first, with what that was; empty where it is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub revised: String,
}

impl Figure {
    fn new(name: impl Into<String>, unit: Unit, value: Option<f64>) -> Self {
        let relation = if value.is_some() { Relation::Equal } else { Relation::Unknown };
        let (low, high, known_as) = (None, None, None);
        let (name, basis) = (name.into(), Basis::None);
        let (reason, revised) = (String::new(), String::new());
        Figure { name, known_as, unit, value, relation, low, high, basis, reason, revised }
    }

    /// A number that was not measured, and why.
    pub fn missing(name: impl Into<String>, unit: Unit, why: Option<String>) -> Self {
        let reason = why.unwrap_or_else(|| "no valid trial".into());
        Figure { reason, ..Figure::new(name, unit, None) }
    }

    /// A number that stands alone: nothing says how far it would differ another time.
    pub fn single(name: impl Into<String>, unit: Unit, value: f64) -> Self {
        Figure::new(name, unit, Some(value))
    }

    /// A number that a search found between two others; infinite where one is not known.
    pub fn within(
        name: impl Into<String>,
        unit: Unit,
        relation: Relation,
        (low, high): (f64, f64),
    ) -> Self {
        let value = if relation == Relation::Below { high } else { low };
        let figure = Figure { relation, ..Figure::new(name, unit, Some(value)) };
        figure.bounded(Some((low, high)), Basis::SearchResolution)
    }

    /// An interval; a number where its ends are one.
    pub fn between(
        name: impl Into<String>,
        unit: Unit,
        (low, high): (f64, f64),
        basis: Basis,
    ) -> Self {
        let relation = if low < high { Relation::Between } else { Relation::Equal };
        let figure = Figure { relation, ..Figure::new(name, unit, Some(low)) };
        figure.bounded(Some((low, high)), basis)
    }

    /// The mean of repetitions, with its confidence interval where there are enough.
    pub fn mean_of(name: impl Into<String>, unit: Unit, values: &[f64]) -> Self {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let value = (!values.is_empty()).then_some(mean);
        Figure::new(name, unit, value).bounded(mean_interval(values), Basis::RepeatedMean)
    }

    /// A share of frames that were lost, counted in one trial, in percent.
    pub fn share_lost(name: impl Into<String>, lost: u64, of: u64) -> Self {
        if of == 0 {
            let why = Some("no frame was sent".to_owned());
            return Figure::missing(name, Unit::Percent, why);
        }
        let share = lost as f64 / of as f64 * 100.0;
        let within = wilson_interval(lost, of).map(|(low, high)| (low * 100.0, high * 100.0));
        Figure::single(name, Unit::Percent, share).bounded(within, Basis::Counting)
    }

    /// What a search in whole numbers found: the highest that passed and the lowest that failed. With
    /// nothing failed the truth may be more.
    pub fn count(
        name: impl Into<String>,
        unit: Unit,
        (found, failed): (Option<u64>, Option<u64>),
        invalid: &[String],
    ) -> Self {
        let whole = |count: u64| count as f64;
        match (found, failed) {
            _ if !invalid.is_empty() => Figure::missing(name, unit, reasons(invalid)),
            (Some(found), Some(failed)) => {
                // Between two rates lie others, between two whole numbers in a row none.
                let under = || failed.saturating_sub(1).max(found);
                let high = if unit.is_rate() { failed } else { under() };
                Figure::within(name, unit, Relation::Equal, (whole(found), whole(high)))
            }
            (Some(found), None) => {
                Figure::within(name, unit, Relation::AtLeast, (whole(found), f64::INFINITY))
            }
            (None, Some(failed)) => {
                Figure::within(name, unit, Relation::Below, (0.0, whole(failed)))
            }
            (None, None) => Figure::missing(name, unit, None),
        }
    }

    /// The same with bounds, where there are any; an infinite one is none.
    pub fn bounded(self, within: Option<(f64, f64)>, basis: Basis) -> Self {
        let finite = |value: f64| value.is_finite().then_some(value);
        match within {
            Some((low, high)) => Figure { low: finite(low), high: finite(high), basis, ..self },
            None => self,
        }
    }

    /// The same with this value, where its bounds come from elsewhere.
    pub fn valued(self, value: Option<f64>) -> Self {
        Figure { value, ..self }
    }

    /// The same as a lower bound: the truth may be more.
    pub fn or_more(self) -> Self {
        Figure { relation: Relation::AtLeast, high: None, ..self }
    }

    /// The same with why it is not known better.
    pub fn because(self, reason: impl Into<String>) -> Self {
        Figure { reason: reason.into(), ..self }
    }

    /// The same under a name that acceptance criteria know.
    pub fn called(self, name: FigureName) -> Self {
        debug_assert!(name.fits(self.unit) || self.unit == Unit::None, "{self:?}");
        Figure { known_as: Some(name), ..self }
    }

    /// One of its values as people read it, in the unit of [`Figure::printed`].
    pub fn printed_value(&self, value: f64) -> String {
        match self.unit {
            Unit::Fps => number::fps(FrameRate::from_fps_f64(value)),
            Unit::Percent => number::percent(value / 100.0),
            Unit::Ns => number::grouped_f64(value / 1e3, 3),
            Unit::Us | Unit::Seconds | Unit::Ratio => number::grouped_f64(value, 3),
            _ => number::grouped_f64(value, if value.fract() == 0.0 { 0 } else { 1 }),
        }
    }

    /// What it says of the truth as people read it, and its unit.
    pub fn printed(&self) -> (String, &'static str) {
        let one = |value: Option<f64>| value.map_or("-".into(), |value| self.printed_value(value));
        let value = match self.relation {
            Relation::Equal => one(self.value),
            Relation::AtLeast => format!(">= {}", one(self.value)),
            Relation::Below => format!("< {}", one(self.value)),
            Relation::Between => format!("{} .. {}", one(self.low), one(self.high)),
            Relation::Unknown => "not known".into(),
        };
        let unit = match self.unit {
            Unit::Fps => "frames/s",
            Unit::Ns => "us",
            Unit::Percent => "%",
            unit => unit.symbol(),
        };
        (value, unit)
    }

    /// The same with why it is not what was measured first.
    pub fn revised_because(self, why: impl Into<String>) -> Self {
        Figure { revised: why.into(), ..self }
    }

    /// Whether it is not what was measured first.
    pub fn is_revised(&self) -> bool {
        !self.revised.is_empty()
    }

    /// Between which values the truth lies, as far as the run shows; infinite where it does not.
    pub fn bounds(&self) -> (f64, f64) {
        (self.low.unwrap_or(f64::NEG_INFINITY), self.high.unwrap_or(f64::INFINITY))
    }

    /// Between which values the number lies that another measurement of the same would come to: its bounds, and
    /// its value where it has none; `None` where nothing is known.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let value = self.value?;
        let (low, high) = match self.relation {
            Relation::Unknown => return None,
            Relation::AtLeast => (self.low.unwrap_or(value), f64::INFINITY),
            Relation::Below => (self.low.unwrap_or(0.0), value),
            Relation::Equal | Relation::Between => {
                (self.low.unwrap_or(value), self.high.unwrap_or(value))
            }
        };
        Some((low.min(value), high.max(value)))
    }

    /// What may be claimed of the truth: the value where that is known, else from where to where it
    /// may be; `None` where nothing is known.
    pub fn claim(&self) -> Option<(f64, f64)> {
        let value = self.value?;
        match self.relation {
            Relation::Equal => Some((value, value)),
            Relation::AtLeast => Some((value, f64::INFINITY)),
            Relation::Between | Relation::Below => Some(self.bounds()),
            Relation::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_known_up_to_the_next_that_failed() {
        let of = |found, failed| Figure::count("n", Unit::Groups, (found, failed), &[]);
        assert_eq!(of(Some(12), Some(13)).bounds(), (12.0, 12.0));
        assert_eq!(of(Some(12), Some(20)).bounds(), (12.0, 19.0));
        assert_eq!(of(Some(12), None).claim(), Some((12.0, f64::INFINITY)));
        assert_eq!(of(None, Some(4)).claim(), Some((0.0, 4.0)));
        assert_eq!((of(None, Some(4)).relation, of(None, None).claim()), (Relation::Below, None));
        let rate = Figure::count("n", Unit::Fps, (Some(12), Some(20)), &[]);
        assert_eq!(rate.bounds(), (12.0, 20.0));
        let invalid = Figure::count("n", Unit::Fps, (Some(12), None), &["held up".into()]);
        assert_eq!((invalid.claim(), &*invalid.reason), (None, "held up"));
    }

    /// JSON has no infinity: a bound that is not known is left open, and comes back so.
    #[test]
    fn an_open_bound_survives_being_saved() {
        let at_least = Figure::within("r", Unit::Fps, Relation::AtLeast, (7.0, f64::INFINITY))
            .called(FigureName::Throughput);
        let saved = serde_json::to_string(&at_least).unwrap();
        assert!(saved.contains("\"known_as\":\"throughput\"") && saved.contains("\"high\":null"));
        let back: Figure = serde_json::from_str(&saved).unwrap();
        assert_eq!(back, at_least);
        assert_eq!(back.bounds(), (7.0, f64::INFINITY));
    }

    #[test]
    fn of_an_interval_both_ends_are_claimed_and_of_equal_ends_one_number() {
        let of = |ends| Figure::between("c", Unit::Ns, ends, Basis::ProcessorTime);
        assert_eq!(
            (of((1.0, 2.0)).claim(), of((1.0, 2.0)).relation),
            (Some((1.0, 2.0)), Relation::Between)
        );
        assert_eq!(
            (of((2.0, 2.0)).claim(), of((2.0, 2.0)).relation),
            (Some((2.0, 2.0)), Relation::Equal)
        );
    }

    #[test]
    fn a_share_of_nothing_is_not_known() {
        assert_eq!(Figure::share_lost("loss", 0, 0).claim(), None);
        // 15 of 148 (Newcombe 1998, table I): 6.24 % to 16.05 %.
        let (low, high) = Figure::share_lost("loss", 15, 148).bounds();
        assert!((low - 6.24).abs() < 0.01 && (high - 16.05).abs() < 0.01, "{low} {high}");
    }
}
