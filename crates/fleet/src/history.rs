//! What became of a figure over time: its values run by run, by version and by kernel, and where it changed.

use crate::change;
use crate::store::{Filter, Point, Series, Store, StoreError};
use report::history as page;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Columns of a heat map: the latest runs.
const HEAT_COLUMNS: usize = 40;

/// What values are put together by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum By {
    /// Each run by itself.
    #[default]
    Run,
    /// Version of the program.
    Version,
    /// Kernel of the tester's host.
    Kernel,
}

/// A figure over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// Of what.
    pub series: Series,
    /// Every run, the oldest first.
    pub points: Vec<Point>,
    /// How many runs have no value that could be compared, by reason.
    pub left_out: BTreeMap<String, usize>,
    /// Where it changed, the oldest change first.
    pub changes: Vec<Changed>,
}

/// A change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changed {
    /// The run where it began, by its digest.
    pub run: String,
    /// When that run was.
    pub started: String,
    /// Where its folder was.
    pub folder: String,
    /// Median from the change before to this one.
    pub before: f64,
    /// Median from this change to the next one.
    pub after: f64,
    /// By how much of the first; `None` if that is zero.
    pub percent: Option<f64>,
    /// Runs of which `before` is the median, and those of `after`.
    pub runs: (usize, usize),
    /// What else is different in that run and was the same in all before it, back to the change before.
    pub also: Vec<String>,
}

/// Values put together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The version or kernel.
    pub name: String,
    /// How many runs.
    pub runs: usize,
    /// The smallest value.
    pub min: f64,
    /// The middle one.
    pub median: f64,
    /// The largest one.
    pub max: f64,
}

/// Why the value of a run cannot be compared; `None` if it can.
fn unfit(point: &Point) -> Option<&'static str> {
    match (&*point.invalid, &*point.relation, point.value) {
        ("", "equal", Some(_)) => None,
        ("", "at_least", _) => Some("a lower bound: the tester was the limit"),
        ("", "between" | "below", _) => Some("an interval or an upper bound"),
        ("", ..) => Some("no value"),
        _ => Some("invalid: the tester kept the test from a result"),
    }
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => f64::NAN,
        (count, middle) if count % 2 == 1 => sorted[middle],
        (_, middle) => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

/// Every series that a filter leaves.
///
/// # Errors
/// If the database fails.
pub fn trends(store: &mut Store, filter: &Filter) -> Result<Vec<Trend>, StoreError> {
    let series = store.series(filter)?;
    let trend = |series: Series| {
        let points = store.points(&series.id)?;
        let places = places(store, &series.id, &values(&points))?;
        Ok(Trend::with(points, series, &places))
    };
    series.into_iter().map(trend).collect()
}

/// Looks for changes in these series and keeps them, so that the next page is there at once.
///
/// # Errors
/// If the database fails.
pub fn look_for_changes(store: &mut Store, series: &BTreeSet<String>) -> Result<(), StoreError> {
    for id in series {
        let points = store.points(id)?;
        places(store, id, &values(&points))?;
    }
    Ok(())
}

/// Where values change: as the database has it, or looked for and kept there.
fn places(store: &mut Store, series: &str, values: &[f64]) -> Result<Vec<usize>, StoreError> {
    let digest = change::digest(values);
    if let Some(known) = store.changes(series, &digest)? {
        return Ok(known);
    }
    let found: Vec<usize> = change::find(values).iter().map(|change| change.at).collect();
    store.keep_changes(series, &digest, &found)?;
    Ok(found)
}

/// Those that can be compared.
fn values(points: &[Point]) -> Vec<f64> {
    points.iter().filter(|point| unfit(point).is_none()).filter_map(|point| point.value).collect()
}

impl Trend {
    /// Of the points of a series, the oldest first.
    pub fn of(points: Vec<Point>, series: Series) -> Trend {
        let places: Vec<usize> =
            change::find(&values(&points)).iter().map(|change| change.at).collect();
        Trend::with(points, series, &places)
    }

