//! `make bench-netblt`: NETBLT beside TCP, QUIC, UDT and rsync, over a plain veth pair and over a real-time link,
//! in one run. `make netblt-neighbours`: NETBLT and TCP on one link. `make netblt-transfers`: files of a gigabyte over links that lose packets, and ends
//! that are killed.
//!
//! An edge by nature: it runs processes, reads the clock and waits.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod compare;
mod lab;
mod neighbours;
mod quic;
mod rivals;
mod transfers;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Measures NETBLT between two hosts in namespaces; as root
#[derive(Parser, Debug)]
struct Options {
    /// The program
    #[arg(long, default_value = "target/release/netanvil", global = true)]
    netanvil: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Beside TCP (iperf3), QUIC (quinn), UDT and rsync
    Compare {
        /// Times that all take turns; medians are reported
        #[arg(long, default_value_t = 3)]
        rounds: usize,
        /// Bytes of a transfer over the veth pair
        #[arg(long, default_value_t = 2_000_000_000)]
        bytes: u64,
        /// Run only those whose name contains all of these words, such as 'a file' or 'TCP cubic'
        #[arg(long, value_name = "WORDS")]
        only: Option<String>,
        /// Where to leave the report [default: benches/NETBLT.md, and nowhere with --only]
        #[arg(long)]
        markdown: Option<PathBuf>,
    },
    /// Beside the kernel's TCP over one link: who gets which share
    Neighbours {
        /// Rounds of each case; medians are reported
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
        rounds: u16,
        /// Run only cases whose name contains all of these words, such as 'bbr 1:16'
        #[arg(long, value_name = "WORDS")]
        only: Option<String>,
        /// Where to leave the report [default: benches/NEIGHBOURS.md, and nowhere with --only]
        #[arg(long)]
        markdown: Option<PathBuf>,
    },
    /// Files over links that lose packets, and ends that are killed
    Transfers {
        /// Bytes of the file
        #[arg(long, default_value_t = 1_000_000_000)]
        bytes: u64,
    },
    /// One end of a QUIC transfer
    #[command(hide = true)]
    QuicServer { certificate: PathBuf },
    /// The other one
    #[command(hide = true)]
    QuicClient { certificate: PathBuf, address: std::net::SocketAddr, bytes: u64, seconds: f64 },
}

/// What a report is of, and where it is left.
struct Report {
    /// Words in the names of what is measured; all of it without them.
    only: Option<String>,
    markdown: Option<PathBuf>,
    /// Where a whole one stays.
    usual: &'static str,
}

impl Report {
    fn is_of(&self, name: &str) -> bool {
        let words = self.only.as_deref().unwrap_or_default();
        let parts = name.split([' ', ',', '(', ')']);
        words
            .split_whitespace()
            .all(|word| parts.clone().any(|part| part.eq_ignore_ascii_case(word)))
    }
    /// Prints it, and leaves it where it was asked for; a part does not replace the whole.
    fn leave(&self, text: &str) -> std::io::Result<()> {
        println!("{text}");
        match (&self.markdown, &self.only) {
            (Some(path), _) => std::fs::write(path, text),
            (None, None) => std::fs::write(self.usual, text),
            (None, Some(_)) => Ok(()),
        }
    }
}

/// What goes wrong, in words.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let Options { netanvil, command } = Options::parse();
    let outcome = match command {
        Command::Compare { rounds, bytes, only, markdown } => {
            let report = Report { only, markdown, usual: "benches/NETBLT.md" };
            compare::run(&netanvil, rounds, bytes, &report)
        }
        Command::Neighbours { rounds, only, markdown } => {
            let report = Report { only, markdown, usual: "benches/NEIGHBOURS.md" };
            neighbours::run(&netanvil, rounds.into(), &report)
        }
        Command::Transfers { bytes } => transfers::run(&netanvil, bytes),
        Command::QuicServer { certificate } => quic::serve(&certificate).map(|()| true),
        Command::QuicClient { certificate, address, bytes, seconds } => {
            quic::send(&certificate, address, bytes, seconds).map(|()| true)
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => {
            eprintln!("netanvil-netblt-bench: {failure}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_goes_by_its_words() {
        let report = |only: &str| Report { only: Some(only.into()), markdown: None, usual: "" };
        assert!(report("file a").is_of("NETBLT, a file, sealed"));
        assert!(report("1:1").is_of("bbr 1:1") && !report("1:1").is_of("bbr 1:16"));
        assert!(report("tcp Cubic").is_of("TCP cubic (iperf3)"));
        assert!(Report { only: None, ..report("") }.is_of("rsync, a file"));
    }
}
