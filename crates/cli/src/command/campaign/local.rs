//! `netanvil campaign run --local`: a campaign on this host.

use crate::failure::{Exit, Failure, Outcome};
use crate::{interrupt, output};
use clap::Args;
use fleet::local::{CORES, Ending, Local, LocalError, Progress, Summary};
use fleet::{CampaignFolder, Description, STORE, Store};
use std::io;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub struct LocalRun {
    /// Description of the campaign
    pub description: PathBuf,
    /// Run the jobs on this host
    #[arg(long, required = true)]
    pub local: bool,
    /// Folder of the campaign (default: campaigns/NAME)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Database for the figures: file of SQLite or URL of PostgreSQL (default: results.sqlite in the campaign's
    /// folder)
    #[arg(long, value_name = "FILE|URL")]
    pub db: Option<String>,
    /// Resource of this host, such as a test bed or `cores`. May be repeated (default: all processors as
    /// `cores`)
    #[arg(long, value_name = "NAME=COUNT", value_parser = super::resource)]
    pub resource: Vec<(String, u32)>,
    /// Try jobs again that failed before
    #[arg(long)]
    pub retry_failed: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Do not print progress on standard error
    #[arg(long)]
    pub quiet: bool,
}

impl From<LocalError> for Failure {
    fn from(error: LocalError) -> Self {
        match &error {
            LocalError::Needs { name, count, .. } => {
                let help = format!("if it is here, say so: --resource {name}={count}");
                Failure::new(error).help(help)
            }
            LocalError::Store(_) => Failure::new(error).help(
                "every finished run is kept in the campaign's folder; run the campaign again",
            ),
            LocalError::Io(_) => Failure::new(error),
        }
    }
}

impl From<fleet::StoreError> for Failure {
    fn from(error: fleet::StoreError) -> Self {
        let help = match &error {
            fleet::StoreError::Open { .. } => {
                "write a file, such as results.sqlite, or postgres://USER:PASSWORD@HOST/DATABASE, with \
                 ?sslmode=verify-full across a network"
            }
            fleet::StoreError::Newer { .. } => {
                "use the newer program that changed it, or another database"
            }
            fleet::StoreError::Taken { .. } => {
                "a job is kept once: remove one of the runs, or give the campaign another name"
            }
            fleet::StoreError::Failed(_) => return Failure::new(error),
        };
        Failure::new(error).help(help)
    }
}

pub fn run(arguments: &LocalRun) -> Outcome {
    let description = Description::read(&arguments.description)?;
    let jobs = super::jobs_of(&description, &arguments.description)?;
    let path = arguments.out.clone();
    let path = path.unwrap_or_else(|| Path::new("campaigns").join(&description.name));
    let folder = CampaignFolder::open(&path).map_err(|error| unusable(&path, &error))?;
    let here = folder.path().join(STORE).to_string_lossy().into_owned();
    let mut store = Store::open(arguments.db.as_deref().unwrap_or(&here))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    let mut has = std::collections::BTreeMap::from([(CORES.to_owned(), cores)]);
    has.extend(arguments.resource.iter().cloned());
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find this program: {error}")))?;
    let local = Local {
        program,
        base: description.base.clone(),
        has,
        retry_failed: arguments.retry_failed,
        stop: interrupt::watch()?,
    };
    let mut ended = 0;
    let mut progress = |progress: Progress<'_>| match progress {
        Progress::Ended(job, ending) => {
            ended += 1;
            let words = match ending {
                Ending::Done { .. } => "done".to_owned(),
                Ending::Failed { why } => format!("FAILED: {why}"),
            };
            say(arguments.quiet, format!("{ended}: {}: {words}", job.in_words()));
        }
        Progress::Again(job, why) => {
            say(arguments.quiet, format!("{}: an attempt failed: {why}", job.in_words()));
        }
    };
    let summary = local.run(&jobs, &folder, &mut store, &mut progress)?;
    match arguments.json {
        true => output::print_json(&summary)?,
        false => output::print(&in_words(&summary, folder.path()))?,
    }
    exit(&summary)
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::new(format!("cannot use {}: {error}", path.display()));
    match error.kind() {
        io::ErrorKind::WouldBlock => {
            failure.help("wait for its end, or give this campaign another --out")
        }
        _ => failure.help("give the campaign another folder with --out"),
    }
}

fn say(quiet: bool, line: String) {
    if !quiet {
        output::say(line);
    }
}

fn in_words(summary: &Summary, folder: &Path) -> String {
    let Summary { jobs, done_before, done, not_accepted, invalid, failed, left } = summary;
    let mut text = format!(
        "{jobs} jobs: {done} done, {done_before} done before, {} failed, {left} left\n",
        failed.len()
    );
    if *not_accepted > 0 {
        text += &format!("acceptance criteria failed in {not_accepted} jobs\n");
    }
    if *invalid > 0 {
        text += &format!("no result for a test in {invalid} jobs: the tester was the limit\n");
    }
    failed.iter().for_each(|(id, why)| text += &format!("failed: {id}: {why}\n"));
    text + &format!("campaign: {}\n", folder.display())
}

fn exit(summary: &Summary) -> Outcome {
    if !summary.failed.is_empty() {
        return Err(Failure::new(format!("{} jobs failed", summary.failed.len()))
            .help("jobs/ID/attempt-N/log in the campaign's folder says why; --retry-failed tries them again"));
    }
    if summary.left > 0 {
        return Err(Failure::new(format!("stopped: {} jobs are left", summary.left))
            .help("the same command goes on"));
    }
    Ok(match (summary.not_accepted, summary.invalid) {
        (0, 0) => Exit::Done,
        (0, _) => Exit::Invalid,
        _ => Exit::NotAccepted,
    })
}
