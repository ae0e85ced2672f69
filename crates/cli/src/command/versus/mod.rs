//! `netanvil versus`: compares two configurations of a device in alternating trials of one run.

mod sides;

use crate::failure::{Exit, Failure, Outcome};
use crate::options::{Options, Share, Span};
use crate::{host, interrupt, output};
use clap::Args;
use method::versus::{
    Criterion, Met, VERSUS_FORMAT, Versus as Method, VersusConfig, VersusEvent, VersusResult,
    VersusStarted,
};
use method::{Modifier, SuiteConfig, Topology, Traffic};
use report::run_folder::{self, RunFolder};
use report::versus::{VersusReport, terminal};
use sides::Sides;
use std::path::{Path, PathBuf};
use units::{Duration, FrameRate};

#[derive(Args, Debug)]
pub struct Versus {
    /// Options of `run`, for both sides
    #[command(flatten)]
    pub options: Options,
    /// Read options from a TOML file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Options of A only: options of `run`, and `sysctl:KEY=VALUE` in the device's namespace
    #[arg(
        long,
        value_name = "OPTIONS",
        default_value = "",
        allow_hyphen_values = true,
        help_heading = "Sides"
    )]
    pub a: String,
    /// Options of B only: as for A
    #[arg(
        long,
        value_name = "OPTIONS",
        default_value = "",
        allow_hyphen_values = true,
        help_heading = "Sides"
    )]
    pub b: String,
    /// Simulated device of A
    #[arg(long, value_name = "NAME|FILE", requires = "b_sim", conflicts_with_all = ["sim", "device", "ports"], help_heading = "Sides")]
    pub a_sim: Option<String>,
    /// Simulated device of B
    #[arg(long, value_name = "NAME|FILE", requires = "a_sim", help_heading = "Sides")]
    pub b_sim: Option<String>,
    /// Command that switches the device to A. It runs in the namespace of a device built here, otherwise on
    /// this host. May be repeated
    #[arg(long, value_name = "COMMAND", help_heading = "Sides")]
    pub a_do: Vec<String>,
    /// Command that switches the device to B. May be repeated
    #[arg(long, value_name = "COMMAND", help_heading = "Sides")]
    pub b_do: Vec<String>,
    /// Exit with 1 if the ratio B/A meets this criterion, such as 'rate < 0.97'; also latency_p50,
    /// latency_p99 and cost. The run measures only the metrics of the criteria, and ends when all are decided.
    /// May be repeated
    #[arg(long, value_name = "CRITERION")]
    pub fail_if: Vec<Criterion>,
    /// Without criteria: end the run when the interval of the rate is within +- this share
    #[arg(long, value_name = "SHARE", default_value = "1%")]
    pub precision: Share,
    /// Minimum probability that an interval contains the true ratio
    #[arg(long, value_name = "SHARE", default_value = "95%")]
    pub confidence: Share,
    /// Time limit of the run
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub time: Span,
    /// Duration of a trial
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    pub trial: Span,
    /// Answer yes to every question
    #[arg(long)]
    pub yes: bool,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Do not print progress on standard error
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}

pub fn run(arguments: &Versus) -> Outcome {
    let config = configuration(arguments)?;
    let plans = sides::Plans::of(arguments)?;
    plans.acquire_rights()?;
    let stop = interrupt::watch()?;
    let mut sides = Sides::prepare(plans, arguments.yes, &stop)?;
    let compared = compare(arguments, &config, &mut sides);
    sides.tear_down()?;
    let folder = compared?;
    conclude(arguments, &folder)
}

/// Measures; returns the run folder, even if the comparison did not finish.
fn compare(arguments: &Versus, config: &VersusConfig, sides: &mut Sides) -> Outcome<PathBuf> {
    let [a, b] =
        [0, 1].map(|side| traffic(sides.suite(side), sides.topology(side), sides.filters(side)));
    let (a, b) = (a?, b?);
    let config = VersusConfig {
        waits: sides.waits(),
        seed: sides.suite(0).seed,
        run_key: sides.run_key()?,
        ..config.clone()
    };
    let ceiling = ceiling(sides, [&a, &b])?;
    // Before the folder is created: a command or a sysctl that fails leaves none.
    sides.begin()?;
    let method = Method { config: &config, traffic: [&a, &b], ceiling };
    method.check(sides).map_err(|error| Failure::new(error.to_string()))?;
    let mut folder = make_folder(sides)?;
    let started = VersusStarted {
        format: VERSUS_FORMAT,
        program: concat!("netanvil ", env!("CARGO_PKG_VERSION")).into(),
        names: sides.names().map(str::to_owned),
        devices: sides.devices(),
        is_shared: sides.is_shared(),
        frame_size: a.frame_size(),
        traffic: a.describe(),
        ceiling,
        config: config.clone(),
        environment: sides.environment(),
    };
    let mut save = |event: &VersusEvent| {
        if let (false, VersusEvent::VersusLook(look)) = (arguments.quiet, event) {
            output::say(terminal::progress(look.blocks, &look.ratios));
        }
        folder.emit_versus(event)
    };
    save(&VersusEvent::VersusStarted(Box::new(started))).map_err(Failure::new)?;
    let last = match method.run(sides, &mut save) {
        Ok(result) => VersusEvent::VersusFinished(Box::new(result)),
        Err(error) => VersusEvent::VersusStopped(error.to_string()),
    };
    save(&last).map_err(Failure::new)?;
    Ok(folder.path().to_owned())
}

