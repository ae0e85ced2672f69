//! `netanvil completions`: for bash, zsh, fish, elvish and PowerShell.

use crate::args::{Arguments, Completions};
use crate::failure::{Exit, Outcome};
use crate::output;
use clap::CommandFactory;

pub fn run(arguments: &Completions) -> Outcome {
    let mut text = vec![];
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "netanvil", &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}
