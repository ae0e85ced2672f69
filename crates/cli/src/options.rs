//! What a run is: every option once, for the command line and for configuration files alike.
//!
//! [`Options`] is read by `clap` and by `serde` from one description, so a flag `--frame-limit`
//! and a key `frame-limit` cannot drift apart. An option nobody gave stays `None`; the defaults of
//! the profile and device are laid underneath by [`Options::effective`].

mod file;
mod test_name;
mod value;

pub use file::{parse, parse_options, read, read_options};
pub use method::registry::SuiteName;
pub use test_name::TestName;
pub use value::{BitRate, Goal, Share, Sizes, Span};

use crate::failure::{Failure, Outcome};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use method::{
    Destinations, ExtensionHeader, GoalConfig, Modifier, Profile, Protocol, SearchPolicy,
};
use ports::PortType;
use ports::scheduling::Scheduling;
use serde::de::{DeserializeOwned, IntoDeserializer, value::StrDeserializer};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use testbed::{
    DeviceKind, DeviceThreads, Feed, FilterRules, MulticastRouting, Neighbours, PermitPosition,
    Routing, Tunnel,
};

/// Everything that can be said about a run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Options {
    /// The suite; on the command line `run` has it as its argument.
    #[arg(skip)]
    pub suite: Option<SuiteName>,
    /// Build this device in network namespaces and test it
    #[arg(long, help_heading = "Device", value_parser = named::<DeviceKind>(&["linux-router", "linux-bridge", "linux-mcast", "ovs-userspace", "loopback"]))]
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
    /// The device's interfaces at the other ends of `--ports`, in their order: their counters tell where
    /// frames went. Interfaces of this host, or by ifIndex, ifDescr or ifName with `--far-snmp`
    #[arg(long, help_heading = "Device", value_name = "IF,IF", value_delimiter = ',')]
    pub far_ports: Option<Vec<String>>,
    /// Network namespace of these interfaces, by its name under /run/netns
    #[arg(long, help_heading = "Device", value_name = "NAME")]
    pub far_netns: Option<String>,
    /// SNMP agent (version 2c) that tells their counters
    #[arg(long, help_heading = "Device", value_name = "HOST[:PORT]")]
    pub far_snmp: Option<String>,
    /// Community that may read them (default: public); the run folder holds it in the clear
    #[arg(long, help_heading = "Device", value_name = "NAME")]
    pub far_community: Option<String>,
    /// How old counters that the agent tells may be (default: 16s; Net-SNMP's are up to 15 s old)
    #[arg(long, help_heading = "Device", value_name = "TIME")]
    pub far_lag: Option<Span>,
    /// Rate of the medium the theoretical maximum is computed from (hardware says it itself)
    #[arg(long, help_heading = "Device", value_name = "RATE")]
    pub line_rate: Option<BitRate>,

    /// Filter rules in the device (RFC 2544 section 11.4)
    #[arg(long, help_heading = "Built devices", value_parser = named::<FilterRules>(&["none", "1", "10", "25"]))]
    pub filter: Option<FilterRules>,
    /// Where the permit stands among the rules
    #[arg(long, help_heading = "Built devices", value_parser = named::<PermitPosition>(&["last", "middle"]))]
    pub permit: Option<PermitPosition>,
    /// How the device learns the tester's Ethernet addresses
    #[arg(long, help_heading = "Built devices", value_parser = named::<Neighbours>(&["static", "dynamic"]))]
    pub neighbours: Option<Neighbours>,
    /// How a router comes by its routes: they are configured, or taken in by RIP as well (by BIRD; with
    /// harvard-1989 where that is installed)
    #[arg(long, help_heading = "Built devices", value_parser = named::<Routing>(&["static", "rip"]))]
    pub routing: Option<Routing>,
    /// A tunnel or a translator in the router (RFC 8219): native frames at the first port, others at the
    /// second
    #[arg(long, help_heading = "Built devices", value_parser = named::<Tunnel>(&["gre", "gre6", "6in4", "4in6", "vxlan", "siit"]))]
    pub tunnel: Option<Tunnel>,
    /// Host routes behind each port of a router, up to 65536; `--destinations random` draws from them
    #[arg(long, help_heading = "Built devices", value_name = "COUNT")]
    pub routes_per_port: Option<u32>,
    /// The protocol that brings these routes, from a speaker in a namespace of its own; tests begin when the
    /// kernel has them all (BIRD at both ends). OSPF and RIP carry 65536 in all, BGP as many as there are
    #[arg(long, help_heading = "Built devices", value_parser = named::<Feed>(&["bgp", "ospf", "rip"]))]
    pub feed: Option<Feed>,
    /// How long they may take to come (default: 2min)
    #[arg(long, help_heading = "Built devices", value_name = "TIME")]
    pub feed_within: Option<Span>,
    /// After how long a switch forgets an address (linux-bridge, ovs-userspace; default: its own 300 s)
    #[arg(long, help_heading = "Built devices", value_name = "TIME")]
    pub address_ageing: Option<Span>,
    /// Addresses that a switch learns at most (linux-bridge: no limit where left out; ovs-userspace: 8192)
    #[arg(long, help_heading = "Built devices", value_name = "COUNT")]
    pub address_table: Option<u32>,
    /// Whether linux-bridge heeds IGMP and MLD and asks for members itself (with rfc3918 it does)
    #[arg(long, help_heading = "Built devices", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub snooping: Option<bool>,
    /// Groups that a port of a linux-bridge that snoops takes at most
    #[arg(long, help_heading = "Built devices", value_name = "COUNT")]
    pub group_table: Option<u32>,
    /// Who tells linux-mcast which groups go where: FRR's pimd, by what hosts say, or a table of the
    /// groups of the tests, as tolly has it where nothing is said
    #[arg(long, help_heading = "Built devices", value_parser = named::<MulticastRouting>(&["daemon", "table"]))]
    pub multicast: Option<MulticastRouting>,
    /// Ports of the device, for tests of many (default 2; with rfc3918 4, with rfc2889, gigaswitch and
    /// tolly 8)
    #[arg(long, help_heading = "Built devices", value_name = "COUNT")]
    pub port_count: Option<usize>,
    /// MTU of the links in bytes (frame size less 18); default: enough for the largest size
    #[arg(long, help_heading = "Built devices", value_name = "BYTES")]
    pub mtu: Option<u32>,
    /// Frames that may wait at each input of the device
    #[arg(long, help_heading = "Built devices", value_name = "FRAMES")]
    pub input_queue: Option<u32>,
    /// Length of the interfaces' transmit queues in frames
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
    #[arg(long, help_heading = "Tests", value_parser = named::<Profile>(&["rfc", "quick"]))]
    pub profile: Option<Profile>,
    /// Tests of the suite, by the names that `netanvil tests` lists
    #[arg(long, help_heading = "Tests", value_delimiter = ',', value_name = "TEST,...", value_parser = named::<TestName>(method::registry::ids()))]
    pub test: Option<Vec<TestName>>,
    /// Frame sizes in bytes (FCS included), sweeps `64..1518/100`, `imix`, or a
    /// distribution `dist:64*7,1518*3`
    #[arg(long, help_heading = "Tests", value_name = "SIZE,...")]
    pub sizes: Option<Sizes>,
    /// Load both directions at once (RFC 2544 section 14)
    #[arg(long, help_heading = "Tests", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub bidirectional: Option<bool>,
    /// What test frames are made of
    #[arg(long, help_heading = "Traffic", value_parser = named::<Protocol>(&["udp_ipv4", "udp_ipv6", "ethernet", "decnet", "appletalk", "ipx_raw", "ipx_ethernet", "ipx_llc", "ipx_snap"]))]
    pub protocol: Option<Protocol>,
    /// One address pair, or destinations at random: hosts in 256 networks behind a router, MAC
    /// addresses behind a bridge (RFC 2544 section 12)
    #[arg(long, help_heading = "Traffic", value_parser = named::<Destinations>(&["one", "random"]))]
    pub destinations: Option<Destinations>,
    /// Pseudo-random UDP ports (RFC 4814)
    #[arg(long, help_heading = "Traffic", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub random_ports: Option<bool>,
    /// Pseudo-random source MAC addresses (RFC 4814)
    #[arg(long, help_heading = "Traffic", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub random_macs: Option<bool>,
    /// VLAN identifiers, the outermost first
    #[arg(long, help_heading = "Traffic", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=4094), value_name = "ID,...")]
    pub vlan: Option<Vec<u16>>,
    /// IPv6 extension headers of test frames, in this order; sizes include them (RFC 5180 section 5.3).
    /// Hop-by-hop options alone, and for `--test loss` only
    #[arg(long, help_heading = "Traffic", value_delimiter = ',', value_name = "HEADER,...", value_parser = named::<ExtensionHeader>(&["hop_by_hop", "destination", "routing", "fragment"]))]
    pub extension_headers: Option<Vec<ExtensionHeader>>,
    /// So many of a hundred frames are UDP over IPv6, the others UDP over IPv4 (RFC 5180 section 7)
    #[arg(long, help_heading = "Traffic", value_parser = clap::value_parser!(u8).range(1..=99), value_name = "PERCENT")]
    pub ipv6_percent: Option<u8>,
    /// Duration of a trial (of the last, verifying trial of a search too)
    #[arg(long, help_heading = "Tests", value_name = "TIME")]
    pub duration: Option<Span>,
    /// Width at which a search ends, as a share of its upper bound
    #[arg(long, help_heading = "Tests", value_name = "SHARE")]
    pub resolution: Option<Share>,
    /// How the loads of a throughput test are chosen: adaptively, from what a flooded trial carried (the
    /// default: fewest trials, bounds with a confidence on noisy devices); binary search; steps of the gap
    /// between frames (1990); TST 009's binary search with loss verification; MLRsearch. In a file:
    /// `search.policy`
    #[arg(long = "search", help_heading = "Tests", value_parser = named::<SearchPolicy>(&["adaptive", "bisect", "step", "tst009", "mlrsearch"]))]
    #[serde(skip)]
    pub search_policy: Option<SearchPolicy>,
    /// A goal of MLRsearch, once for each, such as `loss=0.5%,exceed=50%,initial=1s,final=1s,sum=21s,width=0.5%`;
    /// what is left out is RFC 2544's: no loss, one trial of full length. In a file: `search.goals`
    #[arg(long, help_heading = "Tests", value_name = "KEY=VALUE,...")]
    #[serde(skip)]
    pub goal: Vec<Goal>,
    /// Loss still counted as none; anything but 0 is not RFC 2544 throughput and is labelled so
    #[arg(long, help_heading = "Tests", value_name = "SHARE")]
    pub loss_tolerance: Option<Share>,
    /// Frames that take a test frame's place (RFC 2544 section 11); the suite is run once for each
    #[arg(long, help_heading = "Tests", value_delimiter = ',', value_name = "MODIFIER,...", value_parser = named::<Modifier>(&["none", "broadcast", "management", "routing_update"]))]
    pub modifiers: Option<Vec<Modifier>>,
    /// Seed of everything pseudo-random. Given here, it also gives the key of the test frames, which is
    /// random otherwise: same seed, same frames; two testers with the same seed on one segment take
    /// each other's frames for theirs
    #[arg(long, help_heading = "Tests", value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Exit with 1 unless the results meet this, such as `throughput>=100000` (frames a second, at
    /// every size) or `throughput@64>=14880`; also `loss`, `latency`, `forwarding-rate`, `max-rate`,
    /// `addresses`, `groups`, `join-delay` and more, as each test has them: a wrong name prints all
    #[arg(long, help_heading = "Tests", value_delimiter = ',', value_name = "CRITERION")]
    pub accept: Option<Vec<String>>,

    /// How frames reach the interfaces
    #[arg(long, help_heading = "Tester", value_parser = named::<PortType>(&["auto", "xdp", "af_xdp", "af_packet"]))]
    pub port_type: Option<PortType>,
    /// Whether tester and built device go before all other work of this host (own, the default; given back
    /// at the end) or share the processors with it (normal)
    #[arg(long, help_heading = "Tester", value_parser = named::<Scheduling>(&["own", "normal"]))]
    pub scheduling: Option<Scheduling>,
    /// Write the frames of every trial to pcapng files in the run folder, at most so many each
    #[arg(long, help_heading = "Tester", num_args = 0..=1, default_missing_value = "10000", require_equals = true, value_name = "FRAMES")]
    pub capture: Option<u64>,
    /// Of these streams alone, by number from 0; everything else is left out
    #[arg(long, help_heading = "Tester", value_delimiter = ',', value_name = "STREAM,...")]
    pub capture_streams: Option<Vec<u16>>,
    /// At these ports alone, by number from 0
    #[arg(long, help_heading = "Tester", value_delimiter = ',', value_name = "PORT,...")]
    pub capture_ports: Option<Vec<u16>>,
    /// What a reader should know of the device, such as `firmware=4.2`; stands in the report
    #[arg(long, help_heading = "Device", value_name = "KEY=VALUE")]
    pub device_info: Option<Vec<String>>,
    /// Do not measure the tester first; the report says so
    #[arg(long, help_heading = "Tester", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub skip_selftest: Option<bool>,
    /// Any setting of a section, such as `latency.repetitions=5`; `--print-config` shows those of a run
    #[arg(long, help_heading = "Tests", value_name = "SECTION.KEY=VALUE")]
    #[serde(skip)]
    pub set: Vec<String>,
    /// Run folder to create (default: runs/<date>T<time>Z-<device>)
    #[arg(long, help_heading = "Output", value_name = "DIR")]
    pub out: Option<PathBuf>,

    // Sections of a configuration file; their keys are those of `method::SuiteConfig`.
    #[arg(skip)]
    #[serde(rename = "trial")]
    pub trial: Option<toml::Table>,
    #[arg(skip)]
    #[serde(rename = "search")]
    pub search: Option<toml::Table>,
    #[arg(skip)]
    #[serde(rename = "self_test")]
    pub self_test: Option<toml::Table>,
    #[arg(skip)]
    #[serde(rename = "throughput")]
    pub throughput: Option<toml::Table>,
    #[arg(skip)]
    #[serde(rename = "latency")]
    pub latency: Option<toml::Table>,
    #[arg(skip)]
    #[serde(rename = "pdv")]
    pub pdv: Option<toml::Table>,
    #[arg(skip)]
    #[serde(rename = "ipdv")]
    pub ipdv: Option<toml::Table>,
    #[arg(skip)]
    #[serde(rename = "frame_loss")]
    pub frame_loss: Option<toml::Table>,
    #[arg(skip)]
    #[serde(rename = "back_to_back")]
    pub back_to_back: Option<toml::Table>,
    #[arg(skip)]
    #[serde(rename = "recovery")]
    pub recovery: Option<toml::Table>,
    #[arg(skip)]
    #[serde(rename = "reset")]
    pub reset: Option<toml::Table>,
    #[arg(skip)]
    #[serde(rename = "chassis")]
    pub chassis: Option<toml::Table>,
    #[arg(skip)]
    #[serde(rename = "harvard")]
    pub harvard: Option<toml::Table>,
    /// Section of the file.
    #[arg(skip)]
    #[serde(rename = "harvard_1989")]
    pub harvard_1989: Option<toml::Table>,
}

