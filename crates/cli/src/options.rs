//! What a run is: every option once, for the command line and for configuration files alike.
//!
//! [`Options`] is read by `clap` and by `serde` from one description, so a flag `--frame-limit`
//! and a key `frame-limit` cannot drift apart. An option nobody gave stays `None`; the defaults of
//! the profile and device are laid underneath by [`Options::effective`].

mod file;
mod value;

pub use file::read;
pub use value::{BitRate, Share, Sizes, Span};

use crate::failure::{Failure, Outcome};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::{DeserializeOwned, IntoDeserializer, value::StrDeserializer};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use testbed::{DeviceKind, DeviceThreads, FilterRules, Neighbours, PermitPosition};

/// Which test (RFC 2544 section 26, with RFC 9004 and RFC 6201).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum TestName {
    /// Highest rate without loss (section 26.1).
    Throughput,
    /// At the throughput rate (section 26.2, RFC 8219).
    Latency,
    /// Frame loss rate over the offered load (section 26.3).
    Loss,
    /// Longest burst without loss (RFC 9004).
    BackToBack,
    /// Time to recover from overload (section 26.5).
    Recovery,
    /// Time to recover from a reset (RFC 6201).
    Reset,
}

/// How long and how often.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The durations and repetitions of the standards; hours.
    Rfc,
    /// Short trials for a first look; labelled as not conformant in every output.
    Quick,
}

/// How frames reach the interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum PortTypeName {
    /// The fastest that works here; the reason is printed.
    Auto,
    /// Live frames and accounting inside XDP programs.
    Xdp,
    /// AF_XDP sockets.
    AfXdp,
    /// Memory-mapped packet sockets; works everywhere.
    AfPacket,
}

/// Frames that take a test frame's place (RFC 2544 section 11).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Modifier {
    /// 1 % broadcast frames (section 11.1).
    Broadcast,
    /// An SNMP query a second (section 11.2).
    Management,
    /// Routing updates (section 11.3).
    RoutingUpdate,
}

