//! Figures over several seeds, and what is made of them against targets.

use serde::Serialize;

/// Of what is usable, in percent: a run below that is stuck.
pub const STUCK_PERCENT: f64 = 50.0;

/// How a figure is written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Unit {
    /// With a digit.
    Percent,
    /// With two.
    SmallPercent,
    /// Milliseconds.
    Ms,
    /// Without a unit; infinity is never.
    RoundTrips,
    /// Jain's.
    Index,
}

/// What a figure has to be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Target {
    /// At least that, by the 10th percentile.
    Least(f64),
    /// At most that, by the 90th.
    Most(f64),
}

/// A figure of one run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Of the figure, and of a target that is missed.
    pub name: &'static str,
    /// How it is written.
    pub unit: Unit,
    /// In that unit.
    pub value: f64,
    /// If there is one.
    pub target: Option<Target>,
}

impl Measured {
    /// A figure with or without a target.
    pub fn new(name: &'static str, unit: Unit, value: f64, target: Option<Target>) -> Measured {
        Measured { name, unit, value, target }
    }
    /// A time in round trips, of which there are to be so many at most; none is never.
    pub fn round_trips(name: &'static str, count: Option<f64>, most: f64) -> Measured {
        let value = count.unwrap_or(f64::INFINITY);
        Measured::new(name, Unit::RoundTrips, value, Some(Target::Most(most)))
    }
}

/// A figure over all seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Quantiles {
    name: &'static str,
    p10: f64,
    median: f64,
    p90: f64,
    /// By seed; null is never.
    values: Vec<f64>,
    #[serde(skip)]
    unit: Unit,
    #[serde(skip)]
    target: Option<Target>,
}

/// Runs, each with the same figures in the same order.
pub fn quantiles(runs: &[Vec<Measured>]) -> Vec<Quantiles> {
    let Some(first) = runs.first() else { return Vec::new() };
    let figure = |(at, one): (usize, &Measured)| {
        let values: Vec<f64> = runs.iter().map(|run| run[at].value).collect();
        let [p10, median, p90] = [10, 50, 90].map(|of_100| percentile(&values, of_100));
        Quantiles { name: one.name, p10, median, p90, values, unit: one.unit, target: one.target }
    };
    first.iter().enumerate().map(figure).collect()
}

/// Names of targets that are missed, with runs that are stuck where the sender has to fill the path; none where nothing is
/// judged.
pub fn missed(figures: &[Quantiles], judged: bool, fills: bool) -> Option<Vec<String>> {
    let mut names = Vec::new();
    if judged {
        names.extend(figures.iter().filter(|one| !one.is_met()).map(|one| one.name.to_owned()));
    }
    if fills && let Some(stuck) = stuck(figures).filter(|stuck| *stuck > 0) {
        let runs = figures.first().map_or(0, |one| one.values.len());
        names.push(format!("{stuck} of {runs} stuck"));
    }
    // Not to be stuck is no target that is met: it is told where it is not so.
    (judged || !names.is_empty()).then_some(names)
}

/// Runs that used less than half of what is usable; none if that is not among the figures.
pub fn stuck(figures: &[Quantiles]) -> Option<usize> {
    let used = figures.iter().find(|one| one.name == "utilisation")?;
    Some(used.values.iter().filter(|value| **value < STUCK_PERCENT).count())
}

/// The smallest value that so many in a hundred do not exceed.
pub fn percentile(values: &[f64], of_100: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * of_100).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

impl Quantiles {
    fn is_met(&self) -> bool {
        match self.target {
            None => true,
            Some(Target::Least(least)) => self.p10 >= least,
            Some(Target::Most(most)) => self.p90 <= most,
        }
    }

    /// The value of a single run, or the three percentiles of several.
    pub fn words(&self) -> String {
        match self.values.as_slice() {
            [value] => self.value(*value, true),
            _ => {
                let [p10, median, p90] =
                    [self.p10, self.median, self.p90].map(|value| self.value(value, false));
                let unit = match self.unit {
                    Unit::Percent | Unit::SmallPercent => " %",
                    Unit::Ms => " ms",
                    Unit::RoundTrips | Unit::Index => "",
                };
                format!("{:>18}{unit}", format!("{p10}/{median}/{p90}"))
            }
        }
    }

    fn value(&self, value: f64, alone: bool) -> String {
        let short = match self.unit {
            Unit::RoundTrips if value.is_infinite() => "never".to_owned(),
            Unit::Percent | Unit::Ms | Unit::RoundTrips => format!("{value:.1}"),
            Unit::SmallPercent => format!("{value:.2}"),
            Unit::Index => format!("{value:.3}"),
        };
        match (alone, self.unit) {
            (false, _) => short,
            (true, Unit::Percent | Unit::SmallPercent) => format!("{short:>5} %"),
            (true, Unit::Ms) => format!("{short:>7} ms"),
            (true, Unit::RoundTrips) => format!("{short:>6}"),
            (true, Unit::Index) => short,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[(f64, f64)]) -> Vec<Quantiles> {
        let run = |(used, start_up): &(f64, f64)| {
            let count = (*start_up < 99.0).then_some(*start_up);
            vec![
                Measured::new("utilisation", Unit::Percent, *used, Some(Target::Least(95.0))),
                Measured::round_trips("start-up", count, 10.0),
            ]
        };
        quantiles(&values.iter().map(run).collect::<Vec<_>>())
    }

    #[test]
    fn percentiles_are_ranks() {
        let values: Vec<f64> = (1..=30).rev().map(f64::from).collect();
        assert_eq!([10, 50, 90].map(|p| percentile(&values, p)), [3.0, 15.0, 27.0]);
        assert_eq!([10, 50, 90].map(|p| percentile(&values[..3], p)), [28.0, 29.0, 30.0]);
    }

    /// Of 30 runs two may miss what is wanted, on either side; none may be stuck.
    #[test]
    fn a_tenth_of_the_runs_may_miss_a_target_and_none_may_be_stuck() {
        let with = |bad: (f64, f64), count: usize| {
            let mut values = vec![(99.0, 4.0); 30 - count];
            values.extend(vec![bad; count]);
            missed(&row(&values), true, true)
        };
        assert_eq!(with((60.0, 100.0), 2), Some(vec![]));
        let both = ["utilisation", "start-up"].map(str::to_owned).to_vec();
        assert_eq!(with((60.0, 100.0), 4), Some(both));
        assert_eq!(with((49.9, 4.0), 1), Some(vec!["1 of 30 stuck".to_owned()]));
        let one = row(&[(49.9, 4.0)]);
        assert_eq!(missed(&one, false, true), Some(vec!["1 of 1 stuck".to_owned()]));
        assert_eq!(missed(&one, false, false), None);
    }

    #[test]
    fn runs_under_half_of_what_is_usable_are_stuck_and_others_are_not() {
        assert_eq!(stuck(&row(&[(49.9, 4.0), (50.0, 4.0), (0.0, 100.0)])), Some(2));
        assert_eq!(stuck(&[]), None);
    }

    #[test]
    fn one_run_is_written_as_it_is_and_several_by_their_percentiles() {
        let words = |values: &[(f64, f64)]| {
            row(values).iter().map(Quantiles::words).collect::<Vec<_>>().join("|")
        };
        assert_eq!(words(&[(99.06, 100.0)]), " 99.1 %| never");
        let three = words(&[(97.0, 5.0), (99.0, 100.0), (98.0, 4.0)]);
        assert_eq!(three, "    97.0/98.0/99.0 %|     4.0/5.0/never");
    }
}
