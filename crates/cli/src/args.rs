//! The command line: subcommands, their flags, and examples in every help text.

use crate::options::{Options, SuiteName, named};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  done, but an acceptance criterion failed (`run --accept`, `--fail-if`, `compare`, `doctor`)
  2  wrong usage, or the tester or its host broke; also an interrupted run
  3  invalid: the tester could not offer the load, so nothing is said of the device; `versus`: undecided

Run RFC 2544 tests in an isolated test environment only (RFC 6815).";

const MAIN_EXAMPLES: &str = "\
Examples:
  netanvil run --device linux-router --profile quick    a first look at the kernel's router
  netanvil run --ports eth1,eth2 --address 198.18.1.2/24,198.19.1.2/24 \\
               --gateway 198.18.1.1,198.19.1.1          a router between two interfaces
  netanvil traffic --device linux-router --rate 10kpps  loss and latency, each second
  netanvil doctor --ports eth1,eth2                     what this host can do
  netanvil report netanvil-20261121-060000              render a saved run again
";

/// An open tester of network devices: RFC 2544 benchmarks with the tester's own limits beside every number
#[derive(Parser, Debug)]
#[command(name = "netanvil", version, after_help = format!("{MAIN_EXAMPLES}\n{EXIT_CODES}"), arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

/// Commands that may be called by their own names, as links to this program.
const OWN_NAMES: [&str; 2] = ["hammer", "anvil"];

/// The command line as it would be if the program had been called by its name: `hammer FILE` is
/// `netanvil hammer FILE`.
pub fn with_own_name(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let called = arguments.first().and_then(|path| Path::new(path).file_name()).map(OsString::from);
    if let Some(name) = called.filter(|called| OWN_NAMES.iter().any(|name| called == name)) {
        arguments[0] = "netanvil".into();
        arguments.insert(1, name);
    }
    arguments
}

/// The whole command line. What `run` has and `traffic` has not is hidden there.
pub fn command() -> clap::Command {
    Arguments::command().mut_subcommand("traffic", crate::command::traffic::adapt)
}

