//! `netanvil report`: renders a saved run again.

use crate::args::Report;
use crate::failure::{Exit, Outcome};
use crate::{output, rendering};

pub fn run(arguments: &Report) -> Outcome {
    if report::run_folder::holds_comparison(&arguments.folder) {
        return super::versus::show(&arguments.folder, arguments.json).map(|_report| Exit::Done);
    }
    let report = rendering::render(&arguments.folder)?;
    match arguments.json {
        true => output::print(&report::json::render(&report))?,
        false => {
            output::print(&report::terminal::render(&report, rendering::style(arguments.wide)))?
        }
    }
    Ok(Exit::Done)
}
