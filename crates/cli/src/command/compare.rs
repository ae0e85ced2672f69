//! `netanvil compare`: two saved runs side by side.

use crate::args::Compare;
use crate::failure::{Exit, Outcome};
use crate::{output, rendering};
use report::compare::{self, Verdict};

pub fn run(arguments: &Compare) -> Outcome {
    let (before, after) = (rendering::read(&arguments.before)?, rendering::read(&arguments.after)?);
    let names = (arguments.before.to_string_lossy(), arguments.after.to_string_lossy());
    let comparison = compare::compare((&names.0, &before), (&names.1, &after));
    match arguments.json {
        true => output::print(&compare::to_json(&comparison))?,
        false => {
            let table = compare::to_table(&comparison);
            output::print(&report::terminal::render_table(&table, rendering::style()))?;
        }
    }
    let differs = comparison.differences.iter().any(|d| d.verdict == Verdict::Different);
    Ok(if differs { Exit::NotAccepted } else { Exit::Done })
}