    /// The same, with the places where its values change.
    fn with(points: Vec<Point>, series: Series, places: &[usize]) -> Trend {
        let mut left_out = BTreeMap::new();
        for why in points.iter().filter_map(unfit) {
            *left_out.entry(why.to_owned()).or_insert(0) += 1;
        }
        let fit: Vec<&Point> = points.iter().filter(|point| unfit(point).is_none()).collect();
        let changes = changes(&fit, places);
        Trend { series, left_out, changes, points }
    }

    /// Runs whose values can be compared.
    pub fn fit(&self) -> impl Iterator<Item = (&Point, f64)> {
        let fit = self.points.iter().filter(|point| unfit(point).is_none());
        fit.filter_map(|point| point.value.map(|value| (point, value)))
    }

    /// Put together, in the order in which the versions or kernels first came.
    pub fn groups(&self, by: By) -> Vec<Group> {
        let mut groups: Vec<(String, Vec<f64>)> = vec![];
        for (point, value) in self.fit() {
            let name = match by {
                By::Run => &point.started,
                By::Version => &point.program,
                By::Kernel => &point.kernel,
            };
            match groups.iter_mut().find(|(known, _)| known == name) {
                Some((_, values)) => values.push(value),
                None => groups.push((name.clone(), vec![value])),
            }
        }
        let group = |(name, values): (String, Vec<f64>)| Group {
            name,
            runs: values.len(),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            median: median(&values),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        };
        groups.into_iter().map(group).collect()
    }

    /// Of what, in one line.
    pub fn title(&self) -> String {
        format!("{}: {}, {}", self.device(), self.test(), self.series.figure)
    }

    /// The device, and its configuration if that has a name.
    pub(crate) fn device(&self) -> String {
        let Series { device, configuration, .. } = &self.series;
        match configuration.is_empty() {
            true => device.clone(),
            false => format!("{device} ({configuration})"),
        }
    }

    /// One by one: a test's conditions are put together with semicolons.
    fn conditions(&self) -> impl Iterator<Item = &str> {
        self.series.conditions.split("; ").filter(|condition| !condition.is_empty())
    }

    /// Test and size.
    pub(crate) fn test(&self) -> String {
        format!("{}, {} bytes", self.series.test, self.series.frame_size)
    }
}

fn changes(fit: &[&Point], places: &[usize]) -> Vec<Changed> {
    let values: Vec<f64> = fit.iter().filter_map(|point| point.value).collect();
    let ends = places.iter().copied().chain([values.len()]);
    let ends: Vec<usize> = [0].into_iter().chain(ends).collect();
    let changed = ends.windows(3).map(|window| {
        let (from, at, to) = (window[0], window[1], window[2]);
        let (before, after) = (median(&values[from..at]), median(&values[at..to]));
        let percent = (before != 0.0).then(|| (after / before - 1.0) * 100.0);
        Changed {
            run: fit[at].run.clone(),
            started: fit[at].started.clone(),
            folder: fit[at].folder.clone(),
            before,
            after,
            percent,
            runs: (at - from, to - at),
            also: also(&fit[from..at], fit[at]),
        }
    });
    changed.collect()
}

/// What is different in a run and was the same in those before.
fn also(before: &[&Point], at: &Point) -> Vec<String> {
    type Told = fn(&Point) -> &str;
    let kinds: [(&str, Told); 5] = [
        ("program", |point| &point.program),
        ("kernel", |point| &point.kernel),
        ("host", |point| &point.host),
        ("configuration of the methods", |point| &point.method_digest),
        ("set-up of the device", |point| &point.device_digest),
    ];
    let differs = kinds.iter().filter_map(|(name, of)| {
        let known: BTreeSet<&str> = before.iter().map(|point| of(point)).collect();
        let is_new = known.len() == 1 && !known.contains(of(at));
        is_new.then(|| {
            format!("{name}: {} instead of {}", of(at), known.iter().next().unwrap_or(&""))
        })
    });
    differs.collect()
}

