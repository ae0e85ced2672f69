//! The command line: subcommands, their flags, and examples in every help text.

pub mod port_lists;
mod short_help;

use crate::options::{Options, SuiteName, named};
use crate::support;
use clap::error::ContextKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::error::Error as _;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  done, but an acceptance criterion failed (`run --accept`, `--fail-if`, `compare`, `doctor`)
  2  wrong usage, or the tester or its host failed; also an interrupted run
  3  invalid: a test has no valid result, for a reason that is printed; `versus`: undecided

Run RFC 2544 tests in an isolated test environment only (RFC 6815).";

const MAIN_EXAMPLES: &str = "\
Examples:
  netanvil run --device linux-router --profile quick    quick test of the kernel's router
  netanvil run --ports eth1,eth2 --address 198.18.1.2/24,198.19.1.2/24 \\
               --gateway 198.18.1.1,198.19.1.1          router between two interfaces
  netanvil traffic --device linux-router --rate 10kpps  loss and latency, each second
  netanvil doctor --ports eth1,eth2                     check this host and these ports
  netanvil report netanvil-20261121-060000              render a saved run again
";

/// Network device tester: RFC 2544 and later benchmarks, with the tester's own limits beside every number
#[derive(Parser, Debug)]
#[command(name = "netanvil", version, long_version = built_with(), after_help = format!("{MAIN_EXAMPLES}\n{EXIT_CODES}"), arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

/// What `--version` says beside the version: the kinds of port in this program, and what it is built for.
fn built_with() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let is_built = |kind: &ports::PortType| {
            let missing = match *kind {
                ports::PortType::XDP => ports::xdp::available().err(),
                ports::PortType::DPDK => ports::dpdk::available().err(),
                _ => None,
            };
            missing.is_none()
        };
        let kinds: Vec<_> =
            ports::PortType::all().filter(is_built).map(|kind| kind.name()).collect();
        let without = |kind: &str, available: Result<(), &'static str>| {
            available.err().map_or(String::new(), |why| format!(" (without {kind}: {why})"))
        };
        let ports = format!(
            "{}{}{}",
            kinds.join(", "),
            without("xdp", ports::xdp::available()),
            without("dpdk", ports::dpdk::available())
        );
        let libc = if cfg!(target_env = "musl") { "musl" } else { "glibc" };
        let linking = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
        format!(
            "{}\nports: {ports}\nbuilt for: {} Linux, {libc}, {linking}",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::ARCH,
        )
    })
}

/// Commands that can be called by their own names, through links to this program.
const OWN_NAMES: [&str; 2] = ["hammer", "anvil"];

/// Turns a call through a link into a subcommand: `hammer FILE` is `netanvil hammer FILE`.
pub fn with_own_name(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let called = arguments.first().and_then(|path| Path::new(path).file_name()).map(OsString::from);
    if let Some(name) = called.filter(|called| OWN_NAMES.iter().any(|name| called == name)) {
        arguments[0] = "netanvil".into();
        arguments.insert(1, name);
    }
    arguments
}

/// The whole command line. `traffic` hides the options of `run` that it does not have.
pub fn command() -> clap::Command {
    Arguments::command()
        .mut_subcommand("traffic", crate::command::traffic::adapt)
        .mut_subcommand("selftest", |command| support::SELFTEST.hide_others(command, &[]))
        .mut_subcommand("versus", |command| support::VERSUS.hide_others(command, &[]))
}

/// What the standard library says of a value, and what to write instead.
const PLAINER: [(&str, &str); 4] = [
    ("invalid digit found in string", "write a whole number, such as 5"),
    ("cannot parse integer from empty string", "write a whole number, such as 5"),
    ("invalid IP address syntax", "write an address, such as 198.18.1.1"),
    ("invalid socket address syntax", "write an address and a port, such as 127.0.0.1:2544"),
];

/// Prints help or an error, and ends the program.
fn refuse(error: &clap::Error) -> ! {
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    if let Some(said) = of_another_command(error) {
        crate::output::say(&said);
        std::process::exit(error.exit_code())
    }
    let Some((_, plainer)) = PLAINER.iter().find(|(said, _)| *said == cause) else { error.exit() };
    let text = error.render().to_string().replace(&cause, plainer);
    crate::output::say(text.trim_end());
    std::process::exit(error.exit_code())
}

