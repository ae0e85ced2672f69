//! `netanvil fit`: a simulated device that behaves like the one that was measured.

use crate::failure::{Exit, Failure, Outcome};
use crate::output;
use clap::{Args, ValueEnum};
use report::{Report, run_folder};
use std::path::{Path, PathBuf};
use twin::{Cell, Compared, FitError, Foretold, Kind, Measured, Parameter, Twin};

#[derive(Args, Debug)]
pub struct Fit {
    /// Run folders of one device; with other filters, too
    #[arg(required = true)]
    pub run: Vec<PathBuf>,
    /// Write the device to this file, for `--sim`
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Foretell these and do not fit to them: frame sizes, tests, filters (`512,loss,rules=10`)
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',')]
    pub hold_out: Vec<Held>,
    /// Filter rules of the device written (default: as in the first run)
    #[arg(long, value_name = "NUMBER")]
    pub rules: Option<u32>,
    /// What the device does with frames (default: as the first run says)
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub kind: Option<Forwards>,
    /// Print JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// What a device does with frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Forwards {
    /// Routes packets
    Router,
    /// Bridges frames
    Bridge,
}

/// What is not fitted to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Held {
    Size(u32),
    Rules(u32),
    Test(String),
}

impl std::str::FromStr for Held {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(bytes) = text.parse() {
            return Ok(Held::Size(bytes));
        }
        if let Some(rules) = text.strip_prefix("rules=") {
            let rules = rules.parse().map_err(|_| format!("`{rules}` is no whole number"))?;
            return Ok(Held::Rules(rules));
        }
        match twin::TESTS.contains(&text) {
            true => Ok(Held::Test(text.into())),
            false => Err(format!(
                "`{text}` is neither a frame size, nor rules=NUMBER, nor one of the tests throughput, latency, \
                 loss, back-to-back"
            )),
        }
    }
}

impl Held {
    fn holds(&self, cell: &Cell) -> bool {
        match self {
            Held::Size(bytes) => cell.at.size_bytes == *bytes,
            Held::Rules(rules) => cell.at.rules == *rules,
            Held::Test(test) => cell.kind.test() == test,
        }
    }
}

pub fn run(arguments: &Fit) -> Outcome {
    let mut measured = Measured::default();
    let mut devices: Vec<String> = vec![];
    for folder in &arguments.run {
        devices.push(take(folder, &mut measured)?);
    }
    for held in &arguments.hold_out {
        if !measured.cells.iter().any(|cell| held.holds(cell)) {
            return Err(Failure::new(format!("--hold-out {held:?}: nothing of it was measured"))
                .help("`netanvil fit RUN --json` lists what was"));
        }
    }
    let is_held_out = |cell: &Cell| arguments.hold_out.iter().any(|held| held.holds(cell));
    let twin = Twin::fit(&measured, &is_held_out).map_err(explained)?;
    let kind = arguments.kind.unwrap_or_else(|| forwards(&devices[0]));
    let rules = arguments.rules.or(measured.cells.first().map(|cell| cell.at.rules)).unwrap_or(0);
    let text = twin.toml(rules, kind == Forwards::Bridge, &about(arguments, &devices[0], &twin));
    if let Some(file) = &arguments.out {
        std::fs::write(file, &text)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))?;
    }
    match arguments.json {
        true => output::print_json(&told(&twin, &text))?,
        false => output::print(&in_words(arguments, &devices[0], &twin, &text))?,
    }
    Ok(Exit::Done)
}

/// Reads a run; what its device is called.
fn take(folder: &Path, measured: &mut Measured) -> Outcome<String> {
    run_folder::refuse_comparison(folder).map_err(Failure::new)?;
    let (events, notices) = run_folder::read_events(folder).map_err(Failure::new)?;
    let report = Report::from_events(&events, notices);
    report.results.iter().for_each(|outcome| measured.take(outcome));
    Ok(report.device().to_owned())
}

fn explained(error: FitError) -> Failure {
    let help = match error {
        FitError::NoThroughput => {
            "run the test `throughput` with several sizes, in one direction (without --bidirectional)"
        }
        FitError::NoMechanism => {
            "measure more frame sizes, and look for invalid trials in the report"
        }
    };
    Failure::new(error).help(help)
}

/// By the words with which runs name their devices.
fn forwards(device: &str) -> Forwards {
    let is_bridge =
        ["bridge", "switch", "vSwitch", "testpmd"].iter().any(|word| device.contains(word));
    if is_bridge { Forwards::Bridge } else { Forwards::Router }
}

/// Comments at the head of the file.
fn about(arguments: &Fit, device: &str, twin: &Twin) -> Vec<String> {
    let runs: Vec<String> = arguments.run.iter().map(|run| run.display().to_string()).collect();
    let mut lines = vec![
        format!("Twin of: {device}"),
        format!("Fitted by netanvil {} to {}", env!("CARGO_PKG_VERSION"), runs.join(", ")),
    ];
    lines.extend(foretold(twin));
    lines.extend(twin.foretold_by_test().iter().map(of_test));
    lines.extend(twin.unexplained().into_iter().map(unexplained));
    lines
}

