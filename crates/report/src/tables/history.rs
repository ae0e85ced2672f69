//! Figures over time: one row a figure, one row a change, and values put together where that was asked for.

use super::Table;
use crate::history::{Digest, Page, Trend, breaks, number};

fn percent(value: Option<f64>) -> String {
    value.map_or("-".into(), |percent| format!("{percent:+.1}"))
}

pub(crate) fn history(page: &Page) -> Vec<Table> {
    let mut tables = vec![series(page)];
    tables.extend(page.trends.iter().filter(|trend| !trend.groups.is_empty()).map(groups));
    tables.push(changes("Changes", &page.trends));
    tables
}

pub(crate) fn digest(digest: &Digest) -> Vec<Table> {
    vec![changes("Changes that began in this time", &digest.changed), standings(digest)]
}

fn standings(digest: &Digest) -> Table {
    let columns = [
        "<device",
        "<test and size",
        "off %",
        "<farthest off",
        "runs",
        "usual",
        "median",
        "figures",
        "not compared",
    ];
    let about = vec![
        "usual: the median before, since the last change; of each test and size the figure that is farthest off".into(),
    ];
    let mut table = Table::new("Measured in this time", about, &columns);
    let one = |value: Option<f64>| value.map_or("-".into(), number);
    table.rows.extend(digest.standings.iter().map(|of| {
        vec![
            of.device.clone(),
            of.test.clone(),
            percent(of.percent),
            format!("{}, {}", of.figure, of.unit),
            of.runs.to_string(),
            one(of.usual),
            one(of.median),
            of.figures.to_string(),
            of.not_compared.to_string(),
        ]
    }));
    match table.rows.is_empty() {
        true => table.notes.push("no run in this time".into()),
        false => table.notes.extend(digest.left_out.clone()),
    }
    table
}

fn series(page: &Page) -> Table {
    let columns =
        ["<figure", "<unit", "runs", "latest", "smallest", "largest", "changes", "not compared"];
    let mut table = Table::new(page.title.clone(), page.facts.clone(), &columns);
    for trend in &page.trends {
        let fit = trend.points.iter().filter(|point| point.unfit.is_none());
        let values: Vec<f64> = fit.filter_map(|point| point.value).collect();
        let one = |value: Option<f64>| value.map_or("-".into(), number);
        table.rows.push(vec![
            trend.title.clone(),
            trend.unit.clone(),
            trend.points.len().to_string(),
            one(values.last().copied()),
            one(values.iter().copied().reduce(f64::min)),
            one(values.iter().copied().reduce(f64::max)),
            trend.changes.len().to_string(),
            (trend.points.len() - values.len()).to_string(),
        ]);
        table.notes.extend(trend.left_out.iter().map(|why| format!("{}: {why}", trend.title)));
    }
    table
}

fn groups(trend: &Trend) -> Table {
    let columns = ["<group", "runs", "smallest", "median", "largest"];
    let about = vec![trend.conditions.clone(), format!("values in {}", trend.unit)];
    let mut table = Table::new(trend.title.clone(), about, &columns);
    for (name, runs, values) in &trend.groups {
        let mut row = vec![name.clone(), runs.to_string()];
        row.extend(values.iter().map(|value| number(*value)));
        table.rows.push(row);
    }
    table
}

/// One row for each run in which figures changed; the page has a row for each of them.
fn changes(heading: &str, trends: &[Trend]) -> Table {
    let columns = ["<since", "<device", "change %", "<most of all", "figures", "before", "after"];
    let mut table = Table::new(heading, vec![], &columns);
    for of_run in breaks(trends) {
        let (trend, change) = of_run.most;
        let since = of_run.day();
        table.rows.push(vec![
            since.to_owned(),
            of_run.device.to_owned(),
            percent(change.percent),
            format!("{}, {}", trend.test, trend.figure),
            of_run.figures.to_string(),
            number(change.before),
            number(change.after),
        ]);
        let also: Vec<&str> = of_run.also.iter().copied().collect();
        let also = if also.is_empty() {
            "nothing else is known to differ".into()
        } else {
            also.join("; ")
        };
        table
            .notes
            .push(format!("{since}, {}: {also}; run folder {}", of_run.device, change.folder));
    }
    if table.rows.is_empty() {
        table.notes.push("no figure changed".into());
    }
    table
}
