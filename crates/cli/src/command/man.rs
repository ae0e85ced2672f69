//! `netanvil man`: the manual pages, made from the same description as `--help`.

use crate::args::{self, Man};
use crate::failure::{Exit, Failure, Outcome};
use crate::output;
use std::path::Path;

pub fn run(arguments: &Man) -> Outcome {
    match &arguments.dir {
        Some(directory) => write_all(directory)?,
        None => output::print(&page(&args::command())?)?,
    }
    Ok(Exit::Done)
}

fn page(command: &clap::Command) -> Outcome<String> {
    let mut text = vec![];
    clap_mangen::Man::new(command.clone())
        .render(&mut text)
        .map_err(|error| Failure::new(format!("cannot write the manual page: {error}")))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// `netanvil.1`, `netanvil-run.1`, ...
fn write_all(directory: &Path) -> Outcome<()> {
    let cannot = |error| {
        Failure::new(format!("cannot write manual pages to {}: {error}", directory.display()))
    };
    std::fs::create_dir_all(directory).map_err(cannot)?;
    clap_mangen::generate_to(args::command(), directory).map_err(cannot)
}
