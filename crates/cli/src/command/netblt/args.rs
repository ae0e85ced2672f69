//! The command line of `netanvil netblt`.

use clap::{Args, Subcommand, ValueEnum};
use netblt_client::SERVICE_PORT;
use netblt_io::copy::control::{Links, Sparse};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct Netblt {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Send a file to a server
    #[command(after_help = "\
Examples:
  netanvil netblt send disk.img lab2
  netanvil netblt send disk.img lab2:20030 --at-most 900M
  netanvil netblt send disk.img '[2001:db8::7]:20030'
  netanvil netblt send disk.img lab2 --scavenge
  netanvil netblt send disk.img lab2 --rate 900M --buffers 200
  netanvil netblt send disk.img 192.0.2.7 --as images/monday.img --json
  netanvil netblt send disk.img lab2 --key-file ~/key
  netanvil netblt send disk.img lab2 --code=7KQM-2XWD   # as the server has printed it

Run it again after a break: it goes on at the missing bytes. Ctrl-C ends it with its report.

Exit codes: 0: the file is there, verified. 2: wrong usage, or the transfer was refused, interrupted or broke off.
")]
    Send(Send),
    /// Receive a file from a server
    #[command(after_help = "\
Examples:
  netanvil netblt recv images/monday.img lab2
  netanvil netblt recv images/monday.img lab2 --out disk.img --rate 900M

Run it again after a break: it goes on at the missing bytes. Ctrl-C ends it with its report.

Exit codes: 0: the file is there, verified. 2: wrong usage, or the transfer was refused, interrupted or broke off.
")]
    Recv(Recv),
    /// Copy files and directories to or from a host that ssh reaches
    #[command(after_help = "\
Examples:
  netanvil netblt copy project lab2:/srv            # /srv/project
  netanvil netblt copy project/ lab2:/srv/there     # what is in project
  netanvil netblt copy 'lab2:logs/*.gz' user@lab2:/etc/hosts archive
  netanvil netblt copy project lab2: --exclude target/ --exclude '*.o' --include keep.o
  netanvil netblt copy disk.img lab2:/srv --rate 100Mbit/s --rsh 'ssh -p 2222'
  tar c project | netanvil netblt copy - lab2:backup/project.tar
  netanvil netblt copy lab2:backup/project.tar - | tar t

Run it again after a break: what arrived is kept, files that are there with the same size and time are
left alone. A file has its name when it is whole, verified and on the disk.

While it runs, + and - change the rate by a quarter; so does writing a rate into --rate-file.

The other host needs netanvil, and its UDP port must be reachable; packets are sealed with a key that
is drawn for each copy and sent through ssh.

Exit codes: 0: all is there. 1: something was refused or failed, and named; the rest is there.
2: wrong usage, or the copy was interrupted or broke off. Ctrl-C ends it with its report.
")]
    Copy(Box<Copy>),
    /// Serve a directory: others can read its files and write new ones there, and reach nothing else
    #[command(after_help = "\
Examples:
  netanvil netblt serve /srv/bulk --key-file /etc/netanvil/key
  netanvil netblt serve /srv/bulk --code --once      # prints a code for one transfer
  netanvil netblt serve /srv/bulk --trust --read-only --listen 192.0.2.7:20030
  netanvil netblt serve /srv/bulk --trust --raw-ip
  netanvil netblt serve /srv/bulk                    # for this host alone

Without a key only this host is served, unless you say --trust.
")]
    Serve(Serve),
    /// Run the test program of RFC 1030: memory to memory, with its parameters and both of its throughputs
    #[command(after_help = "\
Examples:
  netanvil netblt test lab2 --burst 5/40 --packet-size 1400 --buffer-size 14000 --buffers 2
  netanvil netblt test lab2 --rate 500M --bytes 1000000000 --json
  netanvil netblt test lab2 --read

The other end is a server (`netanvil netblt serve`).

Exit codes: 0: all bytes arrived. 2: wrong usage, or the transfer was refused, interrupted or broke off.
")]
    Test(Test),
    /// Run the campaign of 1987 (RFC 1030) over emulated networks, beside the published tables
    #[command(
        name = "reproduce-1987",
        after_help = "\
Examples:
  netanvil netblt reproduce-1987
  netanvil netblt reproduce-1987 --json | jq .summary
  netanvil netblt reproduce-1987 --parameters

Exit code 1 if the targets are missed: half of the rows within 5 % in steady-state throughput, nine
tenths within 15 %, and every finding of the text found again.
"
    )]
    Reproduce1987(Reproduce),
    /// Run what RFC 1030's authors planned but could not run: long transfers, several at once, higher rates
    #[command(
        name = "planned-1987",
        after_help = "\
Examples:
  netanvil netblt planned-1987
  netanvil netblt planned-1987 --json --seed 7 | jq '.[] | select(.overflowed > 0)'