/// Reads a command line, or ends the program with what is wrong.
pub fn parse(arguments: Vec<OsString>) -> Arguments {
    let matches = command().get_matches_from(arguments);
    Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Test a device: build one, take one between two interfaces, or simulate one
    #[command(after_help = "\
Examples:
  netanvil run --device linux-router --profile quick
  netanvil run --device linux-router --test throughput,latency --sizes 64,512,1518 --filter 25
  netanvil run --device linux-bridge --frame-limit 50000 --test throughput --accept 'throughput>=49000'
  netanvil run --ports eth1,eth2 --address 198.18.1.2/24,198.19.1.2/24 --gateway 198.18.1.1,198.19.1.1
  netanvil run harvard-1989 --device linux-router --profile quick
  netanvil run harvard-1990 --sim 1990/ags
  netanvil run tolly --device linux-mcast --profile quick
  netanvil run --config lab.toml --seed 7 --out results/monday
  netanvil run --config lab.toml --print-config
  netanvil run --resume results/monday

A configuration file has the same names as the flags (`line-rate = \"10G\"`); flags override it.
")]
    Run(Box<Run>),
    /// Measure the tester itself, back to back: what it can offer and receive, its latency floor
    #[command(after_help = "\
Examples:
  netanvil selftest
  netanvil selftest --port-type af_packet --sizes 64,1518
  netanvil selftest --ports eth1,eth2          with a cable between the two

Results are kept under $XDG_CACHE_HOME/netanvil (~/.cache/netanvil) for runs with the same options.
")]
    Selftest(Box<Selftest>),
    /// Say what this host and these ports can do, and the command that mends each shortfall
    #[command(after_help = "\
Examples:
  netanvil doctor
  netanvil doctor --ports eth1,eth2
  netanvil doctor --json | jq '.checks[] | select(.state != \"ok\")'

Exit code 1 if a check failed; warnings alone leave it 0.
")]
    Doctor(Doctor),
    /// Render a saved run again: terminal table, results.json, results.csv, report.html
    #[command(after_help = "\
Examples:
  netanvil report netanvil-20261121-060000
  netanvil report netanvil-20261121-060000 --json | jq .
")]
    Report(Report),
    /// Show the differences of two saved runs with their uncertainty
    #[command(after_help = "\
Examples:
  netanvil compare results/kernel-6.12 results/kernel-6.18
")]
    Compare(Compare),
    /// Send traffic at a rate, and show loss and latency each second
    #[command(after_help = "\
Examples:
  netanvil traffic --device linux-router --rate 100kpps --duration 30s
  netanvil traffic --ports eth1,eth2 --rate 40% --duration forever      until q or Ctrl-C
  netanvil traffic --ports eth1,eth2 --address 198.18.1.2/24,198.19.1.2/24 \\
                   --gateway 198.18.1.1,198.19.1.1 --rate 1Mpps         through a router
  netanvil traffic --device linux-bridge --rate 500Mbit/s --sizes imix --bidirectional
  netanvil traffic --sim router --rate 50kpps --flows 1000 --vary dst-port --json
  netanvil traffic --ports eth1,eth2 --rate 10% --vlan 100,200          802.1ad and 802.1Q
  netanvil traffic --ports eth1,eth2 --streams mix.toml --rate 20kpps   several streams
  netanvil traffic --ports eth1,eth2 --pcap trace.pcap --as-timed       a capture
  netanvil traffic --device linux-router --rate 10kpps --fail-if 'loss > 0.1%'

Rates are those of each sending port; bits are those on the medium, preamble and gap included.
Keys at a terminal: + - a tenth more or less, * / twice or half, p pause, 1 to 9 a stream off
and on, q end.
Exit code 1 if a criterion of --fail-if is met; 3 if the tester itself fell short, or nothing was
measured of a criterion. docs/traffic.md explains every column.
")]
    Traffic(Box<crate::command::traffic::TrafficArgs>),
    /// Compare two configurations of a device in interleaved trials of one run
    #[command(after_help = "\
Examples:
  netanvil versus --device linux-router --b sysctl:net.ipv4.conf.all.rp_filter=1 --fail-if 'rate < 0.97'
  netanvil versus --device linux-router --a '--tbf-rate 100M' --b '--tbf-rate 97M'
  netanvil versus --device linux-router --a-do 'nft delete table inet x || true' --b-do 'nft -f rules.nft'
  netanvil versus --a-sim router --b-sim lab/faster-router.toml --json

Each interval holds the ratio B/A with the chance of --confidence, whenever the run ended.
Exit code 1 if a criterion of --fail-if is met, 3 if one is undecided or nothing was found.
")]
    Versus(Box<crate::command::versus::Versus>),
    /// Remove what killed runs left behind; what a living run uses is untouched
    #[command(after_help = "\
Examples:
  netanvil clean
  netanvil clean --force       also what living runs use: they will fail
")]
    Clean(Clean),
    /// Send frames from files over and over, as the packet generator of 1989 did
    #[command(after_help = "\
Examples:
  netanvil hammer -i eth1 -taa:00:04:00:01:04 ping.pcap             flood: as fast as the port can
  netanvil hammer -i eth1 -taa:00:04:00:01:04 -n1 +200 packet/p64   the pad's length sets the rate
  netanvil hammer -i eth1 -taa:00:04:00:01:04 -s1000 packet/p64*90  90 frames back to back, every second
  netanvil hammer -i eth1 -taa:00:04:00:01:04 -s1000 +55            runts
  netanvil hammer -i eth1 --rate 5000 --frames 100000 trace.pcapng  evenly spaced
  ln -s netanvil hammer; ./hammer -i eth1 packet/p64                under its own name

Frames go out in the order of the files, then those of `+#`. Sizes are with FCS, files without.
Ctrl-C ends, and prints the totals. Run this in an isolated test environment only (RFC 6815).
")]
    Hammer(crate::command::hammer::Hammer),
    /// Count frames: total, 10 s average, packet lengths, protocols
    #[command(after_help = "\
Examples:
  netanvil anvil -i eth2
  netanvil anvil -i eth2 --duration 10s           idle state: what does the device send by itself?
  netanvil anvil trace.pcapng
  netanvil anvil -i eth0 --lengths backbone.csv   the distribution of sizes as a table
  netanvil anvil -i eth2 --json | jq .composition
  ln -s netanvil anvil; ./anvil -i eth2           under its own name

Ctrl-C ends, and prints the totals.
")]
    Anvil(crate::command::anvil::Anvil),
    /// Move bulk data by NETBLT (RFC 998), and repeat its tests of 1987 (RFC 1030)
    #[command(after_help = "\
Examples:
  netanvil netblt serve /srv/bulk
  netanvil netblt send disk.img lab2 --rate 900M
  netanvil netblt recv disk.img lab2
  netanvil netblt test lab2 --burst 5/40 --buffers 2
  netanvil netblt reproduce-1987
")]
    Netblt(crate::command::netblt::Netblt),
    /// Build two hosts in namespaces with a link between them: rate, delay, queue, loss, reordering
    #[command(after_help = "\
Examples:
  netanvil link --rate 100M --delay 25ms --loss 1%
  netanvil link --rate 10M --delay 300ms --queue 200000 --loss 2% --loss-bursts 8 --seed 7
  netanvil link --rate 50M --back-rate 5M --reorder 1%/5ms --duration 60s --json

  ip netns exec netanvil-4711.0-left ping 198.18.0.2       the names are printed

Exit code 2 if this machine did not keep up: what was measured over the link is no result then.
")]
    Link(crate::command::link::Link),
    /// Repeat the router tests of 1990 (Harvard University) on models of their products
    #[command(after_help = "\
Examples:
  netanvil harvard reproduce-1990
  netanvil harvard reproduce-1990 --html harvard-1990.html
")]
    Harvard(crate::command::harvard::Harvard),
    /// List the devices that can be built or simulated, with their options
    #[command(after_help = "\
Examples:
  netanvil devices
  netanvil devices router > my-router.toml
")]
    Devices {
        /// Print the file of this simulated device
        name: Option<String>,
    },
    /// List the tests of every suite: where they are defined, which options they use
    #[command(after_help = "\
Examples:
  netanvil tests
  netanvil tests rfc2889
  netanvil tests rfc2889 congestion          the options that this test uses
  netanvil tests --json | jq '.[] | select(.options | index(\"vlan\")) | .id'
")]
    Tests {
        /// Of this suite alone
        #[arg(value_name = "SUITE", value_parser = named::<SuiteName>(&["rfc2544", "harvard-1989", "harvard-1990", "rfc2889", "rfc3918", "gigaswitch", "tolly"]))]
        suite: Option<SuiteName>,
        /// This test, with the options that it uses
        test: Option<String>,
        /// Print JSON on standard output
        #[arg(long)]
        json: bool,
    },
    /// Print shell completions
    #[command(after_help = "\
Examples:
  netanvil completions bash > /etc/bash_completion.d/netanvil
  netanvil completions zsh > ~/.zfunc/_netanvil
  netanvil completions fish > ~/.config/fish/completions/netanvil.fish
")]
    Completions(Completions),
    /// Print the manual page, or write all of them
    #[command(after_help = "\
Examples:
  netanvil man | man -l -
  netanvil man --dir /usr/local/share/man/man1
")]
    Man(Man),
}

