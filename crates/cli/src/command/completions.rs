//! `netanvil completions`: for bash, zsh, fish, elvish and PowerShell.

use crate::args::{self, Completions};
use crate::failure::{Exit, Outcome};
use crate::output;

pub fn run(arguments: &Completions) -> Outcome {
    let mut text = vec![];
    clap_complete::generate(arguments.shell, &mut args::command(), "netanvil", &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}
