//! `netanvil campaign bisect`: the first configuration in which a device is worse, with `versus` as the judge.

use crate::failure::{Exit, Failure, Outcome};
use crate::options::{self, Span};
use crate::{interrupt, output};
use clap::Args;
use fleet::bisect::{Found, Verdict, search};
use fleet::{Configuration, Description, Device};
use method::versus::Criterion;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// A comparison that decided nothing is made once more, with so many times the time.
const LONGER: u64 = 4;

#[derive(Args, Debug)]
pub struct Bisect {
    /// Description of the campaign; its tests, sizes and repetitions do not matter here
    pub description: PathBuf,
    /// A configuration is worse if one of these is met, as in `netanvil versus`. May be repeated
    #[arg(long, value_name = "CRITERION", required = true)]
    pub fail_if: Vec<Criterion>,
    /// Device of the description (default: its only one)
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Frame size at which configurations are compared
    #[arg(long, value_name = "SIZE", default_value = "64")]
    pub sizes: String,
    /// Time limit of a comparison. One that decides nothing is made again with four times as much
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub time: Span,
    /// Folder for the comparisons (default: campaigns/NAME-bisect)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// A comparison that was made.
#[derive(Serialize)]
struct Step {
    configuration: String,
    verdict: Verdict,
    folder: PathBuf,
}

#[derive(Serialize)]
struct Told<'a> {
    found: Found,
    good: Option<&'a str>,
    bad: Option<&'a str>,
    steps: &'a [Step],
}

struct Judge<'a> {
    arguments: &'a Bisect,
    description: &'a Description,
    device: &'a Device,
    program: PathBuf,
    out: PathBuf,
    stop: &'a AtomicBool,
    steps: Vec<Step>,
}

pub fn run(arguments: &Bisect) -> Outcome {
    let description = Description::read(&arguments.description)?;
    let device = chosen(&description, arguments.device.as_deref())?;
    let out = arguments.out.clone();
    let out =
        out.unwrap_or_else(|| Path::new("campaigns").join(format!("{}-bisect", description.name)));
    let out = std::path::absolute(&out)
        .map_err(|error| Failure::new(format!("{}: {error}", out.display())))?;
    if out.exists() {
        return Err(Failure::new(format!("{} is there already", out.display()))
            .help("comparisons cannot be gone on with; name another folder with --out"));
    }
    std::fs::create_dir_all(&out)
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", out.display())))?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find this program: {error}")))?;
    let stop = interrupt::watch()?;
    let mut judge = Judge {
        arguments,
        description: &description,
        device,
        program,
        out,
        stop: &stop,
        steps: vec![],
    };
    let found = search(description.configuration.len(), |at| judge.verdict(at))?;
    conclude(arguments.json, &description, found, &judge.steps)
}

fn chosen<'a>(description: &'a Description, name: Option<&str>) -> Outcome<&'a Device> {
    let names: Vec<&str> = description.device.iter().map(|device| &*device.name).collect();
    match (name, &description.device[..]) {
        (None, [only]) => Ok(only),
        (None, _) => Err(Failure::new("the description has several devices")
            .help(format!("choose one: --device {}", names.join(", or --device ")))),
        (Some(name), all) => all.iter().find(|device| device.name == name).ok_or_else(|| {
            Failure::new(format!("no device {name}"))
                .help(format!("there are {}", names.join(", ")))
        }),
    }
}

