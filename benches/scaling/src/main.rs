//! `make bench-scaling`: the processor time of a frame and the memory of a trial as ports go from 2 to
//! 64, flows from 1 to a million, and groups from 1 to 65,536; in virtual time and on real ports.
//!
//! Each point is measured by a process of its own, so that the most memory it ever had is the point's.
//! An edge by nature: it runs processes and opens ports.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "measures real time")]

mod meter;
mod point;
mod report;
mod streams;
mod virtual_time;
mod wire_bed;

use clap::{Parser, Subcommand};
use point::{Bed, Point, Reading};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Measures cost and memory as ports, flows and groups become many; as root
#[derive(Parser, Debug)]
struct Options {
    /// Times that all points take turns; medians are reported
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Only these beds
    #[arg(long, value_enum)]
    only: Vec<Bed>,
    /// Folder for SCALING.md and the plots
    #[arg(long, default_value = "benches")]
    out: PathBuf,
    #[command(subcommand)]
    command: Option<Step>,
}

#[derive(Subcommand, Debug)]
enum Step {
    /// Measures one point and prints it
    #[command(hide = true)]
    Point {
        /// The point
        point: String,
    },
}

/// What goes wrong, in words.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match &options.command {
        Some(Step::Point { point }) => measure_here(point).map(|()| true),
        None => measure_all(&options),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => {
            eprintln!("netanvil-scaling-bench: {failure}");
            ExitCode::from(2)
        }
    }
}

fn measure_here(point: &str) -> Result<(), Failure> {
    let point: Point = serde_json::from_str(point)?;
    println!("{}", serde_json::to_string(&point.measure()?)?);
    Ok(())
}

fn measure_all(options: &Options) -> Result<bool, Failure> {
    let wanted = |point: &Point| options.only.is_empty() || options.only.contains(&point.bed);
    let mut readings: Vec<(Point, Vec<Reading>)> =
        Point::all().into_iter().filter(wanted).map(|point| (point, vec![])).collect();
    for round in 1..=options.rounds {
        for (point, of_point) in &mut readings {
            eprintln!("round {round} of {}: {point}", options.rounds);
            of_point.push(measure_apart(point)?);
        }
    }
    report::write(&options.out, &readings)
}

/// In a process of its own.
fn measure_apart(point: &Point) -> Result<Reading, Failure> {
    let program = std::env::current_exe().unwrap_or_else(|_| Path::new("/proc/self/exe").into());
    let output = Command::new(program).arg("point").arg(serde_json::to_string(point)?).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{point}: {}", said.trim()).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
