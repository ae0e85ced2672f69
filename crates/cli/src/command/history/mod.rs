//! `netanvil history`: figures of many runs in a database: kept, looked at over time, and their changes.

use crate::failure::{Exit, Failure, Outcome};
use crate::{output, rendering};
use clap::{Args, Subcommand, ValueEnum};
use fleet::history::{self, By, Trend};
use fleet::store::{Filter, is_server};
use fleet::{Ingested, Origin, RunRecord, Store};
use std::collections::BTreeSet;
use std::path::PathBuf;

const DAY_S: i64 = 86_400;

#[derive(Args, Debug)]
pub struct History {
    #[command(subcommand)]
    pub command: HistoryCommand,
}

#[derive(Subcommand, Debug)]
pub enum HistoryCommand {
    /// Keep the figures of run folders in a database; runs that are there already stay as they are
    #[command(after_help = "\
Examples:
  netanvil history ingest runs/* --db results.sqlite
  netanvil history ingest runs/* --db postgres://lab@db/results --configuration 'no filters'

If the server is restarted meanwhile, netanvil waits up to a minute for it and goes on.
")]
    Ingest(Ingest),
    /// Print figures over time, and where they changed
    #[command(after_help = "\
Examples:
  netanvil history show --db results.sqlite
  netanvil history show --db results.sqlite --test throughput --size 64 --by kernel
  netanvil history show --db postgres://lab@db/results --device lab --json | jq '.[].changes'
  netanvil history show --db results.sqlite --html trends.html
  netanvil history show --db results.sqlite --fail-on-change
")]
    Show(Show),
    /// Say what the last days brought: changes that began in them, figures that are off what is usual
    #[command(after_help = "\
Examples:
  netanvil history digest --db results.sqlite
  netanvil history digest --db results.sqlite --days 1 --fail-on-change
  netanvil history digest --db results.sqlite --html digest.html
  mail -a 'Content-Type: text/html; charset=utf-8' -s 'forwarding' lab@example.net < digest.html
")]
    Digest(DigestOf),
}

#[derive(Args, Debug)]
pub struct Ingest {
    /// Run folders
    #[arg(required = true)]
    pub run: Vec<PathBuf>,
    /// Database: file of SQLite or URL of PostgreSQL
    #[arg(long, value_name = "FILE|URL")]
    pub db: String,
    /// Name of the device (default: as the run names it)
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Name of its configuration
    #[arg(long, value_name = "NAME", default_value = "")]
    pub configuration: String,
    /// Campaign to which the runs belong
    #[arg(long, value_name = "NAME", requires = "job")]
    pub campaign: Option<String>,
    /// Job of the campaign; with one run folder
    #[arg(long, value_name = "ID", requires = "campaign")]
    pub job: Option<String>,
    /// Repetition of the job
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "job")]
    pub repetition: u32,
    /// Print JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct Show {
    #[command(flatten)]
    pub of: Chosen,
    /// Put values together
    #[arg(long, value_enum, default_value_t = Grouping::Run)]
    pub by: Grouping,
    /// Exit with 1 if a figure changed
    #[arg(long)]
    pub fail_on_change: bool,
    /// Write a page with heat map and trends
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
    /// Print JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Print all columns of tables: without it the text fits the terminal
    #[arg(long)]
    pub wide: bool,
}

#[derive(Args, Debug)]
pub struct DigestOf {
    #[command(flatten)]
    pub of: Chosen,
    /// How many days
    #[arg(long, value_name = "NUMBER", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    pub days: u16,
    /// Up to the end of this day, UTC (default: now)
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    pub until: Option<jiff::civil::Date>,
    /// Exit with 1 if a change began in this time
    #[arg(long)]
    pub fail_on_change: bool,
    /// Write the body of a mail
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
    /// Print JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Print all columns of tables: without it the text fits the terminal
    #[arg(long)]
    pub wide: bool,
}

fn day(text: &str) -> Result<jiff::civil::Date, String> {
    text.parse().map_err(|_| "a day is written like 2026-11-25".to_owned())
}

/// Which figures of which database.
#[derive(Args, Debug)]
pub struct Chosen {
    /// Database: file of SQLite or URL of PostgreSQL
    #[arg(long, value_name = "FILE|URL")]
    pub db: String,
    /// Only of this campaign
    #[arg(long, value_name = "NAME")]
    pub campaign: Option<String>,
    /// Only of this device
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Only of this configuration
    #[arg(long, value_name = "NAME")]
    pub configuration: Option<String>,
    /// Only of this test
    #[arg(long, value_name = "TEST")]
    pub test: Option<String>,
    /// Only of this frame size
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,
    /// Only figures of this name
    #[arg(long, value_name = "NAME")]
    pub figure: Option<String>,
}

/// Words of `--by`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Grouping {
    /// Each run by itself
    Run,
    /// Version of netanvil
    Version,
    /// Kernel of the tester's host
    Kernel,
}

impl From<Grouping> for By {
    fn from(grouping: Grouping) -> By {
        match grouping {
            Grouping::Run => By::Run,
            Grouping::Version => By::Version,
            Grouping::Kernel => By::Kernel,
        }
    }
}

pub fn run(arguments: &History) -> Outcome {
    match &arguments.command {
        HistoryCommand::Ingest(arguments) => ingest(arguments),
        HistoryCommand::Show(arguments) => show(arguments),
        HistoryCommand::Digest(arguments) => digest(arguments),
    }
}

fn ingest(arguments: &Ingest) -> Outcome {
    if arguments.job.is_some() && arguments.run.len() > 1 {
        return Err(Failure::new("--job with several run folders")
            .help("a job has one run: ingest it alone"));
    }
    let origin = Origin {
        job: arguments.campaign.clone().zip(arguments.job.clone()),
        device: arguments.device.clone(),
        configuration: arguments.configuration.clone(),
        repetition: arguments.repetition,
    };
    // Opened for the first run that can be read: nothing is made for folders that are none.
    let mut store = None;
    let (mut new, mut known, mut refused) = (0, 0, vec![]);
    let mut longer = BTreeSet::new();
    for folder in &arguments.run {
        let record = match RunRecord::read(folder, &origin) {
            Ok(record) => record,
            Err(error) => {
                // The others are kept all the same.
                output::say(Failure::new(&error));
                refused.push(folder.display().to_string());
                continue;
            }
        };
        let store = match &mut store {
            Some(store) => store,
            none => none.insert(Store::open(&arguments.db)?),
        };
        match store.ingest(&record)? {
            Ingested::New => {
                new += 1;
                longer.extend(record.figures.into_iter().map(|figure| figure.series));
            }
            Ingested::Known => known += 1,
        }
    }
    // The run of a job is one of many that follow each other.
    if let (None, Some(store)) = (&arguments.job, &mut store) {
        history::look_for_changes(store, &longer)?;
    }
    match arguments.json {
        true => {
            let told = serde_json::json!({ "new": new, "known": known, "refused": refused });
            output::print_json(&told)?;
        }
        false => output::print(&format!("{new} runs ingested, {known} were there already\n"))?,
    }
    match refused.is_empty() {
        true => Ok(Exit::Done),
        false => Err(Failure::new(format!("{} folders were not ingested", refused.len()))
            .help("a run that was cut off is completed with `netanvil run --resume`")),
    }
}

/// The figures that were asked for; none at all is an error.
fn chosen(of: &Chosen) -> Outcome<Vec<Trend>> {
    if !is_server(&of.db) && !std::path::Path::new(&of.db).exists() {
        return Err(Failure::new(format!("no database {}", of.db))
            .help("`netanvil history ingest` and `netanvil campaign run` make one"));
    }
    let mut store = Store::open(&of.db)?;
    let filter = Filter {
        campaign: of.campaign.clone(),
        device: of.device.clone(),
        configuration: of.configuration.clone(),
        test: of.test.clone(),
        size: of.size.clone(),
        figure: of.figure.clone(),
    };
    let trends = history::trends(&mut store, &filter)?;
    if trends.is_empty() {
        return Err(Failure::new("the database has no such figures").help(
            "leave out some of --device, --configuration, --test, --size, --figure and --campaign",
        ));
    }
    Ok(trends)
}

fn show(arguments: &Show) -> Outcome {
    let trends = chosen(&arguments.of)?;
    let by = By::from(arguments.by);
    let page = || history::to_page("Figures over time", &trends, by);
    match (&arguments.html, arguments.json) {
        (Some(file), _) => write_page(file, &report::html::history(&page()))?,
        (None, true) => output::print_json(&told(&trends, by))?,
        (None, false) => print_tables(&report::history::to_tables(&page()), arguments.wide)?,
    }
    let changed = trends.iter().any(|trend| !trend.changes.is_empty());
    Ok(if changed && arguments.fail_on_change { Exit::NotAccepted } else { Exit::Done })
}

fn digest(arguments: &DigestOf) -> Outcome {
    let until = match arguments.until {
        Some(day) => {
            day.to_zoned(jiff::tz::TimeZone::UTC).map(|at| at.timestamp().as_second() + DAY_S)
        }
        None => Ok(jiff::Timestamp::now().as_second()),
    };
    let until = until.map_err(|error| Failure::new(format!("--until: {error}")))?;
    let period = until - i64::from(arguments.days) * DAY_S..until;
    let trends = chosen(&arguments.of)?;
    let title = match arguments.days {
        1 => "What the last day brought".to_owned(),
        days => format!("What the last {days} days brought"),
    };
    let digest = fleet::digest::digest(&title, &trends, &period);
    match (&arguments.html, arguments.json) {
        (Some(file), _) => write_page(file, &report::html::digest(&digest))?,
        (None, true) => output::print_json(&digest)?,
        (None, false) => {
            output::print(&format!("{}\n\n", digest.facts.join("\n")))?;
            print_tables(&report::history::digest_tables(&digest), arguments.wide)?;
        }
    }
    let changed = !digest.changed.is_empty();
    Ok(if changed && arguments.fail_on_change { Exit::NotAccepted } else { Exit::Done })
}

fn print_tables(tables: &[report::tables::Table], wide: bool) -> Outcome<()> {
    let style = rendering::style(wide);
    let text = tables.iter().map(|table| report::terminal::render_table(table, style));
    output::print(&text.collect::<Vec<_>>().join("\n"))
}

fn write_page(file: &PathBuf, page: &str) -> Outcome<()> {
    std::fs::write(file, page)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))?;
    output::print(&format!("{}\n", file.display()))
}

fn told(trends: &[Trend], by: By) -> serde_json::Value {
    let of = |trend: &Trend| {
        let mut told = serde_json::json!(trend);
        if by != By::Run {
            told["groups"] = serde_json::json!(trend.groups(by));
        }
        told
    };
    trends.iter().map(of).collect()
}