#[derive(Args, Debug)]
pub struct Run {
    /// Which tests: those of RFC 2544, or the router tests of 1989 or 1990 at Harvard
    #[arg(value_name = "SUITE", value_parser = named::<SuiteName>(&["rfc2544", "harvard-1989", "harvard-1990", "rfc2889", "rfc3918", "gigaswitch", "tolly"]))]
    pub suite: Option<SuiteName>,
    #[command(flatten)]
    pub options: Options,
    /// Read options from a TOML file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print the effective configuration as a TOML file, and do nothing
    #[arg(long)]
    pub print_config: bool,
    /// Go on with an interrupted run after its last saved trial
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub resume: Option<PathBuf>,
    /// Measure the tester now, even if a cached self-test fits
    #[arg(long)]
    pub fresh_selftest: bool,
    /// Answer every question with yes
    #[arg(long)]
    pub yes: bool,
    /// Print results.json on standard output instead of the tables
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// No progress on standard error
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}

#[derive(Args, Debug)]
pub struct Selftest {
    /// Those of `run`, so that the result serves that very run; what concerns a device is ignored
    #[command(flatten)]
    pub options: Options,
    /// Read options from a TOML file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print a cached result if one fits, instead of measuring
    #[arg(long)]
    pub cached: bool,
    /// Answer every question with yes
    #[arg(long)]
    pub yes: bool,
    /// Print JSON on standard output
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// No progress on standard error
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}

#[derive(Args, Debug)]
pub struct Doctor {
    /// Look at these interfaces too
    #[arg(long, value_delimiter = ',', value_name = "IF,...")]
    pub ports: Vec<String>,
    /// Print JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Find out whether a user namespace can be entered (in a process of its own)
    #[arg(long, hide = true)]
    pub probe_user_namespace: bool,
}

#[derive(Args, Debug)]
pub struct Report {
    /// A run folder
    pub folder: PathBuf,
    /// Print results.json on standard output instead of the tables
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct Compare {
    /// A run folder
    pub before: PathBuf,
    /// Another one
    pub after: PathBuf,
    /// Print JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct Clean {
    /// Remove what living runs use, too
    #[arg(long)]
    pub force: bool,
    /// Print JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub struct Man {
    /// Write the pages of all subcommands to this directory
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}
