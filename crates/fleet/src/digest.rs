//! What a period brought: the changes that began in it, and figures that are off what is usual.

use crate::history::{Trend, median};
use crate::store::Point;
use report::history as page;
use std::collections::BTreeSet;
use std::ops::Range;

/// Figures in the table at most.
const STANDINGS_MAX: usize = 25;

/// A digest of a period, in seconds since 1970.
pub fn digest(title: &str, trends: &[Trend], period: &Range<i64>) -> page::Digest {
    let measured =
        trends.iter().map(|trend| of_period(trend, period).map(|point| &*point.run).collect());
    let measured: Vec<BTreeSet<&str>> =
        measured.filter(|runs: &BTreeSet<&str>| !runs.is_empty()).collect();
    let runs = measured.iter().flatten().collect::<BTreeSet<_>>().len();
    let changed: Vec<page::Trend> =
        trends.iter().filter_map(|trend| changed(trend, period)).collect();
    let mut standings: Vec<page::Standing> =
        trends.iter().filter_map(|trend| standing(trend, period)).collect();
    let far = |standing: &page::Standing| standing.percent.map_or(-1.0, f64::abs);
    // Of the same distance in the order of the database.
    standings.sort_by(|a, b| far(b).total_cmp(&far(a)));
    let mut standings = farthest(standings);
    let left_out = standings.get(STANDINGS_MAX).map(|first| {
        let count = standings.len() - STANDINGS_MAX;
        format!("{count} more tests and sizes are at most {:.1} % off", far(first).max(0.0))
    });
    standings.truncate(STANDINGS_MAX);
    let day = |at: i64| {
        jiff::Timestamp::from_second(at).map_or_else(|_| at.to_string(), |it| it.to_string())
    };
    let changes: usize = changed.iter().map(|trend| trend.changes.len()).sum();
    let facts = vec![
        format!("{} to {}", day(period.start), day(period.end)),
        format!("{runs} runs, {} of {} series, {changes} changes", measured.len(), trends.len()),
    ];
    page::Digest { title: title.to_owned(), facts, changed, standings, left_out }
}

/// The first figure of each device, test, size and conditions, which stands for all of them.
fn farthest(standings: Vec<page::Standing>) -> Vec<page::Standing> {
    let mut kept: Vec<page::Standing> = vec![];
    for standing in standings {
        let is_same = |other: &&mut page::Standing| {
            (&other.device, &other.test) == (&standing.device, &standing.test)
        };
        match kept.iter_mut().find(is_same) {
            Some(known) => known.figures += 1,
            None => kept.push(standing),
        }
    }
    kept
}

/// The runs of a period.
fn of_period<'a>(trend: &'a Trend, period: &'a Range<i64>) -> impl Iterator<Item = &'a Point> {
    trend.points.iter().filter(|point| period.contains(&point.started_unix_s))
}

/// The changes of a figure that began in the period; `None` if none did.
fn changed(trend: &Trend, period: &Range<i64>) -> Option<page::Trend> {
    let mut drawn = trend.drawn(crate::history::By::Run);
    drawn.changes.retain(|change| {
        trend.points.get(change.at).is_some_and(|point| period.contains(&point.started_unix_s))
    });
    (!drawn.changes.is_empty()).then_some(drawn)
}

