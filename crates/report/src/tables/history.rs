//! Figures over time: one row a figure, one row a change, and values put together where that was asked for.

use super::Table;
use crate::history::{Digest, Page, Trend};
use crate::number::grouped_f64;

fn number(value: f64) -> String {
    grouped_f64(value, if value.abs() >= 1000.0 || value.fract() == 0.0 { 0 } else { 3 })
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
    let columns = ["<figure", "<unit", "runs", "median", "usual", "off %", "not compared"];
    let about = vec!["usual: the median before, since the last change".into()];
    let mut table = Table::new("Figures measured in this time", about, &columns);
    let one = |value: Option<f64>| value.map_or("-".into(), number);
    table.rows.extend(digest.standings.iter().map(|of| {
        vec![
            of.title.clone(),
            of.unit.clone(),
            of.runs.to_string(),
            one(of.median),
            one(of.usual),
            of.percent.map_or("-".into(), |percent| format!("{percent:+.1}")),
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

fn changes(heading: &str, trends: &[Trend]) -> Table {
    let columns =
        ["<figure", "<since", "before", "after", "change %", "runs", "<also different since"];
    let mut table = Table::new(heading, vec![], &columns);
    for trend in trends {
        for change in &trend.changes {
            table.rows.push(vec![
                trend.title.clone(),
                trend.points.get(change.at).map_or(String::new(), |point| point.name.clone()),
                number(change.before),
                number(change.after),
                change.percent.map_or("-".into(), |percent| format!("{percent:+.1}")),
                format!("{} + {}", change.runs.0, change.runs.1),
                change.also.join("; "),
            ]);
            table.notes.push(format!("{} changed in {}", trend.title, change.folder));
        }
    }
    if table.rows.is_empty() {
        table.notes.push("no figure changed".into());
    }
    table
}