In virtual time over the Wideband network as the published tables show it; docs/netblt.md says what
was found.
"
    )]
    Planned1987(Planned),
    /// Run the rate control over simulated paths of today, beside a fixed rate and TCP
    #[command(after_help = "\
Examples:
  netanvil netblt paths
  netanvil netblt paths --html paths.html
  netanvil netblt paths --only '1 Gb/s 2000 ms adaptive' --seed 7
  netanvil netblt paths --seeds 30 --only '100 Mb/s'
  netanvil netblt paths --json | jq '.rows[] | select(.missed != null and .missed != [])'

A few minutes for one seed. With several, each row is judged by the 10th and 90th percentile, and no run may be
under half of what is usable. Exit code 1 if a target is missed; docs/netblt-control.md says which and why.
")]
    Paths(Paths),
    /// Run transfers beside TCP, and beside each other, over a simulated path: who gets which share
    #[command(after_help = "\
Examples:
  netanvil netblt neighbours
  netanvil netblt neighbours --seeds 30
  netanvil netblt neighbours --only '4:4 CUBIC'
  netanvil netblt neighbours --json | jq '.rows[] | select(.met | not)'

Some minutes for 3 seeds, much longer for 30. Exit code 1 if a target is missed;
docs/netblt-control.md says which and why.
")]
    Neighbours(Neighbours),
}

#[derive(Args, Debug)]
pub struct Send {
    /// The file
    pub file: PathBuf,
    /// The server: host, or host:port for another UDP port than 20030
    pub host: String,
    /// Name of the file at the server [default: the same name]
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// For a server that knows RFC 998 alone: send only the bytes, unverified
    #[arg(long)]
    pub plain: bool,
    #[command(flatten)]
    pub transfer: Transfer,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Args, Debug)]
pub struct Recv {
    /// Name at the server
    pub name: String,
    /// The server: host, or host:port for another UDP port than 20030
    pub host: String,
    /// File to write [default: the name at the server, in this directory]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    pub overwrite: bool,
    /// For a server that knows RFC 998 alone: receive only the bytes, unverified
    #[arg(long)]
    pub plain: bool,
    #[command(flatten)]
    pub transfer: Transfer,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Args, Debug)]
pub struct Copy {
    /// Sources, then destination: SRC... HOST:DIR, or HOST:SRC... DIR; - is standard input (with a file as
    /// HOST:FILE) or output. SRC/ means the content of SRC. Globs are expanded at both ends
    #[arg(value_name = "SRC... DST", required_unless_present = "server")]
    pub paths: Vec<OsString>,
    /// Exclude matching entries; patterns are those of .gitignore, relative to the top of the copied tree
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// Include matching entries in spite of --exclude; the content of an excluded directory is not examined
    #[arg(long, value_name = "PATTERN")]
    pub include: Vec<String>,
    /// Compare files of equal size by their digests, not by their times
    #[arg(long)]
    pub checksum: bool,
    /// Symbolic links: keep those that stay within the copied tree, refuse all, or keep any [default: within]
    #[arg(long, value_enum)]
    pub links: Option<LinkChoice>,
    /// Files with holes: refuse them, or send the holes as zeros [default: refuse]
    #[arg(long, value_enum)]
    pub sparse: Option<SparseChoice>,
    /// Send no faster than this (100M or 100Mbit/s: a hundred million bits of data a second)
    #[arg(long, value_name = "BITS/S")]
    pub rate: Option<String>,
    /// Read the limit of the rate, or `none`, from this file, twice a second while the copy runs
    #[arg(long, value_name = "FILE", conflicts_with = "rate")]
    pub rate_file: Option<PathBuf>,
    /// Leave the path to others: keep the queue short and take what TCP does not use
    #[arg(long)]
    pub scavenge: bool,
    /// Ask the network for early marks (L4S, ECT(1)) and slow down by their share
    #[arg(long, conflicts_with = "scavenge")]
    pub l4s: bool,
    /// Command that reaches the other host, split as in a shell; the host and the remote command follow it
    #[arg(long, value_name = "COMMAND", default_value = "ssh")]
    pub rsh: String,
    /// The program at the other host
    #[arg(long, value_name = "PATH", default_value = "netanvil")]
    pub remote_program: String,
    /// Address for the packets, if it is not the one that ssh uses
    #[arg(long, value_name = "ADDR")]
    pub udp_host: Option<String>,
    /// Range of UDP ports; the other host takes the first free one [default: any port]
    #[arg(long, value_name = "FROM-TO")]
    pub udp_ports: Option<String>,
    /// Seconds of silence after which the other end counts as dead
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..))]
    pub death_timer: u16,
    /// Print a line of JSON for each entry, for the progress, and at the end, on standard output
    #[arg(long)]
    pub json: bool,
    /// Do not print progress on standard error
    #[arg(long)]
    pub quiet: bool,
    /// Run as the far end, on standard input and output
    #[arg(long, hide = true)]
    pub server: bool,
}

