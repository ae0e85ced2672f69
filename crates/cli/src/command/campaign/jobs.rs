//! `netanvil campaign jobs`: what a description comes to.

use crate::failure::{Exit, Outcome};
use crate::output;
use clap::Args;
use fleet::Description;
use serde::Serialize;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct Jobs {
    /// Description of the campaign
    pub description: PathBuf,
    /// Print JSON on standard output: each job with its configuration file
    #[arg(long)]
    pub json: bool,
}

/// A job for other programs: they run it with this configuration file in this folder.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    job: &'a fleet::Job,
    config: String,
    base: String,
}

pub fn run(arguments: &Jobs) -> Outcome {
    let description = Description::read(&arguments.description)?;
    let jobs = super::jobs_of(&description, &arguments.description)?;
    if arguments.json {
        let base = description.base.display().to_string();
        let told = jobs.iter().map(|job| Told { job, config: job.config(), base: base.clone() });
        output::print_json(&told.collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    let lines: String =
        jobs.iter().map(|job| format!("{}  {}\n", job.id, job.in_words())).collect();
    output::print(&lines)?;
    Ok(Exit::Done)
}