impl Judge<'_> {
    fn verdict(&mut self, at: usize) -> Outcome<Verdict> {
        let name = self.description.configuration[at].name.clone();
        for (longer, suffix) in [(1, ""), (LONGER, "-longer")] {
            let folder = self.out.join(format!("{:02}-{at}{suffix}", self.steps.len() + 1));
            let code = self.compare(at, &folder, longer)?;
            if self.stop.load(Ordering::SeqCst) {
                return Err(
                    Failure::new("stopped").help("start the search again with another --out")
                );
            }
            let verdict = match code {
                Some(0) => Verdict::Good,
                Some(1) => Verdict::Bad,
                Some(3) => Verdict::Unsure,
                _ => {
                    return Err(Failure::new(format!("versus failed on {name}"))
                        .help("its message stands above"));
                }
            };
            output::say(format!("{name}: {}", in_words(verdict)));
            self.steps.push(Step { configuration: name.clone(), verdict, folder });
            if verdict != Verdict::Unsure {
                return Ok(verdict);
            }
        }
        Ok(Verdict::Unsure)
    }

    /// The first configuration is A, another one is B.
    fn compare(&self, at: usize, folder: &Path, longer: u64) -> Outcome<Option<i32>> {
        let mut command = Command::new(&self.program);
        command.arg("versus").current_dir(&self.description.base);
        let mut common = self.description.options.clone();
        for (key, value) in &self.device.options {
            common.insert(key.clone(), value.clone());
        }
        let sides = [0, at].map(|side| &self.description.configuration[side]);
        let sims = sides.map(|side| side.options.get("sim").or_else(|| common.get("sim")).cloned());
        common.remove("sim");
        let config = self.out.join("common.toml");
        std::fs::write(&config, common.to_string())
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", config.display())))?;
        command.arg("--config").arg(&config).args(["--sizes", &self.arguments.sizes]);
        for (name, side, sim) in [("a", sides[0], &sims[0]), ("b", sides[1], &sims[1])] {
            if let Some(sim) = sim.as_ref().and_then(|sim| sim.as_str()) {
                command.arg(format!("--{name}-sim={sim}"));
            }
            command.arg(format!("--{name}={}", flags_of(side)?));
            side.switch.iter().for_each(|switch| {
                command.arg(format!("--{name}-do={switch}"));
            });
        }
        for criterion in &self.arguments.fail_if {
            command.arg(format!("--fail-if={criterion}"));
        }
        let time_ms = self.arguments.time.0.as_ns() / 1_000_000 * longer;
        command.arg(format!("--time={time_ms}ms")).arg("--out").arg(folder);
        command.args(["--yes", "--quiet"]).stdin(Stdio::null()).stdout(Stdio::null());
        let status = command.status();
        status
            .map(|status| status.code())
            .map_err(|error| Failure::new(format!("cannot start versus: {error}")))
    }
}

fn flags_of(configuration: &Configuration) -> Outcome<String> {
    let mut own = configuration.options.clone();
    own.remove("sim");
    let name = format!("the configuration {}", configuration.name);
    super::flags(&options::parse_options(&own.to_string(), &name)?)
}

fn in_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Good => "as good as the first",
        Verdict::Bad => "worse than the first",
        Verdict::Unsure => "undecided",
    }
}

fn conclude(json: bool, description: &Description, found: Found, steps: &[Step]) -> Outcome {
    let name = |at: usize| &*description.configuration[at].name;
    let (good, bad) = match &found {
        Found::First { good, bad } | Found::Between { good, bad } => {
            (Some(name(*good)), Some(name(*bad)))
        }
        Found::NoDifference | Found::Undecided => (None, None),
    };
    let (words, exit) = match &found {
        Found::First { good, bad } => (
            format!("first bad: {} (the one before, {}, is good)", name(*bad), name(*good)),
            Exit::NotAccepted,
        ),
        Found::Between { good, bad } => (
            format!(
                "after {} and not after {}; versus could not decide those between",
                name(*good),
                name(*bad)
            ),
            Exit::NotAccepted,
        ),
        Found::NoDifference => {
            ("the last configuration is as good as the first".into(), Exit::Done)
        }
        Found::Undecided => {
            ("versus could not tell the last configuration from the first".into(), Exit::Invalid)
        }
    };
    match json {
        true => output::print_json(&Told { found, good, bad, steps })?,
        false => output::print(&format!("{words}\n"))?,
    }
    Ok(exit)
}