/// The error where `netanvil run` is given a load, which it searches for by itself.
fn of_another_command(error: &clap::Error) -> Option<String> {
    let usage = error.get(ContextKind::Usage)?.to_string();
    let argument = error.get(ContextKind::InvalidArg)?.to_string();
    let is_unknown = error.kind() == clap::error::ErrorKind::UnknownArgument;
    (is_unknown && argument == "--rate" && usage.contains("netanvil run")).then(|| {
        "error: --rate is no option of `netanvil run`, whose tests choose the loads\n\
         help: leave it out; `netanvil traffic --rate 1kpps` sends at one load\n\
         help: `netanvil run --help` lists the options of tests"
            .into()
    })
}

/// A number below 0 after a flag is its value, not a flag: what is wrong with it is for the flag to say.
fn with_negative_values(arguments: Vec<OsString>) -> Vec<OsString> {
    let is_flag = |word: &str| word.starts_with("--") && word.len() > 2 && !word.contains('=');
    let is_number = |word: &str| {
        let number = word.strip_prefix('-');
        number.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
    };
    let mut joined: Vec<OsString> = vec![];
    for word in arguments {
        match (joined.last_mut(), word.to_str()) {
            (Some(last), Some(number))
                if is_number(number) && last.to_str().is_some_and(is_flag) =>
            {
                last.push("=");
                last.push(number);
            }
            _ => joined.push(word),
        }
    }
    joined
}