/// Everything that can be said about a run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Options {
    /// Build this device in network namespaces and test it
    #[arg(long, help_heading = "Device", value_parser = named::<DeviceKind>(&["linux-router", "linux-bridge", "loopback"]))]
    pub device: Option<DeviceKind>,
    /// Test a simulated device in virtual time: a built-in name or a TOML file (see `netanvil devices`)
    #[arg(long, help_heading = "Device", value_name = "NAME|FILE", conflicts_with_all = ["device", "ports"])]
    pub sim: Option<String>,
    /// Test whatever is between these interfaces
    #[arg(
        long,
        help_heading = "Device",
        value_name = "IF,IF",
        value_delimiter = ',',
        conflicts_with = "device"
    )]
    pub ports: Option<Vec<String>>,
    /// The tester's address on each port, with prefix length
    #[arg(
        long,
        help_heading = "Device",
        value_name = "ADDR/LEN,ADDR/LEN",
        value_delimiter = ',',
        requires = "ports"
    )]
    pub address: Option<Vec<String>>,
    /// The device's address at each port; resolved by ARP or neighbour discovery. None for a bridge
    #[arg(
        long,
        help_heading = "Device",
        value_name = "ADDR,ADDR",
        value_delimiter = ',',
        requires = "ports"
    )]
    pub gateway: Option<Vec<std::net::IpAddr>>,
    /// Rate of the medium the theoretical maximum is computed from (hardware says it itself)
    #[arg(long, help_heading = "Device", value_name = "RATE")]
    pub line_rate: Option<BitRate>,

    /// Filter rules in the device (RFC 2544 section 11.4)
    #[arg(long, help_heading = "Built devices", value_parser = named::<FilterRules>(&["none", "1", "10", "25"]))]
    pub filter: Option<FilterRules>,
    /// Where the permit stands among the rules
    #[arg(long, help_heading = "Built devices", value_parser = named::<PermitPosition>(&["last", "middle"]))]
    pub permit: Option<PermitPosition>,
    /// Destinations drawn from 256 networks behind each port (RFC 2544 section 12)
    #[arg(long, help_heading = "Built devices", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub destination_networks: Option<bool>,
    /// How the device learns the tester's Ethernet addresses
    #[arg(long, help_heading = "Built devices", value_parser = named::<Neighbours>(&["static", "dynamic"]))]
    pub neighbours: Option<Neighbours>,
    /// MTU of the links in bytes (frame size less 18); default: enough for the largest size
    #[arg(long, help_heading = "Built devices", value_name = "BYTES")]
    pub mtu: Option<u32>,
    /// Length of the interfaces' queues in frames
    #[arg(long, help_heading = "Built devices", value_name = "FRAMES")]
    pub tx_queue: Option<u32>,
    /// Who does the forwarding: kernel threads of the device, or the sender's own system call
    #[arg(long, help_heading = "Built devices", value_parser = named::<DeviceThreads>(&["threaded", "inline"]))]
    pub device_threads: Option<DeviceThreads>,
    /// Processor that the device's threads are pinned to
    #[arg(long, help_heading = "Built devices", value_name = "CPU")]
    pub device_cpu: Option<usize>,
    /// Known limit: bits a second out of a device port (tc tbf)
    #[arg(long, help_heading = "Built devices", value_name = "RATE")]
    pub tbf_rate: Option<BitRate>,
    /// Queue before that limit, in frames
    #[arg(long, help_heading = "Built devices", value_name = "FRAMES")]
    pub tbf_queue: Option<u32>,
    /// Depth of its token bucket, in bytes
    #[arg(long, help_heading = "Built devices", value_name = "BYTES")]
    pub tbf_burst: Option<u32>,
    /// Port the limit is on
    #[arg(long, help_heading = "Built devices", value_name = "PORT")]
    pub tbf_port: Option<usize>,
    /// Known limit: frames a second (nftables limit)
    #[arg(long, help_heading = "Built devices", value_name = "FPS")]
    pub frame_limit: Option<u64>,
    /// Frames that may exceed that limit after idleness
    #[arg(long, help_heading = "Built devices", value_name = "FRAMES")]
    pub frame_limit_burst: Option<u32>,
    /// Known loss: exactly every Nth frame is dropped (nftables numgen)
    #[arg(long, help_heading = "Built devices", value_name = "N")]
    pub drop_every: Option<u32>,

    /// Durations and repetitions: the standards' own, or short ones that are not conformant
    #[arg(long, help_heading = "Tests")]
    pub profile: Option<Profile>,
    /// Tests, in this order
    #[arg(long, help_heading = "Tests", value_delimiter = ',', value_name = "TEST,...")]
    pub test: Option<Vec<TestName>>,
    /// Frame sizes in bytes (FCS included), sweeps `64..1518/100`, or `imix`
    #[arg(long, help_heading = "Tests", value_name = "SIZE,...")]
    pub sizes: Option<Sizes>,
    /// Load both directions at once (RFC 2544 section 14)
    #[arg(long, help_heading = "Tests", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub bidirectional: Option<bool>,
    /// Internet protocol of the test frames
    #[arg(long, help_heading = "Tests", value_parser = clap::value_parser!(u8).range(4..=6), value_name = "4|6")]
    pub ip: Option<u8>,
    /// Duration of a trial (of the last, verifying trial of a search too)
    #[arg(long, help_heading = "Tests", value_name = "TIME")]
    pub duration: Option<Span>,
    /// Width at which a search ends, as a share of the line rate
    #[arg(long, help_heading = "Tests", value_name = "SHARE")]
    pub resolution: Option<Share>,
    /// Loss still counted as none; anything but 0 is not RFC 2544 throughput and is labelled so
    #[arg(long, help_heading = "Tests", value_name = "SHARE")]
    pub loss_tolerance: Option<Share>,
    /// Frames that take a test frame's place (RFC 2544 section 11)
    #[arg(long, help_heading = "Tests", value_delimiter = ',', value_name = "MODIFIER,...")]
    pub modifiers: Option<Vec<Modifier>>,
    /// Seed of everything pseudo-random
    #[arg(long, help_heading = "Tests", value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Exit with 1 unless the results meet this, such as `throughput>=100000` (frames a second, at
    /// every size) or `throughput@64>=14880`
    #[arg(long, help_heading = "Tests", value_delimiter = ',', value_name = "CRITERION")]
    pub accept: Option<Vec<String>>,

    /// How frames reach the interfaces
    #[arg(long, help_heading = "Tester")]
    pub port_type: Option<PortTypeName>,
    /// Write the frames of every trial to pcapng files in the run folder, at most so many each
    #[arg(long, help_heading = "Tester", num_args = 0..=1, default_missing_value = "10000", require_equals = true, value_name = "FRAMES")]
    pub capture: Option<u64>,
    /// Do not measure the tester first; the report says so
    #[arg(long, help_heading = "Tester", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub skip_selftest: Option<bool>,
    /// Run folder to create (default: netanvil-<date>-<time>)
    #[arg(long, help_heading = "Output", value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl Options {
    /// These options with `under` filling what they leave open.
    pub fn over(&self, under: &Options) -> Options {
        let mut table = as_table(under);
        table.extend(as_table(self));
        table.try_into().expect("a table of two Options is one")
    }

    /// As a configuration file.
    pub fn to_toml(&self) -> String {
        toml::to_string(&as_table(self)).expect("options are plain data")
    }

    /// Refuses options that contradict each other where the command line alone cannot see it
    /// (half of them may come from a file).
    pub fn check(&self) -> Outcome<()> {
        let subjects = [
            ("device", self.device.is_some()),
            ("ports", self.ports.is_some()),
            ("sim", self.sim.is_some()),
        ];
        let given: Vec<_> = subjects.iter().filter(|(_, given)| *given).map(|(n, _)| *n).collect();
        if given.len() > 1 {
            return Err(Failure::new(format!(
                "{} and {} contradict each other",
                given[0], given[1]
            ))
            .help("one run tests one device"));
        }
        if self.ports.is_none() && (self.address.is_some() || self.gateway.is_some()) {
            return Err(Failure::new("address and gateway belong to ports")
                .help("a device built by netanvil has addresses of its own"));
        }
        Ok(())
    }
}

fn as_table(options: &Options) -> toml::Table {
    toml::Table::try_from(options).expect("options are plain data")
}

/// A parser of a type that `serde` knows by these names.
fn named<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| {
        let name: StrDeserializer<'_, serde::de::value::Error> = name.as_str().into_deserializer();
        T::deserialize(name)
    })
}
