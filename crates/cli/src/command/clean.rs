//! `netanvil clean`: removes what killed runs left behind.

use crate::args::Clean;
use crate::failure::{Exit, Failure, Outcome};
use crate::output;
use testbed::CleanReport;

pub fn run(arguments: &Clean) -> Outcome {
    let report = testbed::clean(arguments.force)?;
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&describe(&report))?;
    }
    match report.failures.first() {
        None => Ok(Exit::Done),
        Some(failure) => Err(Failure::new(failure).help("run `sudo netanvil clean`")),
    }
}

fn describe(report: &CleanReport) -> String {
    let mut lines = vec![];
    lines.extend(report.removed_namespaces.iter().map(|name| format!("removed namespace {name}")));
    let restored = report.restored_interfaces.iter();
    lines.extend(restored.map(|name| format!("switched offloads of {name} back on")));
    lines.extend(report.removed_records.iter().map(|path| format!("removed {}", path.display())));
    lines.extend(
        report
            .kept_namespaces
            .iter()
            .map(|name| format!("kept namespace {name}: its run is active")),
    );
    if report.is_empty() {
        lines.push("nothing to remove".into());
    }
    lines.join("\n") + "\n"
}