/// Trends as a page.
pub fn to_page(title: &str, trends: &[Trend], by: By) -> page::Page {
    let facts = vec![
        format!("{} series", trends.len()),
        format!("changes: E-divisive means, p <= {}", change::SIGNIFICANCE),
    ];
    let titles = titles(trends);
    let drawn = trends
        .iter()
        .zip(&titles)
        .map(|(trend, title)| page::Trend { title: title.clone(), ..trend.drawn(by) });
    page::Page {
        title: title.to_owned(),
        facts,
        heat: heat(trends, &titles),
        trends: drawn.collect(),
    }
}

/// Of what each trend is. Where several are of one device, test, size and figure, with those conditions that not all of
/// them have.
fn titles(trends: &[Trend]) -> Vec<String> {
    let mut alike: BTreeMap<String, Vec<BTreeSet<&str>>> = BTreeMap::new();
    for trend in trends {
        alike.entry(trend.title()).or_default().push(trend.conditions().collect());
    }
    let title = |trend: &Trend| {
        let title = trend.title();
        let all = &alike[&title];
        let is_own = |condition: &&str| !all.iter().all(|other| other.contains(condition));
        let own: Vec<&str> = trend.conditions().filter(is_own).collect();
        if own.is_empty() { title } else { format!("{title} ({})", own.join("; ")) }
    };
    trends.iter().map(title).collect()
}

impl Trend {
    pub(crate) fn drawn(&self, by: By) -> page::Trend {
        let points = self.points.iter().map(|point| page::Point {
            name: point.started.clone(),
            value: point.value.or(point.low),
            within: point.low.zip(point.high),
            unfit: unfit(point).map(str::to_owned),
            hover: format!("{}, {}, {}", point.program, point.kernel, point.host),
        });
        let changes = self.changes.iter().map(|change| page::Change {
            at: self.points.iter().position(|point| point.run == change.run).unwrap_or(0),
            before: change.before,
            after: change.after,
            percent: change.percent,
            runs: change.runs,
            also: change.also.clone(),
            folder: change.folder.clone(),
        });
        let groups = match by {
            By::Run => vec![],
            By::Version | By::Kernel => self.groups(by),
        };
        let row = |group: Group| (group.name, group.runs, [group.min, group.median, group.max]);
        page::Trend {
            title: self.title(),
            device: self.device(),
            test: self.test(),
            figure: self.series.figure.clone(),
            conditions: self.series.conditions.clone(),
            unit: self.series.unit.clone(),
            points: points.collect(),
            changes: changes.collect(),
            groups: groups.into_iter().map(row).collect(),
            left_out: self.left_out.iter().map(|(why, count)| format!("{count} x {why}")).collect(),
        }
    }
}

