//! The annex: which clauses of their documents the results meet.

use super::Table;
use crate::model::Report;
use method::clauses::{Judged, Verdict};

/// In the order of the columns.
const VERDICTS: [Verdict; 5] = [
    Verdict::Met,
    Verdict::Departed,
    Verdict::NotPossible,
    Verdict::NotChecked,
    Verdict::NotApplicable,
];

/// How many clauses of each document and level are met, and what other runs would have besides. `None`
/// where none was judged.
pub(super) fn counts(report: &Report) -> Option<Table> {
    let rows = report.clauses();
    let columns = [
        "<document",
        "<level",
        "clauses",
        "met",
        "departed from",
        "not possible",
        "not checked",
        "not applicable",
    ];
    let about = "A clause counts once, with the worst verdict of all results that it concerns.";
    let mut table = Table::new("Clauses of the documents", vec![about.into()], &columns);
    let mut worst: Vec<Judged> = vec![];
    for (judged, _) in &rows {
        let same = |known: &&mut Judged| {
            (&known.document, &known.section, &known.words)
                == (&judged.document, &judged.section, &judged.words)
        };
        match worst.iter_mut().find(same) {
            Some(known) if rank(known) < rank(judged) => *known = judged.clone(),
            Some(_) => {}
            None => worst.push(judged.clone()),
        }
    }
    let mut groups: Vec<_> = worst.iter().map(|one| (&one.document, one.level)).collect();
    groups.dedup();
    let mut known = vec![];
    for group in groups {
        if known.contains(&group) {
            continue;
        }
        known.push(group);
        let of_group = || worst.iter().filter(|one| (&one.document, one.level) == group);
        let mut row = vec![group.0.clone(), group.1.to_string(), of_group().count().to_string()];
        row.extend(
            VERDICTS
                .map(|verdict| of_group().filter(|one| one.verdict == verdict).count().to_string()),
        );
        table.rows.push(row);
    }
    table.notes = rows.iter().filter_map(|(judged, tests)| note(judged, tests)).collect();
    (!rows.is_empty()).then_some(table)
}

/// Departures stand at the top of a report; here is what no result is blamed for.
fn note(judged: &Judged, tests: &[String]) -> Option<String> {
    let what = match judged.verdict {
        Verdict::Departed if judged.is_of_series => "another run would have it",
        Verdict::NotPossible => "not possible on these ports",
        _ => return None,
    };
    let source = judged.source();
    Some(format!("{what}: {source} ({}): {} ({})", judged.level, judged.why, tests.join(", ")))
}

/// What does not apply is better than what is met: a clause is met only if something met it.
fn rank(judged: &Judged) -> usize {
    let order = [
        Verdict::NotApplicable,
        Verdict::Met,
        Verdict::NotChecked,
        Verdict::NotPossible,
        Verdict::Departed,
    ];
    order.iter().position(|verdict| *verdict == judged.verdict).unwrap_or(0)
}

/// Every clause that was judged, with its verdict.
pub(super) fn every(report: &Report) -> Option<Table> {
    let columns = ["<clause", "<level", "<asks for", "<verdict", "<how or why", "<tests"];
    let about = "A clause marked `series` asks for further runs and is not held against a result.";
    let mut table = Table::new("Annex: clauses of the documents", vec![about.into()], &columns);
    for (judged, tests) in report.clauses() {
        let series = if judged.is_of_series { ", series" } else { "" };
        table.rows.push(vec![
            judged.source(),
            format!("{}{series}", judged.level),
            judged.words.clone(),
            judged.verdict.to_string(),
            judged.why.clone(),
            tests.join(", "),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}
