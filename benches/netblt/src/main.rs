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
        /// Where to leave the report
        #[arg(long, default_value = "benches/NETBLT.md")]
        markdown: PathBuf,
    },
    /// Beside the kernel's TCP over one link: who gets which share
    Neighbours {
        /// Rounds of each case; medians are reported
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
        rounds: u16,
        /// Run only cases whose name contains all of these words, such as 'bbr 1:16'
        #[arg(long, value_name = "WORDS")]
        only: Option<String>,
        /// Where to leave the report
        #[arg(long, default_value = "benches/NEIGHBOURS.md")]
        markdown: PathBuf,
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

/// What goes wrong, in words.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let Options { netanvil, command } = Options::parse();
    let outcome = match command {
        Command::Compare { rounds, bytes, markdown } => {
            compare::run(&netanvil, rounds, bytes, &markdown)
        }
        Command::Neighbours { rounds, only, markdown } => {
            neighbours::run(&netanvil, rounds.into(), only.as_deref(), &markdown)
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
