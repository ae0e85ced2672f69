//! `netanvil compare`: two saved runs side by side.

use crate::args::Compare;
use crate::failure::{Exit, Failure, Outcome};
use crate::{output, rendering};
use method::TestKind;
use report::Report;
use report::compare::{self, Verdict};

pub fn run(arguments: &Compare) -> Outcome {
    let (before, after) = (rendering::read(&arguments.before)?, rendering::read(&arguments.after)?);
    let names = (arguments.before.to_string_lossy(), arguments.after.to_string_lossy());
    let comparison = compare::compare((&names.0, &before), (&names.1, &after));
    if !comparison.has_common() {
        return Err(Failure::new("nothing to compare: the runs have no quantity in common")
            .help(format!("{}: {}", names.0, tests_in_words(&before)))
            .help(format!("{}: {}", names.1, tests_in_words(&after)))
            .help("compare runs of the same tests with the same frame sizes and conditions"));
    }
    match arguments.json {
        true => output::print(&compare::to_json(&comparison))?,
        false => {
            let table = compare::to_table(&comparison);
            output::print(&report::terminal::render_table(
                &table,
                rendering::style(arguments.wide),
            ))?;
        }
    }
    let differs = comparison.differences.iter().any(|d| d.verdict == Verdict::Different);
    Ok(if differs { Exit::NotAccepted } else { Exit::Done })
}

/// What a run has results of.
fn tests_in_words(report: &Report) -> String {
    let own = |kind: &TestKind| *kind == TestKind::SelfTest;
    let kinds = report.outcomes().map(|outcome| outcome.test).filter(|kind| !own(kind));
    let mut kinds: Vec<TestKind> = kinds.collect();
    kinds.sort();
    kinds.dedup();
    let names: Vec<String> = kinds.iter().map(ToString::to_string).collect();
    if names.is_empty() { "no results".into() } else { names.join(", ") }
}
