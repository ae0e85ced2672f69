//! The command line.

use crate::subject::Subject;
use std::path::PathBuf;

/// A part of the measurements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Part {
    /// Transmit only.
    Transmit,
    /// Transmit to receive.
    Exchange,
    /// Pacing and latency at given rates.
    Pacing,
    /// The dpdk port and testpmd over memif.
    Memif,
    /// One queue that sends against two.
    Queues,
}

/// Measures netanvil's ports beside trafgen, xdp-trafficgen and testpmd, on this machine, in one
/// run. Needs root. Exit code 0: all targets met; 1: one was missed; 2: something could not be
/// measured.
#[derive(clap::Parser, Debug)]
#[command(name = "netanvil-bench", version)]
pub struct Options {
    /// Something else than the whole suite
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What not to measure; its targets then read "not measured"
    #[arg(long, value_name = "WHAT", value_enum)]
    pub without: Vec<Subject>,
    /// What to measure of each
    #[arg(long, value_name = "PARTS", value_enum, value_delimiter = ',',
          default_values_t = [Part::Transmit, Part::Exchange, Part::Pacing, Part::Memif, Part::Queues])]
    pub parts: Vec<Part>,
    /// How often everything is measured; medians are printed
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Where the results go as JSON
    #[arg(long, default_value = "target/bench.json")]
    pub json: PathBuf,
    /// Where the results go as Markdown
    #[arg(long, default_value = "benches/RESULTS.md")]
    pub markdown: PathBuf,
}

/// What else can be measured.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    /// How far repeated measurements of one router's throughput lie apart: netanvil, testpmd, trafgen.
    /// Exit code 1: netanvil's lie further apart than 5 %
    Stability(crate::stability::Stability),
}

impl Options {
    /// Whether this is to be measured.
    pub fn wants(&self, subject: Subject) -> bool {
        !self.without.contains(&subject)
    }
    /// Whether this part is to be measured.
    pub fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }
}
