//! `make credit`: what bounded credit costs a tester and spares a device.
//!
//! Frames are sent at rates below what a device carries, which has a queue of known depth and is
//! served 5 % faster than frames are to be sent. So any frame that finds the queue full is the tester's
//! fault: it made up for lateness by a bunch that was too long. The less it makes up for, the less of the
//! intended load it offers. Both are printed for each credit.

mod bench;
mod device;
mod table;

use bench::{Bench, Load};
use clap::Parser;
use ports::PortType;
use ports::scheduling::Priority;
use std::path::PathBuf;
use std::process::ExitCode;

/// Measures what credit costs and spares, on this machine. Needs root.
#[derive(Parser, Debug)]
#[command(name = "netanvil-credit-bench", version)]
pub struct Options {
    /// What carries the frames
    #[arg(long, value_name = "TYPE", default_value = "xdp")]
    pub port_type: PortType,
    /// Credits in microseconds; 0 is one frame, -1 no bound
    #[arg(long, value_name = "US", value_delimiter = ',', allow_hyphen_values = true,
          default_values_t = [0, 10, 30, 100, 300, 1000, -1])]
    pub credits: Vec<i64>,
    /// Frames that a credit has at most; 0 for no bound
    #[arg(long, default_value_t = 0)]
    pub credit_frames: u64,
    /// Rates in frames a second; 0 for 95 % of what the port reaches
    #[arg(long, value_name = "FPS", value_delimiter = ',',
          default_values_t = [10_000, 100_000, 500_000, 0])]
    pub rates: Vec<u64>,
    /// Other work on the machine
    #[arg(long, value_enum, default_value = "idle")]
    pub load: Load,
    /// Leave the machine as it is; otherwise the session goes before all others, as in a run
    #[arg(long)]
    pub normal: bool,
    /// Trials of each
    #[arg(long, default_value_t = 5)]
    pub trials: u32,
    /// Length of a trial in milliseconds
    #[arg(long, default_value_t = 400)]
    pub trial_ms: u64,
    /// Where the results go as JSON
    #[arg(long, default_value = "target/credit.json")]
    pub json: PathBuf,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("netanvil-credit-bench: {error}");
            ExitCode::from(2)
        }
    }
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn run(options: &Options) -> Result<()> {
    let priority = (!options.normal).then(Priority::raise);
    let note = priority.as_ref().map_or("as the kernel has it", |priority| &priority.note);
    println!("{}\n", table::head(options, note)?);
    let points = Bench::open(options)?.measure(options)?;
    println!("{}", table::of(&points));
    std::fs::write(&options.json, serde_json::to_string_pretty(&points)?)?;
    Ok(())
}