/// The latest days against the median of each series.
fn heat(trends: &[Trend], titles: &[String]) -> page::Heat {
    let day = |point: &Point| point.started.get(..10).unwrap_or(&point.started).to_owned();
    let days: BTreeSet<String> =
        trends.iter().flat_map(|trend| trend.points.iter().map(day)).collect();
    let columns: Vec<String> = days.into_iter().rev().take(HEAT_COLUMNS).collect();
    let row = |(trend, title): (&Trend, &String)| {
        let all: Vec<f64> = trend.fit().map(|(_, value)| value).collect();
        let usual = median(&all);
        let cell = |column: &String| {
            let of_day: Vec<f64> =
                trend.fit().filter(|(point, _)| day(point) == *column).map(|it| it.1).collect();
            let share = (median(&of_day) / usual - 1.0) * 100.0;
            share.is_finite().then_some(share)
        };
        (title.clone(), columns.iter().map(cell).collect())
    };
    page::Heat { rows: trends.iter().zip(titles).map(row).collect(), columns: columns.clone() }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn point(at: usize, value: f64) -> Point {
        let started = jiff::Timestamp::from_second(1_800_000_000 + at as i64 * 86_400).unwrap();
        Point {
            run: format!("run {at}"),
            started: started.to_string(),
            started_unix_s: started.as_second(),
            program: "netanvil 0.1.0".into(),
            kernel: if at < 30 { "6.12" } else { "6.18" }.into(),
            host: "lab".into(),
            method_digest: "m".into(),
            device_digest: "d".into(),
            folder: format!("runs/{at}"),
            value: Some(value),
            relation: "equal".into(),
            low: None,
            high: None,
            invalid: String::new(),
            reason: String::new(),
        }
    }

    pub(crate) fn series() -> Series {
        Series {
            id: "s".into(),
            device: "router".into(),
            configuration: "plain".into(),
            test: "throughput".into(),
            frame_size: "64".into(),
            conditions: "unidirectional".into(),
            figure: "throughput".into(),
            unit: "fps".into(),
        }
    }

    pub(crate) fn noise(at: usize) -> f64 {
        [0.0, 0.3, -0.2, 0.1, -0.3, 0.2, -0.1][at % 7]
    }

    #[test]
    fn a_change_names_its_run_and_what_else_changed_with_it() {
        let points = (0..50).map(|at| point(at, if at < 30 { 100.0 } else { 97.0 } + noise(at)));
        let trend = Trend::of(points.collect(), series());
        let [change] = &trend.changes[..] else { panic!("{:?}", trend.changes) };
        assert_eq!((&*change.run, change.runs), ("run 30", (30, 20)));
        assert_eq!((change.before, change.after), (100.0, 97.0));
        assert!((change.percent.unwrap() + 3.0).abs() < 1e-9);
        assert_eq!(change.also, ["kernel: 6.18 instead of 6.12"]);
        let groups = trend.groups(By::Kernel);
        assert_eq!(groups.iter().map(|group| group.runs).collect::<Vec<_>>(), [30, 20]);
        assert_eq!(groups[1].median, 97.0);
    }

    /// What only bounds the truth moves nothing, and is counted.
    #[test]
    fn bounds_and_invalid_runs_are_left_out_and_told() {
        let mut points: Vec<Point> = (0..40).map(|at| point(at, 100.0 + noise(at))).collect();
        for bound in &mut points[30..] {
            bound.relation = "at_least".into();
            bound.value = Some(50.0);
        }
        points[3].invalid = "held up".into();
        points[4].value = None;
        points[4].relation = "unknown".into();
        let trend = Trend::of(points, series());
        assert!(trend.changes.is_empty());
        assert_eq!(trend.left_out.values().sum::<usize>(), 12);
        assert_eq!(trend.fit().count(), 28);
    }

    #[test]
    fn series_of_other_conditions_have_titles_of_their_own() {
        let trend = |conditions: &str, figure: &str| {
            let (conditions, figure) = (conditions.to_owned(), figure.to_owned());
            Trend::of(vec![point(0, 1.0)], Series { conditions, figure, ..series() })
        };
        let trends = [
            trend("UDP over IPv4; unidirectional", "throughput"),
            trend("UDP over IPv4; unidirectional; filters: 10 rules", "throughput"),
            trend("UDP over IPv4; bidirectional", "loss"),
        ];
        let drawn = to_page("t", &trends, By::Run);
        let plain = "router (plain): throughput, 64 bytes, throughput";
        let titles = [plain, &format!("{plain} (filters: 10 rules)"), &trends[2].title()];
        assert_eq!(drawn.trends.iter().map(|it| &*it.title).collect::<Vec<_>>(), titles);
        assert_eq!(drawn.heat.rows.iter().map(|it| &*it.0).collect::<Vec<_>>(), titles);
    }

    #[test]
    fn the_heat_map_has_the_latest_days_and_the_share_of_each() {
        let points = (0..50).map(|at| point(at, if at < 45 { 100.0 } else { 90.0 }));
        let drawn = to_page("t", &[Trend::of(points.collect(), series())], By::Run);
        assert_eq!((drawn.heat.columns.len(), drawn.heat.rows.len()), (HEAT_COLUMNS, 1));
        let cells = &drawn.heat.rows[0].1;
        // The latest first.
        assert!((cells[0].unwrap() + 10.0).abs() < 1e-9);
        assert_eq!(cells[39], Some(0.0));
    }
}