/// Reads a command line, or prints the error and ends the program.
pub fn parse(arguments: Vec<OsString>) -> Arguments {
    let arguments = port_lists::one_a_port(with_negative_values(arguments));
    let matches = short_help::shortened(command()).try_get_matches_from(arguments);
    let matches = matches.unwrap_or_else(|error| refuse(&error));
    Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Test a device: one built here, one between two interfaces, or a simulated one
    #[command(after_help = "\
Examples:
  netanvil run --device linux-router --profile quick
  netanvil run --device linux-router --test throughput,latency --sizes 64,512,1518 --filter 25
  netanvil run --device linux-bridge --frame-limit 50000 --test throughput --accept 'throughput>=49000'
  netanvil run --ports eth1,eth2 --address 198.18.1.2/24,198.19.1.2/24 --gateway 198.18.1.1,198.19.1.1
  netanvil run --ports dpdk:net_memif0,role=client,socket=/run/a.sock \\
               --ports dpdk:net_memif1,role=client,socket=/run/b.sock   (docs/dpdk.md)
  netanvil run --device testpmd --forward-mode macswap --test throughput --sizes 64   (docs/dpdk.md)
  netanvil run --device ovs-dpdk --test throughput,loss --sizes 64,1518               (docs/dpdk.md)
  netanvil run --device linux-bridge --pattern pairs --port-count 4 --test throughput,loss
  netanvil run harvard-1989 --device linux-router --profile quick
  netanvil run harvard-1990 --sim 1990/ags
  netanvil run tolly --device linux-mcast --profile quick
  netanvil run --config lab.toml --seed 7 --out results/monday
  netanvil run --config lab.toml --print-config
  netanvil run --resume results/monday

The keys of a configuration file are the names of the flags (`line-rate = \"10G\"`). Flags override the file.
")]
    Run(Box<Run>),
    /// Measure the tester without a device: maximum rate sent and received, minimum latency
    #[command(after_help = "\
Examples:
  netanvil selftest
  netanvil selftest --port-type af_packet --sizes 64,1518
  netanvil selftest --ports eth1,eth2          with a cable between the two

Runs with the same options reuse the result. It is stored in $XDG_CACHE_HOME/netanvil (~/.cache/netanvil).
")]
    Selftest(Box<Selftest>),
    /// Check this host and its ports, and print a fix for each problem
    #[command(after_help = "\
Examples:
  netanvil doctor
  netanvil doctor --ports eth1,eth2
  netanvil doctor --json | jq '.checks[] | select(.state != \"ok\")'

Exit code 1 if a check failed. Warnings do not change the exit code.
")]
    Doctor(Doctor),
    /// Render a saved run again: terminal table, results.json, results.csv, report.html
    #[command(after_help = "\
Examples:
  netanvil report netanvil-20261121-060000
  netanvil report netanvil-20261121-060000 --json | jq .
")]
    Report(Report),
    /// Put saved runs and a reviewer's remarks together as a review to be printed
    #[command(after_help = "\
Examples:
  netanvil publish review.toml
  netanvil publish review.toml --pdf

A review is a TOML file. Folders of runs stand beside it:
  title = \"Two software routers\"
  publisher = \"The Network Bench\"     # what follows may be left out
  authors = [\"A. Reviewer\"]
  date = \"2026-11-27\"
  summary = \"Both are fast.\"          # an empty line begins a paragraph

  [[product]]                          # a chapter for each
  run = \"netanvil-20261121-060000\"
  name = \"Router A\"                   # else as the run calls it
  remarks = \"It was quiet.\"
  response = \"What its maker says.\"
")]
    Publish(Publish),
    /// Compare two saved runs: differences with their uncertainty
    #[command(after_help = "\
Examples:
  netanvil compare results/kernel-6.12 results/kernel-6.18
")]
    Compare(Compare),
    /// Run many tests described in one file: devices x configurations x tests x sizes x repetitions
    #[command(after_help = "\
Examples:
  netanvil campaign run --local nightly.toml
  netanvil campaign jobs nightly.toml
  netanvil campaign bisect kernels.toml --fail-if 'rate < 0.97'
  netanvil campaign sweep routers.toml

docs/fleet.md describes the files.
")]
    Campaign(crate::command::campaign::Campaign),
    /// Keep figures of many runs in a database; show their trends and changes
    #[command(after_help = "\
Examples:
  netanvil history ingest runs/* --db results.sqlite
  netanvil history show --db results.sqlite --test throughput --by kernel
  netanvil history show --db results.sqlite --html trends.html
")]
    History(crate::command::history::History),
    /// Fit a simulated device to saved runs of a real one
    #[command(after_help = "\
Examples:
  netanvil fit results/router --out twin.toml
  netanvil fit results/no-filter results/10-rules --rules 25 --out twin.toml
  netanvil fit results/router --hold-out 512,loss --json
  netanvil run --sim twin.toml --test throughput --sizes 300

Each size, with its filters, is also foretold by a twin that was fitted without it.
docs/fit.md describes the mechanisms and what cannot be fitted.
")]
    Fit(crate::command::fit::Fit),
    /// Send traffic at a rate; print loss and latency each second
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
  netanvil traffic --ports eth1,eth2 --pcap trace.pcap --as-timed       replay a capture
  netanvil traffic --device linux-router --rate 10kpps --fail-if 'loss > 0.1%'

Rates apply to each sending port. Bits are those on the medium, preamble and gap included.
Keys at a terminal:
  + -     a tenth more, a tenth less
  * /     twice the rate, half the rate
  p       pause, continue
  1 to 9  turn a stream off and on
  q       end
Exit code 1 if a criterion of --fail-if is met. Exit code 3 if the tester fell short, or a criterion
names something that was not measured. docs/traffic.md explains every column.
")]
    Traffic(Box<crate::command::traffic::TrafficArgs>),
    /// Compare two configurations of a device, in alternating trials of one run
    #[command(after_help = "\
Examples:
  netanvil versus --device linux-router --b sysctl:net.ipv4.conf.all.rp_filter=1 --fail-if 'rate < 0.97'
  netanvil versus --device linux-router --a '--tbf-rate 100M' --b '--tbf-rate 97M'
  netanvil versus --device linux-router --a-do 'nft delete table inet x || true' --b-do 'nft -f rules.nft'
  netanvil versus --a-sim router --b-sim lab/faster-router.toml --json

Each interval contains the ratio B/A with the probability of --confidence, whenever the run ends.
Exit code 1 if a criterion of --fail-if is met. Exit code 3 if one is undecided or nothing was measured.
")]
    Versus(Box<crate::command::versus::Versus>),
    /// Show runs in a browser while they go on; start, stop and compare them; metrics for Prometheus
    #[command(after_help = "\
Examples:
  netanvil serve                               http://127.0.0.1:2544/ with the runs in runs/
  netanvil serve --runs results --listen 127.0.0.1:8080
  netanvil serve --listen 192.0.2.1:2544 --tls-cert lab.pem --tls-key lab.key --token-file token
  curl http://127.0.0.1:2544/metrics

Other hosts can connect only with TLS and a token, since whoever connects can run tests on this host.
Ctrl-C also stops a run that was started on the page. docs/serve.md lists every address.
")]
    Serve(crate::command::serve::Serve),
    /// Remove what killed runs left behind; active runs are not affected
    #[command(after_help = "\
Examples:
  netanvil clean
  netanvil clean --force       also remove those of active runs, which then fail
")]
    Clean(Clean),
    /// Send frames from files in a loop, with the flags of the packet generator of 1989
    #[command(after_help = "\
Examples:
  netanvil hammer -i eth1 -taa:00:04:00:01:04 ping.pcap             as fast as possible
  netanvil hammer -i eth1 -taa:00:04:00:01:04 -n1 +200 packet/p64   the pad's length sets the rate
  netanvil hammer -i eth1 -taa:00:04:00:01:04 -s1000 packet/p64*90  90 frames back to back, every second
  netanvil hammer -i eth1 -taa:00:04:00:01:04 -s1000 +55            runts
  netanvil hammer -i eth1 --rate 5000 --frames 100000 trace.pcapng  evenly spaced
  ln -s netanvil hammer; ./hammer -i eth1 packet/p64                under its own name

hammer sends the frames of the files in order, then those of `+#`. Sizes include the FCS; files do not.
Ctrl-C stops it and prints the totals. Run this in an isolated test environment only (RFC 6815).
")]
    Hammer(crate::command::hammer::Hammer),
    /// Count frames: total, 10 s average, packet lengths, protocols
    #[command(after_help = "\
Examples:
  netanvil anvil -i eth2
  netanvil anvil -i eth2 --duration 10s           frames that an idle device sends
  netanvil anvil trace.pcapng
  netanvil anvil -i eth0 --lengths backbone.csv   write the frame sizes as a table
  netanvil anvil -i eth2 --json | jq .composition
  ln -s netanvil anvil; ./anvil -i eth2           under its own name

Ctrl-C stops it and prints the totals.
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
    /// Build two hosts in namespaces and a link with rate, delay, queue, loss and reordering
    #[command(after_help = "\
Examples:
  netanvil link --rate 100M --delay 25ms --loss 1%
  netanvil link --rate 10M --delay 300ms --queue 200000 --loss 2% --loss-bursts 8 --seed 7
  netanvil link --rate 50M --back-rate 5M --reorder 1%/5ms --duration 60s --json

  ip netns exec netanvil-4711.0-left ping 198.18.0.2       netanvil prints the names

Exit code 2 if this machine did not keep up. Discard measurements over the link then.
")]
    Link(crate::command::link::Link),
    /// Serve the Open Traffic Generator API (OTG) for snappi and other clients
    #[command(after_help = "\
Examples:
  netanvil otg
  netanvil otg --listen 0.0.0.0:8443
  netanvil otg --plain-http --listen 127.0.0.1:8080

Anyone who can reach the address can send traffic from this host. docs/otg.md lists what is supported.
Ctrl-C ends it, stops the traffic and releases the ports.
")]
    Otg(crate::command::otg::Otg),
    /// Lend ports of this host to a tester on another host
    #[command(after_help = "\
Examples:
  netanvil agent certificates lab-certificates        once; copy the folder to every host
  netanvil agent --listen 192.0.2.2:8719 --certificates lab-certificates --ports eth1
  netanvil run --ports eth1,lab-b:eth1 --agent-certificates lab-certificates     on the tester

The agent serves one tester at a time. Only a tester with a certificate of the same authority can connect.
When a tester ends or its connection is cut, its ports are free again. Ctrl-C ends the agent.
docs/agents.md describes clocks, errors and limits.
")]
    Agent(crate::command::agent::AgentArgs),
    /// Repeat the Harvard router tests of 1990 on models of the tested products
    #[command(after_help = "\
Examples:
  netanvil harvard reproduce-1990
  netanvil harvard reproduce-1990 --html harvard-1990.html
")]
    Harvard(crate::command::harvard::Harvard),
    /// List the devices that netanvil can build or simulate, with their options
    #[command(after_help = "\
Examples:
  netanvil devices
  netanvil devices router > my-router.toml
  netanvil devices --json | jq -r '.simulated[].name'
")]
    Devices {
        /// Simulated device whose description to print
        #[arg(conflicts_with = "json")]
        name: Option<String>,
        /// Print names and descriptions as JSON on standard output
        #[arg(long)]
        json: bool,
    },
    /// List the tests of every suite, with source document and options
    #[command(after_help = "\
Examples:
  netanvil tests
  netanvil tests rfc2889
  netanvil tests rfc2889 congestion          the options of this test
  netanvil tests --json | jq '.[] | select(.options | index(\"vlan\")) | .id'
")]
    Tests {
        /// Suite whose tests to list
        #[arg(value_name = "SUITE", value_parser = named::<SuiteName>(&["rfc2544", "harvard-1989", "harvard-1990", "rfc2889", "rfc3918", "gigaswitch", "tolly"]))]
        suite: Option<SuiteName>,
        /// Test whose options to list
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
    /// Print the manual page, or write the pages of all subcommands
    #[command(after_help = "\
Examples:
  netanvil man | man -l -
  netanvil man --dir /usr/local/share/man/man1
")]
    Man(Man),
}

#[derive(Args, Debug)]
pub struct Run {
    /// Suite of tests (default: rfc2544)
    #[arg(value_name = "SUITE", value_parser = named::<SuiteName>(&["rfc2544", "harvard-1989", "harvard-1990", "rfc2889", "rfc3918", "gigaswitch", "tolly"]))]
    pub suite: Option<SuiteName>,
    #[command(flatten)]
    pub options: Options,
    /// Read options from a TOML file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print the effective configuration as a TOML file and exit
    #[arg(long)]
    pub print_config: bool,
    /// Resume an interrupted run after its last saved trial
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub resume: Option<PathBuf>,
    /// Measure the tester again, even if a cached self-test fits
    #[arg(long)]
    pub fresh_selftest: bool,
    /// Stop at `q` or at the end of standard input, as with Ctrl-C
    #[arg(long)]
    pub stdin_control: bool,
    /// Show the run in a browser while it goes on [default address: 127.0.0.1:2544]
    #[arg(
        long,
        value_name = "ADDR:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = crate::command::page::LISTEN,
        conflicts_with_all = ["print_config", "resume", "stdin_control"]
    )]
    pub page: Option<SocketAddr>,
    /// Answer yes to every question
    #[arg(long)]
    pub yes: bool,
    /// Print results.json on standard output instead of the tables
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print all columns of tables, and every departure: without it the text fits the terminal
    #[arg(long, help_heading = "Output")]
    pub wide: bool,
    /// Do not print progress on standard error
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}

#[derive(Args, Debug)]
pub struct Selftest {
    /// The suite that is to be run: tests of many ports load all of them at once, both ways
    #[arg(value_name = "SUITE", value_parser = named::<SuiteName>(&["rfc2544", "harvard-1989", "harvard-1990", "rfc2889", "rfc3918", "gigaswitch", "tolly"]))]
    pub suite: Option<SuiteName>,
    /// Options of `run`. Give the same ones, so that the run can reuse the result. Options of a device are
    /// ignored
    #[command(flatten)]
    pub options: Options,
    /// Read options from a TOML file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print a cached result if one fits, instead of measuring
    #[arg(long)]
    pub cached: bool,
    /// Answer yes to every question
    #[arg(long)]
    pub yes: bool,
    /// Print JSON on standard output
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print all columns of tables, and every departure: without it the text fits the terminal
    #[arg(long, help_heading = "Output")]
    pub wide: bool,
    /// Do not print progress on standard error
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}

#[derive(Args, Debug)]
pub struct Doctor {
    /// Also check these interfaces
    #[arg(long, value_name = "IF,...")]
    pub ports: Vec<String>,
    /// Print JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Check whether a user namespace can be entered (in a separate process)
    #[arg(long, hide = true)]
    pub probe_user_namespace: bool,
}

#[derive(Args, Debug)]
pub struct Report {
    /// Run folder
    pub folder: PathBuf,
    /// Print results.json on standard output instead of the tables
    #[arg(long)]
    pub json: bool,
    /// Print all columns of tables, and every departure: without it the text fits the terminal
    #[arg(long)]
    pub wide: bool,
}

#[derive(Args, Debug)]
pub struct Publish {
    /// What the publisher writes, with the folders of the runs
    #[arg(value_name = "REVIEW.toml")]
    pub review: PathBuf,
    /// File of the page [default: that of the review, ending in .html]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print it into a PDF beside the page, too; needs Chromium
    #[arg(long)]
    pub pdf: bool,
}

#[derive(Args, Debug)]
pub struct Compare {
    /// Run folder to compare with
    pub before: PathBuf,
    /// Run folder to compare
    pub after: PathBuf,
    /// Print JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Print all columns of the table: without it the text fits the terminal
    #[arg(long)]
    pub wide: bool,
}

#[derive(Args, Debug)]
pub struct Clean {
    /// Also remove what active runs use
    #[arg(long)]
    pub force: bool,
    /// Print JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct Completions {
    /// Shell
    pub shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub struct Man {
    /// Write the pages of all subcommands to this directory
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}
