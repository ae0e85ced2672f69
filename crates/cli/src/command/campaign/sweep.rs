//! `netanvil campaign sweep`: thousands of simulated devices, drawn at random.

use crate::failure::{Exit, Failure, Outcome};
use crate::options::{self, Options};
use crate::plan::RunPlan;
use crate::supervised::Supervised;
use crate::{interrupt, output, parallel, simulated, topology};
use clap::Args;
use fleet::Sweep;
use method::{Event, EventSink, Forwarding, SinkError, Suite, SuiteConfig};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Devices that are run before their lines are written, for each thread.
const AT_A_TIME: u64 = 64;

#[derive(Args, Debug)]
pub struct SweepRun {
    /// Description of the sweep
    pub description: PathBuf,
    /// File of results, a line of JSON a device (default: NAME.jsonl)
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Devices at the same time (default: one per processor)
    #[arg(long, value_name = "NUMBER")]
    pub threads: Option<usize>,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Do not print progress on standard error
    #[arg(long)]
    pub quiet: bool,
}

/// First line of a file of results.
#[derive(Serialize, Deserialize, PartialEq)]
struct Head {
    sweep: String,
    program: String,
    /// Of the description.
    digest: String,
}

/// A device's line.
#[derive(Serialize, Deserialize)]
struct Line {
    device: u64,
    drawn: BTreeMap<String, toml::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    figures: Vec<Figure>,
}

#[derive(Serialize, Deserialize)]
struct Figure {
    test: String,
    size: String,
    name: String,
    unit: String,
    value: Option<f64>,
    relation: method::outcome::Relation,
}

/// How the values of one figure are spread over the devices.
#[derive(Serialize)]
struct Spread {
    test: String,
    size: String,
    name: String,
    unit: String,
    devices: usize,
    min: f64,
    p5: f64,
    median: f64,
    p95: f64,
    max: f64,
}

pub fn run(arguments: &SweepRun) -> Outcome {
    let sweep = Sweep::read(&arguments.description)?;
    let plan = plan(&sweep)?;
    // What no device could be is refused before any is run.
    device(&sweep, 0)?;
    let file = arguments.out.clone().unwrap_or_else(|| format!("{}.jsonl", sweep.name).into());
    let mut results = Results::open(&file, &head(&sweep))?;
    let stop = interrupt::watch()?;
    let usual = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = arguments.threads.unwrap_or(usual).max(1);
    while results.done < sweep.devices && !stop.load(Ordering::SeqCst) {
        let end = sweep.devices.min(results.done + AT_A_TIME * threads as u64);
        let numbers: Vec<u64> = (results.done..end).collect();
        let lines =
            parallel::map_on(threads, &numbers, |number| line(&sweep, &plan, *number, &stop));
        // A device that was interrupted is run again next time, and those after it.
        let whole: Vec<Line> = lines.into_iter().map_while(|line| line).collect();
        results.append(&whole)?;
        if !arguments.quiet {
            output::say_over(format!("{} of {} devices", results.done, sweep.devices));
        }
    }
    results.sync()?;
    tell(arguments, &sweep, &file)
}

fn plan(sweep: &Sweep) -> Outcome<RunPlan> {
    let text = toml::to_string(&sweep.options())
        .map_err(|error| Failure::new(format!("cannot write the options: {error}")))?;
    let given: Options = options::parse_options(&text, "the options of the sweep")?;
    // Which simulated device it is makes no difference to what options do.
    let options = Options { sim: Some("router".into()), ..given };
    RunPlan::of_run(&options, None, None)
}

fn head(sweep: &Sweep) -> Head {
    Head {
        sweep: sweep.name.clone(),
        program: concat!("netanvil ", env!("CARGO_PKG_VERSION")).into(),
        digest: sweep.digest.clone(),
    }
}

fn device(sweep: &Sweep, number: u64) -> Outcome<sim::Description> {
    let name = format!("device {number} of the sweep");
    let text = toml::to_string(&sweep.device(number)?)
        .map_err(|error| Failure::new(format!("{name}: {error}")))?;
    let description: sim::Description = options::parse(&text, &name)?;
    description.check().map_err(|error| simulated::impossible(&name, &error))?;
    Ok(description)
}

/// What the tests of one device come to; `None` if it was interrupted.
fn line(sweep: &Sweep, plan: &RunPlan, number: u64, stop: &Arc<AtomicBool>) -> Option<Line> {
    let mut kept = Kept(vec![]);
    let ended = measure(sweep, plan, number, stop, &mut kept);
    if stop.load(Ordering::SeqCst) {
        return None;
    }
    let error = ended.err().map(|failure| failure.to_string());
    Some(Line { device: number, drawn: sweep.drawn(number), error, figures: kept.figures() })
}

fn measure(
    sweep: &Sweep,
    plan: &RunPlan,
    number: u64,
    stop: &Arc<AtomicBool>,
    kept: &mut Kept,
) -> Outcome<()> {
    let description = device(sweep, number)?;
    let name = format!("device {number}");
    let built = simulated::build(&description, &name, plan.options.line_rate, vec![])?;
    let forwarding = if built.routes { Forwarding::Routed } else { Forwarding::Bridged };
    let suite = Suite {
        program: concat!("netanvil ", env!("CARGO_PKG_VERSION")).into(),
        device: built.name,
        environment: BTreeMap::new(),
        config: SuiteConfig { run_key: None, ..plan.suite.clone() },
        topology: topology::of_simulation(description.ports, forwarding),
        self_test: None,
        more: &[],
    };
    let mut tester = Supervised::new(built.tester, stop.clone(), None);
    suite.run(&mut tester, None, kept).map_err(Failure::new)?;
    Ok(())
}