/// `None` if the figure was not measured in the period.
fn standing(trend: &Trend, period: &Range<i64>) -> Option<page::Standing> {
    let runs = of_period(trend, period).count();
    let of_fit = |wanted: Range<i64>| -> Vec<f64> {
        trend
            .fit()
            .filter(|(point, _)| wanted.contains(&point.started_unix_s))
            .map(|it| it.1)
            .collect()
    };
    let is_changed = |point: &&Point| trend.changes.iter().any(|change| change.run == point.run);
    let before = trend.points.iter().filter(|point| point.started_unix_s < period.start);
    let since = before.rev().find(is_changed).map_or(i64::MIN, |point| point.started_unix_s);
    let one = |values: Vec<f64>| (!values.is_empty()).then(|| median(&values));
    let fit = of_fit(period.clone());
    let not_compared = runs - fit.len();
    let (now, usual) = (one(fit), one(of_fit(since..period.start)));
    let percent = now.zip(usual).filter(|(_, usual)| *usual != 0.0);
    (runs > 0).then(|| page::Standing {
        device: trend.device(),
        test: match &*trend.series.conditions {
            "" => trend.test(),
            conditions => format!("{}, {conditions}", trend.test()),
        },
        figure: trend.series.figure.clone(),
        figures: 1,
        unit: trend.series.unit.clone(),
        runs,
        not_compared,
        median: now,
        usual,
        percent: percent.map(|(now, usual)| (now / usual - 1.0) * 100.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::{noise, point, series};

    /// Fifty days; the rate falls by 3 % on the 41st.
    fn fallen(figure: &str) -> Trend {
        let points = (0..50).map(|at| point(at, if at < 40 { 100.0 } else { 97.0 } + noise(at)));
        Trend::of(points.collect(), crate::store::Series { figure: figure.into(), ..series() })
    }

    fn days(from: usize, to: usize) -> Range<i64> {
        let at = |day: usize| point(day, 0.0).started_unix_s;
        at(from)..at(to)
    }

    #[test]
    fn a_change_is_told_in_the_period_in_which_it_began_alone() {
        let trends = [fallen("throughput")];
        let told = digest("d", &trends, &days(38, 45));
        let [of] = &told.changed[..] else { panic!("{told:?}") };
        assert_eq!(
            of.changes.iter().map(|change| (change.at, change.runs)).collect::<Vec<_>>(),
            [(40, (40, 10))]
        );
        assert_eq!(told.facts[1], "7 runs, 1 of 1 series, 1 changes");
        for period in [days(20, 40), days(41, 50)] {
            assert_eq!(digest("d", &trends, &period).changed, []);
        }
    }

    /// Usual is what was since the last change, not what was once.
    #[test]
    fn figures_stand_beside_what_is_usual() {
        let trends = [fallen("throughput")];
        let standing = |period: Range<i64>| digest("d", &trends, &period).standings[0].clone();
        let fell = standing(days(40, 47));
        assert_eq!((fell.runs, fell.usual, fell.not_compared), (7, Some(100.0), 0));
        assert!((fell.percent.unwrap() + 3.0).abs() < 0.2, "{fell:?}");
        let after = standing(days(45, 50));
        assert!(
            (after.usual.unwrap() - 97.0).abs() < 0.4 && after.percent.unwrap().abs() < 0.5,
            "{after:?}"
        );
        assert_eq!(digest("d", &trends, &days(50, 57)).standings, []);
    }

    #[test]
    fn figures_of_other_conditions_have_a_row_of_their_own() {
        let trend = |conditions: &str| {
            let points = (0..50).map(|at| point(at, 100.0 + noise(at)));
            let conditions = conditions.to_owned();
            Trend::of(points.collect(), crate::store::Series { conditions, ..series() })
        };
        let told = digest("d", &[trend("unidirectional"), trend("bidirectional")], &days(40, 47));
        let rows = told.standings.iter().map(|row| (row.figures, row.test.rsplit(", ").next()));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_unstable();
        assert_eq!(rows, [(1, Some("bidirectional")), (1, Some("unidirectional"))]);
    }

    #[test]
    fn what_is_farthest_off_comes_first_and_the_rest_is_counted() {
        let steady = |number: usize| {
            let points = (0..50).map(|at| point(at, 100.0 + noise(at)));
            let frame_size = (64 + number).to_string();
            Trend::of(points.collect(), crate::store::Series { frame_size, ..series() })
        };
        let mut trends: Vec<Trend> = (0..30).map(steady).collect();
        trends.push(fallen("cost of a frame"));
        let told = digest("d", &trends, &days(40, 47));
        assert_eq!(told.standings.len(), STANDINGS_MAX);
        let first = &told.standings[0];
        // Of 64 bytes there are two figures.
        assert_eq!((&*first.figure, first.figures), ("cost of a frame", 2), "{first:?}");
        assert!(told.left_out.unwrap().starts_with("5 more tests and sizes are at most 0."));
    }
}
