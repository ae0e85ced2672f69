//! `netanvil run`: tests a device.

use crate::args::Run;
use crate::failure::{Exit, Outcome};
use crate::options::{self, Options};
use crate::output;

pub fn run(arguments: &Run) -> Outcome {
    let options = effective(arguments)?;
    if arguments.print_config {
        output::print(&options.to_toml())?;
        return Ok(Exit::Done);
    }
    Ok(Exit::Done)
}

/// Flags over the file over the defaults.
fn effective(arguments: &Run) -> Outcome<Options> {
    let file = arguments.config.as_deref().map(options::read).transpose()?.unwrap_or_default();
    let options = arguments.options.over(&file);
    options.check()?;
    Ok(options)
}
