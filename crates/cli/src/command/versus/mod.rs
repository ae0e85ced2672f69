//! `netanvil versus`: two configurations of a device in interleaved trials of one run.

mod sides;
mod table;

use crate::failure::{Exit, Failure, Outcome};
use crate::options::{Options, Share, Span};
use crate::{interrupt, output};
use clap::Args;
use method::versus::{Criterion, Met, Metric, Versus as Method, VersusConfig, VersusResult};
use method::{Modifier, SuiteConfig, Topology, Traffic};
use serde::Serialize;
use sides::Sides;
use std::path::PathBuf;
use units::{Duration, FrameRate};

#[derive(Args, Debug)]
pub struct Versus {
    /// Those of `run`, for both sides
    #[command(flatten)]
    pub options: Options,
    /// Read options from a TOML file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What A has besides: options of `run`, and `sysctl:KEY=VALUE` in the device's namespace
    #[arg(
        long,
        value_name = "OPTIONS",
        default_value = "",
        allow_hyphen_values = true,
        help_heading = "Sides"
    )]
    pub a: String,
    /// What B has besides
    #[arg(
        long,
        value_name = "OPTIONS",
        default_value = "",
        allow_hyphen_values = true,
        help_heading = "Sides"
    )]
    pub b: String,
    /// The simulated device of A
    #[arg(long, value_name = "NAME|FILE", requires = "b_sim", conflicts_with_all = ["sim", "device", "ports"], help_heading = "Sides")]
    pub a_sim: Option<String>,
    /// The simulated device of B
    #[arg(long, value_name = "NAME|FILE", requires = "a_sim", help_heading = "Sides")]
    pub b_sim: Option<String>,
    /// A command that switches the device to A; in the namespace of a device built here, else on this
    /// host. May be given more than once
    #[arg(long, value_name = "COMMAND", help_heading = "Sides")]
    pub a_do: Vec<String>,
    /// A command that switches the device to B
    #[arg(long, value_name = "COMMAND", help_heading = "Sides")]
    pub b_do: Vec<String>,
    /// Exit with 1 if the ratio B/A meets this, such as 'rate < 0.97'; also latency_p50, latency_p99
    /// and cost. Only what criteria name is measured, and the run ends when each is decided
    #[arg(long, value_name = "CRITERION")]
    pub fail_if: Vec<Criterion>,
    /// Without criteria the run ends when the interval of the rate is +- this narrow
    #[arg(long, value_name = "SHARE", default_value = "1%")]
    pub precision: Share,
    /// Chance that an interval holds the truth, at least
    #[arg(long, value_name = "SHARE", default_value = "95%")]
    pub confidence: Share,
    /// The run ends after this time at the latest
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub time: Span,
    /// Length of a trial
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    pub trial: Span,
    /// Answer every question with yes
    #[arg(long)]
    pub yes: bool,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// No progress on standard error
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Printed<'a> {
    program: &'static str,
    a: &'a str,
    b: &'a str,
    frame_size: String,
    traffic: String,
    #[serde(flatten)]
    result: &'a VersusResult,
}

pub fn run(arguments: &Versus) -> Outcome {
    let config = configuration(arguments)?;
    let plans = sides::Plans::of(arguments)?;
    plans.acquire_rights()?;
    let stop = interrupt::watch()?;
    let mut sides = Sides::prepare(plans, arguments.yes, &stop)?;
    let compared = compare(arguments, &config, &mut sides);
    sides.tear_down()?;
    compared
}

fn compare(arguments: &Versus, config: &VersusConfig, sides: &mut Sides) -> Outcome {
    let [a, b] =
        [0, 1].map(|side| traffic(sides.suite(side), sides.topology(side), sides.filters(side)));
    let (a, b) = (a?, b?);
    let config = VersusConfig {
        waits: sides.waits(),
        seed: sides.suite(0).seed,
        run_key: Some(crate::host::random_run_key()?),
        ..config.clone()
    };
    let method = Method { config: &config, traffic: [&a, &b], ceiling: ceiling(sides, [&a, &b])? };
    sides.begin()?;
    let result = method.run(sides, |blocks, ratios| {
        if !arguments.quiet {
            output::say(table::progress(blocks, ratios));
        }
    });
    let result = result.map_err(Failure::new)?;
    let [name_a, name_b] = sides.names();
    let (frame_size, described) = (a.frame_size(), a.describe());
    if arguments.json {
        output::print_json(&Printed {
            program: concat!("netanvil ", env!("CARGO_PKG_VERSION")),
            a: name_a,
            b: name_b,
            frame_size,
            traffic: described,
            result: &result,
        })?;
    } else {
        output::print(&table::render(&result, [name_a, name_b], &frame_size, config.trial))?;
    }
    Ok(exit(&result))
}

fn configuration(arguments: &Versus) -> Outcome<VersusConfig> {
    let (confidence, precision) = (arguments.confidence.0, arguments.precision.0);
    let refuse = |is_wrong: bool, why: &str| match is_wrong {
        true => Err(Failure::new(why)),
        false => Ok(()),
    };
    refuse(!(0.5..0.999).contains(&confidence), "--confidence is at least 50% and below 99.9%")?;
    refuse(!(precision > 0.0 && precision < 1.0), "--precision is above 0 and below 100%")?;
    let trial = arguments.trial.0;
    refuse(trial < Duration::from_ms(20), "--trial is at least 20ms")?;
    refuse(arguments.time.0 < trial * 48, "--time holds no eight blocks of six trials")?;
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
        return Err(Failure::new("versus compares at one frame size")
            .help("write --sizes 64, and run it once for each size"));
    };
    Traffic::new(&suite, topology, size, Modifier::None).map_err(Failure::new)
}

/// What the slowest port's medium carries.
fn ceiling(sides: &mut Sides, traffic: [&Traffic; 2]) -> Outcome<FrameRate> {
    let of = |side: usize| {
        let ports = &sides.describe(side).ports;
        let slowest = ports.iter().map(|port| port.line_rate).min();
        slowest.map(|line| traffic[side].theoretical_max(line))
    };
    let [a, b] = [of(0), of(1)];
    a.min(b).ok_or_else(|| Failure::new("the tester has no ports"))
}

/// By the criteria; without one, whether anything was found at all.
fn exit(result: &VersusResult) -> Exit {
    let is_any = |wanted| result.criteria.iter().any(|(_, met)| *met == wanted);
    let found = |metric| result.ratios.iter().any(|r| r.metric == metric && r.interval.is_some());
    let has_found = !result.criteria.is_empty() || found(Metric::Rate) || found(Metric::LatencyP50);
    match (is_any(Met::Failed), is_any(Met::Undecided) || !has_found) {
        (true, _) => Exit::NotAccepted,
        (_, true) => Exit::Invalid,
        _ => Exit::Done,
    }
}
