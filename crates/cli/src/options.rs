//! The options of a run, each declared once for the command line and for configuration files.
//!
//! [`Options`] is read by `clap` and by `serde` from one description, so a flag `--frame-limit`
//! and a key `frame-limit` cannot drift apart. An option that is not given stays `None`;
//! [`Options::over`] fills it from the defaults of the profile and device.

mod addresses;
mod file;
mod test_name;
mod value;

pub use file::{parse, parse_options, parse_setting, read, read_options, suggest_nearest};
pub use method::registry::SuiteName;
pub use test_name::TestName;
pub use value::{BitRate, Goal, Share, Sizes, Span};

use crate::failure::{Failure, Outcome};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use method::{
    Destinations, ExtensionHeader, GoalConfig, Modifier, Pattern, Profile, Protocol, SearchPolicy,
};
use ports::scheduling::Scheduling;
use ports::{Location, PortType};
use serde::de::{DeserializeOwned, IntoDeserializer, value::StrDeserializer};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use testbed::{
    DeviceKind, DeviceThreads, Feed, FilterRules, ForwardMode, MulticastRouting, Neighbours,
    PermitPosition, Routing, Tunnel,
};

/// All options of a run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Options {
    /// The suite; on the command line it is the argument of `run`.
    #[arg(skip)]
    pub suite: Option<SuiteName>,
    /// Build this device on this host and test it (`netanvil devices` lists them)
    #[arg(long, help_heading = "Device", value_parser = named::<DeviceKind>(&["linux-router", "linux-bridge", "linux-mcast", "ovs-userspace", "ovs-dpdk", "testpmd", "l3fwd", "loopback"]))]
    pub device: Option<DeviceKind>,
    /// Test a simulated device in virtual time: a built-in name or a TOML file (see `netanvil devices`)
    #[arg(long, help_heading = "Device", value_name = "NAME|FILE", conflicts_with_all = ["device", "ports"])]
    pub sim: Option<String>,
    /// Test the device between these interfaces: two, or more with `--pattern` and for tests of many ports;
    /// `af_packet:eth1` states how the tester sends and receives on one of them. May be repeated:
    /// `--ports dpdk:net_memif0,role=client,socket=/run/x.sock` is one port on a device of DPDK, whose
    /// arguments extend to the end of the option. `lab-b:eth1` is a port that `netanvil agent` lends on host
    /// lab-b; `agent:lab-b:9000/xdp:eth1` states the agent's TCP port and the type of port, too
    #[arg(long, help_heading = "Device", value_name = "IF,IF,...", conflicts_with = "device")]
    pub ports: Option<Vec<Location>>,
    /// Address of the tester on each port, with prefix length
    #[arg(
        long,
        help_heading = "Device",
        value_name = "ADDR/LEN,ADDR/LEN,...",
        value_delimiter = ',',
        requires = "ports"
    )]
    pub address: Option<Vec<String>>,
    /// Address of the device at each port, resolved by ARP or neighbour discovery. Leave it out for a
    /// bridge
    #[arg(
        long,
        help_heading = "Device",
        value_name = "ADDR,ADDR,...",
        value_delimiter = ',',
        requires = "ports"
    )]
    pub gateway: Option<Vec<std::net::IpAddr>>,
    /// Folder with ca.pem, controller.pem and controller.key, for ports of other hosts
    #[arg(long, help_heading = "Device", value_name = "DIR")]
    pub agent_certificates: Option<PathBuf>,
    /// Interfaces of the device at the other ends of `--ports`, in the same order. netanvil reads their
    /// counters to locate lost frames. They are interfaces of this host, or with `--far-snmp` an
    /// ifIndex, ifDescr or ifName
    #[arg(long, help_heading = "Device", value_name = "IF,IF", value_delimiter = ',')]
    pub far_ports: Option<Vec<String>>,
    /// Network namespace of the `--far-ports`, by its name under /run/netns
    #[arg(long, help_heading = "Device", value_name = "NAME")]
    pub far_netns: Option<String>,
    /// SNMP agent (version 2c) that has the counters of the `--far-ports`
    #[arg(long, help_heading = "Device", value_name = "HOST[:PORT]")]
    pub far_snmp: Option<String>,
    /// SNMP community for `--far-snmp` (default: public); the run folder stores it in clear text
    #[arg(long, help_heading = "Device", value_name = "NAME")]
    pub far_community: Option<String>,
    /// Maximum age of counters from the SNMP agent (default: 16s; those of Net-SNMP are up to 15 s old)
    #[arg(long, help_heading = "Device", value_name = "TIME")]
    pub far_lag: Option<Span>,
    /// Line rate of the medium, from which the theoretical maximum is computed (hardware reports its
    /// own)
    #[arg(long, help_heading = "Device", value_name = "RATE")]
    pub line_rate: Option<BitRate>,

    /// Number of filter rules in the device (RFC 2544 section 11.4)
    #[arg(long, help_heading = "Built devices", value_parser = named::<FilterRules>(&["none", "1", "10", "25"]))]
    pub filter: Option<FilterRules>,
    /// Position of the permit rule among the filter rules
    #[arg(long, help_heading = "Built devices", value_parser = named::<PermitPosition>(&["last", "middle"]))]
    pub permit: Option<PermitPosition>,
    /// How the device gets the Ethernet addresses of the tester: static entries, or ARP and neighbour
    /// discovery
    #[arg(long, help_heading = "Built devices", value_parser = named::<Neighbours>(&["static", "dynamic"]))]
    pub neighbours: Option<Neighbours>,
    /// Routes of a router: configured only (static), or also learned by RIP and RIPng (needs BIRD; default of
    /// harvard-1989 if BIRD is installed)
    #[arg(long, help_heading = "Built devices", value_parser = named::<Routing>(&["static", "rip"]))]
    pub routing: Option<Routing>,
    /// Tunnel or translator in the router (RFC 8219): native frames at the first port, encapsulated or
    /// translated ones at the second
    #[arg(long, help_heading = "Built devices", value_parser = named::<Tunnel>(&["gre", "gre6", "6in4", "4in6", "vxlan", "siit"]))]
    pub tunnel: Option<Tunnel>,
    /// Host routes behind each port of a router, up to 65536; `--destinations random` draws from them
    #[arg(long, help_heading = "Built devices", value_name = "COUNT")]
    pub routes_per_port: Option<u32>,
    /// Routing protocol that advertises the `--routes-per-port` (needs BIRD). Tests start when the
    /// kernel has all routes. OSPF and RIP carry up to 65536 routes in all, BGP any number
    #[arg(long, help_heading = "Built devices", value_parser = named::<Feed>(&["bgp", "ospf", "rip"]))]
    pub feed: Option<Feed>,
    /// Time limit for the routes of `--feed` to arrive (default: 2min)
    #[arg(long, help_heading = "Built devices", value_name = "TIME")]
    pub feed_within: Option<Span>,
    /// Ageing time of addresses in a switch (linux-bridge, ovs-userspace, ovs-dpdk; default: 300 s)
    #[arg(long, help_heading = "Built devices", value_name = "TIME")]
    pub address_ageing: Option<Span>,
    /// Maximum number of addresses that a switch learns (default: linux-bridge no limit, ovs-userspace
    /// and ovs-dpdk 8192)
    #[arg(long, help_heading = "Built devices", value_name = "COUNT")]
    pub address_table: Option<u32>,
    /// Enable IGMP/MLD snooping and the querier in linux-bridge (default with rfc3918)
    #[arg(long, help_heading = "Built devices", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub snooping: Option<bool>,
    /// Maximum number of groups per port of a linux-bridge with `--snooping`
    #[arg(long, help_heading = "Built devices", value_name = "COUNT")]
    pub group_table: Option<u32>,
    /// Time after which a linux-bridge with `--snooping` forgets a member that has not reported again; it sends two
    /// general queries in that time (default: 260 s)
    #[arg(long, help_heading = "Built devices", value_name = "TIME")]
    pub group_membership: Option<Span>,
    /// Source of the multicast routes of linux-mcast: FRR's pimd, from the reports of hosts (daemon),
    /// or a fixed table of the groups of the tests (table; default with tolly)
    #[arg(long, help_heading = "Built devices", value_parser = named::<MulticastRouting>(&["daemon", "table"]))]
    pub multicast: Option<MulticastRouting>,
    /// What testpmd does to frames: nothing (io, the default), replaces both MAC addresses (mac), swaps them
    /// (macswap), or swaps MAC addresses, IP addresses and ports (5tswap)
    #[arg(long, help_heading = "Built devices", value_parser = named::<ForwardMode>(&["io", "mac", "macswap", "5tswap"]))]
    pub forward_mode: Option<ForwardMode>,
    /// Number of ports of the device (default: 2; with rfc3918 and with `--pattern pairs` or `multi_port` 4; with
    /// rfc2889, gigaswitch and tolly 8)
    #[arg(long, help_heading = "Built devices", value_name = "COUNT")]
    pub port_count: Option<usize>,
    /// MTU of the links in bytes: frame size less 18 (default: enough for the largest frame size)
    #[arg(long, help_heading = "Built devices", value_name = "BYTES")]
    pub mtu: Option<u32>,
    /// Length of the queue at each input of the device, in frames (testpmd, l3fwd, ovs-dpdk: of the rings of their
    /// sockets, a power of two up to 16384)
    #[arg(long, help_heading = "Built devices", value_name = "FRAMES")]
    pub input_queue: Option<u32>,
    /// Length of the transmit queue of each interface, in frames
    #[arg(long, help_heading = "Built devices", value_name = "FRAMES")]
    pub tx_queue: Option<u32>,
    /// Where the device forwards: in kernel threads of its own (threaded), or in the sender's system
    /// call (inline)
    #[arg(long, help_heading = "Built devices", value_parser = named::<DeviceThreads>(&["threaded", "inline"]))]
    pub device_threads: Option<DeviceThreads>,
    /// Processor to which the device's threads are pinned
    #[arg(long, help_heading = "Built devices", value_name = "CPU")]
    pub device_cpu: Option<usize>,
    /// Limit the output of a device port to this rate in bits per second (tc tbf)
    #[arg(long, help_heading = "Built devices", value_name = "RATE")]
    pub tbf_rate: Option<BitRate>,
    /// Queue of the `--tbf-rate` limit, in frames
    #[arg(long, help_heading = "Built devices", value_name = "FRAMES")]
    pub tbf_queue: Option<u32>,
    /// Token bucket of the `--tbf-rate` limit, in bytes
    #[arg(long, help_heading = "Built devices", value_name = "BYTES")]
    pub tbf_burst: Option<u32>,
    /// Port of the `--tbf-rate` limit
    #[arg(long, help_heading = "Built devices", value_name = "PORT")]
    pub tbf_port: Option<usize>,
    /// Limit the device to this rate in frames per second (nftables limit)
    #[arg(long, help_heading = "Built devices", value_name = "FPS")]
    pub frame_limit: Option<u64>,
    /// Frames that may exceed `--frame-limit` after idle time
    #[arg(long, help_heading = "Built devices", value_name = "FRAMES")]
    pub frame_limit_burst: Option<u32>,
    /// Drop exactly every Nth frame in the device (nftables numgen)
    #[arg(long, help_heading = "Built devices", value_name = "N")]
    pub drop_every: Option<u32>,

    /// Durations and repetitions: those of the standards (rfc: hours), trials of seconds (minutes; the
    /// default of rfc2544), or a first look (quick: a minute). The last two do not conform
    #[arg(long, help_heading = "Tests", value_parser = named::<Profile>(&["rfc", "minutes", "quick"]))]
    pub profile: Option<Profile>,
    /// Tests of the suite to run; `netanvil tests` lists their names
    #[arg(long, help_heading = "Tests", value_delimiter = ',', value_name = "TEST,...", hide_possible_values = true, value_parser = named::<TestName>(method::registry::ids()))]
    pub test: Option<Vec<TestName>>,
    /// Frame sizes in bytes (FCS included), sweeps `64..1518/100`, `imix`, or a distribution
    /// `dist:64*7,1518*3`
    #[arg(long, help_heading = "Tests", value_name = "SIZE,...")]
    pub sizes: Option<Sizes>,
    /// Load both directions at once (RFC 2544 section 14)
    #[arg(long, help_heading = "Tests", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub bidirectional: Option<bool>,
    /// Which ports send to which. `pair`: 0 to 1. `pairs`: 0 to 1, 2 to 3 and so on, at once. `multi_port`
    /// (RFC 2544 section 16): ports 0, 2, ... to each of 1, 3, ... in turn; with `--bidirectional` every port to
    /// all others. Rates are those of each sending port
    #[arg(long, help_heading = "Tests", value_parser = named::<Pattern>(&["pair", "pairs", "multi_port"]))]
    pub pattern: Option<Pattern>,
    /// Send bursts of this many frames at the minimum gap, spaced to make up the load, and report the shortest
    /// inter-burst gap without loss (RFC 2544 section 21: 16, 64, 256, 1024)
    #[arg(long, help_heading = "Tests", value_name = "FRAMES")]
    pub burst_frames: Option<u64>,
    /// Protocol of the test frames
    #[arg(long, help_heading = "Traffic", value_parser = named::<Protocol>(&["udp_ipv4", "udp_ipv6", "ethernet", "decnet", "appletalk", "ipx_raw", "ipx_ethernet", "ipx_llc", "ipx_snap"]))]
    pub protocol: Option<Protocol>,
    /// Destination addresses: one pair, or random (hosts in 256 networks behind a router, MAC addresses
    /// behind a bridge; RFC 2544 section 12), or both (the suite runs once with each)
    #[arg(long, help_heading = "Traffic", value_parser = named::<Destinations>(&["one", "random", "both"]))]
    pub destinations: Option<Destinations>,
    /// Announce the networks of random destinations to a router by RIP version 2, IPv6 networks by RIPng: before
    /// each trial, and every 30 s while it lasts (RFC 2544 section 13). A `linux-router` with `--routing rip` then
    /// has no static routes to them
    #[arg(long, help_heading = "Traffic", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub routing_updates: Option<bool>,
    /// Use pseudo-random UDP ports (RFC 4814)
    #[arg(long, help_heading = "Traffic", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub random_ports: Option<bool>,
    /// Use pseudo-random source MAC addresses (RFC 4814)
    #[arg(long, help_heading = "Traffic", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub random_macs: Option<bool>,
    /// VLAN identifiers of the test frames, the outer tag first
    #[arg(long, help_heading = "Traffic", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=4094), value_name = "ID,...")]
    pub vlan: Option<Vec<u16>>,
    /// IPv6 extension headers of test frames, in this order; frame sizes include them (RFC 5180 section
    /// 5.3). Hop-by-hop options must stand alone, with `--test loss` only
    #[arg(long, help_heading = "Traffic", value_delimiter = ',', value_name = "HEADER,...", value_parser = named::<ExtensionHeader>(&["hop_by_hop", "destination", "routing", "fragment"]))]
    pub extension_headers: Option<Vec<ExtensionHeader>>,
    /// Prefix lengths of the IPv6 networks of random destinations: the suite runs once with each (RFC 5180
    /// section 5.2.1). Networks of /48 are of 2001:db8::/32, all others of 2001:2::/48
    #[arg(long, help_heading = "Traffic", value_delimiter = ',', value_name = "LENGTH,...", value_parser = clap::value_parser!(u8).range(48..=128))]
    pub ipv6_prefixes: Option<Vec<u8>>,
    /// Percentage of frames that are UDP over IPv6; the others are UDP over IPv4 (RFC 5180 section 7)
    #[arg(long, help_heading = "Traffic", value_parser = clap::value_parser!(u8).range(1..=99), value_name = "PERCENT")]
    pub ipv6_percent: Option<u8>,
    /// Duration of a trial, and of the final trial of a search
    #[arg(long, help_heading = "Tests", value_name = "TIME")]
    pub duration: Option<Span>,
    /// Width at which a search ends, as a share of its upper bound
    #[arg(long, help_heading = "Tests", value_name = "SHARE")]
    pub resolution: Option<Share>,
    /// How a throughput search chooses loads: adaptive (default) starts from what a flooded trial
    /// forwarded, needs the fewest trials and gives bounds with a confidence on noisy devices; bisect
    /// is binary search; step changes the gap between frames in steps (1990); tst009 is the binary
    /// search of TST 009 with loss verification; mlrsearch is MLRsearch. In a file: `search.policy`
    #[arg(long = "search", help_heading = "Tests", value_parser = named::<SearchPolicy>(&["adaptive", "bisect", "step", "tst009", "mlrsearch"]))]
    #[serde(skip)]
    pub search_policy: Option<SearchPolicy>,
    /// Goal of MLRsearch, such as `loss=0.5%,exceed=50%,initial=1s,final=1s,sum=21s,width=0.5%`; may be
    /// repeated. Keys that are left out are those of RFC 2544: no loss, one trial of full length. In a
    /// file: `search.goals`
    #[arg(long, help_heading = "Tests", value_name = "KEY=VALUE,...")]
    #[serde(skip)]
    pub goal: Vec<Goal>,
    /// Share of lost frames that still counts as no loss. With any value but 0 the result is labelled
    /// as not RFC 2544 throughput
    #[arg(long, help_heading = "Tests", value_name = "SHARE")]
    pub loss_tolerance: Option<Share>,
    /// Replace some test frames with broadcast, management or routing-update frames (RFC 2544 section
    /// 11); the suite runs once for each modifier
    #[arg(long, help_heading = "Tests", value_delimiter = ',', value_name = "MODIFIER,...", value_parser = named::<Modifier>(&["none", "broadcast", "management", "routing_update"]))]
    pub modifiers: Option<Vec<Modifier>>,
    /// Seed of everything pseudo-random. It also sets the key of the test frames, which is random
    /// otherwise: same seed, same frames. Two testers on one segment must have different seeds, or each
    /// counts the other's frames as its own
    #[arg(long, help_heading = "Tests", value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Exit with 1 unless the results meet this criterion, such as `throughput>=100000` (frames per
    /// second, at every frame size) or `throughput@64>=14880`. Other figures: `loss`, `latency`,
    /// `forwarding-rate`, `max-rate`, `addresses`, `groups`, `join-delay` and more; a wrong name prints
    /// all of them
    #[arg(long, help_heading = "Tests", value_delimiter = ',', value_name = "CRITERION")]
    pub accept: Option<Vec<String>>,

    /// How the tester sends and receives on interfaces for which `--ports` does not state it; auto selects
    /// one and states why
    #[arg(long, help_heading = "Tester", value_parser = named::<PortType>(PortType::names()))]
    pub port_type: Option<PortType>,
    /// Send by this number of queues on each interface, each with a thread on a processor of its own: for
    /// rates that one processor does not reach (xdp, af_xdp and dpdk ports; the latter two receive by as many,
    /// too, and the interface or device must have them). The frames of a flow leave by one queue; a test
    /// with one flow uses one
    #[arg(long, help_heading = "Tester", value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=16))]
    pub queues: Option<u16>,
    /// Processor priority: own raises the tester and a built device above all other work on this host
    /// until the run ends (default); normal shares the processors
    #[arg(long, help_heading = "Tester", value_parser = named::<Scheduling>(&["own", "normal"]))]
    pub scheduling: Option<Scheduling>,
    /// Write the frames of every trial to pcapng files in the run folder, with at most this number of
    /// frames each
    #[arg(long, help_heading = "Tester", num_args = 0..=1, default_missing_value = "10000", require_equals = true, value_name = "FRAMES")]
    pub capture: Option<u64>,
    /// Capture these streams only, by number from 0
    #[arg(long, help_heading = "Tester", value_delimiter = ',', value_name = "STREAM,...")]
    pub capture_streams: Option<Vec<u16>>,
    /// Capture at these ports only, by number from 0
    #[arg(long, help_heading = "Tester", value_delimiter = ',', value_name = "PORT,...")]
    pub capture_ports: Option<Vec<u16>>,
    /// Property of the device for the report, such as `firmware=4.2`
    #[arg(long, help_heading = "Device", value_name = "KEY=VALUE")]
    pub device_info: Option<Vec<String>>,
    /// Skip the self-test of the tester; the report says so
    #[arg(long, help_heading = "Tester", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub skip_selftest: Option<bool>,
    /// Set any key of a section, such as `latency.repetitions=5`; `--print-config` prints all keys of a
    /// run
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

    /// Refuses options that contradict each other, of which some may come from a file: `clap` sees the
    /// command line only.
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
            .help("a run tests one device: leave out one of them"));
        }
        if self.ports.is_none() && (self.address.is_some() || self.gateway.is_some()) {
            return Err(Failure::new("address and gateway belong to ports")
                .help("remove them: a device built by netanvil has its own addresses"));
        }
        if self.far_netns.is_some() && self.far_snmp.is_some() {
            return Err(Failure::new("--far-netns and --far-snmp contradict each other")
                .help("interfaces in a namespace are read by netlink; leave out one of them"));
        }
        addresses::check(self.address.as_deref().unwrap_or_default(), self.gateway.as_deref())
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
