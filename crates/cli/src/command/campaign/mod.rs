//! `netanvil campaign`: many runs, described in one file.

mod bisect;
mod jobs;
mod local;
mod sweep;

use crate::failure::{Failure, Outcome};
use crate::options::{self, Options};
use crate::plan::RunPlan;
use clap::{Args, Subcommand};
use fleet::{Description, DescriptionError, Job};
use std::collections::BTreeSet;
use std::path::Path;

#[derive(Args, Debug)]
pub struct Campaign {
    #[command(subcommand)]
    pub command: CampaignCommand,
}

#[derive(Subcommand, Debug)]
pub enum CampaignCommand {
    /// Run what is left of a campaign, and keep its figures in a database
    #[command(after_help = "\
Examples:
  netanvil campaign run --local nightly.toml
  netanvil campaign run --local nightly.toml --out /srv/nightly --db postgres://lab@db/results
  netanvil campaign run --local nightly.toml --resource dut-x=1 --resource xdp-port=2

A campaign that was stopped or killed goes on where it was. Jobs of simulated devices run at the same time,
one per processor; jobs on real ports run one at a time, unless they say how many `cores` they need.
Exit code 1 if a criterion of `accept` failed. Exit code 2 if a job failed. Exit code 3 if a job has no result.
")]
    Run(local::LocalRun),
    /// Print the jobs of a campaign, with their identities
    #[command(after_help = "\
Examples:
  netanvil campaign jobs nightly.toml
  netanvil campaign jobs nightly.toml --json | jq -r '.[].id'
")]
    Jobs(jobs::Jobs),
    /// Find the first of a list of configurations in which a device is worse
    #[command(after_help = "\
Examples:
  netanvil campaign bisect kernels.toml --fail-if 'rate < 0.97'
  netanvil campaign bisect rules.toml --device lab --sizes 64 --fail-if 'latency_p50 > 1.1' --time 60s

The configurations of the description are compared with the first one, in the order in which they stand there.
`netanvil versus` judges. Exit code 1 if a change was found, 3 if `versus` could not decide.
")]
    Bisect(bisect::Bisect),
    /// Test thousands of simulated devices, each drawn at random
    #[command(after_help = "\
Examples:
  netanvil campaign sweep routers.toml
  netanvil campaign sweep routers.toml --threads 1 --out results.jsonl
  jq -r 'select(.device) | [.device, .figures[0].value] | @csv' routers.jsonl

The results are the same however many threads there are. A sweep that was stopped or killed goes on where it was.
docs/fleet.md describes the file.
")]
    Sweep(sweep::SweepRun),
}

pub fn run(arguments: &Campaign) -> Outcome {
    match &arguments.command {
        CampaignCommand::Run(arguments) => local::run(arguments),
        CampaignCommand::Jobs(arguments) => jobs::run(arguments),
        CampaignCommand::Bisect(arguments) => bisect::run(arguments),
        CampaignCommand::Sweep(arguments) => sweep::run(arguments),
    }
}

impl From<DescriptionError> for Failure {
    fn from(error: DescriptionError) -> Self {
        let help = match &error {
            DescriptionError::Impossible { help, .. } => help.clone(),
            _ => return Failure::new(error),
        };
        Failure::new(error).help(help)
    }
}

/// The jobs of a campaign, each of which can be run: what a run would refuse is refused before any is begun.
fn jobs_of(description: &Description, file: &Path) -> Outcome<Vec<Job>> {
    if let Some(switched) = description.configuration.iter().find(|it| !it.switch.is_empty()) {
        return Err(Failure::new(format!(
            "the configuration {} has commands to switch to it",
            switched.name
        ))
        .help(
            "only `netanvil campaign bisect` runs them; give the configuration options instead",
        ));
    }
    let jobs = description.jobs()?;
    let mut checked = BTreeSet::new();
    for job in &jobs {
        let config = job.config();
        // Repetitions differ in their seed alone.
        let key = (&job.device, &job.configuration, &job.test, &job.size);
        if !checked.insert(key) {
            continue;
        }
        check(description, &config).map_err(|failure| {
            failure.help(format!("in {}, {}", file.display(), job.in_words()))
        })?;
    }
    Ok(jobs)
}

fn check(description: &Description, config: &str) -> Outcome<()> {
    let mut options = options::parse_options(config, "the options of a job")?;
    // Files are named from where the description is.
    if let Some(sim) = &mut options.sim {
        let beside = description.base.join(sim.as_str());
        if beside.is_file() {
            *sim = beside.to_string_lossy().into_owned();
        }
        crate::simulated::read(sim)?;
    }
    let plan = RunPlan::of_run(&options, None, None)?;
    match plan.subject {
        Some(_) => Ok(()),
        None => Err(Failure::new("no device")
            .help("give each device one of the options sim, device and ports")),
    }
}

/// The value of `NAME=N`.
fn resource(text: &str) -> Result<(String, u32), String> {
    let (name, count) = text.split_once('=').unwrap_or((text, "1"));
    let count = count.parse().map_err(|_| format!("{count:?} is no whole number"))?;
    Ok((name.to_owned(), count))
}

/// Options of a configuration as `--a` and `--b` of `versus` take them.
fn flags(options: &Options) -> Outcome<String> {
    let mut words = vec![];
    for (key, value) in options.as_table() {
        let value = match value {
            toml::Value::String(text) => text,
            toml::Value::Array(values) => {
                let texts = values
                    .iter()
                    .map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned));
                texts.collect::<Vec<_>>().join(",")
            }
            toml::Value::Table(_) => {
                return Err(Failure::new(format!(
                    "the section `{key}` cannot differ between configurations"
                ))
                .help("write it among the options of the device"));
            }
            value => value.to_string(),
        };
        if value.contains(char::is_whitespace) {
            return Err(Failure::new(format!("`{key}` has a blank in its value: {value}"))
                .help("versus takes values without blanks"));
        }
        words.push(format!("--{key}={value}"));
    }
    Ok(words.join(" "))
}