/// What --links takes.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum LinkChoice {
    /// Keep those that stay within what is copied
    #[default]
    Within,
    /// Refuse all
    Refuse,
    /// Keep any
    Any,
}

impl From<LinkChoice> for Links {
    fn from(choice: LinkChoice) -> Links {
        match choice {
            LinkChoice::Within => Links::Within,
            LinkChoice::Refuse => Links::Refuse,
            LinkChoice::Any => Links::Any,
        }
    }
}

/// What --sparse takes.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum SparseChoice {
    /// Refuse them
    #[default]
    Refuse,
    /// Send their holes as zeros
    Fill,
}

impl From<SparseChoice> for Sparse {
    fn from(choice: SparseChoice) -> Sparse {
        match choice {
            SparseChoice::Refuse => Sparse::Refuse,
            SparseChoice::Fill => Sparse::Fill,
        }
    }
}

#[derive(Args, Debug)]
pub struct Serve {
    /// The directory
    pub directory: PathBuf,
    /// Address to listen on, with a UDP port [default: 127.0.0.1:20030; with a key or --trust
    /// [::]:20030, which accepts IPv4, too, or 0.0.0.0:20030 on raw IP]
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<String>,
    /// Serve other hosts without a key: whoever can send to this address can read and write, and nothing
    /// is encrypted
    #[arg(long)]
    pub trust: bool,
    /// Maximum rate of all connections together (10G: ten thousand million bits a second)
    #[arg(long, value_name = "BITS/S", default_value = "10G")]
    pub max_rate: String,
    /// Use IP protocol 30 instead of UDP, as RFC 998 specifies (needs root)
    #[arg(long)]
    pub raw_ip: bool,
    #[command(flatten)]
    pub sealing: Sealing,
    /// NETBLT port to listen on (not the UDP port)
    #[arg(long, value_name = "N", default_value_t = SERVICE_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// Refuse writes
    #[arg(long, conflicts_with = "write_only")]
    pub read_only: bool,
    /// Refuse reads
    #[arg(long)]
    pub write_only: bool,
    /// Allow others to replace files
    #[arg(long)]
    pub overwrite: bool,
    /// Maximum number of connections, three quarters of them from one source; each may take buffers times buffer size of memory
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub max_connections: usize,
    /// Maximum buffer size to accept, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 128 << 10)]
    pub buffer_size: u32,
    /// Maximum number of outstanding buffers to accept
    #[arg(long, value_name = "N", default_value_t = 2048)]
    pub buffers: u16,
    /// End after the first transfer
    #[arg(long)]
    pub once: bool,
    /// Print a line of JSON for each transfer on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct Test {
    /// The server: host, or host:port for another UDP port than 20030
    pub host: String,
    /// Transfer size in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 100_000_000)]
    pub bytes: u64,
    /// Have the server send
    #[arg(long)]
    pub read: bool,
    #[command(flatten)]
    pub transfer: Transfer,
    #[command(flatten)]
    pub output: Output,
}

