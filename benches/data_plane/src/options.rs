//! The command line.

use crate::subject::Subject;
use std::path::PathBuf;

/// Measures netanvil's ports beside trafgen, xdp-trafficgen and testpmd, on this machine, in one
/// run. Needs root. Exit code 0: all targets met; 1: one was missed; 2: something could not be
/// measured.
#[derive(clap::Parser, Debug)]
#[command(name = "netanvil-bench", version)]
pub struct Options {
    /// What not to measure; its targets then read "not measured"
    #[arg(long, value_name = "WHAT", value_enum)]
    pub without: Vec<Subject>,
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

impl Options {
    /// Whether this is to be measured.
    pub fn wants(&self, subject: Subject) -> bool {
        !self.without.contains(&subject)
    }
}