/// Keeps the results alone.
struct Kept(Vec<method::Outcome>);

impl EventSink for Kept {
    fn emit(&mut self, event: &Event) -> Result<(), SinkError> {
        match event {
            Event::TestFinished(outcome) => self.0.push((**outcome).clone()),
            Event::ConsistencyChecked(found) => found.revise(&mut self.0),
            _ => {}
        }
        Ok(())
    }
}

impl Kept {
    fn figures(&self) -> Vec<Figure> {
        let of_outcome = |outcome: &method::Outcome| {
            let (test, size) = (outcome.test.to_string(), outcome.conditions.frame_size.clone());
            let figure = |figure: &method::Figure| Figure {
                test: test.clone(),
                size: size.clone(),
                name: figure.name.clone(),
                unit: figure.unit.symbol().to_owned(),
                value: figure.value,
                relation: figure.relation,
            };
            outcome.figures.iter().map(figure).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_outcome).collect()
    }
}

/// The file of results: a line a device, in the order of their numbers.
struct Results {
    path: PathBuf,
    file: File,
    done: u64,
}

impl Results {
    /// Goes on with a file of the same sweep. A line that was cut off is removed.
    fn open(path: &Path, head: &Head) -> Outcome<Results> {
        let cannot = |error: std::io::Error| {
            Failure::new(format!("cannot use {}: {error}", path.display()))
                .help("name another file with --out")
        };
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).open(path).map_err(cannot)?;
        let (mut whole, mut lines) = (0, 0_u64);
        let mut reader = BufReader::new(&file);
        let mut line = String::new();
        while reader.read_line(&mut line).map_err(cannot)? > 0 && line.ends_with('\n') {
            if lines == 0 && serde_json::from_str::<Head>(&line).ok().as_ref() != Some(head) {
                return Err(Failure::new(format!("{} is not of this sweep", path.display())).help(
                    "the description or the program has changed: remove the file, or name another with --out",
                ));
            }
            whole += line.len() as u64;
            lines += 1;
            line.clear();
        }
        file.set_len(whole).map_err(cannot)?;
        if lines == 0 {
            let first = serde_json::to_string(head).map_err(Failure::new)?;
            writeln!(file, "{first}").map_err(cannot)?;
        }
        Ok(Results { path: path.to_owned(), file, done: lines.saturating_sub(1) })
    }

    fn append(&mut self, lines: &[Line]) -> Outcome<()> {
        let mut text = String::new();
        for line in lines {
            text += &serde_json::to_string(line).map_err(Failure::new)?;
            text.push('\n');
        }
        self.file.write_all(text.as_bytes()).map_err(|error| self.cannot_write(&error))?;
        self.done += lines.len() as u64;
        Ok(())
    }

    fn sync(&self) -> Outcome<()> {
        self.file.sync_all().map_err(|error| self.cannot_write(&error))
    }

    fn cannot_write(&self, error: &std::io::Error) -> Failure {
        Failure::new(format!("cannot write {}: {error}", self.path.display()))
            .help("make room; the same command goes on")
    }
}

fn tell(arguments: &SweepRun, sweep: &Sweep, file: &Path) -> Outcome {
    let (mut values, mut failed, mut lines) = (BTreeMap::new(), vec![], 0);
    let opened = File::open(file).map_err(Failure::new)?;
    for text in BufReader::new(opened).lines().skip(1) {
        let line: Line =
            serde_json::from_str(&text.map_err(Failure::new)?).map_err(Failure::new)?;
        lines += 1;
        failed.extend(line.error.map(|why| (line.device, why)));
        for figure in line.figures {
            let key = (figure.test, figure.size, figure.name, figure.unit);
            let of_one: &mut Vec<f64> = values.entry(key).or_default();
            of_one.extend(figure.value);
        }
    }
    let spreads: Vec<Spread> = values.into_iter().filter_map(spread).collect();
    let left = sweep.devices - lines;
    match arguments.json {
        true => output::print_json(&serde_json::json!({
            "sweep": sweep.name, "devices": lines, "left": left, "file": file.display().to_string(),
            "failed": failed, "figures": spreads,
        }))?,
        false => output::print(&in_words(&spreads, lines, file))?,
    }
    if left > 0 {
        return Err(Failure::new(format!("stopped: {left} devices are left"))
            .help("the same command goes on"));
    }
    match failed.first() {
        None => Ok(Exit::Done),
        Some((device, why)) => Err(Failure::new(format!(
            "{} devices were not tested; the first is device {device}: {why}",
            failed.len()
        ))
        .help("the results of the others are kept")),
    }
}

type Key = (String, String, String, String);

fn spread(((test, size, name, unit), mut values): (Key, Vec<f64>)) -> Option<Spread> {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values.get(((values.len() - 1) as f64 * share).round() as usize).copied();
    let (min, max) = (*values.first()?, *values.last()?);
    let (p5, median, p95) = (at(0.05)?, at(0.5)?, at(0.95)?);
    Some(Spread { test, size, name, unit, devices: values.len(), min, p5, median, p95, max })
}

fn in_words(spreads: &[Spread], devices: u64, file: &Path) -> String {
    let mut text = String::new();
    for of in spreads {
        text += &format!("{}, {} bytes: {}\n", of.test, of.size, of.name);
        text += &format!(
            "  {} devices: min {:.1}, 5 % {:.1}, median {:.1}, 95 % {:.1}, max {:.1} {}\n",
            of.devices, of.min, of.p5, of.median, of.p95, of.max, of.unit
        );
    }
    text + &format!("{devices} devices: {}\n", file.display())
}