/// Creates the run folder.
fn make_folder(sides: &Sides) -> Outcome<RunFolder> {
    match sides.out() {
        Some(path) => Ok(RunFolder::create_at(path)?),
        None => {
            let name = format!("versus-{}", sides.short_name()?);
            Ok(RunFolder::create(Path::new("runs"), &name, host::now_unix_s())?)
        }
    }
}

/// Renders a comparison, and judges it.
fn conclude(arguments: &Versus, folder: &Path) -> Outcome {
    let report = show(folder, arguments.json)?;
    if !arguments.quiet {
        output::say(format!("report: {}", folder.join(run_folder::REPORT_HTML).display()));
    }
    match (&report.result, &report.stopped_by) {
        (Some(result), _) => Ok(exit(result)),
        (None, why) => Err(Failure::new(why.as_deref().unwrap_or("the comparison was cut off"))
            .help("a comparison cannot be resumed; start it again")),
    }
}

/// Writes a comparison's files, and prints it.
pub fn show(folder: &Path, is_json: bool) -> Outcome<VersusReport> {
    let report = VersusReport::read(folder)?;
    report.save(folder)?;
    match is_json {
        true => output::print(&report.json())?,
        false => output::print(&terminal::render(&report))?,
    }
    Ok(report)
}

fn configuration(arguments: &Versus) -> Outcome<VersusConfig> {
    let (confidence, precision) = (arguments.confidence.0, arguments.precision.0);
    let refuse = |is_wrong: bool, why: &str| match is_wrong {
        true => Err(Failure::new(why)),
        false => Ok(()),
    };
    refuse(
        !(0.5..0.999).contains(&confidence),
        "--confidence must be at least 50% and below 99.9%",
    )?;
    refuse(!(precision > 0.0 && precision < 1.0), "--precision must be above 0 and below 100%")?;
    let trial = arguments.trial.0;
    refuse(trial < Duration::from_ms(20), "--trial must be at least 20ms")?;
    refuse(arguments.time.0 < trial * 48, "--time is too short for eight blocks of six trials")?;
    Ok(VersusConfig {
        confidence,
        precision,
        most_time: arguments.time.0,
        trial,
        waits: trial::Waits::fixed(Duration::ZERO, Duration::ZERO),
        seed: 0,
        run_key: None,
        criteria: arguments.fail_if.clone(),
    })
}

fn traffic(suite: &SuiteConfig, topology: &Topology, filters: &str) -> Outcome<Traffic> {
    let mut suite = suite.clone();
    suite.traffic.filters = filters.to_owned();
    let [size] = &suite.frame_sizes[..] else {
        return Err(Failure::new("versus compares at one frame size only")
            .help("write --sizes 64, and run versus once for each size"));
    };
    Traffic::new(&suite, topology, size, Modifier::None).map_err(Failure::new)
}

/// Maximum rate of the slowest port's medium.
fn ceiling(sides: &mut Sides, traffic: [&Traffic; 2]) -> Outcome<FrameRate> {
    let of = |side: usize| {
        let ports = &sides.describe(side).ports;
        let slowest = ports.iter().map(|port| port.line_rate).min();
        slowest.map(|line| traffic[side].theoretical_max(line))
    };
    let [a, b] = [of(0), of(1)];
    a.min(b).ok_or_else(|| Failure::new("the tester has no ports"))
}

/// Exit code by the criteria; without criteria, by whether a ratio was measured.
fn exit(result: &VersusResult) -> Exit {
    let is_any = |wanted| result.criteria.iter().any(|judged| judged.met == wanted);
    let has_found = result.ratios.iter().any(|ratio| ratio.range().is_some());
    let is_vague = if result.criteria.is_empty() { !has_found } else { is_any(Met::Undecided) };
    match (is_any(Met::Failed), is_vague) {
        (true, _) => Exit::NotAccepted,
        (_, true) => Exit::Invalid,
        _ => Exit::Done,
    }
}