impl Options {
    /// These options with `under` filling what they leave open.
    pub fn over(&self, under: &Options) -> Options {
        let mut table = under.as_table();
        merge(&mut table, self.as_table());
        table.try_into().expect("a table of two Options is one")
    }

    /// The same with flags that stand for keys of a section put there.
    pub fn with_sections(&self) -> Options {
        let mut options = self.clone();
        let mut search = options.search.take().unwrap_or_default();
        let as_toml = "a search's settings are plain data";
        if let Some(policy) = options.search_policy.take() {
            search.insert("policy".into(), toml::Value::try_from(policy).expect(as_toml));
        }
        if !options.goal.is_empty() {
            let goals: Vec<GoalConfig> = options.goal.drain(..).map(|Goal(goal)| goal).collect();
            search.insert("goals".into(), toml::Value::try_from(goals).expect(as_toml));
        }
        options.search = (!search.is_empty()).then_some(search);
        options
    }

    /// By name, as in a configuration file; what is not set is not there.
    pub fn as_table(&self) -> toml::Table {
        toml::Table::try_from(self).expect("options are plain data")
    }

    /// As a configuration file.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.as_table()).expect("options are plain data")
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
        if self.far_netns.is_some() && self.far_snmp.is_some() {
            return Err(Failure::new("--far-netns and --far-snmp contradict each other")
                .help("interfaces in a namespace are read by netlink; leave out one of them"));
        }
        Ok(())
    }
}

/// Sections are merged key by key, everything else replaces.
fn merge(under: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(toml::Value::Table(under)), toml::Value::Table(over)) => merge(under, over),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

/// A parser of a type that `serde` knows by these names.
pub fn named<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| {
        let name: StrDeserializer<'_, serde::de::value::Error> = name.as_str().into_deserializer();
        T::deserialize(name)
    })
}