/// What the active end proposes. The server can only make it less.
#[derive(Args, Debug)]
#[command(next_help_heading = "Transfer")]
pub struct Transfer {
    /// Send data at a fixed rate, no more than the path carries (100M: a hundred million bits a second);
    /// without it the sender finds the rate that fits the path
    #[arg(long, value_name = "BITS/S", conflicts_with = "burst")]
    pub rate: Option<String>,
    /// Upper limit of the rate that the sender finds
    #[arg(long, value_name = "BITS/S", conflicts_with_all = ["burst", "rate"])]
    pub at_most: Option<String>,
    /// Find a rate that leaves the path to others: it keeps the queue short and takes what TCP does not
    /// use; without it the sender takes about what a TCP would take
    #[arg(long, conflicts_with_all = ["burst", "rate"])]
    pub scavenge: bool,
    /// Ask the network for early marks (L4S, ECT(1)) and slow down by their share: the queue stays short where
    /// a bottleneck gives them; without them nothing changes. An experiment (RFC 9331)
    #[arg(long, conflicts_with_all = ["burst", "rate", "scavenge", "raw_ip"])]
    pub l4s: bool,
    /// A fixed rate in the form of RFC 998: packets in a burst / milliseconds from burst to burst
    #[arg(long, value_name = "SIZE/MS")]
    pub burst: Option<String>,
    /// Bytes of data in a packet; larger packets than the path allows are fragmented [default: what the path carries,
    /// up to 1,500 bytes with all headers; at a fixed rate 1400, or 1376 sealed over IPv6]
    #[arg(long, value_name = "BYTES")]
    pub packet_size: Option<u16>,
    /// Bytes of a buffer [default: 64 packets at a fixed rate, otherwise 8]
    #[arg(long, value_name = "BYTES")]
    pub buffer_size: Option<u32>,
    /// Outstanding buffers: somewhat more than rate times round trip divided by buffer size
    /// [default: 64 at a fixed rate, 2048 otherwise]
    #[arg(long, value_name = "N")]
    pub buffers: Option<u16>,
    /// Seconds of silence after which the other end counts as dead
    #[arg(long, value_name = "S", default_value_t = 30)]
    pub death_timer: u16,
    /// Do not checksum data (the digest of a file is still verified)
    #[arg(long)]
    pub no_data_checksum: bool,
    /// NETBLT port of the server (not the UDP port)
    #[arg(long, value_name = "N", default_value_t = SERVICE_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// Use IP protocol 30 instead of UDP, as RFC 998 specifies (needs root)
    #[arg(long)]
    pub raw_ip: bool,
    #[command(flatten)]
    pub sealing: Sealing,
}

/// Where the key comes from. Never the command line: every user of a host can read that. A code is good for one server
/// and ten guesses.
#[derive(Args, Clone, Debug)]
pub struct Sealing {
    /// Seal all packets with the key in this file: 64 hexadecimal digits (`openssl rand -hex 32`), the same
    /// at both ends; the environment variable NETANVIL_NETBLT_KEY can hold the key instead, and counts if neither this nor
    /// --code is given
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Seal all packets with a key of their own, to which a short code leads, the same at both ends: without CODE a
    /// server draws and prints one, and a client reads it from standard input
    #[arg(long, value_name = "CODE", num_args = 0..=1, require_equals = true, default_missing_value = "",
          conflicts_with = "key_file")]
    pub code: Option<String>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Print JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Do not print progress on standard error
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Args, Debug)]
pub struct Reproduce {
    /// Seed of everything pseudo-random
    #[arg(long, default_value_t = 1987)]
    pub seed: u64,
    /// Print the free parameters of the models, and what changes when each moves by 10 %
    #[arg(long, conflicts_with = "html")]
    pub parameters: bool,
    /// Write findings, graphs and rows to a file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct Planned {
    /// Seed of everything pseudo-random
    #[arg(long, default_value_t = 1987)]
    pub seed: u64,
    /// Print JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct Paths {
    /// Runs of each row, each with another seed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Seed of everything pseudo-random, the first if there are several
    #[arg(long, default_value_t = 1987)]
    pub seed: u64,
    /// Run only rows whose path and sender contain all of these words
    #[arg(long, value_name = "WORDS")]
    pub only: Option<String>,
    /// Write the tables and some plots to a file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct Neighbours {
    /// Runs of each case, each with another seed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// The first seed; the others follow it
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Run only cases whose name contains all of these words
    #[arg(long, value_name = "WORDS")]
    pub only: Option<String>,
    /// Let hosts take no time for a packet: who finds a full queue is then no chance
    #[arg(long)]
    pub exact_hosts: bool,
    /// Print JSON on standard output
    #[arg(long)]
    pub json: bool,
}