fn foretold(twin: &Twin) -> Option<String> {
    let (median, largest) = twin.foretold_errors()?;
    Some(format!(
        "Foretold without fitting to it: median error {:.1} %, largest {:.1} %",
        median * 100.0,
        largest * 100.0
    ))
}

/// One test's errors, beside what the device itself differs by.
fn of_test(foretold: &Foretold) -> String {
    let Foretold { test, figures, median, largest, repeats_within } = foretold;
    let again = match repeats_within {
        Some(share) => format!(", repetitions within ±{:.1} %", share * 100.0),
        None => String::new(),
    };
    format!(
        "  {test}: {figures} figures, median error {:.1} %, largest {:.1} %{again}",
        median * 100.0,
        largest * 100.0
    )
}

fn unexplained(compared: &Compared) -> String {
    let cell = &compared.measured;
    let rules =
        if cell.at.rules > 0 { format!(", {} rules", cell.at.rules) } else { String::new() };
    let place = format!("{} at {} bytes{rules}", cell.kind.in_words(), cell.at.size_bytes);
    match compared.error() {
        Some(error) => format!(
            "No mechanism explains this: {place}: measured {:.0} {}, the twin has {:+.1} %",
            cell.value,
            cell.kind.unit(),
            error * 100.0
        ),
        None => format!("No mechanism for this: {place}: measured {:.0}", cell.value),
    }
}

fn told(twin: &Twin, text: &str) -> serde_json::Value {
    let foretold = twin.foretold_errors();
    let unexplained: Vec<String> = twin.unexplained().into_iter().map(unexplained).collect();
    serde_json::json!({
        "parameters": twin.parameters,
        "compared": twin.compared,
        "foretold_error_median": foretold.map(|errors| errors.0),
        "foretold_error_max": foretold.map(|errors| errors.1),
        "foretold_by_test": twin.foretold_by_test(),
        "unexplained": unexplained,
        "left_out": twin.left_out,
        "device": text,
    })
}

fn in_words(arguments: &Fit, device: &str, twin: &Twin, text: &str) -> String {
    let mut lines = vec![format!("Twin of: {device}"), String::new()];
    lines.push(format!(
        "{:<20} {:>14}  {}",
        "mechanism", "value", "with each size left out in turn"
    ));
    lines.extend(twin.parameters.iter().map(mechanism));
    if twin.parameters.is_empty() {
        lines.push("none: the device was never the limit".into());
    }
    lines.push(String::new());
    lines.push(format!(
        "{:>5} {:>5}  {:<22} {:>12} {:>8} {:>9}",
        "bytes", "rules", "figure", "measured", "twin", "foretold"
    ));
    lines.extend(twin.compared.iter().map(comparison));
    lines.push(String::new());
    lines.extend(foretold(twin));
    lines.extend(twin.foretold_by_test().iter().map(of_test));
    lines.extend(twin.unexplained().into_iter().map(unexplained));
    lines.extend(twin.left_out.iter().map(|what| format!("Left out: {what}")));
    match &arguments.out {
        Some(file) => lines.push(format!("Written: {}", file.display())),
        None => {
            lines.push(String::new());
            lines.extend(text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned));
        }
    }
    lines.join("\n") + "\n"
}

fn mechanism(parameter: &Parameter) -> String {
    let value = format!("{:.1} {}", parameter.value, parameter.unit);
    let range = match parameter.range {
        Some((least, most)) => format!("{least:.1} .. {most:.1}"),
        None => "-".into(),
    };
    format!("{:<20} {value:>14}  {range}", parameter.name)
}

fn comparison(compared: &Compared) -> String {
    let cell = &compared.measured;
    let percent = |error: Option<f64>| match (error, cell.kind) {
        (Some(error), Kind::ThroughputAtLeast) if error > -0.0005 => "or more".into(),
        (Some(error), _) => format!("{:+.1} %", error * 100.0),
        (None, _) => "-".to_owned(),
    };
    let held = if compared.is_fitted { "" } else { "  held out" };
    format!(
        "{:>5} {:>5}  {:<22} {:>12.0} {:>8} {:>9}{held}",
        cell.at.size_bytes,
        cell.at.rules,
        format!("{}, {}", cell.kind.in_words(), cell.kind.unit()),
        cell.value,
        percent(compared.error()),
        percent(compared.foretold_error())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_out_is_a_size_a_filter_or_a_test() {
        assert_eq!("512".parse(), Ok(Held::Size(512)));
        assert_eq!("rules=10".parse(), Ok(Held::Rules(10)));
        assert_eq!("loss".parse(), Ok(Held::Test("loss".into())));
        assert!("losses".parse::<Held>().unwrap_err().contains("back-to-back"));
        assert!("rules=x".parse::<Held>().is_err());
    }

    #[test]
    fn the_words_of_a_run_say_whether_it_bridges() {
        assert_eq!(forwards("simulated device bridge"), Forwards::Bridge);
        assert_eq!(
            forwards("Open vSwitch 3.1.0 (DPDK 22.11.11) over vhost-user"),
            Forwards::Bridge
        );
        assert_eq!(forwards("linux-router: Linux 6.18"), Forwards::Router);
    }
}
